//! Promises that a gate of a test build can be told not to keep.
//!
//! In: the setting. Out: which one. Must never: have a say in builds for production.

use super::settings::Settings;

/// What a gate that is broken on purpose leaves out, so that tests can show that they would find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Any live satellite counts as fresh.
    Freshness,
    /// A session's own changes need not be there.
    OwnChanges,
    /// What a session saw need not be there.
    History,
    /// A bound is not looked at.
    Bound,
    /// The reads of a read-only transaction run on their own.
    Snapshot,
    /// When the master does not answer, nothing is required of a satellite.
    Master,
    /// Of each transaction in the table stream one table is forgotten.
    Tables,
    /// Cascades are not followed.
    ForeignKeys,
    /// Views are not followed.
    Views,
    /// What the table stream has not told of counts as having written nothing.
    Holes,
}

#[cfg(feature = "test-break")]
const BROKEN: [(&str, Broken); 10] = [
    ("freshness", Broken::Freshness),
    ("own_changes", Broken::OwnChanges),
    ("seen", Broken::History),
    ("bound", Broken::Bound),
    ("snapshot", Broken::Snapshot),
    ("master", Broken::Master),
    ("tables", Broken::Tables),
    ("fk", Broken::ForeignKeys),
    ("view", Broken::Views),
    ("holes", Broken::Holes),
];

impl Settings<'_> {
    #[cfg(not(feature = "test-break"))]
    pub(super) fn broken(&mut self, name: &str) -> Option<Broken> {
        self.given(name)?;
        self.mistake(name, "only builds for tests keep fewer promises");
        None
    }

    #[cfg(feature = "test-break")]
    pub(super) fn broken(&mut self, name: &str) -> Option<Broken> {
        let text = self.given(name)?;
        let found = BROKEN.iter().find(|(n, _)| *n == text).map(|(_, b)| *b);
        if found.is_none() {
            let known = BROKEN.map(|(n, _)| n).join(", ");
            self.mistake(name, format_args!("expected one of {known}, got {text:?}"));
        }
        found
    }
}
