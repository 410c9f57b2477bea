//! What an OK packet tells of the session: the GTIDs of its commits (`session_track_gtids`).
//!
//! In: an OK packet of a connection with CLIENT_SESSION_TRACK. Out: the GTIDs, and the packet as a client gets it that did
//! not ask for session tracking. Protocol: dev.mysql.com, "OK_Packet", "Session State Information".

use super::error::PacketError;
use super::wire::{self, Reader};
use crate::gtid::GtidSet;

const STATE_CHANGED: u16 = 0x4000;
const TRACK_GTIDS: u8 = 3;

#[derive(Debug, PartialEq, Eq)]
pub struct Tracked {
    pub committed: Option<GtidSet>,
    pub plain: Vec<u8>,
}

/// Nothing if the packet ends before.
pub fn read(payload: &[u8]) -> Result<Option<Tracked>, PacketError> {
    let offset = wire::ok_status_offset(payload)?;
    let (head, rest) = payload
        .split_at_checked(offset + 4)
        .unwrap_or((payload, &[]));
    if rest.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader::new(rest);
    let message = reader.lenenc_bytes()?;
    let status = u16::from_le_bytes([head[offset], head[offset + 1]]);
    let committed = match status & STATE_CHANGED {
        0 => None,
        _ => gtids(reader.lenenc_bytes()?)?,
    };
    let mut plain = head.to_vec();
    plain[offset..offset + 2].copy_from_slice(&(status & !STATE_CHANGED).to_le_bytes());
    // The message has its length before it in both forms (the documentation says otherwise); an empty one is left out.
    if !message.is_empty() {
        wire::put_lenenc(&mut plain, message.len() as u64);
        plain.extend_from_slice(message);
    }
    Ok(Some(Tracked { committed, plain }))
}

fn gtids(state: &[u8]) -> Result<Option<GtidSet>, PacketError> {
    let mut reader = Reader::new(state);
    while !reader.is_empty() {
        let (kind, data) = (reader.u8()?, reader.lenenc_bytes()?);
        if kind == TRACK_GTIDS {
            let mut data = Reader::new(data);
            data.u8()?;
            let text = std::str::from_utf8(data.lenenc_bytes()?).ok();
            return Ok(text.and_then(|t| GtidSet::parse(t).ok()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GTID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562:7";

    fn with_length(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        wire::put_lenenc(&mut out, bytes.len() as u64);
        out.extend_from_slice(bytes);
        out
    }

    fn ok(status: u16, tail: &[u8]) -> Vec<u8> {
        let mut packet = vec![0, 1, 0];
        packet.extend(status.to_le_bytes());
        packet.extend([0, 0]);
        packet.extend(tail);
        packet
    }

    fn tracked(gtid: &str) -> Vec<u8> {
        let data = [vec![0], with_length(gtid.as_bytes())].concat();
        let other = [vec![1], with_length(b"\x01a\x01b")].concat();
        let state = [other, vec![3], with_length(&data)].concat();
        [with_length(b"Rows matched: 1"), with_length(&state)].concat()
    }

    #[test]
    fn a_commit_tells_its_gtid_and_the_client_gets_the_packet_it_knows() {
        let read = read(&ok(STATE_CHANGED | 2, &tracked(GTID)))
            .unwrap()
            .unwrap();
        assert_eq!(read.committed, Some(GtidSet::parse(GTID).unwrap()));
        assert_eq!(read.plain, ok(2, &with_length(b"Rows matched: 1")));
    }

    #[test]
    fn a_packet_that_tells_nothing_stays() {
        assert!(matches!(read(&ok(2, b"")), Ok(None)));
        let read = read(&ok(2, &with_length(b"info"))).unwrap().unwrap();
        assert_eq!(
            (read.committed, read.plain),
            (None, ok(2, &with_length(b"info")))
        );
    }

    #[test]
    fn half_a_packet_is_an_error() {
        let whole = ok(STATE_CHANGED, &tracked(GTID));
        for size in 8..whole.len() {
            assert!(read(&whole[..size]).is_err(), "{size}");
        }
        assert_eq!(
            read(&ok(STATE_CHANGED, &tracked("x")))
                .unwrap()
                .unwrap()
                .committed,
            None
        );
    }
}
