//! Reads capture's table stream for ever.
//!
//! In: capture's address. Out: what it tells, in `TableWrites`. While it is away, what was told holds on, and reads of what was
//! written since then wait for the whole set of the master, as if there were no stream.
//! Must never: go on behind a frame that was not understood.

use super::table_frames::{Frame, FrameError, MOST, frame};
use super::table_writes::TableWrites;
use crate::ops::config::Address;
use crate::ops::metrics::Metrics;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncRead, AsyncReadExt, BufReader};
use tokio::net::TcpStream;

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const CONNECT: Duration = Duration::from_secs(5);
/// Capture says something each second.
const SILENCE: Duration = Duration::from_secs(4);

#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("it does not begin with its hello")]
    NoHello,
    #[error("silent for {} s", SILENCE.as_secs())]
    Silent,
}

pub async fn follow(capture: Address, writes: Arc<TableWrites>, metrics: Arc<Metrics>) {
    let mut pause = SHORTEST_PAUSE;
    let mut told = false;
    loop {
        let connecting = TcpStream::connect((capture.host.as_str(), capture.port));
        let lost = match tokio::time::timeout(CONNECT, connecting).await {
            Ok(Ok(stream)) => read(stream, &writes, &metrics).await,
            Ok(Err(error)) => StreamError::Io(error),
            Err(_) => StreamError::Io(io::ErrorKind::TimedOut.into()),
        };
        let was_there = writes.is_connected();
        writes.lost();
        metrics.table_stream_up.set(0);
        if was_there || !told {
            tracing::warn!(%capture, reason = %lost, "table stream lost: strong reads wait for all that the master has");
            told = true;
        }
        pause = match was_there {
            true => SHORTEST_PAUSE,
            false => (pause * 2).min(LONGEST_PAUSE),
        };
        tokio::time::sleep(pause).await;
    }
}

/// Until it ends; returns why.
pub(super) async fn read(
    stream: impl AsyncRead + Unpin,
    writes: &TableWrites,
    metrics: &Metrics,
) -> StreamError {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    let mut greeted = false;
    loop {
        let next = tokio::time::timeout(SILENCE, next(&mut stream)).await;
        let frame = match next {
            Ok(Ok(frame)) => frame,
            Ok(Err(error)) => return error,
            Err(_) => return StreamError::Silent,
        };
        match (frame, greeted) {
            (Frame::Hello { master, before }, false) => {
                writes.begin(&master, &before);
                metrics.table_stream_up.set(1);
                tracing::info!(%master, "table stream begins");
                greeted = true;
            }
            (Frame::Hello { .. }, true) | (_, false) => return StreamError::NoHello,
            (Frame::Transaction { written, committed }, true) => {
                let kind = if written.tables.is_some() {
                    "tables"
                } else {
                    "all"
                };
                if writes.wrote(written) {
                    metrics.table_transactions.with_label_values(&[kind]).inc();
                    observe(metrics, committed);
                }
            }
            (Frame::Catalog(sample), true) => writes.catalog(*sample),
            (Frame::Heartbeat | Frame::Unknown, true) => {}
        }
    }
}

async fn next(stream: &mut (impl AsyncRead + Unpin)) -> Result<Frame, StreamError> {
    let size = stream.read_u32().await? as usize;
    if size > MOST {
        return Err(FrameError::TooLong(size).into());
    }
    let mut bytes = Vec::new();
    let came = stream.take(size as u64).read_to_end(&mut bytes).await?;
    if came < size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(frame(&bytes)?)
}

/// What lies in the ring when the gate connects was committed long ago.
fn observe(metrics: &Metrics, committed: i64) {
    const OLD: f64 = 10.0;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let delay = now.as_secs_f64() - committed as f64 / 1e6;
    if committed > 0 && delay < OLD {
        metrics.table_stream_seconds.observe(delay.max(0.0));
    }
}
