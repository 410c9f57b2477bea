//! Turns on one server: heavy queries get a part of them, so that the others need not wait behind them.
//!
//! In: statements that want to run, and whether they are heavy. Out: turns, each kept until its statement is done. A quarter of
//! all turns is for heavy queries, and at least one. They borrow more while that leaves half of all turns free. Others take
//! any turn.
//! Must never: let heavy queries have all turns where there are two or more.

use super::limiter::{Limiter, Permit};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who waits for a heavy query's turn looks so often whether one can be borrowed.
const LOOKS: Duration = Duration::from_millis(10);

pub struct Turns {
    all: Arc<Limiter>,
    heavy: Arc<Limiter>,
}

/// A statement's turn, until it is dropped.
pub struct Turn {
    _turn: Permit,
    /// Of a heavy query that has not borrowed its turn.
    _heavy: Option<Permit>,
}

fn part(limit: usize) -> usize {
    (limit / 4).max(1)
}

impl Turns {
    pub fn new(limit: usize) -> Self {
        Self {
            all: Arc::new(Limiter::new(limit)),
            heavy: Arc::new(Limiter::new(part(limit))),
        }
    }

    pub fn limit(&self) -> usize {
        self.all.limit()
    }

    pub fn set_limit(&self, limit: usize) {
        self.all.set_limit(limit);
        self.heavy.set_limit(part(limit));
    }

    /// How many statements wait for a turn.
    pub fn queued(&self) -> usize {
        self.all.queued() + self.heavy.queued()
    }

    /// Whoever comes now may have to wait.
    pub fn is_full(&self) -> bool {
        self.all.is_full() || self.heavy.queued() > 0
    }

    pub fn in_use(&self) -> usize {
        self.limit().saturating_sub(self.all.free())
    }

    /// One more heavy query would run at once, beside so many statements, so many of them heavy.
    pub fn has_heavy_room(&self, running: usize, heavy: usize) -> bool {
        let limit = self.limit();
        running < limit && (heavy < part(limit) || (running + 1) * 2 <= limit)
    }

    fn can_lend(&self) -> bool {
        self.heavy.queued() == 0 && self.is_half_free()
    }

    /// With one more turn taken, half of them are free still.
    fn is_half_free(&self) -> bool {
        let (free, limit) = (self.all.free(), self.all.limit());
        free > 0 && (free - 1) * 2 >= limit
    }

    /// A turn at once, if there is one.
    pub fn try_take(&self, heavy: bool) -> Option<Turn> {
        if !heavy {
            return Some(turn(self.all.try_take()?, None));
        }
        let own = self.heavy.try_take();
        if own.is_none() && !self.can_lend() {
            return None;
        }
        Some(turn(self.all.try_take()?, own))
    }

    /// A turn when it is this caller's. A heavy query that has been patient for so long queues as any other: it shall be late, not
    /// lost.
    pub async fn take(&self, heavy: bool, patience: Duration) -> Option<Turn> {
        if !heavy {
            return Some(turn(self.all.take().await?, None));
        }
        let began = Instant::now();
        let mut waiting = std::pin::pin!(self.heavy.take());
        while began.elapsed() < patience {
            let own = tokio::time::timeout(LOOKS, &mut waiting).await;
            if let Ok(own) = own {
                return Some(turn(self.all.take().await?, Some(own?)));
            }
            if self.is_half_free()
                && let Some(borrowed) = self.all.try_take()
            {
                return Some(turn(borrowed, None));
            }
        }
        Some(turn(self.all.take().await?, None))
    }
}

fn turn(turn: Permit, heavy: Option<Permit>) -> Turn {
    Turn {
        _turn: turn,
        _heavy: heavy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREVER: Duration = Duration::MAX;

    #[tokio::test]
    async fn a_heavy_query_that_waited_long_gets_any_turn() {
        let turns = Turns::new(4);
        let _heavy = taken(&turns, true, 4);
        assert!(turns.try_take(true).is_none());
        let turn = turns.take(true, 2 * LOOKS).await;
        assert!(turn.is_some() && turns.queued() == 0);
    }

    fn taken(turns: &Turns, heavy: bool, most: usize) -> Vec<Turn> {
        (0..most).map_while(|_| turns.try_take(heavy)).collect()
    }

    #[test]
    fn heavy_queries_borrow_up_to_half_of_the_turns_while_the_others_are_idle() {
        let turns = Turns::new(8);
        let heavy = taken(&turns, true, 8);
        assert_eq!(heavy.len(), 4);
        assert_eq!(taken(&turns, false, 8).len(), 4);
    }

    #[test]
    fn they_get_their_part_where_the_others_are_busy_and_never_all() {
        let turns = Turns::new(8);
        let light = taken(&turns, false, 5);
        assert_eq!(taken(&turns, true, 8).len(), 2);
        drop(light);
        for limit in 2..20 {
            assert!(taken(&Turns::new(limit), true, limit).len() < limit);
        }
        assert_eq!(taken(&Turns::new(1), true, 2).len(), 1);
    }

    #[tokio::test]
    async fn who_waits_for_a_heavy_querys_turn_gets_one_that_ends_or_one_that_the_others_leave() {
        let turns = Arc::new(Turns::new(4));
        let (light, heavy) = (taken(&turns, false, 3), taken(&turns, true, 1));
        let spawn = || {
            let turns = turns.clone();
            tokio::spawn(async move { turns.take(true, FOREVER).await })
        };
        let first = spawn();
        while turns.queued() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(turns.try_take(true).is_none());
        drop(heavy);
        let first = first.await.unwrap();
        assert!(first.is_some());
        let second = spawn();
        drop(light);
        let second = second.await.unwrap();
        assert!(second.is_some());
    }

    #[tokio::test]
    async fn who_gives_up_leaves_nothing_behind() {
        let turns = Turns::new(2);
        let held = turns.try_take(true);
        let one = turns.try_take(false);
        let gave_up = tokio::time::timeout(3 * LOOKS, turns.take(true, FOREVER)).await;
        assert!(gave_up.is_err() && turns.queued() == 0);
        drop((held, one));
        assert!(turns.try_take(true).is_some());
    }

    /// Who chooses a server by what runs there finds room where a turn is to be had.
    #[test]
    fn room_for_a_heavy_query_is_where_one_gets_a_turn() {
        for limit in 1..20 {
            for light in 0..=limit {
                let turns = Turns::new(limit);
                let others = taken(&turns, false, light);
                let heavy = (0..=limit).map_while(|heavy| {
                    let turn = turns.try_take(true);
                    let room = turns.has_heavy_room(light + heavy, heavy);
                    assert_eq!(turn.is_some(), room, "{limit} {light} {heavy}");
                    turn
                });
                assert!(heavy.collect::<Vec<_>>().len() <= limit - others.len());
            }
        }
    }

    #[test]
    fn another_limit_is_another_part() {
        let turns = Turns::new(4);
        turns.set_limit(16);
        let light = taken(&turns, false, 9);
        assert_eq!((light.len(), taken(&turns, true, 16).len()), (9, 4));
        turns.set_limit(1);
        assert_eq!(turns.limit(), 1);
    }
}
