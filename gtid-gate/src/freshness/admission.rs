//! Which server may answer a read now.
//!
//! In: when a read arrives, what it was promised, and what its session saw before. Out: a satellite that has all the
//! read must see, or leave to use the master, or a clear error.
//! Must never: admit a satellite whose position does not contain what is required, or answer `strong` from what was
//! asked before the read arrived.

use super::catalog::Catalog;
use super::classes::{ClassCounts, scope};
use super::history::{History, Place};
use super::master_leave::MasterLeave;
use super::read_index::ReadIndex;
use super::requirement::{Candidate, Floor, Least, Need};
use super::table_writes::{TableNames, TableWrites};
use crate::backend::{Position, Role, Running, Server, Servers, Statements};
use crate::common::classes::ReadClass;
use crate::common::consistency::{Level, Policy};
use crate::common::lock;
use crate::common::why::Why;
use crate::ops::config::{Broken, Config};
use crate::ops::metrics::Metrics;
use crate::protocol::error::SqlError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How old a server's position may be before a session that could leave a busier server has it asked again.
const WORTH_ASKING: Duration = Duration::from_millis(10);

/// What a read brings along.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub arrived: Instant,
    pub policy: Policy,
    pub seen: &'a History,
    /// The names in what is read; nothing if it may be any table.
    pub tables: Option<TableNames<'a>>,
    /// The number of the statement's digest; 0 if it is not known.
    pub digest: u64,
    /// Queries of its digest take long.
    pub heavy: bool,
    /// The class that it belongs to.
    pub class: Option<ReadClass>,
    /// Servers that failed this read already.
    pub excluded: &'a [usize],
}

impl Request<'_> {
    fn reads_no_table(&self) -> bool {
        self.tables.is_some_and(|t| t.names.list.is_empty())
    }
}

/// Leave to read, to be kept until the answer is through.
pub enum Leave {
    Satellite {
        server: Arc<Server>,
        /// Of the incarnation that may be read from.
        position: Arc<Position>,
        running: Running,
        /// What the session saw before is there, too.
        covers: bool,
        /// In so many seconds it should have answered.
        expected: f64,
        /// Only what wrote the tables of this catalog's is there, not all.
        tables: Option<Arc<Catalog>>,
        why: Why,
    },
    Master(MasterLeave),
}

pub struct Gate {
    pub servers: Servers,
    pub(super) read_index: ReadIndex,
    pub(super) metrics: Arc<Metrics>,
    pub table_writes: Arc<TableWrites>,
    pub statements: Statements,
    pub classes: ClassCounts,
    /// How long a session that changes to the master waits until the master shows what the session saw: that is in its binlog, so a
    /// master that answers at all shows it, however busy it is.
    pub(super) patience: Duration,
    pub(super) fallback_places: Arc<Semaphore>,
    pub(super) fallback_queue: Duration,
    broken: Option<Broken>,
    /// Where the next session begins to look, so that equally loaded satellites share the sessions.
    turn: AtomicUsize,
}

impl Gate {
    pub fn new(
        config: &Config,
        servers: Servers,
        read_index: ReadIndex,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            servers,
            read_index,
            table_writes: Arc::new(TableWrites::new(
                config.broken,
                config.table_stream.is_some(),
            )),
            statements: Statements::default(),
            classes: ClassCounts::new(config.classes.clone(), &metrics),
            patience: (config.policy.wait + config.fallback_queue).max(config.server_timeout),
            fallback_places: Arc::new(Semaphore::new(config.fallback_limit)),
            fallback_queue: config.fallback_queue,
            broken: config.broken,
            turn: AtomicUsize::new(0),
            metrics,
        }
    }

    /// Leave for a read that has just arrived.
    pub async fn admit(&self, read: Request<'_>) -> Result<Leave, SqlError> {
        self.metrics.level(read.policy.level).inc();
        self.would_admit(read).await
    }

    /// The same for one that is not to run. It waits as that would.
    pub async fn would_admit(&self, read: Request<'_>) -> Result<Leave, SqlError> {
        let level = read.policy.level;
        let read = self.classed(read)?;
        if read.reads_no_table() {
            return self.admit_anywhere(read).await;
        }
        if self.is_broken(Broken::Freshness) || level == Level::Eventual {
            let need = Need::default();
            return match self.pick(&need, read) {
                Some(leave) => self.sooner(leave, &need, read).await,
                None => self.wait_then_pick(need, read).await,
            };
        }
        if read.policy.falls_back() && !self.has_live(read) {
            return self.fall_back(read).await;
        }
        if let Some(leave) = self.spare_own(read) {
            return self.spared(leave, read).await;
        }
        let need = match level {
            Level::Strong => None,
            _ => Some(self.known_need(read).await?),
        };
        if let Some(need) = &need
            && let Some(leave) = self.pick(need, read)
        {
            self.look_for_lighter(&leave, read);
            return self.sooner(leave, need, read).await;
        }
        let need = match need {
            Some(need) if level == Level::Session && !need.is_open() => need,
            _ => {
                let asked = self
                    .ask_master(read.policy.wait + self.fallback_queue)
                    .await;
                if asked.is_err() && self.is_broken(Broken::Master) {
                    return self.wait_then_pick(Need::default(), read).await;
                }
                let master = asked?;
                self.seek(&master, read);
                self.need(read, Some(master))
            }
        };
        if let Some(leave) = self.pick(&need, read) {
            return self.sooner(leave, &need, read).await;
        }
        let need = self.of_tables(need, read).await;
        match self.pick(&need, read) {
            Some(leave) => self.sooner(leave, &need, read).await,
            None => self.wait_then_pick(need, read).await,
        }
    }

    /// Every snapshot is right for what reads no table.
    async fn admit_anywhere(&self, read: Request<'_>) -> Result<Leave, SqlError> {
        let need = Need::default();
        match self.pick(&need, read) {
            Some(leave) => self.sooner(leave, &need, read).await,
            None if read.policy.falls_back() => self.fall_back(read).await,
            None => self.wait_then_pick(need, read).await,
        }
    }

    /// The read with what its class says of it.
    fn classed<'a>(&self, read: Request<'a>) -> Result<Request<'a>, SqlError> {
        let Some(class) = read.class else {
            return Ok(read);
        };
        let satellites = self.servers.satellites();
        let can = free(&satellites, read).any(|s| s.is_live() && s.bound.has(class));
        let policy = self.classes.admitted(read.policy, class, can)?;
        Ok(Request { policy, ..read })
    }

    /// What `session` and `bounded` need, as far as that is known without asking the master.
    async fn known_need(&self, read: Request<'_>) -> Result<Need, SqlError> {
        if let Level::Bounded(bound) = read.policy.level {
            self.keep_up(bound, read);
        } else if self.servers.master.position().is_none() {
            // Out of reach for all that is known: `session` promises nothing without a master.
            let asked = self
                .ask_master(read.policy.wait + self.fallback_queue)
                .await;
            if !self.is_broken(Broken::Master) {
                asked?;
            }
        }
        Ok(self.need(read, None))
    }

    /// Has master and satellites asked often enough that reads with this bound need not wait while satellites lag less.
    fn keep_up(&self, bound: Duration, read: Request<'_>) {
        let often = bound / 4;
        let Some(master) = self.servers.master.position() else {
            return;
        };
        if master.asked.elapsed() >= often {
            self.read_index.nudge();
        }
        live(&self.servers.satellites(), read)
            .filter(|(_, known)| {
                let old = known.as_of.is_none_or(|at| at.elapsed() >= often);
                old && known.as_of.is_none_or(|at| at < master.asked)
            })
            .for_each(|(server, _)| server.seek(&master));
    }

    /// A commit on the master took so long.
    pub fn committed(&self, took: Duration) {
        lock(&self.read_index.spare).committed(took, Instant::now());
    }

    /// Has a satellite that is short of turns asked whether it falls behind.
    pub fn look(&self, server: &Server) {
        let Some(master) = self.servers.master.position() else {
            return;
        };
        // Less often than the satellite: that shows for how long it has lacked what the master had.
        if master.asked.elapsed() >= WORTH_ASKING * 2 {
            self.read_index.nudge();
        }
        server.wanted.notify_one();
    }

    /// A session may leave its server only for one that is known to have what it saw: if another has less to do, both
    /// are asked where they are, so that its next read can.
    fn look_for_lighter(&self, leave: &Leave, read: Request<'_>) {
        let Leave::Satellite { server: here, .. } = leave else {
            return;
        };
        // The read in hand is counted already.
        let load = here.running.load(Ordering::Relaxed).saturating_sub(1);
        let satellites = self.servers.satellites();
        let lighter = live(&satellites, read)
            .find(|(s, _)| s.id != here.id && s.running.load(Ordering::Relaxed) < load);
        let Some((other, known)) = lighter else {
            return;
        };
        let old = |p: &Position| p.asked.elapsed() >= WORTH_ASKING;
        if old(&known) {
            other.wanted.notify_one();
        }
        if here.position().is_some_and(|p| old(&p)) {
            here.wanted.notify_one();
        }
    }

    /// `master`: its answer to a question of this read, if one was asked.
    pub(super) fn need(&self, read: Request<'_>, master: Option<Arc<Position>>) -> Need {
        let level = read.policy.level;
        let floors = read
            .seen
            .respected(level)
            .filter(|_| !self.is_broken(Broken::History))
            .filter(|p| p.told.is_some() || !self.is_broken(Broken::OwnChanges))
            .map(|place| self.floor(place, level, master.as_ref()))
            .chain(self.own_floor(read))
            .collect();
        match level {
            Level::Strong => Need {
                master,
                floors,
                ..Need::default()
            },
            Level::Session | Level::Eventual => Need {
                floors,
                ..Need::default()
            },
            Level::Bounded(bound) => Need {
                master: master.or_else(|| self.servers.master.position()),
                not_before: self.bound(bound, read.arrived),
                floors,
                ..Need::default()
            },
        }
    }

    /// The time that a satellite must have reached.
    fn bound(&self, bound: Duration, arrived: Instant) -> Option<Instant> {
        let broken = self.is_broken(Broken::Bound);
        let bound = if broken {
            Duration::from_secs(3600)
        } else {
            bound
        };
        arrived.checked_sub(bound)
    }

    pub(super) fn is_broken(&self, promise: Broken) -> bool {
        cfg!(feature = "test-break") && self.broken == Some(promise)
    }

    /// What the session has committed, as the master told it. Who asks the master gets it with all else.
    fn own_floor(&self, read: Request<'_>) -> Option<Floor> {
        let own = read.seen.own(read.policy.level)?;
        (!self.is_broken(Broken::OwnChanges)).then(|| Floor {
            server: self.servers.master.id,
            incarnation: "".into(),
            least: Least::Own(own.clone()),
        })
    }

    pub(super) fn floor(
        &self,
        place: &Place,
        level: Level,
        master: Option<&Arc<Position>>,
    ) -> Floor {
        let told = place.told;
        let changed = place
            .changed
            .filter(|_| !matches!(level, Level::Bounded(_)));
        let since = told.max(changed);
        let after = |p: &Arc<Position>| since.is_none_or(|at| p.asked >= at);
        let own = self.servers.find(place.server);
        let own = own.and_then(|s| s.position()).filter(|p| {
            after(p) && (place.role == Role::Master || p.incarnation == place.incarnation)
        });
        let sample = own.or_else(|| master.filter(|p| after(p)).cloned());
        let least = sample.map_or(Least::Unknown, Least::Sample);
        Floor {
            server: place.server,
            incarnation: place.incarnation.clone(),
            least,
        }
    }

    /// A satellite that has caught up must not look late until somebody happens to wait for it: reads would all go to
    /// the one whose position is known.
    fn seek(&self, master: &Arc<Position>, read: Request<'_>) {
        live(&self.servers.satellites(), read)
            .filter(|(_, known)| !known.executed.contains_set(&master.executed))
            .for_each(|(server, _)| server.seek(master));
    }

    /// Within the time that the answer is of use for, but not so little that a busy machine can't keep it.
    pub(super) async fn ask_master(&self, budget: Duration) -> Result<Arc<Position>, SqlError> {
        let budget = budget.max(Duration::from_millis(500));
        self.read_index.ask(budget).await.map_err(SqlError::gate)
    }

    pub(super) fn has_live(&self, read: Request<'_>) -> bool {
        live(&self.servers.satellites(), read).next().is_some()
    }

    /// The live satellite that has what is needed and should answer soonest.
    pub(super) fn pick(&self, need: &Need, read: Request<'_>) -> Option<Leave> {
        let satellites = self.servers.satellites();
        let mut live: Vec<_> = live(&satellites, read).collect();
        if read.seen.is_empty() && !live.is_empty() {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % live.len();
            live.rotate_left(turn);
        }
        let now = Instant::now();
        let candidates = live.iter().map(|(server, position)| Candidate {
            server: server.id,
            price: self.price(server, read, now),
            position,
        });
        let chosen = need.choose(candidates)?;
        let (server, position) = live.iter().find(|(server, _)| server.id == chosen.server)?;
        tracing::debug!(digest = read.digest, server = %server.name, price = ?chosen.price, "read admitted");
        let of_tables = need.of_tables.as_ref();
        if of_tables.is_some() {
            self.metrics.table_reads.inc();
        }
        Some(Leave::Satellite {
            server: Arc::clone(server),
            position: position.clone(),
            running: server.start_running(read.heavy, chosen.price.answer),
            covers: !read.reads_no_table()
                && of_tables.is_none_or(|t| t.covers(server.id, position)),
            expected: chosen.price.seconds,
            tables: of_tables.map(|t| t.catalog.clone()),
            why: of_tables.map_or(Why::Fresh, |_| Why::Tables),
        })
    }
}

/// Satellites that may take this read, whatever its class.
pub(super) fn free<'a>(
    satellites: &'a [Arc<Server>],
    read: Request<'a>,
) -> impl Iterator<Item = &'a Arc<Server>> {
    let takes_reads = move |s: &&Arc<Server>| {
        !s.draining.load(Ordering::Relaxed) && !read.excluded.contains(&s.id)
    };
    satellites.iter().filter(takes_reads)
}

/// Satellites that may take this read.
pub(super) fn usable<'a>(
    satellites: &'a [Arc<Server>],
    read: Request<'a>,
) -> impl Iterator<Item = &'a Arc<Server>> {
    let has_classes = read.class.is_some() || satellites.iter().any(|s| !s.bound.is_empty());
    let scope = has_classes.then(|| {
        let live = free(satellites, read).filter(|s| s.is_live());
        scope(read.class, live.map(|s| s.bound))
    });
    free(satellites, read).filter(move |s| scope.is_none_or(|scope| scope.has(s.bound)))
}

/// Those whose position is known.
pub(super) fn live<'a>(
    satellites: &'a [Arc<Server>],
    read: Request<'a>,
) -> impl Iterator<Item = (&'a Arc<Server>, Arc<Position>)> {
    usable(satellites, read).filter_map(|server| Some((server, server.position()?)))
}
