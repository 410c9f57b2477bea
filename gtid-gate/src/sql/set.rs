//! SET in all its forms.
//!
//! In: what follows the word SET. Out: one item per assignment, in their order. Must never: hand out a value
//! for replay that could mean something else on another server.

use super::class::{ChoiceValue, Class, SetItem};
use super::lex::Kind;
use super::tokens::{Lower, Tokens};
use crate::common::consistency;

/// Session variables that tie the session to one server, or make its writes special.
const NOT_TO_BE_REPLAYED: [&str; 14] = [
    "binlog_format",
    "binlog_row_image",
    "debug",
    "gtid_next",
    "gtid_purged",
    "identity",
    "insert_id",
    "last_insert_id",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "sql_log_bin",
];

#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Global,
    Session,
    /// `@@name` without a scope: the session, but only the next transaction for transaction characteristics.
    Unsaid,
}

pub fn classify(rest: Tokens) -> Class {
    if rest.is_empty() {
        return Class::Write("SET of nothing");
    }
    Class::Set(special(rest).unwrap_or_else(|| assignments(rest)))
}

/// The forms that are not lists of assignments.
fn special(mut rest: Tokens) -> Option<Vec<SetItem>> {
    let is_transaction =
        |at| rest.is(at, "transaction") && rest.is_any(at + 1, &["isolation", "read"]);
    if is_transaction(0) {
        return Some(transaction(rest.from(1), Scope::Unsaid));
    }
    if is_transaction(1) && rest.is_any(0, &["global", "session", "local"]) {
        let scope = if rest.is(0, "global") {
            Scope::Global
        } else {
            Scope::Session
        };
        return Some(transaction(rest.from(2), scope));
    }
    let account = rest.is(0, "password") || (rest.is(0, "default") && rest.is(1, "role"));
    if account && !rest.is_symbol(1, b'.') {
        return Some(vec![SetItem::Global]);
    }
    (rest.eat("role") || rest.eat_all(&["resource", "group"])).then(|| vec![SetItem::Other])
}

fn transaction(rest: Tokens, scope: Scope) -> Vec<SetItem> {
    let items: Option<Vec<_>> = rest
        .split(b',')
        .into_iter()
        .map(|c| characteristic(c, scope))
        .collect();
    items.unwrap_or_else(|| vec![SetItem::Other])
}

fn characteristic(mut part: Tokens, scope: Scope) -> Option<SetItem> {
    if part.eat_all(&["isolation", "level"]) {
        return isolation(&part.plain_text(), scope);
    }
    let read_only = part.is(1, "only");
    let understood =
        part.is(0, "read") && part.is_any(1, &["only", "write"]) && part.list.len() == 2;
    understood.then(|| read_only_item(read_only, scope))
}

fn read_only_item(read_only: bool, scope: Scope) -> SetItem {
    match scope {
        Scope::Global => SetItem::Global,
        Scope::Session => SetItem::TransactionReadOnlySession(read_only),
        Scope::Unsaid => SetItem::TransactionReadOnlyNext(read_only),
    }
}

/// MySQL has the levels with blanks in statements and with dashes in variables.
fn isolation(text: &str, scope: Scope) -> Option<SetItem> {
    let level = text.to_ascii_uppercase().replace('-', " ");
    let levels = [
        "READ UNCOMMITTED",
        "READ COMMITTED",
        "REPEATABLE READ",
        "SERIALIZABLE",
    ];
    let known = levels.contains(&level.as_str());
    known.then_some(match scope {
        Scope::Global => SetItem::Global,
        Scope::Session => SetItem::IsolationSession(level),
        Scope::Unsaid => SetItem::IsolationNext(level),
    })
}

fn assignments(rest: Tokens) -> Vec<SetItem> {
    // a scope word holds until the next one (measured)
    let mut scope = Scope::Session;
    let parts = rest.split(b',').into_iter();
    parts
        .map(|part| assignment(part, &mut scope).unwrap_or(SetItem::Other))
        .collect()
}

fn assignment(mut part: Tokens, sticky: &mut Scope) -> Option<SetItem> {
    if part.eat("names") {
        return names(part);
    }
    if part.eat_all(&["character", "set"]) || part.eat_all(&["char", "set"]) || part.eat("charset")
    {
        return charset(part);
    }
    if part.is_symbol(0, b'@') && !part.is_symbol(1, b'@') {
        return user_variable(part.from(1));
    }
    let scope = scope(&mut part, sticky)?;
    let name = part.name(0)?;
    part = part.from(1);
    part.eat_symbol(b':');
    match part.eat_symbol(b'=') && !part.is_empty() {
        true => variable(Lower::new(&name).as_str(), part, scope),
        false => None,
    }
}

/// Eats what stands before a system variable's name.
fn scope(part: &mut Tokens, sticky: &mut Scope) -> Option<Scope> {
    if part.eat_symbol(b'@') {
        let marked = part.eat_symbol(b'@');
        let Some(scope) = scope_word(part).filter(|_| part.is_symbol(1, b'.')) else {
            return marked.then_some(Scope::Unsaid);
        };
        *part = part.from(2);
        return Some(scope);
    }
    if let Some(scope) = scope_word(part) {
        *part = part.from(1);
        *sticky = scope;
    }
    Some(*sticky)
}

fn scope_word(part: &Tokens) -> Option<Scope> {
    match part.word(0).to_ascii_lowercase().as_str() {
        "global" | "persist" | "persist_only" => Some(Scope::Global),
        "session" | "local" => Some(Scope::Session),
        _ => None,
    }
}

fn names(part: Tokens) -> Option<SetItem> {
    let charset = charset_name(part)?;
    let collation = match part.list.len() {
        1 => None,
        3 if part.is(1, "collate") => Some(charset_name(part.from(2))?),
        _ => return None,
    };
    Some(SetItem::Names { charset, collation })
}

fn charset(part: Tokens) -> Option<SetItem> {
    (part.list.len() == 1).then_some(SetItem::Charset(charset_name(part)?))
}

/// DEFAULT is not one: it means what the server it is sent to is configured for.
fn charset_name(part: Tokens) -> Option<String> {
    let name = part.value(0).filter(|_| !part.is(0, "default"))?;
    let plain = name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    (plain && !name.is_empty()).then(|| name.to_ascii_lowercase())
}

/// What follows the `@` of a user variable: its name, which may have dots or be quoted, and the value.
fn user_variable(part: Tokens) -> Option<SetItem> {
    let quoted = matches!(
        part.kind(0),
        Some(Kind::SingleQuoted | Kind::DoubleQuoted | Kind::Backtick)
    );
    let assigns = |at: usize| {
        part.is_symbol(at, b'=') || (part.is_symbol(at, b':') && part.is_symbol(at + 1, b'='))
    };
    let end = (0..part.list.len()).find(|at| assigns(*at))?;
    let name = match quoted {
        true if end != 1 => return None,
        true => part.value(0)?,
        false => (0..end).map(|at| part.text(at)).collect(),
    };
    let value = part.from(end + if part.is_symbol(end, b':') { 2 } else { 1 });
    match consistency::variable(&name) {
        _ if name.is_empty() => None,
        Some(name) => Some(SetItem::Choice {
            name,
            value: choice(&value),
        }),
        None => Some(SetItem::UserVariable(name.to_lowercase())),
    }
}

fn choice(value: &Tokens) -> ChoiceValue {
    let literal = match value.kind(0) {
        _ if value.list.len() != 1 => None,
        Some(Kind::SingleQuoted | Kind::DoubleQuoted | Kind::Number) => value.value(0).map(Some),
        Some(Kind::Word) if value.is(0, "null") => Some(None),
        _ => None,
    };
    literal.map_or(ChoiceValue::Computed, ChoiceValue::Said)
}

/// A system variable, its value, and for whom it is set.
fn variable(name: &str, value: Tokens, scope: Scope) -> Option<SetItem> {
    if scope == Scope::Global {
        return Some(SetItem::Global);
    }
    match name {
        "" => None,
        "autocommit" => switch(&value).map(SetItem::Autocommit),
        "transaction_read_only" | "tx_read_only" => {
            switch(&value).map(|on| read_only_item(on, scope))
        }
        "transaction_isolation" | "tx_isolation" => {
            isolation(&value.value(0).filter(|_| value.list.len() == 1)?, scope)
        }
        // with it on, `WHERE id IS NULL` asks for the last inserted row, which only the master knows
        "sql_auto_is_null" => (switch(&value) == Some(false)).then(|| replayed(name, value)),
        _ if NOT_TO_BE_REPLAYED.contains(&name) => None,
        _ => Some(replayed(name, value)),
    }
}

/// 1 and 0, ON and OFF, TRUE and FALSE; words also in quotes.
fn switch(value: &Tokens) -> Option<bool> {
    if value.list.len() != 1 {
        return None;
    }
    let text = value.value(0)?;
    let quoted_number = value.kind(0) != Some(Kind::Number) && text.parse::<f64>().is_ok();
    match text.to_ascii_lowercase().as_str() {
        _ if quoted_number => None,
        "1" | "on" | "true" => Some(true),
        "0" | "off" | "false" => Some(false),
        _ => None,
    }
}

/// A literal means the same everywhere; DEFAULT is the server's own, and anything else has to be computed.
fn replayed(name: &str, value: Tokens) -> SetItem {
    let name = name.to_owned();
    let signed = value.list.len() == 2 && matches!(value.kind(0), Some(Kind::Symbol(b'-' | b'+')));
    let literal = match value.kind(value.list.len() - 1) {
        Some(Kind::Number) => signed || value.list.len() == 1,
        Some(Kind::SingleQuoted | Kind::DoubleQuoted) => value.list.len() == 1,
        Some(Kind::Word) => value.list.len() == 1 && !value.is(0, "default"),
        _ => false,
    };
    match literal {
        true => SetItem::Session {
            name,
            value: value.span().to_owned(),
        },
        false => SetItem::SessionComputed { name },
    }
}
