//! Prepared statements: the client's ids, and what each server must be told before it can execute one.
//!
//! A statement is prepared on whichever server executes it, when it first does. Parameter types that the client gave
//! once, and long data that it sent ahead, are kept and given to the server that needs them.
//! Must never: execute with types or data of another execution.

use super::execution::Execution;
use super::long_data::LongData;
use super::names::{Names, Reading, Text};
use super::statement::Known;
use crate::backend::StatementKey;
use crate::common::memory::{Full, Hold, Share};
use crate::protocol::bind_params::Given;
use crate::protocol::error::SqlError;
use bytes::BytesMut;
use std::collections::HashMap;
use std::sync::Arc;

/// What a prepared statement takes besides its text, about.
const STATEMENT: usize = 1024;

pub struct Statement {
    pub text: Text,
    pub known: Arc<Known>,
    pub params: u16,
    /// The parameter types that the client gave last.
    types: Option<Arc<[u8]>>,
    pub long_data: LongData,
    /// The server that holds an open cursor.
    pub cursor: Option<usize>,
    /// Counts it and its text.
    _held: Hold,
}

#[derive(Default)]
pub struct Statements {
    last_id: u32,
    /// Some statement may have a cursor.
    cursors: bool,
    known: HashMap<u32, Statement>,
    names: Names,
    share: Share,
}

impl Statements {
    /// Counted as the connection's share.
    pub fn new(share: Share) -> Self {
        Self {
            share,
            ..Self::default()
        }
    }

    pub fn new_id(&mut self) -> u32 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    pub fn text(&self, sql: &[u8], database: Option<&str>, reading: Reading) -> Text {
        let name = self.names.next(sql, database, &reading);
        Text {
            sql: Arc::from(sql),
            database: database.map(Arc::from),
            reading,
            name,
            key: name.key(),
        }
    }

    /// Room for a statement with a text of so many bytes.
    pub fn hold(&self, text: usize) -> Result<Hold, Full> {
        let mut held = self.share.kept();
        held.grow(text + STATEMENT)?;
        Ok(held)
    }

    pub fn add(&mut self, id: u32, text: Text, known: Arc<Known>, params: u16, held: Hold) {
        self.names.take(text.name);
        let statement = Statement {
            text,
            known,
            params,
            types: None,
            long_data: LongData::new(self.share.kept()),
            cursor: None,
            _held: held,
        };
        self.known.insert(id, statement);
    }

    pub fn get(&mut self, id: u32, command: &str) -> Result<&mut Statement, SqlError> {
        self.known
            .get_mut(&id)
            .ok_or_else(|| SqlError::unknown_statement(id, command))
    }

    pub fn remove(&mut self, id: u32) -> Option<StatementKey> {
        let text = self.known.remove(&id)?.text;
        self.names.free(text.name);
        Some(text.key)
    }

    pub fn clear(&mut self) {
        self.known.clear();
        self.names = Names::default();
        self.cursors = false;
    }

    pub fn set_cursor(&mut self, id: u32, server: Option<usize>) {
        if let Some(statement) = self.known.get_mut(&id) {
            statement.cursor = server;
            self.cursors |= server.is_some();
        }
    }

    /// The servers that hold open cursors.
    pub fn cursors(&mut self) -> Vec<usize> {
        if !self.cursors {
            return Vec::new();
        }
        let found: Vec<usize> = self.known.values().filter_map(|s| s.cursor).collect();
        self.cursors = !found.is_empty();
        found
    }
}

impl Statement {
    /// Whether the rest of a long execution is needed before it can be sent.
    pub fn needs_whole(&self, payload: &[u8], named: bool) -> bool {
        let says_all =
            |g: Given| g.bound && g.count >= self.params && g.types(payload, self.params).is_ok();
        match Given::find(payload, self.params, named) {
            Ok(given) => !given.map_or(self.params == 0, says_all),
            Err(_) => true,
        }
    }

    /// Makes an execution of the client's packet and takes the long data that was sent for it. `named`: values have names.
    pub fn execution(
        &mut self,
        payload: BytesMut,
        continued: bool,
        named: bool,
    ) -> Result<Execution, SqlError> {
        self.long_data.refused()?;
        let malformed = |_| SqlError::malformed_packet();
        let given = Given::find(&payload, self.params, named).map_err(malformed)?;
        if given.map_or(0, |g| g.count) < self.params {
            return Err(SqlError::wrong_arguments("COM_STMT_EXECUTE"));
        }
        if let Some(given) = given.filter(|g| g.bound) {
            let types = given.types(&payload, self.params).map_err(malformed)?;
            if self.types.as_deref() != Some(&types) {
                self.types = Some(Arc::from(types));
            }
        }
        let long_data = self.long_data.take();
        Ok(Execution {
            text: self.text.clone(),
            payload,
            continued,
            given,
            types: self.types.clone(),
            long_data,
            rewritten: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::bind_params::COUNT_FOLLOWS;

    fn known() -> Arc<Known> {
        let understood = crate::sql::understand("SELECT ?");
        Arc::new(Known::of(understood).ok().unwrap())
    }

    fn statement(params: u16) -> Statement {
        let mut statements = Statements::default();
        let id = statements.new_id();
        let (text, held) = (
            statements.text(b"SELECT ?", None, Reading::default()),
            Hold::default(),
        );
        statements.add(id, text, known(), params, held);
        statements.known.remove(&id).unwrap()
    }

    fn packet(flag: u8, tail: &[u8]) -> BytesMut {
        let mut bytes = BytesMut::from(&[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, flag][..]);
        bytes.extend_from_slice(tail);
        bytes
    }

    #[test]
    fn types_given_once_are_given_to_the_next_server() {
        let mut statement = statement(1);
        let first = packet(1, &[8, 0, 42]);
        statement.execution(first, false, false).unwrap();
        let again = statement.execution(packet(0, &[43]), false, false).unwrap();
        assert_eq!(told_anew(&again), packet(1, &[8, 0, 43]));
    }

    /// What a server gets that knows nothing of the statement's types.
    fn told_anew(execution: &Execution) -> Vec<u8> {
        let types = execution.types.as_deref().unwrap();
        let given = execution.given.unwrap();
        let (head, values) = given.with_types(&execution.payload, types);
        [&head, values].concat()
    }

    /// An execution with a number of values.
    fn counted(flags: u8, count: u8, rest: &[u8]) -> BytesMut {
        let head = [0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0, count];
        BytesMut::from(&[&head, rest].concat()[..])
    }

    #[test]
    fn attributes_of_one_execution_are_not_repeated_with_the_next() {
        let mut statement = statement(1);
        let with_attribute = [0, 1, 8, 0, 0, 0xfe, 0, 1, b'a', 42];
        let first = counted(COUNT_FOLLOWS, 2, &with_attribute);
        let first = statement.execution(first, false, true).unwrap();
        assert!(!first.wants_cursor());
        let again = counted(COUNT_FOLLOWS | 1, 1, &[0, 0, 43]);
        let again = statement.execution(again, false, true).unwrap();
        assert!(again.wants_cursor());
        let anew = counted(COUNT_FOLLOWS | 1, 1, &[0, 1, 8, 0, 0, 43]);
        assert_eq!(told_anew(&again), anew);
    }

    #[test]
    fn too_few_values_are_refused_as_mysql_does() {
        for few in [counted(0, 0, &[]), counted(0, 1, &[0, 1, 8, 0, 0, 42])] {
            let refused = statement(2).execution(few, false, true).err().unwrap();
            assert_eq!(refused.code, 1210);
        }
    }

    #[test]
    fn of_a_long_execution_the_rest_is_gathered_unless_it_says_all() {
        let long = statement(1);
        assert!(!long.needs_whole(&packet(1, &[8, 0, 42]), false));
        assert!(long.needs_whole(&packet(0, &[42]), false));
        assert!(!long.needs_whole(&counted(0, 1, &[0, 1, 8, 0, 0, 42]), true));
        // a name that goes on in the next packet
        assert!(long.needs_whole(&counted(0, 1, &[0, 1, 8, 0, 9, b'a']), true));
        assert!(long.needs_whole(&counted(0, 0, &[]), true));
    }

    #[test]
    fn a_truncated_execution_is_malformed() {
        for length in 0..12 {
            let mut short = packet(1, &[]);
            short.truncate(length);
            assert!(
                statement(1).execution(short, false, false).is_err(),
                "{length}"
            );
        }
    }
}
