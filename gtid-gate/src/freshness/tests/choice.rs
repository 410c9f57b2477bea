//! The choice of a server against random clusters and loads, simulated: each server shares its cores among what runs there.
//!
//! Time goes in steps of half a millisecond. Clients read one after the other, each with one digest; the gate's own rules decide (times,
//! prices, the budget of the master), and the servers answer as processor sharing has it. Shown of each run: work is not left
//! lying while servers idle, no client starves, and servers that stall or come back are left and used again.

use crate::backend::{DigestTimes, Known, ServerTimes};
use crate::freshness::price::{Expected, Price, is_worth_master, soonest, turn_in};
use crate::freshness::spare::Spare;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

const STEP: f64 = 0.000_5;
const MASTER: usize = 0;

#[derive(Debug, Clone)]
struct Cluster {
    /// The master's first.
    cores: Vec<f64>,
    /// What the clients read, in seconds of a core.
    reads: Vec<f64>,
    /// The load of writes on the master, in cores, from a fifth to three fifths of the run.
    writes: f64,
    /// One satellite is so many times slower meanwhile.
    stall: f64,
    limit: usize,
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let cores = prop::collection::vec(1u32..=8, 2..6);
    let reads = prop::collection::vec(-4.0f64..-1.5, 1..40);
    (cores, reads, 0.0f64..4.0, 1.0f64..20.0, 2usize..64).prop_map(
        |(cores, reads, writes, stall, limit)| Cluster {
            cores: cores.into_iter().map(f64::from).collect(),
            reads: reads.into_iter().map(|exp| 10f64.powf(exp)).collect(),
            writes,
            stall,
            limit,
        },
    )
}

struct Running {
    client: usize,
    left: f64,
    began: f64,
    beside: usize,
    expected: f64,
}

struct Run {
    cluster: Cluster,
    times: Vec<ServerTimes>,
    spare: Spare,
    /// By server: those that run, and those that wait for a turn.
    running: Vec<Vec<Running>>,
    queued: Vec<Vec<Running>>,
    start: Instant,
    now: f64,
    length: f64,
    done: Vec<u32>,
    longest: Vec<f64>,
    since: Vec<f64>,
    been: Vec<usize>,
    master_work: f64,
    /// Work of reads that was done, and what all cores could have done, while some satellite had nothing to do.
    idle_while_queued: f64,
    question: f64,
}

impl Run {
    fn new(cluster: Cluster) -> Self {
        let (servers, clients) = (cluster.cores.len(), cluster.reads.len());
        let start = Instant::now();
        let digests = Arc::new(DigestTimes::new(Duration::ZERO));
        let times = |server| ServerTimes::new(digests.clone(), server, server != MASTER);
        Self {
            times: (0..servers).map(times).collect(),
            spare: Spare::new(start),
            running: (0..servers).map(|_| Vec::new()).collect(),
            queued: (0..servers).map(|_| Vec::new()).collect(),
            start,
            now: 0.0,
            length: 1.0,
            done: vec![0; clients],
            longest: vec![0.0; clients],
            since: vec![0.0; clients],
            been: vec![usize::MAX; clients],
            master_work: 0.0,
            idle_while_queued: 0.0,
            question: 0.0,
            cluster,
        }
    }

    fn instant(&self) -> Instant {
        self.start + Duration::from_secs_f64(self.now)
    }

    fn is_troubled(&self) -> bool {
        (0.2..0.6).contains(&(self.now / self.length))
    }

    fn digest(&self, client: usize) -> u64 {
        client as u64 + 1
    }

    fn price(&self, server: usize, client: usize) -> Price {
        let (here, now) = (&self.running[server], self.instant());
        let busy = here.len() + self.queued[server].len();
        let known = |s: usize| self.times[s].known(self.digest(client), now);
        let others = (1..self.times.len())
            .filter_map(known)
            .map(|k| k.time)
            .min();
        let usual = match known(server) {
            Some(Known {
                time,
                is_old: false,
            }) => Some(time),
            Some(Known { time, .. }) => others.map(|o| o.min(time)),
            None => others,
        };
        let answer = usual.map_or(0.001, |t| t.as_secs_f64())
            * self.times[server].slowdown(busy.min(self.cluster.limit - 1), now);
        let work: f64 = here
            .iter()
            .chain(&self.queued[server])
            .map(|r| r.expected)
            .sum();
        let expected = Expected {
            fresh: 0.0,
            turn: turn_in(busy, self.cluster.limit, work / busy.max(1) as f64),
            answer,
        };
        Price {
            rank: 0,
            seconds: expected.seconds(),
            answer,
            running: busy,
            known: self.been[client] == server,
        }
    }

    /// The server, and what the read should take there.
    fn choose(&mut self, client: usize) -> (usize, f64) {
        let offers: Vec<_> = (1..self.times.len())
            .map(|s| (s, self.price(s, client)))
            .collect();
        let (server, price) = soonest(offers.iter().map(|o| (*o, o.1))).expect("satellites");
        let known = self.times[MASTER].expect(
            self.digest(client),
            self.running[MASTER].len(),
            self.instant(),
        );
        let master = known.map_or(price.answer / 4.0, |time| time.as_secs_f64());
        let worth = is_worth_master(price.seconds, master, self.spare.premium());
        match worth && self.spare.take(self.instant()) {
            true => (MASTER, master),
            false => (server, price.answer),
        }
    }

    fn send(&mut self, client: usize) {
        let (server, expected) = self.choose(client);
        self.been[client] = server;
        self.since[client] = self.now;
        let read = Running {
            client,
            left: self.cluster.reads[client],
            began: self.now,
            beside: 0,
            expected,
        };
        self.queued[server].push(read);
    }

    fn start_queued(&mut self, server: usize) {
        let limit = if server == MASTER {
            usize::MAX
        } else {
            self.cluster.limit
        };
        while self.running[server].len() < limit && !self.queued[server].is_empty() {
            let mut read = self.queued[server].remove(0);
            read.began = self.now;
            read.beside = self.running[server].len() + 1;
            self.running[server].push(read);
        }
    }

    /// What each statement there gets in one step.
    fn share(&self, server: usize) -> f64 {
        let troubled = self.is_troubled();
        let cores = match server {
            1 if troubled => self.cluster.cores[server] / self.cluster.stall,
            _ => self.cluster.cores[server],
        };
        let writes = if server == MASTER && troubled {
            self.cluster.writes
        } else {
            0.0
        };
        (cores / (self.running[server].len() as f64 + writes).max(1.0)).min(1.0) * STEP
    }

    fn step(&mut self) {
        (0..self.times.len()).for_each(|server| self.start_queued(server));
        // The one that stalls is left alone with good reason.
        let idle = (2..self.times.len()).any(|s| self.running[s].is_empty());
        if idle && (1..self.times.len()).any(|s| self.queued[s].len() > 1) {
            self.idle_while_queued += STEP;
        }
        for server in 0..self.times.len() {
            let share = self.share(server);
            if server == MASTER {
                self.question = 0.000_2 * STEP / share.max(1e-9);
            }
            self.running[server]
                .iter_mut()
                .for_each(|r| r.left -= share);
            let (ended, running) = std::mem::take(&mut self.running[server])
                .into_iter()
                .partition(|r| r.left <= 0.0);
            self.running[server] = running;
            let ended: Vec<Running> = ended;
            ended.into_iter().for_each(|read| self.end(server, read));
        }
        self.now += STEP;
    }

    fn end(&mut self, server: usize, read: Running) {
        let took = Duration::from_secs_f64(self.now + STEP - read.began);
        let digest = self.digest(read.client);
        self.times[server].add(digest, took, read.beside, self.instant());
        if server == MASTER {
            self.spare.spend(took);
            self.spare.done(Duration::ZERO);
            self.master_work += self.cluster.reads[read.client];
        }
        self.done[read.client] += 1;
        let all = self.now - self.since[read.client];
        self.longest[read.client] = self.longest[read.client].max(all);
        self.send(read.client);
    }

    fn finish(&mut self) {
        (0..self.done.len()).for_each(|client| self.send(client));
        let mut asked = 0.0;
        while self.now < self.length {
            if self.now >= asked {
                let took = Duration::from_secs_f64(self.question.max(0.000_2));
                self.spare.answered(took, self.instant());
                asked = self.now + 0.005;
            }
            self.step();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn no_cluster_and_no_load_make_the_choice_unstable_or_starve_a_client(cluster in cluster()) {
        let mut run = Run::new(cluster);
        run.finish();
        let clients = run.done.len() as f64;
        let slowest = run.cluster.reads.iter().fold(0.0f64, |a, b| a.max(*b));
        let cores: f64 = run.cluster.cores[1..].iter().sum();
        let fewest = run.cluster.cores[1..].iter().fold(f64::INFINITY, |a, b| a.min(*b));
        let crowd = 1.0 + clients.min(run.cluster.limit as f64) / fewest;
        for (client, done) in run.done.iter().enumerate() {
            // As if all others were before it, and as many as may run were beside it where the cores are fewest, and one stalls.
            let fair = (run.cluster.reads.iter().sum::<f64>() / cores + slowest * crowd) * run.cluster.stall * 4.0;
            prop_assert!(*done > 0 || fair > run.length / 2.0, "client {client} starves");
            prop_assert!(run.longest[client] < fair.max(0.05), "{client}: {} of {fair}", run.longest[client]);
        }
        prop_assert!(run.idle_while_queued < 0.25 * run.length + slowest * clients, "{}", run.idle_while_queued);
        let most = 0.8 * run.length + 0.1;
        prop_assert!(run.master_work <= most, "{} on the master", run.master_work);
    }
}

/// The trap of a server that is avoided because it was slow: it looks idle, and all go there at once.
#[test]
fn a_satellite_that_recovers_is_used_again_and_not_flooded() {
    let cluster = Cluster {
        cores: vec![1.0, 2.0, 2.0],
        reads: vec![0.001; 24],
        writes: 0.0,
        stall: 20.0,
        limit: 64,
    };
    let mut run = Run::new(cluster);
    run.length = 8.0;
    (0..24).for_each(|client| run.send(client));
    let (mut most, mut least) = (0, usize::MAX);
    while run.now < run.length {
        run.step();
        if run.now > 0.6 * run.length {
            most = most.max(run.running[1].len());
        }
        if run.now > 0.9 * run.length {
            least = least.min(run.running[1].len());
        }
    }
    assert!(most <= 20, "{most} of 24 at once");
    assert!(least >= 3, "{least} of 24");
}
