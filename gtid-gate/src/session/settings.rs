//! SET, USE, and what the session repeats on other servers.
//!
//! The master runs each SET first: it checks the values, and reports what it took. That is repeated on a satellite before the session
//! uses it. Access mode and isolation are never repeated: on satellites they are the gate's own.

use super::fault::Fault;
use super::parts::Session;
use super::relay::Answer;
use super::reported::Reported;
use super::settle::{is_plain, is_tracker};
use super::state::{State, Tx};
use super::work::Work;
use crate::backend::Backend;
use crate::common::classes::Classes;
use crate::common::consistency::{BadChoice, Choice};
use crate::freshness::Told;
use crate::protocol::error::SqlError;
use crate::protocol::session_track::REPORT_NEXT;
use crate::protocol::wire::STATUS_IN_TRANS_READONLY;
use crate::sql::{ChoiceValue, NAMES_WITH_COLLATION, SetItem};

const ENDED_BY_SET: &str = "a read-only transaction that SET has ended";

impl Session {
    pub(super) async fn set(&mut self, items: &[SetItem], work: Work) -> Result<(), Fault> {
        check_choices(items, &self.shared.config.classes).map_err(SqlError::bad_choice)?;
        let own =
            self.promise.shared_by_clients || self.trackers.state || self.state.pinned.is_some();
        if self.state.reads_elsewhere() && items.iter().any(is_about_next) {
            return Err(SqlError::transaction_in_progress().into());
        }
        let mut plan = set_plan(items, &self.state, own);
        if plan != SetPlan::OnMaster && !self.is_settled() {
            self.settle().await?;
            plan = set_plan(items, &self.state, own);
        }
        match plan {
            SetPlan::Choices => {
                self.said(items);
                self.say_ok().await
            }
            SetPlan::NextTransaction => self.set_next(items).await,
            SetPlan::OnMaster => self.set_on_master(items, work).await,
        }
    }

    async fn set_on_master(&mut self, items: &[SetItem], mut work: Work) -> Result<(), Fault> {
        let read_only = self.state.transaction_status() & STATUS_IN_TRANS_READONLY != 0;
        let before = match self.state.tx {
            Tx::OnSatellite(_) if may_commit(items) => Some(self.stand_in().await?),
            Tx::None if items.contains(&SetItem::Account) => {
                // What is set for the next transaction ends with it.
                self.end_before_begin().await?;
                self.tell_next_to_master().await?;
                None
            }
            _ => None,
        };
        let about_next = |item: &SetItem| is_about_next(item) || *item == SetItem::Other;
        if items.iter().any(about_next) && self.state.tx == Tx::None {
            self.report_next().await?;
        }
        if self.ties.reads && self.state.tx == Tx::None {
            // It is a transaction of its own.
            self.tell_next_to_master().await?;
        }
        self.hear_what_was_before().await?;
        let unnamed = self.state.open.unnamed;
        self.sets_tracker = items.len() == 1 && items.iter().any(is_tracker);
        let outcome = self.on_master(&mut work, told_by(items)).await;
        if let Some(before) = before {
            self.stood_in(before, outcome.is_ok()).await?;
        }
        let answer = outcome?;
        if read_only && self.state.tx == Tx::None && !self.state.read_only {
            // Its access mode lasts until COMMIT or ROLLBACK (measured).
            self.state.bind("autocommit", Some(ENDED_BY_SET));
        }
        if answer.error.is_none() {
            if is_plain(items) && !self.ties.reads {
                self.state.open.unnamed = unnamed;
            }
            self.said(items);
            self.master_has_all();
            // The collation of results can be asked for only as long as that of the connection is the same.
            let collated = SetItem::Session(NAMES_WITH_COLLATION.to_owned());
            if items.contains(&collated) && self.state.open.charsets {
                self.ask_charsets().await?;
                self.master_has_all();
                self.asked_behind(&answer);
            }
            if std::mem::take(&mut self.state.open.reports) {
                self.ask_what_is_reported().await?;
                self.asked_behind(&answer);
            }
        }
        self.sets_tracker = false;
        Ok(())
    }

    /// A question has overwritten what this SET has left; without warnings that is what any OK leaves.
    fn asked_behind(&mut self, answer: &Answer) {
        if answer.warnings == 0 {
            self.state.diagnostics.answered();
        }
    }

    /// What was said that no server reports.
    fn said(&mut self, items: &[SetItem]) {
        let mut reported = self.reported();
        items.iter().for_each(|item| reported.said(item));
    }

    pub(super) fn reported(&mut self) -> Reported<'_> {
        Reported {
            state: &mut self.state,
            trackers: &mut self.trackers,
            timeouts: &self.client.timeouts,
            shared_by_clients: self.promise.shared_by_clients,
        }
    }

    /// The connection to the master has all settings of the session.
    pub(super) fn master_has_all(&mut self) {
        if let Some(master) = &mut self.connections.master {
            master.replayed = self.state.order();
        }
    }

    /// `SET TRANSACTION`: about the next transaction only, so only the server that runs it is told.
    async fn set_next(&mut self, items: &[SetItem]) -> Result<(), Fault> {
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

    /// What is set for the next transaction runs with that, not with the next statement: until the master reports that it has begun, the
    /// session stays there.
    pub(super) async fn tell_next_to_master(&mut self) -> Result<(), Fault> {
        let next = std::mem::take(&mut self.state.next);
        if next.is_set() {
            self.report_next().await?;
        }
        for sql in next.sql() {
            self.on_master_quietly(sql).await?;
        }
        Ok(())
    }

    /// Has the master report what is set for the next transaction.
    async fn report_next(&mut self) -> Result<(), Fault> {
        self.connect_master().await?;
        let reports = |m: &Backend| m.reports_next;
        if self.trackers.transactions || self.connections.master.as_deref().is_some_and(reports) {
            return Ok(());
        }
        self.on_master_quietly(REPORT_NEXT).await?;
        if let Some(master) = &mut self.connections.master {
            master.reports_next = true;
            // It is not the client that has set this.
            let of_client = |(name, _): &(String, String)| !name.starts_with("session_track_");
            master.unheard.variables.retain(of_client);
            master.unheard.changed = false;
        }
        Ok(())
    }

    /// What the statement before has changed may come with the next OK packet only: it is not what this one changes.
    async fn hear_what_was_before(&mut self) -> Result<(), Fault> {
        match self.ties.looks_back() {
            true => Ok(()),
            false => self.settle_status().await,
        }
    }

    pub(super) async fn use_database(&mut self, work: &mut Work) -> Result<(), Fault> {
        self.hear_what_was_before().await?;
        let unnamed = self.state.open.unnamed;
        let answer = self.on_master(work, Told::Nothing).await?;
        if answer.error.is_none() {
            self.state.open.unnamed = unnamed;
            debug_assert!(self.state.database.is_some());
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

/// `not_own`: what the gate listens to is for the master to answer as well.
pub(super) fn set_plan(items: &[SetItem], state: &State, not_own: bool) -> SetPlan {
    let is_choice = |item: &SetItem| {
        let value = match item {
            SetItem::Choice { value, .. } => Some(value),
            _ => None,
        };
        matches!(value, Some(ChoiceValue::Said(_)))
    };
    // Double quotes may hold a name for the server.
    let plain = !state.reads_differently && !not_own;
    if items.is_empty() {
        SetPlan::OnMaster
    } else if plain && items.iter().all(is_choice) {
        SetPlan::Choices
    } else if state.tx != Tx::OnMaster && state.tied().is_none() && items.iter().all(is_about_next)
    {
        SetPlan::NextTransaction
    } else {
        SetPlan::OnMaster
    }
}

/// Whether a SET may end the open transaction.
pub(super) fn may_commit(items: &[SetItem]) -> bool {
    let may = |item: &SetItem| match item {
        SetItem::Account | SetItem::Other => true,
        SetItem::Session(name) => name == "autocommit",
        _ => false,
    };
    items.iter().any(may)
}

fn is_about_next(item: &SetItem) -> bool {
    matches!(
        item,
        SetItem::TransactionReadOnlyNext(_) | SetItem::IsolationNext(_)
    )
}

/// A SET may commit (autocommit, accounts) or compute with functions that change something.
fn told_by(items: &[SetItem]) -> Told {
    let only_says = |item: &SetItem| match item {
        SetItem::Session(name) => name != "autocommit",
        SetItem::Names(_) => true,
        other => is_about_next(other),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::charset::Encoding;
    use crate::sql::{Class, classify};

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
