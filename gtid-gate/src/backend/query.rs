//! Questions of the gate itself: one small text result.

use crate::protocol::capability as cap;
use crate::protocol::codec::Conn;
use crate::protocol::error::BackendError;
use crate::protocol::session_track::{self, Report, Shown};
use crate::protocol::wire::{self, Reader};

pub const COM_QUERY: u8 = 0x03;

/// Answers that the gate reads itself are small; more is a fault.
pub(super) const MAX_OWN_ANSWER: usize = 64 << 20;

/// None of them, in one set.
const NO_ATTRIBUTES: [u8; 2] = [0, 1];

/// NULL, or the value as MySQL writes it.
pub type Cell = Option<Vec<u8>>;

#[derive(Debug, Default)]
pub struct TextResult {
    /// MySQL's type code of each column.
    pub types: Vec<u8>,
    pub rows: Vec<Vec<Cell>>,
    /// What else the server has reported of the session with it.
    pub report: Report,
}

impl TextResult {
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        let cell = self.rows.get(row)?.get(column)?.as_deref()?;
        std::str::from_utf8(cell).ok()
    }
}

pub fn command(capabilities: u32, sql: &str) -> Vec<u8> {
    let mut command = Vec::with_capacity(sql.len() + 3);
    command.push(COM_QUERY);
    if capabilities & cap::QUERY_ATTRIBUTES != 0 {
        command.extend_from_slice(&NO_ATTRIBUTES);
    }
    command.extend_from_slice(sql.as_bytes());
    command
}

pub async fn run(
    conn: &mut Conn,
    capabilities: u32,
    sql: &str,
) -> Result<TextResult, BackendError> {
    conn.begin();
    conn.send(&command(capabilities, sql)).await?;
    let first = conn.packet(MAX_OWN_ANSWER).await?;
    match first.first() {
        Some(0x00) => {
            return Ok(TextResult {
                report: report(capabilities, &first),
                ..TextResult::default()
            });
        }
        Some(0xff) => return Err(BackendError::Sql(wire::parse_err(&first))),
        _ => {}
    }
    let columns = Reader::new(&first).lenenc()?;
    let mut result = TextResult::default();
    for _ in 0..columns {
        result
            .types
            .push(column_type(&conn.packet(MAX_OWN_ANSWER).await?)?);
    }
    if capabilities & cap::DEPRECATE_EOF == 0 {
        conn.packet(MAX_OWN_ANSWER).await?;
    }
    loop {
        let packet = conn.packet(MAX_OWN_ANSWER).await?;
        match packet.first() {
            Some(0xff) => return Err(BackendError::Sql(wire::parse_err(&packet))),
            Some(0xfe) if packet.len() < 0xff_ffff => {
                if capabilities & cap::DEPRECATE_EOF != 0 {
                    result.report = report(capabilities, &packet);
                }
                return Ok(result);
            }
            _ => result.rows.push(row(&packet, columns)?),
        }
    }
}

/// What an OK packet reports of the session.
pub fn report(capabilities: u32, ok: &[u8]) -> Report {
    let tracks = capabilities & cap::SESSION_TRACK != 0;
    let read = tracks.then(|| session_track::read(ok, None, Shown::None, &[]));
    let tracked = read.and_then(Result::ok).flatten();
    tracked.map_or_else(Report::default, |t| t.report)
}

fn row(packet: &[u8], columns: u64) -> Result<Vec<Cell>, BackendError> {
    let mut reader = Reader::new(packet);
    let mut cells = Vec::new();
    for _ in 0..columns {
        cells.push(reader.nullable_bytes()?.map(<[u8]>::to_vec));
    }
    Ok(cells)
}

fn column_type(definition: &[u8]) -> Result<u8, BackendError> {
    let mut reader = Reader::new(definition);
    for _ in 0..6 {
        reader.lenenc_bytes()?;
    }
    reader.lenenc()?;
    reader.bytes(2 + 4)?;
    Ok(reader.u8()?)
}
