//! Statements that ask about the connection's TLS in other ways than SHOW STATUS with a pattern.
//!
//! In: a statement that names tables of status variables, or SHOW STATUS WHERE. Out: the statement that asks the same about the
//! client's connection. Must never: change what a definition stores, or a statement that asks something else.

use super::lex::{self, Kind};
use super::mode::Mode;
use super::tokens::Tokens;
use crate::protocol::tls_status::SslStatus;

const TABLES: [&str; 2] = ["session_status", "global_status"];
const SCHEMA: &str = "performance_schema";

/// Statements that may read such a table and store nothing of their text.
const READING: [&str; 11] = [
    "call", "delete", "do", "insert", "replace", "select", "set", "table", "update", "values",
    "with",
];

/// Unquoted, these can't be an alias and may follow a table.
const AFTER_TABLE: [&str; 22] = [
    "cross",
    "except",
    "for",
    "group",
    "having",
    "inner",
    "intersect",
    "into",
    "join",
    "left",
    "limit",
    "lock",
    "natural",
    "on",
    "order",
    "right",
    "set",
    "straight_join",
    "union",
    "using",
    "where",
    "window",
];

/// A part of the text, and what stands there instead.
struct Change {
    start: usize,
    end: usize,
    text: String,
}

/// The statement with the client's own values in it; none if it stays as it is.
pub fn with_own_status(sql: &str, database: Option<&str>, status: &SslStatus) -> Option<String> {
    let lexed = lex::tokens(sql, Mode::Unknown).ok()?;
    let list = &lexed.tokens;
    let tokens = Tokens { sql, list };
    let here = database.is_some_and(|d| d.eq_ignore_ascii_case(SCHEMA));
    let mut changed = String::new();
    let mut copied = 0;
    for change in tokens
        .split_statements()
        .iter()
        .flat_map(|statement| changes(statement, here, status))
    {
        changed.push_str(&sql[copied..change.start]);
        changed.push_str(&change.text);
        copied = change.end;
    }
    changed.push_str(&sql[copied..]);
    (copied > 0).then_some(changed)
}

/// SHOW [scope] STATUS, from its first word on.
pub fn shows_status(tokens: &Tokens, at: usize) -> bool {
    let scope = usize::from(tokens.is_any(at + 1, &["session", "local", "global"]));
    tokens.is(at, "show") && tokens.is(at + 1 + scope, "status")
}

pub fn is_status_table(name: &str) -> bool {
    TABLES.iter().any(|t| name.eq_ignore_ascii_case(t))
}

fn changes(statement: &Tokens, here: bool, status: &SslStatus) -> Vec<Change> {
    let places = 0..statement.list.len();
    if shows_status(statement, 0) {
        let value = status.expression("Variable_name", "Value");
        let is_value = |at: &usize| is_column(statement, *at, "value");
        return places
            .filter(is_value)
            .map(|at| change(statement, at, at, format!("({value})")))
            .collect();
    }
    if !statement.is_any(0, &READING) && !statement.is_symbol(0, b'(') {
        return Vec::new();
    }
    places
        .filter_map(|at| table(statement, at, here, status))
        .collect()
}

fn change(tokens: &Tokens, first: usize, last: usize, text: String) -> Change {
    Change {
        start: tokens.list[first].range().start,
        end: tokens.list[last].range().end,
        text,
    }
}

fn is_column(tokens: &Tokens, at: usize, name: &str) -> bool {
    let quoted = tokens.kind(at) == Some(Kind::Backtick);
    let named = tokens
        .name(at)
        .is_some_and(|n| n.eq_ignore_ascii_case(name));
    let word = quoted || tokens.kind(at) == Some(Kind::Word);
    let after = |symbol| at > 0 && tokens.is_symbol(at - 1, symbol);
    word && named && !after(b'.') && !after(b'@') && !tokens.is_symbol(at + 1, b'(')
}

/// What stands in the place of a table of status variables that begins here.
fn table(tokens: &Tokens, at: usize, here: bool, status: &SslStatus) -> Option<Change> {
    let last = last_of_table(tokens, at, here)?;
    let name = tokens.name(last)?.to_ascii_lowercase();
    if tokens.is_symbol(last + 1, b'.') {
        return Some(change(tokens, at, last, name));
    }
    let before = at.checked_sub(1)?;
    let value = status.expression("VARIABLE_NAME", "VARIABLE_VALUE");
    let rows = format!("(SELECT VARIABLE_NAME, {value} AS VARIABLE_VALUE FROM {SCHEMA}.{name})");
    if tokens.is(before, "table") {
        let text = format!("SELECT * FROM {rows} AS {name}");
        return Some(change(tokens, before, last, text));
    }
    let is_read = tokens.is_any(before, &["from", "join", "straight_join"])
        || tokens.is_symbol(before, b',')
        || tokens.is_symbol(before, b'(');
    let text = match has_alias(tokens, last + 1) {
        true => rows,
        false => format!("{rows} AS {name}"),
    };
    is_read.then(|| change(tokens, at, last, text))
}

/// The last token of such a table's name, with its schema or, where that is the current one, without.
fn last_of_table(tokens: &Tokens, at: usize, here: bool) -> Option<usize> {
    let is = |at, test: &dyn Fn(&str) -> bool| tokens.name(at).is_some_and(|n| test(&n));
    if at > 0 && tokens.is_symbol(at - 1, b'.') {
        return None;
    }
    if tokens.is_symbol(at + 1, b'.') && is(at, &|n| n.eq_ignore_ascii_case(SCHEMA)) {
        return is(at + 2, &is_status_table).then_some(at + 2);
    }
    let unqualified = here && !tokens.is_symbol(at + 1, b'.');
    (unqualified && is(at, &is_status_table)).then_some(at)
}

fn has_alias(tokens: &Tokens, at: usize) -> bool {
    match tokens.kind(at) {
        Some(Kind::Word) => !tokens.is_any(at, &AFTER_TABLE),
        Some(Kind::Backtick | Kind::DoubleQuoted | Kind::SingleQuoted) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str =
        "(SELECT VARIABLE_NAME, X AS VARIABLE_VALUE FROM performance_schema.session_status)";

    /// With X for the expression.
    fn changed(sql: &str, database: Option<&str>) -> Option<String> {
        let status = SslStatus::TEST;
        let text = with_own_status(sql, database, &status)?;
        let in_table = status.expression("VARIABLE_NAME", "VARIABLE_VALUE");
        let in_show = status.expression("Variable_name", "Value");
        Some(text.replace(&in_table, "X").replace(&in_show, "X"))
    }

    #[test]
    fn tables_of_status_variables_tell_of_the_clients_connection() {
        for (sql, expected) in [
            (
                "SELECT variable_value FROM performance_schema.session_status WHERE variable_name = ?",
                format!(
                    "SELECT variable_value FROM {OWN} AS session_status WHERE variable_name = ?"
                ),
            ),
            (
                "select 1 from t join `Performance_Schema` . `SESSION_STATUS` s using (a)",
                format!("select 1 from t join {OWN} s using (a)"),
            ),
            (
                "SELECT performance_schema.session_status.variable_name FROM t, performance_schema.session_status;",
                format!("SELECT session_status.variable_name FROM t, {OWN} AS session_status;"),
            ),
            (
                "TABLE performance_schema.session_status LIMIT 1",
                format!("SELECT * FROM {OWN} AS session_status LIMIT 1"),
            ),
            (
                "SET @v = (SELECT 1 FROM performance_schema.session_status)",
                format!("SET @v = (SELECT 1 FROM {OWN} AS session_status)"),
            ),
            (
                "SELECT 1; SELECT 'ü', 2 FROM performance_schema.session_status AS s",
                format!("SELECT 1; SELECT 'ü', 2 FROM {OWN} AS s"),
            ),
        ] {
            assert_eq!(changed(sql, Some("app")), Some(expected), "{sql}");
        }
        let unqualified = changed("SELECT * FROM session_status", Some("PERFORMANCE_SCHEMA"));
        assert_eq!(
            unqualified,
            Some(format!("SELECT * FROM {OWN} AS session_status"))
        );
    }

    #[test]
    fn show_status_compares_with_the_values_of_the_clients_connection() {
        let sql = "SHOW SESSION STATUS WHERE `Value` <> '' AND variable_name = 'Ssl_cipher'";
        let expected = "SHOW SESSION STATUS WHERE (X) <> '' AND variable_name = 'Ssl_cipher'";
        assert_eq!(changed(sql, None), Some(expected.to_owned()));
    }

    #[test]
    fn other_statements_stay_as_they_are() {
        for sql in [
            "SHOW STATUS LIKE 'value'",
            "SHOW VARIABLES WHERE value = ''",
            "SELECT * FROM session_status",
            "SELECT * FROM app.session_status",
            "SELECT 'performance_schema.session_status'",
            "SHOW COLUMNS FROM performance_schema.session_status",
            "DESCRIBE performance_schema.session_status",
            "CREATE VIEW v AS SELECT * FROM performance_schema.session_status",
            "TRUNCATE performance_schema.session_status",
        ] {
            assert_eq!(changed(sql, Some("app")), None, "{sql}");
        }
    }
}
