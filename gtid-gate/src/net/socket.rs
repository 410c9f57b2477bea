//! What the kernel is told about connections.
//!
//! In: a TCP connection, accepted or made. Out: the same, which the kernel ends if its peer is gone.
//! Must never: end a connection whose peer is there and merely slow; that is for the timeouts of MySQL's protocol.

use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;

/// A peer that is gone without a word is found after 60 s + 6 * 10 s. (TCP_USER_TIMEOUT is left alone: it also ends connections whose peer
/// lives and takes nothing for a while, which `net_write_timeout` allows.)
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(10))
    .with_retries(6);

/// Sends small packets at once, and has the kernel ask after an idle peer.
pub fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_keepalive(&KEEPALIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_peer_that_vanished_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
        let stream = stream.unwrap();
        tune(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && stream.nodelay().unwrap());
        let kernel = (
            socket.tcp_keepalive_time().unwrap().as_secs(),
            socket.tcp_keepalive_interval().unwrap().as_secs(),
            socket.tcp_keepalive_retries().unwrap(),
        );
        assert_eq!(kernel, (60, 10, 6));
    }
}
