//! KILL: a client's connection id is the gate's; where its statement runs, the gate knows.
//!
//! Must never: kill a stranger. Ids below the gate's own range are the master's:
//! what CONNECTION_ID() told a session of the same user means that session, of any other the master judges.

use super::fault::Fault;
use super::parts::Session;
use super::work::Work;
use crate::backend::Backend;
use crate::clients::registry::{Entry, FIRST_ID};
use crate::common::signals::KILLED;
use crate::freshness::Told;
use crate::protocol::error::SqlError;
use std::sync::Arc;

impl Session {
    pub(super) async fn kill(
        &mut self,
        query_only: bool,
        id: Option<u64>,
        mut work: Work,
    ) -> Result<(), Fault> {
        let own = u64::from(self.entry.id);
        let id = u32::try_from(id.unwrap_or(own)).unwrap_or(u32::MAX);
        let Some(target) = self.target(id)? else {
            return self.on_master(&mut work, Told::Nothing).await.map(drop);
        };
        if target.id == self.entry.id {
            return Err(if query_only {
                Fault::Sql(SqlError::interrupted())
            } else {
                Fault::Fatal(SqlError::interrupted())
            });
        }
        self.stop_statement(&target).await;
        if !query_only {
            target.signals.raise(KILLED);
        }
        self.say_ok().await
    }

    /// The session that is meant; none if the master is to judge.
    fn target(&self, id: u32) -> Result<Option<Arc<Entry>>, SqlError> {
        if id < FIRST_ID {
            return Ok(self.shared.registry.find_on_master(id, &self.user.name));
        }
        let unknown = || SqlError::new(1094, "HY000", format!("Unknown thread id: {id}"));
        let target = self.shared.registry.find(id).ok_or_else(unknown)?;
        if target.user() != self.user.name {
            let text = format!("You are not owner of thread {id}");
            return Err(SqlError::new(1095, "HY000", text));
        }
        Ok(Some(target))
    }

    /// Stops what runs there, as the same user: the server checks it again.
    async fn stop_statement(&self, target: &Entry) {
        let Some((server, thread_id)) = target.running() else {
            target.interrupted.notify_waiters();
            return;
        };
        let tls = &self.shared.tls_to_servers;
        let wish = self.user.wish_for_questions(&self.client, tls);
        let within = self.shared.config.connect_timeout;
        if let Ok(mut backend) = Backend::connect(&server, wish, within).await {
            let stop = format!("KILL QUERY {thread_id}");
            let stopping = backend.query(&stop);
            let _ = tokio::time::timeout(within, stopping).await;
            backend.quit().await;
        }
    }
}
