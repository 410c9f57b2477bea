//! The decision itself, pure.
//!
//! What a read must see is what the master had when asked after the read arrived. A session that changes server must
//! besides not lose what it saw on the last one: rows can be visible an instant before their GTID is in
//! `gtid_executed`, so that is `gtid_owned` and `gtid_executed` of the last server, sampled after its answer. Without
//! such a sample the master's own `gtid_owned` serves: whatever a satellite shows has been in the master's binlog
//! before, and is therefore in one of the master's two sets.

use super::LastRead;
use crate::gtid::GtidSet;
use crate::servers::Position;

pub struct Candidate<'a> {
    pub server: usize,
    pub load: usize,
    pub position: &'a Position,
}

/// The least loaded candidate that has what is required of it. `master` is nothing when freshness is not asked for;
/// `sample` is the last server's position, asked after its answer.
pub fn choose<'a>(
    candidates: impl Iterator<Item = Candidate<'a>>,
    master: Option<&Position>,
    last: Option<&LastRead>,
    sample: Option<&Position>,
) -> Option<usize> {
    let fresh = |c: &Candidate<'_>| master.is_none_or(|master| is_fresh(c, master, last, sample));
    let stays = |c: &Candidate<'_>| last.is_some_and(|l| l.server == c.server);
    candidates
        .filter(fresh)
        .min_by_key(|c| (c.load, !stays(c)))
        .map(|c| c.server)
}

fn is_fresh(
    c: &Candidate<'_>,
    master: &Position,
    last: Option<&LastRead>,
    sample: Option<&Position>,
) -> bool {
    let has = |set: &GtidSet| c.position.executed.contains_set(set);
    has(&master.executed)
        && match floor(c.server, &c.position.incarnation, last, sample) {
            Floor::None => true,
            Floor::Sample(sample) => has(&sample.owned) && has(&sample.executed),
            Floor::Master => has(&master.owned),
        }
}

/// The same as one set, for a server that is to tell when it has it.
pub fn required(
    server: usize,
    incarnation: &str,
    master: &Position,
    last: Option<&LastRead>,
    sample: Option<&Position>,
) -> GtidSet {
    let mut set = master.executed.clone();
    match floor(server, incarnation, last, sample) {
        Floor::None => {}
        Floor::Sample(sample) => {
            set.union_with(&sample.owned);
            set.union_with(&sample.executed);
        }
        Floor::Master => set.union_with(&master.owned),
    }
    set
}

enum Floor<'a> {
    None,
    Sample(&'a Position),
    Master,
}

fn floor<'a>(
    server: usize,
    incarnation: &str,
    last: Option<&LastRead>,
    sample: Option<&'a Position>,
) -> Floor<'a> {
    match (last, sample) {
        (None, _) => Floor::None,
        (Some(l), _) if l.server == server && *l.incarnation == *incarnation => Floor::None,
        (Some(_), Some(sample)) => Floor::Sample(sample),
        (Some(_), None) => Floor::Master,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::Role;
    use proptest::prelude::*;
    use std::time::Instant;

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
        }
    }

    fn last(server: usize, incarnation: &str) -> LastRead {
        LastRead {
            server,
            role: Role::Satellite,
            incarnation: incarnation.into(),
            answered: Instant::now(),
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

    proptest! {
        #[test]
        fn a_server_that_lacks_what_is_required_is_never_chosen(
            servers in prop::collection::vec((0usize..4, any_position()), 0..5),
            master in any_position(),
            previous in prop::option::of((1usize..6, "[ab]")),
            sample in prop::option::of(any_position()),
        ) {
            let last = previous.map(|(server, incarnation)| last(server, &incarnation));
            let candidates = servers.iter().enumerate().map(|(at, (load, position))| Candidate {
                server: at + 1, load: *load, position,
            });
            let needed = |at: usize| {
                let incarnation = &servers[at].1.incarnation;
                required(at + 1, incarnation, &master, last.as_ref(), sample.as_ref())
            };
            let has = |at: usize| servers[at].1.executed.contains_set(&needed(at));
            match choose(candidates, Some(&master), last.as_ref(), sample.as_ref()) {
                Some(chosen) => {
                    let at = chosen - 1;
                    prop_assert!(servers[at].1.executed.contains_set(&master.executed));
                    prop_assert!(has(at));
                    let lighter = (0..servers.len()).any(|o| has(o) && servers[o].0 < servers[at].0);
                    prop_assert!(!lighter);
                }
                None => prop_assert!(!(0..servers.len()).any(has)),
            }
        }
    }

    fn one(server: usize, position: &Position) -> std::vec::IntoIter<Candidate<'_>> {
        vec![Candidate {
            server,
            load: 0,
            position,
        }]
        .into_iter()
    }

    #[test]
    fn staying_on_a_server_needs_no_floor() {
        let (here, master) = (position("a", &[], &[1]), position("m", &[2], &[1]));
        assert_eq!(
            choose(one(1, &here), Some(&master), Some(&last(1, "a")), None),
            Some(1)
        );
    }

    #[test]
    fn a_session_does_not_lose_what_it_saw_on_another_satellite() {
        let (here, master) = (position("a", &[], &[1]), position("m", &[2], &[1]));
        assert_eq!(
            choose(one(1, &here), Some(&master), Some(&last(2, "a")), None),
            None
        );
        let sample = position("a", &[], &[1]);
        assert_eq!(
            choose(
                one(1, &here),
                Some(&master),
                Some(&last(2, "a")),
                Some(&sample)
            ),
            Some(1)
        );
        let sample = position("a", &[2], &[1]);
        assert_eq!(
            choose(
                one(1, &here),
                Some(&master),
                Some(&last(2, "a")),
                Some(&sample)
            ),
            None
        );
    }

    #[test]
    fn a_rebuilt_server_is_another_server() {
        let (here, master) = (position("b", &[], &[1]), position("m", &[2], &[1]));
        assert_eq!(
            choose(one(1, &here), Some(&master), Some(&last(1, "a")), None),
            None
        );
    }
}
