//! Passwords in memory.

use zeroize::Zeroize;

/// A password. Its memory is zeroed when it is dropped.
pub type Password = zeroize::Zeroizing<Vec<u8>>;

/// Copies what lies in a buffer that it was read into, and overwrites it there.
pub fn take_secret(payload: &mut [u8]) -> Password {
    let secret = Password::new(payload.to_vec());
    payload.zeroize();
    secret
}
