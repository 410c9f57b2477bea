//! A session between a client in memory and a master that says what a test tells it to.

use super::parts::Session;
use crate::backend::{COM_QUERY, COM_QUIT};
use crate::clients::login::{Account, Client};
use crate::clients::registry::Entry;
use crate::common::signals::KILLED;
use crate::ops::config::Config;
use crate::ops::fleet_state::FleetState;
use crate::ops::start::assemble;
use crate::protocol::codec::Conn;
use crate::protocol::handshake::{CACHING_SHA2, Greeting, MAX_PACKET};
use crate::protocol::wire::MAX_PAYLOAD;
use crate::protocol::{capability, wire};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

mod idle;
mod logins;
mod lost_servers;
mod memory;
mod questions;
mod records;
mod redefined;
mod service_time;
mod status;
mod streams;
mod unread;

const SOON: Duration = Duration::from_secs(10);

/// What the master does once it has got a command of the session.
#[derive(Clone, Copy)]
enum Answer {
    /// OK.
    Ok,
    /// None, ever.
    Nothing,
    /// Rows without end.
    Endless,
    /// It asks for a file.
    File,
}

async fn master(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(attend(Conn::new(stream), answer));
        }
    });
    address
}

fn greeting() -> Greeting {
    Greeting {
        version: "8.4.0".into(),
        thread_id: 1,
        nonce: [1; 20],
        capabilities: crate::protocol::capability::OFFERED,
        charset: 255,
        status: 2,
        plugin: CACHING_SHA2.into(),
    }
}

async fn attend(mut conn: Conn, answer: Answer) -> std::io::Result<()> {
    conn.send(&greeting().encode()).await?;
    let _login = conn.packet(MAX_PACKET).await;
    conn.send(&wire::ok_packet(2, 0)).await?;
    loop {
        conn.begin();
        let Ok(command) = conn.chunk(MAX_PAYLOAD).await else {
            return Ok(());
        };
        match (command.payload.first(), answer) {
            (Some(&COM_QUIT), _) | (None, _) => return Ok(()),
            (Some(&COM_QUERY), _) if command.payload.ends_with(b"wait_timeout = 1") => {
                conn.send(&reports("wait_timeout", "1")).await?
            }
            (Some(&COM_QUERY), _) if command.payload.ends_with(b"sql_mode") => {
                conn.send(&wire::ok_packet(2, 0)).await?
            }
            (Some(&COM_QUERY), Answer::Endless) => {
                conn.queue(&[1]);
                conn.queue(b"a column's definition");
                loop {
                    conn.queue(&[b'x'; 8192]);
                    conn.flush().await?;
                }
            }
            (Some(&COM_QUERY), Answer::File) => conn.send(b"\xfbfile").await?,
            (_, Answer::Nothing) if command.payload.ends_with(b"nothing") => {}
            _ => conn.send(&wire::ok_packet(2, 0)).await?,
        }
    }
}

/// OK, and a session variable's new value.
fn reports(name: &str, value: &str) -> Vec<u8> {
    let with_length = |bytes: &[u8]| [&[bytes.len() as u8], bytes].concat();
    let variable = [name, value].map(|text| with_length(text.as_bytes()));
    let entry = [&[0], &with_length(&variable.concat())[..]].concat();
    let changed = wire::ok_packet(2 | 0x4000, 0);
    [&changed, &with_length(b"")[..], &with_length(&entry)].concat()
}

/// A session that is logged in, its client, and what tells that it has ended.
async fn session(answer: Answer, room: usize) -> (Arc<Entry>, Conn, JoinHandle<()>) {
    let address = master(answer).await;
    let setting = |name: &str| match name {
        "GATE_MASTER" => Some(address.clone()),
        "GATE_SATELLITES" => Some(String::new()),
        "GATE_PASSWORD" => Some("x".into()),
        _ => None,
    };
    let (_stop, draining) = watch::channel(false);
    let config = Config::read(&setting).ok().unwrap();
    let shared = assemble(config, &FleetState::declared(&[]), draining);
    let shared = Arc::new(shared.unwrap());
    let (near, far) = tokio::io::duplex(room);
    let entry = shared.registry.add();
    let session = Session::new(shared, entry.clone(), client(near), account(), false);
    let running = tokio::spawn(session.run());
    let mut client = Conn::new(far);
    client.packet(MAX_PACKET).await.unwrap();
    (entry, client, running)
}

fn client(near: DuplexStream) -> Client {
    let mut client = Client::new(near, "here".into(), false);
    client.capabilities =
        capability::REQUIRED | capability::DEPRECATE_EOF | capability::LOCAL_FILES;
    client
}

fn account() -> Account {
    Account {
        user: "u".into(),
        account: "u@%".into(),
        password: Arc::default(),
        charset: 255,
        database: None,
        attributes: Vec::new(),
        master: None,
    }
}

async fn ends(running: JoinHandle<()>) {
    let ended = tokio::time::timeout(SOON, running).await;
    ended.expect("the session goes on").unwrap();
}

/// Until the session has a statement on the server: what a KILL finds.
async fn runs(entry: &Entry) {
    let running = async {
        while entry.running().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, running).await.unwrap();
}

#[tokio::test]
async fn a_killed_session_ends_while_a_long_command_comes_in() {
    let (entry, mut client, running) = session(Answer::Ok, 1 << 26).await;
    client.begin();
    client.queue_header(MAX_PAYLOAD);
    let mut half = b"\x03INSERT".to_vec();
    half.resize(MAX_PAYLOAD, b' ');
    client.send_raw(&half).await.unwrap();
    client.queue_header(1000);
    client.send_raw(b"half of the rest").await.unwrap();
    runs(&entry).await;
    entry.signals.raise(KILLED);
    ends(running).await;
}

#[tokio::test]
async fn a_killed_session_ends_while_a_file_comes_in() {
    let (entry, mut client, running) = session(Answer::File, 1024).await;
    client.begin();
    let command = b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t";
    client.send(command).await.unwrap();
    assert_eq!(client.packet(MAX_PACKET).await.unwrap()[0], 0xfb);
    client.send(b"1\n2\n").await.unwrap();
    entry.signals.raise(KILLED);
    ends(running).await;
}

#[tokio::test]
async fn a_killed_session_ends_while_its_client_takes_no_rows() {
    let (entry, mut client, running) = session(Answer::Endless, 1024).await;
    client.begin();
    client.send(b"\x03INSERT INTO endless").await.unwrap();
    client.header().await.unwrap();
    entry.signals.raise(KILLED);
    ends(running).await;
}

#[tokio::test]
async fn a_killed_session_ends_while_the_master_says_nothing() {
    let (entry, mut client, running) = session(Answer::Nothing, 1024).await;
    client.begin();
    client.send(b"\x03INSERT INTO nothing").await.unwrap();
    runs(&entry).await;
    entry.signals.raise(KILLED);
    ends(running).await;
}

/// COM_STMT_SEND_LONG_DATA has no answer: the session is reading all the time.
#[tokio::test]
async fn a_killed_session_ends_within_a_piece_of_long_data() {
    let (entry, mut client, running) = session(Answer::Ok, 1 << 26).await;
    client.begin();
    client.queue_header(MAX_PAYLOAD);
    let mut piece = b"\x18\x01\0\0\0\0\0".to_vec();
    piece.resize(MAX_PAYLOAD, b'x');
    client.send_raw(&piece).await.unwrap();
    entry.signals.raise(KILLED);
    ends(running).await;
}

/// The client's `SET` counts, and it is told why it is shown out.
#[tokio::test]
async fn an_idle_client_is_told_that_it_was_inactive() {
    let (_entry, mut client, running) = session(Answer::Ok, 1024).await;
    client.begin();
    let command = b"\x03SET SESSION wait_timeout = 1";
    client.send(command).await.unwrap();
    assert_eq!(client.packet(MAX_PACKET).await.unwrap()[0], 0);
    client.begin();
    let last = client.packet(MAX_PACKET).await.unwrap();
    assert_eq!(wire::parse_err(&last).code, 4031);
    drop(client);
    ends(running).await;
}

/// Logged in from memory it has no connection to the master yet.
#[tokio::test]
async fn a_first_statement_that_ties_a_session_to_the_master_is_not_told_that_the_master_was_lost()
{
    let (_entry, mut client, _running) = session(Answer::Ok, 1024).await;
    client.begin();
    let command = b"\x03CREATE TEMPORARY TABLE t (id INT)";
    client.send(command).await.unwrap();
    assert_eq!(client.packet(MAX_PACKET).await.unwrap()[0], 0);
}

/// It was cut to its lower byte, which is another collation. A login has one byte only.
#[tokio::test]
async fn a_collation_above_255_reaches_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut conn = Conn::new(stream);
        conn.send(&greeting().encode()).await.unwrap();
        let login = conn.packet(MAX_PACKET).await.unwrap();
        conn.send(&wire::ok_packet(2, 0)).await.unwrap();
        conn.begin();
        let query = conn.packet(MAX_PACKET).await.unwrap();
        conn.send(&wire::ok_packet(2, 0)).await.unwrap();
        (login[8], String::from_utf8_lossy(&query).into_owned())
    });
    let shared = streams::shared(&[("GATE_MASTER", &address)]);
    let (near, _far) = tokio::io::duplex(1024);
    let mut session = streams::new_session(&shared, near);
    session.user.charset = 309;
    let room = shared.gate.servers.master.pool.permit().unwrap();
    let connected = session
        .seeker()
        .connect(&shared.gate.servers.master, room)
        .await;
    assert!(connected.is_ok());
    let (login, query) = asked.await.unwrap();
    assert_eq!(login, 255);
    assert!(query.contains("collation_connection = 309"), "{query}");
}
