//! Settings from environment variables, one by one.
//!
//! In: names, defaults and bounds. Out: values, and every mistake, in words.
//! Must never: stop at the first mistake, or show a secret.

use super::values::{Address, BackOff, LOGIN_TIMEOUT_MS, MOST, MOST_RUNNING, RunningLimit};
use crate::common::classes::Classes;
use crate::common::consistency::{self, AfterWait, Choice, Level, MasterReads};
use crate::common::secret::Password;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::{net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

const SATELLITES: &str = "GATE_SATELLITES";
const SATELLITES_FILE: &str = "GATE_SATELLITES_FILE";
const TWO_SATELLITES: &str = "satellite-1:3306,satellite-2:3306";

/// Reads settings one by one and keeps every mistake.
pub(super) struct Settings<'a> {
    pub(super) get: &'a dyn Fn(&str) -> Option<String>,
    pub(super) mistakes: Vec<String>,
}

impl Settings<'_> {
    pub(super) fn text(&self, name: &str, default: &str) -> String {
        self.given(name).unwrap_or_else(|| default.to_owned())
    }

    pub(super) fn given(&self, name: &str) -> Option<String> {
        (self.get)(name).filter(|value| !value.is_empty())
    }

    pub(super) fn mistake(&mut self, name: &str, what: impl std::fmt::Display) {
        self.mistakes.push(format!("{name}: {what}"));
    }

    pub(super) fn parsed<T: FromStr>(
        &mut self,
        name: &str,
        default: &str,
        expected: &str,
    ) -> Option<T> {
        let value = self.text(name, default);
        let parsed = value.trim().parse().ok();
        if parsed.is_none() {
            self.mistake(name, format_args!("expected {expected}, got {value:?}"));
        }
        parsed
    }

    pub(super) fn number(
        &mut self,
        name: &str,
        default: usize,
        smallest: usize,
        largest: usize,
    ) -> usize {
        let expected = format!("a whole number from {smallest} to {largest}");
        match self.parsed::<usize>(name, &default.to_string(), &expected) {
            Some(value) if (smallest..=largest).contains(&value) => value,
            Some(value) => {
                self.mistake(name, format_args!("expected {expected}, got {value}"));
                default
            }
            None => default,
        }
    }

    pub(super) fn running(&mut self, name: &str) -> RunningLimit {
        let expected = format!("auto, N (found, up to N) or fixed:N, N from 1 to {MOST}");
        let parsed = self.parsed(name, "auto", &expected);
        parsed.unwrap_or(RunningLimit::Auto(MOST_RUNNING))
    }

    /// Comma-separated.
    pub(super) fn names(&self, name: &str) -> Vec<String> {
        let list = self.text(name, "");
        let names = list.split(',').map(str::trim).filter(|n| !n.is_empty());
        names.map(str::to_owned).collect()
    }

    pub(super) fn millis(&mut self, name: &str, default: usize, smallest: usize) -> Duration {
        Duration::from_millis(self.number(name, default, smallest, 3_600_000) as u64)
    }

    pub(super) fn level(&mut self, name: &str, default: &str) -> Level {
        let text = self.text(name, default);
        consistency::level(&text).unwrap_or_else(|| {
            let expected = "expected strong, session, bounded:<ms> or eventual";
            self.mistake(name, format_args!("{expected}, got {text:?}"));
            Level::Strong
        })
    }

    pub(super) fn after_wait(&mut self, name: &str, default: &str) -> AfterWait {
        let text = self.text(name, default);
        consistency::after_wait(&text).unwrap_or_else(|| {
            self.mistake(name, format_args!("expected master or error, got {text:?}"));
            AfterWait::Master
        })
    }

    pub(super) fn master_reads(&mut self, name: &str, default: &str) -> MasterReads {
        let text = self.text(name, default);
        consistency::master_reads(&text).unwrap_or_else(|| {
            let expected = "expected spare, fallback or never";
            self.mistake(name, format_args!("{expected}, got {text:?}"));
            MasterReads::Spare
        })
    }

    /// `user: consistency=session wait_ms=50; other: after_wait=error`
    pub(super) fn users(&mut self, name: &str, classes: &Classes) -> HashMap<String, Choice> {
        let list = self.text(name, "");
        let mut users = HashMap::new();
        for item in list.split(';').map(str::trim).filter(|i| !i.is_empty()) {
            let Some((user, choice)) = item.split_once(':') else {
                self.mistake(name, format_args!("{item:?} is not user: choice …"));
                continue;
            };
            let choice = Choice::parse(choice).and_then(|c| c.checked(|name| classes.knows(name)));
            match choice {
                Ok(choice) => {
                    if users.insert(user.trim().to_owned(), choice).is_some() {
                        self.mistake(name, format_args!("{:?} stands there twice", user.trim()));
                    }
                }
                Err(what) => self.mistake(name, format_args!("{:?}: {what}", user.trim())),
            }
        }
        for (user, class) in classes.users() {
            users
                .entry(user.to_owned())
                .or_default()
                .class
                .get_or_insert(class);
        }
        users
    }

    pub(super) fn classes(&mut self, name: &str) -> Classes {
        let (classes, mistakes) = Classes::parse(&self.text(name, ""));
        mistakes.iter().for_each(|what| self.mistake(name, what));
        classes
    }

    /// A login that waits must have time left to be looked at.
    pub(super) fn back_off(&mut self) -> BackOff {
        let mut unheard = Settings {
            get: self.get,
            mistakes: Vec::new(),
        };
        let most = unheard.millis("GATE_LOGIN_TIMEOUT_MS", LOGIN_TIMEOUT_MS, 1) / 2;
        let shortest = self.millis("GATE_LOGIN_MIN_DELAY_MS", 1000, 1);
        let longest = self.millis("GATE_LOGIN_MAX_DELAY_MS", 5000, 1);
        if shortest > longest {
            self.mistake(
                "GATE_LOGIN_MIN_DELAY_MS",
                "is more than GATE_LOGIN_MAX_DELAY_MS",
            );
        }
        BackOff {
            failures: self.number("GATE_LOGIN_FAILURES", 3, 0, 1_000_000) as u32,
            shortest,
            longest: longest.min(most),
        }
    }

    pub(super) fn master(&mut self, name: &str) -> Address {
        let parsed = self.parsed(name, "master:3306", "a host:port");
        parsed.unwrap_or_else(|| Address {
            host: String::new(),
            port: 0,
        })
    }

    pub(super) fn listen(&mut self, name: &str, default: &str) -> SocketAddr {
        let parsed = self.parsed(name, default, "an address and port like 0.0.0.0:6034");
        parsed.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    /// Those of the file, if there is anything in it.
    pub(super) fn satellites(&mut self, master: &Address) -> Vec<Address> {
        let (name, list) = match self.satellites_file() {
            Some(list) => (SATELLITES_FILE, list),
            None => {
                let list = (self.get)(SATELLITES);
                (
                    SATELLITES,
                    list.unwrap_or_else(|| TWO_SATELLITES.to_owned()),
                )
            }
        };
        let addresses = self.addresses(name, &list);
        if addresses.contains(master) {
            self.mistake(name, format_args!("{master} is GATE_MASTER"));
        }
        addresses
    }

    fn satellites_file(&mut self) -> Option<String> {
        let path = self.given(SATELLITES_FILE)?;
        match std::fs::read_to_string(&path) {
            Ok(list) => Some(list).filter(|list| !list.trim().is_empty()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                self.mistake(SATELLITES_FILE, format_args!("file {path}: {error}"));
                None
            }
        }
    }

    fn addresses(&mut self, name: &str, list: &str) -> Vec<Address> {
        let mut addresses: Vec<Address> = Vec::new();
        for item in list
            .split([',', '\n'])
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            match item.parse::<Address>() {
                Ok(address) if addresses.contains(&address) => {
                    self.mistake(name, format_args!("{address} stands there twice"));
                }
                Ok(address) => addresses.push(address),
                Err(what) => self.mistake(name, format_args!("{item:?} is {what}")),
            }
        }
        addresses
    }

    pub(super) fn address(&mut self, name: &str) -> Option<Address> {
        let text = self.given(name)?;
        let parsed = text.trim().parse();
        if let Err(what) = &parsed {
            self.mistake(name, format_args!("{text:?} is {what}"));
        }
        parsed.ok()
    }

    pub(super) fn optional_secret(&mut self, name: &str) -> Option<Password> {
        let is_given = self.given(name).is_some() || self.given(&format!("{name}_FILE")).is_some();
        is_given.then(|| self.secret(name))
    }

    pub(super) fn secret(&mut self, name: &str) -> Password {
        let file_name = format!("{name}_FILE");
        let secret = match (self.given(name), self.given(&file_name)) {
            (Some(_), Some(_)) => Err(format!("both it and {file_name} are set")),
            (Some(value), None) => Ok(value),
            (None, Some(path)) => read_secret(&path),
            (None, None) => Err(format!("neither it nor {file_name} is set")),
        };
        if let Err(what) = &secret {
            self.mistake(name, what);
        }
        Password::new(secret.unwrap_or_default().into_bytes())
    }

    pub(super) fn tls_files(&mut self) -> Option<(PathBuf, PathBuf)> {
        let (cert, key) = ("GATE_TLS_CERT_FILE", "GATE_TLS_KEY_FILE");
        match (self.given(cert), self.given(key)) {
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            (None, None) => None,
            (Some(_), None) => {
                self.mistake(key, format_args!("must be set because {cert} is"));
                None
            }
            (None, Some(_)) => {
                self.mistake(cert, format_args!("must be set because {key} is"));
                None
            }
        }
    }
}

fn read_secret(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("file {path}: {e}"))?;
    let secret = text.trim_end_matches(['\r', '\n']).to_owned();
    if secret.is_empty() {
        Err(format!("file {path} is empty"))
    } else {
        Ok(secret)
    }
}
