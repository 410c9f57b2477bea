//! What statements that are no plain reads mean inside a read-only transaction. Pure.
//!
//! In: what a statement's text says. Out: where it belongs. Must never: send to a satellite what is no plain read, or run beside the
//! transaction what reads rows, which the master has newer.

use super::statement::Known;
use crate::sql::{Class, Reasons, Verb};

/// Where a statement that is not a plain read belongs, inside a read-only transaction on a satellite.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Asks about the session or definitions, which the master knows best; reads no rows.
    Master,
    /// MySQL's own error.
    Change,
    Refused,
}

pub(super) fn inside(known: &Known) -> Inside {
    if !matches!(known.class, Class::Write(_) | Class::Pin(_)) {
        return Inside::Refused;
    }
    let reads = known.ties.reads || known.reasons.has(Reasons::FUNCTION);
    match known.verb {
        Verb::Change => Inside::Change,
        Verb::Query | Verb::Explain if known.reasons.has(Reasons::DATA_CHANGE) => Inside::Change,
        Verb::Query | Verb::Do | Verb::Show | Verb::Diagnostics if !reads => Inside::Master,
        Verb::Explain if !known.reasons.has(Reasons::FUNCTION) => Inside::Master,
        Verb::Describe | Verb::Prepare => Inside::Master,
        _ => Inside::Refused,
    }
}

/// MySQL may commit the open transaction for it, even a read-only one, and then run it.
pub(super) fn ends_transaction(known: &Known) -> bool {
    known.verb == Verb::Commits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql;

    fn of(sql: &str) -> Known {
        Known::of(sql::understand(sql)).ok().unwrap()
    }

    #[test]
    fn inside_a_read_only_transaction() {
        for (sql, expected) in [
            (" insert into t values (1)", Inside::Change),
            ("create temporary table t (a int)", Inside::Change),
            ("with c as (select 1) update t set a = 1", Inside::Change),
            // measured
            ("EXPLAIN DELETE FROM t", Inside::Change),
            ("SELECT @@sql_mode", Inside::Master),
            ("SELECT @@server_uuid, @@gtid_executed", Inside::Master),
            ("SELECT LAST_INSERT_ID()", Inside::Master),
            ("SELECT LAST_INSERT_ID() FROM DUAL", Inside::Master),
            ("SELECT CONNECTION_ID(), USER()", Inside::Master),
            ("SELECT IS_FREE_LOCK(?), IS_USED_LOCK('a')", Inside::Master),
            ("SELECT GET_LOCK('a', 0)", Inside::Master),
            ("DO RELEASE_LOCK('a')", Inside::Master),
            ("SELECT @x := 5", Inside::Master),
            ("SELECT 1 INTO @x", Inside::Master),
            ("GET DIAGNOSTICS @n = NUMBER", Inside::Master),
            ("SELECT mysql_query_attribute_string('a')", Inside::Master),
            ("SHOW STATUS", Inside::Master),
            ("SHOW COLUMNS FROM t", Inside::Master),
            ("SHOW TABLES WHERE GET_LOCK('a', 0)", Inside::Master),
            ("DESC t", Inside::Master),
            ("DESCRIBE d.t a", Inside::Master),
            ("EXPLAIN SELECT a FROM t FOR UPDATE", Inside::Master),
            ("PREPARE s FROM 'SELECT 1'", Inside::Master),
            ("DEALLOCATE PREPARE s", Inside::Master),
            (
                "SHOW COLUMNS FROM t WHERE (SELECT a FROM u)",
                Inside::Refused,
            ),
            ("SHOW TABLES WHERE f()", Inside::Refused),
            (
                "EXPLAIN ANALYZE SELECT a FROM t FOR UPDATE",
                Inside::Refused,
            ),
            ("EXECUTE s", Inside::Refused),
            ("SELECT CONNECTION_ID() FROM t", Inside::Refused),
            ("SELECT LAST_INSERT_ID(), f(1)", Inside::Refused),
            ("SELECT a FROM t WHERE b=@x", Inside::Refused),
            ("SELECT a INTO @x FROM t", Inside::Refused),
            ("SELECT IS_FREE_LOCK(a) FROM t", Inside::Refused),
            ("SELECT a FROM t FOR UPDATE", Inside::Refused),
            ("CALL p()", Inside::Refused),
            ("SELECT @@sql_mode; SELECT @@version", Inside::Refused),
            ("SELECT 'never closed", Inside::Refused),
        ] {
            assert_eq!(inside(&of(sql)), expected, "{sql}");
        }
    }

    #[test]
    fn what_may_call_a_stored_function_never_runs_on_a_satellite() {
        for sql in [
            "SELECT f(a) FROM t",
            "SELECT p()",
            "DO f(1)",
            "SELECT `now`()",
            "SELECT MAX (1)",
            "SELECT f(), l.* FROM l FOR SHARE",
            "SELECT f() INTO @x",
            "SELECT \"f\"()",
            "SELECT mysql_query_attribute_string('a') FROM t",
        ] {
            assert_eq!(inside(&of(sql)), Inside::Refused, "{sql}");
        }
    }

    #[test]
    fn a_leading_comment_changes_nothing() {
        for sql in [
            "insert into t values (1)",
            "SELECT @@sql_mode",
            "SHOW STATUS",
            "DESC t",
            "SELECT f(), l.* FROM l FOR SHARE",
            "CREATE TABLE t (a INT)",
        ] {
            for comment in ["/* load one.two.Three */ ", "-- app\n", "#x\n"] {
                let (plain, commented) = (of(sql), of(&format!("{comment}{sql}")));
                assert_eq!(inside(&commented), inside(&plain), "{comment}{sql}");
                assert_eq!(ends_transaction(&commented), ends_transaction(&plain));
            }
        }
    }

    #[test]
    fn definitions_end_a_transaction() {
        let ends = |sql| ends_transaction(&of(sql));
        for sql in [
            "create table t (a int)",
            "LOCK TABLES t READ",
            "UNLOCK TABLES",
            "XA RECOVER",
        ] {
            assert!(ends(sql), "{sql}");
        }
        assert!(!ends("CREATE TEMPORARY TABLE t (a int)") && !ends("SELECT 1"));
        assert!(!ends("SELECT 1 /* temporary */; DROP TABLE t"));
    }
}
