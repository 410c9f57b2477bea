//! How long a server takes for queries of each shape. A shape is a query's text without its values, as a number.
//!
//! In: the time that an answer was waited for: neither the wait for freshness or a turn, nor for a client that takes its answer
//! slowly. Out: an average that forgets. Bounded: shapes share a fixed number of places, and a newer one takes a place over.
//! Must never: wait, or allocate for an answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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

/// Each place holds the upper bits of the shape's number and the average.
pub struct Times(Box<[AtomicU64]>);

impl Default for Times {
    fn default() -> Self {
        Self((0..PLACES).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Times {
    pub fn add(&self, shape: u64, took: Duration) {
        let (place, tag) = self.place(shape);
        add(place, tag, took);
    }

    pub fn get(&self, shape: u64) -> Option<Duration> {
        let (place, tag) = self.place(shape);
        time(place.load(Ordering::Relaxed), tag).map(duration)
    }

    fn place(&self, shape: u64) -> (&AtomicU64, u64) {
        (&self.0[shape as usize % PLACES], shape >> TIME_BITS)
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
