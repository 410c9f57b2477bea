//! The connections of sessions to one server: how many there may be, and those that are between two sessions.
//!
//! While there is room every session keeps its own. Once there is none, sessions hand theirs over between two
//! statements, unless something of theirs lives there.
//! In: connections that are given back. Out: one of the same user to take over, room for a new one, or neither.
//! Must never: give a connection to another user than the one who logged in on it, or count one twice.

use crate::common::lock;
use crate::common::secret::Password;
use crate::protocol::auth;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Who logged in, and with what: only the same may take a connection over.
#[derive(Clone)]
pub struct Identity {
    pub user: String,
    pub account: Arc<str>,
    pub password: Arc<Password>,
    pub capabilities: u32,
    pub charset: u16,
    /// The client's connection is encrypted; what the account requires is met by both or by none.
    pub secure: bool,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        let same_password = || {
            Arc::ptr_eq(&self.password, &other.password)
                || auth::same(&self.password, &other.password)
        };
        self.user == other.user
            && self.account == other.account
            && self.capabilities == other.capabilities
            && self.charset == other.charset
            && self.secure == other.secure
            && same_password()
    }
}

/// What a pool keeps.
pub trait Pooled: Sized + Send + 'static {
    /// It has chosen one, and no connection can be without one again.
    fn has_database(&self) -> bool;

    /// Gives up its part of the connections that there may be.
    fn take_permit(&mut self) -> Option<ConnectionPermit<Self>>;

    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A connection between two sessions.
pub struct Idle<C> {
    pub backend: C,
    pub identity: Identity,
    /// The life of a session that gave it back.
    pub owner: u64,
    pub since: Instant,
}

/// Who asks for a connection.
pub struct Wanted<'a> {
    pub identity: &'a Identity,
    pub owner: u64,
    /// A connection that has one can't be without a database again.
    pub has_database: bool,
}

pub enum Offer<C: Pooled> {
    /// One to take over.
    Idle(Box<Idle<C>>),
    /// ConnectionPermit for a new one.
    Permit(ConnectionPermit<C>),
    /// All are in use, and none is free to be taken over.
    Full,
}

pub struct Pool<C> {
    inner: Mutex<Inner<C>>,
    /// No room, for a look without the lock.
    tight: AtomicBool,
    /// Somebody gave one back, or closed one.
    freed: Notify,
}

struct Inner<C> {
    limit: usize,
    /// How many the server itself has room for.
    room: usize,
    open: usize,
    idle: Vec<Idle<C>>,
}

impl<C> Inner<C> {
    fn most(&self) -> usize {
        self.limit.min(self.room)
    }
}

/// One connection of those that there may be; dropped, it is free again.
pub struct ConnectionPermit<C: Pooled> {
    pool: Arc<Pool<C>>,
}

impl<C: Pooled> Drop for ConnectionPermit<C> {
    fn drop(&mut self) {
        let mut inner = lock(&self.pool.inner);
        inner.open -= 1;
        self.pool.note(&inner);
        drop(inner);
        self.pool.freed.notify_one();
    }
}

impl<C: Pooled> Pool<C> {
    pub fn new(limit: usize) -> Self {
        Self {
            inner: Mutex::new(Inner {
                limit,
                room: usize::MAX,
                open: 0,
                idle: Vec::new(),
            }),
            tight: AtomicBool::new(limit == 0),
            freed: Notify::new(),
        }
    }

    pub fn limit(&self) -> usize {
        lock(&self.inner).most()
    }

    pub fn set_limit(&self, limit: usize) {
        self.bound(|inner| inner.limit = limit);
    }

    pub fn set_room(&self, room: usize) {
        if lock(&self.inner).room != room {
            self.bound(|inner| inner.room = room);
        }
    }

    fn bound(&self, change: impl FnOnce(&mut Inner<C>)) {
        let mut inner = lock(&self.inner);
        change(&mut inner);
        self.note(&inner);
        let now = inner.idle.len();
        let surplus = inner.open.saturating_sub(inner.most()).min(now);
        let closed: Vec<Idle<C>> = inner.idle.drain(..surplus).collect();
        drop(inner);
        closed.into_iter().for_each(close);
        self.freed.notify_one();
    }

    /// Connections of sessions, those between two sessions included.
    pub fn open(&self) -> usize {
        lock(&self.inner).open
    }

    pub fn idle(&self) -> usize {
        lock(&self.inner).idle.len()
    }

    /// Whether sessions should hand their connections over.
    pub fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    /// Whether who has none has to wait for one.
    pub fn is_exhausted(&self) -> bool {
        self.is_tight() && self.idle() == 0
    }

    fn note(&self, inner: &Inner<C>) {
        let tight = inner.open >= inner.most();
        self.tight.store(tight, Ordering::Relaxed);
    }

    /// The best there is now: the asker's own, any of the same user, room for a new one.
    pub fn offer(self: &Arc<Self>, wanted: &Wanted<'_>) -> Offer<C> {
        let mut inner = lock(&self.inner);
        if let Some(at) = best(&inner.idle, wanted) {
            return Offer::Idle(Box::new(inner.idle.remove(at)));
        }
        drop(inner);
        self.permit().map_or(Offer::Full, Offer::Permit)
    }

    /// ConnectionPermit for a new one, if there is.
    pub fn permit(self: &Arc<Self>) -> Option<ConnectionPermit<C>> {
        let mut inner = lock(&self.inner);
        if inner.open < inner.most() {
            inner.open += 1;
            self.note(&inner);
            return Some(ConnectionPermit { pool: self.clone() });
        }
        if inner.idle.is_empty() {
            return None;
        }
        // One of another user makes room.
        let mut other = inner.idle.remove(0);
        let fits = inner.open <= inner.most();
        drop(inner);
        let permit = other.backend.take_permit().filter(|_| fits);
        close(other);
        permit
    }

    /// Takes a connection back for whoever needs it next.
    pub fn give(&self, idle: Idle<C>) {
        let mut inner = lock(&self.inner);
        if inner.open > inner.most() {
            drop(inner);
            return close(idle);
        }
        inner.idle.push(idle);
        drop(inner);
        self.freed.notify_one();
    }

    /// Until something may have become free.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Closes what nobody has needed for this long.
    pub fn close_idle(&self, longer: Duration) {
        let mut inner = lock(&self.inner);
        let unneeded = |i: &mut Idle<C>| i.since.elapsed() > longer;
        let closed: Vec<Idle<C>> = inner.idle.extract_if(.., unneeded).collect();
        drop(inner);
        closed.into_iter().for_each(close);
    }

    /// Closes what lies there: the server is not the one any more that they were made for.
    pub fn clear(&self) {
        let idle = std::mem::take(&mut lock(&self.inner).idle);
        drop(idle);
    }
}

fn best<C: Pooled>(idle: &[Idle<C>], wanted: &Wanted<'_>) -> Option<usize> {
    let fits = |i: &Idle<C>| {
        (wanted.has_database || !i.backend.has_database()) && i.identity == *wanted.identity
    };
    let own = idle.iter().rposition(|i| i.owner == wanted.owner);
    own.filter(|at| idle.get(*at).is_some_and(fits))
        .or_else(|| idle.iter().rposition(fits))
}

fn close<C: Pooled>(idle: Idle<C>) {
    tokio::spawn(idle.backend.close());
}

#[cfg(test)]
mod tests;
