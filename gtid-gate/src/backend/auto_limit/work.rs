//! How much work reads are, whatever their digests, and their slowdown: what they took, divided by what is usual. Pure.
//!
//! In: what each read took. Out, for each window of time: the work done, in seconds of usual time, and the slowdown.
//! What is usual for a digest follows what it takes in proportion to the other digests of the same window. So neither a change of
//! the mix nor a load that slows all digests changes what is usual. A digest that is new begins with what it takes, divided by
//! the slowdown of the others. Bounded: digests share a fixed number of places.
//! Must never: take it for usual that all digests are slower.

use std::time::Duration;

const PLACES: usize = 1024;
/// How many windows what is usual looks back.
const MEMORY: f64 = 32.0;
/// In one window a digest's usual time changes by at most this factor before its weight: a single stall says little.
const ROBUST: f64 = 2.0;

/// What ended in a window, or in several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Done {
    pub reads: f64,
    /// Seconds that they took, and would have taken as usual.
    pub took: f64,
    pub work: f64,
    pub seconds: f64,
}

impl Done {
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.took += other.took;
        self.work += other.work;
        self.seconds += other.seconds;
    }

    /// What was before counts only so much.
    pub fn fade(&mut self, share: f64) {
        self.reads *= share;
        self.took *= share;
        self.work *= share;
        self.seconds *= share;
    }

    /// Nothing while nothing was done.
    pub fn slowdown(&self) -> Option<f64> {
        (self.work > 0.0).then(|| self.took / self.work)
    }

    /// Work a second.
    pub fn rate(&self) -> f64 {
        self.work / self.seconds.max(f64::MIN_POSITIVE)
    }
}

#[derive(Clone, Default)]
struct OfDigest {
    /// Seconds; 0 while nothing is known.
    usual: f64,
    windows: f64,
    reads: f64,
    took: f64,
}

impl OfDigest {
    fn learn(&mut self, slowdown: f64) {
        let seen = self.took / self.reads / slowdown;
        let seen = seen.clamp(self.usual / ROBUST, self.usual * ROBUST);
        self.windows = (self.windows + 1.0).min(MEMORY);
        self.usual += (seen - self.usual) / (self.windows + 1.0);
    }
}

pub struct Work {
    digests: Box<[OfDigest]>,
    /// Those of the window in hand.
    touched: Vec<u16>,
    slowdown: f64,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            digests: vec![OfDigest::default(); PLACES].into(),
            touched: Vec::new(),
            slowdown: 1.0,
        }
    }
}

impl Work {
    pub fn add(&mut self, digest: u64, took: Duration) {
        let place = digest as usize % PLACES;
        let digest = &mut self.digests[place];
        if digest.reads == 0.0 {
            self.touched.push(place as u16);
        }
        digest.reads += 1.0;
        digest.took += took.as_secs_f64().max(1e-7);
    }

    /// Ends the window.
    pub fn close(&mut self, seconds: f64) -> Done {
        let known = self.sum(|s| s.usual > 0.0);
        self.slowdown = known.slowdown().unwrap_or(self.slowdown);
        for place in &self.touched {
            let digest = &mut self.digests[usize::from(*place)];
            if digest.usual == 0.0 {
                digest.usual = digest.took / digest.reads / self.slowdown;
            }
        }
        let done = self.sum(|_| true);
        let touched = &self.touched;
        for place in touched {
            self.digests[usize::from(*place)].learn(self.slowdown);
        }
        // In sum nothing changes: only proportions do.
        let scale = done.work / self.sum(|_| true).work;
        for place in self.touched.drain(..) {
            let digest = &mut self.digests[usize::from(place)];
            digest.usual *= scale;
            (digest.reads, digest.took) = (0.0, 0.0);
        }
        Done { seconds, ..done }
    }

    fn sum(&self, counts: impl Fn(&OfDigest) -> bool) -> Done {
        let mut sum = Done::default();
        let touched = self.touched.iter().map(|p| &self.digests[usize::from(*p)]);
        for digest in touched.filter(|s| counts(s)) {
            sum.reads += digest.reads;
            sum.took += digest.took;
            sum.work += digest.reads * digest.usual;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// (digest, reads, milliseconds)
    fn window(work: &mut Work, reads: &[(u64, u32, u32)]) -> Done {
        for (digest, count, ms) in reads {
            (0..*count).for_each(|_| work.add(*digest, *ms * MS));
        }
        work.close(0.1)
    }

    fn slowdown(done: &Done) -> f64 {
        (done.slowdown().unwrap() * 100.0).round() / 100.0
    }

    #[test]
    fn a_change_of_the_mix_changes_neither_the_slowdown_nor_what_a_read_is_worth() {
        let mut work = Work::default();
        window(&mut work, &[(1, 90, 1), (2, 10, 20)]);
        let many = window(&mut work, &[(1, 90, 3), (2, 10, 60)]);
        let other = window(&mut work, &[(1, 10, 3), (2, 90, 60)]);
        assert_eq!((slowdown(&many), slowdown(&other)), (3.0, 3.0));
        assert!((other.work - 1.81).abs() < 0.001, "{other:?}");
    }

    #[test]
    fn slower_for_all_never_becomes_usual() {
        let mut work = Work::default();
        window(&mut work, &[(1, 90, 1), (2, 10, 20)]);
        let last = (0..1000).map(|_| window(&mut work, &[(1, 90, 4), (2, 10, 80)]));
        assert_eq!(slowdown(&last.last().unwrap()), 4.0);
    }

    #[test]
    fn a_digest_that_is_seen_first_under_load_is_judged_by_the_others() {
        let mut work = Work::default();
        window(&mut work, &[(1, 100, 1)]);
        window(&mut work, &[(1, 100, 5), (2, 100, 50)]);
        assert_eq!(slowdown(&window(&mut work, &[(2, 100, 10)])), 1.0);
    }

    #[test]
    fn a_digest_that_alone_got_slower_is_soon_usual_again() {
        let mut work = Work::default();
        window(&mut work, &[(1, 500, 2), (2, 10, 10)]);
        let mut slower = || window(&mut work, &[(1, 500, 2), (2, 10, 100)]);
        assert!(slowdown(&slower()) > 1.5);
        for _ in 0..200 {
            slower();
        }
        // What the whole window takes is the slowdown's; the digests agree about it.
        let (one, two) = (
            window(&mut work, &[(1, 10, 2)]),
            window(&mut work, &[(2, 10, 100)]),
        );
        let (one, two) = (slowdown(&one), slowdown(&two));
        assert!((one - two).abs() < 0.1 * one, "{one} {two}");
    }

    #[test]
    fn an_empty_window_is_no_work() {
        let mut work = Work::default();
        assert_eq!(work.close(0.1).slowdown(), None);
    }
}
