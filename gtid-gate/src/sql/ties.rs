//! What a statement needs of the connection that it runs on, beyond the session's settings.
//!
//! In: a statement. Out: whether it asks about the session's connection, or about what happened there before, and what it
//! leaves for such questions. Must never: miss a question about what happened before on the same connection.

use super::class::Class;
use super::functions::{self, ABOUT_ITSELF, ABOUT_SESSION};
use super::lex::Kind;
use super::tokens::{Lower, Tokens};
use super::{select, status};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ties {
    /// The session keeps its connections from here on.
    pub stays: bool,
    /// Asks about the warnings or the row count of the statement before.
    pub about_last: bool,
    /// About its row count, as far as is known.
    pub row_count: bool,
    /// Asks for FOUND_ROWS().
    pub found_rows: bool,
    /// Asks for LAST_INSERT_ID().
    pub asks_insert_id: bool,
    /// Calls LAST_INSERT_ID(expression).
    pub sets_insert_id: bool,
    /// Asks for what the session's connection to the master alone can tell: its number, locks, variables.
    pub about_session: bool,
    /// Reads a table, or calls a function that may.
    pub reads: bool,
    /// Asks for status variables, which tell about the client's connection, too.
    pub asks_status: bool,
    /// What it does to FOUND_ROWS().
    pub rows: FoundRows,
}

/// What FOUND_ROWS() tells after a statement (measured with MySQL 9.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundRows {
    Sets,
    Keeps,
    Unsure,
}

impl Ties {
    pub const NONE: Self = Self {
        stays: false,
        about_last: false,
        row_count: false,
        found_rows: false,
        asks_insert_id: false,
        sets_insert_id: false,
        about_session: false,
        reads: false,
        asks_status: false,
        rows: FoundRows::Keeps,
    };

    /// Of a statement that nobody has read.
    pub const UNKNOWN: Self = Self {
        stays: true,
        rows: FoundRows::Unsure,
        ..Self::NONE
    };

    /// What words say, wherever they stand: a question that is overlooked would have a wrong answer.
    pub fn of_unclear(sql: &[u8]) -> Self {
        let sql = String::from_utf8_lossy(sql).to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| sql.contains(word));
        let row_count = has(&["row_count", "diagnostics"]);
        let shows = has(&["show"]) && has(&["warnings", "errors"]);
        Self {
            about_last: row_count || shows || has(&["warning_count", "error_count"]),
            row_count,
            found_rows: has(&["found_rows"]),
            ..Self::UNKNOWN
        }
    }

    pub fn looks_back(&self) -> bool {
        self.about_last || self.found_rows
    }
}

const STAY: &[&str] = &[
    "connection_id",
    "insert_id",
    "profile",
    "profiles",
    "profiling",
    "pseudo_thread_id",
    "session_status",
    "sql_auto_is_null",
    "sql_calc_found_rows",
];

pub fn ties(class: &Class, tokens: &Tokens) -> Ties {
    let mut ties = Ties {
        rows: found_rows(class, tokens),
        ..Ties::NONE
    };
    match class {
        Class::Write(_) | Class::Pin(_) | Class::Set(_) => {}
        Class::ShowWarnings => ties.stays = true,
        _ => return ties,
    }
    if defines_program(tokens) {
        return ties;
    }
    let show = tokens.is(0, "show");
    ties.stays |= show && tokens.has("status");
    // Of several statements, the first.
    ties.about_last = show && super::show::is_about_last_statement(&tokens.from(1));
    // SHOW ... FROM names a schema or a table of which no rows are read
    ties.reads = match show {
        true => tokens.has("select"),
        false => select::names_tables(tokens),
    };
    for at in 0..tokens.list.len() {
        token(tokens, at, &mut ties);
    }
    ties.stays |= ties.looks_back();
    ties
}

/// What stands in a routine, trigger, event or view is not asked now.
fn defines_program(tokens: &Tokens) -> bool {
    const PROGRAMS: &[&str] = &["procedure", "function", "trigger", "event", "view"];
    tokens.is_any(0, &["create", "alter"]) && (1..12).any(|at| tokens.is_any(at, PROGRAMS))
}

fn token(tokens: &Tokens, at: usize, ties: &mut Ties) {
    let called = tokens.is_symbol(at + 1, b'(');
    // Quoted, a function's name is one still.
    let name = match tokens.kind(at) {
        Some(Kind::Symbol(b'@')) => {
            ties.about_session = true;
            return;
        }
        Some(Kind::Word) => Lower::new(tokens.word(at)),
        Some(Kind::Backtick) => Lower::new(&tokens.name(at).unwrap_or_default()),
        Some(Kind::DoubleQuoted) if called => Lower::new(&tokens.name(at).unwrap_or_default()),
        _ => return,
    };
    let name = name.as_str();
    ties.stays |= STAY.contains(&name);
    ties.asks_status |= status::is_status_table(name) || status::shows_status(tokens, at);
    match name {
        "found_rows" => ties.found_rows = true,
        "last_insert_id" if called && !tokens.is_symbol(at + 2, b')') => {
            (ties.sets_insert_id, ties.about_session) = (true, true);
        }
        "last_insert_id" | "identity" if called || is_system_variable(tokens, at) => {
            (ties.asks_insert_id, ties.about_session) = (true, true);
        }
        "diagnostics" | "row_count" => (ties.about_last, ties.row_count) = (true, true),
        "error_count" | "warning_count" => ties.about_last = true,
        _ if called && ABOUT_SESSION.contains(&name) => ties.about_session = true,
        ABOUT_ITSELF if called => {}
        _ if called => ties.reads |= after_dot(tokens, at) || !functions::is_harmless(name),
        _ => {}
    }
}

fn after_dot(tokens: &Tokens, at: usize) -> bool {
    at > 0 && tokens.is_symbol(at - 1, b'.')
}

/// `@@name`, `@@session.name`
fn is_system_variable(tokens: &Tokens, at: usize) -> bool {
    let scope = if after_dot(tokens, at) { 2 } else { 0 };
    let marked = |distance| at >= distance && tokens.is_symbol(at - distance, b'@');
    marked(scope + 1) && marked(scope + 2)
}

fn found_rows(class: &Class, tokens: &Tokens) -> FoundRows {
    let first = Lower::new(tokens.word(0));
    match (class, first.as_str()) {
        (Class::Write(_) | Class::Pin(_), _) if tokens.has_symbol(b';') => FoundRows::Unsure,
        (_, "select" | "with" | "table" | "values" | "do" | "update") => FoundRows::Sets,
        (Class::Read, "") => FoundRows::Sets,
        (Class::ShowWarnings, _) if !tokens.is(1, "count") => FoundRows::Keeps,
        (Class::Write(_), "insert" | "replace")
            if !tokens.has("select") && !tokens.has("table") =>
        {
            FoundRows::Keeps
        }
        (Class::Write(_), "delete" | "create" | "drop" | "alter" | "truncate") => FoundRows::Keeps,
        (Class::Read | Class::Write(_) | Class::Pin(_) | Class::ShowWarnings, _) => {
            FoundRows::Unsure
        }
        _ => FoundRows::Keeps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::understand;

    fn asks(sql: &str) -> String {
        let t = understand(sql).ties;
        let flags = [
            (t.stays, "stays"),
            (t.about_last, "last"),
            (t.found_rows, "found"),
            (t.asks_insert_id, "id"),
            (t.sets_insert_id, "sets-id"),
            (t.about_session, "session"),
            (t.reads, "reads"),
            (t.asks_status, "status"),
        ];
        let said = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name);
        said.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_asks_about_the_connection_is_seen() {
        for (sql, expected) in [
            ("INSERT INTO t VALUES (LAST_INSERT_ID())", "id session"),
            ("SELECT a FROM t", ""),
            ("SELECT LAST_INSERT_ID()", "id session"),
            ("SELECT LAST_INSERT_ID() FROM DUAL", "id session"),
            ("SELECT LAST_INSERT_ID() FROM t", "id session reads"),
            ("SELECT LAST_INSERT_ID(), f(1)", "id session reads"),
            ("SELECT @@session.identity", "id session"),
            ("SELECT @@last_insert_id", "id session"),
            ("DO LAST_INSERT_ID(5)", "sets-id session"),
            ("SELECT IS_FREE_LOCK('a')", "session"),
            ("SELECT `is_used_lock`('a')", "session"),
            ("SELECT CONNECTION_ID()", "stays session"),
            ("SELECT @@pseudo_thread_id", "stays session"),
            ("SELECT @@server_uuid, USER()", "session"),
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1", "stays reads"),
            ("SHOW SESSION STATUS LIKE 'Handler%'", "stays status"),
            ("SELECT 1; SHOW STATUS", "status"),
            ("SHOW ENGINE INNODB STATUS", "stays"),
            (
                "SELECT 1 FROM performance_schema.session_status",
                "stays reads status",
            ),
            ("SELECT /*!50000 CONNECTION_ID() */", "stays session"),
            ("SHOW WARNINGS", "stays last"),
            ("SELECT @@warning_count", "stays last session"),
            ("INSERT INTO t VALUES (ROW_COUNT())", "stays last"),
            ("INSERT INTO t SET a = `row_count`()", "stays last"),
            ("GET DIAGNOSTICS @n = NUMBER", "stays last session"),
            ("SELECT FOUND_ROWS()", "stays found"),
            ("SET @n = (SELECT COUNT(*) FROM t)", "session reads"),
            ("CREATE FUNCTION f() RETURNS INT RETURN ROW_COUNT()", ""),
            ("SELECT 'never closed", "stays"),
        ] {
            assert_eq!(asks(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_becomes_of_found_rows() {
        use FoundRows::{Keeps, Sets, Unsure};
        for (sql, expected) in [
            ("SELECT 1", Sets),
            ("(SELECT 1)", Sets),
            ("SELECT @@sql_mode", Sets),
            ("UPDATE t SET a = 1", Sets),
            ("INSERT INTO t VALUES (1)", Keeps),
            ("INSERT INTO t SELECT 1", Unsure),
            ("SET @a = 1", Keeps),
            ("COMMIT", Keeps),
            ("SHOW WARNINGS", Keeps),
            ("SHOW COUNT(*) WARNINGS", Unsure),
            ("EXPLAIN SELECT 1", Unsure),
            ("INSERT INTO t VALUES (1); SELECT 1", Unsure),
        ] {
            assert_eq!(understand(sql).ties.rows, expected, "{sql}");
        }
    }
}
