//! Accepts clients until told to stop, then lets them finish.
//!
//! In: a listening socket and a signal to stop. Out: sessions. Must never: let one client's trouble reach another, or wait
//! for anything but the next client while it accepts.

use crate::clients::shared::{Shared, told_to_stop};
use crate::frontend::listen::{Caller, Listener, Reserve, Trouble};
use crate::protocol::error::SqlError;
use crate::protocol::wire;
use crate::session;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Runs until `shared.draining` says stop; then waits for sessions, at most the configured time.
/// `shared_by_clients`: who connects here is a proxy that lets many clients share a connection.
pub async fn run(
    listener: Listener,
    shared: Arc<Shared>,
    reserve: Arc<Reserve>,
    shared_by_clients: bool,
) {
    let mut sessions = JoinSet::new();
    let draining = shared.draining.clone();
    let too_many = wire::err_packet(&SqlError::too_many_connections());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(caller) if reserve.is_whole() => {
                    accept(caller, &shared, shared_by_clients, &too_many, &mut sessions);
                }
                Ok(caller) => refuse(caller, &shared, &too_many),
                Err(error) => not_accepted(&error, &listener, &reserve, &too_many).await,
            },
            _ = sessions.join_next(), if !sessions.is_empty() => {}
            () = told_to_stop(draining.clone()) => break,
        }
    }
    drop(listener);
    tracing::info!(sessions = sessions.len(), "draining");
    let all_ended = async { while sessions.join_next().await.is_some() {} };
    if tokio::time::timeout(shared.config.drain, all_ended)
        .await
        .is_err()
    {
        tracing::warn!(
            sessions = sessions.len(),
            "ended sessions that did not finish in time"
        );
    }
}

fn accept(
    caller: Caller,
    shared: &Arc<Shared>,
    shared_by_clients: bool,
    too_many: &[u8],
    sessions: &mut JoinSet<()>,
) {
    let is_full = shared.sessions.available_permits() == 0;
    let Some(place) = shared.login_limits.place().filter(|_| !is_full) else {
        return refuse(caller, shared, too_many);
    };
    match caller.into_client() {
        Ok(client) => {
            let shared = shared.clone();
            sessions.spawn(session::serve(client, shared, shared_by_clients, place));
        }
        Err(error) => tracing::debug!(%error, "client gone at once"),
    }
}

fn refuse(caller: Caller, shared: &Shared, too_many: &[u8]) {
    shared.metrics.logins.with_label_values(&["too_many"]).inc();
    caller.refuse(too_many);
}

/// Whoever waits when no descriptor is free is refused, too, instead of waiting for others to end.
async fn not_accepted(
    error: &std::io::Error,
    listener: &Listener,
    reserve: &Reserve,
    too_many: &[u8],
) {
    let refused = match Trouble::of(error) {
        Trouble::OfOneClient => return tracing::debug!(%error, "client gone at once"),
        Trouble::OutOfDescriptors => reserve.refuse_one(listener, too_many),
        Trouble::OutOfResources => false,
    };
    if !refused {
        tracing::warn!(%error, "accept failed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
