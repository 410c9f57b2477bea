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
    /// Asked of the gate itself, which answers or says what is wrong with the question.
    Multimed(Result<Question, BadQuestion>),
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
