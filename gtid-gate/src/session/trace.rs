//! What is remembered of the statement in hand until its answer is through, and of the last read after that.
//!
//! In: the plan, the admission, the exchange, each with its part. Out: what `record` makes one record of.
//! Must never: hold a part of a statement.

use super::statement::Known;
use crate::backend::{Incarnation, Position, Server};
use crate::common::consistency::Level;
use crate::common::why::Why;
use crate::freshness::Unproven;
use crate::sql::{Class, Digest};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The last read that was answered, with an error or without.
#[derive(Clone)]
pub(super) struct LastRead {
    pub server: Arc<Server>,
    pub incarnation: Incarnation,
    /// What the server was known to have when it was chosen, or before the read was sent: it had that, or more, when it answered. Nothing
    /// where a read-write transaction may read an older snapshot.
    pub position: Option<Arc<Position>>,
    /// Until a server was chosen that is fresh enough.
    pub waited: Duration,
    pub level: Level,
    pub why: Why,
}

/// The statement in hand.
pub(super) struct Trace {
    pub began: Option<Instant>,
    pub digest: Option<Arc<Digest>>,
    pub is_read: bool,
    pub why: Why,
    pub waited: Duration,
    /// What the server that an admission chose has.
    pub position: Option<Arc<Position>>,
    /// Of a read on its own that no admission chose the server for: what that was known to have before it was sent there.
    pub before: Option<Arc<Position>>,
    /// Who ran it, and as which incarnation.
    pub ran: Option<(Arc<Server>, Incarnation)>,
    pub failed: bool,
    pub last_read: Option<LastRead>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            began: None,
            digest: None,
            is_read: false,
            why: Why::Unanswered,
            waited: Duration::ZERO,
            position: None,
            before: None,
            ran: None,
            failed: false,
            last_read: None,
        }
    }
}

impl Trace {
    /// A statement is here, as far as it is read before it is looked at.
    pub fn begin(&mut self) {
        let last_read = self.last_read.take();
        *self = Self {
            began: Some(Instant::now()),
            last_read,
            ..Self::default()
        };
    }

    /// What it is, and why it goes where it goes, as far as that is known before a server is chosen.
    pub fn planned(&mut self, known: &Known, why: Why) {
        self.digest = Some(known.digest.clone());
        self.is_read = known.class == Class::Read;
        self.why = why;
    }

    /// A server was chosen for the read, which waited so long for that.
    pub fn chosen(&mut self, why: Why, waited: Duration, position: Option<Arc<Position>>) {
        self.is_read = true;
        self.why = why;
        self.waited += waited;
        self.position = position;
    }

    /// The satellite that was chosen refused it.
    pub fn refused(&mut self, position: Option<Arc<Position>>) {
        self.chosen(Why::Refused, Duration::ZERO, position);
    }

    /// It is not proven that a satellite may answer.
    pub fn unproven(&mut self, why: &Unproven, master: Option<Arc<Position>>) {
        self.chosen(Why::Statement(why.reason()), Duration::ZERO, master);
    }

    /// A statement outside of transactions is about to be sent there. What the server has when it has answered may have come after the
    /// statement's snapshot.
    pub fn sent(&mut self, server: &Server) {
        if self.is_read && self.position.is_none() {
            self.before = server.position();
        }
    }

    /// The client has the answer of this server.
    pub fn answered(&mut self, server: &Arc<Server>, incarnation: &Incarnation, failed: bool) {
        self.ran = Some((server.clone(), incarnation.clone()));
        self.failed = failed;
    }
}
