//! What a client may ask about its statement before, and which connection knows the answer. Pure.
//!
//! In: which connection ran each statement, and what the gate answered itself. Out: where a question about the statement
//! before belongs, and what has to be said there first, so that the answer is the one that MySQL alone would give.
//! Must never: let another connection answer, or one on which something of the gate's own has overwritten the answer.

use crate::protocol::error::SqlError;
use crate::sql::{FoundRows, Ties};

/// Leaves no warnings and a ROW_COUNT() of 0, and FOUND_ROWS() as it is (measured).
pub const NOTHING: &str = "SET SESSION autocommit = @@session.autocommit";
/// Stands for COM_PING, which leaves a ROW_COUNT() of 0 and all else as it is (measured).
pub const PING: &str = "";
/// FOUND_ROWS() of a new connection.
const NO_ROWS: &str = "SELECT 1 LIMIT 0";
/// Of MESSAGE_TEXT in SIGNAL, in characters.
const LONGEST_MESSAGE: usize = 128;

/// A connection of a session, by its server and `Backend::number`, which is another one once the gate has asked something there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub server: usize,
    pub number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// As after login.
    None,
    At(At),
    /// Nobody knows whether the statement before has overwritten it.
    Lost,
}

/// What the gate has answered without a server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Own {
    Ok,
    Error(SqlError),
}

pub struct Diagnostics {
    last: Option<At>,
    /// The statement before was answered by the gate.
    own: Option<Own>,
    /// Since then the client has sent COM_PING.
    pinged: bool,
    /// ROW_COUNT() is of a statement before, on another connection.
    row_count_lost: bool,
    found: Found,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Self {
            last: None,
            own: Some(Own::Ok),
            pinged: false,
            row_count_lost: false,
            found: Found::None,
        }
    }
}

/// The question has no right answer any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown;

impl Diagnostics {
    /// A server has run a statement.
    pub fn ran(&mut self, at: At, found: FoundRows) {
        self.last_ran(at);
        self.row_count_lost = false;
        self.found = match found {
            FoundRows::Sets => Found::At(at),
            FoundRows::Keeps => self.found,
            FoundRows::Unsure if self.found == Found::At(at) => self.found,
            FoundRows::Unsure => Found::Lost,
        };
    }

    /// COM_STMT_PREPARE has its own warnings, and leaves ROW_COUNT() and FOUND_ROWS() as they are (measured).
    pub fn prepared(&mut self, at: At) {
        let there = self.own.is_none() && self.last == Some(at);
        self.row_count_lost |= !there;
        let pinged = self.pinged && there;
        self.last_ran(at);
        self.pinged = pinged;
    }

    fn last_ran(&mut self, at: At) {
        self.last = Some(at);
        (self.own, self.pinged) = (None, false);
    }

    /// After COM_RESET_CONNECTION, or another login. MySQL keeps FOUND_ROWS() (measured), which no connection of the session may know then.
    pub fn begin_anew(&mut self) {
        let found = match self.found {
            Found::None => Found::None,
            Found::At(_) | Found::Lost => Found::Lost,
        };
        *self = Self {
            found,
            ..Self::default()
        };
    }

    /// The gate has answered OK.
    pub fn answered(&mut self) {
        (self.own, self.pinged) = (Some(Own::Ok), false);
        self.row_count_lost = false;
    }

    pub fn pinged(&mut self) {
        self.pinged = true;
    }

    pub fn failed(&mut self, error: &SqlError) {
        (self.own, self.pinged) = (Some(Own::Error(error.clone())), false);
        self.row_count_lost = false;
    }

    /// Who ran the last statement that a server has run.
    pub fn server(&self) -> Option<usize> {
        self.last.map(|at| at.server)
    }

    /// Whose connection knows what a statement without tables asks for.
    pub fn who_knows(&self, ties: Ties) -> Option<usize> {
        match self.found {
            Found::At(at) if ties.found_rows => Some(at.server),
            _ => self.server(),
        }
    }

    /// What must be said on this connection before such a question is asked there.
    pub fn recall(&self, at: At, ties: Ties) -> Result<Vec<String>, Unknown> {
        let mut say = Vec::new();
        if ties.row_count && self.row_count_lost {
            return Err(Unknown);
        }
        if ties.found_rows {
            match self.found {
                // It would overwrite what the statement before left.
                Found::None if ties.about_last && self.own.is_none() => return Err(Unknown),
                Found::None => say.push(NO_ROWS.to_owned()),
                Found::At(known) if known == at => {}
                Found::At(_) | Found::Lost => return Err(Unknown),
            }
        }
        if ties.about_last {
            match &self.own {
                Some(Own::Ok) => say.push(NOTHING.to_owned()),
                Some(Own::Error(error)) => say.push(signal(error)),
                None if self.last == Some(at) => {}
                None => return Err(Unknown),
            }
            if self.pinged {
                say.push(PING.to_owned());
            }
        }
        Ok(say)
    }
}

/// A statement that fails as the gate has.
fn signal(error: &SqlError) -> String {
    let letter = |c: char| match c {
        '\\' => '/',
        c if c.is_ascii_graphic() || c == ' ' => c,
        _ => '?',
    };
    let message: String = error
        .message
        .chars()
        .take(LONGEST_MESSAGE)
        .map(letter)
        .collect();
    let message = message.replace('\'', "''");
    let SqlError { code, state, .. } = error;
    format!("SIGNAL SQLSTATE '{state}' SET MESSAGE_TEXT = '{message}', MYSQL_ERRNO = {code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASTER: At = At {
        server: 0,
        number: 1,
    };
    const SATELLITE: At = At {
        server: 1,
        number: 2,
    };
    const ROW_COUNT: Ties = Ties {
        about_last: true,
        row_count: true,
        ..Ties::NONE
    };
    const FOUND_ROWS: Ties = Ties {
        found_rows: true,
        ..Ties::NONE
    };

    #[test]
    fn only_the_connection_of_the_statement_before_answers() {
        let mut before = Diagnostics::default();
        before.ran(SATELLITE, FoundRows::Sets);
        assert_eq!(before.who_knows(ROW_COUNT), Some(1));
        assert_eq!(before.recall(SATELLITE, ROW_COUNT), Ok(vec![]));
        assert_eq!(before.recall(MASTER, ROW_COUNT), Err(Unknown));
        let again = At {
            number: 3,
            ..SATELLITE
        };
        assert_eq!(before.recall(again, ROW_COUNT), Err(Unknown));
    }

    #[test]
    fn a_prepared_statement_leaves_the_row_count_where_it_is() {
        let mut before = Diagnostics::default();
        before.ran(MASTER, FoundRows::Keeps);
        before.prepared(MASTER);
        assert_eq!(before.recall(MASTER, ROW_COUNT), Ok(vec![]));
        before.prepared(SATELLITE);
        assert_eq!(before.recall(MASTER, ROW_COUNT), Err(Unknown));
        assert_eq!(before.recall(SATELLITE, ROW_COUNT), Err(Unknown));
        let warnings = Ties {
            row_count: false,
            ..ROW_COUNT
        };
        assert_eq!(before.recall(SATELLITE, warnings), Ok(vec![]));
        before.ran(SATELLITE, FoundRows::Keeps);
        assert_eq!(before.recall(SATELLITE, ROW_COUNT), Ok(vec![]));
    }

    #[test]
    fn found_rows_outlives_statements_that_find_none() {
        let mut before = Diagnostics::default();
        before.ran(SATELLITE, FoundRows::Sets);
        before.ran(MASTER, FoundRows::Keeps);
        assert_eq!(before.who_knows(FOUND_ROWS), Some(1));
        assert_eq!(before.recall(SATELLITE, FOUND_ROWS), Ok(vec![]));
        assert_eq!(before.recall(MASTER, ROW_COUNT), Ok(vec![]));
        before.ran(MASTER, FoundRows::Unsure);
        assert_eq!(before.recall(SATELLITE, FOUND_ROWS), Err(Unknown));
    }

    #[test]
    fn a_question_of_the_gates_own_makes_found_rows_unknown() {
        let mut before = Diagnostics::default();
        before.ran(MASTER, FoundRows::Sets);
        assert_eq!(before.recall(MASTER, FOUND_ROWS), Ok(vec![]));
        let asked = At {
            number: 3,
            ..MASTER
        };
        assert_eq!(before.recall(asked, FOUND_ROWS), Err(Unknown));
    }

    #[test]
    fn what_the_gate_has_answered_is_repeated_where_it_is_asked_for() {
        let mut before = Diagnostics::default();
        assert_eq!(before.recall(MASTER, FOUND_ROWS).unwrap(), [NO_ROWS]);
        before.ran(MASTER, FoundRows::Sets);
        before.answered();
        assert_eq!(before.recall(SATELLITE, ROW_COUNT).unwrap(), [NOTHING]);
        before.failed(&SqlError::gate("it's \\ n\u{f6}"));
        let expected = "SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = 'gtid-gate: it''s / n?', MYSQL_ERRNO = 1105";
        assert_eq!(before.recall(SATELLITE, ROW_COUNT).unwrap(), [expected]);
    }
}
