//! Asks the master for its timeouts towards clients.

use super::connection::Backend;
use super::monitor::Monitor;
use crate::net::timeouts::Defaults;
use crate::protocol::error::BackendError;
use std::time::Duration;

/// How soon a changed global value is known; it counts for sessions that begin from then on.
const ASK_EVERY: Duration = Duration::from_secs(5);
const QUESTION: &str = "SELECT @@global.wait_timeout, @@global.interactive_timeout, @@global.net_read_timeout, \
                        @@global.net_write_timeout";

/// Asks the master for its values, forever.
pub async fn follow_defaults(defaults: &Defaults, master: Monitor) {
    let mut connection = None;
    loop {
        connection = ask(defaults, &master, connection.take()).await.ok();
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn ask(
    defaults: &Defaults,
    master: &Monitor,
    connection: Option<Box<Backend>>,
) -> Result<Box<Backend>, BackendError> {
    let mut backend = match connection {
        Some(backend) => backend,
        None => master.connect().await?,
    };
    let answer = master.bounded(backend.query(QUESTION), Duration::ZERO);
    let answer = answer.await?;
    defaults.learn([0, 1, 2, 3].map(|column| answer.text(0, column)));
    Ok(backend)
}
