//! What a client has sent and nobody has read never becomes a command.

use super::streams::*;
use crate::protocol::wire::MAX_PAYLOAD;
use crate::session::commands::COM_STMT_EXECUTE;
use crate::session::execution::COM_STMT_PREPARE;
use crate::session::long_data::COM_STMT_SEND_LONG_DATA;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

const CREATE: &[u8] = b"\x03CREATE TABLE from_data (a INT) /* as long as a pipe */       ";
pub(super) const COM_PING: u8 = 0x0e;
const COM_STMT_CLOSE: u8 = 0x19;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// Bytes of data that are a whole command.
fn data() -> Vec<u8> {
    packet(0, CREATE)
}

/// Statements that sessions have meant for the master.
fn statements(shared: &Shared) -> u64 {
    shared.metrics.master_statements.get()
}

async fn until_master_lost(shared: &Shared) {
    let lost = shared.metrics.errors.with_label_values(&["master_lost"]);
    let counted = async {
        while lost.get() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT, counted)
        .await
        .expect("a lost master");
}

#[tokio::test]
async fn no_byte_of_a_file_becomes_a_command_wherever_the_master_is_lost() {
    let shared = shared(&[]);
    let query = packet(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t");
    // The gate reads what the pipe holds: the first piece ends where the first command begins.
    let pipe = data().len();
    let content = [&vec![b'x'; pipe - 4][..], &data().repeat(5)].concat();
    let file = [packet(2, &content), packet(3, b"")].concat();
    for lost_at in 0..=file.len() {
        let before = statements(&shared);
        let mut far = None;
        let mut running = run(&shared, pipe, |s| far = Some(master(&shared, s, 16)));
        let (mut far, length) = (far.unwrap(), query.len());
        let server = tokio::spawn(async move {
            far.read_exact(&mut vec![0; length]).await.unwrap();
            far.write_all(&packet(1, b"\xfbf")).await.unwrap();
            far.read_exact(&mut vec![0; lost_at]).await.unwrap();
        });
        running.answer().await;
        running.send(&query).await;
        assert_eq!(running.answer().await, b"\xfbf");
        let _ = running.to_gate.write_all(&file).await;
        server.await.unwrap();
        let said = running.leave().await;
        assert_eq!(said.len(), 1, "lost at {lost_at}: {said:?}");
        assert_eq!(code(&said[0]), 1105);
        assert_eq!(statements(&shared) - before, 1, "lost at {lost_at}");
    }
}

#[tokio::test]
async fn the_rest_of_a_long_insert_becomes_no_command_when_the_master_is_lost() {
    let shared = shared(&[]);
    let mut far = None;
    let mut running = run(&shared, PIPE, |s| far = Some(master(&shared, s, PIPE)));
    running.answer().await;
    let first = full_packet(b"\x03INSERT INTO t VALUES ('");
    let mut far = far.unwrap();
    let sent = first.len() + 4 + 1;
    let server = tokio::spawn(async move { far.read_exact(&mut vec![0; sent]).await.map(drop) });
    running.send(&first).await;
    running.send(&packet(1, &vec![b'x'; 1000])[..5]).await;
    server.await.unwrap().unwrap();
    running.send(b"x").await;
    until_master_lost(&shared).await;
    running.send(&data()).await;
    let said = running.leave().await;
    assert_eq!(said.iter().map(|p| code(p)).collect::<Vec<_>>(), [1105]);
    assert_eq!(statements(&shared), 1);
}

#[tokio::test]
async fn the_rest_of_a_refused_command_becomes_no_command() {
    let limit = (MAX_PAYLOAD + 10).to_string();
    let shared = shared(&[("GATE_MAX_PACKET_BYTES", &limit)]);
    let no_master = b"\x03INSERT INTO t VALUES ('";
    let cases: [(&[u8], Tx, u16); 8] = [
        (no_master, Tx::None, 1105),
        (no_master, Tx::Lost, 1213),
        (&[COM_STMT_EXECUTE, 7, 0, 0, 0], Tx::None, 1243),
        (&[COM_PING], Tx::None, 1835),
        (&[COM_STMT_CLOSE, 1, 0, 0, 0], Tx::None, 1835),
        (&[0x55], Tx::None, 1835),
        (&[COM_STMT_PREPARE, b'S'], Tx::None, 1156),
        (&[COM_STMT_SEND_LONG_DATA, 1, 0, 0, 0], Tx::None, 1156),
    ];
    for (begins, tx, refusal) in cases {
        let before = statements(&shared);
        let mut running = run(&shared, PIPE, |s| s.state.tx = tx);
        running.answer().await;
        running.send(&full_packet(begins)).await;
        let _ = running.to_gate.write_all(&data()).await;
        let said = running.leave().await;
        let codes: Vec<u16> = said.iter().map(|p| code(p)).collect();
        assert_eq!(codes, [refusal], "{begins:?} {tx:?}");
        let meant = u64::from(begins == no_master && tx == Tx::None);
        assert_eq!(statements(&shared) - before, meant, "{begins:?} {tx:?}");
    }
}

#[tokio::test]
async fn an_oversized_command_becomes_no_command() {
    let shared = shared(&[("GATE_MAX_PACKET_BYTES", "65536")]);
    let mut running = run(&shared, PIPE, |_| {});
    running.answer().await;
    running.send(&packet(0, &[])[..0]).await;
    running.send(&[0, 0, 2, 0]).await;
    running.send(&data().repeat(2)).await;
    let said = running.leave().await;
    assert_eq!(said.iter().map(|p| code(p)).collect::<Vec<_>>(), [1153]);
    assert_eq!(statements(&shared), 0);
}

#[tokio::test]
async fn the_rest_of_a_command_becomes_no_command_after_kill() {
    let shared = shared(&[]);
    let mut entry = None;
    let mut running = run(&shared, PIPE, |s| entry = Some(s.entry.clone()));
    running.answer().await;
    running.send(&packet(0, &[b'x'; 1000])[..100]).await;
    entry.unwrap().signals.raise(KILLED);
    let _ = running.to_gate.write_all(&data()).await;
    assert!(running.leave().await.is_empty());
    assert_eq!(statements(&shared), 0);
}

#[tokio::test]
async fn the_rest_of_an_execution_becomes_no_command_when_the_satellite_is_lost() {
    let shared = shared(&[]);
    let mut running = run(&shared, PIPE, |s| {
        drop(satellite(&shared, s));
        s.state.tx = Tx::OnSatellite(1);
        prepared_read(s);
    });
    running.answer().await;
    running.send(&long_execution()).await;
    let _ = running.to_gate.write_all(&data()).await;
    let said = running.leave().await;
    assert_eq!(said.iter().map(|p| code(p)).collect::<Vec<_>>(), [1213]);
    assert_eq!(statements(&shared), 0);
}

/// The first packet of an execution of statement 1 that says all but the end of its value.
fn long_execution() -> Vec<u8> {
    full_packet(&[COM_STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 252, 0])
}

/// A server that prepares statement 9 and answers its execution, which has a packet of four bytes more than the first.
async fn prepare_and_answer(mut far: DuplexStream, answer: Vec<u8>) {
    read_packet(&mut far).await;
    let prepared = packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    far.write_all(&prepared).await.unwrap();
    read_packet(&mut far).await;
    assert_eq!(read_packet(&mut far).await, b"tail");
    far.write_all(&answer).await.unwrap();
    // Until the gate leaves.
    let _ = far.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn a_long_execution_that_a_satellite_refuses_is_not_sent_to_the_master_without_its_end() {
    let shared = shared(&[]);
    let mut ends = None;
    let mut running = run(&shared, PIPE, |s| {
        ends = Some((satellite(&shared, s), master(&shared, s, PIPE)));
        prepared_read(s);
    });
    let (satellite, master) = ends.unwrap();
    let refusal = SqlError::new(1290, "HY000", "read-only");
    let refusal = packet(2, &wire::err_packet(&refusal));
    let at_satellite = tokio::spawn(prepare_and_answer(satellite, refusal));
    let at_master = tokio::spawn(prepare_and_answer(master, packet(2, OK)));
    running.answer().await;
    running.send(&long_execution()).await;
    running.send(&packet(1, b"tail")).await;
    assert_eq!(running.answer().await[0], 0);
    assert!(running.leave().await.is_empty());
    at_master.await.unwrap();
    at_satellite.abort();
}

/// A server that reads so many bytes of what it is sent, answers with error 1153, and closes.
async fn read_some_and_refuse(mut far: DuplexStream, bytes: usize, seq: u8) {
    far.read_exact(&mut vec![0; bytes]).await.unwrap();
    let refusal = packet(seq, &wire::err_packet(&SqlError::packet_too_large()));
    far.write_all(&refusal).await.unwrap();
}

#[tokio::test]
async fn a_command_that_is_too_long_for_the_master_ends_with_the_master_s_error() {
    // The master stops at the first packet's header, or at the second's.
    for (bytes, seq) in [(4, 1), (4 + MAX_PAYLOAD + 4, 2)] {
        let shared = shared(&[]);
        let mut far = None;
        let mut running = run(&shared, PIPE, |s| far = Some(master(&shared, s, 1024)));
        running.answer().await;
        let server = tokio::spawn(read_some_and_refuse(far.unwrap(), bytes, seq));
        running
            .send(&full_packet(b"\x03INSERT INTO t VALUES ('"))
            .await;
        let more = packet(1, &[b' '; MAX_PAYLOAD]);
        let _ = running.to_gate.write_all(&more).await;
        server.await.unwrap();
        let said = running.leave().await;
        assert_eq!(said.iter().map(|p| code(p)).collect::<Vec<_>>(), [1153]);
        assert_eq!(statements(&shared), 1);
    }
}

#[tokio::test]
async fn an_execution_that_is_too_long_for_the_satellite_ends_with_the_satellite_s_error() {
    let shared = shared(&[]);
    let mut far = None;
    let mut running = run(&shared, PIPE, |s| {
        far = Some(satellite(&shared, s));
        s.state.tx = Tx::OnSatellite(1);
        prepared_read(s);
    });
    running.answer().await;
    let mut far = far.unwrap();
    let server = tokio::spawn(async move {
        read_packet(&mut far).await;
        let prepared = packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        far.write_all(&prepared).await.unwrap();
        read_some_and_refuse(far, 4, 1).await;
    });
    running.send(&long_execution()).await;
    let _ = running.to_gate.write_all(&data()).await;
    server.await.unwrap();
    let said = running.leave().await;
    assert_eq!(said.iter().map(|p| code(p)).collect::<Vec<_>>(), [1153]);
}

#[tokio::test]
async fn a_file_that_the_master_refuses_while_it_comes_ends_with_the_master_s_error() {
    let shared = shared(&[]);
    let mut far = None;
    let mut running = run(&shared, PIPE, |s| far = Some(master(&shared, s, 64)));
    running.answer().await;
    let mut far = far.unwrap();
    let query = packet(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t");
    let server = tokio::spawn(async move {
        read_packet(&mut far).await;
        far.write_all(&packet(1, b"\xfbf")).await.unwrap();
        read_some_and_refuse(far, 10, 3).await;
    });
    running.send(&query).await;
    assert_eq!(running.answer().await, b"\xfbf");
    running.send(&packet(2, &[b'x'; 1000])).await;
    server.await.unwrap();
    let said = running.leave().await;
    assert_eq!(said.iter().map(|p| code(p)).collect::<Vec<_>>(), [1153]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_within_a_file_is_told_of_net_read_timeout() {
    let shared = shared(&[]);
    let mut parts = None;
    let mut running = run(&shared, PIPE, |s| {
        parts = Some((master(&shared, s, PIPE), s.client.timeouts.clone()));
    });
    running.answer().await;
    let (mut far, timeouts) = parts.unwrap();
    timeouts.set("net_read_timeout", "1");
    running
        .send(&packet(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t"))
        .await;
    read_packet(&mut far).await;
    far.write_all(&packet(1, b"\xfbf")).await.unwrap();
    assert_eq!(running.answer().await, b"\xfbf");
    let half = &packet(2, &[b'x'; 100])[..50];
    running.send(half).await;
    assert_eq!(code(&running.answer().await), 1159);
    assert_eq!(running.leave().await.len(), 0);
}
