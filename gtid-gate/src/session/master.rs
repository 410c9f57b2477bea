//! Statements on the master.
//!
//! Must never: repeat what may have been done.

use super::exchange::Failed;
use super::fault::Fault;
use super::parts::Session;
use super::relay::{Answer, OnRefusal, RelayError};
use super::seek::{is_ready, make_ready};
use super::state::Tx;
use super::turns::patiently;
use super::work::Work;
use crate::backend::Backend;
use crate::backend::bounded;
use crate::freshness::Told;
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::session_track::Report;
use crate::sql::Mode;
impl Session {
    /// Waits for a turn on the master. Who holds something there, which others may wait for, never has to.
    pub(super) async fn queue_for_master(&mut self, work: &Work) -> Result<(), Fault> {
        if self.state.sticky.is_some() || self.leave.is_some() || !work.repeatable() {
            return Ok(());
        }
        self.queue_with_master().await
    }

    /// Waits until the master shows what the session has seen elsewhere.
    pub(super) async fn before_master(&self) -> Result<(), SqlError> {
        let gate = &self.shared.gate;
        let shown = gate.before_master(&self.state.seen, self.promise.policy.level);
        patiently(&self.entry, shown).await?
    }

    /// The session's connection to the master, as it is. Who waits for one has no turn that others wait for.
    async fn take_master_as_is(&mut self) -> Result<Box<Backend>, Fault> {
        let existing = self
            .connections
            .master
            .take()
            .and_then(|mut b| (!b.conn.has_ended()).then_some(b));
        if existing.is_none() && self.state.depends_on_master() {
            return Err(Fault::Fatal(SqlError::gate(
                "lost the connection to the master",
            )));
        }
        if let Some(backend) = existing {
            return Ok(backend);
        }
        if std::mem::take(&mut self.state.inserted) {
            self.state.lose_insert_id();
        }
        self.turn = None;
        let connected = self
            .seeker()
            .connection(&self.shared.gate.servers.master)
            .await;
        connected.map_err(|error| self.no_master(error))
    }

    /// Waits for a turn on the master, with a connection to it in hand.
    pub(super) async fn queue_with_master(&mut self) -> Result<(), Fault> {
        self.connections.master = Some(self.take_master_as_is().await?);
        let server = self.shared.gate.servers.master.clone();
        Ok(self.queue(&server, false).await?)
    }

    /// The session's connection to the master, with everything in place.
    async fn take_master(&mut self) -> Result<Box<Backend>, Fault> {
        let mut backend = self.take_master_as_is().await?;
        if is_ready(&self.state, &backend) {
            return Ok(backend);
        }
        let is_new = !backend.reporting;
        let within = self.shared.config.server_timeout;
        let readying = async {
            let ready = make_ready(&self.state, &mut backend).await;
            Ok((backend, ready))
        };
        match bounded(within, readying).await {
            Ok((mut backend, Ok(()))) => {
                // What was repeated there is no news.
                backend.unheard = Report::default();
                let unknown = self.state.mode == Mode::unknown();
                if let (true, true, Some(mode)) = (is_new, unknown, &backend.sql_mode) {
                    self.state.has_mode(mode);
                }
                Ok(backend)
            }
            Ok((backend, Err(BackendError::Sql(error)))) => {
                self.connections.master = Some(backend);
                Err(Fault::Sql(error))
            }
            Ok((_, Err(error))) | Err(error) => Err(self.no_master(error)),
        }
    }

    /// Before the session comes to depend on that connection.
    pub(super) async fn connect_master(&mut self) -> Result<(), Fault> {
        self.connections.master = Some(self.take_master().await?);
        Ok(())
    }

    /// There is no connection to the master, and nothing was sent.
    fn no_master(&mut self, error: BackendError) -> Fault {
        self.master_said_nothing = true;
        self.count_error("no_master");
        let fatal = self.state.depends_on_master();
        let error = error.for_client("the master");
        if fatal {
            Fault::Fatal(error)
        } else {
            Fault::Sql(error)
        }
    }

    /// Something of the gate's own, on the master.
    pub(super) async fn on_master_quietly(&mut self, sql: &str) -> Result<(), Fault> {
        let mut backend = self.take_master().await?;
        match backend.query(sql).await {
            Ok(_) => {
                self.connections.master = Some(backend);
                Ok(())
            }
            Err(BackendError::Sql(error)) => {
                self.connections.master = Some(backend);
                Err(Fault::Sql(error))
            }
            Err(error) => Err(self.lost_master(error)),
        }
    }

    /// Runs a command on the master and passes the answer on; `told`: what the answer lets the client know.
    pub(super) async fn on_master(&mut self, work: &mut Work, told: Told) -> Result<Answer, Fault> {
        let mut backend = self.take_master().await?;
        if self.state.tx == Tx::None {
            self.trace.sent(&backend.server);
        }
        let running = backend.server.start_running(false, 0.0);
        let outcome = self.exchange(&mut backend, work, OnRefusal::Pass).await;
        drop(running);
        match outcome {
            Ok(answer) => {
                self.after(&mut backend, &answer, told);
                self.connections.master = Some(backend);
                match answer.unknown_thread {
                    Some(unknown) => self.kill_after(unknown, work, answer).await,
                    None => Ok(answer),
                }
            }
            Err(Failed::Prepare(error)) => {
                self.connections.master = Some(backend);
                Err(Fault::Sql(error))
            }
            Err(failed) => {
                self.answered_by(&backend.server, &backend.incarnation, told);
                Err(self.master_failed(failed))
            }
        }
    }

    fn master_failed(&mut self, failed: Failed) -> Fault {
        match failed {
            Failed::Relay(RelayError::NothingSent(error) | RelayError::Died(error)) => {
                self.master_said_nothing = true;
                self.lost_master(error)
            }
            Failed::Relay(RelayError::Cut { error, fits }) => match (self.lost_master(error), fits)
            {
                (_, true) if self.may_release => Fault::Gone,
                (fault, true) => fault,
                (_, false) => Fault::Gone,
            },
            Failed::Relay(RelayError::Refused(_)) => Fault::Sql(SqlError::read_only_transaction()),
            Failed::Relay(RelayError::Redefined { .. }) => Fault::Sql(SqlError::redefined()),
            Failed::Relay(RelayError::ClientGone | RelayError::Killed) => Fault::Gone,
            Failed::Client(error) | Failed::Relay(RelayError::Client(error)) => Fault::from(error),
            Failed::Prepare(error) => Fault::Sql(error),
        }
    }

    /// The master's connection broke. Nothing is repeated; a session whose state was there ends.
    pub(super) fn lost_master(&mut self, error: BackendError) -> Fault {
        self.shared
            .metrics
            .errors
            .with_label_values(&["master_lost"])
            .inc();
        let keeps_nothing_there = !self.state.depends_on_master();
        let error = match error {
            BackendError::Busy(error) => return Fault::Sql(error),
            // What it said before it closed the connection.
            BackendError::Sql(error) => error,
            other => {
                tracing::debug!(reason = %other, "lost the master");
                let what =
                    "lost the master during the statement: it may or may not have taken effect";
                SqlError::gate(what)
            }
        };
        if keeps_nothing_there {
            Fault::Sql(error)
        } else {
            Fault::Fatal(error)
        }
    }
}
