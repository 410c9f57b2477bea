//! How a session's prepared statements are named towards servers: by text, database and what decides how it is read, and for each of these by a number.
//!
//! Two statements of the same text are two: each may have a cursor. A number that is free is used again, so that sessions
//! that share connections find each other's statements there.
//! Must never: give two open statements of one session the same name, or take longer the more statements are open.

use crate::backend::StatementKey;
use crate::protocol::auth;
use std::collections::HashMap;
use std::sync::Arc;

/// Of one statement.
#[derive(Clone, Copy)]
pub struct Name {
    text: StatementKey,
    number: u32,
}

/// The numbers of one text's open statements.
#[derive(Default)]
struct Numbers {
    open: u32,
    /// No number from here on was ever used.
    unused: u32,
    free: Vec<u32>,
}

#[derive(Default)]
pub struct Names {
    by_text: HashMap<StatementKey, Numbers>,
}

/// What a statement is, wherever it runs.
#[derive(Clone)]
pub struct Text {
    pub sql: Arc<[u8]>,
    /// Its names without a schema mean this one's.
    pub database: Option<Arc<str>>,
    /// Its strings and quotes mean what they meant under these settings.
    pub reading: Reading,
    pub name: Name,
    pub key: StatementKey,
}

/// The settings under which a text is prepared: what the session has set, by name, as SET statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub set: Option<Arc<[(String, String)]>>,
}

impl Reading {
    fn list(&self) -> &[(String, String)] {
        self.set.as_deref().unwrap_or_default()
    }

    /// What has a server that has the settings `now` read texts so. `login`: what makes its character sets those of the login.
    pub fn instead_of(&self, now: &Self, login: &str) -> Vec<String> {
        let is_set = |name: &str| self.list().iter().any(|(n, _)| n == name);
        let unset = now.list().iter().filter(|(name, _)| !is_set(name));
        let defaults = unset.map(|(name, _)| match name.as_str() {
            "names" => login.to_owned(),
            name => format!("SET SESSION {name} = DEFAULT"),
        });
        defaults.chain(self.sql()).collect()
    }

    pub fn sql(&self) -> impl Iterator<Item = String> {
        self.list().iter().map(|(_, sql)| sql.clone())
    }
}

impl Name {
    pub fn key(self) -> StatementKey {
        let StatementKey(text) = self.text;
        match self.number {
            0 => self.text,
            number => StatementKey(auth::fingerprint(&[&number.to_le_bytes(), &text])),
        }
    }
}

impl Names {
    /// A name that no open statement has; it is free until it is taken.
    pub fn next(&self, sql: &[u8], database: Option<&str>, reading: &Reading) -> Name {
        let database = database.unwrap_or_default().as_bytes();
        let settings = reading.sql().collect::<Vec<_>>().join(";");
        let length = |part: &[u8]| (part.len() as u64).to_le_bytes();
        let lengths = [length(database), length(settings.as_bytes())].concat();
        let parts = [&lengths, database, settings.as_bytes(), sql];
        let text = StatementKey(auth::fingerprint(&parts));
        let next = |n: &Numbers| n.free.last().copied().unwrap_or(n.unused);
        let number = self.by_text.get(&text).map_or(0, next);
        Name { text, number }
    }

    /// Takes the name that `next` gave last for this text.
    pub fn take(&mut self, name: Name) {
        let numbers = self.by_text.entry(name.text).or_default();
        numbers.open += 1;
        if numbers.free.pop().is_none() {
            numbers.unused += 1;
        }
    }

    pub fn free(&mut self, name: Name) {
        let Some(numbers) = self.by_text.get_mut(&name.text) else {
            return;
        };
        numbers.open -= 1;
        numbers.free.push(name.number);
        if numbers.open == 0 {
            self.by_text.remove(&name.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::time::{Duration, Instant};

    #[test]
    fn a_name_is_of_text_and_database() {
        let names = Names::default();
        let key = |sql: &[u8], database| names.next(sql, database, &Reading::default()).key();
        assert_eq!(key(b"SELECT 1", Some("d")), key(b"SELECT 1", Some("d")));
        assert_ne!(key(b"SELECT 1", Some("d")), key(b"SELECT 1", None));
        assert_ne!(key(b"SELECT 1", Some("d")), key(b"1", Some("dSELECT ")));
    }

    /// Each looked through all that were open, once for each of its text.
    #[test]
    fn preparing_the_same_text_again_and_again_takes_no_longer_each_time() {
        let (mut names, started) = (Names::default(), Instant::now());
        for _ in 0..20_000 {
            let name = names.next(b"SELECT ?", None, &Reading::default());
            names.take(name);
        }
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    proptest! {
        #[test]
        fn open_statements_have_different_names_and_the_first_is_used_again(
            steps in prop::collection::vec((any::<bool>(), 0usize..8, 0u8..3), 1..60),
        ) {
            let mut names = Names::default();
            let mut open: Vec<Name> = Vec::new();
            for (closes, at, text) in steps {
                if closes && at < open.len() {
                    names.free(open.swap_remove(at));
                } else {
                    let name = names.next(&[text], None, &Reading::default());
                    names.take(name);
                    open.push(name);
                }
                let keys: HashSet<StatementKey> = open.iter().map(|n| n.key()).collect();
                prop_assert_eq!(keys.len(), open.len());
            }
            let first = Names::default().next(&[0], None, &Reading::default()).key();
            open.drain(..).for_each(|name| names.free(name));
            prop_assert_eq!(names.next(&[0], None, &Reading::default()).key(), first);
            prop_assert!(names.by_text.is_empty());
        }
    }
}
