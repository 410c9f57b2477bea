//! What clients have the gate hold stays within its bounds, and is given back.

use super::streams::*;
use crate::protocol::wire::MAX_PAYLOAD;
use crate::session::execution::COM_STMT_PREPARE;
use crate::session::long_data::COM_STMT_SEND_LONG_DATA;
use crate::session::work::Request;
use bytes::BytesMut;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const COM_PING: &[u8] = &[0x0e];
const COM_CHANGE_USER: u8 = 0x11;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_RESET: u8 = 0x1a;
const COM_RESET_CONNECTION: u8 = 0x1f;
const MIB: usize = 1 << 20;

const SMALL: &[(&str, &str)] = &[
    ("GATE_CONNECTION_MEMORY_BYTES", "1048576"),
    ("GATE_MEMORY_BYTES", "3145728"),
];

async fn until_taken(shared: &Shared, is_it: impl Fn(usize) -> bool) {
    let taken = async {
        while !is_it(shared.memory.taken()) {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(WAIT, taken).await;
    waited.unwrap_or_else(|_| panic!("{} bytes are taken", shared.memory.taken()));
}

fn about(command: u8, id: u32, rest: &[u8]) -> Vec<u8> {
    [&[command], &id.to_le_bytes()[..], rest].concat()
}

/// The first packet of a statement of so many bytes, without its last byte.
fn nearly(size: usize) -> Vec<u8> {
    let mut command = packet(0, &vec![b' '; size]);
    command[4..10].copy_from_slice(b"\x03INSER");
    command.truncate(size + 3);
    command
}

#[tokio::test]
async fn a_header_alone_takes_nothing() {
    let shared = shared(SMALL);
    let mut running = run(&shared, PIPE, |_| {});
    running.answer().await;
    running.send(&[0xff, 0xff, 0xff, 0, 3]).await;
    running.send(&vec![b' '; 100_000]).await;
    until_taken(&shared, |bytes| bytes == 128 * 1024).await;
    running.leave().await;
    assert_eq!(shared.memory.taken(), 0);
}

#[tokio::test]
async fn a_command_beyond_its_connections_bound_ends_that_connection_and_no_other() {
    let shared = shared(SMALL);
    let mut other = run(&shared, PIPE, |_| {});
    other.answer().await;
    let mut running = run(&shared, PIPE, |_| {});
    running.answer().await;
    running.send(&nearly(2 * MIB)).await;
    running.send(b" ").await;
    let said = running.leave().await;
    assert_eq!(said.len(), 1);
    let error = wire::parse_err(&said[0]);
    assert_eq!(error.code, 1153);
    assert!(error.message.contains("GATE_CONNECTION_MEMORY_BYTES"));
    other.send(&packet(0, COM_PING)).await;
    assert_eq!(code(&other.answer().await), 0);
    assert_eq!(shared.memory.taken(), 0);
}

#[tokio::test]
async fn many_connections_hold_no_more_than_the_gates_bound_and_others_go_on() {
    let shared = shared(SMALL);
    let mut idle = run(&shared, PIPE, |_| {});
    idle.answer().await;
    let mut holders = Vec::new();
    for held in 1..=4 {
        let mut running = run(&shared, PIPE, |_| {});
        running.answer().await;
        running.send(&nearly(700_000)).await;
        let held: usize = held * 11 * 64 * 1024;
        until_taken(&shared, |bytes| bytes == held).await;
        holders.push(running);
    }
    let mut last = run(&shared, PIPE, |_| {});
    last.answer().await;
    last.send(&nearly(700_000)).await;
    last.send(b" ").await;
    let error = wire::parse_err(&last.answer().await);
    assert_eq!(error.code, 1105);
    assert!(error.message.contains("GATE_MEMORY_BYTES"), "{error}");
    last.leave().await;
    assert!(shared.memory.taken() <= 3 * MIB);
    idle.send(&packet(0, COM_PING)).await;
    assert_eq!(code(&idle.answer().await), 0);
    for holder in holders {
        holder.leave().await;
    }
    assert_eq!(shared.memory.taken(), 0);
}

#[tokio::test]
async fn a_statement_beyond_what_may_be_kept_is_not_prepared_and_the_session_goes_on() {
    let shared = shared(SMALL);
    let mut running = run(&shared, PIPE, |_| {});
    running.answer().await;
    let mut command = vec![b' '; 900_000];
    command[0] = COM_STMT_PREPARE;
    running.send(&packet(0, &command)).await;
    assert_eq!(code(&running.answer().await), 1153);
    until_taken(&shared, |bytes| bytes == 0).await;
    running.send(&packet(0, COM_PING)).await;
    assert_eq!(code(&running.answer().await), 0);
    assert!(running.leave().await.is_empty());
}

#[tokio::test]
async fn long_data_beyond_what_may_be_kept_is_an_error_of_the_executions_until_the_reset() {
    let shared = shared(SMALL);
    let mut running = run(&shared, PIPE, prepared_read);
    running.answer().await;
    let piece = about(COM_STMT_SEND_LONG_DATA, 1, &[0; 500_000]);
    for _ in 0..3 {
        running.send(&packet(0, &piece)).await;
    }
    let execute = packet(
        0,
        &about(COM_STMT_EXECUTE, 1, &[0, 1, 0, 0, 0, 0, 1, 252, 0]),
    );
    for _ in 0..2 {
        running.send(&execute).await;
        let error = wire::parse_err(&running.answer().await);
        assert_eq!(error.code, 1153);
        assert!(error.message.contains("GATE_CONNECTION_MEMORY_BYTES"));
    }
    until_taken(&shared, |bytes| bytes == 0).await;
    running
        .send(&packet(0, &about(COM_STMT_RESET, 1, &[])))
        .await;
    assert_eq!(code(&running.answer().await), 0);
    // There is no server: the statement is looked at.
    running.send(&execute).await;
    assert_eq!(code(&running.answer().await), 1105);
    running.leave().await;
}

/// It was gathered, copied to be kept, and copied to be sent, twice.
#[tokio::test]
async fn a_row_of_64_mib_passes_as_long_data_by_default() {
    const ROW: usize = 64 * MIB;
    let shared = shared(&[]);
    let mut far = None;
    let mut running = run(&shared, PIPE, |s| {
        far = Some(master(&shared, s, PIPE));
        s.state.sticky = Some("a test");
        prepared_read(s);
    });
    let mut far = far.unwrap();
    let at_master = tokio::spawn(async move {
        read_packet(&mut far).await;
        far.write_all(&packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
            .await
            .unwrap();
        let mut size = 0;
        loop {
            let received = read_packet(&mut far).await;
            size += received.len();
            if received.len() < MAX_PAYLOAD {
                break;
            }
        }
        let execution = read_packet(&mut far).await;
        far.write_all(&packet(1, &[0, 0, 0, 2, 0, 0, 0]))
            .await
            .unwrap();
        let _ = far.read_to_end(&mut Vec::new()).await;
        (size, execution[1])
    });
    running.answer().await;
    let command = about(COM_STMT_SEND_LONG_DATA, 1, &vec![0; 2 + ROW]);
    for (seq, piece) in command.chunks(MAX_PAYLOAD).enumerate() {
        running.send(&packet(seq as u8, piece)).await;
    }
    let execute = about(COM_STMT_EXECUTE, 1, &[0, 1, 0, 0, 0, 0, 1, 252, 0]);
    running.send(&packet(0, &execute)).await;
    assert_eq!(code(&running.answer().await), 0);
    until_taken(&shared, |bytes| bytes == 0).await;
    running.leave().await;
    assert_eq!(at_master.await.unwrap(), (7 + ROW, 9));
}

#[derive(Debug, Clone)]
enum Step {
    Prepare(u32, usize),
    LongData(u32, u16, usize),
    Execute(u32),
    Close(u32),
    Reset(u32),
    ResetConnection,
    ChangeUser,
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 1u32..4;
    prop_oneof![
        3 => (id(), 1usize..100_000).prop_map(|(id, size)| Step::Prepare(id, size)),
        6 => (id(), 0u16..2, 0usize..200_000).prop_map(|(id, param, size)| Step::LongData(id, param, size)),
        2 => id().prop_map(Step::Execute),
        1 => id().prop_map(Step::Close),
        1 => id().prop_map(Step::Reset),
        1 => Just(Step::ResetConnection),
        1 => Just(Step::ChangeUser),
    ]
}

/// What a statement should count for.
#[derive(Default)]
struct Expected {
    text: usize,
    value: usize,
    refused: bool,
}

async fn take(session: &mut Session, step: &Step, expected: &mut BTreeMap<u32, Expected>) {
    session.client.conn.begin();
    let command = |payload: Vec<u8>| Request {
        payload: BytesMut::from(&payload[..]),
        continued: false,
    };
    let done = match *step {
        Step::Prepare(id, size) => {
            if expected.contains_key(&id) {
                return;
            }
            add_statement(session, id, &vec![b'x'; size]);
            let text = size + 1024;
            expected.insert(
                id,
                Expected {
                    text,
                    ..Expected::default()
                },
            );
            return;
        }
        Step::Execute(id) => {
            let payload = about(COM_STMT_EXECUTE, id, &[0, 1, 0, 0, 0, 0, 1, 252, 0]);
            let Some(statement) = expected.get_mut(&id) else {
                return;
            };
            let known = session.statements.get(id, "").ok().unwrap();
            let executed = known.execution(BytesMut::from(&payload[..]), false, false);
            assert_eq!(executed.is_err(), statement.refused);
            statement.value = 0;
            return;
        }
        Step::LongData(id, param, size) => {
            let rest = [&param.to_le_bytes()[..], &vec![b'x'; size]].concat();
            if let Some(statement) = expected.get_mut(&id).filter(|s| !s.refused) {
                let besides = if statement.value == 0 { 64 } else { 0 };
                statement.value += size + besides;
                statement.refused = param > 0;
            }
            if let Some(statement) = expected.get_mut(&id).filter(|s| s.refused) {
                statement.value = 0;
            }
            command(about(COM_STMT_SEND_LONG_DATA, id, &rest))
        }
        Step::Close(id) => {
            expected.remove(&id);
            command(about(COM_STMT_CLOSE, id, &[]))
        }
        Step::Reset(id) => {
            if let Some(statement) = expected.get_mut(&id) {
                (statement.value, statement.refused) = (0, false);
            }
            command(about(COM_STMT_RESET, id, &[]))
        }
        Step::ResetConnection => {
            expected.clear();
            command(vec![COM_RESET_CONNECTION])
        }
        Step::ChangeUser => {
            expected.clear();
            command([&[COM_CHANGE_USER], &b"app\0\0\0"[..]].concat())
        }
    };
    let _ = session.command(done).await;
}

async fn counts_what_is_held(shared: &Arc<Shared>, steps: &[Step]) {
    let (near, mut far) = tokio::io::duplex(PIPE);
    let mut session = new_session(shared, near);
    let mut expected = BTreeMap::new();
    for step in steps {
        if let Step::ChangeUser = step {
            far.write_all(&packet(1, &[])).await.unwrap();
        }
        take(&mut session, step, &mut expected).await;
        let all = expected.values().map(|e: &Expected| e.text + e.value);
        let all: usize = all.sum();
        let counted = match all <= 64 * 1024 {
            true => 0,
            false => all.next_multiple_of(64 * 1024),
        };
        assert_eq!(shared.memory.taken(), counted, "{step:?}");
    }
    drop(session);
    assert_eq!(shared.memory.taken(), 0);
}

#[test]
fn any_order_of_long_data_prepare_close_reset_and_change_user_gives_back_exactly_what_was_taken() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let shared = runtime.block_on(async { shared(&[]) });
    let (password, account) = (Arc::default(), "app@%".into());
    let passwords = &shared.passwords;
    passwords.keep("app", false, &password, &account, None);
    let steps = prop::collection::vec(step(), 1..60);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(64));
    let outcome = runner.run(&steps, |steps| {
        runtime.block_on(counts_what_is_held(&shared, &steps));
        Ok(())
    });
    outcome.unwrap();
}
