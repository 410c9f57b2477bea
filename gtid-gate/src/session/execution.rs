//! One execution of a prepared statement, in the terms of whichever server runs it.
//!
//! Must never: execute with types or data of another execution.

use super::long_data::Values;
use super::names::Text;
use crate::backend::{Backend, Role};
use crate::protocol::bind_params::{COUNT_FOLLOWS, Given};
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::wire;
use bytes::BytesMut;
use std::io;
use std::sync::Arc;

pub const COM_STMT_PREPARE: u8 = 0x16;

const MAX_OWN_ANSWER: usize = 64 << 20;

/// One execution, ready for any server.
pub struct Execution {
    pub text: Text,
    pub payload: BytesMut,
    pub continued: bool,
    /// The values in the packet.
    pub given: Option<Given>,
    pub types: Option<Arc<[u8]>>,
    pub long_data: Values,
    /// What the packet begins with for a server that is told the types anew.
    pub rewritten: Vec<u8>,
}

/// Its connection could not be without a schema again, as the session's is. (Of satellites another one is taken.)
const SCHEMA_GONE: &str = "this statement was prepared while a schema was current, and none is now: USE one, or prepare it again";

impl Execution {
    pub fn wants_cursor(&self) -> bool {
        let flags = self.payload.get(5);
        flags.is_some_and(|flags| flags & !COUNT_FOLLOWS != 0)
    }

    pub fn sql(&self) -> &[u8] {
        &self.text.sql
    }

    pub fn is_prepared(&self, backend: &Backend) -> bool {
        backend.statements.contains_key(&self.text.key)
    }

    /// Prepares the statement on this server, under the settings that it was prepared under first: `around` has them hold, and after it
    /// those that hold now.
    pub async fn prepare(
        &self,
        backend: &mut Backend,
        around: Option<[Vec<String>; 2]>,
    ) -> Result<(), BackendError> {
        let [before, after] = around.unwrap_or_default();
        for sql in before {
            backend.query(&sql).await?;
        }
        let prepared = self.prepare_in_database(backend).await;
        for sql in after {
            backend.query(&sql).await?;
        }
        backend.add_statement(self.text.key, prepared?);
        Ok(())
    }

    async fn prepare_in_database(&self, backend: &mut Backend) -> Result<u32, BackendError> {
        let Text { sql, database, .. } = &self.text;
        let here = backend.database.clone();
        let moves = database.as_deref() != here.as_deref();
        if let Some(name) = database.as_deref().filter(|_| moves) {
            if here.is_none() && backend.server.role == Role::Master {
                return Err(BackendError::Sql(SqlError::gate(SCHEMA_GONE)));
            }
            backend.select_database(name).await?;
        }
        let prepared = prepare(backend, sql).await;
        if let Some(name) = here.filter(|_| moves) {
            backend.select_database(&name).await?;
        }
        prepared
    }

    /// Sends what must go ahead and returns the packet in this server's terms, in two pieces.
    pub async fn begin_on(&mut self, backend: &mut Backend) -> io::Result<[&[u8]; 2]> {
        let Some(there) = backend.statements.get_mut(&self.text.key) else {
            return Ok([&self.payload, &[]]);
        };
        let told = there.types == self.types;
        if !told {
            there.types = self.types.clone();
        }
        let id = there.id;
        self.long_data.send(&mut backend.conn, id).await?;
        backend.conn.begin();
        self.payload[1..5].copy_from_slice(&id.to_le_bytes());
        Ok(match (self.given, &self.types) {
            (Some(given), Some(types)) if !given.bound && !told => {
                let (head, values) = given.with_types(&self.payload, types);
                self.rewritten = head;
                [&self.rewritten, values]
            }
            _ => [&self.payload, &[]],
        })
    }
}

/// Prepares on a server what another one has prepared for the client already.
async fn prepare(backend: &mut Backend, sql: &[u8]) -> Result<u32, BackendError> {
    let mut command = vec![COM_STMT_PREPARE];
    command.extend_from_slice(sql);
    backend.conn.begin();
    backend.conn.send(&command).await?;
    let first = backend.conn.packet(MAX_OWN_ANSWER).await?;
    if first.first() == Some(&0xff) {
        return Err(BackendError::Sql(wire::parse_err(&first)));
    }
    let mut reader = wire::Reader::new(&first);
    reader.u8()?;
    let id = reader.u32()?;
    let counts = [reader.u16()?, reader.u16()?];
    for count in counts {
        let end = u32::from(count > 0 && !backend.deprecate_eof());
        for _ in 0..u32::from(count) + end {
            backend.conn.packet(MAX_OWN_ANSWER).await?;
        }
    }
    Ok(id)
}
