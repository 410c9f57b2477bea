//! Runs one command on the server that was chosen, with the session's state in place there.
//!
//! Must never: repeat what may have been done.

use super::diagnostics::At;
use super::estimate::Estimate;
use super::execution::Execution;
use super::parts::Session;
use super::proof::Rests;
use super::relay::{Answer, OnRefusal, RelayError, relay};
use super::state::Tx;
use super::work::{SendError, Work, send};
use crate::backend::{Backend, Role, bounded, set_charset};
use crate::clients::registry::FIRST_ID;
use crate::freshness::{Proven, TableNames, Told};
use crate::protocol::capability::SESSION_TRACK;
use crate::protocol::error::{BackendError, PacketError, SqlError};
use crate::protocol::response::{Response, Shape};
use crate::protocol::session_track::owe;
use crate::protocol::status_rows::StatusRows;
use crate::protocol::tls_status::OwnStatus;
use crate::sql::FoundRows;
use std::time::{Duration, Instant};

/// One query in so many is compared with what was expected of it; which, its nanoseconds say.
const SAMPLED: u32 = 16;

/// Why an exchange with a server came to nothing.
pub(super) enum Failed {
    Relay(RelayError),
    Client(PacketError),
    /// The statement was not sent (the server refused to prepare it, or can't know what it asks); the connection goes on.
    Prepare(SqlError),
}

impl Failed {
    /// The client has got nothing of the answer.
    pub(super) fn is_unread(&self) -> bool {
        use RelayError::{Died, NothingSent, Redefined, Refused};
        match self {
            Self::Relay(NothingSent(_) | Died(_) | Refused(_)) => true,
            Self::Relay(Redefined { sent }) => !sent,
            Self::Relay(_) => false,
            Self::Prepare(_) => true,
            Self::Client(_) => false,
        }
    }
}

impl Session {
    /// Sends one command and passes its answer on.
    pub(super) async fn exchange(
        &mut self,
        backend: &mut Backend,
        work: &mut Work,
        on_refusal: OnRefusal,
    ) -> Result<Answer, Failed> {
        self.entry
            .set_running(Some((backend.server.clone(), backend.thread_id)));
        self.recall(backend, work).await?;
        if let Work::Execute(execution) = work
            && !execution.is_prepared(backend)
        {
            self.prepare_there(execution, backend).await?;
        }
        let limit = self.shared.config.max_packet;
        send(&mut self.client.conn, backend, work, limit)
            .await
            .map_err(|error| match error {
                SendError::Client(error) => Failed::Client(error),
                SendError::Server(error) => Failed::Relay(RelayError::NothingSent(error)),
            })?;
        let answer = self.relayed(backend, work, on_refusal).await;
        let answer = answer.map_err(Failed::Relay)?;
        self.observe(backend, work, &answer);
        let failed = answer.error.is_some();
        self.trace
            .answered(&backend.server, &backend.incarnation, failed);
        if let (Work::Prepare { key, .. }, Some(prepared)) = (&*work, answer.prepared) {
            backend.add_statement(*key, prepared.server_id);
        }
        Ok(answer)
    }

    async fn relayed(
        &mut self,
        backend: &mut Backend,
        work: &Work,
        on_refusal: OnRefusal,
    ) -> Result<Answer, RelayError> {
        let response = self.response_to(work, backend);
        let proven = self.rests_on(work, backend);
        let database = work.database(&self.state);
        let names = self.names.as_deref();
        let rests = Rests {
            gate: &self.shared.gate,
            proven,
            inside: self.state.tx != Tx::None,
            names: names.map(|names| TableNames { names, database }),
        };
        let (client, turn) = (&mut self.client.conn, &mut self.turn);
        let owed = response.owed.clone();
        let entry = &self.entry;
        let answer = relay(client, backend, entry, turn, response, on_refusal, rests).await;
        if answer.is_err() {
            self.state.owed = owed;
        }
        self.turn = None;
        answer
    }

    /// What a satellite's answer rests on. A description has no rows, and a cursor those of its execution.
    fn rests_on(&mut self, work: &Work, backend: &Backend) -> Option<Proven> {
        let answers = backend.server.role == Role::Satellite && work.shape() == Shape::Results;
        self.proven.take().filter(|_| answers)
    }

    /// The number of the query's digest; 0 for what is no query.
    pub(super) fn query_digest(&self, work: &Work) -> u64 {
        let names = self
            .names
            .as_ref()
            .filter(|_| work.shape() == Shape::Results);
        names.map_or(0, |n| n.digest)
    }

    pub(super) fn is_heavy(&self, work: &Work) -> bool {
        let digest = self.query_digest(work);
        self.shared.gate.servers.digest_times.is_heavy(digest)
    }

    /// What a query took its server: what decides where the next ones run.
    fn observe(&mut self, backend: &Backend, work: &Work, answer: &Answer) {
        let (digest, took) = (self.query_digest(work), answer.took);
        let expected = self.expected.take();
        let server = &backend.server;
        if Self::is_master(server) {
            self.observe_master(took, answer);
        }
        if answer.error.is_some() || work.shape() != Shape::Results {
            return;
        }
        let now = Instant::now();
        if server.found.read_ended(digest, took, now) {
            self.shared.gate.look(server);
        }
        if digest != 0
            && let Some(expected) = expected
        {
            self.compare(expected, took);
        }
        let running = server.load() + server.heaviness();
        server.times.add(digest, took, running, now);
    }

    fn observe_master(&self, took: Duration, answer: &Answer) {
        if let Some(leave) = &self.leave {
            leave.took(took);
        }
        if answer.report.committed.is_some() {
            self.shared.gate.committed(took);
        }
    }

    /// One in so many: what was expected when the server was chosen, against what it was.
    fn compare(&self, expected: Estimate, took: Duration) {
        if took.subsec_nanos().is_multiple_of(SAMPLED) {
            let error = expected.error(took);
            self.shared.metrics.estimate_error.observe(error);
        }
    }

    async fn prepare_there(
        &self,
        execution: &Execution,
        backend: &mut Backend,
    ) -> Result<(), Failed> {
        // On a satellite that hangs, a read must move on; on the master a lock may take its time.
        let within = match backend.server.role {
            Role::Master => Duration::MAX,
            Role::Satellite => self.shared.config.server_timeout,
        };
        let around = self.reading_around(execution);
        let prepared = bounded(within, execution.prepare(backend, around)).await;
        prepared.map_err(|error| match error {
            BackendError::Sql(error) => Failed::Prepare(error),
            error @ (BackendError::Lost(_) | BackendError::Timeout) => {
                Failed::Relay(RelayError::Died(error))
            }
            other => Failed::Relay(RelayError::NothingSent(other)),
        })
    }

    /// What is set before an own statement is prepared on another server, and what after, if the session reads texts differently by now.
    pub(super) fn reading_around(&self, execution: &Execution) -> Option<[Vec<String>; 2]> {
        let (then, now) = (&execution.text.reading, self.state.reading());
        let login = match self.state.was_reset {
            true => "SET NAMES DEFAULT".to_owned(),
            false => set_charset(self.user.charset),
        };
        (*then != now).then(|| {
            let before = then.instead_of(&now, &login);
            [before, now.sql().collect()]
        })
    }

    fn response_to(&mut self, work: &Work, backend: &Backend) -> Response {
        let seq = self.client.conn.seq;
        let mut response = Response::new(work.shape(), backend.deprecate_eof(), seq);
        response.tracks = backend.tracks();
        response.wanted = self.tracks().then(|| self.trackers.clone());
        response.shown = self.state.shown;
        response.owed = std::mem::take(&mut self.state.owed);
        // A satellite that is asked about the statement before knows nothing of a transaction on the master.
        response.extra_status = self.state.transaction_status();
        if backend.server.role == Role::Master {
            response.extra_status = self.state.extra_status();
            response.shown = self.state.shown_beside();
            response.autocommit_off = !self.state.autocommit;
            response.own_ids_from = FIRST_ID;
        }
        if self.ties.asks_status {
            let own = OwnStatus {
                ssl: self.client.ssl,
                public_key: self.shared.exchange_key.public_pem.clone(),
            };
            response.status_rows = status_rows(own, work);
        }
        response
    }

    /// The client asked for session tracking.
    pub(super) fn tracks(&self) -> bool {
        self.client.capabilities & SESSION_TRACK != 0
    }

    /// Draws the consequences of an answer for the session's transaction.
    pub(super) fn after(&mut self, backend: &mut Backend, answer: &Answer, told: Told) {
        // An error may tell what the data is: a duplicate key is there.
        let told = match answer.error {
            Some(_) if told == Told::OwnChange => Told::Data,
            _ => told,
        };
        let committed = answer.report.committed.as_ref();
        if let (Role::Master, Some(committed)) = (backend.server.role, committed) {
            self.state.seen.committed(committed);
        }
        let told = match committed {
            Some(_) if told == Told::OwnChange => Told::Nothing,
            _ => told,
        };
        self.answered_by(&backend.server, &backend.incarnation, told);
        self.remember(backend, answer);
        self.last_status = answer.status.unwrap_or_default();
        if !self.ties.about_last {
            self.state.warnings = answer.warnings;
        }
        self.state.has_shown(answer.shown);
        owe(&mut self.state.owed, &answer.owed);
        backend.left = !self.state.autocommit;
        let untold = backend.unreported && Self::is_master(&backend.server) && !answer.reports;
        backend.unreported = untold || self.leaves_unreported(backend, answer);
        if Self::is_master(&backend.server) {
            self.heard(backend, answer.report.clone());
        }
        if let Some(status) = answer.status.filter(|_| answer.error.is_none()) {
            self.stands_at(backend, status);
        }
        self.state.left = backend.left || self.state.left && !self.state.autocommit;
    }

    /// Whether the answer leaves unknown where the session stands. A read that asks nothing of its session changes nothing there, but
    /// with autocommit off it may begin a transaction.
    fn leaves_unreported(&self, backend: &Backend, answer: &Answer) -> bool {
        let reads = self.reads_names || answer.prepared.is_some();
        let alone = self.state.autocommit && self.state.tx == Tx::None;
        match (answer.error, backend.server.role) {
            (Some(_), Role::Satellite) => !self.state.autocommit && self.state.tx == Tx::None,
            (Some(_), Role::Master) => !(reads && alone),
            (None, Role::Satellite) => false,
            (None, Role::Master) => !reads && !answer.reports,
        }
    }

    /// What the client may ask about this statement from now on.
    fn remember(&mut self, backend: &Backend, answer: &Answer) {
        if answer.prepared.is_some() {
            return self.state.diagnostics.prepared(at(backend));
        }
        // One that fails finds no rows, and FOUND_ROWS() stays as it was.
        let rows = match answer.error {
            Some(_) if self.ties.rows == FoundRows::Sets => FoundRows::Keeps,
            _ => self.ties.rows,
        };
        self.state.diagnostics.ran(at(backend), rows);
        if Self::is_master(&backend.server) {
            self.state.inserted |= answer.inserted || self.ties.sets_insert_id;
        }
    }
}

fn status_rows(own: OwnStatus, work: &Work) -> Option<Box<StatusRows>> {
    match work.shape() {
        Shape::Results => {
            let binary = matches!(work, Work::Execute(_));
            Some(Box::new(StatusRows::new(own, binary)))
        }
        Shape::Rows => Some(Box::new(StatusRows::fetched(own))),
        Shape::Prepare { .. } | Shape::Single => None,
    }
}

pub(super) fn at(backend: &Backend) -> At {
    At {
        server: backend.server.id,
        number: backend.number,
    }
}
