//! Reads capture's table stream for ever.
//!
//! In: capture's address. Out: what it tells, in `TableWrites`. While it is away, what was told holds on, and reads of what was
//! written since then wait for the whole set of the master, as if there were no stream.
//! Must never: go on behind a frame that was not understood.

use super::table_frames::{Frame, FrameError, MOST, frame};
use super::table_writes::{TableWrites, Written};
use crate::ops::config::Address;
use crate::ops::metrics::Metrics;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
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
    #[error("what it told is forgotten")]
    Forgotten,
    #[error("silent for {} s", SILENCE.as_secs())]
    Silent,
}

pub async fn follow(capture: Address, writes: Arc<TableWrites>, metrics: Arc<Metrics>) {
    let mut pause = SHORTEST_PAUSE;
    let mut told = false;
    loop {
        let connecting = TcpStream::connect((capture.host.as_str(), capture.port));
        let lost = match tokio::time::timeout(CONNECT, connecting).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                read(stream, &writes, &metrics).await
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        };
        let Err(lost) = lost;
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
async fn read(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    writes: &TableWrites,
    metrics: &Metrics,
) -> Result<Infallible, StreamError> {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    acknowledge(&mut stream, 0, writes).await?;
    let Frame::Hello {
        master,
        before,
        marks,
    } = next_in_time(&mut stream).await?
    else {
        return Err(StreamError::NoHello);
    };
    writes.begin(&master, &before, marks);
    metrics.table_stream_up.set(1);
    tracing::info!(%master, "table stream begins");
    loop {
        let next = next_in_time(&mut stream).await?;
        if !writes.is_connected() {
            return Err(StreamError::Forgotten);
        }
        match next {
            Frame::Hello { .. } => return Err(StreamError::NoHello),
            Frame::Transaction { written, committed } => wrote(written, committed, writes, metrics),
            Frame::Catalog(sample) => writes.catalog(*sample),
            Frame::Mark { number, time } => {
                writes.marked(time);
                acknowledge(&mut stream, number, writes).await?;
            }
            Frame::Heartbeat | Frame::Unknown => {}
        }
    }
}

fn wrote(written: Written, committed: i64, writes: &TableWrites, metrics: &Metrics) {
    let kind = match written.tables {
        Some(_) => "tables",
        None => "all",
    };
    if writes.wrote(written) {
        metrics.table_transactions.with_label_values(&[kind]).inc();
        observe(metrics, committed);
    }
}

async fn next_in_time(stream: &mut (impl AsyncRead + Unpin)) -> Result<Frame, StreamError> {
    let next = tokio::time::timeout(SILENCE, next(stream)).await;
    next.unwrap_or(Err(StreamError::Silent))
}

/// All before `number` is known, as of now; a capture of an earlier release does not read that.
async fn acknowledge(
    stream: &mut (impl AsyncWrite + Unpin),
    number: u64,
    writes: &TableWrites,
) -> io::Result<()> {
    let message = [number, writes.clock()].map(u64::to_be_bytes).concat();
    stream.write_all(&message).await?;
    stream.flush().await
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
