//! The plan as a table: state of the transaction, statement, what is done.

use super::super::work::Request;
use super::*;
use crate::protocol::charset::Encoding;
use crate::sql::understand;
use bytes::BytesMut;

const MIB_16: usize = 0xff_ffff;

fn query(sql: &str, continued: bool) -> Work {
    let mut payload = BytesMut::from("\u{3}");
    payload.extend_from_slice(sql.as_bytes());
    let request = Request { payload, continued };
    Work::Query {
        request,
        text_at: 1,
    }
}

fn state(tx: Tx) -> State {
    let mut state = State::new(Some("shop".to_owned()), Encoding::of_collation(255u16));
    state.tx = tx;
    state
}

/// As the plan prints itself.
fn planned(state: &State, sql: &str) -> String {
    let known = Known::of(understand(sql)).ok().unwrap();
    format!("{:?}", plan(state, &known, &query(sql, false)))
}

fn check(tx: Tx, table: &[(&str, Plan<'_>)]) {
    for (sql, expected) in table {
        assert_eq!(planned(&state(tx), sql), format!("{expected:?}"), "{sql}");
    }
}

const END: End = End {
    chain: false,
    release: false,
};
const CHAIN: End = End {
    chain: true,
    release: false,
};
const RELEASE: End = End {
    chain: false,
    release: true,
};

fn in_master(told: Told) -> InMaster {
    InMaster {
        told,
        pin: None,
        ends: None,
    }
}

#[test]
fn outside_a_transaction() {
    check(
        Tx::None,
        &[
            ("SELECT a FROM t", Plan::Outside(Outside::Read)),
            (
                "SELECT a FROM t FOR UPDATE",
                Plan::Outside(Outside::OnMaster(Told::Data)),
            ),
            (
                "INSERT INTO t VALUES (1)",
                Plan::Outside(Outside::OnMaster(Told::OwnChange)),
            ),
            (
                "SELECT a FROM t; SELECT b FROM t",
                Plan::Outside(Outside::OnMaster(Told::Data)),
            ),
            (
                "CREATE TEMPORARY TABLE t (a INT)",
                Plan::Outside(Outside::Pin("temporary table")),
            ),
            ("COMMIT", Plan::Outside(Outside::End(END))),
            ("ROLLBACK RELEASE", Plan::Outside(Outside::End(RELEASE))),
            ("COMMIT AND CHAIN", Plan::Outside(Outside::Finish(CHAIN))),
            ("SAVEPOINT s", Plan::Outside(Outside::OnMaster(Told::Data))),
            ("BEGIN", Plan::Begin(Begin::OnMaster)),
            ("START TRANSACTION READ ONLY", Plan::Begin(Begin::Later)),
            (
                "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
                Plan::Begin(Begin::Snapshot),
            ),
            ("SHOW WARNINGS", Plan::AskLastServer),
            ("USE other", Plan::Use),
            (
                "KILL QUERY 7",
                Plan::Kill {
                    query_only: true,
                    id: Some(7),
                },
            ),
        ],
    );
}

#[test]
fn before_the_first_statement_of_a_read_only_transaction() {
    check(
        Tx::Pending,
        &[
            ("SELECT a FROM t", Plan::InReadOnly(InReadOnly::ReadFirst)),
            ("SAVEPOINT s", Plan::InReadOnly(InReadOnly::SavepointFirst)),
            ("COMMIT", Plan::End { on: None, end: END }),
            (
                "ROLLBACK AND CHAIN",
                Plan::End {
                    on: None,
                    end: CHAIN,
                },
            ),
            ("SELECT CONNECTION_ID()", Plan::BesideOnMaster { pin: None }),
            (
                "SELECT a FROM t FOR UPDATE",
                Plan::OpenOnMaster(in_master(Told::Data)),
            ),
            (
                "INSERT INTO t VALUES (1)",
                Plan::OpenOnMaster(in_master(Told::OwnChange)),
            ),
            ("BEGIN", Plan::Begin(Begin::Later)),
            ("START TRANSACTION READ WRITE", Plan::Begin(Begin::OnMaster)),
        ],
    );
}

#[test]
fn in_a_read_only_transaction_on_a_satellite() {
    let to_be_refused = |sql: &str| {
        let plan = planned(&state(Tx::OnSatellite(2)), sql);
        assert!(plan.starts_with("Refuse(Inside("), "{sql}: {plan}");
    };
    check(
        Tx::OnSatellite(2),
        &[
            ("SELECT a FROM t", Plan::InReadOnly(InReadOnly::Read(2))),
            ("SAVEPOINT s", Plan::InReadOnly(InReadOnly::Savepoint(2))),
            (
                "COMMIT RELEASE",
                Plan::End {
                    on: Some(2),
                    end: RELEASE,
                },
            ),
            ("SELECT CONNECTION_ID()", Plan::BesideOnMaster { pin: None }),
            ("UPDATE t SET a = 1", Plan::Refuse(Refusal::Change)),
            (
                "SET @x = (SELECT a FROM t)",
                Plan::Refuse(Refusal::Inside("SET to what is read")),
            ),
            (
                "CREATE TABLE u (a INT)",
                Plan::EndThen(Outside::OnMaster(Told::Data)),
            ),
            ("START TRANSACTION", Plan::Begin(Begin::Later)),
            ("SHOW WARNINGS", Plan::AskLastServer),
        ],
    );
    to_be_refused("CALL p()");
    to_be_refused("SELECT a FROM t FOR UPDATE");
    to_be_refused("SELECT CONNECTION_ID() FROM t");
    to_be_refused("SELECT f(a) FROM t");
}

#[test]
fn in_a_transaction_on_the_master() {
    let ends = |end| InMaster {
        ends: Some(end),
        ..in_master(Told::OwnChange)
    };
    let pinned = InMaster {
        pin: Some("temporary table"),
        ..in_master(Told::Data)
    };
    check(
        Tx::OnMaster,
        &[
            ("SELECT a FROM t", Plan::InMaster(in_master(Told::Data))),
            ("DELETE FROM t", Plan::InMaster(in_master(Told::OwnChange))),
            ("SAVEPOINT s", Plan::InMaster(in_master(Told::OwnChange))),
            ("COMMIT", Plan::InMaster(ends(END))),
            ("COMMIT RELEASE", Plan::InMaster(ends(RELEASE))),
            ("CREATE TEMPORARY TABLE t (a INT)", Plan::InMaster(pinned)),
            ("START TRANSACTION READ ONLY", Plan::Begin(Begin::OnMaster)),
        ],
    );
}

#[test]
fn a_lost_transaction_can_only_end() {
    check(
        Tx::Lost,
        &[
            ("SELECT a FROM t", Plan::Refuse(Refusal::Lost)),
            ("SHOW WARNINGS", Plan::Refuse(Refusal::Lost)),
            ("INSERT INTO t VALUES (1)", Plan::Refuse(Refusal::Lost)),
            ("ROLLBACK", Plan::End { on: None, end: END }),
            (
                "COMMIT AND CHAIN",
                Plan::End {
                    on: None,
                    end: CHAIN,
                },
            ),
        ],
    );
}

type Change = fn(&mut State);

/// What a session may have said that keeps its reads on the master.
#[test]
fn reads_that_satellites_could_answer_wrongly_go_to_the_master() {
    let changes: [(&str, Change); 6] = [
        ("depends on the master", |s| s.sticky = Some("a table lock")),
        ("reads texts differently", |s| s.reads_differently = true),
        ("SERIALIZABLE", |s| s.serializable = true),
        ("SERIALIZABLE next", |s| s.next.isolation("SERIALIZABLE")),
        ("a schema of the server's", |s| {
            s.database = Some("performance_schema".to_owned());
        }),
        ("autocommit is off", |s| s.autocommit = false),
    ];
    let sql = "SELECT a FROM t";
    for (why, change) in changes {
        let mut state = state(Tx::None);
        change(&mut state);
        let on_master = Plan::Outside(Outside::OnMaster(Told::Data));
        assert_eq!(planned(&state, sql), format!("{on_master:?}"), "{why}");
        state.tx = Tx::Pending;
        let first = planned(&state, sql);
        // Whether it may begin a transaction does not matter inside of one.
        let expected = match state.autocommit {
            true => Plan::OpenOnMaster(in_master(Told::Data)),
            false => Plan::InReadOnly(InReadOnly::ReadFirst),
        };
        assert_eq!(first, format!("{expected:?}"), "{why}");
    }
}

#[test]
fn a_read_only_session_reads_on_satellites_without_autocommit() {
    let mut state = state(Tx::None);
    (state.autocommit, state.read_only) = (false, true);
    let read = Plan::Outside(Outside::Read);
    assert_eq!(planned(&state, "SELECT a FROM t"), format!("{read:?}"));
    let begin = Plan::Begin(Begin::Later);
    assert_eq!(planned(&state, "BEGIN"), format!("{begin:?}"));
}

#[test]
fn a_commit_reaches_the_master_once_something_of_the_session_lives_there() {
    let mut state = state(Tx::None);
    state.sticky = Some("a table lock");
    let expected = format!("{:?}", Plan::Outside(Outside::Finish(END)));
    assert_eq!(planned(&state, "COMMIT"), expected);
}

/// A statement that failed leaves locks, though no transaction is reported (measured: SELECT of a column that is not there).
#[test]
fn with_autocommit_off_a_commit_reaches_the_servers_that_may_hold_locks() {
    let mut state = state(Tx::None);
    (state.autocommit, state.left) = (false, true);
    for (sql, end) in [("COMMIT", END), ("ROLLBACK AND CHAIN", CHAIN)] {
        let expected = format!("{:?}", Plan::Outside(Outside::Finish(end)));
        assert_eq!(planned(&state, sql), expected, "{sql}");
    }
}

#[test]
fn completion_type_decides_what_a_commit_does_that_says_nothing() {
    let mut state = state(Tx::OnSatellite(2));
    for (completes, sql, end) in [
        (Completes::Chains, "COMMIT", CHAIN),
        (Completes::Chains, "COMMIT AND NO CHAIN", END),
        (Completes::Releases, "ROLLBACK", RELEASE),
        (Completes::Releases, "ROLLBACK NO RELEASE", END),
    ] {
        state.completes = completes;
        let expected = format!("{:?}", Plan::End { on: Some(2), end });
        assert_eq!(planned(&state, sql), expected, "{sql}");
    }
}

#[test]
fn a_read_before_the_transaction_that_something_is_set_for_runs_on_the_master() {
    let mut state = state(Tx::None);
    state.next.read_only(true);
    let expected = format!("{:?}", Plan::Outside(Outside::OnMaster(Told::Data)));
    assert_eq!(planned(&state, "SELECT 1"), expected);
    let begin = format!("{:?}", Plan::Begin(Begin::Later));
    assert_eq!(planned(&state, "BEGIN"), begin);
}

#[test]
fn a_read_that_cannot_be_sent_again_runs_where_nothing_refuses_it() {
    let known = Known::of(understand("SELECT a FROM t")).ok().unwrap();
    let work = query(&"x".repeat(MIB_16), true);
    let planned = plan(&state(Tx::None), &known, &work);
    assert_eq!(planned, Plan::Outside(Outside::OnMaster(Told::Data)));
}

#[test]
fn a_statement_is_prepared_where_it_would_run() {
    let table = [
        ("SELECT a FROM t", Tx::None, Prepare::Read),
        ("SELECT a FROM t", Tx::Pending, Prepare::Read),
        (
            "SELECT a FROM t",
            Tx::OnSatellite(2),
            Prepare::OnSatellite(2),
        ),
        ("SELECT a FROM t", Tx::OnMaster, Prepare::OnMaster),
        ("SELECT a FROM t", Tx::Lost, Prepare::OnMaster),
        ("DELETE FROM t", Tx::None, Prepare::OnMaster),
        ("DELETE FROM t", Tx::OnSatellite(2), Prepare::OnMaster),
    ];
    for (sql, tx, expected) in table {
        let known = Known::of(understand(sql)).ok().unwrap();
        let planned = prepare(&state(tx), &known, |_| true);
        assert_eq!(planned, expected, "{sql} {tx:?}");
    }
}
