//! Asks the master what sessions begin with: its timeouts towards clients, and global values that were changed while it runs.

use super::connection::Backend;
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

/// Of variables that the gate listens to, or that matter to what a read has for rows. All servers have the same configuration; SET GLOBAL
/// and SET PERSIST are the master's alone.
const CHANGED: &str = "SELECT VARIABLE_NAME, g.VARIABLE_VALUE FROM performance_schema.variables_info \
    JOIN performance_schema.global_variables g USING (VARIABLE_NAME) \
    WHERE VARIABLE_SOURCE IN ('DYNAMIC', 'PERSISTED') AND VARIABLE_NAME IN ('autocommit', 'block_encryption_mode', 'completion_type', \
    'cte_max_recursion_depth', 'default_collation_for_utf8mb4', 'default_week_format', 'div_precision_increment', 'group_concat_max_len', \
    'lc_time_names', 'max_sort_length', 'session_track_schema', 'session_track_state_change', 'session_track_system_variables', \
    'session_track_transaction_info', 'sql_auto_is_null', 'sql_mode', 'sql_select_limit', 'time_zone', 'transaction_isolation', \
    'transaction_read_only', 'windowing_use_high_precision')";

/// Names and values of variables whose global value was changed while the master runs.
#[derive(Default)]
pub struct Globals(Mutex<Arc<[(String, String)]>>);

impl Globals {
    pub fn changed(&self) -> Arc<[(String, String)]> {
        lock(&self.0).clone()
    }

    fn learn(&self, answer: &TextResult) {
        let text = |row, column| answer.text(row, column).unwrap_or_default().to_owned();
        let changed = (0..answer.rows.len()).map(|row| (text(row, 0), text(row, 1)));
        *lock(&self.0) = changed.collect();
    }
}

/// Asks the master for its values, forever.
pub async fn follow_defaults(defaults: &Defaults, globals: &Globals, master: Monitor) {
    let mut connection = None;
    loop {
        connection = ask(defaults, globals, &master, connection.take())
            .await
            .ok();
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn ask(
    defaults: &Defaults,
    globals: &Globals,
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
    let changed = master.bounded(backend.query(CHANGED), Duration::ZERO);
    globals.learn(&changed.await?);
    Ok(backend)
}
