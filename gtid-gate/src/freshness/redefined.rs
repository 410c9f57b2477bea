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

#[derive(Default)]
pub struct Redefined {
    /// The last after which any name may have stood for something else.
    any: Option<Gtid>,
    names: HashMap<Box<str>, HashMap<Box<str>, Gtid>>,
    count: usize,
}

impl Redefined {
    pub fn by(&mut self, gtid: Gtid, redefines: Redefines) {
        match redefines {
            Redefines::Nothing => {}
            Redefines::These(tables) if self.count + tables.len() <= MOST => {
                for Table { schema, name } in tables {
                    let names = self.names.entry(schema).or_default();
                    self.count += usize::from(names.insert(name, gtid).is_none());
                }
            }
            Redefines::These(_) | Redefines::Anything => {
                *self = Self {
                    any: Some(gtid),
                    ..Self::default()
                }
            }
        }
    }

    /// Whether what counts for every name is in this set; of single names see `has`.
    pub fn any_in(&self, set: &GtidSet) -> bool {
        self.any.as_ref().is_none_or(|gtid| set.contains(gtid))
    }

    pub fn all_in(&self, set: &GtidSet) -> bool {
        let mut names = self.names.values().flat_map(HashMap::values);
        self.any_in(set) && names.all(|gtid| set.contains(gtid))
    }

    /// Whether this name stands for what it stood for after these transactions.
    pub fn is_in(&self, schema: &str, name: &str, set: &GtidSet) -> bool {
        let gtid = self.names.get(schema).and_then(|names| names.get(name));
        gtid.is_none_or(|gtid| set.contains(gtid))
    }
}
