//! Asks the master what has been committed, for many reads at once.
//!
//! One question is in flight at a time; it serves every read that arrived before it was sent, and those that arrive
//! later share the next one. In: requests. Out: the master's position, asked after the request arrived.
//! Must never: answer a request with a position that was asked before the request arrived.

use super::spare::Spare;
use crate::backend::{Backend, Monitor, Position, sample};
use crate::common::lock;
use crate::protocol::error::BackendError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

type Request = oneshot::Sender<Result<Arc<Position>, Unanswered>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the master does not answer")]
pub struct Unanswered;

#[derive(Clone)]
pub struct ReadIndex {
    requests: mpsc::UnboundedSender<Request>,
    nudged: Arc<AtomicBool>,
    /// What the master has to spare, judged by how long it takes to answer.
    pub spare: Arc<Mutex<Spare>>,
}

impl ReadIndex {
    /// Starts the task that asks; it ends when nobody can request any more.
    pub fn start(monitor: Monitor) -> Self {
        Self::start_on(None, monitor)
    }

    /// The same, with a connection that is there already.
    pub(super) fn start_on(connection: Option<Box<Backend>>, monitor: Monitor) -> Self {
        let (requests, inbox) = mpsc::unbounded_channel();
        let nudged = Arc::new(AtomicBool::new(false));
        let spare = Arc::new(Mutex::new(Spare::new(Instant::now())));
        tokio::spawn(run(
            connection,
            monitor,
            inbox,
            nudged.clone(),
            spare.clone(),
        ));
        Self {
            requests,
            nudged,
            spare,
        }
    }

    /// Has the master asked though nobody waits for the answer: it will be known.
    pub fn nudge(&self) {
        if !self.nudged.swap(true, Ordering::Relaxed) {
            let (request, _) = oneshot::channel();
            let _ = self.requests.send(request);
        }
    }

    /// What the master has, asked after this call; gives up after `within`.
    pub async fn ask(&self, within: Duration) -> Result<Arc<Position>, Unanswered> {
        let (request, answer) = oneshot::channel();
        self.requests.send(request).map_err(|_| Unanswered)?;
        let answer = tokio::time::timeout(within, answer).await;
        answer.map_err(|_| Unanswered)?.map_err(|_| Unanswered)?
    }
}

async fn run(
    mut connection: Option<Box<Backend>>,
    monitor: Monitor,
    mut inbox: mpsc::UnboundedReceiver<Request>,
    nudged: Arc<AtomicBool>,
    spare: Arc<Mutex<Spare>>,
) {
    let mut waiting: Vec<Request> = Vec::new();
    loop {
        let next = tokio::time::timeout(monitor.keepalive, inbox.recv()).await;
        match next {
            Ok(Some(request)) => waiting.push(request),
            Ok(None) => return,
            Err(_) => {}
        }
        while let Ok(request) = inbox.try_recv() {
            waiting.push(request);
        }
        let answer = ask_again_if_stale(&monitor, &mut connection, &spare).await;
        nudged.store(false, Ordering::Relaxed);
        waiting
            .drain(..)
            .for_each(|request| drop(request.send(answer.clone())));
    }
}

/// A connection that went stale while idle must not cost its requests an error.
async fn ask_again_if_stale(
    monitor: &Monitor,
    connection: &mut Option<Box<Backend>>,
    spare: &Mutex<Spare>,
) -> Result<Arc<Position>, Unanswered> {
    let was_open = connection.is_some();
    match ask(monitor, connection, spare).await {
        Err(BackendError::Lost(_)) if was_open => ask(monitor, connection, spare).await,
        other => other,
    }
    .map_err(|error| {
        monitor.lost(&error);
        Unanswered
    })
}

async fn ask(
    monitor: &Monitor,
    connection: &mut Option<Box<Backend>>,
    spare: &Mutex<Spare>,
) -> Result<Arc<Position>, BackendError> {
    let mut backend = match connection.take() {
        Some(backend) => backend,
        None => monitor.connect().await?,
    };
    monitor.metrics.master_questions.inc();
    let asked = Instant::now();
    let position = monitor
        .bounded(sample(&mut backend), Duration::ZERO)
        .await?;
    let now = Instant::now();
    let share = {
        let mut spare = lock(spare);
        spare.answered(now - asked, now);
        spare.share()
    };
    monitor.metrics.spare_share.set(share);
    let position = Arc::new(position);
    monitor.publish(position.clone());
    *connection = Some(backend);
    Ok(position)
}
