//! Classes of reads that an operator binds to satellites by name.
//!
//! In: the text of `GATE_CLASSES`. Out: the classes, each known by its place in the list, or every mistake at once.
//! Must never: take a text that it does not understand for a class without satellites.

use std::collections::HashMap;

/// Sets of classes are kept as bits.
const MOST: usize = 64;
const LONGEST_NAME: usize = 32;
/// Metrics and choices use these names for reads without a class.
const RESERVED: [&str; 3] = ["none", "light", "heavy"];
/// What a choice says to belong to no class.
const NONE: &str = "none";

/// The name of a class, or `none`. Copied without taking memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassName {
    bytes: [u8; LONGEST_NAME],
    length: u8,
}

impl ClassName {
    /// Letters, digits, `_` and `-`; upper and lower case are the same.
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let text = text.trim();
        let fits = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_name);
        fits.then(|| {
            let mut bytes = [0; LONGEST_NAME];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            bytes.make_ascii_lowercase();
            let length = text.len() as u8;
            Self { bytes, length }
        })
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length.into()]).unwrap_or_default()
    }
}

/// What happens to a read while none of its class's satellites can take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// It goes as any other read.
    Any,
    Error,
}

/// A class, as a read carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadClass {
    /// Its place in the list.
    pub index: u8,
    pub otherwise: Otherwise,
}

/// The classes that a satellite is bound to, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassSet(u64);

impl ClassSet {
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn has(self, class: ReadClass) -> bool {
        self.0 & 1 << class.index != 0
    }

    pub fn of(classes: impl Iterator<Item = u8>) -> Self {
        Self(classes.fold(0, |set, class| set | 1 << class))
    }
}

#[derive(Debug)]
pub struct Class {
    pub name: String,
    pub satellites: Vec<String>,
    pub otherwise: Otherwise,
    users: Vec<String>,
}

/// A table of a class; letters are folded to lower case.
#[derive(Debug)]
pub struct ClassTable {
    pub schema: String,
    pub table: String,
    class: u8,
}

#[derive(Debug, Default)]
pub struct Classes {
    pub list: Vec<Class>,
    pub tables: Vec<ClassTable>,
    digests: HashMap<u64, u8>,
}

impl Classes {
    /// `reports: satellites=satellite-3,satellite-4 users=bi tables=shop.orders digests=5f3a09c2d1e4b7a0; …`, and its mistakes.
    pub fn parse(text: &str) -> (Self, Vec<String>) {
        let mut reading = Reading::default();
        for item in text.split(';').map(str::trim).filter(|i| !i.is_empty()) {
            reading.class(item);
        }
        (reading.classes, reading.mistakes)
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The names of a set's classes.
    pub fn names(&self, set: ClassSet) -> Vec<&str> {
        let named = self.list.iter().enumerate();
        let named = named.filter(|(at, _)| set.0 & 1 << at != 0);
        named.map(|(_, class)| class.name.as_str()).collect()
    }

    /// Whether a choice may name it: a class, or none.
    pub fn knows(&self, name: &ClassName) -> bool {
        name.as_str() == NONE || self.named(name).is_some()
    }

    /// Nothing for `none`.
    pub fn named(&self, name: &ClassName) -> Option<ReadClass> {
        let index = self.list.iter().position(|c| c.name == name.as_str())?;
        Some(self.at(index as u8))
    }

    pub fn of_digest(&self, digest: u64) -> Option<ReadClass> {
        self.digests.get(&digest).map(|index| self.at(*index))
    }

    pub fn of_table(&self, table: &ClassTable) -> ReadClass {
        self.at(table.class)
    }

    /// Each user of a class, with the class's name.
    pub fn users(&self) -> impl Iterator<Item = (&str, ClassName)> {
        let named = self
            .list
            .iter()
            .filter_map(|c| Some((c, ClassName::parse(&c.name)?)));
        named.flat_map(|(class, name)| class.users.iter().map(move |u| (u.as_str(), name)))
    }

    /// The classes of a satellite of this name.
    pub fn bound_to(&self, satellite: &str) -> ClassSet {
        let is_bound = |c: &&(usize, &Class)| c.1.satellites.iter().any(|s| s == satellite);
        let all: Vec<_> = self.list.iter().enumerate().collect();
        ClassSet::of(all.iter().filter(is_bound).map(|(index, _)| *index as u8))
    }

    fn at(&self, index: u8) -> ReadClass {
        let class = self.list.get(usize::from(index));
        let otherwise = class.map_or(Otherwise::Any, |c| c.otherwise);
        ReadClass { index, otherwise }
    }
}

/// Reads class after class and keeps every mistake.
#[derive(Default)]
struct Reading {
    classes: Classes,
    mistakes: Vec<String>,
}

impl Reading {
    fn class(&mut self, item: &str) {
        let (name, settings) = item.split_once(':').unwrap_or((item, ""));
        let name = name.trim();
        self.check_name(name);
        let mut class = Class {
            name: name.to_owned(),
            satellites: Vec::new(),
            otherwise: Otherwise::Any,
            users: Vec::new(),
        };
        let mut given: Vec<&str> = Vec::new();
        for part in settings.split_whitespace() {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if given.contains(&key) {
                self.mistake(name, format_args!("{key}= stands there twice"));
            }
            given.push(key);
            self.setting(&mut class, key, value);
        }
        if class.satellites.is_empty() {
            self.mistake(name, "has no satellites=…");
        }
        if self.classes.list.len() < MOST {
            self.classes.list.push(class);
        } else {
            self.mistake(name, format_args!("is one class more than {MOST}"));
        }
    }

    fn check_name(&mut self, name: &str) {
        let is_written_so = |n: ClassName| n.as_str() == name;
        if !ClassName::parse(name).is_some_and(is_written_so) {
            let expected = format!("1 to {LONGEST_NAME} of a-z, 0-9, _ and -");
            self.mistake(
                name,
                format_args!("is no class's name: expected {expected}"),
            );
        }
        if RESERVED.contains(&name) {
            self.mistake(name, "is the name of reads without a class");
        }
        if self.classes.list.iter().any(|c| c.name == name) {
            self.mistake(name, "stands there twice");
        }
    }

    fn setting(&mut self, class: &mut Class, key: &str, value: &str) {
        let name = class.name.clone();
        let parts: Vec<&str> = value.split(',').collect();
        if key != "otherwise" && parts.iter().any(|p| p.is_empty()) {
            return self.mistake(
                &name,
                format_args!("{key}= can't be {value:?}: expected a list"),
            );
        }
        match key {
            "satellites" => class.satellites = parts.iter().map(|p| (*p).to_owned()).collect(),
            "users" => parts.iter().for_each(|user| self.user(class, user)),
            "tables" => parts.iter().for_each(|table| self.table(&name, table)),
            "digests" => parts.iter().for_each(|digest| self.digest(&name, digest)),
            "otherwise" => match value {
                "any" => class.otherwise = Otherwise::Any,
                "error" => class.otherwise = Otherwise::Error,
                _ => {
                    let expected = "expected any or error";
                    self.mistake(
                        &name,
                        format_args!("otherwise can't be {value:?}: {expected}"),
                    );
                }
            },
            _ => {
                let known = "satellites=…, users=…, tables=…, digests=… or otherwise=…";
                self.mistake(&name, format_args!("{key:?} is not {known}"));
            }
        }
    }

    fn user(&mut self, class: &mut Class, user: &str) {
        let taken = self.classes.list.iter().flat_map(|c| &c.users);
        if taken.chain(&class.users).any(|u| u == user) {
            return self.mistake(
                &class.name,
                format_args!("user {user:?} stands there twice"),
            );
        }
        class.users.push(user.to_owned());
    }

    fn table(&mut self, name: &str, text: &str) {
        let folded = text.to_lowercase();
        let parts: Vec<&str> = folded.split('.').collect();
        let [schema, table] = parts[..] else {
            return self.mistake(name, format_args!("table {text:?} is not SCHEMA.TABLE"));
        };
        if schema.is_empty() || table.is_empty() {
            return self.mistake(name, format_args!("table {text:?} is not SCHEMA.TABLE"));
        }
        let is_it = |t: &ClassTable| t.schema == schema && t.table == table;
        if self.classes.tables.iter().any(is_it) {
            return self.mistake(name, format_args!("table {text:?} stands there twice"));
        }
        self.classes.tables.push(ClassTable {
            schema: schema.to_owned(),
            table: table.to_owned(),
            class: self.classes.list.len() as u8,
        });
    }

    fn digest(&mut self, name: &str, text: &str) {
        let is_hex = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16)
            .ok()
            .filter(|n| is_hex && *n != 0);
        let Some(number) = number else {
            return self.mistake(name, format_args!("digest {text:?} is not 16 hex digits"));
        };
        let class = self.classes.list.len() as u8;
        if self.classes.digests.insert(number, class).is_some() {
            self.mistake(name, format_args!("digest {text:?} stands there twice"));
        }
    }

    fn mistake(&mut self, class: &str, what: impl std::fmt::Display) {
        self.mistakes.push(format!("{class:?}: {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_class_is_found_by_all_that_belongs_to_it() {
        let (classes, mistakes) = Classes::parse(
            "reports: satellites=satellite-3,satellite-4 users=bi,etl tables=Shop.Orders digests=5f3A09c2d1e4b7a0; \
             exports: otherwise=error satellites=satellite-3;",
        );
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let named = |text| classes.named(&ClassName::parse(text).unwrap());
        let (reports, exports) = (named("Reports").unwrap(), named("exports").unwrap());
        assert_eq!((reports.index, exports.index), (0, 1));
        assert_eq!(exports.otherwise, Otherwise::Error);
        assert_eq!(named("none"), None);
        assert!(classes.knows(&ClassName::parse("none").unwrap()));
        assert!(!classes.knows(&ClassName::parse("other").unwrap()));
        assert_eq!(classes.of_digest(0x5f3a_09c2_d1e4_b7a0), Some(reports));
        assert_eq!(classes.of_table(&classes.tables[0]), reports);
        assert_eq!(classes.tables[0].table, "orders");
        let (third, fourth) = (
            classes.bound_to("satellite-3"),
            classes.bound_to("satellite-4"),
        );
        assert!(third.has(reports) && third.has(exports));
        assert!(fourth.has(reports) && !fourth.has(exports));
        assert!(classes.bound_to("satellite-1").is_empty());
        let users: Vec<_> = classes
            .users()
            .map(|(u, n)| format!("{u} {}", n.as_str()))
            .collect();
        assert_eq!(users, ["bi reports", "etl reports"]);
    }

    #[test]
    fn every_mistake_is_told() {
        for (text, count) in [
            ("a", 1),
            ("a: users=x", 1),
            ("a: satellites=", 2),
            ("a: satellites=s,", 2),
            ("A: satellites=s", 1),
            (": satellites=s", 1),
            ("none: satellites=s", 1),
            ("a: satellites=s; a: satellites=s", 1),
            ("a: satellites=s satellites=t", 1),
            ("a: satellites=s users=u,u; b: satellites=s users=u", 2),
            (
                "a: satellites=s tables=d.t; b: satellites=s tables=D.T,t,d.,a.b.c",
                4,
            ),
            (
                "a: satellites=s digests=0123456789abcdef,0123456789ABCDEF",
                1,
            ),
            (
                "a: satellites=s digests=12,0123456789abcdeg,0000000000000000",
                3,
            ),
            ("a: satellites=s otherwise=master color=red", 2),
        ] {
            let (_, mistakes) = Classes::parse(text);
            assert_eq!(mistakes.len(), count, "{text}: {mistakes:?}");
        }
        let many: Vec<_> = (0..=MOST).map(|n| format!("c{n}: satellites=s")).collect();
        assert_eq!(Classes::parse(&many.join(";")).1.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-c]: |satellites=|users=|tables=|digests=|[a-c.,; ]){0,12}") {
            let (classes, _) = Classes::parse(&text);
            prop_assert!(classes.list.len() <= MOST);
        }

        #[test]
        fn a_name_reads_back_as_it_is_written(text in "[a-z0-9_-]{1,32}") {
            let name = ClassName::parse(&text).unwrap();
            prop_assert_eq!(name.as_str(), &text);
        }
    }
}
