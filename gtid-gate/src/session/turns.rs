//! A statement's turn on a server: how many run there at once is limited.
//!
//! Must never: wait on when the session is told to stop.

use crate::backend::{Server, Turn};
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::common::signals::KILLED;
use crate::protocol::error::SqlError;
use std::future::poll_fn;
use std::time::Instant;

/// Waits for something of the gate's own, unless the session is told to stop waiting.
pub(super) async fn patiently<T>(
    entry: &Entry,
    waiting: impl Future<Output = T>,
) -> Result<T, SqlError> {
    tokio::select! {
        biased;
        done = waiting => Ok(done),
        () = entry.interrupted.notified() => Err(SqlError::interrupted()),
        // The session itself ends once this is told.
        _ = poll_fn(|context| entry.signals.poll(context, KILLED)) => Err(SqlError::interrupted()),
    }
}

/// Waits until it is this statement's turn on the server; kept until its answer is through.
pub(super) async fn take_turn(
    shared: &Shared,
    entry: &Entry,
    server: &Server,
    heavy: bool,
) -> Result<Turn, SqlError> {
    if let Some(turn) = server.turns.try_take(heavy) {
        return Ok(turn);
    }
    let metrics = &shared.metrics;
    let (within, started) = (shared.config.queue, Instant::now());
    let turn = tokio::time::timeout(within, server.turns.take(heavy, within / 2));
    let turn = patiently(entry, turn).await?;
    metrics
        .queue_seconds
        .observe(started.elapsed().as_secs_f64());
    if let Ok(Some(turn)) = turn {
        return Ok(turn);
    }
    metrics.overloads.with_label_values(&["running"]).inc();
    Err(SqlError::gate(format_args!(
        "{} is overloaded: not this statement's turn within {} ms ({} run at a time, {} wait)",
        server.name,
        within.as_millis(),
        server.turns.limit(),
        server.turns.queued()
    )))
}
