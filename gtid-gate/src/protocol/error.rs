//! Errors as a MySQL client sees them.
//!
//! In: what went wrong, by origin. Out: one code, state and message of MySQL's own catalogue.
//! Must never: carry a password or a statement's text.

use crate::common::memory::Full;
use std::io;

/// An error packet's content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} ({state}): {message}")]
pub struct SqlError {
    pub code: u16,
    pub state: String,
    pub message: String,
}

pub const UNKNOWN_THREAD: u16 = 1094;

impl SqlError {
    pub fn new(code: u16, state: &str, message: impl Into<String>) -> Self {
        let (state, message) = (state.to_owned(), message.into());
        Self {
            code,
            state,
            message,
        }
    }

    /// The gate's own refusals: ER_UNKNOWN_ERROR with a text that names the gate.
    pub fn gate(message: impl std::fmt::Display) -> Self {
        Self::new(1105, "HY000", format!("gtid-gate: {message}"))
    }

    /// The answer may be that of a definition which asks about a session that the satellite does not know. While capture is away, whether a
    /// definition has changed may not be known in time.
    pub fn redefined() -> Self {
        Self::gate("a view may have been redefined while it was read; try again")
    }

    /// ER_LOCK_DEADLOCK, which clients know as: nothing of the transaction stays, begin again.
    pub fn satellite_of_transaction_gone() -> Self {
        let text = "gtid-gate: the satellite of this read-only transaction is gone; try restarting transaction";
        Self::new(1213, "40001", text)
    }

    /// A choice of consistency that is not understood.
    pub fn bad_choice(error: crate::common::consistency::BadChoice) -> Self {
        Self::new(1231, "42000", format!("gtid-gate: {error}"))
    }

    pub fn access_denied(user: &str, host: &str, with_password: bool) -> Self {
        let using = if with_password { "YES" } else { "NO" };
        let text = format!("Access denied for user '{user}'@'{host}' (using password: {using})");
        Self::new(1045, "28000", text)
    }

    pub fn too_many_connections() -> Self {
        Self::new(1040, "08004", "Too many connections")
    }

    /// As MySQL has it for an account's own limit.
    pub fn too_many_connections_of(user: &str, most: usize) -> Self {
        let text = format!(
            "User '{user}' has exceeded the 'max_user_connections' resource (current value: {most})"
        );
        Self::new(1226, "42000", text)
    }

    pub fn unknown_thread_id(id: u32) -> Self {
        Self::new(UNKNOWN_THREAD, "HY000", format!("Unknown thread id: {id}"))
    }

    /// Of this error, the id: the last thing in its message, whatever the language.
    pub fn unknown_thread(&self) -> Option<u32> {
        let id = self.message.rsplit(|c: char| !c.is_ascii_digit()).next();
        id.filter(|_| self.code == UNKNOWN_THREAD)?.parse().ok()
    }

    pub fn handshake() -> Self {
        Self::new(1043, "08S01", "Bad handshake")
    }

    pub fn unknown_command() -> Self {
        Self::new(1047, "08S01", "Unknown command")
    }

    pub fn packet_too_large() -> Self {
        Self::new(
            1153,
            "08S01",
            "Got a packet bigger than 'max_allowed_packet' bytes",
        )
    }

    /// A client would have the gate hold more than it may.
    pub fn memory(full: Full) -> Self {
        match full {
            Full::Connection(_) => Self::new(1153, "08S01", format!("gtid-gate: {full}")),
            Full::Gate(_) => Self::gate(full),
        }
    }

    /// What MySQL says when the statement is executed.
    pub fn long_data_too_long() -> Self {
        let text = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                    'max_allowed_packet' bytes";
        Self::new(1105, "HY000", text)
    }

    pub fn packets_out_of_order() -> Self {
        Self::new(1156, "08S01", "Got packets out of order")
    }

    pub fn malformed_packet() -> Self {
        Self::new(1835, "HY000", "Malformed communication packet.")
    }

    pub fn wrong_arguments(command: &str) -> Self {
        Self::new(1210, "HY000", format!("Incorrect arguments to {command}"))
    }

    pub fn read_only_transaction() -> Self {
        Self::new(
            1792,
            "25006",
            "Cannot execute statement in a READ ONLY transaction.",
        )
    }

    pub fn transaction_in_progress() -> Self {
        let text =
            "Transaction characteristics can't be changed while a transaction is in progress";
        Self::new(1568, "25001", text)
    }

    pub fn interrupted() -> Self {
        Self::new(1317, "70100", "Query execution was interrupted")
    }

    pub fn shutdown() -> Self {
        Self::new(1053, "08S01", "Server shutdown in progress")
    }

    /// A client stopped in the middle of a command.
    pub fn read_timeout() -> Self {
        Self::new(1159, "08S01", "Got timeout reading communication packets")
    }

    pub fn inactive() -> Self {
        let text = "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for \
                    configuring this behavior.";
        Self::new(4031, "HY000", text)
    }

    pub fn unknown_statement(id: u32, command: &str) -> Self {
        let text = format!("Unknown prepared statement handler ({id}) given to {command}");
        Self::new(1243, "HY000", text)
    }

    /// An error that a satellite may give and the master not: it refused a write, or lacks what only the master has
    /// (a trigger's temporary table, a loadable function).
    pub fn is_for_satellites_only(code: u16) -> bool {
        Self::is_lack(code) || matches!(code, 1290 | 1792 | 1836)
    }

    /// A lack that the master is not asked about.
    pub fn lacking(code: u16) -> Self {
        let state = if code == 1146 { "42S02" } else { "42000" };
        let text = "gtid-gate: the satellite does not have a table, database or function that the statement names";
        Self::new(code, state, text.to_owned())
    }

    /// The server does not have what the statement names: a database, a table, a function.
    pub fn is_lack(code: u16) -> bool {
        matches!(code, 1049 | 1146 | 1305)
    }

    /// The server is going away or has ended the connection: what follows can't be trusted.
    pub fn is_server_going(code: u16) -> bool {
        matches!(code, 1053 | 1077 | 1079 | 1080 | 3032 | 3169 | 4031)
    }
}

/// Reading a packet from anyone.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("packet of more than {0} bytes")]
    TooLarge(usize),
    #[error(transparent)]
    Full(#[from] Full),
    #[error("packet out of order")]
    OutOfOrder,
    #[error("malformed packet: {0}")]
    Malformed(&'static str),
    /// The rest of a command was not read: what follows can't be told from a command.
    #[error("the message before was not read to its end")]
    Unread,
}

impl PacketError {
    /// What to tell the peer before closing; nothing if it is gone.
    pub fn answer(&self) -> Option<SqlError> {
        match self {
            Self::Io(e) if e.kind() == io::ErrorKind::TimedOut => Some(SqlError::read_timeout()),
            Self::Io(_) | Self::Unread => None,
            Self::TooLarge(_) => Some(SqlError::packet_too_large()),
            Self::Full(full) => Some(SqlError::memory(*full)),
            Self::OutOfOrder => Some(SqlError::packets_out_of_order()),
            Self::Malformed(_) => Some(SqlError::malformed_packet()),
        }
    }
}

/// Talking to a master or satellite.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The connection is unusable: what was asked may or may not have been done.
    #[error("connection lost: {0}")]
    Lost(String),
    #[error("no answer in time")]
    Timeout,
    /// The server answered with an error; the connection goes on, unless the command could not be sent whole.
    #[error("server said {0}")]
    Sql(SqlError),
    /// Nothing was asked: the gate has no connection to spare.
    #[error("{0}")]
    Busy(SqlError),
}

impl From<PacketError> for BackendError {
    fn from(error: PacketError) -> Self {
        Self::Lost(error.to_string())
    }
}

impl From<io::Error> for BackendError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

impl BackendError {
    /// What a client is told when nothing better can be done.
    pub fn for_client(self, server: &str) -> SqlError {
        match self {
            Self::Sql(error) | Self::Busy(error) => error,
            Self::Lost(_) => SqlError::gate(format_args!("lost the connection to {server}")),
            Self::Timeout => SqlError::gate(format_args!("{server} did not answer in time")),
        }
    }
}
