//! A client logs in.
//!
//! In: a fresh connection. Out: a client whose password the master has accepted, now or a short while ago.
//! There is no list of passwords: the first time the client hands its password over (inside TLS, by a Unix socket, or
//! encrypted with the gate's RSA key), and the gate logs in to the master with it. While it is kept, a proof is enough.
//! Must never: let anybody in whom the master has not, or say more about a failure than MySQL does.

use crate::backend::{Backend, Identity, Monitor, Socket, Wish, bounded};
use crate::clients::credentials::Known;
use crate::clients::login_limits;
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::common::secret::Password;
use crate::net::stream::Timed;
use crate::net::timeouts::Timeouts;
use crate::protocol::charset::Encoding;
use crate::protocol::codec::Conn;
use crate::protocol::error::{BackendError, PacketError, SqlError};
use crate::protocol::handshake::{self, CACHING_SHA2, FirstAnswer, Greeting, Login, NONCE};
use crate::protocol::stream::Stream;
use crate::protocol::tls_status::SslStatus;
use crate::protocol::wire::STATUS_AUTOCOMMIT;
use crate::protocol::{auth, capability as cap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

const UTF8MB4: u8 = 255;
/// Refusals that say nothing about the password: databases, limits.
const ABOUT_SOMETHING_ELSE: &[u16] = &[1040, 1044, 1049, 1203, 1226];
/// Whom the master takes the user for, and how many of its connections it allows.
const WHO: &str = "SELECT CURRENT_USER(), @@max_user_connections";
/// Every statement's answer until a client that can handle that has set a new one.
const PASSWORD_HAS_EXPIRED: u16 = 1820;
const PUBLIC_KEY_REQUEST: u8 = 2;
const FAST_IS_ENOUGH: [u8; 2] = [1, 3];
const FULL_EXCHANGE: [u8; 2] = [1, 4];

/// A client that is in.
pub struct Client {
    pub conn: Conn,
    pub host: String,
    /// TLS is on.
    pub secure: bool,
    /// What it is told about its TLS.
    pub ssl: SslStatus,
    /// It came by a Unix socket.
    pub local: bool,
    pub capabilities: u32,
    /// A proxy's, whose clients it lets in itself: their failures are its own business.
    pub is_proxy: bool,
    /// How long the session waits for it.
    pub timeouts: Arc<Timeouts>,
    /// How long its login has waited because of failures.
    pub waited: Duration,
}

impl Client {
    /// Whose failures make it wait, if any.
    fn source(&self) -> Option<IpAddr> {
        (!self.is_proxy).then(|| login_limits::source(&self.host))
    }

    fn failed(&self, shared: &Shared) {
        if let Some(source) = self.source() {
            shared.login_limits.failed(source);
        }
    }
}

impl Client {
    pub fn new(stream: impl Stream + 'static, host: String, local: bool) -> Self {
        let timeouts = Arc::new(Timeouts::default());
        Self {
            conn: Conn::new(Timed::new(stream, timeouts.clone())),
            host,
            secure: false,
            ssl: SslStatus::default(),
            local,
            capabilities: 0,
            is_proxy: false,
            timeouts,
            waited: Duration::ZERO,
        }
    }
}

/// An account that the master accepts.
pub struct Account {
    pub user: String,
    /// Nothing is known of one whose password has expired: only its connection to the master can set a new one.
    pub account: Known,
    pub password: Arc<Password>,
    pub charset: u16,
    pub database: Option<String>,
    pub attributes: Vec<u8>,
    /// The connection that proved it, if one had to be made.
    pub master: Option<Box<Backend>>,
}

impl Account {
    /// Counts the session among those of the account, as far as that allows more.
    pub fn let_in(&self, client: &Client, entry: &Entry, shared: &Shared) -> Result<(), SqlError> {
        let identity = Identity {
            user: self.user.clone(),
            account: self.account.name.clone(),
            password: self.password.clone(),
            capabilities: client.capabilities,
            charset: self.charset,
            secure: client.secure,
        };
        let most = self.account.most_connections;
        shared.registry.let_in(entry, identity, most)
    }

    /// Why all runs on the connection that logged in.
    pub fn pinned(&self) -> Option<&'static str> {
        self.account
            .name
            .is_empty()
            .then_some("its password has expired")
    }
}

/// Why nobody came in. `Refused` still has to be told.
pub enum LoginError {
    Gone(PacketError),
    Refused(SqlError),
}

impl From<PacketError> for LoginError {
    fn from(error: PacketError) -> Self {
        match error {
            PacketError::Io(_) | PacketError::Unread => Self::Gone(error),
            PacketError::TooLarge(_) => Self::Refused(SqlError::packet_too_large()),
            PacketError::Full(full) => Self::Refused(SqlError::memory(full)),
            PacketError::OutOfOrder | PacketError::Malformed(_) => {
                Self::Refused(SqlError::handshake())
            }
        }
    }
}

impl From<std::io::Error> for LoginError {
    fn from(error: std::io::Error) -> Self {
        Self::Gone(error.into())
    }
}

/// The connection phase. The OK packet is left to the caller.
pub async fn log_in(client: &mut Client, id: u32, shared: &Shared) -> Result<Account, LoginError> {
    let nonce = fresh_nonce()?;
    let greeting = greeting(id, nonce, shared);
    client.conn.send(&greeting.encode()).await?;
    let login = first_answer(client, shared).await?;
    client.capabilities = login.capabilities & greeting.capabilities;
    let proof = match login.plugin.as_deref() {
        Some(CACHING_SHA2) => login.auth,
        _ => switch(&mut client.conn, &nonce).await?,
    };
    let charset = u16::from(login.charset);
    let names = (login.user.as_slice(), login.database.as_deref());
    let wanted = Wanted::new(client, shared, names, charset, login.attributes).await?;
    authenticate(client, shared, wanted, &nonce, &proof).await
}

pub struct Wanted {
    pub user: String,
    pub charset: u16,
    pub database: Option<String>,
    pub attributes: Vec<u8>,
}

impl Wanted {
    /// `names`: of user and database, in the character set of this collation.
    pub async fn new(
        client: &mut Client,
        shared: &Shared,
        (user, database): (&[u8], Option<&[u8]>),
        charset: u16,
        attributes: Vec<u8>,
    ) -> Result<Self, LoginError> {
        client.waited = Duration::ZERO;
        Ok(Self {
            user: name(client, shared, user, charset).await?,
            charset,
            database: match database {
                Some(database) => Some(name(client, shared, database, charset).await?),
                None => None,
            },
            attributes,
        })
    }
}

/// The master knows all character sets.
async fn name(
    client: &mut Client,
    shared: &Shared,
    bytes: &[u8],
    charset: u16,
) -> Result<String, LoginError> {
    let bad = || LoginError::Refused(SqlError::handshake());
    if Encoding::of_collation(charset).agrees_on(bytes) {
        return String::from_utf8(bytes.to_vec()).map_err(|_| bad());
    }
    let limits = &shared.login_limits;
    let turn = limits.verification(client.source(), &mut client.waited);
    let _turn = turn.await.map_err(LoginError::Refused)?;
    let master = shared.gate.servers.master.clone();
    let monitor = Monitor::new(master, &shared.config, shared.metrics.clone());
    let asking = async {
        let mut master = monitor.connect().await?;
        let named = format!(
            "SELECT CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE ID = {charset}"
        );
        let found = master.query(&named).await?;
        let charset = found.text(0, 0).unwrap_or("utf8mb4");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let converted = format!("SELECT CONVERT(_{charset} X'{hex}' USING utf8mb4)");
        let converted = master.query(&converted).await?;
        master.quit().await;
        Ok(converted)
    };
    let converted = bounded(shared.config.server_timeout, asking).await;
    let converted = converted.map_err(|e| LoginError::Refused(e.for_client("the master")))?;
    converted.text(0, 0).map(str::to_owned).ok_or_else(bad)
}

/// COM_CHANGE_USER: the same proof again, with a new nonce.
pub async fn change_user(
    client: &mut Client,
    wanted: Wanted,
    shared: &Shared,
) -> Result<Account, LoginError> {
    let nonce = fresh_nonce()?;
    let proof = switch(&mut client.conn, &nonce).await?;
    authenticate(client, shared, wanted, &nonce, &proof).await
}

fn fresh_nonce() -> Result<[u8; NONCE], LoginError> {
    auth::nonce().map_err(|_| LoginError::Refused(SqlError::gate("no random numbers")))
}

fn greeting(id: u32, nonce: [u8; NONCE], shared: &Shared) -> Greeting {
    let master = &shared.gate.servers.master;
    Greeting {
        version: master.version(),
        thread_id: id,
        nonce,
        capabilities: cap::offered(master.capabilities()),
        charset: UTF8MB4,
        status: STATUS_AUTOCOMMIT,
        plugin: CACHING_SHA2.to_owned(),
    }
}

async fn first_answer(client: &mut Client, shared: &Shared) -> Result<Login, LoginError> {
    let packet = client.conn.secret(handshake::MAX_PACKET).await?;
    match FirstAnswer::parse(&packet)? {
        FirstAnswer::Login(login) => return Ok(login),
        FirstAnswer::Tls => start_tls(client, shared).await?,
    }
    let packet = client.conn.secret(handshake::MAX_PACKET).await?;
    match FirstAnswer::parse(&packet)? {
        FirstAnswer::Login(login) => Ok(login),
        FirstAnswer::Tls => Err(LoginError::Refused(SqlError::handshake())),
    }
}

pub(crate) async fn start_tls(client: &mut Client, shared: &Shared) -> Result<(), LoginError> {
    let seq = client.conn.seq;
    let plain = std::mem::replace(&mut client.conn, Conn::new(tokio::io::empty()));
    let encrypted = shared.tls.accept(plain.into_stream()).await?;
    client.ssl = SslStatus::of(encrypted.get_ref().1);
    // TLS reads ahead: it waits for the client while a statement runs. So from here on only what it hands out is timed; the stream below
    // stays in the phase of the login.
    client.timeouts = Arc::default();
    client.conn = Conn::new(Timed::new(encrypted, client.timeouts.clone()));
    client.conn.seq = seq;
    client.secure = true;
    Ok(())
}

async fn switch(conn: &mut Conn, nonce: &[u8; NONCE]) -> Result<Password, LoginError> {
    conn.send(&handshake::auth_switch(CACHING_SHA2, nonce))
        .await?;
    Ok(conn.secret(handshake::MAX_PACKET).await?)
}

async fn authenticate(
    client: &mut Client,
    shared: &Shared,
    wanted: Wanted,
    nonce: &[u8; NONCE],
    proof: &[u8],
) -> Result<Account, LoginError> {
    let kept = shared.passwords.get(&wanted.user, client.secure);
    let proven = kept.filter(|(p, _)| auth::same(&auth::caching_sha2(p, nonce), proof));
    let (password, known) = match proven {
        Some((password, account)) => {
            if !proof.is_empty() {
                client.conn.send(&FAST_IS_ENOUGH).await?;
            }
            (password, Some(account))
        }
        None => {
            let limits = &shared.login_limits;
            if let Some(source) = client.source() {
                let wait = limits.wait(source, &mut client.waited).await;
                wait.map_err(LoginError::Refused)?;
            }
            let password = full_exchange(client, shared, &wanted.user, nonce, proof).await?;
            (Arc::new(password), None)
        }
    };
    let database = wanted.database.as_deref();
    let is_known = shared
        .passwords
        .knows(&wanted.user, client.secure, database);
    let (account, master) = match known {
        Some(account) if is_known && !Encoding::is_refused(wanted.charset) => (account, None),
        _ => verify(client, shared, &wanted, &password).await?,
    };
    let Wanted {
        user,
        charset,
        database,
        attributes,
    } = wanted;
    Ok(Account {
        attributes,
        user,
        account,
        password,
        charset,
        database,
        master,
    })
}

/// Has the client hand its password over.
async fn full_exchange(
    client: &mut Client,
    shared: &Shared,
    user: &str,
    nonce: &[u8; NONCE],
    proof: &[u8],
) -> Result<Password, LoginError> {
    // A client without a password sends a lone zero byte, or nothing.
    if proof.is_empty() || proof == [0] {
        return Ok(Password::default());
    }
    client.conn.send(&FULL_EXCHANGE).await?;
    let mut answer = client.conn.secret(handshake::MAX_PACKET).await?;
    // By a Unix socket a password comes in clear text, as within TLS; only a client that does not know that asks for the key.
    let is_clear = client.secure || client.local && answer.as_slice() != [PUBLIC_KEY_REQUEST];
    if !is_clear {
        if answer.as_slice() == [PUBLIC_KEY_REQUEST] {
            let mut key = vec![1];
            key.extend_from_slice(&shared.exchange_key.public_pem);
            client.conn.send(&key).await?;
            answer = client.conn.secret(handshake::MAX_PACKET).await?;
        }
        let denied = || LoginError::Refused(SqlError::access_denied(user, &client.host, true));
        let decrypted = decrypt(shared, answer).await;
        answer = decrypted.ok_or_else(|| {
            client.failed(shared);
            denied()
        })?;
        auth::mix_with_nonce(&mut answer, nonce);
    }
    if answer.last() == Some(&0) {
        answer.pop();
    }
    Ok(answer)
}

/// A millisecond of a core, which the workers have better uses for.
async fn decrypt(shared: &Shared, encrypted: Password) -> Option<Password> {
    let _turn = shared.login_limits.decryption().await?;
    let key = shared.exchange_key.clone();
    let decrypting = tokio::task::spawn_blocking(move || key.decrypt(&encrypted));
    decrypting.await.ok().flatten()
}

/// Has the master decide, unless it did while this login waited for its turn. A connection that sessions have room for is kept.
async fn verify(
    client: &mut Client,
    shared: &Shared,
    wanted: &Wanted,
    password: &Arc<Password>,
) -> Result<(Known, Option<Box<Backend>>), LoginError> {
    let (source, limits) = (client.source(), &shared.login_limits);
    let turn = limits.verification(source, &mut client.waited).await;
    let turn = turn.map_err(LoginError::Refused)?;
    let (user, database) = (wanted.user.as_str(), wanted.database.as_deref());
    let passwords = &shared.passwords;
    let kept = passwords.get(user, client.secure);
    let kept = kept.filter(|(p, _)| auth::same(p, password));
    if let Some((_, account)) = kept.filter(|_| passwords.knows(user, client.secure, database)) {
        return Ok((account, None));
    }
    let (account, mut master) = ask_master(client, shared, wanted, password).await?;
    drop(turn);
    if let Some(source) = source {
        limits.succeeded(source);
    }
    // Nothing is known of an account whose password has expired.
    let has_expired = account.name.is_empty();
    if !has_expired {
        passwords.keep(user, client.secure, password, &account, database);
    }
    master.permit = shared.gate.servers.master.pool.permit();
    if master.permit.is_some() {
        return Ok((account, Some(master)));
    }
    master.quit().await;
    match has_expired {
        true => Err(LoginError::Refused(SqlError::too_many_connections())),
        false => Ok((account, None)),
    }
}

/// Logs in to the master: that decides. It also says which account the user is.
async fn ask_master(
    client: &Client,
    shared: &Shared,
    wanted: &Wanted,
    password: &Password,
) -> Result<(Known, Box<Backend>), LoginError> {
    let wish = Wish {
        user: &wanted.user,
        password,
        capabilities: cap::of_session(client.capabilities),
        charset: wanted.charset,
        database: wanted.database.as_deref(),
        attributes: &wanted.attributes,
        tls: client.secure.then_some(&shared.tls_to_servers),
        socket: Socket::No,
    };
    let within = shared.config.connect_timeout;
    let server = &shared.gate.servers.master;
    let logging_in = async {
        let mut master = Backend::connect(server, wish, within).await?;
        let known = match master.query(WHO).await {
            Ok(answer) => Known {
                name: answer.text(0, 0).unwrap_or_default().into(),
                most_connections: answer
                    .text(0, 1)
                    .and_then(|n| n.parse().ok())
                    .unwrap_or_default(),
            },
            Err(BackendError::Sql(error)) if error.code == PASSWORD_HAS_EXPIRED => "".into(),
            Err(error) => return Err(error),
        };
        Ok((known, master))
    };
    let outcome = tokio::time::timeout(within, logging_in).await;
    let outcome = outcome.unwrap_or(Err(BackendError::Timeout));
    outcome.map_err(|error| {
        if matches!(&error, BackendError::Sql(e) if !ABOUT_SOMETHING_ELSE.contains(&e.code)) {
            shared.passwords.forget(&wanted.user, password);
            client.failed(shared);
        }
        LoginError::Refused(match error {
            BackendError::Sql(e) if e.code == 1045 => {
                SqlError::access_denied(&wanted.user, &client.host, !password.is_empty())
            }
            other => other.for_client("the master"),
        })
    })
}

#[cfg(test)]
mod tests;
