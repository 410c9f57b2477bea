//! Reads that the master answers: those that no satellite can in time, and those that it answers clearly sooner from what it
//! has to spare.
//!
//! Must never: let a session see less on the master than it saw on a satellite.

use super::admission::{Gate, Leave, Request, usable};
use super::history::{History, Place};
use super::master_leave::MasterLeave;
use super::spare::{Expected, is_worth_it};
use super::table_writes::Answer;
use crate::backend::{Known, Role};
use crate::common::consistency::Level;
use crate::common::lock;
use crate::gtid::GtidSet;
use crate::ops::config::Broken;
use crate::protocol::error::SqlError;
use std::time::{Duration, Instant};

/// Replication takes about so long where nothing is known of it.
const USUAL_DELAY: Duration = Duration::from_millis(3);
/// What a query takes on the master is not known before it has run there once. What it takes on a satellite may come from that
/// satellite's load.
const UNTRIED: u32 = 4;
/// A satellite is asked where it is.
const QUESTION: Duration = Duration::from_micros(300);

impl Gate {
    pub(super) async fn fall_back(&self, read: Request<'_>) -> Result<Leave, SqlError> {
        self.place_on_master(read).await.map(Leave::Master)
    }

    /// A place on the master, queued for if all are taken.
    pub async fn place_on_master(&self, read: Request<'_>) -> Result<MasterLeave, SqlError> {
        let queued = tokio::time::timeout(
            self.fallback_queue,
            self.fallback_places.clone().acquire_owned(),
        );
        let Ok(Ok(place)) = queued.await else {
            self.metrics.fallback_rejections.inc();
            return Err(SqlError::gate(
                "no satellite is fresh enough and too many reads are on the master",
            ));
        };
        self.metrics.fallbacks.inc();
        self.before_master(read.seen, read.policy.level).await?;
        let running = self.servers.master.start_running(false);
        Ok(MasterLeave::fallback(place, running))
    }

    /// A satellite can show a transaction an instant before the master's own engine does: a session that changes from
    /// one to the other waits until the master has all that it may have seen.
    pub async fn before_master(&self, seen: &History, level: Level) -> Result<(), SqlError> {
        let mut places: Vec<&Place> = seen.respected(level).collect();
        places.retain(|p| p.role == Role::Satellite);
        if places.is_empty() || self.is_broken(Broken::Freshness) || self.is_broken(Broken::History)
        {
            return Ok(());
        }
        let deadline = Instant::now() + self.patience;
        let mut master = self.ask_master(self.patience).await?;
        let mut shown = GtidSet::new();
        for place in places {
            let least = self.floor(place, level, Some(&master)).least;
            least.sets().for_each(|s| shown.union_with(s));
        }
        while !master.executed.contains_set(&shown) {
            if Instant::now() >= deadline {
                return Err(SqlError::gate(
                    "the master does not yet have what this session has seen",
                ));
            }
            master = self.ask_master(self.patience).await?;
        }
        Ok(())
    }

    /// A satellite could answer now; the master may do so sooner.
    pub(super) async fn sooner(&self, leave: Leave, read: Request<'_>) -> Result<Leave, SqlError> {
        let Some(instead) = self.spare_instead(&leave, read) else {
            return Ok(leave);
        };
        let spared = self.spared(instead, read).await;
        Ok(spared.unwrap_or(leave))
    }

    fn spare_instead(&self, leave: &Leave, read: Request<'_>) -> Option<MasterLeave> {
        let Leave::Satellite { server, .. } = leave else {
            return None;
        };
        self.spare_if(read, server.times.get(read.shape)?)
    }

    /// Part of what the master has to spare, for a read that satellites could answer after this wait.
    pub(super) fn spare(&self, read: Request<'_>, wait: Duration) -> Option<MasterLeave> {
        self.spare_if(read, wait + self.on_satellites(read)?)
    }

    /// The same for a read of which it is known, before anybody is asked, that it would wait for the session's own commit.
    pub(super) fn spare_own(&self, read: Request<'_>) -> Option<MasterLeave> {
        let (own, age) = read.seen.own_since(read.policy.level)?;
        if !read.policy.spares() || self.is_broken(Broken::OwnChanges) {
            return None;
        }
        let satellites = self.servers.satellites();
        let mut known = usable(&satellites, read).filter_map(|s| s.position());
        if known.any(|p| p.executed.contains_set(own)) || self.has_tables(read, own) {
            return None;
        }
        self.spare(
            read,
            self.expected_wait(read).saturating_sub(age).max(QUESTION),
        )
    }

    /// The commit was to other tables: some satellite has what the read needs of it.
    fn has_tables(&self, read: Request<'_>, own: &GtidSet) -> bool {
        let Some(tables) = read.tables else {
            return false;
        };
        let Answer::Needs(writes, _) = self.table_writes.needs(tables, std::iter::once(own)) else {
            return false;
        };
        let satellites = self.servers.satellites();
        let mut known = usable(&satellites, read).filter_map(|s| s.position());
        known.any(|p| p.executed.contains_set(&writes))
    }

    /// How long satellites usually take to become fresh enough.
    pub(super) fn expected_wait(&self, read: Request<'_>) -> Duration {
        let satellites = self.servers.satellites();
        let delays = usable(&satellites, read).filter_map(|s| s.delay.get());
        delays.min().unwrap_or(USUAL_DELAY)
    }

    fn on_satellites(&self, read: Request<'_>) -> Option<Duration> {
        let satellites = self.servers.satellites();
        let times = usable(&satellites, read).filter_map(|s| s.times.get(read.shape));
        times.min()
    }

    /// A time of long ago may come from a moment when the master was busy, and nobody would ever find out.
    fn on_master(&self, read: Request<'_>) -> Option<Duration> {
        match self.servers.master.times.look(read.shape, Instant::now()) {
            Some(Known { time, is_old }) if !is_old => Some(time),
            Some(Known { time, .. }) => Some(time.min(self.on_satellites(read)?)),
            None => Some(self.on_satellites(read)? / UNTRIED),
        }
    }

    fn spare_if(&self, read: Request<'_>, satellite: Duration) -> Option<MasterLeave> {
        if read.shape == 0 || !read.policy.spares() {
            return None;
        }
        let master = &self.servers.master;
        let on_master = self.on_master(read)?;
        let expected = Expected {
            satellite: satellite.as_secs_f64(),
            master: on_master.as_secs_f64(),
        };
        let worth = is_worth_it(expected);
        tracing::debug!(shape = read.shape, ?expected, worth, "price of the master");
        if !worth || master.position().is_none() {
            return None;
        }
        if lock(&self.read_index.spare).wants_question(Instant::now()) {
            self.read_index.nudge();
        }
        MasterLeave::spare(&self.read_index.spare, || master.start_running(false))
    }

    /// A master that is known to have time to spare.
    #[cfg(test)]
    pub fn has_time_to_spare(&self) {
        let (mut spare, now) = (lock(&self.read_index.spare), Instant::now());
        for ago in (0..20).rev() {
            let then = now - Duration::from_millis(25 * ago);
            spare.answered(Duration::from_micros(200), then);
        }
    }

    pub(super) async fn spared(
        &self,
        leave: MasterLeave,
        read: Request<'_>,
    ) -> Result<Leave, SqlError> {
        self.before_master(read.seen, read.policy.level).await?;
        self.metrics.spare_reads.inc();
        Ok(Leave::Master(leave))
    }
}
