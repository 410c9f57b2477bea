//! The gate's own counters and gauges, as JSON.
//!
//! In: what all sessions share. Out: an object; counters that have kinds are objects in it. Must never: wait for anybody.

use crate::clients::shared::Shared;
use crate::ops::metrics::by_label;
use serde_json::{Map, Value, json};

pub fn gate(shared: &Shared) -> Value {
    let metrics = &shared.metrics;
    let levels = metrics
        .levels()
        .map(|(name, count)| (name.to_owned(), count.into()));
    let counters = [
        ("master_statements", &metrics.master_statements),
        ("waits", &metrics.waits),
        ("hopeless_waits", &metrics.hopeless_waits),
        ("wait_errors", &metrics.wait_errors),
        ("fallbacks", &metrics.fallbacks),
        ("fallback_rejections", &metrics.fallback_rejections),
        ("moved_reads", &metrics.moved_reads),
        ("refused_as_write", &metrics.refused_as_write),
        ("spare_reads", &metrics.spare_reads),
        ("table_reads", &metrics.table_reads),
    ];
    let mut gate: Map<String, Value> = counters
        .map(|(name, counter)| (name.to_owned(), counter.get().into()))
        .into_iter()
        .collect();
    let more = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("up", json!(shared.began.elapsed().as_secs())),
        ("sessions", json!(metrics.sessions.get())),
        ("memory", json!(metrics.memory.get())),
        ("memory_limit", json!(shared.config.memory)),
        ("stopping", json!(*shared.draining.borrow())),
        ("reads_by_level", Value::Object(levels.collect())),
        ("overloads", json!(by_label(&metrics.overloads))),
        ("logins", json!(by_label(&metrics.logins))),
        ("errors", json!(by_label(&metrics.errors))),
        ("class_errors", json!(by_label(&metrics.class_errors))),
        ("wait_s", json!(metrics.wait_seconds.get_sample_sum())),
    ];
    gate.extend(more.map(|(name, value)| (name.to_owned(), value)));
    if shared.config.table_stream.is_some() {
        gate.insert("table_stream".into(), metrics.table_stream_up.get().into());
    }
    Value::Object(gate)
}
