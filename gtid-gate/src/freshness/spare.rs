//! How much of the master reads may use that satellites could answer later. Pure.
//!
//! In: what the gate's small questions to the master take, what commits take, and what reads there take. Out: whether one more
//! read may run there, and by how much the master must be quicker for that: its premium. The budget is a share of one core: it
//! grows in small steps while the master answers as quickly as it can, and halves each time that questions, or the slowest
//! commits, take longer. The smaller the share, the higher the premium. Whoever makes the master busy, through the gate or past
//! it, is noticed in the same way.
//! Must never: let reads take from the master what its writes need.

use super::busy::{Bounds, Busy, Rule, Verdict};
use std::time::{Duration, Instant};

const FIRST_SHARE: f64 = 0.1;
const MOST_SHARE: f64 = 0.8;
/// Below this nothing is left; it grows again from here.
const LEAST_SHARE: f64 = 0.002;
const STEP: f64 = 0.05;
/// Reads on the master at a time.
const MOST_RUNNING: usize = 8;
/// With the largest share satellites must take twice as long, with half of it three times, …
const LEAST_PREMIUM: f64 = 1.0;
const WINDOW: Duration = Duration::from_millis(100);
const FEWEST_QUESTIONS: usize = 3;
const QUESTIONS: Rule = Rule {
    window: WINDOW,
    fewest: FEWEST_QUESTIONS,
    quantile: 0.5,
    bounds: Bounds {
        busy: (2.0, 0.000_5),
        calm: (1.5, 0.000_3),
    },
};
/// The slowest of a hundred. They vary more than questions do.
const COMMITS: Rule = Rule {
    window: Duration::from_millis(500),
    fewest: 50,
    quantile: 0.99,
    bounds: Bounds {
        busy: (2.0, 0.002),
        calm: (1.5, 0.001),
    },
};
const COMMITS_COUNT: Duration = Duration::from_secs(5);
/// What is not spent is kept for so long.
const KEPT: f64 = 0.02;
/// When the master was asked nothing for so long, it is not known to have time to spare.
const SILENCE: Duration = Duration::from_millis(500);

pub struct Spare {
    share: f64,
    /// Seconds of the master's time that reads may take now.
    saved: f64,
    saved_at: Instant,
    running: usize,
    asked: Option<Instant>,
    questions: Busy,
    commits: Busy,
    /// When commits were last found not to be as quick as usual.
    slow_commits: Option<Instant>,
}

impl Spare {
    pub fn new(now: Instant) -> Self {
        Self {
            share: FIRST_SHARE,
            saved: 0.0,
            saved_at: now,
            running: 0,
            asked: None,
            questions: Busy::new(QUESTIONS, now),
            commits: Busy::new(COMMITS, now),
            slow_commits: None,
        }
    }

    /// The gate asked the master something, and had to wait so long for the answer.
    pub fn answered(&mut self, took: Duration, now: Instant) {
        self.asked = Some(now);
        match self.questions.add(took, now) {
            Some(Verdict::Busy) => self.give_back(now),
            Some(Verdict::Calm) if !self.has_slow_commits(now) => {
                self.save(now);
                self.share = (self.share + STEP).min(MOST_SHARE);
            }
            _ => {}
        }
    }

    /// A commit through the gate took so long.
    pub fn committed(&mut self, took: Duration, now: Instant) {
        let Some(verdict) = self.commits.add(took, now) else {
            return;
        };
        self.slow_commits = (verdict != Verdict::Calm).then_some(now);
        if verdict == Verdict::Busy {
            self.give_back(now);
        }
    }

    /// Nobody may commit any more.
    fn has_slow_commits(&self, now: Instant) -> bool {
        let since = self
            .slow_commits
            .map(|at| now.saturating_duration_since(at));
        since.is_some_and(|since| since < COMMITS_COUNT)
    }

    fn give_back(&mut self, now: Instant) {
        self.save(now);
        self.share = (self.share / 2.0).max(LEAST_SHARE);
        self.saved = self.saved.min(0.0);
    }

    /// How many times as long satellites must take before a read runs on the master.
    pub fn premium(&self) -> f64 {
        LEAST_PREMIUM + MOST_SHARE / self.share
    }

    fn save(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.saved_at).as_secs_f64();
        self.saved = (self.saved + since * self.share).min(KEPT);
        self.saved_at = now;
    }

    /// Whether a read may run on the master now; `done` must follow.
    pub fn take(&mut self, now: Instant) -> bool {
        self.save(now);
        let heard = self
            .asked
            .is_some_and(|at| now.saturating_duration_since(at) < SILENCE);
        let may = heard && self.saved > 0.0 && self.running < MOST_RUNNING;
        self.running += usize::from(may);
        may
    }

    /// A read that ran there has ended, and took so much of the master's time.
    pub fn done(&mut self, took: Duration) {
        self.running = self.running.saturating_sub(1);
        self.spend(took);
    }

    pub fn spend(&mut self, took: Duration) {
        self.saved -= took.as_secs_f64();
    }

    /// Whether the master should be asked something, so that it is known how it does.
    pub fn wants_question(&self, now: Instant) -> bool {
        let often = WINDOW / (FEWEST_QUESTIONS as u32 + 1);
        self.asked
            .is_none_or(|at| now.saturating_duration_since(at) >= often)
    }

    pub fn share(&self) -> f64 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    struct Run {
        spare: Spare,
        now: Instant,
    }

    impl Run {
        fn new() -> Self {
            let now = Instant::now();
            Self {
                spare: Spare::new(now),
                now,
            }
        }

        /// A question every 5 ms that takes this long, for so long.
        fn ask(&mut self, took: Duration, ms: u32) {
            for _ in 0..ms / 5 {
                self.now += 5 * MS;
                self.spare.answered(took, self.now);
            }
        }

        /// Of the time of one core, what reads of one millisecond get while questions take this long.
        fn read(&mut self, took: Duration, ms: u32) -> f64 {
            let mut reads = 0;
            for at in 0..ms {
                self.now += MS;
                if at % 5 == 0 {
                    self.spare.answered(took, self.now);
                }
                if self.spare.take(self.now) {
                    self.spare.done(MS);
                    reads += 1;
                }
            }
            f64::from(reads) / f64::from(ms)
        }
    }

    #[test]
    fn nothing_is_taken_of_a_master_that_nobody_has_heard_of() {
        let mut run = Run::new();
        run.now += 1000 * MS;
        assert!(!run.spare.take(run.now));
        run.ask(MS / 5, 500);
        run.now += 20 * MS;
        assert!(run.spare.take(run.now));
        run.now += SILENCE;
        assert!(!run.spare.take(run.now));
    }

    #[test]
    fn an_idle_master_takes_reads_up_to_its_share() {
        let mut run = Run::new();
        run.ask(MS / 5, 3000);
        let used = run.read(MS / 5, 2000);
        assert!(used > 0.6 && used <= MOST_SHARE + 0.05, "{used}");
    }

    #[test]
    fn a_burst_of_writes_is_given_way_within_two_seconds_and_forgotten_in_ten() {
        let mut run = Run::new();
        run.ask(MS / 5, 3000);
        run.read(2 * MS, 2000);
        let during = run.read(2 * MS, 3000);
        assert!(during < 0.01, "{during}");
        run.read(MS / 5, 10_000);
        let after = run.read(MS / 5, 2000);
        assert!(after > 0.3, "{after}");
    }

    #[test]
    fn reads_at_a_time_are_bounded_and_each_pays_what_it_took() {
        let mut run = Run::new();
        run.ask(MS / 5, 3000);
        let taken = (0..20).filter(|_| run.spare.take(run.now)).count();
        assert_eq!(taken, MOST_RUNNING);
        (0..taken).for_each(|_| run.spare.done(50 * MS));
        run.now += 100 * MS;
        run.spare.answered(MS / 5, run.now);
        assert!(!run.spare.take(run.now), "400 ms were spent");
    }

    #[test]
    fn a_long_burst_of_writes_is_given_way_as_long_as_it_lasts() {
        let mut run = Run::new();
        run.ask(MS / 5, 3000);
        run.read(2 * MS, 2000);
        let during = run.read(2 * MS, 120_000);
        assert!(during < 0.01, "{during}");
    }

    #[test]
    fn slow_commits_take_the_share_back_and_raise_the_premium() {
        let mut run = Run::new();
        run.ask(MS / 5, 3000);
        let mut commit = |ms: u32, took| {
            for _ in 0..ms {
                run.now += MS;
                run.spare.committed(took, run.now);
                run.spare.answered(MS / 5, run.now);
            }
            (run.spare.share(), run.spare.premium())
        };
        let (share, premium) = commit(2000, MS);
        assert!(share == MOST_SHARE && premium == 2.0);
        let (share, premium) = commit(4000, 20 * MS);
        assert!(share < 0.02 && premium > 40.0, "{share} {premium}");
        assert_eq!(commit(10_000, MS), (MOST_SHARE, 2.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        /// Any load: reads never get more than the share, and a master whose questions take long gives nothing away for long.
        #[test]
        fn whatever_the_master_does_its_price_is_kept(
            phases in prop::collection::vec((1u64..4000, 100u32..1500), 1..8),
            read_us in 50u64..5000,
        ) {
            let mut run = Run::new();
            let read = Duration::from_micros(read_us);
            let (mut spent, began) = (0.0, run.now);
            for (question_us, ms) in phases {
                let question = Duration::from_micros(question_us);
                for at in 0..ms {
                    run.now += MS;
                    if at % 5 == 0 {
                        run.spare.answered(question, run.now);
                    }
                    if run.spare.take(run.now) {
                        run.spare.done(read);
                        spent += read.as_secs_f64();
                    }
                    prop_assert!(run.spare.share() >= LEAST_SHARE && run.spare.share() <= MOST_SHARE);
                }
            }
            let all = (run.now - began).as_secs_f64();
            prop_assert!(spent <= MOST_SHARE * all + KEPT + 0.01, "{spent} of {all}");
        }
    }
}
