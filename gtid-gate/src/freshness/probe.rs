//! Follows where one satellite is.
//!
//! In: requirements of reads that wait, and what reads missed here before they went elsewhere. Out: the satellite's
//! position, published in its `Server`. One question is in flight at a time: "wait for the oldest requirement, then
//! say what you have"; it serves all that wait. Nothing is missed: nothing is asked but a slow keepalive, which also
//! finds a hung server, and what those ask who want to know how far it is behind.
//! Must never: leave a position standing whose connection is gone, or whose set is not inside the master's.

use super::read_index::ReadIndex;
use crate::backend::{
    Backend, LONGEST_QUESTION, Look, Looks, Monitor, Position, Server, sample, sample_after,
};
use crate::protocol::error::BackendError;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SHORTEST_BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_millis(500);

/// Follows a satellite for ever.
pub async fn follow(monitor: Monitor, read_index: ReadIndex, master: Arc<Server>) {
    let mut backoff = SHORTEST_BACKOFF;
    loop {
        let connected = monitor.connect().await;
        let served = serve_until_lost(&monitor, connected, &read_index, &master).await;
        backoff = if served {
            SHORTEST_BACKOFF
        } else {
            (backoff * 2).min(LONGEST_BACKOFF)
        };
        tokio::time::sleep(backoff).await;
    }
}

/// Whether the satellite said where it is before it was lost.
pub(super) async fn serve_until_lost(
    monitor: &Monitor,
    connected: Result<Box<Backend>, BackendError>,
    read_index: &ReadIndex,
    master: &Arc<Server>,
) -> bool {
    let mut served = false;
    let reason = match connected {
        Ok(backend) => serve(monitor, backend, read_index, master, &mut served).await,
        Err(error) => error,
    };
    monitor.lost(&reason);
    served
}

async fn serve(
    monitor: &Monitor,
    mut backend: Box<Backend>,
    read_index: &ReadIndex,
    master: &Arc<Server>,
    served: &mut bool,
) -> BackendError {
    let (mut lag, mut looks) = (Lag::default(), Looks::default());
    let mut checked = None;
    loop {
        let (mut position, waited) = match next_position(monitor, &mut backend).await {
            Ok(answer) => answer,
            Err(error) => return error,
        };
        let answered = Instant::now();
        let asked = position.asked;
        if due(checked, monitor.keepalive) {
            if let Err(error) = inside_master(monitor, read_index, &position).await {
                return error;
            }
            checked = Some(Instant::now());
        }
        lag.look(master, &position);
        monitor.server.set_lag(lag.age());
        let question = if waited {
            answered - asked
        } else {
            Duration::ZERO
        };
        monitor.server.found.lags(lag.at(asked).max(question));
        position.as_of = lag.reached;
        position.backlog = looks.look(Look {
            at: answered,
            executed: position.executed.count(),
            lag: lag.at(asked),
        });
        monitor.publish(Arc::new(position));
        *served = true;
        if monitor.server.oldest_unmet().is_none() {
            let pause = match lag.unreached.is_empty() {
                true => monitor.keepalive,
                false => monitor.keepalive.min(LONGEST_QUESTION),
            };
            let _ = tokio::time::timeout(pause, monitor.server.wanted.notified()).await;
        }
    }
}

fn due(checked: Option<Instant>, every: Duration) -> bool {
    checked.is_none_or(|at: Instant| at.elapsed() >= every)
}

/// And whether the satellite was asked to wait: so long it has lacked something.
async fn next_position(
    monitor: &Monitor,
    backend: &mut Backend,
) -> Result<(Position, bool), BackendError> {
    match monitor.server.oldest_unmet() {
        None => {
            let position = monitor.bounded(sample(backend), Duration::ZERO).await?;
            Ok((position, false))
        }
        Some(required) => {
            let asking = sample_after(backend, &required, monitor.wait);
            let position = monitor.bounded(asking, monitor.wait).await?;
            Ok((position, true))
        }
    }
}

/// A satellite that has what the master, asked later, does not know of has diverged: it must not serve.
async fn inside_master(
    monitor: &Monitor,
    read_index: &ReadIndex,
    position: &Position,
) -> Result<(), BackendError> {
    let Ok(master) = read_index.ask(monitor.server_timeout).await else {
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
    use crate::backend::{DigestTimes, Role};
    use crate::gtid::GtidSet;
    use crate::ops::config::{Address, Limits, RunningLimit};

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
            running: RunningLimit::Fixed(1),
            connections: 1,
        };
        let (name, role, loss) = ("master".into(), Role::Master, Arc::default());
        let times = Arc::new(DigestTimes::new(Duration::ZERO));
        let master = Server::new(0, name, role, address, limits, loss, times);
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
