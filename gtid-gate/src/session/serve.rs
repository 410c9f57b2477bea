//! One client, from its connection to its end: the login, then the session.
//!
//! Must never: begin a session for a client that the master has not let in.

use super::parts::Session;
use crate::clients::login::{self, Account, Client, LoginError};
use crate::clients::registry::Entry;
use crate::clients::shared::Shared;
use crate::common::signals::{KILLED, STOPPING};
use crate::protocol::error::SqlError;
use crate::protocol::wire;
use std::future::poll_fn;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Serves one client until it leaves, is killed, or the gate stops. `login_place`: taken until the client is logged in.
pub async fn serve(
    mut client: Client,
    shared: Arc<Shared>,
    shared_by_clients: bool,
    login_place: OwnedSemaphorePermit,
) {
    client.is_proxy = shared_by_clients;
    let present = Present::new(&shared);
    let entry = present.entry.clone();
    let within = shared.config.login_timeout;
    let logging_in = async {
        tokio::select! {
            biased;
            done = login_to_session(&mut client, &entry, &shared) => done,
            _ = poll_fn(|context| entry.signals.poll(context, KILLED | STOPPING)) => {
                Err(LoginError::Refused(SqlError::shutdown()))
            }
        }
    };
    match tokio::time::timeout(within, logging_in).await {
        Ok(Ok((account, _place))) => {
            drop(login_place);
            shared.metrics.logins.with_label_values(&["ok"]).inc();
            let (shared, entry) = (shared.clone(), entry.clone());
            let session = Session::new(shared, entry, client, account, shared_by_clients);
            session.run().await;
        }
        Ok(Err(error)) => refuse(&mut client, &shared, error).await,
        Err(_) => {
            shared.metrics.logins.with_label_values(&["timeout"]).inc();
            client.conn.close().await;
        }
    }
}

/// A client is connected, until this goes, also by a panic.
struct Present<'a> {
    shared: &'a Shared,
    entry: Arc<Entry>,
}

impl<'a> Present<'a> {
    fn new(shared: &'a Shared) -> Self {
        let entry = shared.registry.add();
        shared.metrics.sessions.inc();
        Self { shared, entry }
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.shared.registry.remove(self.entry.id);
        self.shared.metrics.sessions.dec();
    }
}

/// A login, and a place among the sessions.
async fn login_to_session(
    client: &mut Client,
    entry: &Entry,
    shared: &Shared,
) -> Result<(Account, OwnedSemaphorePermit), LoginError> {
    let account = login::log_in(client, entry.id, shared).await?;
    let place = shared.sessions.clone().try_acquire_owned();
    let place = place.map_err(|_| LoginError::Refused(SqlError::too_many_connections()))?;
    let let_in = account.let_in(client, entry, shared);
    let_in.map_err(LoginError::Refused)?;
    Ok((account, place))
}

async fn refuse(client: &mut Client, shared: &Shared, error: LoginError) {
    let outcome = match error {
        LoginError::Gone(_) => "gone",
        LoginError::Refused(error) => {
            tracing::debug!(host = %client.host, code = error.code, "login refused");
            client.conn.say_last(&wire::err_packet(&error)).await;
            if error.code == 1043 {
                "bad_handshake"
            } else {
                "refused"
            }
        }
    };
    shared.metrics.logins.with_label_values(&[outcome]).inc();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::shared;

    #[tokio::test]
    async fn a_session_that_panics_is_no_longer_connected() {
        let shared = shared(&[]);
        let serving = shared.clone();
        let panicked = tokio::spawn(async move {
            let _present = Present::new(&serving);
            panic!("as a defect in a session would");
        });
        assert!(panicked.await.unwrap_err().is_panic());
        assert_eq!(shared.registry.count(), 0);
        assert_eq!(shared.metrics.sessions.get(), 0);
    }
}
