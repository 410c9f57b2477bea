//! One command after the other, until the client leaves or the session ends.

use super::fault::Fault;
use super::parts::Session;
use super::state::Tx;
use super::work::Request;
use crate::common::signals::{KILLED, STOPPING};
use crate::net::timeouts::Phase;
use crate::protocol::error::SqlError;
use crate::protocol::{capability, wire};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

impl Session {
    pub(super) async fn run(mut self) {
        self.begin_as_user();
        if self.welcome().await.is_ok() {
            let end = self.commands_unless_killed().await;
            self.say_goodbye(end).await;
        }
        self.connections.quit().await;
    }

    pub(super) async fn say_goodbye(&mut self, end: Fault) {
        match end {
            Fault::Sql(error) | Fault::Fatal(error) => {
                self.shared
                    .metrics
                    .errors
                    .with_label_values(&["session_ended"])
                    .inc();
                self.client.conn.say_last(&wire::err_packet(&error)).await;
            }
            Fault::Gone => self.client.conn.close().await,
        }
    }

    /// After a login. A client's flag adds to the mode; a reset does not know it any more, as in MySQL.
    pub(super) fn begin_as_user(&mut self) {
        self.begin_life();
        let ignores = self.client.capabilities & capability::IGNORE_SPACE != 0;
        let globals = self.shared.globals.changed();
        let mode = globals.iter().find(|(name, _)| name == "sql_mode");
        if let Some((name, mode)) = mode.filter(|_| ignores) {
            let mode = format!("{mode},IGNORE_SPACE");
            self.reported().variable(name, mode.trim_start_matches(','));
        }
    }

    /// With what the master has for all sessions that begin.
    pub(super) fn begin_life(&mut self) {
        for (name, value) in self.shared.globals.changed().iter() {
            if name == "autocommit" {
                self.state.autocommit = value == "ON";
            }
            self.reported().variable(name, value);
        }
        let timeouts = &self.client.timeouts;
        let interactive = self.client.capabilities & capability::INTERACTIVE != 0;
        timeouts.begin(&self.shared.timeouts, interactive);
        timeouts.enter(Phase::Command);
    }

    /// A session that is killed ends wherever it is: while a command comes, while an answer goes, while a server is waited for. A
    /// connection that is in use then is dropped with what used it.
    pub(super) async fn commands_unless_killed(&mut self) -> Fault {
        let entry = self.entry.clone();
        tokio::select! {
            biased;
            end = self.commands() => end,
            _ = poll_fn(|context| entry.signals.poll(context, KILLED)) => Fault::Gone,
        }
    }

    /// One command after the other; returns why it ended.
    pub(super) async fn commands(&mut self) -> Fault {
        loop {
            let outcome = match self.next_command().await {
                // Large, and most sessions are idle: it takes memory only while there is a command.
                Ok(request) => Box::pin(self.command(request)).await,
                Err(fault) => return fault,
            };
            let outcome = self.end_if_unread(outcome);
            self.record(&outcome);
            self.client.conn.release();
            self.entry.statement_ended().await;
            self.turn = None;
            let busy = self.busy();
            self.connections.settle(&busy);
            self.hand_over(false).await;
            self.connections.show_master(&self.entry);
            match outcome {
                Ok(()) => {}
                Err(Fault::Sql(error)) => {
                    self.state.diagnostics.failed(&error);
                    self.state.warnings = 1;
                    if self
                        .client
                        .conn
                        .send(&wire::err_packet(&error))
                        .await
                        .is_err()
                    {
                        return Fault::Gone;
                    }
                }
                Err(end) => return end,
            }
        }
    }

    /// The rest of a command or file that nobody has read would be taken for commands: the session ends, however the
    /// command did. (`Conn::command` refuses to go on in any case.)
    pub(super) fn end_if_unread(&self, outcome: Result<(), Fault>) -> Result<(), Fault> {
        match outcome {
            outcome if self.client.conn.is_between_messages() => outcome,
            Err(Fault::Sql(error)) => Err(Fault::Fatal(error)),
            Ok(()) => Err(Fault::Gone),
            end => end,
        }
    }

    /// The satellites where the session is in the middle of something.
    fn busy(&mut self) -> Vec<usize> {
        let mut busy = self.statements.cursors();
        if let Tx::OnSatellite(id) = self.state.tx {
            busy.push(id);
        }
        busy
    }

    /// Waits for the client; ends the session when it is killed or the gate stops.
    pub(super) async fn next_command(&mut self) -> Result<Request, Fault> {
        self.client.conn.begin();
        self.client.timeouts.enter(Phase::Idle);
        let waited = self.wait_for_client().await;
        self.client.timeouts.enter(Phase::Command);
        waited?;
        let limit = self.shared.config.max_packet;
        let mut reading = pin!(self.client.conn.command(limit));
        let entry = &self.entry;
        // Killed or stopped in the middle of a command that will never be whole.
        let chunk = poll_fn(|context| match reading.as_mut().poll(context) {
            Poll::Ready(chunk) => Poll::Ready(chunk.map_err(Fault::from)),
            Poll::Pending => entry
                .signals
                .poll(context, KILLED | STOPPING)
                .map(|raised| {
                    Err(match raised & KILLED {
                        0 => Fault::Fatal(SqlError::shutdown()),
                        _ => Fault::Gone,
                    })
                }),
        })
        .await?;
        Ok(Request {
            payload: chunk.payload,
            continued: chunk.continued,
        })
    }
}
