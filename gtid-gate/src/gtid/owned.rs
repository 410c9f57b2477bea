//! `@@global.gtid_owned`: the GTIDs that running transactions hold, with their threads.
//!
//! In: `uuid:7#16:8#15uuid:tag:5#14`. Measured on 9.7: the numbers are unsorted and **nothing** stands between
//! an owner and the next uuid, so an owner ends eight hex digits before a dash; commas are taken too.
//! Out: the set without owners. Must never: take a digit of a uuid for one of an owner.

use super::interval::Interval;
use super::set::{GtidError, GtidSet, Source, Tag};
use super::text::Cursor;

/// Hex digits of a uuid before its first dash.
const UUID_HEAD: usize = 8;

impl GtidSet {
    /// Reads `@@global.gtid_owned` (numbers carry `#thread`) and drops the owners.
    pub fn parse_owned(text: &str) -> Result<Self, GtidError> {
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
    }
}

fn parse_source(cursor: &mut Cursor, set: &mut GtidSet) -> Result<(), GtidError> {
    let uuid = cursor.uuid()?;
    let mut tag = Tag::default();
    let mut empty = true;
    while cursor.take(b':') {
        match cursor.tag()? {
            Some(found) => tag = found,
            None => {
                set.insert_interval(Source { uuid, tag }, Interval::one(cursor.number()?));
                skip_owners(cursor)?;
                empty = false;
            }
        }
    }
    // a uuid without a number is a text that was cut off: something is owned that we don't know
    if empty {
        return Err(cursor.error("expected an owned transaction"));
    }
    Ok(())
}

fn skip_owners(cursor: &mut Cursor) -> Result<(), GtidError> {
    while cursor.take(b'#') {
        let mut owner = cursor.run(u8::is_ascii_hexdigit);
        let uuid_follows = cursor.after(owner.len()) == Some(b'-');
        if uuid_follows {
            owner = &owner[..owner.len().saturating_sub(UUID_HEAD)];
        }
        if owner.is_empty() || !owner.iter().all(u8::is_ascii_digit) {
            return Err(cursor.error("expected the owner's thread id"));
        }
        cursor.at += owner.len();
    }
    Ok(())
}
