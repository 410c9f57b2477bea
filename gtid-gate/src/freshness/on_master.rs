//! Reads that the master answers: those that no satellite can in time, and those that it answers clearly sooner from what it
//! has to spare.
//!
//! Must never: let a session see less on the master than it saw on a satellite.

use super::admission::{Gate, Leave, Request, usable};
use super::history::{History, Place};
use super::master_leave::MasterLeave;
use super::price::is_worth_master;
use super::requirement::Need;
use super::table_writes::Answer;
use crate::backend::Role;
use crate::common::consistency::Level;
use crate::common::lock;
use crate::common::why::Why;
use crate::gtid::GtidSet;
use crate::ops::config::Broken;
use crate::protocol::error::SqlError;
use std::time::{Duration, Instant};

/// A satellite is asked where it is.
const QUESTION: Duration = Duration::from_micros(300);

/// A master that takes longer to show a transaction is busy, and is not asked all the time.
const AN_INSTANT: Duration = Duration::from_millis(5);

impl Gate {
    /// There is no satellite to read from, or none was fresh in time.
    pub(super) async fn fall_back(&self, read: Request<'_>) -> Result<Leave, SqlError> {
        let why = match (self.has_live(read), read.class) {
            (true, _) => Why::NotFreshInTime,
            (false, None) => Why::NoSatellite,
            (false, Some(_)) => Why::NoSatelliteOfClass,
        };
        self.place_on_master(read, why).await.map(Leave::Master)
    }

    /// A place on the master, queued for if all are taken.
    pub async fn place_on_master(
        &self,
        read: Request<'_>,
        why: Why,
    ) -> Result<MasterLeave, SqlError> {
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
        let running = self.servers.master.start_running(false, 0.0);
        Ok(MasterLeave::fallback(place, running, why))
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
        let began = Instant::now();
        let mut master = self.ask_master(self.patience).await?;
        let mut shown = GtidSet::new();
        for place in places {
            let least = self.floor(place, level, Some(&master)).least;
            least.sets().for_each(|s| shown.union_with(s));
        }
        while !master.executed.contains_set(&shown) {
            let waited = began.elapsed();
            if waited >= self.patience {
                return Err(SqlError::gate(
                    "the master does not yet have what this session has seen",
                ));
            }
            if waited >= AN_INSTANT {
                tokio::time::sleep(AN_INSTANT).await;
            }
            master = self.ask_master(self.patience).await?;
        }
        Ok(())
    }

    /// A satellite could answer now; the master may do so sooner, or a satellite that is not fresh enough yet.
    pub(super) async fn sooner(
        &self,
        leave: Leave,
        need: &Need,
        read: Request<'_>,
    ) -> Result<Leave, SqlError> {
        let Leave::Satellite { expected, .. } = leave else {
            return Ok(leave);
        };
        if read.policy.spares()
            && let Some(instead) = self.spare_if(read, expected)
        {
            return Ok(self.spared(instead, read).await.unwrap_or(leave));
        }
        let later = self.fresh_sooner(expected, need, read).await;
        Ok(later.unwrap_or(leave))
    }

    /// Part of what the master has to spare, for a read that satellites could answer after this wait.
    pub(super) fn spare(&self, read: Request<'_>, wait: Duration) -> Option<MasterLeave> {
        let satellites = wait + self.on_satellites(read)?;
        self.spare_if(read, satellites.as_secs_f64())
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

    fn spare_if(&self, read: Request<'_>, satellites: f64) -> Option<MasterLeave> {
        if read.digest == 0 || !read.policy.spares() {
            return None;
        }
        let master = &self.servers.master;
        let expected = self.on_master(read)?.as_secs_f64();
        let premium = lock(&self.read_index.spare).premium();
        let worth = is_worth_master(satellites, expected, premium);
        tracing::debug!(
            digest = read.digest,
            satellites,
            master = expected,
            premium,
            worth,
            "price of the master"
        );
        if !worth || master.position().is_none() {
            return None;
        }
        if lock(&self.read_index.spare).wants_question(Instant::now()) {
            self.read_index.nudge();
        }
        MasterLeave::spare(&self.read_index.spare, expected, || {
            master.start_running(false, expected)
        })
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
