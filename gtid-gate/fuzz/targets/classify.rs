//! What a statement may do, of any text.
//!
//! In: a statement. Checked: no panic, in any character set; blanks, comments and a last semicolon change nothing; nothing
//! that begins like a change, or ends in a lock, is a read; and a plain text with a word that locks, writes or waits is none, nor one in
//! which a parser sees more.
#![no_main]

use gtid_gate::protocol::charset::Encoding;
use gtid_gate::sql::{Class, Mode, classify, is_system_schema, understand_bytes};

#[path = "../../tests/oracle/mod.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for charset in ["latin1", "gbk", "swe7"] {
        let class = understand_bytes(bytes, Encoding::of(charset), Mode::unknown()).class;
        assert!(class != Class::Read || (bytes.is_ascii() && charset != "swe7"));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
});

fn check(text: &str) {
    let class = classify(text);
    let read = understand_bytes(text.as_bytes(), Encoding::Utf8, Mode::unknown()).class;
    assert_eq!(read, class);
    let _ = is_system_schema(text);
    blanks_change_nothing(text, &class);
    changes_are_no_reads(text);
    if class == Class::Read {
        locks_are_no_reads(text);
        assert!(!oracle::sees_more_than_a_read(text), "{text:?}");
        plain_words_are_harmless(text);
    }
}

fn blanks_change_nothing(text: &str, class: &Class) {
    let same = [
        format!("\n {text}"),
        format!("/* c */{text}"),
        format!("-- c\n{text}"),
        format!("{text}\n\t"),
        format!("{text}\n;"),
    ];
    for same in same {
        agree(&same, class);
    }
    // what ends in an open comment would be ended by these
    if !matches!(class, Class::Write("unfinished comment")) {
        agree(&format!("{text}\n/* c */"), class);
        agree(&format!("{text}\n-- c"), class);
        agree(&format!("{text}\n# c"), class);
    }
}

/// The reason of a write may be another. A backslash may become unclear: a comment that stays open in some SQL mode makes
/// that mode's reading an error, and what ends the comment makes it count again.
fn agree(text: &str, class: &Class) {
    match (classify(text), class) {
        (Class::Write(_), Class::Write(_)) => {}
        (Class::Write(_), _) if text.contains('\\') => {}
        (found, class) => assert_eq!(found, *class, "{text:?}"),
    }
}

fn changes_are_no_reads(text: &str) {
    for first in [
        "INSERT",
        "update",
        "DELETE/**/",
        "REPLACE",
        "CALL",
        "DO",
        "LOCK",
        "TRUNCATE",
        "DROP",
        "CREATE",
        "LOAD",
    ] {
        let change = format!("{first} {text}");
        assert_ne!(classify(&change), Class::Read, "{change:?}");
    }
}

fn locks_are_no_reads(read: &str) {
    for lock in [
        "FOR UPDATE",
        "for/**/share",
        "LOCK IN SHARE MODE",
        "/*! FOR UPDATE */",
        "INTO @x",
        "INTO OUTFILE 'x'",
        "; DELETE FROM t",
    ] {
        let locked = format!("{read}\n{lock}");
        assert_ne!(classify(&locked), Class::Read, "{locked:?}");
    }
}

/// Where nothing is quoted and no comment begins, every word is what it seems.
fn plain_words_are_harmless(read: &str) {
    let plain =
        !read.contains(['\'', '"', '`', '#', '\\']) && !read.contains("/*") && !read.contains("--");
    if !plain {
        return;
    }
    assert!(!read.contains('@'), "variable in {read:?}");
    let lower = read.to_ascii_lowercase();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii();
    for word in lower.split(|c| !is_word(c)).filter(|w| !w.is_empty()) {
        let start = word.as_ptr() as usize - lower.as_ptr() as usize;
        let (before, after) = (&lower[..start], &lower[start + word.len()..]);
        let called = after
            .trim_ascii_start()
            .trim_start_matches('\x0b')
            .starts_with('(')
            && !lists_columns(before, after);
        let harmless = before.ends_with('.') || !is_dangerous(before, word, called);
        assert!(harmless, "{word} in {read:?}");
    }
}

/// `WITH name (a, b) AS (`, or right after a subquery: what is called has no such parenthesis before it or such words behind it.
fn lists_columns(before: &str, after: &str) -> bool {
    let blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let before = before.trim_end_matches(blank);
    let of_subquery = before.strip_suffix("as").unwrap_or(before);
    let of_subquery = of_subquery.trim_end_matches(blank).ends_with(')');
    let (columns, behind) = after.split_once(')').unwrap_or_default();
    let is_plain = columns
        .chars()
        .all(|c| blank(c) || c.is_alphanumeric() || matches!(c, '(' | ',' | '_' | '$'));
    let of_with = ["with", "recursive", ","]
        .iter()
        .any(|w| before.ends_with(w));
    let of_with = of_with && behind.trim_start_matches(blank).starts_with("as");
    is_plain && (of_subquery || of_with)
}

fn is_dangerous(before: &str, word: &str, called: bool) -> bool {
    match word {
        "into" | "lock" | "outfile" | "dumpfile" | "procedure" | "update" | "delete" | "load" => {
            true
        }
        "sql_calc_found_rows" => true,
        "insert" | "replace" => !called,
        "share" => before.trim_end().ends_with("for"),
        "get_lock" | "release_lock" | "release_all_locks" | "benchmark" | "load_file" => called,
        "last_insert_id" | "found_rows" | "row_count" | "connection_id" | "uuid_short" => called,
        "wait_for_executed_gtid_set" | "source_pos_wait" | "master_pos_wait" => called,
        _ => false,
    }
}
