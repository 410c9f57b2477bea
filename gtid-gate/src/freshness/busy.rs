//! Whether a server takes longer than it has to, by what it took for the same small things again and again. Pure.
//!
//! In: times. Out, for each window of time with enough of them: whether the wanted quantile of these times is beyond what is
//! usual. Usual is what a server takes that has little else to do: what is quicker counts at once, what is slower only over
//! minutes, so that a long time of load does not become usual.
//! Must never: call a single slow window busy.

use std::time::{Duration, Instant};

/// What is beyond usual: so many times it, and so many seconds more.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub busy: (f64, f64),
    pub calm: (f64, f64),
}

#[derive(Clone, Copy)]
pub struct Rule {
    pub window: Duration,
    pub fewest: usize,
    pub quantile: f64,
    pub bounds: Bounds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Calm,
    Unclear,
    /// For two windows, one after the other.
    Busy,
}

/// Slower times raise what is usual by this part of them in that time; quicker ones lower it by that part in each window.
const RISES: Duration = Duration::from_secs(360);
const FALLS: f64 = 0.2;
/// More are not kept of one window.
const MOST: usize = 4096;

pub struct Busy {
    rule: Rule,
    times: Vec<f64>,
    began: Instant,
    usual: Option<f64>,
    was_busy: bool,
}

impl Busy {
    pub fn new(rule: Rule, now: Instant) -> Self {
        Self {
            rule,
            times: Vec::new(),
            began: now,
            usual: None,
            was_busy: false,
        }
    }

    /// The verdict if this closes a window.
    pub fn add(&mut self, took: Duration, now: Instant) -> Option<Verdict> {
        if self.times.len() < MOST {
            self.times.push(took.as_secs_f64());
        }
        let lasted = now.saturating_duration_since(self.began);
        let over = lasted >= self.rule.window && self.times.len() >= self.rule.fewest;
        over.then(|| {
            self.began = now;
            let seen = quantile(&mut self.times, self.rule.quantile);
            self.times.clear();
            self.close(seen, lasted)
        })
    }

    fn close(&mut self, seen: f64, lasted: Duration) -> Verdict {
        let usual = *self.usual.get_or_insert(seen);
        let is_beyond = |(times, more): (f64, f64)| seen > usual * times + more;
        let busy = is_beyond(self.rule.bounds.busy);
        let verdict = match (busy && self.was_busy, is_beyond(self.rule.bounds.calm)) {
            (true, _) => Verdict::Busy,
            (false, true) => Verdict::Unclear,
            (false, false) => Verdict::Calm,
        };
        self.was_busy = busy;
        let part = match seen < usual {
            true => FALLS,
            false => (lasted.as_secs_f64() / RISES.as_secs_f64()).min(FALLS),
        };
        self.usual = Some(usual + (seen.min(usual * 2.0) - usual) * part);
        verdict
    }
}

fn quantile(all: &mut [f64], share: f64) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    let at = (all.len() as f64 * share) as usize;
    all.get(at.min(all.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const RULE: Rule = Rule {
        window: Duration::from_millis(100),
        fewest: 3,
        quantile: 0.5,
        bounds: Bounds {
            busy: (2.0, 0.000_5),
            calm: (1.5, 0.000_3),
        },
    };

    struct Run {
        busy: Busy,
        now: Instant,
    }

    impl Run {
        fn new() -> Self {
            let now = Instant::now();
            let busy = Busy::new(RULE, now);
            Self { busy, now }
        }

        /// A time every 10 ms, for so long; the verdicts.
        fn add(&mut self, took: Duration, ms: u32) -> Vec<Verdict> {
            let mut verdicts = Vec::new();
            for _ in 0..ms / 10 {
                self.now += 10 * MS;
                verdicts.extend(self.busy.add(took, self.now));
            }
            verdicts
        }
    }

    #[test]
    fn two_slow_windows_are_busy_and_one_is_not() {
        let mut run = Run::new();
        assert!(run.add(MS / 5, 1000).iter().all(|v| *v == Verdict::Calm));
        let verdicts = run.add(2 * MS, 1000);
        assert_eq!(verdicts[0], Verdict::Unclear);
        assert!(verdicts[1..].iter().all(|v| *v == Verdict::Busy));
        run.add(MS / 5, 200);
        assert_eq!(run.add(2 * MS, 100), [Verdict::Unclear]);
    }

    #[test]
    fn a_minute_of_load_does_not_become_usual_and_a_slower_server_does() {
        let mut run = Run::new();
        run.add(MS / 5, 1000);
        let minute = run.add(2 * MS, 60_000);
        assert!(minute[1..].iter().all(|v| *v == Verdict::Busy));
        let hours = run.add(2 * MS, 10_000_000);
        assert_eq!(hours.last(), Some(&Verdict::Calm));
    }

    #[test]
    fn too_few_times_say_nothing() {
        let mut run = Run::new();
        run.add(MS, 1000);
        run.now += 10_000 * MS;
        assert_eq!(run.busy.add(50 * MS, run.now), None);
    }
}
