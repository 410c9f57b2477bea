//! A connection as the operating system and TLS see it: options, timeouts, keys.

pub mod socket;
pub mod stream;
pub mod timeouts;
pub mod tls;
