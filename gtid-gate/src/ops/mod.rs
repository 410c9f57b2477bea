//! Running the gate: settings and metrics, which every room may use, and on top of all others the start, the HTTP side and
//! the operator's commands.

pub mod admin;
pub mod classify;
pub mod cli;
pub mod config;
mod feed;
pub mod fleet;
pub mod fleet_state;
pub mod hangup;
mod http;
mod look;
pub mod metrics;
mod page;
mod readings;
pub mod scheduling;
pub mod start;
pub mod state_file;
