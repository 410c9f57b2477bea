//! The screen that every query must pass before a parser looks at it.
//!
//! In: the tokens of a statement that begins like a query. Out: `Read`, or why not. The words that make a
//! query lock, write or assign are reserved in MySQL, so unquoted and not after a dot they are what they seem.
//! Must never: let through a call of a function that is not certainly MySQL's own and harmless.

use super::class::Class;
use super::lex::Kind;
use super::parse::Shaped;
use super::tokens::{Lower, Tokens};
use super::{functions, parse};

/// Schemas whose tables describe one server, not the data.
pub const SERVER_SCHEMAS: [&str; 4] = ["mysql", "performance_schema", "sys", "ndbinfo"];

/// Tables of information_schema that say the same on every copy of the data, whatever indexes a satellite has of its own (COLUMNS has
/// COLUMN_KEY).
const COMMON_TABLES: [&str; 16] = [
    "character_sets",
    "check_constraints",
    "collation_character_set_applicability",
    "collations",
    "columns_extensions",
    "key_column_usage",
    "keywords",
    "parameters",
    "referential_constraints",
    "routines",
    "schemata",
    "st_geometry_columns",
    "st_spatial_reference_systems",
    "st_units_of_measure",
    "table_constraints",
    "views",
];

/// In a longer statement no parenthesis is looked for again and again.
const MOST_LOOKED_BACK: usize = 10_000;

pub fn classify(tokens: Tokens) -> Shaped {
    parse::remembered(&tokens, || match screen(&tokens) {
        Err(class) => class,
        Ok(()) if parse::is_query(&tokens) => Class::Read,
        Ok(()) => Class::Write("not understood"),
    })
}

/// What every token of a query has to pass. An error is the class that the statement has instead: the
/// strongest that any token asks for.
pub fn screen(tokens: &Tokens) -> Result<(), Class> {
    let classes = (0..tokens.list.len()).filter_map(|at| token(tokens, at).err());
    classes.min_by_key(strength).map_or(Ok(()), Err)
}

fn strength(class: &Class) -> u8 {
    match class {
        Class::Pin(_) => 0,
        Class::Write(_) => 1,
        _ => 2,
    }
}

fn token(tokens: &Tokens, at: usize) -> Result<(), Class> {
    let Some(kind) = tokens.kind(at) else {
        return Ok(());
    };
    if tokens.is_symbol(at + 1, b'.') {
        qualifier(tokens, at)?;
    }
    let called = tokens.is_symbol(at + 1, b'(');
    match kind {
        Kind::Symbol(b'@') => Err(variable(tokens, at)),
        Kind::Symbol(b':') if tokens.is_symbol(at + 1, b'=') => Err(Class::Pin("user variable")),
        Kind::Word if called => call(tokens, at),
        Kind::Word if !after_dot(tokens, at) => reserved_word(tokens, at),
        Kind::Backtick if called && lists_columns(tokens, at) => Ok(()),
        Kind::Backtick | Kind::DoubleQuoted if called => Err(Class::Write("quoted function name")),
        Kind::Number if called => Err(Class::Write("number used as a function's name")),
        _ => Ok(()),
    }
}

/// Only directly after a dot is a reserved word a name.
fn after_dot(tokens: &Tokens, at: usize) -> bool {
    at > 0 && tokens.is_symbol(at - 1, b'.') && tokens.list[at].adjacent
}

fn reserved_word(tokens: &Tokens, at: usize) -> Result<(), Class> {
    let reason = match Lower::new(tokens.word(at)).as_str() {
        "for" if tokens.is_any(at + 1, &["update", "share"]) => "locking read",
        "lock" => "locking read",
        "into" if tokens.is_symbol(at + 1, b'@') => return Err(Class::Pin("user variable")),
        "into" => "INTO",
        "update" | "delete" | "insert" | "replace" | "call" | "load" => "data change",
        "procedure" => "PROCEDURE",
        "sql_calc_found_rows" => "SQL_CALC_FOUND_ROWS",
        "outfile" | "dumpfile" => "INTO",
        _ => return Ok(()),
    };
    Err(Class::Write(reason))
}

fn variable(tokens: &Tokens, at: usize) -> Class {
    let is_system = tokens.is_symbol(at + 1, b'@') || (at > 0 && tokens.is_symbol(at - 1, b'@'));
    match is_system {
        true if is_about_diagnostics(tokens, at) => about_last_statement(tokens),
        true => Class::Write("system variable"),
        false => Class::Write("user variable"),
    }
}

/// `@@warning_count` and the like, from either of its at signs.
fn is_about_diagnostics(tokens: &Tokens, at: usize) -> bool {
    let mut name = tokens.from(at);
    while name.eat_symbol(b'@') {}
    if name.is_any(0, &["session", "local"]) && name.is_symbol(1, b'.') {
        name = name.from(2);
    }
    name.is_any(0, &["warning_count", "error_count"])
}

/// A word before a parenthesis: part of the grammar, a harmless built-in, or anything.
fn call(tokens: &Tokens, at: usize) -> Result<(), Class> {
    if at > 0 && tokens.is_symbol(at - 1, b'.') {
        return Err(Class::Write("function of a schema"));
    }
    let lower = Lower::new(tokens.word(at));
    let name = lower.as_str();
    let adjacent = tokens.list[at + 1].adjacent;
    match name {
        "get_lock" => Err(Class::Pin("GET_LOCK")),
        "found_rows" | "row_count" => Err(about_last_statement(tokens)),
        // both are functions as well; as such they are harmless
        "insert" | "replace" => Ok(()),
        "lock" | "into" | "procedure" | "call" => reserved_word(tokens, at),
        "update" | "share" if at > 0 && tokens.is(at - 1, "for") => {
            Err(Class::Write("locking read"))
        }
        // with a blank before the parenthesis these names call a stored function (measured)
        _ if functions::needs_adjacent_parenthesis(name) && !adjacent => {
            Err(Class::Write("stored function"))
        }
        _ if functions::is_harmless(name) => Ok(()),
        _ if lists_columns(tokens, at) => reserved_word(tokens, at),
        _ => Err(Class::Write("function that is not known to be harmless")),
    }
}

/// `WITH c (a, b) AS (SELECT …`, `FROM (SELECT …) [AS] d (a, b)`: a name with its columns, where the grammar has no expression.
pub fn lists_columns(tokens: &Tokens, at: usize) -> bool {
    let is_column = |at: &usize| matches!(tokens.kind(*at), Some(Kind::Word | Kind::Backtick));
    let mut end = at + 2;
    while is_column(&end) && tokens.is_symbol(end + 1, b',') {
        end += 2;
    }
    let are_columns = is_column(&end) && tokens.is_symbol(end + 1, b')');
    are_columns && (is_of_with(tokens, at, end + 2) || is_of_subquery(tokens, at))
}

/// `end`: where its columns have ended.
fn is_of_with(tokens: &Tokens, at: usize, end: usize) -> bool {
    let before = |distance| at.wrapping_sub(distance);
    let first = tokens.is(before(1), "with");
    let recursive = tokens.is(before(1), "recursive") && tokens.is(before(2), "with");
    let next = tokens.is_symbol(before(1), b',') && tokens.is_symbol(before(2), b')');
    let defined = tokens.is(end, "as") && begins_query(tokens, end + 1);
    defined && (first || recursive || next)
}

/// Right after a subquery, which stands where a table does.
fn is_of_subquery(tokens: &Tokens, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    let closed = before.wrapping_sub(usize::from(tokens.is(before, "as")));
    let Some(opened) = opening(tokens, closed) else {
        return false;
    };
    let before = opened.wrapping_sub(1);
    let of_tables = tokens.is_any(before, &["from", "join", "straight_join", "lateral"])
        || tokens.is_symbol(before, b',')
        || tokens.is_symbol(before, b'(');
    of_tables && begins_query(tokens, opened)
}

/// The parenthesis that is closed here.
fn opening(tokens: &Tokens, closed: usize) -> Option<usize> {
    let mut depth = 0;
    if !tokens.is_symbol(closed, b')') || tokens.list.len() > MOST_LOOKED_BACK {
        return None;
    }
    (0..=closed).rev().find(|at| {
        depth += i64::from(tokens.is_symbol(*at, b')')) - i64::from(tokens.is_symbol(*at, b'('));
        depth == 0
    })
}

fn begins_query(tokens: &Tokens, mut at: usize) -> bool {
    let opened = tokens.is_symbol(at, b'(');
    while tokens.is_symbol(at, b'(') {
        at += 1;
    }
    opened && tokens.is_any(at, &["select", "with", "table", "values"])
}

/// Without a table these follow the last statement's server; with one they would also read its data.
fn about_last_statement(tokens: &Tokens) -> Class {
    match names_tables(tokens) || !tokens.is(0, "select") {
        true => Class::Write("about the statement before"),
        false => Class::ShowWarnings,
    }
}

/// Whether a query names a table; `FROM DUAL` names none.
pub fn names_tables(tokens: &Tokens) -> bool {
    let from = |at| tokens.is(at, "from") && !tokens.is(at + 1, "dual");
    (0..tokens.list.len()).any(|at| from(at) || tokens.is(at, "table"))
}

/// The name before a dot: a schema that only the master may answer for?
pub fn qualifier(tokens: &Tokens, at: usize) -> Result<(), Class> {
    let Some(name) = tokens.name(at) else {
        return Ok(());
    };
    // these fold to ASCII letters when MySQL compares names
    if name.contains(['\u{212a}', '\u{17f}', '\u{130}', '\u{131}']) {
        return Err(Class::Write("name with letters that fold to others"));
    }
    let lower = Lower::new(&name);
    if SERVER_SCHEMAS.contains(&lower.as_str()) {
        return Err(Class::Write("table about the server"));
    }
    if lower.as_str() == "information_schema" {
        let table = tokens.name(at + 2).unwrap_or_default();
        if !COMMON_TABLES.contains(&Lower::new(&table).as_str()) {
            return Err(Class::Write("information_schema about the server"));
        }
    }
    Ok(())
}

/// Whether a function of this name seems to be called anywhere, quoted or not.
pub fn calls(tokens: &Tokens, function: &str) -> bool {
    (0..tokens.list.len()).any(|at| {
        let called = tokens.is_symbol(at + 1, b'(');
        called
            && tokens
                .name(at)
                .is_some_and(|n| n.eq_ignore_ascii_case(function))
    })
}

/// `:=`, or INTO @variable.
pub fn assigns_user_variable(tokens: &Tokens) -> bool {
    (0..tokens.list.len()).any(|at| {
        let assignment = tokens.is_symbol(at, b':') && tokens.is_symbol(at + 1, b'=');
        assignment || (tokens.is(at, "into") && tokens.is_symbol(at + 1, b'@'))
    })
}

/// Schemas that differ from server to server. While one of them is the session's current schema, unqualified
/// names mean its tables: then reads belong on the master.
pub fn is_system_schema(schema: &str) -> bool {
    let mut names = SERVER_SCHEMAS.iter().chain(&["information_schema"]);
    names.any(|name| name.eq_ignore_ascii_case(schema))
}
