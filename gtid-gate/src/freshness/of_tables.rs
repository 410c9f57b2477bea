//! What a read needs for the sake of its tables alone.
//!
//! In: what it needs of all that the master has and its session saw. Out: less, if the table stream says who wrote its tables.
//! Must never: wait long for the stream: without it reads are answered as ever.

use super::admission::{Gate, Request, live};
use super::requirement::Need;
use super::table_writes::Answer;
use crate::backend::Position;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a read waits at most for the table stream to tell of what the master has: commits are told of within a
/// millisecond or two, on a busy machine later. Where satellites are so far behind that only the stream can help, it waits
/// as long as it may.
const STREAM_WAIT: Duration = Duration::from_millis(30);
/// How often it looks meanwhile whether replication was quicker.
const LOOK: Duration = Duration::from_millis(2);

impl Gate {
    /// What the read's tables need, if that is known, instead of all that the master has and the session saw.
    pub(super) async fn of_tables(&self, need: Need, read: Request<'_>) -> Need {
        let known = need.not_before.is_none() && !need.is_open();
        let (Some(tables), Some(master), true) = (read.tables, self.master_of(&need), known) else {
            return need;
        };
        self.table_writes.look_at(&master);
        let began = Instant::now();
        let mut patience = None;
        loop {
            let more = self.table_writes.more();
            let sets = need.master.iter().map(|m| &m.executed);
            let sets = sets.chain(need.seen_sets());
            let answer = self.table_writes.needs(tables, sets);
            let in_time = !matches!(answer, Answer::Behind);
            let most = patience.unwrap_or(STREAM_WAIT.min(read.policy.wait));
            let left = most.saturating_sub(began.elapsed());
            if patience.is_some() && (in_time || left.is_zero()) {
                let outcome = if in_time { "told" } else { "gave_up" };
                if !in_time {
                    self.table_writes.waited_in_vain();
                }
                self.metrics.table_waits.with_label_values(&[outcome]).inc();
            }
            match answer {
                Answer::Needs(writes, catalog) => return need.of_tables(writes, catalog),
                Answer::Behind if !left.is_zero() => {}
                _ => return need,
            }
            patience.get_or_insert_with(|| self.patience(&need, read));
            let _ = tokio::time::timeout(left.min(LOOK), more).await;
            // Replication may have been quicker.
            if self.is_met(&need, read) {
                return need;
            }
        }
    }

    /// How long it is worth waiting for the stream: the rest of the time is for satellites, if they can become fresh in it.
    fn patience(&self, need: &Need, read: Request<'_>) -> Duration {
        match self.can_become_fresh(need, read) {
            true => STREAM_WAIT.min(read.policy.wait),
            false => read.policy.wait,
        }
    }

    fn master_of(&self, need: &Need) -> Option<Arc<Position>> {
        let asked = need.master.clone();
        asked.or_else(|| self.servers.master.position())
    }

    fn is_met(&self, need: &Need, read: Request<'_>) -> bool {
        live(&self.servers.satellites(), read)
            .any(|(server, position)| need.is_met(server.id, &position))
    }
}
