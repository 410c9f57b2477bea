//! The shapes of queries that the gate has seen: how often, how long they took on satellites, where they ran, in what class.
//!
//! In: each query's answer. Out: rows for an operator. Bounded: a fixed number of places, in sets; in its set a new shape takes the
//! place of the one seen least, so that shapes that are seen once don't push out those that are seen all the time.
//! Must never: wait, or allocate for a shape that has its place; or keep a value of a statement.

use crate::common::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SETS: usize = 512;
const IN_A_SET: usize = 8;
/// Servers with a higher number are counted with the last.
const SERVERS: usize = 16;
/// A time moves a quantile by at most this part of it.
const STEP: f64 = 0.1;
const SLOWEST: f64 = 0.95;

/// One answer.
pub struct Seen<'a> {
    pub shape: u64,
    /// The query without its values.
    pub text: &'a str,
    pub server: usize,
    /// On a satellite.
    pub took: Option<Duration>,
    /// The number of its class by configuration, from 1 on; 0 for none.
    pub class: usize,
}

/// What is known of a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub shape: u64,
    pub text: String,
    pub count: u64,
    pub class: usize,
    /// In milliseconds, on satellites; nothing before one has answered.
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    /// By the number of the server.
    pub reads: Vec<(usize, u64)>,
}

pub struct Shapes {
    places: Box<[Place]>,
}

#[derive(Default)]
struct Place {
    /// 0: free.
    shape: AtomicU64,
    count: AtomicU64,
    class: AtomicU64,
    /// In microseconds.
    p50: AtomicU64,
    p95: AtomicU64,
    reads: [AtomicU64; SERVERS],
    text: Mutex<String>,
}

impl Default for Shapes {
    fn default() -> Self {
        let places = (0..SETS * IN_A_SET).map(|_| Place::default());
        Self {
            places: places.collect(),
        }
    }
}

impl Shapes {
    pub fn add(&self, seen: &Seen<'_>) {
        if seen.shape == 0 {
            return;
        }
        let first = seen.shape as usize % SETS * IN_A_SET;
        let set = &self.places[first..first + IN_A_SET];
        let known = set
            .iter()
            .find(|p| p.shape.load(Ordering::Acquire) == seen.shape);
        match known {
            Some(place) => place.count(seen),
            None => take_over(set, seen),
        }
    }

    /// Those that took most in all first.
    pub fn rows(&self, most: usize) -> Vec<Row> {
        let mut rows: Vec<Row> = self.places.iter().filter_map(Place::row).collect();
        let weight = |row: &Row| row.count as f64 * row.p50.unwrap_or_default().max(0.001);
        rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        rows.truncate(most);
        rows
    }
}

fn take_over(set: &[Place], seen: &Seen<'_>) {
    let least = set.iter().min_by_key(|p| p.count.load(Ordering::Relaxed));
    let Some((place, Ok(mut text))) = least.map(|place| (place, place.text.try_lock())) else {
        return;
    };
    place.shape.store(0, Ordering::Release);
    for cell in [&place.count, &place.p50, &place.p95]
        .into_iter()
        .chain(&place.reads)
    {
        cell.store(0, Ordering::Relaxed);
    }
    seen.text.clone_into(&mut text);
    place.count(seen);
    place.shape.store(seen.shape, Ordering::Release);
}

impl Place {
    /// An answer that is counted for a shape that leaves the place meanwhile is one of many.
    fn count(&self, seen: &Seen<'_>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.class.store(seen.class as u64, Ordering::Relaxed);
        self.reads[seen.server.min(SERVERS - 1)].fetch_add(1, Ordering::Relaxed);
        if let Some(took) = seen.took {
            let took = (took.as_micros() as f64).max(1.0);
            follow(&self.p50, took, 0.5);
            follow(&self.p95, took, SLOWEST);
        }
    }

    fn row(&self) -> Option<Row> {
        let text = lock(&self.text).clone();
        let shape = self.shape.load(Ordering::Acquire);
        let reads = self.reads.iter().map(|r| r.load(Ordering::Relaxed));
        let millis = |cell: &AtomicU64| match cell.load(Ordering::Relaxed) {
            0 => None,
            us => Some(us as f64 / 1e3),
        };
        (shape != 0).then(|| Row {
            shape,
            text,
            count: self.count.load(Ordering::Relaxed),
            class: self.class.load(Ordering::Relaxed) as usize,
            p50: millis(&self.p50),
            p95: millis(&self.p95),
            reads: reads.enumerate().filter(|(_, n)| *n > 0).collect(),
        })
    }
}

/// A quantile's step toward a time: up as often as it is above this share of them.
fn follow(quantile: &AtomicU64, took: f64, share: f64) {
    let known = quantile.load(Ordering::Relaxed) as f64;
    let next = match known {
        0.0 => took,
        _ if took < known => (known * (1.0 - STEP * (1.0 - share))).max(took),
        _ => (known * (1.0 + STEP * share)).min(took),
    };
    quantile.store((next.round() as u64).max(1), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(shape: u64, text: &str, server: usize, us: u64) -> Seen<'_> {
        Seen {
            shape,
            text,
            server,
            took: Some(Duration::from_micros(us)),
            class: 0,
        }
    }

    #[test]
    fn a_row_says_how_often_how_long_and_where() {
        let shapes = Shapes::default();
        for at in 0..2000u64 {
            let us = if at % 10 == 0 { 50_000 } else { 1_000 };
            shapes.add(&seen(7, "SELECT ?", 1 + (at % 2) as usize, us));
        }
        let rows = shapes.rows(10);
        assert_eq!((rows.len(), rows[0].count, rows[0].shape), (1, 2000, 7));
        assert_eq!(rows[0].reads, [(1, 1000), (2, 1000)]);
        let (p50, p95) = (rows[0].p50.unwrap(), rows[0].p95.unwrap());
        assert!((0.8..1.6).contains(&p50), "{p50}");
        assert!(p95 > 20.0, "{p95}");
    }

    #[test]
    fn shapes_seen_once_do_not_push_out_those_that_are_seen_all_the_time() {
        let shapes = Shapes::default();
        (0..100).for_each(|_| shapes.add(&seen(1, "SELECT a", 1, 10)));
        for other in 1..1000u64 {
            shapes.add(&seen(1 + other * SETS as u64, "SELECT b", 1, 10));
        }
        let rows = shapes.rows(100);
        assert_eq!((rows[0].shape, rows[0].count), (1, 100));
        assert_eq!(rows.len(), IN_A_SET);
    }

    #[test]
    fn what_took_most_in_all_comes_first_and_what_is_no_query_is_not_there() {
        let shapes = Shapes::default();
        shapes.add(&seen(0, "", 1, 10));
        (0..10).for_each(|_| shapes.add(&seen(1, "SELECT a", 1, 100)));
        shapes.add(&seen(2, "SELECT b", 99, 1_000_000));
        let rows = shapes.rows(100);
        let order: Vec<_> = rows.iter().map(|r| r.shape).collect();
        assert_eq!(order, [2, 1]);
        assert_eq!(rows[0].reads, [(SERVERS - 1, 1)]);
        assert_eq!(shapes.rows(1).len(), 1);
    }
}
