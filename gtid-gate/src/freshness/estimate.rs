//! Whether a wait for freshness can succeed, pure.
//!
//! In: what a read lacks on a satellite, the satellite's backlog as it was last seen, and how long the read may wait. Out:
//! whether to wait. In doubt a read waits: a wait in vain costs its time, but one that was not begun sends a read to the
//! master that a satellite could have answered.
//! Must never: have a say in what a read may see. It only ends a wait before it begins.

use crate::backend::{Backlog, ORDINARY_LAG};
use std::time::{Duration, Instant};

/// What was seen longer ago says nothing: the satellite is asked more often while it is behind.
const EXPIRY: Duration = Duration::from_secs(1);
/// A satellite may turn out to be so much faster than it was seen to be.
const MARGIN: f64 = 2.0;

/// `lacking`: transactions that the read needs and that the satellite did not have at the last look.
pub fn can_succeed(lacking: u64, backlog: &Backlog, wait: Duration, now: Instant) -> bool {
    let age = now.saturating_duration_since(backlog.at);
    // One that began when the satellite last had all would have succeeded.
    let is_short = backlog.lag <= wait.max(ORDINARY_LAG);
    match backlog.rate {
        Some(rate) if lacking > 0 && age <= EXPIRY && !is_short => {
            lacking as f64 <= rate * (age + wait).as_secs_f64() * MARGIN
        }
        _ => true,
    }
}

/// How long until a satellite has these transactions; nothing if that is not within `wait`. `usual`: how long others waited.
pub fn until_fresh(
    lacking: u64,
    backlog: Option<&Backlog>,
    usual: Duration,
    wait: Duration,
    now: Instant,
) -> Option<Duration> {
    let Some(backlog) = backlog else {
        return Some(usual);
    };
    if !can_succeed(lacking, backlog, wait, now) {
        return None;
    }
    let since = now.saturating_duration_since(backlog.at);
    let applies = backlog.rate.filter(|rate| *rate > 0.0);
    let left = applies.map(|rate| Duration::from_secs_f64(lacking as f64 / rate));
    Some(left.map_or(usual, |left| left.saturating_sub(since).max(usual)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Look, Looks};
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);
    const WAIT: Duration = Duration::from_millis(100);

    fn after(lacking: u64, lag: Duration, rate: Option<f64>) -> bool {
        let at = Instant::now();
        can_succeed(lacking, &Backlog { at, lag, rate }, WAIT, at)
    }

    #[test]
    fn a_satellite_that_stands_still_is_not_waited_for() {
        assert!(!after(1, 884_000 * MS, Some(0.0)));
    }

    #[test]
    fn one_that_has_what_the_read_needs_is_waited_for_whatever_else_it_lacks() {
        assert!(after(0, 884_000 * MS, Some(0.0)));
    }

    #[test]
    fn who_waits_longer_than_the_lag_waits() {
        assert!(after(1, WAIT, Some(0.0)));
        let (at, lag) = (Instant::now(), WAIT);
        let backlog = Backlog {
            at,
            lag,
            rate: Some(0.0),
        };
        assert!(!can_succeed(1, &backlog, 60 * MS, at));
    }

    #[test]
    fn progress_is_waited_for_if_it_is_quick_enough() {
        assert!(after(150, 884_000 * MS, Some(1000.0)));
        assert!(!after(250, 884_000 * MS, Some(1000.0)));
    }

    #[test]
    fn the_time_until_a_satellite_is_fresh_is_that_of_what_it_lacks_and_at_least_the_usual() {
        let (at, lag) = (Instant::now(), 60 * MS);
        let until = |lacking, rate| {
            until_fresh(lacking, Some(&Backlog { at, lag, rate }), 3 * MS, WAIT, at)
        };
        assert_eq!(until(50, Some(1000.0)), Some(50 * MS));
        assert_eq!(until(1, Some(1000.0)), Some(3 * MS));
        assert_eq!(until(5, None), Some(3 * MS));
        assert_eq!(until_fresh(5, None, 3 * MS, WAIT, at), Some(3 * MS));
        let far = Backlog {
            at,
            lag: 10 * WAIT,
            rate: Some(1.0),
        };
        assert_eq!(until_fresh(5, Some(&far), 3 * MS, WAIT, at), None);
    }

    #[test]
    fn what_is_not_known_or_long_ago_keeps_nobody_from_waiting() {
        assert!(after(1000, 884_000 * MS, None));
        let at = Instant::now();
        let backlog = Backlog {
            at,
            lag: 10 * WAIT,
            rate: Some(0.0),
        };
        assert!(!can_succeed(1, &backlog, WAIT, at + EXPIRY));
        assert!(can_succeed(1, &backlog, WAIT, at + EXPIRY + MS));
    }

    /// A master, a satellite that applies what was committed `delay` ago or more, `capacity` a second at most, and its
    /// follower. Times in microseconds; transactions are numbered from 1 on, in the order of their commits.
    struct Simulation {
        start: Instant,
        applied_at: Vec<u64>,
        committed_at: Vec<u64>,
        /// What the master was found to have: when, and how many.
        samples: Vec<(u64, u64)>,
        looks: Looks,
        known: u64,
        backlog: Option<Backlog>,
        asks_next: u64,
    }

    impl Simulation {
        fn new(mut committed_at: Vec<u64>, delay: u64, capacity: u64, pause: (u64, u64)) -> Self {
            committed_at.sort_unstable();
            let mut free = 0;
            let applied_at = committed_at.iter().map(|commit| {
                let due = (commit + delay).max(free + 1_000_000 / capacity);
                free = if (pause.0..pause.1).contains(&due) {
                    pause.1
                } else {
                    due
                };
                free
            });
            Self {
                start: Instant::now(),
                applied_at: applied_at.collect(),
                committed_at,
                samples: Vec::new(),
                looks: Looks::default(),
                known: 0,
                backlog: None,
                asks_next: 0,
            }
        }

        fn at(&self, time: u64) -> Instant {
            self.start + Duration::from_micros(time)
        }

        fn until(times: &[u64], now: u64) -> u64 {
            times.partition_point(|t| *t <= now) as u64
        }

        fn has_at(&self, number: u64) -> u64 {
            match number {
                0 => 0,
                n => self.applied_at[n as usize - 1],
            }
        }

        /// The follower's questions that are answered until then, each for what was sought when it was sent.
        fn follow(&mut self, now: u64) {
            while self.asks_next <= now {
                let asked = self.asks_next;
                let sample_then = self.samples.iter().rev().find(|s| s.0 <= asked);
                let sought = sample_then.map_or(0, |s| s.1);
                let waits = self.has_at(sought).clamp(asked, asked + 100_000);
                let answered = waits + 300;
                if answered > now {
                    return;
                }
                self.known = Self::until(&self.applied_at, waits);
                let oldest = self
                    .samples
                    .iter()
                    .find(|s| s.0 <= answered && s.1 > self.known);
                self.backlog = self.looks.look(Look {
                    at: self.at(answered),
                    executed: self.known,
                    lag: Duration::from_micros(oldest.map_or(0, |s| asked.saturating_sub(s.0))),
                });
                self.asks_next = match oldest {
                    Some(_) => answered + 1,
                    None => answered + 1_000_000,
                };
            }
        }

        /// A strong read: false if it would not wait although that would have helped.
        fn read(&mut self, now: u64) -> bool {
            self.follow(now);
            let needed = Self::until(&self.committed_at, now);
            self.samples.push((now, needed));
            if self.known >= needed {
                return true;
            }
            // The follower is woken, unless a question is under way.
            self.asks_next = self.asks_next.min(now);
            let lacking = needed - self.known;
            let waits = self
                .backlog
                .is_none_or(|b| can_succeed(lacking, &b, WAIT, self.at(now)));
            waits || self.has_at(needed) > now + WAIT.as_micros() as u64
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Steady writes after a time without any, bursts, short pauses: no wait is given up that would have succeeded.
        #[test]
        fn a_wait_that_would_succeed_is_begun(
            idle in 0u64..3_000_000,
            rate in 1u64..400,
            bursts in prop::collection::vec((0u64..4_000_000, 1u64..1500), 0..4),
            delay in 1_000u64..40_000,
            capacity in 500u64..4_000,
            pause in (0u64..4_000_000, 0u64..150_000),
            gaps in prop::collection::vec(200u64..30_000, 50..400),
        ) {
            let mut commits: Vec<u64> = (0..4 * rate).map(|n| idle + n * 1_000_000 / rate).collect();
            for (at, count) in bursts {
                commits.extend((0..count).map(|n| at + 60 * n));
            }
            let mut all = Simulation::new(commits, delay, capacity, (pause.0, pause.0 + pause.1));
            let mut now = idle;
            for gap in gaps {
                now += gap;
                prop_assert!(all.read(now), "at {now}");
            }
        }

        /// Nothing more arrives from some time on: a second later nobody waits; once it is there again, all is well.
        #[test]
        fn a_standstill_is_noticed_and_its_end_as_well(
            rate in 20u64..400, from in 500_000u64..1_500_000, gap in 500u64..20_000,
        ) {
            let commits = (0..4 * rate).map(|n| n * 1_000_000 / rate).collect();
            let end = from + 2_000_000;
            let mut all = Simulation::new(commits, 5_000, 4_000, (from, end));
            for now in (0..end + 1_000_000).step_by(gap as usize) {
                all.read(now);
                let lacking = all.samples.last().unwrap().1.saturating_sub(all.known);
                let hopeless = all.backlog.is_some_and(|b| !can_succeed(lacking, &b, WAIT, all.at(now)));
                if (from + 1_000_000..end).contains(&now) {
                    prop_assert!(hopeless, "at {now}");
                }
                if now < from || now > end + 500_000 {
                    prop_assert!(!hopeless, "at {now}");
                }
            }
        }
    }
}
