//! What statements that are no plain reads mean inside a read-only transaction. Pure.
//!
//! In: a statement and why it is no plain read. Out: where it belongs. Must never: send a change to a satellite.

use super::statement::Known;
use crate::sql::{ABOUT_ITSELF, Class, Ties};

/// Where a statement that is not a plain read belongs, inside a read-only transaction on a satellite.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Reads through functions that are not known: MySQL's own read-only transaction watches over it.
    Satellite,
    /// Asks about the session, which the master knows best; reads no table.
    Master,
    /// MySQL's own error.
    Change,
    Refused,
}

pub(super) fn inside(known: &Known, sql: &str) -> Inside {
    let (Class::Write(reason) | Class::Pin(reason)) = &known.class else {
        return Inside::Refused;
    };
    let Ties {
        about_session,
        about_last,
        reads,
        ..
    } = known.ties;
    let word = first_word(sql);
    let is = |words: &[&str]| words.iter().any(|w| word.eq_ignore_ascii_case(w));
    let computes = is(&["select", "do", "get"]);
    let pins = matches!(known.class, Class::Pin(_));
    // Satellites may lack the component that knows this function; a table they have.
    let on_master = about_session || pins || mentions(sql, ABOUT_ITSELF);
    if is(CHANGES) {
        Inside::Change
    } else if is(&["show"]) && !pins || computes && on_master && !reads {
        Inside::Master
    } else if about_session || pins {
        Inside::Refused
    } else if computes && (reason.contains("function") || *reason == "DO" || about_last) {
        Inside::Satellite
    } else {
        Inside::Refused
    }
}

/// Statements that MySQL commits the open transaction for, even a read-only one, and then runs.
const COMMITTING: &[&str] = &[
    "alter",
    "analyze",
    "cache",
    "check",
    "create",
    "drop",
    "flush",
    "grant",
    "install",
    "lock",
    "optimize",
    "rename",
    "repair",
    "reset",
    "revoke",
    "truncate",
    "uninstall",
];

pub(super) fn ends_transaction(sql: &str) -> bool {
    let word = first_word(sql);
    COMMITTING.iter().any(|w| word.eq_ignore_ascii_case(w)) && !mentions(sql, "temporary")
}

const CHANGES: &[&str] = &[
    "insert", "update", "delete", "replace", "load", "create", "drop", "import",
];

fn first_word(sql: &str) -> &str {
    let sql = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let end = sql
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(sql.len());
    &sql[..end]
}

fn mentions(sql: &str, word: &str) -> bool {
    sql.as_bytes()
        .windows(word.len())
        .any(|w| w.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql;

    #[test]
    fn inside_a_read_only_transaction() {
        for (sql, expected) in [
            (" insert into t values (1)", Inside::Change),
            ("SELECT @@sql_mode", Inside::Master),
            ("SELECT @@server_uuid, @@gtid_executed", Inside::Master),
            ("SELECT LAST_INSERT_ID()", Inside::Master),
            ("SELECT LAST_INSERT_ID() FROM DUAL", Inside::Master),
            ("SELECT CONNECTION_ID(), USER()", Inside::Master),
            ("SELECT IS_FREE_LOCK(?), IS_USED_LOCK('a')", Inside::Master),
            ("SELECT GET_LOCK('a', 0)", Inside::Master),
            ("DO RELEASE_LOCK('a')", Inside::Master),
            ("SELECT 1 INTO @x", Inside::Master),
            ("GET DIAGNOSTICS @n = NUMBER", Inside::Master),
            ("SELECT mysql_query_attribute_string('a')", Inside::Master),
            ("SHOW STATUS", Inside::Master),
            ("SELECT CONNECTION_ID() FROM t", Inside::Refused),
            ("SELECT LAST_INSERT_ID(), f(1)", Inside::Refused),
            ("SELECT a FROM t WHERE b=@x", Inside::Refused),
            ("SELECT a INTO @x FROM t", Inside::Refused),
            ("SELECT IS_FREE_LOCK(a) FROM t", Inside::Refused),
            ("SELECT a FROM t FOR UPDATE", Inside::Refused),
            ("CALL p()", Inside::Refused),
            ("SELECT f(a) FROM t", Inside::Satellite),
            (
                "SELECT mysql_query_attribute_string('a') FROM t",
                Inside::Satellite,
            ),
            ("DO f(1)", Inside::Satellite),
        ] {
            let known = Known::of(sql::understand(sql)).ok().unwrap();
            assert_eq!(inside(&known, sql), expected, "{sql}");
        }
    }

    #[test]
    fn definitions_end_a_transaction() {
        assert!(
            ends_transaction("create table t (a int)") && ends_transaction("LOCK TABLES t READ")
        );
        assert!(
            !ends_transaction("CREATE TEMPORARY TABLE t (a int)") && !ends_transaction("SELECT 1")
        );
    }
}
