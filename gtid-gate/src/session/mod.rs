//! One client, from login to the end of its connection.
//!
//! In: the client's commands. Out: the answers of whichever server ran them.
//! A session owns its connections: at most one to the master, one to each satellite used, all as the client's user.
//! Must never: repeat a statement that may have written; let one server answer for state that only another has.

mod before;
mod commands;
mod held;
mod infile;
mod inside;
mod keep_alive;
mod kill;
mod long_data;
mod names;
mod prepared;
mod reads;
mod recall;
mod relay;
mod route;
mod run;
mod settings;
mod sharing;
mod state;
mod work;

use crate::backend::{Backend, Open, Permit, Role, Server};
use crate::clients::login::{self, Account, Client, LoginError};
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::common::consistency::{Choice, Level, Policy};
use crate::common::memory::Share;
use crate::common::secret::Password;
use crate::common::signals::{KILLED, STOPPING};
use crate::freshness::{MasterLeave, Told};
use crate::net::timeouts::Phase;
use crate::protocol::charset::Encoding;
use crate::protocol::error::{BackendError, PacketError, SqlError};
use crate::protocol::{capability, wire};
use crate::sql::Ties;
use held::Held;
use keep_alive::KeepAlive;
use prepared::Statements;
use state::{State, Tx};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use tokio::sync::OwnedSemaphorePermit;

/// Why a command has no ordinary answer.
pub(crate) enum Fault {
    /// The client is told; the session goes on.
    Sql(SqlError),
    /// The client is told and the connection closed: session state was lost with a server.
    Fatal(SqlError),
    /// There is nobody to tell.
    Gone,
}

impl From<SqlError> for Fault {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<PacketError> for Fault {
    fn from(error: PacketError) -> Self {
        error.answer().map_or(Self::Gone, Self::Fatal)
    }
}

impl From<std::io::Error> for Fault {
    fn from(_: std::io::Error) -> Self {
        Self::Gone
    }
}

pub(crate) struct Session {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    client: Client,
    user: String,
    /// Whom the master takes the user for.
    account: Arc<str>,
    password: Arc<Password>,
    charset: u16,
    /// What the client says about itself, for the servers.
    attributes: Vec<u8>,
    state: State,
    master: Option<Box<Backend>>,
    satellites: Held,
    statements: Statements,
    /// What the statement in hand, or the transaction that it is in, was promised.
    policy: Policy,
    /// The connection is a proxy's: many clients share it, and what one of them says is not said for the others.
    shared_by_clients: bool,
    /// Held while the session is in the middle of something on a satellite.
    open: Vec<Open>,
    /// The status flags of the last answer.
    last_status: u16,
    /// What the statement that began the transaction chose for it.
    begin_hint: Choice,
    /// Held while a read-only transaction runs on the master for want of a satellite.
    leave: Option<MasterLeave>,
    /// Held while a statement runs on a server.
    turn: Option<Permit>,
    /// What the statement in hand asks of its connection.
    ties: Ties,
    /// Changes when the session begins anew: connections that it handed over before are not its own any more.
    life: u64,
    keeping: KeepAlive,
}

/// Serves one client until it leaves, is killed, or the gate stops. `login_place`: taken until the client is logged in.
pub async fn serve(
    mut client: Client,
    shared: Arc<Shared>,
    shared_by_clients: bool,
    login_place: OwnedSemaphorePermit,
) {
    client.is_proxy = shared_by_clients;
    let entry = shared.registry.add();
    shared.metrics.sessions.inc();
    let within = shared.config.login_timeout;
    let logging_in = async {
        tokio::select! {
            biased;
            done = login_to_session(&mut client, &entry, &shared) => done,
            _ = poll_fn(|context| entry.signals.poll(context, KILLED | STOPPING)) => {
                Err(LoginError::Refused(SqlError::shutdown()))
            }
        }
    };
    match tokio::time::timeout(within, logging_in).await {
        Ok(Ok((account, _place))) => {
            drop(login_place);
            shared.metrics.logins.with_label_values(&["ok"]).inc();
            let mut session = Session::new(shared.clone(), entry.clone(), client, account);
            session.shared_by_clients = shared_by_clients;
            session.run().await;
        }
        Ok(Err(error)) => refuse(&mut client, &shared, error).await,
        Err(_) => {
            shared.metrics.logins.with_label_values(&["timeout"]).inc();
            client.conn.close().await;
        }
    }
    shared.registry.remove(entry.id);
    shared.metrics.sessions.dec();
}

/// A login, and a place among the sessions.
async fn login_to_session(
    client: &mut Client,
    entry: &Entry,
    shared: &Shared,
) -> Result<(Account, OwnedSemaphorePermit), LoginError> {
    let account = login::log_in(client, entry.id, shared).await?;
    let place = shared.sessions.clone().try_acquire_owned();
    let place = place.map_err(|_| LoginError::Refused(SqlError::too_many_connections()))?;
    Ok((account, place))
}

async fn refuse(client: &mut Client, shared: &Shared, error: LoginError) {
    let outcome = match error {
        LoginError::Gone(_) => "gone",
        LoginError::Refused(error) => {
            tracing::debug!(host = %client.host, code = error.code, "login refused");
            client.conn.say_last(&wire::err_packet(&error)).await;
            if error.code == 1043 {
                "bad_handshake"
            } else {
                "refused"
            }
        }
    };
    shared.metrics.logins.with_label_values(&[outcome]).inc();
}

impl Session {
    fn new(shared: Arc<Shared>, entry: Arc<Entry>, mut client: Client, account: Account) -> Self {
        entry.set_user(&account.user);
        let share = Share::new(&shared.memory);
        client.conn.count_with(share.in_hand());
        Self {
            life: shared.registry.new_life(),
            policy: shared.config.policy,
            shared_by_clients: false,
            shared,
            entry,
            client,
            user: account.user,
            account: account.account,
            password: account.password,
            charset: account.charset,
            attributes: account.attributes,
            state: State::new(account.database, Encoding::of_collation(account.charset)),
            master: account.master,
            satellites: Held::default(),
            statements: Statements::new(share),
            open: Vec::new(),
            last_status: 0,
            begin_hint: Choice::default(),
            leave: None,
            turn: None,
            keeping: KeepAlive::default(),
            ties: Ties::NONE,
        }
    }

    async fn run(mut self) {
        self.begin_timeouts();
        if self.client.conn.send(&login::welcome()).await.is_ok() {
            let end = self.commands_unless_killed().await;
            self.say_goodbye(end).await;
        }
        for backend in self.satellites.take_all() {
            backend.quit().await;
        }
        if let Some(backend) = self.master.take() {
            backend.quit().await;
        }
    }

    async fn say_goodbye(&mut self, end: Fault) {
        match end {
            Fault::Sql(error) | Fault::Fatal(error) => {
                self.shared
                    .metrics
                    .errors
                    .with_label_values(&["session_ended"])
                    .inc();
                self.client.conn.say_last(&wire::err_packet(&error)).await;
            }
            Fault::Gone => self.client.conn.close().await,
        }
    }

    /// As at a login.
    fn begin_timeouts(&self) {
        let timeouts = &self.client.timeouts;
        let interactive = self.client.capabilities & capability::INTERACTIVE != 0;
        timeouts.begin(&self.shared.timeouts, interactive);
        timeouts.enter(Phase::Command);
    }

    /// A session that is killed ends wherever it is: while a command comes, while an answer goes, while a server is waited for. A
    /// connection that is in use then is dropped with what used it.
    async fn commands_unless_killed(&mut self) -> Fault {
        let entry = self.entry.clone();
        tokio::select! {
            biased;
            end = self.commands() => end,
            _ = poll_fn(|context| entry.signals.poll(context, KILLED)) => Fault::Gone,
        }
    }

    /// One command after the other; returns why it ended.
    async fn commands(&mut self) -> Fault {
        loop {
            let outcome = match self.next_command().await {
                Ok(request) => self.command(request).await,
                Err(fault) => return fault,
            };
            let outcome = self.end_if_unread(outcome);
            self.client.conn.release();
            self.entry.set_running(None);
            self.turn = None;
            self.settle();
            self.hand_over(false).await;
            self.show_master();
            match outcome {
                Ok(()) => {}
                Err(Fault::Sql(error)) => {
                    self.state.before.failed(&error);
                    if self
                        .client
                        .conn
                        .send(&wire::err_packet(&error))
                        .await
                        .is_err()
                    {
                        return Fault::Gone;
                    }
                }
                Err(end) => return end,
            }
        }
    }

    /// The rest of a command or file that nobody has read would be taken for commands: the session ends, however the
    /// command did. (`Conn::command` refuses to go on in any case.)
    fn end_if_unread(&self, outcome: Result<(), Fault>) -> Result<(), Fault> {
        match outcome {
            outcome if self.client.conn.is_between_messages() => outcome,
            Err(Fault::Sql(error)) => Err(Fault::Fatal(error)),
            Ok(()) => Err(Fault::Gone),
            end => end,
        }
    }

    /// Between two commands: says where something is open, and leaves satellites that are drained.
    fn settle(&mut self) {
        let mut busy = self.statements.cursors();
        if let Tx::OnSatellite(id) = self.state.tx {
            busy.push(id);
        }
        self.open.retain(|o| busy.contains(&o.server.id));
        for id in &busy {
            let is_new = !self.open.iter().any(|o| o.server.id == *id);
            if let Some(backend) = self.satellites.get(*id).filter(|_| is_new) {
                self.open.push(backend.server.start_open());
            }
        }
        let leaves =
            |b: &Backend| b.server.draining.load(Ordering::Relaxed) && !busy.contains(&b.server.id);
        for backend in self.satellites.take_if(leaves) {
            tokio::spawn(backend.quit());
        }
    }

    /// Waits for the client; ends the session when it is killed or the gate stops.
    async fn next_command(&mut self) -> Result<work::Request, Fault> {
        self.client.conn.begin();
        self.client.timeouts.enter(Phase::Idle);
        let waited = self.wait_for_client().await;
        self.client.timeouts.enter(Phase::Command);
        waited?;
        let limit = self.shared.config.max_packet;
        let mut reading = pin!(self.client.conn.command(limit));
        let entry = &self.entry;
        // Killed or stopped in the middle of a command that will never be whole.
        let chunk = poll_fn(|context| match reading.as_mut().poll(context) {
            Poll::Ready(chunk) => Poll::Ready(chunk.map_err(Fault::from)),
            Poll::Pending => entry
                .signals
                .poll(context, KILLED | STOPPING)
                .map(|raised| {
                    Err(match raised & KILLED {
                        0 => Fault::Fatal(SqlError::shutdown()),
                        _ => Fault::Gone,
                    })
                }),
        })
        .await?;
        Ok(work::Request {
            payload: chunk.payload,
            continued: chunk.continued,
        })
    }

    async fn say_ok(&mut self) -> Result<(), Fault> {
        self.state.before.answered();
        self.say_alive().await
    }

    /// An answer that changes nothing of what the client may ask about the statement before.
    async fn say_alive(&mut self) -> Result<(), Fault> {
        let packet = wire::ok_packet(self.state.status());
        Ok(self.client.conn.send(&packet).await?)
    }

    /// Remembers that the session has seen what was there.
    fn answered_by(&mut self, server: &Server, incarnation: &Arc<str>, told: Told) {
        let level = self.policy.level;
        self.state
            .seen
            .answered(server.id, server.role, incarnation, told, level);
    }

    /// What a read that begins now is promised: said by the statement, else the session, else the user.
    fn policy(&self, hint: Choice) -> Policy {
        let config = &self.shared.config;
        let user = config.users.get(&self.user).copied().unwrap_or_default();
        let said = match self.shared_by_clients {
            true => hint,
            false => hint.and_then(self.state.choice),
        };
        let mut policy = said.and_then(user).or_else(config.policy);
        if self.shared_by_clients && policy.level == Level::Session {
            policy.level = Level::Strong;
        }
        policy
    }

    /// The master's connection broke. Nothing is repeated; a session whose state was there ends.
    fn lost_master(&mut self, error: BackendError) -> Fault {
        self.shared
            .metrics
            .errors
            .with_label_values(&["master_lost"])
            .inc();
        let keeps_nothing_there = !self.state.depends_on_master();
        let error = match error {
            BackendError::Busy(error) => return Fault::Sql(error),
            // What it said before it closed the connection.
            BackendError::Sql(error) => error,
            other => {
                tracing::debug!(reason = %other, "lost the master");
                let what =
                    "lost the master during the statement: it may or may not have taken effect";
                SqlError::gate(what)
            }
        };
        if keeps_nothing_there {
            Fault::Sql(error)
        } else {
            Fault::Fatal(error)
        }
    }

    fn is_master(server: &Server) -> bool {
        server.role == Role::Master
    }
}

#[cfg(test)]
mod tests;
