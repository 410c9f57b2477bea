//! What a statement needs of the connection that it runs on, beyond the session's settings.
//!
//! In: a statement that is no plain read. Out: whether the session has to stay on its connections from then on. Must never:
//! miss a question about what happened before on the same connection.

use super::Class;
use super::tokens::{Lower, Tokens};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Any connection with the session's settings will do.
    None,
    /// The session keeps its connections from here on.
    Stays,
    /// The same, and it asks about the statement before: that must have run here.
    LooksBack,
}

const LOOK_BACK: &[&str] = &[
    "diagnostics",
    "error_count",
    "found_rows",
    "row_count",
    "warning_count",
];
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
    match class {
        Class::ShowWarnings => return Ties::LooksBack,
        Class::Write(_) | Class::Pin(_) | Class::Set(_) => {}
        _ => return Ties::None,
    }
    let mut found = match tokens.is(0, "show") && tokens.has("status") {
        true => Ties::Stays,
        false => Ties::None,
    };
    for at in 0..tokens.list.len() {
        // Quoted, a function's name is one still.
        let quoted = tokens
            .kind(at)
            .is_some_and(|k| k == super::lex::Kind::Backtick);
        let name = match quoted {
            true => tokens.name(at).unwrap_or_default(),
            false => tokens.word(at).to_owned(),
        };
        let lower = Lower::new(&name);
        if LOOK_BACK.contains(&lower.as_str()) {
            return Ties::LooksBack;
        }
        if STAY.contains(&lower.as_str()) {
            found = Ties::Stays;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::understand;

    #[test]
    fn what_asks_about_the_connection_ties_the_session_to_it() {
        for (sql, expected) in [
            ("INSERT INTO t VALUES (LAST_INSERT_ID())", Ties::None),
            ("SELECT a FROM t", Ties::None),
            ("UPDATE t SET status = 1", Ties::None),
            ("SELECT CONNECTION_ID()", Ties::Stays),
            ("SELECT @@pseudo_thread_id", Ties::Stays),
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1", Ties::Stays),
            ("SHOW SESSION STATUS LIKE 'Handler%'", Ties::Stays),
            ("SELECT /*!50000 CONNECTION_ID() */", Ties::Stays),
            ("SHOW WARNINGS", Ties::LooksBack),
            ("SELECT @@warning_count", Ties::LooksBack),
            ("INSERT INTO t VALUES (ROW_COUNT())", Ties::LooksBack),
            ("INSERT INTO t VALUES (`row_count`())", Ties::LooksBack),
            ("GET DIAGNOSTICS @n = NUMBER", Ties::LooksBack),
            ("SELECT 'never closed", Ties::Stays),
        ] {
            assert_eq!(understand(sql).ties, expected, "{sql}");
        }
    }
}
