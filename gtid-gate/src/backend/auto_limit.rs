//! How many statements should run on a server at once, found from what its reads take. Pure.
//!
//! In: for each read that ended what it took and whether reads wait for their turn, and how far the server is behind. Out: the
//! limit, and whether to look how far it is behind. A window of time at least 100 ms long decides:
//! - the limit moves to where the slowdown of reads (`work`) is what it should be: at once, when the server has become slower;
//! - what it should be is found by small trials (`trial`): the lowest limit with which as much gets done;
//! - a satellite that falls behind gets fewer reads (`giving_way`).
//!
//! While no read waits for its turn only the last one moves the limit: an idle server's limit would mean nothing.
//! Must never: count a wait for freshness, a turn, a connection or the client, or leave fewer turns than two.

mod giving_way;
mod trial;
mod work;

use giving_way::GivingWay;
use std::time::{Duration, Instant};
use trial::{LEAST, Step, Trials};
use work::{Done, Work};

const FIRST: f64 = 4.0;
const WINDOW: Duration = Duration::from_millis(100);
const LONGEST_WINDOW: Duration = Duration::from_secs(1);
const FEWEST_READS: u32 = 8;
/// In a window in which reads waited for their turn, more than this share of them ended while others waited.
const WAITED: f64 = 0.8;
/// What the slowdown should be until trials have found it.
const FIRST_GOAL: f64 = 2.0;
/// The slowdown that was found good may become so much more.
const MARGIN: f64 = 1.2;
/// A window changes the limit by at most this factor, and of that a part.
const MOST_CHANGE: f64 = 1.5;
const PART: f64 = 0.25;
/// How much of the windows before still counts.
const FADES: f64 = 0.7;
/// The server is asked where it is so often while reads wait for their turn, and while they only share it.
const LOOKS: Duration = Duration::from_millis(12);
const SELDOM_LOOKS: Duration = Duration::from_millis(50);

/// A read that ended.
pub struct Ended {
    /// Its number; 0 for all that is not known.
    pub digest: u64,
    /// How long the server was waited for.
    pub took: Duration,
    /// Others wait for their turn.
    pub waited: bool,
    /// How many had their turn, it among them.
    pub running: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The limit, if it changes.
    pub limit: Option<usize>,
    /// Somebody should look how far the server is behind.
    pub look: bool,
}

pub struct AutoLimit {
    most: f64,
    limit: f64,
    told: usize,
    goal: f64,
    work: Work,
    recent: Done,
    trials: Trials,
    giving_way: GivingWay,
    window: Window,
    looked: Option<Instant>,
}

struct Window {
    began: Instant,
    reads: u32,
    waited: u32,
    /// At the same time.
    running: usize,
}

impl AutoLimit {
    /// Never more than `most`.
    pub fn new(most: usize, now: Instant) -> Self {
        let most = most as f64;
        let limit = FIRST.min(most);
        Self {
            most,
            limit,
            told: limit as usize,
            goal: FIRST_GOAL,
            work: Work::default(),
            recent: Done::default(),
            trials: Trials::default(),
            giving_way: GivingWay::default(),
            window: Window::new(now),
            looked: None,
        }
    }

    pub fn limit(&self) -> usize {
        self.told
    }

    /// The server was found to lack what the master has had for so long.
    pub fn lags(&mut self, lag: Duration, now: Instant) {
        self.giving_way.lags(lag, now);
    }

    pub fn ended(&mut self, read: &Ended, now: Instant) -> Wanted {
        self.work.add(read.digest, read.took);
        self.window.reads += 1;
        self.window.waited += u32::from(read.waited);
        self.window.running = self.window.running.max(read.running);
        let mut wanted = Wanted::default();
        if self.window.is_over(now) {
            self.close_window(now);
            let limit = self.whole();
            wanted.limit = (limit != self.told).then_some(limit);
            self.told = limit;
        }
        wanted.look = self.looks(read, now);
        wanted
    }

    fn looks(&mut self, read: &Ended, now: Instant) -> bool {
        let often = if read.waited { LOOKS } else { SELDOM_LOOKS };
        let since = self.looked.map(|at| now.saturating_duration_since(at));
        let is_busy = read.waited || read.running as f64 > LEAST;
        let looks = is_busy && since.is_none_or(|s| s >= often);
        if looks {
            self.looked = Some(now);
        }
        looks
    }

    fn whole(&self) -> usize {
        self.trials.limit().unwrap_or(self.limit).round() as usize
    }

    fn close_window(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.window.began);
        let done = self.work.close(seconds.as_secs_f64());
        let waited = self.window.has_waited();
        let in_use = match waited {
            true => self.limit,
            false => self.limit.min(self.window.running as f64),
        };
        self.window = Window::new(now);
        let is_busy = waited || in_use > LEAST;
        if let Some(less) = self.giving_way.step(is_busy, in_use, now) {
            self.trials.forget();
            return self.set(less);
        }
        let most = self.most.min(self.giving_way.below());
        match self.trials.step(&done, waited, self.limit, most) {
            Step::Running => {}
            Step::Better { limit, slowdown } => {
                self.goal = slowdown * MARGIN;
                self.recent = Done::default();
                self.set(limit);
            }
            Step::None => {
                self.recent.fade(FADES);
                self.recent.add(&done);
                if waited {
                    self.follow();
                }
            }
        }
    }

    /// To where the slowdown is what it should be.
    fn follow(&mut self) {
        let Some(slowdown) = self.recent.slowdown() else {
            return;
        };
        let change = (self.goal / slowdown).clamp(1.0 / MOST_CHANGE, MOST_CHANGE);
        self.set(self.limit * (1.0 + (change - 1.0) * PART));
    }

    fn set(&mut self, limit: f64) {
        let most = self.most.min(self.giving_way.below());
        let least = LEAST.min(self.most);
        self.limit = limit.min(most).max(least);
    }
}

impl Window {
    fn new(began: Instant) -> Self {
        Self {
            began,
            reads: 0,
            waited: 0,
            running: 0,
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.began);
        since >= LONGEST_WINDOW || (since >= WINDOW && self.reads >= FEWEST_READS)
    }

    fn has_waited(&self) -> bool {
        f64::from(self.waited) > f64::from(self.reads) * WAITED
    }
}

#[cfg(test)]
mod tests;
