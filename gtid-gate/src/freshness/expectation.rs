//! What a read is expected to take on each server, from what is known of the servers now.
//!
//! In: a read and a server. Out: seconds until it is fresh enough, until the read's turn, until its answer.
//! Must never: wait, or ask anybody.

use super::admission::{Gate, Request, usable};
use super::estimate::until_fresh;
use super::price::{Expected, Price, turn_in};
use super::requirement::Need;
use crate::backend::{Known, Position, Server};
use crate::ops::config::MOST;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What a query of no known digest takes, before anything was answered.
const UNKNOWN: f64 = 0.001;
/// Replication takes about so long where nothing is known of it.
const USUAL_DELAY: Duration = Duration::from_millis(3);
/// What a query takes on the master is not known before it has run there once. What it takes on a satellite may come from that
/// satellite's load.
const UNTRIED: u32 = 4;

impl Gate {
    /// What a satellite offers that has all the read must see.
    pub(super) fn price(&self, server: &Server, read: Request<'_>, now: Instant) -> Price {
        let expected = self.expected(server, read, Duration::ZERO, now);
        Price {
            rank: rank(server, read.heavy),
            seconds: expected.seconds(),
            answer: expected.answer,
            running: crowd(server),
            known: read.seen.has(server.id),
        }
    }

    /// How long one that has not takes to have it, and the time in all; nothing if it will not have it in time.
    pub(super) fn seconds_later(
        &self,
        server: &Server,
        position: &Position,
        need: &Need,
        read: Request<'_>,
        now: Instant,
    ) -> Option<(Duration, f64)> {
        let usual = server.delay.get().unwrap_or(USUAL_DELAY);
        let lacking = need.lacking(server.id, position);
        let backlog = position.backlog.as_ref();
        let fresh = until_fresh(lacking, backlog, usual, read.policy.wait, now)?;
        Some((fresh, self.expected(server, read, fresh, now).seconds()))
    }

    fn expected(
        &self,
        server: &Server,
        read: Request<'_>,
        fresh: Duration,
        now: Instant,
    ) -> Expected {
        let (running, limit) = (server.running.load(Ordering::Relaxed), server.turns.limit());
        Expected {
            fresh: fresh.as_secs_f64(),
            turn: turn_in(running, limit, server.usual_work()),
            answer: self.answer(server, read, now),
        }
    }

    /// What it usually takes there; on another satellite, where that is not known or from long ago: nobody would ever find out
    /// that it has become quicker.
    fn answer(&self, server: &Server, read: Request<'_>, now: Instant) -> f64 {
        let usual = match server.times.known(read.digest, now) {
            Some(Known {
                time,
                is_old: false,
            }) => Some(time),
            Some(Known { time, .. }) => self.usual(read, now).map(|other| other.min(time)),
            None => self.usual(read, now),
        };
        let usual = usual.map_or(UNKNOWN, |time| time.as_secs_f64());
        usual * server.times.slowdown(beside(server), now)
    }

    /// What the read usually takes on the quickest satellite, if nothing slows that down. What was usual under load is more than what it
    /// takes without: there the satellite is quicker than usual.
    fn usual(&self, read: Request<'_>, now: Instant) -> Option<Duration> {
        let satellites = self.servers.satellites();
        let times = usable(&satellites, read).filter_map(|server| {
            let usual = server.times.known(read.digest, now)?.time;
            Some(usual.mul_f64(server.times.slowdown(0, now).min(1.0)))
        });
        times.min()
    }

    /// What it would take on the satellite that should answer soonest, were it fresh.
    pub(super) fn on_satellites(&self, read: Request<'_>) -> Option<Duration> {
        let (satellites, now) = (self.servers.satellites(), Instant::now());
        self.usual(read, now)?;
        let answers = usable(&satellites, read).map(|s| self.answer(s, read, now));
        let least = answers.fold(f64::INFINITY, f64::min);
        least.is_finite().then(|| Duration::from_secs_f64(least))
    }

    /// A time of long ago may come from a moment when the master was busy.
    pub(super) fn on_master(&self, read: Request<'_>) -> Option<Duration> {
        let (master, now) = (&self.servers.master, Instant::now());
        let satellites = self.usual(read, now)?;
        let usual = match master.times.known(read.digest, now) {
            Some(Known {
                time,
                is_old: false,
            }) => time,
            Some(Known { time, .. }) => time.min(satellites),
            None => satellites / UNTRIED,
        };
        let running = master.running.load(Ordering::Relaxed);
        Some(usual.mul_f64(master.times.slowdown(running, now)))
    }

    /// How long satellites usually take to become fresh enough.
    pub(super) fn expected_wait(&self, read: Request<'_>) -> Duration {
        let satellites = self.servers.satellites();
        let delays = usable(&satellites, read).filter_map(|s| s.delay.get());
        delays.min().unwrap_or(USUAL_DELAY)
    }
}

/// What it shares the satellite with once it has its turn.
fn beside(server: &Server) -> usize {
    let running = server.running.load(Ordering::Relaxed);
    running.min(server.turns.limit().saturating_sub(1)) + server.heaviness()
}

/// What is there before it, those that wait included.
fn crowd(server: &Server) -> usize {
    server.running.load(Ordering::Relaxed) + server.heaviness()
}

/// One without a connection to spare is the last choice.
fn rank(server: &Server, heavy: bool) -> usize {
    let rank = if heavy { heavy_rank(server) } else { 0 };
    match server.pool.is_exhausted() {
        true => rank + 3 * MOST,
        false => rank,
    }
}

/// Heavy queries gather where others avoid them: on the satellite that came last, while it has room for them.
fn heavy_rank(server: &Server) -> usize {
    let running = server.running.load(Ordering::Relaxed);
    let heavy = server.heavy.load(Ordering::Relaxed);
    match server.turns.has_heavy_room(running, heavy) {
        true => MOST - server.id.min(MOST),
        false => MOST + heavy,
    }
}
