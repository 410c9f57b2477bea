//! What a session is told from outside while it waits: that it was killed, that the gate stops, that its connections are
//! needed.
//!
//! In: signals, from any task. Out: those that are set, to the one task that serves the session. Must never: lose a signal,
//! however it falls between looking and waiting. One set of flags costs each wait of a session less than a channel for each signal.

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
pub struct Signals {
    raised: AtomicU8,
    waiting: AtomicWaker,
}

impl Signals {
    pub fn raise(&self, what: u8) {
        self.raised.fetch_or(what, Ordering::AcqRel);
        self.waiting.wake();
    }

    /// Until they are raised again.
    pub fn clear(&self, what: u8) {
        self.raised.fetch_and(!what, Ordering::AcqRel);
    }

    /// Which of `wanted` are raised. Only the session's own task may wait here.
    pub fn poll(&self, context: &Context<'_>, wanted: u8) -> Poll<u8> {
        self.waiting.register(context.waker());
        match self.raised.load(Ordering::Acquire) & wanted {
            0 => Poll::Pending,
            raised => Poll::Ready(raised),
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
    async fn a_signal_reaches_who_waits_and_who_comes_later() {
        let signals = Arc::new(Signals::default());
        let (heard, hears) = oneshot::channel();
        let mut heard = Some(heard);
        let listening = signals.clone();
        let waiting = tokio::spawn(async move {
            poll_fn(|context| {
                let raised = listening.poll(context, KILLED | ASKED_BACK);
                if let Some(heard) = heard.take() {
                    let _ = heard.send(());
                }
                raised
            })
            .await
        });
        hears.await.unwrap();
        signals.raise(STOPPING);
        signals.raise(ASKED_BACK);
        assert_eq!(waiting.await.unwrap(), ASKED_BACK);
        let all = KILLED | ASKED_BACK | STOPPING;
        let later = poll_fn(|context| signals.poll(context, all)).await;
        assert_eq!(later, ASKED_BACK | STOPPING);
        signals.clear(ASKED_BACK);
        let rest = poll_fn(|context| signals.poll(context, all)).await;
        assert_eq!(rest, STOPPING);
    }
}
