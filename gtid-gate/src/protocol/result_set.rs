//! A result of the gate's own, in MySQL's text or binary protocol.
//!
//! In: columns and rows. Out: the payloads of its packets; and what COM_STMT_PREPARE is answered for a statement with such a result.
//! Must never: give a client that does not speak UTF-8 other bytes than ASCII.

use crate::protocol::wire::{put_lenenc, put_lenenc_bytes};

const UTF8MB4: u16 = 255;
const BINARY: u16 = 63;
const VAR_STRING: u8 = 253;
const LONGLONG: u8 = 8;
const DOUBLE: u8 = 5;
const BINARY_FLAG: u16 = 128;
const UNSIGNED_BINARY: u16 = 32 | BINARY_FLAG;
/// Bytes that a value of text is said to have at most: MySQL's longest VARCHAR, in characters of four bytes.
const LONGEST_TEXT: u32 = 16_383 * 4;
/// Of numbers that are no integers.
const DECIMALS: u8 = 3;
/// NULL in a row of text.
const NULL: u8 = 0xfb;
/// The bitmap of NULLs in a binary row begins with two bits of something else.
const NULL_OFFSET: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// VARCHAR, utf8mb4.
    Text,
    /// BIGINT UNSIGNED.
    Count,
    /// DOUBLE, shown with three decimals.
    Real,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

impl Column {
    pub const fn text(name: &'static str) -> Self {
        Self {
            name,
            kind: Kind::Text,
        }
    }

    pub const fn count(name: &'static str) -> Self {
        Self {
            name,
            kind: Kind::Count,
        }
    }

    pub const fn real(name: &'static str) -> Self {
        Self {
            name,
            kind: Kind::Real,
        }
    }
}

/// One value, of its column's kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Text(String),
    Count(u64),
    Real(f64),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

/// How the client wants its packets.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// An execution of a prepared statement.
    pub binary: bool,
    /// No EOF packet after the columns, and an OK packet in the place of the one after the rows.
    pub deprecate_eof: bool,
    /// It reads UTF-8.
    pub utf8: bool,
    /// Status flags.
    pub status: u16,
}

pub struct ResultSet {
    pub columns: &'static [Column],
    pub rows: Vec<Vec<Value>>,
}

impl ResultSet {
    pub fn packets(&self, form: Form) -> Vec<Vec<u8>> {
        let mut count = Vec::new();
        put_lenenc(&mut count, self.columns.len() as u64);
        let mut packets = vec![count];
        packets.extend(definitions(self.columns, form));
        packets.extend(self.rows.iter().map(|values| row(values, form)));
        packets.push(match form.deprecate_eof {
            true => end(form.status),
            false => eof(form.status),
        });
        packets
    }
}

/// The answer to COM_STMT_PREPARE.
pub fn prepared(id: u32, params: u16, columns: &[Column], form: Form) -> Vec<Vec<u8>> {
    let mut ok = vec![0];
    ok.extend_from_slice(&id.to_le_bytes());
    ok.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    ok.extend_from_slice(&params.to_le_bytes());
    ok.extend_from_slice(&[0, 0, 0]);
    let mut packets = vec![ok];
    let params = vec![Column::text("?"); params.into()];
    for list in [&params[..], columns] {
        if !list.is_empty() {
            packets.extend(definitions(list, form));
        }
    }
    packets
}

fn definitions(columns: &[Column], form: Form) -> impl Iterator<Item = Vec<u8>> {
    let eof = (!form.deprecate_eof).then(|| eof(form.status));
    columns.iter().map(definition).chain(eof)
}

/// As MySQL's page "Column Definition" has it: catalog, schema, tables, names, and twelve bytes.
fn definition(column: &Column) -> Vec<u8> {
    let (charset, length, code, flags, decimals) = match column.kind {
        Kind::Text => (UTF8MB4, LONGEST_TEXT, VAR_STRING, 0, 0),
        Kind::Count => (BINARY, 20, LONGLONG, UNSIGNED_BINARY, 0),
        Kind::Real => (BINARY, 22, DOUBLE, BINARY_FLAG, DECIMALS),
    };
    let mut out = Vec::new();
    for text in ["def", "", "", "", column.name, ""] {
        put_lenenc_bytes(&mut out, text.as_bytes());
    }
    out.push(12);
    out.extend_from_slice(&charset.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.push(code);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[decimals, 0, 0]);
    out
}

fn row(values: &[Value], form: Form) -> Vec<u8> {
    match form.binary {
        true => binary_row(values, form),
        false => text_row(values, form),
    }
}

fn text_row(values: &[Value], form: Form) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        match value {
            Value::Null => out.push(NULL),
            Value::Text(text) => put_text(&mut out, text, form),
            Value::Count(count) => put_text(&mut out, &count.to_string(), form),
            Value::Real(real) => put_text(&mut out, &format!("{real:.3}"), form),
        }
    }
    out
}

fn binary_row(values: &[Value], form: Form) -> Vec<u8> {
    let mut out = vec![0; 1 + (values.len() + NULL_OFFSET).div_ceil(8)];
    for (at, value) in values.iter().enumerate() {
        match value {
            Value::Null => {
                let bit = at + NULL_OFFSET;
                out[1 + bit / 8] |= 1 << (bit % 8);
            }
            Value::Text(text) => put_text(&mut out, text, form),
            Value::Count(count) => out.extend_from_slice(&count.to_le_bytes()),
            Value::Real(real) => out.extend_from_slice(&real.to_le_bytes()),
        }
    }
    out
}

fn put_text(out: &mut Vec<u8>, text: &str, form: Form) {
    if form.utf8 || text.is_ascii() {
        return put_lenenc_bytes(out, text.as_bytes());
    }
    let ascii = |c: char| if c.is_ascii() { c } else { '?' };
    let text: String = text.chars().map(ascii).collect();
    put_lenenc_bytes(out, text.as_bytes());
}

/// No warnings.
fn eof(status: u16) -> Vec<u8> {
    let status = status.to_le_bytes();
    vec![0xfe, 0, 0, status[0], status[1]]
}

/// An OK packet after rows: no rows affected, no insert id, no warnings.
fn end(status: u16) -> Vec<u8> {
    let status = status.to_le_bytes();
    vec![0xfe, 0, 0, status[0], status[1], 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::response::tests::{follow, framed};
    use crate::protocol::response::{Response, Shape, Step};
    use proptest::prelude::*;

    const COLUMNS: &[Column] = &[
        Column::text("server"),
        Column::count("reads"),
        Column::real("lag_ms"),
    ];

    const TEXT: Form = Form {
        binary: false,
        deprecate_eof: true,
        utf8: true,
        status: 2,
    };

    fn result() -> ResultSet {
        ResultSet {
            columns: COLUMNS,
            rows: vec![
                vec!["é".into(), u64::MAX.into(), 1.25.into()],
                vec![Value::Null, Value::Null, Value::Null],
            ],
        }
    }

    #[test]
    fn columns_say_what_they_are_and_rows_come_as_text() {
        let packets = result().packets(TEXT);
        assert_eq!(packets.len(), 1 + 3 + 2 + 1);
        assert_eq!(packets[0], [3]);
        assert_eq!(
            packets[1],
            b"\x03def\0\0\0\x06server\0\x0c\xff\0\xfc\xff\0\0\xfd\0\0\0\0\0"
        );
        assert_eq!(
            packets[2],
            b"\x03def\0\0\0\x05reads\0\x0c\x3f\0\x14\0\0\0\x08\xa0\0\0\0\0"
        );
        assert_eq!(
            packets[3],
            b"\x03def\0\0\0\x06lag_ms\0\x0c\x3f\0\x16\0\0\0\x05\x80\0\x03\0\0"
        );
        assert_eq!(packets[4], b"\x02\xc3\xa9\x1418446744073709551615\x051.250");
        assert_eq!(packets[5], [0xfb, 0xfb, 0xfb]);
        assert_eq!(packets[6], [0xfe, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn a_client_that_wants_eof_packets_gets_two() {
        let form = Form {
            deprecate_eof: false,
            ..TEXT
        };
        let packets = result().packets(form);
        assert_eq!(packets.len(), 1 + 3 + 1 + 2 + 1);
        assert_eq!((&packets[4], &packets[7]), (&eof(2), &eof(2)));
        let prepared = prepared(7, 2, COLUMNS, form);
        assert_eq!(prepared[0], [0, 7, 0, 0, 0, 3, 0, 2, 0, 0, 0, 0]);
        assert_eq!(prepared.len(), 1 + 2 + 1 + 3 + 1);
        assert_eq!((&prepared[3], &prepared[7]), (&eof(2), &eof(2)));
    }

    #[test]
    fn rows_of_prepared_statements_are_binary() {
        let form = Form {
            binary: true,
            ..TEXT
        };
        let packets = result().packets(form);
        let mut first = vec![0, 0, 2, 0xc3, 0xa9];
        first.extend_from_slice(&[0xff; 8]);
        first.extend_from_slice(&1.25f64.to_le_bytes());
        assert_eq!(packets[4], first);
        assert_eq!(packets[5], [0, 0b11100]);
    }

    #[test]
    fn a_client_that_reads_no_utf8_gets_ascii() {
        let form = Form {
            utf8: false,
            ..TEXT
        };
        assert!(result().packets(form)[4].starts_with(b"\x01?"));
    }

    proptest! {
        /// The gate follows servers' answers with the same rules as clients do: it finds where this one ends.
        #[test]
        fn a_client_finds_the_end(
            texts in prop::collection::vec(prop::option::of(".{0,300}"), 0..20),
            binary: bool, deprecate_eof: bool, piece in 1usize..100,
        ) {
            let row = |text: &Option<String>| vec![text.clone().into(), 1u64.into(), Value::Null];
            let result = ResultSet { columns: COLUMNS, rows: texts.iter().map(row).collect() };
            let form = Form { binary, deprecate_eof, utf8: true, status: 2 };
            let bytes = framed(&result.packets(form));
            let mut response = Response::new(Shape::Results, deprecate_eof, 1);
            let (_, left, step) = follow(&mut response, &bytes, piece);
            prop_assert_eq!((left.len(), step), (0, Step::Done));
        }
    }
}
