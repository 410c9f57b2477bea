//! What logins may use before anybody knows who they are, and how long those wait that follow failures.
//!
//! In: logins, by the address they come from. Out: a place, a turn at the master, a delay; or a refusal.
//! As MySQL's connection_control has it, each further failure makes the next attempt wait longer. Failures are counted by address, not by
//! account, so that nobody can lock an account for others; who proves a password that the master has accepted lately does not come here at all.
//! Must never: let logins take what sessions need, or hold anything scarce while a login waits.

use crate::common::lock;
use crate::ops::config::{BackOff, Config};
use crate::protocol::error::SqlError;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout};

/// Addresses whose failures are remembered; the one that failed longest ago makes room.
const MOST_ADDRESSES: usize = 10_000;
/// After this long without a failure all is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Logins of one address that wait; more are refused at once, so that places are left for other addresses.
const MOST_WAITING: usize = 64;

struct Failures {
    count: u32,
    last: Instant,
    waiting: usize,
}

impl Failures {
    fn count(&self) -> u32 {
        match self.last.elapsed() > FORGOTTEN {
            true => 0,
            false => self.count,
        }
    }
}

pub struct LoginLimits {
    back_off: BackOff,
    /// Connections that are not logged in yet.
    places: Arc<Semaphore>,
    /// Logins to the master that verify a password.
    verifications: Semaphore,
    /// RSA decryptions, a millisecond of a core each.
    decryptions: Semaphore,
    queue: Duration,
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

/// Counts among those that wait, until it is dropped.
struct Waiting<'a> {
    limits: &'a LoginLimits,
    source: IpAddr,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(known) = lock(&self.limits.failures).get_mut(&self.source) {
            known.waiting = known.waiting.saturating_sub(1);
        }
    }
}

/// Who is taken for one: an address, or the network that one IPv6 host may choose its own from. Clients on a Unix socket are one, too.
pub fn source(host: &str) -> IpAddr {
    match host.parse() {
        Ok(IpAddr::V6(address)) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            Ipv6Addr::from(network).into()
        }
        Ok(address) => address,
        Err(_) => Ipv4Addr::UNSPECIFIED.into(),
    }
}

impl LoginLimits {
    pub fn new(config: &Config) -> Self {
        Self {
            back_off: config.back_off,
            places: Arc::new(Semaphore::new(config.max_logins)),
            verifications: Semaphore::new(config.login_verifications),
            decryptions: Semaphore::new(config.workers.div_ceil(2)),
            queue: config.queue,
            failures: Mutex::default(),
        }
    }

    /// A place for a connection that is not logged in, if there is one.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// One of few turns to decrypt.
    pub async fn decryption(&self) -> Option<SemaphorePermit<'_>> {
        self.decryptions.acquire().await.ok()
    }

    /// Waits as long as failures demand, less what this login has waited already.
    pub async fn wait(&self, source: IpAddr, waited: &mut Duration) -> Result<(), SqlError> {
        loop {
            let Some(waiting) = self.start_waiting(source, *waited)? else {
                return Ok(());
            };
            let demanded = self.delay(source);
            sleep(demanded.saturating_sub(*waited)).await;
            *waited = demanded.max(*waited);
            drop(waiting);
        }
    }

    /// A turn at the master. Those that failed meanwhile count for who queued.
    pub async fn verification(
        &self,
        source: Option<IpAddr>,
        waited: &mut Duration,
    ) -> Result<SemaphorePermit<'_>, SqlError> {
        loop {
            let turn = timeout(self.queue, self.verifications.acquire()).await;
            let turn = turn.ok().and_then(Result::ok).ok_or_else(|| {
                SqlError::gate("too many logins at once: the master was not asked in time")
            })?;
            match source {
                Some(source) if self.delay(source) > *waited => {
                    drop(turn);
                    self.wait(source, waited).await?;
                }
                _ => return Ok(turn),
            }
        }
    }

    fn start_waiting(
        &self,
        source: IpAddr,
        waited: Duration,
    ) -> Result<Option<Waiting<'_>>, SqlError> {
        let mut failures = lock(&self.failures);
        let Some(known) = failures.get_mut(&source) else {
            return Ok(None);
        };
        if self.delay_after(known.count()) <= waited {
            return Ok(None);
        }
        if known.waiting >= MOST_WAITING {
            let what = "too many failed logins from this address: try again later";
            return Err(SqlError::gate(what));
        }
        known.waiting += 1;
        let limits = self;
        Ok(Some(Waiting { limits, source }))
    }

    fn delay(&self, source: IpAddr) -> Duration {
        let failures = lock(&self.failures);
        let count = failures.get(&source).map_or(0, Failures::count);
        self.delay_after(count)
    }

    fn delay_after(&self, count: u32) -> Duration {
        let BackOff {
            failures,
            shortest,
            longest,
        } = self.back_off;
        match (count + 1).checked_sub(failures) {
            Some(beyond) if failures > 0 && beyond > 0 => {
                let seconds = Duration::from_secs(u64::from(beyond));
                seconds.max(shortest).min(longest)
            }
            _ => Duration::ZERO,
        }
    }

    /// The master has refused a login from there.
    pub fn failed(&self, source: IpAddr) {
        let now = Instant::now();
        let mut failures = lock(&self.failures);
        if failures.len() >= MOST_ADDRESSES && !failures.contains_key(&source) {
            make_room(&mut failures);
        }
        let fresh = Failures {
            count: 0,
            last: now,
            waiting: 0,
        };
        let known = failures.entry(source).or_insert(fresh);
        known.count = known.count().saturating_add(1);
        known.last = now;
    }

    /// The master has accepted one. Those that wait have waited for nothing.
    pub fn succeeded(&self, source: IpAddr) {
        lock(&self.failures).remove(&source);
    }
}

fn make_room(failures: &mut HashMap<IpAddr, Failures>) {
    let oldest = failures.iter().min_by_key(|(_, f)| f.last);
    if let Some(oldest) = oldest.map(|(source, _)| *source) {
        failures.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> LoginLimits {
        let setting = |name: &str| match name {
            "GATE_PASSWORD" => Some("x".into()),
            "GATE_LOGIN_VERIFICATIONS" => Some("1".into()),
            _ => None,
        };
        LoginLimits::new(&Config::read(&setting).ok().unwrap())
    }

    fn from(text: &str) -> IpAddr {
        source(text)
    }

    /// How long a login from there waits, in milliseconds.
    async fn delay(limits: &LoginLimits, host: &str) -> u128 {
        let began = Instant::now();
        let mut waited = Duration::ZERO;
        limits.wait(from(host), &mut waited).await.ok().unwrap();
        began.elapsed().as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn each_failure_beyond_the_third_makes_the_next_login_wait_longer() {
        let limits = limits();
        for expected in [0, 0, 0, 1000, 2000, 3000, 4000, 5000, 5000] {
            assert_eq!(delay(&limits, "10.0.0.1").await, expected);
            limits.failed(from("10.0.0.1"));
        }
        assert_eq!(delay(&limits, "10.0.0.2").await, 0, "others wait as well");
        limits.succeeded(from("10.0.0.1"));
        assert_eq!(delay(&limits, "10.0.0.1").await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn logins_that_began_before_the_failures_wait_before_they_reach_the_master() {
        let limits = limits();
        let host = from("10.0.0.1");
        let held = limits
            .verification(Some(host), &mut Duration::default())
            .await;
        let mut waited = Duration::ZERO;
        let queued = limits.verification(Some(host), &mut waited);
        let failing = async {
            (0..4).for_each(|_| limits.failed(host));
            drop(held);
        };
        let (turn, ()) = tokio::join!(queued, failing);
        assert!(turn.is_ok());
        assert_eq!(waited.as_millis(), 2000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_from_one_address_does_not_fill_the_places_of_all() {
        let limits = Arc::new(limits());
        (0..9).for_each(|_| limits.failed(from("10.0.0.1")));
        let logins: Vec<_> = (0..MOST_WAITING + 5)
            .map(|_| {
                let limits = limits.clone();
                tokio::spawn(async move {
                    let mut waited = Duration::ZERO;
                    let outcome = limits.wait(from("10.0.0.1"), &mut waited);
                    outcome.await.is_ok()
                })
            })
            .collect();
        let mut waited = 0;
        for login in logins {
            waited += usize::from(login.await.unwrap());
        }
        assert_eq!(waited, MOST_WAITING);
        assert_eq!(delay(&limits, "10.0.0.1").await, 5000, "a place is free");
    }

    #[tokio::test(start_paused = true)]
    async fn who_queues_for_the_master_in_vain_is_told() {
        let limits = limits();
        let _held = limits.verification(None, &mut Duration::default()).await;
        let queued = limits.verification(None, &mut Duration::default()).await;
        assert_eq!(queued.err().unwrap().code, 1105);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_forgotten_and_the_table_stays_small() {
        let limits = limits();
        let address = |n: u32| IpAddr::from(Ipv4Addr::from(n));
        (0..5).for_each(|_| limits.failed(from("10.0.0.1")));
        tokio::time::advance(FORGOTTEN + Duration::from_secs(1)).await;
        limits.failed(from("10.0.0.1"));
        assert_eq!(delay(&limits, "10.0.0.1").await, 0);
        tokio::time::advance(Duration::from_secs(1)).await;
        (0..MOST_ADDRESSES as u32).for_each(|n| limits.failed(address(n + 1)));
        assert_eq!(lock(&limits.failures).len(), MOST_ADDRESSES);
        assert!(!lock(&limits.failures).contains_key(&from("10.0.0.1")));
    }

    #[test]
    fn a_host_s_ipv6_addresses_are_one() {
        assert_eq!(from("2001:db8::1"), from("2001:db8::ffff:1"));
        assert_ne!(from("2001:db8::1"), from("2001:db8:0:1::1"));
        assert_ne!(from("10.0.0.1"), from("10.0.0.2"));
    }
}
