//! Listening sockets of the host for a gate that lives in a container's own network.
//!
//! A published port has Docker's userland proxy in front of it. Instead a second process of this program (`gtid-gate hold-port`), in
//! the host's network, binds address and socket file, and hands the listening sockets themselves to the gate, which accepts
//! on them: no byte passes through the other process, and clients' own addresses are seen.
//! In, there: settings. In, here: a Unix socket that both processes share. Out: `Listener`s, or why there are none.
//! Must never: keep a socket that was handed over. It ends with the gate, so clients are refused while no gate is there
//! (as by a mysqld that is down), and either process can be restarted at any time.

use crate::frontend::listen::Listener;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FlockOperation;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::fs::{File, Permissions};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::net::UnixListener;

const ADDRESS: &str = "GATE_HOST_ADDRESS";
const SOCKET: &str = "GATE_HOST_SOCKET";
const HANDOVER: &str = "GATE_HANDOVER";
/// The TCP socket and the Unix socket.
const MOST: usize = 2;
/// Longest message: why there is no socket.
const MESSAGE: usize = 512;
const DONE: &[u8] = b"ok";
/// How long a gate that starts waits for the other process to start.
const WITHIN: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(100);

/// What the process in the host's network is told.
#[derive(Debug)]
pub struct Settings {
    pub address: SocketAddr,
    /// Unix socket for clients on the host.
    pub socket: Option<PathBuf>,
    /// Unix socket on which the gate asks.
    pub handover: PathBuf,
}

impl Settings {
    pub fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<String>> {
        let given = |name: &str| get(name).filter(|value| !value.is_empty());
        let mut mistakes = Vec::new();
        let text = given(ADDRESS).unwrap_or_default();
        let address = text.parse().ok();
        if address.is_none() {
            mistakes.push(format!(
                "{ADDRESS}: expected an address and port like 127.0.0.1:6034, got {text:?}"
            ));
        }
        let handover = given(HANDOVER);
        if handover.is_none() {
            mistakes.push(format!("{HANDOVER}: is not set"));
        }
        match (address, handover) {
            (Some(address), Some(handover)) => Ok(Self {
                address,
                socket: given(SOCKET).map(PathBuf::from),
                handover: handover.into(),
            }),
            _ => Err(mistakes),
        }
    }

    async fn bind(&self) -> Result<Vec<Listener>, String> {
        let cannot =
            |what: &dyn std::fmt::Display, error| format!("cannot listen on {what}: {error}");
        let mut bound = vec![Listener::tcp(self.address).map_err(|e| cannot(&self.address, e))?];
        if let Some(path) = &self.socket {
            let socket = Listener::unix(path).await;
            bound.push(socket.map_err(|e| cannot(&path.display(), e))?);
        }
        Ok(bound)
    }
}

/// Waits for the gate to ask, each time that it starts.
pub async fn serve(settings: &Settings) -> Result<(), String> {
    // An address that somebody else has is told at once, not when the gate asks. A gate that is there holds it itself.
    if let Some(_nobody) = lock(&settings.handover) {
        settings.bind().await?;
    }
    let path = &settings.handover;
    let _ = std::fs::remove_file(path);
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let asked = UnixListener::bind(path).map_err(failed)?;
    // The gate is another user; nobody else has the directory.
    std::fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(failed)?;
    tracing::info!(address = %settings.address, "holding the port");
    loop {
        let outcome = match asked.accept().await {
            Ok((gate, _)) => answer(gate, settings).await,
            Err(error) => Err(error.to_string()),
        };
        match outcome {
            Ok(()) => tracing::info!(address = %settings.address, "handed over"),
            Err(error) => tracing::error!(error, "nothing handed over"),
        }
    }
}

async fn answer(gate: tokio::net::UnixStream, settings: &Settings) -> Result<(), String> {
    let bound = settings.bind().await;
    let sent = match &bound {
        Ok(listeners) => send(&gate, DONE, listeners),
        Err(error) => send(&gate, error.as_bytes(), &[]),
    };
    bound.and(sent.map_err(|error| error.to_string()))
}

fn send(to: impl AsFd, message: &[u8], listeners: &[Listener]) -> io::Result<()> {
    let sockets: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !sockets.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&sockets));
    }
    let message = &message[..message.len().min(MESSAGE)];
    rustix::net::sendmsg(
        to,
        &[IoSlice::new(message)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// What the gate has got. While it lives, the process in the host's network knows that the address is in use by the gate.
pub struct Held {
    pub listeners: Vec<Listener>,
    pub lock: Option<File>,
}

/// The gate's side: asks, and waits for the other process if it is not there yet. Blocks.
pub fn ask(handover: &Path) -> Result<Held, String> {
    let end = Instant::now() + WITHIN;
    let stream = loop {
        match UnixStream::connect(handover) {
            Ok(stream) => break stream,
            Err(error) if Instant::now() > end => {
                let path = handover.display();
                return Err(format!(
                    "nobody hands listening sockets over at {path}: {error}"
                ));
            }
            Err(_) => std::thread::sleep(AGAIN),
        }
    };
    let failed = |error: io::Error| format!("{}: {error}", handover.display());
    stream.set_read_timeout(Some(WITHIN)).map_err(failed)?;
    let (message, sockets) = receive(&stream).map_err(failed)?;
    if message != DONE || sockets.is_empty() {
        return Err(String::from_utf8_lossy(&message).into_owned());
    }
    let listeners: io::Result<_> = sockets.into_iter().map(Listener::adopt).collect();
    Ok(Held {
        listeners: listeners.map_err(failed)?,
        lock: lock(handover),
    })
}

fn receive(from: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut message = [0; MESSAGE];
    let parts = &mut [IoSliceMut::new(&mut message)];
    let got = rustix::net::recvmsg(from, parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut sockets = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            sockets.extend(received);
        }
    }
    Ok((message[..got.bytes].to_vec(), sockets))
}

/// The lock beside the Unix socket, which the gate has while it has listening sockets; nothing if another process has it.
fn lock(handover: &Path) -> Option<File> {
    let path = handover.with_extension("lock");
    let file = File::open(&path).or_else(|_| File::create(&path)).ok()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_reported_at_once() {
        let mistakes = Settings::read(&|name| (name == ADDRESS).then(|| "localhost".to_owned()));
        assert_eq!(mistakes.unwrap_err().len(), 2);
    }
}
