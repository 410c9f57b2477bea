//! SHOW MULTIMED STATEMENTS: the statements that the gate has run, by digest.
//!
//! In: the gate's table of them. Out: rows; those that took most in all first. Must never: show a value of a statement.

use crate::backend::StatementRow;
use crate::clients::shared::Shared;
use crate::common::why::Why;
use crate::protocol::result_set::{Column, Value};
use std::time::Duration;

pub const STATEMENTS: &[Column] = &[
    Column::text("Digest"),
    Column::text("Digest_text"),
    Column::count("Count"),
    Column::count("Errors"),
    Column::real("Total_ms"),
    Column::real("P50_ms"),
    Column::real("P99_ms"),
    Column::real("Max_ms"),
    Column::real("Waited_ms"),
    Column::text("Ran_on"),
    Column::text("Reasons"),
    Column::text("Advice"),
];

pub fn statements(shared: &Shared, limit: Option<u64>) -> Vec<Vec<Value>> {
    let most = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let rows = shared.gate.statements.rows();
    rows.iter().take(most).map(|r| row(r, shared)).collect()
}

/// Nothing where there is nothing to change.
pub fn advice(why: Why) -> Value {
    Some(why.advice()).filter(|text| !text.is_empty()).into()
}

fn row(row: &StatementRow, shared: &Shared) -> Vec<Value> {
    let name = |id: &Option<usize>| match id {
        None => "gate".to_owned(),
        Some(id) => match shared.gate.servers.find(*id) {
            Some(server) => server.name.clone(),
            None => "removed".to_owned(),
        },
    };
    // What most of those on the master are there for.
    let on_master = row.why.iter().find(|(why, _)| why.is_on_master());
    vec![
        format!("{:016x}", row.digest).into(),
        row.text.to_string().into(),
        row.count.into(),
        row.errors.into(),
        millis(row.total),
        millis(row.p50),
        millis(row.p99),
        millis(row.max),
        millis(row.waited),
        counted(row.servers.iter().map(|(id, count)| (name(id), *count))),
        counted(row.why.iter().map(|(why, count)| (why.to_string(), *count))),
        on_master.map_or(Value::Null, |(why, _)| advice(*why)),
    ]
}

/// `a: 5, b: 1`
fn counted(kinds: impl Iterator<Item = (String, u64)>) -> Value {
    let each: Vec<String> = kinds
        .map(|(kind, count)| format!("{kind}: {count}"))
        .collect();
    each.join(", ").into()
}

fn millis(time: Duration) -> Value {
    (time.as_secs_f64() * 1e3).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Ended;
    use crate::sql::understand;
    use crate::test_support::shared;

    #[tokio::test]
    async fn a_statement_says_where_it_ran_and_what_to_change() {
        let shared = shared(&[]);
        for (sql, server, why) in [
            ("SELECT a FROM t WHERE b = 5", Some(0), Why::AutocommitOff),
            ("SELECT a FROM t WHERE b = 6", Some(1), Why::Fresh),
            ("SELECT a FROM t WHERE b = 7", Some(1), Why::Fresh),
            ("COMMIT", None, Why::Gate),
        ] {
            shared.gate.statements.add(&Ended {
                digest: &understand(sql).digest,
                server,
                why,
                failed: false,
                waited: Duration::ZERO,
                took: Duration::from_millis(if server.is_some() { 2 } else { 1 }),
            });
        }
        let rows = statements(&shared, None);
        assert_eq!(rows.len(), 2);
        let at = |row: usize, name: &str| {
            let column = STATEMENTS.iter().position(|c| c.name == name).unwrap();
            rows[row][column].clone()
        };
        let satellite = shared.gate.servers.satellites()[0].name.clone();
        let master = shared.gate.servers.master.name.clone();
        let ran_on = format!("{satellite}: 2, {master}: 1");
        assert_eq!((at(0, "Count"), at(0, "Total_ms")), (3.into(), 6.0.into()));
        assert_eq!(at(0, "Ran_on"), ran_on.into());
        assert_eq!(at(0, "Reasons"), "fresh: 2, autocommit is off: 1".into());
        assert_eq!(at(0, "Advice"), Why::AutocommitOff.advice().into());
        assert_eq!(
            (at(1, "Ran_on"), at(1, "Advice")),
            ("gate: 1".into(), Value::Null)
        );
        assert_eq!(statements(&shared, Some(1)).len(), 1);
        assert!(statements(&shared, Some(0)).is_empty());
    }
}
