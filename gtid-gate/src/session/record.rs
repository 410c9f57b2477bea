//! Makes the record of a statement whose answer is through: for the table of statements, the histograms, and the session's last read.

use super::fault::Fault;
use super::parts::Session;
use super::state::Tx;
use super::trace::LastRead;
use crate::backend::{Ended, Incarnation, Server};
use crate::common::consistency::Level;
use crate::common::why::Why;
use std::sync::Arc;

impl Session {
    /// The statement in hand is over.
    pub(super) fn record(&mut self, outcome: &Result<(), Fault>) {
        let (Some(began), Some(digest)) = (self.trace.began.take(), self.trace.digest.take())
        else {
            return;
        };
        let took = began.elapsed();
        let failed = self.trace.failed || matches!(outcome, Err(Fault::Sql(_) | Fault::Fatal(_)));
        let level = self.trace.is_read.then_some(self.promise.policy.level);
        let ran = self.trace.ran.take();
        let why = match &ran {
            None if failed => Why::Unanswered,
            None => Why::Gate,
            Some(_) => self.trace.why,
        };
        let gate = &self.shared.gate;
        gate.statements.add(&Ended {
            digest: &digest,
            server: ran.as_ref().map(|(server, _)| server.id),
            why,
            is_read: self.trace.is_read,
            class: self.promise.admitted.map(|class| class.index),
            failed,
            waited: self.trace.waited,
            took,
        });
        let metrics = &self.shared.metrics;
        match &ran {
            Some((server, _)) => server
                .statement_times
                .observe(metrics, &server.name, level, took),
            None => metrics
                .own_statement_times
                .observe(metrics, "gate", level, took),
        }
        if let (Some((server, incarnation)), Some(level)) = (ran, level) {
            self.remember_read(server, incarnation, level);
        }
    }

    fn remember_read(&mut self, server: Arc<Server>, incarnation: Incarnation, level: Level) {
        let (trace, alone) = (&mut self.trace, self.state.tx == Tx::None);
        let goes_on = matches!(trace.why, Why::Transaction | Why::TransactionOnMaster);
        // Within a transaction that of its first read holds.
        let before = trace.last_read.take().filter(|_| goes_on);
        let position = trace.position.take();
        let position = position.or_else(|| before.and_then(|b| b.position));
        // Of a read that began a read-write transaction nothing is said.
        let sent = trace.before.take().filter(|_| alone);
        let read = LastRead {
            position: position.or(sent),
            server,
            incarnation,
            waited: trace.waited,
            level,
            why: trace.why,
        };
        tracing::debug!(
            server = %read.server.name, incarnation = %read.incarnation, waited = ?read.waited, level = %read.level, why = %read.why,
            "read answered"
        );
        trace.last_read = Some(read);
    }
}
