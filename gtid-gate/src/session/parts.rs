//! What a session is made of.

use super::fault::Fault;
use super::held::Held;
use super::held::KeepAlive;
use super::prepared::Statements;
use super::state::State;
use crate::backend::{Backend, Open, Permit, Role, Server};
use crate::clients::login::{Account, Client};
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::common::consistency::{Choice, Level, Policy};
use crate::common::memory::Share;
use crate::common::secret::Password;
use crate::freshness::{MasterLeave, Told};
use crate::protocol::charset::Encoding;
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::wire;
use crate::sql::Ties;
use std::sync::Arc;

pub(crate) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) entry: Arc<Entry>,
    pub(super) client: Client,
    pub(super) user: String,
    /// Whom the master takes the user for.
    pub(super) account: Arc<str>,
    pub(super) password: Arc<Password>,
    pub(super) charset: u16,
    /// What the client says about itself, for the servers.
    pub(super) attributes: Vec<u8>,
    pub(super) state: State,
    pub(super) master: Option<Box<Backend>>,
    pub(super) satellites: Held,
    pub(super) statements: Statements,
    /// What the statement in hand, or the transaction that it is in, was promised.
    pub(super) policy: Policy,
    /// The connection is a proxy's: many clients share it, and what one of them says is not said for the others.
    pub(super) shared_by_clients: bool,
    /// Held while the session is in the middle of something on a satellite.
    pub(super) open: Vec<Open>,
    /// The status flags of the last answer.
    pub(super) last_status: u16,
    /// What the statement that began the transaction chose for it.
    pub(super) begin_hint: Choice,
    /// Held while a read-only transaction runs on the master for want of a satellite.
    pub(super) leave: Option<MasterLeave>,
    /// Held while a statement runs on a server.
    pub(super) turn: Option<Permit>,
    /// What the statement in hand asks of its connection.
    pub(super) ties: Ties,
    /// Changes when the session begins anew: connections that it handed over before are not its own any more.
    pub(super) life: u64,
    pub(super) keeping: KeepAlive,
}

impl Session {
    pub(super) fn new(
        shared: Arc<Shared>,
        entry: Arc<Entry>,
        mut client: Client,
        account: Account,
    ) -> Self {
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

    pub(super) async fn say_ok(&mut self) -> Result<(), Fault> {
        self.state.before.answered();
        self.say_alive().await
    }

    /// An answer that changes nothing of what the client may ask about the statement before.
    pub(super) async fn say_alive(&mut self) -> Result<(), Fault> {
        let packet = wire::ok_packet(self.state.status());
        Ok(self.client.conn.send(&packet).await?)
    }

    /// Remembers that the session has seen what was there.
    pub(super) fn answered_by(&mut self, server: &Server, incarnation: &Arc<str>, told: Told) {
        let level = self.policy.level;
        self.state
            .seen
            .answered(server.id, server.role, incarnation, told, level);
    }

    /// What a read that begins now is promised: said by the statement, else the session, else the user.
    pub(super) fn policy(&self, hint: Choice) -> Policy {
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
    pub(super) fn lost_master(&mut self, error: BackendError) -> Fault {
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

    pub(super) fn is_master(server: &Server) -> bool {
        server.role == Role::Master
    }
}
