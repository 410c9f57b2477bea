//! Further statements of a read-only transaction, on the satellite that it is on.
//!
//! Must never: move a transaction of which the client has seen something.

use super::exchange::Failed;
use super::fault::Fault;
use super::parts::Session;
use super::relay::{Answer, OnRefusal, RelayError};
use super::seek::make_ready;
use super::state::Tx;
use super::work::Work;
use crate::backend::bounded;
use crate::backend::{Backend, Server};
use crate::freshness::Told;
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::response::Shape;
use std::sync::Arc;

impl Session {
    /// A further statement of a read-only transaction on a satellite; moves on while nothing was read.
    pub(super) async fn on_satellite(
        &mut self,
        id: usize,
        work: &mut Work,
        told: Told,
    ) -> Result<Answer, Fault> {
        let Some(mut backend) = self.connections.satellites.take(id) else {
            return self.move_unread(id, work, None).await;
        };
        let server = backend.server.clone();
        let heavy = self.is_heavy(work);
        let running = server.start_running(heavy, 0.0);
        if let Err(error) = self.queue(&server, heavy).await {
            self.connections.satellites.put(backend);
            return Err(Fault::Sql(error));
        }
        let within = self.shared.config.server_timeout;
        match bounded(within, make_ready(&self.state, &mut backend)).await {
            Ok(()) => {}
            Err(BackendError::Sql(error)) if !SqlError::is_server_going(error.code) => {
                self.connections.satellites.put(backend);
                return Err(Fault::Sql(error));
            }
            Err(_) => return self.move_unread(id, work, None).await,
        }
        let outcome = self.exchange(&mut backend, work, OnRefusal::Pass).await;
        drop(running);
        self.on_satellite_ended(backend, work, told, outcome).await
    }

    async fn on_satellite_ended(
        &mut self,
        mut backend: Box<Backend>,
        work: &mut Work,
        told: Told,
        outcome: Result<Answer, Failed>,
    ) -> Result<Answer, Fault> {
        let id = backend.server.id;
        match outcome {
            Ok(answer) => {
                self.after(&mut backend, &answer, told);
                self.connections.satellites.put(backend);
                if work.shape() == Shape::Results {
                    self.state.opening.clear();
                }
                Ok(answer)
            }
            Err(Failed::Prepare(error)) if !SqlError::is_server_going(error.code) => {
                self.connections.satellites.put(backend);
                Err(Fault::Sql(error))
            }
            Err(
                Failed::Relay(RelayError::NothingSent(_) | RelayError::Redefined { sent: false })
                | Failed::Prepare(_),
            ) if self.can_move(id, work) => self.move_unread(id, work, None).await,
            Err(Failed::Relay(RelayError::Died(error))) if self.can_move(id, work) => {
                let innocent = self.is_innocent(&backend.server, work, &error);
                let dead = (!innocent).then(|| backend.server.clone());
                self.move_unread(id, work, dead).await
            }
            Err(Failed::Relay(RelayError::Redefined { .. })) => Err(self.redefined(backend)),
            Err(failed) => {
                let server = backend.server.clone();
                Err(self.satellite_failed(&server, &backend, failed))
            }
        }
    }

    /// Whether the client can have seen nothing of the transaction on this satellite. Commands about a prepared statement
    /// or a cursor name it as that satellite does.
    fn can_move(&self, id: usize, work: &Work) -> bool {
        let unread = self.state.tx == Tx::OnSatellite(id) && !self.state.opening.is_empty();
        let fits = matches!(work.shape(), Shape::Results | Shape::Prepare { .. });
        unread && fits && work.repeatable()
    }

    /// The satellite is gone, and has sent nothing of this answer. `dead`: it died while it ran the statement.
    async fn move_unread(
        &mut self,
        id: usize,
        work: &mut Work,
        dead: Option<Arc<Server>>,
    ) -> Result<Answer, Fault> {
        if !self.can_move(id, work) {
            return Err(self.satellite_lost(id));
        }
        let opening = std::mem::take(&mut self.state.opening);
        self.state.tx = Tx::Pending;
        self.shared.metrics.moved_reads.inc();
        let answer = self.read_after(work, &opening, dead).await;
        if answer.is_err() && self.state.tx == Tx::Pending {
            self.state.tx = Tx::Lost;
        }
        if work.shape() != Shape::Results {
            self.state.opening = opening;
        }
        answer
    }

    /// Something of the gate's own, within a transaction on a satellite.
    pub(super) async fn on_satellite_quietly(&mut self, id: usize, sql: &str) {
        if let Some(mut backend) = self.connections.satellites.take(id) {
            let within = self.shared.config.server_timeout;
            if bounded(within, async { backend.query(sql).await })
                .await
                .is_ok()
            {
                self.connections.satellites.put(backend);
            }
        }
    }

    pub(super) fn satellite_failed(
        &mut self,
        server: &Server,
        backend: &Backend,
        failed: Failed,
    ) -> Fault {
        self.answered_by(server, &backend.incarnation, Told::Data);
        match failed {
            Failed::Relay(RelayError::ClientGone | RelayError::Killed) => Fault::Gone,
            Failed::Client(error) | Failed::Relay(RelayError::Client(error)) => Fault::from(error),
            Failed::Relay(RelayError::Cut { fits: false, .. }) => Fault::Gone,
            Failed::Relay(RelayError::NothingSent(BackendError::Sql(error))) => {
                self.satellite_lost(server.id);
                Fault::Sql(error)
            }
            _ => self.satellite_lost(server.id),
        }
    }

    /// The answer may be of another definition, and nobody else can give it: the client has some of it, or the transaction is here.
    pub(super) fn redefined(&mut self, mut backend: Box<Backend>) -> Fault {
        let error = SqlError::redefined();
        let answer = Answer {
            error: Some(error.code),
            shown: self.state.shown,
            ..Answer::default()
        };
        self.after(&mut backend, &answer, Told::Data);
        self.connections.satellites.put(backend);
        self.count_error("redefined");
        Fault::Sql(error)
    }

    fn satellite_lost(&mut self, id: usize) -> Fault {
        if self.state.tx == Tx::OnSatellite(id) {
            return self.transaction_lost();
        }
        self.count_error("satellite_lost");
        Fault::Sql(SqlError::gate("lost the satellite that was answering"))
    }

    pub(super) fn transaction_lost(&mut self) -> Fault {
        self.state.tx = Tx::Lost;
        self.count_error("transaction_lost");
        Fault::Sql(SqlError::satellite_of_transaction_gone())
    }
}
