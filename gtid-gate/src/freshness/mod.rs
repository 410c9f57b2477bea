//! Which server may answer a read: what the read was promised, what each server is known to have, and the wait between.

mod admission;
mod busy;
mod catalog;
mod classes;
mod definitions;
mod estimate;
mod expectation;
mod fleet;
mod history;
mod master_leave;
mod of_tables;
mod on_master;
mod price;
mod probe;
mod proof;
mod read_index;
mod redefined;
mod requirement;
mod spare;
mod standing;
mod table;
mod table_frames;
mod table_stream;
mod table_writes;
mod wait;

pub use admission::{Gate, Leave, Request};
pub use catalog::Catalog;
pub use classes::class_of;
pub use definitions::{Asks, Unproven};
pub use fleet::{FleetError, LimitsByHand, RunningByHand};
pub use history::{History, Place, Told};
pub use master_leave::MasterLeave;
pub use proof::Patience;
pub use read_index::ReadIndex;
pub use standing::{Holds, Standing};
pub use table_frames::frame as table_frame;
pub use table_stream::follow as follow_table_stream;
pub use table_writes::{Proof, Proven, TableNames};

#[cfg(test)]
mod tests;
