//! What a session has recorded of its statements.

use super::streams::*;
use crate::common::why::Why;
use crate::test_support::{Step, expects, one_row, play};
use std::time::Duration;
use tokio::io::AsyncReadExt;

const COMMAND: &[u8] = b"\x03select a from t where b = 'secret'";
const LONG: Duration = Duration::from_millis(300);

/// From the command until the client has taken the last byte, what was waited for among it.
#[tokio::test]
async fn a_read_is_recorded_with_its_satellite_its_reason_and_all_its_time() {
    let shared = shared(&[("GATE_SERVER_RUNNING", "1")]);
    let server = shared.gate.servers.satellites()[0].clone();
    let mut far = None;
    let mut running = run(&shared, 1024, |s| far = Some(satellite(&shared, s)));
    let mut far = far.unwrap();
    running.answer().await;
    running.send(&packet(0, COMMAND)).await;
    tokio::time::sleep(LONG).await;
    let rows = one_row(&[&"x".repeat(500_000)]);
    let steps = [expects(0, COMMAND), Step::Sends(rows.clone())];
    let playing = tokio::time::timeout(WAIT, play(&steps, &mut far)).await;
    playing.unwrap().unwrap();
    tokio::time::sleep(LONG).await;
    assert!(shared.gate.statements.rows().is_empty(), "not over yet");
    let mut heard = vec![0; rows.len()];
    let hearing = running.from_gate.read_exact(&mut heard);
    tokio::time::timeout(WAIT, hearing).await.unwrap().unwrap();
    running.leave().await;
    let rows = shared.gate.statements.rows();
    let [row] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert_eq!(&*row.text, "SELECT a FROM t WHERE b = ?");
    assert_eq!((row.count, row.errors), (1, 0));
    assert_eq!(row.servers, [(Some(server.id), 1)]);
    assert_eq!(row.why, [(Why::Fresh, 1)]);
    assert!(row.total >= 2 * LONG, "{:?}", row.total);
    let below = server.statement_times.buckets();
    assert_eq!(below.last().map(|(_, count)| *count), Some(1));
}

#[tokio::test]
async fn what_the_gate_answers_itself_and_what_it_refuses_is_recorded_without_a_server() {
    let shared = shared(&[]);
    let mut running = run(&shared, PIPE, |_| {});
    running.answer().await;
    for statement in ["START TRANSACTION READ ONLY", "DELETE FROM t", "COMMIT"] {
        let command = [b"\x03", statement.as_bytes()].concat();
        running.send(&packet(0, &command)).await;
        running.answer().await;
    }
    running.leave().await;
    let rows = shared.gate.statements.rows();
    let why = |text: &str| {
        let row = rows.iter().find(|row| &*row.text == text).unwrap();
        assert_eq!(row.servers, [(None, 1)], "{text}");
        (row.why[0].0, row.errors)
    };
    assert_eq!(why("START TRANSACTION READ ONLY"), (Why::Gate, 0));
    assert_eq!(why("COMMIT"), (Why::Gate, 0));
}
