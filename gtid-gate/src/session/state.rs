//! What a session has built up and must not lose: transaction, settings, ties to a server. Pure.

use super::declared::Declared;
use super::diagnostics::Diagnostics;
use crate::backend::Role;
use crate::common::consistency::Choice;
use crate::freshness::History;
use crate::protocol::charset::Encoding;
use crate::protocol::wire::{STATUS_AUTOCOMMIT, STATUS_IN_TRANS, STATUS_IN_TRANS_READONLY};
use crate::sql::is_system_schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tx {
    None,
    /// A read-only transaction was begun and nothing read yet: its server is chosen by its first statement.
    Pending,
    OnMaster,
    OnSatellite(usize),
    /// Its satellite is gone: only COMMIT and ROLLBACK are left.
    Lost,
}

/// A setting to be repeated on each further server; `sql` is a whole SET statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub order: u64,
    pub name: String,
    pub sql: String,
    /// Satellites are not told.
    pub master_only: bool,
}

/// What a SET has computed on the master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Computed {
    Variable(String),
    /// One of `policy::NAMES`.
    Choice(&'static str),
}

/// What `SET TRANSACTION` (without SESSION) said about the next transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Next {
    pub read_only: Option<bool>,
    pub serializable: bool,
    /// Each of both at most once: a client may say them as often as it likes.
    mode: Option<String>,
    isolation: Option<String>,
}

impl Next {
    pub fn read_only(&mut self, read_only: bool) {
        self.read_only = Some(read_only);
        let mode = if read_only { "READ ONLY" } else { "READ WRITE" };
        self.mode = Some(format!("SET TRANSACTION {mode}"));
    }

    pub fn isolation(&mut self, level: &str) {
        self.serializable = level == "SERIALIZABLE";
        self.isolation = Some(format!("SET TRANSACTION ISOLATION LEVEL {level}"));
    }

    /// What the server that runs the transaction is told.
    pub fn sql(&self) -> impl Iterator<Item = &str> {
        self.mode.iter().chain(&self.isolation).map(String::as_str)
    }
}

pub struct State {
    pub tx: Tx,
    pub database: Option<String>,
    pub autocommit: bool,
    pub read_only: bool,
    pub serializable: bool,
    pub next: Next,
    /// The tables that the read-only transaction said it will read.
    pub declared: Option<Declared>,
    /// What a read-only transaction on a satellite has said, while it has read nothing: can be said again elsewhere.
    pub opening: Vec<String>,
    settings: Vec<Setting>,
    order: u64,
    /// Why all statements must run on the master from now on.
    pub sticky: Option<&'static str>,
    /// User variables were set on the master.
    pub user_variables: bool,
    /// The session's sql_mode changes how statements are read: classification can't be trusted with them.
    pub reads_differently: bool,
    /// What statements come in.
    pub encoding: Encoding,
    pub seen: History,
    /// What the client may ask about the statement before.
    pub diagnostics: Diagnostics,
    /// What the session chose for its reads.
    pub choice: Choice,
    /// The session keeps its connections from now on: it asked about one of them.
    pub stays: bool,
    /// The statement before left warnings or an error, about which the client may ask.
    pub last_warned: bool,
    /// LAST_INSERT_ID() may have a new value on the connection to the master.
    pub inserted: bool,
    /// LAST_INSERT_ID() had a value on a connection to the master that is gone.
    pub insert_id_lost: bool,
    /// What was set to values that only the master knows, until it is asked for them.
    pub computed: Vec<Computed>,
}

impl State {
    pub fn new(database: Option<String>, encoding: Encoding) -> Self {
        Self {
            tx: Tx::None,
            database,
            autocommit: true,
            read_only: false,
            serializable: false,
            next: Next::default(),
            declared: None,
            opening: Vec::new(),
            settings: Vec::new(),
            order: 0,
            sticky: None,
            user_variables: false,
            reads_differently: false,
            encoding,
            seen: History::default(),
            diagnostics: Diagnostics::default(),
            choice: Choice::default(),
            stays: false,
            last_warned: false,
            inserted: false,
            insert_id_lost: false,
            computed: Vec::new(),
        }
    }

    /// COM_RESET_CONNECTION: all but the database is as after login. What was read stays read.
    pub fn reset(&mut self) {
        *self = Self {
            seen: std::mem::take(&mut self.seen),
            order: self.order,
            ..Self::new(self.database.take(), self.encoding)
        };
    }

    /// The status flags that a server with this state would send.
    pub fn status(&self) -> u16 {
        let autocommit = if self.autocommit {
            STATUS_AUTOCOMMIT
        } else {
            0
        };
        let on_master = match self.tx {
            Tx::OnMaster => STATUS_IN_TRANS,
            _ => 0,
        };
        autocommit | on_master | self.extra_status()
    }

    /// What the master does not know: a read-only transaction that is open elsewhere.
    pub fn extra_status(&self) -> u16 {
        match self.tx {
            Tx::Pending | Tx::OnSatellite(_) | Tx::Lost => {
                STATUS_IN_TRANS | STATUS_IN_TRANS_READONLY
            }
            Tx::None | Tx::OnMaster => 0,
        }
    }

    /// Keeps a setting for further servers, in order, the last one of each name; returns its order.
    pub fn keep(&mut self, name: &str, sql: String) -> u64 {
        self.keep_setting(name, sql, false)
    }

    /// The same, for further connections to the master.
    pub fn keep_on_master(&mut self, name: &str, sql: String) {
        self.keep_setting(name, sql, true);
    }

    fn keep_setting(&mut self, name: &str, sql: String, master_only: bool) -> u64 {
        self.settings.retain(|s| s.name != name);
        self.order += 1;
        self.settings.push(Setting {
            order: self.order,
            name: name.to_owned(),
            sql,
            master_only,
        });
        self.order
    }

    /// Settings that a server of this role which has those up to `order` still lacks.
    pub fn settings_after(&self, order: u64, role: Role) -> impl Iterator<Item = &Setting> {
        self.settings
            .iter()
            .filter(move |s| s.order > order && (role == Role::Master || !s.master_only))
    }

    /// All that a server of this role is told, in order.
    pub fn settings_on(&self, role: Role) -> Vec<String> {
        self.settings_after(0, role)
            .map(|s| s.sql.clone())
            .collect()
    }

    pub fn order(&self) -> u64 {
        self.order
    }

    /// Whether the next transaction, if it says nothing itself, only reads.
    pub fn declared_read_only(&self) -> bool {
        self.next.read_only.unwrap_or(self.read_only)
    }

    /// The current schema differs from server to server by nature.
    pub fn in_system_schema(&self) -> bool {
        self.database.as_deref().is_some_and(is_system_schema)
    }

    pub fn must_serialize(&self) -> bool {
        self.serializable || self.next.serializable
    }

    /// Whether the next transaction, or a statement on its own, may run on a satellite if it only reads.
    pub fn satellites_allowed(&self) -> bool {
        let tied = self.sticky.is_some() || self.reads_differently;
        !tied && !self.must_serialize() && !self.in_system_schema()
    }

    /// A read outside a transaction: not if autocommit is off and it would begin a read-write one.
    pub fn may_read_alone(&self) -> bool {
        self.satellites_allowed() && (self.autocommit || self.declared_read_only())
    }

    pub fn depends_on_master(&self) -> bool {
        let held = self.sticky.is_some() || self.user_variables || !self.computed.is_empty();
        held || self.tx == Tx::OnMaster
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_replayed_once_and_in_order() {
        let mut state = State::new(None, Encoding::Utf8);
        state.keep("a", "SET a=1".into());
        let b = state.keep("b", "SET b=1".into());
        state.keep("a", "SET a=2".into());
        state.keep_on_master("c", "SET c=1".into());
        let sql = |order, role| -> Vec<_> {
            let settings = state.settings_after(order, role);
            settings.map(|s| s.sql.as_str()).collect()
        };
        assert_eq!(sql(0, Role::Satellite), ["SET b=1", "SET a=2"]);
        assert_eq!(sql(b, Role::Satellite), ["SET a=2"]);
        assert_eq!(sql(b, Role::Master), ["SET a=2", "SET c=1"]);
    }

    #[test]
    fn a_reset_keeps_the_database_and_forgets_the_rest() {
        let mut state = State::new(Some("db".into()), Encoding::Utf8);
        state.autocommit = false;
        state.sticky = Some("temporary table");
        state.keep("a", "SET a=1".into());
        state.reset();
        assert_eq!(state.database.as_deref(), Some("db"));
        assert!(
            state.autocommit
                && state.sticky.is_none()
                && state.settings_on(Role::Master).is_empty()
        );
    }

    #[test]
    fn what_is_declared_for_the_next_transaction_wins() {
        let mut state = State::new(None, Encoding::Utf8);
        state.read_only = true;
        assert!(state.declared_read_only());
        state.next.read_only = Some(false);
        assert!(!state.declared_read_only());
    }

    #[test]
    fn what_is_said_of_the_next_transaction_again_and_again_is_told_once() {
        let mut next = Next::default();
        for at in 0..100 {
            next.read_only(at % 2 == 0);
            next.isolation("SERIALIZABLE");
        }
        let told: Vec<&str> = next.sql().collect();
        let isolation = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
        assert_eq!(told, ["SET TRANSACTION READ WRITE", isolation]);
    }
}
