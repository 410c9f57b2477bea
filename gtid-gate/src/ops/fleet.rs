//! What operators and the settings make of the list of servers and their limits while the gate serves, and what is kept of it.
//!
//! In: commands of operators, a declared list read anew. Out: the running list, changed, and the file that keeps it; a change
//! is answered once it is on the disk. One change at a time.
//! Must never: let the running list and the state that is kept differ, or undo a change because it could not be kept.

use crate::backend::Server;
use crate::clients::shared::Shared;
use crate::common::lock;
use crate::freshness::{FleetError, Gate, LimitsByHand};
use crate::ops::config::{Address, Config};
use crate::ops::fleet_state::{FleetState, LimitChange, Satellite};
use crate::ops::state_file::StateFile;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often to look whether those that leave are still used.
const LOOK: Duration = Duration::from_millis(100);

/// Or why the change will not survive a restart.
pub type Kept = Result<(), String>;

pub struct Fleet {
    pub shared: Arc<Shared>,
    inner: Mutex<Inner>,
}

struct Inner {
    state: FleetState,
    file: StateFile,
    leaving: Vec<Leaving>,
}

/// No longer declared, and drained; it goes when nobody uses it any more, or then.
struct Leaving {
    satellite: Satellite,
    until: Instant,
}

/// The list and the limits to begin with: what was kept, and what has been declared since.
pub fn at_start(config: &Config) -> (FleetState, StateFile) {
    let mut file = StateFile::new(config.state.clone());
    let found = match file.read() {
        Ok(None) => return (FleetState::declared(&config.satellites), file),
        Ok(Some(kept)) => with_declared(&kept, config).map(|state| (state, kept)),
        Err(reason) => Err(reason),
    };
    let state = match found {
        Ok((state, kept)) => {
            if state != kept {
                // If it can not be kept, the next start merges the same again.
                let _ = file.write(&state);
            }
            state
        }
        Err(reason) => {
            file.set_aside(&reason);
            FleetState::declared(&config.satellites)
        }
    };
    (state, file)
}

fn with_declared(kept: &FleetState, config: &Config) -> Result<FleetState, String> {
    let state = kept.merged(&config.satellites);
    match state.satellites.iter().any(|s| s.address == config.master) {
        true => Err(format!("{} is GATE_MASTER", config.master)),
        false => Ok(state),
    }
}

/// Makes a gate without satellites what the state says.
pub fn begin(gate: &Gate, state: &FleetState, config: &Config) -> Result<(), FleetError> {
    for satellite in &state.satellites {
        let server = gate.add(satellite.address.clone(), config)?;
        set(gate, &server, satellite.limits)?;
        gate.drain(&server.name, satellite.drained)?;
    }
    set(gate, &gate.servers.master, state.master)
}

fn set(gate: &Gate, server: &Server, limits: LimitsByHand) -> Result<(), FleetError> {
    match limits == LimitsByHand::default() {
        true => Ok(()),
        false => gate.set_limits(server, limits),
    }
}

/// Removes those that leave as they become free.
pub async fn see_off(fleet: Arc<Fleet>) {
    loop {
        tokio::time::sleep(LOOK).await;
        if !fleet.let_go(Instant::now()) {
            return;
        }
    }
}

impl Fleet {
    /// A gate that was begun with this state.
    pub fn new(shared: Arc<Shared>, state: FleetState, file: StateFile) -> Self {
        let inner = Inner {
            state,
            file,
            leaving: Vec::new(),
        };
        Self {
            shared,
            inner: Mutex::new(inner),
        }
    }

    pub fn add(&self, address: Address) -> Result<(Arc<Server>, Kept), FleetError> {
        let mut inner = lock(&self.inner);
        let server = self.gate().add(address, &self.shared.config)?;
        tracing::info!(server = %server.name, "server added");
        let satellite = Satellite::new(server.address.clone());
        inner.state.satellites.push(satellite);
        Ok((server, inner.keep()))
    }

    /// Or takes back: then a satellite that is no longer declared stays, as if it was added by hand.
    pub fn drain(&self, name: &str, draining: bool) -> Result<(Arc<Server>, Kept), FleetError> {
        let mut inner = lock(&self.inner);
        let server = self.gate().drain(name, draining)?;
        if !draining {
            inner.stay(&server.address);
        }
        let all = &mut inner.state.satellites;
        if let Some(satellite) = all.iter_mut().find(|s| s.address == server.address) {
            satellite.drained = draining;
        }
        Ok((server, inner.keep()))
    }

    pub fn remove(&self, name: &str) -> Result<Kept, FleetError> {
        let mut inner = lock(&self.inner);
        let server = self.gate().remove(name)?;
        let others = |s: &Satellite| s.address != server.address;
        inner.state.satellites.retain(others);
        inner.leaving.retain(|l| others(&l.satellite));
        Ok(inner.keep())
    }

    pub fn set_limits(
        &self,
        name: &str,
        changes: &[LimitChange],
    ) -> Result<(Arc<Server>, Kept), FleetError> {
        let mut inner = lock(&self.inner);
        let server = self.gate().server(name)?;
        let kept = inner.limits(&server);
        let mut limits = *kept;
        changes.iter().for_each(|change| change.apply(&mut limits));
        self.gate().set_limits(&server, limits)?;
        *kept = limits;
        Ok((server, inner.keep()))
    }

    /// Reads the declared list anew.
    pub fn declare_anew(&self, get: &dyn Fn(&str) -> Option<String>) {
        match self.shared.config.declared(get) {
            Ok(declared) => self.declare(&declared),
            Err(mistakes) => mistakes.iter().for_each(|mistake| {
                tracing::error!(%mistake, "the list of satellites stays as it is");
            }),
        }
    }

    fn declare(&self, declared: &[Address]) {
        let mut inner = lock(&self.inner);
        for address in declared {
            if inner.stay(address) {
                self.set_draining(address, false);
            }
        }
        let merged = inner.state.merged(declared);
        let before = std::mem::replace(&mut inner.state, merged);
        let added = missing(&inner.state, &before);
        let gone = missing(&before, &inner.state);
        for satellite in &added {
            if let Err(error) = self
                .gate()
                .add(satellite.address.clone(), &self.shared.config)
            {
                tracing::error!(%error, "satellite not added");
            }
        }
        let until = Instant::now() + self.shared.config.drain;
        for satellite in &gone {
            self.set_draining(&satellite.address, true);
        }
        tracing::info!(
            added = added.len(),
            leaving = gone.len(),
            "list of satellites read anew"
        );
        let gone = gone.into_iter();
        inner
            .leaving
            .extend(gone.map(|satellite| Leaving { satellite, until }));
        if inner.state != before {
            // Logged; nobody waits for an answer.
            let _ = inner.keep();
        }
    }

    /// Removes those that leave and that nobody uses any more, or whose time is up. Whether some are left.
    fn let_go(&self, now: Instant) -> bool {
        let mut inner = lock(&self.inner);
        inner
            .leaving
            .retain(|leaving| self.is_used(&leaving.satellite.address, now >= leaving.until));
        !inner.leaving.is_empty()
    }

    fn is_used(&self, address: &Address, is_late: bool) -> bool {
        let Some(server) = self.at(address) else {
            return false;
        };
        if self.gate().remove(&server.name).is_ok() {
            return false;
        }
        if !is_late {
            return true;
        }
        tracing::warn!(server = %server.name, "no longer declared: taken away from sessions that still use it");
        server.stop_following();
        self.gate().remove(&server.name).is_err()
    }

    fn set_draining(&self, address: &Address, draining: bool) {
        if let Some(server) = self.at(address) {
            // It is there.
            let _ = self.gate().drain(&server.name, draining);
        }
    }

    fn at(&self, address: &Address) -> Option<Arc<Server>> {
        let satellites = self.gate().servers.satellites();
        satellites.iter().find(|s| s.address == *address).cloned()
    }

    fn gate(&self) -> &Gate {
        &self.shared.gate
    }
}

impl Inner {
    fn keep(&self) -> Kept {
        self.file.write(&self.state)
    }

    /// One that was to leave stays. Whether there was such a one.
    fn stay(&mut self, address: &Address) -> bool {
        let found = self.leaving.iter();
        let Some(at) = found
            .map(|l| &l.satellite.address)
            .position(|a| a == address)
        else {
            return false;
        };
        let mut satellite = self.leaving.remove(at).satellite;
        satellite.drained = false;
        self.state.satellites.push(satellite);
        true
    }

    fn limits(&mut self, server: &Server) -> &mut LimitsByHand {
        let leaving = self.leaving.iter_mut().map(|l| &mut l.satellite);
        let mut satellites = self.state.satellites.iter_mut().chain(leaving);
        let satellite = satellites.find(|s| s.address == server.address);
        satellite.map_or(&mut self.state.master, |s| &mut s.limits)
    }
}

/// The satellites of one state that another does not have.
fn missing(here: &FleetState, there: &FleetState) -> Vec<Satellite> {
    let is_there = |s: &Satellite| there.satellites.iter().any(|t| t.address == s.address);
    let all = here.satellites.iter();
    all.filter(|s| !is_there(s)).cloned().collect()
}

#[cfg(test)]
mod tests;
