//! How long a session waits for its client: MySQL's `wait_timeout`, `interactive_timeout`, `net_read_timeout` and
//! `net_write_timeout`.
//!
//! In: the master's global values, asked every few seconds; what a session sets for itself. Out: the limit that holds now.
//! Must never: hold a client to another value than the one that `@@session` shows it.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

/// What MySQL allows for all of them, in seconds.
const LONGEST: u64 = 31_536_000;

/// The master's global values, in seconds.
pub struct Defaults {
    wait: AtomicU32,
    interactive: AtomicU32,
    read: AtomicU32,
    write: AtomicU32,
}

/// MySQL's own, until the master has been asked.
impl Default for Defaults {
    fn default() -> Self {
        Self {
            wait: AtomicU32::new(28_800),
            interactive: AtomicU32::new(28_800),
            read: AtomicU32::new(30),
            write: AtomicU32::new(60),
        }
    }
}

impl Defaults {
    /// The master's values now, as it wrote them: in the order of wait, interactive, read, write.
    pub fn learn(&self, values: [Option<&str>; 4]) {
        let all = [&self.wait, &self.interactive, &self.read, &self.write];
        for (known, value) in all.into_iter().zip(values) {
            if let Some(seconds) = value.and_then(seconds) {
                known.store(seconds, Ordering::Relaxed);
            }
        }
    }
}

/// As MySQL takes a number that is out of range.
fn seconds(text: &str) -> Option<u32> {
    let seconds: i64 = text.trim().parse().ok()?;
    u32::try_from(seconds.clamp(1, LONGEST as i64)).ok()
}

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// The login has a limit of its own as a whole.
    Login = 0,
    /// The next command.
    Idle = 1,
    /// The rest of a command, or room for its answer.
    Command = 2,
}

/// One session's values, in seconds.
#[derive(Default)]
pub struct Timeouts {
    phase: AtomicU8,
    wait: AtomicU32,
    read: AtomicU32,
    write: AtomicU32,
}

impl Timeouts {
    /// As at a login.
    pub fn begin(&self, defaults: &Defaults, interactive: bool) {
        let idle = match interactive {
            true => &defaults.interactive,
            false => &defaults.wait,
        };
        copy(idle, &self.wait);
        copy(&defaults.read, &self.read);
        copy(&defaults.write, &self.write);
    }

    /// The session has a variable of its own; `value` as the master reports it.
    pub fn set(&self, name: &str, value: &str) {
        let own = match name {
            "wait_timeout" => &self.wait,
            "net_read_timeout" => &self.read,
            "net_write_timeout" => &self.write,
            _ => return,
        };
        if let Some(seconds) = seconds(value) {
            own.store(seconds, Ordering::Relaxed);
        }
    }

    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    fn is_in(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Relaxed) == phase as u8
    }

    pub fn of_reads(&self) -> Option<Duration> {
        let limit = match self.is_in(Phase::Idle) {
            true => &self.wait,
            false => &self.read,
        };
        (!self.is_in(Phase::Login)).then(|| duration(limit))
    }

    pub fn of_writes(&self) -> Option<Duration> {
        (!self.is_in(Phase::Login)).then(|| duration(&self.write))
    }

    /// How often a server must hear from the session, so as not to end its connection before the gate ends the client's.
    pub fn keep_alive(&self) -> Duration {
        duration(&self.wait) / 2
    }
}

fn copy(from: &AtomicU32, to: &AtomicU32) {
    to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
}

fn duration(seconds: &AtomicU32) -> Duration {
    Duration::from_secs(u64::from(seconds.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interactive_client_begins_with_interactive_timeout() {
        let defaults = Defaults::default();
        defaults.interactive.store(11, Ordering::Relaxed);
        let timeouts = Timeouts::default();
        timeouts.enter(Phase::Idle);
        for (interactive, expected) in [(true, 11), (false, 28_800)] {
            timeouts.begin(&defaults, interactive);
            assert_eq!(timeouts.of_reads(), Some(Duration::from_secs(expected)));
        }
    }

    #[test]
    fn a_session_s_own_value_counts_for_what_it_names() {
        let timeouts = Timeouts::default();
        timeouts.begin(&Defaults::default(), false);
        let seconds = |limit: Option<Duration>| limit.map(|l| l.as_secs());
        for (value, expected) in [("5", 5), ("0", 1), ("99999999999", LONGEST)] {
            timeouts.set("net_read_timeout", value);
            timeouts.enter(Phase::Command);
            assert_eq!(seconds(timeouts.of_reads()), Some(expected));
        }
        timeouts.set("interactive_timeout", "3");
        timeouts.enter(Phase::Idle);
        assert_eq!(seconds(timeouts.of_reads()), Some(28_800));
        assert_eq!(seconds(timeouts.of_writes()), Some(60));
        timeouts.enter(Phase::Login);
        assert_eq!((timeouts.of_reads(), timeouts.of_writes()), (None, None));
    }
}
