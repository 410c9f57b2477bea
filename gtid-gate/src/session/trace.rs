//! What is remembered of the statement in hand until its answer is through, and of the last read after that.
//!
//! In: the plan, the admission, the exchange, each with its part. Out: one record for the table of statements and the histograms.
//! Must never: hold a part of a statement.

use super::fault::Fault;
use super::parts::Session;
use super::plan::{Begin, InReadOnly, Outside, Plan};
use super::state::{State, Tx};
use super::statement::Known;
use crate::backend::{Ended, Incarnation, Position, Server};
use crate::common::consistency::Level;
use crate::common::why::Why;
use crate::sql::{Class, Digest};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The last read that was answered, with an error or without.
#[derive(Clone)]
pub(super) struct LastRead {
    pub server: Arc<Server>,
    pub incarnation: Incarnation,
    /// What the server was known to have when it was chosen: it had that, or more, when it answered.
    pub position: Option<Arc<Position>>,
    /// Until a server was chosen that is fresh enough.
    pub waited: Duration,
    pub level: Level,
    pub why: Why,
}

/// The statement in hand.
pub(super) struct Trace {
    began: Option<Instant>,
    digest: Option<Arc<Digest>>,
    is_read: bool,
    why: Why,
    waited: Duration,
    /// What the server that an admission chose has.
    position: Option<Arc<Position>>,
    /// Who ran it, and as which incarnation.
    ran: Option<(Arc<Server>, Incarnation)>,
    failed: bool,
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
        self.why = why;
        self.waited += waited;
        self.position = position;
    }

    /// The satellite that was chosen refused it.
    pub fn refused(&mut self, position: Option<Arc<Position>>) {
        self.chosen(Why::Refused, Duration::ZERO, position);
    }

    /// The client has the answer of this server.
    pub fn answered(&mut self, server: &Arc<Server>, incarnation: &Incarnation, failed: bool) {
        self.ran = Some((server.clone(), incarnation.clone()));
        self.failed = failed;
    }
}

impl Session {
    /// The statement in hand is over.
    pub(super) fn record(&mut self, outcome: &Result<(), Fault>) {
        let (Some(began), Some(digest)) = (self.trace.began.take(), self.trace.digest.take())
        else {
            return;
        };
        let took = began.elapsed();
        let failed = self.trace.failed || matches!(outcome, Err(Fault::Sql(_) | Fault::Fatal(_)));
        let level = self.trace.is_read.then_some(self.promise.policy.level);
        let ran = self.trace.ran.take();
        let why = match &ran {
            None if failed => Why::Unanswered,
            None => Why::Gate,
            Some(_) => self.trace.why,
        };
        let gate = &self.shared.gate;
        gate.statements.add(&Ended {
            digest: &digest,
            server: ran.as_ref().map(|(server, _)| server.id),
            why,
            failed,
            waited: self.trace.waited,
            took,
        });
        let metrics = &self.shared.metrics;
        match &ran {
            Some((server, _)) => server
                .statement_times
                .observe(metrics, &server.name, level, took),
            None => metrics
                .own_statement_times
                .observe(metrics, "gate", level, took),
        }
        if let (Some((server, incarnation)), Some(level)) = (ran, level) {
            self.remember_read(server, incarnation, level);
        }
    }

    fn remember_read(&mut self, server: Arc<Server>, incarnation: Incarnation, level: Level) {
        let trace = &mut self.trace;
        // Within a transaction that of its first read holds.
        let before = trace
            .last_read
            .take()
            .filter(|_| trace.why == Why::Transaction);
        let position = trace.position.take();
        let position = position.or_else(|| before.and_then(|b| b.position));
        trace.last_read = Some(LastRead {
            position: position.or_else(|| server.position()),
            server,
            incarnation,
            waited: trace.waited,
            level,
            why: trace.why,
        });
    }
}

/// Why the plan sends a statement where it does. Of a read that has yet to be admitted, the admission says it.
pub(super) fn why(state: &State, known: &Known, plan: &Plan, on_leave: bool) -> Why {
    match plan {
        Plan::Kill { .. } => Why::Kill,
        Plan::Set(_) | Plan::Use(_) => Why::Setting,
        Plan::Begin(Begin::OnMaster) => Why::Control,
        Plan::AskLastServer => Why::LastStatement,
        Plan::Outside(outside) | Plan::EndThen(outside) => outside_of(state, known, outside),
        Plan::InMaster(_) if on_leave => Why::TransactionOnMaster,
        Plan::InMaster(_) => in_master(state, known),
        Plan::OpenOnMaster(_) => of_class(state, known),
        Plan::BesideOnMaster { .. } => Why::AboutSession,
        Plan::InReadOnly(InReadOnly::Read(_) | InReadOnly::Savepoint(_) | InReadOnly::Call(_)) => {
            Why::Transaction
        }
        Plan::Begin(_) | Plan::End { .. } | Plan::InReadOnly(_) => Why::Gate,
        Plan::Refuse(_) => Why::Unanswered,
    }
}

fn outside_of(state: &State, known: &Known, plan: &Outside) -> Why {
    match plan {
        Outside::Read | Outside::End(_) => Why::Gate,
        Outside::Pin(reason) => Why::Statement(reason),
        Outside::OnMaster(_) => of_class(state, known),
    }
}

/// In a transaction that is on the master: a statement that is the master's anyway, is there for that.
fn in_master(state: &State, known: &Known) -> Why {
    match known.class {
        Class::Read if !state.autocommit => Why::AutocommitOff,
        Class::Read => Why::ReadWriteTransaction,
        _ => of_class(state, known),
    }
}

fn of_class(state: &State, known: &Known) -> Why {
    match known.class {
        Class::Write(reason) | Class::Pin(reason) => Why::Statement(reason),
        Class::Read => of_session(state),
        _ => Why::Control,
    }
}

/// What keeps a session's reads on the master.
fn of_session(state: &State) -> Why {
    if let Some(reason) = state.sticky {
        Why::Pinned(reason)
    } else if state.reads_differently {
        Why::SqlMode
    } else if state.must_serialize() {
        Why::Serializable
    } else if state.in_system_schema() {
        Why::SystemSchema
    } else if !state.autocommit && !state.declared_read_only() {
        Why::AutocommitOff
    } else if state.tx == Tx::None {
        Why::TooLong
    } else {
        Why::ReadWriteTransaction
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::charset::Encoding;
    use crate::session::plan::plan;
    use crate::session::work::{Request, Work};
    use crate::sql::understand;

    fn why_of(sql: &str, change: impl FnOnce(&mut State)) -> Why {
        let mut state = State::new(None, Encoding::Utf8);
        change(&mut state);
        let Ok(known) = Known::of(understand(sql)) else {
            panic!("{sql}");
        };
        let payload = [b"\x03", sql.as_bytes()].concat();
        let request = Request {
            payload: payload.as_slice().into(),
            continued: false,
        };
        let work = Work::Query {
            request,
            text_at: 1,
        };
        why(&state, &known, &plan(&state, &known, &work), false)
    }

    #[test]
    fn each_way_to_the_master_has_its_reason() {
        let read = "SELECT a FROM t";
        let cases: [(&str, fn(&mut State), Why); 16] = [
            (read, |s| s.autocommit = false, Why::AutocommitOff),
            (read, |s| s.tx = Tx::OnMaster, Why::ReadWriteTransaction),
            (read, |s| s.sticky = Some("LOCK"), Why::Pinned("LOCK")),
            (read, |s| s.reads_differently = true, Why::SqlMode),
            (read, |s| s.serializable = true, Why::Serializable),
            (
                read,
                |s| s.database = Some("mysql".into()),
                Why::SystemSchema,
            ),
            (read, |s| s.tx = Tx::OnSatellite(1), Why::Transaction),
            (read, |s| s.tx = Tx::Lost, Why::Unanswered),
            (read, |_| (), Why::Gate),
            (
                "SELECT a FROM t FOR UPDATE",
                |_| (),
                Why::Statement("locking read"),
            ),
            (
                "DELETE FROM t",
                |s| s.tx = Tx::OnMaster,
                Why::Statement("data change"),
            ),
            ("LOCK TABLES t READ", |_| (), Why::Statement("LOCK")),
            (
                "SELECT @@version",
                |s| s.tx = Tx::OnSatellite(1),
                Why::AboutSession,
            ),
            ("COMMIT", |s| s.tx = Tx::OnMaster, Why::Control),
            ("SET NAMES utf8mb4", |_| (), Why::Setting),
            ("SHOW WARNINGS", |_| (), Why::LastStatement),
        ];
        for (sql, change, expected) in cases {
            assert_eq!(why_of(sql, change), expected, "{sql}");
        }
    }
}
