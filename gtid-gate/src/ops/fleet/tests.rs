//! Changes of the list of servers, what is kept of them, and a gate that begins with that. No server is there.

use super::*;
use crate::backend::Position;
use crate::freshness::RunningByHand;
use crate::gtid::GtidSet;
use crate::ops::start::assemble;
use proptest::prelude::*;
use proptest::sample::subsequence;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;

const A: &str = "127.0.0.1:11";
const B: &str = "127.0.0.1:12";
const C: &str = "127.0.0.1:13";
const MASTER: &str = "127.0.0.1:1";

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn addresses(texts: &[&str]) -> Vec<Address> {
    texts.iter().map(|text| address(text)).collect()
}

/// A directory for the state of one gate after the other.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("gtid-gate-fleet-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("state.json")
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    fn config(&self, declared: &[&str]) -> Config {
        let get = |name: &str| match name {
            "GATE_PASSWORD" => Some("x".to_owned()),
            "GATE_STATE" => Some(self.file().to_str().unwrap().to_owned()),
            "GATE_MASTER" => Some(MASTER.to_owned()),
            "GATE_SATELLITES" => Some(declared.join(",")),
            "GATE_SERVER_RUNNING" => Some("fixed:64".to_owned()),
            _ => None,
        };
        Config::read(&get).ok().unwrap()
    }

    /// A gate that begins now, with this declared list.
    fn gate(&self, declared: &[&str]) -> Fleet {
        let config = self.config(declared);
        let (state, file) = at_start(&config);
        let (_, draining) = watch::channel(false);
        let shared = assemble(config, &state, draining).unwrap();
        Fleet::new(Arc::new(shared), state, file)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name(fleet: &Fleet, text: &str) -> String {
    let server = fleet.at(&address(text));
    server.map_or("nobody".to_owned(), |s| s.name.clone())
}

/// It answers, until something is heard of it; nothing will be.
fn up(fleet: &Fleet, text: &str) -> Arc<Server> {
    let server = fleet.at(&address(text)).unwrap();
    server.stop_following();
    server.publish(Arc::new(Position {
        incarnation: "".into(),
        asked: Instant::now(),
        owned: GtidSet::new(),
        executed: GtidSet::new(),
        as_of: None,
        backlog: None,
    }));
    server
}

/// What an operator sees of a server: address, drained, running (0: found), connections.
type Seen = (String, bool, usize, usize);

fn seen(server: &Server) -> Seen {
    let running = match server.found.is_found() {
        true => 0,
        false => server.turns.limit(),
    };
    let draining = server.draining.load(Ordering::Relaxed);
    (
        server.address.to_string(),
        draining,
        running,
        server.pool.limit(),
    )
}

/// Of all servers but those that leave.
fn staying(fleet: &Fleet) -> Vec<Seen> {
    let inner = lock(&fleet.inner);
    let leaves = |s: &Server| {
        inner
            .leaving
            .iter()
            .any(|l| l.satellite.address == s.address)
    };
    let all = fleet.gate().servers.all();
    all.iter().filter(|s| !leaves(s)).map(|s| seen(s)).collect()
}

fn satellites(fleet: &Fleet) -> Vec<String> {
    let all = fleet.gate().servers.satellites();
    all.iter().map(|s| s.address.to_string()).collect()
}

fn untouched(text: &str) -> Seen {
    (text.to_owned(), false, 64, 1000)
}

fn kept(change: Result<(Arc<Server>, Kept), FleetError>) -> Arc<Server> {
    let (server, kept) = change.unwrap();
    kept.unwrap();
    server
}

#[tokio::test]
async fn what_operators_changed_is_there_after_a_restart() {
    let place = Place::new();
    let before = place.gate(&[A, B]);
    kept(before.add(address(C)));
    kept(before.drain(&name(&before, C), true));
    before.remove(&name(&before, A)).unwrap().unwrap();
    let running = [LimitChange::Running(Some(RunningByHand::Auto))];
    kept(before.set_limits(&name(&before, B), &running));
    let both = [
        LimitChange::Running(Some(RunningByHand::Fixed(7))),
        LimitChange::Connections(Some(8)),
    ];
    let master = before.gate().servers.master.name.clone();
    kept(before.set_limits(&master, &both));
    let expected = [
        (MASTER.to_owned(), false, 7, 8),
        (B.to_owned(), false, 0, 1000),
        (C.to_owned(), true, 64, 1000),
    ];
    assert_eq!(staying(&before), expected);
    assert_eq!(staying(&place.gate(&[A, B])), expected);
}

#[tokio::test]
async fn what_is_declared_since_is_merged_once_and_for_all() {
    let place = Place::new();
    let gate = place.gate(&[A, B]);
    kept(gate.drain(&name(&gate, B), true));
    assert_eq!(satellites(&place.gate(&[B, C])), [B, C]);
    let again = place.gate(&[A, B, C]);
    assert_eq!(satellites(&again), [B, C, A], "A is newly declared");
    assert_eq!(staying(&again)[1], (B.to_owned(), true, 64, 1000));
}

#[tokio::test]
async fn a_limit_that_nobody_set_follows_the_settings() {
    let place = Place::new();
    let gate = place.gate(&[A]);
    let master = gate.gate().servers.master.name.clone();
    kept(gate.set_limits(
        &master,
        &[LimitChange::Running(Some(RunningByHand::Fixed(7)))],
    ));
    kept(gate.set_limits(&master, &[LimitChange::Connections(Some(8))]));
    assert_eq!(staying(&gate)[0], (MASTER.to_owned(), false, 7, 8));
    kept(gate.set_limits(&master, &[LimitChange::Running(None)]));
    kept(gate.set_limits(&master, &[LimitChange::Connections(None)]));
    assert_eq!(staying(&gate)[0], untouched(MASTER));
    let text = fs::read_to_string(place.file()).unwrap();
    assert!(
        !text.contains("running") && !text.contains("connections"),
        "{text}"
    );
}

#[tokio::test]
async fn nothing_is_written_until_something_changes() {
    let place = Place::new();
    let gate = place.gate(&[A]);
    assert!(gate.drain("nobody", true).is_err() && gate.add(address(A)).is_err());
    assert!(!place.has("state.json"));
}

#[tokio::test]
async fn a_change_that_can_not_be_kept_holds_all_the_same() {
    let place = Place::new();
    let gate = place.gate(&[A]);
    fs::remove_dir_all(&place.0).unwrap();
    let (server, kept) = gate.drain(&name(&gate, A), true).unwrap();
    assert!(seen(&server).1 && kept.unwrap_err().contains("state.json"));
}

#[tokio::test]
async fn a_gate_whose_state_is_broken_begins_with_what_is_declared() {
    let place = Place::new();
    for text in ["{\"version\":1", "\u{0}", ""] {
        fs::write(place.file(), text).unwrap();
        let gate = place.gate(&[A]);
        assert_eq!(staying(&gate), [untouched(MASTER), untouched(A)]);
        assert!(place.has("state.json.broken") && !place.has("state.json"));
        fs::remove_file(place.0.join("state.json.broken")).unwrap();
    }
}

#[tokio::test]
async fn a_state_that_has_the_master_among_its_satellites_is_broken() {
    let place = Place::new();
    let state = FleetState::declared(&addresses(&[A]));
    let mut with_master = state.clone();
    with_master.satellites.push(Satellite::new(address(MASTER)));
    StateFile::new(Some(place.file()))
        .write(&with_master)
        .unwrap();
    assert_eq!(satellites(&place.gate(&[B])), [B]);
    assert!(place.has("state.json.broken"));
}

#[tokio::test]
async fn a_list_read_anew_adds_and_drains_and_changes_nothing_else() {
    let place = Place::new();
    let gate = place.gate(&[A, B]);
    kept(gate.set_limits(&name(&gate, A), &[LimitChange::Connections(Some(8))]));
    up(&gate, B);
    gate.declare(&addresses(&[A, C]));
    let expected = [
        untouched(MASTER),
        (A.to_owned(), false, 64, 8),
        untouched(C),
    ];
    assert_eq!(staying(&gate), expected);
    assert_eq!(gate.at(&address(B)).unwrap().state(), "draining");
    assert_eq!(staying(&place.gate(&[A, C])), expected);
}

#[tokio::test]
async fn a_satellite_that_is_no_longer_declared_goes_once_nobody_uses_it() {
    let place = Place::new();
    let gate = place.gate(&[A, B]);
    let open = up(&gate, A).start_open();
    gate.declare(&addresses(&[B]));
    assert!(gate.let_go(Instant::now()) && satellites(&gate) == [A, B]);
    drop(open);
    assert!(!gate.let_go(Instant::now()) && satellites(&gate) == [B]);
}

#[tokio::test]
async fn a_satellite_that_is_no_longer_declared_goes_when_its_time_is_up() {
    let place = Place::new();
    let gate = place.gate(&[A, B]);
    let server = up(&gate, A);
    let (_open, losses) = (server.start_open(), server.losses());
    gate.declare(&addresses(&[B]));
    assert!(gate.let_go(Instant::now() + Duration::from_secs(4)));
    assert!(!gate.let_go(Instant::now() + Duration::from_secs(5)));
    assert!(satellites(&gate) == [B] && server.losses() > losses);
}

#[tokio::test]
async fn a_satellite_that_is_taken_back_while_it_leaves_stays() {
    let place = Place::new();
    let gate = place.gate(&[A, B]);
    kept(gate.set_limits(&name(&gate, A), &[LimitChange::Connections(Some(8))]));
    let _open = up(&gate, A).start_open();
    gate.declare(&addresses(&[B]));
    kept(gate.drain(&name(&gate, A), false));
    assert!(!gate.let_go(Instant::now() + Duration::from_secs(9)));
    let a = (A.to_owned(), false, 64, 8);
    assert!(staying(&gate).contains(&a), "by hand");
    gate.declare(&addresses(&[A, B]));
    gate.declare(&addresses(&[B]));
    gate.declare(&addresses(&[A, B]));
    assert!(!gate.let_go(Instant::now() + Duration::from_secs(9)));
    assert!(staying(&gate).contains(&a), "declared again");
    assert!(staying(&place.gate(&[A, B])).contains(&a));
}

#[tokio::test]
async fn a_list_with_mistakes_changes_nothing() {
    let place = Place::new();
    let gate = place.gate(&[A, B]);
    let list = place.0.join("list");
    let get = |name: &str| match name {
        "GATE_SATELLITES_FILE" => Some(list.to_str().unwrap().to_owned()),
        "GATE_SATELLITES" => Some(format!("{A},{B}")),
        _ => None,
    };
    for text in [format!("{A}\n{C}\nx:y"), format!("{A},{MASTER}")] {
        fs::write(&list, text).unwrap();
        gate.declare_anew(&get);
        assert!(!gate.let_go(Instant::now()) && satellites(&gate) == [A, B]);
    }
    fs::write(&list, format!("{A}\n{C}\n")).unwrap();
    gate.declare_anew(&get);
    assert!(!gate.let_go(Instant::now()) && satellites(&gate) == [A, C]);
    fs::remove_file(&list).unwrap();
    gate.declare_anew(&get);
    assert!(!gate.let_go(Instant::now()) && satellites(&gate) == [A, B]);
}

#[derive(Debug, Clone)]
enum Act {
    Add(&'static str),
    Remove(&'static str),
    Drain(&'static str, bool),
    Limit(&'static str, LimitChange),
    Up(&'static str),
    Declare(Vec<Address>),
    LetGo(bool),
}

fn acts() -> impl Strategy<Value = Act> {
    let one = || prop_oneof![Just(A), Just(B), Just(C)];
    let number = || proptest::option::of(1..20_usize);
    let limit = prop_oneof![
        Just(LimitChange::Running(Some(RunningByHand::Auto))),
        number().prop_map(|n| LimitChange::Running(n.map(RunningByHand::Fixed))),
        number().prop_map(LimitChange::Connections),
    ];
    prop_oneof![
        one().prop_map(Act::Add),
        one().prop_map(Act::Remove),
        (one(), any::<bool>()).prop_map(|(who, draining)| Act::Drain(who, draining)),
        (prop_oneof![one(), Just(MASTER)], limit).prop_map(|(who, limit)| Act::Limit(who, limit)),
        one().prop_map(Act::Up),
        subsequence(addresses(&[A, B, C]), 0..=3).prop_map(Act::Declare),
        any::<bool>().prop_map(Act::LetGo),
    ]
}

/// Refusals are answers, too.
fn perform(fleet: &Fleet, act: Act) {
    let name = |who| match who {
        MASTER => fleet.gate().servers.master.name.clone(),
        _ => name(fleet, who),
    };
    match act {
        Act::Add(who) => drop(fleet.add(address(who))),
        Act::Remove(who) => drop(fleet.remove(&name(who))),
        Act::Drain(who, draining) => drop(fleet.drain(&name(who), draining)),
        Act::Limit(who, limit) => drop(fleet.set_limits(&name(who), &[limit])),
        Act::Up(who) => drop(fleet.at(&address(who)).map(|_| up(fleet, who))),
        Act::Declare(list) => fleet.declare(&list),
        Act::LetGo(late) => {
            let after = Duration::from_secs(if late { 9 } else { 0 });
            fleet.let_go(Instant::now() + after);
        }
    }
}

/// What a gate that begins with this shows.
fn expected(state: &FleetState) -> Vec<Seen> {
    let running = |limits: LimitsByHand| match limits.running {
        Some(RunningByHand::Auto) => 0,
        Some(RunningByHand::Fixed(limit)) => limit,
        None => 64,
    };
    let connections = |limits: LimitsByHand| limits.connections.unwrap_or(1000);
    let master = (
        MASTER.to_owned(),
        false,
        running(state.master),
        connections(state.master),
    );
    let satellites = state.satellites.iter().map(|s| {
        (
            s.address.to_string(),
            s.drained,
            running(s.limits),
            connections(s.limits),
        )
    });
    std::iter::once(master).chain(satellites).collect()
}

/// The order of those that were taken back while they left does not count.
fn sorted(mut seen: Vec<Seen>) -> Vec<Seen> {
    seen.sort();
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_done_a_restart_changes_only_what_was_leaving(all in proptest::collection::vec(acts(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let place = Place::new();
        let gate = place.gate(&[A, B]);
        let mut config = place.config(&[A, B]);
        for act in all {
            if let Act::Declare(list) = &act {
                config.satellites = list.clone();
            }
            perform(&gate, act);
            let (restarted, _) = at_start(&config);
            prop_assert_eq!(sorted(expected(&restarted)), sorted(staying(&gate)));
        }
    }
}
