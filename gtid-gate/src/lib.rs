//! gtid-gate: a MySQL server to its clients, a MySQL client to a master and its satellites. Each read goes to a
//! satellite that has everything the read must see; all else goes to the master.
//!
//! The map:
//! - bytes: `packet` (framing), `wire` (pieces of packets), `parameters` (values beside a statement), `handshake`, `capability`,
//!   `scramble`, `tls`, `ssl_status` (what a client is told about its own TLS)
//! - a connection itself: `net` (what the kernel is told), `timed` and `timeouts` (how long a client is waited for),
//!   `memory` (how much it may have the gate hold)
//! - coming in: `listen` (sockets), `handover` (those of the host), `server` (accept, drain), `login`,
//!   `login_limits` (floods, failures), `passwords`, `registry` (who is here), `session` (one client)
//! - what a statement is: `classify`
//! - going out: `backend` (one connection to a server), `response` (follows an answer while it passes)
//! - where to: `policy` (what a read was promised), `gate` (the decision and the wait), `servers` (what is known), `server_position` (follows a satellite),
//!   `master_questions` (asks the master), `gtid`
//! - around it: `config`, `metrics`, `admin` (HTTP), `operate` (an operator's commands), `patience` (how workers take their core),
//!   `error`
#![forbid(unsafe_code)]

pub mod admin;
pub mod backend;
pub mod bell;
pub mod capability;
pub mod classify;
pub mod config;
pub mod error;
pub mod gate;
pub mod gtid;
pub mod handover;
pub mod handshake;
pub mod listen;
pub mod login;
pub mod login_limits;
pub mod master_questions;
pub mod memory;
pub mod metrics;
pub mod net;
pub mod operate;
pub mod packet;
pub mod parameters;
pub mod passwords;
pub mod patience;
pub mod policy;
pub mod registry;
pub mod response;
pub mod scramble;
pub mod server;
pub mod server_position;
pub mod servers;
pub mod session;
pub mod shared;
pub mod ssl_status;
pub mod start;
pub mod timed;
pub mod timeouts;
pub mod tls;
pub mod wire;
