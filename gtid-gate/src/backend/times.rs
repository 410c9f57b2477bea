//! What queries take, by digest: one entry has what a digest takes on each server, and whether it is heavy. A digest is a statement
//! without its values, here its number.
//!
//! In: the time that an answer was waited for (neither the wait for freshness or a turn, nor for a client that takes its answer
//! slowly), and how many ran.
//! Out: how long a server will take: what the digest takes there, times what all queries there are slowed down by now. Medians, which
//! forget: a digest's follows its own answers, the slowdown follows all answers, so that a digest that was not asked for in a while is
//! known under today's load, too. A server that gets no queries is taken to recover: it is tried again.
//! Out, too: whether queries of a digest are heavy: on satellites three of four take so long or longer. A heavy one is light again when
//! a quarter of them takes less than half of that. The quarter is what a digest takes when little else runs: a busy satellite makes no
//! query heavy.
//! Bounded: digests share a fixed number of entries, of 2 KiB each, and a newer one takes an entry over.
//! Must never: wait, or allocate, but when an entry is used first; nor hold on to what a server took once, when that keeps
//! queries from it.

use super::slowdown::Slowdown;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const ENTRIES: usize = 4096;
/// Of more servers, a newer one's time replaces an older one's.
const SERVERS: usize = 128;
/// Times are kept in units of 100 ns, up to an hour.
const LONGEST: u64 = 36_000_000_000;
const UNIT_NS: u128 = 100;
const HEAVY: u64 = 1 << 36;
const TAG_AT: u32 = 37;
/// An answer moves its digest's median by a part of it: the n-th by FIRST_STEP / n, as long as that is more than the time since the
/// one before it as a part of FOLLOWS. So a change of the load is told by the slowdown, before the medians have followed.
const FIRST_STEP: f64 = 0.5;
const FOLLOWS: Duration = Duration::from_secs(3);
const MOST_STEP: f64 = 0.2;
/// A slower answer raises the quarter by this part of it, a quicker one lowers it by three times as much.
const QUARTER_STEP: f64 = 0.03;
/// The mean of all counts an answer so much.
const WEIGHT: u64 = 16;

/// One average, of times that are no query's.
#[derive(Default)]
pub struct Average(AtomicU64);

impl Average {
    pub fn add(&self, took: Duration) {
        let took = units(took);
        let known = self.0.load(Ordering::Relaxed);
        let next = match known {
            0 => took,
            _ => (known * (WEIGHT - 1) + took + WEIGHT / 2) / WEIGHT,
        };
        // A concurrent answer that gets lost is one of many.
        self.0.store(next.max(1), Ordering::Relaxed);
    }

    pub fn get(&self) -> Option<Duration> {
        let known = self.0.load(Ordering::Relaxed);
        (known > 0).then(|| duration(known))
    }
}

/// Of all digests, on all servers.
pub struct DigestTimes {
    /// In units; 0: nothing is heavy.
    heavy_from: u64,
    entries: Box<[Entry]>,
}

#[derive(Default)]
struct Entry {
    /// The quarter on all satellites, and whether the digest is heavy.
    weight: TaggedTime,
    servers: OnceLock<Box<[OnServer]>>,
}

#[derive(Default)]
struct OnServer {
    /// The digest's median at a slowdown of one.
    usual: TaggedTime,
    answers: AtomicU32,
    /// When the last answer came, in milliseconds since the beginning.
    last: AtomicU32,
}

/// A time, behind the upper bits of the key that it belongs to; 0: nothing is known.
#[derive(Default)]
struct TaggedTime(AtomicU64);

/// What queries take on one server.
pub struct ServerTimes {
    digests: Arc<DigestTimes>,
    /// Its number.
    server: usize,
    is_satellite: bool,
    slowdown: Slowdown,
    began: Instant,
    /// What was answered before is old; in milliseconds since the beginning.
    old_until: AtomicU32,
}

/// What a query of some digest usually takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// If nothing slows the server down.
    pub time: Duration,
    /// Known from so long ago that it should be tried again.
    pub is_old: bool,
}

/// A time is old after so many times itself: who tries again then spends at most a hundredth of a core.
const OLD_AFTER: u32 = 100;
const OLD_AT_LEAST: Duration = Duration::from_secs(1);

impl DigestTimes {
    pub fn new(heavy_from: Duration) -> Self {
        Self {
            heavy_from: (heavy_from.as_nanos() / UNIT_NS) as u64,
            entries: (0..ENTRIES).map(|_| Entry::default()).collect(),
        }
    }

    pub fn is_heavy(&self, digest: u64) -> bool {
        let weight = self.entry(digest).weight.get(digest);
        weight.is_some_and(|weight| weight & HEAVY != 0)
    }

    fn entry(&self, digest: u64) -> &Entry {
        &self.entries[digest as usize % ENTRIES]
    }

    /// A satellite took so long.
    fn weigh(&self, weight: &TaggedTime, digest: u64, took: u64) {
        if self.heavy_from == 0 {
            return;
        }
        let known = weight.get(digest).unwrap_or(took);
        let (was_heavy, quarter) = (known & HEAVY != 0, (known & !HEAVY) as f64);
        let ratio = took as f64 / quarter;
        let quarter = toward(quarter, ratio, QUARTER_STEP, 3.0 * QUARTER_STEP);
        let part = if was_heavy { 2 } else { 1 };
        let is_heavy = quarter >= self.heavy_from / part;
        let heavy = if is_heavy { HEAVY } else { 0 };
        weight.set(digest, heavy | quarter);
    }
}

impl Entry {
    fn server(&self, server: usize) -> &OnServer {
        let new = || (0..SERVERS).map(|_| OnServer::default()).collect();
        &self.servers.get_or_init(new)[server % SERVERS]
    }
}

impl TaggedTime {
    fn get(&self, key: u64) -> Option<u64> {
        let tagged = self.0.load(Ordering::Relaxed);
        let time = tagged & ((1 << TAG_AT) - 1);
        (tagged >> TAG_AT == key >> TAG_AT && time > 0).then_some(time)
    }

    fn set(&self, key: u64, time: u64) {
        // A concurrent answer that gets lost is one of many.
        let tagged = key >> TAG_AT << TAG_AT | time;
        self.0.store(tagged, Ordering::Relaxed);
    }
}

impl ServerTimes {
    pub fn new(digests: Arc<DigestTimes>, server: usize, is_satellite: bool) -> Self {
        Self {
            digests,
            server,
            is_satellite,
            slowdown: Slowdown::default(),
            began: Instant::now(),
            old_until: AtomicU32::new(0),
        }
    }

    /// The server was lost: the next mysqld may have other cores and a cold cache, and the last answers may have come from one that
    /// was about to end.
    pub fn outlive(&self, now: Instant) {
        self.old_until.store(self.since(now), Ordering::Relaxed);
    }

    /// An answer took so long; `running` ran then, it among them. What is old counts no more as soon as something newer is known.
    pub fn add(&self, digest: u64, took: Duration, running: usize, now: Instant) {
        if digest == 0 {
            return;
        }
        let (entry, took) = (self.digests.entry(digest), units(took));
        if self.is_satellite {
            self.digests.weigh(&entry.weight, digest, took);
        }
        let (here, key) = (entry.server(self.server), self.key(digest));
        let usual = here.usual.get(key);
        let fresh = usual.filter(|usual| !self.is_old(here, duration(*usual), now));
        let since = self.since(now);
        let last = here.last.swap(since, Ordering::Relaxed);
        let Some(usual) = fresh else {
            here.answers.store(1, Ordering::Relaxed);
            let usual = took as f64 / self.slowdown.at(now);
            return here.usual.set(key, whole(usual));
        };
        let ratio = took as f64 / usual as f64;
        let seen = ratio / self.slowdown.add(ratio, running, now);
        let answers = here.answers.fetch_add(1, Ordering::Relaxed) + 1;
        let age = f64::from(since.saturating_sub(last)) / FOLLOWS.as_millis() as f64;
        let step = (FIRST_STEP / f64::from(answers)).max(age.min(MOST_STEP));
        here.usual.set(key, toward(usual as f64, seen, step, step));
    }

    /// What queries of this digest usually take.
    pub fn known(&self, digest: u64, now: Instant) -> Option<Known> {
        let here = self.digests.entry(digest).server(self.server);
        let time = duration(here.usual.get(self.key(digest))?);
        let is_old = self.is_old(here, time, now);
        Some(Known { time, is_old })
    }

    /// By how much the next query will be slowed down, beside so many others.
    pub fn slowdown(&self, running: usize, now: Instant) -> f64 {
        self.slowdown.beside(running, now)
    }

    /// What the next query of this digest will take, beside so many others.
    #[cfg(test)]
    pub fn expect(&self, digest: u64, running: usize, now: Instant) -> Option<Duration> {
        let known = self.known(digest, now)?;
        Some(known.time.mul_f64(self.slowdown(running, now)))
    }

    /// Of this server's times.
    fn key(&self, digest: u64) -> u64 {
        digest ^ (self.server as u64) << TAG_AT
    }

    fn is_old(&self, here: &OnServer, usual: Duration, now: Instant) -> bool {
        let last = here.last.load(Ordering::Relaxed);
        let is_outlived = (self.old_until.load(Ordering::Relaxed).wrapping_sub(last) as i32) > 0;
        let age = self.since(now).wrapping_sub(last) as i32;
        let age = Duration::from_millis(age.max(0) as u64);
        is_outlived || age >= OLD_AT_LEAST.max(usual.saturating_mul(OLD_AFTER))
    }

    /// The last answer came so much longer ago.
    #[cfg(test)]
    pub fn age(&self, digest: u64, by: Duration) {
        let here = self.digests.entry(digest).server(self.server);
        let by = by.as_millis() as u32;
        here.last.fetch_sub(by, Ordering::Relaxed);
    }

    /// In milliseconds, of 49 days.
    fn since(&self, now: Instant) -> u32 {
        now.saturating_duration_since(self.began).as_millis() as u32
    }
}

/// One step of a quantile toward what was seen, which is `ratio` times what was known, by these parts up or down; never beyond it.
fn toward(known: f64, ratio: f64, up: f64, down: f64) -> u64 {
    whole(match ratio > 1.0 {
        true => known * ratio.min(1.0 + up),
        false => known * ratio.max(1.0 / (1.0 + down)),
    })
}

fn whole(units: f64) -> u64 {
    (units.round() as u64).clamp(1, LONGEST)
}

fn units(took: Duration) -> u64 {
    ((took.as_nanos() / UNIT_NS) as u64).clamp(1, LONGEST)
}

fn duration(units: u64) -> Duration {
    Duration::from_nanos(units * UNIT_NS as u64)
}

#[cfg(test)]
mod tests;
