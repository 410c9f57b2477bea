//! Locks whose holders never leave them in doubt.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock, also after a holder panicked: what these locks guard is whole between any two steps.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
