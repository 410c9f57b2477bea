//! One server behind the gate, and what is known of it.
//!
//! In: positions from its probe, load from sessions. Out: snapshots of both.
//! Must never: give a position of one incarnation for another; a position is dropped when its connection is lost.

use super::found_limit::FoundLimit;
use super::marks::Marks;
use super::pool::{Pool, Pooled};
use super::position::{Incarnation, Position};
use super::times::{Average, DigestTimes, ServerTimes};
use super::turns::Turns;
use crate::common::classes::ClassSet;
use crate::common::lock;
use crate::gtid::GtidSet;
use crate::ops::config::{Address, Limits, RunningLimit};
use crate::ops::metrics::StatementTimes;
use prometheus::IntCounter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Told to clients until the master has been reached.
const UNKNOWN_VERSION: &str = "8.4.0";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Master,
    Satellite,
}

/// A read that waits until a server has `required`.
pub struct Waiter {
    pub required: GtidSet,
    pub woken: Arc<Notify>,
}

pub struct Server<C: Pooled> {
    pub id: usize,
    pub name: String,
    pub role: Role,
    pub address: Address,
    /// The classes of reads that it is bound to.
    pub bound: ClassSet,
    /// Reads answered, once there are any.
    pub reads: OnceLock<IntCounter>,
    /// What statements took that it ran.
    pub statement_times: StatementTimes,
    /// Where the server's Unix socket would be, if it is on this host.
    pub socket: Option<PathBuf>,
    /// Of the master's history, as it is known now.
    pub marks: Arc<Marks>,
    position: Mutex<Option<Arc<Position>>>,
    /// Outlives its position.
    last_incarnation: Mutex<Option<Incarnation>>,
    version: Mutex<String>,
    capabilities: AtomicU32,
    waiters: Mutex<Vec<Arc<Waiter>>>,
    /// What the master last had when a read looked here and did not find it: worth knowing once it has arrived, though
    /// nobody waits for it here.
    sought: Mutex<Option<Arc<Position>>>,
    /// Tells the tracker that somebody waits.
    pub wanted: Notify,
    /// How often the server was lost: who waits for an answer of an earlier life waits in vain.
    losses: AtomicU64,
    /// Tells that some server was lost.
    any_loss: Arc<Notify>,
    /// Statements running; on a satellite also those that wait for their turn.
    pub running: AtomicUsize,
    /// Those of them that are heavy.
    pub heavy: AtomicUsize,
    /// What those that run or wait should take, once they run, in microseconds.
    work: AtomicU64,
    /// What queries take here.
    pub times: ServerTimes,
    /// How long reads waited here until it was fresh enough.
    pub delay: Average,
    pub turns: Arc<Turns>,
    /// How many turns there are.
    pub found: FoundLimit,
    pub pool: Arc<Pool<C>>,
    /// Sessions that are in the middle of something here: a read-only transaction, a cursor.
    pub open: AtomicUsize,
    /// Gets nothing new.
    pub draining: AtomicBool,
    following: Mutex<Option<AbortHandle>>,
    /// Age of the oldest master position that this server lacked at the last look.
    pub lag_ms: AtomicU64,
}

impl<C: Pooled> Server<C> {
    pub fn new(
        id: usize,
        name: String,
        role: Role,
        address: Address,
        limits: Limits,
        any_loss: Arc<Notify>,
        digest_times: Arc<DigestTimes>,
    ) -> Self {
        let found = FoundLimit::new(match role {
            // Its writes are nothing to learn from, and what waits for locks is no sign of load.
            Role::Master => RunningLimit::Fixed(limits.running.most()),
            Role::Satellite => limits.running,
        });
        Self {
            id,
            name,
            role,
            address,
            bound: ClassSet::default(),
            reads: OnceLock::new(),
            statement_times: StatementTimes::default(),
            socket: None,
            marks: Arc::default(),
            position: Mutex::new(None),
            last_incarnation: Mutex::new(None),
            version: Mutex::new(UNKNOWN_VERSION.to_owned()),
            capabilities: AtomicU32::new(u32::MAX),
            waiters: Mutex::new(Vec::new()),
            sought: Mutex::new(None),
            wanted: Notify::new(),
            losses: AtomicU64::new(0),
            any_loss,
            running: AtomicUsize::new(0),
            heavy: AtomicUsize::new(0),
            work: AtomicU64::new(0),
            times: ServerTimes::new(digest_times, id, role == Role::Satellite),
            delay: Average::default(),
            turns: found.turns(),
            found,
            pool: Arc::new(Pool::new(limits.connections)),
            open: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            following: Mutex::new(None),
            lag_ms: AtomicU64::new(0),
        }
    }

    /// Nothing of a satellite whose history is not known to be the master's.
    pub fn position(&self) -> Option<Arc<Position>> {
        let of_this_history =
            |p: &Arc<Position>| self.role == Role::Master || self.marks.are_in(&p.executed);
        self.answered().filter(of_this_history)
    }

    /// What it said last, whatever its history.
    pub fn answered(&self) -> Option<Arc<Position>> {
        lock(&self.position).clone()
    }

    /// Its position is known.
    pub fn is_live(&self) -> bool {
        self.position().is_some()
    }

    /// Remembers it; whether the one before was another. The first one that is seen is not.
    pub fn is_another(&self, incarnation: &Incarnation) -> bool {
        let before = lock(&self.last_incarnation).replace(incarnation.clone());
        before.is_some_and(|before| before != *incarnation)
    }

    /// The version that the server gave last.
    pub fn version(&self) -> String {
        lock(&self.version).clone()
    }

    /// The capabilities that the server offered last; all until it has been reached.
    pub fn capabilities(&self) -> u32 {
        self.capabilities.load(Ordering::Relaxed)
    }

    pub fn greeted(&self, version: &str, capabilities: u32) {
        *lock(&self.version) = version.to_owned();
        self.capabilities.store(capabilities, Ordering::Relaxed);
    }

    /// Statements that run.
    pub fn load(&self) -> usize {
        let waiting = match self.role {
            Role::Master => 0,
            Role::Satellite => self.turns.queued(),
        };
        self.running.load(Ordering::Relaxed).saturating_sub(waiting)
    }

    /// What heavy queries count for beside the others: a light read would rather run beside four of these than beside a heavy one.
    pub fn heaviness(&self) -> usize {
        self.heavy.load(Ordering::Relaxed) * 3
    }

    pub fn set_lag(&self, lag: Duration) {
        self.lag_ms.store(lag.as_millis() as u64, Ordering::Relaxed);
    }

    pub fn losses(&self) -> u64 {
        self.losses.load(Ordering::Acquire)
    }

    /// Makes a new position known and wakes those that waited for it.
    pub fn publish(&self, position: Arc<Position>) {
        if self.role == Role::Master {
            self.marks.learn(&position);
        }
        let satisfied: Vec<_> = {
            let waiters = lock(&self.waiters);
            waiters
                .iter()
                .filter(|w| position.executed.contains_set(&w.required))
                .cloned()
                .collect()
        };
        *lock(&self.position) = Some(position);
        satisfied.iter().for_each(|w| w.woken.notify_one());
    }

    /// The server is lost: its position means nothing any more.
    pub fn forget(&self) {
        *lock(&self.position) = None;
        self.losses.fetch_add(1, Ordering::AcqRel);
        self.any_loss.notify_one();
        self.times.outlive(Instant::now());
        self.pool.clear();
        lock(&self.waiters)
            .iter()
            .for_each(|w| w.woken.notify_one());
    }

    /// The oldest requirement that the known position does not meet; when nobody waits, what was sought.
    pub fn oldest_unmet(&self) -> Option<GtidSet> {
        let known = self.answered()?;
        let unmet = |set: &GtidSet| !known.executed.contains_set(set);
        if let Some(waiter) = lock(&self.waiters).iter().find(|w| unmet(&w.required)) {
            return Some(waiter.required.clone());
        }
        let sought = lock(&self.sought).clone()?;
        unmet(&sought.executed).then(|| sought.executed.clone())
    }

    /// A read went elsewhere because this server is not known to have `master`'s transactions.
    pub fn seek(&self, master: &Arc<Position>) {
        *lock(&self.sought) = Some(master.clone());
        self.wanted.notify_one();
    }

    pub fn wait_for(self: &Arc<Self>, waiter: Waiter) -> Waiting<C> {
        let waiter = Arc::new(waiter);
        lock(&self.waiters).push(waiter.clone());
        self.wanted.notify_one();
        Waiting {
            server: self.clone(),
            waiter,
        }
    }

    /// As operators read it.
    pub fn state(&self) -> &'static str {
        match (
            self.position().is_some(),
            self.draining.load(Ordering::Relaxed),
        ) {
            (false, _) => "down",
            (true, true) => "draining",
            (true, false) => "up",
        }
    }

    pub fn set_following(&self, task: AbortHandle) {
        *lock(&self.following) = Some(task);
    }

    pub fn stop_following(&self) {
        if let Some(task) = lock(&self.following).take() {
            task.abort();
        }
        self.forget();
    }

    pub fn start_open(self: &Arc<Self>) -> Open<C> {
        self.open.fetch_add(1, Ordering::Relaxed);
        Open {
            server: self.clone(),
        }
    }

    /// `seconds`: what the statement should take once it runs.
    pub fn start_running(self: &Arc<Self>, heavy: bool, seconds: f64) -> Running<C> {
        let work = (seconds * 1e6) as u64;
        self.running.fetch_add(1, Ordering::Relaxed);
        self.heavy.fetch_add(heavy.into(), Ordering::Relaxed);
        self.work.fetch_add(work, Ordering::Relaxed);
        Running {
            server: self.clone(),
            heavy,
            work,
        }
    }

    /// What each of those that run or wait should take, in seconds.
    pub fn usual_work(&self) -> f64 {
        let running = self.running.load(Ordering::Relaxed).max(1);
        self.work.load(Ordering::Relaxed) as f64 / 1e6 / running as f64
    }
}

/// A registered waiter; dropped, it waits no more.
pub struct Waiting<C: Pooled> {
    server: Arc<Server<C>>,
    waiter: Arc<Waiter>,
}

impl<C: Pooled> Waiting<C> {
    pub fn server_id(&self) -> usize {
        self.server.id
    }
}

impl<C: Pooled> Drop for Waiting<C> {
    fn drop(&mut self) {
        lock(&self.server.waiters).retain(|w| !Arc::ptr_eq(w, &self.waiter));
    }
}

/// A statement in hand, counted as load of its server.
pub struct Running<C: Pooled> {
    server: Arc<Server<C>>,
    heavy: bool,
    work: u64,
}

impl<C: Pooled> Drop for Running<C> {
    fn drop(&mut self) {
        self.server.running.fetch_sub(1, Ordering::Relaxed);
        self.server
            .heavy
            .fetch_sub(self.heavy.into(), Ordering::Relaxed);
        self.server.work.fetch_sub(self.work, Ordering::Relaxed);
    }
}

/// A session that is in the middle of something on a server.
pub struct Open<C: Pooled> {
    pub server: Arc<Server<C>>,
}

impl<C: Pooled> Drop for Open<C> {
    fn drop(&mut self) {
        self.server.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many transactions of the master's last known set the server's lacks.
pub fn lag_transactions(master: Option<&Position>, server: Option<&Position>) -> Option<u64> {
    let mut missing = master?.executed.clone();
    missing.subtract(&server?.executed);
    Some(missing.count())
}

#[cfg(test)]
mod tests {
    use super::super::pool::ConnectionPermit;
    use super::*;

    struct NoConnection;

    impl Pooled for NoConnection {
        fn has_database(&self) -> bool {
            false
        }

        fn take_permit(&mut self) -> Option<ConnectionPermit<Self>> {
            None
        }

        async fn close(self) {}
    }

    fn set(last: u64) -> GtidSet {
        GtidSet::parse(&format!("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-{last}")).unwrap()
    }

    fn position(last: u64) -> Arc<Position> {
        Arc::new(Position {
            incarnation: "boot".into(),
            asked: Instant::now(),
            owned: GtidSet::new(),
            executed: set(last),
            as_of: None,
            backlog: None,
        })
    }

    #[test]
    fn what_was_sought_is_asked_for_until_it_is_there_but_after_those_that_wait() {
        let address = Address {
            host: "satellite-1".into(),
            port: 3306,
        };
        let limits = Limits {
            running: RunningLimit::Fixed(1),
            connections: 1,
        };
        let times = Arc::new(DigestTimes::new(Duration::ZERO));
        let (name, role) = ("s".into(), Role::Satellite);
        let server =
            Server::<NoConnection>::new(1, name, role, address, limits, Arc::default(), times);
        let server = Arc::new(server);
        server.seek(&position(5));
        assert_eq!(server.oldest_unmet(), None, "nothing is known of it yet");
        server.publish(position(3));
        assert_eq!(server.oldest_unmet(), Some(set(5)));
        let waiting = server.wait_for(Waiter {
            required: set(4),
            woken: Arc::default(),
        });
        assert_eq!(server.oldest_unmet(), Some(set(4)));
        drop(waiting);
        assert_eq!(server.oldest_unmet(), Some(set(5)));
        server.publish(position(5));
        assert_eq!(server.oldest_unmet(), None);
    }
}
