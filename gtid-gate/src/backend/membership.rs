//! The servers behind the gate: the master, and satellites that come and go.
//!
//! In: addresses. Out: lists of servers, as they are at one time. Must never: have two servers of one address or one name.

use super::connection::Server;
use super::marks::Marks;
use super::server::{Role, lag_transactions};
use super::times::DigestTimes;
use crate::common::classes::Classes;
use crate::common::lock;
use crate::ops::config::{Address, Config, Limits};
use crate::ops::metrics::Metrics;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

pub struct Servers {
    pub master: Arc<Server>,
    /// Replaced as a whole: a read looks at one list from its beginning to its end.
    satellites: Mutex<Arc<[Arc<Server>]>>,
    last_id: AtomicUsize,
    sockets: Option<PathBuf>,
    /// What each server gets at most, where no operator has said otherwise.
    pub limits: Limits,
    classes: Arc<Classes>,
    /// What queries take on each of them.
    pub digest_times: Arc<DigestTimes>,
    marks: Arc<Marks>,
    /// Tells that one of them was lost.
    pub any_loss: Arc<Notify>,
}

impl Servers {
    pub fn new(config: &Config) -> Self {
        let (address, limits) = (config.master.clone(), config.limits);
        let sockets = config.sockets.clone();
        let name = address.host.clone();
        let any_loss = Arc::new(Notify::new());
        let digest_times = Arc::new(DigestTimes::new(config.heavy_from));
        let (loss, times) = (any_loss.clone(), digest_times.clone());
        let mut master = Server::new(0, name, Role::Master, address, limits, loss, times);
        master.socket = socket(sockets.as_deref(), &master.address);
        Self {
            marks: master.marks.clone(),
            master: Arc::new(master),
            satellites: Mutex::new(Arc::from([])),
            last_id: AtomicUsize::new(0),
            sockets,
            limits,
            classes: config.classes.clone(),
            digest_times,
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

    /// As executable comments have it: 90704 is 9.7.4. 0 where servers differ, or one has yet to be reached.
    pub fn common_version(&self) -> u32 {
        let mut versions = self.all().into_iter().map(|s| version_number(&s.version()));
        let first = versions.next().unwrap_or_default();
        if versions.all(|v| v == first) {
            first
        } else {
            0
        }
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
        let (role, limits) = (Role::Satellite, self.limits);
        let (loss, times) = (self.any_loss.clone(), self.digest_times.clone());
        let mut server = Server::new(id, name, role, address, limits, loss, times);
        server.marks = self.marks.clone();
        server.socket = socket(self.sockets.as_deref(), &server.address);
        server.bound = self.classes.bound_to(&server.name);
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
            // From 0 on: a rise from nothing to one is none for Prometheus.
            metrics.server_restarts.with_label_values(&label);
            metrics
                .server_running
                .with_label_values(&label)
                .set(load as i64);
            metrics
                .server_limit
                .with_label_values(&label)
                .set(server.turns.limit() as i64);
            metrics
                .server_queued
                .with_label_values(&label)
                .set(server.turns.queued() as i64);
            metrics
                .server_heavy
                .with_label_values(&label)
                .set(server.heavy.load(Ordering::Relaxed) as i64);
            metrics
                .server_sessions
                .with_label_values(&label)
                .set(server.pool.open() as i64);
            let lag = lag_transactions(master.as_deref(), position.as_deref());
            let age = server.lag_ms.load(Ordering::Relaxed);
            metrics
                .lag_seconds
                .with_label_values(&label)
                .set(age as f64 / 1000.0);
            metrics
                .lag_transactions
                .with_label_values(&label)
                .set(lag.map_or(-1, |l| l as i64));
        }
    }
}

fn socket(sockets: Option<&Path>, address: &Address) -> Option<PathBuf> {
    let plain = !address.host.contains('/');
    let own = sockets.filter(|_| plain)?.join(&address.host);
    Some(own.join("mysqld.sock"))
}

/// `8.4.7-suffix` is 80407; 0 if it is no version.
fn version_number(text: &str) -> u32 {
    let mut parts = text.split(['.', '-', '+']).map(str::parse::<u32>);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) if minor < 100 && patch < 100 => {
            major * 10_000 + minor * 100 + patch
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_number_as_comments_have_it() {
        for (text, expected) in [
            ("9.7.4-2", 90_704),
            ("8.0.15", 80_015),
            ("8.4", 0),
            ("x", 0),
        ] {
            assert_eq!(version_number(text), expected, "{text}");
        }
    }
}
