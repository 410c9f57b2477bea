//! SHOW, and EXPLAIN with its synonyms DESCRIBE and DESC.
//!
//! In: the tokens of such a statement. Out: its class. Must never: let a satellite answer about itself where
//! the application asks about the database.

use super::class::Class;
use super::lex::Kind;
use super::select::{self, screen};
use super::tokens::{Lower, Tokens};

pub fn show(tokens: Tokens) -> Class {
    let mut rest = tokens.from(1);
    if is_about_last_statement(&rest) {
        return Class::ShowWarnings;
    }
    while rest.eat("full") || rest.eat("extended") {}
    if !is_about_data(&rest) {
        return Class::Write("SHOW about the server");
    }
    match screen(&tokens).class {
        None if names_system_schema(&rest) => Class::Write("SHOW about the server"),
        None => Class::Read,
        Some(class) => class,
    }
}

pub fn is_about_last_statement(rest: &Tokens) -> bool {
    let diagnostics = |at| rest.is_any(at, &["warnings", "errors"]);
    let counts = rest.is(0, "count")
        && rest.is_symbol(1, b'(')
        && rest.is_symbol(2, b'*')
        && rest.is_symbol(3, b')');
    diagnostics(0) || (counts && diagnostics(4))
}

/// SHOW CREATE TABLE is not among them: it prints AUTO_INCREMENT, which is ahead on the master. Nor is what tells of indexes: a
/// satellite may have some of its own.
fn is_about_data(rest: &Tokens) -> bool {
    let definitions = ["view", "database", "schema"];
    let subjects = ["tables", "databases", "schemas", "charset", "collation"];
    rest.is_any(0, &subjects)
        || (rest.is(0, "character") && rest.is(1, "set"))
        || (rest.is(0, "create") && rest.is_any(1, &definitions))
}

/// `FROM`/`IN` a schema by its bare name.
fn names_system_schema(rest: &Tokens) -> bool {
    let system = |at| rest.name(at).is_some_and(|n| select::is_system_schema(&n));
    (0..rest.list.len()).any(|at| rest.is_any(at, &["from", "in"]) && system(at + 1))
}

/// What follows EXPLAIN, DESCRIBE or DESC: a table, or a statement with options before it.
pub fn explain(mut rest: Tokens) -> Class {
    let mut options = true;
    while options {
        options = rest.eat("analyze")
            || rest.eat("extended")
            || rest.eat("partitions")
            || eat_format(&mut rest);
    }
    match rest.word(0).to_ascii_lowercase().as_str() {
        "select" | "with" | "table" | "values" => select::classify(&rest),
        "" if rest.is_symbol(0, b'(') => select::classify(&rest),
        "into" => Class::Pin("user variable"),
        "for" => Class::Write("EXPLAIN of another connection or schema"),
        "insert" | "update" | "delete" | "replace" => Class::Write("EXPLAIN of a data change"),
        _ => describe(rest),
    }
}

/// `FORMAT=` one that MySQL has: whatever else stood there would hide the word after it.
fn eat_format(rest: &mut Tokens) -> bool {
    let formats = ["traditional", "json", "tree"];
    let known = |name: String| formats.contains(&Lower::new(&name).as_str());
    let found = rest.is(0, "format") && rest.is_symbol(1, b'=') && rest.value(2).is_some_and(known);
    *rest = rest.from(if found { 3 } else { 0 });
    found
}

/// `[schema.]table [column or pattern]`
fn describe(rest: Tokens) -> Class {
    match screen(&rest).class {
        None if is_table_and_column(&rest) => {
            Class::Write("a satellite may have indexes of its own")
        }
        None | Some(Class::ShowWarnings) => Class::Write("EXPLAIN that is not understood"),
        Some(class) => class,
    }
}

fn is_table_and_column(rest: &Tokens) -> bool {
    let table = if rest.is_symbol(1, b'.') { 2 } else { 0 };
    let column = rest.from(table + 1);
    let is_column = column.name(0).is_some() || column.kind(0) == Some(Kind::SingleQuoted);
    let names = rest.name(0).is_some() && rest.name(table).is_some();
    names && (column.is_empty() || (column.list.len() == 1 && is_column))
}
