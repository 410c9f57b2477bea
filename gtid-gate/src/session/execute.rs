//! Carries out the plan for a statement.

use super::connections::COM_STATISTICS;
use super::declared::Declared;
use super::fault::Fault;
use super::parts::Session;
use super::plan::{self, Begin, End, InMaster, InReadOnly, Outside, Plan, Prepare, Refusal};
use super::reasons;
use super::relay::Answer;
use super::settings::may_commit;
use super::settle::relies_on_state;
use super::state::{Next, Tx};
use super::statement::Known;
use super::work::Work;
use crate::backend::{Backend, bounded};
use crate::common::consistency::Choice;
use crate::freshness::Told;
use crate::ops::config::Broken;
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::response::Shape;
use crate::protocol::session_track::Shown;
use crate::sql::{Class, Question, Reasons, Verb};

/// Bytes of statements of a transaction that has read nothing, beyond which it no longer moves to another satellite.
const MAX_OPENING: usize = 4096;

/// The gate's own: completion_type, which may end the connection, is about the client's.
const COMMIT: &str = "COMMIT AND NO CHAIN NO RELEASE";
const ROLLBACK: &str = "ROLLBACK AND NO CHAIN NO RELEASE";
/// What begins a read-only transaction on its server.
pub(super) const BEGIN_READ_ONLY: &str = "START TRANSACTION READ ONLY";
pub(super) const BEGIN_SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

impl Session {
    /// Makes a plan for the statement, and carries it out.
    pub(super) async fn run_statement(&mut self, known: &Known, work: Work) -> Result<(), Fault> {
        if let Class::Multimed(asked) = &known.class {
            if !self.is_settled() && matches!(asked, Ok(Question::Explain(_))) {
                self.settle().await?;
            }
            return self.answer_question(asked, known.hint, &work).await;
        }
        self.promise(known.hint);
        self.names = known.names.clone();
        let mut judged = self.judged(known, &work);
        let mut plan = plan::plan(&self.state, judged.as_ref().unwrap_or(known), &work);
        if relies_on_state(&plan) && !self.is_settled() {
            self.settle().await?;
            // What was chosen by a computed value is known only now.
            self.promise(known.hint);
            judged = self.judged(known, &work);
            plan = plan::plan(&self.state, judged.as_ref().unwrap_or(known), &work);
        }
        let known = judged.as_ref().unwrap_or(known);
        self.tie(known.ties);
        let why = reasons::why(&self.state, known, &plan, self.leave.is_some());
        self.trace.planned(known, why);
        self.check_tables(known, &work)?;
        self.may_release = may_hide(known) && has_any(&work.sql(), &["commit", "rollback"]);
        let sets_a_role = may_hide(known) && has_any(&work.sql(), &["role", "resource"]);
        let outcome = self.carry_out(plan, known, work).await;
        if self.may_release && outcome.is_ok() && self.was_released().await {
            return Err(Fault::Gone);
        }
        // A stored function may have taken a lock there, of which no server reports.
        self.state.outlives_reset |= sets_a_role;
        let calls =
            matches!(known.verb, Verb::Query | Verb::Do) && known.reasons.has(Reasons::FUNCTION);
        self.state.user_variables |= calls && self.connections.master.is_some();
        outcome
    }

    /// Whether the master has ended the connection after such a text, as COMMIT and ROLLBACK with RELEASE do.
    async fn was_released(&mut self) -> bool {
        let within = self.shared.config.server_timeout;
        match &mut self.connections.master {
            Some(master) => {
                let asked = bounded(within, master.simple_command(&[COM_STATISTICS])).await;
                // An expired password is told by an error.
                asked.is_err_and(|error| !matches!(error, BackendError::Sql(_)))
            }
            None => false,
        }
    }

    async fn carry_out(
        &mut self,
        plan: Plan<'_>,
        known: &Known,
        mut work: Work,
    ) -> Result<(), Fault> {
        match plan {
            Plan::Outside(outside) => self.outside(outside, &mut work).await,
            Plan::EndThen(outside) => {
                let before = self.stand_in().await?;
                let outcome = self.outside(outside, &mut work).await;
                self.stood_in(before, outcome.is_ok()).await?;
                outcome
            }
            Plan::Kill { query_only, id } => self.kill(query_only, id, work).await,
            Plan::Set(items) => {
                if (known.ties.reads || may_commit(items)) && self.state.tx == Tx::Pending {
                    self.before_master().await?;
                    self.open_on_master(&[BEGIN_READ_ONLY.to_owned()]).await?;
                }
                self.set(items, work).await
            }
            Plan::Use => self.use_database(&mut work).await,
            Plan::Begin(begin) => self.begin(begin, known, &mut work).await,
            Plan::AskLastServer => self.on_last_server(&mut work).await,
            Plan::InMaster(how) => self.in_master(how, &mut work).await,
            Plan::OpenOnMaster(how) => {
                self.before_master().await?;
                self.open_on_master(&[BEGIN_READ_ONLY.to_owned()]).await?;
                self.in_master(how, &mut work).await
            }
            Plan::BesideOnMaster { pin } => {
                self.connect_master().await?;
                self.state.sticky = pin.or(self.state.sticky);
                self.on_master(&mut work, Told::Nothing).await.map(drop)
            }
            Plan::End { on, end } => self.end(on, end).await,
            Plan::InReadOnly(how) => self.in_read_only(how, &mut work).await,
            Plan::Refuse(refusal) => Err(self.refuse(refusal)),
        }
    }

    /// A read-only transaction may have said which tables it will read.
    pub(super) fn check_tables(&self, known: &Known, work: &Work) -> Result<(), SqlError> {
        if known.listed.is_some() && !matches!(known.class, Class::Begin { .. }) {
            return Err(SqlError::gate(
                "tables=… belongs to START TRANSACTION READ ONLY",
            ));
        }
        match &self.state.declared {
            Some(declared) if self.state.tx != Tx::Lost => {
                declared.admits(known, self.database_of(work))
            }
            _ => Ok(()),
        }
    }

    async fn outside(&mut self, plan: Outside, work: &mut Work) -> Result<(), Fault> {
        match plan {
            Outside::Read => {
                self.read(work, &[]).await?;
                if matches!(self.state.tx, Tx::OnSatellite(_)) {
                    self.state.next = Next::default();
                }
                Ok(())
            }
            Outside::OnMaster(told) => self.on_master_outside(work, told).await.map(drop),
            Outside::Pin(reason) => self.pin(reason, work).await,
            Outside::End(end) => self.end(None, end).await,
            Outside::Finish(end) => {
                let answer = self.on_master_outside(work, Told::OwnChange).await?;
                self.ended_on_master(end, &answer).await
            }
        }
    }

    async fn in_read_only(&mut self, plan: InReadOnly, work: &mut Work) -> Result<(), Fault> {
        let opening = || vec![BEGIN_READ_ONLY.to_owned()];
        match plan {
            InReadOnly::ReadFirst => self.read(work, &opening()).await.map(drop),
            InReadOnly::SavepointFirst => {
                let answer = self.read(work, &opening()).await?;
                self.has_said(opening(), &answer, &work.sql());
                Ok(())
            }
            InReadOnly::Read(id) => {
                self.proves_inside(id, work).await?;
                let answer = self.on_satellite(id, work, Told::Data).await?;
                let moved = self.state.tx != Tx::OnSatellite(id);
                if answer.error.is_none() && !moved {
                    self.count_read_by(id);
                }
                Ok(())
            }
            InReadOnly::Savepoint(id) => {
                let opening = self.state.opening.clone();
                let answer = self.on_satellite(id, work, Told::Nothing).await?;
                self.has_said(opening, &answer, &work.sql());
                Ok(())
            }
        }
    }

    async fn in_master(&mut self, how: InMaster, work: &mut Work) -> Result<(), Fault> {
        self.shared.metrics.master_statements.inc();
        self.state.sticky = how.pin.or(self.state.sticky);
        let answer = self.on_master(work, how.told).await?;
        match how.ends {
            Some(end) => self.ended_on_master(end, &answer).await,
            None => Ok(()),
        }
    }

    /// The master has answered COMMIT or ROLLBACK.
    async fn ended_on_master(&mut self, end: End, answer: &Answer) -> Result<(), Fault> {
        if let Some(master) = &mut self.connections.master {
            // It has not, if it answered with an error.
            self.state.left = master.unreported;
            master.left = master.unreported;
            if !master.unreported {
                self.state.bind("autocommit", None);
            }
        }
        self.end_left_on_satellites().await;
        match end.release && answer.error.is_none() {
            true => Err(Fault::Gone),
            false => Ok(()),
        }
    }

    /// The same where the transaction was on a satellite: what ran beside it on the master may have left something there.
    async fn end_left_beside(&mut self) -> Result<(), Fault> {
        self.end_left_on_satellites().await;
        let may = |master: &Backend| master.left || master.unreported;
        if self.connections.master.as_deref().is_some_and(may) {
            self.on_master_quietly(COMMIT).await?;
            if let Some(master) = &mut self.connections.master {
                master.left = false;
            }
        }
        Ok(())
    }

    /// With autocommit off, a statement that failed on a satellite may have left a transaction there, or locks.
    async fn end_left_on_satellites(&mut self) {
        let within = self.shared.config.server_timeout;
        for mut backend in self.connections.satellites.take_if(|b| b.left) {
            if bounded(within, backend.query(COMMIT)).await.is_ok() {
                backend.left = false;
                self.connections.satellites.put(backend);
            }
        }
    }

    async fn begin(&mut self, begin: Begin, known: &Known, work: &mut Work) -> Result<(), Fault> {
        let (tx, reads_elsewhere) = (self.state.tx, self.state.reads_elsewhere());
        // BEGIN itself commits there; to say COMMIT before would end what SET TRANSACTION has said.
        if begin != Begin::OnMaster || reads_elsewhere {
            self.end_before_begin().await?;
        }
        self.promise(known.hint);
        self.promise.at_begin = known.hint;
        let listed = known.listed.clone().filter(|_| begin != Begin::OnMaster);
        self.state.declared = listed.map(|names| Declared {
            names,
            database: self.state.database.clone(),
            catalog: None,
        });
        if begin == Begin::OnMaster {
            if reads_elsewhere {
                // Its access mode lasts, as MySQL's does.
                self.on_master_quietly(BEGIN_READ_ONLY).await?;
                if self.state.shown == Shown::Ended {
                    self.state.shown = Shown::Open;
                }
            }
            self.on_master_outside(work, Told::Nothing).await?;
            if tx == Tx::OnMaster {
                self.committed_on_master();
                self.end_left_on_satellites().await;
            }
            return Ok(());
        }
        if self.shared.config.broken == Some(Broken::Snapshot) {
            return self.say_transaction(true).await;
        }
        if begin == Begin::Snapshot {
            self.begins_snapshot = true;
            self.read(work, &[]).await?;
            self.state.next.begun();
            self.state.shown = Shown::Open;
            self.state.opening = vec![BEGIN_SNAPSHOT.to_owned()];
            return Ok(());
        }
        self.state.next.begun();
        self.state.tx = Tx::Pending;
        self.say_transaction(true).await
    }

    /// COMMIT or ROLLBACK of a transaction that is not on the master.
    async fn end(&mut self, on: Option<usize>, end: End) -> Result<(), Fault> {
        if let Some(id) = on {
            self.on_satellite_quietly(id, COMMIT).await;
        }
        self.state.tx = if end.chain { Tx::Pending } else { Tx::None };
        self.end_left_beside().await?;
        self.state.left = false;
        self.state.next = Next::default();
        self.promise.at_begin = Choice::default();
        self.state.declared = None;
        self.say_transaction(end.chain).await?;
        if end.release {
            Err(Fault::Gone)
        } else {
            Ok(())
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> Fault {
        match refusal {
            Refusal::Change => SqlError::read_only_transaction().into(),
            Refusal::Inside(reason) => SqlError::gate(format_args!(
                "not possible in a read-only transaction on a satellite: {reason}"
            ))
            .into(),
            Refusal::Lost => self.transaction_lost(),
        }
    }

    async fn on_master_outside(&mut self, work: &mut Work, told: Told) -> Result<Answer, Fault> {
        if told != Told::OwnChange {
            self.before_master().await?;
        }
        self.queue_for_master(work).await?;
        self.tell_next_to_master().await?;
        self.shared.metrics.master_statements.inc();
        self.on_master(work, told).await
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

    /// BEGIN commits the transaction that is open.
    pub(super) async fn end_before_begin(&mut self) -> Result<(), Fault> {
        match self.state.tx {
            Tx::None if !self.state.left => return Ok(()),
            Tx::OnSatellite(id) => {
                self.on_satellite_quietly(id, COMMIT).await;
                self.end_left_beside().await?;
            }
            Tx::OnMaster | Tx::None => {
                self.on_master_quietly(COMMIT).await?;
                self.committed_on_master();
            }
            Tx::Pending | Tx::Lost => self.end_left_beside().await?,
        }
        self.end_left_on_satellites().await;
        let on_master = self.state.tx == Tx::OnMaster;
        if self.state.shown == Shown::Open && !on_master {
            self.state.shown = Shown::Ended;
        }
        self.state.tx = Tx::None;
        self.state.left = false;
        self.leave = None;
        Ok(())
    }

    /// Before what MySQL commits for, but only if it understands it: a transaction on the master takes the place of the satellite's.
    pub(super) async fn stand_in(&mut self) -> Result<(Tx, Shown), Fault> {
        self.connect_master().await?;
        self.on_master_quietly(BEGIN_READ_ONLY).await?;
        let before = (self.state.tx, self.state.shown);
        self.state.tx = Tx::None;
        self.state.left = false;
        Ok(before)
    }

    /// If that one is still open, so is the satellite's. Where nobody can say it, the satellite's ends.
    pub(super) async fn stood_in(&mut self, before: (Tx, Shown), ran: bool) -> Result<(), Fault> {
        // The client has its answer: no error may follow.
        if ran {
            self.settle_status().await.map_err(|_| Fault::Gone)?;
        }
        if self.state.tx == Tx::OnMaster {
            let rolled_back = self.on_master_quietly(ROLLBACK).await;
            rolled_back.map_err(|_| Fault::Gone)?;
            (self.state.tx, self.state.shown) = before;
            return Ok(());
        }
        self.promise.at_begin = Choice::default();
        if let Tx::OnSatellite(id) = before.0 {
            self.on_satellite_quietly(id, COMMIT).await;
        }
        self.end_left_on_satellites().await;
        Ok(())
    }

    /// The session's changes are there now, though no statement of its own said so.
    fn committed_on_master(&mut self) {
        let level = self.promise.policy.level;
        if let Some(master) = &self.connections.master {
            let (server, incarnation) = (&master.server, &master.incarnation);
            let seen = &mut self.state.seen;
            seen.answered(server.id, server.role, incarnation, Told::OwnChange, level);
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

    pub(super) async fn prepare_somewhere(
        &mut self,
        known: &Known,
        work: &mut Work,
    ) -> Result<Option<u16>, Fault> {
        self.promise(known.hint);
        self.names = known.names.clone();
        let judged = self.judged(known, work);
        let known = judged.as_ref().unwrap_or(known);
        debug_assert!(matches!(work.shape(), Shape::Prepare { .. }));
        self.tie(known.ties);
        let is_connected = |id| self.connections.satellites.get(id).is_some();
        let answer = match plan::prepare(&self.state, known, is_connected) {
            Prepare::Read => self.read(work, &[]).await?,
            Prepare::OnSatellite(id) => self.on_satellite(id, work, Told::Nothing).await?,
            Prepare::OnMaster => self.on_master(work, Told::Nothing).await?,
        };
        Ok(answer.prepared.map(|p| p.params))
    }
}

/// A text that can't be read, or of which not all statements leave nothing behind. (A plain COMMIT or SET is looked at by itself, and a
/// procedure's roles end with it, unless it runs as its invoker.)
fn may_hide(known: &Known) -> bool {
    match known.class {
        Class::Pin(reason) => known.reasons == Reasons::ALL || reason == "multi-statement",
        _ => false,
    }
}

/// Whether one of these words stands in the text, wherever: what has none of them can't say it.
fn has_any(sql: &str, words: &[&str]) -> bool {
    let sql = sql.to_ascii_lowercase();
    words.iter().any(|word| sql.contains(word))
}
