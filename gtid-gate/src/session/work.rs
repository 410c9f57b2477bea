//! One command of the client, on its way to a server.
//!
//! Must never: be sent a second time unless it can be, whole and without effect.

use super::execution::Execution;
use super::state::State;
use crate::backend::{Backend, StatementKey};
use crate::protocol::codec::Conn;
use crate::protocol::error::{BackendError, PacketError};
use crate::protocol::response::Shape;
use crate::protocol::wire::{self, HEADER, MAX_PAYLOAD};
use bytes::BytesMut;
use std::borrow::Cow;
use std::time::Duration;

/// Of a statement too long to be looked at whole, this much is.
const FIRST_WORDS: usize = 64;
/// How long the answer of a server that reads no more is waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// MySQL's error messages have at most 512 bytes.
const MAX_ERROR: usize = 4096;

/// A command as read; more of it is still with the client if `continued`.
pub struct Request {
    pub payload: BytesMut,
    pub continued: bool,
}

impl Request {
    pub fn command(&self) -> u8 {
        self.payload.first().copied().unwrap_or(0xff)
    }

    /// Too long to be looked at whole.
    pub fn is_long(&self) -> bool {
        self.continued || self.payload.len() > MAX_PAYLOAD
    }

    pub fn argument(&self) -> &[u8] {
        self.payload.get(1..).unwrap_or_default()
    }
}

pub enum Work {
    /// COM_QUERY, as it is, and where its text begins.
    Query {
        request: Request,
        text_at: usize,
    },
    /// Sent as it is.
    Plain {
        request: Request,
        shape: Shape,
    },
    /// COM_STMT_PREPARE, as it is: the client's id and the servers' name of the statement.
    Prepare {
        request: Request,
        id: u32,
        key: StatementKey,
    },
    Execute(Execution),
}

impl Work {
    /// Where unqualified names belong: a prepared statement's to the schema that it was prepared in.
    pub fn database<'a>(&'a self, state: &'a State) -> Option<&'a str> {
        match self {
            Self::Execute(execution) => execution.text.database.as_deref(),
            _ => state.database.as_deref(),
        }
    }

    pub fn shape(&self) -> Shape {
        match self {
            Self::Query { .. } => Shape::Results,
            Self::Plain { shape, .. } => *shape,
            Self::Prepare { id, .. } => Shape::Prepare { id: *id },
            Self::Execute(_) => Shape::Results,
        }
    }

    /// Whether it is here whole, so that another server can be tried.
    pub fn repeatable(&self) -> bool {
        match self {
            Self::Query { request, .. }
            | Self::Plain { request, .. }
            | Self::Prepare { request, .. } => !request.continued,
            Self::Execute(execution) => !execution.continued,
        }
    }

    /// The statement, as far as it is looked at.
    pub fn sql(&self) -> Cow<'_, str> {
        let text = match self {
            Self::Query { request, text_at } => {
                let text = &request.payload[*text_at..];
                match request.is_long() {
                    true => &text[..text.len().min(FIRST_WORDS)],
                    false => text,
                }
            }
            Self::Execute(execution) => execution.sql(),
            Self::Plain { .. } | Self::Prepare { .. } => &[],
        };
        String::from_utf8_lossy(text)
    }

    fn continued(&self) -> bool {
        !self.repeatable()
    }
}

pub enum SendError {
    Client(PacketError),
    Server(BackendError),
}

impl From<std::io::Error> for SendError {
    fn from(error: std::io::Error) -> Self {
        Self::Server(error.into())
    }
}

/// Sends the command. A server that stops reading it may have said why.
pub async fn send(
    client: &mut Conn,
    backend: &mut Backend,
    work: &mut Work,
    limit: usize,
) -> Result<(), SendError> {
    match pass_command(client, backend, work, limit).await {
        Err(SendError::Server(error)) => Err(SendError::Server(
            last_words(&mut backend.conn, error).await,
        )),
        outcome => outcome,
    }
}

/// A server that finds a command too long answers after the packet header that says so, and closes. Returns that
/// answer, or `error` if the server left none.
pub async fn last_words(server: &mut Conn, error: BackendError) -> BackendError {
    let answer = tokio::time::timeout(LAST_WORDS, early_answer(server)).await;
    match answer {
        Ok(Ok(packet)) if packet.first() == Some(&0xff) => {
            BackendError::Sql(wire::parse_err(&packet))
        }
        _ => error,
    }
}

/// The server has counted fewer packets than were sent: its own sequence id counts.
async fn early_answer(server: &mut Conn) -> Result<BytesMut, PacketError> {
    while server.buffered().len() < HEADER {
        server.fill().await?;
    }
    server.seq = server.buffered()[HEADER - 1];
    server.packet(MAX_ERROR).await
}

/// What the client still holds of the command passes without being gathered.
async fn pass_command(
    client: &mut Conn,
    backend: &mut Backend,
    work: &mut Work,
    limit: usize,
) -> Result<(), SendError> {
    backend.conn.begin();
    let continued = work.continued();
    let payload: [&[u8]; 2] = match work {
        Work::Query { request, .. }
        | Work::Plain { request, .. }
        | Work::Prepare { request, .. } => [&request.payload, &[]],
        Work::Execute(execution) => execution.begin_on(backend).await?,
    };
    if !continued {
        return Ok(backend.conn.send_pieces(&payload).await?);
    }
    let [payload, _] = payload;
    backend.conn.queue_header(payload.len());
    backend.conn.send_raw(payload).await?;
    stream_rest(client, &mut backend.conn, limit - payload.len().min(limit)).await
}

async fn stream_rest(
    client: &mut Conn,
    server: &mut Conn,
    mut limit: usize,
) -> Result<(), SendError> {
    loop {
        let size = client.header().await.map_err(SendError::Client)?;
        if size > limit {
            return Err(SendError::Client(PacketError::TooLarge(limit)));
        }
        limit -= size;
        pass_packet(client, server, size).await?;
        if size < MAX_PAYLOAD {
            return Ok(());
        }
    }
}

/// Passes one packet's payload on, as it comes.
pub async fn pass_packet(
    client: &mut Conn,
    server: &mut Conn,
    size: usize,
) -> Result<(), SendError> {
    server.queue_header(size);
    while let Some(piece) = client
        .piece()
        .await
        .map_err(|e| SendError::Client(e.into()))?
    {
        server.send_raw(&piece).await?;
    }
    Ok(server.flush().await?)
}
