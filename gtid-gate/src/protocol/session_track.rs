//! What an OK packet reports of the session: settings, schema, changes without a name, transactions, the GTIDs of its commits.
//!
//! In: an OK packet of a connection with CLIENT_SESSION_TRACK, and which of its reports the client wants. Out: the report, and the
//! packet with no more than that. Protocol: dev.mysql.com, "OK_Packet", "Session State Information".
//! Must never: let a client have a report that it did not ask for.

use super::error::PacketError;
use super::wire::{self, Reader};
use crate::gtid::GtidSet;
use std::sync::Arc;

const STATE_CHANGED: u16 = 0x4000;
/// A change whose name the report lacks: a user variable, a temporary table, a statement prepared in SQL.
const YES: &[u8] = b"1";
/// Counts statements; reported with each where all variables are.
const STATEMENT_ID: &str = "statement_id";
/// `session_track_system_variables` of a session that has not set it.
const DEFAULT_VARIABLES: &str =
    "time_zone,autocommit,character_set_client,character_set_results,character_set_connection";

/// What has a server report everything that it can. Its answer reports sql_mode, whatever that is.
pub const REPORT_ALL: &str = "SET SESSION session_track_system_variables = '*', SESSION session_track_schema = 1, \
     SESSION session_track_state_change = 1, SESSION sql_mode = @@SESSION.sql_mode";
/// Has it report what is set for the next transaction, until that has begun, too.
pub const REPORT_NEXT: &str = "SET SESSION session_track_transaction_info = 'CHARACTERISTICS'";

/// What the client was told last about an explicit transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    #[default]
    None,
    Open,
    /// It is open, on another server: what this one reports is no news of it.
    Elsewhere,
    /// It is open no more, which the next packet says.
    Ended,
}

impl Shown {
    /// What the client knows after a packet that reports this.
    pub fn after(self, reported: Option<bool>) -> Self {
        match (reported, self) {
            (_, Self::Elsewhere) => self,
            (Some(true), _) => Self::Open,
            (Some(false), _) | (None, Self::Ended) => Self::None,
            (None, other) => other,
        }
    }
}

/// `TRX_STATE` of a transaction that has done nothing, and of none.
const TRANSACTION: &[u8] = b"T_______";
const NO_TRANSACTION: &[u8] = b"________";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Variable,
    Schema,
    State,
    Gtids,
    Characteristics,
    Transaction,
    Unknown,
}

impl Kind {
    fn of(code: u8) -> Self {
        match code {
            0 => Self::Variable,
            1 => Self::Schema,
            2 => Self::State,
            3 => Self::Gtids,
            4 => Self::Characteristics,
            5 => Self::Transaction,
            _ => Self::Unknown,
        }
    }
}

/// What changed in the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What the session has committed.
    pub committed: Option<GtidSet>,
    /// The current schema, in UTF-8; empty: none.
    pub schema: Option<String>,
    /// Names and values, in their order.
    pub variables: Vec<(String, String)>,
    /// Something has changed, with or without a name.
    pub changed: bool,
    /// What is set for the next transaction: statements, or nothing.
    pub characteristics: Option<String>,
    /// An explicit transaction is open.
    pub transaction: Option<bool>,
}

impl Report {
    /// What a later packet reports counts.
    pub fn add(&mut self, later: Self) {
        if let Some(committed) = later.committed {
            self.committed
                .get_or_insert_default()
                .union_with(&committed);
        }
        self.schema = later.schema.or(self.schema.take());
        self.variables.extend(later.variables);
        self.changed |= later.changed;
        self.characteristics = later.characteristics.or(self.characteristics.take());
        self.transaction = later.transaction.or(self.transaction);
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Which reports a client with CLIENT_SESSION_TRACK gets: the session's `session_track_…` as the client has set them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trackers {
    variables: Arc<str>,
    pub schema: bool,
    pub state: bool,
    /// `session_track_transaction_info` is not OFF.
    pub transactions: bool,
}

impl Default for Trackers {
    fn default() -> Self {
        Self {
            variables: DEFAULT_VARIABLES.into(),
            schema: true,
            state: false,
            transactions: false,
        }
    }
}

impl Trackers {
    /// What the client has set; false if it is none of these.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let on = value != "OFF";
        match name {
            "session_track_system_variables" => self.variables = value.to_ascii_lowercase().into(),
            "session_track_schema" => self.schema = on,
            "session_track_state_change" => self.state = on,
            "session_track_transaction_info" => self.transactions = on,
            _ => return false,
        }
        true
    }

    fn variable(&self, name: &str) -> bool {
        let mut listed = self.variables.split(',').map(str::trim);
        listed.any(|v| v == "*" || v == name)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    pub report: Report,
    /// The packet as the client gets it.
    pub filtered: Vec<u8>,
    /// The entries in it.
    pub kept: Vec<u8>,
}

/// Nothing if the packet ends before, and has to report nothing. `wanted`: nothing for a client without session tracking. `owed`: entries
/// that the client gets with this packet, since no packet to it had room for them.
pub fn read(
    payload: &[u8],
    wanted: Option<&Trackers>,
    shown: Shown,
    owed: &[u8],
) -> Result<Option<Tracked>, PacketError> {
    let offset = wire::ok_status_offset(payload)?;
    let (head, rest) = payload
        .split_at_checked(offset + 4)
        .unwrap_or((payload, &[]));
    let ends = shown == Shown::Ended && wanted.is_some();
    if rest.is_empty() && !ends && owed.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader::new(rest);
    let message = match rest.is_empty() {
        true => rest,
        false => reader.lenenc_bytes()?,
    };
    let status = u16::from_le_bytes([head[offset], head[offset + 1]]);
    let (mut report, mut kept) = (Report::default(), owed.to_vec());
    if status & STATE_CHANGED != 0 {
        let mut entries = Reader::new(reader.lenenc_bytes()?);
        while !entries.is_empty() {
            let (code, data) = (entries.u8()?, entries.lenenc_bytes()?);
            let passes = entry(Kind::of(code), data, &mut report, wanted, shown)?;
            if let Some(wanted) = wanted.filter(|_| passes) {
                kept.push(code);
                let whole = Kind::of(code) != Kind::Transaction || wanted.transactions;
                match whole {
                    true => wire::put_lenenc_bytes(&mut kept, data),
                    false => wire::put_lenenc_bytes(&mut kept, &without_writes(data)),
                }
            }
        }
    }
    let newer = kept.split_off(owed.len());
    kept = without(&kept, &newer)?;
    kept.extend(newer);
    if !owed.is_empty() {
        kept = sorted(&kept)?;
    }
    if ends && report.transaction.is_none() {
        kept.push(5);
        wire::put_lenenc_bytes(&mut kept, &[&[8], NO_TRANSACTION].concat());
    }
    let mut filtered = head.to_vec();
    let status = match kept.is_empty() {
        true => status & !STATE_CHANGED,
        false => status | STATE_CHANGED,
    };
    filtered[offset..offset + 2].copy_from_slice(&status.to_le_bytes());
    // The message has its length before it in both forms (the documentation says otherwise); an empty one is left out.
    if !message.is_empty() || !kept.is_empty() {
        wire::put_lenenc_bytes(&mut filtered, message);
    }
    if !kept.is_empty() {
        wire::put_lenenc_bytes(&mut filtered, &kept);
    }
    Ok(Some(Tracked {
        report,
        filtered,
        kept,
    }))
}

/// The same without what is said of an explicit transaction.
pub fn without_transaction(kept: &[u8]) -> Vec<u8> {
    let mut left = Vec::new();
    for (code, data) in entries(kept).unwrap_or_default() {
        if Kind::of(code) != Kind::Transaction {
            left.push(code);
            wire::put_lenenc_bytes(&mut left, data);
        }
    }
    left
}

/// What a client is owed after one more answer.
pub fn owe(owed: &mut Vec<u8>, newer: &[u8]) {
    if let Ok(mut left) = without(owed, newer) {
        left.extend_from_slice(newer);
        *owed = left;
    }
}

/// The entries of which there is no newer one.
fn without(older: &[u8], newer: &[u8]) -> Result<Vec<u8>, PacketError> {
    let newer: Vec<_> = entries(newer)?.into_iter().map(|e| key(&e)).collect();
    let mut left = Vec::new();
    for entry in entries(older)? {
        if !newer.contains(&key(&entry)) {
            left.push(entry.0);
            wire::put_lenenc_bytes(&mut left, entry.1);
        }
    }
    Ok(left)
}

fn entries(mut bytes: &[u8]) -> Result<Vec<(u8, &[u8])>, PacketError> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let mut reader = Reader::new(bytes);
        found.push((reader.u8()?, reader.lenenc_bytes()?));
        bytes = reader.rest();
    }
    Ok(found)
}

/// `TRX_STATE` with its length, as a client without `session_track_transaction_info` is told it: how it was when the transaction began
/// (measured), which has read at most.
fn without_writes(state: &[u8]) -> Vec<u8> {
    const READS: usize = 4;
    let written = |(at, letter): (usize, &u8)| if at < READS { *letter } else { b'_' };
    state.iter().enumerate().map(written).collect()
}

/// In MySQL's order: variables by their names come first, and what is set for the next transaction last.
fn sorted(bytes: &[u8]) -> Result<Vec<u8>, PacketError> {
    let mut all = entries(bytes)?;
    all.sort_by_key(|entry| match Kind::of(entry.0) {
        Kind::Characteristics => (u8::MAX, &[][..]),
        _ => key(entry),
    });
    let mut sorted = Vec::with_capacity(bytes.len());
    for (code, data) in all {
        sorted.push(code);
        wire::put_lenenc_bytes(&mut sorted, data);
    }
    Ok(sorted)
}

/// What an entry is about: its kind, and of a variable the name.
fn key<'a>((code, data): &(u8, &'a [u8])) -> (u8, &'a [u8]) {
    let name = match Kind::of(*code) {
        Kind::Variable => Reader::new(data).lenenc_bytes().unwrap_or_default(),
        _ => &[],
    };
    (*code, name)
}

/// Reads one entry into the report; whether the client wants it.
fn entry(
    kind: Kind,
    data: &[u8],
    report: &mut Report,
    wanted: Option<&Trackers>,
    shown: Shown,
) -> Result<bool, PacketError> {
    let wants = |asks: fn(&Trackers) -> bool| wanted.is_some_and(asks);
    let mut data = Reader::new(data);
    Ok(match kind {
        Kind::Variable => {
            let (name, value) = (text(&mut data)?, text(&mut data)?);
            let wants = wanted.is_some_and(|w| w.variable(&name));
            if name != STATEMENT_ID {
                report.variables.push((name, value));
            }
            wants
        }
        Kind::Schema => {
            report.schema = Some(text(&mut data)?);
            wants(|w| w.schema)
        }
        Kind::State => {
            report.changed |= data.rest() == YES;
            wants(|w| w.state)
        }
        Kind::Gtids => {
            data.u8()?;
            let gtids = text(&mut data)?;
            report.committed = GtidSet::parse(&gtids).ok();
            true
        }
        Kind::Characteristics => {
            report.characteristics = Some(text(&mut data)?);
            wants(|w| w.transactions)
        }
        Kind::Transaction => {
            let open = data.lenenc_bytes()?.first() == Some(&TRANSACTION[0]);
            if shown == Shown::Elsewhere {
                return Ok(false);
            }
            report.transaction = Some(open);
            wants(|w| w.transactions) || open != (shown != Shown::None)
        }
        Kind::Unknown => true,
    })
}

fn text(data: &mut Reader) -> Result<String, PacketError> {
    Ok(String::from_utf8_lossy(data.lenenc_bytes()?).into_owned())
}

/// What the gate's own OK packet reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own<'a> {
    /// Of the statement before, as a ping says.
    pub warnings: u16,
    pub schema: Option<&'a str>,
    pub transaction: Option<bool>,
    /// As in `read`.
    pub owed: &'a [u8],
}

/// An OK packet of the gate's own, without affected rows. `wanted` as in `read`.
pub fn ok_packet(status: u16, own: Own, wanted: Option<&Trackers>) -> Vec<u8> {
    let mut entries = own.owed.to_vec();
    let mut put = |code: u8, data: &[u8]| {
        let mut with_length = Vec::new();
        wire::put_lenenc_bytes(&mut with_length, data);
        entries.push(code);
        wire::put_lenenc_bytes(&mut entries, &with_length);
    };
    if let (Some(schema), true) = (own.schema, wanted.is_some_and(|w| w.schema)) {
        put(1, schema.as_bytes());
    }
    if let (Some(open), true) = (own.transaction, wanted.is_some()) {
        put(5, if open { TRANSACTION } else { NO_TRANSACTION });
    }
    let flag = if entries.is_empty() { 0 } else { STATE_CHANGED };
    let mut packet = wire::ok_packet(status | flag, own.warnings);
    if entries.is_empty() {
        return packet;
    }
    wire::put_lenenc(&mut packet, 0);
    wire::put_lenenc_bytes(&mut packet, &entries);
    packet
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
        let other = [vec![1], with_length(b"\x01a")].concat();
        let state = [other, vec![3], with_length(&data)].concat();
        [with_length(b"Rows matched: 1"), with_length(&state)].concat()
    }

    #[test]
    fn a_commit_tells_its_gtid_and_the_client_gets_the_packet_it_knows() {
        let packet = ok(STATE_CHANGED | 2, &tracked(GTID));
        let read = read(&packet, None, Shown::None, &[]).unwrap().unwrap();
        assert_eq!(read.report.committed, Some(GtidSet::parse(GTID).unwrap()));
        assert_eq!(read.report.schema.as_deref(), Some("a"));
        assert_eq!(read.filtered, ok(2, &with_length(b"Rows matched: 1")));
    }

    #[test]
    fn a_packet_that_tells_nothing_stays() {
        assert!(matches!(
            read(&ok(2, b""), None, Shown::None, &[]),
            Ok(None)
        ));
        let packet = ok(2, &with_length(b"info"));
        let read = read(&packet, None, Shown::None, &[]).unwrap().unwrap();
        assert!(read.report.is_empty());
        assert_eq!(read.filtered, packet);
    }

    #[test]
    fn half_a_packet_is_an_error() {
        let whole = ok(STATE_CHANGED, &tracked(GTID));
        for size in 8..whole.len() {
            assert!(
                read(&whole[..size], None, Shown::None, &[]).is_err(),
                "{size}"
            );
        }
        let odd = read(&ok(STATE_CHANGED, &tracked("x")), None, Shown::None, &[]);
        assert_eq!(odd.unwrap().unwrap().report.committed, None);
    }

    fn entry(code: u8, data: &[u8]) -> Vec<u8> {
        [vec![code], with_length(data)].concat()
    }

    #[test]
    fn a_client_gets_the_reports_that_it_asked_for_and_no_others() {
        let variable =
            |name: &str, value: &str| [name, value].map(|t| with_length(t.as_bytes())).concat();
        let zone = entry(0, &variable("time_zone", "+05:00"));
        let schema = entry(1, &with_length(b"a"));
        let ours = [
            entry(0, &variable("sql_mode", "ANSI")),
            entry(0, &variable("statement_id", "7")),
            entry(2, b"1"),
        ];
        let all = [&zone[..], &ours.concat(), &schema].concat();
        let packet = |entries: &[u8]| {
            let tail = [with_length(b""), with_length(entries)].concat();
            ok(STATE_CHANGED | 2, &tail)
        };
        let mut wanted = Trackers::default();
        let filtered = |wanted: &Trackers| {
            let read = read(&packet(&all), Some(wanted), Shown::None, &[]);
            read.unwrap().unwrap().filtered
        };
        assert_eq!(filtered(&wanted), packet(&[&zone[..], &schema].concat()));
        wanted.set("session_track_schema", "OFF");
        assert_eq!(filtered(&wanted), packet(&zone));
        wanted.set("session_track_system_variables", "");
        assert_eq!(filtered(&wanted), ok(2, b""));
        let report = read(&packet(&all), None, Shown::None, &[])
            .unwrap()
            .unwrap()
            .report;
        assert!(report.changed);
        assert_eq!(report.variables.len(), 2);
    }
}
