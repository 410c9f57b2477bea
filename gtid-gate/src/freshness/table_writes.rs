//! Who wrote what: the last writer of each table, as far as capture's stream tells.
//!
//! In: capture's stream (`table_stream`): transactions with their tables, in the order of the binlog. Out: for the tables of
//! a read, the transactions that a satellite must have, instead of all that the master has.
//! A satellite holds a prefix of the binlog's order: with the last writer it has all those before it. What the stream does
//! not cover, and what counts as having written everything (a barrier: DDL and the like), must be there whole.
//! Must never: call something covered of which the stream has not told, or go by a catalog that a later definition changed.

use super::catalog::{Catalog, Reads, Sample};
use super::definitions::{Asks, Unproven};
use super::redefined::{Redefined, Redefines};
use crate::backend::Position;
use crate::common::lock;
use crate::gtid::{Gtid, GtidSet};
use crate::ops::config::Broken;
use crate::sql::{Names, folded};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Names in a statement, and where unqualified ones belong.
#[derive(Debug, Clone, Copy)]
pub struct TableNames<'a> {
    pub names: &'a Names,
    pub database: Option<&'a str>,
}

/// Capture lets satellites have what redefines names as soon as the gate has heard of it, or after three seconds: what is known is trusted for less
/// from when the gate sent the time that a mark brought back.
const TRUSTED: Duration = Duration::from_millis(2_200);

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

/// What a proof rests on.
#[derive(Debug)]
pub struct Proven {
    /// How often it had been heard until then that names stand for something else.
    heard: u64,
    catalog: Arc<Catalog>,
}

/// Nothing: it holds whatever is defined.
pub type Proof = Result<Option<Proven>, Unproven>;

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
    /// How often that was heard, or that something was not told.
    heard: u64,
    /// The last of these that may be about any name without its being known what it is.
    forgotten: u64,
    /// Since then, by schema and table.
    writers: HashMap<String, HashMap<String, Gtid>>,
    catalog: Option<Arc<Catalog>>,
    /// The one before, while the stream has not told of all that the new one may show.
    earlier: Option<Arc<Catalog>>,
    /// What the master had when it was asked last.
    master_had: Option<Arc<Position>>,
}

pub struct TableWrites {
    state: Mutex<State>,
    /// The state's, for who looks without its lock.
    heard: AtomicU64,
    /// Until when on `clock` all is known that satellites may have of redefined names; 0: it is not, `u64::MAX`: capture does not say.
    trusted: AtomicU64,
    began: Instant,
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
            state: Mutex::default(),
            heard: AtomicU64::new(0),
            trusted: AtomicU64::new(0),
            began: Instant::now(),
            told: Notify::new(),
        }
    }

    /// What changes the state changes what is seen without its lock.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = lock(&self.state);
        let changed = change(&mut state);
        self.heard.store(state.heard, Ordering::Release);
        changed
    }

    /// Microseconds, never 0: the time in marks.
    pub fn clock(&self) -> u64 {
        self.began.elapsed().as_micros() as u64 + 1
    }

    /// All is known that was published when the gate sent this time.
    pub fn marked(&self, time: u64) {
        if (1..=self.clock()).contains(&time) {
            let until = time + TRUSTED.as_micros() as u64;
            self.trusted.fetch_max(until, Ordering::Release);
        }
    }

    /// The stream begins, of this master: what lies before it is not told. `marks`: it says until when all is known.
    pub fn begin(&self, master: &str, before: &GtidSet, marks: bool) {
        self.change(|state| {
            if state.master != master {
                state.forget();
                state.master = master.to_owned();
            }
            (state.connected, state.silent) = (true, false);
            state.untold(before);
        });
        let trusted = if marks { 0 } else { u64::MAX };
        self.trusted.store(trusted, Ordering::Release);
    }

    pub fn lost(&self) {
        self.trusted.store(0, Ordering::Release);
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

    /// A master that lacks what it had before has begun another history, and one that was started anew may have: nothing that was told holds.
    pub fn look_at(&self, master: &Arc<Position>) {
        self.change(|state| state.look_at(master));
    }

    /// Whether it is news.
    pub fn wrote(&self, mut written: Written) -> bool {
        if self.broken == Some(Broken::Tables) {
            written.tables.iter_mut().for_each(|t| drop(t.pop()));
        }
        let news = self.change(|state| state.wrote(written));
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
            false => Ok(None),
        }
    }

    /// Whether what was proven held until now, as far as that is known at once.
    pub fn holds(&self, proven: &Proven) -> bool {
        // In this order: what is heard between the two is not missed.
        self.is_trusted() && self.heard.load(Ordering::Acquire) == proven.heard
    }

    fn is_trusted(&self) -> bool {
        let until = self.trusted.load(Ordering::Acquire);
        until == u64::MAX || self.clock() < until
    }

    /// Whether what was proven of these names held while a satellite ran the read, if that is known. `has`: what it had after that.
    pub fn held(
        &self,
        proven: &Proven,
        names: Option<TableNames<'_>>,
        has: Option<&GtidSet>,
    ) -> Option<bool> {
        let trusted = self.is_trusted();
        let state = lock(&self.state);
        let known = trusted || has.is_some_and(|has| state.known.contains_set(has));
        match state.redefined_since(proven, names) {
            true => Some(false),
            false => known.then_some(true),
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
    /// Nothing that was told holds.
    fn forget(&mut self) {
        let heard = self.heard + 1;
        *self = Self {
            heard,
            forgotten: heard,
            ..Self::default()
        };
    }

    fn look_at(&mut self, master: &Arc<Position>) {
        let had = self.master_had.replace(master.clone());
        let Some(had) = had else { return };
        if had.asked > master.asked {
            self.master_had = Some(had);
        } else if had.incarnation != master.incarnation
            || !master.executed.contains_set(&had.executed)
        {
            tracing::info!(
                "the master may have begun another history: what the table stream told is forgotten"
            );
            self.forget();
        }
    }

    fn untold(&mut self, set: &GtidSet) {
        let mut new = set.clone();
        new.subtract(&self.known);
        if !new.is_empty() {
            self.heard += 1;
            self.forgotten = self.heard;
        }
        self.untold.union_with(&new);
        self.known.union_with(set);
    }

    fn wrote(&mut self, written: Written) -> bool {
        self.silent = false;
        if self.known.contains(&written.gtid) {
            return false;
        }
        self.known.insert(written.gtid);
        self.heard += u64::from(written.redefines != Redefines::Nothing);
        match written.tables {
            None => {
                self.barrier = Some(written.gtid);
                // What was untold before it may have been a definition.
                if !self.untold.is_empty() {
                    let any = Redefines::Anything;
                    self.redefined.by(written.gtid, self.forgotten, any);
                }
                let redefines = written.redefines;
                self.redefined.by(written.gtid, self.heard, redefines);
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
        let proven = || Proven {
            heard: self.heard,
            catalog: catalog.clone(),
        };
        if !self.are_in(names, catalog, &catalog.before) {
            return Err(Unproven::Unknown);
        }
        if let Some(asks) = catalog.asks_of(names) {
            return Err(Unproven::Asks(asks));
        }
        let Some(has) = has else {
            return Ok(Some(proven()));
        };
        let as_told = covered || self.knows(has, catalog);
        let barrier = || self.barrier.as_ref().is_none_or(|gtid| has.contains(gtid));
        let as_shown = self.redefined.any_in(has) && has.contains_set(&self.untold);
        let same = (as_shown || !catalog.may_be_view(names))
            && (!catalog.may_have_asked(names) || barrier());
        match as_told && same && self.are_in(names, catalog, has) {
            true => Ok(Some(proven())),
            false => Err(Unproven::Unknown),
        }
    }

    /// Whether it was heard since then that one of these names, or of those behind them, stands for something else.
    fn redefined_since(&self, proven: &Proven, names: Option<TableNames<'_>>) -> bool {
        let heard = proven.heard;
        let Some(TableNames { names, database }) = names else {
            return self.heard != heard;
        };
        let database = database.map(in_lower_case);
        let mut behind = proven.catalog.behind(names, database.as_deref());
        self.forgotten > heard
            || self.redefined.any_since(heard)
            || behind.any(|(schema, name)| self.redefined.is_since(schema, name, heard))
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
