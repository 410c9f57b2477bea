//! How many statements may run on one server at once: a number, or what is found while it serves.
//!
//! In: the setting, reads that ended, how far the server is behind. Out: the limit of turns. One short lock a read, and none
//! where the number is fixed.
//! Must never: change a limit that an operator has fixed.

use super::auto_limit::{AutoLimit, Ended};
use super::turns::Turns;
use crate::common::lock;
use crate::ops::config::RunningLimit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub struct FoundLimit {
    turns: Arc<Turns>,
    /// Whether there is anything to find, for a look without the lock.
    finds: AtomicBool,
    /// What is found is never more, unless an operator says so.
    most: usize,
    rule: Mutex<Rule>,
    #[cfg(test)]
    told: Mutex<(u32, Duration)>,
    #[cfg(test)]
    lag: Mutex<Duration>,
}

enum Rule {
    Found(Box<AutoLimit>),
    Fixed(usize),
}

impl Rule {
    fn new(limit: RunningLimit) -> Self {
        match limit {
            RunningLimit::Fixed(limit) => Self::Fixed(limit),
            RunningLimit::Auto(most) => Self::Found(Box::new(AutoLimit::new(most, Instant::now()))),
        }
    }

    fn limit(&self) -> usize {
        match self {
            Self::Found(auto) => auto.limit(),
            Self::Fixed(limit) => *limit,
        }
    }
}

impl FoundLimit {
    pub fn new(limit: RunningLimit) -> Self {
        let rule = Rule::new(limit);
        Self {
            turns: Arc::new(Turns::new(rule.limit())),
            finds: AtomicBool::new(matches!(rule, Rule::Found(_))),
            most: limit.most(),
            rule: Mutex::new(rule),
            #[cfg(test)]
            told: Mutex::default(),
            #[cfg(test)]
            lag: Mutex::default(),
        }
    }

    pub fn turns(&self) -> Arc<Turns> {
        self.turns.clone()
    }

    pub fn is_found(&self) -> bool {
        self.finds.load(Ordering::Relaxed)
    }

    /// From now on exactly this.
    pub fn fix(&self, limit: usize) {
        self.replace(RunningLimit::Fixed(limit));
    }

    /// From now on what is found, which may have been going on.
    pub fn find(&self) {
        if !self.is_found() {
            self.replace(RunningLimit::Auto(self.most));
        }
    }

    fn replace(&self, limit: RunningLimit) {
        let mut rule = lock(&self.rule);
        *rule = Rule::new(limit);
        self.turns.set_limit(rule.limit());
        let finds = matches!(*rule, Rule::Found(_));
        self.finds.store(finds, Ordering::Relaxed);
    }

    /// A read took the server so long and has given up its turn. Whether somebody should look how far the server is behind.
    pub fn read_ended(&self, shape: u64, took: Duration) -> bool {
        if !self.is_found() {
            return false;
        }
        #[cfg(test)]
        {
            let mut told = lock(&self.told);
            *told = (told.0 + 1, told.1 + took);
        }
        let ended = Ended {
            shape,
            took,
            waited: self.turns.is_full(),
        };
        let mut rule = lock(&self.rule);
        let Rule::Found(auto) = &mut *rule else {
            return false;
        };
        let wanted = auto.ended(&ended, Instant::now());
        if let Some(limit) = wanted.limit {
            self.turns.set_limit(limit);
        }
        wanted.look
    }

    /// Reads that ended, and what they took.
    #[cfg(test)]
    pub fn told(&self) -> (u32, Duration) {
        *lock(&self.told)
    }

    /// What it was found to lag last.
    #[cfg(test)]
    pub fn lag(&self) -> Duration {
        *lock(&self.lag)
    }

    /// The server was found to lack what the master has had for so long.
    pub fn lags(&self, lag: Duration) {
        #[cfg(test)]
        {
            *lock(&self.lag) = lag;
        }
        if let Rule::Found(auto) = &mut *lock(&self.rule) {
            auto.lags(lag, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_number_fixes_the_limit_until_it_is_to_be_found_again() {
        let found = FoundLimit::new(RunningLimit::Auto(3));
        assert_eq!((found.turns.limit(), found.is_found()), (3, true));
        found.fix(20);
        let all: Vec<_> = (0..20).map(|_| found.turns.try_take(false)).collect();
        assert!(found.turns.is_full() && all.iter().all(Option::is_some));
        assert!(!found.read_ended(1, MS));
        assert_eq!(found.turns.limit(), 20);
        found.find();
        assert_eq!((found.turns.limit(), found.is_found()), (3, true));
        assert!(found.read_ended(1, MS));
    }

    #[test]
    fn of_a_fixed_one_its_number_is_the_ceiling_of_what_is_found_later() {
        let found = FoundLimit::new(RunningLimit::Fixed(2));
        found.find();
        assert_eq!((found.turns.limit(), found.is_found()), (2, true));
    }
}
