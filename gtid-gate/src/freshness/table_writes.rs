//! Who wrote what: the last writer of each table, as far as capture's stream tells.
//!
//! In: capture's stream (`table_stream`): transactions with their tables, in the order of the binlog. Out: for the tables of
//! a read, the transactions that a satellite must have, instead of all that the master has.
//! A satellite holds a prefix of the binlog's order: with the last writer it has all those before it. What the stream does
//! not cover, and what counts as having written everything (a barrier: DDL and the like), must be there whole.
//! Must never: call something covered of which the stream has not told, or go by a catalog that a later definition changed.

use super::catalog::{Catalog, Reads, Sample};
use super::definitions::{Asks, Proof, Unproven};
use super::redefined::{Redefined, Redefines};
use crate::backend::Position;
use crate::common::lock;
use crate::gtid::{Gtid, GtidSet};
use crate::ops::config::Broken;
use crate::sql::{Names, folded};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// Names in a statement, and where unqualified ones belong.
#[derive(Debug, Clone, Copy)]
pub struct TableNames<'a> {
    pub names: &'a Names,
    pub database: Option<&'a str>,
}

/// What a read of some tables needs.
#[derive(Debug)]
pub enum Answer {
    /// These transactions, and so all before them.
    Needs(GtidSet, Arc<Catalog>),
    /// The stream has not told of all that was asked about, and may soon.
    Behind,
    /// All.
    Everything,
}

#[derive(Default)]
struct State {
    /// The master that the stream is about.
    master: String,
    connected: bool,
    /// A read has waited for it in vain, and it has told nothing since.
    silent: bool,
    /// All of which it is known what they wrote, or that it is not known.
    known: GtidSet,
    /// Of these it is not known.
    untold: GtidSet,
    /// The last that counts as having written everything.
    barrier: Option<Gtid>,
    /// After which names stood for something else last.
    redefined: Redefined,
    /// Since then, by schema and table.
    writers: HashMap<String, HashMap<String, Gtid>>,
    catalog: Option<Arc<Catalog>>,
    /// The one before, while the stream has not told of all that the new one may show.
    earlier: Option<Arc<Catalog>>,
    /// What the master had when it was asked last.
    master_had: Option<Arc<Position>>,
}

#[derive(Default)]
pub struct TableWrites {
    state: Mutex<State>,
    /// Wakes who waits for the stream.
    told: Notify,
    broken: Option<Broken>,
    /// There is a stream to be followed: without one, by configuration, nothing is proven of names, nor looked at.
    follows: bool,
}

/// One transaction of the stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Written {
    pub gtid: Gtid,
    /// Schema and table; nothing: everything.
    pub tables: Option<Vec<(String, String)>>,
    pub redefines: Redefines,
}

impl TableWrites {
    pub fn new(broken: Option<Broken>, follows: bool) -> Self {
        Self {
            follows,
            broken: broken.filter(|_| cfg!(feature = "test-break")),
            ..Self::default()
        }
    }

    /// The stream begins, of this master: what lies before it is not told.
    pub fn begin(&self, master: &str, before: &GtidSet) {
        let mut state = lock(&self.state);
        if state.master != master {
            *state = State {
                master: master.to_owned(),
                ..State::default()
            };
        }
        (state.connected, state.silent) = (true, false);
        state.untold(before);
    }

    pub fn lost(&self) {
        lock(&self.state).connected = false;
        self.told.notify_waiters();
    }

    /// A read has waited in vain: nobody waits before something was told.
    pub fn waited_in_vain(&self) {
        lock(&self.state).silent = true;
    }

    pub fn is_connected(&self) -> bool {
        lock(&self.state).connected
    }

    /// A master that lacks what it had before has begun another history: nothing that was told holds.
    pub fn look_at(&self, master: &Arc<Position>) {
        let mut state = lock(&self.state);
        let had = state.master_had.replace(master.clone());
        let Some(had) = had else { return };
        if had.asked > master.asked {
            state.master_had = Some(had);
        } else if !master.executed.contains_set(&had.executed) {
            tracing::warn!(
                "the master lacks what it had before: what the table stream told is forgotten"
            );
            *state = State::default();
        }
    }

    /// Whether it is news.
    pub fn wrote(&self, mut written: Written) -> bool {
        if self.broken == Some(Broken::Tables) {
            written.tables.iter_mut().for_each(|t| drop(t.pop()));
        }
        let news = lock(&self.state).wrote(written);
        self.told.notify_waiters();
        news
    }

    pub fn catalog(&self, mut sample: Sample) {
        match self.broken {
            Some(Broken::ForeignKeys) => sample.cascades.clear(),
            Some(Broken::Views) => sample.views.clear(),
            _ => {}
        }
        let catalog = Catalog::of(sample);
        {
            let mut state = lock(&self.state);
            let before = state.catalog.take();
            state.catalog = Some(Arc::new(catalog.after(before.as_deref())));
            (state.earlier, state.silent) = (before, false);
        }
        self.told.notify_waiters();
    }

    /// What tables there were when that was told last.
    pub fn known_catalog(&self) -> Option<Arc<Catalog>> {
        lock(&self.state).catalog.clone()
    }

    /// What of the views among these names may ask about the session, as far as that was told last; of none, of all views that there are.
    pub fn asks(&self, names: Option<TableNames<'_>>) -> Option<Arc<Asks>> {
        self.known_catalog()?.asks_of(names)
    }

    /// Whether a satellite that has this, if that is known, may answer a read of these names; of none, of anything.
    pub fn proves(&self, names: Option<TableNames<'_>>, has: Option<&GtidSet>) -> Proof {
        let no_names = names.is_some_and(|n| n.names.list.is_empty());
        match self.follows && !no_names {
            true => lock(&self.state).proves(names, has, self.broken == Some(Broken::Holes)),
            false => Ok(()),
        }
    }

    /// Whether it is worth waiting for the stream.
    pub fn may_tell(&self) -> bool {
        let state = lock(&self.state);
        state.connected && !state.silent
    }

    /// What a read of these tables needs that must have all of these sets.
    pub fn needs<'a>(
        &self,
        read: TableNames<'_>,
        sets: impl Iterator<Item = &'a GtidSet>,
    ) -> Answer {
        let covered = self.broken == Some(Broken::Holes);
        lock(&self.state).needs(read, sets, covered)
    }

    /// A call of `needs` that comes after this one may answer otherwise once it is through.
    pub fn more(&self) -> impl Future<Output = ()> + '_ {
        let mut told = Box::pin(self.told.notified());
        told.as_mut().enable();
        told
    }
}

impl Catalog {
    fn asks_of(&self, read: Option<TableNames<'_>>) -> Option<Arc<Asks>> {
        let database = read.and_then(|r| r.database).map(in_lower_case);
        self.asks(read.map(|r| (r.names, database.as_deref())))
    }

    fn may_be_view(&self, read: Option<TableNames<'_>>) -> bool {
        read.is_none_or(|r| self.names_view(r.names, r.database.map(in_lower_case).as_deref()))
    }

    fn may_have_asked(&self, read: Option<TableNames<'_>>) -> bool {
        read.is_none_or(|r| self.names_asked(r.names, r.database.map(in_lower_case).as_deref()))
    }
}

/// `folded`; most names are in lower case as they are.
fn in_lower_case(name: &str) -> Cow<'_, str> {
    match name
        .bytes()
        .all(|b| b.is_ascii() && !b.is_ascii_uppercase())
    {
        true => Cow::Borrowed(name),
        false => Cow::Owned(folded(name)),
    }
}

impl State {
    fn untold(&mut self, set: &GtidSet) {
        let mut new = set.clone();
        new.subtract(&self.known);
        self.untold.union_with(&new);
        self.known.union_with(set);
    }

    fn wrote(&mut self, written: Written) -> bool {
        self.silent = false;
        if self.known.contains(&written.gtid) {
            return false;
        }
        self.known.insert(written.gtid);
        match written.tables {
            None => {
                self.barrier = Some(written.gtid);
                // What was untold before it may have been a definition.
                self.redefined.by(
                    written.gtid,
                    match self.untold.is_empty() {
                        true => written.redefines,
                        false => Redefines::Anything,
                    },
                );
                // All of them are before it.
                self.writers.clear();
                self.untold = GtidSet::new();
            }
            Some(tables) => {
                for (schema, table) in tables {
                    let tables = self.writers.entry(folded(&schema)).or_default();
                    tables.insert(folded(&table), written.gtid);
                }
            }
        }
        true
    }

    /// Nothing changed it between its reading and what is known.
    fn is_current(&self, catalog: &Catalog, covered: bool) -> bool {
        let has = |gtid: &Gtid| catalog.before.contains(gtid);
        self.barrier.as_ref().is_none_or(has)
            && catalog.before.contains_set(&self.untold)
            && (covered || self.known.contains_set(&catalog.after))
    }

    /// All of it was told, or the catalog shows what it did.
    fn knows(&self, set: &GtidSet, catalog: &Catalog) -> bool {
        self.known.contains_set(set) || {
            let mut rest = set.clone();
            rest.subtract(&self.known);
            catalog.before.contains_set(&rest)
        }
    }

    /// No name stood for something else between its reading and what is known, but for single ones.
    fn shows_names(&self, catalog: &Catalog, covered: bool) -> bool {
        self.redefined.any_in(&catalog.before)
            && catalog.before.contains_set(&self.untold)
            && (covered || self.knows(&catalog.after, catalog))
    }

    fn proves(&self, names: Option<TableNames<'_>>, has: Option<&GtidSet>, covered: bool) -> Proof {
        let catalogs = self.catalog.iter().chain(&self.earlier);
        let shows = |c: &&Arc<Catalog>| self.shows_names(c, covered);
        let Some(catalog) = catalogs.clone().find(shows) else {
            return Err(Unproven::Unknown);
        };
        if !self.are_in(names, catalog, &catalog.before) {
            return Err(Unproven::Unknown);
        }
        if let Some(asks) = catalog.asks_of(names) {
            return Err(Unproven::Asks(asks));
        }
        let Some(has) = has else {
            return Ok(());
        };
        let as_told = covered || self.knows(has, catalog);
        let barrier = || self.barrier.as_ref().is_none_or(|gtid| has.contains(gtid));
        let as_shown = self.redefined.any_in(has) && has.contains_set(&self.untold);
        let same = (as_shown || !catalog.may_be_view(names))
            && (!catalog.may_have_asked(names) || barrier());
        match as_told && same && self.are_in(names, catalog, has) {
            true => Ok(()),
            false => Err(Unproven::Unknown),
        }
    }

    /// Whether these names, and all behind those that are views, stand for what they stood for after these transactions.
    fn are_in(&self, names: Option<TableNames<'_>>, catalog: &Catalog, set: &GtidSet) -> bool {
        let Some(TableNames { names, database }) = names else {
            return self.redefined.all_in(set);
        };
        let database = database.map(in_lower_case);
        let mut behind = catalog.behind(names, database.as_deref());
        behind.all(|(schema, name)| self.redefined.is_in(schema, name, set))
    }

    fn needs<'a>(
        &self,
        read: TableNames<'_>,
        mut sets: impl Iterator<Item = &'a GtidSet>,
        covered: bool,
    ) -> Answer {
        let unsure = match self.connected && !self.silent {
            true => Answer::Behind,
            false => Answer::Everything,
        };
        if !covered && !sets.all(|set| self.known.contains_set(set)) {
            return unsure;
        }
        let Some(catalog) = self
            .catalog
            .as_ref()
            .filter(|c| self.is_current(c, covered))
        else {
            return unsure;
        };
        let database = read.database.map(folded);
        let Reads::Tables(tables) = catalog.reads(read.names, database.as_deref()) else {
            return Answer::Everything;
        };
        let mut needed = self.untold.clone();
        self.barrier.iter().for_each(|b| needed.insert(*b));
        for table in tables {
            let schema = self.writers.get(&*table.schema);
            if let Some(writer) = schema.and_then(|s| s.get(&*table.name)) {
                needed.insert(*writer);
            }
        }
        Answer::Needs(needed, catalog.clone())
    }
}

#[cfg(test)]
#[path = "tests/table_writes.rs"]
mod tests;
