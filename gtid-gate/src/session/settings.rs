//! SET, USE, and what the session repeats on other servers.
//!
//! The master runs each SET first: it checks the values. What it took is repeated on a satellite before the session
//! uses it. Access mode and isolation are never repeated: on satellites they are the gate's own.

use super::fault::Fault;
use super::parts::Session;
use super::run::at;
use super::state::{Computed, Next, Tx};
use super::work::Work;
use crate::backend::TextResult;
use crate::common::consistency::{Choice, Level};
use crate::freshness::Told;
use crate::protocol::charset::Encoding;
use crate::protocol::error::SqlError;
use crate::sql::{ChoiceValue, SetItem};

/// A longer value is not kept to be repeated elsewhere.
const LONGEST: usize = 16 * 1024;

impl Session {
    pub(super) async fn set(&mut self, items: &[SetItem], mut work: Work) -> Result<(), Fault> {
        check_choices(items).map_err(SqlError::bad_choice)?;
        let is_choice = |i: &SetItem| {
            matches!(
                i,
                SetItem::Choice {
                    value: ChoiceValue::Said(_),
                    ..
                }
            )
        };
        // Double quotes may hold a name for the server.
        let plain = !self.state.reads_differently && !self.promise.shared_by_clients;
        if plain && !items.is_empty() && items.iter().all(is_choice) {
            for item in items {
                self.took(item);
            }
            return self.say_ok().await;
        }
        let about_next = |i: &SetItem| {
            matches!(
                i,
                SetItem::TransactionReadOnlyNext(_) | SetItem::IsolationNext(_)
            )
        };
        if !items.is_empty() && items.iter().all(about_next) && self.state.tx != Tx::OnMaster {
            return self.set_next(items).await;
        }
        let turns_on = items.contains(&SetItem::Autocommit(true)) && !self.state.autocommit;
        if turns_on && let Tx::OnSatellite(id) = self.state.tx {
            self.on_satellite_quietly(id, "COMMIT").await;
        }
        if turns_on && self.state.tx != Tx::OnMaster {
            self.state.tx = Tx::None;
        }
        let answer = self.on_master(&mut work, told_by(items)).await?;
        if answer.error.is_some() && items.len() > 1 {
            self.state.sticky = Some("a list of settings that failed somewhere");
        }
        if answer.error.is_none() {
            for item in items {
                self.took(item);
            }
            if let Some(master) = &mut self.connections.master {
                master.replayed = self.state.order();
            }
        }
        Ok(())
    }

    /// `SET TRANSACTION`: about the next transaction only, so only the server that runs it is told.
    async fn set_next(&mut self, items: &[SetItem]) -> Result<(), Fault> {
        if self.state.tx != Tx::None {
            let text =
                "Transaction characteristics can't be changed while a transaction is in progress";
            return Err(SqlError::new(1568, "25001", text).into());
        }
        for item in items {
            match item {
                SetItem::TransactionReadOnlyNext(read_only) => {
                    self.state.next.read_only(*read_only)
                }
                SetItem::IsolationNext(level) => self.state.next.isolation(level),
                _ => {}
            }
        }
        self.say_ok().await
    }

    pub(super) async fn tell_next_to_master(&mut self) -> Result<(), Fault> {
        let next = std::mem::take(&mut self.state.next);
        for sql in next.sql() {
            self.on_master_quietly(sql).await?;
        }
        self.state.next = Next::default();
        Ok(())
    }

    fn took(&mut self, item: &SetItem) {
        match item {
            // A parameter's value is not in the text.
            SetItem::Session { name, value } if value.contains('?') => self.will_ask(name),
            SetItem::Session { name, value } => {
                self.forget_computed(name);
                self.keep_setting(name, value);
            }
            SetItem::SessionComputed { name } => self.will_ask(name),
            SetItem::TransactionReadOnlySession(read_only) => {
                self.state.read_only = *read_only;
                let mode = if *read_only {
                    "READ ONLY"
                } else {
                    "READ WRITE"
                };
                let sql = format!("SET SESSION TRANSACTION {mode}");
                self.state.keep_on_master("transaction_read_only", sql);
            }
            SetItem::IsolationSession(level) => {
                self.state.serializable = level == "SERIALIZABLE";
                let sql = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
                self.state.keep_on_master("transaction_isolation", sql);
            }
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
            SetItem::Choice { .. } if self.promise.shared_by_clients => {
                self.state.user_variables = true
            }
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

    pub(super) async fn ask_computed(&mut self) -> Result<(), Fault> {
        for computed in std::mem::take(&mut self.state.computed) {
            match computed {
                Computed::Variable(name) => {
                    let value = self.ask_value(&format!("@@session.{name}")).await?;
                    self.keep_setting(&name, &literal(&value));
                }
                Computed::Choice(name) => {
                    let value = self.ask_value(&format!("@multimed_{name}")).await?;
                    self.keep_choice(name, value.text(0, 0));
                }
            }
        }
        if let Some(master) = &mut self.connections.master {
            master.replayed = self.state.order();
        }
        Ok(())
    }

    /// A computed value that means nothing is taken for the strongest promise: nobody can be told any more.
    fn keep_choice(&mut self, name: &'static str, value: Option<&str>) {
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

    fn keep_setting(&mut self, name: &str, value: &str) {
        if name == "sql_mode" {
            self.state.reads_differently = reads_differently(value);
        }
        let defaults = &self.shared.timeouts;
        self.client.timeouts.set(name, value, defaults);
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

    /// An expression's value, as the master computes it.
    async fn ask_value(&mut self, expression: &str) -> Result<TextResult, Fault> {
        let Some(mut master) = self.connections.master.take() else {
            return Err(Fault::Fatal(SqlError::gate(
                "lost the connection to the master",
            )));
        };
        let answer = master.query(&format!("SELECT {expression}")).await;
        self.state.before.asked(at(&master));
        match answer {
            Ok(answer) => {
                self.connections.master = Some(master);
                Ok(answer)
            }
            Err(error) => Err(self.lost_master(error)),
        }
    }

    pub(super) async fn use_database(&mut self, name: &str, work: &mut Work) -> Result<(), Fault> {
        let answer = self.on_master(work, Told::Nothing).await?;
        if answer.error.is_none() {
            self.state.database = Some(name.to_owned());
            if let Some(master) = &mut self.connections.master {
                master.database = self.state.database.clone();
            }
        }
        Ok(())
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

/// MySQL's type codes of numbers, written without quotes.
const NUMBERS: &[u8] = &[0, 1, 2, 3, 4, 5, 8, 9, 13, 246];

/// A SET may commit (autocommit, accounts) or compute with functions that change something.
fn told_by(items: &[SetItem]) -> Told {
    let only_says = |item: &SetItem| {
        matches!(
            item,
            SetItem::Session { .. }
                | SetItem::Autocommit(false)
                | SetItem::TransactionReadOnlySession(_)
                | SetItem::TransactionReadOnlyNext(_)
                | SetItem::IsolationSession(_)
                | SetItem::IsolationNext(_)
                | SetItem::Names { .. }
                | SetItem::Charset(_)
        )
    };
    match items.iter().all(only_says) {
        true => Told::Nothing,
        false => Told::OwnChange,
    }
}

/// What is wrong is said before anything is done.
fn check_choices(items: &[SetItem]) -> Result<(), crate::common::consistency::BadChoice> {
    let mut checked = Choice::default();
    for item in items {
        if let SetItem::Choice {
            name,
            value: ChoiceValue::Said(value),
        } = item
        {
            checked.choose(name, value.as_deref())?;
        }
    }
    Ok(())
}

/// As a literal that means the same on any server.
fn literal(answer: &TextResult) -> String {
    let is_number = answer.types.first().is_some_and(|t| NUMBERS.contains(t));
    match answer.text(0, 0) {
        None => "NULL".to_owned(),
        Some(text) if is_number => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u8, cell: Option<&str>) -> TextResult {
        TextResult {
            types: vec![kind],
            rows: vec![vec![cell.map(|c| c.as_bytes().to_vec())]],
        }
    }

    #[test]
    fn a_setting_becomes_a_literal() {
        assert_eq!(literal(&answer(8, Some("42"))), "42");
        assert_eq!(literal(&answer(253, Some("it's"))), "'it''s'");
        assert_eq!(literal(&answer(253, None)), "NULL");
    }

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
