//! Packet framing over one connection.
//!
//! In: bytes of a stream. Out: packets, joined where they were split at 16 MiB; and the way back.
//! Must never: take memory on the word of a header; a packet's size is checked before, and memory grows, and is counted,
//! only with bytes that have come. Must never: begin a command while something of the message before it is unread.

use super::error::PacketError;
use super::stream::{Rewound, Stream};
use super::unread::Unread;
use super::wire::{HEADER, MAX_PAYLOAD, payload_size};
use crate::common::memory::{Hold, UNSHARED};
use crate::common::secret::{Password, take_secret};
use bytes::{Buf, BytesMut};
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::{io, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zeroize::Zeroize;

/// Room for what is read: it grows and shrinks with what comes, since most sessions are idle and most messages short.
const LEAST_AHEAD: usize = 2 * 1024;
const READ_AHEAD: usize = 16 * 1024;
const LINGER: Duration = Duration::from_secs(1);
/// A peer that keeps sending is read for so long before it is told that the connection ends.
const LISTEN: Duration = Duration::from_secs(10);

/// The first (usually only) packet of what was sent.
pub struct Chunk {
    pub payload: BytesMut,
    /// The payload was full: a further packet continues it.
    pub continued: bool,
}

/// One connection with its buffers; `seq` is the sequence id that the next packet must carry, in either direction.
pub struct Conn {
    stream: Box<dyn Stream>,
    inbound: BytesMut,
    ahead: usize,
    least_ahead: usize,
    filled: bool,
    outbound: Vec<u8>,
    pub seq: u8,
    unread: Unread,
    /// Counts the packets of the message in hand.
    in_hand: Hold,
}

impl Conn {
    pub fn new(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            inbound: BytesMut::with_capacity(READ_AHEAD),
            ahead: READ_AHEAD,
            least_ahead: LEAST_AHEAD,
            filled: false,
            outbound: Vec::new(),
            seq: 0,
            unread: Unread::default(),
            in_hand: Hold::default(),
        }
    }

    /// What counts messages of more than 64 KiB from now on.
    pub fn count_with(&mut self, in_hand: Hold) {
        self.in_hand = in_hand;
    }

    /// The packets that were taken are gone.
    pub fn release(&mut self) {
        self.in_hand.release();
    }

    /// Gives up the stream to be wrapped in TLS; what was read ahead of it is the beginning of the TLS handshake.
    pub fn into_stream(self) -> Rewound {
        Rewound {
            ahead: self.inbound,
            stream: self.stream,
        }
    }

    /// Bytes read and not yet taken.
    pub fn buffered(&mut self) -> &mut BytesMut {
        &mut self.inbound
    }

    /// Waits for more bytes. The end of the stream is an error.
    pub async fn fill(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_fill(context)).await
    }

    /// The same, to be waited for together with something else.
    pub fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut room = self.inbound.capacity() - self.inbound.len();
        if room < self.ahead / 2 || room > 2 * self.ahead {
            // An empty one is not made room in: that would keep the memory of the largest message.
            match self.inbound.is_empty() {
                true => self.inbound = BytesMut::with_capacity(self.ahead),
                false => self.inbound.reserve(self.ahead),
            }
            room = self.inbound.capacity() - self.inbound.len();
        }
        let reading = pin!(self.stream.read_buf(&mut self.inbound));
        Poll::Ready(match ready!(reading.poll(context)) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                // What follows a full one is its rest, and says nothing.
                if read == room {
                    self.ahead = (self.ahead * 2).min(READ_AHEAD);
                } else if !self.filled && read < self.ahead / 4 {
                    self.ahead = (self.ahead / 2).max(self.least_ahead);
                }
                self.filled = read == room;
                Ok(())
            }
            Err(error) => Err(error),
        })
    }

    async fn fill_to(&mut self, count: usize) -> io::Result<()> {
        while self.inbound.len() < count {
            self.fill().await?;
        }
        Ok(())
    }

    /// The same for a payload, which counts as it comes.
    async fn fill_with(&mut self, size: usize) -> Result<(), PacketError> {
        if size <= UNSHARED {
            return Ok(self.fill_to(size).await?);
        }
        let before = self.in_hand.bytes();
        loop {
            let come = self.inbound.len().min(size);
            self.in_hand.grow_to(before + come)?;
            if come == size {
                return Ok(());
            }
            self.fill().await?;
        }
    }

    /// Takes the next header; returns the payload's size.
    pub async fn header(&mut self) -> Result<usize, PacketError> {
        self.fill_to(HEADER).await?;
        let size = payload_size(&self.inbound);
        if self.inbound[3] != self.seq || self.unread.of_packet() > 0 || self.unread.is_lost() {
            self.unread.lose();
            return Err(PacketError::OutOfOrder);
        }
        self.seq = self.seq.wrapping_add(1);
        self.inbound.advance(HEADER);
        self.unread.header(size);
        Ok(size)
    }

    /// Takes what has come of the packet whose header was taken, and waits if that is nothing. None at its end.
    pub async fn piece(&mut self) -> io::Result<Option<BytesMut>> {
        let left = self.unread.of_packet();
        if left == 0 {
            return Ok(None);
        }
        self.fill_to(1).await?;
        let count = left.min(self.inbound.len());
        self.unread.taken(count);
        Ok(Some(self.inbound.split_to(count)))
    }

    /// Whether the peer's next byte begins a new message.
    pub fn is_between_messages(&self) -> bool {
        self.unread.is_none()
    }

    /// The peer is asked for a file: until its end, what it sends are no commands.
    pub fn expect_file(&mut self) {
        self.unread.expect_file();
    }

    pub fn is_file_done(&self) -> bool {
        self.unread.is_file_done()
    }

    /// The first packet of a command; sequence ids begin anew.
    pub async fn command(&mut self, limit: usize) -> Result<Chunk, PacketError> {
        if !self.is_between_messages() {
            return Err(PacketError::Unread);
        }
        self.begin();
        self.chunk(limit).await
    }

    /// One packet of at most `limit` bytes, without what continues it.
    pub async fn chunk(&mut self, limit: usize) -> Result<Chunk, PacketError> {
        let size = self.header().await?;
        if size > limit {
            return Err(PacketError::TooLarge(limit));
        }
        self.fill_with(size).await?;
        let payload = self.inbound.split_to(size);
        self.unread.taken(size);
        self.shrink_after(size);
        Ok(Chunk {
            payload,
            continued: size == MAX_PAYLOAD,
        })
    }

    /// The buffer that has grown for a large packet goes with the packet; what was read behind it moves to a small one.
    fn shrink_after(&mut self, size: usize) {
        if size > READ_AHEAD {
            let behind = std::mem::replace(&mut self.inbound, BytesMut::with_capacity(LEAST_AHEAD));
            self.inbound.extend_from_slice(&behind);
        }
    }

    /// One whole packet of at most `limit` bytes.
    pub async fn packet(&mut self, limit: usize) -> Result<BytesMut, PacketError> {
        let Chunk {
            mut payload,
            mut continued,
        } = self.chunk(limit).await?;
        while continued {
            let next = self.chunk(limit - payload.len()).await?;
            payload.extend_from_slice(&next.payload);
            continued = next.continued;
        }
        Ok(payload)
    }

    /// A packet that may hold a password: it stays nowhere but in what is returned. The buffer has room for it first; one
    /// that grew would leave its old memory as it is.
    pub async fn secret(&mut self, limit: usize) -> Result<Password, PacketError> {
        (self.ahead, self.least_ahead) = (READ_AHEAD, READ_AHEAD);
        let mut before = std::mem::replace(&mut self.inbound, BytesMut::with_capacity(READ_AHEAD));
        self.inbound.extend_from_slice(&before);
        before.zeroize();
        let payload = self.packet(limit).await;
        self.least_ahead = LEAST_AHEAD;
        Ok(take_secret(&mut payload?))
    }

    /// Puts a packet into the outgoing buffer, split where it must be.
    pub fn queue(&mut self, payload: &[u8]) {
        let mut rest = payload;
        loop {
            let (now, later) = rest.split_at(rest.len().min(MAX_PAYLOAD));
            self.queue_header(now.len());
            self.outbound.extend_from_slice(now);
            rest = later;
            if now.len() < MAX_PAYLOAD {
                return;
            }
        }
    }

    /// Sends one payload that lies in pieces, split where it must be. What is large is not copied.
    pub async fn send_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        let mut left: usize = pieces.iter().map(|p| p.len()).sum();
        let mut pieces = pieces.iter();
        let mut piece: &[u8] = &[];
        loop {
            let size = left.min(MAX_PAYLOAD);
            self.queue_header(size);
            let mut room = size;
            while room > 0 {
                let (now, later) = piece.split_at(piece.len().min(room));
                self.put(now).await?;
                room -= now.len();
                piece = match later {
                    [] => pieces.next().copied().unwrap_or_default(),
                    _ => later,
                };
            }
            left -= size;
            if size < MAX_PAYLOAD {
                return self.flush().await;
            }
        }
    }

    /// Sends these bytes with the next ones, or now if they are many.
    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() <= READ_AHEAD {
            self.outbound.extend_from_slice(bytes);
            return Ok(());
        }
        self.stream.write_all(&self.outbound).await?;
        self.outbound.clear();
        self.stream.write_all(bytes).await
    }

    /// Puts one header into the outgoing buffer; the caller then sends exactly `size` bytes.
    pub fn queue_header(&mut self, size: usize) {
        let bytes = (size as u32).to_le_bytes();
        self.outbound
            .extend_from_slice(&[bytes[0], bytes[1], bytes[2], self.seq]);
        self.seq = self.seq.wrapping_add(1);
    }

    pub async fn flush(&mut self) -> io::Result<()> {
        if !self.outbound.is_empty() {
            self.stream.write_all(&self.outbound).await?;
            self.outbound.clear();
            self.outbound.shrink_to(READ_AHEAD);
        }
        self.stream.flush().await
    }

    pub async fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.queue(payload);
        self.flush().await
    }

    /// The same for a password, of which nothing stays here.
    pub async fn send_secret(&mut self, payload: &[u8]) -> io::Result<()> {
        self.flush().await?;
        let sent = self.send(payload).await;
        self.outbound.zeroize();
        sent
    }

    /// Sends bytes that are packets already.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.outbound.is_empty() {
            self.put(bytes).await?;
            return self.flush().await;
        }
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Starts a command: sequence ids begin anew.
    pub fn begin(&mut self) {
        self.seq = 0;
    }

    /// Sends a last packet, and lets the peer read it: closing with bytes unread would destroy it on its way. A peer in the
    /// middle of a message looks for an answer only once it has sent all of it.
    pub async fn say_last(&mut self, payload: &[u8]) {
        let skipped = tokio::time::timeout(LISTEN, self.skip_message()).await;
        drop(skipped);
        let last_words = async {
            self.send(payload).await?;
            self.stream.shutdown().await?;
            loop {
                self.inbound.clear();
                self.fill().await?;
            }
        };
        let ended: Result<io::Result<()>, _> = tokio::time::timeout(LINGER, last_words).await;
        drop(ended);
    }

    /// Drops what the peer still sends of its message; gives up when it pauses.
    async fn skip_message(&mut self) -> Result<(), PacketError> {
        let paused = |_| PacketError::Io(io::ErrorKind::TimedOut.into());
        while !self.is_between_messages() {
            let piece = tokio::time::timeout(LINGER, self.piece()).await;
            if piece.map_err(paused)??.is_none() {
                let header = tokio::time::timeout(LINGER, self.header()).await;
                header.map_err(paused)??;
            }
        }
        Ok(())
    }

    /// Whether the peer has closed, as far as is known without waiting.
    pub fn has_ended(&mut self) -> bool {
        self.stream.has_ended()
    }

    pub async fn close(&mut self) {
        let _ = tokio::time::timeout(LINGER, self.stream.shutdown()).await;
    }
}

#[cfg(test)]
mod tests;
