//! Values of a prepared statement that its client sends ahead (COM_STMT_SEND_LONG_DATA).
//!
//! In: pieces, as they come. Out: the whole values, to whichever server executes the statement. The command has no answer: what was
//! wrong with a piece is said when the statement is executed, until it is reset (MySQL's `Item_param::set_longdata`).
//! Must never: keep more than the connection may have the gate hold.

use crate::common::memory::Hold;
use crate::protocol::codec::Conn;
use crate::protocol::error::SqlError;
use std::collections::BTreeMap;
use std::io;

pub const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
/// What a value takes besides its bytes, about.
const VALUE: usize = 64;

/// Of one statement.
#[derive(Default)]
pub struct LongData {
    values: Values,
    refused: Option<SqlError>,
}

/// As far as they have come.
#[derive(Default)]
pub struct Values {
    by_param: BTreeMap<u16, Vec<u8>>,
    held: Hold,
}

/// Where pieces go.
#[derive(Clone, Copy)]
pub struct Target {
    pub statement: u32,
    pub param: u16,
}

impl Target {
    /// Of a command, and its first bytes.
    pub fn parse(payload: &[u8]) -> Option<(Self, &[u8])> {
        let [_, a, b, c, d, low, high, piece @ ..] = payload else {
            return None;
        };
        let target = Self {
            statement: u32::from_le_bytes([*a, *b, *c, *d]),
            param: u16::from_le_bytes([*low, *high]),
        };
        Some((target, piece))
    }
}

impl LongData {
    pub fn new(held: Hold) -> Self {
        let by_param = BTreeMap::new();
        Self {
            values: Values { by_param, held },
            refused: None,
        }
    }

    /// Keeps a piece of a value of at most `limit` bytes, of a statement with so many parameters.
    pub fn add(&mut self, params: u16, param: u16, piece: &[u8], limit: usize) {
        if self.refused.is_some() {
            return;
        }
        if let Err(error) = self.keep(params, param, piece, limit) {
            self.reset();
            self.refused = Some(error);
        }
    }

    fn keep(
        &mut self,
        params: u16,
        param: u16,
        piece: &[u8],
        limit: usize,
    ) -> Result<(), SqlError> {
        if param >= params {
            return Err(SqlError::wrong_arguments("mysqld_stmt_send_long_data"));
        }
        self.values.keep(param, piece, limit)
    }

    /// The error of a piece that was not kept.
    pub fn refused(&self) -> Result<(), SqlError> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// COM_STMT_RESET.
    pub fn reset(&mut self) {
        self.values.by_param = BTreeMap::new();
        self.values.held.release();
        self.refused = None;
    }

    /// For one execution.
    pub fn take(&mut self) -> Values {
        Values {
            by_param: std::mem::take(&mut self.values.by_param),
            held: self.values.held.split(),
        }
    }
}

impl Values {
    fn keep(&mut self, param: u16, piece: &[u8], limit: usize) -> Result<(), SqlError> {
        let known = self.by_param.get(&param).map(Vec::len);
        if known.unwrap_or(0) + piece.len() > limit {
            return Err(SqlError::long_data_too_long());
        }
        let besides = known.map_or(VALUE, |_| 0);
        let grown = self.held.grow(piece.len() + besides);
        grown.map_err(SqlError::memory)?;
        let value = self.by_param.entry(param).or_default();
        value.extend_from_slice(piece);
        Ok(())
    }

    /// Sends all values to a server that knows the statement by this id.
    pub async fn send(&self, conn: &mut Conn, id: u32) -> io::Result<()> {
        for (param, value) in &self.by_param {
            let mut head = [COM_STMT_SEND_LONG_DATA, 0, 0, 0, 0, 0, 0];
            head[1..5].copy_from_slice(&id.to_le_bytes());
            head[5..].copy_from_slice(&param.to_le_bytes());
            conn.begin();
            conn.send_pieces(&[&head, value]).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::memory::{Memory, Share};
    use prometheus::IntGauge;

    fn long_data(bound: usize) -> LongData {
        let gauge = IntGauge::new("bytes", "help").unwrap();
        LongData::new(Share::new(&Memory::new(bound, bound, gauge)).kept())
    }

    fn code(data: &LongData) -> u16 {
        data.refused().map_or_else(|error| error.code, |()| 0)
    }

    #[test]
    fn long_data_is_gathered_by_parameter_and_bounded_as_by_mysql() {
        let mut data = long_data(1 << 20);
        data.add(2, 1, b"ab", 4);
        data.add(2, 1, b"cd", 4);
        data.add(2, 0, b"efgh", 4);
        assert_eq!(code(&data), 0);
        assert_eq!(
            (&data.values.by_param[&1][..], &data.values.by_param[&0][..]),
            (&b"abcd"[..], &b"efgh"[..])
        );
        data.add(2, 1, b"i", 4);
        assert_eq!(data.refused(), Err(SqlError::long_data_too_long()));
        data.add(2, 0, b"j", 4);
        assert!(data.values.by_param.is_empty() && data.values.held.bytes() == 0);
        data.reset();
        assert_eq!(code(&data), 0);
        data.add(2, 2, b"k", 4);
        assert_eq!(code(&data), 1210);
    }

    #[test]
    fn long_data_beyond_the_connections_bound_is_dropped_and_said_at_the_execution() {
        let mut data = long_data(1 << 20);
        let piece = vec![b'x'; 1 << 18];
        for _ in 0..2 {
            data.add(1, 0, &piece, 1 << 30);
        }
        assert_eq!(code(&data), 0);
        data.add(1, 0, &piece, 1 << 30);
        let error = data.refused().unwrap_err();
        assert_eq!(error.code, 1153);
        assert!(error.message.contains("GATE_CONNECTION_MEMORY_BYTES"));
        assert_eq!(data.values.held.bytes(), 0);
    }
}
