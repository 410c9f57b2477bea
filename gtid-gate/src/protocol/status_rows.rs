//! The rows of SHOW STATUS and of the tables of status variables, with what they tell about the client's own connection.
//!
//! In: the packets of a result. Out: the rows that have to be replaced. Must never: change a row of another statement's result.

use crate::protocol::tls_status::OwnStatus;
use crate::protocol::wire::{Reader, put_lenenc_bytes};

/// Of SHOW STATUS, and of the tables.
const COLUMNS: [[&str; 2]; 2] = [
    ["variable_name", "value"],
    ["variable_name", "variable_value"],
];
/// What a row in the binary protocol begins with if no value is NULL.
const BINARY: [u8; 2] = [0, 0];

pub struct StatusRows {
    status: OwnStatus,
    binary: bool,
    columns_seen: usize,
    /// The result, as far as it is known, is one of SHOW STATUS.
    fits: bool,
}

impl StatusRows {
    pub fn new(status: OwnStatus, binary: bool) -> Self {
        Self {
            status,
            binary,
            columns_seen: 0,
            fits: false,
        }
    }

    /// Rows that a cursor of SHOW STATUS gives: no definitions come before them.
    pub fn fetched(status: OwnStatus) -> Self {
        Self {
            fits: true,
            ..Self::new(status, true)
        }
    }

    pub fn begin(&mut self, columns: u64) {
        self.columns_seen = 0;
        self.fits = columns == COLUMNS[0].len() as u64;
    }

    pub fn fits(&self) -> bool {
        self.fits
    }

    pub fn column(&mut self, definition: &[u8]) {
        let name = column_name(definition).unwrap_or_default();
        let is_it = |names: &[&str; 2]| {
            let expected = names.get(self.columns_seen);
            expected.is_some_and(|n| n.as_bytes().eq_ignore_ascii_case(name))
        };
        self.fits &= COLUMNS.iter().any(is_it);
        self.columns_seen += 1;
    }

    /// What a row has to be instead.
    pub fn row(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let head: &[u8] = if self.binary { &BINARY } else { &[] };
        let mut reader = Reader::new(payload.strip_prefix(head)?);
        let name = reader.lenenc_bytes().ok()?;
        let value = self.status.value(std::str::from_utf8(name).ok()?)?;
        reader.lenenc_bytes().ok().filter(|_| reader.is_empty())?;
        let mut row = head.to_vec();
        put_lenenc_bytes(&mut row, name);
        put_lenenc_bytes(&mut row, value);
        Some(row)
    }
}

/// The name follows catalog, schema, table and the table's own name.
fn column_name(definition: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(definition);
    for _ in 0..4 {
        reader.lenenc_bytes().ok()?;
    }
    reader.lenenc_bytes().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::response::tests::{end, eof, follow, framed};
    use crate::protocol::response::{Response, Shape, Step};
    use crate::protocol::tls_status::SslStatus;
    use crate::protocol::wire::STATUS_MORE_RESULTS;
    use proptest::prelude::*;

    const CIPHER: &str = "TLS_AES_256_GCM_SHA384";

    fn strings(head: &[u8], strings: &[&str]) -> Vec<u8> {
        let mut out = head.to_vec();
        for string in strings {
            put_lenenc_bytes(&mut out, string.as_bytes());
        }
        out
    }

    /// A result of two columns.
    fn result(
        columns: [&str; 2],
        head: &[u8],
        rows: &[[&str; 2]],
        deprecate_eof: bool,
        status: u16,
    ) -> Vec<Vec<u8>> {
        let last = if deprecate_eof { end } else { eof };
        let definition = |name| strings(&[], &["def", "", "session_status", "", name, ""]);
        let mut packets = vec![vec![2]];
        packets.extend(columns.map(definition));
        packets.extend((!deprecate_eof).then(|| eof(2)));
        packets.extend(rows.iter().map(|row| strings(head, row)));
        packets.push(last(status));
        packets
    }

    fn passed(rows: StatusRows, deprecate_eof: bool, packets: &[Vec<u8>], piece: usize) -> Vec<u8> {
        let mut response = Response::new(Shape::Results, deprecate_eof, 1);
        response.status_rows = Some(Box::new(rows));
        let (passed, left, step) = follow(&mut response, &framed(packets), piece);
        assert_eq!((left.len(), step), (0, Step::Done));
        passed
    }

    proptest! {
        #[test]
        fn a_client_is_told_its_own_cipher_in_whatever_pieces_the_rows_come(
            piece in 1usize..200,
            deprecate_eof: bool,
            binary: bool,
        ) {
            let head: &[u8] = if binary { &BINARY } else { &[] };
            let told = |cipher, status| result(
                ["Variable_name", "Value"],
                head,
                &[["Questions", "7"], ["Ssl_accepts", "1"], ["Ssl_cipher", cipher], ["Uptime", "9"]],
                deprecate_eof,
                status,
            );
            let rows = StatusRows::new(OwnStatus::test(SslStatus::TEST), binary);
            let several = |cipher| [told(cipher, 2 | STATUS_MORE_RESULTS), told(cipher, 2)].concat();
            prop_assert_eq!(
                passed(rows, deprecate_eof, &several(""), piece),
                framed(&several(CIPHER)).to_vec()
            );
        }
    }

    #[test]
    fn a_client_that_pins_the_key_is_told_the_gates() {
        let told = |key| {
            let rows = [["Caching_sha2_password_rsa_public_key", key]];
            result(["variable_name", "VARIABLE_VALUE"], &[], &rows, true, 2)
        };
        let rows = StatusRows::new(OwnStatus::test(SslStatus::TEST), false);
        let passed = passed(rows, true, &told("the master's"), 1000);
        assert_eq!(passed, framed(&told("a key\n")).to_vec());
    }

    #[test]
    fn without_tls_the_servers_cipher_is_not_told() {
        let told = |cipher| {
            let rows = [["Ssl_cipher", cipher]];
            result(["Variable_name", "Value"], &[], &rows, true, 2)
        };
        let rows = StatusRows::new(OwnStatus::test(SslStatus::default()), false);
        let passed = passed(rows, true, &told(CIPHER), 1000);
        assert_eq!(passed, framed(&told("")).to_vec());
    }

    #[test]
    fn rows_of_other_columns_and_other_shapes_stay_as_they_are() {
        let same = |packets: &[Vec<u8>]| {
            let rows = StatusRows::new(OwnStatus::test(SslStatus::TEST), false);
            assert_eq!(passed(rows, true, packets, 7), framed(packets).to_vec());
        };
        let rows = [["Ssl_cipher", ""]];
        same(&result(["name", "Value"], &[], &rows, true, 2));
        same(&result(["Value", "Variable_name"], &[], &rows, true, 2));
        let long = ["Ssl_cipher", &"x".repeat(70_000)];
        same(&result(["Variable_name", "Value"], &[], &[long], true, 2));
        let mut three = result(["Variable_name", "Value"], &[], &[], true, 2);
        three[0] = vec![3];
        three.insert(3, strings(&[], &["def", "", "t", "", "more", ""]));
        three.insert(4, strings(&[], &["Ssl_cipher", "", ""]));
        same(&three);
    }

    #[test]
    fn rows_that_a_cursor_gives_are_replaced_too() {
        let told = |cipher| vec![strings(&BINARY, &["Ssl_cipher", cipher]), end(2)];
        let mut response = Response::new(Shape::Rows, true, 1);
        response.status_rows = Some(Box::new(StatusRows::fetched(OwnStatus::test(
            SslStatus::TEST,
        ))));
        let (passed, _, step) = follow(&mut response, &framed(&told("")), 5);
        assert_eq!((passed, step), (framed(&told(CIPHER)).to_vec(), Step::Done));
    }
}
