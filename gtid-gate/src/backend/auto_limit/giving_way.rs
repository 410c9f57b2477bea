//! Reads give way to replication: when a satellite falls behind while several reads run, they get fewer turns than that. Pure.
//!
//! In: how far behind the satellite was found to be. Out: a lower limit, or none. While giving way does not help, because the
//! lag has other reasons (capture or the applier stands still, the log is slow), it rests.
//! Must never: hold reads back for long without use.

use std::time::{Duration, Instant};

/// More is too far behind, if it is this many times what the lag always is, too: so at most twice this.
const LAG: f64 = 0.010;
const BEYOND: f64 = 2.0;
/// What the lag always is follows a lower one at once and a higher one slowly.
const LEAST_LAG: f64 = 0.001;
const RISES: f64 = 1.005;
/// What was seen longer ago says nothing.
const EXPIRY: Duration = Duration::from_millis(300);
/// What a limit becomes in each window in which the satellite is too far behind.
const LESS: f64 = 0.7;
/// Afterwards the limit stays below the one at which it fell behind, which is forgotten slowly.
const BELOW: f64 = 0.85;
const FORGETS: f64 = 1.002;
/// After so long giving way must have helped: the lag is by so much less than without it, or falls by so much a second.
const PROOF: Duration = Duration::from_secs(2);
const HELPED: f64 = 0.7;
const FALLS: f64 = 0.3;
/// It rests for so long at least, until the lag is so much more than when it began to.
const REST: Duration = Duration::from_secs(1);
const WORSE: f64 = 4.0;
/// How quickly the lag that is compared follows the last one.
const WEIGHT: f64 = 0.4;

#[derive(Debug, Clone, Copy)]
enum State {
    Calm,
    /// `lag`: at the last look whether it helps. `without`: before it gave way.
    Giving {
        looked: Instant,
        lag: f64,
        without: f64,
    },
    Resting {
        since: Instant,
        lag: f64,
    },
}

pub struct GivingWay {
    state: State,
    seen: Option<Instant>,
    /// The worst since the last window, and the last.
    worst: f64,
    last: f64,
    smooth: Option<f64>,
    always: f64,
    below: f64,
}

impl Default for GivingWay {
    fn default() -> Self {
        Self {
            state: State::Calm,
            seen: None,
            worst: 0.0,
            last: 0.0,
            smooth: None,
            always: LAG,
            below: f64::INFINITY,
        }
    }
}

impl GivingWay {
    /// The satellite was found to lack what the master has had for so long.
    pub fn lags(&mut self, lag: Duration, now: Instant) {
        self.last = lag.as_secs_f64();
        self.worst = self.worst.max(self.last);
        self.seen = Some(now);
    }

    /// The limit must not be more.
    pub fn below(&self) -> f64 {
        self.below
    }

    /// The end of a window. `is_busy`: there are reads that can give way. `limit`: the turns that were in use. Out: how many there are
    /// to be, if reads give way.
    pub fn step(&mut self, is_busy: bool, limit: f64, now: Instant) -> Option<f64> {
        let known = self
            .seen
            .is_some_and(|at| now.saturating_duration_since(at) < EXPIRY);
        self.below *= FORGETS;
        if !known {
            (self.smooth, self.worst, self.state) = (None, 0.0, State::Calm);
            return None;
        }
        let seen = self.smooth();
        if seen <= LAG.max(self.always * BEYOND) {
            self.state = State::Calm;
            return None;
        }
        if !is_busy {
            return None;
        }
        self.state = match self.state {
            State::Calm => {
                self.below = limit * BELOW;
                State::Giving {
                    looked: now,
                    lag: seen,
                    without: seen,
                }
            }
            giving @ State::Giving { .. } => self.look(giving, seen, now),
            State::Resting { since, lag }
                if now.saturating_duration_since(since) >= REST && seen > lag * WORSE =>
            {
                State::Giving {
                    looked: now,
                    lag: seen,
                    without: seen,
                }
            }
            resting @ State::Resting { .. } => resting,
        };
        match self.state {
            State::Giving { .. } => Some(limit * LESS),
            _ => None,
        }
    }

    /// The lag that is compared: that of the window that ends, and of those before.
    fn smooth(&mut self) -> f64 {
        let worst = std::mem::replace(&mut self.worst, self.last);
        let before = self.smooth.unwrap_or(worst);
        let smooth = before + (worst - before) * WEIGHT;
        self.smooth = Some(smooth);
        self.always = smooth.min(self.always * RISES).clamp(LEAST_LAG, LAG);
        smooth
    }

    /// Whether it helps.
    fn look(&mut self, giving: State, seen: f64, now: Instant) -> State {
        let State::Giving {
            looked,
            lag,
            without,
        } = giving
        else {
            return giving;
        };
        let since = now.saturating_duration_since(looked);
        if since < PROOF {
            return giving;
        }
        let falls = (lag - seen) / since.as_secs_f64() >= FALLS;
        if falls || seen <= without * HELPED {
            return State::Giving {
                looked: now,
                lag: seen,
                without,
            };
        }
        self.below = f64::INFINITY;
        State::Resting {
            since: now,
            lag: seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Windows of 100 ms with this lag in seconds, after so many seconds and with this limit; the limits after each.
    fn run(seconds: u32, mut lag: impl FnMut(f64, f64) -> f64) -> Vec<f64> {
        let (mut giving, mut now) = (GivingWay::default(), Instant::now());
        let mut limit: f64 = 16.0;
        let steps = (0..seconds * 10).map(|at| {
            now += 100 * MS;
            let lag = lag(f64::from(at) / 10.0, limit);
            giving.lags(Duration::from_secs_f64(lag), now);
            limit = match giving.step(true, limit, now) {
                Some(less) => less.max(2.0),
                None => (limit * 1.1).min(giving.below()).clamp(2.0, 16.0),
            };
            limit
        });
        steps.collect()
    }

    /// The share of windows in which reads had almost all their turns.
    fn share(limits: &[f64]) -> f64 {
        let most = limits.iter().filter(|l| **l > 14.0).count();
        most as f64 / limits.len() as f64
    }

    #[test]
    fn ordinary_lag_is_no_reason() {
        assert_eq!(share(&run(10, |_, _| 0.009)), 1.0);
    }

    #[test]
    fn a_satellite_that_falls_behind_gets_fewer_reads_until_it_has_caught_up() {
        let limits = run(20, |at, _| if at < 1.0 { 0.030 } else { 0.001 });
        assert_eq!(limits[8], 2.0);
        assert!(limits[40] > 12.0 && limits[40] < 15.0, "{}", limits[40]);
        assert!(limits[199] > 15.0);
    }

    #[test]
    fn a_standstill_holds_reads_back_for_ever_shorter_a_share_of_the_time() {
        let limits = run(300, |at, _| at);
        assert!(share(&limits[..100]) > 0.35, "{}", share(&limits[..100]));
        assert!(share(&limits) > 0.85, "{}", share(&limits));
    }

    #[test]
    fn lag_with_another_reason_is_left_alone() {
        let limits = run(60, |_, _| 0.050);
        assert_eq!(share(&limits[60..]), 1.0);
    }

    #[test]
    fn lag_that_comes_of_reads_stays_small() {
        for grows in [0.001, 0.01, 0.1] {
            let (mut lag, mut seen): (f64, _) = (0.0, Vec::new());
            let limits = run(60, |_, limit| {
                lag = (lag + if limit > 8.0 { grows } else { -grows }).max(0.004);
                seen.push(lag);
                lag
            });
            seen.sort_by(f64::total_cmp);
            assert!(seen[seen.len() / 2] < 0.020, "{grows}: {seen:?}");
            let mean = limits.iter().sum::<f64>() / limits.len() as f64;
            assert!(mean > 5.0, "{grows}: {mean}");
        }
    }

    #[test]
    fn lag_that_is_always_a_little_too_much_is_left_alone() {
        let limits = run(60, |at, _| {
            if (at * 10.0) as u32 % 7 < 3 {
                0.007
            } else {
                0.014
            }
        });
        assert!(share(&limits) > 0.9, "{}", share(&limits));
    }

    #[test]
    fn a_satellite_that_catches_up_is_helped_all_the_way() {
        let limits = run(30, |at, _| 60.0 - at);
        assert!(limits[10..].iter().all(|l| *l == 2.0));
    }

    #[test]
    fn what_was_seen_long_ago_or_on_an_idle_satellite_is_no_reason() {
        let (mut giving, now) = (GivingWay::default(), Instant::now());
        giving.lags(Duration::from_secs(1), now);
        assert_eq!(giving.step(true, 8.0, now + EXPIRY), None);
        giving.lags(Duration::from_secs(1), now + EXPIRY);
        assert_eq!(giving.step(false, 8.0, now + EXPIRY), None);
        giving.lags(Duration::from_secs(1), now + EXPIRY);
        assert!(giving.step(true, 8.0, now + EXPIRY).is_some());
    }
}
