//! What the gate reads anew at a hangup signal: the declared list of satellites, its own password and the token.
//!
//! In: signals, the files that settings name. Out: the running list changed, the password of connections that the gate makes for
//! itself from then on; open ones stay. Must never: end or change anything because of a mistake in such a file.

use crate::ops::fleet::{Fleet, see_off};
use std::sync::Arc;
use tokio::signal::unix::Signal;
use tokio::task::spawn_blocking;

pub async fn follow(fleet: Arc<Fleet>, mut hangups: Signal) {
    while hangups.recv().await.is_some() {
        let reading = fleet.clone();
        let read = spawn_blocking(move || read_anew(&reading, &|name| std::env::var(name).ok()));
        if read.await.is_ok() {
            tokio::spawn(see_off(fleet.clone()));
        }
    }
}

fn read_anew(fleet: &Fleet, get: &dyn Fn(&str) -> Option<String>) {
    fleet.declare_anew(get);
    let shared = &fleet.shared;
    match shared.config.renew_secrets(get) {
        Ok(()) => {
            let read_at = shared.config.password.read_at();
            shared.metrics.password_read.set(read_at);
            tracing::info!("own password and token read anew");
        }
        Err(mistakes) => mistakes.iter().for_each(|mistake| {
            tracing::error!(%mistake, "the gate's own password and the token stay as they are");
        }),
    }
}
