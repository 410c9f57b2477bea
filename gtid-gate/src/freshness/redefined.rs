//! After which transaction a name stood for something else last: a view or function was made, or something was renamed. Pure.
//!
//! Must never: forget a transaction but for a later one that counts for every name.

use super::table::Table;
use crate::gtid::{Gtid, GtidSet};
use std::collections::HashMap;

/// Of more names no one is remembered: then it may have been any.
const MOST: usize = 10_000;

/// Which names stand for something else after a transaction; those that are new or gone don't count.
#[derive(Debug, PartialEq, Eq)]
pub enum Redefines {
    Nothing,
    These(Vec<Table>),
    Anything,
}

#[derive(Clone, Copy)]
struct Last {
    gtid: Gtid,
    /// The number of what was heard.
    heard: u64,
}

#[derive(Default)]
pub struct Redefined {
    /// The last after which any name may have stood for something else.
    any: Option<Last>,
    names: HashMap<Box<str>, HashMap<Box<str>, Last>>,
    count: usize,
}

impl Redefined {
    pub fn by(&mut self, gtid: Gtid, heard: u64, redefines: Redefines) {
        let last = Last { gtid, heard };
        match redefines {
            Redefines::Nothing => {}
            Redefines::These(tables) if self.count + tables.len() <= MOST => {
                for Table { schema, name } in tables {
                    let names = self.names.entry(schema).or_default();
                    self.count += usize::from(names.insert(name, last).is_none());
                }
            }
            Redefines::These(_) | Redefines::Anything => {
                *self = Self {
                    any: Some(last),
                    ..Self::default()
                }
            }
        }
    }

    /// Whether what counts for every name is in this set; of single names see `is_in`.
    pub fn any_in(&self, set: &GtidSet) -> bool {
        self.any.is_none_or(|last| set.contains(&last.gtid))
    }

    pub fn all_in(&self, set: &GtidSet) -> bool {
        let mut names = self.names.values().flat_map(HashMap::values);
        self.any_in(set) && names.all(|last| set.contains(&last.gtid))
    }

    /// Whether this name stands for what it stood for after these transactions.
    pub fn is_in(&self, schema: &str, name: &str, set: &GtidSet) -> bool {
        let last = self.last(schema, name);
        last.is_none_or(|last| set.contains(&last.gtid))
    }

    fn last(&self, schema: &str, name: &str) -> Option<&Last> {
        self.names.get(schema)?.get(name)
    }

    /// Whether what counts for every name was heard after so much; of single names see `is_since`.
    pub fn any_since(&self, heard: u64) -> bool {
        self.any.is_some_and(|last| last.heard > heard)
    }

    pub fn is_since(&self, schema: &str, name: &str, heard: u64) -> bool {
        let last = self.last(schema, name);
        last.is_some_and(|last| last.heard > heard)
    }
}
