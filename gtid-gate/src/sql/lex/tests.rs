//! What MySQL takes for a name, a number, a string or a comment.

use super::*;

/// Each token's text, with a letter for its kind before it: w, n, s, q for what quotes hold or name, d for either.
fn read(sql: &str, mode: Mode) -> String {
    let lexed = match tokens(sql, mode) {
        Ok(lexed) => lexed,
        Err(unclear) => return unclear.reason.to_owned(),
    };
    let shown = |t: &Token| {
        let text = &sql[t.range()];
        match t.kind {
            Kind::Word => format!("w{text}"),
            Kind::Number => format!("n{text}"),
            Kind::SingleQuoted => format!("s{text}"),
            Kind::Backtick => format!("q{text}"),
            Kind::DoubleQuoted => format!("d{text}"),
            Kind::Symbol(_) => text.to_owned(),
        }
    };
    lexed.tokens.iter().map(shown).collect::<Vec<_>>().join(" ")
}

fn check(cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(read(sql, Mode::Unknown), *expected, "{sql}");
    }
}

/// Measured on MySQL 9.7.
#[test]
fn what_stands_right_after_a_dot_is_a_name_whatever_it_looks_like() {
    check(&[
        ("logs.2024", "wlogs . w2024"),
        ("a.1e5", "wa . w1e5"),
        ("db.0x1", "wdb . w0x1"),
        ("a.2024.5b.select", "wa . w2024 . w5b . wselect"),
        ("2024t.1e5", "w2024t . w1e5"),
        ("a.$t$x", "wa . w$t$x"),
        ("select.5", "wselect . w5"),
        ("a. 5", "wa . n5"),
        ("a .5", "wa n.5"),
        ("`a`.5", "q`a` n.5"),
        (".t", ". wt"),
        ("a/**/.5", "wa n.5"),
        ("1.5.6", "n1.5 n.6"),
        ("1.e5", "n1.e5"),
    ]);
}

#[test]
fn a_name_may_begin_with_digits_or_a_dollar_sign() {
    check(&[
        (
            "2024t 1a 1e 0b 0x 0X1 0x1g 0b12 1$ 1é",
            "w2024t w1a w1e w0b w0x w0X1 w0x1g w0b12 w1$ w1é",
        ),
        ("1e+x", "w1e + wx"),
        ("$ $t a$b$ _1", "w$ w$t wa$b$ w_1"),
        ("$$a$$", "text between dollar signs"),
        ("$x$ a", "text between dollar signs"),
    ]);
}

#[test]
fn a_number_ends_where_mysql_ends_it() {
    check(&[
        (
            "1.5FOR 1.FOR .5FOR 1e5FOR 1e+5FOR",
            "n1.5 wFOR n1. wFOR n.5 wFOR n1e5 wFOR n1e+5 wFOR",
        ),
        ("0x1F 0b01 1 .5 1e5", "n0x1F n0b01 n1 n.5 n1e5"),
        // MySQL forgets them: `1.e(2)` is 2
        ("1.e(2)", "number without an exponent after its e"),
        (".5ex", "number without an exponent after its e"),
    ]);
}

#[test]
fn in_a_known_mode_quotes_and_backslashes_mean_one_thing() {
    let (default, ansi) = (Mode::known(false, false), Mode::known(true, false));
    let literal = Mode::known(false, true);
    for (sql, in_default, in_ansi, in_literal) in [
        (r"'a\' b'", r"s'a\' b'", r"s'a\' b'", "unfinished quotes"),
        (
            r"'a\' b -- '",
            r"s'a\' b -- '",
            r"s'a\' b -- '",
            r"s'a\' wb",
        ),
        (
            "\"a\\\" b -- \"",
            "s\"a\\\" b -- \"",
            "q\"a\\\" wb",
            "s\"a\\\" wb",
        ),
        ("\"a\" `b`", "s\"a\" q`b`", "q\"a\" q`b`", "s\"a\" q`b`"),
    ] {
        assert_eq!(read(sql, default), in_default, "{sql}");
        assert_eq!(read(sql, ansi), in_ansi, "{sql}");
        assert_eq!(read(sql, literal), in_literal, "{sql}");
    }
}

#[test]
fn what_only_the_mode_makes_clear_is_known_as_such() {
    let ambiguous = |sql: &str| {
        tokens(sql, Mode::Unknown)
            .err()
            .is_some_and(|u| u.ambiguous)
    };
    for sql in [
        r"SELECT 'a\' FOR UPDATE -- '",
        r#"SELECT "a\" FOR UPDATE -- ""#,
        r"SELECT 'a\'",
    ] {
        assert!(ambiguous(sql), "{sql}");
        assert!(tokens(sql, Mode::known(false, true)).is_ok(), "{sql}");
    }
    for sql in [
        r"SELECT 'O\'Reilly'",
        r"SELECT 'a\\', 'b\n'",
        "SELECT 'a",
        "SELECT $$",
    ] {
        assert!(!ambiguous(sql), "{sql}");
    }
}

#[test]
fn long_lists_of_values_take_no_memory_for_each_of_their_values() {
    for (sql, kept) in [
        (format!("SELECT a IN ({}1)", "1, ".repeat(400_000)), 8),
        (
            format!(
                "SELECT a IN ({}'x')",
                "-1,N'a',_utf8'b',x'41',NULL,?,".repeat(50_000)
            ),
            10,
        ),
        (
            format!("INSERT INTO t VALUES {}(1, 2)", "(1, 'a'),".repeat(100_000)),
            15,
        ),
        (
            format!("SELECT (a,b) IN ({}(1,2))", "(1,2),".repeat(100_000)),
            20,
        ),
        (format!("SELECT a IN ({}1)", "\"x\",".repeat(10)), 26),
    ] {
        assert_eq!(
            tokens(&sql, Mode::Unknown).unwrap().tokens.len(),
            kept,
            "{}",
            &sql[..50]
        );
    }
    assert_eq!(size_of::<Token>(), 12);
}

#[test]
fn what_may_be_a_name_stays_in_a_list() {
    for sql in [
        "(a, b, c, d)",
        "(1, a, 1, b, 1)",
        "(1,(2),(a),3)",
        "((1),(a),(2),(b))",
        "(1,\"a\",\"b\",\"c\")",
    ] {
        let of = |sql: &str| read(sql, Mode::Unknown);
        assert_eq!(
            of(sql).matches(['a', 'b', 'c', 'd']).count(),
            sql.matches(['a', 'b', 'c', 'd']).count() + sql.matches('"').count() / 2
        );
    }
}

#[test]
fn a_statement_of_too_many_words_is_not_looked_at() {
    let words = "a ".repeat(MOST_TOKENS + 1);
    assert_eq!(tokens(&words, Mode::Unknown).err(), Some(TOO_MANY));
}

#[test]
fn a_comment_for_some_versions_is_read_as_the_servers_read_it() {
    let words = |sql: &str, version| {
        let mode = Mode::known(false, false).of_version(version);
        let lexed = tokens(sql, mode).ok()?;
        let text = |t: &Token| &sql[t.range()];
        Some(lexed.tokens.iter().map(text).collect::<Vec<_>>().join(" "))
    };
    let known = |sql: &str| words(sql, 90_704).unwrap();
    assert_eq!(known("COMMIT /*!99999 nothing */"), "COMMIT");
    assert_eq!(known("use b /*!80100 */"), "use b");
    assert_eq!(known("SELECT 1 /*!80023 , 2 */"), "SELECT 1 , 2");
    assert_eq!(known("/*!99999 /* inner */ x */ COMMIT"), "COMMIT");
    assert!(words("/*!99999 /* inner */ x", 90_704).is_none());
    // Six digits, and servers that differ.
    assert!(words("SELECT 1 /*!080023 , 2 */", 90_704).is_none());
    assert!(words("SELECT 1 /*!80023 , 2 */", 0).is_none());
}
