//! What a session has seen and written, and where: what it must not lose when it changes server. Pure.
//!
//! In: each answer's server and what it told. Out: the places whose contents a server must have, by level.
//! A place is a server in one incarnation; what the session saw is in there. Only what no later answer covers is kept.

use crate::backend::{Incarnation, Role};
use crate::common::consistency::Level;
use crate::gtid::GtidSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an answer let the client know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing of the data.
    Nothing,
    /// That its own change is done.
    OwnChange,
    /// What the data is.
    Data,
}

#[derive(Debug, Clone)]
pub struct Place {
    pub server: usize,
    pub role: Role,
    pub incarnation: Incarnation,
    /// When data was seen here last.
    pub told: Option<Instant>,
    /// When a change of the session's own was acknowledged here last.
    pub changed: Option<Instant>,
}

impl Place {
    fn last(&self) -> Instant {
        let both = self.told.max(self.changed);
        both.unwrap_or_else(Instant::now)
    }
}

#[derive(Debug, Clone, Default)]
pub struct History {
    places: Vec<Place>,
    /// The session's last commit, as the master told it. All that the session had seen until then was committed before: who
    /// has this has that.
    own: Option<Own>,
}

#[derive(Debug, Clone)]
struct Own {
    gtids: Arc<GtidSet>,
    told: Instant,
}

impl History {
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.own.is_none()
    }

    /// The session's last commit, for levels that respect it.
    pub fn own(&self, level: Level) -> Option<&Arc<GtidSet>> {
        let respected = matches!(level, Level::Strong | Level::Session);
        self.own.as_ref().filter(|_| respected).map(|o| &o.gtids)
    }

    /// The same, and how long ago the master told of it; nothing if the session has seen more since.
    pub fn own_since(&self, level: Level) -> Option<(&GtidSet, Duration)> {
        let gtids = self.own(level)?;
        let told = self.own.as_ref()?.told;
        self.respected(level)
            .next()
            .is_none()
            .then(|| (&**gtids, told.elapsed()))
    }

    /// The session has committed, on the master.
    pub fn committed(&mut self, gtids: &GtidSet) {
        self.own = Some(Own {
            gtids: Arc::new(gtids.clone()),
            told: Instant::now(),
        });
    }

    pub fn has(&self, server: usize) -> bool {
        self.places.iter().any(|p| p.server == server)
    }

    /// The places that a read at this level has to respect.
    pub fn respected(&self, level: Level) -> impl Iterator<Item = &Place> {
        let counts = move |p: &&Place| match level {
            Level::Eventual => false,
            Level::Bounded(_) => p.told.is_some(),
            Level::Strong | Level::Session => self.own.as_ref().is_none_or(|o| p.last() >= o.told),
        };
        self.places.iter().filter(counts)
    }

    /// An answer from a server that had, when it was chosen, what a read at `level` has to respect.
    pub fn answered(
        &mut self,
        server: usize,
        role: Role,
        incarnation: &Incarnation,
        told: Told,
        level: Level,
    ) {
        let now = Instant::now();
        if told == Told::Nothing {
            return;
        }
        if told == Told::Data {
            self.cover(server, incarnation, level);
        }
        let same = |p: &&mut Place| p.server == server && p.incarnation == *incarnation;
        let place = match self.places.iter_mut().find(same) {
            Some(place) => place,
            None => {
                self.places.push(Place {
                    server,
                    role,
                    incarnation: incarnation.clone(),
                    told: None,
                    changed: None,
                });
                let end = self.places.len() - 1;
                &mut self.places[end]
            }
        };
        match told {
            Told::OwnChange => place.changed = Some(now),
            Told::Data => place.told = Some(now),
            Told::Nothing => {}
        }
        // What shows data there may have changed some as well.
        if told == Told::Data && role == Role::Master {
            place.changed = Some(now);
        }
    }

    /// What the other places showed is in the server that now answers.
    fn cover(&mut self, server: usize, incarnation: &Incarnation, level: Level) {
        match level {
            Level::Eventual => {}
            Level::Bounded(_) => {
                let other = |p: &&mut Place| p.server != server || p.incarnation != *incarnation;
                self.places
                    .iter_mut()
                    .filter(other)
                    .for_each(|p| p.told = None);
                self.places
                    .retain(|p| p.told.is_some() || p.changed.is_some());
            }
            Level::Strong | Level::Session => {
                self.places.clear();
                self.own = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn incarnation(name: &str) -> Incarnation {
        name.into()
    }

    fn servers(seen: &History, level: Level) -> Vec<usize> {
        seen.respected(level).map(|p| p.server).collect()
    }

    const BOUNDED: Level = Level::Bounded(std::time::Duration::from_millis(5));

    #[test]
    fn an_eventual_read_covers_nothing_and_is_respected_later() {
        let mut seen = History::default();
        seen.answered(
            1,
            Role::Satellite,
            &incarnation("a"),
            Told::Data,
            Level::Session,
        );
        seen.answered(
            2,
            Role::Satellite,
            &incarnation("a"),
            Told::Data,
            Level::Eventual,
        );
        assert_eq!(servers(&seen, Level::Session), [1, 2]);
        assert_eq!(servers(&seen, Level::Eventual), [0usize; 0]);
        seen.answered(
            2,
            Role::Satellite,
            &incarnation("a"),
            Told::Data,
            Level::Session,
        );
        assert_eq!(servers(&seen, Level::Session), [2]);
    }

    #[test]
    fn a_commit_covers_what_was_seen_before_but_not_for_bounded_reads() {
        let mut seen = History::default();
        let gtids = GtidSet::parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:7").unwrap();
        seen.answered(
            1,
            Role::Satellite,
            &incarnation("a"),
            Told::Data,
            Level::Session,
        );
        seen.committed(&gtids);
        assert_eq!(servers(&seen, Level::Session), [0usize; 0]);
        assert_eq!(servers(&seen, BOUNDED), [1]);
        assert!(seen.own(Level::Strong).is_some() && seen.own(BOUNDED).is_none());
        seen.answered(
            0,
            Role::Master,
            &incarnation(""),
            Told::Data,
            Level::Eventual,
        );
        assert_eq!(servers(&seen, Level::Strong), [0]);
        seen.answered(
            2,
            Role::Satellite,
            &incarnation("b"),
            Told::Data,
            Level::Session,
        );
        assert_eq!(servers(&seen, Level::Session), [2]);
        assert!(seen.own(Level::Session).is_none());
    }

    #[test]
    fn a_bounded_read_does_not_cover_own_changes() {
        let mut seen = History::default();
        seen.answered(
            0,
            Role::Master,
            &incarnation(""),
            Told::OwnChange,
            Level::Strong,
        );
        assert_eq!(servers(&seen, BOUNDED), [0usize; 0]);
        seen.answered(1, Role::Satellite, &incarnation("a"), Told::Data, BOUNDED);
        assert_eq!(servers(&seen, Level::Session), [0, 1]);
        assert_eq!(servers(&seen, BOUNDED), [1]);
    }

    #[test]
    fn a_rebuilt_server_is_another_place() {
        let mut seen = History::default();
        seen.answered(
            1,
            Role::Satellite,
            &incarnation("a"),
            Told::Data,
            Level::Session,
        );
        seen.answered(
            1,
            Role::Satellite,
            &incarnation("b"),
            Told::Data,
            Level::Eventual,
        );
        assert_eq!(seen.respected(Level::Session).count(), 2);
    }

    proptest! {
        /// Whatever is dropped was covered: simulated with the numbers of transactions that each answer showed.
        #[test]
        fn what_was_seen_is_never_forgotten(
            steps in prop::collection::vec((1usize..4, "[ab]", 0u64..50, 0u8..3, any::<bool>()), 1..40)
        ) {
            let mut seen = History::default();
            let mut at: Vec<(usize, String, u64)> = Vec::new();
            let mut most = 0;
            for (server, name, ahead, level, growing) in steps {
                let level = [Level::Session, Level::Eventual, BOUNDED][usize::from(level)];
                let known = at.iter().find(|(s, n, _)| *s == server && *n == name).map_or(0, |k| k.2);
                let mut has = known.max(ahead);
                if level != Level::Eventual {
                    let floor = seen.respected(level).filter_map(|p| {
                        at.iter().find(|(s, n, _)| *s == p.server && **n == *p.incarnation).map(|k| k.2)
                    }).max().unwrap_or(0);
                    prop_assert!(floor >= most, "forgotten: {floor} of {most}");
                    has = has.max(floor + u64::from(growing));
                }
                at.retain(|(s, n, _)| *s != server || *n != name);
                at.push((server, name.clone(), has));
                seen.answered(server, Role::Satellite, &incarnation(&name), Told::Data, level);
                most = most.max(has);
            }
        }
    }
}
