//! Questions about the session's statements before, asked on the connection that was chosen for them.
//!
//! Must never: let a server answer that does not know.

use super::diagnostics::{PING, Unknown};
use super::exchange::{Failed, at};
use super::fault::Fault;
use super::parts::Session;
use super::settle::INSERT_ID;
use super::state::Tx;
use super::work::Work;
use crate::backend::{Backend, COM_PING};
use crate::protocol::error::{BackendError, SqlError};
use crate::session::relay::RelayError;

const STATEMENT_GONE: &str = "what the statement before left (warnings, ROW_COUNT(), FOUND_ROWS()) is not on this connection: \
                              it ran on another server, or its connection was handed over or is gone";
const INSERT_ID_GONE: &str = "LAST_INSERT_ID() was lost with the connection to the master";

impl Session {
    /// Has this connection know what the statement in hand asks for; an error if it can't.
    pub(super) async fn recall(
        &mut self,
        backend: &mut Backend,
        work: &Work,
    ) -> Result<(), Failed> {
        let ties = self.ties;
        if matches!(work, Work::Prepare { .. }) || !(ties.looks_back() || ties.asks_insert_id) {
            return Ok(());
        }
        if ties.asks_insert_id && self.state.insert_id_lost {
            self.find_insert_id(backend).await?;
        }
        let said = self.state.diagnostics.recall(at(backend), ties);
        let unprepared = matches!(work, Work::Execute(e) if !e.is_prepared(backend));
        let mut say = match said {
            // To prepare it here would overwrite the answer.
            Ok(say) if unprepared && ties.about_last && say.iter().all(|s| s == PING) => {
                Err(Unknown)
            }
            other => other,
        }
        .map_err(|Unknown| self.cannot_know(backend))?;
        if unprepared
            && !say.is_empty()
            && let Work::Execute(execution) = work
        {
            let around = self.reading_around(execution);
            let prepared = execution.prepare(backend, around).await;
            prepared.map_err(not_sent)?;
        }
        for sql in say.drain(..) {
            let said = match sql.as_str() {
                PING => backend.simple_command(&[COM_PING]).await,
                sql => backend.query(sql).await.map(drop),
            };
            // SIGNAL fails, as it should.
            match said {
                Ok(()) | Err(BackendError::Sql(_)) => {}
                Err(error) => return Err(not_sent(error)),
            }
        }
        Ok(())
    }

    /// Where another server knows, the next time this one will: it runs all that the session says from here on.
    fn cannot_know(&mut self, backend: &Backend) -> Failed {
        let elsewhere = self.state.diagnostics.who_knows(self.ties) != Some(backend.server.id);
        if elsewhere && self.state.tx == Tx::None && Self::is_master(&backend.server) {
            self.state.sticky = Some("asks about the statement before");
        }
        Failed::Prepare(SqlError::gate(STATEMENT_GONE))
    }

    /// What was inserted since has its own value, and that counts.
    async fn find_insert_id(&mut self, backend: &mut Backend) -> Result<(), Failed> {
        let gone = || Failed::Prepare(SqlError::gate(INSERT_ID_GONE));
        if self.ties.looks_back() || !Self::is_master(&backend.server) {
            return Err(gone());
        }
        let answer = backend.query(INSERT_ID).await;
        backend.number = Backend::new_number();
        match answer.map_err(not_sent)?.text(0, 0) {
            None | Some("0") => Err(gone()),
            Some(_) => {
                self.state.insert_id_lost = false;
                Ok(())
            }
        }
    }

    /// A question about the statement before that reads no table: whoever ran that has the answer.
    pub(super) async fn on_last_server(&mut self, work: &mut Work) -> Result<(), Fault> {
        let who = self.state.diagnostics.who_knows(self.ties);
        let answer = match who.filter(|id| self.connections.satellites.get(*id).is_some()) {
            Some(id) => {
                self.on_satellite(id, work, crate::freshness::Told::Nothing)
                    .await
            }
            None => self.on_master(work, crate::freshness::Told::Nothing).await,
        };
        answer.map(drop)
    }
}

fn not_sent(error: BackendError) -> Failed {
    match error {
        BackendError::Sql(error) => Failed::Prepare(error),
        other => Failed::Relay(RelayError::NothingSent(other)),
    }
}
