//! The statements that the gate has run, as JSON and as rows:
//! - `known`, `most`: how many digests are known, and how many can be
//! - `statements`: of each `digest` (16 hex digits), `text` without values, `class` (of reads: by configuration, else `light` or `heavy`), `count`, `errors`, `total_ms`, `p50_ms`, `p99_ms`, `max_ms`,
//!   `waited_ms` (until a server was chosen that is fresh enough), `servers` by name (`gate`: no server), and `why`: each `reason` with its
//!   `count`, whether it is one of the master's (`on_master`), and what to change (`advice`, empty where there is nothing)

use super::cells::row;
use crate::backend::{MOST_DIGESTS, StatementRow};
use crate::clients::shared::Shared;
use crate::common::why::Why;
use crate::protocol::result_set::{Column, Value as Cell};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Who does not ask for all over HTTP is told of so many.
pub const MOST: usize = 100;

/// Columns of SHOW MULTIMED STATEMENTS.
pub const STATEMENTS: &[Column] = &[
    Column::text("Digest"),
    Column::text("Digest_text"),
    Column::text("Class"),
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

/// Where the description has what the first columns show.
const FOUND_AT: [&str; 10] = [
    "/digest",
    "/text",
    "/class",
    "/count",
    "/errors",
    "/total_ms",
    "/p50_ms",
    "/p99_ms",
    "/max_ms",
    "/waited_ms",
];

/// Of at most so many: those that took most in all.
pub fn list(shared: &Shared, most: usize) -> Value {
    let rows = shared.gate.statements.rows();
    let told = rows.iter().take(most).map(|row| statement(row, shared));
    json!({
        "known": rows.len(),
        "most": MOST_DIGESTS,
        "statements": told.collect::<Vec<_>>(),
    })
}

/// The same as rows.
pub fn statements(shared: &Shared, limit: Option<u64>) -> Vec<Vec<Cell>> {
    let most = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let rows = shared.gate.statements.rows();
    let told = rows.iter().take(most).map(|row| statement(row, shared));
    told.map(|told| cells(&told)).collect()
}

fn cells(told: &Value) -> Vec<Cell> {
    let servers = told["servers"].as_object().into_iter().flatten();
    let why = told["why"].as_array().into_iter().flatten();
    let on_master = why.clone().find(|why| why["on_master"] == true);
    let last = [
        counted(servers.map(|(name, count)| (name.as_str(), count))),
        counted(why.map(|why| (why["reason"].as_str().unwrap_or_default(), &why["count"]))),
        // Of what most of those on the master are there for.
        on_master.map_or(Value::Null, |why| why["advice"].clone()),
    ];
    row(STATEMENTS, told, &FOUND_AT, last)
}

/// `a: 5, b: 1`
fn counted<'a>(kinds: impl Iterator<Item = (&'a str, &'a Value)>) -> Value {
    let each: Vec<String> = kinds
        .map(|(kind, count)| format!("{kind}: {count}"))
        .collect();
    each.join(", ").into()
}

fn statement(row: &StatementRow, shared: &Shared) -> Value {
    let name = |id: Option<usize>| match id.map(|id| shared.gate.servers.find(id)) {
        None => "gate".to_owned(),
        Some(Some(server)) => server.name.clone(),
        Some(None) => "others".to_owned(),
    };
    let mut servers = BTreeMap::<String, u64>::new();
    for (id, count) in &row.servers {
        *servers.entry(name(*id)).or_default() += count;
    }
    json!({
        "digest": format!("{:016x}", row.digest),
        "text": &*row.text,
        "class": class(row, shared),
        "count": row.count,
        "errors": row.errors,
        "total_ms": millis(row.total),
        "p50_ms": millis(row.p50),
        "p99_ms": millis(row.p99),
        "max_ms": millis(row.max),
        "waited_ms": millis(row.waited),
        "servers": servers,
        "why": row.why.iter().map(reason).collect::<Vec<_>>(),
    })
}

/// Nothing of what is no read.
fn class<'a>(row: &StatementRow, shared: &'a Shared) -> Option<&'a str> {
    let by_settings = row
        .class
        .and_then(|at| shared.config.classes.list.get(usize::from(at)));
    let by_time = || match shared.gate.servers.digest_times.is_heavy(row.digest) {
        true => "heavy",
        false => "light",
    };
    row.is_read
        .then(|| by_settings.map_or_else(by_time, |class| &class.name))
}

fn reason((why, count): &(Why, u64)) -> Value {
    json!({
        "reason": why.to_string(),
        "count": count,
        "on_master": why.is_on_master(),
        "advice": why.advice(),
    })
}

/// To the microsecond.
fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Ended;
    use crate::sql::understand;
    use crate::test_support::shared;

    #[tokio::test]
    async fn a_statement_is_told_with_where_it_ran_and_what_to_change() {
        let shared = shared(&[]);
        let digest = understand("SELECT a FROM t WHERE b = 7 FOR UPDATE").digest;
        for server in [Some(0), Some(99), None] {
            shared.gate.statements.add(&Ended {
                digest: &digest,
                server,
                why: Why::Statement("locking read"),
                is_read: true,
                class: None,
                failed: false,
                waited: Duration::ZERO,
                took: Duration::from_micros(1500),
            });
        }
        let told = list(&shared, MOST);
        let row = &told["statements"][0];
        assert_eq!(row["text"], "SELECT a FROM t WHERE b = ? FOR UPDATE");
        assert_eq!((&told["known"], &row["total_ms"]), (&json!(1), &json!(4.5)));
        let master = &shared.gate.servers.master.name;
        assert_eq!(row["servers"], json!({master: 1, "others": 1, "gate": 1}));
        assert_eq!(row["why"][0]["reason"], "locking read");
        assert_eq!(row["why"][0]["on_master"], true);
        assert_ne!(row["why"][0]["advice"], "");
    }

    #[tokio::test]
    async fn rows_say_where_statements_ran_and_what_to_change() {
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
                is_read: server.is_some(),
                class: None,
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
        let ran_on = format!("{master}: 1, {satellite}: 2");
        assert_eq!((at(0, "Count"), at(0, "Total_ms")), (3.into(), 6.0.into()));
        assert_eq!(at(0, "Ran_on"), ran_on.into());
        assert_eq!(
            (at(0, "Class"), at(1, "Class")),
            ("light".into(), Cell::Null)
        );
        assert_eq!(at(0, "Reasons"), "fresh: 2, autocommit is off: 1".into());
        assert_eq!(at(0, "Advice"), Why::AutocommitOff.advice().into());
        assert_eq!(
            (at(1, "Ran_on"), at(1, "Advice")),
            ("gate: 1".into(), Cell::Null)
        );
        assert_eq!(statements(&shared, Some(1)).len(), 1);
        assert!(statements(&shared, Some(0)).is_empty());
    }
}
