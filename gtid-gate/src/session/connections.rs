//! The connections of a session to servers: at most one to the master, one to each satellite used.
//!
//! They live as long as the client's. A server ends a connection that is idle for the session's `wait_timeout`. The one to the
//! master may be idle while the client is busy on satellites, and temporary tables, locks and user variables live there. So
//! each hears from the session twice in that time, and the client, whose own time begins with its last command, is shown out
//! first.
//! Must never: be seen in what the client asks about its last statement.

use super::held::Held;
use crate::backend::{Backend, Open, StatementKey, bounded};
use crate::clients::registry::Entry;
use crate::net::stream::Alarm;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// Unlike COM_PING it leaves ROW_COUNT() as it is.
pub(super) const COM_STATISTICS: u8 = 0x09;

pub(super) struct Connections {
    pub master: Option<Box<Backend>>,
    pub satellites: Held,
    /// Held while the session is in the middle of something on a satellite.
    open: Vec<Open>,
    /// Changes when the session begins anew: connections that it handed over before are not its own any more.
    pub life: u64,
    pub alarm: Alarm,
    /// When all connections were used last, at the latest.
    last_use: Instant,
}

impl Connections {
    pub fn new(master: Option<Box<Backend>>, life: u64) -> Self {
        Self {
            master,
            satellites: Held::default(),
            open: Vec::new(),
            life,
            alarm: Alarm::default(),
            last_use: Instant::now(),
        }
    }

    /// To the master, or to this satellite.
    pub fn to(&self, server: usize) -> Option<&Backend> {
        match server {
            0 => self.master.as_deref(),
            _ => self.satellites.get(server),
        }
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Backend> {
        let master = self.master.as_deref_mut();
        master.into_iter().chain(self.satellites.iter_mut())
    }

    /// Between two commands: says where something is open, and leaves satellites that are drained. `busy`: the satellites
    /// where the session is in the middle of something.
    pub fn settle(&mut self, busy: &[usize]) {
        self.open.retain(|o| busy.contains(&o.server.id));
        for id in busy {
            let is_new = !self.open.iter().any(|o| o.server.id == *id);
            if let Some(backend) = self.satellites.get(*id).filter(|_| is_new) {
                self.open.push(backend.server.start_open());
            }
        }
        let leaves =
            |b: &Backend| b.server.draining.load(Ordering::Relaxed) && !busy.contains(&b.server.id);
        for backend in self.satellites.take_if(leaves) {
            tokio::spawn(backend.quit());
        }
    }

    /// Which of the master's connections is this session's, for KILL.
    pub fn show_master(&self, entry: &Entry) {
        let on_master = self.master.as_ref().map_or(0, |b| b.thread_id);
        entry.on_master.store(on_master, Ordering::Relaxed);
    }

    pub fn forget_statement(&mut self, key: &StatementKey) {
        self.each().for_each(|b| b.forget_statement(key));
    }

    /// COM_RESET_CONNECTION. A connection that can't be reset in time is not kept.
    pub async fn reset(&mut self, life: u64, within: Duration) {
        self.life = life;
        if let Some(mut master) = self.master.take() {
            let reset = bounded(within, master.reset()).await;
            self.master = reset.is_ok().then_some(master);
        }
        for mut satellite in self.satellites.take_all() {
            if bounded(within, satellite.reset()).await.is_ok() {
                self.satellites.put(satellite);
            }
        }
    }

    /// All of them have the settings up to this one.
    pub fn have_replayed(&mut self, order: u64) {
        self.each().for_each(|b| b.replayed = order);
    }

    pub fn keep_alive_due(&self, every: Duration) -> Instant {
        self.last_use + every
    }

    /// Lets every server hear from the session. A connection that does not answer is gone, with what lived on it: the next
    /// statement that needs that says so.
    pub async fn keep_alive(&mut self, within: Duration) {
        self.last_use = Instant::now();
        let alive = async |mut backend: Box<Backend>| {
            let asked = bounded(within, backend.simple_command(&[COM_STATISTICS])).await;
            asked.ok().map(|()| backend)
        };
        if let Some(master) = self.master.take() {
            self.master = alive(master).await;
        }
        for satellite in self.satellites.take_all() {
            if let Some(satellite) = alive(satellite).await {
                self.satellites.put(satellite);
            }
        }
    }

    pub async fn quit(&mut self) {
        for backend in self.satellites.take_all() {
            backend.quit().await;
        }
        if let Some(backend) = self.master.take() {
            backend.quit().await;
        }
    }
}
