//! One connection to the master or a satellite.
//!
//! In: who logs in and with which capabilities. Out: a connection in the state that a session needs.
//! Must never: be used after an error that leaves its state in doubt; send a password in clear text over a network.

use crate::capability as cap;
use crate::error::{BackendError, SqlError};
use crate::handshake::{self, CACHING_SHA2, Greeting, Login, NATIVE, NONCE, SHA256};
use crate::packet::Conn;
use crate::scramble;
use crate::servers::{Incarnation, Role, Server};
use crate::tls;
use crate::wire;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;

mod query;
pub use query::{Cell, TextResult};

pub const COM_QUIT: u8 = 0x01;
pub const COM_INIT_DB: u8 = 0x02;
pub const COM_QUERY: u8 = 0x03;

/// Answers that the gate reads itself are small; more is a fault.
const MAX_OWN_ANSWER: usize = 64 << 20;

/// Who logs in, and how.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    pub user: &'a str,
    pub password: &'a [u8],
    /// As negotiated with the client, so that results can pass unchanged.
    pub capabilities: u32,
    pub charset: u8,
    pub database: Option<&'a str>,
    /// Whom the master takes the user for. Over a Unix socket a client is `user@localhost`: a socket is used only
    /// where that is the same account.
    pub account: Option<&'a str>,
}

/// How a server is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Network,
    Socket,
}

/// A statement of the client as this server knows it.
#[derive(Debug, Clone, Copy)]
pub struct BackendStatement {
    pub id: u32,
    /// Which of the client's parameter types this server was told last; 0 is none.
    pub types: u64,
}

pub struct Backend {
    pub conn: Conn,
    pub server: Arc<Server>,
    pub incarnation: Incarnation,
    pub thread_id: u32,
    pub version: String,
    pub deprecate_eof: bool,
    pub database: Option<String>,
    /// How far the session's settings were replayed here.
    pub replayed: u64,
    pub autocommit: bool,
    /// By the gate's statement id.
    pub statements: HashMap<u32, BackendStatement>,
    /// Tells when the server's tracker finds it lost.
    pub losses: watch::Receiver<u64>,
    counted: bool,
}

impl Drop for Backend {
    fn drop(&mut self) {
        if self.counted {
            self.server.sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Backend {
    pub async fn connect(
        server: &Arc<Server>,
        wish: Wish<'_>,
        within: Duration,
    ) -> Result<Self, BackendError> {
        let connecting = Self::connect_unbounded(server, wish);
        tokio::time::timeout(within, connecting)
            .await
            .map_err(|_| BackendError::Timeout)?
    }

    async fn connect_unbounded(server: &Arc<Server>, wish: Wish<'_>) -> Result<Self, BackendError> {
        if let Some(backend) = Self::connect_socket(server, wish).await {
            return Ok(backend);
        }
        let address = (server.address.host.as_str(), server.address.port);
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (backend, _) = Self::log_in(Conn::new(stream), Way::Network, server, wish).await?;
        Ok(backend)
    }

    /// Whatever is wrong with the socket, TCP says it better.
    async fn connect_socket(server: &Arc<Server>, wish: Wish<'_>) -> Option<Self> {
        let (socket, account) = (server.socket.as_ref()?, wish.account?);
        let stream = UnixStream::connect(socket).await.ok()?;
        let logging_in = Self::log_in(Conn::new(stream), Way::Socket, server, wish);
        let (backend, logged_in) = logging_in.await.ok()?;
        let known = server.position();
        let same_server = known.is_none_or(|p| p.incarnation == backend.incarnation);
        if logged_in == account && same_server {
            return Some(backend);
        }
        backend.quit().await;
        None
    }

    /// Also says which account it became; that of a master is not asked.
    async fn log_in(
        mut conn: Conn,
        way: Way,
        server: &Arc<Server>,
        wish: Wish<'_>,
    ) -> Result<(Self, String), BackendError> {
        let losses = server.losses();
        let greeting = greeting(&mut conn).await?;
        if !cap::shapes_agree(wish.capabilities, greeting.capabilities) {
            return Err(BackendError::Lost(
                "server lacks a protocol feature that the client uses".into(),
            ));
        }
        log_in(&mut conn, way, &greeting, wish).await?;
        let mut backend = Self {
            conn,
            server: server.clone(),
            incarnation: Arc::from(""),
            thread_id: greeting.thread_id,
            version: greeting.version,
            deprecate_eof: wish.capabilities & cap::DEPRECATE_EOF != 0,
            database: wish.database.map(str::to_owned),
            replayed: 0,
            autocommit: true,
            statements: HashMap::new(),
            losses,
            counted: false,
        };
        let mut account = String::new();
        if server.role == Role::Satellite {
            (backend.incarnation, account) = backend.identify().await?;
        }
        Ok((backend, account))
    }

    /// Counts this connection among those of sessions, until it is dropped.
    pub fn count(&mut self) {
        self.counted = true;
        self.server.sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// The server's incarnation (the nonce of this boot; on a foreign server its uuid and the second it started in), and
    /// the account that this connection became.
    pub async fn identify(&mut self) -> Result<(Incarnation, String), BackendError> {
        let own = self
            .query("SELECT @@global.report_host, @@global.server_uuid, CURRENT_USER()")
            .await?;
        let account = own.text(0, 2).unwrap_or_default().to_owned();
        let uuid = own.text(0, 1).unwrap_or_default();
        if let Some(nonce) = own.text(0, 0).filter(|n| !n.is_empty()) {
            return Ok((format!("{nonce}/{uuid}").into(), account));
        }
        let started = "SELECT UNIX_TIMESTAMP() - VARIABLE_VALUE FROM performance_schema.global_status \
                       WHERE VARIABLE_NAME = 'Uptime'";
        let started = self.query(started).await?;
        let started = started
            .text(0, 0)
            .ok_or_else(|| BackendError::Lost("no start time".into()))?;
        Ok((format!("{uuid}@{started}").into(), account))
    }

    /// The gate's own rules for sessions on a satellite: read-only, one snapshot per transaction.
    pub async fn make_read_only(&mut self) -> Result<(), BackendError> {
        let rules = "SET SESSION transaction_read_only = 1, SESSION transaction_isolation = 'REPEATABLE-READ'";
        self.query(rules).await.map(drop)
    }

    pub async fn select_database(&mut self, name: &str) -> Result<(), BackendError> {
        let mut command = vec![COM_INIT_DB];
        command.extend_from_slice(name.as_bytes());
        self.simple_command(&command).await?;
        self.database = Some(name.to_owned());
        Ok(())
    }

    /// A command that is answered by OK or an error.
    pub async fn simple_command(&mut self, command: &[u8]) -> Result<(), BackendError> {
        self.conn.begin();
        self.conn.send(command).await?;
        let answer = self.conn.packet(MAX_OWN_ANSWER).await?;
        match answer.first() {
            Some(0xff) => Err(BackendError::Sql(wire::parse_err(&answer))),
            _ => Ok(()),
        }
    }

    pub async fn query(&mut self, sql: &str) -> Result<TextResult, BackendError> {
        query::run(&mut self.conn, self.deprecate_eof, sql).await
    }

    pub async fn quit(mut self) {
        self.conn.begin();
        let _ = self.conn.send(&[COM_QUIT]).await;
    }
}

async fn greeting(conn: &mut Conn) -> Result<Greeting, BackendError> {
    let packet = conn.packet(handshake::MAX_PACKET).await?;
    match packet.first() {
        Some(0xff) => Err(BackendError::Sql(wire::parse_err(&packet))),
        _ => Ok(Greeting::parse(&packet)?),
    }
}

fn proof(plugin: &str, password: &[u8], nonce: &[u8; NONCE]) -> Option<Vec<u8>> {
    match plugin {
        CACHING_SHA2 => Some(scramble::caching_sha2(password, nonce)),
        NATIVE => Some(scramble::native(password, nonce)),
        // No password, or a request for the public key that it travels under. MySQL also asks for this one when there is
        // no such account, so as not to tell.
        SHA256 => Some(vec![u8::from(!password.is_empty())]),
        _ => None,
    }
}

async fn log_in(
    conn: &mut Conn,
    way: Way,
    greeting: &Greeting,
    wish: Wish<'_>,
) -> Result<(), BackendError> {
    let plugin = Some(greeting.plugin.as_str()).filter(|p| [CACHING_SHA2, NATIVE].contains(p));
    let plugin = plugin.unwrap_or(CACHING_SHA2);
    let login = Login {
        capabilities: cap::towards_server(
            wish.capabilities,
            greeting.capabilities,
            wish.database.is_some(),
        ),
        max_packet: 1 << 30,
        charset: wish.charset,
        user: wish.user.to_owned(),
        auth: proof(plugin, wish.password, &greeting.nonce).unwrap_or_default(),
        database: wish.database.map(str::to_owned),
        plugin: Some(plugin.to_owned()),
    };
    conn.send(&login.encode()).await?;
    finish_login(conn, way, wish.password, greeting.nonce).await
}

/// Answers the server's questions until it says OK.
async fn finish_login(
    conn: &mut Conn,
    way: Way,
    password: &[u8],
    mut nonce: [u8; NONCE],
) -> Result<(), BackendError> {
    for _ in 0..6 {
        let packet = conn.packet(handshake::MAX_PACKET).await?;
        match packet.first() {
            Some(0x00) => return Ok(()),
            Some(0xff) => return Err(BackendError::Sql(wire::parse_err(&packet))),
            Some(0xfe) => nonce = switch_plugin(conn, &packet, password).await?,
            Some(0x01) => more_data(conn, way, &packet[1..], password, &nonce).await?,
            _ => return Err(BackendError::Lost("unexpected packet during login".into())),
        }
    }
    Err(BackendError::Lost("login does not end".into()))
}

async fn switch_plugin(
    conn: &mut Conn,
    packet: &[u8],
    password: &[u8],
) -> Result<[u8; NONCE], BackendError> {
    let (plugin, nonce) = handshake::parse_auth_switch(packet)?;
    let Some(proof) = proof(&plugin, password, &nonce) else {
        let text = format!(
            "account uses {plugin}; only {CACHING_SHA2}, {SHA256} and {NATIVE} are supported"
        );
        return Err(BackendError::Sql(SqlError::gate(text)));
    };
    conn.send(&proof).await?;
    Ok(nonce)
}

/// caching_sha2_password's second half: nothing to do, a request for the password, or the server's public key.
async fn more_data(
    conn: &mut Conn,
    way: Way,
    data: &[u8],
    password: &[u8],
    nonce: &[u8; NONCE],
) -> Result<(), BackendError> {
    match data {
        [3] => Ok(()),
        // What passes through a socket leaves the host's kernel nowhere: the server expects the password as it is.
        [4] if way == Way::Socket => {
            let mut clear = scramble::Password::new(password.to_vec());
            clear.push(0);
            Ok(conn.send(&clear).await?)
        }
        [4] => Ok(conn.send(&[2]).await?),
        public_key => {
            let mut clear = scramble::Password::new(password.to_vec());
            clear.push(0);
            scramble::mix_with_nonce(&mut clear, nonce);
            let encrypted = tls::encrypt_for(public_key, &clear);
            let encrypted =
                encrypted.ok_or_else(|| BackendError::Lost("unusable public key".into()))?;
            Ok(conn.send(&encrypted).await?)
        }
    }
}
