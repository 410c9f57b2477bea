//! What a statement is, whatever its values.
//!
//! In: a statement's tokens. Out: its facts. Must never: be remembered for a statement whose values decide any of them.

use super::class::Class;
use super::names::{self, Names};
use super::reasons::Reasons;
use super::ties::{self, Ties};
use super::tokens::{Lower, Tokens};
use super::verb::{Verb, verb};
use super::{select, statement};
use crate::protocol::auth::fingerprint;
use std::sync::Arc;

/// Of a query's text, what people are shown of it.
const LONGEST_READABLE: usize = 160;

#[derive(Clone)]
pub struct Facts {
    pub class: Class,
    pub verb: Verb,
    /// Why it is no plain read.
    pub reasons: Reasons,
    pub ties: Ties,
    /// A change that computes nothing from other rows and shows the client none.
    pub changes_only: bool,
    /// Of a query that only reads: the names in it, its tables among them. Nothing: it may read anything.
    pub names: Option<Arc<Names>>,
}

/// `normal`: the same tokens in their normal form.
pub fn facts(tokens: &Tokens, normal: &str) -> Facts {
    let class = statement::classify(tokens);
    let reasons = match class {
        Class::Write(_) | Class::Pin(_) => select::screen(tokens).reasons,
        _ => Reasons::NONE,
    };
    let names = match class {
        Class::Read if statement::is_query(tokens) => read_names(tokens, normal),
        _ => None,
    };
    Facts {
        verb: verb(tokens),
        reasons,
        ties: ties::ties(&class, tokens),
        changes_only: statement::changes_only(&class, tokens),
        names,
        class,
    }
}

/// Whether the class of such a statement holds for all with its normal form: SET, KILL and others carry values in it.
pub fn values_decide_nothing(tokens: &Tokens) -> bool {
    const FREE: &[&str] = &[
        "insert", "update", "delete", "replace", "do", "call", "begin", "start", "commit",
        "rollback",
    ];
    let of_data = statement::is_query(tokens)
        || FREE.contains(&Lower::new(tokens.word(0)).as_str())
        || tokens.is(0, "show") && !tokens.is(1, "multimed");
    of_data && tokens.split_statements().len() < 2
}

fn read_names(tokens: &Tokens, normal: &str) -> Option<Arc<Names>> {
    let names = names::names(tokens)?;
    let shape = number(normal.trim_end_matches([';', ' ']));
    let text = readable(tokens);
    // without FROM it reads no table, whatever its names
    let list = match select::names_tables(tokens) {
        true => names.list,
        false => Vec::new(),
    };
    Some(Arc::new(Names {
        list,
        shape,
        text,
        ..names
    }))
}

/// What stands in double quotes may be a string or a name.
fn readable(tokens: &Tokens) -> Box<str> {
    let beginning = tokens.list.len().min(LONGEST_READABLE);
    let list = &tokens.list[..beginning];
    let text = Tokens { list, ..*tokens }.without_values();
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(LONGEST_READABLE).collect::<String>().into()
}

/// The same on every gate and after every restart: settings name shapes by it.
fn number(shape: &str) -> u64 {
    let digest = fingerprint(&[shape.as_bytes()]);
    let first = digest.first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first).max(1)
}

#[cfg(test)]
mod tests;
