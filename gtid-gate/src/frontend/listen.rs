//! The sockets that clients connect to.
//!
//! In: addresses, paths, or sockets that another process has bound (`handover`). Out: connections, one after the other.
//! Must never: wait for a client, or leave one that cannot be served without an answer.

use crate::clients::login::Client;
use crate::common::lock;
use crate::net::socket::tune;
use crate::protocol::wire::HEADER;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{SendFlags, SocketFlags};
use std::fs::{self, File, Permissions};
use std::io;
use std::net::{self, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net as unix;
use std::path::Path;
use std::sync::Mutex;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixSocket, UnixStream};

/// The kernel makes of it what it allows at most (net.core.somaxconn).
const DEEPEST_QUEUE: u32 = i32::MAX as u32;
/// Whoever can reach the file may connect; the login decides, as with mysqld's socket.
const FOR_ALL: u32 = 0o777;
/// What MySQL calls a client that comes by a Unix socket.
const LOCALHOST: &str = "localhost";

pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // Connections of a process before, still in TIME_WAIT, do not hold the address.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(Self::Tcp(socket.listen(DEEPEST_QUEUE)?))
    }

    /// A file that a dead process has left is replaced; one that somebody listens on is not.
    pub async fn unix(path: &Path) -> io::Result<Self> {
        remove_stale(path).await?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(FOR_ALL))?;
        Ok(Self::Unix(socket.listen(DEEPEST_QUEUE)?))
    }

    /// A listening socket that came from another process.
    pub fn adopt(socket: OwnedFd) -> io::Result<Self> {
        let address = rustix::net::getsockname(&socket)?;
        if address.address_family() == rustix::net::AddressFamily::UNIX {
            let listener = unix::UnixListener::from(socket);
            listener.set_nonblocking(true)?;
            return Ok(Self::Unix(UnixListener::from_std(listener)?));
        }
        let listener = net::TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(TcpListener::from_std(listener)?))
    }

    pub async fn accept(&self) -> io::Result<Caller> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Caller::Tcp(stream, peer)
            }
            Self::Unix(listener) => Caller::Unix(listener.accept().await?.0),
        })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

impl std::fmt::Display for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => write!(f, "{address}"),
                Err(error) => write!(f, "{error}"),
            },
            Self::Unix(listener) => match listener.local_addr() {
                Ok(address) => write!(
                    f,
                    "{}",
                    address.as_pathname().unwrap_or(Path::new("?")).display()
                ),
                Err(error) => write!(f, "{error}"),
            },
        }
    }
}

async fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "a file that is no socket is there",
            ));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

/// Somebody who has connected.
pub enum Caller {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Caller {
    pub fn into_client(self) -> io::Result<Client> {
        Ok(match self {
            Self::Tcp(stream, peer) => {
                tune(&stream)?;
                Client::new(stream, peer.ip().to_canonical().to_string(), false)
            }
            Self::Unix(stream) => Client::new(stream, LOCALHOST.to_owned(), true),
        })
    }

    /// Says a last packet instead of a greeting, and closes.
    pub fn refuse(self, payload: &[u8]) {
        match self {
            Self::Tcp(stream, _) => refuse(&stream, payload),
            Self::Unix(stream) => refuse(&stream, payload),
        }
    }
}

/// The first bytes on a connection find room in the socket's buffer; so nothing waits here. The client has been told
/// nothing yet that it could answer, so nothing of it lies unread, and closing does not destroy the packet on its way.
fn refuse(stream: impl AsFd, payload: &[u8]) {
    let size = (payload.len() as u32).to_le_bytes();
    let mut packet = Vec::with_capacity(HEADER + payload.len());
    packet.extend_from_slice(&[size[0], size[1], size[2], 0]);
    packet.extend_from_slice(payload);
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if let Err(error) = rustix::net::send(stream, &packet, flags) {
        tracing::debug!(%error, "client gone at once");
    }
}

/// Takes as many descriptors as may be had: a connection is at least one, and some engines begin containers with 1024.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the number of file descriptors stays as it is");
    }
}

/// Descriptors that are kept for the moment when the process has no other: then a client can still be accepted and refused.
/// In that moment any other part of the process may take the free one; so nobody is served until all are there again.
pub struct Reserve(Mutex<Vec<File>>);

impl Reserve {
    const SIZE: usize = 4;

    pub fn new() -> Self {
        let mut kept = Vec::new();
        fill(&mut kept);
        Self(Mutex::new(kept))
    }

    /// False: no descriptor can be had for what is missing.
    pub fn is_whole(&self) -> bool {
        let mut kept = lock(&self.0);
        fill(&mut kept);
        kept.len() == Self::SIZE
    }

    /// Refuses whoever is first in the queue. False: it could not be accepted.
    pub fn refuse_one(&self, listener: &Listener, payload: &[u8]) -> bool {
        let mut kept = lock(&self.0);
        kept.pop();
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let accepted = rustix::net::accept_with(listener, flags);
        let was_there = accepted.is_ok();
        if let Ok(stream) = accepted {
            refuse(&stream, payload);
        }
        fill(&mut kept);
        was_there
    }
}

fn fill(kept: &mut Vec<File>) {
    while kept.len() < Reserve::SIZE {
        let Ok(file) = File::open("/dev/null") else {
            return;
        };
        kept.push(file);
    }
}

impl Default for Reserve {
    fn default() -> Self {
        Self::new()
    }
}

/// What an error of accept() means for those who come next.
pub enum Trouble {
    /// It was this one client's.
    OfOneClient,
    /// No descriptor is free.
    OutOfDescriptors,
    /// The kernel lacks something else.
    OutOfResources,
}

impl Trouble {
    pub fn of(error: &io::Error) -> Self {
        use rustix::io::Errno;
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MFILE | Errno::NFILE) => Self::OutOfDescriptors,
            Some(Errno::NOBUFS | Errno::NOMEM) => Self::OutOfResources,
            _ => Self::OfOneClient,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("gtid-gate-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        path
    }

    #[tokio::test]
    async fn a_socket_file_that_a_killed_gate_left_does_not_stop_the_next_one() {
        let path = place("stale");
        drop(Listener::unix(&path).await.unwrap());
        let again = Listener::unix(&path).await.unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            FOR_ALL
        );
        let in_use = Listener::unix(&path).await.err().unwrap();
        assert_eq!(in_use.kind(), io::ErrorKind::AddrInUse);
        assert!(UnixStream::connect(&path).await.is_ok() && again.accept().await.is_ok());
        fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let path = place("file");
        fs::write(&path, "data").unwrap();
        assert!(Listener::unix(&path).await.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn one_clients_trouble_does_not_hold_the_next_ones_up() {
        use rustix::io::Errno;
        let of = |errno: Errno| Trouble::of(&errno.into());
        assert!(matches!(of(Errno::CONNABORTED), Trouble::OfOneClient));
        assert!(matches!(of(Errno::MFILE), Trouble::OutOfDescriptors));
        assert!(matches!(of(Errno::NOMEM), Trouble::OutOfResources));
    }
}
