//! How far a satellite is behind, and how fast it applies, as far as that is proven. Pure.
//!
//! In: what each look at the satellite found. Out: its backlog, if it has one that deserves the name.
//! Must never: call it a backlog that nothing was written, that nobody looked, or that transactions are on their way for a
//! few milliseconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Lag below this is how transactions travel.
pub const ORDINARY_LAG: Duration = Duration::from_millis(50);
/// How long a backlog must have been seen without a break before its rate is known: longer than a pause of a collector.
const PROOF: Duration = Duration::from_millis(250);
/// How far back looks count.
const WINDOW: Duration = Duration::from_millis(500);
/// Progress over so long counts, if it is better than over the whole window: what goes on again is believed at once.
const STEP: Duration = Duration::from_millis(80);

/// What one look at a satellite found.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// When its answer was there.
    pub at: Instant,
    /// Transactions that it has.
    pub executed: u64,
    /// For how long at least it had lacked something when it was asked.
    pub lag: Duration,
}

/// A backlog at the last look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backlog {
    pub at: Instant,
    pub lag: Duration,
    /// Transactions a second at best; nothing while too little was seen.
    pub rate: Option<f64>,
}

/// The looks since the backlog began, as far as they count.
#[derive(Default)]
pub struct Looks {
    seen: VecDeque<Look>,
}

impl Looks {
    pub fn look(&mut self, look: Look) -> Option<Backlog> {
        let fewer = self.seen.back().is_some_and(|l| look.executed < l.executed);
        if look.lag <= ORDINARY_LAG || fewer {
            self.seen.clear();
        }
        if look.lag <= ORDINARY_LAG {
            return None;
        }
        self.seen.push_back(look);
        // The first that is kept is at least a window old, or the backlog is younger.
        while self.seen.get(1).is_some_and(|l| look.at - l.at >= WINDOW) {
            self.seen.pop_front();
        }
        let whole = self.seen.front().filter(|l| look.at - l.at >= PROOF);
        let step = self.seen.iter().rev().find(|l| look.at - l.at >= STEP);
        let rate = whole.zip(step).map(|(whole, step)| {
            let whole = rate(whole, &look);
            whole.max(rate(step, &look))
        });
        let Look { at, lag, .. } = look;
        Some(Backlog { at, lag, rate })
    }
}

fn rate(from: &Look, to: &Look) -> f64 {
    (to.executed - from.executed) as f64 / (to.at - from.at).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// One look every 100 ms: (executed, lag in ms).
    fn after(looks: &[(u64, u32)]) -> Option<Backlog> {
        let (mut seen, start) = (Looks::default(), Instant::now());
        let mut found = None;
        for (at, (executed, lag)) in (0u32..).zip(looks) {
            found = seen.look(Look {
                at: start + 100 * at * MS,
                executed: *executed,
                lag: *lag * MS,
            });
        }
        found
    }

    #[test]
    fn what_is_on_its_way_is_no_backlog() {
        assert_eq!(after(&[(1, 0), (2, 5), (2, 50)]), None);
    }

    #[test]
    fn one_that_stands_still_is_known_to_only_after_a_while() {
        let looks: Vec<_> = (1..10).map(|n| (7, n * 100)).collect();
        assert_eq!(after(&looks[..3]).unwrap().rate, None);
        assert_eq!(after(&looks[..4]).unwrap().rate, Some(0.0));
        assert_eq!(after(&looks).unwrap().rate, Some(0.0));
    }

    #[test]
    fn a_backlog_that_ended_leaves_nothing_behind() {
        let looks = [(7, 200), (7, 300), (7, 400), (9, 10), (9, 100)];
        assert_eq!(after(&looks).unwrap().rate, None);
    }

    #[test]
    fn progress_after_a_standstill_counts_at_once() {
        let mut looks: Vec<_> = (1..10).map(|n| (7, n * 100)).collect();
        looks.push((107, 900));
        let rate = after(&looks).unwrap().rate.unwrap();
        assert!((rate - 1000.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn a_satellite_made_anew_has_no_past() {
        let looks = [(100, 500), (100, 500), (100, 500), (7, 500)];
        assert_eq!(after(&looks).unwrap().rate, None);
    }
}
