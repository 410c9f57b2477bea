//! The numbers of one source: sorted intervals with a gap between any two of them.
//!
//! In: intervals in any order. Out: set operations in one pass. Must never: keep touching or empty intervals,
//! because equality of sets is equality of their lists.

/// `start..end`, end excluded, never empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Interval {
    pub start: u64,
    pub end: u64,
}

impl Interval {
    pub fn one(number: u64) -> Self {
        Self::inclusive(number, number)
    }

    pub fn inclusive(first: u64, last: u64) -> Self {
        Self {
            start: first,
            end: last.saturating_add(1),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Intervals(Vec<Interval>);

impl From<Interval> for Intervals {
    fn from(interval: Interval) -> Self {
        Self(vec![interval])
    }
}

impl Intervals {
    pub fn iter(&self) -> impl Iterator<Item = &Interval> {
        self.0.iter()
    }

    pub fn fill(&mut self) {
        if let Some(last) = self.0.last() {
            *self = Interval { start: 1, ..*last }.into();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|i| i.end - i.start).sum()
    }

    pub fn contains(&self, number: u64) -> bool {
        self.holds(&Interval::one(number))
    }

    pub fn contains_all(&self, other: &Intervals) -> bool {
        other.0.iter().all(|i| self.holds(i))
    }

    pub fn intersects(&self, other: &Intervals) -> bool {
        let overlaps = |i: &Interval| {
            self.0
                .get(self.reaching(i.start))
                .is_some_and(|m| m.start < i.end)
        };
        other.0.iter().any(overlaps)
    }

    /// Adds one interval, swallowing every interval that it overlaps or touches.
    pub fn insert(&mut self, new: Interval) {
        let from = self.0.partition_point(|i| i.end < new.start);
        let to = from + self.0[from..].partition_point(|i| i.start <= new.end);
        if from == to {
            self.0.insert(from, new);
            return;
        }
        let merged = Interval {
            start: new.start.min(self.0[from].start),
            end: new.end.max(self.0[to - 1].end),
        };
        self.0[from] = merged;
        self.0.drain(from + 1..to);
    }

    pub fn union_with(&mut self, other: &Intervals) {
        other.0.iter().for_each(|i| self.insert(*i));
    }

    pub fn subtract(&mut self, other: &Intervals) {
        let mut left = Vec::with_capacity(self.0.len());
        for mine in &self.0 {
            let mut start = mine.start;
            let cuts = &other.0[other.reaching(mine.start)..];
            for cut in cuts.iter().take_while(|c| c.start < mine.end) {
                push_unless_empty(&mut left, start, cut.start);
                start = cut.end;
            }
            push_unless_empty(&mut left, start, mine.end);
        }
        self.0 = left;
    }

    fn holds(&self, wanted: &Interval) -> bool {
        let candidate = self.0.get(self.reaching(wanted.start));
        candidate.is_some_and(|i| i.start <= wanted.start && wanted.end <= i.end)
    }

    /// The first interval that ends after `number`.
    fn reaching(&self, number: u64) -> usize {
        self.0.partition_point(|i| i.end <= number)
    }
}

fn push_unless_empty(list: &mut Vec<Interval>, start: u64, end: u64) {
    if start < end {
        list.push(Interval { start, end });
    }
}
