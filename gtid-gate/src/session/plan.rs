//! What is done with a statement: where it runs, and what that means for the transaction. Pure.
//!
//! In: the session's state, and what the statement's text says. Out: a plan, which `execute` carries out.
//! Reads outside transactions, and declared read-only transactions, go to a fresh satellite. A read-only transaction's
//! server is chosen when its first statement arrives, so that it sees all that was committed until then, and can still
//! move while nothing was read. All else goes to the master.
//! Must never: send a statement to a satellite that could change something, or that reads what only the master has.

use super::read_only::{Inside, ends_transaction, inside};
use super::state::{Completes, State, Tx};
use super::statement::Known;
use super::work::Work;
use crate::freshness::Told;
use crate::sql::{Class, Completion, SetItem, is_system_schema};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan<'a> {
    Kill {
        query_only: bool,
        id: Option<u64>,
    },
    Set(&'a [SetItem]),
    Use,
    Begin(Begin),
    /// A question about the statement before: to whoever ran that.
    AskLastServer,
    Outside(Outside),
    /// MySQL commits the open transaction, and then runs the statement as if there had been none.
    EndThen(Outside),
    /// In a transaction that is on the master.
    InMaster(InMaster),
    InReadOnly(InReadOnly),
    /// The first statement of a transaction that was to be read-only is not for satellites.
    OpenOnMaster(InMaster),
    /// Beside a read-only transaction that is not on the master: what the session's connection there alone can tell.
    BesideOnMaster {
        pin: Option<&'static str>,
    },
    /// COMMIT or ROLLBACK of a transaction that is not on the master.
    End {
        /// Its satellite, if it has one.
        on: Option<usize>,
        end: End,
    },
    Refuse(Refusal),
}

/// Outside a transaction.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outside {
    /// On a fresh satellite, else on the master.
    Read,
    OnMaster(Told),
    /// On the master, and from then on everything.
    Pin(&'static str),
    /// COMMIT or ROLLBACK: nothing is to be done.
    End(End),
    /// COMMIT or ROLLBACK where a server may have something to end, though it has reported no transaction.
    Finish(End),
}

/// What follows COMMIT or ROLLBACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// The next transaction.
    pub chain: bool,
    /// The session's end.
    pub release: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begin {
    OnMaster,
    /// WITH CONSISTENT SNAPSHOT: a satellite is chosen at once.
    Snapshot,
    /// The first statement chooses the satellite.
    Later,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct InMaster {
    pub told: Told,
    pub pin: Option<&'static str>,
    /// COMMIT or ROLLBACK.
    pub ends: Option<End>,
}

/// In a read-only transaction that is not on the master.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InReadOnly {
    /// The first statement: it chooses the server.
    ReadFirst,
    /// The same, but it reads nothing, so that the transaction can still move.
    SavepointFirst,
    /// On the transaction's satellite.
    Read(usize),
    Savepoint(usize),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A change inside a read-only transaction.
    Change,
    /// Neither the satellite nor the master could answer rightly inside the transaction, for this reason.
    Inside(&'static str),
    /// The transaction's satellite is gone.
    Lost,
}

pub(super) fn plan<'a>(state: &State, known: &'a Known, work: &Work) -> Plan<'a> {
    match &known.class {
        Class::Kill { query_only, id } => Plan::Kill {
            query_only: *query_only,
            id: *id,
        },
        // What it reads, the master has newer than the transaction's snapshot.
        Class::Set(_) if matches!(state.tx, Tx::OnSatellite(_)) && known.ties.reads => {
            Plan::Refuse(Refusal::Inside("SET to what is read"))
        }
        Class::Set(items) => Plan::Set(items),
        Class::Use(_) => Plan::Use,
        Class::Begin {
            read_only,
            consistent_snapshot,
        } => Plan::Begin(begin(state, *read_only, *consistent_snapshot)),
        Class::ShowWarnings if state.tx != Tx::Lost => Plan::AskLastServer,
        _ => match state.tx {
            Tx::None => Plan::Outside(outside(state, known, work)),
            Tx::OnMaster => Plan::InMaster(in_master(state, known)),
            Tx::Pending => first_in_read_only(state, known, work),
            Tx::OnSatellite(id) => in_read_only(id, state, known, work),
            Tx::Lost => in_lost(state, &known.class),
        },
    }
}

fn begin(state: &State, read_only: Option<bool>, snapshot: bool) -> Begin {
    // MySQL does not end the access mode of a transaction that BEGIN commits (measured).
    let read_only =
        read_only.unwrap_or_else(|| state.reads_elsewhere() || state.declared_read_only());
    // There it commits what is open, and goes on with that transaction's isolation.
    let on_master = state.tx == Tx::OnMaster || !state.satellites_allowed();
    match read_only && !on_master {
        false => Begin::OnMaster,
        true if snapshot => Begin::Snapshot,
        true => Begin::Later,
    }
}

fn outside(state: &State, known: &Known, work: &Work) -> Outside {
    match known.class {
        // One that can't be sent again goes where no refusal can send it on.
        Class::Read if may_read_alone(state, work) && work.repeatable() => Outside::Read,
        Class::Commit(completion) | Class::Rollback(completion) => {
            let end = end(state, completion);
            let open = state.left || state.next.is_set() || state.tied().is_some();
            match open || end.chain {
                true => Outside::Finish(end),
                false => Outside::End(end),
            }
        }
        Class::Pin(reason) => Outside::Pin(reason),
        // An own change shows the client no rows, so that what it saw before can't be missed.
        _ if known.changes_only => Outside::OnMaster(Told::OwnChange),
        _ => Outside::OnMaster(Told::Data),
    }
}

/// A statement that was prepared in a system schema reads there still.
fn may_read_alone(state: &State, work: &Work) -> bool {
    // Of what is set for the next transaction, a server says by its status flags whether it was for this statement, but only with
    // autocommit off.
    let next = !state.next.is_set() || !state.autocommit && state.next.read_only == Some(true);
    next && state.may_read_alone() && !prepared_in_system_schema(work)
}

/// Its names without a schema mean tables that differ from server to server.
fn reads_about_server(state: &State, work: &Work) -> bool {
    match work {
        Work::Execute(_) => prepared_in_system_schema(work),
        _ => state.in_system_schema(),
    }
}

fn prepared_in_system_schema(work: &Work) -> bool {
    match work {
        Work::Execute(execution) => {
            let database = execution.text.database.as_deref();
            database.is_some_and(is_system_schema)
        }
        _ => false,
    }
}

fn end(state: &State, completion: Completion) -> End {
    let by = |completes| state.completes == completes;
    End {
        chain: completion.chain.unwrap_or(by(Completes::Chains)),
        release: completion.release.unwrap_or(by(Completes::Releases)),
    }
}

fn in_master(state: &State, known: &Known) -> InMaster {
    let ends = match known.class {
        Class::Commit(completion) | Class::Rollback(completion) => Some(end(state, completion)),
        _ => None,
    };
    let told = match known.class {
        Class::InTransaction => Told::OwnChange,
        _ if known.changes_only || ends.is_some() => Told::OwnChange,
        _ => Told::Data,
    };
    InMaster {
        told,
        pin: pin(&known.class),
        ends,
    }
}

fn pin(class: &Class) -> Option<&'static str> {
    match class {
        Class::Pin(reason) => Some(reason),
        _ => None,
    }
}

fn first_in_read_only<'a>(state: &State, known: &'a Known, work: &Work) -> Plan<'a> {
    match known.class {
        Class::Read if state.satellites_allowed() && !prepared_in_system_schema(work) => {
            Plan::InReadOnly(InReadOnly::ReadFirst)
        }
        Class::InTransaction if state.satellites_allowed() => {
            Plan::InReadOnly(InReadOnly::SavepointFirst)
        }
        Class::Commit(completion) | Class::Rollback(completion) => Plan::End {
            on: None,
            end: end(state, completion),
        },
        _ if inside(known) == Inside::Master => Plan::BesideOnMaster {
            pin: pin(&known.class),
        },
        _ => Plan::OpenOnMaster(in_master(state, known)),
    }
}

fn in_read_only<'a>(id: usize, state: &State, known: &'a Known, work: &Work) -> Plan<'a> {
    match known.class {
        Class::InTransaction => Plan::InReadOnly(InReadOnly::Savepoint(id)),
        Class::Read if reads_about_server(state, work) => {
            Plan::Refuse(Refusal::Inside("tables about the server"))
        }
        Class::Read => Plan::InReadOnly(InReadOnly::Read(id)),
        Class::Commit(completion) | Class::Rollback(completion) => Plan::End {
            on: Some(id),
            end: end(state, completion),
        },
        _ if ends_transaction(known) => Plan::EndThen(outside(state, known, work)),
        Class::Write(reason) | Class::Pin(reason) => match inside(known) {
            Inside::Master => Plan::BesideOnMaster {
                pin: pin(&known.class),
            },
            Inside::Change => Plan::Refuse(Refusal::Change),
            Inside::Refused => Plan::Refuse(Refusal::Inside(reason)),
        },
        _ => Plan::Refuse(Refusal::Inside("not understood")),
    }
}

fn in_lost(state: &State, class: &Class) -> Plan<'static> {
    match *class {
        Class::Commit(completion) | Class::Rollback(completion) => Plan::End {
            on: None,
            end: end(state, completion),
        },
        _ => Plan::Refuse(Refusal::Lost),
    }
}

/// Where a statement is prepared.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prepare {
    /// On a fresh satellite, else on the master.
    Read,
    OnSatellite(usize),
    OnMaster,
}

/// COM_STMT_PREPARE: where the statement would run, but no transaction begins. `is_connected`: to this satellite.
pub(super) fn prepare(
    state: &State,
    known: &Known,
    is_connected: impl Fn(usize) -> bool,
) -> Prepare {
    if known.class == Class::ShowWarnings
        && let Some(id) = state.diagnostics.who_knows(known.ties)
        && is_connected(id)
    {
        return Prepare::OnSatellite(id);
    }
    let reads = known.class == Class::Read;
    match state.tx {
        Tx::OnSatellite(id) if reads => Prepare::OnSatellite(id),
        Tx::Pending if reads => Prepare::Read,
        Tx::None if reads && state.may_read_alone() => Prepare::Read,
        _ => Prepare::OnMaster,
    }
}

#[cfg(test)]
mod tests;
