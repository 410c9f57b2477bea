//! Values that settings have: addresses, limits, how logins are held up.
//!
//! In: their texts. Out: values, or that a text is none.

use std::str::FromStr;
use std::time::Duration;

pub(super) const LOGIN_TIMEOUT_MS: usize = 10_000;
/// The highest limit that can be set.
pub const MOST: usize = 1_000_000;
/// Statements at a time that a server gets at most, where nobody says otherwise.
pub(super) const MOST_RUNNING: usize = 64;

/// How much a server gets at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub running: RunningLimit,
    /// Connections of sessions; beyond that sessions share them.
    pub connections: usize,
}

/// Statements at a time; more wait for their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunningLimit {
    /// Found from what reads take on a satellite, up to this. The master has no other than this.
    Auto(usize),
    Fixed(usize),
}

impl RunningLimit {
    pub fn most(self) -> usize {
        match self {
            Self::Auto(most) | Self::Fixed(most) => most,
        }
    }
}

/// `auto`, `N`: found, up to N; `fixed:N`.
impl FromStr for RunningLimit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| {
            let number = text.parse().ok();
            number.filter(|n| (1..=MOST).contains(n)).ok_or(())
        };
        match text.strip_prefix("fixed:") {
            Some(fixed) => number(fixed).map(Self::Fixed),
            None if text == "auto" => Ok(Self::Auto(MOST_RUNNING)),
            None => number(text).map(Self::Auto),
        }
    }
}

/// How failed logins make those that follow wait.
#[derive(Debug, Clone, Copy)]
pub struct BackOff {
    /// From so many on; 0 is never.
    pub failures: u32,
    pub shortest: Duration,
    pub longest: Duration,
}

/// `host:port` of a server; the host may be a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = text.rsplit_once(':').unwrap_or((text, "3306"));
        let port = port
            .parse()
            .ok()
            .filter(|p| *p != 0)
            .ok_or("not a host:port")?;
        let bad = host.is_empty() || host.contains(char::is_whitespace);
        if bad {
            Err("not a host:port".to_owned())
        } else {
            Ok(Self {
                host: host.to_owned(),
                port,
            })
        }
    }
}
