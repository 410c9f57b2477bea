//! SHOW MULTIMED STATUS: the gate's counters and what becomes of its servers, by name.
//!
//! In: what all sessions share. Out: rows, sorted by name. Must never: wait for anybody.

use super::gate::gate;
use super::like::Pattern;
use crate::backend::Role;
use crate::clients::shared::Shared;
use crate::protocol::result_set::{Column, Value as Cell};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// As of MySQL's SHOW STATUS.
pub const STATUS: &[Column] = &[Column::text("Variable_name"), Column::text("Value")];

const PREFIX: &str = "Multimed";

pub fn status(shared: &Shared, like: Option<&str>) -> Vec<Vec<Cell>> {
    let mut named = BTreeMap::new();
    for (name, value) in [gate(shared), fleet(shared)].iter().flat_map(entries) {
        flatten(format!("{PREFIX}_{name}"), value, &mut named);
    }
    matching(named.into_iter(), like)
}

/// Rows of those whose name is like that.
pub(super) fn matching(
    named: impl Iterator<Item = (String, String)>,
    like: Option<&str>,
) -> Vec<Vec<Cell>> {
    let pattern = like.map(Pattern::new);
    let fits = |name: &str| pattern.as_ref().is_none_or(|p| p.matches(name));
    named
        .filter(|(name, _)| fits(name))
        .map(|(name, value)| vec![name.into(), value.into()])
        .collect()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Kinds of a counter follow its name.
fn flatten(name: String, value: &Value, named: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Object(kinds) => {
            for (kind, value) in kinds {
                flatten(format!("{name}_{kind}"), value, named);
            }
            return;
        }
        Value::String(text) => text.clone(),
        Value::Bool(on) => if *on { "ON" } else { "OFF" }.to_owned(),
        Value::Null => String::new(),
        value => value.to_string(),
    };
    named.insert(name, text);
}

/// Of all servers together.
fn fleet(shared: &Shared) -> Value {
    let servers = shared.gate.servers.all();
    let reads = |role| {
        let of_role = servers.iter().filter(move |s| s.role == role);
        of_role
            .map(|s| shared.metrics.reads_of(&s.name).get())
            .sum::<u64>()
    };
    let (satellites, master) = (reads(Role::Satellite), reads(Role::Master));
    let live = servers
        .iter()
        .filter(|s| s.role == Role::Satellite && s.is_live());
    let serving = live.filter(|s| !s.draining.load(Ordering::Relaxed)).count();
    let position = shared.gate.servers.master.position();
    json!({
        "reads_total": satellites + master,
        "reads_on_satellites": satellites,
        "reads_on_master": master,
        "satellites": servers.len() - 1,
        "satellites_serving": serving,
        "master_state": shared.gate.servers.master.state(),
        "master_gtid_set": position.map(|p| p.executed.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::shared;

    #[tokio::test]
    async fn counters_are_rows_and_their_kinds_too() {
        let shared = shared(&[]);
        shared.metrics.fallbacks.inc();
        let kinds = &shared.metrics.overloads;
        kinds.with_label_values(&["running"]).inc();
        shared.metrics.reads_of("127.0.0.1").inc();
        let found = |name: &str| {
            let rows = status(&shared, Some(name));
            match &rows[..] {
                [row] => row[1].clone(),
                rows => panic!("{name}: {rows:?}"),
            }
        };
        assert_eq!(found("Multimed\\_fallbacks"), "1".into());
        assert_eq!(found("Multimed_overloads_running"), "1".into());
        assert_eq!(found("multimed_reads_by_level_strong"), "0".into());
        assert_eq!(found("Multimed_satellites"), "1".into());
        assert_eq!(found("Multimed_satellites_serving"), "0".into());
        assert_eq!(found("Multimed_master_state"), "down".into());
        assert_eq!(found("Multimed_stopping"), "OFF".into());
        assert_eq!(found("Multimed_master_gtid_set"), "".into());
        let all = status(&shared, None);
        assert!(all.len() > 25 && all.is_sorted_by_key(|row| format!("{:?}", row[0])));
    }
}
