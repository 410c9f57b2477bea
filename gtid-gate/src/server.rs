//! Accepts clients until told to stop, then lets them finish.
//!
//! In: a bound listener and a signal to stop. Out: sessions. Must never: let one client's trouble reach another.

use crate::error::SqlError;
use crate::net;
use crate::packet::Conn;
use crate::session;
use crate::shared::{Shared, told_to_stop};
use crate::wire;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Runs until `shared.draining` says stop; then waits for sessions, at most the configured time.
/// `shared_by_clients`: who connects here is a proxy that lets many clients share a connection.
pub async fn run(listener: TcpListener, shared: Arc<Shared>, shared_by_clients: bool) {
    let mut sessions = JoinSet::new();
    let draining = shared.draining.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => accept(stream, &shared, shared_by_clients, &mut sessions),
                Err(error) => out_of_resources(&error).await,
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
    stream: TcpStream,
    shared: &Arc<Shared>,
    shared_by_clients: bool,
    sessions: &mut JoinSet<()>,
) {
    if let Err(error) = net::tune(&stream) {
        tracing::debug!(%error, "client gone at once");
        return;
    }
    let is_full = shared.sessions.available_permits() == 0;
    match shared.login_limits.place().filter(|_| !is_full) {
        Some(place) => {
            let shared = shared.clone();
            sessions.spawn(session::serve(stream, shared, shared_by_clients, place))
        }
        None => sessions.spawn(too_many(stream)),
    };
}

async fn too_many(stream: TcpStream) {
    let error = SqlError::too_many_connections();
    Conn::new(stream).say_last(&wire::err_packet(&error)).await;
}

/// Out of file descriptors and the like: others must be able to end first.
async fn out_of_resources(error: &std::io::Error) {
    tracing::warn!(%error, "accept failed");
    tokio::time::sleep(Duration::from_millis(50)).await;
}
