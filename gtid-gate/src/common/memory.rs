//! How much memory clients may take, each and all together.
//!
//! In: what sessions hold for their clients, as it comes. Out: leave to hold it, or the bound that it would break.
//! Counted are the command in hand as far as it was read, and what is kept between commands: long data and prepared
//! statements. What is kept takes three quarters of a connection's bound at most, so that a command still fits beside it.
//! Must never: count on the word of a header; keep counting what is gone.

use prometheus::IntGauge;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A connection's first bytes count for its own bound only: small commands touch nothing that other connections use.
pub const UNSHARED: usize = 64 * 1024;
/// Beyond these the gate's bound is counted in steps.
const STEP: usize = 64 * 1024;

/// What all connections hold together.
pub struct Memory {
    of_connection: usize,
    of_gate: usize,
    taken: AtomicUsize,
    gauge: IntGauge,
}

/// The bound that would be broken, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    #[error("the connection would hold more than GATE_CONNECTION_MEMORY_BYTES ({0})")]
    Connection(usize),
    #[error("all connections together would hold more than GATE_MEMORY_BYTES ({0})")]
    Gate(usize),
}

impl Memory {
    pub fn new(of_connection: usize, of_gate: usize, gauge: IntGauge) -> Arc<Self> {
        Arc::new(Self {
            of_connection,
            of_gate,
            taken: AtomicUsize::new(0),
            gauge,
        })
    }

    /// Counted for the gate's bound now.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> Result<(), Full> {
        let more = |taken: usize| taken.checked_add(bytes).filter(|t| *t <= self.of_gate);
        let taken = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map_err(|_| Full::Gate(self.of_gate))?;
        self.gauge.add(bytes as i64);
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
        self.gauge.sub(bytes as i64);
    }
}

/// One connection's part. The default one has no bound.
#[derive(Clone, Default)]
pub struct Share(Option<Arc<Connection>>);

struct Connection {
    memory: Arc<Memory>,
    counts: Mutex<Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    in_hand: usize,
    kept: usize,
    /// Of both, counted for the gate.
    shared: usize,
}

#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    InHand,
    Kept,
}

impl Counts {
    fn of(&mut self, part: Part) -> &mut usize {
        match part {
            Part::InHand => &mut self.in_hand,
            Part::Kept => &mut self.kept,
        }
    }

    fn share_out(&mut self) {
        let all = self.in_hand + self.kept;
        self.shared = match all <= UNSHARED {
            true => 0,
            false => all.next_multiple_of(STEP),
        };
    }

    fn fits(&self, bound: usize) -> bool {
        self.in_hand + self.kept <= bound && self.kept <= bound - bound / 4
    }
}

impl Share {
    pub fn new(memory: &Arc<Memory>) -> Self {
        Self(Some(Arc::new(Connection {
            memory: memory.clone(),
            counts: Mutex::default(),
        })))
    }

    /// For the command in hand.
    pub fn in_hand(&self) -> Hold {
        self.hold(Part::InHand)
    }

    /// For what is kept between commands.
    pub fn kept(&self) -> Hold {
        self.hold(Part::Kept)
    }

    fn hold(&self, part: Part) -> Hold {
        Hold {
            share: self.clone(),
            part,
            bytes: 0,
        }
    }
}

impl Connection {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, part: Part, bytes: usize) -> Result<(), Full> {
        let mut counts = self.counts();
        let mut wanted = *counts;
        *wanted.of(part) += bytes;
        if !wanted.fits(self.memory.of_connection) {
            return Err(Full::Connection(self.memory.of_connection));
        }
        wanted.share_out();
        let more = wanted.shared.saturating_sub(counts.shared);
        if more > 0 {
            self.memory.take(more)?;
        }
        *counts = wanted;
        Ok(())
    }

    fn give_back(&self, part: Part, bytes: usize) {
        let mut counts = self.counts();
        let before = counts.shared;
        *counts.of(part) -= bytes;
        counts.share_out();
        if before > counts.shared {
            self.memory.give_back(before - counts.shared);
        }
    }
}

/// Bytes that are counted until this is dropped or released; it belongs beside what it counts.
#[derive(Default)]
pub struct Hold {
    share: Share,
    part: Part,
    bytes: usize,
}

impl Hold {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts more, or nothing if that is too much.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        if let Some(connection) = &self.share.0 {
            connection.take(self.part, bytes)?;
            self.bytes += bytes;
        }
        Ok(())
    }

    /// At least so many, in steps.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Full> {
        match bytes.saturating_sub(self.bytes) {
            0 => Ok(()),
            more => self.grow(more.next_multiple_of(STEP)),
        }
    }

    /// The same, in other hands; this one counts nothing any more.
    pub fn split(&mut self) -> Self {
        if self.bytes == 0 {
            return Self::default();
        }
        Self {
            share: self.share.clone(),
            part: self.part,
            bytes: std::mem::take(&mut self.bytes),
        }
    }

    pub fn release(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if let Some(connection) = self.share.0.as_ref().filter(|_| bytes > 0) {
            connection.give_back(self.part, bytes);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Barrier;

    const MIB: usize = 1 << 20;

    fn memory(of_connection: usize, of_gate: usize) -> Arc<Memory> {
        let gauge = IntGauge::new("bytes", "help").unwrap();
        Memory::new(of_connection, of_gate, gauge)
    }

    #[test]
    fn what_is_small_does_not_touch_what_connections_share() {
        let memory = memory(MIB, 0);
        let share = Share::new(&memory);
        let (mut in_hand, mut kept) = (share.in_hand(), share.kept());
        in_hand.grow(UNSHARED / 2).unwrap();
        kept.grow(UNSHARED / 2).unwrap();
        assert_eq!(kept.grow(1), Err(Full::Gate(0)));
        assert_eq!(kept.bytes(), UNSHARED / 2);
    }

    #[test]
    fn beside_what_is_kept_a_command_fits() {
        let memory = memory(4 * MIB, 16 * MIB);
        let share = Share::new(&memory);
        let (mut in_hand, mut kept) = (share.in_hand(), share.kept());
        kept.grow(3 * MIB).unwrap();
        assert_eq!(kept.grow(1), Err(Full::Connection(4 * MIB)));
        in_hand.grow(MIB).unwrap();
        assert_eq!(in_hand.grow(1), Err(Full::Connection(4 * MIB)));
    }

    #[test]
    fn the_gates_bound_holds_with_many_connections() {
        let memory = memory(MIB, 8 * MIB);
        let shares: Vec<Share> = (0..100).map(|_| Share::new(&memory)).collect();
        let mut holds: Vec<Hold> = shares.iter().map(Share::in_hand).collect();
        let held = holds.iter_mut().filter_map(|h| h.grow(MIB).ok()).count();
        assert_eq!((held, memory.taken()), (8, 8 * MIB));
        assert_eq!(holds[8].grow(MIB), Err(Full::Gate(8 * MIB)));
        holds[0].release();
        assert_eq!(holds[8].grow(MIB), Ok(()));
        drop(holds);
        assert_eq!((memory.taken(), memory.gauge.get()), (0, 0));
    }

    #[test]
    fn at_the_same_time_no_more_than_the_bound_is_taken() {
        let (memory, all_hold) = (memory(MIB, 4 * MIB), Barrier::new(8));
        let held = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut hold = Share::new(&memory).in_hand();
                    held.fetch_add(hold.grow(MIB).map_or(0, |()| 1), Ordering::Relaxed);
                    all_hold.wait();
                });
            }
        });
        assert_eq!((held.into_inner(), memory.taken()), (4, 0));
    }

    proptest! {
        #[test]
        fn any_order_of_taking_and_giving_back_counts_exactly_what_is_held(
            steps in prop::collection::vec((0usize..3, 0usize..8, 0usize..200_000, any::<bool>()), 1..200),
        ) {
            let memory = memory(MIB, 2 * MIB);
            let shares: Vec<Share> = (0..3).map(|_| Share::new(&memory)).collect();
            let holds = |s: &Share| (0..8).map(|at| if at % 2 == 0 { s.kept() } else { s.in_hand() }).collect();
            let mut holds: Vec<Vec<Hold>> = shares.iter().map(holds).collect();
            for (connection, at, bytes, takes) in steps {
                let hold = &mut holds[connection][at];
                match takes {
                    true => drop(hold.grow(bytes)),
                    false => hold.release(),
                }
                let held = |h: &Vec<Hold>| h.iter().map(Hold::bytes).sum::<usize>();
                let all: Vec<usize> = holds.iter().map(held).collect();
                prop_assert!(all.iter().all(|bytes| *bytes <= MIB));
                let shared = |b: &usize| if *b <= UNSHARED { 0 } else { b.next_multiple_of(STEP) };
                prop_assert_eq!(memory.taken(), all.iter().map(shared).sum::<usize>());
                prop_assert!(memory.taken() <= 2 * MIB);
            }
            drop(holds);
            prop_assert_eq!(memory.taken(), 0);
        }
    }
}
