//! Passwords that the master has accepted, in memory only and for a limited time.
//!
//! In: user and password after a login to the master worked. Out: the same, while it is young enough.
//! Must never: be written or logged; outlive its time, so that a changed password or a locked account takes effect.

use crate::scramble::Password;
use crate::servers::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Kept {
    password: Arc<Password>,
    until: Instant,
    /// Databases that the master let this user choose at login; the empty name is none.
    databases: HashSet<String>,
}

pub struct Passwords {
    ttl: Duration,
    kept: Mutex<HashMap<String, Kept>>,
}

impl Passwords {
    pub fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            kept: Mutex::default(),
        }
    }

    pub fn get(&self, user: &str) -> Option<Arc<Password>> {
        let mut kept = lock(&self.kept);
        kept.retain(|_, k| k.until > Instant::now());
        kept.get(user).map(|k| k.password.clone())
    }

    /// Whether the master has let this user in with this database since the password was verified.
    pub fn knows(&self, user: &str, database: Option<&str>) -> bool {
        let kept = lock(&self.kept);
        kept.get(user)
            .is_some_and(|k| k.databases.contains(database.unwrap_or_default()))
    }

    pub fn keep(&self, user: &str, password: &Arc<Password>, database: Option<&str>) {
        let mut kept = lock(&self.kept);
        let until = Instant::now() + self.ttl;
        let fresh = || Kept {
            password: password.clone(),
            until,
            databases: HashSet::from([String::new()]),
        };
        let entry = kept.entry(user.to_owned()).or_insert_with(fresh);
        if entry.password != *password {
            *entry = fresh();
        }
        entry
            .databases
            .insert(database.unwrap_or_default().to_owned());
    }

    /// The master has refused this password. One that is kept and differs is not concerned.
    pub fn forget(&self, user: &str, refused: &Password) {
        let mut kept = lock(&self.kept);
        if kept.get(user).is_some_and(|k| *k.password == *refused) {
            kept.remove(user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Arc<Password> {
        Arc::new(Password::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn a_password_is_kept_until_its_time() {
        let long = Passwords::new(Duration::from_secs(60));
        long.keep("u", &password("x"), Some("db"));
        assert!(long.get("u") == Some(password("x")));
        assert!(
            long.knows("u", Some("db")) && long.knows("u", None) && !long.knows("u", Some("other"))
        );
        let none = Passwords::new(Duration::ZERO);
        none.keep("u", &password("x"), None);
        assert!(none.get("u").is_none());
    }

    #[test]
    fn a_changed_password_replaces_the_old_one() {
        let passwords = Passwords::new(Duration::from_secs(60));
        passwords.keep("u", &password("x"), Some("db"));
        passwords.keep("u", &password("y"), None);
        assert!(passwords.get("u") == Some(password("y")));
        assert!(!passwords.knows("u", Some("db")));
        passwords.forget("u", &password("a guess"));
        assert!(passwords.get("u").is_some());
        passwords.forget("u", &password("y"));
        assert!(passwords.get("u").is_none());
    }
}
