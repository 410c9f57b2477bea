//! What a session has built up and must not lose: transaction, settings, ties to a server. Pure.

use super::declared::Declared;
use super::diagnostics::Diagnostics;
use super::names::Reading;
use crate::backend::Role;
use crate::common::consistency::Choice;
use crate::freshness::History;
use crate::protocol::charset::Encoding;
use crate::protocol::session_track::Shown;
use crate::protocol::wire::{
    STATUS_AUTOCOMMIT, STATUS_IN_TRANS, STATUS_IN_TRANS_READONLY, STATUS_NO_BACKSLASH_ESCAPES,
};
use crate::sql::{Mode, is_system_schema};
use std::sync::Arc;

pub const ONLY_ON_MASTER: &str = "a setting that only the master has";

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

/// What only the master knows until it is asked, before another server is given it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Open {
    /// What the gate listens to, set to what had to be computed: some of `policy::NAMES`.
    pub choices: Vec<&'static str>,
    /// The character sets: one is set with others, of which no report speaks.
    pub charsets: bool,
    /// By SET NAMES, as far as is known: results are described by its collation, too, which no variable shows.
    pub names: bool,
    /// A change was reported without a name: a user variable, or a temporary table.
    pub unnamed: bool,
    /// Changes of the schema may not have been reported.
    pub schema: bool,
    /// The client may have set which changes are reported.
    pub reports: bool,
}

/// The session's completion_type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Completes {
    #[default]
    Plainly,
    Chains,
    Releases,
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

    /// What is set for the session holds for the next transaction too, whatever was said about that before (MySQL, outside a transaction).
    pub fn no_mode(&mut self) {
        (self.read_only, self.mode) = (None, None);
    }

    pub fn no_isolation(&mut self) {
        (self.serializable, self.isolation) = (false, None);
    }

    /// The transaction has begun: its isolation is for the server that it is on, once that is chosen.
    pub fn begun(&mut self) {
        *self = Self {
            serializable: self.serializable,
            isolation: self.isolation.take(),
            ..Self::default()
        };
    }

    pub fn is_set(&self) -> bool {
        self.mode.is_some() || self.isolation.is_some()
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
    /// Something that COM_RESET_CONNECTION does not undo may have been set there: a role, a resource group.
    pub outlives_reset: bool,
    /// Variables with values with which all statements must run on the master, and why.
    binding: Vec<(&'static str, &'static str)>,
    /// What is set for the next transaction, the master's connection has: all statements run there until it reports that the
    /// transaction has begun.
    pub next_on_master: bool,
    /// Something of the session lives on its connection to the master: user variables, say.
    pub user_variables: bool,
    /// The session's sql_mode changes how statements are read: classification can't be trusted with them.
    pub reads_differently: bool,
    /// What of it decides that; unknown until the master has reported it.
    pub mode: Mode,
    /// The same, for as long as the login holds.
    pub pinned: Option<&'static str>,
    /// The SET NAMES that describes results: a collation that no variable shows.
    pub names: Option<String>,
    /// `character_set_results` is no more what the login, or a reset, has made it.
    pub sets_results: bool,
    /// What statements come in; nothing: a reset has made it the servers' default, which nobody has asked for.
    pub encoding: Option<Encoding>,
    /// COM_RESET_CONNECTION has made settings the servers' defaults that the login had chosen.
    pub was_reset: bool,
    pub completes: Completes,
    /// With autocommit off, something ran since the last COMMIT or ROLLBACK, which may hold locks.
    pub left: bool,
    /// Flags of the last answer that hold beyond it.
    pub flags: u16,
    pub shown: Shown,
    /// Reports that the client has yet to get: the answer that they belong to had no room for them.
    pub owed: Vec<u8>,
    pub seen: History,
    /// What the client may ask about the statement before.
    pub diagnostics: Diagnostics,
    /// What the session chose for its reads.
    pub choice: Choice,
    /// The session keeps its connections from now on: it asked about one of them.
    pub stays: bool,
    /// Warnings that the statement before left, about which the client may ask; an error is one.
    pub warnings: u16,
    /// LAST_INSERT_ID() may have a new value on the connection to the master.
    pub inserted: bool,
    /// LAST_INSERT_ID() had a value on a connection to the master that is gone.
    pub insert_id_lost: bool,
    pub open: Open,
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
            outlives_reset: false,
            binding: Vec::new(),
            next_on_master: false,
            user_variables: false,
            reads_differently: false,
            mode: Mode::unknown(),
            encoding: Some(encoding),
            was_reset: false,
            completes: Completes::default(),
            left: false,
            flags: STATUS_AUTOCOMMIT,
            shown: Shown::None,
            owed: Vec::new(),
            pinned: None,
            names: None,
            sets_results: false,
            seen: History::default(),
            diagnostics: Diagnostics::default(),
            choice: Choice::default(),
            stays: false,
            warnings: 0,
            inserted: false,
            insert_id_lost: false,
            open: Open::default(),
        }
    }

    /// COM_RESET_CONNECTION: all but the database is as after login, and character sets are the servers' default (measured). What
    /// was read stays read.
    pub fn reset(&mut self) {
        self.diagnostics.begin_anew();
        // MySQL keeps roles and resource groups (measured).
        let outlives = self.outlives_reset;
        *self = Self {
            diagnostics: std::mem::take(&mut self.diagnostics),
            outlives_reset: outlives,
            seen: std::mem::take(&mut self.seen),
            order: self.order,
            encoding: None,
            was_reset: true,
            sticky: self.pinned.or(outlives.then_some(ONLY_ON_MASTER)),
            pinned: self.pinned,
            ..Self::new(self.database.take(), Encoding::Ascii)
        };
    }

    /// The status flags that a server with this state would send.
    pub fn status(&self) -> u16 {
        let autocommit = if self.autocommit {
            STATUS_AUTOCOMMIT
        } else {
            0
        };
        autocommit | self.flags & STATUS_NO_BACKSLASH_ESCAPES | self.transaction_status()
    }

    /// Of it, what tells of the transaction.
    pub fn transaction_status(&self) -> u16 {
        let on_master = match self.tx {
            Tx::OnMaster => self.flags & STATUS_IN_TRANS_READONLY | STATUS_IN_TRANS,
            _ => 0,
        };
        on_master | self.extra_status()
    }

    /// What the master does not know of such a transaction.
    pub fn extra_status(&self) -> u16 {
        match self.reads_elsewhere() {
            true => STATUS_IN_TRANS | STATUS_IN_TRANS_READONLY,
            false => 0,
        }
    }

    /// A read-only transaction is open that is not on the master.
    pub fn reads_elsewhere(&self) -> bool {
        matches!(self.tx, Tx::Pending | Tx::OnSatellite(_) | Tx::Lost)
    }

    /// What the client knows of its transaction, as it matters to the master's reports.
    pub fn shown_beside(&self) -> Shown {
        match self.shown {
            Shown::Open if self.reads_elsewhere() => Shown::Elsewhere,
            other => other,
        }
    }

    pub fn has_shown(&mut self, shown: Shown) {
        self.shown = match shown {
            Shown::Elsewhere => Shown::Open,
            other => other,
        };
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

    /// Under what texts are prepared.
    pub fn reading(&self) -> Reading {
        let matters = |s: &&Setting| !s.master_only && !s.name.starts_with('@');
        let set = self.settings.iter().filter(matters);
        let set: Arc<[_]> = set.map(|s| (s.name.clone(), s.sql.clone())).collect();
        Reading {
            set: Some(set).filter(|s| !s.is_empty()),
        }
    }

    /// All that a server of this role is told, in order.
    pub fn settings_on(&self, role: Role) -> Vec<String> {
        self.settings_after(0, role)
            .map(|s| s.sql.clone())
            .collect()
    }

    /// A variable has a value with which all statements must run on the master, or (nothing) has it no more.
    pub fn bind(&mut self, variable: &'static str, reason: Option<&'static str>) {
        self.binding.retain(|(name, _)| *name != variable);
        self.binding.extend(reason.map(|reason| (variable, reason)));
    }

    /// The session's sql_mode, as the master has it.
    pub fn has_mode(&mut self, sql_mode: &str) {
        self.mode = Mode::reported(sql_mode);
        self.reads_differently = self.mode.reads_differently();
        let escapes = sql_mode.contains("NO_BACKSLASH_ESCAPES");
        let flag = if escapes {
            STATUS_NO_BACKSLASH_ESCAPES
        } else {
            0
        };
        self.flags = self.flags & !STATUS_NO_BACKSLASH_ESCAPES | flag;
    }

    /// LAST_INSERT_ID() was on a connection that is gone: what was kept of it is older.
    pub fn lose_insert_id(&mut self) {
        self.insert_id_lost = true;
        self.settings.retain(|s| s.name != "last_insert_id");
    }

    /// Why all statements must run on the master.
    pub fn tied(&self) -> Option<&'static str> {
        let bound = self.binding.first().map(|(_, reason)| *reason);
        let next = self
            .next_on_master
            .then_some("SET TRANSACTION that waits for its transaction");
        self.sticky.or(bound).or(next)
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
        let tied = self.tied().is_some() || self.reads_differently;
        !tied && !self.must_serialize() && !self.in_system_schema()
    }

    /// A read outside a transaction: not if autocommit is off and it would begin a read-write one.
    pub fn may_read_alone(&self) -> bool {
        self.satellites_allowed() && (self.autocommit || self.declared_read_only())
    }

    pub fn depends_on_master(&self) -> bool {
        let open = self.open != Open::default();
        let held = self.sticky.is_some() || self.user_variables || self.next_on_master || open;
        held || self.left || self.tx == Tx::OnMaster
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
