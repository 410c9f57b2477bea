//! Passwords that the master has accepted, in memory only and for a limited time.
//!
//! In: user and password after a login to the master worked. Out: the same, while it is young enough.
//! Must never: be written or logged; outlive its time, so that a changed password or a locked account takes effect.

use crate::common::lock;
use crate::common::secret::Password;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An account as the master has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// In full: user@host.
    pub name: Arc<str>,
    /// Its `max_user_connections`; 0: as many as it likes.
    pub most_connections: usize,
}

impl From<&str> for Known {
    fn from(name: &str) -> Self {
        Self {
            name: name.into(),
            most_connections: 0,
        }
    }
}

struct Kept {
    password: Arc<Password>,
    account: Known,
    until: Instant,
    /// Databases that the master let this user choose at login; the empty name is none.
    databases: HashSet<String>,
}

pub struct Passwords {
    ttl: Duration,
    /// By user, and whether the client's connection is encrypted: an account may require it.
    kept: Mutex<HashMap<(String, bool), Kept>>,
}

impl Passwords {
    pub fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            kept: Mutex::default(),
        }
    }

    /// The password, and the account that the master takes the user for.
    pub fn get(&self, user: &str, secure: bool) -> Option<(Arc<Password>, Known)> {
        let mut kept = lock(&self.kept);
        kept.retain(|_, k| k.until > Instant::now());
        let known = kept.get(&(user.to_owned(), secure))?;
        Some((known.password.clone(), known.account.clone()))
    }

    /// Whether the master has let this user in with this database since the password was verified.
    pub fn knows(&self, user: &str, secure: bool, database: Option<&str>) -> bool {
        let kept = lock(&self.kept);
        kept.get(&(user.to_owned(), secure))
            .is_some_and(|k| k.databases.contains(database.unwrap_or_default()))
    }

    pub fn keep(
        &self,
        user: &str,
        secure: bool,
        password: &Arc<Password>,
        account: &Known,
        database: Option<&str>,
    ) {
        let mut kept = lock(&self.kept);
        let until = Instant::now() + self.ttl;
        let fresh = || Kept {
            password: password.clone(),
            account: account.clone(),
            until,
            databases: HashSet::from([String::new()]),
        };
        let entry = kept.entry((user.to_owned(), secure)).or_insert_with(fresh);
        if entry.password != *password || entry.account != *account {
            *entry = fresh();
        }
        entry
            .databases
            .insert(database.unwrap_or_default().to_owned());
    }

    /// The master has refused this password. One that is kept and differs is not concerned.
    pub fn forget(&self, user: &str, refused: &Password) {
        let mut kept = lock(&self.kept);
        kept.retain(|(name, _), k| name != user || *k.password != *refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Known {
        "u@%".into()
    }

    fn password(text: &str) -> Arc<Password> {
        Arc::new(Password::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn a_password_is_kept_until_its_time() {
        let long = Passwords::new(Duration::from_secs(60));
        long.keep("u", false, &password("x"), &account(), Some("db"));
        assert!(long.get("u", false) == Some((password("x"), account())));
        assert!(
            long.knows("u", false, Some("db"))
                && long.knows("u", false, None)
                && !long.knows("u", false, Some("other"))
        );
        assert!(
            long.get("u", true).is_none(),
            "over TLS it is another matter"
        );
        let none = Passwords::new(Duration::ZERO);
        none.keep("u", false, &password("x"), &account(), None);
        assert!(none.get("u", false).is_none());
    }

    #[test]
    fn a_changed_password_replaces_the_old_one() {
        let passwords = Passwords::new(Duration::from_secs(60));
        passwords.keep("u", false, &password("x"), &account(), Some("db"));
        passwords.keep("u", false, &password("y"), &account(), None);
        assert!(passwords.get("u", false) == Some((password("y"), account())));
        assert!(!passwords.knows("u", false, Some("db")));
        passwords.forget("u", &password("a guess"));
        assert!(passwords.get("u", false).is_some());
        passwords.forget("u", &password("y"));
        assert!(passwords.get("u", false).is_none());
    }
}
