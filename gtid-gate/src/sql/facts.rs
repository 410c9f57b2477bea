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
use std::sync::Arc;

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

/// `digest`: its number.
pub fn facts(tokens: &Tokens, digest: u64) -> Facts {
    let class = statement::classify(tokens);
    let reasons = match class {
        Class::Write(_) | Class::Pin(_) => select::screen(tokens).reasons,
        _ => Reasons::NONE,
    };
    let names = match class {
        Class::Read if statement::is_query(tokens) => read_names(tokens, digest),
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

fn read_names(tokens: &Tokens, digest: u64) -> Option<Arc<Names>> {
    let names = names::names(tokens)?;
    // without FROM it reads no table, whatever its names
    let list = match select::names_tables(tokens) {
        true => names.list,
        false => Vec::new(),
    };
    Some(Arc::new(Names {
        list,
        digest,
        ..names
    }))
}

#[cfg(test)]
mod tests;
