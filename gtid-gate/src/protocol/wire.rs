//! The small pieces that MySQL's packets are made of.
//!
//! In: payload bytes. Out: integers, strings, OK and ERR packets. Must never: read past the payload.

use crate::protocol::error::{PacketError, SqlError};

/// Bytes of a packet's header: its payload's size and its sequence id.
pub const HEADER: usize = 4;
/// A payload of this size says that another packet continues it.
pub const MAX_PAYLOAD: usize = 0xff_ffff;

pub const STATUS_IN_TRANS: u16 = 0x0001;
pub const STATUS_AUTOCOMMIT: u16 = 0x0002;
pub const STATUS_MORE_RESULTS: u16 = 0x0008;
pub const STATUS_CURSOR_EXISTS: u16 = 0x0040;
pub const STATUS_LAST_ROW_SENT: u16 = 0x0080;
pub const STATUS_NO_BACKSLASH_ESCAPES: u16 = 0x0200;
pub const STATUS_OUT_PARAMETERS: u16 = 0x1000;
pub const STATUS_IN_TRANS_READONLY: u16 = 0x2000;

/// The size in a header of at least three bytes.
pub fn payload_size(header: &[u8]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// Takes pieces from the front of a payload.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], PacketError> {
        if count > self.rest.len() {
            return Err(PacketError::Malformed("too short"));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    pub fn u8(&mut self) -> Result<u8, PacketError> {
        Ok(self.bytes(1)?[0])
    }

    pub fn u16(&mut self) -> Result<u16, PacketError> {
        let b = self.bytes(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    pub fn u32(&mut self) -> Result<u32, PacketError> {
        let b = self.bytes(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// A length-encoded integer.
    pub fn lenenc(&mut self) -> Result<u64, PacketError> {
        let width = match self.u8()? {
            first @ 0..=0xfa => return Ok(u64::from(first)),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return Err(PacketError::Malformed("length")),
        };
        let mut wide = [0u8; 8];
        wide[..width].copy_from_slice(self.bytes(width)?);
        Ok(u64::from_le_bytes(wide))
    }

    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], PacketError> {
        let length = self.lenenc()?;
        let length = usize::try_from(length).map_err(|_| PacketError::Malformed("length"))?;
        self.bytes(length)
    }

    /// A value of a text row: `None` is NULL.
    pub fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, PacketError> {
        if self.rest.first() == Some(&0xfb) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// Up to a zero byte, which is taken too; to the end if there is none.
    pub fn zero_terminated(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|b| *b == 0);
        let text = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = &self.rest[end.map_or(self.rest.len(), |e| e + 1)..];
        text
    }
}

pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// An OK packet without affected rows; valid with and without session tracking.
pub fn ok_packet(status: u16, warnings: u16) -> Vec<u8> {
    let mut out = vec![0x00, 0x00, 0x00];
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&warnings.to_le_bytes());
    out
}

/// The answer to COM_SET_OPTION and the like for clients that still want EOF packets.
pub fn err_packet(error: &SqlError) -> Vec<u8> {
    let mut out = vec![0xff];
    out.extend_from_slice(&error.code.to_le_bytes());
    out.push(b'#');
    out.extend_from_slice(error.state.as_bytes());
    out.extend_from_slice(error.message.as_bytes());
    out
}

pub fn parse_err(payload: &[u8]) -> SqlError {
    let code = match payload {
        [0xff, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => return SqlError::malformed_packet(),
    };
    let text = &payload[3..];
    let (state, message) = match text {
        [b'#', a, b, c, d, e, message @ ..] => (vec![*a, *b, *c, *d, *e], message),
        _ => (b"HY000".to_vec(), text),
    };
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    SqlError {
        code,
        state: lossy(&state),
        message: lossy(message),
    }
}

/// The insert id that an OK packet tells; 0 is none.
pub fn ok_insert_id(payload: &[u8]) -> Result<u64, PacketError> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.lenenc()?;
    reader.lenenc()
}

/// The status flags of an OK packet.
pub fn ok_status(payload: &[u8]) -> Result<u16, PacketError> {
    let offset = ok_status_offset(payload)?;
    Reader::new(&payload[offset..]).u16()
}

/// Where an OK packet (header 0x00, or 0xFE ending rows) has its status flags.
pub fn ok_status_offset(payload: &[u8]) -> Result<usize, PacketError> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.lenenc()?;
    reader.lenenc()?;
    let offset = payload.len() - reader.rest().len();
    reader.u16()?;
    Ok(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn length_encoded_integers_come_back(value: u64) {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.lenenc().unwrap(), value);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn no_payload_makes_the_reader_panic(payload: Vec<u8>) {
            let _ = parse_err(&payload);
            let _ = ok_status_offset(&payload);
            let mut reader = Reader::new(&payload);
            while reader.nullable_bytes().is_ok() && !reader.is_empty() {}
        }

        #[test]
        fn error_packets_come_back(code in 1u16.., message in "[ -~]{0,60}") {
            let error = SqlError::new(code, "HY000", message);
            prop_assert_eq!(parse_err(&err_packet(&error)), error);
        }
    }

    #[test]
    fn the_status_of_an_ok_packet_is_found() {
        let packet = ok_packet(0x1234, 0);
        assert_eq!(ok_status_offset(&packet).unwrap(), 3);
    }
}
