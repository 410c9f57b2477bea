//! One connection to the master or a satellite.
//!
//! In: who logs in and with which capabilities. Out: a connection in the state that a session needs.
//! Must never: be used after an error that leaves its state in doubt; send a password in clear text over a network.

use super::pool::{ConnectionPermit, Pooled};
use super::position::Incarnation;
use super::query::{self, MAX_OWN_ANSWER, TextResult};
use super::server::Role;
use crate::net::{socket, tls};
use crate::protocol::charset::Encoding;
use crate::protocol::codec::Conn;
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::handshake::{self, CACHING_SHA2, Greeting, Login, NATIVE, NONCE, SHA256};
use crate::protocol::session_track::{self, REPORT_ALL, Report, Shown, Tracked, Trackers};
use crate::protocol::{auth, capability as cap, wire};
use rustls::pki_types::ServerName;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

pub const COM_QUIT: u8 = 0x01;
pub const COM_INIT_DB: u8 = 0x02;
pub const COM_PING: u8 = 0x0e;
pub const COM_SET_OPTION: u8 = 0x1b;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_RESET_CONNECTION: u8 = 0x1f;

const MAX_COMMAND: u32 = 1 << 30;
const UTF8MB4: u8 = 255;

/// Of a server's max_connections not for sessions: the gate's own, capture's or the applier's, operators'.
const OTHERS_CONNECTIONS: usize = 32;

const READ_ONLY: &str =
    "SET SESSION transaction_read_only = 1, SESSION transaction_isolation = 'REPEATABLE-READ'";

/// Who logs in, and how.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    pub user: &'a str,
    pub password: &'a [u8],
    /// As negotiated with the client, so that results can pass unchanged.
    pub capabilities: u32,
    /// A collation's number.
    pub charset: u16,
    pub database: Option<&'a str>,
    /// What the client says about itself, as it packed it.
    pub attributes: &'a [u8],
    /// Over a network the connection is to be encrypted, as the client's own is: the account may require it.
    pub tls: Option<&'a TlsConnector>,
    pub socket: Socket<'a>,
}

/// Whether the server's Unix socket may be used. Over one a client is `user@localhost`, which may be another account.
#[derive(Clone, Copy)]
pub enum Socket<'a> {
    No,
    /// If it is this server's and makes this account of the user: the one the master takes the user for.
    For(&'a str),
}

/// How a server is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Network,
    Tls,
    Socket,
}

/// Names a prepared statement by what it is, so that sessions that share a connection find it there: a hash of its
/// text, of the database it was prepared in, and of how many like it the session had already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementKey(pub [u8; 32]);

/// A prepared statement as this server knows it.
#[derive(Debug)]
pub struct BackendStatement {
    pub id: u32,
    /// The parameter types that this server was told last.
    pub types: Option<Arc<[u8]>>,
}

/// A server that sessions connect to like this.
pub type Server = super::server::Server<Box<Backend>>;

pub struct Backend {
    pub conn: Conn,
    pub server: Arc<Server>,
    pub incarnation: Incarnation,
    pub thread_id: u32,
    pub version: String,
    /// What the server offered.
    pub offered: u32,
    /// What was agreed on.
    pub capabilities: u32,
    pub database: Option<String>,
    /// How far the session's settings were replayed here.
    pub replayed: u64,
    pub autocommit: bool,
    /// The server reports all that changes in the session.
    pub reporting: bool,
    /// As it was when that began.
    pub sql_mode: Option<String>,
    /// Among it, what is set for the next transaction.
    pub reports_next: bool,
    /// Its last answer had no room for that, nor for the transaction's state: the next one will have it.
    pub unreported: bool,
    /// With autocommit off, something ran here since the last COMMIT or ROLLBACK: it may hold locks though no transaction is
    /// reported to be open (measured).
    pub left: bool,
    /// What was reported with answers to the gate's own questions.
    pub unheard: Report,
    pub statements: HashMap<StatementKey, BackendStatement>,
    /// No other connection has it, and this one another once it has been in other hands, or the gate has asked something here.
    pub number: u64,
    /// How often the server had been found lost when this connection began.
    losses: u64,
    /// Its part of the connections that sessions may have; the gate's own have none.
    pub permit: Option<ConnectionPermit<Box<Backend>>>,
}

impl Backend {
    pub async fn connect(
        server: &Arc<Server>,
        wish: Wish<'_>,
        within: Duration,
    ) -> Result<Box<Self>, BackendError> {
        let connecting = Self::connect_unbounded(server, wish);
        tokio::time::timeout(within, connecting)
            .await
            .map_err(|_| BackendError::Timeout)?
    }

    async fn connect_unbounded(
        server: &Arc<Server>,
        wish: Wish<'_>,
    ) -> Result<Box<Self>, BackendError> {
        if let Some(backend) = Self::connect_socket(server, wish).await {
            return Ok(backend);
        }
        let address = (server.address.host.as_str(), server.address.port);
        let stream = TcpStream::connect(address).await?;
        socket::tune(&stream)?;
        let (backend, _) = Self::log_in(Conn::new(stream), Way::Network, server, wish).await?;
        Ok(backend)
    }

    /// Whatever is wrong with the socket, TCP says it better.
    async fn connect_socket(server: &Arc<Server>, wish: Wish<'_>) -> Option<Box<Self>> {
        let Socket::For(account) = wish.socket else {
            return None;
        };
        let known = server.position()?.incarnation.clone();
        let (backend, logged_in) = Self::over_socket(server, wish).await?;
        if logged_in == account && backend.incarnation == known {
            return Some(backend);
        }
        backend.quit().await;
        None
    }

    /// A connection over what seems to be the server's socket, and the account that it became. Whose socket it is, only
    /// the connection's incarnation tells.
    pub async fn over_socket(server: &Arc<Server>, wish: Wish<'_>) -> Option<(Box<Self>, String)> {
        let stream = UnixStream::connect(server.socket.as_ref()?).await.ok()?;
        let logging_in = Self::log_in(Conn::new(stream), Way::Socket, server, wish);
        logging_in.await.ok()
    }

    /// Also says which account it became; that of a master over TCP is not asked.
    async fn log_in(
        mut conn: Conn,
        way: Way,
        server: &Arc<Server>,
        wish: Wish<'_>,
    ) -> Result<(Box<Self>, String), BackendError> {
        let losses = server.losses();
        let greeting = greeting(&mut conn).await?;
        if !cap::shapes_agree(wish.capabilities, greeting.capabilities) {
            return Err(BackendError::Lost(
                "server lacks a protocol feature that the client uses".into(),
            ));
        }
        let mut way = way;
        if let Some(connector) = wish.tls.filter(|_| way == Way::Network) {
            conn = start_tls(conn, connector, server, &greeting, wish).await?;
            way = Way::Tls;
        }
        log_in(&mut conn, way, &greeting, wish).await?;
        let agreed = capabilities(&greeting, wish);
        let mut backend = Box::new(Self {
            conn,
            server: server.clone(),
            incarnation: Arc::from(""),
            thread_id: greeting.thread_id,
            version: greeting.version,
            offered: greeting.capabilities,
            capabilities: agreed,
            database: wish.database.map(str::to_owned),
            replayed: 0,
            autocommit: true,
            reporting: false,
            sql_mode: None,
            reports_next: false,
            unreported: false,
            left: false,
            unheard: Report::default(),
            statements: HashMap::new(),
            number: Self::new_number(),
            losses,
            permit: None,
        });
        if u16::from(login_charset(wish)) != wish.charset {
            backend.choose_charset(wish.charset).await?;
        }
        let mut account = String::new();
        if server.role == Role::Satellite || way == Way::Socket {
            (backend.incarnation, account) = backend.identify().await?;
        }
        Ok((backend, account))
    }

    /// What the login had no room for, as MySQL's connectors do it. Of a number that it does not know MySQL makes its default.
    async fn choose_charset(&mut self, charset: u16) -> Result<(), BackendError> {
        match self.query(&set_charset(charset)).await {
            Ok(_) | Err(BackendError::Sql(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub fn new_number() -> u64 {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        NUMBERS.fetch_add(1, Ordering::Relaxed)
    }

    /// One that needs no login: a test speaks for the server.
    #[cfg(test)]
    pub fn scripted(
        server: &Arc<Server>,
        stream: impl crate::protocol::stream::Stream + 'static,
    ) -> Box<Self> {
        Box::new(Self {
            conn: Conn::new(stream),
            server: server.clone(),
            incarnation: Arc::from(""),
            thread_id: 1,
            version: String::new(),
            offered: cap::FOR_QUESTIONS,
            capabilities: cap::FOR_QUESTIONS,
            database: None,
            replayed: 0,
            autocommit: true,
            reporting: true,
            sql_mode: None,
            reports_next: false,
            unreported: false,
            left: false,
            unheard: Report::default(),
            statements: HashMap::new(),
            losses: server.losses(),
            permit: None,
            number: Self::new_number(),
        })
    }

    /// As after login, but for the database. The gate's own rules for satellites hold again.
    pub async fn reset(&mut self) -> Result<(), BackendError> {
        self.reset_to(&[]).await
    }

    /// The same, and then with these settings, in one exchange: sessions that share connections do this often.
    pub async fn reset_to(&mut self, settings: &[String]) -> Result<(), BackendError> {
        self.statements.clear();
        self.autocommit = true;
        self.replayed = 0;
        self.reporting = false;
        self.reports_next = false;
        self.unreported = false;
        self.left = false;
        self.unheard = Report::default();
        let rules = match self.server.role {
            Role::Master => None,
            Role::Satellite => Some(READ_ONLY),
        };
        let settings = settings.iter().map(String::as_str);
        self.conn.begin();
        self.conn.queue(&[COM_RESET_CONNECTION]);
        let mut answers = 1;
        for sql in rules.into_iter().chain(settings) {
            self.conn.begin();
            self.conn.queue(&query::command(self.capabilities, sql));
            answers += 1;
        }
        self.conn.flush().await?;
        for _ in 0..answers {
            self.conn.seq = 1;
            self.ok().await?;
        }
        // What is set there is no news.
        self.unheard = Report::default();
        Ok(())
    }

    /// Remembers a prepared statement; one of the same name is closed.
    pub fn add_statement(&mut self, key: StatementKey, id: u32) {
        let added = BackendStatement { id, types: None };
        if let Some(old) = self.statements.insert(key, added) {
            self.close_statement(old.id);
        }
    }

    pub fn forget_statement(&mut self, key: &StatementKey) {
        if let Some(known) = self.statements.remove(key) {
            self.close_statement(known.id);
        }
    }

    /// Keeps no more statements than this.
    pub fn trim_statements(&mut self, most: usize) {
        let surplus = self.statements.len().saturating_sub(most);
        let keys: Vec<StatementKey> = self.statements.keys().take(surplus).copied().collect();
        keys.iter().for_each(|key| self.forget_statement(key));
    }

    /// Nothing is answered: it goes along with the next command.
    fn close_statement(&mut self, id: u32) {
        let mut command = vec![COM_STMT_CLOSE];
        command.extend_from_slice(&id.to_le_bytes());
        self.conn.begin();
        self.conn.queue(&command);
    }

    /// The server's incarnation (the nonce of this boot; on a foreign server its uuid and the second it started in), and
    /// the account that this connection became. How many connections it takes bounds those of sessions.
    pub async fn identify(&mut self) -> Result<(Incarnation, String), BackendError> {
        let own = self
            .query("SELECT @@global.report_host, @@global.server_uuid, CURRENT_USER(), @@global.max_connections")
            .await?;
        let account = own.text(0, 2).unwrap_or_default().to_owned();
        if let Some(most) = own.text(0, 3).and_then(|n| n.parse::<usize>().ok()) {
            let room = most.saturating_sub(OTHERS_CONNECTIONS).max(1);
            self.server.pool.set_room(room);
        }
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
        self.query(READ_ONLY).await.map(drop)
    }

    pub async fn select_database(&mut self, name: &str) -> Result<(), BackendError> {
        match name.is_ascii() {
            true => self.use_database(name).await,
            false => self.use_database_in_utf8(name).await,
        }
    }

    async fn use_database(&mut self, name: &str) -> Result<(), BackendError> {
        let mut command = vec![COM_INIT_DB];
        command.extend_from_slice(name.as_bytes());
        self.simple_command(&command).await?;
        self.database = Some(name.to_owned());
        Ok(())
    }

    /// The server reads names in the session's character set.
    async fn use_database_in_utf8(&mut self, name: &str) -> Result<(), BackendError> {
        let answer = self
            .query("SELECT @@SESSION.character_set_client LIMIT 1")
            .await?;
        let charset = answer.text(0, 0).unwrap_or("utf8mb4").to_owned();
        self.query("SET character_set_client = utf8mb4").await?;
        let used = self.use_database(name).await;
        self.query(&format!("SET character_set_client = {charset}"))
            .await?;
        used
    }

    /// A command that is answered by OK or an error.
    pub async fn simple_command(&mut self, command: &[u8]) -> Result<(), BackendError> {
        self.conn.begin();
        self.conn.send(command).await?;
        self.ok().await
    }

    async fn ok(&mut self) -> Result<(), BackendError> {
        let answer = self.conn.packet(MAX_OWN_ANSWER).await?;
        match answer.first() {
            Some(0xff) => Err(BackendError::Sql(wire::parse_err(&answer))),
            _ => {
                self.unheard.add(query::report(self.capabilities, &answer));
                Ok(())
            }
        }
    }

    pub async fn query(&mut self, sql: &str) -> Result<TextResult, BackendError> {
        let mut result = query::run(&mut self.conn, self.capabilities, sql).await?;
        self.unheard.add(std::mem::take(&mut result.report));
        Ok(result)
    }

    /// Has the server report all that changes in the session from here on.
    pub async fn report_all(&mut self) -> Result<(), BackendError> {
        let answer = query::run(&mut self.conn, self.capabilities, REPORT_ALL).await?;
        self.reporting = true;
        let mut variables = answer.report.variables.into_iter();
        let mode = variables.find(|(name, _)| name == "sql_mode");
        self.sql_mode = mode.map(|(_, mode)| mode);
        Ok(())
    }

    /// The status flags, and what has changed since the server could report it last. Leaves warnings and FOUND_ROWS() as they are, and
    /// ROW_COUNT() at -1, as what had no room for it does: an error, or rows (measured).
    pub async fn status(
        &mut self,
        wanted: Option<&Trackers>,
        shown: Shown,
    ) -> Result<(u16, Tracked), BackendError> {
        self.conn.begin();
        self.conn.send(&[COM_PING]).await?;
        let answer = self.conn.packet(MAX_OWN_ANSWER).await?;
        if answer.first() == Some(&0xff) {
            return Err(BackendError::Sql(wire::parse_err(&answer)));
        }
        let tracked = session_track::read(&answer, wanted, shown, &[])?;
        self.unreported = false;
        // The ping has set ROW_COUNT() to 0.
        let off = u8::from(self.capabilities & cap::MULTI_STATEMENTS == 0);
        match self.simple_command(&[COM_SET_OPTION, off, 0]).await {
            // An expired password allows no more than the ping.
            Ok(()) | Err(BackendError::Sql(_)) => {}
            Err(error) => return Err(error),
        }
        Ok((wire::ok_status(&answer)?, tracked.unwrap_or_default()))
    }

    /// Column definitions end without a packet of their own.
    pub fn deprecate_eof(&self) -> bool {
        self.capabilities & cap::DEPRECATE_EOF != 0
    }

    /// Whether the server tells what changes in the session.
    pub fn tracks(&self) -> bool {
        self.capabilities & cap::SESSION_TRACK != 0
    }

    /// Whether the server's tracker has found it lost since.
    pub fn is_lost(&self) -> bool {
        self.server.losses() != self.losses
    }

    pub async fn quit(mut self) {
        self.conn.begin();
        let _ = self.conn.send(&[COM_QUIT]).await;
    }
}

impl Pooled for Box<Backend> {
    fn has_database(&self) -> bool {
        self.database.is_some()
    }

    fn take_permit(&mut self) -> Option<ConnectionPermit<Self>> {
        self.permit.take()
    }

    async fn close(self) {
        self.quit().await;
    }
}

/// A server that does not answer within the bound is hung.
pub async fn bounded<T>(
    within: Duration,
    work: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    tokio::time::timeout(within, work)
        .await
        .map_err(|_| BackendError::Timeout)?
}

async fn greeting(conn: &mut Conn) -> Result<Greeting, BackendError> {
    let packet = conn.packet(handshake::MAX_PACKET).await?;
    match packet.first() {
        Some(0xff) => Err(BackendError::Sql(wire::parse_err(&packet))),
        _ => Ok(Greeting::parse(&packet)?),
    }
}

async fn start_tls(
    mut conn: Conn,
    connector: &TlsConnector,
    server: &Server,
    greeting: &Greeting,
    wish: Wish<'_>,
) -> Result<Conn, BackendError> {
    if greeting.capabilities & cap::SSL == 0 {
        return Err(BackendError::Lost("server without TLS".into()));
    }
    let capabilities = capabilities(greeting, wish);
    conn.send(&handshake::tls_request(
        capabilities,
        MAX_COMMAND,
        login_charset(wish),
    ))
    .await?;
    let name = ServerName::try_from(server.address.host.clone());
    let name = name.map_err(|_| BackendError::Lost("host name unfit for TLS".into()))?;
    let seq = conn.seq;
    let stream = connector.connect(name, conn.into_stream()).await?;
    let mut encrypted = Conn::new(stream);
    encrypted.seq = seq;
    Ok(encrypted)
}

/// A login has one byte for it: collations beyond are of utf8mb4, whose default this is. The names in the login are UTF-8.
fn login_charset(wish: Wish<'_>) -> u8 {
    let encoding = Encoding::of_collation(wish.charset);
    let mut names = [Some(wish.user), wish.database].into_iter().flatten();
    match names.all(|name| encoding.agrees_on(name.as_bytes())) {
        true => u8::try_from(wish.charset).unwrap_or(UTF8MB4),
        false => UTF8MB4,
    }
}

pub fn set_charset(charset: u16) -> String {
    format!(
        "SET character_set_client = {charset}, character_set_results = {charset}, collation_connection = {charset}"
    )
}

fn capabilities(greeting: &Greeting, wish: Wish<'_>) -> u32 {
    let with_database = wish.database.is_some();
    let relayed = cap::towards_server(wish.capabilities, greeting.capabilities, with_database);
    let attributes = match wish.attributes.is_empty() {
        true => 0,
        false => cap::CONNECT_ATTRS & greeting.capabilities,
    };
    let tls = wish.tls.map_or(0, |_| cap::SSL & greeting.capabilities);
    relayed | attributes | tls
}

fn proof(plugin: &str, password: &[u8], nonce: &[u8; NONCE]) -> Option<Vec<u8>> {
    match plugin {
        CACHING_SHA2 => Some(auth::caching_sha2(password, nonce)),
        NATIVE => Some(auth::native(password, nonce)),
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
    let capabilities = match way {
        Way::Socket => capabilities(greeting, wish) & !cap::SSL,
        Way::Network | Way::Tls => capabilities(greeting, wish),
    };
    let login = Login {
        capabilities,
        attributes: wish.attributes.to_vec(),
        max_packet: MAX_COMMAND,
        charset: login_charset(wish),
        user: wish.user.into(),
        auth: proof(plugin, wish.password, &greeting.nonce)
            .unwrap_or_default()
            .into(),
        database: wish.database.map(Into::into),
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
        // Nobody can listen: the server expects the password as it is.
        [4] if way != Way::Network => {
            let clear = auth::zero_terminated(password);
            Ok(conn.send_secret(&clear).await?)
        }
        [4] => Ok(conn.send(&[2]).await?),
        public_key => {
            let mut clear = auth::zero_terminated(password);
            auth::mix_with_nonce(&mut clear, nonce);
            let encrypted = tls::encrypt_for(public_key, &clear);
            let encrypted =
                encrypted.ok_or_else(|| BackendError::Lost("unusable public key".into()))?;
            Ok(conn.send(&encrypted).await?)
        }
    }
}

#[cfg(test)]
mod tests;
