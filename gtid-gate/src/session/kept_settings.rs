//! What a session keeps of its settings, to be repeated on other servers. Pure.
//!
//! In: each item of a SET that the master took. Out: the state, with what further servers are told.
//! Must never: keep access mode or isolation for satellites, where they are the gate's own.

use super::state::{Computed, State};
use crate::common::consistency::{Choice, Level};
use crate::net::timeouts::{Defaults, Timeouts};
use crate::protocol::charset::Encoding;
use crate::sql::{ChoiceValue, SetItem};

/// A longer value is not kept to be repeated elsewhere.
const LONGEST: usize = 16 * 1024;

pub(super) struct Kept<'a> {
    pub state: &'a mut State,
    /// The session's own towards its client.
    pub timeouts: &'a Timeouts,
    pub defaults: &'a Defaults,
    /// See `Promise`.
    pub shared_by_clients: bool,
}

impl Kept<'_> {
    pub fn took(&mut self, item: &SetItem) {
        match item {
            // A parameter's value is not in the text.
            SetItem::Session { name, value } if value.contains('?') => self.will_ask(name),
            SetItem::Session { name, value } => {
                self.forget_computed(name);
                self.keep_setting(name, value);
            }
            SetItem::SessionComputed { name } => self.will_ask(name),
            SetItem::TransactionReadOnlySession(read_only) => self.keep_access_mode(*read_only),
            SetItem::IsolationSession(level) => self.keep_isolation(level),
            SetItem::Names { charset, collation } => {
                let collate = collation
                    .as_ref()
                    .map_or(String::new(), |c| format!(" COLLATE '{c}'"));
                self.keep_charset(charset, format!("SET NAMES '{charset}'{collate}"));
            }
            SetItem::Charset(charset) => {
                self.keep_charset(charset, format!("SET CHARACTER SET '{charset}'"))
            }
            SetItem::UserVariable(_) => self.state.user_variables = true,
            // Of the proxy's clients nobody knows whose it is.
            SetItem::Choice { .. } if self.shared_by_clients => self.state.user_variables = true,
            SetItem::Choice { name, value } => match value {
                ChoiceValue::Said(value) => self.keep_choice(name, value.as_deref()),
                ChoiceValue::Computed => self.state.computed.push(Computed::Choice(name)),
            },
            SetItem::Other => self.state.sticky = Some("a setting that only the master has"),
            SetItem::Autocommit(_)
            | SetItem::Global
            | SetItem::TransactionReadOnlyNext(_)
            | SetItem::IsolationNext(_) => {}
        }
    }

    fn keep_access_mode(&mut self, read_only: bool) {
        self.state.read_only = read_only;
        let mode = if read_only { "READ ONLY" } else { "READ WRITE" };
        let sql = format!("SET SESSION TRANSACTION {mode}");
        self.state.keep_on_master("transaction_read_only", sql);
    }

    fn keep_isolation(&mut self, level: &str) {
        self.state.serializable = level == "SERIALIZABLE";
        let sql = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
        self.state.keep_on_master("transaction_isolation", sql);
    }

    /// The value is asked for before the next statement: a question now would be in the way of the client's own about
    /// this one (its warnings).
    fn will_ask(&mut self, name: &str) {
        let variable = Computed::Variable(name.to_owned());
        self.state.computed.push(variable);
    }

    /// In one statement the last assignment of a name counts.
    fn forget_computed(&mut self, name: &str) {
        let same = |c: &Computed| matches!(c, Computed::Variable(n) if n == name);
        self.state.computed.retain(|c| !same(c));
    }

    /// A computed value that means nothing is taken for the strongest promise: nobody can be told any more.
    pub fn keep_choice(&mut self, name: &'static str, value: Option<&str>) {
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

    fn keep_charset(&mut self, charset: &str, sql: String) {
        self.state.encoding = Encoding::of(charset);
        self.state.keep("names", sql);
    }

    pub fn keep_setting(&mut self, name: &str, value: &str) {
        if name == "sql_mode" {
            self.state.reads_differently = reads_differently(value);
        }
        self.timeouts.set(name, value, self.defaults);
        if name == "character_set_client" {
            self.state.encoding = Encoding::of(value);
        }
        if value.len() > LONGEST {
            self.state.sticky = Some("a setting that is too long to be kept");
            return;
        }
        self.state
            .keep(name, format!("SET SESSION {name} = {value}"));
    }
}

/// Modes that change how a statement's text is read.
fn reads_differently(sql_mode: &str) -> bool {
    const BITS: u64 = 4 | 1 << 18 | 1 << 20;
    let value = sql_mode.trim();
    if value.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return value.parse().map_or(true, |bits: u64| bits & BITS != 0);
    }
    let upper = value.to_ascii_uppercase();
    let modes = ["ANSI", "NO_BACKSLASH_ESCAPES"];
    modes.iter().any(|mode| upper.contains(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_sql_mode_with_ansi_quotes_is_seen() {
        for mode in ["4", "7", "262144", "1048576", "0x4", "4e0", "+4", "-1"] {
            assert!(reads_differently(mode), "{mode}");
        }
        for mode in ["'ANSI_QUOTES'", "ansi", "'x,NO_BACKSLASH_ESCAPES'"] {
            assert!(reads_differently(mode), "{mode}");
        }
        for mode in ["0", "2", "''", "'STRICT_TRANS_TABLES'", "TRADITIONAL"] {
            assert!(!reads_differently(mode), "{mode}");
        }
    }
}
