//! The session's connections to servers live as long as its client's.
//!
//! A server ends a connection that is idle for the session's `wait_timeout`. The gate's to the master may be idle while the client is busy
//! on satellites, and temporary tables, locks and user variables live there. So each hears from the session twice in that time, and the client,
//! whose own time begins with its last command, is shown out first.
//! Must never: be seen in what the client asks about its last statement.

use super::fault::Fault;
use super::parts::Session;
use crate::backend::Backend;
use crate::backend::bounded;
use crate::protocol::error::SqlError;
use std::io;
use tokio::time::Instant;

/// Unlike COM_PING it leaves ROW_COUNT() as it is.
const COM_STATISTICS: u8 = 0x09;

impl Session {
    pub(super) fn keep_alive_due(&self) -> Instant {
        self.keeping.last + self.client.timeouts.keep_alive()
    }

    /// Lets every server hear from the session. A connection that does not answer is gone, with what lived on it: the next statement that
    /// needs that says so.
    pub(super) async fn keep_alive(&mut self) {
        self.keeping.last = Instant::now();
        let within = self.shared.config.server_timeout;
        let alive = async |mut backend: Box<Backend>| {
            let asked = bounded(within, backend.simple_command(&[COM_STATISTICS])).await;
            asked.ok().map(|()| backend)
        };
        if let Some(master) = self.master.take() {
            self.master = alive(master).await;
        }
        for satellite in self.satellites.take_all() {
            if let Some(satellite) = alive(satellite).await {
                self.satellites.put(satellite);
            }
        }
        self.show_master();
    }
}

/// Why there is no next command.
pub(super) fn while_idle(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::TimedOut => Fault::Fatal(SqlError::inactive()),
        _ => Fault::Gone,
    }
}
