//! What kind of statement a text is, by its first words.
//!
//! In: the tokens of a text. Out: its verb. Must never: see more in a statement than its first words say.

use super::tokens::{Lower, Tokens};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verb {
    /// SELECT, WITH, TABLE, VALUES; WITH may begin a change.
    Query,
    Do,
    Show,
    /// DESCRIBE of a table.
    Describe,
    /// The plan of a statement, which does not run.
    Explain,
    /// GET DIAGNOSTICS and the like.
    Diagnostics,
    /// PREPARE and DEALLOCATE PREPARE.
    Prepare,
    /// INSERT, UPDATE, DELETE, REPLACE, LOAD; also of temporary tables' definitions.
    Change,
    /// MySQL may commit the open transaction before it: the server says whether it has.
    Commits,
    /// Several statements, one that nobody has read, or any other.
    #[default]
    Other,
}

pub fn verb(tokens: &Tokens) -> Verb {
    let mut tokens = *tokens;
    while tokens.list.last().is_some() && tokens.is_symbol(tokens.list.len() - 1, b';') {
        tokens.list = &tokens.list[..tokens.list.len() - 1];
    }
    while tokens.eat_symbol(b'(') {}
    if tokens.has_symbol(b';') {
        return Verb::Other;
    }
    let rest = tokens.from(1);
    match Lower::new(tokens.word(0)).as_str() {
        "select" | "with" | "table" | "values" => Verb::Query,
        "do" => Verb::Do,
        "show" => Verb::Show,
        "explain" | "describe" | "desc" => explained(&rest),
        "get" | "signal" | "resignal" | "help" => Verb::Diagnostics,
        "prepare" | "deallocate" => Verb::Prepare,
        "drop" if rest.is(0, "prepare") => Verb::Prepare,
        "insert" | "update" | "delete" | "replace" | "load" | "import" => Verb::Change,
        "create" | "drop" if rest.is(0, "temporary") => Verb::Change,
        "alter" | "analyze" | "cache" | "check" | "create" | "drop" | "flush" | "grant"
        | "install" | "lock" | "optimize" | "rename" | "repair" | "reset" | "revoke"
        | "truncate" | "uninstall" | "unlock" | "xa" => Verb::Commits,
        _ => Verb::Other,
    }
}

/// A statement or a table may follow; ANALYZE runs the statement.
fn explained(rest: &Tokens) -> Verb {
    const STATEMENTS: &[&str] = &[
        "select",
        "with",
        "values",
        "insert",
        "update",
        "delete",
        "replace",
        "for",
        "into",
        "format",
        "extended",
        "partitions",
    ];
    if rest.is(0, "analyze") {
        Verb::Other
    } else if rest.is_any(0, STATEMENTS) || rest.is(0, "table") || rest.is_symbol(0, b'(') {
        Verb::Explain
    } else {
        Verb::Describe
    }
}
