//! Follows a server's response to one command while its bytes pass.
//!
//! In: bytes from the server, in whatever pieces they come. Out: how many of them may be passed on, with the sequence
//! ids that the client expects, and where the response ends.
//! Must never: hold back a row, or need a row whole: only packets that say something about the response are looked into, and
//! what SHOW STATUS says about the client's connection.

use super::session_track::{self, Report, Shown, Trackers};
use super::status_rows::StatusRows;
use super::wire::{
    self, HEADER, MAX_PAYLOAD, Reader, STATUS_AUTOCOMMIT, STATUS_CURSOR_EXISTS,
    STATUS_MORE_RESULTS, STATUS_OUT_PARAMETERS, payload_size,
};
use bytes::BytesMut;

/// A status variable's name and value take less, as do the definitions of their columns.
const LONGEST_STATUS: usize = 4096;

/// What the command's response looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// COM_QUERY, COM_STMT_EXECUTE.
    Results,
    /// COM_STMT_PREPARE; the statement id is replaced by this one.
    Prepare { id: u32 },
    /// COM_STMT_FETCH, COM_FIELD_LIST: packets up to an end.
    Rows,
    /// One packet.
    Single,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    More,
    /// The server waits for a file's content from the client.
    Infile,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    First,
    Columns(u64),
    ColumnsEnd,
    Rows,
    Count(u64),
    Infile,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    pub server_id: u32,
    pub params: u16,
}

/// What a look at the first packet tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    Unknown,
    Error(u16),
    Other,
}

/// The response ended with the error that there is no such connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownThread {
    pub id: u32,
    /// The bytes of its packet, if an OK packet fits in its place: then it was not passed.
    pub kept_back: usize,
}

pub struct Response {
    shape: Shape,
    phase: Phase,
    deprecate_eof: bool,
    seq: u8,
    /// Payload bytes of the current packet that still pass.
    passing: usize,
    /// The packet that passes was full: the next one continues it.
    continued: bool,
    /// Where the last packet begins among the bytes that were looked at last.
    last_at: usize,
    /// Status flags that the client must see besides the server's own.
    pub extra_status: u16,
    /// Until this answer.
    pub autocommit_off: bool,
    /// The status flags seen last.
    pub status: Option<u16>,
    /// The error that ended the response.
    pub error: Option<u16>,
    /// A connection that the server does not know, with this or a higher id, may be the gate's own.
    pub own_ids_from: u32,
    pub unknown_thread: Option<UnknownThread>,
    /// Results that came whole, with more to come.
    pub results: usize,
    /// Rows of OUT parameters pass, behind which there is a result always.
    out_parameters: bool,
    pub prepared: Option<Prepared>,
    /// Warnings that the last result came with.
    pub warnings: u16,
    /// Some result told an insert id.
    pub inserted: bool,
    /// The server's OK packets may end with what changed in the session.
    pub tracks: bool,
    /// Which of that the client gets; nothing: none of it.
    pub wanted: Option<Trackers>,
    pub shown: Shown,
    /// Reports that it was to have before.
    pub owed: Vec<u8>,
    /// What the server has reported of the session.
    pub report: Report,
    /// Its last packet had room for such reports.
    pub reports: bool,
    /// Rows to be replaced, if the statement asks for status variables.
    pub status_rows: Option<Box<StatusRows>>,
}

impl Response {
    /// `seq`: the sequence id of the first packet for the client.
    pub fn new(shape: Shape, deprecate_eof: bool, seq: u8) -> Self {
        let phase = if shape == Shape::Rows {
            Phase::Rows
        } else {
            Phase::First
        };
        Self {
            shape,
            phase,
            deprecate_eof,
            seq,
            passing: 0,
            continued: false,
            last_at: 0,
            extra_status: 0,
            autocommit_off: false,
            status: None,
            error: None,
            own_ids_from: u32::MAX,
            unknown_thread: None,
            results: 0,
            out_parameters: false,
            prepared: None,
            warnings: 0,
            inserted: false,
            tracks: false,
            wanted: None,
            shown: Shown::None,
            owed: Vec::new(),
            report: Report::default(),
            reports: false,
            status_rows: None,
        }
    }

    /// The sequence id that the next packet to the client carries.
    pub fn seq(&self) -> u8 {
        self.seq
    }

    /// Whether an error packet may come next, where the response stands.
    pub fn error_fits(&self) -> bool {
        let between = self.passing == 0 && !self.continued;
        between && matches!(self.phase, Phase::First | Phase::Rows | Phase::Infile)
    }

    /// The last packet is not to pass, but another in its place; returns how many of the bytes that were looked at last come before it.
    pub fn take_back_end(&mut self) -> usize {
        self.seq = self.seq.wrapping_sub(1);
        self.last_at
    }

    /// After the file's content was sent: the result follows.
    pub fn infile_sent(&mut self, seq: u8) {
        self.phase = Phase::First;
        self.seq = seq;
    }

    /// Looks at the bytes of a response of which none were passed yet.
    pub fn first(bytes: &[u8]) -> First {
        let Some((header, came)) = bytes.split_at_checked(HEADER) else {
            return First::Unknown;
        };
        match (payload_size(header), came) {
            // no room for an error's code; what came behind it is of another packet
            (0..3, _) => First::Other,
            (_, [0xff, low, high, ..]) => First::Error(u16::from_le_bytes([*low, *high])),
            (_, [] | [0xff, ..]) => First::Unknown,
            _ => First::Other,
        }
    }

    /// Follows `bytes` (what came and was not passed yet) as far as possible; returns how many pass.
    pub fn advance(&mut self, bytes: &mut BytesMut) -> (usize, Step) {
        let mut at = 0;
        loop {
            let pass = self.passing.min(bytes.len() - at);
            at += pass;
            self.passing -= pass;
            match self.phase {
                _ if self.passing > 0 => return (at, Step::More),
                Phase::Done if !self.continued => return (at, Step::Done),
                Phase::Infile => return (at, Step::Infile),
                _ => {}
            }
            match self.packet(bytes, at) {
                Some(size) => {
                    self.last_at = at;
                    bytes[at + 3] = self.seq;
                    self.seq = self.seq.wrapping_add(1);
                    self.passing = size;
                    at += HEADER;
                }
                None if self.keeps_back() => return (at, Step::Done),
                None => return (at, Step::More),
            }
        }
    }

    fn keeps_back(&self) -> bool {
        self.unknown_thread
            .is_some_and(|unknown| unknown.kept_back > 0)
    }

    /// Looks at the packet there; returns its payload's size, or nothing if more of it is needed.
    fn packet(&mut self, all: &mut BytesMut, at: usize) -> Option<usize> {
        let bytes = &mut all[at..];
        if bytes.len() < HEADER {
            return None;
        }
        let size = payload_size(bytes);
        if self.continued || size == 0 {
            self.continued = size == MAX_PAYLOAD;
            return Some(size);
        }
        let head = *bytes.get(HEADER)?;
        if self.must_be_whole(head, size) {
            let payload = bytes.get_mut(HEADER..HEADER + size)?;
            let phase = self.phase;
            self.reports = false;
            self.look(payload);
            if phase == Phase::First
                && let Some(unknown) = &mut self.unknown_thread
            {
                unknown.kept_back = HEADER + size;
                return None;
            }
            if let Some(plain) = self.tracked(phase, payload) {
                replace(all, at, size, &plain);
                return Some(plain.len());
            }
        } else if self.watches(size) {
            let payload = bytes.get(HEADER..HEADER + size)?;
            let instead = self.instead(payload);
            self.count();
            if let Some(row) = instead {
                replace(all, at, size, &row);
                return Some(row.len());
            }
        } else {
            self.count();
        }
        self.continued = size == MAX_PAYLOAD;
        Some(size)
    }

    /// Whether the packet, a column's definition or a row, has to do with status variables.
    fn watches(&self, size: usize) -> bool {
        let watched = matches!(self.phase, Phase::Columns(_) | Phase::Rows);
        let fits = |rows: &StatusRows| rows.fits() && size <= LONGEST_STATUS;
        watched && self.status_rows.as_deref().is_some_and(fits)
    }

    fn instead(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let rows = self.status_rows.as_mut()?;
        match self.phase {
            Phase::Rows => rows.row(payload),
            _ => {
                rows.column(payload);
                None
            }
        }
    }

    fn must_be_whole(&self, head: u8, size: usize) -> bool {
        match self.phase {
            Phase::First | Phase::ColumnsEnd => true,
            Phase::Rows => head == 0xff || self.ends_rows(head, size),
            Phase::Count(_) => head == 0xfe && size < 9,
            _ => false,
        }
    }

    fn ends_rows(&self, head: u8, size: usize) -> bool {
        head == 0xfe
            && if self.deprecate_eof {
                size < MAX_PAYLOAD
            } else {
                size < 9
            }
    }

    fn count(&mut self) {
        self.phase = match self.phase {
            Phase::Columns(1) if self.deprecate_eof => Phase::Rows,
            Phase::Columns(1) => Phase::ColumnsEnd,
            Phase::Columns(left) => Phase::Columns(left - 1),
            Phase::Count(1) => Phase::Done,
            Phase::Count(left) => Phase::Count(left - 1),
            other => other,
        };
    }

    fn look(&mut self, payload: &mut [u8]) {
        self.phase = match (self.phase, payload[0]) {
            (_, 0xff) => self.failed(payload),
            (Phase::Count(_), _) => {
                self.status_at(payload, 3);
                self.count();
                self.phase
            }
            (Phase::ColumnsEnd, _) => self.columns_end(payload),
            (Phase::Rows, _) => self.end_of_result(payload),
            (_, 0x00) => match self.shape {
                Shape::Prepare { id } => self.prepared(payload, id),
                _ => self.end_of_result(payload),
            },
            _ if self.shape == Shape::Single => self.single(payload),
            (_, 0xfb) => Phase::Infile,
            _ => match Reader::new(payload).lenenc() {
                Ok(columns) if columns > 0 => {
                    if let Some(rows) = &mut self.status_rows {
                        rows.begin(columns);
                    }
                    Phase::Columns(columns)
                }
                _ => Phase::Done,
            },
        };
    }

    fn failed(&mut self, payload: &[u8]) -> Phase {
        let error = wire::parse_err(payload);
        self.error = Some(error.code);
        let id = error.unknown_thread();
        self.unknown_thread = id.filter(|id| *id >= self.own_ids_from).map(|id| {
            let kept_back = 0;
            UnknownThread { id, kept_back }
        });
        self.warnings = 1;
        Phase::Done
    }

    fn columns_end(&mut self, payload: &mut [u8]) -> Phase {
        let status = self.status_at(payload, 3);
        // The EOF packet behind their row lacks STATUS_MORE_RESULTS (measured with 9.7).
        self.out_parameters = status & STATUS_OUT_PARAMETERS != 0;
        if status & STATUS_CURSOR_EXISTS != 0 {
            Phase::Done
        } else {
            Phase::Rows
        }
    }

    fn end_of_result(&mut self, payload: &mut [u8]) -> Phase {
        let is_eof = payload[0] == 0xfe && !self.deprecate_eof;
        let (offset, warnings) = if is_eof {
            (Ok(3), 1)
        } else {
            let offset = wire::ok_status_offset(payload);
            let warnings = offset.as_ref().map_or(0, |o| o + 2);
            (offset, warnings)
        };
        let count = payload.get(warnings..warnings + 2);
        self.warnings = count.map_or(0, |w| u16::from_le_bytes([w[0], w[1]]));
        self.inserted |= !is_eof && wire::ok_insert_id(payload).is_ok_and(|id| id != 0);
        let status = offset.map_or(0, |o| self.status_at(payload, o));
        let out_parameters = std::mem::take(&mut self.out_parameters);
        if status & STATUS_MORE_RESULTS != 0 || out_parameters {
            self.results += 1;
            Phase::First
        } else {
            Phase::Done
        }
    }

    /// Reads what an OK packet says about the session, and returns the packet without it if the client is not to have it.
    fn tracked(&mut self, phase: Phase, payload: &[u8]) -> Option<Vec<u8>> {
        let may_end = phase == Phase::Rows || self.shape == Shape::Single;
        let ends_rows = may_end && self.deprecate_eof && payload[0] == 0xfe;
        let is_ok = phase == Phase::First
            && payload[0] == 0
            && !matches!(self.shape, Shape::Prepare { .. });
        if !self.tracks || !(ends_rows || is_ok) {
            return None;
        }
        self.reports = true;
        let (wanted, owed) = (self.wanted.as_ref(), &self.owed);
        let tracked = session_track::read(payload, wanted, self.shown, owed).ok()??;
        self.owed.clear();
        self.shown = self.shown.after(tracked.report.transaction);
        self.report.add(tracked.report);
        (tracked.filtered != payload).then_some(tracked.filtered)
    }

    fn single(&mut self, payload: &mut [u8]) -> Phase {
        if payload[0] == 0xfe && payload.len() >= 5 {
            self.end_of_result(payload);
        }
        Phase::Done
    }

    fn status_at(&mut self, payload: &mut [u8], offset: usize) -> u16 {
        let Some(place) = payload.get_mut(offset..offset + 2) else {
            return 0;
        };
        let status = u16::from_le_bytes([place[0], place[1]]);
        self.status = Some(status);
        // To switch autocommit on has committed what is open elsewhere.
        let ended = self.autocommit_off && status & STATUS_AUTOCOMMIT != 0;
        let extra = if ended { 0 } else { self.extra_status };
        place.copy_from_slice(&(status | extra).to_le_bytes());
        status
    }

    fn prepared(&mut self, payload: &mut [u8], id: u32) -> Phase {
        let mut reader = Reader::new(&payload[1..]);
        let (Ok(server_id), Ok(columns), Ok(params)) = (reader.u32(), reader.u16(), reader.u16())
        else {
            return Phase::Done;
        };
        payload[1..5].copy_from_slice(&id.to_le_bytes());
        self.prepared = Some(Prepared { server_id, params });
        let end = |count: u16| u64::from(count) + u64::from(count > 0 && !self.deprecate_eof);
        match end(columns) + end(params) {
            0 => Phase::Done,
            packets => Phase::Count(packets),
        }
    }
}

/// Puts another payload into the packet that begins there.
fn replace(bytes: &mut BytesMut, at: usize, size: usize, payload: &[u8]) {
    let behind = bytes.split_off(at + HEADER + size);
    let header = (payload.len() as u32).to_le_bytes();
    bytes[at..at + HEADER].copy_from_slice(&header);
    bytes.truncate(at + HEADER);
    bytes.extend_from_slice(payload);
    bytes.unsplit(behind);
}

#[cfg(test)]
pub(super) mod tests;
