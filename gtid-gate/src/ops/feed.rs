//! One snapshot a second for all who watch the status page.
//!
//! In: a way to make snapshots. Out: the newest, to each viewer; who is slow misses some. Whoever comes gets the last one at once.
//! Must never: make one while nobody watches, or one for each viewer.

use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{MissedTickBehavior, interval};

const EVERY: Duration = Duration::from_secs(1);

pub struct Feed {
    /// Empty while nobody watches.
    latest: watch::Sender<Bytes>,
    came: Notify,
}

impl Feed {
    /// `begin` is called when the first viewer comes; what it gives makes the snapshots, and goes with the last viewer.
    pub fn start<M: FnMut() -> String + Send + 'static>(
        begin: impl Fn() -> M + Send + 'static,
    ) -> Arc<Self> {
        let feed = Arc::new(Self {
            latest: watch::Sender::new(Bytes::new()),
            came: Notify::new(),
        });
        tokio::spawn(follow(feed.clone(), begin));
        feed
    }

    /// Server-sent events.
    pub fn watch(&self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + use<> {
        let mut viewer = self.latest.subscribe();
        viewer.mark_changed();
        self.came.notify_one();
        unfold(viewer, |mut viewer| async {
            loop {
                viewer.changed().await.ok()?;
                let event = viewer.borrow_and_update().clone();
                if !event.is_empty() {
                    return Some((Ok(event), viewer));
                }
            }
        })
    }

    fn is_watched(&self) -> bool {
        self.latest.receiver_count() > 0
    }
}

async fn follow<M: FnMut() -> String>(feed: Arc<Feed>, begin: impl Fn() -> M) {
    loop {
        while !feed.is_watched() {
            feed.came.notified().await;
        }
        let mut make = begin();
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if !feed.is_watched() {
                break;
            }
            feed.latest.send_replace(event(&make()));
        }
        feed.latest.send_replace(Bytes::new());
    }
}

/// A browser that loses us comes again after a second.
fn event(json: &str) -> Bytes {
    Bytes::from(format!("retry: 1000\ndata: {json}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::advance;

    fn counted() -> (Arc<Feed>, Arc<AtomicUsize>) {
        let made = Arc::new(AtomicUsize::new(0));
        let counting = made.clone();
        let feed = Feed::start(move || {
            let made = counting.clone();
            move || made.fetch_add(1, Ordering::Relaxed).to_string()
        });
        (feed, made)
    }

    #[tokio::test(start_paused = true)]
    async fn viewers_share_one_snapshot_a_second_and_who_comes_gets_the_last_at_once() {
        let (feed, made) = counted();
        let mut first = pin!(feed.watch());
        let told = first.next().await.unwrap().unwrap();
        assert_eq!(told, "retry: 1000\ndata: 0\n\n");
        let mut second = pin!(feed.watch());
        assert_eq!(second.next().await.unwrap().unwrap(), told);
        let next = first.next().await.unwrap().unwrap();
        assert_eq!(second.next().await.unwrap().unwrap(), next);
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_made_while_nobody_watches() {
        let (feed, made) = counted();
        advance(5 * EVERY).await;
        assert_eq!(made.load(Ordering::Relaxed), 0);
        let mut viewer = Box::pin(feed.watch());
        viewer.next().await.unwrap().unwrap();
        drop(viewer);
        tokio::time::sleep(10 * EVERY).await;
        assert_eq!(made.load(Ordering::Relaxed), 1);
        let mut again = pin!(feed.watch());
        let told = again.next().await.unwrap().unwrap();
        assert!(told.ends_with(b"data: 1\n\n"), "not what was true then");
    }
}
