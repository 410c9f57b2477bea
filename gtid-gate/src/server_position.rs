//! Follows where one satellite is.
//!
//! In: requirements of reads that wait, and what reads missed here before they went elsewhere. Out: the satellite's
//! position, published in its `Server`. One question is in flight at a time: "wait for the oldest requirement, then
//! say what you have"; it serves all that wait. Nothing is missed: nothing is asked but a slow keepalive, which also
//! finds a hung server.
//! Must never: leave a position standing whose connection is gone, or whose set is not inside the master's.

use crate::backend::{Backend, Wish};
use crate::capability;
use crate::config::Config;
use crate::error::BackendError;
use crate::gtid::GtidSet;
use crate::master_questions::MasterQuestions;
use crate::metrics::Metrics;
use crate::servers::{Incarnation, Position, Server};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SHORTEST_BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_millis(500);
/// utf8mb4_0900_ai_ci: what the gate's own questions are in.
const CHARSET: u8 = 255;
const SETS: &str = "@@global.gtid_owned, @@global.gtid_executed";

/// What it takes to ask one server on the gate's own account.
pub struct Follower {
    pub server: Arc<Server>,
    pub metrics: Arc<Metrics>,
    pub keepalive: Duration,
    user: String,
    password: crate::scramble::Password,
    connect_timeout: Duration,
    server_timeout: Duration,
    wait: Duration,
    down: AtomicBool,
}

impl Follower {
    pub fn new(server: Arc<Server>, config: &Config, metrics: Arc<Metrics>) -> Self {
        Self {
            server,
            metrics,
            keepalive: config.keepalive,
            user: config.user.clone(),
            password: config.password.clone(),
            connect_timeout: config.connect_timeout,
            server_timeout: config.server_timeout,
            wait: config.wait.max(Duration::from_millis(10)),
            down: AtomicBool::new(false),
        }
    }

    pub async fn connect(&self) -> Result<Backend, BackendError> {
        let wish = Wish {
            user: &self.user,
            password: &self.password,
            capabilities: capability::FOR_QUESTIONS,
            charset: CHARSET,
            database: None,
        };
        let mut backend = Backend::connect(&self.server, wish, self.connect_timeout).await?;
        self.server.set_version(&backend.version);
        backend.incarnation = self
            .bounded(backend_incarnation(&mut backend), Duration::ZERO)
            .await?;
        Ok(backend)
    }

    /// A server that does not answer within the bound (plus what it was asked to wait) is hung.
    pub async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, BackendError>>,
        asked_to_wait: Duration,
    ) -> Result<T, BackendError> {
        let bound = self.server_timeout + asked_to_wait;
        tokio::time::timeout(bound, work)
            .await
            .map_err(|_| BackendError::Timeout)?
    }

    pub fn publish(&self, position: Arc<Position>) {
        if self.down.swap(false, Ordering::Relaxed) || self.server.position().is_none() {
            tracing::info!(server = %self.server.name, incarnation = %position.incarnation, "server up");
        }
        self.server.publish(position);
    }

    pub fn lost(&self, reason: &BackendError) {
        if !self.down.swap(true, Ordering::Relaxed) {
            tracing::warn!(server = %self.server.name, %reason, "server lost");
        }
        self.server.forget();
    }
}

async fn backend_incarnation(backend: &mut Backend) -> Result<Incarnation, BackendError> {
    backend.ask_incarnation().await
}

/// Asks for both sets in one statement, owned first.
pub async fn sample(backend: &mut Backend) -> Result<Arc<Position>, BackendError> {
    ask(backend, &format!("SELECT {SETS}"), 0).await
}

async fn sample_after(
    backend: &mut Backend,
    wanted: &GtidSet,
    wait: Duration,
) -> Result<Arc<Position>, BackendError> {
    let seconds = wait.as_secs_f64();
    let sql = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{wanted}', {seconds:.3}), {SETS}");
    ask(backend, &sql, 1).await
}

async fn ask(
    backend: &mut Backend,
    sql: &str,
    first: usize,
) -> Result<Arc<Position>, BackendError> {
    let asked = Instant::now();
    let answer = backend.query(sql).await?;
    let text = |column| {
        answer
            .text(0, column)
            .ok_or_else(|| BackendError::Lost("no gtid set".into()))
    };
    let bad = |error: crate::gtid::GtidError| BackendError::Lost(error.to_string());
    Ok(Arc::new(Position {
        incarnation: backend.incarnation.clone(),
        asked,
        owned: GtidSet::parse_owned(text(first)?).map_err(bad)?,
        executed: GtidSet::parse(text(first + 1)?).map_err(bad)?,
    }))
}

/// Follows a satellite for ever.
pub async fn follow(follower: Follower, questions: MasterQuestions, master: Arc<Server>) {
    let mut backoff = SHORTEST_BACKOFF;
    loop {
        let mut served = false;
        let reason = match follower.connect().await {
            Ok(backend) => serve(&follower, backend, &questions, &master, &mut served).await,
            Err(error) => error,
        };
        follower.lost(&reason);
        backoff = if served {
            SHORTEST_BACKOFF
        } else {
            (backoff * 2).min(LONGEST_BACKOFF)
        };
        tokio::time::sleep(backoff).await;
    }
}

async fn serve(
    follower: &Follower,
    mut backend: Backend,
    questions: &MasterQuestions,
    master: &Arc<Server>,
    served: &mut bool,
) -> BackendError {
    let mut lag = Lag::default();
    let mut checked = None;
    loop {
        let position = match next_position(follower, &mut backend).await {
            Ok(position) => position,
            Err(error) => return error,
        };
        if due(checked, follower.keepalive) {
            if let Err(error) = inside_master(follower, questions, &position).await {
                return error;
            }
            checked = Some(Instant::now());
        }
        lag.look(master, &position, &follower.server);
        follower.publish(position);
        *served = true;
        if follower.server.oldest_unmet().is_none() {
            let _ =
                tokio::time::timeout(follower.keepalive, follower.server.wanted.notified()).await;
        }
    }
}

fn due(checked: Option<Instant>, every: Duration) -> bool {
    checked.is_none_or(|at: Instant| at.elapsed() >= every)
}

async fn next_position(
    follower: &Follower,
    backend: &mut Backend,
) -> Result<Arc<Position>, BackendError> {
    match follower.server.oldest_unmet() {
        None => follower.bounded(sample(backend), Duration::ZERO).await,
        Some(required) => {
            let asking = sample_after(backend, &required, follower.wait);
            follower.bounded(asking, follower.wait).await
        }
    }
}

/// A satellite that has what the master, asked later, does not know of has diverged: it must not serve.
async fn inside_master(
    follower: &Follower,
    questions: &MasterQuestions,
    position: &Position,
) -> Result<(), BackendError> {
    let Ok(master) = questions.ask(follower.server_timeout).await else {
        return Ok(());
    };
    let mut strange = position.executed.clone();
    strange.subtract(&master.executed);
    strange.subtract(&master.owned);
    if strange.is_empty() {
        return Ok(());
    }
    Err(BackendError::Lost(format!(
        "diverged: the master lacks {strange}"
    )))
}

/// Positions of the master that the satellite has not reached: the oldest one's age is the lag.
#[derive(Default)]
struct Lag {
    unreached: VecDeque<Arc<Position>>,
}

impl Lag {
    const MOST: usize = 1000;

    fn look(&mut self, master: &Server, position: &Position, server: &Server) {
        if let Some(latest) = master.position()
            && self
                .unreached
                .back()
                .is_none_or(|known| !Arc::ptr_eq(known, &latest))
            && self.unreached.len() < Self::MOST
        {
            self.unreached.push_back(latest);
        }
        while self
            .unreached
            .front()
            .is_some_and(|p| position.executed.contains_set(&p.executed))
        {
            self.unreached.pop_front();
        }
        let lag = self
            .unreached
            .front()
            .map_or(Duration::ZERO, |p| p.asked.elapsed());
        server
            .lag_ms
            .store(lag.as_millis() as u64, Ordering::Relaxed);
    }
}
