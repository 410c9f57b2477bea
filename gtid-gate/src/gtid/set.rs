//! GTIDs and sets of them, as MySQL means them.
//!
//! In: MySQL's text forms (`gtid_executed`, `gtid_owned`, session tracker). Out: sets that can be compared
//! and joined. `contains_set` decides for every read whether a server is fresh enough, so it allocates nothing.
//! Must never: accept text that MySQL would refuse, or read more out of text than it says.

use super::interval::{Interval, Intervals};

/// The largest transaction number that MySQL gives: 2^63 - 2.
pub const MAX_NUMBER: u64 = i64::MAX as u64 - 1;

/// Text that is not a GTID set in MySQL's form; `at` counts bytes from the start of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed gtid set at byte {at}: {what}")]
pub struct GtidError {
    pub at: usize,
    pub what: &'static str,
}

/// A tag of MySQL 8.3 and later: up to 32 of `a-z 0-9 _`, lower case, not starting with a digit; empty for none.
/// Zero padded, so that comparing bytes is comparing tags.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tag(pub(super) [u8; 32]);

/// Whose numbers these are. Orders as MySQL prints: by uuid, then untagged first, then by tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    pub uuid: [u8; 16],
    pub tag: Tag,
}

/// One transaction. `number` is in 1..=[`MAX_NUMBER`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Gtid {
    pub source: Source,
    pub number: u64,
}

/// A set of GTIDs. Sources are sorted and distinct, and none is there without a number: equal sets are `==`.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct GtidSet {
    pub(super) sources: Vec<(Source, Intervals)>,
}

impl GtidSet {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// How many transactions; stays at `u64::MAX` beyond it.
    pub fn count(&self) -> u64 {
        let per_source = self.sources.iter().map(|(_, i)| i.count());
        per_source.fold(0, u64::saturating_add)
    }

    /// The GTID, if it is one.
    pub fn only(&self) -> Option<Gtid> {
        let [(source, intervals)] = self.sources.as_slice() else {
            return None;
        };
        let (first, count) = (intervals.iter().next()?, intervals.count());
        (count == 1).then_some(Gtid {
            source: *source,
            number: first.start,
        })
    }

    pub fn contains(&self, gtid: &Gtid) -> bool {
        self.intervals(&gtid.source)
            .is_some_and(|i| i.contains(gtid.number))
    }

    /// Whether every GTID of `other` is in `self`. Allocates nothing.
    pub fn contains_set(&self, other: &GtidSet) -> bool {
        let mut rest = self.sources.as_slice();
        other.sources.iter().all(|(source, wanted)| {
            while let Some((first, have)) = rest.first() {
                if first >= source {
                    return first == source && have.contains_all(wanted);
                }
                rest = &rest[1..];
            }
            false
        })
    }

    /// What it has of one source.
    pub fn of(&self, source: &Source) -> GtidSet {
        let own = self.intervals(source).map(|i| (*source, i.clone()));
        GtidSet {
            sources: own.into_iter().collect(),
        }
    }

    pub fn intersects(&self, other: &GtidSet) -> bool {
        let shared = |(source, theirs): &(Source, Intervals)| {
            self.intervals(source).is_some_and(|i| i.intersects(theirs))
        };
        other.sources.iter().any(shared)
    }

    pub fn insert(&mut self, gtid: Gtid) {
        self.insert_interval(gtid.source, Interval::one(gtid.number));
    }

    pub fn union_with(&mut self, other: &GtidSet) {
        for (source, theirs) in &other.sources {
            match self.position(source) {
                Ok(at) => self.sources[at].1.union_with(theirs),
                Err(at) => self.sources.insert(at, (*source, theirs.clone())),
            }
        }
    }

    /// Removes from `self` what is in `other`.
    pub fn subtract(&mut self, other: &GtidSet) {
        self.sources.retain_mut(|(source, mine)| {
            if let Some(theirs) = other.intervals(source) {
                mine.subtract(theirs);
            }
            !mine.is_empty()
        });
    }

    /// Adds, source by source, all numbers below the last one.
    pub fn fill(&mut self) {
        for (_, intervals) in &mut self.sources {
            intervals.fill();
        }
    }

    pub(super) fn insert_interval(&mut self, source: Source, interval: Interval) {
        match self.position(&source) {
            Ok(at) => self.sources[at].1.insert(interval),
            Err(at) => self.sources.insert(at, (source, interval.into())),
        }
    }

    fn position(&self, source: &Source) -> Result<usize, usize> {
        self.sources.binary_search_by(|(s, _)| s.cmp(source))
    }

    fn intervals(&self, source: &Source) -> Option<&Intervals> {
        let at = self.position(source).ok()?;
        Some(&self.sources[at].1)
    }
}

impl FromIterator<Gtid> for GtidSet {
    fn from_iter<I: IntoIterator<Item = Gtid>>(gtids: I) -> Self {
        let mut set = GtidSet::new();
        gtids.into_iter().for_each(|gtid| set.insert(gtid));
        set
    }
}
