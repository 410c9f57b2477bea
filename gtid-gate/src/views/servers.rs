//! The servers, one by one.
//!
//! In: a server. Out: what everybody may know of it, as JSON, and the same as rows. Must never: wait for anybody.

use super::cells::row;
use crate::backend::{Role, Server, lag_transactions};
use crate::clients::shared::Shared;
use crate::protocol::result_set::{Column, Value as Cell};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// Columns of SHOW MULTIMED SERVERS.
pub const SERVERS: &[Column] = &[
    Column::text("Server"),
    Column::text("Role"),
    Column::text("State"),
    Column::text("Incarnation"),
    Column::count("Lag_ms"),
    Column::count("Lag_transactions"),
    Column::count("Reads"),
    Column::count("Running"),
    Column::count("Running_limit"),
    Column::text("Running_limit_found"),
    Column::count("Queued"),
    Column::count("Heavy"),
    Column::count("Open"),
    Column::count("Connections"),
    Column::count("Connections_limit"),
    Column::text("Classes"),
    Column::text("Gtid_set"),
];

/// Where the description has what each column shows.
const FOUND_AT: [&str; SERVERS.len()] = [
    "/name",
    "/role",
    "/state",
    "/incarnation",
    "/lag_ms",
    "/lag_transactions",
    "/reads",
    "/load",
    "/limits/running",
    "/limits/auto",
    "/queued",
    "/heavy",
    "/open",
    "/sessions",
    "/limits/connections",
    "/classes",
    "/gtid_set",
];

pub fn describe(server: &Server, shared: &Shared) -> Value {
    let position = server.position();
    let master = shared.gate.servers.master.position();
    let limits = json!({
        "running": server.turns.limit(),
        "auto": server.found.is_found(),
        "connections": server.pool.limit(),
    });
    json!({
        "name": server.name,
        "role": match server.role { Role::Master => "master", Role::Satellite => "satellite" },
        "address": server.address.to_string(),
        "state": server.state(),
        "incarnation": position.as_ref().map(|p| p.incarnation.to_string()),
        "gtid_set": position.as_ref().map(|p| p.executed.to_string()),
        "load": server.load(),
        "queued": server.turns.queued(),
        "heavy": server.heavy.load(Ordering::Relaxed),
        "open": server.open.load(Ordering::Relaxed),
        "sessions": server.pool.open(),
        "limits": limits,
        "classes": shared.config.classes.names(server.bound),
        "lag_transactions": lag_transactions(master.as_deref(), position.as_deref()),
        "lag_ms": position.as_ref().map(|_| server.lag_ms.load(Ordering::Relaxed)),
        "reads": shared.metrics.reads_of(&server.name).get(),
    })
}

/// The master first.
pub fn servers(shared: &Shared) -> Vec<Vec<Cell>> {
    let all = shared.gate.servers.all();
    all.iter()
        .map(|server| row(SERVERS, &describe(server, shared), &FOUND_AT, []))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::shared;

    #[tokio::test]
    async fn each_server_has_a_row_and_what_is_not_known_is_null() {
        let classes = "reports: satellites=127.0.0.1";
        let shared = shared(&[
            ("GATE_CLASSES", classes),
            ("GATE_MASTER", "localhost:1"),
            ("GATE_SERVER_RUNNING", "fixed:5"),
        ]);
        let rows = servers(&shared);
        let at = |row: usize, name: &str| {
            let column = SERVERS.iter().position(|c| c.name == name).unwrap();
            rows[row][column].clone()
        };
        assert_eq!(rows.len(), 2);
        assert_eq!(at(0, "Role"), "master".into());
        assert_eq!(at(1, "Server"), "127.0.0.1".into());
        assert_eq!(at(1, "State"), "down".into());
        assert_eq!(at(1, "Running_limit"), 5.into());
        assert_eq!(at(1, "Running_limit_found"), "no".into());
        assert_eq!(at(1, "Classes"), "reports".into());
        assert_eq!(at(0, "Classes"), Cell::Null);
        assert_eq!(
            (at(1, "Lag_ms"), at(1, "Gtid_set")),
            (Cell::Null, Cell::Null)
        );
    }

    #[tokio::test]
    async fn every_column_shows_what_the_description_has() {
        let shared = shared(&[]);
        let described = describe(&shared.gate.servers.master, &shared);
        for at in FOUND_AT {
            assert!(described.pointer(at).is_some(), "{at}");
        }
    }
}
