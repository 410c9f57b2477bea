//! What the metrics need from files, read when somebody looks at them: how full each server's data is, what `make verify` found last, how
//! old the gate's own password is.
//!
//! In: the files that settings name. Out: gauges brought up to date; one of what is not known is not shown. Must never: wait for anybody.

use crate::backend::Server;
use crate::clients::shared::Shared;
use crate::ops::look::facts::{self, Facts};
use crate::ops::metrics::Metrics;
use prometheus::GaugeVec;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A server writes its facts when somebody has looked; what it wrote after one look is read at the next.
const RECENT: Duration = Duration::from_secs(300);

pub fn read(shared: &Shared) {
    let (config, metrics) = (&shared.config, &shared.metrics);
    for server in shared.gate.servers.all() {
        fills(&server, metrics);
    }
    if let Some(sockets) = &config.sockets {
        facts::want(sockets);
    }
    if let Some(verified) = config.verify_file.as_deref().and_then(facts::read) {
        verify(&verified, metrics);
    }
    let changed = config
        .password_file
        .as_deref()
        .and_then(|path| path.metadata().ok()?.modified().ok());
    if let Some(changed) = changed {
        set(&metrics.password_changed, seconds(changed));
    }
}

fn fills(server: &Server, metrics: &Metrics) {
    let path = server.socket.as_deref().and_then(facts::of_server);
    let told = path.and_then(|path| facts::read_recent(&path, RECENT));
    let shown = [
        ("data", &metrics.data),
        ("data_size", &metrics.data_size),
        ("memory", &metrics.server_memory),
        ("memory_limit", &metrics.server_memory_limit),
        ("failures", &metrics.bootstrap_failures),
    ];
    for (name, gauges) in shown {
        show(
            gauges,
            &server.name,
            told.as_ref().and_then(|told| number(told, name)),
        );
    }
}

fn show(gauges: &GaugeVec, server: &str, value: Option<f64>) {
    match value {
        Some(value) => gauges.with_label_values(&[server]).set(value),
        None => drop(gauges.remove_label_values(&[server])),
    }
}

fn verify(told: &Facts, metrics: &Metrics) {
    if let (Some(at), Some(status)) = (number(told, "at"), number(told, "status")) {
        set(&metrics.verified, at);
        set(&metrics.verify_status, status);
    }
}

fn set(gauge: &GaugeVec, value: f64) {
    gauge.with_label_values::<&str>(&[]).set(value);
}

fn number(told: &Facts, name: &str) -> Option<f64> {
    told.get(name)?.parse().ok()
}

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::shared;

    #[tokio::test]
    async fn what_files_tell_is_shown_and_what_they_do_not_is_not() {
        let folder =
            std::env::temp_dir().join(format!("gtid-gate-readings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (verified, password) = (folder.join("verify"), folder.join("password"));
        std::fs::write(&password, "secret").unwrap();
        let name = |path: &std::path::Path| path.display().to_string();
        let shared = shared(&[
            ("GATE_SOCKETS", &name(&folder)),
            ("GATE_VERIFY_FILE", &name(&verified)),
        ]);
        let shown = |what: &str| shared.metrics.text().unwrap().contains(what);
        read(&shared);
        assert!(
            folder.join("watched").exists(),
            "servers are asked for their facts"
        );
        assert!(!shown("gtid_gate_server_data_bytes{") && !shown("gtid_gate_last_verify_status "));

        let master = &shared.gate.servers.master;
        let facts = facts::of_server(master.socket.as_ref().unwrap()).unwrap();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        std::fs::write(
            &facts,
            format!("at={now}\ndata=90\ndata_size=100\nmemory=5\nfailures=4\n"),
        )
        .unwrap();
        std::fs::write(&verified, "at=1700000000\nstatus=1\n").unwrap();
        read(&shared);
        let data = format!(
            "gtid_gate_server_data_bytes{{server=\"{}\"}} 90",
            master.name
        );
        assert!(shown(&data) && !shown("gtid_gate_server_memory_limit_bytes{"));
        assert!(shown("gtid_gate_server_bootstrap_failures{"));
        assert!(
            shown("gtid_gate_last_verify_status 1")
                && shown("gtid_gate_last_verify_timestamp_seconds 1700000000")
        );
        std::fs::write(&verified, "at=1700000001\nstatus=2\n").unwrap();
        read(&shared);
        assert!(
            shown("gtid_gate_last_verify_status 2"),
            "not proven is not wrong"
        );

        std::fs::write(&facts, format!("at={}\ndata=90\n", now - 3600)).unwrap();
        read(&shared);
        assert!(!shown("gtid_gate_server_data_bytes{"));
        assert!(!shown("gtid_gate_server_bootstrap_failures{"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
