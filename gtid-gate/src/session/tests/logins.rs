//! A login that ends early, at any byte or because it is ended: what it held is free again.

use super::streams::*;
use crate::protocol::wire::ok_packet;
use crate::session::serve;
use crate::test_support::client::Peer;
use crate::test_support::{Lost, rest};
use std::io;
use std::time::Duration;
use tokio::io::{DuplexStream, duplex};
use tokio::net::TcpListener;

/// One login at a time, one session, one turn at the master.
fn narrow(master: &str, login_timeout: &str) -> Arc<Shared> {
    shared(&[
        ("GATE_MASTER", master),
        ("GATE_KEEPALIVE_MS", "600000"),
        ("GATE_LOGIN_FAILURES", "0"),
        ("GATE_LOGIN_VERIFICATIONS", "1"),
        ("GATE_MAX_LOGINS", "1"),
        ("GATE_MAX_CONNECTIONS", "1"),
        ("GATE_LOGIN_TIMEOUT_MS", login_timeout),
    ])
}

fn keep_password(shared: &Shared) {
    let password = Arc::new(Password::new(b"secret".to_vec()));
    let account = "app@%".into();
    let passwords = &shared.passwords;
    passwords.keep("app", false, &password, &account, None);
}

/// Serves one client, to its end.
async fn served(shared: &Arc<Shared>, stream: Lost<DuplexStream>) {
    let client = Client::new(stream, "test".to_owned(), false);
    let place = shared.login_limits.place().expect("a place for a login");
    let serving = serve(client, shared.clone(), false, place);
    tokio::time::timeout(WAIT, serving).await.expect("an end");
}

async fn all_came_back(shared: &Shared, case: &str) {
    assert!(shared.login_limits.place().is_some(), "{case}: its place");
    assert_eq!(shared.sessions.available_permits(), 1, "{case}");
    assert_eq!(shared.registry.count(), 0, "{case}");
    assert_eq!(shared.metrics.sessions.get(), 0, "{case}");
    assert_eq!(shared.gate.servers.master.pool.open(), 0, "{case}");
    let mut waited = Duration::ZERO;
    let turn = shared.login_limits.verification(None, &mut waited).await;
    assert!(turn.is_ok(), "{case}: its turn at the master");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_lost_at_any_byte_up_to_its_session_leaves_its_places() {
    let shared = narrow("127.0.0.1:1", "10000");
    keep_password(&shared);
    let logins = |outcome| shared.metrics.logins.with_label_values(&[outcome]).get();
    let mut lost_after = 0;
    while logins("ok") == 0 {
        let (near, far) = duplex(PIPE);
        let client = async {
            let mut peer = Peer::greeted(far).await?;
            peer.proves(b"secret").await?;
            peer.hears(2, &[1, 3]).await?;
            peer.hears(3, &ok_packet(2, 0)).await
        };
        let stream = Lost::after(lost_after, near);
        let _ = tokio::join!(served(&shared, stream), client);
        all_came_back(&shared, &format!("lost after {lost_after}")).await;
        lost_after += 1;
        assert_eq!(logins("gone") + logins("ok"), lost_after as u64);
        assert!(lost_after < 1000, "no login works");
    }
}

/// How far a client comes that then only waits.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Greeting,
    FullExchange,
    Master,
}

const STAGES: [Stage; 3] = [Stage::Greeting, Stage::FullExchange, Stage::Master];

async fn reach(stage: Stage, far: DuplexStream, shared: &Shared) -> io::Result<Peer> {
    let mut peer = Peer::greeted(far).await?;
    match stage {
        Stage::Greeting => {}
        Stage::FullExchange => {
            peer.proves(b"secret").await?;
            peer.hears(2, &[1, 4]).await?;
        }
        Stage::Master => {
            peer.proves(b"secret").await?;
            peer.hands_over(b"secret", shared).await?;
        }
    }
    Ok(peer)
}

#[tokio::test]
async fn a_login_that_is_killed_or_stopped_ends_wherever_it_waits_and_leaves_its_places() {
    let both = STAGES
        .iter()
        .flat_map(|stage| [(*stage, true), (*stage, false)]);
    for (stage, killed) in both {
        // It takes connections and says nothing.
        let hung = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = narrow(&hung.local_addr().unwrap().to_string(), "10000");
        let (near, far) = duplex(PIPE);
        let client = async {
            let mut peer = reach(stage, far, &shared).await.unwrap();
            let _asked = match stage {
                Stage::Master => Some(hung.accept().await.unwrap()),
                _ => None,
            };
            match killed {
                true => shared.registry.find(peer.id).unwrap().signals.raise(KILLED),
                false => shared.registry.stop(),
            }
            rest(&mut peer.stream).await
        };
        let stream = Lost::after(usize::MAX, near);
        let ((), said) = tokio::join!(served(&shared, stream), client);
        assert_eq!(code(&said[4..]), 1053, "{stage:?}");
        all_came_back(&shared, &format!("{stage:?}")).await;
    }
}

#[tokio::test]
async fn a_login_that_takes_too_long_ends_wherever_it_waits_and_leaves_its_places() {
    for stage in STAGES {
        let hung = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = narrow(&hung.local_addr().unwrap().to_string(), "100");
        let (near, far) = duplex(PIPE);
        let client = async {
            // A machine that is busy ends it at an earlier stage.
            if let Ok(mut peer) = reach(stage, far, &shared).await {
                assert_eq!(rest(&mut peer.stream).await, b"", "{stage:?}");
            }
        };
        let stream = Lost::after(usize::MAX, near);
        tokio::join!(served(&shared, stream), client);
        let timeouts = shared.metrics.logins.with_label_values(&["timeout"]);
        assert_eq!(timeouts.get(), 1, "{stage:?}");
        all_came_back(&shared, &format!("{stage:?}")).await;
    }
}

#[tokio::test]
async fn a_login_that_finds_no_place_among_the_sessions_is_told_and_leaves_its_own() {
    let shared = narrow("127.0.0.1:1", "10000");
    keep_password(&shared);
    let taken = shared.sessions.clone().try_acquire_owned().unwrap();
    let (near, far) = duplex(PIPE);
    let client = async {
        let mut peer = Peer::greeted(far).await.unwrap();
        peer.proves(b"secret").await.unwrap();
        peer.hears(2, &[1, 3]).await.unwrap();
        rest(&mut peer.stream).await
    };
    let stream = Lost::after(usize::MAX, near);
    let ((), said) = tokio::join!(served(&shared, stream), client);
    assert_eq!(code(&said[4..]), 1040);
    drop(taken);
    all_came_back(&shared, "no place").await;
}
