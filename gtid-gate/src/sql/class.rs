//! What a statement may do. Where it may run follows from it, and from the state of its session.

use super::question::{BadQuestion, Question};

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
    Commit(Completion),
    Rollback(Completion),
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
    /// Asked of the gate itself, which answers or says what is wrong with the question.
    Multimed(Result<Question, BadQuestion>),
}

/// What follows COMMIT or ROLLBACK. Nothing: as the session's completion_type has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

/// One assignment of a SET statement. Only after the master took the whole statement does any of them hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetItem {
    /// A session variable, in lower case. The master reports the value that it has from then on.
    Session(String),
    /// SET NAMES with a character set alone, in lower case: of the collation that comes with it the master reports nothing.
    Names(String),
    /// The session's clock, by a literal: of a clock that runs the master reports no value that others could be given.
    Timestamp(String),
    TransactionReadOnlyNext(bool),
    /// Upper case with single blanks, as in SET TRANSACTION: `READ COMMITTED`.
    IsolationNext(String),
    UserVariable,
    /// A user variable that the gate itself listens to: one of `policy::NAMES`.
    Choice {
        name: &'static str,
        value: ChoiceValue,
    },
    /// Changes the server, nothing of this session.
    Global,
    /// Changes accounts, and commits.
    Account,
    /// Changes the session in a way that no server reports.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceValue {
    /// A literal; nothing for NULL.
    Said(Option<String>),
    /// To be asked from the server that has computed it.
    Computed,
}
