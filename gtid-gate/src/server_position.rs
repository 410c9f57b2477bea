//! Follows where one satellite is.
//!
//! In: requirements of reads that wait, and what reads missed here before they went elsewhere. Out: the satellite's
//! position, published in its `Server`. One question is in flight at a time: "wait for the oldest requirement, then
//! say what you have"; it serves all that wait. Nothing is missed: nothing is asked but a slow keepalive, which also
//! finds a hung server.
//! Must never: leave a position standing whose connection is gone, or whose set is not inside the master's.

use crate::backend::{Backend, Socket, Wish};
use crate::capability;
use crate::config::Config;
use crate::error::BackendError;
use crate::gtid::GtidSet;
use crate::master_questions::MasterQuestions;
use crate::metrics::Metrics;
use crate::servers::{Look, Looks, Position, Server};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SHORTEST_BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_millis(500);
const SHORTEST_QUESTION: Duration = Duration::from_millis(10);
/// A satellite that is behind says at least so often where it is: that it goes on must not be learnt by a client's wait.
const PROBE: Duration = Duration::from_millis(200);
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
            wait: config.policy.wait.clamp(SHORTEST_QUESTION, PROBE),
            down: AtomicBool::new(false),
        }
    }

    /// The address says who the server is; its Unix socket, if it is the same server's, costs less.
    pub async fn connect(&self) -> Result<Box<Backend>, BackendError> {
        let wish = Wish {
            user: &self.user,
            password: &self.password,
            capabilities: capability::FOR_QUESTIONS,
            charset: u16::from(CHARSET),
            database: None,
            attributes: &[],
            tls: None,
            socket: Socket::No,
        };
        let mut backend = Backend::connect(&self.server, wish, self.connect_timeout).await?;
        self.server.greeted(&backend.version, backend.offered);
        let identity = self.bounded(backend.identify(), Duration::ZERO).await?;
        backend.incarnation = identity.0;
        let trying = Backend::over_socket(&self.server, wish);
        let tried = tokio::time::timeout(self.server_timeout, trying).await;
        Ok(match tried {
            Ok(Some((cheaper, _))) if cheaper.incarnation == backend.incarnation => cheaper,
            _ => backend,
        })
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

/// Asks for both sets in one statement, owned first.
pub async fn sample(backend: &mut Backend) -> Result<Position, BackendError> {
    ask(backend, &format!("SELECT {SETS}"), 0).await
}

async fn sample_after(
    backend: &mut Backend,
    wanted: &GtidSet,
    wait: Duration,
) -> Result<Position, BackendError> {
    let seconds = wait.as_secs_f64();
    let sql = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{wanted}', {seconds:.3}), {SETS}");
    ask(backend, &sql, 1).await
}

async fn ask(backend: &mut Backend, sql: &str, first: usize) -> Result<Position, BackendError> {
    let asked = Instant::now();
    let answer = backend.query(sql).await?;
    let text = |column| {
        answer
            .text(0, column)
            .ok_or_else(|| BackendError::Lost("no gtid set".into()))
    };
    let bad = |error: crate::gtid::GtidError| BackendError::Lost(error.to_string());
    Ok(Position {
        incarnation: backend.incarnation.clone(),
        asked,
        owned: GtidSet::parse_owned(text(first)?).map_err(bad)?,
        executed: GtidSet::parse(text(first + 1)?).map_err(bad)?,
        as_of: None,
        backlog: None,
    })
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
    mut backend: Box<Backend>,
    questions: &MasterQuestions,
    master: &Arc<Server>,
    served: &mut bool,
) -> BackendError {
    let (mut lag, mut looks) = (Lag::default(), Looks::default());
    let mut checked = None;
    loop {
        let mut position = match next_position(follower, &mut backend).await {
            Ok(position) => position,
            Err(error) => return error,
        };
        let answered = Instant::now();
        if due(checked, follower.keepalive) {
            if let Err(error) = inside_master(follower, questions, &position).await {
                return error;
            }
            checked = Some(Instant::now());
        }
        lag.look(master, &position);
        follower.server.set_lag(lag.age());
        position.as_of = lag.reached;
        position.backlog = looks.look(Look {
            at: answered,
            executed: position.executed.count(),
            lag: lag.at(position.asked),
        });
        follower.publish(Arc::new(position));
        *served = true;
        if follower.server.oldest_unmet().is_none() {
            let pause = match lag.unreached.is_empty() {
                true => follower.keepalive,
                false => follower.keepalive.min(PROBE),
            };
            let _ = tokio::time::timeout(pause, follower.server.wanted.notified()).await;
        }
    }
}

fn due(checked: Option<Instant>, every: Duration) -> bool {
    checked.is_none_or(|at: Instant| at.elapsed() >= every)
}

async fn next_position(
    follower: &Follower,
    backend: &mut Backend,
) -> Result<Position, BackendError> {
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

/// Samples of the master that the satellite has not reached: the oldest one's age is the lag.
#[derive(Default)]
struct Lag {
    unreached: VecDeque<Arc<Position>>,
    /// When the newest sample that it has reached was asked for.
    reached: Option<Instant>,
}

impl Lag {
    /// Samples that are kept at most: the more the satellite lags, the further apart they are.
    const MOST: u32 = 500;

    fn look(&mut self, master: &Server, position: &Position) {
        if let Some(latest) = master.position()
            && self.is_worth_keeping(&latest)
        {
            self.unreached.push_back(latest);
        }
        while let Some(sample) = self.unreached.front()
            && position.executed.contains_set(&sample.executed)
        {
            self.reached = Some(sample.asked);
            self.unreached.pop_front();
        }
    }

    fn is_worth_keeping(&self, latest: &Position) -> bool {
        match self.unreached.back() {
            None => self.reached.is_none_or(|at| at < latest.asked),
            Some(known) => latest.asked > known.asked + self.age() / Self::MOST,
        }
    }

    fn age(&self) -> Duration {
        self.at(Instant::now())
    }

    fn at(&self, time: Instant) -> Duration {
        let oldest = self.unreached.front();
        oldest.map_or(Duration::ZERO, |p| time.saturating_duration_since(p.asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Address;
    use crate::servers::{Limits, Role};

    fn position(last: u64, asked: Instant) -> Position {
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        Position {
            incarnation: "boot".into(),
            asked,
            owned: GtidSet::new(),
            executed: GtidSet::parse(&format!("{uuid}:1-{last}")).unwrap(),
            as_of: None,
            backlog: None,
        }
    }

    #[test]
    fn a_satellite_is_as_new_as_the_newest_sample_that_it_contains() {
        let address = Address {
            host: "master".into(),
            port: 3306,
        };
        let limits = Limits {
            running: 1,
            connections: 1,
        };
        let master = Server::new(
            0,
            "master".into(),
            Role::Master,
            address,
            limits,
            Arc::default(),
        );
        let (mut lag, start) = (Lag::default(), Instant::now());
        let times: Vec<Instant> = (0..4).map(|s| start + Duration::from_secs(s)).collect();
        let look = |lag: &mut Lag, known: u64, has: u64, at: usize| {
            master.publish(Arc::new(position(known, times[at])));
            lag.look(&master, &position(has, times[at]));
        };
        look(&mut lag, 5, 3, 0);
        assert_eq!(lag.reached, None);
        look(&mut lag, 7, 5, 1);
        assert_eq!(lag.reached, Some(times[0]));
        look(&mut lag, 9, 6, 2);
        assert_eq!(lag.reached, Some(times[0]), "7 is not there yet");
        look(&mut lag, 9, 9, 3);
        assert_eq!(lag.reached, Some(times[3]));
        assert!(lag.unreached.is_empty());
    }
}
