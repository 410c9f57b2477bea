//! What the gate tells of itself: its servers, its counters, its settings, the statements that it ran. Over HTTP and in SQL it is the same.
//!
//! Must never: tell a secret, or of other accounts.

mod cells;
mod gate;
mod like;
mod servers;
mod settings;
mod statements;
mod status;

pub use gate::gate;
pub use like::Pattern;
pub use servers::{SERVERS, describe, servers};
pub use settings::{Promised, VARIABLES, variables};
pub use statements::{MOST as MOST_STATEMENTS, STATEMENTS, list as list_statements, statements};
pub use status::{STATUS, status};
