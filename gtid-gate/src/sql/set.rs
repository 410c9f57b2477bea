//! SET in all its forms.
//!
//! In: what follows the word SET. Out: one item per assignment, in their order. What session variables are set to, is not
//! read: the server reports it. Must never: take for a session variable what no server reports.

use super::class::{ChoiceValue, Class, SetItem};
use super::lex::Kind;
use super::tokens::{Lower, Tokens};
use crate::common::consistency;

/// Of SET NAMES … COLLATE.
pub const NAMES_WITH_COLLATION: &str = "names collate";

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
        return Some(vec![SetItem::Account]);
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
        Scope::Session => SetItem::Session("transaction_read_only".to_owned()),
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
        Scope::Session => SetItem::Session("transaction_isolation".to_owned()),
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
    let charset =
        part.is(0, "charset") || part.is_any(0, &["character", "char"]) && part.is(1, "set");
    if (charset || part.is(0, "names")) && !assigns(&part, 1) {
        if let Some(name) = plain_name(&part).filter(|_| !charset) {
            return Some(SetItem::Names(name));
        }
        let name = match charset {
            true => "character set",
            false if part.has("collate") => NAMES_WITH_COLLATION,
            false => "names",
        };
        return Some(SetItem::Session(name.to_owned()));
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

/// Of NAMES: a word or a string that means the same on any server.
fn plain_name(part: &Tokens) -> Option<String> {
    let name = part
        .value(1)
        .filter(|_| part.list.len() == 2 && !part.is(1, "default"))?;
    let plain = !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    plain.then(|| name.to_ascii_lowercase())
}

/// `=` or `:=`
fn assigns(part: &Tokens, at: usize) -> bool {
    part.is_symbol(at, b'=') || (part.is_symbol(at, b':') && part.is_symbol(at + 1, b'='))
}

/// What follows the `@` of a user variable: its name, which may have dots or be quoted, and the value.
fn user_variable(part: Tokens) -> Option<SetItem> {
    let quoted = matches!(
        part.kind(0),
        Some(Kind::SingleQuoted | Kind::DoubleQuoted | Kind::Backtick)
    );
    let end = (0..part.list.len()).find(|at| assigns(&part, *at))?;
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
        None => Some(SetItem::UserVariable),
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

/// A system variable, its value, and for whom it is set. Of the next transaction's characteristics the value is needed here.
fn variable(name: &str, value: Tokens, scope: Scope) -> Option<SetItem> {
    let next = scope == Scope::Unsaid;
    match name {
        "" => None,
        _ if scope == Scope::Global => Some(SetItem::Global),
        "transaction_read_only" | "tx_read_only" if next => {
            switch(&value).map(|on| read_only_item(on, scope))
        }
        "transaction_isolation" | "tx_isolation" if next => {
            isolation(&value.value(0).filter(|_| value.list.len() == 1)?, scope)
        }
        "timestamp" => Some(timestamp(value)),
        _ => Some(SetItem::Session(name.to_owned())),
    }
}

fn timestamp(value: Tokens) -> SetItem {
    let plain =
        value.list.len() == 1 && (value.kind(0) == Some(Kind::Number) || value.is(0, "default"));
    match plain {
        true => SetItem::Timestamp(value.span().to_owned()),
        false => SetItem::Session("timestamp".to_owned()),
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
