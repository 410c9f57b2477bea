//! What somebody else is asked for once a second, while it is wanted.
//!
//! In: a task that asks and tells. Out: its newest answer, as long as it is fresh. Must never: hold up who wants to know, or go on after it.

use crate::common::lock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

pub const EVERY: Duration = Duration::from_secs(1);
const FRESH: Duration = Duration::from_secs(3);

type Last<T> = Arc<Mutex<Option<(Instant, Arc<T>)>>>;

/// Ends with it.
pub struct Polled<T> {
    last: Last<T>,
    task: AbortHandle,
    began: Instant,
}

/// What the task tells.
pub struct Teller<T>(Last<T>);

impl<T> Teller<T> {
    pub fn tell(&self, answer: T) {
        *lock(&self.0) = Some((Instant::now(), Arc::new(answer)));
    }
}

impl<T: Send + Sync + 'static> Polled<T> {
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        asking: impl FnOnce(Teller<T>) -> F,
    ) -> Self {
        let last = Last::default();
        let task = tokio::spawn(asking(Teller(last.clone()))).abort_handle();
        Self {
            last,
            task,
            began: Instant::now(),
        }
    }

    /// It has had the time to answer, and has not.
    pub fn is_silent(&self) -> bool {
        self.fresh().is_none() && self.began.elapsed() >= FRESH
    }

    pub fn fresh(&self) -> Option<Arc<T>> {
        let last = lock(&self.last);
        let (_, answer) = last.as_ref().filter(|(told, _)| told.elapsed() < FRESH)?;
        Some(answer.clone())
    }
}

impl<T> Drop for Polled<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
