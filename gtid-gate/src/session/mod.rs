//! One client, from login to the end of its connection.
//!
//! In: the client's commands. Out: the answers of whichever server ran them.
//! - `serve`: the login, then `command_loop`: one command after the other; `parts`: what a session is made of; `fault`
//! - what it is, pure: `state`, `promise`, `diagnostics` (what the client may ask about the statement before), `statement`
//! - **`plan`: state and statement to what is done, pure**; `read_only`: its rules inside a read-only transaction
//! - carried out by: `commands` and `prepared_commands` (the protocol's), `execute` (the plan), `reads` and `satellites`, `master`,
//!   `settings`, `kill`, `ask_diagnostics`
//! - what is asked of the gate itself: `questions`, `explain`, `privileges`
//! - one command on one server: `exchange`; `work`, `execution`: what is sent; `estimate`: what was expected; `relay`, `infile`: what passes
//! - `reasons`: why a statement goes where it goes, pure; `trace` gathers what `record` records of a statement, and of the last read
//! - servers: `connections`, `held`; `seek` finds one, `sharing` gives it back, `turns`; `user`: as whom
//! - what servers report, and are asked where they could not: `reported`, `settle`
//! - `proof`: whether a satellite may answer, for the sake of the views that a read names
//! - kept for other servers: `prepared`, `names`, `long_data`
//!
//! A session owns its connections: at most one to the master, one to each satellite used, all as the client's user.
//! Must never: repeat a statement that may have written; let one server answer for state that only another has.

mod ask_diagnostics;
mod command_loop;
mod commands;
mod connections;
mod declared;
mod diagnostics;
mod estimate;
mod exchange;
mod execute;
mod execution;
mod explain;
mod fault;
mod held;
mod infile;
mod kill;
mod long_data;
mod master;
mod names;
mod parts;
mod plan;
mod prepared;
mod prepared_commands;
mod privileges;
mod promise;
mod proof;
mod questions;
mod read_only;
mod reads;
mod reasons;
mod record;
mod relay;
mod reported;
mod satellites;
mod seek;
mod serve;
mod settings;
mod settle;
mod sharing;
mod state;
mod statement;
#[cfg(test)]
mod tests;
mod trace;
mod turns;
mod user;
mod work;

pub use serve::serve;
