//! Asks servers what their last answers had no room for, before anything depends on it: whether a transaction is open, and what has
//! changed in the session.
//!
//! An error packet carries no status flags. A result that ends with an EOF packet carries no reports; they come with the next OK packet.
//! In: a session of which something is unknown. Out: the same with everything known; what can't be given to satellites keeps it on the
//! master. Must never: take "nothing was reported" for "nothing happened" where the server could not report.

use super::fault::Fault;
use super::parts::Session;
use super::plan::{Outside, Plan};
use super::state::{Open, Tx};
use crate::backend::{Backend, Role, TextResult, bounded};
use crate::protocol::error::SqlError;
use crate::protocol::session_track::{Report, Shown, owe, without_transaction};
use crate::protocol::wire::{STATUS_AUTOCOMMIT, STATUS_IN_TRANS};
use crate::sql::SetItem;

// Without LIMIT these have no row where the session has set sql_select_limit to 0.
const CHARSETS: &str = "SELECT @@SESSION.character_set_client, @@SESSION.character_set_results, @@SESSION.collation_connection LIMIT 1";
const REPORTED: &str = "SELECT @@SESSION.session_track_system_variables LIMIT 1";
const SCHEMA: &str = "SELECT DATABASE() LIMIT 1";
pub(super) const INSERT_ID: &str = "SELECT LAST_INSERT_ID() LIMIT 1";
const ALL: &str = "*";
const TRACKERS: &str = "session_track_";
const UNREPORTED: &str = "the session has switched reports off that the gate needs";

/// Whether the plan goes by what the session believes of its servers, instead of letting the master's connection decide.
pub(super) fn relies_on_state(plan: &Plan) -> bool {
    !matches!(
        plan,
        Plan::InMaster(_)
            | Plan::Outside(Outside::OnMaster(_) | Outside::Pin(_) | Outside::Finish(_))
            | Plan::AskLastServer
            | Plan::Kill { .. }
            | Plan::Set(_)
            | Plan::Use
    )
}

impl Session {
    pub(super) fn is_settled(&self) -> bool {
        let master = self.connections.master.as_deref();
        let mut all = master.into_iter().chain(self.connections.satellites.iter());
        all.all(|b| !b.unreported) && self.state.open == Open::default()
    }

    /// Has servers say where the session stands.
    pub(super) async fn settle_status(&mut self) -> Result<(), Fault> {
        self.settle_satellites().await;
        let master = self.connections.master.take_if(|m| m.unreported);
        match master {
            Some(master) => self.settle_master(master).await,
            None => Ok(()),
        }
    }

    /// The same, and what else is not known.
    pub(super) async fn settle(&mut self) -> Result<(), Fault> {
        self.settle_status().await?;
        if std::mem::take(&mut self.state.open.schema) {
            self.ask_schema().await?;
        }
        if std::mem::take(&mut self.state.open.unnamed) {
            self.ask_what_is_reported().await?;
            self.ask_for_temporary_tables().await;
        }
        if self.state.open.charsets {
            self.ask_charsets().await?;
        }
        for name in std::mem::take(&mut self.state.open.choices) {
            let value = self
                .ask_master(&format!("SELECT @multimed_{name} LIMIT 1"))
                .await?;
            self.reported().choice(name, value.text(0, 0));
        }
        self.master_has_all();
        Ok(())
    }

    async fn settle_master(&mut self, mut master: Box<Backend>) -> Result<(), Fault> {
        let trackers = self.tracks().then(|| self.trackers.clone());
        let shown = self.state.shown_beside();
        match master.status(trackers.as_ref(), shown).await {
            Ok((status, tracked)) => {
                let ended = tracked.report.transaction == Some(false) && shown == Shown::Open;
                match ended && !self.trackers.transactions {
                    // The next answer says so, unless another has begun by then.
                    true => {
                        owe(&mut self.state.owed, &without_transaction(&tracked.kept));
                        self.state.shown = Shown::Ended;
                    }
                    false => {
                        owe(&mut self.state.owed, &tracked.kept);
                        let shown = shown.after(tracked.report.transaction);
                        self.state.has_shown(shown);
                    }
                }
                self.heard(&mut master, tracked.report);
                self.stands_at(&mut master, status);
                self.connections.master = Some(master);
                Ok(())
            }
            Err(error) => Err(self.lost_master(error)),
        }
    }

    /// A satellite that does not answer is gone, with what was open there.
    async fn settle_satellites(&mut self) {
        let within = self.shared.config.server_timeout;
        for mut backend in self.connections.satellites.take_if(|b| b.unreported) {
            match bounded(within, backend.status(None, Shown::None)).await {
                Ok((status, _)) => {
                    self.stands_at(&mut backend, status);
                    self.connections.satellites.put(backend);
                }
                Err(_) if self.state.tx == Tx::OnSatellite(backend.server.id) => {
                    self.state.tx = Tx::Lost;
                }
                Err(_) => {}
            }
        }
    }

    /// What the master has reported of the session.
    pub(super) fn heard(&mut self, master: &mut Backend, mut report: Report) {
        let mut earlier = std::mem::take(&mut master.unheard);
        if !earlier.is_empty() {
            earlier.add(report);
            report = earlier;
        }
        if let Some(characteristics) = &report.characteristics {
            self.state.next_on_master = !characteristics.is_empty();
        }
        if report.is_empty() {
            return;
        }
        if let Some(schema) = report.schema {
            self.state.database = Some(schema).filter(|s| !s.is_empty());
            master.database = self.state.database.clone();
        }
        self.state.open.unnamed |= report.changed;
        self.reported().results(&report.variables);
        for (name, value) in &report.variables {
            self.reported().variable(name, value);
            if name.starts_with(TRACKERS) {
                self.tracker_set(master, name);
            }
        }
        master.replayed = self.state.order();
    }

    /// The client's own wish: what the gate needs is set again. What changed in the same statement may not have been reported.
    fn tracker_set(&mut self, master: &mut Backend, name: &str) {
        master.reporting = false;
        master.reports_next &= name != "session_track_transaction_info";
        if !self.sets_tracker {
            self.state.sticky = Some(UNREPORTED);
            self.state.open.schema = true;
        }
    }

    /// Not every change of which the server reports no more than that there was one, can be carried to satellites.
    async fn ask_for_temporary_tables(&mut self) {
        self.state.user_variables = true;
        let Some(thread_id) = self.connections.master.as_ref().map(|m| m.thread_id) else {
            return;
        };
        let tables = self
            .shared
            .master_threads
            .has_temporary_tables(thread_id)
            .await;
        if let Err(reason) = &tables {
            tracing::warn!(%reason, "the gate's account can't see temporary tables (it needs PROCESS): a session stays on the master");
        }
        if tables.unwrap_or(true) {
            self.state.sticky = Some("a temporary table, or a change that no server names");
        }
    }

    pub(super) async fn ask_charsets(&mut self) -> Result<(), Fault> {
        let answer = self.ask_master(CHARSETS).await?;
        let text = |column| answer.text(0, column);
        let (client, results) = (text(0).unwrap_or_default(), text(1));
        let collation = text(2).unwrap_or_default();
        self.reported().charsets(client, results, collation);
        Ok(())
    }

    pub(super) async fn ask_schema(&mut self) -> Result<(), Fault> {
        let answer = self.ask_master(SCHEMA).await?;
        self.state.database = answer.text(0, 0).map(str::to_owned);
        Ok(())
    }

    /// What statements come in, after a reset.
    pub(super) async fn ask_encoding(&mut self) -> Result<(), Fault> {
        self.connect_master().await?;
        self.ask_charsets().await
    }

    pub(super) async fn ask_what_is_reported(&mut self) -> Result<(), Fault> {
        let answer = self.ask_master(REPORTED).await?;
        let listed = answer.text(0, 0).unwrap_or_default();
        if listed != ALL && !self.sets_tracker {
            self.state.sticky = Some(UNREPORTED);
        }
        if listed != ALL {
            self.reported()
                .variable("session_track_system_variables", listed);
            if let Some(master) = &mut self.connections.master {
                master.reporting = false;
            }
        }
        Ok(())
    }

    /// A question of the gate's own on the session's connection to the master.
    pub(super) async fn ask_master(&mut self, sql: &str) -> Result<TextResult, Fault> {
        let Some(mut master) = self.connections.master.take() else {
            return Err(Fault::Fatal(SqlError::gate(
                "lost the connection to the master",
            )));
        };
        let answer = master.query(sql).await;
        // What the client may ask about the statement before is overwritten.
        master.number = Backend::new_number();
        match answer {
            Ok(answer) => {
                self.connections.master = Some(master);
                Ok(answer)
            }
            Err(error) => Err(self.lost_master(error)),
        }
    }

    /// Where the session's transaction is, by a server's status flags.
    pub(super) fn stands_at(&mut self, backend: &mut Backend, status: u16) {
        let open = status & STATUS_IN_TRANS != 0;
        let here = match backend.server.role {
            Role::Master => Tx::OnMaster,
            Role::Satellite => Tx::OnSatellite(backend.server.id),
        };
        if here == Tx::OnMaster {
            let autocommit = status & STATUS_AUTOCOMMIT != 0;
            if autocommit && !self.state.autocommit && self.state.tx != Tx::OnMaster {
                // To switch it on has committed.
                self.state.tx = Tx::None;
            }
            self.state.flags = status;
            self.state.autocommit = autocommit;
            backend.autocommit = autocommit;
        }
        backend.left &= !self.state.autocommit;
        if self.state.tx == Tx::None || self.state.tx == here {
            self.state.tx = if open { here } else { Tx::None };
        }
        if self.state.tx != Tx::OnMaster {
            self.leave = None;
        }
    }
}

/// Whether a SET does nothing but what its text says, and what the server reports by name.
pub(super) fn is_plain(items: &[SetItem]) -> bool {
    !items.contains(&SetItem::Other) && (items.len() == 1 || !items.iter().any(is_tracker))
}

pub(super) fn is_tracker(item: &SetItem) -> bool {
    matches!(item, SetItem::Session(name) if name.starts_with(TRACKERS))
}
