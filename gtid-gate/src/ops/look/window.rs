//! Quantiles of the last seconds, from counts that only rise.
//!
//! In: a histogram's buckets, once a second. Out: quantiles of what came in meanwhile. Must never: mix two lives of who counts.

use std::collections::VecDeque;

/// Of this many snapshots: fewer answers make a p99 of chance.
const SPAN: usize = 10;

/// Upper bounds, and how many were below each.
pub type Buckets = Vec<(f64, u64)>;

#[derive(Default)]
pub struct Window(VecDeque<Buckets>);

impl Window {
    pub fn add(&mut self, buckets: Buckets) {
        let is_other = |last: &Buckets| {
            let falls = |(old, new): (&(f64, u64), &(f64, u64))| new.1 < old.1 || new.0 != old.0;
            last.len() != buckets.len() || last.iter().zip(&buckets).any(falls)
        };
        if self.0.back().is_some_and(is_other) {
            self.0.clear();
        }
        self.0.push_back(buckets);
        if self.0.len() > SPAN + 1 {
            self.0.pop_front();
        }
    }

    /// Within the bucket evenly; nothing if nothing came.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let since = first
            .iter()
            .zip(last)
            .map(|(old, new)| (new.0, new.1 - old.1));
        let since: Vec<(f64, u64)> = since.collect();
        let all = since.last().filter(|(_, count)| *count > 0)?.1 as f64;
        let (mut lower, mut below) = (0.0, 0.0);
        for (bound, count) in since {
            let count = count as f64;
            if count >= share * all && count > below {
                let part = (share * all - below) / (count - below);
                return Some(match bound.is_finite() {
                    true => lower + (bound - lower) * part.max(0.0),
                    false => lower,
                });
            }
            (lower, below) = (bound, count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(below: [u64; 3]) -> Buckets {
        [1.0, 2.0, f64::INFINITY].into_iter().zip(below).collect()
    }

    #[test]
    fn only_what_came_in_the_last_seconds_counts() {
        let mut window = Window::default();
        window.add(at([1000, 1000, 1000]));
        assert_eq!(window.quantile(0.5), None);
        window.add(at([1000, 1010, 1010]));
        assert_eq!(window.quantile(0.5), Some(1.5));
        (0..20).for_each(|_| window.add(at([1000, 1010, 1010])));
        assert_eq!(window.quantile(0.5), None);
    }

    #[test]
    fn what_is_above_all_bounds_is_at_least_the_last_of_them() {
        let mut window = Window::default();
        window.add(at([0, 0, 0]));
        window.add(at([0, 0, 5]));
        assert_eq!(window.quantile(0.99), Some(2.0));
    }

    #[test]
    fn who_counts_from_the_beginning_again_begins_anew() {
        let mut window = Window::default();
        window.add(at([5, 5, 5]));
        window.add(at([1, 1, 1]));
        assert_eq!(window.quantile(0.5), None);
        window.add(at([3, 3, 3]));
        assert_eq!(window.quantile(0.5), Some(0.5));
    }
}
