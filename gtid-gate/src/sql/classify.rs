//! What a statement may do, and so where it may run.
//!
//! In: the text of one statement. Out: its class; the gate adds what it knows of the session (transaction,
//! current schema, temporary tables). Must never: call `Read` what could write, lock, or answer differently
//! on a satellite that is fresh enough. What is not understood goes to the master.

use super::class::Class;
use super::digest::{Digest, digest, of_unclear};
use super::facts::{Facts, facts, values_decide_nothing};
use super::lex::{self, Lexed, Unclear};
use super::mode::Mode;
use super::names::{self, Names};
use super::question::Question;
use super::reasons::Reasons;
use super::remembered::{Known, remembered};
use super::ties::Ties;
use super::tokens::Tokens;
use super::verb::Verb;
use crate::common::consistency::{self, BadChoice, Choice, Hint};
use crate::protocol::charset::Encoding;
use std::cell::Cell;
use std::sync::Arc;

/// A longer buffer is not kept.
const LONGEST_KEPT: usize = 64 << 10;

thread_local! {
    static NORMAL: Cell<String> = const { Cell::new(String::new()) };
}

/// All that a statement's text says about it.
pub struct Understood {
    pub class: Class,
    pub verb: Verb,
    /// Of what is no plain read: all that makes it none.
    pub reasons: Reasons,
    /// What it is, whatever its values.
    pub digest: Arc<Digest>,
    /// What its comments choose for its reads.
    pub hint: Result<Choice, BadChoice>,
    /// The tables that its comments list.
    pub listed: Option<Arc<Names>>,
    pub ties: Ties,
    /// A change that computes nothing from other rows and shows the client none.
    pub changes_only: bool,
    /// Of a query that only reads: the names in it, its tables among them; none if it reads no table. Nothing: it may read anything.
    pub names: Option<Arc<Names>>,
    /// It could not be read for want of the SQL mode: with that it can.
    pub ambiguous: bool,
}

/// Classifies a statement that a client with a UTF-8 character set sent.
pub fn classify(sql: &str) -> Class {
    understand(sql).class
}

/// The same, and what else the text says.
pub fn understand(sql: &str) -> Understood {
    understand_in(sql, Mode::Unknown)
}

fn understand_in(sql: &str, mode: Mode) -> Understood {
    match lex::tokens(sql, mode) {
        Ok(lexed) => read(sql, &lexed),
        Err(unclear) => Understood::of_unclear(unclear, sql.as_bytes()),
    }
}

fn read(sql: &str, lexed: &Lexed) -> Understood {
    let tokens = Tokens {
        sql,
        list: &lexed.tokens,
    };
    let mut normal = NORMAL.take();
    normal.clear();
    tokens.write_normal(&mut normal);
    let Known {
        digest,
        facts: known,
    } = remembered(&normal, || {
        let digest = digest(&tokens);
        let facts = values_decide_nothing(&tokens).then(|| facts(&tokens, digest.number));
        Known { digest, facts }
    });
    let Facts {
        mut class,
        verb,
        reasons,
        ties,
        changes_only,
        names,
    } = known.unwrap_or_else(|| facts(&tokens, digest.number));
    if normal.capacity() <= LONGEST_KEPT {
        NORMAL.set(normal);
    }
    if let Class::Multimed(Ok(Question::Explain(explained))) = &mut class {
        explained.params = u16::try_from(lexed.placeholders).unwrap_or(u16::MAX);
    }
    let said = said(&lexed.comments);
    Understood {
        verb,
        reasons,
        digest,
        listed: said.as_ref().ok().and_then(|(_, listed)| listed.clone()),
        ties,
        changes_only,
        names,
        hint: said.map(|(choice, _)| choice),
        class,
        ambiguous: false,
    }
}

impl Understood {
    /// What can't be read goes to the master, and nobody knows what it left there.
    pub fn unclear(reason: &'static str, sql: &[u8]) -> Self {
        let ambiguous = false;
        Self::of_unclear(Unclear { reason, ambiguous }, sql)
    }

    fn of_unclear(unclear: Unclear, sql: &[u8]) -> Self {
        Self {
            verb: Verb::Other,
            reasons: Reasons::ALL,
            digest: of_unclear(sql),
            class: class_of_unclear(unclear.reason, sql),
            hint: Ok(Choice::default()),
            ties: Ties::of_unclear(sql),
            changes_only: false,
            names: None,
            listed: None,
            ambiguous: unclear.ambiguous,
        }
    }
}

/// First words of single statements of which a server reports all that they leave in the session.
const REPORTED: [&str; 22] = [
    "alter",
    "begin",
    "commit",
    "create",
    "delete",
    "drop",
    "explain",
    "grant",
    "insert",
    "rename",
    "replace",
    "revoke",
    "rollback",
    "savepoint",
    "select",
    "show",
    "start",
    "table",
    "truncate",
    "update",
    "use",
    "with",
];

/// Of others that nobody has read (LOCK TABLES, SET ROLE, XA START) no server may report anything: the session stays on the master.
fn class_of_unclear(reason: &'static str, sql: &[u8]) -> Class {
    let is_blank = |b: &u8| b.is_ascii_whitespace() || *b == b'(';
    let start = sql.iter().position(|b| !is_blank(b)).unwrap_or(sql.len());
    let word = sql[start..].iter().take_while(|b| b.is_ascii_alphabetic());
    let word: Vec<u8> = word.take(20).map(u8::to_ascii_lowercase).collect();
    let known = REPORTED.iter().any(|first| first.as_bytes() == word);
    match known && !sql.contains(&b';') {
        true => Class::Write(reason),
        false => Class::Pin(reason),
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
pub fn understand_bytes(sql: &[u8], encoding: Encoding, mode: Mode) -> Understood {
    match encoding.text(sql) {
        Some(sql) => understand_in(sql, mode),
        None => Understood::unclear("bytes outside the character set that the gate reads", sql),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_read_ties_the_session_unless_servers_report_all_that_it_leaves() {
        let class = |sql: &str| class_of_unclear("unclear", sql.as_bytes());
        for sql in [
            "INSERT INTO t /*!080100 */",
            " (SELECT 1)",
            "use b /*!080100 */",
        ] {
            assert_eq!(class(sql), Class::Write("unclear"), "{sql}");
        }
        for sql in [
            "LOCK TABLES t READ /*!080100 */",
            "SET ROLE r /*!080100 */",
            "/*!080100 XA */ START 'x'",
            "SELECT 1; LOCK TABLES t READ",
            "",
        ] {
            assert_eq!(class(sql), Class::Pin("unclear"), "{sql}");
        }
    }
}
