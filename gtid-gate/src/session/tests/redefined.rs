//! A view that becomes another one while a satellite runs a read of it: no client takes that answer for its own session's.

use super::streams::*;
use super::unread::COM_PING;
use crate::gtid::GtidSet;
use crate::test_support::{Step, expects, one_row, play};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};

const READ: &[u8] = b"\x03SELECT a FROM app.v";
const BEGIN: &[u8] = b"\x03START TRANSACTION READ ONLY";
const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

/// Capture's connection to the gate, and how many transactions it has told.
struct Capture {
    stream: TcpStream,
    told: u64,
}

fn frame(kind: u8, body: &[&[u8]]) -> Vec<u8> {
    let body = [&[kind], &body.concat()[..]].concat();
    [&(body.len() as u32).to_be_bytes(), &body[..]].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()
}

/// Schema `app` has the table `t`, and `v`, a view of it.
fn catalog() -> Vec<u8> {
    const ONE: &[u8] = &[0, 0, 0, 1];
    let name = |name| [text("app"), text(name)].concat();
    let sql = b"select `app`.`t`.`a` AS `a` from `app`.`t`";
    let view = [ONE, &name("v"), &[0], ONE, &name("t")].concat();
    let tables = [&[0; 4], ONE, &name("t")].concat();
    let definition = [ONE, &[1], &name("v"), &[0; 7], &[sql.len() as u8], sql].concat();
    frame(4, &[&[0; 9], &view, &tables, &definition])
}

impl Capture {
    /// `marks`: one that says until when all is known; another is believed.
    async fn follow(marks: bool) -> (Arc<Shared>, Self) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = shared(&[("GATE_TABLE_STREAM", &address)]);
        let (mut stream, _) = listener.accept().await.unwrap();
        let hello = [&[0, 1], &text(UUID)[..], &[0; 4]].concat();
        let hello = frame(1, &[&hello, if marks { &[5] } else { &[] }]);
        let begin = [hello, catalog()].concat();
        stream.write_all(&begin).await.unwrap();
        let mut capture = Self { stream, told: 0 };
        assert_eq!(capture.heard().await.0, 0);
        capture.mark(0).await;
        (shared, capture)
    }

    /// What the gate has acknowledged, and when.
    async fn heard(&mut self) -> (u64, u64) {
        let heard = async { (self.stream.read_u64().await, self.stream.read_u64().await) };
        let (number, time) = tokio::time::timeout(WAIT, heard).await.unwrap();
        (number.unwrap(), time.unwrap())
    }

    /// The gate has what was told when this is over.
    async fn mark(&mut self, time: u64) -> u64 {
        let numbers = [self.told.to_be_bytes(), time.to_be_bytes()].concat();
        self.stream.write_all(&frame(5, &[&numbers])).await.unwrap();
        let (number, time) = self.heard().await;
        assert_eq!(number, self.told);
        time
    }

    async fn redefines(&mut self, name: &str) {
        self.told += 1;
        let gtid = text(&format!("{UUID}:{}", self.told));
        let names = [&[0, 0, 0, 1], &text("app")[..], &text(name)].concat();
        let told = frame(2, &[&gtid, &[0; 8], &[1], &names]);
        self.stream.write_all(&told).await.unwrap();
        self.mark(0).await;
    }
}

async fn plays(steps: &[Step], server: &mut DuplexStream) {
    let playing = tokio::time::timeout(WAIT, play(steps, server)).await;
    playing.expect("what was expected").unwrap();
}

/// A session whose read a satellite has in hand; the satellite and the master.
async fn reading(shared: &Arc<Shared>, before: &[&[u8]]) -> (Running, DuplexStream, DuplexStream) {
    let mut ends = None;
    let mut running = run(shared, PIPE, |s| {
        ends = Some((satellite(shared, s), master(shared, s, PIPE)));
    });
    let (mut satellite, master) = ends.unwrap();
    running.answer().await;
    for command in before {
        running.send(&packet(0, command)).await;
        running.answer().await;
    }
    running.send(&packet(0, READ)).await;
    if !before.is_empty() {
        let begins = expects(0, BEGIN);
        plays(&[begins, ok()], &mut satellite).await;
    }
    plays(&[expects(0, READ)], &mut satellite).await;
    (running, satellite, master)
}

fn ok() -> Step {
    Step::Sends(packet(1, &[0, 0, 0, 2, 0, 0, 0]))
}

async fn answers(row: &str, server: &mut DuplexStream) {
    plays(&[Step::Sends(one_row(&[row]))], server).await;
}

/// The same within a transaction.
async fn answers_inside(row: &str, server: &mut DuplexStream) {
    let mut answer = one_row(&[row]);
    let status = answer.len() - 4;
    answer[status] |= 1;
    plays(&[Step::Sends(answer)], server).await;
}

/// The row in the answer of one row, or the code of the error that is in its place.
async fn row(running: &mut Running) -> String {
    for _ in 0..2 {
        let packet = running.answer().await;
        if code(&packet) != 0 {
            return code(&packet).to_string();
        }
    }
    let row = running.answer().await;
    let end = running.answer().await;
    match code(&end) {
        0 => String::from_utf8_lossy(&row[1..]).into_owned(),
        code => code.to_string(),
    }
}

async fn goes_on(mut running: Running) {
    running.send(&packet(0, &[COM_PING])).await;
    assert_eq!(running.answer().await[0], 0);
}

#[tokio::test]
async fn a_read_of_which_the_client_has_nothing_runs_on_the_master() {
    let (shared, mut capture) = Capture::follow(false).await;
    let (mut running, mut satellite, mut master) = reading(&shared, &[]).await;
    capture.redefines("v").await;
    answers("wrong", &mut satellite).await;
    plays(&[expects(0, READ)], &mut master).await;
    answers("right", &mut master).await;
    assert_eq!(row(&mut running).await, "right");
}

#[tokio::test]
async fn a_read_of_what_was_not_redefined_is_answered() {
    let (shared, mut capture) = Capture::follow(false).await;
    let (mut running, mut satellite, _master) = reading(&shared, &[]).await;
    capture.redefines("w").await;
    answers("right", &mut satellite).await;
    assert_eq!(row(&mut running).await, "right");
}

/// Cut at each byte: where the rest comes together, and where the end alone does.
#[tokio::test]
async fn an_answer_of_which_the_client_has_some_ends_with_an_error() {
    let answer = one_row(&["wrong"]);
    for cut in [
        5,
        20,
        answer.len() - 12,
        answer.len() - 11,
        answer.len() - 3,
    ] {
        let (shared, mut capture) = Capture::follow(false).await;
        let (mut running, mut satellite, _master) = reading(&shared, &[]).await;
        let (first, rest) = answer.split_at(cut);
        satellite.write_all(first).await.unwrap();
        let mut count = [0; 5];
        let has = running.from_gate.read_exact(&mut count);
        tokio::time::timeout(WAIT, has).await.unwrap().unwrap();
        capture.redefines("v").await;
        satellite.write_all(rest).await.unwrap();
        let _column = running.answer().await;
        assert_eq!(running.answer().await, b"\x05wrong", "cut at {cut}");
        assert_eq!(code(&running.answer().await), 1105, "cut at {cut}");
        goes_on(running).await;
    }
}

#[tokio::test]
async fn a_transaction_that_has_read_nothing_goes_to_the_master_with_its_read() {
    let (shared, mut capture) = Capture::follow(false).await;
    let (mut running, mut satellite, mut master) = reading(&shared, &[BEGIN]).await;
    capture.redefines("v").await;
    answers_inside("wrong", &mut satellite).await;
    plays(&[expects(0, BEGIN), ok()], &mut master).await;
    plays(&[expects(0, READ)], &mut master).await;
    answers_inside("right", &mut master).await;
    assert_eq!(row(&mut running).await, "right");
}

#[tokio::test]
async fn a_transaction_that_has_read_gets_an_error_and_goes_on() {
    let (shared, mut capture) = Capture::follow(false).await;
    let (mut running, mut satellite, _master) = reading(&shared, &[BEGIN]).await;
    answers_inside("right", &mut satellite).await;
    assert_eq!(row(&mut running).await, "right");
    running.send(&packet(0, READ)).await;
    plays(&[expects(0, READ)], &mut satellite).await;
    capture.redefines("v").await;
    answers_inside("wrong", &mut satellite).await;
    assert_eq!(row(&mut running).await, "1105");
    let plain = b"\x03SELECT a FROM app.t";
    running.send(&packet(0, plain)).await;
    plays(&[expects(0, plain)], &mut satellite).await;
    answers_inside("right", &mut satellite).await;
    assert_eq!(row(&mut running).await, "right");
}

#[tokio::test]
async fn without_the_stream_it_counts_what_the_satellite_has() {
    for (has, expected) in [("", "satellite"), ("1", "master")] {
        let (shared, capture) = Capture::follow(true).await;
        let (mut running, mut satellite, mut master) = reading(&shared, &[]).await;
        drop(capture);
        while shared.gate.table_writes.is_connected() {
            tokio::task::yield_now().await;
        }
        answers("satellite", &mut satellite).await;
        let set = match has {
            "" => GtidSet::new(),
            has => GtidSet::parse(&format!("{UUID}:{has}")).unwrap(),
        };
        let asked = async {
            loop {
                publish_set(&shared.gate.servers.satellites()[0], set.clone());
                tokio::task::yield_now().await;
            }
        };
        let read = async {
            if expected == "master" {
                plays(&[expects(0, READ)], &mut master).await;
                answers("master", &mut master).await;
            }
            row(&mut running).await
        };
        tokio::select! {
            () = asked => {}
            row = read => assert_eq!(row, expected),
        }
    }
}
