//! gtid-gate: a MySQL server to its clients, a MySQL client to a master and its satellites. Each read goes to a
//! satellite that has everything the read must see; all else goes to the master.
//!
//! The rooms. Each one uses only those before it, and no two files use each other in a circle; `tests/rooms.rs` checks both.
//! - `common`: locks, signals between tasks, passwords in memory, the bound of memory, consistency levels
//! - `ops::config`, `ops::metrics`: settings, metrics
//! - `gtid`: GTID sets
//! - `protocol`: MySQL's packets, from bytes to their meaning
//! - `net`: a connection's options, timeouts and TLS
//! - `sql`: what a statement may do
//! - `backend`: the servers, connections to them, how much of each may be used
//! - `freshness`: which server may answer a read, and the wait for it
//! - `clients`: login, passwords that were accepted, who is connected
//! - `views`: what the gate tells of itself
//! - `session`: one client from login to its end
//! - `frontend`: where clients come in
//! - `ops`: start and stop, HTTP, an operator's commands
#![forbid(unsafe_code)]

pub mod backend;
pub mod clients;
pub mod common;
pub mod freshness;
pub mod frontend;
pub mod gtid;
pub mod net;
pub mod ops;
pub mod protocol;
pub mod session;
pub mod sql;
pub mod views;

#[cfg(test)]
mod test_support;
