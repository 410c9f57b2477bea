//! What unit tests share: peers that follow a script over streams in memory, and connections that are lost where a test says.

pub mod client;

use crate::clients::shared::Shared;
use crate::ops::config::Config;
use crate::ops::fleet_state::FleetState;
use crate::protocol::capability as cap;
use crate::protocol::handshake::NONCE;
use crate::protocol::stream::Stream;
use crate::protocol::wire::{HEADER, payload_size, put_lenenc, put_lenenc_bytes};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;

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

/// The payload of a packet that is not continued.
pub async fn read_packet(from: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header).await.unwrap();
    let mut payload = vec![0; payload_size(&header)];
    from.read_exact(&mut payload).await.unwrap();
    payload
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
pub fn column() -> Vec<u8> {
    let mut out = b"\x03def\0\0\0\0\0\x0c".to_vec();
    out.extend_from_slice(&[255, 0, 0, 4, 0, 0, 253, 0, 0, 31, 0, 0]);
    out
}

/// A query of the gate's own, as a server hears it.
pub fn query(sql: &str) -> Vec<u8> {
    [b"\x03", sql.as_bytes()].concat()
}

/// `caching_sha2_password` and `mysql_native_password` of "secret" with the nonce 1, 2, …, 20.
pub const SHA2_PROOF: [u8; 32] = [
    0x74, 0x6e, 0xbe, 0x20, 0x5d, 0x56, 0xa0, 0x70, 0x7a, 0xcb, 0x3e, 0x79, 0x6e, 0x83, 0x4e, 0x0d,
    0xd7, 0xb1, 0xd6, 0x17, 0x43, 0xb2, 0x6b, 0xd5, 0x20, 0x2c, 0x7a, 0x62, 0x32, 0x30, 0xc7, 0xc9,
];
pub const NATIVE_PROOF: [u8; 20] = [
    0xb3, 0x2b, 0xb3, 0xa5, 0x83, 0xe1, 0x34, 0x0c, 0x0a, 0x11, 0x08, 0xd5, 0x8b, 0x1b, 0xe4, 0x97,
    0x81, 0xad, 0x8c, 0x2f,
];
pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// What the gate asks of a server for a client that wants no more than the gate itself does.
pub const FLAGS: u32 = 0x0128_a205;

pub fn nonce() -> [u8; NONCE] {
    std::array::from_fn(|i| i as u8 + 1)
}

/// Protocol 10, version, thread 7, the nonce in two halves, flags, utf8mb4, autocommit, plugin.
pub fn greeting_with(flags: u32, plugin: &str) -> Vec<u8> {
    let (nonce, flags) = (nonce(), flags.to_le_bytes());
    let mut out = b"\x0a8.4.0\0\x07\0\0\0".to_vec();
    out.extend_from_slice(&nonce[..8]);
    out.extend_from_slice(&[0, flags[0], flags[1], 255, 2, 0, flags[2], flags[3], 21]);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&nonce[8..]);
    out.push(0);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out
}

pub fn greeting(plugin: &str) -> Vec<u8> {
    greeting_with(cap::OFFERED, plugin)
}

/// Flags, 1 GiB at most, character set, 23 zeros, user, proof, and what follows.
pub fn login(flags: u32, proof: &[u8], behind: &[u8]) -> Vec<u8> {
    let mut out = flags.to_le_bytes().to_vec();
    out.extend_from_slice(&[0, 0, 0, 0x40, 255]);
    out.extend_from_slice(&[0; 23]);
    out.extend_from_slice(b"app\0");
    out.push(proof.len() as u8);
    out.extend_from_slice(proof);
    out.extend_from_slice(behind);
    out
}

/// What all sessions share. Nothing listens where the servers should be, unless the settings say otherwise.
pub fn shared(settings: &[(&str, &str)]) -> Arc<Shared> {
    let nowhere = [
        ("GATE_PASSWORD", "x"),
        ("GATE_MASTER", "127.0.0.1:1"),
        ("GATE_SATELLITES", "127.0.0.1:2"),
        ("GATE_CONSISTENCY", "eventual"),
    ];
    let get = |name: &str| {
        let found = settings.iter().chain(&nowhere).find(|(n, _)| *n == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let config = Config::read(&get).unwrap_or_else(|e| panic!("{e:?}"));
    let (_, draining) = watch::channel(false);
    let state = FleetState::declared(&config.satellites);
    let shared = crate::ops::start::assemble(config, &state, draining).unwrap();
    let satellites = shared.gate.servers.satellites();
    satellites.iter().for_each(|s| s.stop_following());
    Arc::new(shared)
}
