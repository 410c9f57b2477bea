//! SHOW MULTIMED VARIABLES: settings of the gate, and what holds for the reads of the session that asks.
//!
//! In: the settings, and what the session's reads are promised. Out: rows, by the names that `docs/settings.md` has.
//! Must never: show a secret, an address, a path, or other accounts.

use super::status::matching;
use crate::common::consistency::Policy;
use crate::ops::config::{Config, RunningLimit};
use crate::protocol::result_set::{Column, Value as Cell};
use std::time::Duration;

/// As of MySQL's SHOW VARIABLES.
pub const VARIABLES: &[Column] = &[Column::text("Variable_name"), Column::text("Value")];

/// What the next statement of the session would be promised, if it reads and says nothing itself.
pub struct Promised<'a> {
    pub policy: Policy,
    /// The class that its user or the session chose.
    pub class: Option<&'a str>,
}

pub fn variables(config: &Config, promised: &Promised<'_>, like: Option<&str>) -> Vec<Vec<Cell>> {
    let of_session = session(promised);
    let all = of_session.into_iter().chain(settings(config));
    matching(all.map(|(name, value)| (name.to_owned(), value)), like)
}

fn session(promised: &Promised<'_>) -> [(&'static str, String); 5] {
    let policy = promised.policy;
    [
        ("@multimed_after_wait", policy.after_wait.to_string()),
        ("@multimed_class", promised.class.unwrap_or("none").into()),
        ("@multimed_consistency", policy.level.to_string()),
        ("@multimed_master_reads", policy.master_reads.to_string()),
        ("@multimed_wait_ms", millis(policy.wait)),
    ]
}

fn settings(config: &Config) -> Vec<(&'static str, String)> {
    let Config {
        policy, back_off, ..
    } = config;
    let running = match config.limits.running {
        RunningLimit::Auto(most) => most.to_string(),
        RunningLimit::Fixed(most) => format!("fixed:{most}"),
    };
    let verifications = config.login_verifications.to_string();
    vec![
        ("GATE_AFTER_WAIT", policy.after_wait.to_string()),
        (
            "GATE_CONNECTION_MEMORY_BYTES",
            config.connection_memory.to_string(),
        ),
        ("GATE_CONNECT_TIMEOUT_MS", millis(config.connect_timeout)),
        ("GATE_CONSISTENCY", policy.level.to_string()),
        ("GATE_DRAIN_MS", millis(config.drain)),
        ("GATE_FALLBACK_LIMIT", config.fallback_limit.to_string()),
        ("GATE_FALLBACK_QUEUE_MS", millis(config.fallback_queue)),
        ("GATE_HEAVY_MS", millis(config.heavy_from)),
        ("GATE_KEEPALIVE_MS", millis(config.keepalive)),
        ("GATE_LOG", config.log.clone()),
        ("GATE_LOGIN_FAILURES", back_off.failures.to_string()),
        ("GATE_LOGIN_MAX_DELAY_MS", millis(back_off.longest)),
        ("GATE_LOGIN_MIN_DELAY_MS", millis(back_off.shortest)),
        ("GATE_LOGIN_TIMEOUT_MS", millis(config.login_timeout)),
        ("GATE_LOGIN_VERIFICATIONS", verifications),
        ("GATE_MASTER_READS", policy.master_reads.to_string()),
        ("GATE_MAX_CONNECTIONS", config.max_connections.to_string()),
        ("GATE_MAX_LOGINS", config.max_logins.to_string()),
        ("GATE_MAX_PACKET_BYTES", config.max_packet.to_string()),
        ("GATE_MEMORY_BYTES", config.memory.to_string()),
        (
            "GATE_PASSWORD_TTL_S",
            config.password_ttl.as_secs().to_string(),
        ),
        ("GATE_QUEUE_MS", millis(config.queue)),
        (
            "GATE_SERVER_CONNECTIONS",
            config.limits.connections.to_string(),
        ),
        ("GATE_SERVER_RUNNING", running),
        ("GATE_SERVER_TIMEOUT_MS", millis(config.server_timeout)),
        ("GATE_WAIT_MS", millis(policy.wait)),
        ("GATE_WORKERS", config.workers.to_string()),
    ]
}

fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::shared;
    use std::collections::BTreeSet;

    /// Secrets, addresses and paths, accounts; and what only tests set.
    const UNTOLD: [&str; 25] = [
        "GATE_ADMIN_TOKEN",
        "GATE_APPLIER_STATUS",
        "GATE_CAPTURE_STATUS",
        "GATE_CLASSES",
        "GATE_HANDOVER",
        "GATE_HTTP_HOSTS",
        "GATE_LISTEN",
        "GATE_MACHINE_FILE",
        "GATE_MASTER",
        "GATE_PASSWORD",
        "GATE_PROXY_LISTEN",
        "GATE_PROXY_SOCKET",
        "GATE_RSA_KEY_FILE",
        "GATE_SATELLITES",
        "GATE_SATELLITES_FILE",
        "GATE_SOCKETS",
        "GATE_STATE",
        "GATE_STATUS_LISTEN",
        "GATE_TABLE_STREAM",
        "GATE_TEST_BREAK",
        "GATE_TLS_CERT_FILE",
        "GATE_TLS_KEY_FILE",
        "GATE_USER",
        "GATE_USERS",
        "GATE_VERIFY_FILE",
    ];

    /// In the sources that read settings.
    fn read_by_the_gate() -> BTreeSet<&'static str> {
        let sources = [
            include_str!("../ops/config.rs"),
            include_str!("../ops/config/settings.rs"),
        ];
        let code = sources.map(|s| s.split("#[cfg(test)]\nmod tests").next().unwrap());
        let texts = code.into_iter().flat_map(|c| c.split('"'));
        let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
        texts
            .filter(|t| t.starts_with("GATE_") && t.chars().all(is_name))
            .collect()
    }

    #[tokio::test]
    async fn every_setting_is_told_or_left_out_for_a_reason() {
        let shared = shared(&[]);
        let told = settings(&shared.config);
        let names = told.iter().map(|(name, _)| *name);
        let known: BTreeSet<&str> = names.chain(UNTOLD).collect();
        assert_eq!(known, read_by_the_gate());
        assert!(told.is_sorted_by_key(|(name, _)| *name));
    }

    #[tokio::test]
    async fn the_sessions_own_choice_stands_beside_the_setting() {
        let shared = shared(&[("GATE_WAIT_MS", "70")]);
        let mut policy = shared.config.policy;
        policy.level = crate::common::consistency::Level::Bounded(Duration::from_millis(500));
        let promised = Promised {
            policy,
            class: Some("reports"),
        };
        let found = |name: &str| variables(&shared.config, &promised, Some(name))[0][1].clone();
        assert_eq!(found("@multimed_consistency"), "bounded:500".into());
        assert_eq!(found("gate_consistency"), "eventual".into());
        assert_eq!(found("@multimed\\_class"), "reports".into());
        assert_eq!(found("GATE_WAIT_MS"), "70".into());
        assert_eq!(found("@multimed_after_wait"), "master".into());
    }
}
