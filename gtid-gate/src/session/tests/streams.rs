//! Sessions over streams in memory; the tests speak for client and servers.

pub(super) use crate::backend::Backend;
use crate::backend::{Position, Server};
pub(super) use crate::clients::login::{self, Account, Client};
pub(super) use crate::clients::shared::Shared;
pub(super) use crate::common::secret::Password;
pub(super) use crate::common::signals::KILLED;
use crate::gtid::GtidSet;
use crate::protocol::capability as cap;
pub(super) use crate::protocol::error::SqlError;
use crate::protocol::stream::Stream;
pub(super) use crate::protocol::wire;
use crate::protocol::wire::MAX_PAYLOAD;
pub(super) use crate::session::parts::Session;
pub(super) use crate::session::state::Tx;
use crate::session::statement::Known;
pub(super) use crate::test_support::{PIPE, WAIT, packet, read_packet, shared};
pub(super) use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinHandle;

pub(super) fn new_session(shared: &Arc<Shared>, client: DuplexStream) -> Session {
    let mut client = Client::new(client, "test".to_owned(), false);
    client.capabilities = cap::FOR_QUESTIONS | cap::REQUIRED | cap::LOCAL_FILES;
    let account = Account {
        user: "app".to_owned(),
        account: "app@%".into(),
        password: Arc::new(Password::default()),
        charset: 255,
        database: None,
        attributes: Vec::new(),
        master: None,
    };
    let entry = shared.registry.add();
    Session::new(shared.clone(), entry, client, account, false)
}

/// A session that runs, and its client's end.
pub(super) struct Running {
    pub(super) to_gate: WriteHalf<DuplexStream>,
    pub(super) from_gate: ReadHalf<DuplexStream>,
    pub(super) session: JoinHandle<()>,
}

/// `pipe`: bytes on their way from the client.
pub(super) fn run(
    shared: &Arc<Shared>,
    pipe: usize,
    prepare: impl FnOnce(&mut Session),
) -> Running {
    let (near, far) = duplex(pipe);
    let mut session = new_session(shared, near);
    prepare(&mut session);
    let (from_gate, to_gate) = split(far);
    Running {
        to_gate,
        from_gate,
        session: tokio::spawn(session.run()),
    }
}

impl Running {
    pub(super) async fn send(&mut self, bytes: &[u8]) {
        self.to_gate.write_all(bytes).await.unwrap();
    }

    pub(super) async fn answer(&mut self) -> Vec<u8> {
        tokio::time::timeout(WAIT, read_packet(&mut self.from_gate))
            .await
            .expect("an answer")
    }

    /// The client leaves; what the gate still said to it.
    pub(super) async fn leave(mut self) -> Vec<Vec<u8>> {
        let _ = self.to_gate.shutdown().await;
        let ending = async {
            let mut bytes = Vec::new();
            self.from_gate.read_to_end(&mut bytes).await.unwrap();
            self.session.await.unwrap();
            bytes
        };
        let bytes = tokio::time::timeout(WAIT, ending)
            .await
            .expect("the session's end");
        let (mut rest, mut packets) = (&bytes[..], Vec::new());
        while let Some((header, behind)) = rest.split_at_checked(4) {
            let (payload, others) = behind.split_at(crate::protocol::wire::payload_size(header));
            packets.push(payload.to_vec());
            rest = others;
        }
        packets
    }
}

/// The first packet of a command that another one continues.
pub(super) fn full_packet(begins: &[u8]) -> Vec<u8> {
    let mut payload = begins.to_vec();
    payload.resize(MAX_PAYLOAD, b' ');
    packet(0, &payload)
}

pub(super) fn code(answer: &[u8]) -> u16 {
    match answer {
        [0xff, ..] => wire::parse_err(answer).code,
        _ => 0,
    }
}

/// Gives the session a connection to the master; returns the master's end.
pub(super) fn master(shared: &Shared, session: &mut Session, pipe: usize) -> DuplexStream {
    let (near, far) = duplex(pipe);
    session.connections.master = Some(Backend::scripted(&shared.gate.servers.master, near));
    far
}

/// The same for a satellite, which is there and fresh.
pub(super) fn satellite(shared: &Shared, session: &mut Session) -> DuplexStream {
    let (near, far) = duplex(PIPE);
    satellite_over(shared, session, near);
    far
}

/// The same, over this stream.
pub(super) fn satellite_over(
    shared: &Shared,
    session: &mut Session,
    stream: impl Stream + 'static,
) {
    nth_satellite_over(shared, session, 0, stream);
}

pub(super) fn nth_satellite_over(
    shared: &Shared,
    session: &mut Session,
    at: usize,
    stream: impl Stream + 'static,
) {
    let server = &shared.gate.servers.satellites()[at];
    publish(server);
    session
        .connections
        .satellites
        .put(Backend::scripted(server, stream));
}

/// The server is there, with nothing.
pub(super) fn publish(server: &Server) {
    publish_set(server, GtidSet::default());
}

/// The server is there, with these transactions.
pub(super) fn publish_set(server: &Server, executed: GtidSet) {
    server.publish(Arc::new(Position {
        incarnation: Arc::from(""),
        asked: Instant::now(),
        owned: GtidSet::default(),
        executed,
        as_of: None,
        backlog: Default::default(),
    }));
}

/// Statement 1, which reads and has one parameter.
pub(super) fn prepared_read(session: &mut Session) {
    add_statement(session, 1, b"SELECT ?");
}

pub(super) fn add_statement(session: &mut Session, id: u32, text: &[u8]) {
    let known = Known::of(crate::sql::understand("SELECT ?")).ok();
    let statements = &mut session.statements;
    let held = statements.hold(text.len()).unwrap();
    let text = statements.text(text, None, Default::default());
    statements.add(id, text, Arc::new(known.unwrap()), 1, held);
}
