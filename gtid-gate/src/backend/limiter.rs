//! How many statements run on one server at once: the others queue, first come first served.
//!
//! In: statements that want to run. Out: places, each kept until its statement is done.
//! Must never: let somebody overtake, or lose a place when who waits for it goes away.

use crate::common::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub struct Limiter {
    /// Serves in the order of arrival.
    free: Arc<Semaphore>,
    size: Mutex<Size>,
    queued: AtomicUsize,
}

struct Size {
    limit: usize,
    /// Limiter that are to vanish as soon as they are left.
    surplus: usize,
}

/// A place in use.
pub struct Permit {
    places: Arc<Limiter>,
    permit: Option<OwnedSemaphorePermit>,
}

/// Counts among those that wait, until it is dropped.
struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Limiter {
    pub fn new(limit: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(limit)),
            size: Mutex::new(Size { limit, surplus: 0 }),
            queued: AtomicUsize::new(0),
        }
    }

    pub fn limit(&self) -> usize {
        lock(&self.size).limit
    }

    /// How many statements wait for a place.
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// All places are taken.
    pub fn is_full(&self) -> bool {
        self.free() == 0
    }

    /// A place at once, if one is free and nobody waits.
    pub fn try_take(self: &Arc<Self>) -> Option<Permit> {
        let permit = self.free.clone().try_acquire_owned().ok()?;
        Some(self.place(permit))
    }

    /// A place when it is this caller's turn.
    pub async fn take(self: &Arc<Self>) -> Option<Permit> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let _queued = Queued(&self.queued);
        let permit = self.free.clone().acquire_owned().await.ok()?;
        Some(self.place(permit))
    }

    fn place(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Permit {
        Permit {
            places: self.clone(),
            permit: Some(permit),
        }
    }

    pub fn set_limit(&self, limit: usize) {
        let mut size = lock(&self.size);
        if limit > size.limit {
            let more = limit - size.limit;
            let kept = more.min(size.surplus);
            size.surplus -= kept;
            self.free.add_permits(more - kept);
        } else {
            let fewer = size.limit - limit;
            size.surplus += fewer - self.free.forget_permits(fewer);
        }
        size.limit = limit;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut size = lock(&self.places.size);
        if size.surplus > 0
            && let Some(permit) = self.permit.take()
        {
            size.surplus -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn places_are_given_in_the_order_of_arrival() {
        let places = Arc::new(Limiter::new(1));
        let first = places.try_take().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for number in 0..5 {
            let (places_too, order) = (places.clone(), order.clone());
            waiting.push(tokio::spawn(async move {
                let place = places_too.take().await;
                lock(&order).push(number);
                drop(place);
            }));
            while places.queued() <= number {
                tokio::task::yield_now().await;
            }
        }
        drop(first);
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(*lock(&order), [0, 1, 2, 3, 4]);
        assert_eq!(places.queued(), 0);
    }

    #[tokio::test]
    async fn who_gives_up_leaves_the_queue_and_loses_no_place() {
        let places = Arc::new(Limiter::new(1));
        let held = places.try_take();
        let gave_up = tokio::time::timeout(Duration::from_millis(1), places.take()).await;
        assert!(gave_up.is_err() && places.queued() == 0);
        drop(held);
        assert!(places.try_take().is_some());
    }

    #[test]
    fn a_lower_limit_holds_once_places_are_left() {
        let places = Arc::new(Limiter::new(3));
        let held: Vec<_> = (0..3).map(|_| places.try_take().unwrap()).collect();
        places.set_limit(1);
        assert!(places.try_take().is_none());
        drop(held);
        let one = places.try_take();
        assert!(one.is_some() && places.try_take().is_none());
        places.set_limit(2);
        assert!(places.try_take().is_some());
        drop(one);
        assert_eq!(places.limit(), 2);
    }

    #[test]
    fn a_limit_that_was_lowered_and_raised_again_is_what_it_was() {
        let places = Arc::new(Limiter::new(2));
        let held: Vec<_> = (0..2).map(|_| places.try_take().unwrap()).collect();
        places.set_limit(0);
        places.set_limit(2);
        drop(held);
        let again: Vec<_> = (0..3).filter_map(|_| places.try_take()).collect();
        assert_eq!(again.len(), 2);
    }
}
