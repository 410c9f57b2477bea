//! Asks the master what sessions begin with: its timeouts towards clients, and global values that were changed while it runs.

use super::connection::{Backend, Server};
use super::membership::Servers;
use super::monitor::Monitor;
use super::query::TextResult;
use crate::common::lock;
use crate::net::timeouts::Defaults;
use crate::protocol::error::BackendError;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How soon a changed global value is known; it counts for sessions that begin from then on.
const ASK_EVERY: Duration = Duration::from_secs(5);
const QUESTION: &str = "SELECT @@global.wait_timeout, @@global.interactive_timeout, @@global.net_read_timeout, \
                        @@global.net_write_timeout";

/// Variables that the gate listens to, or that matter to what a read has for rows. All servers have the same configuration; SET GLOBAL
/// and SET PERSIST are the master's alone. (Which were set is not to be had: `variables_info` tells of SET SESSION, too.)
const VALUES: &str = "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_variables \
    WHERE VARIABLE_NAME IN ('autocommit', 'block_encryption_mode', 'completion_type', \
    'cte_max_recursion_depth', 'default_collation_for_utf8mb4', 'default_week_format', 'div_precision_increment', 'group_concat_max_len', \
    'lc_time_names', 'max_sort_length', 'session_track_schema', 'session_track_state_change', 'session_track_system_variables', \
    'session_track_transaction_info', 'sql_auto_is_null', 'sql_mode', 'sql_select_limit', 'time_zone', 'transaction_isolation', \
    'transaction_read_only', 'windowing_use_high_precision')";

type Values = Vec<(String, String)>;

/// Names and values of variables whose global value is another on the master than on satellites.
#[derive(Default)]
pub struct Globals(Mutex<Arc<[(String, String)]>>);

impl Globals {
    pub fn changed(&self) -> Arc<[(String, String)]> {
        lock(&self.0).clone()
    }
}

/// A server that is asked again and again, on one connection as long as it lasts.
struct Asked {
    monitor: Monitor,
    connection: Option<Box<Backend>>,
}

impl Asked {
    fn new(monitor: Monitor) -> Self {
        let connection = None;
        Self {
            monitor,
            connection,
        }
    }

    async fn ask(&mut self, question: &str) -> Result<TextResult, BackendError> {
        let mut backend = match self.connection.take() {
            Some(backend) => backend,
            None => self.monitor.connect().await?,
        };
        let asking = self
            .monitor
            .bounded(backend.query(question), Duration::ZERO);
        let answer = asking.await?;
        self.connection = Some(backend);
        Ok(answer)
    }

    async fn values(&mut self) -> Result<Values, BackendError> {
        let answer = self.ask(VALUES).await?;
        let text = |row, column| answer.text(row, column).unwrap_or_default().to_owned();
        let rows = 0..answer.rows.len();
        Ok(rows.map(|row| (text(row, 0), text(row, 1))).collect())
    }
}

/// Asks the master for its values, forever, and any satellite for its own.
pub async fn follow_defaults(
    defaults: &Defaults,
    globals: &Globals,
    servers: &Servers,
    monitor: impl Fn(Arc<Server>) -> Monitor,
) {
    let mut master = Asked::new(monitor(servers.master.clone()));
    let mut satellite = None;
    let mut configured = Values::new();
    loop {
        let up = servers.satellites();
        let up = up.iter().find(|s| s.position().is_some());
        let asked = satellite.take();
        let asked = asked.or_else(|| up.map(|up| Asked::new(monitor(up.clone()))));
        if let Some(mut asked) = asked
            && let Ok(values) = asked.values().await
        {
            configured = values;
            satellite = Some(asked);
        }
        if let Ok(answer) = master.ask(QUESTION).await {
            defaults.learn([0, 1, 2, 3].map(|column| answer.text(0, column)));
        }
        if let Ok(values) = master.values().await {
            let others = values.into_iter().filter(|v| !configured.contains(v));
            *lock(&globals.0) = others.collect();
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}
