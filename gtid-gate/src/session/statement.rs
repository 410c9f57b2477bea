//! What a statement's text says about it, as far as the session goes by it.

use crate::common::consistency::Choice;
use crate::protocol::error::SqlError;
use crate::sql::{Class, Ties, Understood};

/// What a statement's text says about it.
pub(super) struct Known {
    pub class: Class,
    /// What its comments choose.
    pub hint: Choice,
    pub ties: Ties,
    pub changes_only: bool,
}

impl Known {
    pub fn of(understood: Understood) -> Result<Self, SqlError> {
        Ok(Self {
            class: understood.class,
            hint: understood.hint.map_err(SqlError::bad_choice)?,
            ties: understood.ties,
            changes_only: understood.changes_only,
        })
    }
}
