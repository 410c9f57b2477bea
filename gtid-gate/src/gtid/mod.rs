//! GTIDs and sets of them, as MySQL means them.

mod interval;
mod owned;
mod set;
#[cfg(test)]
mod tests;
mod text;

pub use set::{Gtid, GtidError, GtidSet, MAX_NUMBER, Source, Tag};
