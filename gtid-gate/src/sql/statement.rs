//! From a statement's first words to its class.
//!
//! In: the tokens of a text. Out: the class of the one statement in it. Must never: look at the first
//! statement only where there are several.

use super::class::{Class, Completion};
use super::question::{BadQuestion, question};
use super::tokens::Tokens;
use super::{select, set, show};

const DATA_CHANGE: &str = "data change";

pub fn classify(tokens: &Tokens) -> Class {
    let mut parts = tokens.split_statements();
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => single(only),
        (Some(last), false) => several(parts, last),
        (None, _) => Class::Write("empty"),
    }
}

pub fn is_query(tokens: &Tokens) -> bool {
    tokens.is_any(0, &["select", "with", "table", "values"]) || tokens.is_symbol(0, b'(')
}

/// Several statements in one text run on the master, and may leave there what any of them leaves.
fn several(first: Vec<Tokens>, last: Tokens) -> Class {
    let mut all = first.into_iter().chain([last]);
    if all.clone().any(|t| question(&t).is_some()) {
        return Class::Multimed(Err(BadQuestion::NotAlone));
    }
    let leaves_nothing = |t: Tokens| {
        matches!(
            single(t),
            Class::Read | Class::Write(_) | Class::ShowWarnings
        )
    };
    match all.all(leaves_nothing) {
        true => Class::Write("multi-statement"),
        false => Class::Pin("multi-statement"),
    }
}

/// Of a data change, whether it reads no other table; of several statements nobody knows.
pub fn changes_only(class: &Class, tokens: &Tokens) -> bool {
    *class == Class::Write(DATA_CHANGE) && !tokens.has("select") && !tokens.has("table")
}

fn single(tokens: Tokens) -> Class {
    if let Some(asked) = question(&tokens) {
        return Class::Multimed(asked);
    }
    let first = super::tokens::Lower::new(tokens.word(0));
    let rest = tokens.from(1);
    match first.as_str() {
        _ if is_query(&tokens) => select::classify(&tokens),
        "begin" | "start" | "commit" | "rollback" | "savepoint" | "release" => transaction(tokens),
        "set" => set::classify(rest),
        "show" => show::show(tokens),
        "explain" | "describe" | "desc" => show::explain(rest),
        "use" => use_schema(rest),
        "kill" => kill(rest),
        _ => write(first.as_str(), rest),
    }
}

/// The statements that are neither reads nor transaction control: which of them leave something behind?
fn write(first: &str, rest: Tokens) -> Class {
    match first {
        "create" if rest.is(0, "temporary") => Class::Pin("temporary table"),
        "lock" => Class::Pin("LOCK"),
        "flush" if rest.has("lock") || rest.has("export") => Class::Pin("FLUSH that locks"),
        "handler" if rest.has("open") => Class::Pin("HANDLER OPEN"),
        "prepare" => Class::Pin("PREPARE"),
        // into user variables
        "get" => Class::Pin("GET DIAGNOSTICS"),
        // a procedure may create temporary tables, take locks, set variables
        "call" => Class::Pin("CALL"),
        "xa" if rest.is_any(0, &["start", "begin"]) => Class::Pin("XA START"),
        _ if select::calls(&rest, "get_lock") => Class::Pin("GET_LOCK"),
        // a routine's or trigger's own assignments are not this session's
        "create" | "alter" => Class::Write("definition"),
        _ if select::assigns_user_variable(&rest) => Class::Pin("user variable"),
        "insert" | "update" | "delete" | "replace" => Class::Write(DATA_CHANGE),
        "load" | "import" => Class::Write("load"),
        "do" => Class::Write("DO"),
        "execute" | "deallocate" => Class::Write("prepared statement in text form"),
        "drop" | "rename" | "truncate" => Class::Write("definition"),
        "grant" | "revoke" => Class::Write("accounts"),
        "analyze" | "optimize" | "check" | "repair" | "checksum" => {
            Class::Write("table maintenance")
        }
        "" => Class::Write("not a statement"),
        _ => Class::Write("not a read"),
    }
}

fn transaction(mut tokens: Tokens) -> Class {
    let class = if tokens.eat("begin") {
        tokens.eat("work");
        Some(Class::Begin {
            read_only: None,
            consistent_snapshot: false,
        })
    } else if tokens.eat("start") {
        start(&mut tokens)
    } else if tokens.eat("commit") {
        completion(&mut tokens).map(Class::Commit)
    } else if tokens.eat("rollback") {
        rollback(&mut tokens)
    } else {
        savepoint(&mut tokens)
    };
    match class {
        Some(class) if tokens.is_empty() => class,
        _ => Class::Write("transaction statement that is not understood"),
    }
}

fn start(tokens: &mut Tokens) -> Option<Class> {
    if !tokens.eat("transaction") {
        return None;
    }
    let (mut read_only, mut consistent_snapshot) = (None, false);
    while !tokens.is_empty() {
        if tokens.eat_all(&["read", "only"]) {
            read_only = Some(true);
        } else if tokens.eat_all(&["read", "write"]) {
            read_only = Some(false);
        } else if tokens.eat_all(&["with", "consistent", "snapshot"]) {
            consistent_snapshot = true;
        } else {
            return None;
        }
        if !tokens.eat_symbol(b',') {
            break;
        }
    }
    Some(Class::Begin {
        read_only,
        consistent_snapshot,
    })
}

/// `[WORK] [AND [NO] CHAIN] [[NO] RELEASE]`
fn completion(tokens: &mut Tokens) -> Option<Completion> {
    tokens.eat("work");
    let said = |yes: bool, no: bool| (yes || no).then_some(yes);
    let chain = tokens.eat_all(&["and", "chain"]);
    let chain = said(chain, tokens.eat_all(&["and", "no", "chain"]));
    let release = tokens.eat("release");
    let release = said(release, tokens.eat_all(&["no", "release"]));
    tokens.is_empty().then_some(Completion { chain, release })
}

fn rollback(tokens: &mut Tokens) -> Option<Class> {
    let to_savepoint = tokens.is(0, "to") || (tokens.is(0, "work") && tokens.is(1, "to"));
    if to_savepoint {
        tokens.eat("work");
        tokens.eat("to");
        tokens.eat("savepoint");
        return savepoint_name(tokens);
    }
    completion(tokens).map(Class::Rollback)
}

fn savepoint(tokens: &mut Tokens) -> Option<Class> {
    if tokens.eat("savepoint") || tokens.eat_all(&["release", "savepoint"]) {
        return savepoint_name(tokens);
    }
    None
}

fn savepoint_name(tokens: &mut Tokens) -> Option<Class> {
    tokens.name(0)?;
    *tokens = tokens.from(1);
    Some(Class::InTransaction)
}

fn use_schema(tokens: Tokens) -> Class {
    match (tokens.name(0), tokens.list.len()) {
        (Some(schema), 1) => Class::Use(schema),
        _ => Class::Write("USE that is not understood"),
    }
}

fn kill(mut tokens: Tokens) -> Class {
    let query_only = tokens.eat("query");
    if !query_only {
        tokens.eat("connection");
    }
    let own = ["connection_id", "(", ")"];
    let is_own = (0..own.len()).all(|at| tokens.text(at).eq_ignore_ascii_case(own[at]));
    match (tokens.text(0).parse(), tokens.list.len()) {
        (Ok(id), 1) => Class::Kill {
            query_only,
            id: Some(id),
        },
        (_, 3) if is_own => Class::Kill {
            query_only,
            id: None,
        },
        _ => Class::Write("KILL of something that must be computed"),
    }
}
