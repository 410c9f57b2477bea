//! Finds a connection for a session: its own of before, another's, or a new one; and has what the session has set hold there.
//!
//! Must never: show one session what another left on a connection.

use super::state::State;
use super::turns::patiently;
use super::user::User;
use crate::backend::{self, Backend, ConnectionPermit, Idle, Offer, Role, Server, Wanted, bounded};
use crate::clients::login::Client;
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::protocol::error::{BackendError, SqlError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who was asked for a connection may have become busy with it: after this long another is asked.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// ER_MUST_CHANGE_PASSWORD
const MUST_CHANGE_PASSWORD: u16 = 1820;

/// What it takes to find a connection.
pub(super) struct Seeker<'a> {
    pub shared: &'a Shared,
    pub entry: &'a Entry,
    pub client: &'a Client,
    pub user: &'a User,
    pub state: &'a State,
    /// The session's: see `Connections`.
    pub life: u64,
}

impl Seeker<'_> {
    /// A connection for this session: its own of before, another's, or a new one.
    pub(super) async fn connection(
        &self,
        server: &Arc<Server>,
    ) -> Result<Box<Backend>, BackendError> {
        let identity = self.user.identity(self.client);
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
                    let freed = wait_for_freed(self.shared, server, started);
                    let freed = patiently(self.entry, freed).await;
                    freed
                        .map_err(BackendError::Busy)?
                        .map_err(|()| too_many(self.shared, server))?;
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
        let charset = (!self.state.was_reset).then(|| backend::set_charset(self.user.charset));
        let mut settings: Vec<String> = charset.into_iter().collect();
        settings.extend(self.state.settings_on(backend.server.role));
        bounded(within, backend.reset_to(&settings)).await.ok()?;
        backend.replayed = self.state.order();
        Some(backend)
    }

    pub(super) async fn connect(
        &self,
        server: &Arc<Server>,
        permit: ConnectionPermit,
    ) -> Result<Box<Backend>, BackendError> {
        let within = self.shared.config.connect_timeout;
        // Others would have to be in the login's character set.
        let database = self.state.database.as_deref().filter(|d| d.is_ascii());
        let wish = self
            .user
            .wish(self.client, database, &self.shared.tls_to_servers);
        let mut backend = Backend::connect(server, wish, within).await?;
        backend.permit = Some(permit);
        if self.state.was_reset {
            // Its character sets are to be what they are on the session's other connections.
            let within = self.shared.config.server_timeout;
            bounded(within, backend.reset()).await?;
        }
        if server.role == Role::Satellite {
            let within = self.shared.config.server_timeout;
            bounded(within, backend.make_read_only()).await?;
        }
        Ok(backend)
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

/// Whether there is nothing to be made ready.
pub(super) fn is_ready(state: &State, backend: &Backend) -> bool {
    let there = state.database.is_none() || backend.database == state.database;
    let reports = backend.reporting || backend.server.role == Role::Satellite;
    there && reports && backend.replayed == state.order() && backend.autocommit == state.autocommit
}

/// Repeats on a server what the session has set elsewhere.
pub(super) async fn make_ready(state: &State, backend: &mut Backend) -> Result<(), BackendError> {
    if is_ready(state, backend) {
        return Ok(());
    }
    let role = backend.server.role;
    if role == Role::Master && !backend.reporting {
        match backend.report_all().await {
            // All that it lets a client do is to set another password.
            Err(BackendError::Sql(error)) if error.code == MUST_CHANGE_PASSWORD => return Ok(()),
            other => other?,
        }
    }
    for setting in state.settings_after(backend.replayed, role) {
        backend.query(&setting.sql).await?;
    }
    backend.replayed = state.order();
    if let Some(database) = &state.database
        && backend.database.as_ref() != Some(database)
    {
        backend.select_database(database).await?;
    }
    if backend.autocommit != state.autocommit {
        let value = u8::from(state.autocommit);
        backend.query(&format!("SET autocommit = {value}")).await?;
        backend.autocommit = state.autocommit;
    }
    Ok(())
}
