//! What a statement may do, and so where it may run.
//!
//! In: the text of one statement. Out: its class; the gate adds what it knows of the session (transaction,
//! current schema, temporary tables). Must never: call `Read` what could write, lock, or answer differently
//! on a satellite that is fresh enough. What is not understood goes to the master.

use crate::policy::{self, BadChoice, Choice};

mod encoding;
mod functions;
mod lex;
mod parse;
mod select;
mod set;
mod show;
mod statement;
mod status;
mod ties;
mod tokens;
pub use encoding::Encoding;
pub use status::with_own_status;
pub use ties::{ABOUT_ITSELF, FoundRows, Ties};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Only reads: a satellite may answer.
    Read,
    /// Runs on the master, for this reason; also everything that can't be classified.
    Write(&'static str),
    /// `read_only` is `None` where the statement does not say.
    Begin {
        read_only: Option<bool>,
        consistent_snapshot: bool,
    },
    Commit {
        chain: bool,
        release: bool,
    },
    Rollback {
        chain: bool,
        release: bool,
    },
    /// Savepoints: follows the transaction's server.
    InTransaction,
    Use(String),
    Set(Vec<SetItem>),
    /// Runs on the master, and from then on the session depends on what it left there.
    Pin(&'static str),
    Kill {
        query_only: bool,
        /// None: the session's own.
        id: Option<u64>,
    },
    /// Asks about the statement before (SHOW WARNINGS, FOUND_ROWS()): follows the server that ran it.
    ShowWarnings,
}

/// One assignment of a SET statement. Only after the master took the whole statement does any of them hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetItem {
    /// `value` is SQL text that means the same on any server; `name` is lower case.
    Session {
        name: String,
        value: String,
    },
    /// A session variable whose value must be asked from the master: the expression depends on other state.
    SessionComputed {
        name: String,
    },
    Autocommit(bool),
    TransactionReadOnlySession(bool),
    TransactionReadOnlyNext(bool),
    /// Upper case with single blanks, as in SET TRANSACTION: `READ COMMITTED`.
    IsolationSession(String),
    IsolationNext(String),
    Names {
        charset: String,
        collation: Option<String>,
    },
    Charset(String),
    /// Lower case, as MySQL compares them.
    UserVariable(String),
    /// A user variable that the gate itself listens to: one of `policy::NAMES`.
    Choice {
        name: &'static str,
        value: ChoiceValue,
    },
    /// Changes the server or accounts, nothing of this session.
    Global,
    /// Changes the session in a way that can't be carried to another server.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceValue {
    /// A literal; nothing for NULL.
    Said(Option<String>),
    /// To be asked from the server that has computed it.
    Computed,
}

/// All that a statement's text says about it.
pub struct Understood {
    pub class: Class,
    /// What its comments choose for its reads.
    pub hint: Result<Choice, BadChoice>,
    pub ties: Ties,
    /// A change that computes nothing from other rows and shows the client none.
    pub changes_only: bool,
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
            let class = statement::classify(tokens);
            Understood {
                ties: ties::ties(&class, &tokens),
                changes_only: statement::changes_only(&class, &tokens),
                hint: hints(&lexed.comments),
                class,
            }
        }
        Err(lex::Unclear(reason)) => Understood::unclear(reason),
    }
}

impl Understood {
    /// What can't be read goes to the master, and nobody knows what it left there.
    pub fn unclear(reason: &'static str) -> Self {
        Self {
            class: Class::Write(reason),
            hint: Ok(Choice::default()),
            ties: Ties::UNKNOWN,
            changes_only: false,
        }
    }
}

/// What is said first counts.
fn hints(comments: &[&[u8]]) -> Result<Choice, BadChoice> {
    let mut chosen = Choice::default();
    for comment in comments {
        let text = std::str::from_utf8(comment).ok();
        if let Some(choice) = text.and_then(policy::hint) {
            chosen = chosen.and_then(choice?);
        }
    }
    Ok(chosen)
}

/// What a client sent whose character_set_client is of this kind.
pub fn understand_bytes(sql: &[u8], encoding: Encoding) -> Understood {
    match encoding.text(sql) {
        Some(sql) => understand(sql),
        None => Understood::unclear("bytes outside the character set that the gate reads"),
    }
}

/// Schemas that differ from server to server. While one of them is the session's current schema, unqualified
/// names mean its tables: then reads belong on the master.
pub fn is_system_schema(schema: &str) -> bool {
    let mut names = select::SERVER_SCHEMAS.iter().chain(&["information_schema"]);
    names.any(|name| name.eq_ignore_ascii_case(schema))
}
