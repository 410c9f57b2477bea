//! SET, USE, and what the session repeats on other servers.
//!
//! The master runs each SET first: it checks the values. What it took is repeated on a satellite before the session
//! uses it. Access mode and isolation are never repeated: on satellites they are the gate's own.

use super::exchange::at;
use super::fault::Fault;
use super::kept_settings::Kept;
use super::parts::Session;
use super::state::{Computed, Next, State, Tx};
use super::work::Work;
use crate::backend::TextResult;
use crate::common::classes::Classes;
use crate::common::consistency::{BadChoice, Choice};
use crate::freshness::Told;
use crate::protocol::error::SqlError;
use crate::sql::{ChoiceValue, SetItem};

impl Session {
    pub(super) async fn set(&mut self, items: &[SetItem], work: Work) -> Result<(), Fault> {
        check_choices(items, &self.shared.config.classes).map_err(SqlError::bad_choice)?;
        match set_plan(items, &self.state, self.promise.shared_by_clients) {
            SetPlan::Choices => {
                self.took(items);
                self.say_ok().await
            }
            SetPlan::NextTransaction => self.set_next(items).await,
            SetPlan::OnMaster => self.set_on_master(items, work).await,
        }
    }

    async fn set_on_master(&mut self, items: &[SetItem], mut work: Work) -> Result<(), Fault> {
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
            self.took(items);
            self.master_has_all();
        }
        Ok(())
    }

    /// What is set from here on.
    fn took(&mut self, items: &[SetItem]) {
        let mut kept = self.kept();
        items.iter().for_each(|item| kept.took(item));
    }

    fn kept(&mut self) -> Kept<'_> {
        Kept {
            state: &mut self.state,
            timeouts: &self.client.timeouts,
            defaults: &self.shared.timeouts,
            shared_by_clients: self.promise.shared_by_clients,
        }
    }

    /// The connection to the master has all settings of the session.
    fn master_has_all(&mut self) {
        if let Some(master) = &mut self.connections.master {
            master.replayed = self.state.order();
        }
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

    pub(super) async fn ask_computed(&mut self) -> Result<(), Fault> {
        for computed in std::mem::take(&mut self.state.computed) {
            match computed {
                Computed::Variable(name) => {
                    let value = self.ask_value(&format!("@@session.{name}")).await?;
                    self.kept().keep_setting(&name, &literal(&value));
                }
                Computed::Choice(name) => {
                    let value = self.ask_value(&format!("@multimed_{name}")).await?;
                    self.kept().keep_choice(name, value.text(0, 0));
                }
            }
        }
        self.master_has_all();
        Ok(())
    }

    /// An expression's value, as the master computes it.
    async fn ask_value(&mut self, expression: &str) -> Result<TextResult, Fault> {
        let Some(mut master) = self.connections.master.take() else {
            return Err(Fault::Fatal(SqlError::gate(
                "lost the connection to the master",
            )));
        };
        let answer = master.query(&format!("SELECT {expression}")).await;
        self.state.diagnostics.asked(at(&master));
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

/// How a SET is carried out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SetPlan {
    /// It only chooses what the gate itself listens to.
    Choices,
    /// It is about the next transaction: the server that runs that is told.
    NextTransaction,
    /// The master takes it first.
    OnMaster,
}

pub(super) fn set_plan(items: &[SetItem], state: &State, shared_by_clients: bool) -> SetPlan {
    let is_choice = |item: &SetItem| {
        let value = match item {
            SetItem::Choice { value, .. } => Some(value),
            _ => None,
        };
        matches!(value, Some(ChoiceValue::Said(_)))
    };
    let about_next = |item: &SetItem| {
        matches!(
            item,
            SetItem::TransactionReadOnlyNext(_) | SetItem::IsolationNext(_)
        )
    };
    // Double quotes may hold a name for the server.
    let plain = !state.reads_differently && !shared_by_clients;
    if items.is_empty() {
        SetPlan::OnMaster
    } else if plain && items.iter().all(is_choice) {
        SetPlan::Choices
    } else if state.tx != Tx::OnMaster && items.iter().all(about_next) {
        SetPlan::NextTransaction
    } else {
        SetPlan::OnMaster
    }
}

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
fn check_choices(items: &[SetItem], classes: &Classes) -> Result<(), BadChoice> {
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
    checked.checked(|name| classes.knows(name)).map(drop)
}

/// MySQL's type codes of numbers, written without quotes.
const NUMBERS: &[u8] = &[0, 1, 2, 3, 4, 5, 8, 9, 13, 246];

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
    use crate::protocol::charset::Encoding;
    use crate::sql::{Class, classify};

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
    fn a_set_is_the_gates_own_only_if_no_server_could_mean_something_else_by_it() {
        let choice = "SET @multimed_consistency = 'strong'";
        let next = "SET TRANSACTION READ ONLY";
        let table = [
            (choice, Tx::None, SetPlan::Choices),
            (choice, Tx::OnMaster, SetPlan::Choices),
            (next, Tx::None, SetPlan::NextTransaction),
            (next, Tx::OnSatellite(1), SetPlan::NextTransaction),
            (next, Tx::OnMaster, SetPlan::OnMaster),
            ("SET @multimed_wait_ms = @x", Tx::None, SetPlan::OnMaster),
            (
                "SET @multimed_wait_ms = 5, @x = 1",
                Tx::None,
                SetPlan::OnMaster,
            ),
            ("SET sql_mode = ''", Tx::None, SetPlan::OnMaster),
            ("SET GLOBAL wait_timeout = 5", Tx::None, SetPlan::OnMaster),
        ];
        let mut state = State::new(None, Encoding::of_collation(255u16));
        for (sql, tx, expected) in table {
            let Class::Set(items) = classify(sql) else {
                panic!("{sql}");
            };
            state.tx = tx;
            assert_eq!(set_plan(&items, &state, false), expected, "{sql} {tx:?}");
        }
        let Class::Set(items) = classify(choice) else {
            panic!("{choice}");
        };
        assert_eq!(set_plan(&items, &state, true), SetPlan::OnMaster);
        state.reads_differently = true;
        assert_eq!(set_plan(&items, &state, false), SetPlan::OnMaster);
    }
}
