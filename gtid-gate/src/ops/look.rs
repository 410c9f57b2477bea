//! What the status page shows, as JSON: the gate's own counters, its list of servers, and what these, capture and the appliers say of
//! themselves. Counters stand as they are; the page makes rates of them. What is not known is null or not there.
//!
//! - `at` (ms since 1970), `gate`: counters and gauges; `reads_by_level`, `overloads`, `logins`, `errors` by name
//! - `servers`: each as GET /servers has it, without its GTID set, and `p50_ms`, `p99_ms` (of the statements of the last ten seconds), `mysql` (see `mysql`), `host` (see `facts`), `applier`
//! - `capture`: counters and the lag of the last ten seconds; null if it does not answer, absent before it could and where the gate is not told where it is
//! - `verify`: `at` (s since 1970) and `status` of the last `make verify`
//!
//! In: a fleet. Out: a snapshot. Must never: wait for anybody, or show what GET /servers and /metrics would not.

pub(super) mod facts;
mod mysql;
mod pages;
mod polled;
mod window;

use crate::backend::{Monitor, Role, Server};
use crate::clients::shared::Shared;
use crate::ops::config::Address;
use crate::ops::fleet::Fleet;
use crate::views::{describe, gate};
use facts::Facts;
use mysql::Numbers;
use pages::Samples;
use polled::Polled;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use window::Window;

const LAG: &str = "multimed_capture_lag_seconds";

/// Asks as long as it is there.
pub struct Look {
    fleet: Arc<Fleet>,
    /// By the number of the server.
    asked: HashMap<usize, Asked>,
    capture: Option<Polled<Samples>>,
    lag: Window,
}

/// What one server and its applier are asked.
struct Asked {
    /// What statements took.
    times: Window,
    mysql: Polled<Numbers>,
    applier: Option<Polled<Samples>>,
}

impl Look {
    pub fn begin(fleet: Arc<Fleet>) -> Self {
        let capture = fleet.shared.config.capture_status.clone();
        Self {
            fleet,
            asked: HashMap::new(),
            capture: capture.map(pages::ask),
            lag: Window::default(),
        }
    }

    pub fn snapshot(&mut self) -> Value {
        let shared = self.fleet.shared.clone();
        if let Some(sockets) = &shared.config.sockets {
            facts::want(sockets);
        }
        let servers = shared.gate.servers.all();
        self.asked
            .retain(|id, _| servers.iter().any(|s| s.id == *id));
        let servers: Vec<Value> = servers.iter().map(|s| self.server(s, &shared)).collect();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let mut snapshot = json!({
            "at": now.as_millis() as u64,
            "gate": gate(&shared),
            "servers": servers,
        });
        if let Some(capture) = &self.capture {
            if let Some(samples) = capture.fresh() {
                snapshot["capture"] = described(&samples, &mut self.lag);
            } else if capture.is_silent() {
                snapshot["capture"] = Value::Null;
            }
        }
        let verified = shared.config.verify_file.as_deref().and_then(facts::read);
        if let Some(verified) = verified {
            snapshot["verify"] = told(&verified);
        }
        snapshot
    }

    fn server(&mut self, server: &Arc<Server>, shared: &Shared) -> Value {
        let asked = self
            .asked
            .entry(server.id)
            .or_insert_with(|| ask(server, shared));
        let mut value = describe(server, shared);
        if let Some(known) = value.as_object_mut() {
            known.remove("gtid_set");
            asked.times.add(server.statement_times.buckets());
            for (name, share) in [("p50_ms", 0.5), ("p99_ms", 0.99)] {
                let seconds = asked.times.quantile(share);
                known.insert(name.into(), json!(seconds.map(|s| s * 1e3)));
            }
            known.insert("version".into(), server.version().into());
            let mysql = asked.mysql.fresh().filter(|_| server.is_live());
            known.insert("mysql".into(), json!(mysql.as_deref()));
            let host = server.socket.as_deref().and_then(facts::of_server);
            let host = host.and_then(|path| facts::read_fresh(&path));
            known.insert(
                "host".into(),
                host.map_or(Value::Null, |facts| told(&facts)),
            );
            if let Some(applier) = &asked.applier {
                if let Some(samples) = applier.fresh() {
                    known.insert("applier".into(), applies(&samples));
                } else if applier.is_silent() {
                    known.insert("applier".into(), Value::Null);
                }
            }
        }
        value
    }
}

fn ask(server: &Arc<Server>, shared: &Shared) -> Asked {
    let monitor = Monitor::new(server.clone(), &shared.config, shared.metrics.clone());
    let applier = shared.config.applier_status.as_ref();
    let applier = applier.filter(|_| server.role == Role::Satellite);
    Asked {
        times: Window::default(),
        mysql: mysql::ask(monitor),
        applier: applier.and_then(|pattern| Some(pages::ask(applier_of(&server.name, pattern)?))),
    }
}

/// `*` stands for the number at the end of a satellite's name.
fn applier_of(satellite: &str, pattern: &Address) -> Option<Address> {
    let number = satellite.rsplit_once('-')?.1;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| Address {
        host: pattern.host.replace('*', number),
        port: pattern.port,
    })
}

fn described(capture: &Samples, lag: &mut Window) -> Value {
    lag.add(capture.buckets(LAG));
    let ms = |share| lag.quantile(share).map(|seconds| seconds * 1e3);
    json!({
        "transactions": capture.by_label("multimed_capture_transactions_total"),
        "raw": capture.by_label("multimed_capture_raw_total"),
        "bytes": capture.sum("multimed_capture_bytes_total"),
        "rebuild": capture.sum("multimed_capture_rebuild_total"),
        "broken_log": capture.sum("multimed_capture_broken_log_total"),
        "live_readers": capture.sum("multimed_capture_live_readers"),
        "epoch": capture.sum("multimed_capture_epoch"),
        "retention_s": capture.sum("multimed_capture_log_retention_seconds"),
        "compared": capture.sum("multimed_capture_comparison_progress"),
        "compared_at": capture.sum("multimed_capture_comparison_passed_timestamp_seconds"),
        "not_compared": capture.sum("multimed_capture_comparison_skipped_tables"),
        "lag_p50_ms": ms(0.5),
        "lag_p99_ms": ms(0.99),
    })
}

fn applies(applier: &Samples) -> Value {
    json!({
        "live": applier.sum("multimed_applier_live"),
        "lag_s": applier.sum("multimed_applier_lag_seconds"),
        "retries": applier.sum("multimed_applier_retries_total"),
        "rebuilds": applier.by_label("multimed_applier_rebuilds_total"),
    })
}

/// Numbers as such.
fn told(facts: &Facts) -> Value {
    let value = |text: &String| {
        text.parse::<u64>()
            .map_or(json!(text), |number| json!(number))
    };
    let each = facts.iter().map(|(name, text)| (name.clone(), value(text)));
    Value::Object(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::fleet_state::FleetState;
    use crate::ops::state_file::StateFile;
    use crate::test_support::shared;

    fn look(settings: &[(&str, &str)]) -> Look {
        let shared = shared(settings);
        let state = FleetState::declared(&shared.config.satellites);
        let fleet = Fleet::new(shared, state, StateFile::new(None));
        Look::begin(Arc::new(fleet))
    }

    #[tokio::test]
    async fn a_snapshot_has_the_gate_and_each_server_and_says_what_is_not_known() {
        let mut look = look(&[("GATE_CAPTURE_STATUS", "127.0.0.1:1")]);
        let shared = look.fleet.shared.clone();
        shared.metrics.fallbacks.inc();
        shared
            .metrics
            .overloads
            .with_label_values(&["running"])
            .inc();
        let snapshot = look.snapshot();
        assert_eq!(snapshot["gate"]["fallbacks"], 1);
        assert_eq!(snapshot["gate"]["overloads"]["running"], 1);
        assert_eq!(snapshot["gate"]["reads_by_level"]["strong"], 0);
        let servers = snapshot["servers"].as_array().unwrap();
        assert_eq!(servers.len(), 2);
        assert!(
            servers
                .iter()
                .all(|s| s["mysql"].is_null() && s.get("gtid_set").is_none())
        );
        let absent = ["capture", "verify"].map(|name| snapshot.get(name));
        assert_eq!(absent, [None, None], "nobody has had the time to answer");
    }

    #[tokio::test]
    async fn a_server_that_is_gone_is_asked_no_more() {
        let mut look = look(&[]);
        look.snapshot();
        assert_eq!(look.asked.len(), 2);
        let servers = &look.fleet.shared.gate.servers;
        servers.remove(servers.satellites()[0].id);
        assert!(look.snapshot().get("capture").is_none());
        assert_eq!(look.asked.len(), 1);
    }

    #[test]
    fn an_applier_has_the_number_of_its_satellite() {
        let pattern: Address = "applier-*:8080".parse().unwrap();
        let of = |name| applier_of(name, &pattern).map(|a| a.to_string());
        assert_eq!(of("satellite-12").as_deref(), Some("applier-12:8080"));
        assert_eq!(
            (of("db.example"), of("10.0.0.1:3306"), of("satellite-")),
            (None, None, None)
        );
    }
}
