//! What a statement's text says about it, as far as the session goes by it.

use crate::common::classes::Classes;
use crate::common::consistency::Choice;
use crate::protocol::error::SqlError;
use crate::sql::{Class, Digest, Names, Reasons, Ties, Understood, Verb};
use std::sync::Arc;

/// What a statement's text says about it.
pub(super) struct Known {
    pub class: Class,
    pub verb: Verb,
    /// Of what is no plain read: all that makes it none.
    pub reasons: Reasons,
    pub digest: Arc<Digest>,
    /// What its comments choose.
    pub hint: Choice,
    pub ties: Ties,
    pub changes_only: bool,
    /// Of a query: the names in it. Nothing: it may read anything.
    pub names: Option<Arc<Names>>,
    /// The tables that its comments list, for the transaction that it begins.
    pub listed: Option<Arc<Names>>,
}

impl Known {
    /// Its comments name a class only if there is one of that name.
    pub fn checked(self, classes: &Classes) -> Result<Self, SqlError> {
        let hint = self.hint.checked(|name| classes.knows(name));
        let hint = hint.map_err(SqlError::bad_choice)?;
        Ok(Self { hint, ..self })
    }

    /// The same, for this reason not for satellites.
    pub fn for_master(&self, reason: &'static str, ties: Ties) -> Self {
        Self {
            class: Class::Write(reason),
            digest: self.digest.clone(),
            names: self.names.clone(),
            listed: self.listed.clone(),
            hint: self.hint,
            ties,
            ..*self
        }
    }

    pub fn of(understood: Understood) -> Result<Self, SqlError> {
        Ok(Self {
            class: understood.class,
            verb: understood.verb,
            reasons: understood.reasons,
            digest: understood.digest,
            hint: understood.hint.map_err(SqlError::bad_choice)?,
            ties: understood.ties,
            changes_only: understood.changes_only,
            names: understood.names,
            listed: understood.listed,
        })
    }
}
