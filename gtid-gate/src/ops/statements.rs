//! The statements that the gate has run, as JSON:
//! - `known`, `most`: how many digests are known, and how many can be
//! - `statements`: of each `digest` (16 hex digits), `text` without values, `count`, `errors`, `total_ms`, `p50_ms`, `p99_ms`, `max_ms`,
//!   `waited_ms` (until a server was chosen that is fresh enough), `servers` by name (`gate`: no server), and `why`: each `reason` with its
//!   `count`, whether it is one of the master's (`on_master`), and what to change (`advice`, empty where there is nothing)

use crate::backend::{MOST_DIGESTS, StatementRow};
use crate::clients::shared::Shared;
use crate::common::why::Why;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Who does not ask for all is told of so many.
pub const MOST: usize = 100;

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
}
