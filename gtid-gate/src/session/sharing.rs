//! Turns and connections: what there is a limited number of on each server, and how sessions share it.
//!
//! While a server has room for connections, a session keeps its own. Once it has none, sessions hand theirs over between
//! two statements, and idle ones are asked for theirs, unless something of the session lives there: a transaction, a
//! cursor, a temporary table, warnings that it may ask for.
//! Must never: hand a connection over that a session still needs, or show one session what another left there.

use super::fault::Fault;
use super::keep_alive::while_idle;
use super::parts::Session;
use super::state::Tx;
use crate::backend::bounded;
use crate::backend::{self, Backend, Identity, Idle, Offer, Role, Server, Wanted};
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::common::signals::{ASKED_BACK, KILLED, STOPPING};
use crate::protocol::error::{BackendError, SqlError};
use crate::sql::Ties;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Prepared statements that a connection keeps when it is handed over.
const MOST_STATEMENTS: usize = 100;

/// Who was asked for a connection may have become busy with it: after this long another is asked.
const ASK_AGAIN: Duration = Duration::from_millis(50);

const ALL: u8 = KILLED | ASKED_BACK | STOPPING;
/// Not raised: servers have to hear from the session.
const DUE: u8 = 1 << 7;

/// Waits for something of the gate's own, unless the session is told to stop waiting.
pub(super) async fn patiently<T>(
    entry: &Entry,
    waiting: impl Future<Output = T>,
) -> Result<T, SqlError> {
    tokio::select! {
        biased;
        done = waiting => Ok(done),
        () = entry.interrupted.notified() => Err(SqlError::interrupted()),
        // The session itself ends once this is told.
        _ = poll_fn(|context| entry.signals.poll(context, KILLED)) => Err(SqlError::interrupted()),
    }
}

/// Waits until it is worth looking again; not beyond the time that may be spent.
async fn wait_for_freed(shared: &Shared, server: &Server, started: Instant) -> Result<(), ()> {
    let left = shared.config.queue.saturating_sub(started.elapsed());
    if left.is_zero() {
        return Err(());
    }
    let _ = tokio::time::timeout(left.min(ASK_AGAIN), server.pool.freed()).await;
    Ok(())
}

fn too_many(shared: &Shared, server: &Server) -> BackendError {
    let kinds = &shared.metrics.overloads;
    kinds.with_label_values(&["connections"]).inc();
    BackendError::Busy(SqlError::gate(format_args!(
        "{} is overloaded: all of its {} connections are in use, none became free within {} ms",
        server.name,
        server.pool.limit(),
        shared.config.queue.as_millis()
    )))
}

impl Session {
    /// Waits until it is this statement's turn on the server; kept until its answer is through.
    pub(super) async fn queue(&mut self, server: &Arc<Server>) -> Result<(), SqlError> {
        self.turn = None;
        if let Some(place) = server.limiter.try_take() {
            self.turn = Some(place);
            return Ok(());
        }
        let metrics = &self.shared.metrics;
        let (within, started) = (self.shared.config.queue, Instant::now());
        let turn = tokio::time::timeout(within, server.limiter.take());
        let turn = patiently(&self.entry, turn).await?;
        metrics
            .queue_seconds
            .observe(started.elapsed().as_secs_f64());
        self.turn = turn.unwrap_or(None);
        if self.turn.is_some() {
            return Ok(());
        }
        metrics.overloads.with_label_values(&["running"]).inc();
        Err(SqlError::gate(format_args!(
            "{} is overloaded: not this statement's turn within {} ms ({} run at a time, {} wait)",
            server.name,
            within.as_millis(),
            server.limiter.limit(),
            server.limiter.queued()
        )))
    }

    /// What the statement in hand needs of the session's connections.
    pub(super) fn tie(&mut self, ties: Ties) {
        self.ties = ties;
        self.state.stays |= ties.stays;
    }

    fn identity(&self) -> Identity {
        Identity {
            user: self.user.clone(),
            account: self.account.clone(),
            password: self.password.clone(),
            capabilities: self.client.capabilities,
            charset: self.charset,
            secure: self.client.secure,
        }
    }

    /// A connection for this session: its own of before, another's, or a new one.
    pub(super) async fn connection(
        &self,
        server: &Arc<Server>,
    ) -> Result<Box<Backend>, BackendError> {
        let identity = self.identity();
        let started = Instant::now();
        loop {
            let wanted = Wanted {
                identity: &identity,
                owner: self.life,
                has_database: self.state.database.is_some(),
            };
            match server.pool.offer(&wanted) {
                Offer::Idle(idle) => {
                    if let Some(backend) = self.take_over(*idle).await {
                        return Ok(backend);
                    }
                }
                Offer::Permit(permit) => return self.connect(server, permit).await,
                Offer::Full => {
                    self.shared.registry.ask_back(server.id);
                    let freed = wait_for_freed(&self.shared, server, started);
                    let freed = patiently(&self.entry, freed).await;
                    freed
                        .map_err(BackendError::Busy)?
                        .map_err(|()| too_many(&self.shared, server))?;
                }
            }
        }
    }

    /// Nothing if it is of no use any more.
    async fn take_over(&self, idle: Idle<Box<Backend>>) -> Option<Box<Backend>> {
        let mut backend = idle.backend;
        if backend.conn.has_ended() || backend.is_lost() {
            return None;
        }
        if idle.owner == self.life {
            return Some(backend);
        }
        // A stored function may have left something there, by way of a view, without the gate's seeing it.
        let within = self.shared.config.server_timeout;
        // As the handshake had set it; a reset makes it the server's default (measured).
        let mut settings = vec![backend::set_charset(self.charset)];
        settings.extend(self.state.settings_on(backend.server.role));
        bounded(within, backend.reset_to(&settings)).await.ok()?;
        backend.replayed = self.state.order();
        Some(backend)
    }

    /// Whether something of this session lives on its connection to the server, so that others can't have it even if they
    /// ask. `cursors`: the servers that hold any.
    fn lives_on(&self, server: &Server, cursors: &[usize]) -> bool {
        let here = match server.role {
            Role::Master => self.state.depends_on_master() || self.leave.is_some(),
            Role::Satellite => self.state.tx == Tx::OnSatellite(server.id),
        };
        here || self.state.stays || cursors.contains(&server.id)
    }

    /// The same, or something that the client may ask about: kept unless somebody asks for the connection.
    fn keeps(&self, server: &Server, cursors: &[usize], asked: bool) -> bool {
        let warned = self.state.last_warned && self.state.before.server() == Some(server.id);
        self.lives_on(server, cursors) || (warned && !asked)
    }

    /// Gives back what others need more. Called between two commands. `asked`: somebody waits for one.
    pub(super) async fn hand_over(&mut self, asked: bool) {
        let tight = |b: &Backend| b.server.pool.is_tight();
        for backend in self.satellites.take_if(tight) {
            if let Some(kept) = self.give_unless_kept(backend, asked) {
                self.satellites.put(kept);
            }
        }
        if let Some(master) = self.master.take_if(|b| tight(b)) {
            self.master = self.give_master(master, asked).await;
        }
    }

    async fn give_master(&mut self, mut master: Box<Backend>, asked: bool) -> Option<Box<Backend>> {
        let cursors = self.statements.cursors();
        if self.keeps(&master.server, &cursors, asked) {
            return Some(master);
        }
        if std::mem::take(&mut self.state.inserted) {
            let within = self.shared.config.server_timeout;
            let asked = bounded(within, master.query("SELECT LAST_INSERT_ID()")).await;
            // Without an answer the connection is of no use to anybody.
            let asked = asked.ok()?;
            let id = asked.text(0, 0).unwrap_or("0").to_owned();
            let was_ready = master.replayed == self.state.order();
            self.state
                .keep_on_master("last_insert_id", format!("SET last_insert_id = {id}"));
            if was_ready {
                master.replayed = self.state.order();
            }
        }
        self.give_unless_kept(master, asked)
    }

    /// The connection, if it has to stay.
    fn give_unless_kept(&mut self, mut backend: Box<Backend>, asked: bool) -> Option<Box<Backend>> {
        let server = backend.server.clone();
        let cursors = self.statements.cursors();
        if self.keeps(&server, &cursors, asked) {
            return Some(backend);
        }
        // Whoever has it next, what this session asks about its last statement is not there any more.
        backend.number = Backend::new_number();
        backend.trim_statements(MOST_STATEMENTS);
        self.shared.metrics.handed_over.inc();
        server.pool.give(Idle {
            backend,
            identity: self.identity(),
            owner: self.life,
            since: Instant::now(),
        });
        None
    }

    /// Says which servers could have their connections back while the session waits for its client.
    pub(super) fn offer_while_idle(&mut self) {
        let cursors = self.statements.cursors();
        let held = self.satellites.iter().chain(self.master.as_deref());
        let spare = held.filter(|b| !self.lives_on(&b.server, &cursors));
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
            let due = self.keep_alive_due();
            let (conn, alarm) = (&mut self.client.conn, &mut self.keeping.alarm);
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
                    self.show_master();
                    self.offer_while_idle();
                }
            }
        }
        entry.idle(0);
        Ok(())
    }

    /// Which of the master's connections is this session's, for KILL.
    pub(super) fn show_master(&self) {
        let on_master = self.master.as_ref().map_or(0, |b| b.thread_id);
        self.entry.on_master.store(on_master, Ordering::Relaxed);
    }
}
