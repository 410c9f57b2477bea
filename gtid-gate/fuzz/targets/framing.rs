//! Bytes of a stream, in whatever pieces they come: `packet::Conn` and `response::Response`.
//!
//! In: a byte of flags, three sizes of pieces, the stream. Checked: pieces make no difference; what passes is what came
//! but for sequence ids, which go on; no memory on the word of a header.
#![no_main]

use bytes::BytesMut;
use gtid_gate::protocol::codec::Conn;
use gtid_gate::protocol::error::PacketError;
use gtid_gate::protocol::response::{First, Prepared, Response, Shape, Step};
use gtid_gate::protocol::stream::Stream;
use gtid_gate::protocol::wire::{HEADER, payload_size};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let [flags, a, b, c, stream @ ..] = input {
        let sizes = [*a, *b, *c].map(|size| usize::from(size) + 1);
        check_response(*flags, sizes, stream);
        check_connection(*flags, sizes, stream);
    }
});

#[derive(Debug, PartialEq)]
struct Followed {
    passed: Vec<u8>,
    left: Vec<u8>,
    step: Step,
    seq: u8,
    status: Option<u16>,
    error: Option<u16>,
    prepared: Option<Prepared>,
}

fn check_response(flags: u8, sizes: [usize; 3], stream: &[u8]) {
    let whole = follow(flags, [stream.len().max(1); 3], stream);
    assert_eq!(
        whole,
        follow(flags, sizes, stream),
        "pieces made a difference"
    );
    assert_eq!(whole.passed.len() + whole.left.len(), stream.len());
    assert_eq!(seq_after(&whole.passed, stream, flags), whole.seq);
    let is_whole = stream.len() >= HEADER && stream.len() - HEADER >= payload_size(stream);
    if let (First::Error(code), true) = (Response::first(stream), is_whole) {
        assert_eq!(whole.error, Some(code));
    }
}

fn follow(flags: u8, sizes: [usize; 3], stream: &[u8]) -> Followed {
    let shapes = [
        Shape::Results,
        Shape::Prepare { id: 7 },
        Shape::Rows,
        Shape::Single,
    ];
    let mut response = Response::new(shapes[usize::from(flags & 3)], flags & 4 != 0, flags);
    response.extra_status = u16::from(flags & 8);
    let (mut passed, mut left, mut step, mut rest) =
        (Vec::new(), BytesMut::new(), Step::More, stream);
    for size in sizes.into_iter().cycle() {
        let (piece, later) = rest.split_at(size.min(rest.len()));
        rest = later;
        left.extend_from_slice(piece);
        while step != Step::Done {
            let (count, next) = response.advance(&mut left);
            assert!(count <= left.len(), "{count} of {} bytes pass", left.len());
            passed.extend(left.split_to(count));
            step = next;
            match step {
                Step::Infile => response.infile_sent(response.seq()),
                Step::More | Step::Done => break,
            }
        }
        if rest.is_empty() {
            break;
        }
    }
    if step == Step::Done {
        assert_eq!(response.advance(&mut left.clone()), (0, Step::Done));
    }
    let (seq, status, error) = (response.seq(), response.status, response.error);
    Followed {
        passed,
        left: left.to_vec(),
        step,
        seq,
        status,
        error,
        prepared: response.prepared,
    }
}

/// Walks the packets that passed, beside what came: sizes are the server's, sequence ids go on from `first`.
fn seq_after(passed: &[u8], came: &[u8], first: u8) -> u8 {
    let (mut at, mut seq) = (0, first);
    while at < passed.len() {
        let header = passed.get(at..at + HEADER).expect("a header passes whole");
        assert_eq!(header[..3], came[at..at + 3]);
        assert_eq!(header[3], seq);
        seq = seq.wrapping_add(1);
        at += HEADER + payload_size(header);
    }
    seq
}

fn check_connection(flags: u8, sizes: [usize; 3], stream: &[u8]) {
    let limit = [8, 300, 1 << 16, 1 << 30][usize::from(flags >> 6)];
    let mut conn = Conn::new(Pieces::new(sizes, stream));
    let (mut out, written) = (Vec::new(), Arc::default());
    let mut echo = Conn::new(Pieces {
        written: Arc::clone(&written),
        ..Pieces::new(sizes, &[])
    });
    let ended = loop {
        match now(conn.packet(limit)) {
            Ok(packet) => {
                assert!(packet.len() <= limit);
                echo.queue(&packet);
                out.push(packet.len() + HEADER);
            }
            Err(error) => break error,
        }
    };
    let room = conn.buffered().capacity();
    assert!(
        room <= 4 * stream.len() + (64 << 10),
        "{room} bytes of memory for {} that came",
        stream.len()
    );
    now(echo.flush()).expect("writing succeeds");
    let taken = out.iter().sum::<usize>();
    assert_eq!(
        *written.lock().expect("one thread"),
        stream[..taken],
        "the way back is another"
    );
    check_end(&ended, &stream[taken..], out.len() as u8, limit);
    check_rewound(out.first().copied(), sizes, stream);
}

/// Packets stop where the stream ends, a sequence id does not follow, or a size passes the limit; and for no other reason.
fn check_end(ended: &PacketError, rest: &[u8], seq: u8, limit: usize) {
    match rest {
        [_, _, _, given, ..] if *given != seq => assert!(matches!(ended, PacketError::OutOfOrder)),
        [_, _, _, _, ..] if payload_size(rest) > limit => {
            assert!(matches!(ended, PacketError::TooLarge(_)))
        }
        _ => {
            assert!(
                matches!(ended, PacketError::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof)
            );
            assert!(rest.len() < HEADER || rest.len() - HEADER < payload_size(rest));
        }
    }
}

/// Taking the stream back after one packet loses no byte and repeats none.
fn check_rewound(first: Option<usize>, sizes: [usize; 3], stream: &[u8]) {
    let mut conn = Conn::new(Pieces::new(sizes, stream));
    let taken = first
        .filter(|_| now(conn.packet(1 << 30)).is_ok())
        .unwrap_or(0);
    let (mut rewound, mut rest, mut room) = (conn.into_stream(), Vec::new(), [0; 100]);
    loop {
        let mut buffer = ReadBuf::new(&mut room);
        let mut context = Context::from_waker(Waker::noop());
        assert!(
            Pin::new(&mut rewound)
                .poll_read(&mut context, &mut buffer)
                .is_ready()
        );
        if buffer.filled().is_empty() {
            break;
        }
        rest.extend_from_slice(buffer.filled());
    }
    assert_eq!(rest, stream[taken..]);
}

/// A stream that never makes anyone wait: gives its bytes in pieces of these sizes, in turn, and keeps what is written.
struct Pieces {
    rest: Vec<u8>,
    sizes: [usize; 3],
    written: Arc<Mutex<Vec<u8>>>,
}

impl Pieces {
    fn new(sizes: [usize; 3], stream: &[u8]) -> Self {
        Self {
            rest: stream.to_vec(),
            sizes,
            written: Arc::default(),
        }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = self.sizes[0].min(self.rest.len()).min(buffer.remaining());
        buffer.put_slice(&self.rest[..size]);
        self.rest.drain(..size);
        self.sizes.rotate_left(1);
        Poll::Ready(Ok(()))
    }
}

impl Stream for Pieces {}

impl AsyncWrite for Pieces {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let size = bytes.len().min(self.sizes[0]);
        self.written
            .lock()
            .expect("one thread")
            .extend_from_slice(&bytes[..size]);
        Poll::Ready(Ok(size))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("waits, though the stream never does"),
    }
}
