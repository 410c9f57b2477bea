//! Puts the parts together, runs them, and stops them.
//!
//! In: settings. Out: an exit status. Must never: begin to serve with half of what it needs.

use crate::config::Config;
use crate::gate::Gate;
use crate::login_limits::LoginLimits;
use crate::master_questions::MasterQuestions;
use crate::metrics::Metrics;
use crate::passwords::Passwords;
use crate::patience::Patience;
use crate::registry::Registry;
use crate::server_position::Follower;
use crate::servers::Servers;
use crate::shared::Shared;
use crate::timeouts::Defaults;
use crate::tls::{ExchangeKey, acceptor, connector};
use crate::{admin, server};
use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

/// After this long a connection between two sessions is not needed.
const UNNEEDED: Duration = Duration::from_secs(5);

pub fn serve(config: Config) -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::new(&config.log);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(false)
        .init();
    let patience = Patience::default();
    let asked = patience.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.workers)
        .on_thread_park(move || asked.heed())
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(run(config, patience)),
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gtid-gate: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config, patience: Patience) -> Result<(), Box<dyn Error>> {
    let clients = listen(config.listen).await?;
    let proxies = listen(config.proxy_listen).await?;
    let status = listen(config.status_listen).await?;
    let (stop, draining) = watch::channel(false);
    let shared = Arc::new(assemble(config, draining)?);
    tracing::info!(listen = %clients.local_addr()?, proxies = %proxies.local_addr()?, status = %status.local_addr()?, "serving");
    let http = tokio::spawn(admin::run(status, shared.clone()));
    tokio::spawn(close_idle(shared.clone()));
    tokio::spawn(patience.follow(shared.clone()));
    tokio::spawn(tell_of_losses(shared.clone()));
    tokio::spawn(follow_timeouts(shared.clone()));
    let serving = tokio::spawn(server::run(clients, shared.clone(), false));
    let serving_proxies = tokio::spawn(server::run(proxies, shared.clone(), true));
    stop_requested().await?;
    tracing::info!("stopping");
    stop.send_replace(true);
    shared.registry.stop();
    serving.await?;
    serving_proxies.await?;
    http.abort();
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// Makes all parts and starts those that follow servers.
pub(crate) fn assemble(
    config: Config,
    draining: watch::Receiver<bool>,
) -> Result<Shared, Box<dyn Error>> {
    if let Some(broken) = config.broken {
        tracing::warn!(
            ?broken,
            "GATE_TEST_BREAK is set: promises are broken on purpose; for tests only"
        );
    }
    let files = config.tls_files.as_ref();
    let tls = acceptor(files.map(|(certificate, key)| (certificate.as_path(), key.as_path())))?;
    let exchange_key = Arc::new(ExchangeKey::generate()?);
    let metrics = Arc::new(Metrics::new()?);
    let servers = Servers::new(&config);
    let master = Follower::new(servers.master.clone(), &config, metrics.clone());
    let questions = MasterQuestions::start(master);
    let gate = Gate::new(&config, servers, questions, metrics.clone());
    for address in &config.satellites {
        gate.add(address.clone(), &config)?;
    }
    Ok(Shared {
        gate,
        passwords: Passwords::new(config.password_ttl),
        login_limits: LoginLimits::new(&config),
        sessions: Arc::new(Semaphore::new(config.max_connections)),
        registry: Registry::default(),
        timeouts: Defaults::default(),
        config,
        metrics,
        tls,
        tls_to_servers: connector()?,
        exchange_key,
        draining,
    })
}

/// Connections that were handed over and that nobody took are closed after a while.
async fn close_idle(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let all = shared.gate.servers.all();
        all.iter().for_each(|s| s.pool.close_idle(UNNEEDED));
    }
}

async fn follow_timeouts(shared: Arc<Shared>) {
    let master = shared.gate.servers.master.clone();
    let master = Follower::new(master, &shared.config, shared.metrics.clone());
    shared.timeouts.follow(master).await;
}

/// Sessions that wait for a server that was found lost wait no longer.
async fn tell_of_losses(shared: Arc<Shared>) {
    loop {
        shared.gate.servers.any_loss.notified().await;
        shared.registry.tell_of_loss();
    }
}

async fn stop_requested() -> std::io::Result<()> {
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Ok(())
}
