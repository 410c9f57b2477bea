//! Why the plan sends a statement where it does. Pure.
//!
//! In: the session's state, a statement, its plan. Out: the reason. Of a read that has yet to be admitted, the admission says it.

use super::plan::{Begin, InReadOnly, Outside, Plan};
use super::state::{State, Tx};
use super::statement::Known;
use crate::common::why::Why;
use crate::sql::Class;

/// `on_leave`: the transaction is on the master in a satellite's stead.
pub(super) fn why(state: &State, known: &Known, plan: &Plan, on_leave: bool) -> Why {
    match plan {
        Plan::Kill { .. } => Why::Kill,
        Plan::Set(_) | Plan::Use => Why::Setting,
        Plan::Begin(Begin::OnMaster) => Why::Control,
        Plan::AskLastServer => Why::LastStatement,
        Plan::Outside(outside) | Plan::EndThen(outside) => outside_of(state, known, outside),
        Plan::InMaster(_) if on_leave => Why::TransactionOnMaster,
        Plan::InMaster(_) => in_master(state, known),
        Plan::OpenOnMaster(_) => of_class(state, known),
        Plan::BesideOnMaster { .. } => Why::AboutSession,
        Plan::InReadOnly(InReadOnly::Read(_) | InReadOnly::Savepoint(_)) => Why::Transaction,
        Plan::Begin(_) | Plan::End { .. } | Plan::InReadOnly(_) => Why::Gate,
        Plan::Refuse(_) => Why::Unanswered,
    }
}

fn outside_of(state: &State, known: &Known, plan: &Outside) -> Why {
    match plan {
        Outside::Read | Outside::End(_) => Why::Gate,
        Outside::Pin(reason) => Why::Statement(reason),
        Outside::OnMaster(_) | Outside::Finish(_) => of_class(state, known),
    }
}

/// In a transaction that is on the master: a statement that is the master's anyway, is there for that.
fn in_master(state: &State, known: &Known) -> Why {
    match known.class {
        Class::Read if !state.autocommit => Why::AutocommitOff,
        Class::Read => Why::ReadWriteTransaction,
        _ => of_class(state, known),
    }
}

fn of_class(state: &State, known: &Known) -> Why {
    match known.class {
        Class::Write(reason) | Class::Pin(reason) => Why::Statement(reason),
        Class::Read => of_session(state),
        _ => Why::Control,
    }
}

/// What keeps a session's reads on the master.
fn of_session(state: &State) -> Why {
    if let Some(reason) = state.sticky {
        Why::Pinned(reason)
    } else if state.reads_differently {
        Why::SqlMode
    } else if state.must_serialize() {
        Why::Serializable
    } else if state.in_system_schema() {
        Why::SystemSchema
    } else if !state.autocommit && !state.declared_read_only() {
        Why::AutocommitOff
    } else if state.tx == Tx::None {
        Why::TooLong
    } else {
        Why::ReadWriteTransaction
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::charset::Encoding;
    use crate::session::plan::plan;
    use crate::session::work::{Request, Work};
    use crate::sql::understand;

    type Change = fn(&mut State);

    fn why_of(sql: &str, change: impl FnOnce(&mut State)) -> Why {
        let mut state = State::new(None, Encoding::Utf8);
        change(&mut state);
        let Ok(known) = Known::of(understand(sql)) else {
            panic!("{sql}");
        };
        let payload = [b"\x03", sql.as_bytes()].concat();
        let request = Request {
            payload: payload.as_slice().into(),
            continued: false,
        };
        let work = Work::Query {
            request,
            text_at: 1,
        };
        why(&state, &known, &plan(&state, &known, &work), false)
    }

    #[test]
    fn each_way_to_the_master_has_its_reason() {
        let read = "SELECT a FROM t";
        let cases: [(&str, Change, Why); 16] = [
            (read, |s| s.autocommit = false, Why::AutocommitOff),
            (read, |s| s.tx = Tx::OnMaster, Why::ReadWriteTransaction),
            (read, |s| s.sticky = Some("LOCK"), Why::Pinned("LOCK")),
            (read, |s| s.reads_differently = true, Why::SqlMode),
            (read, |s| s.serializable = true, Why::Serializable),
            (
                read,
                |s| s.database = Some("mysql".into()),
                Why::SystemSchema,
            ),
            (read, |s| s.tx = Tx::OnSatellite(1), Why::Transaction),
            (read, |s| s.tx = Tx::Lost, Why::Unanswered),
            (read, |_| (), Why::Gate),
            (
                "SELECT a FROM t FOR UPDATE",
                |_| (),
                Why::Statement("locking read"),
            ),
            (
                "DELETE FROM t",
                |s| s.tx = Tx::OnMaster,
                Why::Statement("data change"),
            ),
            ("LOCK TABLES t READ", |_| (), Why::Statement("LOCK")),
            (
                "SELECT @@version",
                |s| s.tx = Tx::OnSatellite(1),
                Why::AboutSession,
            ),
            ("COMMIT", |s| s.tx = Tx::OnMaster, Why::Control),
            ("SET NAMES utf8mb4", |_| (), Why::Setting),
            ("SHOW WARNINGS", |_| (), Why::LastStatement),
        ];
        for (sql, change, expected) in cases {
            assert_eq!(why_of(sql, change), expected, "{sql}");
        }
    }
}
