//! A second opinion on what is called a read: that of a real parser.
//!
//! In: a text without quotes, comments and backslashes, which both read alike. Out: whether the parser sees more in it than a read.
//! Must never: be asked about so long a text that the parser, which recurses, overflows the stack.

use sqlparser::ast::{Query, SetExpr, Statement};
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;

const LONGEST: usize = 2_000;

pub fn is_plain(text: &str) -> bool {
    !text.contains(['\'', '"', '`', '#', '\\', '/', '{']) && !text.contains("--")
}

/// The parser reads it, and it is no query that only reads. What it doesn't read, it has no opinion on.
pub fn sees_more_than_a_read(text: &str) -> bool {
    if text.len() > LONGEST || !is_plain(text) {
        return false;
    }
    let parsed = Parser::parse_sql(&MySqlDialect {}, text).unwrap_or_default();
    !parsed.iter().all(reads)
}

fn reads(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => only_reads(query),
        Statement::Explain { statement, .. } => reads(statement),
        other => other.to_string().starts_with("SHOW "),
    }
}

fn only_reads(query: &Query) -> bool {
    let mut queries = vec![query];
    while let Some(query) = queries.pop() {
        if !query.locks.is_empty() {
            return false;
        }
        queries.extend(
            query
                .with
                .iter()
                .flat_map(|w| &w.cte_tables)
                .map(|c| &*c.query),
        );
        let mut bodies = vec![query.body.as_ref()];
        while let Some(body) = bodies.pop() {
            match body {
                SetExpr::Select(select) if select.into.is_none() => {}
                SetExpr::Query(inner) => queries.push(inner),
                SetExpr::SetOperation { left, right, .. } => {
                    bodies.extend([left.as_ref(), right.as_ref()])
                }
                SetExpr::Values(_) | SetExpr::Table(_) => {}
                _ => return false,
            }
        }
    }
    true
}
