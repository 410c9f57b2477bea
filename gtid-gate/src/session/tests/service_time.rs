//! What a satellite's limit of statements is found from: the time that the server took, and nothing that others took.

use super::streams::*;
use crate::test_support::{Step, expects, one_row, play};
use std::time::Duration;
use tokio::io::AsyncReadExt;

const COMMAND: &[u8] = b"\x03SELECT a FROM t";
const LONG: Duration = Duration::from_millis(600);

/// It waits for its turn, and then its client takes nothing for a while.
#[tokio::test]
async fn neither_the_wait_for_a_turn_nor_that_for_the_client_is_service_time() {
    let shared = shared(&[("GATE_SERVER_RUNNING", "1")]);
    let server = shared.gate.servers.satellites()[0].clone();
    let mut far = None;
    let mut running = run(&shared, 1024, |s| far = Some(satellite(&shared, s)));
    let mut far = far.unwrap();
    running.answer().await;
    let other = server.turns.try_take(false).unwrap();
    running.send(&packet(0, COMMAND)).await;
    while server.turns.queued() == 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(LONG).await;
    drop(other);
    let rows = one_row(&[&"x".repeat(500_000)]);
    let steps = [expects(0, COMMAND), Step::Sends(rows.clone())];
    let playing = tokio::time::timeout(WAIT, play(&steps, &mut far)).await;
    playing.unwrap().unwrap();
    tokio::time::sleep(LONG).await;
    let mut heard = vec![0; rows.len()];
    let hearing = running.from_gate.read_exact(&mut heard);
    tokio::time::timeout(WAIT, hearing).await.unwrap().unwrap();
    assert!(running.leave().await.is_empty());
    let (reads, took) = server.found.told();
    assert_eq!((reads, heard == rows), (1, true));
    assert!(took < LONG, "{took:?}");
}

/// The server's own time is.
#[tokio::test]
async fn the_time_that_a_server_takes_to_answer_is_service_time() {
    let shared = shared(&[("GATE_SERVER_RUNNING", "auto")]);
    let server = shared.gate.servers.satellites()[0].clone();
    let mut far = None;
    let mut running = run(&shared, PIPE, |s| far = Some(satellite(&shared, s)));
    let mut far = far.unwrap();
    running.answer().await;
    running.send(&packet(0, COMMAND)).await;
    play(&[expects(0, COMMAND)], &mut far).await.unwrap();
    tokio::time::sleep(LONG).await;
    play(&[Step::Sends(one_row(&["x"]))], &mut far)
        .await
        .unwrap();
    for _ in 0..4 {
        running.answer().await;
    }
    running.leave().await;
    let (reads, took) = server.found.told();
    assert!(reads == 1 && took >= LONG, "{took:?}");
}
