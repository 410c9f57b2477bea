//! What was expected of a read when its server was chosen.

use std::time::Duration;

#[derive(Clone, Copy)]
pub(super) struct Estimate {
    /// From the choice to the answer.
    pub seconds: f64,
    /// What has passed before the read was sent.
    pub waited: Duration,
}

impl Estimate {
    /// The server took so long: how far that is off, as a part of what it was in all.
    pub fn error(&self, took: Duration) -> f64 {
        let real = (self.waited + took).as_secs_f64();
        (real - self.seconds).abs() / real.max(1e-9)
    }
}
