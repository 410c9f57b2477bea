//! Which queries are heavy, by their digests. A digest is a statement without its values, here its number.
//!
//! In: what each query took on a satellite. Out: whether queries of its digest are heavy: three of four take so long or longer.
//! A heavy one is light again when a quarter of them takes less than half of that. The quarter is what a digest takes when little
//! else runs: a busy satellite makes no query heavy. Bounded: digests share a fixed number of places, and a newer one takes a
//! place over.
//! Must never: wait, or allocate for an answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PLACES: usize = 4096;
/// Times are kept in microseconds.
const TIME_BITS: u32 = 36;
const LONGEST: u64 = (1 << TIME_BITS) - 1;
const HEAVY: u64 = 1 << TIME_BITS;
const TAG_AT: u32 = TIME_BITS + 1;
/// A quicker answer lowers the quarter by this part of it, a slower one raises it by a third as much.
const STEP: f64 = 0.09;

pub struct Weights {
    /// In microseconds; 0: nothing is heavy.
    heavy_from: u64,
    /// Of each the upper bits of the digest's number, whether it is heavy, and the quarter.
    places: Box<[AtomicU64]>,
}

impl Weights {
    pub fn new(heavy_from: Duration) -> Self {
        Self {
            heavy_from: heavy_from.as_micros() as u64,
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub fn is_heavy(&self, digest: u64) -> bool {
        self.known(digest).is_some_and(|entry| entry & HEAVY != 0)
    }

    pub fn add(&self, digest: u64, took: Duration) {
        if self.heavy_from == 0 || digest == 0 {
            return;
        }
        let took = (took.as_micros() as u64).clamp(1, LONGEST);
        let known = self.known(digest);
        let quarter = known.map_or(took, |entry| follow(entry & LONGEST, took));
        let was_heavy = known.is_some_and(|entry| entry & HEAVY != 0);
        let least = match was_heavy {
            true => self.heavy_from / 2,
            false => self.heavy_from,
        };
        let heavy = if quarter >= least { HEAVY } else { 0 };
        let entry = tag(digest) << TAG_AT | heavy | quarter;
        // A concurrent answer that gets lost is one of many.
        self.place(digest).store(entry, Ordering::Relaxed);
    }

    fn known(&self, digest: u64) -> Option<u64> {
        let entry = self.place(digest).load(Ordering::Relaxed);
        (entry & LONGEST > 0 && entry >> TAG_AT == tag(digest)).then_some(entry)
    }

    fn place(&self, digest: u64) -> &AtomicU64 {
        &self.places[digest as usize % PLACES]
    }
}

fn tag(digest: u64) -> u64 {
    digest >> TAG_AT
}

fn follow(quarter: u64, took: u64) -> u64 {
    let known = quarter as f64;
    let next = match took < quarter {
        true => (known * (1.0 - STEP)).max(took as f64),
        false => (known * (1.0 + STEP / 3.0)).min(took as f64),
    };
    (next.round() as u64).clamp(1, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn weights() -> Weights {
        Weights::new(20 * MS)
    }

    #[test]
    fn a_digest_is_heavy_by_what_it_takes_and_light_again_below_half_of_it() {
        let all = weights();
        all.add(7, 30 * MS);
        assert!(all.is_heavy(7) && !all.is_heavy(8));
        (0..100).for_each(|_| all.add(7, 12 * MS));
        assert!(all.is_heavy(7));
        (0..100).for_each(|_| all.add(7, 8 * MS));
        assert!(!all.is_heavy(7));
        (0..100).for_each(|_| all.add(7, 15 * MS));
        assert!(!all.is_heavy(7));
        (0..100).for_each(|_| all.add(7, 25 * MS));
        assert!(all.is_heavy(7));
    }

    #[test]
    fn a_light_digest_that_a_busy_satellite_slows_down_now_and_then_stays_light() {
        let all = weights();
        for _ in 0..200 {
            [1, 60, 60].iter().for_each(|ms| all.add(7, *ms * MS));
            assert!(!all.is_heavy(7));
        }
    }

    #[test]
    fn a_cold_first_answer_is_soon_forgotten() {
        let all = weights();
        all.add(7, 40 * MS);
        (0..20).for_each(|_| all.add(7, MS));
        assert!(!all.is_heavy(7));
    }

    #[test]
    fn nothing_is_heavy_where_nothing_is_to_be() {
        let all = Weights::new(Duration::ZERO);
        all.add(7, 1000 * MS);
        assert!(!all.is_heavy(7));
        weights().add(0, 1000 * MS);
        assert!(!weights().is_heavy(0));
    }

    #[test]
    fn a_digest_that_takes_a_place_over_does_not_inherit_its_weight() {
        let (all, other) = (weights(), 7 + (1 << 40));
        all.add(7, 30 * MS);
        assert!(!all.is_heavy(other));
        all.add(other, MS);
        assert!(!all.is_heavy(other) && !all.is_heavy(7));
    }

    proptest! {
        #[test]
        fn what_never_takes_half_as_long_is_never_heavy_for_long(
            first in 1u64..100_000, later in prop::collection::vec(1u64..9_999, 60),
        ) {
            let all = weights();
            all.add(7, Duration::from_micros(first));
            later.iter().for_each(|us| all.add(7, Duration::from_micros(*us)));
            prop_assert!(!all.is_heavy(7));
        }
    }
}
