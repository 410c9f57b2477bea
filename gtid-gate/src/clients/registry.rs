//! Who is connected, and where each one's statement runs: what KILL needs.
//!
//! Connection ids of the gate start high, so that none is ever taken for a connection id of a server.
//! Must never: kill a connection that no longer runs what was meant.

use crate::backend::{Identity, Server};
use crate::common::lock;
use crate::common::signals::{ASKED_BACK, LOST, STOPPING, Signals};
use crate::protocol::error::SqlError;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;
use tokio::sync::{Mutex as Waited, MutexGuard, Notify};

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

pub const FIRST_ID: u32 = 1 << 30;

pub struct Entry {
    pub id: u32,
    /// Who logged in; nothing before.
    identity: Mutex<Option<Identity>>,
    running: Mutex<Option<(Arc<Server>, u32)>>,
    /// Held by who stops the statement in hand.
    stopping: Waited<()>,
    /// The session's connection id on the master, which CONNECTION_ID() tells; 0 is none.
    pub on_master: AtomicU32,
    pub signals: Signals,
    /// KILL QUERY of a statement that waits in the gate; only who waits hears it.
    pub interrupted: Notify,
    /// The servers whose connections the session could give back while it waits for its client, a bit each.
    spare: AtomicU64,
    /// When it began to wait, in milliseconds.
    idle_since: AtomicU64,
}

impl Entry {
    pub fn bit(server: usize) -> u64 {
        1 << (server % 64)
    }

    /// The session waits for its client, or (with 0) no longer.
    pub fn idle(&self, spare: u64) {
        if spare != 0 {
            let now = STARTED.elapsed().as_millis() as u64;
            self.idle_since.store(now, Ordering::Relaxed);
        }
        self.spare.store(spare, Ordering::Relaxed);
    }

    pub fn identity(&self) -> Option<Identity> {
        lock(&self.identity).clone()
    }

    pub fn set_running(&self, at: Option<(Arc<Server>, u32)>) {
        *lock(&self.running) = at;
    }

    /// The server and its connection id where the statement in hand runs.
    pub fn running(&self) -> Option<(Arc<Server>, u32)> {
        lock(&self.running).clone()
    }

    /// No statement is in hand any more, and nobody is about to stop it: its connection may go to another session.
    pub async fn statement_ended(&self) {
        self.set_running(None);
        if self.stopping.try_lock().is_err() {
            drop(self.stopping.lock().await);
        }
    }

    /// Leave to stop what runs there, if it still does; its connection stays with the session as long.
    pub async fn still_running(&self, server: &Server, id: u32) -> Option<MutexGuard<'_, ()>> {
        let leave = self.stopping.lock().await;
        let running = self.running();
        let is_same = running.is_some_and(|(at, running)| at.id == server.id && running == id);
        is_same.then_some(leave)
    }
}

#[derive(Default)]
pub struct Registry {
    next: AtomicU32,
    lives: AtomicU64,
    entries: Mutex<HashMap<u32, Arc<Entry>>>,
    /// Changes while `entries` is locked.
    stopping: AtomicBool,
}

impl Registry {
    pub fn add(&self) -> Arc<Entry> {
        let mut entries = lock(&self.entries);
        let id = loop {
            let id = FIRST_ID | (self.next.fetch_add(1, Ordering::Relaxed) & (FIRST_ID - 1));
            if !entries.contains_key(&id) {
                break id;
            }
        };
        let entry = Entry {
            id,
            identity: Mutex::default(),
            running: Mutex::default(),
            stopping: Waited::default(),
            on_master: AtomicU32::new(0),
            signals: Signals::default(),
            interrupted: Notify::new(),
            spare: AtomicU64::new(0),
            idle_since: AtomicU64::new(0),
        };
        if self.stopping.load(Ordering::Relaxed) {
            entry.signals.raise(STOPPING);
        }
        let entry = Arc::new(entry);
        entries.insert(id, entry.clone());
        entry
    }

    /// A number that no session has had yet.
    pub fn new_life(&self) -> u64 {
        self.lives.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks the session that has been idle longest for its connection to this server.
    pub fn ask_back(&self, server: usize) {
        let bit = Entry::bit(server);
        let entries = lock(&self.entries);
        let has_one = |e: &&Arc<Entry>| e.spare.load(Ordering::Relaxed) & bit != 0;
        let longest = entries
            .values()
            .filter(has_one)
            .min_by_key(|e| e.idle_since.load(Ordering::Relaxed));
        if let Some(entry) = longest {
            entry.spare.fetch_and(!bit, Ordering::Relaxed);
            entry.signals.raise(ASKED_BACK);
        }
    }

    /// Has all sessions look whether the server that they wait for is lost.
    pub fn tell_of_loss(&self) {
        lock(&self.entries)
            .values()
            .for_each(|e| e.signals.raise(LOST));
    }

    /// Tells all sessions, and those to come, that the gate stops.
    pub fn stop(&self) {
        let entries = lock(&self.entries);
        self.stopping.store(true, Ordering::Relaxed);
        entries.values().for_each(|e| e.signals.raise(STOPPING));
    }

    pub fn remove(&self, id: u32) {
        lock(&self.entries).remove(&id);
    }

    /// Lets a session in as this account, unless so many others are of it already; 0: however many. The master does not count those
    /// that have no connection to it.
    pub fn let_in(&self, entry: &Entry, identity: Identity, most: usize) -> Result<(), SqlError> {
        let entries = lock(&self.entries);
        let is_same = |e: &&Arc<Entry>| {
            let other = lock(&e.identity);
            e.id != entry.id
                && other
                    .as_ref()
                    .is_some_and(|o| o.account == identity.account)
        };
        if most > 0 && entries.values().filter(is_same).count() >= most {
            return Err(SqlError::too_many_connections_of(&identity.user, most));
        }
        *lock(&entry.identity) = Some(identity);
        Ok(())
    }

    pub fn find(&self, id: u32) -> Option<Arc<Entry>> {
        lock(&self.entries).get(&id).cloned()
    }

    /// The session whose connection to the master has this id.
    pub fn find_on_master(&self, id: u32) -> Option<Arc<Entry>> {
        let entries = lock(&self.entries);
        let is_it = |e: &&Arc<Entry>| e.on_master.load(Ordering::Relaxed) == id;
        entries.values().filter(|_| id != 0).find(is_it).cloned()
    }

    pub fn count(&self) -> usize {
        lock(&self.entries).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::shared;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn a_kill_of_a_statement_that_has_just_ended_hits_no_other_session() {
        let shared = shared(&[]);
        let entry = shared.registry.add();
        let server = &shared.gate.servers.master;
        entry.set_running(Some((server.clone(), 7)));
        let leave = entry.still_running(server, 7).await.unwrap();
        let ending = entry.clone();
        let ended = tokio::spawn(async move { ending.statement_ended().await });
        yield_now().await;
        assert!(!ended.is_finished(), "its connection would be another's");
        drop(leave);
        ended.await.unwrap();
        assert!(entry.still_running(server, 7).await.is_none());
        entry.set_running(Some((server.clone(), 8)));
        assert!(entry.still_running(server, 7).await.is_none());
    }

    #[tokio::test]
    async fn an_account_has_no_more_sessions_than_it_may_however_they_logged_in() {
        let shared = shared(&[]);
        let registry = &shared.registry;
        let identity = |account: &str| Identity {
            user: "app".to_owned(),
            account: account.into(),
            password: Arc::default(),
            capabilities: 0,
            charset: 255,
            secure: false,
        };
        let let_in = |entry: &Entry, most| registry.let_in(entry, identity("app@%"), most);
        let sessions = [registry.add(), registry.add(), registry.add()];
        assert!(let_in(&sessions[0], 2).is_ok() && let_in(&sessions[1], 2).is_ok());
        assert_eq!(let_in(&sessions[2], 2).unwrap_err().code, 1226);
        assert!(let_in(&sessions[1], 2).is_ok(), "it is one of the two");
        let other = registry.let_in(&sessions[2], identity("app@here"), 1);
        assert!(other.is_ok());
        registry.remove(sessions[0].id);
        assert!(let_in(&sessions[2], 2).is_ok());
        assert!(let_in(&registry.add(), 0).is_ok());
    }
}
