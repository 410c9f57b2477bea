//! The screen that every query must pass to be a plain read.
//!
//! In: the tokens of a statement that begins like a query. Out: its class, and every reason why it is no plain read. The words that make a
//! query lock, write or assign are reserved in MySQL, so unquoted and not after a dot they are what they seem. A text in which no token
//! could do any of that may be no valid SQL: then the server says so.
//! Must never: let through a call of a function that is not certainly MySQL's own and harmless.

use super::class::Class;
use super::functions;
use super::lex::Kind;
use super::reasons::Reasons;
use super::tokens::{Lower, Tokens};

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

const UNKNOWN: &str = "function that is not known to be harmless";
/// In a longer statement no parenthesis is looked for again and again.
const MOST_LOOKED_BACK: usize = 10_000;

pub fn classify(tokens: &Tokens) -> Class {
    match screen(tokens).class {
        Some(class) => class,
        None if is_query(tokens) => Class::Read,
        None => Class::Write("not understood"),
    }
}

/// It begins like one, and each parenthesis is closed.
fn is_query(tokens: &Tokens) -> bool {
    let mut depth = 0_i64;
    let closed = tokens.list.iter().all(|token| {
        depth += match token.kind {
            Kind::Symbol(b'(') => 1,
            Kind::Symbol(b')') => -1,
            _ => 0,
        };
        depth >= 0 && token.kind != Kind::Symbol(b';')
    });
    closed && depth == 0 && begins_query(tokens, 0)
}

/// What makes a statement more than a plain read.
#[derive(Default)]
pub struct Findings {
    pub reasons: Reasons,
    /// Of the strongest reason.
    pub class: Option<Class>,
    rank: (u8, u32),
}

impl Findings {
    fn add(&mut self, reason: Reasons, class: Class) {
        let strength = match class {
            Class::Pin(_) => 0,
            Class::Write(_) => 1,
            _ => 2,
        };
        let rank = (strength, reason.rank());
        if self.class.is_none() || rank < self.rank {
            (self.rank, self.class) = (rank, Some(class));
        }
        self.reasons.add(reason);
    }

    fn write(&mut self, reason: Reasons, text: &'static str) {
        self.add(reason, Class::Write(text));
    }
}

/// What every token of a query has to pass.
pub fn screen(tokens: &Tokens) -> Findings {
    let mut findings = Findings::default();
    for at in 0..tokens.list.len() {
        token(tokens, at, &mut findings);
    }
    findings
}

fn token(tokens: &Tokens, at: usize, findings: &mut Findings) {
    let Some(kind) = tokens.kind(at) else {
        return;
    };
    if tokens.is_symbol(at + 1, b'.') {
        qualifier(tokens, at, findings);
    }
    let called = tokens.is_symbol(at + 1, b'(');
    match kind {
        Kind::Symbol(b'@') => variable(tokens, at, findings),
        Kind::Symbol(b':') if tokens.is_symbol(at + 1, b'=') => {
            findings.add(Reasons::ASSIGNS, Class::Pin("user variable"));
        }
        Kind::Word if called => call(tokens, at, findings),
        Kind::Word if !after_dot(tokens, at) => reserved_word(tokens, at, findings),
        Kind::Backtick if called && lists_columns(tokens, at) => {}
        Kind::Backtick | Kind::DoubleQuoted if called => quoted_call(tokens, at, findings),
        Kind::Number if called => {
            findings.write(Reasons::FUNCTION, "number used as a function's name");
        }
        _ => {}
    }
}

/// Only directly after a dot is a reserved word a name.
fn after_dot(tokens: &Tokens, at: usize) -> bool {
    at > 0 && tokens.is_symbol(at - 1, b'.') && tokens.list[at].adjacent
}

fn reserved_word(tokens: &Tokens, at: usize, findings: &mut Findings) {
    let (reason, text) = match Lower::new(tokens.word(at)).as_str() {
        "for" if tokens.is_any(at + 1, &["update", "share"]) => (Reasons::LOCKING, "locking read"),
        "lock" => (Reasons::LOCKING, "locking read"),
        "into" if tokens.is_symbol(at + 1, b'@') => {
            findings.reasons.add(Reasons::INTO);
            return findings.add(Reasons::ASSIGNS, Class::Pin("user variable"));
        }
        "into" | "outfile" | "dumpfile" => (Reasons::INTO, "INTO"),
        // of a locking clause that was found already
        "update" if is_locking(tokens, at) => return,
        "update" | "delete" | "insert" | "replace" | "call" | "load" => {
            (Reasons::DATA_CHANGE, "data change")
        }
        "procedure" => (Reasons::OTHER, "PROCEDURE"),
        "sql_calc_found_rows" => (Reasons::OTHER, "SQL_CALC_FOUND_ROWS"),
        _ => return,
    };
    findings.write(reason, text);
}

/// The second word of FOR UPDATE or FOR SHARE.
fn is_locking(tokens: &Tokens, at: usize) -> bool {
    at > 0 && tokens.is(at - 1, "for") && !after_dot(tokens, at - 1)
}

fn variable(tokens: &Tokens, at: usize, findings: &mut Findings) {
    let is_system = tokens.is_symbol(at + 1, b'@') || (at > 0 && tokens.is_symbol(at - 1, b'@'));
    match is_system {
        true if is_about_diagnostics(tokens, at) => about_last_statement(tokens, findings),
        true => findings.write(Reasons::SYSTEM_VARIABLE, "system variable"),
        false => findings.write(Reasons::USER_VARIABLE, "user variable"),
    }
}

/// `@@warning_count` and the like, from either of its at signs.
fn is_about_diagnostics(tokens: &Tokens, at: usize) -> bool {
    let mut name = tokens.from(at);
    let _ = name.eat_symbol(b'@') && name.eat_symbol(b'@');
    if name.is_any(0, &["session", "local"]) && name.is_symbol(1, b'.') {
        name = name.from(2);
    }
    name.is_any(0, &["warning_count", "error_count"])
}

/// A word before a parenthesis: part of the grammar, a harmless built-in, or anything.
fn call(tokens: &Tokens, at: usize, findings: &mut Findings) {
    if at > 0 && tokens.is_symbol(at - 1, b'.') {
        return findings.write(Reasons::FUNCTION, "function of a schema");
    }
    let lower = Lower::new(tokens.word(at));
    let name = lower.as_str();
    let adjacent = tokens.list[at + 1].adjacent;
    match name {
        "get_lock" => findings.add(Reasons::KEEPS_LOCK, Class::Pin("GET_LOCK")),
        "found_rows" | "row_count" => about_last_statement(tokens, findings),
        // both are functions as well; as such they are harmless
        "insert" | "replace" => {}
        "lock" | "into" | "procedure" | "call" => reserved_word(tokens, at, findings),
        "update" | "share" if is_locking(tokens, at) => {
            findings.write(Reasons::LOCKING, "locking read");
        }
        // with a blank before the parenthesis these names call a stored function (measured)
        _ if functions::needs_adjacent_parenthesis(name) && !adjacent => {
            findings.write(Reasons::FUNCTION, "stored function");
        }
        _ if functions::is_harmless(name) => {}
        _ if functions::is_about_session(name) => {
            findings.write(Reasons::SESSION_FUNCTION, UNKNOWN)
        }
        _ if lists_columns(tokens, at) => reserved_word(tokens, at, findings),
        _ => findings.write(Reasons::FUNCTION, UNKNOWN),
    }
}

/// In quotes, too, a name of MySQL's own functions about the session calls that; any other may call a stored one.
fn quoted_call(tokens: &Tokens, at: usize, findings: &mut Findings) {
    let name = tokens.name(at).unwrap_or_default();
    let own = functions::is_about_session(Lower::new(&name).as_str()) && !after_dot(tokens, at);
    let reason = match own {
        true => Reasons::SESSION_FUNCTION,
        false => Reasons::FUNCTION,
    };
    findings.write(reason, "quoted function name");
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
    let defined = tokens.is(end, "as") && opens_query(tokens, end + 1);
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
    of_tables && opens_query(tokens, opened)
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

fn opens_query(tokens: &Tokens, at: usize) -> bool {
    tokens.is_symbol(at, b'(') && begins_query(tokens, at)
}

/// A query, in parentheses or not.
fn begins_query(tokens: &Tokens, mut at: usize) -> bool {
    while tokens.is_symbol(at, b'(') {
        at += 1;
    }
    tokens.is_any(at, &["select", "with", "table", "values"])
}

/// Without a table these follow the last statement's server; with one they would also read its data.
fn about_last_statement(tokens: &Tokens, findings: &mut Findings) {
    if findings.reasons.has(Reasons::ABOUT_LAST) {
        return;
    }
    let class = match names_tables(tokens) || !tokens.is(0, "select") {
        true => Class::Write("about the statement before"),
        false => Class::ShowWarnings,
    };
    findings.add(Reasons::ABOUT_LAST, class);
}

/// Whether a query names a table; `FROM DUAL` names none, but `FROM dual.t` does.
pub fn names_tables(tokens: &Tokens) -> bool {
    let dual = |at| tokens.is(at, "dual") && !tokens.begins_longer_name(at);
    let from = |at| tokens.is(at, "from") && !dual(at + 1);
    (0..tokens.list.len()).any(|at| from(at) || tokens.is(at, "table"))
}

/// The name before a dot: a schema that only the master may answer for?
fn qualifier(tokens: &Tokens, at: usize, findings: &mut Findings) {
    if let Some(text) = tokens
        .name(at)
        .and_then(|name| of_server(tokens, at, &name))
    {
        findings.write(Reasons::SERVER_TABLE, text);
    }
}

pub fn of_server(tokens: &Tokens, at: usize, name: &str) -> Option<&'static str> {
    // these fold to ASCII letters when MySQL compares names
    if name.contains(['\u{212a}', '\u{17f}', '\u{130}', '\u{131}']) {
        return Some("name with letters that fold to others");
    }
    let lower = Lower::new(name);
    if SERVER_SCHEMAS.contains(&lower.as_str()) {
        return Some("table about the server");
    }
    let table = tokens.name(at + 2).unwrap_or_default();
    let common = COMMON_TABLES.contains(&Lower::new(&table).as_str());
    (lower.as_str() == "information_schema" && !common)
        .then_some("information_schema about the server")
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
