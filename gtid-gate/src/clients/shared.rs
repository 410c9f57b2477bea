//! What all sessions share.

use crate::backend::{Globals, MasterThreads};
use crate::clients::credentials::Passwords;
use crate::clients::login_limits::LoginLimits;
use crate::clients::registry::Registry;
use crate::common::memory::Memory;
use crate::freshness::Gate;
use crate::net::timeouts::Defaults;
use crate::net::tls::ExchangeKey;
use crate::ops::config::Config;
use crate::ops::metrics::Metrics;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Waits until the gate is told to stop.
pub async fn told_to_stop(mut draining: watch::Receiver<bool>) {
    let _ = draining.wait_for(|stop| *stop).await;
}

pub struct Shared {
    /// When the gate began.
    pub began: Instant,
    pub config: Config,
    pub gate: Gate,
    pub metrics: Arc<Metrics>,
    pub passwords: Passwords,
    pub login_limits: LoginLimits,
    /// Places for clients that are logged in.
    pub sessions: Arc<Semaphore>,
    pub registry: Registry,
    /// What clients have the gate hold.
    pub memory: Arc<Memory>,
    pub master_threads: MasterThreads,
    /// Timeouts towards clients, as the master has them.
    pub timeouts: Defaults,
    /// Global values of the master that were changed while it runs.
    pub globals: Globals,
    pub tls: TlsAcceptor,
    pub tls_to_servers: TlsConnector,
    pub exchange_key: Arc<ExchangeKey>,
    /// Turns true once, when the gate is told to stop.
    pub draining: watch::Receiver<bool>,
}
