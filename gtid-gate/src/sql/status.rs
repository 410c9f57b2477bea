//! Statements that read status variables.

use super::tokens::Tokens;

const TABLES: [&str; 2] = ["session_status", "global_status"];

/// SHOW [scope] STATUS, from its first word on.
pub fn shows_status(tokens: &Tokens, at: usize) -> bool {
    let scope = usize::from(tokens.is_any(at + 1, &["session", "local", "global"]));
    tokens.is(at, "show") && tokens.is(at + 1 + scope, "status")
}

pub fn is_status_table(name: &str) -> bool {
    TABLES.iter().any(|t| name.eq_ignore_ascii_case(t))
}
