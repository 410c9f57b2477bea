//! What a client is told that asks the gate about itself.

use super::streams::*;
use crate::backend::COM_QUERY;
use crate::gtid::GtidSet;
use crate::protocol::capability::DEPRECATE_EOF;
use crate::protocol::wire::{Reader, STATUS_AUTOCOMMIT, STATUS_IN_TRANS, STATUS_IN_TRANS_READONLY};
use crate::session::execution::COM_STMT_PREPARE;
use crate::test_support::one_row;
use std::collections::BTreeMap;
use tokio::io::AsyncWriteExt;

const SYNTAX: u16 = 1064;

fn text(command: u8, sql: &str) -> Vec<u8> {
    packet(0, &[&[command], sql.as_bytes()].concat())
}

/// The rows of a result in text, each value as it came, and the status at its end. `eof`: the client wants EOF packets.
async fn rows(running: &mut Running, eof: bool) -> (Vec<Vec<Option<String>>>, u16) {
    let first = running.answer().await;
    assert!(first[0] < 0xfb, "{}", first.escape_ascii());
    for _ in 0..first[0] + u8::from(eof) {
        running.answer().await;
    }
    let mut rows = Vec::new();
    loop {
        let packet = running.answer().await;
        if packet[0] == 0xfe && packet.len() < 9 {
            return (rows, u16::from_le_bytes([packet[3], packet[4]]));
        }
        let mut reader = Reader::new(&packet);
        let values = (0..first[0]).map(|_| reader.nullable_bytes().unwrap());
        let as_text = |v: &[u8]| String::from_utf8(v.to_vec()).unwrap();
        rows.push(values.map(|v| v.map(as_text)).collect());
        assert!(reader.is_empty());
    }
}

async fn ask(running: &mut Running, sql: &str) -> (Vec<Vec<Option<String>>>, u16) {
    running.send(&text(COM_QUERY, sql)).await;
    rows(running, false).await
}

/// What EXPLAIN MULTIMED says, by item.
async fn explain(running: &mut Running, sql: &str) -> BTreeMap<String, String> {
    let (rows, _) = ask(running, &format!("EXPLAIN MULTIMED {sql}")).await;
    let items = rows.into_iter().map(|row| {
        let mut cells = row.into_iter().map(Option::unwrap_or_default);
        (cells.next().unwrap(), cells.next().unwrap())
    });
    items.collect()
}

#[tokio::test]
async fn it_answers_while_no_server_can_be_reached() {
    let shared = shared(&[]);
    let mut running = run(&shared, PIPE, |_| {});
    running.answer().await;
    let (found, status) = ask(
        &mut running,
        "/* x */ show  multimed   status like '%serving';",
    )
    .await;
    let cell = |text: &str| Some(text.to_owned());
    assert_eq!(found, [[cell("Multimed_satellites_serving"), cell("0")]]);
    assert_eq!(status, STATUS_AUTOCOMMIT);
    let (servers, _) = ask(&mut running, "SHOW MULTIMED SERVERS").await;
    assert_eq!(servers.len(), 2);
    assert_eq!(servers[1][2], cell("down"));
}

#[tokio::test]
async fn a_transaction_stays_open_and_its_status_is_told() {
    let shared = shared(&[]);
    let mut far = None;
    let mut running = run(&shared, PIPE, |session| {
        far = Some(master(&shared, session, PIPE));
        session.state.tx = Tx::OnMaster;
    });
    running.answer().await;
    let (_, status) = ask(&mut running, "SHOW MULTIMED SERVERS").await;
    assert_eq!(status, STATUS_AUTOCOMMIT | STATUS_IN_TRANS);
    let mut running = run(&shared, PIPE, |session| session.state.tx = Tx::Pending);
    running.answer().await;
    let expected = STATUS_AUTOCOMMIT | STATUS_IN_TRANS | STATUS_IN_TRANS_READONLY;
    for question in ["SHOW MULTIMED VARIABLES", "EXPLAIN MULTIMED COMMIT"] {
        assert_eq!(ask(&mut running, question).await.1, expected);
    }
}

#[tokio::test]
async fn what_is_not_known_is_an_error_and_so_is_a_question_among_statements() {
    let shared = shared(&[]);
    let mut running = run(&shared, PIPE, |_| {});
    running.answer().await;
    for sql in ["SHOW MULTIMED", "SELECT 1; SHOW MULTIMED STATUS"] {
        for command in [COM_QUERY, COM_STMT_PREPARE] {
            running.send(&text(command, sql)).await;
            assert_eq!(code(&running.answer().await), SYNTAX);
        }
    }
    running.send(&packet(0, &[0x0e])).await;
    assert_eq!(running.answer().await[0], 0);
}

/// Number of parameters, then columns; execution with a value for the question mark.
#[tokio::test]
async fn a_prepared_question_is_answered_in_binary() {
    for eof in [true, false] {
        let shared = shared(&[]);
        let mut running = run(&shared, PIPE, |session| {
            if eof {
                session.client.capabilities &= !DEPRECATE_EOF;
            }
        });
        running.answer().await;
        let sql = "EXPLAIN MULTIMED DELETE FROM t WHERE a = ?";
        running.send(&text(COM_STMT_PREPARE, sql)).await;
        let prepared = running.answer().await;
        assert_eq!(prepared, [0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0]);
        for _ in 0..3 + 2 * usize::from(eof) {
            running.answer().await;
        }
        let execute = [
            0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0,
        ];
        running.send(&packet(0, &execute)).await;
        assert_eq!(running.answer().await, [2]);
        for _ in 0..2 + usize::from(eof) {
            running.answer().await;
        }
        let first = running.answer().await;
        assert_eq!(first, b"\0\0\x09Statement\x1bfor the master: data change");
    }
}

#[tokio::test]
async fn explaining_changes_nothing_and_says_where_and_why() {
    let shared = shared(&[("GATE_CONSISTENCY", "eventual")]);
    let server = &shared.gate.servers.satellites()[0];
    publish(server);
    let mut running = run(&shared, PIPE, |session| {
        session.state.database = Some("shop".into());
    });
    running.answer().await;
    let read = explain(
        &mut running,
        "SELECT a FROM t JOIN db.u USING (i) WHERE b = ?",
    )
    .await;
    assert_eq!(read["Statement"], "read");
    assert_eq!(read["Tables"], "t, db.u");
    assert_eq!(read["Schema"], "shop");
    assert_eq!(read["Runs_on"], server.name);
    assert_eq!(read["Consistency"], "eventual");
    let standing = &read[&format!("Server {}", server.name)];
    assert!(standing.starts_with("fresh"), "{read:?}");
    let locking = explain(&mut running, "SELECT a FROM t FOR UPDATE").await;
    assert_eq!(locking["Reason"], "locking read");
    assert!(locking["Advice"].contains("FOR UPDATE"), "{locking:?}");
    let pin = explain(&mut running, "CREATE TEMPORARY TABLE x (i INT)").await;
    assert!(pin["Statement"].contains("temporary table"), "{pin:?}");
    explain(&mut running, "START TRANSACTION READ ONLY").await;
    let choice = explain(&mut running, "SET @multimed_consistency = 'strong'").await;
    let setting = explain(&mut running, "SET sql_mode = ''").await;
    assert_eq!(
        (&*choice["Runs_on"], &*setting["Runs_on"]),
        ("gate", "127.0.0.1")
    );
    // None of that was done.
    let again = explain(&mut running, "SELECT 1").await;
    assert_eq!(again["Runs_on"], server.name);
    assert_eq!(server.running.load(std::sync::atomic::Ordering::Relaxed), 0);
    let error = "SELECT 1 /* multimed: consistency=x */";
    running
        .send(&text(COM_QUERY, &format!("EXPLAIN MULTIMED {error}")))
        .await;
    assert_eq!(code(&running.answer().await), 1231);
}

/// What SHOW MULTIMED LAST READ says in `Gtid_set` of a read on the master, which had `1-5` when it was sent there, and `1-9` when it
/// answered. `status`: what the answer says of the transaction; `prepare`: what keeps the session there.
async fn last_set(status: u8, prepare: impl FnOnce(&mut Session)) -> Option<String> {
    let set = |last| GtidSet::parse(&format!("{SOURCE}:1-{last}")).unwrap();
    let shared = shared(&[]);
    let server = &shared.gate.servers.master;
    publish_set(server, set(5));
    let mut far = None;
    let mut running = run(&shared, PIPE, |session| {
        far = Some(master(&shared, session, PIPE));
        prepare(session);
    });
    let mut far = far.unwrap();
    running.answer().await;
    running.send(&text(COM_QUERY, "SELECT a FROM t")).await;
    tokio::time::timeout(WAIT, read_packet(&mut far))
        .await
        .expect("the read");
    publish_set(server, set(9));
    let mut answer = one_row(&["x"]);
    let at = answer.len() - 4;
    answer[at] = status;
    far.write_all(&answer).await.unwrap();
    rows(&mut running, false).await;
    let (read, _) = ask(&mut running, "SHOW MULTIMED LAST READ").await;
    assert_eq!(read[0][1].as_deref(), Some("master"));
    read[0][7].clone()
}

const SOURCE: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

#[tokio::test]
async fn the_last_read_on_the_master_claims_nothing_that_came_after_it_was_sent() {
    let pinned = last_set(2, |session| session.state.sticky = Some("LOCK")).await;
    assert_eq!(pinned, Some(format!("{SOURCE}:1-5")));
    let ansi_quotes = last_set(2, |session| session.state.reads_differently = true).await;
    assert_eq!(ansi_quotes, pinned);
}

#[tokio::test]
async fn the_last_read_of_a_read_write_transaction_claims_nothing() {
    let inside = last_set(3, |session| session.state.tx = Tx::OnMaster).await;
    assert_eq!(inside, None);
    let autocommit_off = last_set(1, |session| {
        session.state.autocommit = false;
        session.connections.master.as_mut().unwrap().autocommit = false;
    });
    let autocommit_off = autocommit_off.await;
    assert_eq!(autocommit_off, None);
    let ended_by_an_error = last_set(2, |session| session.state.tx = Tx::OnMaster).await;
    assert_eq!(ended_by_an_error, None);
}
