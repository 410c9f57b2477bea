//! What a session is told from outside while it waits: that it was killed, that the gate stops, that its connections are
//! needed.
//!
//! In: rings, from any task. Out: what was rung, to the one task that serves the session. Must never: lose a ring, however
//! it falls between looking and waiting. One bell costs a session's every wait less than a list to enter for each thing.

use atomic_waker::AtomicWaker;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

/// The session is to end.
pub const KILLED: u8 = 1;
/// Somebody needs a connection that the session could give back.
pub const ASKED_BACK: u8 = 2;
/// The gate stops.
pub const STOPPING: u8 = 4;
/// Some server was found lost: whose answer is waited for may be it.
pub const LOST: u8 = 8;

#[derive(Default)]
pub struct Bell {
    rung: AtomicU8,
    waiting: AtomicWaker,
}

impl Bell {
    pub fn ring(&self, what: u8) {
        self.rung.fetch_or(what, Ordering::AcqRel);
        self.waiting.wake();
    }

    /// Takes note: it rings no more until it is rung again.
    pub fn silence(&self, what: u8) {
        self.rung.fetch_and(!what, Ordering::AcqRel);
    }

    /// What of `wanted` was rung. Only the session's own task may wait here.
    pub fn poll(&self, context: &Context<'_>, wanted: u8) -> Poll<u8> {
        self.waiting.register(context.waker());
        match self.rung.load(Ordering::Acquire) & wanted {
            0 => Poll::Pending,
            rung => Poll::Ready(rung),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::Arc;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn a_ring_is_heard_by_who_waits_and_by_who_comes_later() {
        let bell = Arc::new(Bell::default());
        let (heard, hears) = oneshot::channel();
        let mut heard = Some(heard);
        let listening = bell.clone();
        let waiting = tokio::spawn(async move {
            poll_fn(|context| {
                let rung = listening.poll(context, KILLED | ASKED_BACK);
                if let Some(heard) = heard.take() {
                    let _ = heard.send(());
                }
                rung
            })
            .await
        });
        hears.await.unwrap();
        bell.ring(STOPPING);
        bell.ring(ASKED_BACK);
        assert_eq!(waiting.await.unwrap(), ASKED_BACK);
        let all = KILLED | ASKED_BACK | STOPPING;
        let later = poll_fn(|context| bell.poll(context, all)).await;
        assert_eq!(later, ASKED_BACK | STOPPING);
        bell.silence(ASKED_BACK);
        let rest = poll_fn(|context| bell.poll(context, all)).await;
        assert_eq!(rest, STOPPING);
    }
}
