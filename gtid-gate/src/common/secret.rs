//! Passwords in memory.

use super::locks::lock;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use zeroize::Zeroize;

/// A password. Its memory is zeroed when it is dropped.
pub type Password = zeroize::Zeroizing<Vec<u8>>;

/// A password that may be read anew while it is in use.
pub struct Renewable(Mutex<(Arc<Password>, SystemTime)>);

impl Renewable {
    /// `asked`: before it was read.
    pub fn new(password: Password, asked: SystemTime) -> Self {
        Self(Mutex::new((Arc::new(password), asked)))
    }

    pub fn current(&self) -> Arc<Password> {
        lock(&self.0).0.clone()
    }

    pub fn renew(&self, password: Password, asked: SystemTime) {
        *lock(&self.0) = (Arc::new(password), asked);
    }

    /// When it was read, in seconds since 1970.
    pub fn read_at(&self) -> f64 {
        let since = lock(&self.0).1.duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0.0, |d| d.as_secs_f64())
    }
}

/// Copies what lies in a buffer that it was read into, and overwrites it there.
pub fn take_secret(payload: &mut [u8]) -> Password {
    let secret = Password::new(payload.to_vec());
    payload.zeroize();
    secret
}
