//! Reads on satellites: the way there, away from one that fails, and back to the master when none can.
//!
//! Must never: run a read on another incarnation than the one that was admitted; move a read of which the client has
//! got something; send one that a server died of to more than one other, or to the master.

use super::estimate::Estimate;
use super::exchange::Failed;
use super::fault::Fault;
use super::parts::Session;
use super::relay::{Answer, OnRefusal, RelayError};
use super::seek::{is_ready, make_ready};
use super::state::{Next, Tx};
use super::turns::patiently;
use super::work::Work;
use crate::backend::bounded;
use crate::backend::{Backend, Incarnation, Position, Server};
use crate::common::classes::{Otherwise, ReadClass};
use crate::common::consistency::MasterReads;
use crate::common::why::Why;
use crate::freshness::{
    Catalog, Leave, MasterLeave, Patience, Request, TableNames, Told, Unproven, class_of,
};
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::response::Shape;
use crate::protocol::wire::STATUS_IN_TRANS_READONLY;
use crate::sql::{Names, Ties};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a read was not answered by the satellite it was sent to; the client has got nothing yet.
enum Unread {
    Elsewhere(BackendError),
    /// It died while it ran the read.
    Died(BackendError),
    /// It refused the read with this error, which the master may not give.
    OnMaster(u16),
    /// It is not proven that a satellite may answer.
    Unproven(Unproven),
    Fault(Fault),
}

/// The satellite that a read was let to.
struct Admitted<'a> {
    server: &'a Arc<Server>,
    incarnation: &'a Incarnation,
    chosen: Instant,
    expected: f64,
}

/// A read that one server died of may kill the others, too.
fn not_elsewhere(dead: &Server, reason: String) -> SqlError {
    SqlError::gate(format_args!(
        "{} was lost while it ran this statement, which is sent to one other satellite at most, and not to the master: {reason}",
        dead.name
    ))
}

impl Session {
    /// A read, or with `opening` the next statement of a read-only transaction that has said so much and read nothing:
    /// on a fresh satellite, else on the master. Moves on while the client has got nothing.
    pub(super) async fn read(
        &mut self,
        work: &mut Work,
        opening: &[String],
    ) -> Result<Answer, Fault> {
        self.read_after(work, opening, None).await
    }

    /// `dead`: the server that died while it ran the read. Every server may die of it: it gets one more, and that a satellite.
    pub(super) async fn read_after(
        &mut self,
        work: &mut Work,
        opening: &[String],
        mut dead: Option<Arc<Server>>,
    ) -> Result<Answer, Fault> {
        self.state.opening.clear();
        let (arrived, mut failed) = (Instant::now(), Vec::new());
        let mut asked = arrived;
        let names = self.names.clone();
        let mut policy = self.promise.policy;
        self.promise.admitted = self.class(work);
        loop {
            if dead.is_some() {
                policy.master_reads = MasterReads::Never;
            }
            let request = Request {
                arrived,
                policy,
                seen: &self.state.seen,
                tables: self.tables(names.as_deref(), work, opening),
                digest: self.query_digest(work),
                heavy: self.is_heavy(work),
                class: self.promise.admitted,
                excluded: &failed,
            };
            let leave = patiently(&self.entry, self.shared.gate.admit(request)).await?;
            let leave = leave.map_err(|error| match &dead {
                Some(dead) => not_elsewhere(dead, error.message),
                None => error,
            });
            match leave.inspect_err(|_| self.count_error("no_server"))? {
                Leave::Master(place) => {
                    let master = self.shared.gate.servers.master.position();
                    self.trace.chosen(place.why(), asked.elapsed(), master);
                    self.promise.covers = true;
                    self.declared_is_for(None, names.as_deref(), work)?;
                    let spare = place.is_spare();
                    self.expected = place.expected().map(|seconds| Estimate {
                        seconds,
                        waited: Duration::ZERO,
                    });
                    self.master_said_nothing = false;
                    let outcome = self.read_by_leave(place, work, opening).await;
                    let unread = matches!(outcome, Err(Fault::Sql(_))) && self.master_said_nothing;
                    if !(spare && unread && work.repeatable()) {
                        return outcome;
                    }
                    // A satellite could have answered, and can still.
                    dead = Some(self.shared.gate.servers.master.clone());
                    self.shared.metrics.moved_reads.inc();
                }
                Leave::Satellite {
                    server,
                    position,
                    running,
                    covers,
                    expected,
                    tables,
                    why,
                } => {
                    let chosen = Instant::now();
                    self.trace
                        .chosen(why, chosen - asked, Some(position.clone()));
                    self.promise.covers = covers;
                    self.declared_is_for(tables, names.as_deref(), work)?;
                    let admitted = Admitted {
                        server: &server,
                        incarnation: &position.incarnation,
                        chosen,
                        expected,
                    };
                    let outcome = self.read_on(admitted, work, opening).await;
                    drop(running);
                    self.turn = None;
                    match outcome {
                        Ok(answer) => return Ok(answer),
                        Err(Unread::Fault(fault)) => return Err(fault),
                        Err(Unread::OnMaster(code)) => {
                            if let Some(dead) = &dead {
                                let refused = format!("{} refused it: {code}", server.name);
                                return Err(not_elsewhere(dead, refused).into());
                            }
                            return self.read_refused(code, work, opening).await;
                        }
                        Err(Unread::Died(reason)) => {
                            tracing::debug!(server = %server.name, %reason, "lost during a read");
                            if let Some(first) = dead.replace(server.clone()) {
                                self.count_error("satellite_lost");
                                return Err(not_elsewhere(
                                    &first,
                                    format!("{} was lost, too", server.name),
                                )
                                .into());
                            }
                            self.shared.metrics.moved_reads.inc();
                            failed.push(server.id);
                        }
                        Err(Unread::Unproven(unproven)) => {
                            if let Some(dead) = &dead {
                                let reason = format!("{}: {}", server.name, unproven.reason());
                                return Err(not_elsewhere(dead, reason).into());
                            }
                            self.trace.unproven(&unproven, self.master_position());
                            self.reads_names = false;
                            if let Unproven::Asks(asks) = &unproven {
                                self.tie(Ties {
                                    rows: self.ties.rows,
                                    ..asks.ties
                                });
                            }
                            return self.run_on_master(work, opening).await;
                        }
                        Err(Unread::Elsewhere(reason)) => {
                            tracing::debug!(server = %server.name, %reason, "read moved");
                            self.shared.metrics.moved_reads.inc();
                            failed.push(server.id);
                        }
                    }
                }
            }
            asked = Instant::now();
        }
    }

    /// The snapshot is chosen, by the tables of this catalog if it need not have all: a statement that names others is refused
    /// from now on, the one in hand among them. Where the snapshot has all, that is for the application's sake.
    fn declared_is_for(
        &mut self,
        catalog: Option<Arc<Catalog>>,
        names: Option<&Names>,
        work: &Work,
    ) -> Result<(), SqlError> {
        let Some(declared) = &mut self.state.declared else {
            return Ok(());
        };
        declared.catalog = catalog.or_else(|| self.shared.gate.table_writes.known_catalog());
        let Some(declared) = &self.state.declared else {
            return Ok(());
        };
        let database = self.database_of(work);
        names.map_or(Ok(()), |names| declared.check(names, database))
    }

    /// What a read's snapshot is for: the names of a statement on its own, or what a transaction declared. Nothing: for
    /// anything.
    pub(super) fn tables<'a>(
        &'a self,
        names: Option<&'a Names>,
        work: &'a Work,
        opening: &[String],
    ) -> Option<TableNames<'a>> {
        if let Some(declared) = &self.state.declared {
            return Some(TableNames {
                names: &declared.names,
                database: declared.database.as_deref(),
            });
        }
        let alone = opening.is_empty() && self.state.autocommit && self.state.tx == Tx::None;
        let names = names.filter(|_| alone)?;
        let database = self.database_of(work);
        Some(TableNames { names, database })
    }

    /// What a statement or its session or user chose, else what its digest and its tables say.
    pub(super) fn class(&self, work: &Work) -> Option<ReadClass> {
        let classes = &self.shared.config.classes;
        if classes.is_empty() {
            return None;
        }
        if let Some(chosen) = &self.promise.class {
            return classes.named(chosen);
        }
        let names = self.names.as_deref()?;
        let database = self.database_of(work);
        class_of(classes, TableNames { names, database })
    }

    pub(super) fn database_of<'a>(&'a self, work: &'a Work) -> Option<&'a str> {
        work.database(&self.state)
    }

    /// What a satellite lacks is read on the master as if it were not fresh enough, and what it refuses as a write runs
    /// there as any write.
    async fn read_refused(
        &mut self,
        code: u16,
        work: &mut Work,
        opening: &[String],
    ) -> Result<Answer, Fault> {
        self.trace.refused(self.master_position());
        if !SqlError::is_lack(code) {
            return self.run_on_master(work, opening).await;
        }
        let strict = |class: ReadClass| class.otherwise == Otherwise::Error;
        if self.shared.config.fallback_limit == 0 || self.promise.admitted.is_some_and(strict) {
            return Err(SqlError::lacking(code).into());
        }
        let request = Request {
            arrived: Instant::now(),
            policy: self.promise.policy,
            seen: &self.state.seen,
            tables: None,
            digest: 0,
            heavy: false,
            class: None,
            excluded: &[],
        };
        let place = patiently(
            &self.entry,
            self.shared.gate.place_on_master(request, Why::Refused),
        )
        .await?;
        self.read_by_leave(place?, work, opening).await
    }

    /// A prepared statement's description is not data, nor is what reads no table.
    fn told_by(&self, work: &Work) -> Told {
        let reads_no_table = self.names.as_ref().is_some_and(|n| n.list.is_empty());
        match work.shape() {
            Shape::Prepare { .. } => Told::Nothing,
            _ if reads_no_table => Told::Nothing,
            _ => Told::Data,
        }
    }

    fn master_position(&self) -> Option<Arc<Position>> {
        self.shared.gate.servers.master.position()
    }

    /// As what is no read for satellites.
    async fn run_on_master(
        &mut self,
        work: &mut Work,
        opening: &[String],
    ) -> Result<Answer, Fault> {
        self.promise.covers = true;
        self.before_master().await?;
        self.queue_for_master(work).await?;
        self.read_on_master(work, opening).await
    }

    async fn read_by_leave(
        &mut self,
        place: MasterLeave,
        work: &mut Work,
        opening: &[String],
    ) -> Result<Answer, Fault> {
        self.leave = Some(place);
        let answer = self.read_on_master(work, opening).await;
        if self.state.tx != Tx::OnMaster {
            self.leave = None;
        }
        answer
    }

    async fn read_on_master(
        &mut self,
        work: &mut Work,
        opening: &[String],
    ) -> Result<Answer, Fault> {
        if work.shape() == Shape::Results {
            self.tell_next_to_master().await?;
        }
        if !opening.is_empty() {
            self.open_on_master(opening).await?;
        }
        let answer = self.on_master(work, self.told_by(work)).await?;
        if work.shape() == Shape::Results {
            self.count_read(&self.shared.gate.servers.master);
        }
        Ok(answer)
    }

    pub(super) async fn open_on_master(&mut self, opening: &[String]) -> Result<(), Fault> {
        self.tell_next_to_master().await?;
        for sql in opening {
            self.on_master_quietly(sql).await?;
            self.state.tx = Tx::OnMaster;
            self.state.flags |= STATUS_IN_TRANS_READONLY;
        }
        Ok(())
    }

    async fn read_on(
        &mut self,
        admitted: Admitted<'_>,
        work: &mut Work,
        opening: &[String],
    ) -> Result<Answer, Unread> {
        let server = admitted.server;
        let mut backend = self
            .take_satellite(server, admitted.incarnation, (opening, work))
            .await?;
        self.expected = Some(Estimate {
            seconds: admitted.expected,
            waited: admitted.chosen.elapsed(),
        });
        let begins = !opening.is_empty();
        let in_transaction = begins || !self.state.autocommit;
        if begins {
            self.state.tx = Tx::OnSatellite(server.id);
            // Isolation is the gate's own there.
            self.state.next = Next::default();
        }
        let on_refusal = if in_transaction || !work.repeatable() {
            OnRefusal::Pass
        } else {
            OnRefusal::Report
        };
        let outcome = self.exchange(&mut backend, work, on_refusal).await;
        if begins && outcome.as_ref().is_err_and(Failed::is_unread) {
            self.state.tx = Tx::Pending;
        }
        self.read_ended(server, backend, work, outcome)
    }

    fn read_ended(
        &mut self,
        server: &Server,
        mut backend: Box<Backend>,
        work: &Work,
        outcome: Result<Answer, Failed>,
    ) -> Result<Answer, Unread> {
        match outcome {
            Ok(answer) => {
                self.after(&mut backend, &answer, self.told_by(work));
                if work.shape() == Shape::Results {
                    self.count_read(server);
                }
                self.connections.satellites.put(backend);
                Ok(answer)
            }
            Err(Failed::Relay(RelayError::NothingSent(error))) if work.repeatable() => {
                Err(Unread::Elsewhere(error))
            }
            Err(Failed::Relay(RelayError::Died(error))) if work.repeatable() => {
                match self.is_innocent(server, work, &error) {
                    true => Err(Unread::Elsewhere(error)),
                    false => Err(Unread::Died(error)),
                }
            }
            Err(Failed::Relay(RelayError::Refused(code))) => {
                self.shared.metrics.refused_as_write.inc();
                self.connections.satellites.put(backend);
                Err(Unread::OnMaster(code))
            }
            Err(Failed::Relay(RelayError::Redefined { sent: false })) if work.repeatable() => {
                Err(Unread::Unproven(Unproven::Unknown))
            }
            Err(Failed::Relay(RelayError::Redefined { .. })) => {
                Err(Unread::Fault(self.redefined(backend)))
            }
            Err(Failed::Prepare(error)) => Err(Unread::OnMaster(error.code)),
            Err(failed) => Err(Unread::Fault(
                self.satellite_failed(server, &backend, failed),
            )),
        }
    }

    /// A server that hangs may have been stopped by anything, and hardly by a query that it has answered before.
    pub(super) fn is_innocent(&self, server: &Server, work: &Work, error: &BackendError) -> bool {
        let known = server.times.known(self.query_digest(work), Instant::now());
        matches!(error, BackendError::Timeout) && known.is_some()
    }

    /// A connection to the admitted incarnation, ready for the session, where `opening` has been said; and a turn there, and the proof that
    /// it may answer, as late as can be. First
    /// the connection: its owner may wait for a turn, so that who has a turn must not wait for a connection.
    async fn take_satellite(
        &mut self,
        server: &Arc<Server>,
        incarnation: &Incarnation,
        (opening, work): (&[String], &Work),
    ) -> Result<Box<Backend>, Unread> {
        self.turn = None;
        let known = self.connections.satellites.take(server.id);
        let known = known.and_then(|mut b| (!b.conn.has_ended()).then_some(b));
        // A schema that is no more the session's can't be left.
        let leaves = |b: &Backend| self.state.database.is_none() && b.database.is_some();
        let usable = |b: &Backend| b.incarnation == *incarnation && !b.is_lost() && !leaves(b);
        let existing = known.filter(|b| usable(b));
        let connected = match existing {
            Some(backend) => Ok(backend),
            None => self.seeker().connection(server).await,
        };
        let backend = connected.map_err(|error| match error {
            BackendError::Busy(error) => Unread::Fault(Fault::Sql(error)),
            other => Unread::Elsewhere(other),
        })?;
        if let Err(error) = self.queue(server, self.is_heavy(work)).await {
            self.connections.satellites.put(backend);
            return Err(Unread::Fault(Fault::Sql(error)));
        }
        match self.proves(server, work, Patience::MasterCan).await {
            Ok(proven) => self.proven = proven,
            Err(unproven) => {
                self.connections.satellites.put(backend);
                return Err(Unread::Unproven(unproven));
            }
        }
        if backend.incarnation == *incarnation
            && opening.is_empty()
            && is_ready(&self.state, &backend)
        {
            return Ok(backend);
        }
        self.ready_satellite(backend, incarnation, opening).await
    }

    async fn ready_satellite(
        &self,
        mut backend: Box<Backend>,
        incarnation: &Incarnation,
        opening: &[String],
    ) -> Result<Box<Backend>, Unread> {
        let (server, within) = (backend.server.clone(), self.shared.config.server_timeout);
        let readying = async {
            if backend.incarnation != *incarnation {
                return Err(BackendError::Lost("it was restarted".into()));
            }
            let ready = make_ready(&self.state, &mut backend).await;
            if ready.is_ok() {
                for sql in opening {
                    backend.query(sql).await?;
                }
            }
            Ok((backend, ready))
        };
        match bounded(within, readying).await {
            Ok((backend, Ok(()))) => Ok(backend),
            Ok((_, Err(BackendError::Sql(error)))) => {
                tracing::debug!(server = %server.name, code = error.code, "session state refused");
                Err(Unread::OnMaster(error.code))
            }
            Ok((_, Err(error))) | Err(error) => Err(Unread::Elsewhere(error)),
        }
    }

    pub(super) fn count_error(&self, kind: &str) {
        self.shared.metrics.errors.with_label_values(&[kind]).inc();
    }

    pub(super) fn count_read_by(&self, id: usize) {
        if let Some(server) = self.shared.gate.servers.find(id) {
            self.count_read(&server);
        }
    }

    pub(super) fn count_read(&self, server: &Server) {
        let metrics = &self.shared.metrics;
        let counter = server.reads.get_or_init(|| metrics.reads_of(&server.name));
        counter.inc();
        self.shared.gate.classes.read(self.promise.admitted);
    }
}
