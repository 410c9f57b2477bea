//! What is the same for all statements with one normal form.

use super::*;
use crate::protocol::charset::Encoding;
use crate::sql::mode::Mode;
use crate::sql::{Class, classify, lex, understand, understand_bytes};

fn normal(sql: &str) -> String {
    let list = &lex::tokens(sql, Mode::Unknown).unwrap().tokens;
    let mut text = String::new();
    Tokens { sql, list }.write_normal(&mut text);
    text
}

#[test]
fn statements_that_differ_in_values_share_a_normal_form_and_no_others_do() {
    assert_eq!(normal("SELECT 1, 'b'"), normal("SELECT 0x22, 'it''s'"));
    for (one, other) in [
        ("SELECT a1", "SELECT a.5"),
        ("SELECT 1.", "SELECT 1..5"),
        ("SELECT 'a'", "SELECT \"a\""),
        ("SELECT a (1)", "SELECT a(1)"),
        ("SELECT `1`", "SELECT 1"),
    ] {
        assert_ne!(normal(one), normal(other), "{one} {other}");
    }
}

#[test]
fn a_remembered_class_is_the_class_that_was_found() {
    for sql in [
        "SELECT 1",
        "SELECT 2 FOR UPDATE",
        "SELECT @@version",
        "SELECT 1 1",
    ] {
        let first = classify(sql);
        assert_eq!(classify(sql), first, "{sql}");
        assert_eq!(classify(&sql.replace(['1', '2'], "77")), first, "{sql}");
    }
}

/// The first hid all others.
#[test]
fn a_statement_has_every_reason_and_shows_the_strongest() {
    use crate::sql::Reasons;
    let all = [
        Reasons::LOCKING,
        Reasons::INTO,
        Reasons::DATA_CHANGE,
        Reasons::FUNCTION,
        Reasons::SERVER_TABLE,
        Reasons::SYSTEM_VARIABLE,
        Reasons::USER_VARIABLE,
        Reasons::SESSION_FUNCTION,
        Reasons::ASSIGNS,
        Reasons::KEEPS_LOCK,
    ];
    for (sql, expected, shown) in [
        (
            "SELECT f(), l.* FROM l FOR SHARE",
            &[0, 3][..],
            "locking read",
        ),
        (
            "SELECT f() INTO OUTFILE 'x' FROM t FOR UPDATE",
            &[0, 1, 3],
            "locking read",
        ),
        (
            "SELECT f(), @@a FROM mysql.t INTO @x",
            &[1, 3, 4, 5, 6, 8],
            "user variable",
        ),
        (
            "SELECT a FROM t WHERE b = @x AND c = USER()",
            &[6, 7],
            "user variable",
        ),
        (
            "WITH c AS (SELECT f()) UPDATE t SET a = 1",
            &[2, 3],
            "data change",
        ),
        (
            "SELECT GET_LOCK('a', 1) FROM t LOCK IN SHARE MODE",
            &[0, 9],
            "GET_LOCK",
        ),
        ("SELECT a FROM t", &[], ""),
    ] {
        let understood = understand(sql);
        let found = |(at, reason): (usize, &Reasons)| understood.reasons.has(*reason).then_some(at);
        let found: Vec<usize> = all.iter().enumerate().filter_map(found).collect();
        assert_eq!(found, expected, "{sql}");
        let text = match understood.class {
            Class::Write(text) | Class::Pin(text) => text,
            _ => "",
        };
        assert_eq!(text, shown, "{sql}");
    }
}

#[test]
fn lists_of_any_length_are_one_statement() {
    let of = |sql: String| {
        let understood = understand(&sql);
        (understood.digest.number, understood.names.map(|n| n.digest))
    };
    let list = |count: usize| {
        of(format!(
            "SELECT a FROM t WHERE b IN ({}?)",
            "?, ".repeat(count)
        ))
    };
    assert_eq!(list(1), list(1_000));
    assert_eq!(list(0), list(1));
    let rows = |count: usize| {
        of(format!(
            "INSERT INTO t VALUES {}(1, 'x')",
            "(2, NULL), ".repeat(count)
        ))
    };
    assert_eq!(rows(3).0, rows(1_000).0);
    assert_eq!(rows(3).0, rows(0).0);
}

#[test]
fn quotes_that_are_known_to_hold_a_string_are_no_names() {
    let names = |mode| {
        let understood = understand_bytes(b"SELECT a FROM t WHERE b = \"c\"", Encoding::Utf8, mode);
        let names = understood.names.unwrap();
        let list: Vec<String> = names.list.iter().map(|n| n.table.to_string()).collect();
        (list.join(" "), names.digest)
    };
    let (default, ansi) = (Mode::known(false, false), Mode::known(true, false));
    assert_eq!(names(Mode::Unknown).0, "a b c t");
    assert_eq!(names(default).0, "a b t");
    assert_eq!(names(ansi).0, "a b c t");
    let plain = understand("SELECT a FROM t WHERE b = 'd'")
        .names
        .unwrap()
        .digest;
    assert_eq!(names(default).1, plain);
    let quoted = understand("SELECT a FROM t WHERE b = `c`")
        .names
        .unwrap()
        .digest;
    assert_eq!(names(ansi).1, quoted);
    let shown = understand_bytes(b"SELECT \"x y\" FROM \"t\"", Encoding::Utf8, ansi).digest;
    assert_eq!(&*shown.text, "SELECT `x y` FROM t");
}
