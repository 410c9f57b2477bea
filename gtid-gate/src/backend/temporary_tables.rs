//! Asks the master whether a connection has temporary tables: no report to the session itself tells them from user variables.
//!
//! In: a connection's number on the master. Out: whether it has had any (InnoDB keeps their tablespace until the connection ends).
//! Needs PROCESS. Must never: say no where nobody knows.

use super::connection::Backend;
use super::monitor::Monitor;
use crate::protocol::error::BackendError;
use std::time::Duration;
use tokio::sync::Mutex;

pub struct TemporaryTables {
    master: Monitor,
    connection: Mutex<Option<Box<Backend>>>,
}

impl TemporaryTables {
    pub fn new(master: Monitor) -> Self {
        Self {
            master,
            connection: Mutex::new(None),
        }
    }

    pub async fn of(&self, thread_id: u32) -> Result<bool, BackendError> {
        let mut connection = self.connection.lock().await;
        let open = connection
            .take()
            .and_then(|mut b| (!b.conn.has_ended()).then_some(b));
        let mut backend = match open {
            Some(backend) => backend,
            None => self.master.connect().await?,
        };
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.INNODB_SESSION_TEMP_TABLESPACES \
             WHERE ID = {thread_id} AND PURPOSE = 'USER'"
        );
        let answer = self
            .master
            .bounded(backend.query(&sql), Duration::ZERO)
            .await?;
        *connection = Some(backend);
        Ok(answer.text(0, 0) != Some("0"))
    }
}
