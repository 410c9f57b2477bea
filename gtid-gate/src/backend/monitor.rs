//! The gate's own connections to a server, on which it asks what the server has.
//!
//! In: a server and the gate's account. Out: connections, positions, and what everybody may know of both.
//! Must never: take an answer of another server for this one's.

use super::connection::{Backend, Server, Socket, Wish, bounded};
use super::position::Position;
use crate::common::secret::Renewable;
use crate::gtid::{GtidError, GtidSet};
use crate::ops::config::Config;
use crate::ops::metrics::Metrics;
use crate::protocol::capability;
use crate::protocol::error::BackendError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// utf8mb4_0900_ai_ci: what the gate's own questions are in.
const CHARSET: u8 = 255;
const SETS: &str = "@@global.gtid_owned, @@global.gtid_executed";

const SHORTEST_QUESTION: Duration = Duration::from_millis(10);
/// A satellite that is behind says at least so often where it is: that it goes on must not be learnt by a client's wait.
pub const LONGEST_QUESTION: Duration = Duration::from_millis(200);

/// What it takes to ask one server on the gate's own account.
pub struct Monitor {
    pub server: Arc<Server>,
    pub metrics: Arc<Metrics>,
    pub keepalive: Duration,
    user: String,
    password: Arc<Renewable>,
    connect_timeout: Duration,
    pub server_timeout: Duration,
    /// How long a question may wait for what is wanted.
    pub wait: Duration,
    down: AtomicBool,
}

impl Monitor {
    pub fn new(server: Arc<Server>, config: &Config, metrics: Arc<Metrics>) -> Self {
        Self {
            server,
            metrics,
            keepalive: config.keepalive,
            user: config.user.clone(),
            password: config.password.clone(),
            connect_timeout: config.connect_timeout,
            server_timeout: config.server_timeout,
            wait: config
                .policy
                .wait
                .clamp(SHORTEST_QUESTION, LONGEST_QUESTION),
            down: AtomicBool::new(false),
        }
    }

    /// The address says who the server is; its Unix socket, if it is the same server's, costs less.
    pub async fn connect(&self) -> Result<Box<Backend>, BackendError> {
        let password = self.password.current();
        let wish = Wish {
            user: &self.user,
            password: &password,
            capabilities: capability::FOR_QUESTIONS,
            charset: u16::from(CHARSET),
            database: None,
            attributes: &[],
            tls: None,
            socket: Socket::No,
        };
        let mut backend = Backend::connect(&self.server, wish, self.connect_timeout).await?;
        self.server.greeted(&backend.version, backend.offered);
        let identity = self.bounded(backend.identify(), Duration::ZERO).await?;
        backend.incarnation = identity.0;
        let trying = Backend::over_socket(&self.server, wish);
        let tried = tokio::time::timeout(self.server_timeout, trying).await;
        Ok(match tried {
            Ok(Some((cheaper, _))) if cheaper.incarnation == backend.incarnation => cheaper,
            _ => backend,
        })
    }

    /// A server that does not answer within the bound (plus what it was asked to wait) is hung.
    pub async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, BackendError>>,
        asked_to_wait: Duration,
    ) -> Result<T, BackendError> {
        bounded(self.server_timeout + asked_to_wait, work).await
    }

    pub fn publish(&self, position: Arc<Position>) {
        if self.down.swap(false, Ordering::Relaxed) || self.server.answered().is_none() {
            tracing::info!(server = %self.server.name, incarnation = %position.incarnation, "server up");
            if self.server.is_another(&position.incarnation) {
                let restarts = &self.metrics.server_restarts;
                restarts.with_label_values(&[&self.server.name]).inc();
            }
        }
        self.server.publish(position);
    }

    pub fn lost(&self, reason: &BackendError) {
        if !self.down.swap(true, Ordering::Relaxed) {
            tracing::warn!(server = %self.server.name, %reason, "server lost");
        }
        self.server.forget();
    }
}

/// Asks for both sets in one statement, owned first.
pub async fn sample(backend: &mut Backend) -> Result<Position, BackendError> {
    ask(backend, &format!("SELECT {SETS}"), 0).await
}

pub async fn sample_after(
    backend: &mut Backend,
    wanted: &GtidSet,
    wait: Duration,
) -> Result<Position, BackendError> {
    let seconds = wait.as_secs_f64();
    let sql = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{wanted}', {seconds:.3}), {SETS}");
    ask(backend, &sql, 1).await
}

async fn ask(backend: &mut Backend, sql: &str, first: usize) -> Result<Position, BackendError> {
    let asked = Instant::now();
    let answer = backend.query(sql).await?;
    let text = |column| {
        answer
            .text(0, column)
            .ok_or_else(|| BackendError::Lost("no gtid set".into()))
    };
    let bad = |error: GtidError| BackendError::Lost(error.to_string());
    Ok(Position {
        incarnation: backend.incarnation.clone(),
        asked,
        owned: GtidSet::parse_owned(text(first)?).map_err(bad)?,
        executed: GtidSet::parse(text(first + 1)?).map_err(bad)?,
        as_of: None,
        backlog: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::shared;

    #[tokio::test]
    async fn a_restart_is_counted_once_and_neither_the_first_life_nor_a_lost_connection_is_one() {
        let shared = shared(&[]);
        let server = shared.gate.servers.satellites()[0].clone();
        let monitor = Monitor::new(server.clone(), &shared.config, shared.metrics.clone());
        let seen = |incarnation: &str| {
            monitor.publish(Arc::new(Position {
                incarnation: incarnation.into(),
                asked: Instant::now(),
                owned: GtidSet::new(),
                executed: GtidSet::new(),
                as_of: None,
                backlog: None,
            }));
        };
        let lost = || monitor.lost(&BackendError::Lost("gone".into()));
        let shown = |count: u64| {
            shared.gate.servers.show(&shared.metrics);
            let line = format!(
                "gtid_gate_server_restarts_total{{server=\"{}\"}} {count}\n",
                server.name
            );
            shared.metrics.text().unwrap().contains(&line)
        };
        assert!(shown(0));
        seen("boot-1");
        lost();
        seen("boot-1");
        assert!(shown(0));
        lost();
        seen("boot-2");
        seen("boot-2");
        assert!(shown(1));
        shared.metrics.forget_server(&server.name);
        let label = format!("restarts_total{{server=\"{}\"}}", server.name);
        assert!(!shared.metrics.text().unwrap().contains(&label));
    }
}
