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
    rule: Mutex<Rule>,
    /// The number of the settings, if it is one.
    setting: Option<usize>,
    #[cfg(test)]
    told: Mutex<(u32, Duration)>,
    #[cfg(test)]
    lag: Mutex<Duration>,
}

/// What has been found is kept while an operator's number is in force.
struct Rule {
    found: AutoLimit,
    fixed: Option<usize>,
}

impl Rule {
    fn limit(&self) -> usize {
        self.fixed.unwrap_or_else(|| self.found.limit())
    }
}

impl FoundLimit {
    pub fn new(limit: RunningLimit) -> Self {
        let fixed = match limit {
            RunningLimit::Fixed(limit) => Some(limit),
            RunningLimit::Auto(_) => None,
        };
        let found = AutoLimit::new(limit.most(), Instant::now());
        let rule = Rule { found, fixed };
        Self {
            turns: Arc::new(Turns::new(rule.limit())),
            finds: AtomicBool::new(fixed.is_none()),
            rule: Mutex::new(rule),
            setting: fixed,
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
        self.set_fixed(Some(limit));
    }

    /// From now on what is found, beginning with what was found last.
    pub fn find(&self) {
        self.set_fixed(None);
    }

    /// From now on as the settings say.
    pub fn follow_setting(&self) {
        self.set_fixed(self.setting);
    }

    fn set_fixed(&self, fixed: Option<usize>) {
        let mut rule = lock(&self.rule);
        rule.fixed = fixed;
        self.turns.set_limit(rule.limit());
        self.finds.store(fixed.is_none(), Ordering::Relaxed);
    }

    /// A read took the server so long and has given up its turn. Whether somebody should look how far the server is behind.
    pub fn read_ended(&self, digest: u64, took: Duration, now: Instant) -> bool {
        if !self.is_found() {
            return false;
        }
        #[cfg(test)]
        {
            let mut told = lock(&self.told);
            *told = (told.0 + 1, told.1 + took);
        }
        let ended = Ended {
            digest,
            took,
            waited: self.turns.is_full(),
            running: self.turns.in_use() + 1,
        };
        let mut rule = lock(&self.rule);
        if rule.fixed.is_some() {
            return false;
        }
        let wanted = rule.found.ended(&ended, now);
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
        let mut rule = lock(&self.rule);
        if rule.fixed.is_none() {
            rule.found.lags(lag, Instant::now());
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
        assert!(!found.read_ended(1, MS, Instant::now()));
        assert_eq!(found.turns.limit(), 20);
        found.find();
        assert_eq!((found.turns.limit(), found.is_found()), (3, true));
        assert!(found.read_ended(1, MS, Instant::now()));
    }

    #[test]
    fn without_an_operators_number_the_setting_holds_again() {
        let fixed = FoundLimit::new(RunningLimit::Fixed(5));
        fixed.find();
        fixed.follow_setting();
        assert_eq!((fixed.turns.limit(), fixed.is_found()), (5, false));
        let found = FoundLimit::new(RunningLimit::Auto(3));
        found.fix(20);
        found.follow_setting();
        assert_eq!((found.turns.limit(), found.is_found()), (3, true));
    }

    #[test]
    fn of_a_fixed_one_its_number_is_the_ceiling_of_what_is_found_later() {
        let found = FoundLimit::new(RunningLimit::Fixed(2));
        found.find();
        assert_eq!((found.turns.limit(), found.is_found()), (2, true));
    }
}
