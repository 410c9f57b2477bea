//! What the client's account may see, asked of the master.
//!
//! Must never: ask on the session's own connection, which knows what the client may ask of the statement before.

use super::fault::Fault;
use super::parts::Session;
use crate::backend::{Backend, bounded};
use crate::protocol::error::{BackendError, SqlError};

/// Tables that need no row to be read: one for who may read statement digests, one for who has PROCESS.
const DIGESTS: &str =
    "SELECT 1 FROM performance_schema.events_statements_summary_by_digest LIMIT 0";
const PROCESS: &str = "SELECT 1 FROM information_schema.INNODB_CMP LIMIT 1";

impl Session {
    /// Statements of other accounts: as MySQL has it for its own digests, or for SHOW PROCESSLIST. Else MySQL's error 1227.
    pub(super) async fn may_see_statements(&mut self) -> Result<(), Fault> {
        let shared = self.shared.clone();
        let wish = self
            .user
            .wish_for_questions(&self.client, &shared.tls_to_servers);
        let master = &shared.gate.servers.master;
        let asking = async {
            let mut backend = Backend::connect(master, wish, shared.config.connect_timeout).await?;
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
