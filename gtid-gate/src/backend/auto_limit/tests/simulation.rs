//! A satellite whose cores are shared equally by all that runs on it, clients that each send their next read when the last one
//! was answered, and an applier. Pure: time is simulated, chance is a seed.

use super::super::{AutoLimit, Ended};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

/// Reads of one digest: how many of all, and what one needs of a core on average, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Reads(pub f64, pub f64);

/// What the cluster is from some second on.
#[derive(Debug, Clone)]
pub struct Phase {
    pub until: f64,
    pub cores: f64,
    /// A part of each 100 ms, as Linux gives it to a container: then all stands still.
    pub quota: f64,
    pub clients: usize,
    pub mix: Vec<Reads>,
    /// What all reads need, in proportion to the mix.
    pub cost: f64,
    /// Transactions a second, and what each needs of a core, in milliseconds. Without cost the applier stands still.
    pub writes: (f64, f64),
}

impl Phase {
    pub fn new(until: f64, cores: f64, clients: usize, mix: &[Reads]) -> Self {
        Self {
            until,
            cores,
            quota: 1.0,
            clients,
            mix: mix.to_vec(),
            cost: 1.0,
            writes: (0.0, 0.0),
        }
    }
}

/// What is seen of one simulated tenth of a second.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tenth {
    pub limit: usize,
    /// Seconds of a core that ended reads have needed.
    pub work: f64,
    pub lag: f64,
}

pub struct Run {
    pub tenths: Vec<Tenth>,
    /// When a read was answered, and after how long.
    pub latencies: Vec<(f64, f64)>,
}

impl Run {
    fn between(&self, from: f64, to: f64) -> &[Tenth] {
        &self.tenths[(from * 10.0) as usize..(to * 10.0) as usize]
    }

    pub fn work(&self, from: f64, to: f64) -> f64 {
        let all = self.between(from, to);
        all.iter().map(|t| t.work).sum::<f64>() / (to - from)
    }

    pub fn limit(&self, from: f64, to: f64) -> f64 {
        let all = self.between(from, to);
        all.iter().map(|t| t.limit as f64).sum::<f64>() / all.len() as f64
    }

    /// At nine looks of ten it was no more.
    pub fn lag(&self, from: f64, to: f64) -> f64 {
        let mut all: Vec<f64> = self.between(from, to).iter().map(|t| t.lag).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() * 9 / 10]
    }

    pub fn p99(&self, from: f64, to: f64) -> f64 {
        let within = self
            .latencies
            .iter()
            .filter(|(at, _)| (from..to).contains(at));
        let mut all: Vec<f64> = within.map(|(_, took)| *took).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() * 99 / 100]
    }
}

/// Answers need so long on their way, whatever runs.
const WAY: f64 = 0.000_05;
const QUOTA_PERIOD: f64 = 0.1;

#[derive(Clone, Copy)]
struct Read {
    arrived: f64,
    began: f64,
    digest: usize,
    needs: f64,
}

/// Ordered by what comes first.
#[derive(PartialEq)]
struct At(f64, usize);
impl Eq for At {}
impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

pub enum Rule {
    Auto(Box<AutoLimit>),
    Fixed(usize),
}

struct Satellite {
    now: f64,
    start: Instant,
    rule: Rule,
    seed: u64,
    /// What each that runs has got of a core so far.
    shared: f64,
    running: BinaryHeap<Reverse<At>>,
    on_their_way: BinaryHeap<Reverse<At>>,
    reads: Vec<Read>,
    free: Vec<usize>,
    queue: VecDeque<(f64, usize, f64)>,
    in_turn: usize,
    clients: usize,
    /// Commits that are not applied yet, and when `shared` has what the first one needs.
    backlog: VecDeque<f64>,
    applied_at: Option<f64>,
    next_write: f64,
    tenth: Tenth,
    run: Run,
}

pub fn auto(most: usize) -> Rule {
    Rule::Auto(Box::new(AutoLimit::new(most, Instant::now())))
}

pub fn simulate(rule: Rule, phases: &[Phase], seed: u64) -> Run {
    let mut satellite = Satellite {
        now: 0.0,
        start: Instant::now(),
        rule,
        seed: seed.wrapping_mul(2) | 1,
        shared: 0.0,
        running: BinaryHeap::new(),
        on_their_way: BinaryHeap::new(),
        reads: Vec::new(),
        free: Vec::new(),
        queue: VecDeque::new(),
        in_turn: 0,
        clients: 0,
        backlog: VecDeque::new(),
        applied_at: None,
        next_write: 0.0,
        tenth: Tenth::default(),
        run: Run {
            tenths: Vec::new(),
            latencies: Vec::new(),
        },
    };
    if let Rule::Auto(auto) = &mut satellite.rule {
        **auto = AutoLimit::new(auto.most as usize, satellite.start);
    }
    phases.iter().for_each(|phase| satellite.live(phase));
    satellite.run
}

impl Satellite {
    fn live(&mut self, phase: &Phase) {
        self.next_write = self.now + 0.001_3;
        while self.clients < phase.clients {
            self.clients += 1;
            self.arrive(phase);
        }
        while self.now < phase.until {
            self.begin_those_that_may();
            self.next_event(phase);
        }
    }

    fn chance(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }

    fn arrive(&mut self, phase: &Phase) {
        let mut chance = self.chance() * phase.mix.iter().map(|s| s.0).sum::<f64>();
        let found = phase.mix.iter().position(|digest| {
            chance -= digest.0;
            chance < 0.0
        });
        let digest = found.unwrap_or(0);
        let Reads(_, ms) = phase.mix[digest];
        // Half of it the same for all values, half by chance.
        let varies = 0.5 - 0.5 * self.chance().max(1e-9).ln();
        let needs = ms / 1000.0 * phase.cost * varies;
        // Digests of other times are other digests.
        self.queue
            .push_back((self.now, (ms * 1000.0) as usize, needs));
    }

    fn limit(&self) -> usize {
        match &self.rule {
            Rule::Auto(auto) => auto.limit(),
            Rule::Fixed(limit) => *limit,
        }
    }

    fn begin_those_that_may(&mut self) {
        while self.in_turn < self.limit()
            && let Some((arrived, digest, needs)) = self.queue.pop_front()
        {
            let read = Read {
                arrived,
                began: self.now,
                digest,
                needs,
            };
            let at = match self.free.pop() {
                Some(at) => {
                    self.reads[at] = read;
                    at
                }
                None => {
                    self.reads.push(read);
                    self.reads.len() - 1
                }
            };
            self.in_turn += 1;
            self.on_their_way.push(Reverse(At(self.now + WAY, at)));
        }
    }

    /// What each that runs gets of a core now, and until when.
    fn speed(&self, phase: &Phase) -> (f64, f64) {
        let all = self.running.len() + usize::from(self.applied_at.is_some());
        let each = (phase.cores / all.max(1) as f64).min(1.0);
        if phase.quota >= 1.0 {
            return (each, f64::INFINITY);
        }
        let period = (self.now / QUOTA_PERIOD + 1e-9).floor() * QUOTA_PERIOD;
        // As many milliseconds as all cores need to use it up.
        let on = period + QUOTA_PERIOD * phase.quota;
        match self.now + 1e-9 < on {
            true => (each, on),
            false => (0.0, period + QUOTA_PERIOD),
        }
    }

    fn next_event(&mut self, phase: &Phase) {
        let (speed, changes) = self.speed(phase);
        let when = |shared: f64| match speed > 0.0 {
            true => self.now + (shared - self.shared).max(0.0) / speed,
            false => f64::INFINITY,
        };
        let ends = self.running.peek().map(|Reverse(at)| when(at.0));
        let applied = self.applied_at.map(when);
        let arrives = self.on_their_way.peek().map(|Reverse(at)| at.0);
        let writes = (phase.writes.0 > 0.0).then_some(self.next_write);
        let tenth = (self.run.tenths.len() + 1) as f64 / 10.0;
        let first = [ends, applied, arrives, writes, Some(changes), Some(tenth)];
        let first = first.iter().flatten().fold(f64::INFINITY, |a, b| a.min(*b));
        let first = first.max(self.now);
        self.shared += (first - self.now) * speed;
        self.now = first;
        if writes == Some(first) {
            self.backlog.push_back(first);
            self.next_write += 1.0 / phase.writes.0;
            self.apply_next(phase);
        } else if applied == Some(first) {
            self.backlog.pop_front();
            self.applied_at = None;
            self.apply_next(phase);
        } else if arrives == Some(first) {
            if let Some(Reverse(At(_, at))) = self.on_their_way.pop() {
                let ends = self.shared + self.reads[at].needs;
                self.running.push(Reverse(At(ends, at)));
            }
        } else if ends == Some(first) {
            if let Some(Reverse(At(_, at))) = self.running.pop() {
                self.end(at, phase);
            }
        } else if tenth <= first {
            self.end_of_a_tenth();
        }
    }

    fn apply_next(&mut self, phase: &Phase) {
        if self.applied_at.is_none() && !self.backlog.is_empty() && phase.writes.1 > 0.0 {
            self.applied_at = Some(self.shared + phase.writes.1 / 1000.0);
        }
    }

    fn lag(&self) -> f64 {
        self.backlog.front().map_or(0.0, |at| self.now - at)
    }

    fn at(&self, time: f64) -> Instant {
        self.start + Duration::from_secs_f64(time)
    }

    fn end(&mut self, at: usize, phase: &Phase) {
        let read = self.reads[at];
        self.free.push(at);
        self.in_turn -= 1;
        self.tenth.work += read.needs / phase.cost;
        self.run.latencies.push((self.now, self.now - read.arrived));
        let (now, lag) = (self.at(self.now), self.lag());
        let waited = !self.queue.is_empty();
        if let Rule::Auto(auto) = &mut self.rule {
            let ended = Ended {
                digest: read.digest as u64,
                took: Duration::from_secs_f64(self.now - read.began),
                waited,
                running: self.in_turn + 1,
            };
            if auto.ended(&ended, now).look && phase.writes.0 > 0.0 {
                auto.lags(Duration::from_secs_f64(lag), now);
            }
        }
        match self.clients > phase.clients {
            true => self.clients -= 1,
            false => self.arrive(phase),
        }
    }

    fn end_of_a_tenth(&mut self) {
        self.tenth.limit = self.limit();
        self.tenth.lag = self.lag();
        self.run.tenths.push(std::mem::take(&mut self.tenth));
    }
}
