//! Reads of views that may ask about the session belong on the master: no satellite knows the session.
//!
//! In: a read, and what is known of the names in it. Out: the statement as one for the master, or leave to use a satellite.
//! A satellite may get another definition while it runs the read: what was proven is looked at again before the client has the end of the answer.
//! Must never: let a satellite answer before it is proven that it can.

use super::fault::Fault;
use super::parts::Session;
use super::statement::Known;
use super::work::Work;
use crate::backend::{Backend, Server};
use crate::freshness::{Asks, Gate, Patience, Proof, Proven, TableNames, Unproven};
use crate::protocol::error::SqlError;
use crate::sql::{Class, Ties};
use std::sync::Arc;

impl Session {
    /// What of the views that a read names may ask about the session, as far as that is known already.
    pub(super) fn asks(&self, known: &Known, work: &Work) -> Option<Arc<Asks>> {
        if !reads_names(known, work) {
            return None;
        }
        let database = self.database_of(work);
        let names = known.names.as_deref();
        let names = names.map(|names| TableNames { names, database });
        self.shared.gate.table_writes.asks(names)
    }

    /// The statement in hand, if it is a read that is not for satellites though its text is.
    pub(super) fn judged(&mut self, known: &Known, work: &Work) -> Option<Known> {
        self.reads_names = reads_names(known, work);
        let asks = self.asks(known, work)?;
        self.reads_names = false;
        let ties = Ties {
            rows: known.ties.rows,
            ..asks.ties
        };
        Some(known.for_master(Unproven::Asks(asks).reason(), ties))
    }

    /// Whether this satellite may answer the statement in hand.
    pub(super) async fn proves(&self, server: &Server, work: &Work, patience: Patience) -> Proof {
        if self.begins_snapshot {
            // It may read anything later. Which of that is not for satellites is refused then; but it must be known.
            return match self.shared.gate.proves(None, server, patience).await {
                Err(Unproven::Asks(_)) => Ok(None),
                other => other,
            };
        }
        let reads_none = self.names.as_ref().is_some_and(|n| n.list.is_empty());
        if !self.reads_names || reads_none {
            return Ok(None);
        }
        let database = self.database_of(work);
        let names = self.names.as_deref();
        let names = names.map(|names| TableNames { names, database });
        self.shared.gate.proves(names, server, patience).await
    }

    /// The same where the transaction is on the satellite already: the master has another snapshot.
    pub(super) async fn proves_inside(&mut self, id: usize, work: &Work) -> Result<(), Fault> {
        let Some(server) = self.shared.gate.servers.find(id) else {
            return Ok(());
        };
        let proof = self.proves(&server, work, Patience::NobodyElseCan).await;
        self.proven = proof.map_err(|unproven| {
            let reason = unproven.reason();
            SqlError::gate(format_args!(
                "not possible in a read-only transaction on a satellite: {reason}"
            ))
        })?;
        Ok(())
    }
}

/// What the answer in hand rests on; it is looked at when that has ended.
pub(super) struct Rests<'a> {
    pub gate: &'a Gate,
    pub proven: Option<Proven>,
    /// A transaction is on the satellite.
    pub inside: bool,
    pub names: Option<TableNames<'a>>,
}

impl Rests<'_> {
    /// As far as that is known at once.
    pub(super) fn holds(&self) -> bool {
        let proven = self.proven.as_ref();
        proven.is_none_or(|proven| self.gate.table_writes.holds(proven))
    }

    pub(super) async fn held(&self, backend: &Backend, sent: bool) -> bool {
        let Some(proven) = &self.proven else {
            return true;
        };
        let patience = match sent || self.inside {
            true => Patience::NobodyElseCan,
            false => Patience::MasterCan,
        };
        self.gate.held(proven, self.names, backend, patience).await
    }
}

/// SHOW reads no view, unless it has a subquery.
fn reads_names(known: &Known, work: &Work) -> bool {
    let shows = || {
        let sql = work.sql().to_ascii_lowercase();
        sql.trim_start().starts_with("show") && !sql.contains("select")
    };
    known.class == Class::Read && (known.names.is_some() || !shows())
}
