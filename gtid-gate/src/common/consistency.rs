//! What a read was promised: how fresh it must be, how long it may wait for that, and what comes after the wait.
//!
//! In: the texts of settings, session variables and comment hints. Out: a `Policy`.
//! Must never: take a text that it does not understand for a weaker promise.

use super::classes::ClassName;
use std::fmt;
use std::time::Duration;

/// What a read-only statement or transaction sees at least. All of them show a prefix of the master's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All that was acknowledged before it arrived.
    Strong,
    /// Its session's own writes, and never less than the session saw before.
    Session,
    /// All that was acknowledged longer ago than this, and never less than the session saw before.
    Bounded(Duration),
    /// Some prefix.
    Eventual,
}

/// What happens when no satellite got fresh enough in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterWait {
    Master,
    Error,
}

/// Which reads the master may answer that a satellite could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MasterReads {
    /// Short ones that it answers clearly sooner, from what it has to spare; and what `Fallback` has.
    Spare,
    /// Those that waited in vain.
    Fallback,
    /// None: they get an error.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub level: Level,
    pub wait: Duration,
    pub after_wait: AfterWait,
    pub master_reads: MasterReads,
}

impl Policy {
    /// Whether the master answers what no satellite can in time.
    pub fn falls_back(&self) -> bool {
        self.after_wait == AfterWait::Master && self.master_reads != MasterReads::Never
    }

    /// Whether the master may answer though a satellite could later.
    pub fn spares(&self) -> bool {
        self.after_wait == AfterWait::Master && self.master_reads == MasterReads::Spare
    }
}

/// What a user, a session or a statement says about its reads; what it leaves open comes from further out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Choice {
    pub level: Option<Level>,
    pub wait: Option<Duration>,
    pub after_wait: Option<AfterWait>,
    pub master_reads: Option<MasterReads>,
    /// The class that its reads belong to, or `none`. Whether there is such a class is for who knows the settings to say.
    pub class: Option<ClassName>,
}

/// Names of what can be chosen; as session variables with `multimed_` before them.
pub const NAMES: [&str; 5] = [
    "consistency",
    "wait_ms",
    "after_wait",
    "master_reads",
    CLASS,
];
const CLASS: &str = "class";
const CLASSES: &str = "a class of GATE_CLASSES, or none";
const VARIABLE_PREFIX: &str = "multimed_";
/// A comment that starts with this is a hint.
const HINT: &str = "multimed:";
const TABLES: &str = "tables=";
const LONGEST_MS: u64 = 3_600_000;
/// Who waits is there all the while; a client must not make that an hour.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadChoice {
    #[error("{name} can't be {value:?}: expected {expected}")]
    Value {
        name: &'static str,
        value: String,
        expected: &'static str,
    },
    #[error(
        "{0:?} is not consistency=…, wait_ms=…, after_wait=…, master_reads=…, class=… or tables=…"
    )]
    Name(String),
    #[error("tables can't be {0:?}: expected one list like a,db.b, without blanks")]
    Tables(String),
}

/// The choice that a user variable of this name makes; nothing for variables that are the application's own.
pub fn variable(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let rest = lower.strip_prefix(VARIABLE_PREFIX)?;
    NAMES.into_iter().find(|known| *known == rest)
}

/// What a comment says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hint {
    pub choice: Choice,
    /// The tables that a read-only transaction reads, as it lists them.
    pub tables: Option<String>,
}

/// What a comment's text, without its delimiters, says; nothing if it is no hint.
pub fn hint(comment: &str) -> Option<Result<Hint, BadChoice>> {
    let comment = comment.trim();
    let starts = comment
        .get(..HINT.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(HINT));
    starts.then(|| Hint::parse(&comment[HINT.len()..]))
}

impl Hint {
    /// A choice, and anywhere in it `tables=a,db.b`.
    fn parse(text: &str) -> Result<Self, BadChoice> {
        let is_tables = |part: &&str| {
            let start = part.get(..TABLES.len());
            start.is_some_and(|s| s.eq_ignore_ascii_case(TABLES))
        };
        let parts = || text.split(char::is_whitespace);
        let rest: Vec<&str> = parts().filter(|p| !is_tables(p)).collect();
        let mut lists = parts()
            .filter(is_tables)
            .map(|p| p[TABLES.len()..].trim_end_matches(','));
        let tables = lists.next().map(str::to_owned);
        if tables.as_deref() == Some("") || lists.next().is_some() {
            return Err(BadChoice::Tables(tables.unwrap_or_default()));
        }
        let choice = Choice::parse(&rest.join(" "))?;
        Ok(Self { choice, tables })
    }
}

impl Choice {
    /// `consistency=bounded:500 wait_ms=20, after_wait=error`
    pub fn parse(text: &str) -> Result<Self, BadChoice> {
        let mut choice = Self::default();
        let parts = text.split(|c: char| c.is_whitespace() || c == ',');
        for part in parts.filter(|p| !p.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let known = NAMES.into_iter().find(|n| n.eq_ignore_ascii_case(name));
            choice.choose(
                known.ok_or_else(|| BadChoice::Name(part.to_owned()))?,
                Some(value),
            )?;
        }
        Ok(choice)
    }

    /// `name` is one of `NAMES`; no value takes the choice back.
    pub fn choose(&mut self, name: &'static str, value: Option<&str>) -> Result<(), BadChoice> {
        let read = |value: &str, expected| BadChoice::Value {
            name,
            value: value.to_owned(),
            expected,
        };
        match name {
            "consistency" => {
                let expected = "strong, session, bounded:<ms> (0 to 3600000) or eventual";
                self.level = value
                    .map(|v| level(v).ok_or_else(|| read(v, expected)))
                    .transpose()?;
            }
            "wait_ms" => {
                let expected = "a whole number of milliseconds from 0 to 60000";
                let wait = |v| millis(v).filter(|w| *w <= LONGEST_WAIT);
                self.wait = value
                    .map(|v| wait(v).ok_or_else(|| read(v, expected)))
                    .transpose()?;
            }
            CLASS => {
                self.class = value
                    .map(|v| ClassName::parse(v).ok_or_else(|| read(v, CLASSES)))
                    .transpose()?;
            }
            "master_reads" => {
                let expected = "spare, fallback or never";
                self.master_reads = value
                    .map(|v| master_reads(v).ok_or_else(|| read(v, expected)))
                    .transpose()?;
            }
            _ => {
                let expected = "master or error";
                self.after_wait = value
                    .map(|v| after_wait(v).ok_or_else(|| read(v, expected)))
                    .transpose()?;
            }
        }
        Ok(())
    }

    pub fn or_else(self, outer: Policy) -> Policy {
        Policy {
            level: self.level.unwrap_or(outer.level),
            wait: self.wait.unwrap_or(outer.wait),
            after_wait: self.after_wait.unwrap_or(outer.after_wait),
            master_reads: self.master_reads.unwrap_or(outer.master_reads),
        }
    }

    /// This choice, and the other where this one is open.
    pub fn and_then(self, other: Self) -> Self {
        Self {
            level: self.level.or(other.level),
            wait: self.wait.or(other.wait),
            after_wait: self.after_wait.or(other.after_wait),
            master_reads: self.master_reads.or(other.master_reads),
            class: self.class.or(other.class),
        }
    }

    /// The same, if there is such a class.
    pub fn checked(self, is_class: impl Fn(&ClassName) -> bool) -> Result<Self, BadChoice> {
        match self.class.filter(|name| !is_class(name)) {
            None => Ok(self),
            Some(name) => Err(BadChoice::Value {
                name: CLASS,
                value: name.as_str().to_owned(),
                expected: CLASSES,
            }),
        }
    }
}

pub fn level(text: &str) -> Option<Level> {
    let text = text.trim().to_ascii_lowercase();
    match text.as_str() {
        "strong" => Some(Level::Strong),
        "session" => Some(Level::Session),
        "eventual" => Some(Level::Eventual),
        _ => text
            .strip_prefix("bounded:")
            .and_then(millis)
            .map(Level::Bounded),
    }
}

pub fn after_wait(text: &str) -> Option<AfterWait> {
    match text.trim().to_ascii_lowercase().as_str() {
        "master" => Some(AfterWait::Master),
        "error" => Some(AfterWait::Error),
        _ => None,
    }
}

pub fn master_reads(text: &str) -> Option<MasterReads> {
    match text.trim().to_ascii_lowercase().as_str() {
        "spare" => Some(MasterReads::Spare),
        "fallback" => Some(MasterReads::Fallback),
        "never" => Some(MasterReads::Never),
        _ => None,
    }
}

fn millis(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value: u64 = text.parse().ok().filter(|_| digits)?;
    (value <= LONGEST_MS).then(|| Duration::from_millis(value))
}

impl Level {
    /// The names that metrics carry.
    pub const NAMES: [&str; 4] = ["strong", "session", "bounded", "eventual"];

    /// Where its name stands.
    pub fn index(self) -> usize {
        match self {
            Self::Strong => 0,
            Self::Session => 1,
            Self::Bounded(_) => 2,
            Self::Eventual => 3,
        }
    }
}

impl fmt::Display for AfterWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Master => "master",
            Self::Error => "error",
        })
    }
}

impl fmt::Display for MasterReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spare => "spare",
            Self::Fallback => "fallback",
            Self::Never => "never",
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bounded(bound) => write!(f, "bounded:{}", bound.as_millis()),
            other => f.write_str(Self::NAMES[other.index()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OUTER: Policy = Policy {
        level: Level::Strong,
        wait: Duration::from_millis(100),
        after_wait: AfterWait::Master,
        master_reads: MasterReads::Spare,
    };

    #[test]
    fn a_hint_chooses_what_it_names_and_leaves_the_rest() {
        let chosen = hint(" MultiMed: consistency=Bounded:250 ")
            .unwrap()
            .unwrap();
        let bounded = Level::Bounded(Duration::from_millis(250));
        assert_eq!(
            chosen.choice.or_else(OUTER),
            Policy {
                level: bounded,
                ..OUTER
            }
        );
        let chosen = hint("multimed:after_wait=error,wait_ms=0")
            .unwrap()
            .unwrap();
        let expected = Policy {
            wait: Duration::ZERO,
            after_wait: AfterWait::Error,
            ..OUTER
        };
        assert_eq!(chosen.choice.or_else(OUTER), expected);
    }

    #[test]
    fn tables_are_listed_anywhere_in_a_hint() {
        for text in [
            "tables=a,db.b",
            "consistency=session, Tables=a,db.b, wait_ms=5",
        ] {
            let said = hint(&format!("multimed: {text}")).unwrap().unwrap();
            assert_eq!(said.tables.as_deref(), Some("a,db.b"), "{text}");
        }
        for text in ["tables=", "tables=a, b", "tables=a tables=b"] {
            assert!(
                hint(&format!("multimed: {text}")).unwrap().is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn other_comments_are_no_hints() {
        for comment in ["", "multimed", "app:web", "see multimed: x", "é"] {
            assert_eq!(hint(comment), None, "{comment}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for text in [
            "consistency=stong",
            "consistency=",
            "consistency",
            "eventual",
            "consistency=bounded",
            "consistency=bounded:",
            "consistency=bounded:-1",
            "consistency=bounded:+1",
            "consistency=bounded:1.5",
            "consistency=bounded:3600001",
            "wait_ms=60001",
            "wait_ms=99999999999999999999",
            "after_wait=retry",
            "master_reads=sometimes",
            "class",
            "class=",
            "class=a.b",
            "level=strong",
        ] {
            assert!(Choice::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_class_is_chosen_by_a_name_that_must_be_known() {
        let choice = Choice::parse("class=Reports").unwrap();
        assert_eq!(choice.class, ClassName::parse("reports"));
        let is_class = |name: &ClassName| name.as_str() == "reports";
        assert_eq!(choice.checked(is_class), Ok(choice));
        assert!(choice.checked(|_| false).is_err());
        assert!(Choice::default().checked(|_| false).is_ok());
    }

    #[test]
    fn the_master_is_left_alone_by_whoever_says_so() {
        let says = |text: &str| Choice::parse(text).unwrap().or_else(OUTER);
        for (text, falls_back, spares) in [
            ("", true, true),
            ("master_reads=Fallback", true, false),
            ("master_reads=never", false, false),
            ("after_wait=error", false, false),
        ] {
            let policy = says(text);
            assert_eq!(
                (policy.falls_back(), policy.spares()),
                (falls_back, spares),
                "{text}"
            );
        }
    }

    #[test]
    fn variables_are_known_by_their_names() {
        assert_eq!(variable("MULTIMED_Consistency"), Some("consistency"));
        assert_eq!(variable("multimed_wait_ms"), Some("wait_ms"));
        assert_eq!(variable("consistency"), None);
        assert_eq!(variable("multimed_other"), None);
    }

    proptest! {
        #[test]
        fn a_level_reads_back_as_it_is_written(ms in 0u64..=LONGEST_MS) {
            let bounded = Level::Bounded(Duration::from_millis(ms));
            for one in [bounded, Level::Strong, Level::Session, Level::Eventual] {
                prop_assert_eq!(level(&one.to_string()), Some(one));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = (hint(&text), Choice::parse(&text), variable(&text));
        }
    }
}
