//! By how much a server's queries are slowed down now, against what is usual for each. Pure but for its atomic cells.
//!
//! In: each answer's time as a multiple of what is usual for its digest, and how many queries ran then. Out: the median of these
//! multiples, which follows within some tens of milliseconds, however many queries there are; and what it would be beside more.
//! With every core busy a query's time grows with the number that run, with idle ones not at all: what is expected beside more
//! than usual is the geometric mean of both. What is usual learns a lasting load itself, so the multiple drifts back to one.
//! Must never: keep a server that nobody uses slow.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const LEAST: f64 = 1.0 / 64.0;
const MOST: f64 = 256.0;
/// An answer counts for the time since the one before it, of this many seconds; and between these bounds.
const FOLLOWS: f64 = 0.05;
const STEPS: (f64, f64) = (0.01, 0.2);
/// Seconds in which a multiple drifts back to one while there are answers, and while there are none.
const LASTING: f64 = 120.0;
const FORGETS: f64 = 2.0;

#[derive(Default)]
pub struct Slowdown {
    /// The multiple, and how many run, as the bits of floating-point numbers; 0: nothing is known.
    multiple: AtomicU64,
    running: AtomicU64,
    began: OnceLock<Instant>,
    /// When the last answer came, in nanoseconds since the first.
    last: AtomicU64,
}

impl Slowdown {
    /// Takes an answer in; the multiple as it was before it.
    pub fn add(&self, ratio: f64, running: usize, now: Instant) -> f64 {
        let began = *self.began.get_or_init(|| now);
        let since = now.saturating_duration_since(began).as_nanos() as u64;
        let idle = since.saturating_sub(self.last.swap(since, Ordering::Relaxed)) as f64 / 1e9;
        let before = forgotten(self.multiple(), idle);
        let part = (idle / FOLLOWS).clamp(STEPS.0, STEPS.1);
        let near = (ratio / before).clamp(1.0 / (1.0 + part), 1.0 + part);
        let drift = 1.0 - (idle / LASTING).min(1.0);
        let next = (before * near).powf(drift).clamp(LEAST, MOST);
        self.multiple.store(next.to_bits(), Ordering::Relaxed);
        let known = self.running();
        let next = known + (running as f64 - known) * part;
        self.running.store(next.to_bits(), Ordering::Relaxed);
        before
    }

    /// The multiple now.
    pub fn at(&self, now: Instant) -> f64 {
        forgotten(self.multiple(), self.idle(now))
    }

    /// For one query more beside so many.
    pub fn beside(&self, running: usize, now: Instant) -> f64 {
        let usual = self.running().max(1.0);
        let crowd = ((running + 1) as f64 / usual).max(1.0);
        self.at(now) * crowd.sqrt()
    }

    fn idle(&self, now: Instant) -> f64 {
        let Some(began) = self.began.get() else {
            return 0.0;
        };
        let since = now.saturating_duration_since(*began).as_nanos() as u64;
        since.saturating_sub(self.last.load(Ordering::Relaxed)) as f64 / 1e9
    }

    fn multiple(&self) -> f64 {
        match self.multiple.load(Ordering::Relaxed) {
            0 => 1.0,
            bits => f64::from_bits(bits),
        }
    }

    fn running(&self) -> f64 {
        f64::from_bits(self.running.load(Ordering::Relaxed))
    }
}

/// What is left of a slowdown after so many seconds without an answer.
fn forgotten(multiple: f64, idle: f64) -> f64 {
    match multiple > 1.0 && idle > FOLLOWS {
        true => 1.0 + (multiple - 1.0) * (-idle / FORGETS).exp(),
        false => multiple,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn after(ratios: &[f64], every: Duration) -> (Slowdown, Instant) {
        let (slowdown, mut now) = (Slowdown::default(), Instant::now());
        for ratio in ratios {
            now += every;
            slowdown.add(*ratio, 1, now);
        }
        (slowdown, now)
    }

    #[test]
    fn it_follows_within_tens_of_milliseconds_with_many_answers_and_with_few() {
        for every in [MS / 10, MS, 20 * MS] {
            let many = (400 * MS).as_nanos() / every.as_nanos();
            let (slowdown, now) = after(&vec![4.0; many as usize], every);
            let seen = slowdown.at(now);
            assert!((3.6..4.4).contains(&seen), "{every:?}: {seen}");
        }
    }

    #[test]
    fn a_stall_says_little() {
        let mut ratios = vec![1.0; 100];
        ratios.push(1000.0);
        let (slowdown, now) = after(&ratios, MS);
        assert!(slowdown.at(now) < 1.05);
    }

    #[test]
    fn without_answers_it_is_forgotten_and_a_quick_server_stays_quick() {
        let (slow, now) = after(&[8.0; 200], MS);
        assert!(slow.at(now + 50 * MS) > 7.0);
        assert!(slow.at(now + 10_000 * MS) < 1.1);
        let (quick, now) = after(&[0.5; 200], MS);
        assert!(quick.at(now + 10_000 * MS) < 0.6);
    }

    #[test]
    fn nothing_is_known_of_a_new_server() {
        let new = Slowdown::default();
        assert_eq!(new.at(Instant::now()), 1.0);
        assert!(new.beside(3, Instant::now()) > new.beside(2, Instant::now()));
    }
}
