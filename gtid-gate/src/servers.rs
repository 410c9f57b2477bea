//! The servers behind the gate and what is known of each.
//!
//! In: positions from the trackers, load from sessions. Out: snapshots of both.
//! Must never: give a position of one incarnation for another; a position is dropped when its connection is lost.

use crate::config::{Address, Config};
use crate::gtid::GtidSet;
use crate::metrics::Metrics;
use prometheus::IntCounter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

mod backlog;
mod places;
mod pool;
pub use backlog::{Backlog, Look, Looks, ORDINARY_LAG};
pub use places::{Place, Places};
pub use pool::{Identity, Idle, Offer, Pool, Room, Wanted};

/// Told to clients until the master has been reached.
const UNKNOWN_VERSION: &str = "8.4.0";

/// One life of one mysqld: a nonce per boot, or what comes closest on a foreign server.
pub type Incarnation = Arc<str>;

/// What a server said about itself, in one statement: `owned` read first, then `executed`.
#[derive(Debug)]
pub struct Position {
    pub incarnation: Incarnation,
    /// Taken before the question was sent.
    pub asked: Instant,
    pub owned: GtidSet,
    pub executed: GtidSet,
    /// When the newest sample of the master was asked for that is contained here; satellites only.
    pub as_of: Option<Instant>,
    /// How far behind it was found to be; satellites only.
    pub backlog: Option<Backlog>,
}

/// The highest limit that can be set.
pub const MOST: usize = 1_000_000;

/// How much a server gets at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Statements at a time; more wait for their turn.
    pub running: usize,
    /// Connections of sessions; beyond that sessions share them.
    pub connections: usize,
}

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

pub struct Server {
    pub id: usize,
    pub name: String,
    pub role: Role,
    pub address: Address,
    /// Reads answered, once there are any.
    pub reads: OnceLock<IntCounter>,
    /// Where the server's Unix socket would be, if it is on this host.
    pub socket: Option<PathBuf>,
    position: Mutex<Option<Arc<Position>>>,
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
    pub places: Arc<Places>,
    pub pool: Arc<Pool>,
    /// Sessions that are in the middle of something here: a read-only transaction, a cursor.
    pub open: AtomicUsize,
    /// Gets nothing new.
    pub draining: AtomicBool,
    following: Mutex<Option<AbortHandle>>,
    /// Age of the oldest master position that this server lacked at the last look.
    pub lag_ms: AtomicU64,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    pub fn new(
        id: usize,
        name: String,
        role: Role,
        address: Address,
        limits: Limits,
        any_loss: Arc<Notify>,
    ) -> Self {
        Self {
            id,
            name,
            role,
            address,
            reads: OnceLock::new(),
            socket: None,
            position: Mutex::new(None),
            version: Mutex::new(UNKNOWN_VERSION.to_owned()),
            capabilities: AtomicU32::new(u32::MAX),
            waiters: Mutex::new(Vec::new()),
            sought: Mutex::new(None),
            wanted: Notify::new(),
            losses: AtomicU64::new(0),
            any_loss,
            running: AtomicUsize::new(0),
            places: Arc::new(Places::new(limits.running)),
            pool: Arc::new(Pool::new(limits.connections)),
            open: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            following: Mutex::new(None),
            lag_ms: AtomicU64::new(0),
        }
    }

    pub fn position(&self) -> Option<Arc<Position>> {
        lock(&self.position).clone()
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
            Role::Satellite => self.places.queued(),
        };
        self.running.load(Ordering::Relaxed).saturating_sub(waiting)
    }

    pub fn limits(&self) -> Limits {
        Limits {
            running: self.places.limit(),
            connections: self.pool.limit(),
        }
    }

    pub fn set_limits(&self, limits: Limits) {
        self.places.set_limit(limits.running);
        self.pool.set_limit(limits.connections);
    }

    pub fn set_lag(&self, lag: Duration) {
        self.lag_ms.store(lag.as_millis() as u64, Ordering::Relaxed);
    }

    pub fn losses(&self) -> u64 {
        self.losses.load(Ordering::Acquire)
    }

    /// Makes a new position known and wakes those that waited for it.
    pub fn publish(&self, position: Arc<Position>) {
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
        self.pool.clear();
        lock(&self.waiters)
            .iter()
            .for_each(|w| w.woken.notify_one());
    }

    /// The oldest requirement that the known position does not meet; when nobody waits, what was sought.
    pub fn oldest_unmet(&self) -> Option<GtidSet> {
        let known = self.position()?;
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

    pub fn wait_for(self: &Arc<Self>, waiter: Waiter) -> Waiting {
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

    pub fn start_open(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        Open {
            server: self.clone(),
        }
    }

    pub fn start_running(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running {
            server: self.clone(),
        }
    }
}

/// A registered waiter; dropped, it waits no more.
pub struct Waiting {
    server: Arc<Server>,
    waiter: Arc<Waiter>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        lock(&self.server.waiters).retain(|w| !Arc::ptr_eq(w, &self.waiter));
    }
}

/// A statement in hand, counted as load of its server.
pub struct Running {
    server: Arc<Server>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A session that is in the middle of something on a server.
pub struct Open {
    pub server: Arc<Server>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.server.open.fetch_sub(1, Ordering::Relaxed);
    }
}

pub struct Servers {
    pub master: Arc<Server>,
    /// Replaced as a whole: a read looks at one list from its beginning to its end.
    satellites: Mutex<Arc<[Arc<Server>]>>,
    last_id: AtomicUsize,
    sockets: Option<PathBuf>,
    limits: Limits,
    /// Tells that one of them was lost.
    pub any_loss: Arc<Notify>,
}

impl Servers {
    pub fn new(config: &Config) -> Self {
        let (address, limits) = (config.master.clone(), config.limits);
        let sockets = config.sockets.clone();
        let name = address.host.clone();
        let any_loss = Arc::new(Notify::new());
        let mut master = Server::new(0, name, Role::Master, address, limits, any_loss.clone());
        master.socket = socket(sockets.as_deref(), &master.address);
        Self {
            master: Arc::new(master),
            satellites: Mutex::new(Arc::from([])),
            last_id: AtomicUsize::new(0),
            sockets,
            limits,
            any_loss,
        }
    }

    pub fn satellites(&self) -> Arc<[Arc<Server>]> {
        lock(&self.satellites).clone()
    }

    pub fn all(&self) -> Vec<Arc<Server>> {
        let satellites = self.satellites();
        std::iter::once(&self.master)
            .chain(satellites.iter())
            .cloned()
            .collect()
    }

    pub fn find(&self, id: usize) -> Option<Arc<Server>> {
        if id == self.master.id {
            return Some(self.master.clone());
        }
        lock(&self.satellites).iter().find(|s| s.id == id).cloned()
    }

    /// Nothing if a server with this address is there. Its name is its host's, or its address if that is taken.
    pub fn add(&self, address: Address) -> Option<Arc<Server>> {
        let mut satellites = lock(&self.satellites);
        let others = || std::iter::once(&self.master).chain(satellites.iter());
        if others().any(|s| s.address == address) {
            return None;
        }
        let name = match others().any(|s| s.name == address.host) {
            true => address.to_string(),
            false => address.host.clone(),
        };
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let any_loss = self.any_loss.clone();
        let mut server = Server::new(id, name, Role::Satellite, address, self.limits, any_loss);
        server.socket = socket(self.sockets.as_deref(), &server.address);
        let server = Arc::new(server);
        *satellites = satellites.iter().chain([&server]).cloned().collect();
        Some(server)
    }

    pub fn remove(&self, id: usize) {
        let mut satellites = lock(&self.satellites);
        *satellites = satellites.iter().filter(|s| s.id != id).cloned().collect();
    }

    /// Brings the gauges up to date, when somebody looks.
    pub fn show(&self, metrics: &Metrics) {
        let master = self.master.position();
        for server in self.all() {
            let label = [server.name.as_str()];
            let position = server.position();
            metrics
                .server_up
                .with_label_values(&label)
                .set(i64::from(position.is_some()));
            let load = server.load();
            metrics
                .server_running
                .with_label_values(&label)
                .set(load as i64);
            metrics
                .server_queued
                .with_label_values(&label)
                .set(server.places.queued() as i64);
            metrics
                .server_sessions
                .with_label_values(&label)
                .set(server.pool.open() as i64);
            let lag = lag_transactions(master.as_deref(), position.as_deref());
            let age = server.lag_ms.load(Ordering::Relaxed);
            metrics
                .lag_milliseconds
                .with_label_values(&label)
                .set(age as i64);
            metrics
                .lag_transactions
                .with_label_values(&label)
                .set(lag.map_or(-1, |l| l as i64));
        }
    }
}

fn socket(sockets: Option<&Path>, address: &Address) -> Option<PathBuf> {
    let plain = !address.host.contains('/');
    Some(
        sockets
            .filter(|_| plain)?
            .join(format!("{}.sock", address.host)),
    )
}

/// How many transactions of the master's last known set the server's lacks.
pub fn lag_transactions(master: Option<&Position>, server: Option<&Position>) -> Option<u64> {
    let mut missing = master?.executed.clone();
    missing.subtract(&server?.executed);
    Some(missing.count())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            running: 1,
            connections: 1,
        };
        let any_loss = Arc::default();
        let server = Server::new(1, "s".into(), Role::Satellite, address, limits, any_loss);
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
