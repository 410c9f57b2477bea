//! Turns and connections: what there is a limited number of on each server, and how sessions share it.
//!
//! While a server has room for connections, a session keeps its own. Once it has none, sessions hand theirs over between
//! two statements, and idle ones are asked for theirs, unless something of the session lives there: a transaction, a
//! cursor, a temporary table, warnings that it may ask for.
//! Must never: hand a connection over that a session still needs, or show one session what another left there.

use super::fault::Fault;
use super::parts::Session;
use super::seek::Seeker;
use super::settle::INSERT_ID;
use super::state::Tx;
use super::turns::take_turn;
use crate::backend::bounded;
use crate::backend::{Backend, Idle, Role, Server};
use crate::clients::registry::Entry;
use crate::common::signals::{ASKED_BACK, KILLED, STOPPING};
use crate::protocol::error::SqlError;
use crate::sql::Ties;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Instant;

/// Prepared statements that a connection keeps when it is handed over.
const MOST_STATEMENTS: usize = 100;

const ALL: u8 = KILLED | ASKED_BACK | STOPPING;
/// Not raised: servers have to hear from the session.
const DUE: u8 = 1 << 7;

impl Session {
    /// What the statement in hand needs of the session's connections.
    pub(super) fn tie(&mut self, ties: Ties) {
        self.ties = ties;
        self.state.stays |= ties.stays;
    }

    /// Whether something of this session lives on its connection to the server, so that others can't have it even if they
    /// ask. `cursors`: the servers that hold any.
    fn lives_on(&self, backend: &Backend, cursors: &[usize]) -> bool {
        let id = backend.server.id;
        let here = match backend.server.role {
            Role::Master => self.state.depends_on_master() || self.leave.is_some(),
            Role::Satellite => self.state.tx == Tx::OnSatellite(id),
        };
        here || backend.left || self.state.stays || cursors.contains(&id)
    }

    /// The same, or something that the client may ask about: kept unless somebody asks for the connection.
    fn keeps(&self, backend: &Backend, cursors: &[usize], asked: bool) -> bool {
        let last = self.state.diagnostics.server() == Some(backend.server.id);
        let warned = self.state.warnings > 0 && last;
        self.lives_on(backend, cursors) || (warned && !asked)
    }

    /// Gives back what others need more. Called between two commands. `asked`: somebody waits for one.
    pub(super) async fn hand_over(&mut self, asked: bool) {
        let tight = |b: &Backend| b.server.pool.is_tight();
        for backend in self.connections.satellites.take_if(tight) {
            if let Some(kept) = self.give_unless_kept(backend, asked) {
                self.connections.satellites.put(kept);
            }
        }
        if let Some(master) = self.connections.master.take_if(|b| tight(b)) {
            self.connections.master = self.give_master(master, asked).await;
        }
    }

    pub(super) async fn give_master(
        &mut self,
        mut master: Box<Backend>,
        asked: bool,
    ) -> Option<Box<Backend>> {
        if master.unreported || self.state.open.charsets {
            master = self.settled_master(master).await?;
        }
        let cursors = self.statements.cursors();
        if self.keeps(&master, &cursors, asked) {
            return Some(master);
        }
        if std::mem::take(&mut self.state.inserted) {
            let within = self.shared.config.server_timeout;
            let asked = bounded(within, master.query(INSERT_ID)).await;
            let id = asked.ok().and_then(|a| a.text(0, 0).map(str::to_owned));
            // Without an answer the connection is of no use to anybody, and nobody knows the id.
            let Some(id) = id else {
                self.state.lose_insert_id();
                return None;
            };
            let was_ready = master.replayed == self.state.order();
            self.state
                .keep_on_master("last_insert_id", format!("SET last_insert_id = {id}"));
            if was_ready {
                master.replayed = self.state.order();
            }
        }
        self.give_unless_kept(master, asked)
    }

    /// Before others get it, it must be known what lives there. What the statement before left, the questions overwrite.
    async fn settled_master(&mut self, master: Box<Backend>) -> Option<Box<Backend>> {
        self.connections.master = Some(master);
        self.settle_status().await.ok()?;
        if self.state.open.charsets {
            self.ask_charsets().await.ok()?;
        }
        let mut master = self.connections.master.take()?;
        master.number = Backend::new_number();
        Some(master)
    }

    /// The connection, if it has to stay.
    fn give_unless_kept(&mut self, mut backend: Box<Backend>, asked: bool) -> Option<Box<Backend>> {
        let server = backend.server.clone();
        let cursors = self.statements.cursors();
        if self.keeps(&backend, &cursors, asked) {
            return Some(backend);
        }
        // Whoever has it next, what this session asks about its last statement is not there any more.
        backend.number = Backend::new_number();
        backend.trim_statements(MOST_STATEMENTS);
        self.shared.metrics.handed_over.inc();
        server.pool.give(Idle {
            backend,
            identity: self.user.identity(&self.client),
            owner: self.connections.life,
            since: Instant::now(),
        });
        None
    }

    /// Says which servers could have their connections back while the session waits for its client.
    pub(super) fn offer_while_idle(&mut self) {
        let cursors = self.statements.cursors();
        let held = self
            .connections
            .satellites
            .iter()
            .chain(self.connections.master.as_deref());
        let spare = held.filter(|b| !self.lives_on(b, &cursors));
        let mask = spare.fold(0, |mask, b| mask | Entry::bit(b.server.id));
        self.entry.idle(mask);
    }

    /// Waits for the first bytes of a command; meanwhile the session gives connections back when it is asked.
    pub(super) async fn wait_for_client(&mut self) -> Result<(), Fault> {
        if !self.client.conn.buffered().is_empty() {
            return Ok(());
        }
        let entry = self.entry.clone();
        self.offer_while_idle();
        loop {
            let due = self
                .connections
                .keep_alive_due(self.client.timeouts.keep_alive());
            let (conn, alarm) = (&mut self.client.conn, &mut self.connections.alarm);
            let raised = poll_fn(|context| match conn.poll_fill(context) {
                Poll::Ready(filled) => Poll::Ready(filled.map(|()| 0)),
                Poll::Pending if alarm.poll(due, context).is_ready() => Poll::Ready(Ok(DUE)),
                Poll::Pending => entry.signals.poll(context, ALL).map(Ok),
            });
            match raised.await.map_err(while_idle)? {
                0 => break,
                DUE => self.keep_alive().await,
                raised if raised & KILLED != 0 => return Err(Fault::Gone),
                raised if raised & STOPPING != 0 => {
                    return Err(Fault::Fatal(SqlError::shutdown()));
                }
                _ => {
                    entry.signals.clear(ASKED_BACK);
                    self.hand_over(true).await;
                    self.connections.show_master(&self.entry);
                    self.offer_while_idle();
                }
            }
        }
        entry.idle(0);
        Ok(())
    }

    async fn keep_alive(&mut self) {
        let within = self.shared.config.server_timeout;
        self.connections.keep_alive(within).await;
        self.connections.show_master(&self.entry);
    }

    /// Finds connections for this session.
    pub(super) fn seeker(&self) -> Seeker<'_> {
        Seeker {
            shared: &self.shared,
            entry: &self.entry,
            client: &self.client,
            user: &self.user,
            state: &self.state,
            life: self.connections.life,
        }
    }

    pub(super) async fn queue(&mut self, server: &Server, heavy: bool) -> Result<(), SqlError> {
        self.turn = None;
        self.turn = Some(take_turn(&self.shared, &self.entry, server, heavy).await?);
        Ok(())
    }
}

/// Why there is no next command.
fn while_idle(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::TimedOut => Fault::Fatal(SqlError::inactive()),
        _ => Fault::Gone,
    }
}
