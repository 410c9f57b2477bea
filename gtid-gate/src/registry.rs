//! Who is connected, and where each one's statement runs: what KILL needs.
//!
//! Connection ids of the gate start high, so that none is ever taken for a connection id of a server.
//! Must never: kill another user's connection, or one that no longer runs what was meant.

use crate::servers::{Server, lock};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

pub const FIRST_ID: u32 = 1 << 30;

pub struct Entry {
    pub id: u32,
    user: Mutex<String>,
    running: Mutex<Option<(Arc<Server>, u32)>>,
    /// The session's connection id on the master, which CONNECTION_ID() tells; 0 is none.
    pub on_master: AtomicU32,
    pub killed: Notify,
}

impl Entry {
    pub fn set_user(&self, user: &str) {
        *lock(&self.user) = user.to_owned();
    }

    pub fn user(&self) -> String {
        lock(&self.user).clone()
    }

    pub fn set_running(&self, at: Option<(Arc<Server>, u32)>) {
        *lock(&self.running) = at;
    }

    /// The server and its connection id where the statement in hand runs.
    pub fn running(&self) -> Option<(Arc<Server>, u32)> {
        lock(&self.running).clone()
    }
}

#[derive(Default)]
pub struct Registry {
    next: AtomicU32,
    entries: Mutex<HashMap<u32, Arc<Entry>>>,
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
            user: Mutex::default(),
            running: Mutex::default(),
            on_master: AtomicU32::new(0),
            killed: Notify::new(),
        };
        let entry = Arc::new(entry);
        entries.insert(id, entry.clone());
        entry
    }

    pub fn remove(&self, id: u32) {
        lock(&self.entries).remove(&id);
    }

    pub fn find(&self, id: u32) -> Option<Arc<Entry>> {
        lock(&self.entries).get(&id).cloned()
    }

    /// The session of this user whose connection to the master has this id.
    pub fn find_on_master(&self, id: u32, user: &str) -> Option<Arc<Entry>> {
        let entries = lock(&self.entries);
        let is_it = |e: &&Arc<Entry>| e.on_master.load(Ordering::Relaxed) == id && e.user() == user;
        entries.values().filter(|_| id != 0).find(is_it).cloned()
    }

    pub fn count(&self) -> usize {
        lock(&self.entries).len()
    }
}
