//! What is the same for all statements with one normal form.

use super::*;
use crate::sql::mode::Mode;
use crate::sql::{classify, lex};

fn normal(sql: &str) -> String {
    let list = &lex::tokens(sql, Mode::Unknown).unwrap().tokens;
    let mut text = String::new();
    Tokens { sql, list }.write_normal(&mut text);
    text
}

#[test]
fn statements_that_differ_in_values_share_a_shape_and_no_others_do() {
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
fn no_value_is_shown_of_a_query() {
    let shown = |sql: &str| {
        let lexed = lex::tokens(sql, Mode::Unknown).unwrap();
        let list = &lexed.tokens;
        readable(&Tokens { sql, list }).to_string()
    };
    for (sql, expected) in [
        (
            "SELECT a FROM t WHERE b = 'secret7'",
            "SELECT a FROM t WHERE b = ?",
        ),
        (
            "SELECT \"secret7\", `c` FROM t -- secret7",
            "SELECT ?, `c` FROM t",
        ),
        (
            "SELECT 7 + 7.7e7, N'secret7' /* secret7 */",
            "SELECT ? + ?, N?",
        ),
    ] {
        assert_eq!(shown(sql), expected);
    }
    for sql in [
        "SELECT x'73656372657437'",
        "SELECT 0x73656372657437",
        "SELECT _utf8'secret7'",
        "SELECT b'1110111'",
        "SELECT 0b1110111",
    ] {
        let shown = shown(sql);
        assert!(
            !shown.contains('7') && !shown.contains("secret") && !shown.contains("111"),
            "{shown}"
        );
    }
    assert_eq!(
        shown(&format!("SELECT {}", "a".repeat(500))).len(),
        LONGEST_READABLE
    );
}

#[test]
fn a_shapes_number_never_changes() {
    assert_eq!(number("SELECT \u{1}"), 0xcaa2_196a_ba34_abfc);
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
