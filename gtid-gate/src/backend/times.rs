//! How long a server will take for a query: what its digest takes there, times what all queries there are slowed down by now.
//! A digest is a statement without its values, here its number.
//!
//! In: the time that an answer was waited for (neither the wait for freshness or a turn, nor for a client that takes its answer
//! slowly), and how many ran. Out: what is to be expected. Medians, which forget: a digest's follows its own answers, the slowdown
//! follows all answers, so that a digest that was not asked for in a while is known under today's load, too. A server that gets
//! no queries is taken to recover: it is tried again. Bounded: digests share a fixed number of places, and a newer one takes a
//! place over.
//! Must never: wait, or allocate for an answer; nor hold on to what a server took once, when that keeps queries from it.

use super::slowdown::Slowdown;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PLACES: usize = 4096;
/// Times are kept in units of 100 ns, up to an hour.
const LONGEST: u64 = 36_000_000_000;
const UNIT_NS: u128 = 100;
const TIME_BITS: u32 = 36;
/// An answer moves its digest's median by a part of it: the n-th by FIRST_STEP / n, as long as that is more than the time since the
/// one before it as a part of FOLLOWS. So a change of the load is told by the slowdown, before the medians have followed.
const FIRST_STEP: f64 = 0.5;
const FOLLOWS: Duration = Duration::from_secs(3);
const MOST_STEP: f64 = 0.2;
/// The mean of all counts an answer so much.
const WEIGHT: u64 = 16;

/// One average, of times that are no query's.
#[derive(Default)]
pub struct Average(AtomicU64);

impl Average {
    pub fn add(&self, took: Duration) {
        let took = units(took);
        let known = self.0.load(Ordering::Relaxed);
        let next = match known {
            0 => took,
            _ => (known * (WEIGHT - 1) + took + WEIGHT / 2) / WEIGHT,
        };
        // A concurrent answer that gets lost is one of many.
        self.0.store(next.max(1), Ordering::Relaxed);
    }

    pub fn get(&self) -> Option<Duration> {
        let known = self.0.load(Ordering::Relaxed);
        (known > 0).then(|| duration(known))
    }
}

pub struct Times {
    places: Box<[Place]>,
    slowdown: Slowdown,
    began: Instant,
    /// What was answered before is old; in milliseconds since the beginning.
    old_until: AtomicU32,
}

#[derive(Default)]
struct Place {
    /// The upper bits of the digest's number, and its median at a slowdown of one.
    entry: AtomicU64,
    answers: AtomicU32,
    /// When the last answer came, in milliseconds since the beginning.
    last: AtomicU32,
}

/// What a query of some digest usually takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// If nothing slows the server down.
    pub time: Duration,
    /// Known from so long ago that it should be tried again.
    pub is_old: bool,
}

/// A time is old after so many times itself: who tries again then spends at most a hundredth of a core.
const OLD_AFTER: u32 = 100;
const OLD_AT_LEAST: Duration = Duration::from_secs(1);

impl Default for Times {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| Place::default()).collect(),
            slowdown: Slowdown::default(),
            began: Instant::now(),
            old_until: AtomicU32::new(0),
        }
    }
}

impl Times {
    /// The server was lost: the next mysqld may have other cores and a cold cache, and the last answers may have come from one that
    /// was about to end.
    pub fn outlive(&self, now: Instant) {
        self.old_until.store(self.since(now), Ordering::Relaxed);
    }

    /// An answer took so long; `running` ran then, it among them.
    pub fn add(&self, digest: u64, took: Duration, running: usize) {
        self.add_at(digest, took, running, Instant::now());
    }

    /// What is old counts no more as soon as something newer is known.
    fn add_at(&self, digest: u64, took: Duration, running: usize, now: Instant) {
        if digest == 0 {
            return;
        }
        let (place, tag) = self.place(digest);
        let since = self.since(now);
        let known = self.usual(digest);
        let fresh = known.filter(|usual| !self.is_old(place, duration(*usual), now));
        let last = place.last.swap(since, Ordering::Relaxed);
        let Some(usual) = fresh else {
            let usual = (units(took) as f64 / self.slowdown.at(now)).round() as u64;
            place.answers.store(1, Ordering::Relaxed);
            return place.set(tag, usual);
        };
        let ratio = units(took) as f64 / usual as f64;
        let seen = ratio / self.slowdown.add(ratio, running, now);
        let answers = place.answers.fetch_add(1, Ordering::Relaxed) + 1;
        let age = f64::from(since.saturating_sub(last)) / FOLLOWS.as_millis() as f64;
        let step = (FIRST_STEP / f64::from(answers)).max(age.min(MOST_STEP));
        place.set(tag, toward(usual as f64, seen, step).round() as u64);
    }

    /// What queries of this digest usually take.
    pub fn known(&self, digest: u64, now: Instant) -> Option<Known> {
        let time = duration(self.usual(digest)?);
        let is_old = self.is_old(self.place(digest).0, time, now);
        Some(Known { time, is_old })
    }

    /// By how much the next query will be slowed down, beside so many others.
    pub fn slowdown(&self, running: usize, now: Instant) -> f64 {
        self.slowdown.beside(running, now)
    }

    /// What the next query of this digest will take, beside so many others.
    #[cfg(test)]
    pub fn expect(&self, digest: u64, running: usize, now: Instant) -> Option<Duration> {
        let known = self.known(digest, now)?;
        Some(known.time.mul_f64(self.slowdown(running, now)))
    }

    fn usual(&self, digest: u64) -> Option<u64> {
        let (place, tag) = self.place(digest);
        let entry = place.entry.load(Ordering::Relaxed);
        let units = entry & ((1 << TIME_BITS) - 1);
        (entry >> TIME_BITS == tag && units > 0).then_some(units)
    }

    fn is_old(&self, place: &Place, usual: Duration, now: Instant) -> bool {
        let last = place.last.load(Ordering::Relaxed);
        let is_outlived = (self.old_until.load(Ordering::Relaxed).wrapping_sub(last) as i32) > 0;
        let age = self.since(now).wrapping_sub(last) as i32;
        let age = Duration::from_millis(age.max(0) as u64);
        is_outlived || age >= OLD_AT_LEAST.max(usual.saturating_mul(OLD_AFTER))
    }

    fn place(&self, digest: u64) -> (&Place, u64) {
        (&self.places[digest as usize % PLACES], digest >> TIME_BITS)
    }

    /// With a clock of the test's own.
    #[cfg(test)]
    pub fn add_for_test(&self, digest: u64, took: Duration, running: usize, now: Instant) {
        self.add_at(digest, took, running, now);
    }

    /// The last answer came so much longer ago.
    #[cfg(test)]
    pub fn age(&self, digest: u64, by: Duration) {
        let last = &self.place(digest).0.last;
        last.fetch_sub(by.as_millis() as u32, Ordering::Relaxed);
    }

    /// In milliseconds, of 49 days.
    fn since(&self, now: Instant) -> u32 {
        now.saturating_duration_since(self.began).as_millis() as u32
    }
}

impl Place {
    fn set(&self, tag: u64, usual: u64) {
        // A concurrent answer that gets lost is one of many.
        let entry = tag << TIME_BITS | usual.clamp(1, LONGEST);
        self.entry.store(entry, Ordering::Relaxed);
    }
}

/// One step of a median toward what was seen, which is `ratio` times what was known; never beyond it.
fn toward(known: f64, ratio: f64, step: f64) -> f64 {
    match ratio > 1.0 {
        true => known * ratio.min(1.0 + step),
        false => known * ratio.max(1.0 / (1.0 + step)),
    }
}

fn units(took: Duration) -> u64 {
    ((took.as_nanos() / UNIT_NS) as u64).clamp(1, LONGEST)
}

fn duration(units: u64) -> Duration {
    Duration::from_nanos(units * UNIT_NS as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// A server that is asked by one client, a query each millisecond.
    struct Asked {
        times: Times,
        now: Instant,
    }

    impl Asked {
        fn new() -> Self {
            let (times, now) = (Times::default(), Instant::now());
            Self { times, now }
        }

        fn add(&mut self, digest: u64, took: Duration, running: usize) {
            self.now += MS;
            self.times.add_at(digest, took, running, self.now);
        }

        fn expects(&self, digest: u64, running: usize) -> f64 {
            let known = self.times.expect(digest, running, self.now);
            known.unwrap().as_secs_f64() * 1e3
        }
    }

    #[test]
    fn times_follow_the_answers_and_a_single_slow_one_says_little() {
        let mut asked = Asked::new();
        assert_eq!(asked.times.expect(7, 0, asked.now), None);
        (0..50).for_each(|_| asked.add(7, MS, 1));
        assert!((asked.expects(7, 0) - 1.0).abs() < 0.1);
        asked.add(7, 1000 * MS, 1);
        assert!(asked.expects(7, 0) < 1.3);
        (0..300).for_each(|_| asked.add(7, 10 * MS, 1));
        let now = asked.expects(7, 0);
        assert!(now > 8.0 && now < 12.0, "{now}");
    }

    #[test]
    fn a_digest_that_takes_a_place_over_does_not_inherit_its_time() {
        let (mut asked, other) = (Asked::new(), 7 + (1 << 40));
        asked.add(7, MS, 1);
        assert_eq!(asked.times.expect(other, 0, asked.now), None);
        asked.add(other, 5 * MS, 1);
        assert!(asked.times.expect(7, 0, asked.now).is_none());
        assert!(asked.expects(other, 0) > 4.0);
    }

    #[test]
    fn a_digest_that_was_not_asked_for_is_known_under_todays_load() {
        let mut asked = Asked::new();
        for _ in 0..100 {
            asked.add(1, MS, 1);
            asked.add(2, 5 * MS, 1);
        }
        (0..300).for_each(|_| asked.add(1, 8 * MS, 8));
        let slow = asked.expects(2, 7);
        assert!(slow > 15.0, "{slow}");
    }

    #[test]
    fn a_server_that_was_slow_and_is_avoided_is_tried_again() {
        let mut asked = Asked::new();
        (0..100).for_each(|_| asked.add(1, MS, 1));
        (0..200).for_each(|_| asked.add(1, 20 * MS, 1));
        assert!(asked.expects(1, 0) > 10.0);
        asked.now += 8_000 * MS;
        assert!(asked.expects(1, 0) < 4.0, "{}", asked.expects(1, 0));
    }

    #[test]
    fn the_more_run_the_longer_each_is_expected_to_take() {
        let mut asked = Asked::new();
        (0..100).for_each(|_| asked.add(1, MS, 4));
        let expected: Vec<_> = (0..40).map(|n| asked.expects(1, n)).collect();
        assert!(expected.is_sorted());
        assert!(expected[39] > 2.5 * expected[3], "{expected:?}");
        assert!(expected[0] > 0.8);
    }

    #[test]
    fn a_time_of_long_ago_is_old_and_counts_no_more_when_a_newer_one_is_known() {
        let mut asked = Asked::new();
        let is_old = |a: &Asked| a.times.known(7, a.now).unwrap().is_old;
        asked.add(7, 30 * MS, 1);
        asked.now += 2_900 * MS;
        assert!(!is_old(&asked));
        asked.now += 200 * MS;
        assert!(is_old(&asked));
        asked.add(7, MS, 1);
        assert!(!is_old(&asked) && asked.expects(7, 0) < 1.5);
    }

    #[test]
    fn what_a_server_took_before_it_was_lost_is_old_until_it_has_answered_again() {
        let mut asked = Asked::new();
        let is_old = |a: &Asked| a.times.known(7, a.now).unwrap().is_old;
        (0..100).for_each(|_| asked.add(7, 4_000 * MS, 6));
        asked.now += 10_000 * MS;
        assert!(!is_old(&asked));
        asked.times.outlive(asked.now);
        assert!(is_old(&asked));
        asked.add(7, MS, 1);
        assert!(!is_old(&asked) && asked.expects(7, 0) < 1.5);
    }

    proptest! {
        /// Half of the answers are within a quarter of what was expected, if answers vary as much as that.
        #[test]
        fn the_median_error_is_small_where_answers_are_alike(
            base in 50u64..20_000, noise in prop::collection::vec(0.8f64..1.3, 300), load in 1.0f64..8.0,
        ) {
            let mut asked = Asked::new();
            let mut errors = Vec::new();
            for (at, noise) in noise.iter().enumerate() {
                let slow = if at > 100 { load } else { 1.0 };
                let took = base as f64 * noise * slow;
                // Until a change of the load is known.
                if (50..100).contains(&at) || at > 200 {
                    let expected = asked.expects(7, 0) * 1e3;
                    errors.push((took - expected).abs() / took);
                }
                asked.add(7, Duration::from_nanos((took * 1e3) as u64), 1);
            }
            errors.sort_by(f64::total_cmp);
            prop_assert!(errors[errors.len() / 2] < 0.25, "{}", errors[errors.len() / 2]);
        }

        #[test]
        fn nothing_makes_a_time_vanish_or_overflow(
            answers in prop::collection::vec((0u64..3, any::<u32>(), 0usize..10_000), 1..60),
        ) {
            let mut asked = Asked::new();
            for (digest, us, running) in answers {
                asked.add(digest, Duration::from_micros(us.into()), running);
                if digest > 0 {
                    prop_assert!(asked.expects(digest, running).is_finite());
                }
            }
        }
    }
}
