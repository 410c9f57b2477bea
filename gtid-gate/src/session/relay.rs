//! Passes a server's response on to the client.
//!
//! In: a command that has been sent. Out: how it ended. Small results take one read and one write.
//! Must never: let a client take the rest of a broken response for a whole one.

use super::infile::pass_file;
use super::proof::Rests;
use super::work::{SendError, last_words};
use crate::backend::{Backend, Role, Turn};
use crate::clients::registry::Entry;
use crate::common::signals::{KILLED, LOST};
use crate::protocol::codec::Conn;
use crate::protocol::error::{BackendError, PacketError, SqlError};
use crate::protocol::response::{First, Response, Step, UnknownThread};
use crate::protocol::session_track::{Report, Shown};
use bytes::Buf;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// A client that takes nothing for this long does not keep its statement's turn.
const SLOW: Duration = Duration::from_millis(50);

/// What the client has got, whole.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: Option<u16>,
    pub error: Option<u16>,
    pub prepared: Option<crate::protocol::response::Prepared>,
    /// Warnings that it left, an error among them.
    pub warnings: u16,
    /// It told an insert id.
    pub inserted: bool,
    /// How long the server was waited for.
    pub took: Duration,
    /// The master does not know the connection that KILL names, and the gate may.
    pub unknown_thread: Option<UnknownThread>,
    /// Results that came before the last one.
    pub results: usize,
    /// What the server has reported of the session.
    pub report: Report,
    /// The server could report what changed, if anything did.
    pub reports: bool,
    /// What the client was told last about an explicit transaction.
    pub shown: Shown,
    /// Reports for which there was no room.
    pub owed: Vec<u8>,
}

pub enum RelayError {
    /// The server is gone or going, and the client has got nothing of its response.
    NothingSent(BackendError),
    /// The same, and its connection broke, or it hung, while it ran the command, which may be why.
    Died(BackendError),
    /// The server is gone in the middle of a response; `fits`: an error packet may end it.
    Cut {
        error: BackendError,
        fits: bool,
    },
    /// The satellite refused, with this error, what the master may not refuse; the client has got nothing.
    Refused(u16),
    /// What the read names may have been redefined before it ended; `sent`: the client has got some of it, and an error packet is to end it.
    Redefined {
        sent: bool,
    },
    /// The client stopped in the middle of a file, or what it sent is no file.
    Client(PacketError),
    ClientGone,
    Killed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnRefusal {
    /// The client gets a refusal as any error.
    Pass,
    /// A refusal, as a write and the like, is kept back, so that the master can be tried.
    Report,
}

pub async fn relay(
    client: &mut Conn,
    backend: &mut Backend,
    entry: &Entry,
    turn: &mut Option<Turn>,
    mut response: Response,
    on_refusal: OnRefusal,
    rests: Rests<'_>,
) -> Result<Answer, RelayError> {
    let began = Instant::now();
    let first = first_packet(backend, entry).await.map_err(not_sent)?;
    let mut took = began.elapsed();
    if let First::Error(code) = first {
        if SqlError::is_server_going(code) && backend.server.role == Role::Satellite {
            let reason = format!("it is going: {code}");
            return Err(RelayError::NothingSent(BackendError::Lost(reason)));
        }
        if on_refusal == OnRefusal::Report && SqlError::is_for_satellites_only(code) {
            swallow(backend, entry, &mut response).await?;
            return Err(RelayError::Refused(code));
        }
    }
    let (seq, taking) = (client.seq, &mut took);
    let passed = pass(client, backend, entry, turn, &mut response, taking, rests).await;
    client.seq = match passed {
        Err(RelayError::Redefined { sent: false }) => seq,
        _ => response.seq(),
    };
    passed?;
    let kept_back = response
        .unknown_thread
        .map_or(0, |unknown| unknown.kept_back);
    backend.conn.buffered().advance(kept_back);
    Ok(Answer {
        status: response.status,
        error: response.error,
        unknown_thread: response.unknown_thread,
        results: response.results,
        prepared: response.prepared,
        warnings: response.warnings,
        inserted: response.inserted,
        report: response.report,
        reports: response.reports,
        shown: response.shown,
        owed: response.owed,
        took,
    })
}

enum Wait {
    Lost(BackendError),
    Killed,
}

fn not_sent(wait: Wait) -> RelayError {
    match wait {
        Wait::Lost(error @ (BackendError::Lost(_) | BackendError::Timeout)) => {
            RelayError::Died(error)
        }
        Wait::Lost(error) => RelayError::NothingSent(error),
        Wait::Killed => RelayError::Killed,
    }
}

async fn first_packet(backend: &mut Backend, entry: &Entry) -> Result<First, Wait> {
    loop {
        match Response::first(backend.conn.buffered()) {
            First::Unknown => fill(backend, entry).await?,
            known => return Ok(known),
        }
    }
}

/// Waits for more bytes; gives up when a satellite is found to be lost or hung.
async fn fill(backend: &mut Backend, entry: &Entry) -> Result<(), Wait> {
    let is_satellite = backend.server.role == Role::Satellite;
    poll_fn(|context| {
        if let Poll::Ready(filled) = backend.conn.poll_fill(context) {
            return Poll::Ready(filled.map_err(|e| Wait::Lost(e.into())));
        }
        while let Poll::Ready(raised) = entry.signals.poll(context, KILLED | LOST) {
            if raised & KILLED != 0 {
                return Poll::Ready(Err(Wait::Killed));
            }
            entry.signals.clear(LOST);
            if is_satellite && backend.is_lost() {
                return Poll::Ready(Err(Wait::Lost(BackendError::Timeout)));
            }
        }
        Poll::Pending
    })
    .await
}

async fn pass(
    client: &mut Conn,
    backend: &mut Backend,
    entry: &Entry,
    turn: &mut Option<Turn>,
    response: &mut Response,
    took: &mut Duration,
    rests: Rests<'_>,
) -> Result<(), RelayError> {
    let mut sent = false;
    loop {
        let (mut count, step) = response.advance(backend.conn.buffered());
        let mut ended = Ok(());
        if step == Step::Done && !held(&rests, backend, turn, sent).await {
            count = withhold(backend, response, count, sent);
            ended = Err(RelayError::Redefined { sent });
        }
        if step == Step::Infile {
            client.expect_file();
        }
        if count > 0 {
            let bytes = &backend.conn.buffered()[..count];
            let sending = client.send_raw(bytes);
            let sending = without_turn_when_slow(sending, turn);
            sending.await.map_err(|_| RelayError::ClientGone)?;
            backend.conn.buffered().advance(count);
            sent = true;
        }
        match step {
            Step::Done => return ended,
            Step::Infile => {
                // The client's pace counts from here on.
                *turn = None;
                let passed = pass_file(client, &mut backend.conn, response.seq()).await;
                response.infile_sent(client.seq);
                if let Err(error) = passed {
                    return Err(infile_failed(backend, error).await);
                }
            }
            Step::More => {
                let began = Instant::now();
                fill(backend, entry).await.map_err(|wait| match wait {
                    Wait::Lost(error) if sent => RelayError::Cut {
                        error,
                        fits: response.error_fits(),
                    },
                    other => not_sent(other),
                })?;
                *took += began.elapsed();
            }
        }
    }
}

/// Whether the answer, which has ended, is what it was proven to be.
async fn held(rests: &Rests<'_>, backend: &Backend, turn: &mut Option<Turn>, sent: bool) -> bool {
    rests.holds() || {
        *turn = None;
        rests.held(backend, sent).await
    }
}

/// Of the last bytes of an answer those that the client gets all the same: what comes before the last packet, if it has got some already.
fn withhold(backend: &mut Backend, response: &mut Response, count: usize, sent: bool) -> usize {
    let kept = if sent { response.take_back_end() } else { 0 };
    let rest = backend.conn.buffered().split_off(count);
    backend.conn.buffered().truncate(kept);
    backend.conn.buffered().unsplit(rest);
    kept
}

/// Sends to the client. One that does not take its answer must not hold up those that wait for their turn.
async fn without_turn_when_slow(
    sending: impl Future<Output = std::io::Result<()>>,
    turn: &mut Option<Turn>,
) -> std::io::Result<()> {
    let mut sending = pin!(sending);
    let at_once = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await;
    if let Poll::Ready(sent) = at_once {
        return sent;
    }
    if turn.is_some() {
        tokio::select! {
            biased;
            sent = &mut sending => return sent,
            () = tokio::time::sleep(SLOW) => *turn = None,
        }
    }
    sending.await
}

async fn infile_failed(backend: &mut Backend, error: SendError) -> RelayError {
    match error {
        SendError::Client(error) => RelayError::Client(error),
        SendError::Server(error) => RelayError::Cut {
            error: last_words(&mut backend.conn, error).await,
            fits: true,
        },
    }
}

async fn swallow(
    backend: &mut Backend,
    entry: &Entry,
    response: &mut Response,
) -> Result<(), RelayError> {
    loop {
        let (count, step) = response.advance(backend.conn.buffered());
        backend.conn.buffered().advance(count);
        if step == Step::Done {
            return Ok(());
        }
        fill(backend, entry).await.map_err(not_sent)?;
    }
}
