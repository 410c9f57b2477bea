//! What a server has, as it said itself.

use super::backlog::Backlog;
use crate::gtid::GtidSet;
use std::sync::Arc;
use std::time::Instant;

/// One life of one mysqld: a nonce per boot, or what comes closest on a foreign server.
pub type Incarnation = Arc<str>;

/// What a server said about itself, in one statement: `owned` read first, then `executed`.
#[derive(Debug)]
pub struct Position {
    pub incarnation: Incarnation,
    /// Taken before the question was sent.
    pub asked: Instant,
    pub owned: GtidSet,
    pub executed: GtidSet,
    /// When the newest sample of the master was asked for that is contained here; satellites only.
    pub as_of: Option<Instant>,
    /// How far behind it was found to be; satellites only.
    pub backlog: Option<Backlog>,
}
