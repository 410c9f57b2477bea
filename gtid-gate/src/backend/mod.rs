//! The servers behind the gate: connections to them, what is known of each, and how much of each may be used.

mod auto_limit;
mod backlog;
mod connection;
mod found_limit;
mod limiter;
mod marks;
mod master_threads;
mod membership;
mod monitor;
mod pool;
mod position;
mod query;
mod server;
mod session_defaults;
mod slowdown;
mod statements;
mod times;
mod turns;

pub use backlog::{Backlog, Look, Looks, ORDINARY_LAG};
pub use connection::{
    Backend, BackendStatement, COM_INIT_DB, COM_PING, COM_QUIT, COM_SET_OPTION, Server, Socket,
    StatementKey, Wish, bounded, set_charset,
};
pub use master_threads::MasterThreads;
pub use membership::Servers;
pub use monitor::{LONGEST_QUESTION, Monitor, sample, sample_after};
pub use pool::{Identity, Idle, Offer, Wanted};
pub use position::{Incarnation, Position};
pub use query::{COM_QUERY, Cell, TextResult};
pub use server::{Role, Waiter, lag_transactions};
pub use session_defaults::{Globals, follow_defaults};
pub use statements::{Ended, MOST_DIGESTS, StatementRow, Statements};
pub use times::{DigestTimes, Known, ServerTimes};
pub use turns::Turn;

/// A session's connection, counted.
pub type ConnectionPermit = pool::ConnectionPermit<Box<Backend>>;
pub type Open = server::Open<Box<Backend>>;
pub type Running = server::Running<Box<Backend>>;
pub type Waiting = server::Waiting<Box<Backend>>;
