//! What statements that are no plain reads mean inside a read-only transaction. Pure.
//!
//! In: a statement and why it is no plain read. Out: where it belongs. Must never: send a change to a satellite.

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

pub(super) fn inside(reason: &str, sql: &str) -> Inside {
    let word = first_word(sql);
    let is = |words: &[&str]| words.iter().any(|w| word.eq_ignore_ascii_case(w));
    let about_session = [
        "system variable",
        "user variable",
        "about the statement before",
    ]
    .contains(&reason)
        || mentions(sql, "mysql_query_attribute_string");
    if is(CHANGES) {
        Inside::Change
    } else if is(&["show"]) || about_session && !mentions(sql, "from") {
        Inside::Master
    } else if reason.contains("function") {
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

    #[test]
    fn inside_a_read_only_transaction() {
        assert_eq!(
            inside("data change", " insert into t values (1)"),
            Inside::Change
        );
        assert_eq!(
            inside("system variable", "SELECT @@sql_mode"),
            Inside::Master
        );
        assert_eq!(
            inside("user variable", "SELECT a FROM t WHERE b=@x"),
            Inside::Refused
        );
        assert_eq!(
            inside("stored function", "SELECT f(a) FROM t"),
            Inside::Satellite
        );
        assert_eq!(
            inside("a function", "SELECT mysql_query_attribute_string('a')"),
            Inside::Master
        );
        assert_eq!(
            inside("locking read", "SELECT a FROM t FOR UPDATE"),
            Inside::Refused
        );
        assert_eq!(inside("about the server", "SHOW STATUS"), Inside::Master);
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
