//! Whether a server gets more done with another limit: tried now and then, for a moment. Pure.
//!
//! The slowdown of reads says at once that something has changed, but not which slowdown is the right one: of what they take
//! without load, much may never have been seen. The work that gets done says it: one step up must bring more, one step down must
//! cost nothing. In: windows of time in which reads waited for their turn. Out: limits to try, and what was found.
//! Must never: try less than `LEAST`, or compare work done while nobody waited.

use super::work::Done;

/// No limit is lower.
pub const LEAST: f64 = 2.0;
const STEP: f64 = 1.5;
/// A step up is kept that brings a twentieth more, a step down that costs less than a fiftieth; of that half is taken.
const MORE: f64 = 1.05;
const NO_LESS: f64 = 0.98;
const TAKEN: f64 = 1.25;
/// Work is compared over so many seconds and reads, or, where reads take long, over these.
const ENOUGH: (f64, f64) = (0.6, 200.0);
const LONG: (f64, f64) = (5.0, 40.0);
/// Seconds between two trials, which double while nothing better is found.
const SHORTEST_PAUSE: f64 = 1.0;
const FIRST_PAUSE: f64 = 4.0;
const LONGEST_PAUSE: f64 = 32.0;
/// How much of the work before a window still counts after it, once there is enough.
const FADES: f64 = 0.95;
/// Work with another limit than by this factor is not compared.
const SAME: f64 = 1.15;

pub struct Trials {
    before: Done,
    /// The limit that it was done with.
    with: f64,
    since: f64,
    pause: f64,
    /// The limit when the pause began.
    rested: f64,
    goes_up: bool,
    running: Option<Trial>,
}

struct Trial {
    limit: f64,
    /// The first window has reads of before.
    began: bool,
    done: Done,
}

/// What a window leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// No trial is running.
    None,
    /// One is.
    Running,
    /// One has ended: this limit is better, or as good and lower. There reads have this slowdown.
    Better { limit: f64, slowdown: f64 },
}

impl Default for Trials {
    fn default() -> Self {
        Self {
            before: Done::default(),
            with: 0.0,
            since: 0.0,
            pause: SHORTEST_PAUSE,
            rested: LEAST,
            goes_up: false,
            running: None,
        }
    }
}

impl Trials {
    /// What is to hold while a trial runs.
    pub fn limit(&self) -> Option<f64> {
        self.running.as_ref().map(|t| t.limit)
    }

    /// What was seen so far is not to be compared with anything.
    pub fn forget(&mut self) {
        self.running = None;
        self.before = Done::default();
        self.since = 0.0;
    }

    /// `waited`: reads waited for their turn all the time. `limit`: what holds outside of trials, `most`: what it may be.
    pub fn step(&mut self, done: &Done, waited: bool, limit: f64, most: f64) -> Step {
        // With more turns than before it may be that nobody waits any more.
        let counts = waited || self.running.is_some() && self.goes_up;
        if !counts {
            self.forget();
            return Step::None;
        }
        match &mut self.running {
            Some(trial) if !trial.began => trial.began = true,
            Some(trial) => {
                trial.done.add(done);
                if is_enough(&trial.done) {
                    return self.end();
                }
            }
            None => return self.between(done, limit, most),
        }
        Step::Running
    }

    fn between(&mut self, done: &Done, limit: f64, most: f64) -> Step {
        if limit > self.with * SAME || limit * SAME < self.with {
            self.before = Done::default();
            self.with = limit;
        }
        if limit > self.rested * STEP || limit * STEP < self.rested {
            // The slowdown alone has moved it so far: whether that was right is tried soon, the way back first.
            self.goes_up = limit < self.rested;
            self.rested = limit;
            self.pause = SHORTEST_PAUSE;
        }
        if is_enough(&self.before) {
            self.before.fade(FADES);
        }
        self.before.add(done);
        self.since += done.seconds;
        if self.since < self.pause || !is_enough(&self.before) {
            return Step::None;
        }
        let limit = self.next(limit, most).or_else(|| {
            self.goes_up = !self.goes_up;
            self.next(limit, most)
        });
        self.running = limit.map(|limit| Trial {
            limit,
            began: false,
            done: Done::default(),
        });
        match self.running {
            Some(_) => Step::Running,
            None => Step::None,
        }
    }

    /// A whole turn more or less at least.
    fn next(&self, limit: f64, most: f64) -> Option<f64> {
        let here = limit.round();
        let there = match self.goes_up {
            true => (here * STEP).round().max(here + 1.0).min(most),
            false => (here / STEP).round().min(here - 1.0).max(LEAST),
        };
        let moves = match self.goes_up {
            true => there > here,
            false => there < here,
        };
        moves.then_some(there)
    }

    fn end(&mut self) -> Step {
        let Some(trial) = self.running.take() else {
            return Step::None;
        };
        let (done, before) = (trial.done, self.before);
        let gain = done.rate() / before.rate();
        let known = done.reads >= LONG.1 && gain.is_finite();
        let better = known
            && match self.goes_up {
                true => gain >= MORE,
                false => gain >= NO_LESS,
            };
        self.forget();
        self.rested = self.with;
        if !better {
            self.goes_up = !self.goes_up;
            self.pause = (self.pause * 2.0).clamp(FIRST_PAUSE, LONGEST_PAUSE);
            return Step::None;
        }
        self.pause = SHORTEST_PAUSE;
        let limit = match self.goes_up {
            true => trial.limit,
            false => trial.limit.max(self.with / TAKEN),
        };
        self.rested = limit;
        let slowdown = done.slowdown().unwrap_or(1.0);
        Step::Better { limit, slowdown }
    }
}

fn is_enough(done: &Done) -> bool {
    (done.seconds >= ENOUGH.0 && done.reads >= ENOUGH.1) || done.seconds >= LONG.0
}
