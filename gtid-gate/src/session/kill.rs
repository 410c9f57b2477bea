//! KILL: a client's connection id is the gate's; where its statement runs, the gate knows.
//!
//! Ids below the gate's own range are the master's, and the master kills; what CONNECTION_ID() said to a session means that session.
//! An id that the master finds in a variable, an expression or a routine and does not know comes back in its error.
//! Must never: decide who may kill whose session. The master does.

use super::connections::COM_STATISTICS;
use super::diagnostics::NOTHING;
use super::fault::Fault;
use super::parts::Session;
use super::relay::Answer;
use super::work::{Request, Work};
use crate::backend::{Backend, Identity, Socket, TextResult, Wish, bounded};
use crate::clients::registry::{Entry, FIRST_ID};
use crate::common::signals::KILLED;
use crate::freshness::Told;
use crate::protocol::capability;
use crate::protocol::charset::Encoding;
use crate::protocol::error::{BackendError, SqlError, UNKNOWN_THREAD};
use crate::protocol::response::UnknownThread;
use crate::protocol::wire::{self, STATUS_MORE_RESULTS};
use crate::sql::{FailedKill, KillOfRoutine, failed_kill, kill_of_routine, kill_query};
use std::borrow::Cow;
use std::sync::Arc;

const NOT_OWNER: u16 = 1095;

impl Session {
    pub(super) async fn kill(
        &mut self,
        query_only: bool,
        id: Option<u64>,
        mut work: Work,
    ) -> Result<(), Fault> {
        if self.state.pinned.is_some() {
            // In the sandbox of an expired password the master refuses it.
            return self.on_master(&mut work, Told::Nothing).await.map(drop);
        }
        // MySQL cuts it, too.
        let id = id.map_or(self.entry.id, |id| id as u32);
        if id >= FIRST_ID {
            self.kill_session(id, query_only).await?;
            return self.say_ok().await;
        }
        let target = self.shared.registry.find_on_master(id);
        if let Some(target) = target.as_ref().filter(|target| self.owns(target)) {
            self.kill_session(target.id, query_only).await?;
            return self.say_ok().await;
        }
        let answer = self.on_master(&mut work, Told::Nothing).await?;
        if let Some(target) = target.filter(|_| answer.error.is_none() && !query_only) {
            target.signals.raise(KILLED);
        }
        Ok(())
    }

    /// The master did not know the connection that a KILL names, and an id like that is ours.
    pub(super) async fn kill_after(
        &mut self,
        unknown: UnknownThread,
        work: &mut Work,
        answer: Answer,
    ) -> Result<Answer, Fault> {
        let sql = work.sql();
        // Of other letters the text in hand may have other bytes than what came.
        let utf8 = self.state.encoding == Some(Encoding::Utf8) && matches!(sql, Cow::Borrowed(_));
        let failed = match utf8 || sql.is_ascii() {
            true => failed_kill(&sql, answer.results),
            false => FailedKill::Unknown,
        };
        drop(sql);
        let query_only = match &failed {
            FailedKill::Kill { query_only, .. } => Some(*query_only),
            FailedKill::Other => None,
            _ => self.was_kill_query().await,
        };
        let Some(query_only) = query_only else {
            return match unknown.kept_back {
                0 => Ok(answer),
                _ => Err(SqlError::unknown_thread_id(unknown.id).into()),
            };
        };
        let of_routine = self.kill_of_routine(&failed).await;
        let killed = self.kill_session(unknown.id, query_only).await;
        if unknown.kept_back == 0 {
            // The client has the error already: rows had begun.
            return match killed {
                Err(Fault::Sql(_)) | Ok(()) => Ok(answer),
                Err(end) => Err(end),
            };
        }
        killed?;
        self.state.diagnostics.answered();
        self.state.warnings = 0;
        let all_ran = match failed {
            FailedKill::Kill {
                behind: Some(at), ..
            } => return self.go_on_behind_kill(work, at).await,
            FailedKill::Kill { behind: None, .. } | FailedKill::Execute => true,
            FailedKill::Call { .. } => of_routine.is_some_and(|kill| kill.is_last),
            FailedKill::Other | FailedKill::Unknown => false,
        };
        if !all_ran {
            return Err(Fault::Sql(SqlError::gate(format_args!(
                "connection {} is killed, but what follows KILL in the text or routine did not run",
                unknown.id
            ))));
        }
        self.say_alive().await?;
        let error = None;
        Ok(Answer { error, ..answer })
    }

    /// Runs the rest of a text of several statements. `at`: where it begins.
    async fn go_on_behind_kill(&mut self, work: &mut Work, at: usize) -> Result<Answer, Fault> {
        let Work::Query { request, text_at } = work else {
            return Err(Fault::Gone);
        };
        let (head, text) = request.payload.split_at(*text_at);
        let request = Request {
            payload: [head, &text[at..]].concat().as_slice().into(),
            continued: false,
        };
        let mut rest = Work::Query {
            request,
            text_at: head.len(),
        };
        // What the error of KILL left is not what a KILL that went well leaves.
        self.settle_status().await?;
        self.on_master_quietly(NOTHING).await?;
        let ok = wire::ok_packet(self.state.status() | STATUS_MORE_RESULTS, 0);
        self.client.conn.queue(&ok);
        Box::pin(self.on_master(&mut rest, Told::Data)).await
    }

    async fn kill_session(&mut self, id: u32, query_only: bool) -> Result<(), Fault> {
        let target = self.shared.registry.find(id);
        let target = target.ok_or_else(|| SqlError::unknown_thread_id(id))?;
        if target.id == self.entry.id {
            return Err(match query_only {
                true => Fault::Sql(SqlError::interrupted()),
                false => Fault::Fatal(SqlError::interrupted()),
            });
        }
        let roles = match self.owns(&target) {
            true => None,
            false => {
                let roles = self.roles().await?;
                self.may_kill(&target, roles.as_deref()).await?;
                roles
            }
        };
        self.stop_statement(&target, roles.as_deref()).await;
        if !query_only {
            target.signals.raise(KILLED);
        }
        Ok(())
    }

    fn owns(&self, target: &Arc<Entry>) -> bool {
        let own = self.user.identity(&self.client);
        let same = |other: Identity| other.user == own.user && other.account == own.account;
        target.identity().is_some_and(same)
    }

    /// A connection of each account: whether the one may kill the other is for the master.
    async fn may_kill(&self, target: &Entry, roles: Option<&str>) -> Result<(), SqlError> {
        let asking = async {
            let victim = self.connection_like(target).await?;
            let judged = self
                .ask_as_user(&format!("KILL {}", victim.thread_id), roles)
                .await;
            victim.quit().await;
            judged
        };
        match bounded(self.shared.config.server_timeout, asking).await {
            Ok(_) => Ok(()),
            Err(BackendError::Sql(error)) if error.code == NOT_OWNER => {
                let text = format!("You are not owner of thread {}", target.id);
                Err(SqlError::new(NOT_OWNER, "HY000", text))
            }
            Err(error) => Err(SqlError::gate(format_args!(
                "the master can't be asked whether the account may kill connection {}: {}",
                target.id,
                error.for_client("the master").message
            ))),
        }
    }

    /// Of the account of that session; where it is not or no longer let in, of the gate's, which is no more than any other.
    async fn connection_like(&self, target: &Entry) -> Result<Box<Backend>, BackendError> {
        let shared = &self.shared;
        let (master, within) = (&shared.gate.servers.master, shared.config.connect_timeout);
        if let Some(identity) = target.identity() {
            let tls = identity.secure.then_some(&shared.tls_to_servers);
            let wish = Wish {
                tls,
                ..plain(&identity.user, &identity.password)
            };
            if let Ok(backend) = Backend::connect(master, wish, within).await {
                return Ok(backend);
            }
        }
        let password = shared.config.password.current();
        Backend::connect(master, plain(&shared.config.user, &password), within).await
    }

    /// Where the account may see the procedure's body.
    async fn kill_of_routine(&mut self, failed: &FailedKill) -> Option<KillOfRoutine> {
        let FailedKill::Call { schema, name } = failed else {
            return None;
        };
        let roles = self.roles().await.ok()?;
        let schema = schema.as_deref().or(self.state.database.as_deref())?;
        let question = format!(
            "SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'PROCEDURE' \
             AND ROUTINE_SCHEMA = {} AND ROUTINE_NAME = {}",
            literal(schema),
            literal(name)
        );
        let asking = self.ask_as_user(&question, roles.as_deref());
        let found = bounded(self.shared.config.server_timeout, asking).await;
        kill_of_routine(found.ok()?.text(0, 0)?)
    }

    /// Whether the statement that failed was KILL QUERY; nothing: it was no KILL, or the master can't say.
    async fn was_kill_query(&mut self) -> Option<bool> {
        let within = self.shared.config.server_timeout;
        let master = self.connections.master.as_mut()?;
        // Behind its answer the statement has ended.
        let ended = bounded(within, master.simple_command(&[COM_STATISTICS])).await;
        ended.ok()?;
        let asking = self
            .shared
            .master_threads
            .failed_statement(master.thread_id, UNKNOWN_THREAD);
        match asking.await {
            Ok(text) => kill_query(&text?),
            Err(reason) => {
                tracing::warn!(%reason, "the gate's account can't see which statement failed (it needs SELECT on performance_schema)");
                None
            }
        }
    }

    async fn ask_as_user(
        &self,
        sql: &str,
        roles: Option<&str>,
    ) -> Result<TextResult, BackendError> {
        let master = &self.shared.gate.servers.master;
        let mut backend = self.connect_as_user(master, roles).await?;
        let answer = backend.query(sql).await;
        backend.quit().await;
        answer
    }

    /// Stops what runs there; the server checks again whether this account may.
    async fn stop_statement(&self, target: &Entry, roles: Option<&str>) {
        let Some((server, thread_id)) = target.running() else {
            target.interrupted.notify_waiters();
            return;
        };
        let within = self.shared.config.connect_timeout;
        if let Ok(mut backend) = self.connect_as_user(&server, roles).await {
            if let Some(_leave) = target.still_running(&server, thread_id).await {
                let stop = format!("KILL QUERY {thread_id}");
                let stopping = backend.query(&stop);
                let _ = tokio::time::timeout(within, stopping).await;
            }
            backend.quit().await;
        }
    }
}

/// In whatever SQL mode.
fn literal(text: &str) -> String {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("CONVERT(X'{hex}' USING utf8mb4)")
}

fn plain<'a>(user: &'a str, password: &'a [u8]) -> Wish<'a> {
    Wish {
        user,
        password,
        capabilities: capability::FOR_QUESTIONS,
        charset: 255,
        database: None,
        attributes: &[],
        tls: None,
        socket: Socket::No,
    }
}
