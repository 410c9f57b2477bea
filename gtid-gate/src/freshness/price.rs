//! Where a read is soonest done. Pure.
//!
//! In: for each server that may answer, how long until it is fresh enough, until the read's turn there, and until it is answered
//! then. Out: the server, or a better one that is to be waited for, or whether the master is worth its price.
//! Servers that differ by little count as alike, and are chosen by what runs there: no server draws all reads because it was a little
//! quicker once, and one that is new gets its share.
//! Must never: have a say in what a read may see.

/// What is expected of one server, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Until it has what the read must see.
    pub fresh: f64,
    /// Until the statements before it have left it a turn; they go on while freshness is waited for.
    pub turn: f64,
    /// Until it has answered then.
    pub answer: f64,
}

impl Expected {
    pub fn seconds(&self) -> f64 {
        self.fresh.max(self.turn) + self.answer
    }
}

/// One server's offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Lower comes first, whatever it takes: where heavy queries gather, who has connections to spare.
    pub rank: usize,
    pub seconds: f64,
    /// Of these, once it runs.
    pub answer: f64,
    pub running: usize,
    /// The session has been there.
    pub known: bool,
}

/// Prices are alike up to this factor and so many seconds.
const ALIKE: (f64, f64) = (1.2, 0.000_05);
/// Who waits for freshness though another server has it must gain so much.
const WORTH_WAITING: (f64, f64) = (1.5, 0.001);

/// The least expected time; among alike ones where least runs, then where the session has been.
pub fn soonest<T: Copy>(offers: impl Iterator<Item = (T, Price)> + Clone) -> Option<T> {
    let rank = offers.clone().map(|(_, price)| price.rank).min()?;
    let of_rank = offers.filter(|(_, price)| price.rank == rank);
    let least = of_rank.clone().map(|(_, price)| price.seconds);
    let most = beyond(least.fold(f64::INFINITY, f64::min), ALIKE);
    of_rank
        .filter(|(_, price)| price.seconds <= most)
        .min_by_key(|(_, price)| (busier(price), !price.known))
        .map(|(server, _)| server)
}

/// A session does not leave its server for one that has only one read less.
fn busier(price: &Price) -> usize {
    price.running.saturating_sub(price.known.into())
}

/// Whether a server that is not fresh enough yet would answer clearly sooner than the one that is.
pub fn is_worth_waiting(fresh: f64, later: f64) -> bool {
    beyond(later, WORTH_WAITING) < fresh
}

fn beyond(seconds: f64, (times, more): (f64, f64)) -> f64 {
    seconds * times + more
}

/// A longer read does not run on the master.
const LONGEST_ON_MASTER: f64 = 0.005;
const HEAD_START: f64 = 0.000_2;

/// Whether the master is worth its price: satellites must be slower by this premium.
pub fn is_worth_master(satellite: f64, master: f64, premium: f64) -> bool {
    master <= LONGEST_ON_MASTER && satellite > beyond(master, (premium, HEAD_START))
}

/// Seconds until a statement's turn, behind those that run and wait, if each takes so long on average.
pub fn turn_in(running: usize, limit: usize, each: f64) -> f64 {
    let ahead = (running + 1).saturating_sub(limit);
    ahead as f64 * each / limit.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn price(seconds: f64, running: usize, known: bool) -> Price {
        Price {
            rank: 0,
            seconds,
            answer: seconds,
            running,
            known,
        }
    }

    fn chosen(prices: &[Price]) -> Option<usize> {
        soonest(prices.iter().copied().enumerate())
    }

    #[test]
    fn the_quicker_server_is_chosen_whatever_runs_there() {
        let prices = [price(0.010, 0, true), price(0.002, 9, false)];
        assert_eq!(chosen(&prices), Some(1));
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn among_alike_ones_a_session_stays_and_a_new_one_goes_where_less_runs() {
        let stays = [price(0.001_1, 2, true), price(0.001, 1, false)];
        assert_eq!(chosen(&stays), Some(0));
        let leaves = [price(0.001, 5, true), price(0.001_1, 1, false)];
        assert_eq!(chosen(&leaves), Some(1));
        let new = [price(0.001, 5, false), price(0.001_1, 1, false)];
        assert_eq!(chosen(&new), Some(1));
    }

    #[test]
    fn rank_goes_before_time() {
        let full = Price {
            rank: 1,
            ..price(0.001, 0, true)
        };
        assert_eq!(chosen(&[full, price(1.0, 50, false)]), Some(1));
    }

    #[test]
    fn freshness_is_waited_for_only_where_much_is_gained() {
        assert!(is_worth_waiting(0.050, 0.003));
        assert!(!is_worth_waiting(0.002, 0.001_5));
        assert!(!is_worth_waiting(0.001, 0.0));
    }

    #[test]
    fn a_read_goes_to_the_master_only_where_that_is_clearly_sooner() {
        assert!(is_worth_master(0.003, 0.000_2, 2.0));
        assert!(!is_worth_master(0.000_3, 0.000_2, 2.0));
        assert!(!is_worth_master(0.003, 0.000_2, 20.0));
        assert!(!is_worth_master(1.0, 0.006, 2.0));
    }

    #[test]
    fn a_turn_is_waited_for_behind_all_that_do_not_run_yet() {
        assert_eq!(turn_in(3, 4, 0.01), 0.0);
        assert_eq!(turn_in(4, 4, 0.01), 0.01 / 4.0);
        assert_eq!(turn_in(11, 4, 0.01), 0.02);
    }

    proptest! {
        #[test]
        fn the_choice_is_never_much_worse_than_the_best(
            all in prop::collection::vec((1u32..1_000_000, 0usize..50, any::<bool>()), 1..8),
        ) {
            let prices: Vec<_> = all.iter().map(|(us, running, known)| price(f64::from(*us) / 1e6, *running, *known)).collect();
            let chosen = prices[chosen(&prices).unwrap()].seconds;
            let best = prices.iter().map(|p| p.seconds).fold(f64::INFINITY, f64::min);
            prop_assert!(chosen <= beyond(best, ALIKE));
        }
    }
}
