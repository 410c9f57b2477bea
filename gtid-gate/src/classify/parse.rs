//! The second opinion of a real parser on what the screen found harmless.
//!
//! In: the tokens of a query. Out: whether `sqlparser` agrees that it is one query that only reads.
//! Must never: be asked to parse so deep an expression that freeing it overflows the stack.

use super::lex::Kind;
use super::tokens::Tokens;
use sqlparser::ast::{Query, SetExpr, Statement};
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use std::cell::RefCell;
use std::collections::HashMap;

/// Words and operators, each of which may nest the tree once more. Lists of literals don't count.
const MOST_NESTING: usize = 3_000;

/// Parsing costs ten times what all else here costs, and programs send few shapes of statements: each thread
/// remembers the parser's answers for that many, none longer than this.
const MOST_SHAPES: usize = 2_000;
const LONGEST_SHAPE: usize = 1_024;

thread_local! {
    static ANSWERS: RefCell<HashMap<String, bool>> = RefCell::new(HashMap::new());
}

pub fn is_query(tokens: &Tokens) -> bool {
    if tokens.list.iter().filter(|t| nests(t.kind)).count() > MOST_NESTING {
        return false;
    }
    let shape = tokens.shape();
    let known = ANSWERS.with_borrow(|answers| answers.get(&shape).copied());
    known.unwrap_or_else(|| {
        let answer = parses_as_query(&shape);
        remember(shape, answer);
        answer
    })
}

fn remember(shape: String, answer: bool) {
    if shape.len() > LONGEST_SHAPE {
        return;
    }
    ANSWERS.with_borrow_mut(|answers| {
        if answers.len() >= MOST_SHAPES {
            answers.clear();
        }
        answers.insert(shape, answer);
    });
}

fn parses_as_query(shape: &str) -> bool {
    let parsed = Parser::parse_sql(&MySqlDialect {}, shape);
    match parsed.as_deref() {
        Ok([Statement::Query(query)]) => only_reads(query),
        _ => false,
    }
}

fn nests(kind: Kind) -> bool {
    match kind {
        Kind::Word | Kind::Backtick => true,
        Kind::Symbol(symbol) => !matches!(symbol, b'(' | b')' | b',' | b'.' | b'?'),
        _ => false,
    }
}

fn only_reads(query: &Query) -> bool {
    let mut bodies = vec![query.body.as_ref()];
    bodies.extend(
        query
            .with
            .iter()
            .flat_map(|w| &w.cte_tables)
            .map(|c| c.query.body.as_ref()),
    );
    while let Some(body) = bodies.pop() {
        match body {
            SetExpr::Select(select) if select.into.is_none() => {}
            SetExpr::Query(inner) if inner.locks.is_empty() => bodies.push(&inner.body),
            SetExpr::SetOperation { left, right, .. } => {
                bodies.extend([left.as_ref(), right.as_ref()])
            }
            SetExpr::Values(_) | SetExpr::Table(_) => {}
            _ => return false,
        }
    }
    query.locks.is_empty()
}
