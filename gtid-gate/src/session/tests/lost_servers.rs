//! A server that is lost at any byte of a command or of an answer: the client has the whole answer, or sees that it has not.

use super::streams::*;
use crate::protocol::wire::payload_size;
use crate::session::settle::INSERT_ID;
use crate::sql::understand;
use crate::test_support::{Lost, Step, column, expects, one_row, play, rest, total};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const OK_AND_MORE: &[u8] = &[0, 1, 0, 0x0a, 0, 0, 0];
const END: &[u8] = b"\xfe\0\0\x02\0\0\0";
const END_AND_MORE: &[u8] = b"\xfe\0\0\x0a\0\0\0";

/// One server's part, and the client's: a client that sends its commands one behind the other.
struct Case {
    name: &'static str,
    /// What the client says.
    commands: Vec<u8>,
    server: Vec<Step>,
    /// The packets of all answers together.
    answers: usize,
}

fn packets(first: u8, payloads: &[&[u8]]) -> Step {
    let packets = payloads.iter().zip(first..).map(|(p, seq)| packet(seq, p));
    Step::Sends(packets.flatten().collect())
}

fn one(name: &'static str, command: &[u8], answer: &[&[u8]]) -> Case {
    Case {
        name,
        commands: packet(0, command),
        server: vec![expects(0, command), packets(1, answer)],
        answers: answer.len(),
    }
}

/// What a client prepares is server's statement 9, and its own 1.
fn prepared() -> Case {
    let text = b"\x16SELECT a FROM t WHERE b = ? FOR UPDATE";
    let execution =
        |id: u8| [&[0x17, id, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0], &[7; 8][..]].concat();
    let described = &column();
    let prepared: [&[u8]; 3] = [&[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], described, described];
    let rows: [&[u8]; 5] = [&[1], described, &[0, 0, 1, b'x'], &[0, 4], END];
    Case {
        name: "prepared",
        commands: [packet(0, text), packet(0, &execution(1))].concat(),
        server: vec![
            expects(0, text),
            packets(1, &prepared),
            expects(0, &execution(9)),
            packets(1, &rows),
        ],
        answers: prepared.len() + rows.len(),
    }
}

fn cases() -> Vec<Case> {
    let described = &column();
    let rows: [&[u8]; 6] = [&[2], described, described, b"\x01a\x01b", b"\xfb\x01c", END];
    let multi: [&[u8]; 9] = [
        OK_AND_MORE,
        &[1],
        described,
        b"\x01a",
        END_AND_MORE,
        &[1],
        described,
        END_AND_MORE,
        OK,
    ];
    let broken_off: [&[u8]; 4] = [&[1], described, b"\x01a", b"\xff\x25\x05#70100interrupted"];
    let refused: [&[u8]; 1] = [b"\xff\x7a\x04#42S02Table 'app.t' doesn't exist"];
    vec![
        one("rows", b"\x03SELECT a, b FROM t FOR UPDATE", &rows),
        one("several results", b"\x03CALL p()", &multi),
        one("ok", b"\x03UPDATE t SET a = 1", &[OK]),
        one(
            "rows that end with an error",
            b"\x03SELECT a FROM t FOR UPDATE",
            &broken_off,
        ),
        one("an error", b"\x03DELETE FROM t", &refused),
        prepared(),
    ]
}

/// All that the client hears after the OK of its login, up to the end of the connection or of what it waits for.
async fn hear(running: &mut Running, answers: usize) -> (Vec<u8>, bool) {
    let mut heard = Vec::new();
    for _ in 0..answers {
        let mut header = [0; 4];
        if running.from_gate.read_exact(&mut header).await.is_err() {
            return (heard, false);
        }
        heard.extend_from_slice(&header);
        let mut payload = vec![0; payload_size(&header)];
        // A packet that breaks off leaves what came of it.
        for at in 0..payload.len() {
            if running
                .from_gate
                .read_exact(&mut payload[at..=at])
                .await
                .is_err()
            {
                heard.extend_from_slice(&payload[..at]);
                return (heard, false);
            }
        }
        heard.extend_from_slice(&payload);
        if payload.first() == Some(&0xff) {
            return (heard, true);
        }
    }
    (heard, true)
}

/// What a client hears of a master that is lost after so many bytes, and whether its connection goes on.
async fn with_master(shared: &Arc<Shared>, case: &Case, lost_after: usize) -> (Vec<u8>, bool) {
    let (near, mut far) = duplex(PIPE);
    let mut running = run(shared, PIPE, |session| {
        let master = &shared.gate.servers.master;
        let backend = Backend::scripted(master, Lost::after(lost_after, near));
        session.connections.master = Some(backend);
    });
    running.answer().await;
    running.send(&case.commands).await;
    let hearing = hear(&mut running, case.answers);
    let both = async { tokio::join!(hearing, play(&case.server, &mut far)).0 };
    let heard = tokio::time::timeout(WAIT, both).await;
    drop(far);
    let heard = heard.unwrap_or_else(|_| panic!("{}: lost after {lost_after}", case.name));
    running.leave().await;
    heard
}

/// The client has a beginning of the whole, and then the end of the connection, or an error in place of the next packet.
fn is_seen_as_broken(heard: &[u8], goes_on: bool, whole: &[u8]) -> bool {
    let same = heard.iter().zip(whole).take_while(|(a, b)| a == b).count();
    if same == heard.len() {
        return !goes_on && same < whole.len();
    }
    let mut boundary = 0;
    while boundary + 4 + payload_size(&whole[boundary..]) <= same {
        boundary += 4 + payload_size(&whole[boundary..]);
    }
    let error = &heard[boundary..];
    error.len() == 4 + payload_size(error) && error[3] == whole[boundary + 3] && error[4] == 0xff
}

#[tokio::test]
async fn of_a_master_that_is_lost_at_any_byte_a_client_never_takes_a_broken_answer_for_a_whole_one()
{
    let shared = shared(&[]);
    for case in cases() {
        let all = total(&case.server);
        let (whole, goes_on) = with_master(&shared, &case, all).await;
        let Step::Sends(last) = &case.server[case.server.len() - 1] else {
            unreachable!("a server has the last word");
        };
        assert!(goes_on && whole.ends_with(last), "{}: {whole:?}", case.name);
        for lost_after in 0..all {
            let (heard, goes_on) = with_master(&shared, &case, lost_after).await;
            let broken = is_seen_as_broken(&heard, goes_on, &whole);
            assert!(
                broken,
                "{}: lost after {lost_after}: {}",
                case.name,
                heard.escape_ascii()
            );
        }
    }
}

const READ: &[u8] = b"\x03SELECT a FROM t";

/// A read of which the first server is lost after each number of bytes. The client has the other's answer in the first `moves` cases,
/// and then an error; `session_over` gives a session both connections.
async fn goes_to_the_other(
    shared: &Arc<Shared>,
    moves: usize,
    before: impl Fn(),
    session_over: impl Fn(&mut Session, Lost<DuplexStream>, DuplexStream),
) {
    let command = READ;
    let (answer, other) = (one_row(&["the first"]), one_row(&["the other"]));
    let at_first = [expects(0, command), Step::Sends(answer.clone())];
    let at_other = [expects(0, command), Step::Sends(other.clone())];
    let (mut from_other, mut broken) = (0, 0);
    for lost_after in 0..=total(&at_first) {
        let ((near, mut first), (to_second, mut second)) = (duplex(PIPE), duplex(PIPE));
        let mut running = run(shared, PIPE, |session| {
            session_over(session, Lost::after(lost_after, near), to_second);
        });
        before();
        running.answer().await;
        running.send(&packet(0, command)).await;
        let serving = async {
            let _ = tokio::join!(play(&at_first, &mut first), play(&at_other, &mut second));
            std::future::pending::<()>().await;
        };
        let hearing = tokio::time::timeout(WAIT, hear(&mut running, 4));
        let heard = tokio::select! {
            heard = hearing => heard,
            () = serving => unreachable!("it serves for ever"),
        };
        let (heard, goes_on) = heard.expect("an answer or an end");
        if lost_after == total(&at_first) {
            assert_eq!(heard, answer);
        } else if heard == other {
            from_other += 1;
        } else {
            let seen = is_seen_as_broken(&heard, goes_on, &answer);
            assert!(seen, "lost after {lost_after}: {}", heard.escape_ascii());
            broken += 1;
        }
    }
    assert_eq!(from_other, moves);
    assert!(broken > 0);
}

#[tokio::test]
async fn of_a_satellite_that_is_lost_at_any_byte_a_client_has_an_error_or_the_master_s_answer() {
    let shared = shared(&[]);
    // Not once it has the statement: it may have died of it.
    let moves = 4 + READ.len();
    goes_to_the_other(
        &shared,
        moves,
        || (),
        |session, first, second| {
            satellite_over(&shared, session, first);
            let master = &shared.gate.servers.master;
            session.connections.master = Some(Backend::scripted(master, second));
        },
    )
    .await;
}

#[tokio::test]
async fn of_a_master_that_answers_sooner_and_is_lost_a_client_has_an_error_or_the_satellite_s_answer()
 {
    let shared = shared(&[
        ("GATE_CONSISTENCY", "eventual"),
        ("GATE_MASTER_READS", "spare"),
    ]);
    let digest = understand("SELECT a FROM t").names.unwrap().digest;
    let sooner = || busy_satellite(&shared, digest);
    // As long as it has said nothing.
    let moves = 4 + READ.len() + 5;
    goes_to_the_other(&shared, moves, sooner, |session, first, second| {
        satellite_over(&shared, session, second);
        let master = &shared.gate.servers.master;
        session.connections.master = Some(Backend::scripted(master, first));
    })
    .await;
}

/// The master answers this digest sooner, and has time to spare.
fn busy_satellite(shared: &Shared, digest: u64) {
    let (slow, quick) = (Duration::from_millis(50), Duration::from_micros(200));
    let servers = &shared.gate.servers;
    let (satellite, now) = (&servers.satellites()[0], Instant::now());
    (0..50).for_each(|_| satellite.times.add(digest, slow, 1, now));
    (0..50).for_each(|_| servers.master.times.add(digest, quick, 1, now));
    publish(&servers.master);
    shared.gate.has_time_to_spare();
}

/// A server that dies once it has got the statement. Says how often that happened.
async fn dies_of_the_read(mut server: DuplexStream) -> usize {
    let read = [expects(0, READ)];
    usize::from(play(&read, &mut server).await.is_ok())
}

/// The code that a client is told of a read that every one of these satellites dies of, how many did, and whether the master got it.
async fn query_of_death(satellites: &str) -> (u16, usize, bool) {
    let shared = shared(&[("GATE_SATELLITES", satellites), ("GATE_WAIT_MS", "0")]);
    let count = shared.gate.servers.satellites().len();
    let (mut dying, mut at_master) = (Vec::new(), None);
    let mut running = run(&shared, PIPE, |session| {
        for at in 0..count {
            let (near, far) = duplex(PIPE);
            nth_satellite_over(&shared, session, at, near);
            dying.push(tokio::spawn(dies_of_the_read(far)));
        }
        publish(&shared.gate.servers.master);
        at_master = Some(master(&shared, session, PIPE));
    });
    running.answer().await;
    running.send(&packet(0, READ)).await;
    let told = code(&running.answer().await);
    running.leave().await;
    let mut deaths = 0;
    for each in dying {
        deaths += each.await.unwrap();
    }
    let heard = rest(&mut at_master.unwrap()).await;
    let is_quit = heard.get(4).is_none_or(|command| *command == 1);
    (told, deaths, !is_quit)
}

#[tokio::test]
async fn a_query_of_death_takes_two_satellites_at_most_and_never_the_master() {
    let three = "127.0.0.1:2,127.0.0.1:3,127.0.0.1:4";
    assert_eq!(query_of_death(three).await, (1105, 2, false));
    assert_eq!(query_of_death("127.0.0.1:2").await, (1105, 1, false));
}

/// The code that a client is told of a read during which its satellite hangs, where the master answers; `known`: that satellite has answered
/// this digest before.
async fn query_of_a_hang(known: bool) -> u16 {
    let shared = shared(&[("GATE_WAIT_MS", "0")]);
    let server = shared.gate.servers.satellites()[0].clone();
    let digest = understand("SELECT a FROM t").names.unwrap().digest;
    if known {
        server
            .times
            .add(digest, Duration::from_millis(1), 1, Instant::now());
    }
    let (near, mut hanging) = duplex(PIPE);
    let mut at_master = None;
    let mut running = run(&shared, PIPE, |session| {
        satellite_over(&shared, session, near);
        publish(&shared.gate.servers.master);
        at_master = Some(master(&shared, session, PIPE));
    });
    running.answer().await;
    running.send(&packet(0, READ)).await;
    play(&[expects(0, READ)], &mut hanging).await.unwrap();
    server.forget();
    shared.registry.tell_of_loss();
    let answer = [expects(0, READ), Step::Sends(one_row(&["the master's"]))];
    let mut far = at_master.unwrap();
    tokio::spawn(async move { play(&answer, &mut far).await });
    code(&running.answer().await)
}

#[tokio::test]
async fn a_hang_is_the_fault_of_a_statement_only_where_the_satellite_never_answered_it() {
    assert_eq!(query_of_a_hang(true).await, 0);
    assert_eq!(query_of_a_hang(false).await, 1105);
}

/// `answer`: of the master, to the question for the session's last number, before its connection goes to another session.
async fn last_insert_id_after(answer: Vec<u8>) -> u16 {
    let shared = shared(&[]);
    let question = [b"\x03".as_slice(), INSERT_ID.as_bytes()].concat();
    let asked = [expects(0, &question), Step::Sends(answer)];
    let (near, mut far) = duplex(PIPE);
    let mut session = new_session(&shared, near);
    let mut first = master(&shared, &mut session, PIPE);
    let older = "SET last_insert_id = 7".to_owned();
    session.state.keep_on_master("last_insert_id", older);
    session.state.inserted = true;
    let given = session.connections.master.take().unwrap();
    let (kept, _) = tokio::join!(session.give_master(given, true), play(&asked, &mut first));
    assert!(kept.is_none());
    let mut second = master(&shared, &mut session, PIPE);
    let running = tokio::spawn(session.run());
    read_packet(&mut far).await;
    let client = b"\x03SELECT LAST_INSERT_ID()";
    far.write_all(&packet(0, client)).await.unwrap();
    let lost = [expects(0, &question), Step::Sends(one_row(&["0"]))];
    let (told, _) = tokio::join!(read_packet(&mut far), play(&lost, &mut second));
    drop(far);
    running.await.unwrap();
    code(&told)
}

#[tokio::test]
async fn a_last_insert_id_that_was_asked_for_in_vain_is_an_error_and_no_older_number() {
    let refused = wire::err_packet(&SqlError::gate("no"));
    assert_eq!(last_insert_id_after(packet(1, &refused)).await, 1105);
}
