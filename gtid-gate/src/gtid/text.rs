//! MySQL's text form of GTID sets, read and printed.
//!
//! In: `uuid:1-5:7:tag:2, UUID:9` with blanks wherever MySQL 9.7 takes them (measured: around every part but
//! inside uuids, numbers and tags). Out: the set; `Display` is MySQL's canonical form without its newlines.
//! Must never: panic, whatever the text.

use super::interval::Interval;
use super::set::{Gtid, GtidError, GtidSet, MAX_NUMBER, Source, Tag};
use std::fmt;

impl GtidSet {
    /// Reads MySQL's text form; the empty string is the empty set.
    pub fn parse(text: &str) -> Result<Self, GtidError> {
        parse(text)
    }
}

fn parse(text: &str) -> Result<GtidSet, GtidError> {
    let mut cursor = Cursor::new(text);
    let mut set = GtidSet::new();
    loop {
        while cursor.take(b',') {}
        if cursor.at_end() {
            return Ok(set);
        }
        parse_source(&mut cursor, &mut set)?;
        if !cursor.at_end() && !cursor.take(b',') {
            return Err(cursor.error("expected a comma"));
        }
    }
}

/// `uuid`, then any number of `:interval` and `:tag`; a tag holds for the intervals after it.
fn parse_source(cursor: &mut Cursor, set: &mut GtidSet) -> Result<(), GtidError> {
    let mut source = Source {
        uuid: cursor.uuid()?,
        tag: Tag::default(),
    };
    while cursor.take(b':') {
        match cursor.tag()? {
            Some(tag) => source.tag = tag,
            None => parse_interval(cursor, source, set)?,
        }
    }
    Ok(())
}

fn parse_interval(cursor: &mut Cursor, source: Source, set: &mut GtidSet) -> Result<(), GtidError> {
    let first = cursor.number()?;
    let last = if cursor.take(b'-') {
        cursor.last()?
    } else {
        first
    };
    // like MySQL, an interval that ends before it starts is empty, not an error
    if first <= last {
        set.insert_interval(source, Interval::inclusive(first, last));
    }
    Ok(())
}

/// A place in the text. Every method that reads a part skips blanks before it.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            at: 0,
        }
    }

    pub fn error(&self, what: &'static str) -> GtidError {
        GtidError { at: self.at, what }
    }

    pub fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    pub fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// The next byte that is not a blank.
    pub fn peek(&mut self) -> Option<u8> {
        while self.byte().is_some_and(is_blank) {
            self.at += 1;
        }
        self.byte()
    }

    pub fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The byte that stands `distance` bytes further on.
    pub fn after(&self, distance: usize) -> Option<u8> {
        self.bytes.get(self.at + distance).copied()
    }

    /// The bytes from here on for which `wanted` holds.
    pub fn run(&self, wanted: impl Fn(&u8) -> bool) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take_while(|b| wanted(b)).count();
        &rest[..length]
    }

    /// 32 hex digits; or with dashes after 8, 12, 16 and 20 of them; or that in braces.
    pub fn uuid(&mut self) -> Result<[u8; 16], GtidError> {
        let braced = self.take(b'{');
        let mut uuid = [0; 16];
        let dashed = braced || self.after(8) == Some(b'-');
        for (i, byte) in uuid.iter_mut().enumerate() {
            if dashed && matches!(i, 4 | 6 | 8 | 10) {
                self.expect(b'-', "expected a dash")?;
            }
            *byte = self.hex_digit()? << 4 | self.hex_digit()?;
        }
        if braced {
            self.expect(b'}', "expected a closing brace")?;
        }
        Ok(uuid)
    }

    fn hex_digit(&mut self) -> Result<u8, GtidError> {
        let digit = self.byte().and_then(|b| char::from(b).to_digit(16));
        let digit = digit.ok_or_else(|| self.error("expected a hex digit of a uuid"))?;
        self.at += 1;
        Ok(digit as u8)
    }

    fn expect(&mut self, wanted: u8, otherwise: &'static str) -> Result<(), GtidError> {
        if self.byte() != Some(wanted) {
            return Err(self.error(otherwise));
        }
        self.at += 1;
        Ok(())
    }

    pub fn tag(&mut self) -> Result<Option<Tag>, GtidError> {
        if !self
            .peek()
            .is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        {
            return Ok(None);
        }
        let text = self.run(|b| *b == b'_' || b.is_ascii_alphanumeric());
        let mut tag = Tag::default();
        let Some(room) = tag.0.get_mut(..text.len()) else {
            return Err(self.error("a tag has at most 32 characters"));
        };
        room.copy_from_slice(text);
        room.make_ascii_lowercase();
        self.at += text.len();
        Ok(Some(tag))
    }

    /// A transaction number, 1 to 2^63 - 2.
    pub fn number(&mut self) -> Result<u64, GtidError> {
        let (_, start) = (self.peek(), self.at);
        let number = self.last()?;
        if number == 0 {
            let what = "transaction numbers start at 1";
            return Err(GtidError { at: start, what });
        }
        Ok(number)
    }

    /// The end of an interval, where MySQL takes 0 as well.
    fn last(&mut self) -> Result<u64, GtidError> {
        self.peek();
        let digits = self.run(u8::is_ascii_digit);
        if digits.is_empty() {
            return Err(self.error("expected a number"));
        }
        let append = |n: u64, d: &u8| n.checked_mul(10)?.checked_add(u64::from(d - b'0'));
        let number = digits
            .iter()
            .try_fold(0, append)
            .filter(|n| *n <= MAX_NUMBER);
        let number = number.ok_or_else(|| self.error("number out of range"))?;
        self.at += digits.len();
        Ok(number)
    }
}

/// What C's isspace() takes, as MySQL does.
fn is_blank(byte: u8) -> bool {
    byte == b'\x0b' || byte.is_ascii_whitespace()
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed: Option<[u8; 16]> = None;
        for (source, intervals) in &self.sources {
            if printed != Some(source.uuid) {
                f.write_str(if printed.is_some() { "," } else { "" })?;
                write_uuid(f, &source.uuid)?;
                printed = Some(source.uuid);
            }
            write_tag(f, source.tag)?;
            for interval in intervals.iter() {
                write_interval(f, interval)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, &self.source.uuid)?;
        write_tag(f, self.source.tag)?;
        write!(f, ":{}", self.number)
    }
}

fn write_uuid(f: &mut fmt::Formatter<'_>, uuid: &[u8; 16]) -> fmt::Result {
    for (i, byte) in uuid.iter().enumerate() {
        f.write_str(if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" })?;
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

fn write_tag(f: &mut fmt::Formatter<'_>, tag: Tag) -> fmt::Result {
    match tag.as_str() {
        "" => Ok(()),
        name => write!(f, ":{name}"),
    }
}

fn write_interval(f: &mut fmt::Formatter<'_>, interval: &Interval) -> fmt::Result {
    match interval.end - interval.start {
        1 => write!(f, ":{}", interval.start),
        _ => write!(f, ":{}-{}", interval.start, interval.end - 1),
    }
}

impl Tag {
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        // only ASCII ever gets in; an empty answer is unreachable
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GtidSet({self})")
    }
}

impl std::str::FromStr for GtidSet {
    type Err = GtidError;
    fn from_str(text: &str) -> Result<Self, GtidError> {
        parse(text)
    }
}

impl std::str::FromStr for Gtid {
    type Err = GtidError;
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut cursor = Cursor::new(text);
        let uuid = cursor.uuid()?;
        let mut tag = None;
        if cursor.take(b':') {
            tag = cursor.tag()?;
        }
        if tag.is_some() && !cursor.take(b':') {
            return Err(cursor.error("expected a number"));
        }
        let number = cursor.number()?;
        if !cursor.at_end() {
            return Err(cursor.error("expected the end of a single gtid"));
        }
        let tag = tag.unwrap_or_default();
        Ok(Gtid {
            source: Source { uuid, tag },
            number,
        })
    }
}
