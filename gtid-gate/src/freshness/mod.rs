//! Which server may answer a read: what the read was promised, what each server is known to have, and the wait between.

mod admission;
mod estimate;
mod fleet;
mod history;
mod probe;
mod read_index;
mod requirement;
mod wait;

pub use admission::{Gate, Leave, MasterLeave, Request};
pub use fleet::{FleetError, WantedLimits};
pub use history::{History, Place, Told};
pub use read_index::ReadIndex;

#[cfg(test)]
mod tests;
