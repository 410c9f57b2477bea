//! Which server a read is let to, while a scripted master says what has been committed.

use super::*;
use crate::backend::Servers;
use crate::common::consistency::{AfterWait, Level, MasterReads, Policy};
use crate::sql::understand;
use std::sync::atomic::Ordering;

struct Fixture {
    shared: Arc<Shared>,
    gate: Gate,
    satellite: Arc<Server>,
    seen: History,
}

impl Fixture {
    /// A gate of its own over one satellite, with this way to ask the master.
    fn new(shared: Arc<Shared>, ask: impl FnOnce(&Shared) -> ReadIndex) -> Self {
        let servers = Servers::new(&shared.config);
        let satellite = servers.add(shared.config.satellites[0].clone()).unwrap();
        let index = ask(&shared);
        let gate = Gate::new(&shared.config, servers, index, shared.metrics.clone());
        Self {
            shared,
            gate,
            satellite,
            seen: History::default(),
        }
    }

    fn read(&self, level: Level, after_wait: AfterWait) -> Request<'_> {
        Request {
            arrived: Instant::now(),
            policy: Policy {
                level,
                wait: Duration::from_millis(200),
                after_wait,
                master_reads: MasterReads::Fallback,
            },
            seen: &self.seen,
            tables: None,
            digest: 0,
            heavy: false,
            class: None,
            excluded: &[],
        }
    }
}

/// The satellite's id, or none for the master.
fn admitted(leave: Result<Leave, crate::protocol::error::SqlError>) -> Option<usize> {
    match leave.unwrap_or_else(|e| panic!("{e}")) {
        Leave::Satellite { server, .. } => Some(server.id),
        Leave::Master(_) => None,
    }
}

#[tokio::test]
async fn a_strong_read_waits_for_what_the_master_had_when_it_was_asked_after_the_read_came() {
    let mut far = None;
    let fixture = Fixture::new(servers(), |shared| {
        let (index, end) = ask_master(shared, usize::MAX);
        far = Some(end);
        index
    });
    let mut far = far.unwrap();
    let satellite = &fixture.satellite;
    publish(&fixture.gate.servers.master, 5);
    publish(satellite, 5);
    let read = fixture.read(Level::Strong, AfterWait::Error);
    let mut admitting = Box::pin(fixture.gate.admit(read));
    begun(&mut admitting).await;
    played(&[expects(0, &query(ASKED)), answer(7)], &mut far).await;
    while satellite.oldest_unmet().is_none() {
        begun(&mut admitting).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(satellite.oldest_unmet(), Some(set(7)));
    publish(satellite, 6);
    begun(&mut admitting).await;
    publish(satellite, 7);
    assert_eq!(admitted(admitting.await), Some(satellite.id));
    assert_eq!(satellite.oldest_unmet(), None, "nobody waits any more");
    assert_eq!(satellite.load(), 0);
}

#[tokio::test]
async fn a_strong_read_is_refused_when_the_master_is_lost_at_any_byte_of_its_answer() {
    let steps = [expects(0, &query(ASKED)), answer(5)];
    let shared = servers();
    for lost_after in 0..=total(&steps) {
        let mut far = None;
        let fixture = Fixture::new(shared.clone(), |shared| {
            let (index, end) = ask_master(shared, lost_after);
            far = Some(end);
            index
        });
        let mut far = far.unwrap();
        publish(&fixture.gate.servers.master, 5);
        publish(&fixture.satellite, 5);
        let read = fixture.read(Level::Strong, AfterWait::Master);
        let both = async { tokio::join!(fixture.gate.admit(read), play(&steps, &mut far)) };
        let (leave, _) = tokio::time::timeout(WAIT, both).await.expect("an end");
        if lost_after == total(&steps) {
            assert_eq!(admitted(leave), Some(fixture.satellite.id));
        } else {
            assert_eq!(
                leave.err().map(|e| e.code),
                Some(1105),
                "lost after {lost_after}"
            );
        }
        assert_eq!(fixture.satellite.load(), 0);
    }
}

#[tokio::test]
async fn a_read_that_waits_for_a_satellite_that_is_lost_goes_to_the_master_at_once() {
    let fixture = Fixture::new(servers(), |shared| master_that_has(shared, 9));
    publish(&fixture.satellite, 5);
    let mut read = fixture.read(Level::Strong, AfterWait::Master);
    read.policy.wait = 10 * WAIT;
    let mut admitting = Box::pin(fixture.gate.admit(read));
    while fixture.shared.metrics.waits.get() == 0 {
        begun(&mut admitting).await;
        tokio::task::yield_now().await;
    }
    fixture.satellite.forget();
    let leave = tokio::time::timeout(WAIT, admitting).await.expect("leave");
    assert_eq!(admitted(leave), None);
}

#[tokio::test]
async fn the_master_s_places_for_reads_are_few_and_come_back() {
    let fixture = Fixture::new(servers(), |shared| master_that_has(shared, 9));
    let read = || {
        fixture
            .gate
            .admit(fixture.read(Level::Strong, AfterWait::Master))
    };
    let first = read().await.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(fixture.gate.servers.master.load(), 1);
    let mut second = Box::pin(read());
    begun(&mut second).await;
    drop(first);
    let leave = tokio::time::timeout(WAIT, second).await.expect("leave");
    assert_eq!(admitted(leave), None);
    assert_eq!(fixture.gate.servers.master.load(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_finds_no_place_on_the_master_is_refused_after_its_time() {
    let fixture = Fixture::new(servers(), |shared| master_that_has(shared, 9));
    let read = || {
        fixture
            .gate
            .admit(fixture.read(Level::Strong, AfterWait::Master))
    };
    let _first = read().await.unwrap_or_else(|e| panic!("{e}"));
    let refused = read().await.err().map(|e| e.code);
    assert_eq!(refused, Some(1105));
    assert_eq!(fixture.shared.metrics.fallback_rejections.get(), 1);
}

#[tokio::test]
async fn a_master_that_was_slow_once_is_tried_again() {
    const MS: Duration = Duration::from_millis(1);
    let fixture = Fixture::new(servers(), |shared| master_that_has(shared, 5));
    let (gate, satellite) = (&fixture.gate, &fixture.satellite);
    publish(&gate.servers.master, 5);
    publish(satellite, 5);
    gate.has_time_to_spare();
    let mut read = fixture.read(Level::Eventual, AfterWait::Master);
    read.policy.master_reads = MasterReads::Spare;
    read.digest = 7;
    satellite.times.add(read.digest, MS, 1, Instant::now());
    let after = |wait| gate.spare(read, wait).is_some();
    let of_master = &gate.servers.master.times;
    of_master.add(read.digest, 30 * MS, 1, Instant::now());
    assert!(!after(10 * MS));
    of_master.age(read.digest, 4000 * MS);
    assert!(after(10 * MS));
    assert!(!after(MS / 2), "not for curiosity alone");
}

#[tokio::test]
async fn heavy_reads_gather_on_one_satellite_and_light_ones_avoid_it_until_it_is_better() {
    let fixture = Fixture::new(servers(), |shared| master_that_has(shared, 5));
    let first = &fixture.satellite;
    let other = fixture.gate.servers.add("another".parse().unwrap());
    let last = other.unwrap();
    publish(first, 5);
    publish(&last, 5);
    let admit = |heavy| {
        let read = fixture.read(Level::Eventual, AfterWait::Error);
        fixture.gate.admit(Request { heavy, ..read })
    };
    [first, &last]
        .iter()
        .for_each(|server| server.found.fix(64));
    let light: Vec<_> = (0..3).map(|_| first.start_running(false, 0.0)).collect();
    let mut heavy = Vec::new();
    for _ in 0..32 {
        let leave = admit(true).await;
        heavy.push(leave.unwrap_or_else(|e| panic!("{e}")));
    }
    assert_eq!(last.heavy.load(Ordering::Relaxed), 32);
    assert_eq!(admitted(admit(true).await), Some(first.id));
    heavy.truncate(1);
    assert_eq!(
        admitted(admit(false).await),
        Some(first.id),
        "3 instead of 4"
    );
    heavy.truncate(0);
    assert_eq!(admitted(admit(false).await), Some(last.id));
    drop(light);
}

#[tokio::test]
async fn a_read_of_a_class_gets_its_satellites_and_others_get_the_rest_while_there_is_one() {
    let classes =
        "reports: satellites=satellite-9; exports: satellites=satellite-9 otherwise=error";
    let shared = shared(&[("GATE_KEEPALIVE_MS", "600000"), ("GATE_CLASSES", classes)]);
    let fixture = Fixture::new(shared, |shared| master_that_has(shared, 5));
    let (gate, plain) = (&fixture.gate, fixture.satellite.id);
    let bound = gate
        .servers
        .add("satellite-9:3306".parse().unwrap())
        .unwrap();
    let read = |class: Option<u8>| {
        let class = class.map(|index| crate::common::classes::ReadClass {
            index,
            otherwise: fixture.shared.config.classes.list[usize::from(index)].otherwise,
        });
        let read = fixture.read(Level::Eventual, AfterWait::Error);
        gate.admit(Request { class, ..read })
    };
    publish(&gate.servers.master, 5);
    publish(&fixture.satellite, 5);
    assert_eq!(admitted(read(Some(0)).await), Some(plain));
    assert!(read(Some(1)).await.is_err());
    publish(&bound, 5);
    for _ in 0..4 {
        assert_eq!(admitted(read(None).await), Some(plain));
        assert_eq!(admitted(read(Some(0)).await), Some(bound.id));
        assert_eq!(admitted(read(Some(1)).await), Some(bound.id));
    }
    fixture.satellite.draining.store(true, Ordering::Relaxed);
    assert_eq!(admitted(read(None).await), Some(bound.id));
}

/// Each asked the master first.
#[tokio::test]
async fn a_strong_read_of_no_table_asks_nobody_and_covers_nothing() {
    let fixture = Fixture::new(servers(), |shared| master_that_has(shared, 7));
    publish(&fixture.gate.servers.master, 7);
    publish(&fixture.satellite, 5);
    for sql in [
        "SELECT 1",
        "SELECT 'x' AS ok, NOW(), VERSION()",
        "SELECT 1 FROM DUAL",
    ] {
        let names = understand(sql).names.unwrap();
        let tables = Some(TableNames {
            names: &names,
            database: None,
        });
        let read = fixture.read(Level::Strong, AfterWait::Error);
        let leave = fixture.gate.admit(Request { tables, ..read }).await;
        let Ok(Leave::Satellite { covers, .. }) = leave else {
            panic!("{sql}: no satellite");
        };
        assert!(!covers, "{sql}");
    }
    assert_eq!(fixture.shared.metrics.master_questions.get(), 0);
    for sql in [
        "SELECT a FROM t",
        "TABLE t",
        "SELECT (TABLE t)",
        "SELECT 1 FROM dual.t",
    ] {
        assert!(!understand(sql).names.unwrap().list.is_empty(), "{sql}");
    }
}
