//! What a read must see, and which servers have it, pure.
//!
//! What a read must see: at `strong` what the master had when asked after the read arrived; at `bounded` what it had
//! when asked no longer ago than the bound; and at every level but `eventual` what its session saw before. That is in the
//! server that showed it. For another server: rows can be visible an instant before their GTID is in `gtid_executed`, so
//! it must have `gtid_owned` and `gtid_executed` of the one that showed them, sampled after its answer. Without such a
//! sample the master's own two sets serve: whatever a satellite shows has been in the master's binlog before.

use super::catalog::Catalog;
use super::price::{Price, soonest};
use crate::backend::{Incarnation, Position};
use crate::gtid::GtidSet;
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    pub server: usize,
    pub price: Price,
    pub position: &'a Position,
}

/// What a read needs of the server that answers it.
#[derive(Debug, Default)]
pub struct Need {
    /// All that is executed here.
    pub master: Option<Arc<Position>>,
    /// Some set of the master's that was asked for at this time or later.
    pub not_before: Option<Instant>,
    pub floors: Vec<Floor>,
    /// Instead of all that: what the tables of the read need.
    pub of_tables: Option<OfTables>,
}

/// What the tables of a read need.
#[derive(Debug)]
pub struct OfTables {
    /// What wrote them last, and what may have.
    pub writes: GtidSet,
    pub catalog: Arc<Catalog>,
    /// All that the session saw.
    all_floors: Vec<Floor>,
}

/// What the session saw on one server.
#[derive(Debug)]
pub struct Floor {
    pub server: usize,
    pub incarnation: Incarnation,
    pub least: Least,
}

#[derive(Debug)]
pub enum Least {
    /// All of a sample that was taken after the answer.
    Sample(Arc<Position>),
    /// What the session has committed itself.
    Own(Arc<GtidSet>),
    /// No such sample is known: only the server itself will do.
    Unknown,
}

impl Need {
    /// The candidate with the least expected time of those that have what is needed.
    pub fn choose<'a>(
        &self,
        candidates: impl Iterator<Item = Candidate<'a>>,
    ) -> Option<Candidate<'a>> {
        let met: Vec<_> = candidates
            .filter(|c| self.is_met(c.server, c.position))
            .collect();
        soonest(met.iter().map(|c| (c, c.price))).copied()
    }

    pub fn is_met(&self, server: usize, position: &Position) -> bool {
        let has = |set: &GtidSet| position.executed.contains_set(set);
        let new_enough = self.not_before.is_none_or(|at| {
            position.as_of.is_some_and(|as_of| as_of >= at)
                || self
                    .master
                    .as_ref()
                    .is_some_and(|m| m.asked >= at && has(&m.executed))
        });
        let has_master =
            self.not_before.is_some() || self.master.as_ref().is_none_or(|m| has(&m.executed));
        new_enough
            && has_master
            && self.of_tables.as_ref().is_none_or(|t| has(&t.writes))
            && has_floors(&self.floors, server, position)
    }

    /// What the session saw, as sets.
    pub fn seen_sets(&self) -> impl Iterator<Item = &GtidSet> {
        self.floors.iter().flat_map(|f| f.least.sets())
    }

    /// Instead of all that the master has, and of what the session saw, these writes: all those of some tables.
    pub fn of_tables(self, writes: GtidSet, catalog: Arc<Catalog>) -> Self {
        Self {
            of_tables: Some(OfTables {
                writes,
                catalog,
                all_floors: self.floors,
            }),
            ..Self::default()
        }
    }

    /// Whether some floor can be judged only once the master was asked.
    pub fn is_open(&self) -> bool {
        self.floors
            .iter()
            .any(|f| matches!(f.least, Least::Unknown))
    }

    /// The same as one set, for a server that is to tell when it has it.
    pub fn required(&self, server: usize, position: Option<&Position>) -> GtidSet {
        let mut set = GtidSet::new();
        if let Some(master) = &self.master {
            set.union_with(&master.executed);
        }
        if let Some(tables) = &self.of_tables {
            set.union_with(&tables.writes);
        }
        for floor in &self.floors {
            if position.is_some_and(|p| floor.is_at(server, p)) {
                continue;
            }
            floor.least.sets().for_each(|s| set.union_with(s));
        }
        set
    }

    /// How many transactions the server must apply until it has these. Of the last writers of tables it needs all before
    /// them, too.
    pub fn lacking(&self, server: usize, position: &Position) -> u64 {
        let mut missing = self.required(server, Some(position));
        if self.of_tables.is_some() {
            missing.fill();
        }
        missing.subtract(&position.executed);
        missing.count()
    }
}

impl OfTables {
    /// Whether all that the session saw is there, whatever the tables.
    pub fn covers(&self, server: usize, position: &Position) -> bool {
        has_floors(&self.all_floors, server, position)
    }
}

fn has_floors(floors: &[Floor], server: usize, position: &Position) -> bool {
    let has = |set: &GtidSet| position.executed.contains_set(set);
    let is_met = |floor: &Floor| {
        floor.is_at(server, position)
            || !matches!(floor.least, Least::Unknown) && floor.least.sets().all(has)
    };
    floors.iter().all(is_met)
}

impl Least {
    pub fn sets(&self) -> impl Iterator<Item = &GtidSet> {
        let sets = match self {
            Least::Sample(sample) => [Some(&sample.executed), Some(&sample.owned)],
            Least::Own(gtids) => [Some(&**gtids), None],
            Least::Unknown => [None, None],
        };
        sets.into_iter().flatten()
    }
}

impl Floor {
    fn is_at(&self, server: usize, position: &Position) -> bool {
        self.server == server && self.incarnation == position.incarnation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(numbers: &[u64]) -> GtidSet {
        let mut set = GtidSet::new();
        for n in numbers {
            set.union_with(&GtidSet::parse(&format!("{UUID}:{n}")).unwrap());
        }
        set
    }

    fn position(incarnation: &str, owned: &[u64], executed: &[u64]) -> Position {
        Position {
            incarnation: incarnation.into(),
            asked: Instant::now(),
            owned: set(owned),
            executed: set(executed),
            as_of: None,
            backlog: None,
        }
    }

    fn floor(server: usize, incarnation: &str, sample: Option<Position>) -> Floor {
        let least = sample.map_or(Least::Unknown, |s| Least::Sample(Arc::new(s)));
        Floor {
            server,
            incarnation: incarnation.into(),
            least,
        }
    }

    fn strong(master: Position, floors: Vec<Floor>) -> Need {
        Need {
            master: Some(Arc::new(master)),
            not_before: None,
            floors,
            of_tables: None,
        }
    }

    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(1u64..8, 0..6)
    }

    prop_compose! {
        fn any_position()(incarnation in "[ab]", owned in numbers(), executed in numbers()) -> Position {
            position(&incarnation, &owned, &executed)
        }
    }

    prop_compose! {
        fn any_floor()(
            server in 1usize..6, incarnation in "[ab]", sample in prop::option::of(any_position()),
        ) -> Floor {
            floor(server, &incarnation, sample)
        }
    }

    prop_compose! {
        fn any_need()(
            master in prop::option::of(any_position()), floors in prop::collection::vec(any_floor(), 0..3),
        ) -> Need {
            Need { master: master.map(Arc::new), not_before: None, floors, of_tables: None }
        }
    }

    fn price(seconds: u32) -> Price {
        Price {
            rank: 0,
            seconds: seconds.into(),
            answer: 0.0,
            running: 0,
            known: false,
        }
    }

    proptest! {
        #[test]
        fn a_server_that_lacks_what_is_required_is_never_chosen(
            servers in prop::collection::vec((0u32..4, any_position()), 0..5),
            need in any_need(),
        ) {
            let candidates = servers.iter().enumerate().map(|(at, (load, position))| Candidate {
                server: at + 1, price: price(*load), position,
            });
            let has = |at: usize| {
                let position = &servers[at].1;
                let known = need.floors.iter().all(|f| {
                    f.is_at(at + 1, position) || matches!(f.least, Least::Sample(_))
                });
                known && position.executed.contains_set(&need.required(at + 1, Some(position)))
            };
            match need.choose(candidates) {
                Some(chosen) => {
                    let at = chosen.server - 1;
                    if let Some(master) = &need.master {
                        prop_assert!(servers[at].1.executed.contains_set(&master.executed));
                    }
                    prop_assert!(has(at));
                    let lighter = (0..servers.len()).any(|o| has(o) && servers[o].0 < servers[at].0);
                    prop_assert!(!lighter);
                }
                None => prop_assert!(!(0..servers.len()).any(has)),
            }
        }
    }

    #[test]
    fn staying_on_a_server_needs_no_floor() {
        let here = position("a", &[], &[1]);
        let need = strong(position("m", &[2], &[1]), vec![floor(1, "a", None)]);
        assert!(need.is_met(1, &here));
    }

    #[test]
    fn a_session_does_not_lose_what_it_saw_on_another_satellite() {
        let here = position("a", &[], &[1]);
        let met = |sample| {
            let need = strong(position("m", &[], &[1]), vec![floor(2, "a", sample)]);
            need.is_met(1, &here)
        };
        assert!(!met(None));
        assert!(met(Some(position("a", &[], &[1]))));
        assert!(!met(Some(position("a", &[2], &[1]))));
    }

    #[test]
    fn a_rebuilt_server_is_another_server() {
        let here = position("b", &[], &[1]);
        let need = strong(position("m", &[], &[1]), vec![floor(1, "a", None)]);
        assert!(!need.is_met(1, &here) && need.is_open());
    }

    #[test]
    fn a_bound_is_met_by_what_the_server_is_known_to_have_or_by_a_new_sample() {
        let now = Instant::now();
        let bounded = |master: Option<Position>, at| Need {
            master: master.map(Arc::new),
            not_before: Some(at),
            floors: Vec::new(),
            of_tables: None,
        };
        let mut here = position("a", &[], &[1]);
        assert!(!bounded(None, now).is_met(1, &here));
        here.as_of = Some(now);
        assert!(bounded(None, now).is_met(1, &here));
        assert!(bounded(Some(position("m", &[], &[1, 2])), now).is_met(1, &here));
        let later = now + Duration::from_secs(60);
        assert!(!bounded(Some(position("m", &[], &[1])), later).is_met(1, &here));
        here.as_of = None;
        assert!(bounded(Some(position("m", &[], &[1])), now).is_met(1, &here));
    }
}
