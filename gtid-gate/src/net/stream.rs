//! A client's stream whose reads and writes end when the client keeps the session waiting for too long.
//!
//! In: a stream, and the session's timeouts. Out: the same stream; what takes too long fails with `TimedOut`.
//! Only a read or write that is pending has a deadline, and a timer is set once for many of them: a statement pays for looking at
//! the clock. Must never: be polled by another task than the session's own, whom the timer wakes.

use crate::net::timeouts::Timeouts;
use crate::protocol::stream::Stream;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant, Sleep, sleep_until};

/// Wakes a task at a time that mostly moves on before it comes. It is left as it is until it rings, then set to what counts by then.
#[derive(Default)]
pub struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Ready once `due` has come. Until then the task is woken at that time at the latest.
    pub fn poll(&mut self, due: Instant, context: &mut Context<'_>) -> Poll<()> {
        let is_set = |s: &Pin<Box<Sleep>>| s.deadline() <= due && !s.is_elapsed();
        if self.sleep.as_ref().is_some_and(is_set) {
            return Poll::Pending;
        }
        if Instant::now() >= due {
            return Poll::Ready(());
        }
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
        sleep.as_mut().reset(due);
        sleep.as_mut().poll(context)
    }
}

/// One direction: since when it has been waiting.
#[derive(Default)]
struct Wait {
    since: Option<Instant>,
    alarm: Alarm,
}

impl Wait {
    /// What the stream said, or that it took too long.
    fn limit<T>(
        &mut self,
        said: Poll<io::Result<T>>,
        most: Option<Duration>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if said.is_ready() {
            self.since = None;
            return said;
        }
        let Some(most) = most else {
            return Poll::Pending;
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        let late = self.alarm.poll(since + most, context);
        late.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

pub struct Timed<S> {
    stream: S,
    timeouts: Arc<Timeouts>,
    reading: Wait,
    writing: Wait,
}

impl<S> Timed<S> {
    pub fn new(stream: S, timeouts: Arc<Timeouts>) -> Self {
        Self {
            stream,
            timeouts,
            reading: Wait::default(),
            writing: Wait::default(),
        }
    }
}

impl<S: Stream> Stream for Timed<S> {
    fn has_ended(&mut self) -> bool {
        self.stream.has_ended()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let said = Pin::new(&mut self.stream).poll_read(context, buffer);
        let most = self.timeouts.of_reads();
        self.reading.limit(said, most, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let said = Pin::new(&mut self.stream).poll_write(context, bytes);
        let most = self.timeouts.of_writes();
        self.writing.limit(said, most, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let said = Pin::new(&mut self.stream).poll_flush(context);
        let most = self.timeouts.of_writes();
        self.writing.limit(said, most, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::timeouts::{Defaults, Phase};
    use crate::protocol::codec::Conn;
    use crate::protocol::wire::MAX_PAYLOAD;
    use tokio::io::{AsyncWriteExt, DuplexStream};
    use tokio::time::sleep;

    /// A session's side of a connection on which a client may leave that many bytes unread, in a session of these timeouts.
    fn client(room: usize, phase: Phase) -> (Conn, Arc<Timeouts>, DuplexStream) {
        let timeouts = Arc::new(Timeouts::default());
        timeouts.begin(&Defaults::default(), false);
        timeouts.enter(phase);
        let (near, far) = tokio::io::duplex(room);
        (Conn::new(Timed::new(near, timeouts.clone())), timeouts, far)
    }

    fn timed_out<T: std::fmt::Debug>(outcome: io::Result<T>) {
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_client_is_waited_for_as_long_as_wait_timeout_says() {
        let (mut conn, timeouts, _client) = client(64, Phase::Idle);
        timeouts.set("wait_timeout", "7");
        let began = Instant::now();
        timed_out(conn.fill().await);
        assert_eq!(began.elapsed().as_secs(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_within_a_command_is_given_net_read_timeout() {
        let (mut conn, _timeouts, mut client) = client(1 << 20, Phase::Command);
        let began = Instant::now();
        client.write_all(&[0xff, 0xff, 0xff, 0]).await.unwrap();
        let sending = async move {
            for _ in 0..5 {
                sleep(Duration::from_secs(29)).await;
                client.write_all(b"SELECT").await.unwrap();
            }
            std::future::pending::<()>().await;
        };
        let sending = tokio::spawn(sending);
        let whole = conn.chunk(MAX_PAYLOAD).await;
        assert!(
            matches!(whole, Err(crate::protocol::error::PacketError::Io(e)) if e.kind() == io::ErrorKind::TimedOut)
        );
        assert_eq!(began.elapsed().as_secs(), 5 * 29 + 30);
        sending.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_given_net_write_timeout() {
        let (mut conn, _timeouts, _client) = client(1024, Phase::Command);
        let began = Instant::now();
        timed_out(conn.send_raw(&[0; 4096]).await);
        assert_eq!(began.elapsed().as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_that_goes_on_reading_gets_all() {
        let (mut conn, _timeouts, mut client) = client(1024, Phase::Command);
        let reading = tokio::spawn(async move {
            let mut all = 0;
            while all < 8192 {
                sleep(Duration::from_secs(50)).await;
                all += tokio::io::AsyncReadExt::read(&mut client, &mut [0; 1024])
                    .await
                    .unwrap();
            }
        });
        let began = Instant::now();
        conn.send_raw(&[0; 8192]).await.unwrap();
        assert!(began.elapsed().as_secs() > 300);
        reading.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_server_counts_for_no_timeout_of_the_client() {
        let (mut conn, timeouts, mut client) = client(64, Phase::Idle);
        client.write_all(b"a").await.unwrap();
        conn.fill().await.unwrap();
        timeouts.enter(Phase::Command);
        sleep(Duration::from_secs(1_000_000)).await;
        timeouts.enter(Phase::Idle);
        let began = Instant::now();
        timed_out(conn.fill().await);
        assert_eq!(began.elapsed().as_secs(), 28_800);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_an_idle_client_begins_after_its_last_statement() {
        let (mut conn, timeouts, mut client) = client(64, Phase::Idle);
        timeouts.set("wait_timeout", "4");
        let command = tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            client.write_all(b"a").await.unwrap();
            client
        });
        conn.fill().await.unwrap();
        let _client = command.await.unwrap();
        timeouts.enter(Phase::Command);
        sleep(Duration::from_secs(2)).await;
        timeouts.enter(Phase::Idle);
        let began = Instant::now();
        timed_out(conn.fill().await);
        assert_eq!(began.elapsed().as_secs(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn an_alarm_that_is_set_too_late_is_set_anew_and_an_early_one_is_left() {
        let mut alarm = Alarm::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for (due, rings) in [(100, 100), (130, 130), (131, 131), (200, 200)] {
            std::future::poll_fn(|context| alarm.poll(at(due), context)).await;
            assert_eq!(start.elapsed().as_secs(), rings);
        }
        // set for 1000, then something has to be done by 300
        let far = std::future::poll_fn(|context| alarm.poll(at(1000), context));
        assert!(
            tokio::time::timeout(Duration::from_secs(1), far)
                .await
                .is_err()
        );
        std::future::poll_fn(|context| alarm.poll(at(300), context)).await;
        assert_eq!(start.elapsed().as_secs(), 300);
    }
}
