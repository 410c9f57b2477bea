//! What unit tests share: peers that follow a script over streams in memory, and connections that are lost where a test says.

use crate::protocol::stream::Stream;
use crate::protocol::wire::{put_lenenc, put_lenenc_bytes};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// Bytes that a stream in memory holds.
pub const PIPE: usize = 1 << 20;

/// A test that waits longer for something hangs.
pub const WAIT: Duration = Duration::from_secs(20);

/// Looks at bytes that are not the same each time.
pub type Check = Box<dyn Fn(&[u8]) + Send + Sync>;

/// One step of a scripted peer.
pub enum Step {
    Sends(Vec<u8>),
    /// Exactly these bytes.
    Expects(Vec<u8>),
    /// So many bytes, which the test looks at itself.
    Checks(usize, Check),
}

impl Step {
    fn len(&self) -> usize {
        match self {
            Self::Sends(bytes) | Self::Expects(bytes) => bytes.len(),
            Self::Checks(length, _) => *length,
        }
    }
}

/// The peer sends one packet.
pub fn sends(seq: u8, payload: &[u8]) -> Step {
    Step::Sends(packet(seq, payload))
}

/// The peer expects one packet.
pub fn expects(seq: u8, payload: &[u8]) -> Step {
    Step::Expects(packet(seq, payload))
}

/// The bytes of a conversation, in both directions.
pub fn total(steps: &[Step]) -> usize {
    steps.iter().map(Step::len).sum()
}

/// Speaks for a peer. An error says that the other side has left before the end of the script; another side that says
/// something else fails the test.
pub async fn play(
    steps: &[Step],
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> io::Result<()> {
    for step in steps {
        if let Step::Sends(bytes) = step {
            stream.write_all(bytes).await?;
            stream.flush().await?;
            continue;
        }
        let mut heard = vec![0; step.len()];
        stream.read_exact(&mut heard).await?;
        match step {
            Step::Expects(bytes) => assert_eq!(heard, *bytes, "{}", heard.escape_ascii()),
            Step::Checks(_, check) => check(&heard),
            Step::Sends(_) => {}
        }
    }
    Ok(())
}

/// What the other side says after the script, until it leaves.
pub async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    rest
}

/// A connection whose peer is lost after so many bytes, counted in both directions: then reads end, and writes fail.
pub struct Lost<S> {
    stream: S,
    left: usize,
}

impl<S> Lost<S> {
    pub fn after(bytes: usize, stream: S) -> Self {
        let left = bytes;
        Self { stream, left }
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for Lost<S> {}

impl<S: AsyncRead + Unpin> AsyncRead for Lost<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(self.left);
        let mut some = ReadBuf::new(buffer.initialize_unfilled_to(most));
        if most == 0 {
            return Poll::Ready(Ok(()));
        }
        let read = Pin::new(&mut self.stream).poll_read(context, &mut some);
        let count = some.filled().len();
        self.left -= count;
        buffer.advance(count);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lost<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let some = &bytes[..bytes.len().min(self.left)];
        if some.is_empty() && !bytes.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, some);
        if let Poll::Ready(Ok(count)) = written {
            self.left -= count;
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// One packet's bytes.
pub fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes[3] = seq;
    bytes.extend_from_slice(payload);
    bytes
}

/// An answer of one row of text, for a client that wants no EOF packet after the columns.
pub fn one_row(cells: &[&str]) -> Vec<u8> {
    let mut count = Vec::new();
    put_lenenc(&mut count, cells.len() as u64);
    let columns = cells.iter().map(|_| column());
    let mut row = Vec::new();
    cells
        .iter()
        .for_each(|cell| put_lenenc_bytes(&mut row, cell.as_bytes()));
    let end = b"\xfe\0\0\x02\0\0\0".to_vec();
    let payloads = [count].into_iter().chain(columns).chain([row, end]);
    payloads
        .zip(1u8..)
        .flat_map(|(payload, seq)| packet(seq, &payload))
        .collect()
}

/// The definition of a VARCHAR column without a name.
fn column() -> Vec<u8> {
    let mut out = b"\x03def\0\0\0\0\0\x0c".to_vec();
    out.extend_from_slice(&[255, 0, 0, 4, 0, 0, 253, 0, 0, 31, 0, 0]);
    out
}

/// A query of the gate's own, as a server hears it.
pub fn query(sql: &str) -> Vec<u8> {
    [b"\x03", sql.as_bytes()].concat()
}
