//! Marks of the master's history.
//!
//! GTIDs alone do not say what was committed: a master that was restored from a copy, or reset, gives them again, to other transactions.
//! So capture compares its log with each boot of the master, and then commits a transaction there that changes nothing, and whose
//! GTID names the boot: `00000000-0000-0000-` and the boot's nonce. A satellite that has all marks of this boot has this history.
//! In: positions. Out: whether a satellite's is of the history that the master has now.
//! Must never: be true while the boot has no mark.

use super::position::Position;
use crate::common::lock;
use crate::gtid::{GtidSet, Source, Tag};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

#[derive(Default)]
pub struct Marks {
    /// All of the master's boot that count. Nothing: the master was not reached yet, or does not name its boots.
    valid: RwLock<Option<GtidSet>>,
    learnt: Mutex<Learnt>,
}

#[derive(Default)]
struct Learnt {
    master: Option<Arc<Position>>,
    /// Marks of this boot that the master had when it lost transactions: they say nothing of what it has committed since.
    void: GtidSet,
}

impl Marks {
    /// What the master has; its answers come in the order of its questions.
    pub fn learn(&self, master: &Arc<Position>) {
        let incarnation = &master.incarnation;
        let valid = boot(incarnation).map(|boot| {
            let mut marks = master.executed.of(&boot);
            marks.subtract(&self.void(master, &boot));
            marks
        });
        if *self.valid.read().unwrap_or_else(PoisonError::into_inner) == valid {
            return;
        }
        match &valid {
            Some(marks) if marks.is_empty() => {
                tracing::warn!(
                    %incarnation,
                    "capture has not confirmed the master's history: satellites are not used"
                )
            }
            _ => {
                tracing::info!(%incarnation, "the master's history is confirmed")
            }
        }
        *self.valid.write().unwrap_or_else(PoisonError::into_inner) = valid;
    }

    fn void(&self, master: &Arc<Position>, boot: &Source) -> GtidSet {
        let learnt = &mut *lock(&self.learnt);
        let before = learnt.master.replace(master.clone());
        match before.filter(|before| before.incarnation == master.incarnation) {
            Some(before) if !master.executed.contains_set(&before.executed) => {
                tracing::warn!(incarnation = %master.incarnation, "the master lacks what it had: was it reset, or a dump loaded?");
                learnt.void.union_with(&before.executed.of(boot));
            }
            Some(_) => {}
            None => learnt.void = GtidSet::new(),
        }
        learnt.void.clone()
    }

    pub fn are_in(&self, satellite: &GtidSet) -> bool {
        let valid = self.valid.read().unwrap_or_else(PoisonError::into_inner);
        valid
            .as_ref()
            .is_none_or(|marks| !marks.is_empty() && satellite.contains_set(marks))
    }
}

/// What marks of a boot are counted under, if its incarnation begins with a nonce of the stack's own form.
fn boot(incarnation: &str) -> Option<Source> {
    let nonce = incarnation.strip_prefix("boot-")?.split('/').next()?;
    let hexadecimal = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    if nonce.len() != 16 || !nonce.bytes().all(hexadecimal) {
        return None;
    }
    let mut uuid = [0; 16];
    uuid[8..].copy_from_slice(&u64::from_str_radix(nonce, 16).ok()?.to_be_bytes());
    let tag = Tag::default();
    Some(Source { uuid, tag })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const SERVER: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(text: &str) -> GtidSet {
        GtidSet::parse(text).unwrap()
    }

    fn learn(marks: &Marks, incarnation: &str, executed: &GtidSet) {
        marks.learn(&Arc::new(Position {
            incarnation: incarnation.into(),
            asked: Instant::now(),
            owned: GtidSet::new(),
            executed: executed.clone(),
            as_of: None,
            backlog: None,
        }));
    }

    #[test]
    fn a_satellite_of_a_history_that_the_master_has_lost_is_not_used_whatever_its_numbers() {
        let (first, second) = ("boot-00000000000000a1/x", "boot-00000000000000b2/x");
        let (mark, later) = (
            "00000000-0000-0000-0000-0000000000a1:7",
            "00000000-0000-0000-0000-0000000000b2:9",
        );
        let marks = Marks::default();
        let lost = set(&format!("{mark},{SERVER}:1-9"));
        let used = |executed: &str, satellite: &GtidSet| {
            learn(&marks, second, &set(executed));
            marks.are_in(satellite)
        };
        assert!(marks.are_in(&lost), "no master was reached yet");
        learn(&marks, first, &lost);
        assert!(marks.are_in(&lost));
        // A copy is restored, and overtakes; then capture marks it.
        assert!(!used(&format!("{mark},{SERVER}:1-6"), &lost));
        assert!(!used(&format!("{mark},{SERVER}:1-12"), &lost));
        let restored = format!("{mark},{later},{SERVER}:1-12");
        assert!(!used(&restored, &lost));
        assert!(used(&restored, &set(&restored)));
        // A reset: the boot goes on, without what it had.
        assert!(!used(&format!("{SERVER}:1-3"), &set(&restored)));
        // A dump is loaded that says what it has, the boot's mark as well; then capture marks what it has begun anew.
        assert!(!used(&restored, &set(&restored)));
        let anew = format!("{restored},00000000-0000-0000-0000-0000000000b2:11");
        assert!(!used(&anew, &set(&restored)));
        assert!(used(&anew, &set(&anew)));
    }

    #[test]
    fn a_master_that_names_no_boots_has_no_marks() {
        for incarnation in ["boot-1", "boot-00000000000000A1/x", "x@7", ""] {
            assert_eq!(boot(incarnation), None, "{incarnation}");
        }
    }
}
