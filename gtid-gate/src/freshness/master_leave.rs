//! Leave to read on the master: one of the places for fallback, or a part of what the master has to spare.

use super::spare::Spare;
use crate::backend::Running;
use crate::common::lock;
use crate::common::why::Why;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

pub struct MasterLeave {
    kind: Kind,
    why: Why,
    _running: Running,
}

enum Kind {
    /// One of the capped places for reads that no satellite could take in time.
    Fallback { _place: OwnedSemaphorePermit },
    /// In so many seconds the master should have answered.
    Spare {
        spare: Arc<Mutex<Spare>>,
        expected: f64,
    },
}

impl MasterLeave {
    pub fn fallback(place: OwnedSemaphorePermit, running: Running, why: Why) -> Self {
        Self {
            why,
            kind: Kind::Fallback { _place: place },
            _running: running,
        }
    }

    /// Nothing while the master has nothing to spare.
    pub fn spare(
        spare: &Arc<Mutex<Spare>>,
        expected: f64,
        running: impl FnOnce() -> Running,
    ) -> Option<Self> {
        let taken = lock(spare).take(Instant::now());
        let spare = spare.clone();
        taken.then(|| Self {
            why: Why::MasterSooner,
            kind: Kind::Spare { spare, expected },
            _running: running(),
        })
    }

    pub fn why(&self) -> Why {
        self.why
    }

    /// Whether a satellite could answer instead.
    pub fn is_spare(&self) -> bool {
        matches!(self.kind, Kind::Spare { .. })
    }

    /// What the first read with it should take, in seconds, if that is known.
    pub fn expected(&self) -> Option<f64> {
        match self.kind {
            Kind::Spare { expected, .. } => Some(expected),
            Kind::Fallback { .. } => None,
        }
    }

    /// A statement that ran with it took the master so long.
    pub fn took(&self, time: Duration) {
        if let Kind::Spare { spare, .. } = &self.kind {
            lock(spare).spend(time);
        }
    }
}

impl Drop for MasterLeave {
    fn drop(&mut self) {
        if let Kind::Spare { spare, .. } = &self.kind {
            lock(spare).done(Duration::ZERO);
        }
    }
}
