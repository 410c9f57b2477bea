//! What each thread has found out about statements, by their normal form.
//!
//! In: a normal form, and how to find out what is not remembered. Out: what is known of it. Must never: take more memory than its bound,
//! or forget more than it must.

use super::digest::Digest;
use super::facts::Facts;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Bytes that a thread remembers, and the most for one statement.
const MOST_BYTES: usize = 4 << 20;
const MOST_FOR_ONE: usize = MOST_BYTES / 8;
/// What each takes beyond its texts.
const OVERHEAD: usize = 400;

#[derive(Clone)]
pub struct Known {
    pub digest: Arc<Digest>,
    /// Nothing where values decide some of them.
    pub facts: Option<Facts>,
}

struct Entry {
    known: Known,
    bytes: usize,
    /// Since it was last looked at for its turn to be forgotten.
    used: bool,
}

#[derive(Default)]
struct Memory {
    entries: HashMap<Arc<str>, Entry>,
    /// In this order they are looked at.
    turns: VecDeque<Arc<str>>,
    bytes: usize,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

pub fn remembered(normal: &str, find: impl FnOnce() -> Known) -> Known {
    if let Some(known) = MEMORY.with_borrow_mut(|memory| memory.get(normal)) {
        return known;
    }
    let known = find();
    MEMORY.with_borrow_mut(|memory| memory.put(normal, known.clone()));
    known
}

impl Memory {
    fn get(&mut self, normal: &str) -> Option<Known> {
        let entry = self.entries.get_mut(normal)?;
        entry.used = true;
        Some(entry.known.clone())
    }

    fn put(&mut self, normal: &str, known: Known) {
        let names = known.facts.as_ref().and_then(|f| f.names.as_ref());
        let bytes =
            OVERHEAD + normal.len() + known.digest.text.len() + names.map_or(0, |n| n.bytes());
        if bytes > MOST_FOR_ONE {
            return;
        }
        while self.bytes + bytes > MOST_BYTES && self.forget_one() {}
        let key: Arc<str> = normal.into();
        self.turns.push_back(key.clone());
        self.bytes += bytes;
        let entry = Entry {
            known,
            bytes,
            used: false,
        };
        self.entries.insert(key, entry);
    }

    /// The first that was not used since its last turn.
    fn forget_one(&mut self) -> bool {
        while let Some(key) = self.turns.pop_front() {
            match self.entries.get_mut(&key) {
                Some(entry) if entry.used => {
                    entry.used = false;
                    self.turns.push_back(key);
                }
                Some(entry) => {
                    self.bytes -= entry.bytes;
                    self.entries.remove(&key);
                    return true;
                }
                None => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> Known {
        let digest = Arc::new(Digest {
            number: 0,
            text: text.into(),
        });
        Known {
            digest,
            facts: None,
        }
    }

    #[test]
    fn a_full_memory_forgets_what_was_not_used_and_nothing_else() {
        let mut memory = Memory::default();
        let long = "x".repeat(4_000);
        memory.put("used", known("used"));
        for n in 0..5_000 {
            memory.put(&format!("{n}{long}"), known(""));
            assert!(memory.get("used").is_some(), "{n}");
            assert!(memory.bytes <= MOST_BYTES, "{n}");
            assert_eq!(memory.entries.len(), memory.turns.len());
        }
        assert!(memory.get(&format!("4999{long}")).is_some());
        assert!(memory.get(&format!("0{long}")).is_none());
        assert!(memory.entries.len() > MOST_BYTES / 5_000);
        memory.put(&"x".repeat(MOST_BYTES), known(""));
        assert!(memory.get("used").is_some());
    }
}
