//! Who the clients are: their login, what the gate remembers of passwords and failures, and where each one's statement runs.

pub mod credentials;
pub mod login;
pub mod login_limits;
pub mod registry;
pub mod shared;
