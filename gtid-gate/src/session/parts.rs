//! What a session is made of.

use super::connections::Connections;
use super::estimate::Estimate;
use super::fault::Fault;
use super::prepared::Statements;
use super::promise::{Chosen, Promise};
use super::state::{State, Tx};
use super::trace::Trace;
use super::user::User;
use crate::backend::{Role, Server, Turn};
use crate::clients::login::{Account, Client};
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::common::consistency::Choice;
use crate::common::memory::Share;
use crate::freshness::{MasterLeave, Proven, Told};
use crate::ops::config::Config;
use crate::protocol::charset::Encoding;
use crate::protocol::session_track::{self, Own, Shown, Trackers};
use crate::sql::{Names, Ties};
use std::sync::Arc;

pub(crate) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) entry: Arc<Entry>,
    pub(super) client: Client,
    pub(super) user: User,
    pub(super) state: State,
    /// Which changes of the session its client is told of.
    pub(super) trackers: Trackers,
    /// The statement in hand begins a transaction on a satellite, which has yet to be chosen.
    pub(super) begins_snapshot: bool,
    /// The statement in hand sets one of them, and nothing else.
    pub(super) sets_tracker: bool,
    pub(super) connections: Connections,
    pub(super) statements: Statements,
    pub(super) promise: Promise,
    /// The status flags of the last answer.
    pub(super) last_status: u16,
    /// Held while a read-only transaction runs on the master for want of a satellite.
    pub(super) leave: Option<MasterLeave>,
    /// The master could not be reached, or was lost before the client got anything of the answer.
    pub(super) master_said_nothing: bool,
    /// Held while a statement runs on a server.
    pub(super) turn: Option<Turn>,
    /// What is expected of the read in hand, where its server was chosen for that.
    pub(super) expected: Option<Estimate>,
    /// What the statement in hand asks of its connection.
    pub(super) ties: Ties,
    /// The names in the query in hand; nothing if it may read anything.
    pub(super) names: Option<Arc<Names>>,
    /// The statement in hand reads: what its names stand for decides whether satellites may answer.
    pub(super) reads_names: bool,
    /// The statement in hand may hide a COMMIT or ROLLBACK that ends the connection, among others.
    pub(super) may_release: bool,
    /// What it rests on that a satellite may answer the statement in hand.
    pub(super) proven: Option<Proven>,
    /// What is recorded of the statement in hand.
    pub(super) trace: Trace,
}

impl Session {
    pub(super) fn new(
        shared: Arc<Shared>,
        entry: Arc<Entry>,
        mut client: Client,
        mut account: Account,
        shared_by_clients: bool,
    ) -> Self {
        let share = Share::new(&shared.memory);
        client.conn.count_with(share.in_hand());
        let (database, master) = (account.database.take(), account.master.take());
        let encoding = Encoding::of_collation(account.charset);
        let mut state = State::new(database, encoding);
        state.pinned = account.pinned();
        state.sticky = state.pinned;
        Self {
            promise: Promise::new(shared.config.policy, shared_by_clients),
            connections: Connections::new(master, shared.registry.new_life()),
            shared,
            entry,
            client,
            user: User::of(&mut account),
            state,
            trackers: Trackers::default(),
            sets_tracker: false,
            begins_snapshot: false,
            statements: Statements::new(share),
            last_status: 0,
            leave: None,
            master_said_nothing: false,
            turn: None,
            expected: None,
            ties: Ties::NONE,
            names: None,
            reads_names: false,
            may_release: false,
            proven: None,
            trace: Trace::default(),
        }
    }

    pub(super) async fn say_ok(&mut self) -> Result<(), Fault> {
        self.state.diagnostics.answered();
        self.state.warnings = 0;
        self.say_alive().await
    }

    /// OK to what begins or ends an explicit transaction.
    pub(super) async fn say_transaction(&mut self, open: bool) -> Result<(), Fault> {
        self.state.diagnostics.answered();
        self.state.warnings = 0;
        let now = if open { Shown::Open } else { Shown::None };
        let before = std::mem::replace(&mut self.state.shown, now);
        let changed = open != (before != Shown::None);
        self.answer_ok(Own {
            transaction: changed.then_some(open),
            ..Own::default()
        })
        .await
    }

    /// An answer that changes nothing of what the client may ask about the statement before.
    pub(super) async fn say_alive(&mut self) -> Result<(), Fault> {
        // The flags in the answer are the server's.
        self.settle_status().await?;
        let ended = self.state.shown == Shown::Ended;
        if ended {
            self.state.shown = Shown::None;
        }
        self.answer_ok(Own {
            warnings: self.state.warnings,
            transaction: ended.then_some(false),
            ..Own::default()
        })
        .await
    }

    /// OK to a login.
    pub(super) async fn welcome(&mut self) -> Result<(), Fault> {
        let schema = self.state.database.clone();
        self.answer_ok(Own {
            schema: schema.as_deref(),
            ..Own::default()
        })
        .await
    }

    async fn answer_ok(&mut self, own: Own<'_>) -> Result<(), Fault> {
        let owed = std::mem::take(&mut self.state.owed);
        let own = Own { owed: &owed, ..own };
        let trackers = self.tracks().then_some(&self.trackers);
        let packet = session_track::ok_packet(self.state.status(), own, trackers);
        Ok(self.client.conn.send(&packet).await?)
    }

    /// Remembers that the session has seen what was there.
    pub(super) fn answered_by(&mut self, server: &Server, incarnation: &Arc<str>, told: Told) {
        let level = self.promise.covering();
        self.state
            .seen
            .answered(server.id, server.role, incarnation, told, level);
    }

    /// What the reads of the statement in hand are promised: said by the statement, else the session, else the user.
    pub(super) fn promise(&mut self, hint: Choice) {
        if self.state.tx == Tx::None {
            self.state.declared = None;
        }
        let (config, user, state) = (&self.shared.config, &self.user, &self.state);
        let chosen = || chosen(config, user, state);
        self.promise.begin_statement(state.tx, hint, chosen);
    }

    /// What the reads of a statement with this hint would be promised.
    pub(super) fn would_promise(&self, hint: Choice) -> Promise {
        let mut promise = self.promise.clone();
        let chosen = || chosen(&self.shared.config, &self.user, &self.state);
        promise.begin_statement(self.state.tx, hint, chosen);
        promise
    }

    pub(super) fn is_master(server: &Server) -> bool {
        server.role == Role::Master
    }
}

fn chosen(config: &Config, user: &User, state: &State) -> Chosen {
    Chosen {
        session: state.choice,
        user: config.users.get(&user.name).copied().unwrap_or_default(),
        otherwise: config.policy,
    }
}
