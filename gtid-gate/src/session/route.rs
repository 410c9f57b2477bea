//! Which server a statement goes to, by its class and the transaction it is in.
//!
//! Reads outside transactions, and declared read-only transactions, go to a fresh satellite. A read-only transaction's
//! server is chosen when its first statement arrives, so that it sees all that was committed until then, and can still
//! move while nothing was read. All else goes to the master.

use super::fault::Fault;
use super::inside::{Inside, ends_transaction, inside};
use super::parts::Session;
use super::relay::Answer;
use super::run::{BEGIN_READ_ONLY, BEGIN_SNAPSHOT};
use super::sharing::patiently;
use super::state::{Next, Tx};
use super::statement::Known;
use super::work::Work;
use crate::common::consistency::Choice;
use crate::freshness::Told;
use crate::ops::config::Broken;
use crate::protocol::error::SqlError;
use crate::protocol::response::Shape;
use crate::sql::Class;

/// Bytes of statements of a transaction that has read nothing, beyond which it no longer moves to another satellite.
const MAX_OPENING: usize = 4096;

impl Session {
    pub(super) async fn route(&mut self, known: &Known, mut work: Work) -> Result<(), Fault> {
        self.promise(known.hint);
        self.tie(known.ties);
        match &known.class {
            Class::Kill { query_only, id } => return self.kill(*query_only, *id, work).await,
            Class::Set(_) if self.reads_elsewhere(known) => {
                return Err(refused_inside("SET to what is read"));
            }
            Class::Set(items) => return self.set(items, work).await,
            Class::Use(name) => return self.use_database(name, &mut work).await,
            Class::Begin {
                read_only,
                consistent_snapshot,
            } => {
                return self
                    .begin(*read_only, *consistent_snapshot, known.hint, work)
                    .await;
            }
            Class::ShowWarnings if self.state.tx != Tx::Lost => {
                return self.on_last_server(&mut work).await;
            }
            _ => {}
        }
        match self.state.tx {
            Tx::None => self.outside(known, work).await,
            Tx::OnMaster => self.in_master_transaction(known, &mut work).await,
            Tx::Pending => self.first_in_read_only(known, &mut work).await,
            Tx::OnSatellite(id) => self.in_read_only(id, known, work).await,
            Tx::Lost => self.in_lost(&known.class).await,
        }
    }

    /// A transaction's reads are promised one thing: what holds when its snapshot is chosen.
    fn promise(&mut self, hint: Choice) {
        match self.state.tx {
            Tx::None => self.policy = self.policy(hint),
            Tx::Pending => self.policy = self.policy(hint.and_then(self.begin_hint)),
            Tx::OnMaster | Tx::OnSatellite(_) | Tx::Lost => {}
        }
    }

    /// Whether the next transaction, or a statement on its own, may run on a satellite if it only reads.
    fn satellites_allowed(&self) -> bool {
        let s = &self.state;
        let tied = s.sticky.is_some() || s.reads_differently;
        !tied && !s.must_serialize() && !s.in_system_schema()
    }

    /// A SET that reads data, which the master has newer than the transaction's snapshot.
    fn reads_elsewhere(&self, known: &Known) -> bool {
        matches!(self.state.tx, Tx::OnSatellite(_)) && known.ties.reads
    }

    async fn outside(&mut self, known: &Known, mut work: Work) -> Result<(), Fault> {
        match &known.class {
            // One that can't be sent again goes where no refusal can send it on.
            Class::Read if self.may_read_alone() && work.repeatable() => {
                self.read(&mut work, &[]).await?;
                self.state.next = Next::default();
                Ok(())
            }
            Class::Commit {
                chain: false,
                release,
            }
            | Class::Rollback {
                chain: false,
                release,
            } if self.state.sticky.is_none() => self.end_here(false, *release).await,
            Class::Pin(reason) => self.pin(reason, &mut work).await,
            _ => {
                let told = if known.changes_only {
                    Told::OwnChange
                } else {
                    Told::Data
                };
                self.on_master_outside(&mut work, told).await
            }
        }
    }

    /// Waits for a turn on the master. Who holds something there, which others may wait for, never has to.
    pub(super) async fn queue_for_master(&mut self, work: &Work) -> Result<(), Fault> {
        if self.state.sticky.is_some() || self.leave.is_some() || !work.repeatable() {
            return Ok(());
        }
        self.queue_with_master().await
    }

    /// A read outside a transaction: not if autocommit is off and it would begin a read-write one.
    pub(super) fn may_read_alone(&self) -> bool {
        self.satellites_allowed() && (self.state.autocommit || self.state.declared_read_only())
    }

    /// An own change shows the client no rows, so that what it saw before can't be missed.
    async fn on_master_outside(&mut self, work: &mut Work, told: Told) -> Result<(), Fault> {
        if told != Told::OwnChange {
            self.before_master().await?;
        }
        self.queue_for_master(work).await?;
        self.tell_next_to_master().await?;
        self.shared.metrics.master_statements.inc();
        self.on_master(work, told).await.map(drop)
    }

    /// Waits until the master shows what the session has seen elsewhere.
    pub(super) async fn before_master(&self) -> Result<(), SqlError> {
        let gate = &self.shared.gate;
        let shown = gate.before_master(&self.state.seen, self.policy.level);
        patiently(&self.entry, shown).await?
    }

    async fn pin(&mut self, reason: &'static str, work: &mut Work) -> Result<(), Fault> {
        self.before_master().await?;
        self.queue_for_master(work).await?;
        self.tell_next_to_master().await?;
        self.shared.metrics.master_statements.inc();
        self.connect_master().await?;
        // Pinned even if it fails: half of it may have been done.
        self.state.sticky = Some(reason);
        self.on_master(work, Told::Data).await.map(drop)
    }

    async fn begin(
        &mut self,
        read_only: Option<bool>,
        snapshot: bool,
        hint: Choice,
        mut work: Work,
    ) -> Result<(), Fault> {
        self.end_before_begin().await?;
        self.promise(hint);
        self.begin_hint = hint;
        let read_only = read_only.unwrap_or_else(|| self.state.declared_read_only());
        if !read_only || !self.satellites_allowed() {
            return self.on_master_outside(&mut work, Told::Nothing).await;
        }
        if self.shared.config.broken == Some(Broken::Snapshot) {
            return self.say_ok().await;
        }
        if snapshot {
            self.read(&mut work, &[]).await?;
            self.state.next = Next::default();
            self.state.opening = vec![BEGIN_SNAPSHOT.to_owned()];
            return Ok(());
        }
        self.state.next = Next::default();
        self.state.tx = Tx::Pending;
        self.say_ok().await
    }

    /// BEGIN commits the transaction that is open.
    async fn end_before_begin(&mut self) -> Result<(), Fault> {
        match self.state.tx {
            Tx::None => return Ok(()),
            Tx::OnMaster => {
                self.on_master_quietly("COMMIT").await?;
                self.committed_on_master();
            }
            Tx::OnSatellite(id) => self.on_satellite_quietly(id, "COMMIT").await,
            Tx::Pending | Tx::Lost => {}
        }
        self.state.tx = Tx::None;
        self.leave = None;
        Ok(())
    }

    /// The session's changes are there now, though no statement of its own said so.
    fn committed_on_master(&mut self) {
        let level = self.policy.level;
        if let Some(master) = &self.master {
            let (server, incarnation) = (&master.server, &master.incarnation);
            let seen = &mut self.state.seen;
            seen.answered(server.id, server.role, incarnation, Told::OwnChange, level);
        }
    }

    async fn in_master_transaction(&mut self, known: &Known, work: &mut Work) -> Result<(), Fault> {
        let class = &known.class;
        self.shared.metrics.master_statements.inc();
        if let Class::Pin(reason) = class {
            self.state.sticky = Some(reason);
        }
        let told = match class {
            Class::Commit { .. } | Class::Rollback { .. } | Class::InTransaction => Told::OwnChange,
            _ if known.changes_only => Told::OwnChange,
            _ => Told::Data,
        };
        self.on_master(work, told).await?;
        match class {
            Class::Commit { release: true, .. } | Class::Rollback { release: true, .. } => {
                Err(Fault::Gone)
            }
            _ => Ok(()),
        }
    }

    async fn first_in_read_only(&mut self, known: &Known, work: &mut Work) -> Result<(), Fault> {
        let opening = vec![BEGIN_READ_ONLY.to_owned()];
        match &known.class {
            Class::Read if self.satellites_allowed() => self.read(work, &opening).await.map(drop),
            Class::InTransaction if self.satellites_allowed() => {
                let answer = self.read(work, &opening).await?;
                self.has_said(opening, &answer, &work.sql());
                Ok(())
            }
            Class::Commit { chain, release } | Class::Rollback { chain, release } => {
                self.end_here(*chain, *release).await
            }
            _ if inside(known, &work.sql()) == Inside::Master => {
                self.about_session(&known.class, work).await
            }
            _ => {
                self.before_master().await?;
                self.open_on_master(&opening).await?;
                self.in_master_transaction(known, work).await
            }
        }
    }

    /// A savepoint was set or the like, and if nothing was read before, then nothing is read still.
    fn has_said(&mut self, mut opening: Vec<String>, answer: &Answer, sql: &str) {
        if !opening.is_empty() && answer.error.is_none() {
            opening.push(sql.to_owned());
        }
        if opening.iter().map(String::len).sum::<usize>() > MAX_OPENING {
            opening.clear();
        }
        self.state.opening = opening;
    }

    async fn in_read_only(
        &mut self,
        id: usize,
        known: &Known,
        mut work: Work,
    ) -> Result<(), Fault> {
        match &known.class {
            Class::InTransaction => {
                let opening = self.state.opening.clone();
                let answer = self.on_satellite(id, &mut work, Told::Nothing).await?;
                self.has_said(opening, &answer, &work.sql());
                Ok(())
            }
            Class::Read => {
                let answer = self.on_satellite(id, &mut work, Told::Data).await?;
                let moved = self.state.tx != Tx::OnSatellite(id);
                if answer.error.is_none() && !moved {
                    self.count_read_by(id);
                }
                Ok(())
            }
            Class::Commit { chain, release } | Class::Rollback { chain, release } => {
                self.on_satellite_quietly(id, "COMMIT").await;
                self.end_here(*chain, *release).await
            }
            _ if ends_transaction(&work.sql()) => {
                self.end_before_begin().await?;
                self.outside(known, work).await
            }
            Class::Write(reason) | Class::Pin(reason) => match inside(known, &work.sql()) {
                Inside::Satellite => {
                    // What such a function does may not be undone with the transaction: never run again elsewhere.
                    self.state.opening.clear();
                    self.on_satellite(id, &mut work, Told::Data).await.map(drop)
                }
                Inside::Master => self.about_session(&known.class, &mut work).await,
                Inside::Change => Err(SqlError::read_only_transaction().into()),
                Inside::Refused => Err(refused_inside(reason)),
            },
            _ => Err(refused_inside("not understood")),
        }
    }

    /// Beside a read-only transaction that is not on the master: what the session's connection there alone can tell.
    async fn about_session(&mut self, class: &Class, work: &mut Work) -> Result<(), Fault> {
        if let Class::Pin(reason) = class {
            self.state.sticky = Some(reason);
        }
        self.on_master(work, Told::Nothing).await.map(drop)
    }

    async fn in_lost(&mut self, class: &Class) -> Result<(), Fault> {
        match class {
            Class::Commit { chain, release } | Class::Rollback { chain, release } => {
                self.end_here(*chain, *release).await
            }
            _ => Err(self.transaction_lost()),
        }
    }

    /// COMMIT or ROLLBACK where nothing is to be done on a server.
    async fn end_here(&mut self, chain: bool, release: bool) -> Result<(), Fault> {
        self.state.tx = if chain { Tx::Pending } else { Tx::None };
        self.begin_hint = Choice::default();
        self.say_ok().await?;
        if release { Err(Fault::Gone) } else { Ok(()) }
    }

    /// COM_STMT_PREPARE: where the statement would run, but no transaction begins.
    pub(super) async fn prepare_somewhere(
        &mut self,
        known: &Known,
        work: &mut Work,
    ) -> Result<Option<u16>, Fault> {
        self.promise(known.hint);
        debug_assert!(matches!(work.shape(), Shape::Prepare { .. }));
        self.tie(known.ties);
        let reads = known.class == Class::Read;
        let who = self.state.before.who_knows(known.ties);
        let who = who.filter(|_| known.class == Class::ShowWarnings);
        let answer = match self.state.tx {
            _ if let Some(id) = who.filter(|id| self.satellites.get(*id).is_some()) => {
                self.on_satellite(id, work, Told::Nothing).await?
            }
            Tx::OnSatellite(id) if reads => self.on_satellite(id, work, Told::Nothing).await?,
            Tx::Pending if reads => self.read(work, &[]).await?,
            Tx::None if reads && self.may_read_alone() => self.read(work, &[]).await?,
            _ => self.on_master(work, Told::Nothing).await?,
        };
        Ok(answer.prepared.map(|p| p.params))
    }
}

fn refused_inside(reason: &str) -> Fault {
    SqlError::gate(format_args!(
        "not possible in a read-only transaction on a satellite: {reason}"
    ))
    .into()
}
