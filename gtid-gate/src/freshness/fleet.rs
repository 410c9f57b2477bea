//! Satellites that come and go while the gate serves.
//!
//! In: an operator's wish. Out: the list of servers, changed, or why not. A satellite that is drained gets nothing new;
//! what is open on it may end.
//! Must never: take a server away from a session that is in the middle of something on it.

use super::admission::Gate;
use super::probe::follow;
use crate::backend::{Monitor, Role, Server};
use crate::ops::config::{Address, Config};
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    #[error("there is no satellite {0:?}")]
    Unknown(String),
    #[error("the master's limit is a number")]
    MasterIsFixed,
    #[error("{0} is there already")]
    Known(Address),
    #[error(
        "{name} is still in use: {state}, {running} statements running, {open} transactions or cursors open; drain it first"
    )]
    InUse {
        name: String,
        state: &'static str,
        running: usize,
        open: usize,
    },
}

/// The limits that an operator has set. What he has not set follows the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitsByHand {
    pub running: Option<RunningByHand>,
    pub connections: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunningByHand {
    Auto,
    Fixed(usize),
}

impl Gate {
    /// Holds from now on; what is beyond a lower limit ends by itself.
    pub fn set_limits(&self, server: &Server, limits: LimitsByHand) -> Result<(), FleetError> {
        match limits.running {
            Some(RunningByHand::Auto) if server.role == Role::Master => {
                return Err(FleetError::MasterIsFixed);
            }
            Some(RunningByHand::Auto) => server.found.find(),
            Some(RunningByHand::Fixed(limit)) => server.found.fix(limit),
            None => server.found.follow_setting(),
        }
        let connections = limits.connections;
        let of_setting = self.servers.limits.connections;
        server.pool.set_limit(connections.unwrap_or(of_setting));
        let (name, running) = (&server.name, limits.running);
        tracing::info!(server = %name, ?running, ?connections, "limits set");
        Ok(())
    }

    /// A satellite more. It gets reads once it has said where it is.
    pub fn add(&self, address: Address, config: &Config) -> Result<Arc<Server>, FleetError> {
        let server = self
            .servers
            .add(address.clone())
            .ok_or(FleetError::Known(address))?;
        let monitor = Monitor::new(server.clone(), config, self.metrics.clone());
        let following = follow(
            monitor,
            self.read_index.clone(),
            self.servers.master.clone(),
        );
        server.set_following(tokio::spawn(following).abort_handle());
        Ok(server)
    }

    /// Nothing new for it; or, taken back, as before.
    pub fn drain(&self, name: &str, draining: bool) -> Result<Arc<Server>, FleetError> {
        let server = self.satellite(name)?;
        if server.draining.swap(draining, Ordering::Relaxed) != draining {
            tracing::info!(server = %server.name, draining, "server drained or taken back");
        }
        Ok(server)
    }

    /// Forgets a satellite that was drained and has nothing open any more.
    pub fn remove(&self, name: &str) -> Result<Arc<Server>, FleetError> {
        let server = self.satellite(name)?;
        let running = server.running.load(Ordering::Relaxed);
        let open = server.open.load(Ordering::Relaxed);
        let draining = server.draining.load(Ordering::Relaxed);
        let gone = server.position().is_none();
        if !gone && (!draining || running + open > 0) {
            return Err(FleetError::InUse {
                name: name.to_owned(),
                state: server.state(),
                running,
                open,
            });
        }
        // Sessions that know it leave it.
        server.draining.store(true, Ordering::Relaxed);
        self.servers.remove(server.id);
        server.stop_following();
        self.metrics.forget_server(&server.name);
        tracing::info!(server = %server.name, "server removed");
        Ok(server)
    }

    /// The master or a satellite.
    pub fn server(&self, name: &str) -> Result<Arc<Server>, FleetError> {
        match self.servers.master.name == name {
            true => Ok(self.servers.master.clone()),
            false => self.satellite(name),
        }
    }

    fn satellite(&self, name: &str) -> Result<Arc<Server>, FleetError> {
        let satellites = self.servers.satellites();
        let found = satellites.iter().find(|s| s.name == name);
        found
            .cloned()
            .ok_or_else(|| FleetError::Unknown(name.to_owned()))
    }
}
