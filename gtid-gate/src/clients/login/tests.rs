//! A scripted client and a scripted master: who gets in, what each is told, and a client that is lost at every byte.

use super::*;
use crate::net::tls::{acceptor, connector};
use crate::test_support::client::{GREETING, Peer};
use crate::test_support::{
    FLAGS, Lost, OK, PIPE, SHA2_PROOF, Step, WAIT, expects, greeting, login, one_row, packet, play,
    query, rest, sends, shared,
};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const DENIED: &[u8] = b"\xff\x15\x04#28000Access denied for user 'app'@'gate'";
const NO_DATABASE: &[u8] = b"\xff\x19\x04#42000Unknown database 'shop'";
const ID: u32 = 42;

/// A master that serves one connection after the other, each by its script; then it listens no more.
async fn master(scripts: Vec<Vec<Step>>) -> (Arc<Shared>, JoinHandle<Vec<TcpStream>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = tokio::spawn(async move {
        let mut served = Vec::new();
        for steps in scripts {
            let (mut stream, _) = listener.accept().await.unwrap();
            play(&steps, &mut stream).await.unwrap();
            served.push(stream);
        }
        served
    });
    (gate(&address), serving)
}

/// A gate that asks its master nothing by itself.
fn gate(master: &str) -> Arc<Shared> {
    shared(&[
        ("GATE_MASTER", master),
        ("GATE_KEEPALIVE_MS", "600000"),
        ("GATE_LOGIN_FAILURES", "0"),
        ("GATE_LOGIN_VERIFICATIONS", "1"),
    ])
}

async fn all_served(serving: JoinHandle<Vec<TcpStream>>) -> Vec<TcpStream> {
    let served = tokio::time::timeout(WAIT, serving).await;
    served.expect("the master's scripts").unwrap()
}

fn lets_in(login: &[u8]) -> Vec<Step> {
    vec![
        sends(0, &greeting("caching_sha2_password")),
        expects(1, login),
        sends(2, &[1, 3]),
        sends(3, OK),
        expects(0, &query(WHO)),
        Step::Sends(one_row(&["app@%", "0"])),
    ]
}

fn refuses(login: &[u8], error: &[u8]) -> Vec<Step> {
    vec![
        sends(0, &greeting("caching_sha2_password")),
        expects(1, login),
        sends(2, error),
    ]
}

/// What the gate asks of the master for a session.
const AT_MASTER: u32 = FLAGS | cap::SESSION_TRACK;

fn login_at_master() -> Vec<u8> {
    login(AT_MASTER, &SHA2_PROOF, b"caching_sha2_password\0")
}

fn login_with(password: &[u8]) -> Vec<u8> {
    let proof = auth::caching_sha2(password, &crate::test_support::nonce());
    login(AT_MASTER, &proof, b"caching_sha2_password\0")
}

/// What becomes of a client that does this, and what it heard beyond what it expected. `lost_after` so many bytes the
/// client is gone.
async fn log_in_as<F>(
    shared: &Arc<Shared>,
    lost_after: usize,
    client: impl FnOnce(DuplexStream) -> F,
) -> Result<Account, LoginError>
where
    F: Future<Output = io::Result<DuplexStream>>,
{
    let (near, far) = duplex(PIPE);
    let mut gate = Client::new(Lost::after(lost_after, near), "test".to_owned(), false);
    let logging_in = async {
        let outcome = log_in(&mut gate, ID, shared).await;
        drop(gate);
        outcome
    };
    let both = async { tokio::join!(logging_in, client(far)) };
    let (outcome, said) = tokio::time::timeout(WAIT, both).await.expect("an end");
    if lost_after == usize::MAX {
        let mut stream = said.expect("the client's whole script");
        assert_eq!(rest(&mut stream).await, b"", "said to the client besides");
    }
    outcome
}

async fn first_login(shared: &Arc<Shared>, password: &[u8]) -> Result<Account, LoginError> {
    log_in_as(shared, usize::MAX, async |far| {
        let mut peer = Peer::greeted(far).await?;
        assert_eq!(peer.id, ID);
        peer.proves(password).await?;
        peer.hands_over(password, shared).await?;
        Ok(peer.stream)
    })
    .await
}

async fn fast_login(shared: &Arc<Shared>, password: &[u8]) -> Result<Account, LoginError> {
    log_in_as(shared, usize::MAX, async |far| {
        let mut peer = Peer::greeted(far).await?;
        peer.proves(password).await?;
        peer.hears(2, &[1, 3]).await?;
        Ok(peer.stream)
    })
    .await
}

fn refusal(outcome: Result<Account, LoginError>) -> SqlError {
    match outcome {
        Err(LoginError::Refused(error)) => error,
        Err(LoginError::Gone(error)) => panic!("gone: {error}"),
        Ok(_) => panic!("let in"),
    }
}

fn allowed(outcome: Result<Account, LoginError>) -> Account {
    match outcome {
        Ok(account) => account,
        Err(LoginError::Gone(error)) => panic!("gone: {error}"),
        Err(LoginError::Refused(error)) => panic!("{error}"),
    }
}

fn keep(shared: &Shared, password: &[u8]) {
    let password = Arc::new(Password::new(password.to_vec()));
    let account = "app@%".into();
    shared
        .passwords
        .keep("app", false, &password, &account, None);
}

/// Nothing that logins share is still taken.
async fn all_came_back(shared: &Shared) {
    assert_eq!(shared.gate.servers.master.pool.open(), 0);
    let mut waited = Duration::ZERO;
    let turn = shared.login_limits.verification(None, &mut waited).await;
    assert!(turn.is_ok());
    let turn = tokio::time::timeout(WAIT, shared.login_limits.decryption()).await;
    assert!(turn.is_ok_and(|turn| turn.is_some()));
}

#[tokio::test]
async fn the_master_is_asked_the_first_time_and_the_second_time_a_proof_is_enough() {
    let (shared, serving) = master(vec![lets_in(&login_at_master())]).await;
    let first = allowed(first_login(&shared, b"secret").await);
    assert_eq!(
        (first.user.as_str(), &*first.account.name),
        ("app", "app@%")
    );
    assert!(
        first.master.is_some(),
        "the connection is the session's now"
    );
    assert_eq!(shared.gate.servers.master.pool.open(), 1);
    all_served(serving).await;
    let second = allowed(fast_login(&shared, b"secret").await);
    assert!(second.master.is_none() && &*second.account.name == "app@%");
    drop(first);
    all_came_back(&shared).await;
}

#[tokio::test]
async fn without_room_at_the_master_the_connection_that_proved_the_password_is_closed() {
    let (shared, serving) = master(vec![lets_in(&login_at_master())]).await;
    shared.gate.servers.master.pool.set_limit(0);
    let account = allowed(first_login(&shared, b"secret").await);
    assert!(account.master.is_none());
    let mut served = all_served(serving).await;
    assert_eq!(rest(&mut served[0]).await, packet(0, &[1]), "COM_QUIT");
    all_came_back(&shared).await;
}

#[tokio::test]
async fn a_wrong_password_is_refused_as_mysql_refuses_it_and_not_kept() {
    let (shared, serving) = master(vec![refuses(&login_with(b"guess"), DENIED)]).await;
    let error = refusal(first_login(&shared, b"guess").await);
    let text = "Access denied for user 'app'@'test' (using password: YES)";
    assert_eq!(error, SqlError::new(1045, "28000", text));
    assert!(shared.passwords.get("app", false).is_none());
    all_served(serving).await;
    all_came_back(&shared).await;
}

#[tokio::test]
async fn a_guess_does_not_end_the_kept_password() {
    let (shared, serving) = master(vec![refuses(&login_with(b"guess"), DENIED)]).await;
    keep(&shared, b"secret");
    assert_eq!(refusal(first_login(&shared, b"guess").await).code, 1045);
    all_served(serving).await;
    allowed(fast_login(&shared, b"secret").await);
}

#[tokio::test]
async fn a_kept_password_that_the_master_refuses_is_kept_no_longer_unless_the_database_is_to_blame()
{
    let with_database =
        |seq_proof: &[u8]| login(AT_MASTER | 8, seq_proof, b"shop\0caching_sha2_password\0");
    for (error, kept) in [(DENIED, false), (NO_DATABASE, true)] {
        let (shared, serving) = master(vec![refuses(&with_database(&SHA2_PROOF), error)]).await;
        keep(&shared, b"secret");
        let outcome = log_in_as(&shared, usize::MAX, async |far| {
            let mut peer = Peer::greeted(far).await?;
            let proof = peer.proof(b"secret");
            peer.says(1, &with_database(&proof)).await?;
            peer.hears(2, &[1, 3]).await?;
            Ok(peer.stream)
        });
        let code = u16::from_le_bytes([error[1], error[2]]);
        assert_eq!(refusal(outcome.await).code, code);
        assert_eq!(shared.passwords.get("app", false).is_some(), kept);
        all_served(serving).await;
        all_came_back(&shared).await;
    }
}

#[tokio::test]
async fn a_client_without_a_password_hands_none_over() {
    let (shared, serving) = master(vec![lets_in(&login_with(b""))]).await;
    let outcome = log_in_as(&shared, usize::MAX, async |far| {
        let mut peer = Peer::greeted(far).await?;
        peer.proves(b"").await?;
        Ok(peer.stream)
    });
    assert!(allowed(outcome.await).password.is_empty());
    all_served(serving).await;
}

#[tokio::test]
async fn a_client_of_another_plugin_is_asked_for_the_gate_s() {
    let shared = gate("127.0.0.1:1");
    keep(&shared, b"secret");
    for plugin in [&b"mysql_native_password\0"[..], b"auth_of_tomorrow\0"] {
        let outcome = log_in_as(&shared, usize::MAX, async |far| {
            let mut peer = Peer::greeted(far).await?;
            peer.says(1, &login(FLAGS, b"what it would be", plugin))
                .await?;
            let switch = [b"\xfecaching_sha2_password\0", &peer.nonce[..], b"\0"].concat();
            peer.hears(2, &switch).await?;
            peer.says(3, &peer.proof(b"secret")).await?;
            peer.hears(4, &[1, 3]).await?;
            Ok(peer.stream)
        });
        allowed(outcome.await);
    }
}

#[tokio::test]
async fn what_the_key_does_not_open_is_a_wrong_password() {
    let shared = gate("127.0.0.1:1");
    let outcome = log_in_as(&shared, usize::MAX, async |far| {
        let mut peer = Peer::greeted(far).await?;
        peer.proves(b"secret").await?;
        peer.hears(2, &[1, 4]).await?;
        peer.says(3, &[7; 256]).await?;
        Ok(peer.stream)
    });
    assert_eq!(refusal(outcome.await).code, 1045);
    all_came_back(&shared).await;
}

#[tokio::test]
async fn what_is_no_login_is_a_bad_handshake() {
    let shared = gate("127.0.0.1:1");
    let garbage: [(u8, &[u8]); 3] = [(1, b"GET / HTTP/1.1"), (1, b""), (9, &login_at_master())];
    for (seq, payload) in garbage {
        let outcome = log_in_as(&shared, usize::MAX, async |far| {
            let mut peer = Peer::greeted(far).await?;
            peer.says(seq, payload).await?;
            Ok(peer.stream)
        });
        assert_eq!(refusal(outcome.await).code, 1043);
    }
}

#[tokio::test]
async fn a_master_that_is_lost_refuses_nobody_s_password() {
    let with_database =
        |proof: &[u8]| login(AT_MASTER | 8, proof, b"shop\0caching_sha2_password\0");
    let steps = vec![
        sends(0, &greeting("caching_sha2_password")),
        expects(1, &with_database(&SHA2_PROOF)),
    ];
    let (shared, serving) = master(vec![steps]).await;
    keep(&shared, b"secret");
    let serving = tokio::spawn(async move { drop(all_served(serving).await) });
    let outcome = log_in_as(&shared, usize::MAX, async |far| {
        let mut peer = Peer::greeted(far).await?;
        peer.says(1, &with_database(&peer.proof(b"secret"))).await?;
        peer.hears(2, &[1, 3]).await?;
        Ok(peer.stream)
    });
    assert_eq!(refusal(outcome.await).code, 1105);
    assert!(shared.passwords.get("app", false).is_some());
    serving.await.unwrap();
    all_came_back(&shared).await;
}

/// Lost ever later, until the login works. Says how many bytes that took.
async fn lost_at_every_byte<F>(shared: &Arc<Shared>, client: impl Fn(DuplexStream) -> F) -> usize
where
    F: Future<Output = io::Result<DuplexStream>>,
{
    for lost_after in 0..1 << 16 {
        let Err(error) = log_in_as(shared, lost_after, &client).await else {
            return lost_after;
        };
        assert!(
            matches!(error, LoginError::Gone(_)),
            "lost after {lost_after}"
        );
        all_came_back(shared).await;
    }
    panic!("no login works");
}

#[tokio::test]
async fn a_client_that_is_lost_at_any_byte_of_its_first_login_leaves_nothing_behind() {
    let (shared, serving) = master(vec![lets_in(&login_at_master())]).await;
    let client = async |far| {
        let mut peer = Peer::greeted(far).await?;
        peer.proves(b"secret").await?;
        peer.hands_over(b"secret", &shared).await?;
        Ok(peer.stream)
    };
    let bytes = lost_at_every_byte(&shared, client).await;
    let key = shared.exchange_key.public_pem.len();
    assert_eq!(
        bytes,
        GREETING + 4 + login_at_master().len() + 6 + 5 + 5 + key + 4 + 256
    );
    all_served(serving).await;
    all_came_back(&shared).await;
}

#[tokio::test]
async fn a_client_that_is_lost_at_any_byte_of_a_switch_leaves_nothing_behind() {
    let shared = gate("127.0.0.1:1");
    keep(&shared, b"secret");
    let client = async |far| {
        let mut peer = Peer::greeted(far).await?;
        peer.says(1, &login(FLAGS, b"", b"other\0")).await?;
        let switch = [b"\xfecaching_sha2_password\0", &peer.nonce[..], b"\0"].concat();
        peer.hears(2, &switch).await?;
        peer.says(3, &peer.proof(b"secret")).await?;
        peer.hears(4, &[1, 3]).await?;
        Ok(peer.stream)
    };
    lost_at_every_byte(&shared, client).await;
}

#[tokio::test]
async fn within_tls_the_password_is_handed_over_as_it_is_and_the_master_is_asked_over_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let shared = gate(&listener.local_addr().unwrap().to_string());
    let flags = FLAGS | cap::SSL;
    let request = handshake::tls_request(flags, 1 << 30, 255);
    let asked = handshake::tls_request(AT_MASTER | cap::SSL, 1 << 30, 255);
    let (at_master, _) = acceptor(None).unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let open = [
            sends(0, &greeting("caching_sha2_password")),
            expects(1, &asked),
        ];
        play(&open, &mut stream).await.unwrap();
        let mut tls = at_master.accept(stream).await.unwrap();
        let more = [
            expects(
                2,
                &login(
                    AT_MASTER | cap::SSL,
                    &SHA2_PROOF,
                    b"caching_sha2_password\0",
                ),
            ),
            sends(3, OK),
            expects(0, &query(WHO)),
            Step::Sends(one_row(&["app@%", "0"])),
        ];
        play(&more, &mut tls).await.unwrap();
        tls
    });
    let (near, far) = duplex(PIPE);
    let mut gate = Client::new(near, "test".to_owned(), false);
    let client = async {
        let mut peer = Peer::greeted(far).await.unwrap();
        peer.says(1, &request).await.unwrap();
        let (proof, name) = (peer.proof(b"secret"), "gate".try_into().unwrap());
        let tls = connector().unwrap().connect(name, peer.stream).await;
        let mut tls = tls.unwrap();
        let steps = [
            sends(2, &login(flags, &proof, b"caching_sha2_password\0")),
            expects(3, &[1, 4]),
            sends(4, b"secret\0"),
        ];
        play(&steps, &mut tls).await.unwrap();
        tls
    };
    let both = async { tokio::join!(log_in(&mut gate, ID, &shared), client) };
    let (outcome, _client) = tokio::time::timeout(WAIT, both).await.expect("an end");
    let account = allowed(outcome);
    assert!(gate.secure && account.master.is_some());
    assert!(shared.passwords.get("app", true).is_some());
    assert!(
        shared.passwords.get("app", false).is_none(),
        "without TLS it is another matter"
    );
    serving.await.unwrap().shutdown().await.unwrap();
}

/// Who has failed before waits for names that only the master can read, and not once more for the password.
#[tokio::test(start_paused = true)]
async fn what_a_login_has_waited_for_its_names_counts() {
    let shared = shared(&[("GATE_MASTER", "127.0.0.1:1")]);
    let (near, mut far) = duplex(PIPE);
    let mut client = Client::new(near, "10.0.0.1".into(), false);
    (0..9).for_each(|_| client.failed(&shared));
    client.waited = Duration::from_secs(5);
    let wanted = Wanted {
        user: "app".into(),
        charset: 255,
        database: None,
        attributes: Vec::new(),
    };
    let began = tokio::time::Instant::now();
    let asked = async move {
        let mut packet = [0; 6];
        far.read_exact(&mut packet).await.unwrap();
        assert_eq!(packet[4..], FULL_EXCHANGE);
    };
    let nonce = [1; NONCE];
    let (outcome, ()) = tokio::join!(
        authenticate(&mut client, &shared, wanted, &nonce, b"x"),
        asked
    );
    assert!(outcome.is_err(), "it has left");
    assert!(began.elapsed() < Duration::from_secs(1));
}
