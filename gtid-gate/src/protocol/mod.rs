//! MySQL's client/server protocol: bytes to packets and back, and what the packets mean.

pub mod auth;
pub mod bind_params;
pub mod capability;
pub mod charset;
pub mod codec;
pub mod error;
pub mod handshake;
pub mod response;
pub mod result_set;
pub mod session_track;
pub mod status_rows;
pub mod stream;
pub mod tls_status;
mod unread;
pub mod wire;
