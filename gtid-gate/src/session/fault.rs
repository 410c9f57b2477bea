//! Why a command has no ordinary answer, and what follows for its session.

use crate::protocol::error::{PacketError, SqlError};

/// Why a command has no ordinary answer.
pub(crate) enum Fault {
    /// The client is told; the session goes on.
    Sql(SqlError),
    /// The client is told and the connection closed: session state was lost with a server.
    Fatal(SqlError),
    /// There is nobody to tell.
    Gone,
}

impl From<SqlError> for Fault {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<PacketError> for Fault {
    fn from(error: PacketError) -> Self {
        error.answer().map_or(Self::Gone, Self::Fatal)
    }
}

impl From<std::io::Error> for Fault {
    fn from(_: std::io::Error) -> Self {
        Self::Gone
    }
}
