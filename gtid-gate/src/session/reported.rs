//! What the master reports of a session, kept to be repeated on other servers. Pure.
//!
//! In: the settings that the master reports, and what a SET said that no server reports. Out: the state, with what further servers are
//! told. Must never: keep access mode or isolation for satellites, where they are the gate's own; keep what means something else on
//! another server.

use super::state::{Completes, ONLY_ON_MASTER, State, Tx};
use crate::common::consistency::{Choice, Level};
use crate::net::timeouts::Timeouts;
use crate::protocol::charset::Encoding;
use crate::protocol::session_track::Trackers;
use crate::sql::{ChoiceValue, SetItem};

const TRANSACTION_INFO: &str = "session_track_transaction_info";
const COMPUTED: &str = "a clock that was set to what had to be computed";

/// A longer value is not kept to be repeated elsewhere.
const LONGEST: usize = 16 * 1024;

/// Variables that tie the session to one server, or make its writes special.
const TIED: [&str; 15] = [
    "binlog_format",
    "binlog_row_image",
    "debug",
    "gtid_next",
    "gtid_purged",
    "identity",
    "insert_id",
    "last_insert_id",
    "profiling",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "sql_log_bin",
];

/// One of them is set with others, of which no report speaks (measured).
const CHARSETS: [&str; 5] = [
    "character_set_client",
    "character_set_results",
    "character_set_connection",
    "collation_connection",
    "character_set_database",
];

pub(super) struct Reported<'a> {
    pub state: &'a mut State,
    pub trackers: &'a mut Trackers,
    /// The session's own towards its client.
    pub timeouts: &'a Timeouts,
    /// See `Promise`.
    pub shared_by_clients: bool,
}

impl Reported<'_> {
    /// A session variable has this value now.
    pub fn variable(&mut self, name: &str, value: &str) {
        self.timeouts.set(name, value);
        if self.trackers.set(name, value) {
            let transactions = "the client is told of its transactions";
            let reason = self.trackers.transactions.then_some(transactions);
            if name == TRANSACTION_INFO {
                let sql = format!("SET SESSION {name} = '{value}'");
                self.state.keep_on_master(name, sql);
            }
            return self.state.bind(TRANSACTION_INFO, reason);
        }
        if name == "character_set_client" {
            self.state.encoding = Some(Encoding::of(value));
        }
        match name {
            // The status flags say it.
            "autocommit" => {}
            "transaction_read_only" | "tx_read_only" => self.access_mode(value == "ON"),
            "transaction_isolation" | "tx_isolation" => self.isolation(value),
            "completion_type" => self.completion(value),
            "sql_mode" => self.sql_mode(value),
            // With it on, `WHERE id IS NULL` asks for the last inserted row, which only the master knows.
            "sql_auto_is_null" => {
                let asks = (value == "ON").then_some("sql_auto_is_null");
                self.state.bind("sql_auto_is_null", asks);
                self.keep(name, value);
            }
            // What it reports of a clock that runs is a moment.
            "timestamp" => self.clock(Some(COMPUTED)),
            _ if TIED.contains(&name) => self.tie(),
            _ if CHARSETS.contains(&name) => self.state.open.charsets = true,
            _ => self.keep(name, value),
        }
    }

    /// SET NAMES is reported by its three character sets. Its collation holds for results until they get another character set.
    pub fn results(&mut self, variables: &[(String, String)]) {
        let has = |name: &str| variables.iter().any(|(n, _)| n == name);
        if has("character_set_results") {
            self.state.names = None;
            self.state.sets_results = true;
            self.state.open.names = has("character_set_client") && has("character_set_connection");
        } else if has("collation_connection") {
            self.state.open.names = false;
        }
    }

    fn set_names(&mut self, charset: &str) {
        let names = format!("NAMES '{charset}'");
        self.state.keep("names", format!("SET {names}"));
        self.state.names = Some(names);
        self.state.open.charsets = false;
        self.state.open.names = false;
    }

    fn clock(&mut self, reason: Option<&'static str>) {
        self.state.bind("timestamp", reason);
    }

    fn tie(&mut self) {
        self.state.sticky = Some(ONLY_ON_MASTER);
    }

    fn access_mode(&mut self, read_only: bool) {
        self.state.read_only = read_only;
        self.state.next.no_mode();
        let mode = if read_only { "READ ONLY" } else { "READ WRITE" };
        let sql = format!("SET SESSION TRANSACTION {mode}");
        self.state.keep_on_master("transaction_read_only", sql);
    }

    fn isolation(&mut self, level: &str) {
        self.state.serializable = level == "SERIALIZABLE";
        if self.state.tx == Tx::None {
            self.state.next.no_isolation();
        }
        let sql = format!("SET SESSION transaction_isolation = '{level}'");
        self.state.keep_on_master("transaction_isolation", sql);
    }

    fn completion(&mut self, value: &str) {
        self.state.completes = match value {
            "CHAIN" => Completes::Chains,
            "RELEASE" => Completes::Releases,
            _ => Completes::Plainly,
        };
        let reason = (self.state.completes != Completes::Plainly).then_some("completion_type");
        self.state.bind("completion_type", reason);
        let sql = format!("SET SESSION completion_type = '{value}'");
        self.state.keep_on_master("completion_type", sql);
    }

    fn sql_mode(&mut self, value: &str) {
        self.state.has_mode(value);
        self.keep("sql_mode", value);
    }

    fn keep(&mut self, name: &str, value: &str) {
        if value.len() > LONGEST {
            self.state.sticky = Some("a setting that is too long to be kept");
            return;
        }
        let sql = format!("SET SESSION {name} = {}", literal(value));
        self.state.keep(name, sql);
    }

    /// What was asked of the master: of its character sets, all.
    pub fn charsets(&mut self, client: &str, results: Option<&str>, collation: &str) {
        self.state.encoding = Some(Encoding::of(client));
        let by_names = std::mem::take(&mut self.state.open.names);
        let of_client = collation == client || collation.starts_with(&format!("{client}_"));
        if by_names && results == Some(client) && of_client {
            self.state.names = Some(format!("NAMES '{client}' COLLATE '{collation}'"));
        }
        let by_login = !self.state.sets_results && !self.state.was_reset;
        let results = match (&self.state.names, results) {
            (Some(names), _) => format!("{names}, "),
            // Set to the same character set, results were described by its default collation.
            (None, _) if by_login => String::new(),
            (None, Some(results)) => format!("character_set_results = '{results}', "),
            (None, None) => "character_set_results = NULL, ".to_owned(),
        };
        let sql = format!(
            "SET {results}character_set_client = '{client}', collation_connection = '{collation}'"
        );
        self.state.keep("names", sql);
        self.state.open.charsets = false;
    }

    /// Of a SET that the master took: what it does not report.
    pub fn said(&mut self, item: &SetItem) {
        match item {
            SetItem::UserVariable => self.state.user_variables = true,
            SetItem::Names(charset) => self.set_names(charset),
            SetItem::Timestamp(value) => self.timestamp(value),
            // Of the proxy's clients nobody knows whose it is.
            SetItem::Choice { .. } if self.shared_by_clients => self.state.user_variables = true,
            SetItem::Choice { name, value } => match value {
                ChoiceValue::Said(value) => self.choice(name, value.as_deref()),
                ChoiceValue::Computed => self.state.open.choices.push(name),
            },
            SetItem::Session(name) if name == "timestamp" => self.clock(Some(COMPUTED)),
            SetItem::Other => {
                self.state.outlives_reset = true;
                self.tie();
            }
            SetItem::Session(name) if name == "session_track_system_variables" => {
                self.state.open.reports = true;
            }
            // The collation of results is the character set's own.
            SetItem::Session(name) if name == "character set" => self.state.open.names = false,
            SetItem::Session(_)
            | SetItem::Global
            | SetItem::Account
            | SetItem::TransactionReadOnlyNext(_)
            | SetItem::IsolationNext(_) => {}
        }
    }

    /// A clock that stands, or runs.
    fn timestamp(&mut self, value: &str) {
        self.clock(None);
        self.state
            .keep("timestamp", format!("SET SESSION timestamp = {value}"));
    }

    /// A computed value that means nothing is taken for the strongest promise: nobody can be told any more.
    pub fn choice(&mut self, name: &'static str, value: Option<&str>) {
        if self.state.choice.choose(name, value).is_err() {
            self.state.choice = Choice {
                level: Some(Level::Strong),
                ..self.state.choice
            };
            self.state.user_variables = true;
            return;
        }
        let value = value.map_or("NULL".to_owned(), |v| format!("'{v}'"));
        let variable = format!("@multimed_{name}");
        self.state
            .keep(&variable, format!("SET {variable} = {value}"));
    }
}

/// A reported value as SQL: numbers are taken only without quotes, words only with them.
fn literal(value: &str) -> String {
    let number = value.parse::<f64>().is_ok_and(f64::is_finite)
        && value
            .bytes()
            .all(|b| b.is_ascii_digit() || b"-+.e".contains(&b));
    match number {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(reports: &[(&str, &str)]) -> State {
        let mut state = State::new(None, Encoding::Utf8);
        let timeouts = Timeouts::default();
        for (name, value) in reports {
            let mut reported = Reported {
                state: &mut state,
                trackers: &mut Trackers::default(),
                timeouts: &timeouts,
                shared_by_clients: false,
            };
            reported.variable(name, value);
        }
        state
    }

    #[test]
    fn a_reported_value_becomes_a_literal() {
        for (value, expected) in [
            ("42", "42"),
            ("1.500000", "1.500000"),
            ("+05:00", "'+05:00'"),
            ("it's", "'it''s'"),
            ("", "''"),
            ("inf", "'inf'"),
            ("ON", "'ON'"),
        ] {
            assert_eq!(literal(value), expected);
        }
    }

    #[test]
    fn a_mode_that_changes_how_texts_are_read_is_seen_and_passes() {
        assert!(after(&[("sql_mode", "PIPES_AS_CONCAT,ANSI_QUOTES")]).reads_differently);
        assert!(after(&[("sql_mode", "NO_BACKSLASH_ESCAPES")]).reads_differently);
        let back = after(&[("sql_mode", "NO_BACKSLASH_ESCAPES"), ("sql_mode", "")]);
        assert!(!back.reads_differently);
    }

    #[test]
    fn chained_transactions_are_the_masters_until_they_are_not() {
        let chained = after(&[("completion_type", "CHAIN")]);
        assert_eq!(chained.tied(), Some("completion_type"));
        let plain = after(&[
            ("completion_type", "CHAIN"),
            ("completion_type", "NO_CHAIN"),
        ]);
        assert_eq!(plain.tied(), None);
    }

    #[test]
    fn what_only_one_server_can_mean_ties_the_session() {
        for name in ["gtid_next", "timestamp", "insert_id"] {
            assert!(after(&[(name, "1")]).tied().is_some(), "{name}");
        }
        assert!(after(&[("time_zone", "+01:00")]).tied().is_none());
    }
}
