//! The wait for a satellite that is fresh enough, and what comes after it.
//!
//! In: what a read needs that no satellite is known to have. Out: a satellite that has it by now, or leave for the master, or
//! an error, as the read's policy says. A wait that cannot succeed is not begun.

use super::admission::{Gate, Leave, Request, live, usable};
use super::estimate::can_succeed;
use super::price::is_worth_waiting;
use super::requirement::Need;
use crate::backend::{Server, Waiter, Waiting};
use crate::common::why::Why;
use crate::protocol::error::SqlError;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// Where a read goes by its tables, that says more than that it waited.
fn waited(mut leave: Leave) -> Leave {
    if let Leave::Satellite { why, .. } = &mut leave
        && *why == Why::Fresh
    {
        *why = Why::Waited;
    }
    leave
}

impl Gate {
    pub(super) async fn wait_then_pick(
        &self,
        need: Need,
        read: Request<'_>,
    ) -> Result<Leave, SqlError> {
        let may_fall_back = read.policy.falls_back();
        if may_fall_back && !self.has_live(read) {
            return self.fall_back(read).await;
        }
        let behind = self.expected_wait(read);
        if let Some(leave) = self.spare(read, behind) {
            return self.spared(leave, read).await;
        }
        let waits = self.can_become_fresh(&need, read);
        let leave = match waits {
            true => self.wait(&need, read).await,
            false => None,
        };
        if let Some(leave) = leave {
            return Ok(leave);
        }
        if !waits {
            self.metrics.hopeless_waits.inc();
        }
        if may_fall_back {
            return self.fall_back(read).await;
        }
        self.metrics.wait_errors.inc();
        Err(SqlError::gate(format_args!(
            "no satellite {} fresh enough for {} within {} ms",
            if waits { "was" } else { "can be" },
            read.policy.level,
            read.policy.wait.as_millis()
        )))
    }

    /// Whether some satellite may have what is needed before the wait is over.
    pub(super) fn can_become_fresh(&self, need: &Need, read: Request<'_>) -> bool {
        let (now, wait) = (Instant::now(), read.policy.wait);
        wait.is_zero()
            || usable(&self.servers.satellites(), read).any(|server| {
                let Some(position) = server.position() else {
                    // Out of reach, it may be back in a moment: that is waited for only where nothing else is left.
                    return !read.policy.falls_back();
                };
                position.backlog.as_ref().is_none_or(|backlog| {
                    can_succeed(need.lacking(server.id, &position), backlog, wait, now)
                })
            })
    }

    /// Another satellite than the one that could answer in so many seconds, if it is fresh enough so soon that it answers
    /// clearly sooner.
    pub(super) async fn fresh_sooner(
        &self,
        expected: f64,
        need: &Need,
        read: Request<'_>,
    ) -> Option<Leave> {
        if !is_worth_waiting(expected, 0.0) {
            return None;
        }
        let (satellites, now) = (self.servers.satellites(), Instant::now());
        let later = live(&satellites, read)
            .filter(|(server, position)| !need.is_met(server.id, position))
            .filter_map(|(server, position)| {
                let (fresh, seconds) = self.seconds_later(server, &position, need, read, now)?;
                is_worth_waiting(expected, seconds).then_some((server, fresh, seconds))
            });
        let (server, fresh, _) = later.min_by(|a, b| a.2.total_cmp(&b.2))?;
        let waiting = self.wait_at(server, need);
        self.metrics.waits.inc();
        // So long that it is the exception to have waited in vain.
        let _ = tokio::time::timeout(fresh * 2, waiting.1.notified()).await;
        self.metrics
            .wait_seconds
            .observe(now.elapsed().as_secs_f64());
        self.pick(need, read).map(waited)
    }

    fn wait_at(&self, server: &Arc<Server>, need: &Need) -> (Waiting, Arc<Notify>) {
        let woken = Arc::new(Notify::new());
        let required = need.required(server.id, server.position().as_deref());
        let waiter = Waiter {
            required,
            woken: woken.clone(),
        };
        (server.wait_for(waiter), woken)
    }

    async fn wait(&self, need: &Need, read: Request<'_>) -> Option<Leave> {
        let started = Instant::now();
        let woken = Arc::new(Notify::new());
        let mut waiting = Vec::new();
        self.metrics.waits.inc();
        let may_fall_back = read.policy.falls_back();
        let leave = loop {
            self.register(&mut waiting, need, read, &woken);
            if let Some(leave) = self.pick(need, read).map(waited) {
                if let Leave::Satellite { server, .. } = &leave {
                    server.delay.add(started.elapsed());
                }
                break Some(leave);
            }
            let left = read.policy.wait.saturating_sub(started.elapsed());
            let hopeless = may_fall_back && !self.has_live(read);
            if left.is_zero() || hopeless {
                break None;
            }
            let _ = tokio::time::timeout(left, woken.notified()).await;
        };
        self.metrics
            .wait_seconds
            .observe(started.elapsed().as_secs_f64());
        leave
    }

    /// Waits on all satellites that may take the read: others may, when one comes or is lost.
    fn register(
        &self,
        waiting: &mut Vec<Waiting>,
        need: &Need,
        read: Request<'_>,
        woken: &Arc<Notify>,
    ) {
        let satellites = self.servers.satellites();
        let at = waiting.iter().map(|w| w.server_id());
        if !waiting.is_empty() && at.eq(usable(&satellites, read).map(|s| s.id)) {
            return;
        }
        let wait_on = |server: &Arc<Server>| {
            server.wait_for(Waiter {
                required: need.required(server.id, server.position().as_deref()),
                woken: woken.clone(),
            })
        };
        *waiting = usable(&satellites, read).map(wait_on).collect();
    }
}
