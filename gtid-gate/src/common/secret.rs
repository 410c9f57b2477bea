//! Passwords in memory.

/// A password. Its memory is zeroed when it is dropped.
pub type Password = zeroize::Zeroizing<Vec<u8>>;
