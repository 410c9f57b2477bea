//! Asks the master about a session's connection what that itself does not tell: temporary tables (no report tells them from user variables),
//! and which statement within a routine failed.
//!
//! In: a connection's number on the master. Needs PROCESS, and SELECT on performance_schema.
//! Must never: say no where nobody knows.

use super::connection::Backend;
use super::monitor::Monitor;
use super::query::TextResult;
use crate::protocol::error::BackendError;
use std::time::Duration;
use tokio::sync::Mutex;

pub struct MasterThreads {
    master: Monitor,
    connection: Mutex<Option<Box<Backend>>>,
}

impl MasterThreads {
    pub fn new(master: Monitor) -> Self {
        Self {
            master,
            connection: Mutex::new(None),
        }
    }

    /// Whether it has had temporary tables: InnoDB keeps their tablespace until the connection ends.
    pub async fn has_temporary_tables(&self, thread_id: u32) -> Result<bool, BackendError> {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.INNODB_SESSION_TEMP_TABLESPACES \
             WHERE ID = {thread_id} AND PURPOSE = 'USER'"
        );
        let answer = self.ask(&sql).await?;
        Ok(answer.text(0, 0) != Some("0"))
    }

    /// The innermost statement that failed last with this error, as a digest's text, which shows what executable comments meant. Statements of
    /// routines have none; of them MySQL has taken the comments out.
    pub async fn failed_statement(
        &self,
        thread_id: u32,
        code: u16,
    ) -> Result<Option<String>, BackendError> {
        let sql = format!(
            "SELECT COALESCE(h.DIGEST_TEXT, h.SQL_TEXT) FROM performance_schema.events_statements_history h \
             JOIN performance_schema.threads t USING (THREAD_ID) \
             WHERE t.PROCESSLIST_ID = {thread_id} AND h.MYSQL_ERRNO = {code} ORDER BY h.EVENT_ID DESC LIMIT 1"
        );
        let answer = self.ask(&sql).await?;
        Ok(answer.text(0, 0).map(str::to_owned))
    }

    async fn ask(&self, sql: &str) -> Result<TextResult, BackendError> {
        let mut connection = self.connection.lock().await;
        let open = connection
            .take()
            .and_then(|mut b| (!b.conn.has_ended()).then_some(b));
        let mut backend = match open {
            Some(backend) => backend,
            None => self.master.connect().await?,
        };
        let answer = self
            .master
            .bounded(backend.query(sql), Duration::ZERO)
            .await?;
        *connection = Some(backend);
        Ok(answer)
    }
}
