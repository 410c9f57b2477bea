//! The commands of MySQL's protocol, one by one.
//!
//! What is not known is answered with an error and changes nothing.

use super::connections::Connections;
use super::execution::COM_STMT_PREPARE;
use super::fault::Fault;
use super::long_data::COM_STMT_SEND_LONG_DATA;
use super::parts::Session;
use super::state::{State, Tx};
use super::statement::Known;
use super::trace::Trace;
use super::user::User;
use super::work::{Request, Work};
use crate::backend::{COM_INIT_DB, COM_PING, COM_QUERY, COM_QUIT, COM_SET_OPTION, bounded};
use crate::clients::login::{self, LoginError, Wanted};
use crate::freshness::Told;
use crate::protocol::charset::Encoding;
use crate::protocol::error::{BackendError, SqlError};
use crate::protocol::handshake::ChangeUser;
use crate::protocol::response::Shape;
use crate::protocol::session_track::Trackers;
use crate::protocol::wire::Reader;
use crate::protocol::{bind_params, capability as cap};
use crate::sql::{self, Mode, Ties, Understood};
use bytes::BytesMut;
use memchr::{memchr2, memmem};
use zeroize::Zeroize;

const COM_FIELD_LIST: u8 = 0x04;
const COM_STATISTICS: u8 = 0x09;
const COM_PROCESS_KILL: u8 = 0x0c;
const COM_CHANGE_USER: u8 = 0x11;
pub(super) const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_RESET: u8 = 0x1a;
const COM_STMT_FETCH: u8 = 0x1c;
const COM_RESET_CONNECTION: u8 = 0x1f;
/// What may be longer than one packet.
const MAY_BE_LONG: [u8; 4] = [
    COM_QUERY,
    COM_STMT_EXECUTE,
    COM_STMT_PREPARE,
    COM_STMT_SEND_LONG_DATA,
];

impl Session {
    pub(super) async fn command(&mut self, request: Request) -> Result<(), Fault> {
        self.ties = Ties::NONE;
        self.names = None;
        self.reads_names = false;
        self.may_release = false;
        self.sets_tracker = false;
        self.begins_snapshot = false;
        let command = request.command();
        if request.continued && !MAY_BE_LONG.contains(&command) {
            return Err(Fault::Fatal(SqlError::malformed_packet()));
        }
        if matches!(command, COM_QUERY | COM_STMT_EXECUTE) {
            self.trace.begin();
        }
        match command {
            COM_QUERY => self.query(request).await,
            COM_STMT_EXECUTE => self.execute(request).await,
            COM_STMT_PREPARE => self.prepare(request).await,
            COM_STMT_SEND_LONG_DATA => self.long_data(request).await,
            COM_STMT_CLOSE => self.close_statement(request.argument()),
            COM_STMT_RESET => self.reset_statement(request).await,
            COM_STMT_FETCH => self.fetch(request).await,
            COM_PING => self.ping().await,
            COM_QUIT => Err(Fault::Gone),
            COM_INIT_DB => self.init_db(request).await,
            COM_FIELD_LIST => self.about_table(request).await,
            COM_STATISTICS => self.plain_on_master(request, Shape::Single).await,
            COM_SET_OPTION => self.set_option(request).await,
            COM_PROCESS_KILL => self.process_kill(request).await,
            COM_RESET_CONNECTION => self.reset_connection().await,
            COM_CHANGE_USER => self.change_user(request).await,
            _ => Err(SqlError::unknown_command().into()),
        }
    }

    async fn query(&mut self, request: Request) -> Result<(), Fault> {
        let (request, text_at) = self.find_text(request).await?;
        let known = match request.is_long() {
            false => self.understand(&request.payload[text_at..]).await?,
            // It passes as it comes, to where the transaction is, else to the master.
            true => {
                let text = &request.payload[text_at..];
                Known::of(Understood::unclear("longer than 16 MiB", text))?
            }
        };
        let work = Work::Query { request, text_at };
        self.run_statement(&known, work).await
    }

    /// A COM_QUERY, and where its text begins; gathered if what comes before that is longer than 16 MiB.
    async fn find_text(&mut self, mut request: Request) -> Result<(Request, usize), Fault> {
        if !self.with_attributes() {
            return Ok((request, 1));
        }
        let mut found = bind_params::text_at(request.argument());
        if found.is_err() && request.continued {
            request = Request {
                payload: self.gather(request).await?,
                continued: false,
            };
            found = bind_params::text_at(request.argument());
        }
        let at = found.map_err(|_| SqlError::malformed_packet())?;
        Ok((request, 1 + at))
    }

    /// Values come with names, and before the text of a statement.
    pub(super) fn with_attributes(&self) -> bool {
        self.client.capabilities & cap::QUERY_ATTRIBUTES != 0
    }

    pub(super) async fn understand(&mut self, text: &[u8]) -> Result<Known, Fault> {
        if !text.is_ascii() || memchr2(b'\\', b'"', text).is_some() {
            self.settle_reading(text).await?;
        }
        let version = match has_versions(text) {
            true => self.shared.gate.servers.common_version(),
            false => 0,
        };
        let understand = |state: &State| {
            let encoding = state.encoding.unwrap_or(Encoding::Ascii);
            sql::understand_bytes(text, encoding, state.mode.of_version(version))
        };
        let mut understood = understand(&self.state);
        if understood.ambiguous && self.state.mode == Mode::unknown() {
            // The master reports it.
            self.connect_master().await?;
            understood = understand(&self.state);
        }
        Ok(Known::of(understood)?.checked(&self.shared.config.classes)?)
    }

    /// A text means what it means in the session's character set and SQL mode.
    async fn settle_reading(&mut self, text: &[u8]) -> Result<(), Fault> {
        self.settle_status().await?;
        match self.state.encoding.is_none() && !text.is_ascii() {
            true => self.ask_encoding().await,
            false => Ok(()),
        }
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        self.settle_status().await?;
        self.state.diagnostics.pinged();
        self.say_alive().await
    }

    /// Reads what the client still holds of a command.
    pub(super) async fn gather(&mut self, request: Request) -> Result<BytesMut, Fault> {
        let Request {
            mut payload,
            mut continued,
        } = request;
        while continued {
            let left = self.shared.config.max_packet.saturating_sub(payload.len());
            let next = self.client.conn.chunk(left).await?;
            payload.extend_from_slice(&next.payload);
            continued = next.continued;
        }
        Ok(payload)
    }

    async fn plain_on_master(&mut self, request: Request, shape: Shape) -> Result<(), Fault> {
        self.on_master(&mut Work::Plain { request, shape }, Told::Nothing)
            .await
            .map(drop)
    }

    async fn about_table(&mut self, request: Request) -> Result<(), Fault> {
        let mut work = Work::Plain {
            request,
            shape: Shape::Rows,
        };
        match self.state.tx {
            Tx::OnSatellite(id) => self.on_satellite(id, &mut work, Told::Data).await.map(drop),
            _ => self.on_master(&mut work, Told::Data).await.map(drop),
        }
    }

    async fn init_db(&mut self, request: Request) -> Result<(), Fault> {
        let shape = Shape::Single;
        self.use_database(&mut Work::Plain { request, shape }).await
    }

    async fn set_option(&mut self, request: Request) -> Result<(), Fault> {
        match Reader::new(request.argument()).u16() {
            Ok(0) => self.client.capabilities |= cap::MULTI_STATEMENTS,
            Ok(1) => self.client.capabilities &= !cap::MULTI_STATEMENTS,
            _ => return Err(SqlError::unknown_command().into()),
        }
        self.plain_on_master(request, Shape::Single).await?;
        if let Some(master) = &mut self.connections.master {
            let kept = master.capabilities & !cap::MULTI_STATEMENTS;
            master.capabilities = kept | self.client.capabilities & cap::MULTI_STATEMENTS;
        }
        Ok(())
    }

    async fn process_kill(&mut self, request: Request) -> Result<(), Fault> {
        let id = Reader::new(request.argument())
            .u32()
            .map_err(|_| SqlError::malformed_packet())?;
        let work = Work::Plain {
            request,
            shape: Shape::Single,
        };
        self.kill(false, Some(u64::from(id)), work).await
    }

    async fn reset_connection(&mut self) -> Result<(), Fault> {
        let within = self.shared.config.server_timeout;
        if std::mem::take(&mut self.state.open.schema) {
            // It outlives a reset.
            self.ask_schema().await?;
        }
        // In the sandbox of an expired password it is refused.
        if let (Some(_), Some(master)) = (self.state.pinned, &mut self.connections.master)
            && let Err(BackendError::Sql(refused)) = bounded(within, master.reset()).await
        {
            return Err(refused.into());
        }
        let life = self.shared.registry.new_life();
        self.connections.reset(life, within).await;
        self.state.reset();
        self.trackers = Trackers::default();
        self.connections.have_replayed(self.state.order());
        self.statements.clear();
        self.leave = None;
        self.trace = Trace::default();
        self.begin_life();
        self.say_ok().await
    }

    async fn change_user(&mut self, mut request: Request) -> Result<(), Fault> {
        let asked = ChangeUser::parse(request.argument());
        // What the client answers to a nonce that is not used any more: with some plugins, its password.
        request.payload.zeroize();
        let asked = asked?;
        let charset = asked.charset.unwrap_or(self.user.charset);
        let attributes = asked
            .attributes
            .unwrap_or_else(|| self.user.attributes.clone());
        let shared = self.shared.clone();
        let changing = async {
            let (client, names) = (&mut self.client, (&*asked.user, asked.database.as_deref()));
            let wanted = Wanted::new(client, &shared, names, charset, attributes).await?;
            login::change_user(client, wanted, &shared).await
        };
        let mut account = changing.await.map_err(|e| match e {
            LoginError::Gone(_) => Fault::Gone,
            LoginError::Refused(error) => Fault::Fatal(error),
        })?;
        let let_in = account.let_in(&self.client, &self.entry, &shared);
        let_in.map_err(Fault::Fatal)?;
        if let Some(master) = &mut self.connections.master {
            // Its transaction and locks are gone before the answer; a server goes on with them for a moment after a connection has ended.
            let _ = bounded(shared.config.server_timeout, master.reset()).await;
        }
        let life = self.shared.registry.new_life();
        self.connections = Connections::new(account.master.take(), life);
        self.statements.clear();
        self.leave = None;
        self.trace = Trace::default();
        let seen = std::mem::take(&mut self.state.seen);
        let mut diagnostics = std::mem::take(&mut self.state.diagnostics);
        diagnostics.begin_anew();
        self.state = State::new(
            account.database.take(),
            Encoding::of_collation(account.charset),
        );
        self.state.seen = seen;
        self.state.diagnostics = diagnostics;
        self.trackers = Trackers::default();
        self.state.pinned = account.pinned();
        self.state.sticky = self.state.pinned;
        self.user = User::of(&mut account);
        self.begin_as_user();
        self.state.diagnostics.answered();
        self.welcome().await
    }
}

/// Some of the text is for certain versions only.
fn has_versions(text: &[u8]) -> bool {
    memmem::find(text, b"/*!").is_some()
}
