//! The HTTP side. Endpoints:
//! - GET /live     200 while the process runs
//! - GET /ready    200 when clients can be served (listening, master reachable, not stopping); else 503 and why
//! - GET /metrics  Prometheus text
//! - GET /servers  JSON list: name, role, address, state, incarnation, gtid_set, load, sessions, lag, reads
//!
//! Must never: change anything.

use crate::servers::{Role, Server, lag_transactions};
use crate::shared::Shared;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::{Router, routing::get};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::net::TcpListener;

/// Serves until the gate ends.
pub async fn run(listener: TcpListener, shared: Arc<Shared>) -> std::io::Result<()> {
    let router = Router::new()
        .route("/live", get(|| async { "live\n" }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/servers", get(servers))
        .with_state(shared);
    axum::serve(listener, router).await
}

async fn ready(State(shared): State<Arc<Shared>>) -> (StatusCode, &'static str) {
    if *shared.draining.borrow() {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
    } else if shared.gate.servers.master.position().is_none() {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "the master does not answer\n",
        )
    } else {
        (StatusCode::OK, "ready\n")
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> axum::response::Response {
    shared.gate.servers.show(&shared.metrics);
    match shared.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn servers(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let all = &shared.gate.servers;
    let list: Vec<Value> = all
        .all()
        .map(|server| describe(server, &all.master, &shared))
        .collect();
    let text = serde_json::to_string_pretty(&list).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], text)
}

fn describe(server: &Server, master: &Server, shared: &Shared) -> Value {
    let position = server.position();
    let master = master.position();
    json!({
        "name": server.name,
        "role": match server.role { Role::Master => "master", Role::Satellite => "satellite" },
        "address": server.address.to_string(),
        "state": if position.is_some() { "up" } else { "down" },
        "incarnation": position.as_ref().map(|p| p.incarnation.to_string()),
        "gtid_set": position.as_ref().map(|p| p.executed.to_string()),
        "load": server.running.load(Ordering::Relaxed),
        "sessions": server.sessions.load(Ordering::Relaxed),
        "lag_transactions": lag_transactions(master.as_deref(), position.as_deref()),
        "lag_ms": position.as_ref().map(|_| server.lag_ms.load(Ordering::Relaxed)),
        "reads": shared.metrics.reads.with_label_values(&[&server.name]).get(),
    })
}
