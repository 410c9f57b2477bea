//! What the client's account may do and see, asked of the master.
//!
//! In: a session. Out: a connection of its account, with the roles that the session has now.
//! Must never: ask for privileges on the session's own connection, which knows what the client may ask of the statement before.

use super::fault::Fault;
use super::parts::Session;
use crate::backend::{Backend, Server, bounded};
use crate::protocol::error::{BackendError, SqlError};
use std::sync::Arc;

/// Tables that need no row to be read: one for who may read statement digests, one for who has PROCESS.
const DIGESTS: &str =
    "SELECT 1 FROM performance_schema.events_statements_summary_by_digest LIMIT 0";
const PROCESS: &str = "SELECT 1 FROM information_schema.INNODB_CMP LIMIT 1";
/// As SET ROLE takes them.
const ROLES: &str = "SELECT CURRENT_ROLE() LIMIT 1";

impl Session {
    /// Statements of other accounts: as MySQL has it for its own digests, or for SHOW PROCESSLIST. Else MySQL's error 1227.
    pub(super) async fn may_see_statements(&mut self) -> Result<(), Fault> {
        let roles = self.roles().await?;
        let shared = self.shared.clone();
        let asking = async {
            let master = &shared.gate.servers.master;
            let mut backend = self.connect_as_user(master, roles.as_deref()).await?;
            let mut allowed = backend.query(DIGESTS).await;
            if matches!(allowed, Err(BackendError::Sql(_))) {
                allowed = backend.query(PROCESS).await;
            }
            backend.quit().await;
            allowed
        };
        let answer = bounded(shared.config.server_timeout, asking).await;
        answer.map(drop).map_err(refusal)
    }

    /// Those that the session has on the master; nothing: those of its login.
    pub(super) async fn roles(&mut self) -> Result<Option<String>, Fault> {
        if self.connections.master.is_none() {
            return Ok(None);
        }
        let answer = self.ask_master(ROLES).await?;
        Ok(answer.text(0, 0).map(str::to_owned))
    }

    pub(super) async fn connect_as_user(
        &self,
        server: &Arc<Server>,
        roles: Option<&str>,
    ) -> Result<Box<Backend>, BackendError> {
        let tls = &self.shared.tls_to_servers;
        let wish = self.user.wish_for_questions(&self.client, tls);
        let mut backend =
            Backend::connect(server, wish, self.shared.config.connect_timeout).await?;
        if let Some(roles) = roles {
            backend.query(&format!("SET ROLE {roles}")).await?;
        }
        Ok(backend)
    }
}

fn refusal(error: BackendError) -> Fault {
    let error = match error {
        BackendError::Sql(error) => error,
        other => SqlError::gate(format_args!(
            "the master can't be asked whether the account has PROCESS: {}",
            other.for_client("the master").message
        )),
    };
    error.into()
}
