//! A client logs in.
//!
//! In: a fresh connection. Out: a client whose password the master has accepted, now or a short while ago.
//! There is no list of passwords: the first time the client hands its password over (inside TLS, by a Unix socket, or
//! encrypted with the gate's RSA key), and the gate logs in to the master with it. While it is kept, a proof is enough.
//! Must never: let anybody in whom the master has not, or say more about a failure than MySQL does.

use crate::backend::{Backend, Socket, Wish};
use crate::clients::login_limits;
use crate::clients::shared::Shared;
use crate::common::secret::Password;
use crate::net::stream::Timed;
use crate::net::timeouts::Timeouts;
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
    /// Its name in full, as the master has it.
    pub account: Arc<str>,
    pub password: Arc<Password>,
    pub charset: u16,
    pub database: Option<String>,
    pub attributes: Vec<u8>,
    /// The connection that proved it, if one had to be made.
    pub master: Option<Box<Backend>>,
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
    let Login {
        user,
        charset,
        database,
        attributes,
        ..
    } = login;
    authenticate(
        client,
        shared,
        Wanted {
            user,
            charset: u16::from(charset),
            database,
            attributes,
        },
        &nonce,
        &proof,
    )
    .await
}

pub struct Wanted {
    pub user: String,
    pub charset: u16,
    pub database: Option<String>,
    pub attributes: Vec<u8>,
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
    client.waited = Duration::ZERO;
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
        Some(account) if is_known => (account, None),
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
) -> Result<(Arc<str>, Option<Box<Backend>>), LoginError> {
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
    passwords.keep(user, client.secure, password, &account, database);
    master.permit = shared.gate.servers.master.pool.permit();
    if master.permit.is_none() {
        master.quit().await;
        return Ok((account, None));
    }
    Ok((account, Some(master)))
}

/// Logs in to the master: that decides. It also says which account the user is.
async fn ask_master(
    client: &Client,
    shared: &Shared,
    wanted: &Wanted,
    password: &Password,
) -> Result<(Arc<str>, Box<Backend>), LoginError> {
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
        let answer = master.query("SELECT CURRENT_USER()").await?;
        Ok((answer.text(0, 0).unwrap_or_default().into(), master))
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
