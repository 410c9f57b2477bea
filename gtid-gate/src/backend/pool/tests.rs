//! A pool of connections that only count themselves.

use super::*;
use crate::test_support::WAIT;
use proptest::prelude::*;
use std::sync::atomic::AtomicUsize;

/// A connection; there are as many as the test has not seen dropped.
struct Line {
    user: usize,
    has_database: bool,
    permit: Option<ConnectionPermit<Line>>,
    alive: Arc<AtomicUsize>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pooled for Line {
    fn has_database(&self) -> bool {
        self.has_database
    }

    fn take_permit(&mut self) -> Option<ConnectionPermit<Self>> {
        self.permit.take()
    }

    async fn close(self) {}
}

struct Bench {
    pool: Arc<Pool<Line>>,
    alive: Arc<AtomicUsize>,
}

impl Bench {
    fn new(limit: usize) -> Self {
        Self {
            pool: Arc::new(Pool::new(limit)),
            alive: Arc::default(),
        }
    }

    fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    fn connect(&self, user: usize, permit: ConnectionPermit<Line>) -> Line {
        self.alive.fetch_add(1, Ordering::Relaxed);
        Line {
            user,
            has_database: false,
            permit: Some(permit),
            alive: self.alive.clone(),
        }
    }

    /// A new connection of this user; there has to be room for it.
    fn open(&self, user: usize) -> Line {
        self.connect(user, self.pool.permit().expect("a permit"))
    }

    fn give(&self, line: Line, owner: u64) {
        let identity = identity(line.user);
        self.pool.give(idle(line, identity, owner));
    }

    fn offer(&self, user: usize, owner: u64) -> Offer<Line> {
        self.pool.offer(&Wanted {
            identity: &identity(user),
            owner,
            has_database: false,
        })
    }

    /// Connections are closed by tasks of their own.
    async fn until_alive(&self, count: usize) {
        let counted = async {
            while self.alive() != count {
                tokio::task::yield_now().await;
            }
        };
        let counted = tokio::time::timeout(WAIT, counted).await;
        counted.unwrap_or_else(|_| panic!("{} instead of {count}", self.alive()));
    }
}

fn idle(backend: Line, identity: Identity, owner: u64) -> Idle<Line> {
    Idle {
        backend,
        identity,
        owner,
        since: Instant::now(),
    }
}

fn identity(user: usize) -> Identity {
    Identity {
        user: format!("user{user}"),
        account: Arc::from("app@%"),
        password: Arc::new(Password::new(b"secret".to_vec())),
        capabilities: 1,
        charset: 255,
        secure: false,
    }
}

fn taken(offer: Offer<Line>) -> Idle<Line> {
    match offer {
        Offer::Idle(idle) => *idle,
        Offer::Permit(_) => panic!("a permit for a new one"),
        Offer::Full => panic!("full"),
    }
}

#[tokio::test]
async fn a_session_gets_its_own_connection_before_another_one_of_its_user() {
    let bench = Bench::new(3);
    for owner in [10, 11, 12] {
        bench.give(bench.open(1), owner);
    }
    assert_eq!(taken(bench.offer(1, 10)).owner, 10);
    assert_eq!(taken(bench.offer(1, 99)).owner, 12, "the one used last");
    assert_eq!(taken(bench.offer(1, 10)).owner, 11);
}

#[tokio::test]
async fn without_an_idle_connection_there_is_a_permit_until_the_limit_is_reached() {
    let bench = Bench::new(2);
    let lines = [bench.open(1), bench.open(2)];
    assert!(bench.pool.is_tight() && bench.pool.is_exhausted());
    assert!(matches!(bench.offer(1, 1), Offer::Full));
    drop(lines);
    assert_eq!((bench.pool.open(), bench.pool.is_tight()), (0, false));
    assert!(matches!(bench.offer(1, 1), Offer::Permit(_)));
}

#[tokio::test]
async fn a_server_with_less_room_than_the_limit_gets_no_more_than_it_has() {
    let bench = Bench::new(2);
    bench.pool.set_room(1);
    let line = bench.open(1);
    assert!(matches!(bench.offer(2, 2), Offer::Full));
    assert_eq!(bench.pool.limit(), 1);
    bench.pool.set_room(9);
    assert_eq!(bench.pool.limit(), 2);
    drop(line);
}

#[tokio::test]
async fn another_user_s_idle_connection_is_closed_to_make_room_not_taken_over() {
    let bench = Bench::new(1);
    bench.give(bench.open(1), 1);
    let Offer::Permit(permit) = bench.offer(2, 2) else {
        panic!("no permit");
    };
    assert_eq!(bench.pool.open(), 1, "the permit moved");
    bench.until_alive(0).await;
    drop(permit);
    assert_eq!(bench.pool.open(), 0);
}

#[tokio::test]
async fn whoever_differs_in_anything_gets_no_connection_of_another() {
    let known = identity(1);
    let mut others = vec![known.clone(); 6];
    others[0].user = "user2".into();
    others[1].account = Arc::from("app@localhost");
    others[2].password = Arc::new(Password::new(b"Secret".to_vec()));
    others[3].capabilities = 3;
    others[4].charset = 45;
    others[5].secure = true;
    for (differs, other) in others.iter().enumerate() {
        let bench = Bench::new(2);
        bench.give(bench.open(1), 7);
        let wanted = Wanted {
            identity: other,
            // Even if it was its own, before COM_CHANGE_USER.
            owner: 7,
            has_database: true,
        };
        let offer = bench.pool.offer(&wanted);
        assert!(matches!(offer, Offer::Permit(_)), "{differs}");
    }
    let mut same = known;
    same.password = Arc::new(Password::new(b"secret".to_vec()));
    let bench = Bench::new(1);
    bench.give(bench.open(1), 7);
    let wanted = Wanted {
        identity: &same,
        owner: 8,
        has_database: false,
    };
    taken(bench.pool.offer(&wanted));
}

#[tokio::test]
async fn a_connection_with_a_database_is_not_for_a_session_without_one() {
    let bench = Bench::new(2);
    let mut line = bench.open(1);
    line.has_database = true;
    bench.give(line, 7);
    assert!(matches!(bench.offer(1, 7), Offer::Permit(_)));
    let wanted = Wanted {
        identity: &identity(1),
        owner: 7,
        has_database: true,
    };
    taken(bench.pool.offer(&wanted));
}

#[tokio::test]
async fn a_lower_limit_closes_idle_connections_and_those_that_come_back() {
    let bench = Bench::new(4);
    let busy = [bench.open(1), bench.open(1)];
    bench.give(bench.open(1), 1);
    bench.give(bench.open(2), 2);
    bench.pool.set_limit(3);
    bench.until_alive(3).await;
    assert_eq!((bench.pool.open(), bench.pool.idle()), (3, 1));
    bench.pool.set_limit(1);
    bench.until_alive(2).await;
    assert!(matches!(bench.offer(1, 1), Offer::Full));
    let [first, second] = busy;
    bench.give(first, 1);
    bench.until_alive(1).await;
    assert_eq!((bench.pool.open(), bench.pool.idle()), (1, 0));
    bench.give(second, 1);
    assert_eq!((bench.pool.open(), bench.pool.idle()), (1, 1));
    assert_eq!(bench.pool.limit(), 1);
}

#[tokio::test]
async fn idle_connections_go_when_nobody_needs_them_or_their_server_is_lost() {
    let bench = Bench::new(4);
    bench.give(bench.open(1), 1);
    bench.pool.close_idle(Duration::from_secs(60));
    assert_eq!(bench.pool.idle(), 1);
    bench.pool.close_idle(Duration::ZERO);
    bench.until_alive(0).await;
    assert_eq!((bench.pool.open(), bench.pool.idle()), (0, 0));
    bench.give(bench.open(1), 1);
    let busy = bench.open(1);
    bench.pool.clear();
    assert_eq!((bench.pool.open(), bench.pool.idle()), (1, 0));
    drop(busy);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_told_when_one_is_given_back_closed_or_allowed() {
    let told = |bench: &Bench| {
        let pool = bench.pool.clone();
        async move { tokio::time::timeout(WAIT, pool.freed()).await.is_ok() }
    };
    let bench = Bench::new(1);
    let line = bench.open(1);
    assert!(!told(&bench).await, "nothing happened");
    bench.give(line, 1);
    assert!(told(&bench).await, "given back");
    drop(taken(bench.offer(1, 1)));
    assert!(told(&bench).await, "closed");
    bench.pool.set_limit(2);
    assert!(told(&bench).await, "allowed");
}

/// What sessions and operators do to a pool. Users and owners are few, so that they meet.
#[derive(Debug, Clone)]
enum Act {
    Ask(usize, u64, bool),
    ChooseDatabase(usize),
    GiveBack(usize),
    Drop(usize),
    Limit(usize),
    CloseIdle,
    LoseServer,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (0..3usize, 0..4u64, any::<bool>()).prop_map(|(user, owner, db)| Act::Ask(user, owner, db)),
        1 => (0..8usize).prop_map(Act::ChooseDatabase),
        5 => (0..8usize).prop_map(Act::GiveBack),
        2 => (0..8usize).prop_map(Act::Drop),
        1 => (0..5usize).prop_map(Act::Limit),
        1 => Just(Act::CloseIdle),
        1 => Just(Act::LoseServer),
    ];
    prop::collection::vec(act, 1..60)
}

/// Does one thing. A connection that is handed out is checked.
fn act(bench: &Bench, held: &mut Vec<Line>, act: Act) {
    match act {
        Act::Ask(user, owner, has_database) => {
            let offer = bench.pool.offer(&Wanted {
                identity: &identity(user),
                owner,
                has_database,
            });
            match offer {
                Offer::Idle(idle) => {
                    assert_eq!(idle.backend.user, user);
                    assert!(has_database || !idle.backend.has_database);
                    assert!(idle.backend.permit.is_some());
                    held.push(idle.backend);
                }
                Offer::Permit(permit) => held.push(bench.connect(user, permit)),
                Offer::Full => assert!(bench.pool.open() >= bench.pool.limit()),
            }
        }
        Act::ChooseDatabase(at) if at < held.len() => held[at].has_database = true,
        Act::GiveBack(at) if at < held.len() => {
            let line = held.swap_remove(at);
            let owner = line.user as u64;
            bench.give(line, owner);
        }
        Act::Drop(at) if at < held.len() => drop(held.swap_remove(at)),
        Act::Limit(limit) => bench.pool.set_limit(limit),
        Act::CloseIdle => bench.pool.close_idle(Duration::ZERO),
        Act::LoseServer => bench.pool.clear(),
        _ => {}
    }
}

proptest! {
    #[test]
    fn there_are_never_more_connections_than_allowed_and_none_changes_its_user(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let bench = Bench::new(2);
            let mut held = Vec::new();
            for next in acts {
                let before = bench.pool.open();
                act(&bench, &mut held, next);
                bench.until_alive(held.len() + bench.pool.idle()).await;
                let open = bench.pool.open();
                assert_eq!(open, bench.alive(), "each is counted once");
                assert!(open <= before || open <= bench.pool.limit());
                assert!(bench.pool.idle() == 0 || open <= bench.pool.limit(), "surplus is closed first");
                assert_eq!(bench.pool.is_tight(), open >= bench.pool.limit());
            }
            held.clear();
            bench.pool.clear();
            assert_eq!(bench.pool.open(), 0, "all permits came back");
        });
    }
}
