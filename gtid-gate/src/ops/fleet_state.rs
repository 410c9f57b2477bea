//! The servers as the settings declared them and as operators changed them: what a restart of the gate must not forget.
//!
//! In: a declared list, changes, JSON. Out: the state after them, JSON for people.
//! Must never: take a text that makes no sense for a state, or hold what follows from the settings.

use crate::freshness::{LimitsByHand, RunningByHand};
use crate::ops::config::{Address, MOST};
use serde_json::{Map, Value, json};

const VERSION: u64 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetState {
    /// What the settings declared when this was so.
    pub declared: Vec<Address>,
    pub satellites: Vec<Satellite>,
    pub master: LimitsByHand,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Satellite {
    pub address: Address,
    pub drained: bool,
    pub limits: LimitsByHand,
}

impl Satellite {
    pub fn new(address: Address) -> Self {
        Self {
            address,
            drained: false,
            limits: LimitsByHand::default(),
        }
    }
}

/// One limit of a server. None: as the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitChange {
    Running(Option<RunningByHand>),
    Connections(Option<usize>),
}

impl LimitChange {
    /// `"running"`: a number, `"auto"`, `"default"`; `"connections"`: a number, `"default"`.
    pub fn read(name: &str, value: &Value) -> Option<Self> {
        let number = value.as_u64().and_then(|n| usize::try_from(n).ok());
        let number = number.filter(|n| (1..=MOST).contains(n));
        match (name, value.as_str(), number) {
            ("running", Some("auto"), _) => Some(Self::Running(Some(RunningByHand::Auto))),
            ("running", Some("default"), _) => Some(Self::Running(None)),
            ("running", _, Some(n)) => Some(Self::Running(Some(RunningByHand::Fixed(n)))),
            ("connections", Some("default"), _) => Some(Self::Connections(None)),
            ("connections", _, Some(n)) => Some(Self::Connections(Some(n))),
            _ => None,
        }
    }

    pub fn apply(self, limits: &mut LimitsByHand) {
        match self {
            Self::Running(running) => limits.running = running,
            Self::Connections(connections) => limits.connections = connections,
        }
    }
}

impl FleetState {
    /// Nobody has changed anything.
    pub fn declared(list: &[Address]) -> Self {
        Self {
            declared: list.to_vec(),
            satellites: list.iter().cloned().map(Satellite::new).collect(),
            master: LimitsByHand::default(),
        }
    }

    /// With what is declared now: what is newly declared is added, what is no longer declared is removed, all else is as
    /// operators left it.
    pub fn merged(&self, declared: &[Address]) -> Self {
        let is_dropped = |a: &Address| self.declared.contains(a) && !declared.contains(a);
        let is_here = |a: &Address| self.satellites.iter().any(|s| s.address == *a);
        let kept = self.satellites.iter().filter(|s| !is_dropped(&s.address));
        let new = declared.iter();
        let new = new.filter(|a| !self.declared.contains(a) && !is_here(a));
        Self {
            declared: declared.to_vec(),
            satellites: kept
                .cloned()
                .chain(new.cloned().map(Satellite::new))
                .collect(),
            master: self.master,
        }
    }

    pub fn text(&self) -> String {
        let value = json!({
            "version": VERSION,
            "declared": self.declared.iter().map(Address::to_string).collect::<Vec<_>>(),
            "satellites": self.satellites.iter().map(satellite_value).collect::<Vec<_>>(),
            "master": { "limits": limits_value(self.master) },
        });
        format!("{value:#}\n")
    }

    /// Or what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        match &value["version"] {
            version if *version == VERSION => {}
            version => return Err(format!("version {version}; this gate knows {VERSION}")),
        }
        let fields = object(&value, &["version", "declared", "satellites", "master"])?;
        let declared: Result<Vec<_>, _> = list(fields, "declared")?.iter().map(address).collect();
        let satellites: Result<Vec<_>, _> = list(fields, "satellites")?
            .iter()
            .map(read_satellite)
            .collect();
        let master = fields.get("master").ok_or("\"master\" is missing")?;
        let state = Self {
            declared: declared?,
            satellites: satellites?,
            master: limits(object(master, &["limits"])?)?,
        };
        if state.master.running == Some(RunningByHand::Auto) {
            return Err("the master's limit is a number".to_owned());
        }
        once(&state.declared.iter().collect::<Vec<_>>())?;
        once(
            &state
                .satellites
                .iter()
                .map(|s| &s.address)
                .collect::<Vec<_>>(),
        )?;
        Ok(state)
    }
}

fn satellite_value(satellite: &Satellite) -> Value {
    json!({
        "address": satellite.address.to_string(),
        "drained": satellite.drained,
        "limits": limits_value(satellite.limits),
    })
}

fn limits_value(limits: LimitsByHand) -> Value {
    let mut value = Map::new();
    match limits.running {
        Some(RunningByHand::Auto) => drop(value.insert("running".to_owned(), "auto".into())),
        Some(RunningByHand::Fixed(n)) => drop(value.insert("running".to_owned(), n.into())),
        None => {}
    }
    if let Some(connections) = limits.connections {
        value.insert("connections".to_owned(), connections.into());
    }
    Value::Object(value)
}

fn object<'a>(value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let fields = value.as_object().ok_or(format!("{value} is no object"))?;
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("{name:?} means nothing")),
        None => Ok(fields),
    }
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], String> {
    let list = fields.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice)
        .ok_or(format!("{name:?} is no list"))
}

fn address(value: &Value) -> Result<Address, String> {
    let text = value.as_str().unwrap_or_default();
    text.parse().map_err(|what| format!("{value} is {what}"))
}

fn read_satellite(value: &Value) -> Result<Satellite, String> {
    let fields = object(value, &["address", "drained", "limits"])?;
    let drained = fields.get("drained").and_then(Value::as_bool);
    Ok(Satellite {
        address: address(&value["address"])?,
        drained: drained.ok_or("\"drained\" is neither true nor false")?,
        limits: limits(fields)?,
    })
}

fn limits(fields: &Map<String, Value>) -> Result<LimitsByHand, String> {
    let given = fields.get("limits").and_then(Value::as_object);
    let mut limits = LimitsByHand::default();
    for (name, value) in given.ok_or("\"limits\" is no object")? {
        let change = LimitChange::read(name, value);
        change
            .ok_or_else(|| format!("{name:?} can not be {value}"))?
            .apply(&mut limits);
    }
    Ok(limits)
}

fn once(addresses: &[&Address]) -> Result<(), String> {
    let mut each = addresses.iter().enumerate();
    let twice = each.find(|(at, address)| addresses[..*at].contains(address));
    twice.map_or(Ok(()), |(_, address)| {
        Err(format!("{address} stands there twice"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::subsequence;

    fn addresses(names: &[&str]) -> Vec<Address> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn names(state: &FleetState) -> Vec<String> {
        let each = state.satellites.iter();
        each.map(|s| s.address.host.clone()).collect()
    }

    /// Some of five.
    fn some() -> impl Strategy<Value = Vec<Address>> {
        let all = addresses(&["a:1", "b:1", "c:1", "d:1", "e:1"]);
        subsequence(all, 0..=5).prop_shuffle()
    }

    fn some_limits() -> impl Strategy<Value = LimitsByHand> {
        let number = || 1..=MOST;
        let running = prop_oneof![
            Just(RunningByHand::Auto),
            number().prop_map(RunningByHand::Fixed)
        ];
        let both = (
            proptest::option::of(running),
            proptest::option::of(number()),
        );
        both.prop_map(|(running, connections)| LimitsByHand {
            running,
            connections,
        })
    }

    prop_compose! {
        fn satellites()(list in some())(
            flags in proptest::collection::vec((any::<bool>(), some_limits()), list.len()),
            list in Just(list),
        ) -> Vec<Satellite> {
            let each = list.into_iter().zip(flags);
            each.map(|(address, (drained, limits))| Satellite { address, drained, limits }).collect()
        }
    }

    prop_compose! {
        fn states()(declared in some(), satellites in satellites(), master in some_limits()) -> FleetState {
            let running = master.running.filter(|r| *r != RunningByHand::Auto);
            FleetState { declared, satellites, master: LimitsByHand { running, ..master } }
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(state in states()) {
            prop_assert_eq!(FleetState::parse(&state.text()), Ok(state));
        }

        #[test]
        fn who_is_there_after_a_merge(state in states(), declared in some(), at in 0..5_usize) {
            let address = addresses(&["a:1", "b:1", "c:1", "d:1", "e:1"])[at].clone();
            let merged = state.merged(&declared);
            let find = |state: &FleetState| state.satellites.iter().find(|s| s.address == address).cloned();
            let (before, after) = (find(&state), find(&merged));
            let was_declared = state.declared.contains(&address);
            match (was_declared, declared.contains(&address)) {
                (true, false) => prop_assert_eq!(after, None),
                (false, true) => prop_assert_eq!(after, Some(before.unwrap_or(Satellite::new(address)))),
                _ => prop_assert_eq!(after, before),
            }
        }

        #[test]
        fn a_merge_names_nobody_twice_and_a_second_one_changes_nothing(state in states(), declared in some()) {
            let merged = state.merged(&declared);
            prop_assert_eq!(merged.merged(&declared), merged.clone());
            prop_assert_eq!(FleetState::parse(&merged.text()), Ok(merged.clone()));
            prop_assert_eq!((&merged.declared, merged.master), (&declared, state.master));
        }

        #[test]
        fn while_nobody_changes_anything_the_declared_list_holds(first in some(), second in some()) {
            let sorted = |state: &FleetState| {
                let mut names = names(state);
                names.sort();
                names
            };
            let merged = FleetState::declared(&first).merged(&second);
            prop_assert_eq!(sorted(&merged), sorted(&FleetState::declared(&second)));
        }
    }

    #[test]
    fn what_was_added_and_removed_by_hand_survives_a_new_declaration() {
        let mut state = FleetState::declared(&addresses(&["a", "b", "c"]));
        state.satellites.remove(1);
        state.satellites[0].drained = true;
        state
            .satellites
            .extend(addresses(&["x"]).into_iter().map(Satellite::new));
        let merged = state.merged(&addresses(&["a", "b", "d"]));
        assert_eq!(names(&merged), ["a", "x", "d"]);
        assert!(merged.satellites[0].drained && !merged.satellites[2].drained);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_reason() {
        let limited = |limits: &str| {
            format!(
                r#"{{"version":1,"declared":[],"satellites":[],"master":{{"limits":{limits}}}}}"#
            )
        };
        let with = |satellites: &str| {
            format!(
                r#"{{"version":1,"declared":["a","b"],"satellites":[{satellites}],"master":{{"limits":{{}}}}}}"#
            )
        };
        let one =
            |address: &str| format!(r#"{{"address":{address},"drained":false,"limits":{{}}}}"#);
        assert!(FleetState::parse(&with(&one("\"a\""))).is_ok());
        let (a, twice) = (one("\"a\""), one("\"a:3306\""));
        let wrong = [
            (String::new(), "EOF"),
            ("[]".to_owned(), "version null"),
            (r#"{"version":2}"#.to_owned(), "version 2"),
            (r#"{"version":1}"#.to_owned(), "declared"),
            (with("7"), "7 is no object"),
            (with(&one("\"a:x\"")), "a:x"),
            (with(&one("7")), "7 is not a host:port"),
            (with(&format!("{a},{twice}")), "a:3306 stands there twice"),
            (with(&a.replace("drained", "dry")), "dry"),
            (with(&a.replace("false", "1")), "drained"),
            (limited("[]"), "limits"),
            (limited(r#"{"running":0}"#), "running"),
            (limited(r#"{"walking":1}"#), "walking"),
            (limited(r#"{"running":"auto"}"#), "master"),
        ];
        for (text, reason) in wrong {
            let refused = FleetState::parse(&text).unwrap_err();
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }
}
