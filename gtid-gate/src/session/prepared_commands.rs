//! The commands about prepared statements, one by one.

use super::fault::Fault;
use super::long_data::Target;
use super::parts::Session;
use super::relay::Answer;
use super::work::{Request, Work};
use crate::freshness::Told;
use crate::protocol::error::SqlError;
use crate::protocol::response::Shape;
use crate::protocol::wire::{Reader, STATUS_CURSOR_EXISTS, STATUS_LAST_ROW_SENT};
use crate::sql::Class;
use std::sync::Arc;

impl Session {
    pub(super) async fn prepare(&mut self, request: Request) -> Result<(), Fault> {
        let payload = self.gather(request).await?;
        let held = self.statements.hold(payload.len());
        let mut held = held.map_err(SqlError::memory)?;
        let known = Arc::new(self.understand(&payload[1..]).await?);
        let digest = known.digest.text.len();
        held.grow(digest).map_err(SqlError::memory)?;
        let id = self.statements.new_id();
        if !known.ties.looks_back() && !self.is_settled() {
            self.settle().await?;
        }
        let database = self.state.database.as_deref();
        let reading = self.state.reading();
        let text = self.statements.text(&payload[1..], database, reading);
        let request = Request {
            payload,
            continued: false,
        };
        if let Class::Multimed(asked) = &known.class {
            // What is explained is kept beside the text.
            held.grow(text.sql.len()).map_err(SqlError::memory)?;
            let params = self.prepare_question(asked, id).await?;
            self.statements.add(id, text, known, params, held);
            return Ok(());
        }
        let key = text.key;
        let mut work = Work::Prepare { request, id, key };
        if let Some(params) = self.prepare_somewhere(&known, &mut work).await? {
            self.statements.add(id, text, known, params, held);
        }
        Ok(())
    }

    pub(super) async fn execute(&mut self, request: Request) -> Result<(), Fault> {
        let id = statement_id(request.argument())?;
        let named = self.with_attributes();
        let statement = self.statements.get(id, "mysqld_stmt_execute")?;
        let whole = request.continued && statement.needs_whole(&request.payload, named);
        let request = match whole {
            true => Request {
                payload: self.gather(request).await?,
                continued: false,
            },
            false => request,
        };
        let statement = self.statements.get(id, "mysqld_stmt_execute")?;
        let execution = statement.execution(request.payload, request.continued, named)?;
        let known = statement.known.clone();
        if self.state.open.charsets && !known.ties.looks_back() {
            // Where it has yet to be prepared, it must be known how the session reads texts.
            self.settle().await?;
        }
        let wants_cursor = execution.wants_cursor();
        if wants_cursor && matches!(known.class, Class::Commit(_) | Class::Rollback(_)) {
            let text = "Incorrect arguments to with cursor";
            return Err(SqlError::new(1210, "HY000", text).into());
        }
        self.run_statement(&known, Work::Execute(execution)).await?;
        let opened = self.last_status & STATUS_CURSOR_EXISTS != 0;
        let server = self.state.diagnostics.server();
        self.statements
            .set_cursor(id, server.filter(|_| wants_cursor && opened));
        Ok(())
    }

    pub(super) async fn long_data(&mut self, request: Request) -> Result<(), Fault> {
        let Request {
            payload,
            mut continued,
        } = request;
        let mut left = self.shared.config.max_packet - payload.len();
        let target = Target::parse(&payload).map(|(target, piece)| {
            self.keep_long_data(target, piece);
            target
        });
        drop(payload);
        while continued {
            self.client.conn.release();
            let next = self.client.conn.chunk(left).await?;
            left -= next.payload.len();
            continued = next.continued;
            if let Some(target) = target {
                self.keep_long_data(target, &next.payload);
            }
        }
        Ok(())
    }

    fn keep_long_data(&mut self, target: Target, piece: &[u8]) {
        let limit = self.shared.config.max_packet;
        if let Ok(statement) = self.statements.get(target.statement, "") {
            let params = statement.params;
            statement.long_data.add(params, target.param, piece, limit);
        }
    }

    pub(super) fn close_statement(&mut self, argument: &[u8]) -> Result<(), Fault> {
        let Ok(id) = statement_id(argument) else {
            return Ok(());
        };
        let Some(key) = self.statements.remove(id) else {
            return Ok(());
        };
        self.connections.forget_statement(&key);
        Ok(())
    }

    pub(super) async fn reset_statement(&mut self, request: Request) -> Result<(), Fault> {
        let id = statement_id(request.argument())?;
        let statement = self.statements.get(id, "mysqld_stmt_reset")?;
        statement.long_data.reset();
        let (cursor, key) = (statement.cursor.take(), statement.text.key);
        let on_master = || self.connections.to(0)?.statements.get(&key).map(|_| 0);
        // In the sandbox of an expired password the master refuses it.
        match cursor.or_else(|| self.state.pinned.and_then(|_| on_master())) {
            Some(server) => self
                .with_cursor(server, id, request, Shape::Single)
                .await
                .map(drop),
            None => self.say_ok().await,
        }
    }

    pub(super) async fn fetch(&mut self, request: Request) -> Result<(), Fault> {
        let id = statement_id(request.argument())?;
        let statement = self.statements.get(id, "mysqld_stmt_fetch")?;
        let cursor = statement.cursor;
        self.ties.asks_status = statement.known.ties.asks_status;
        let none = || {
            SqlError::new(
                1421,
                "HY000",
                format!("The statement ({id}) has no open cursor."),
            )
        };
        let answer = self
            .with_cursor(cursor.ok_or_else(none)?, id, request, Shape::Rows)
            .await?;
        if answer.status.is_some_and(|s| s & STATUS_LAST_ROW_SENT != 0) {
            self.statements.set_cursor(id, None);
        }
        Ok(())
    }

    /// A command about an open cursor, on the server that has it.
    async fn with_cursor(
        &mut self,
        server: usize,
        id: u32,
        mut request: Request,
        shape: Shape,
    ) -> Result<Answer, Fault> {
        let key = self.statements.get(id, "")?.text.key;
        let backend = self.connections.to(server);
        let there = backend.and_then(|b| b.statements.get(&key));
        let there =
            there.ok_or_else(|| SqlError::gate("the server that holds the cursor is gone"))?;
        request.payload[1..5].copy_from_slice(&there.id.to_le_bytes());
        let mut work = Work::Plain { request, shape };
        match server {
            // What a cursor shows was read when it was opened.
            0 => self.on_master(&mut work, Told::Nothing).await,
            _ => self.on_satellite(server, &mut work, Told::Nothing).await,
        }
    }
}

fn statement_id(argument: &[u8]) -> Result<u32, SqlError> {
    Reader::new(argument)
        .u32()
        .map_err(|_| SqlError::malformed_packet())
}
