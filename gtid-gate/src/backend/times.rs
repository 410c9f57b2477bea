//! How long a server takes for queries of each shape. A shape is a query's text without its values, as a number.
//!
//! In: the time that an answer was waited for: neither the wait for freshness or a turn, nor for a client that takes its answer
//! slowly. Out: an average that forgets. Bounded: shapes share a fixed number of places, and a newer one takes a place over.
//! Must never: wait, or allocate for an answer; nor hold on to what a server took once, when that keeps queries from it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PLACES: usize = 4096;
/// An answer counts an eighth.
const WEIGHT: u64 = 8;
/// One answer counts at most as so many times the average: a single slow one says little.
const ROBUST: u64 = 4;
/// Of an hour: times are kept in units of 100 ns.
const LONGEST: u64 = 36_000_000_000;
const UNIT_NS: u128 = 100;
const TIME_BITS: u32 = 36;

/// One average, of times that are no query's.
#[derive(Default)]
pub struct Average(AtomicU64);

impl Average {
    pub fn add(&self, took: Duration) {
        add(&self.0, 0, took);
    }

    pub fn get(&self) -> Option<Duration> {
        time(self.0.load(Ordering::Relaxed), 0).map(duration)
    }
}

pub struct Times {
    places: Box<[Place]>,
    began: Instant,
}

struct Place {
    /// The upper bits of the shape's number, and the average.
    entry: AtomicU64,
    /// When the last answer came, in milliseconds since the beginning.
    last: AtomicU32,
}

/// What a shape takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    pub time: Duration,
    /// So long ago that it should be tried again.
    pub is_old: bool,
}

/// A time is old after so many times itself: who tries again then spends at most a hundredth of a core.
const OLD_AFTER: u32 = 100;
const OLD_AT_LEAST: Duration = Duration::from_secs(1);

impl Default for Times {
    fn default() -> Self {
        let place = |_| Place {
            entry: AtomicU64::new(0),
            last: AtomicU32::new(0),
        };
        Self {
            places: (0..PLACES).map(place).collect(),
            began: Instant::now(),
        }
    }
}

impl Times {
    pub fn add(&self, shape: u64, took: Duration) {
        self.add_at(shape, took, Instant::now());
    }

    /// What is old counts no more as soon as something newer is known.
    fn add_at(&self, shape: u64, took: Duration, now: Instant) {
        let (place, tag) = self.place(shape);
        if self.look(shape, now).is_some_and(|known| known.is_old) {
            place.entry.store(0, Ordering::Relaxed);
        }
        place.last.store(self.since(now), Ordering::Relaxed);
        add(&place.entry, tag, took);
    }

    pub fn get(&self, shape: u64) -> Option<Duration> {
        let (place, tag) = self.place(shape);
        time(place.entry.load(Ordering::Relaxed), tag).map(duration)
    }

    pub fn look(&self, shape: u64, now: Instant) -> Option<Known> {
        let time = self.get(shape)?;
        let last = self.place(shape).0.last.load(Ordering::Relaxed);
        let age = self.since(now).wrapping_sub(last) as i32;
        let age = Duration::from_millis(age.max(0) as u64);
        let is_old = age >= OLD_AT_LEAST.max(time.saturating_mul(OLD_AFTER));
        Some(Known { time, is_old })
    }

    fn place(&self, shape: u64) -> (&Place, u64) {
        (&self.places[shape as usize % PLACES], shape >> TIME_BITS)
    }

    /// The last answer came so much longer ago.
    #[cfg(test)]
    pub fn age(&self, shape: u64, by: Duration) {
        let last = &self.place(shape).0.last;
        last.fetch_sub(by.as_millis() as u32, Ordering::Relaxed);
    }

    /// In milliseconds, of 49 days.
    fn since(&self, now: Instant) -> u32 {
        now.saturating_duration_since(self.began).as_millis() as u32
    }
}

fn add(place: &AtomicU64, tag: u64, took: Duration) {
    let took = ((took.as_nanos() / UNIT_NS) as u64).clamp(1, LONGEST);
    let average = match time(place.load(Ordering::Relaxed), tag) {
        Some(known) => {
            let counted = took.min(known.saturating_mul(ROBUST));
            (known * (WEIGHT - 1) + counted + WEIGHT / 2) / WEIGHT
        }
        None => took,
    };
    // A concurrent answer that gets lost is one of many.
    place.store(
        tag << TIME_BITS | average.clamp(1, LONGEST),
        Ordering::Relaxed,
    );
}

fn duration(units: u64) -> Duration {
    Duration::from_nanos(units * UNIT_NS as u64)
}

fn time(entry: u64, tag: u64) -> Option<u64> {
    let units = entry & ((1 << TIME_BITS) - 1);
    (entry >> TIME_BITS == tag && units > 0).then_some(units)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn times_follow_the_answers_and_a_single_slow_one_says_little() {
        let times = Times::default();
        assert_eq!(times.get(7), None);
        times.add(7, MS);
        assert_eq!(times.get(7), Some(MS));
        times.add(7, 1000 * MS);
        assert!(times.get(7).unwrap() < 2 * MS);
        (0..40).for_each(|_| times.add(7, 10 * MS));
        let now = times.get(7).unwrap();
        assert!(now > 9 * MS && now <= 10 * MS, "{now:?}");
    }

    #[test]
    fn a_shape_that_takes_a_place_over_does_not_inherit_its_time() {
        let (times, other) = (Times::default(), 7 + (1 << 40));
        times.add(7, MS);
        assert_eq!(times.get(other), None);
        times.add(other, 5 * MS);
        assert_eq!((times.get(other), times.get(7)), (Some(5 * MS), None));
    }

    #[test]
    fn a_time_of_long_ago_is_old_and_counts_no_more_when_a_newer_one_is_known() {
        let (times, start) = (Times::default(), Instant::now());
        let is_old = |after| times.look(7, start + after).unwrap().is_old;
        times.add_at(7, 30 * MS, start);
        assert!(!is_old(2_900 * MS));
        assert!(is_old(3_100 * MS));
        times.add_at(7, MS, start + 3_100 * MS);
        assert_eq!(times.get(7), Some(MS));
        assert!(!is_old(4_000 * MS));
        assert!(is_old(4_200 * MS));
    }

    proptest! {
        #[test]
        fn an_average_lies_between_the_answers(shape: u64, took in prop::collection::vec(1u64..2_000_000_000, 1..50)) {
            let times = Times::default();
            took.iter().for_each(|ns| times.add(shape, Duration::from_nanos(*ns)));
            let known = times.get(shape).unwrap();
            let (least, most) = (took.iter().min().unwrap(), took.iter().max().unwrap());
            prop_assert!(known >= Duration::from_nanos(least.saturating_sub(100)), "{known:?}");
            prop_assert!(known <= Duration::from_nanos(most + 100), "{known:?}");
        }
    }
}
