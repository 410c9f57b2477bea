//! Which server may answer a read now.
//!
//! In: when a read arrives, and which server answered its session's previous one. Out: a satellite that has all the
//! read must see, or leave to use the master, or a clear error.
//! Must never: admit a satellite whose position does not contain what is required, or answer from what was asked
//! before the read arrived.

mod decision;

use crate::config::Config;
use crate::error::SqlError;
use crate::gtid::GtidSet;
use crate::master_questions::MasterQuestions;
use crate::metrics::Metrics;
use crate::servers::{Incarnation, Position, Role, Running, Server, Servers, Waiter, Waiting};
use decision::{Candidate, choose, required};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The server that answered a session's last statement, and when: what the session saw is in there.
#[derive(Debug, Clone)]
pub struct LastRead {
    pub server: usize,
    pub role: Role,
    pub incarnation: Incarnation,
    pub answered: Instant,
}

/// Leave to read, to be kept until the answer is through.
pub enum Leave {
    Satellite {
        server: Arc<Server>,
        incarnation: Incarnation,
        running: Running,
    },
    Master(MasterLeave),
}

/// One of the capped places on the master for reads that no satellite could take.
pub struct MasterLeave {
    _place: OwnedSemaphorePermit,
    _running: Running,
}

pub struct Gate {
    pub servers: Servers,
    questions: MasterQuestions,
    metrics: Arc<Metrics>,
    wait: Duration,
    fallback_places: Arc<Semaphore>,
    fallback_queue: Duration,
    skip_freshness: bool,
    /// Where the next session begins to look, so that equally loaded satellites share the sessions.
    turn: AtomicUsize,
}

impl Gate {
    pub fn new(
        config: &Config,
        servers: Servers,
        questions: MasterQuestions,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            servers,
            questions,
            metrics,
            wait: config.wait,
            fallback_places: Arc::new(Semaphore::new(config.fallback_limit)),
            fallback_queue: config.fallback_queue,
            skip_freshness: config.skip_freshness,
            turn: AtomicUsize::new(0),
        }
    }

    /// Leave for a read that has just arrived. `excluded`: servers that failed this read already.
    pub async fn admit(
        &self,
        last: Option<&LastRead>,
        excluded: &[usize],
    ) -> Result<Leave, SqlError> {
        if self.live(excluded).next().is_none() {
            return self.fall_back(last).await;
        }
        if self.skip_freshness {
            return match self.pick(None, last, excluded) {
                Some(leave) => Ok(leave),
                None => self.fall_back(last).await,
            };
        }
        let master = self.ask_master().await?;
        self.seek(&master, excluded);
        match self.pick(Some(&master), last, excluded) {
            Some(leave) => Ok(leave),
            None => self.wait_then_pick(&master, last, excluded).await,
        }
    }

    /// A satellite that has caught up must not look late until somebody happens to wait for it: reads would all go to
    /// the one whose position is known.
    fn seek(&self, master: &Arc<Position>, excluded: &[usize]) {
        self.live(excluded)
            .filter(|(_, known)| !known.executed.contains_set(&master.executed))
            .for_each(|(server, _)| server.seek(master));
    }

    async fn ask_master(&self) -> Result<Arc<Position>, SqlError> {
        let budget = self.wait + self.fallback_queue.max(Duration::from_millis(500));
        self.questions.ask(budget).await.map_err(SqlError::gate)
    }

    fn live<'a>(
        &'a self,
        excluded: &'a [usize],
    ) -> impl Iterator<Item = (&'a Arc<Server>, Arc<Position>)> {
        let usable = self
            .servers
            .satellites
            .iter()
            .filter(|s| !excluded.contains(&s.id));
        usable.filter_map(|server| Some((server, server.position()?)))
    }

    /// The least loaded live satellite that has what is required; `master` is nothing when freshness is skipped.
    fn pick(
        &self,
        master: Option<&Position>,
        last: Option<&LastRead>,
        excluded: &[usize],
    ) -> Option<Leave> {
        let mut live: Vec<_> = self.live(excluded).collect();
        if last.is_none() && !live.is_empty() {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % live.len();
            live.rotate_left(turn);
        }
        let sample = last.and_then(|l| self.sample_after(l));
        let candidates = live.iter().map(|(server, position)| Candidate {
            server: server.id,
            load: server.running.load(Ordering::Relaxed),
            position,
        });
        let chosen = choose(candidates, master, last, sample.as_deref())?;
        let (server, position) = live.iter().find(|(server, _)| server.id == chosen)?;
        Some(Leave::Satellite {
            server: (*server).clone(),
            incarnation: position.incarnation.clone(),
            running: server.start_running(),
        })
    }

    /// What the server of the last read had, sampled after its answer, if that is known.
    fn sample_after(&self, last: &LastRead) -> Option<Arc<Position>> {
        let server = self.servers.all().find(|s| s.id == last.server)?;
        server
            .position()
            .filter(|p| p.incarnation == last.incarnation && p.asked >= last.answered)
    }

    async fn wait_then_pick(
        &self,
        master: &Position,
        last: Option<&LastRead>,
        excluded: &[usize],
    ) -> Result<Leave, SqlError> {
        let started = Instant::now();
        let woken = Arc::new(Notify::new());
        let _waiting = self.register(master, last, excluded, &woken);
        self.metrics.waits.inc();
        let leave = loop {
            if let Some(leave) = self.pick(Some(master), last, excluded) {
                break Some(leave);
            }
            let left = self.wait.saturating_sub(started.elapsed());
            if left.is_zero() || self.live(excluded).next().is_none() {
                break None;
            }
            let _ = tokio::time::timeout(left, woken.notified()).await;
        };
        self.metrics
            .wait_seconds
            .observe(started.elapsed().as_secs_f64());
        match leave {
            Some(leave) => Ok(leave),
            None => self.fall_back(last).await,
        }
    }

    fn register(
        &self,
        master: &Position,
        last: Option<&LastRead>,
        excluded: &[usize],
        woken: &Arc<Notify>,
    ) -> Vec<Waiting> {
        let sample = last.and_then(|l| self.sample_after(l));
        let waiter = |server: &Arc<Server>, position: &Position| Waiter {
            required: required(
                server.id,
                &position.incarnation,
                master,
                last,
                sample.as_deref(),
            ),
            woken: woken.clone(),
        };
        self.live(excluded)
            .map(|(server, position)| server.wait_for(waiter(server, &position)))
            .collect()
    }

    /// A place on the master, queued for if all are taken.
    async fn fall_back(&self, last: Option<&LastRead>) -> Result<Leave, SqlError> {
        let queued = tokio::time::timeout(
            self.fallback_queue,
            self.fallback_places.clone().acquire_owned(),
        );
        let Ok(Ok(place)) = queued.await else {
            self.metrics.fallback_rejections.inc();
            return Err(SqlError::gate(
                "no satellite is fresh enough and too many reads are on the master",
            ));
        };
        self.metrics.fallbacks.inc();
        self.before_master(last).await?;
        let running = self.servers.master.start_running();
        Ok(Leave::Master(MasterLeave {
            _place: place,
            _running: running,
        }))
    }

    /// A satellite can show a transaction an instant before the master's own engine does: a session that changes from
    /// one to the other waits until the master has all that it may have seen.
    pub async fn before_master(&self, last: Option<&LastRead>) -> Result<(), SqlError> {
        let Some(last) = last.filter(|l| l.role == Role::Satellite && !self.skip_freshness) else {
            return Ok(());
        };
        let deadline = Instant::now() + self.wait + self.fallback_queue;
        let first = self.ask_master().await?;
        let seen = match self.sample_after(last) {
            Some(sample) => union(&sample.owned, &sample.executed),
            None => first.owned.clone(),
        };
        let mut master = first;
        while !master.executed.contains_set(&seen) {
            if Instant::now() >= deadline {
                return Err(SqlError::gate(
                    "the master does not yet have what this session has seen",
                ));
            }
            master = self.ask_master().await?;
        }
        Ok(())
    }
}

fn union(a: &GtidSet, b: &GtidSet) -> GtidSet {
    let mut both = a.clone();
    both.union_with(b);
    both
}
