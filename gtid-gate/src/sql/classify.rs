//! What a statement may do, and so where it may run.
//!
//! In: the text of one statement. Out: its class; the gate adds what it knows of the session (transaction,
//! current schema, temporary tables). Must never: call `Read` what could write, lock, or answer differently
//! on a satellite that is fresh enough. What is not understood goes to the master.

use super::class::Class;
use super::digest::{Digest, digest, of_unclear};
use super::names::{self, Names};
use super::parse::Shaped;
use super::ties::{self, Ties};
use super::{lex, statement, tokens};
use crate::common::consistency::{self, BadChoice, Choice, Hint};
use crate::protocol::charset::Encoding;
use std::sync::Arc;

/// All that a statement's text says about it.
pub struct Understood {
    pub class: Class,
    /// What it is, whatever its values.
    pub digest: Arc<Digest>,
    /// What its comments choose for its reads.
    pub hint: Result<Choice, BadChoice>,
    /// The tables that its comments list.
    pub listed: Option<Arc<Names>>,
    pub ties: Ties,
    /// A change that computes nothing from other rows and shows the client none.
    pub changes_only: bool,
    /// Of a query that only reads: the names in it, its tables among them. Nothing: it may read anything.
    pub names: Option<Arc<Names>>,
}

/// Classifies a statement that a client with a UTF-8 character set sent.
pub fn classify(sql: &str) -> Class {
    understand(sql).class
}

/// The same, and what else the text says.
pub fn understand(sql: &str) -> Understood {
    match lex::tokens(sql) {
        Ok(lexed) => {
            let list = &lexed.tokens;
            let tokens = tokens::Tokens { sql, list };
            let Shaped {
                class,
                names,
                digest: known,
            } = statement::classify(tokens);
            let said = said(&lexed.comments);
            Understood {
                names,
                digest: known.unwrap_or_else(|| digest(&tokens)),
                listed: said.as_ref().ok().and_then(|(_, listed)| listed.clone()),
                ties: ties::ties(&class, &tokens),
                changes_only: statement::changes_only(&class, &tokens),
                hint: said.map(|(choice, _)| choice),
                class,
            }
        }
        Err(lex::Unclear(reason)) => Understood::unclear(reason, sql.as_bytes()),
    }
}

impl Understood {
    /// What can't be read goes to the master, and nobody knows what it left there.
    pub fn unclear(reason: &'static str, sql: &[u8]) -> Self {
        Self {
            digest: of_unclear(sql),
            class: Class::Write(reason),
            hint: Ok(Choice::default()),
            ties: Ties::UNKNOWN,
            changes_only: false,
            names: None,
            listed: None,
        }
    }
}

/// What is said first counts.
fn said(comments: &[&[u8]]) -> Result<(Choice, Option<Arc<Names>>), BadChoice> {
    let (mut chosen, mut listed) = (Choice::default(), None);
    for comment in comments {
        let text = std::str::from_utf8(comment).ok();
        let Some(hint) = text.and_then(consistency::hint) else {
            continue;
        };
        let Hint { choice, tables } = hint?;
        chosen = chosen.and_then(choice);
        if let (Some(text), None) = (tables, &listed) {
            let names = names::listed(&text).ok_or(BadChoice::Tables(text))?;
            listed = Some(Arc::new(names));
        }
    }
    Ok((chosen, listed))
}

/// What a client sent whose character_set_client is of this kind.
pub fn understand_bytes(sql: &[u8], encoding: Encoding) -> Understood {
    match encoding.text(sql) {
        Some(sql) => understand(sql),
        None => Understood::unclear("bytes outside the character set that the gate reads", sql),
    }
}
