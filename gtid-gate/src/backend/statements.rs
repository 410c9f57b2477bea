//! The statements that the gate has run, by digest: how often, how long they took, where they ran and why there.
//!
//! In: each statement when its answer is through. Out: rows for an operator. Bounded: a fixed number of digests; a new one takes the
//! place of what was used least. Use is halved now and then, so that what was used much long ago goes, too.
//! Must never: hold its lock for longer than one statement's counts take, or keep a value of a statement.

use crate::common::lock;
use crate::common::why::Why;
use crate::ops::metrics::STATEMENT_BUCKETS;
use crate::sql::Digest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SHARDS: usize = 16;
const IN_A_SHARD: usize = 64;
/// Digests that are known at most.
pub const MOST_DIGESTS: usize = SHARDS * IN_A_SHARD;
/// After so many new digests in a shard, use counts half.
const HALVED_AFTER: u32 = 64;
/// More servers or reasons of one digest are counted with the last.
const MOST_KINDS: usize = 16;
const BUCKETS: usize = STATEMENT_BUCKETS.len() + 1;

/// One statement, when the last byte of its answer was passed on.
pub struct Ended<'a> {
    pub digest: &'a Arc<Digest>,
    /// The number of the server that ran it; nothing for the gate itself.
    pub server: Option<usize>,
    pub why: Why,
    pub is_read: bool,
    /// Of a read: the number of its class by configuration.
    pub class: Option<u8>,
    pub failed: bool,
    /// Until a server was chosen that is fresh enough.
    pub waited: Duration,
    /// From the command, as read, to the last byte of the answer.
    pub took: Duration,
}

/// What is known of a digest. Times are of statements from the command, as read, to the last byte of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementRow {
    pub digest: u64,
    pub text: Arc<str>,
    /// The last was a read, and its class by configuration.
    pub is_read: bool,
    pub class: Option<u8>,
    pub count: u64,
    pub errors: u64,
    pub total: Duration,
    pub p50: Duration,
    pub p99: Duration,
    pub max: Duration,
    /// Of `total`: until a server was chosen that is fresh enough.
    pub waited: Duration,
    /// By the number of the server, nothing for the gate itself; most first.
    pub servers: Vec<(Option<usize>, u64)>,
    /// Most first.
    pub why: Vec<(Why, u64)>,
}

#[derive(Default)]
pub struct Statements {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    known: HashMap<u64, Box<Known>>,
    new: u32,
}

struct Known {
    digest: Arc<Digest>,
    is_read: bool,
    class: Option<u8>,
    use_count: u64,
    count: u64,
    errors: u64,
    total: Duration,
    max: Duration,
    waited: Duration,
    buckets: [u64; BUCKETS],
    servers: Counts<Option<usize>>,
    why: Counts<Why>,
}

/// Few kinds, counted.
struct Counts<K>(Vec<(K, u64)>);

impl<K: Copy + PartialEq> Counts<K> {
    fn add(&mut self, kind: K) {
        let known = self.0.iter().position(|(k, _)| *k == kind);
        match known.or_else(|| (self.0.len() >= MOST_KINDS).then_some(MOST_KINDS - 1)) {
            Some(at) => self.0[at].1 += 1,
            None => self.0.push((kind, 1)),
        }
    }

    fn sorted(&self) -> Vec<(K, u64)> {
        let mut counts = self.0.clone();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}

impl Statements {
    pub fn add(&self, ended: &Ended<'_>) {
        let number = ended.digest.number;
        let mut shard = lock(&self.shards[number as usize % SHARDS]);
        match shard.known.get_mut(&number) {
            Some(known) => known.add(ended),
            None => shard.take_in(ended),
        }
    }

    /// Those that took most in all first.
    pub fn rows(&self) -> Vec<StatementRow> {
        let of_shard = |shard: &Mutex<Shard>| -> Vec<StatementRow> {
            lock(shard)
                .known
                .values()
                .map(|known| known.row())
                .collect()
        };
        let mut rows: Vec<StatementRow> = self.shards.iter().flat_map(of_shard).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.total));
        rows
    }
}

impl Shard {
    fn take_in(&mut self, ended: &Ended<'_>) {
        if self.known.len() >= IN_A_SHARD {
            let least = self.known.iter().min_by_key(|(_, known)| known.use_count);
            if let Some(least) = least.map(|(number, _)| *number) {
                self.known.remove(&least);
            }
            self.new += 1;
            if self.new.is_multiple_of(HALVED_AFTER) {
                self.known.values_mut().for_each(|k| k.use_count /= 2);
            }
        }
        let mut known = Box::new(Known::new(ended.digest.clone()));
        known.add(ended);
        self.known.insert(ended.digest.number, known);
    }
}

impl Known {
    fn new(digest: Arc<Digest>) -> Self {
        Self {
            digest,
            is_read: false,
            class: None,
            use_count: 0,
            count: 0,
            errors: 0,
            total: Duration::ZERO,
            max: Duration::ZERO,
            waited: Duration::ZERO,
            buckets: [0; BUCKETS],
            servers: Counts(Vec::new()),
            why: Counts(Vec::new()),
        }
    }

    fn add(&mut self, ended: &Ended<'_>) {
        (self.is_read, self.class) = (ended.is_read, ended.class);
        self.use_count += 1;
        self.count += 1;
        self.errors += u64::from(ended.failed);
        self.total += ended.took;
        self.max = self.max.max(ended.took);
        self.waited += ended.waited;
        let seconds = ended.took.as_secs_f64();
        self.buckets[STATEMENT_BUCKETS.partition_point(|bound| *bound < seconds)] += 1;
        self.servers.add(ended.server);
        self.why.add(ended.why);
    }

    fn row(&self) -> StatementRow {
        StatementRow {
            digest: self.digest.number,
            text: self.digest.text.clone(),
            is_read: self.is_read,
            class: self.class,
            count: self.count,
            errors: self.errors,
            total: self.total,
            p50: self.quantile(0.5),
            p99: self.quantile(0.99),
            max: self.max,
            waited: self.waited,
            servers: self.servers.sorted(),
            why: self.why.sorted(),
        }
    }

    /// Within its bucket evenly, and never more than the slowest took.
    fn quantile(&self, share: f64) -> Duration {
        let wanted = share * self.count as f64;
        let mut below = 0.0;
        for (at, count) in self.buckets.iter().enumerate() {
            let count = *count as f64;
            if count > 0.0 && below + count >= wanted {
                let lower = at.checked_sub(1).map_or(0.0, |at| STATEMENT_BUCKETS[at]);
                let most = self.max.as_secs_f64();
                let upper = STATEMENT_BUCKETS.get(at).map_or(most, |b| b.min(most));
                let part = (wanted - below) / count;
                return Duration::from_secs_f64(lower + (upper - lower).max(0.0) * part)
                    .min(self.max);
            }
            below += count;
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u64) -> Arc<Digest> {
        Arc::new(Digest {
            number,
            text: format!("SELECT {number}").into(),
        })
    }

    fn add(statements: &Statements, digest: &Arc<Digest>, server: Option<usize>, us: u64) {
        statements.add(&Ended {
            digest,
            server,
            why: server.map_or(Why::Gate, |_| Why::Fresh),
            is_read: true,
            class: None,
            failed: us > 1_000_000,
            waited: Duration::from_micros(us / 2),
            took: Duration::from_micros(us),
        });
    }

    #[test]
    fn a_row_says_how_often_how_long_and_where() {
        let (statements, one) = (Statements::default(), digest(7));
        for at in 0..1000u64 {
            let us = if at % 20 == 0 { 50_000 } else { 1_000 };
            add(&statements, &one, Some(1 + (at % 4 == 0) as usize), us);
        }
        add(&statements, &one, None, 2_000_000);
        let rows = statements.rows();
        let row = &rows[0];
        assert_eq!(
            (rows.len(), row.count, row.errors, row.digest),
            (1, 1001, 1, 7)
        );
        assert_eq!(row.servers, [(Some(1), 750), (Some(2), 250), (None, 1)]);
        assert_eq!(row.why, [(Why::Fresh, 1000), (Why::Gate, 1)]);
        assert_eq!(row.max, Duration::from_secs(2));
        assert_eq!(row.waited * 2, row.total);
        let millis = |d: Duration| d.as_secs_f64() * 1e3;
        assert!((0.5..=1.7).contains(&millis(row.p50)), "{:?}", row.p50);
        assert!((25.0..=103.0).contains(&millis(row.p99)), "{:?}", row.p99);
    }

    #[test]
    fn thousands_of_digests_take_a_bounded_number_of_rows_and_what_is_used_stays() {
        let (statements, used) = (Statements::default(), digest(5));
        for other in 0..10_000u64 {
            add(&statements, &digest(1_000 + other), Some(1), 10);
            if other % 100 == 0 {
                (0..10).for_each(|_| add(&statements, &used, Some(1), 10));
            }
        }
        let rows = statements.rows();
        assert_eq!(rows.len(), MOST_DIGESTS);
        let row = rows.iter().find(|row| row.digest == 5);
        assert_eq!(row.map(|row| row.count), Some(1_000));
    }

    #[test]
    fn what_was_used_much_long_ago_goes_when_others_are_used_now() {
        let statements = Statements::default();
        let of_one_shard = |at: u64| digest(at * SHARDS as u64);
        for at in 0..IN_A_SHARD as u64 {
            (0..100).for_each(|_| add(&statements, &of_one_shard(at), Some(1), 10));
        }
        for at in 0..10_000u64 {
            let (one, other) = (of_one_shard(1_000), of_one_shard(1_001 + at % 50));
            add(&statements, &one, Some(1), 10);
            add(&statements, &other, Some(1), 10);
        }
        let is_known = |at: u64| statements.rows().iter().any(|r| r.digest == at * 16);
        assert!((1_000..1_051).all(is_known));
    }

    #[test]
    fn many_servers_and_reasons_take_a_bounded_number_of_counts() {
        let (statements, one) = (Statements::default(), digest(7));
        (0..100).for_each(|id| add(&statements, &one, Some(id), 10));
        let rows = statements.rows();
        let all: u64 = rows[0].servers.iter().map(|(_, count)| count).sum();
        assert_eq!((rows[0].servers.len(), all), (MOST_KINDS, 100));
    }
}
