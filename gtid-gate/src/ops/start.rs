//! Puts the parts together, runs them, and stops them.
//!
//! In: settings. Out: an exit status. Must never: begin to serve with half of what it needs.

use crate::backend::{Globals, MasterThreads, Monitor, Servers, follow_defaults};
use crate::clients::credentials::Passwords;
use crate::clients::login_limits::LoginLimits;
use crate::clients::registry::Registry;
use crate::clients::shared::Shared;
use crate::common::memory::Memory;
use crate::freshness::{Gate, ReadIndex, follow_table_stream};
use crate::frontend::accept;
use crate::frontend::handover::{self, Held};
use crate::frontend::listen::{Listener, Reserve, raise_descriptor_limit};
use crate::net::timeouts::Defaults;
use crate::net::tls::{ExchangeKey, acceptor, connector};
use crate::ops::admin;
use crate::ops::config::Config;
use crate::ops::fleet::{self, Fleet};
use crate::ops::fleet_state::FleetState;
use crate::ops::hangup;
use crate::ops::metrics::Metrics;
use crate::ops::scheduling::Scheduling;
use std::error::Error;
use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// After this long a connection between two sessions is not needed.
const UNNEEDED: Duration = Duration::from_secs(5);

pub fn serve(config: Config) -> ExitCode {
    log_as(&config.log);
    raise_descriptor_limit();
    let scheduling = Scheduling::default();
    let asked = scheduling.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.workers)
        .on_thread_park(move || asked.heed())
        .enable_all()
        .build();
    exit_code(match runtime {
        Ok(runtime) => runtime.block_on(run(config, scheduling)),
        Err(error) => Err(error.into()),
    })
}

/// In the host's network: binds what the gate asks for, until told to stop.
pub fn hold_port(settings: &handover::Settings) -> ExitCode {
    log_as("info");
    let holding = async {
        tokio::select! {
            ended = handover::serve(settings) => Ok(ended?),
            stop = stop_requested() => Ok(stop?),
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    exit_code(match runtime {
        Ok(runtime) => runtime.block_on(holding),
        Err(error) => Err(error.into()),
    })
}

fn log_as(filter: &str) {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_target(false)
        .with_ansi(false)
        .init();
}

fn exit_code(outcome: Result<(), Box<dyn Error>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gtid-gate: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config, scheduling: Scheduling) -> Result<(), Box<dyn Error>> {
    let hangups = signal(SignalKind::hangup())?;
    let doors = open_doors(&config).await?;
    let address = config.status_listen;
    let status = tokio::net::TcpListener::bind(address).await;
    let status = status.map_err(|error| cannot_listen(&address, &error))?;
    let (stop, draining) = watch::channel(false);
    let (state, file) = fleet::at_start(&config);
    let shared = Arc::new(assemble(config, &state, draining)?);
    let fleet = Arc::new(Fleet::new(shared.clone(), state, file));
    for listener in &doors.clients {
        tracing::info!(clients = %listener, "listening");
    }
    for listener in &doors.proxies {
        tracing::info!(proxies = %listener, "listening");
    }
    tracing::info!(status = %status.local_addr()?, "serving");
    let http = tokio::spawn(admin::run(status, fleet.clone()));
    tokio::spawn(hangup::follow(fleet, hangups));
    tokio::spawn(close_idle(shared.clone()));
    tokio::spawn(scheduling.follow(shared.clone()));
    tokio::spawn(tell_of_losses(shared.clone()));
    tokio::spawn(follow_session_defaults(shared.clone()));
    let reserve = Arc::new(Reserve::new());
    let mut serving = JoinSet::new();
    for listener in doors.clients {
        serving.spawn(accept::run(
            listener,
            shared.clone(),
            reserve.clone(),
            false,
        ));
    }
    for listener in doors.proxies {
        serving.spawn(accept::run(listener, shared.clone(), reserve.clone(), true));
    }
    stop_requested().await?;
    tracing::info!("stopping");
    stop.send_replace(true);
    shared.registry.stop();
    serving.join_all().await;
    http.abort();
    Ok(())
}

/// Where clients connect, and proxies that let clients share connections.
struct Doors {
    clients: Vec<Listener>,
    proxies: Vec<Listener>,
    _lock: Option<File>,
}

async fn open_doors(config: &Config) -> Result<Doors, Box<dyn Error>> {
    let tcp = |address| Listener::tcp(address).map_err(|error| cannot_listen(&address, &error));
    let mut doors = Doors {
        clients: vec![tcp(config.listen)?],
        proxies: vec![tcp(config.proxy_listen)?],
        _lock: None,
    };
    if let Some(path) = &config.proxy_socket {
        let socket = Listener::unix(path).await;
        doors
            .proxies
            .push(socket.map_err(|error| cannot_listen(&path.display(), &error))?);
    }
    if let Some(path) = config.handover.clone() {
        let Held { listeners, lock } =
            tokio::task::spawn_blocking(move || handover::ask(&path)).await??;
        doors.clients.extend(listeners);
        doors._lock = lock;
    }
    Ok(doors)
}

fn cannot_listen(address: &dyn std::fmt::Display, error: &std::io::Error) -> String {
    format!("cannot listen on {address}: {error}")
}

/// Makes all parts and starts those that follow servers.
pub(crate) fn assemble(
    config: Config,
    state: &FleetState,
    draining: watch::Receiver<bool>,
) -> Result<Shared, Box<dyn Error>> {
    if let Some(broken) = config.broken {
        tracing::warn!(
            ?broken,
            "GATE_TEST_BREAK is set: promises are broken on purpose; for tests only"
        );
    }
    let files = config.tls_files.as_ref();
    let (tls, expires) =
        acceptor(files.map(|(certificate, key)| (certificate.as_path(), key.as_path())))?;
    let exchange_key = match &config.rsa_key {
        Some(file) => ExchangeKey::read(file)?,
        None => ExchangeKey::generate()?,
    };
    let exchange_key = Arc::new(exchange_key);
    let metrics = Arc::new(Metrics::new()?);
    metrics.password_read.set(config.password.read_at());
    if let Some(expires) = expires {
        let gauge = metrics.certificate_expires.with_label_values::<&str>(&[]);
        gauge.set(expires as f64);
    }
    let servers = Servers::new(&config);
    let master = Monitor::new(servers.master.clone(), &config, metrics.clone());
    let questions = ReadIndex::start(master);
    let gate = Gate::new(&config, servers, questions, metrics.clone());
    if let Some(capture) = config.table_stream.clone() {
        tokio::spawn(follow_table_stream(
            capture,
            gate.table_writes.clone(),
            metrics.clone(),
        ));
    }
    fleet::begin(&gate, state, &config)?;
    let memory = Memory::new(
        config.connection_memory,
        config.memory,
        metrics.memory.clone(),
    );
    let master = Monitor::new(gate.servers.master.clone(), &config, metrics.clone());
    Ok(Shared {
        master_threads: MasterThreads::new(master),
        began: Instant::now(),
        gate,
        memory,
        passwords: Passwords::new(config.password_ttl),
        login_limits: LoginLimits::new(&config),
        sessions: Arc::new(Semaphore::new(config.max_connections)),
        registry: Registry::default(),
        timeouts: Defaults::default(),
        globals: Globals::default(),
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

async fn follow_session_defaults(shared: Arc<Shared>) {
    let monitor = |server| Monitor::new(server, &shared.config, shared.metrics.clone());
    let servers = &shared.gate.servers;
    follow_defaults(&shared.timeouts, &shared.globals, servers, monitor).await;
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
