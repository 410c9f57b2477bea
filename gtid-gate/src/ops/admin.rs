//! The HTTP side. Endpoints:
//! - GET /         the status page, and what belongs to it: see `page`
//! - GET /live     200 while the process runs
//! - GET /ready    200 when clients can be served (listening, master reachable, not stopping); else 503 and why
//! - GET /metrics  Prometheus text
//! - GET /servers  JSON list: name, role, address, state (up, draining, down), incarnation, gtid_set, load, queued, heavy, open, sessions, limits, classes, lag, reads
//! - GET /machine  JSON that the layout wrote: servers, nodes, caches, cores; 404 if there is none
//! - GET /statements  JSON of the statements that took most in all, `?all`: of all that are known: see `statements`; with the token, or from this host
//! - POST /servers                {"address":"host:port"}: a satellite more
//! - POST /servers/NAME/drain     nothing new for it; what is open there may end
//! - POST /servers/NAME/undrain   as before
//! - PUT /servers/NAME/limits     {"running":n,"connections":n}, one of both or both: what it gets at most; the master's too;
//!   "running":"auto": found again, on a satellite; "default": as the settings say
//! - DELETE /servers/NAME         forgets a satellite that is down, or drained and no longer used
//!
//! A change that will not survive a restart although GATE_STATE is set says so in `warning`.
//! Who changes something must bring the token (`Authorization: Bearer …`), and be no web page; who asks for texts of statements, too,
//! or come from this host.
//! Must never: let anybody else change anything.

use crate::backend::Server;
use crate::clients::shared::Shared;
use crate::freshness::FleetError;
use crate::ops::config::MOST;
use crate::ops::feed::Feed;
use crate::ops::fleet::{Fleet, Kept};
use crate::ops::fleet_state::LimitChange;
use crate::ops::http::{self, answer, complaint};
use crate::ops::look::Look;
use crate::ops::look::facts::read_at_most;
use crate::ops::page;
use crate::ops::readings;
use crate::protocol::auth;
use crate::views::{MOST_STATEMENTS, describe, list_statements};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

/// Of the largest machines 100 KiB.
const MOST_OF_MACHINE: u64 = 1 << 20;

/// Serves until the gate ends.
pub async fn run(listener: TcpListener, fleet: Arc<Fleet>) -> std::io::Result<()> {
    let shared = fleet.shared.clone();
    let router = Router::new()
        .route("/live", get(|| async { "live\n" }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/statements", get(statements))
        .route("/machine", get(machine))
        .route("/servers", get(servers).post(add))
        .route("/servers/{name}", delete(remove))
        .route("/servers/{name}/limits", put(set_limits))
        .route("/servers/{name}/drain", post(drain))
        .route("/servers/{name}/undrain", post(undrain))
        .with_state(fleet.clone())
        .merge(page::routes(Feed::start(move || {
            let mut look = Look::begin(fleet.clone());
            move || look.snapshot().to_string()
        })));
    http::serve(listener, router, &shared.config.http_hosts).await
}

async fn ready(State(fleet): State<Arc<Fleet>>) -> (StatusCode, &'static str) {
    let shared = &fleet.shared;
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

async fn metrics(State(fleet): State<Arc<Fleet>>) -> Response {
    let shared = &fleet.shared;
    shared.gate.servers.show(&shared.metrics);
    readings::read(shared);
    match shared.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Read anew each time: it changes with the layout.
async fn machine(State(fleet): State<Arc<Fleet>>) -> Response {
    let file = fleet.shared.config.machine_file.clone();
    let read = spawn_blocking(move || file.and_then(|file| read_at_most(&file, MOST_OF_MACHINE)));
    match read.await.ok().flatten() {
        Some(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        None => complaint(StatusCode::NOT_FOUND, "GATE_MACHINE_FILE cannot be read"),
    }
}

async fn servers(State(fleet): State<Arc<Fleet>>) -> Response {
    let shared = &fleet.shared;
    let all = shared.gate.servers.all();
    let list = all.iter().map(|server| describe(server, shared)).collect();
    answer(StatusCode::OK, &Value::Array(list))
}

/// Texts of statements tell what an application does. `?all`: not only those that took most.
async fn statements(
    State(fleet): State<Arc<Fleet>>,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Response {
    let most = match query.as_deref() {
        Some("all") => usize::MAX,
        _ => MOST_STATEMENTS,
    };
    match refusal_of_texts(&fleet.shared, &caller) {
        Some(refusal) => refusal,
        None => answer(StatusCode::OK, &list_statements(&fleet.shared, most)),
    }
}

/// Who asks, and with what.
type Caller = (ConnectInfo<SocketAddr>, HeaderMap);

async fn add(State(fleet): State<Arc<Fleet>>, caller: Caller, body: Bytes) -> Response {
    if let Some(refusal) = refusal(&fleet.shared, &caller) {
        return refusal;
    }
    let wanted: Option<Value> = serde_json::from_slice(&body).ok();
    let address = wanted.as_ref().and_then(|w| w.get("address")?.as_str());
    let Some(Ok(address)) = address.map(str::parse) else {
        let text = "expected {\"address\":\"host:port\"}";
        return complaint(StatusCode::BAD_REQUEST, text);
    };
    let added = change(&fleet, move |fleet| fleet.add(address)).await;
    done(StatusCode::CREATED, added, &fleet.shared)
}

async fn drain(state: State<Arc<Fleet>>, caller: Caller, name: Path<String>) -> Response {
    set_draining(state, caller, name, true).await
}

async fn undrain(state: State<Arc<Fleet>>, caller: Caller, name: Path<String>) -> Response {
    set_draining(state, caller, name, false).await
}

async fn set_draining(
    State(fleet): State<Arc<Fleet>>,
    caller: Caller,
    name: Path<String>,
    draining: bool,
) -> Response {
    if let Some(refusal) = refusal(&fleet.shared, &caller) {
        return refusal;
    }
    let drained = change(&fleet, move |fleet| fleet.drain(&name, draining)).await;
    done(StatusCode::OK, drained, &fleet.shared)
}

async fn set_limits(
    State(fleet): State<Arc<Fleet>>,
    caller: Caller,
    name: Path<String>,
    body: Bytes,
) -> Response {
    if let Some(refusal) = refusal(&fleet.shared, &caller) {
        return refusal;
    }
    let Some(changes) = limit_changes(&body) else {
        let text = format!(
            "expected {{\"running\":n,\"connections\":n}}, one of both or both, from 1 to {MOST} or \"default\", or \"running\":\"auto\""
        );
        return complaint(StatusCode::BAD_REQUEST, &text);
    };
    let set = change(&fleet, move |fleet| fleet.set_limits(&name, &changes)).await;
    if let Ok((server, _)) = &set {
        let surplus = server.pool.open().saturating_sub(server.pool.limit());
        (0..surplus).for_each(|_| fleet.shared.registry.ask_back(server.id));
    }
    done(StatusCode::OK, set, &fleet.shared)
}

/// What is given; nothing if anything else is.
fn limit_changes(body: &[u8]) -> Option<Vec<LimitChange>> {
    let given: BTreeMap<String, Value> = serde_json::from_slice(body).ok()?;
    let changes = given
        .iter()
        .map(|(name, value)| LimitChange::read(name, value));
    let changes: Vec<LimitChange> = changes.collect::<Option<_>>()?;
    (!changes.is_empty()).then_some(changes)
}

async fn remove(State(fleet): State<Arc<Fleet>>, caller: Caller, name: Path<String>) -> Response {
    if let Some(refusal) = refusal(&fleet.shared, &caller) {
        return refusal;
    }
    match change(&fleet, move |fleet| fleet.remove(&name)).await {
        Ok(Ok(())) => StatusCode::NO_CONTENT.into_response(),
        Ok(Err(reason)) => answer(StatusCode::OK, &json!({ "warning": warning(&reason) })),
        Err(refusal) => refusal,
    }
}

/// A change may wait for the disk.
async fn change<T: Send + 'static>(
    fleet: &Arc<Fleet>,
    make: impl FnOnce(&Fleet) -> Result<T, FleetError> + Send + 'static,
) -> Result<T, Response> {
    let fleet = fleet.clone();
    match spawn_blocking(move || make(&fleet)).await {
        Ok(made) => made.map_err(|error| refused(&error)),
        Err(error) => Err(complaint(
            StatusCode::INTERNAL_SERVER_ERROR,
            &error.to_string(),
        )),
    }
}

fn done(
    status: StatusCode,
    made: Result<(Arc<Server>, Kept), Response>,
    shared: &Shared,
) -> Response {
    let (server, kept) = match made {
        Ok(made) => made,
        Err(refusal) => return refusal,
    };
    let mut value = describe(&server, shared);
    if let Err(reason) = kept {
        value["warning"] = warning(&reason).into();
    }
    answer(status, &value)
}

fn warning(reason: &str) -> String {
    format!("this holds, but will not survive a restart of the gate: {reason}")
}

/// Nothing if the caller may change something: who merely runs something on this host may not.
fn refusal(shared: &Shared, (_, headers): &Caller) -> Option<Response> {
    if headers.contains_key(header::ORIGIN) {
        let text = "this is not for web pages";
        return Some(complaint(StatusCode::FORBIDDEN, text));
    }
    let Some(token) = &shared.config.admin_token else {
        let text = "this needs a token: no GATE_ADMIN_TOKEN is set";
        return Some(complaint(StatusCode::FORBIDDEN, text));
    };
    let given = headers.get(header::AUTHORIZATION).map(|v| v.as_bytes());
    let given = given.and_then(|v| v.strip_prefix(b"Bearer "));
    match given.is_some_and(|given| auth::same(given, &token.current())) {
        true => None,
        false => Some(complaint(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong",
        )),
    }
}

/// Nothing if the caller may see what queries are run.
fn refusal_of_texts(shared: &Shared, caller: &Caller) -> Option<Response> {
    let (ConnectInfo(peer), headers) = caller;
    let is_local = peer.ip().to_canonical().is_loopback();
    match is_local && !headers.contains_key(header::ORIGIN) {
        true => None,
        false => refusal(shared, caller),
    }
}

fn refused(error: &FleetError) -> Response {
    let status = match error {
        FleetError::Unknown(_) => StatusCode::NOT_FOUND,
        FleetError::MasterIsFixed => StatusCode::BAD_REQUEST,
        FleetError::Known(_) | FleetError::InUse { .. } => StatusCode::CONFLICT,
    };
    complaint(status, &error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::freshness::RunningByHand;

    #[test]
    fn limits_are_numbers_or_found_or_as_the_settings_say() {
        use LimitChange::{Connections, Running};
        let changes = |body: &str| limit_changes(body.as_bytes());
        assert_eq!(
            changes(r#"{"running":3,"connections":4}"#).unwrap(),
            [Connections(Some(4)), Running(Some(RunningByHand::Fixed(3)))]
        );
        assert_eq!(
            changes(r#"{"running":"auto"}"#).unwrap(),
            [Running(Some(RunningByHand::Auto))]
        );
        assert_eq!(
            changes(r#"{"running":"default","connections":"default"}"#).unwrap(),
            [Connections(None), Running(None)]
        );
        let wrong = [
            "",
            "{}",
            r#"{"running":0}"#,
            r#"{"running":1.5}"#,
            r#"{"running":"3"}"#,
            r#"{"connections":"auto"}"#,
            r#"{"walking":3}"#,
            r#"{"running":3,"walking":3}"#,
        ];
        assert!(wrong.iter().all(|body| changes(body).is_none()));
    }
}
