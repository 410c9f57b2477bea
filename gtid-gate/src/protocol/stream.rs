//! What carries packets: sockets, TLS over them, and a stream of which some bytes were read already.

use bytes::{Buf, BytesMut};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{client, server};

pub trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {
    /// Whether it has something to be read, while nothing is expected: its end, or an announcement of it.
    fn has_ended(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        Pin::new(self)
            .poll_read(&mut context, &mut buffer)
            .is_ready()
    }
}

/// Without a waker's being changed there and back again: asked before every statement.
impl Stream for TcpStream {
    fn has_ended(&mut self) -> bool {
        is_readable(self.try_read(&mut [0]))
    }
}

impl Stream for UnixStream {
    fn has_ended(&mut self) -> bool {
        is_readable(self.try_read(&mut [0]))
    }
}

impl Stream for server::TlsStream<Rewound> {}
impl Stream for client::TlsStream<Rewound> {}
impl Stream for tokio::io::Empty {}
impl Stream for tokio::io::DuplexStream {}

fn is_readable(read: io::Result<usize>) -> bool {
    read.map_or_else(|e| e.kind() != io::ErrorKind::WouldBlock, |_| true)
}

/// A stream of which some bytes were read already: they come first.
pub struct Rewound {
    pub(super) ahead: BytesMut,
    pub(super) stream: Box<dyn Stream>,
}

impl Stream for Rewound {
    fn has_ended(&mut self) -> bool {
        !self.ahead.is_empty() || self.stream.has_ended()
    }
}

impl AsyncRead for Rewound {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..count]);
        self.ahead.advance(count);
        if self.ahead.is_empty() {
            self.ahead = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rewound {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
