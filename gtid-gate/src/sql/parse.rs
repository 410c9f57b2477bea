//! The second opinion of a real parser on what the screen found harmless.
//!
//! In: the tokens of a query. Out: whether `sqlparser` agrees that it is one query that only reads.
//! Must never: be asked to parse so deep an expression that freeing it overflows the stack.

use super::class::Class;
use super::digest::{Digest, digest};
use super::lex::Kind;
use super::names::{self, Names};
use super::tokens::Tokens;
use crate::protocol::auth::fingerprint;
use sqlparser::ast::{Query, SetExpr, Statement};
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Words and operators, each of which may nest the tree once more. Lists of literals don't count.
const MOST_NESTING: usize = 3_000;

/// Parsing costs ten times what all else here costs, and programs send few shapes of statements: each thread
/// remembers the classes of that many, none longer than this.
const MOST_SHAPES: usize = 2_000;
const LONGEST_SHAPE: usize = 1_024;
/// Of a query's text, what people are shown of it.
const LONGEST_READABLE: usize = 160;

/// What stand for values in the shapes that are remembered: no text has them outside quotes, so that no two statements
/// that differ in more than values share a shape (`a.5` would have that of `a1`).
const NUMBER: &str = "\u{1}";
const STRING: &str = "\u{2}";

/// What a query's shape says: its class, and if it reads the names in it.
#[derive(Clone)]
pub struct Shaped {
    pub class: Class,
    pub names: Option<Arc<Names>>,
    /// Nothing where it was not looked for.
    pub digest: Option<Arc<Digest>>,
}

impl From<Class> for Shaped {
    fn from(class: Class) -> Self {
        Self {
            class,
            names: None,
            digest: None,
        }
    }
}

thread_local! {
    static SHAPES: RefCell<HashMap<String, Shaped>> = RefCell::new(HashMap::new());
}

/// What is known of a statement of this shape, if one was seen already; else what `find` says, to be remembered. Values in a
/// query decide nothing.
pub fn remembered(tokens: &Tokens, find: impl FnOnce() -> Class) -> Shaped {
    let shape = tokens.shape(NUMBER, STRING);
    if let Some(known) = SHAPES.with_borrow(|shapes| shapes.get(&shape).cloned()) {
        return known;
    }
    let class = find();
    let names = match class {
        Class::Read => names::names(tokens).map(|names| {
            let (shape, text) = (number(&shape), readable(tokens));
            Arc::new(Names {
                shape,
                text,
                ..names
            })
        }),
        _ => None,
    };
    let found = Shaped {
        class,
        names,
        digest: Some(digest(tokens)),
    };
    if shape.len() <= LONGEST_SHAPE {
        SHAPES.with_borrow_mut(|shapes| {
            if shapes.len() >= MOST_SHAPES {
                shapes.clear();
            }
            shapes.insert(shape, found.clone());
        });
    }
    found
}

/// What stands in double quotes may be a string or a name.
fn readable(tokens: &Tokens) -> Box<str> {
    let text = tokens.without_values();
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(LONGEST_READABLE).collect::<String>().into()
}

/// The same on every gate and after every restart: settings name shapes by it.
fn number(shape: &str) -> u64 {
    let digest = fingerprint(&[shape.as_bytes()]);
    let first = digest.first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first).max(1)
}

pub fn is_query(tokens: &Tokens) -> bool {
    let nesting = tokens.list.iter().filter(|t| nests(t.kind)).count();
    nesting <= MOST_NESTING && parses_as_query(&tokens.shape("1", "'a'"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{classify, lex};

    fn shape(sql: &str) -> String {
        let list = &lex::tokens(sql).ok().unwrap().tokens;
        Tokens { sql, list }.shape(NUMBER, STRING)
    }

    #[test]
    fn statements_that_differ_in_values_share_a_shape_and_no_others_do() {
        assert_eq!(shape("SELECT 1, 'b'"), shape("SELECT 0x22, 'it''s'"));
        for (one, other) in [
            ("SELECT a1", "SELECT a.5"),
            ("SELECT 1.", "SELECT 1..5"),
            ("SELECT 'a'", "SELECT \"a\""),
            ("SELECT a (1)", "SELECT a(1)"),
            ("SELECT `1`", "SELECT 1"),
        ] {
            assert_ne!(shape(one), shape(other), "{one} {other}");
        }
    }

    #[test]
    fn no_value_is_shown_of_a_query() {
        let shown = |sql: &str| {
            let lexed = lex::tokens(sql).unwrap();
            let list = &lexed.tokens;
            readable(&Tokens { sql, list }).to_string()
        };
        for (sql, expected) in [
            (
                "SELECT a FROM t WHERE b = 'secret7'",
                "SELECT a FROM t WHERE b = ?",
            ),
            (
                "SELECT \"secret7\", `c` FROM t -- secret7",
                "SELECT ?, `c` FROM t",
            ),
            (
                "SELECT 7 + 7.7e7, N'secret7' /* secret7 */",
                "SELECT ? + ?, N?",
            ),
        ] {
            assert_eq!(shown(sql), expected);
        }
        for sql in [
            "SELECT x'73656372657437'",
            "SELECT 0x73656372657437",
            "SELECT _utf8'secret7'",
            "SELECT b'1110111'",
            "SELECT 0b1110111",
        ] {
            let shown = shown(sql);
            assert!(
                !shown.contains('7') && !shown.contains("secret") && !shown.contains("111"),
                "{shown}"
            );
        }
        assert_eq!(
            shown(&format!("SELECT {}", "a".repeat(500))).len(),
            LONGEST_READABLE
        );
    }

    #[test]
    fn a_shapes_number_never_changes() {
        assert_eq!(number("SELECT \u{1}"), 0xcaa2_196a_ba34_abfc);
    }

    #[test]
    fn a_remembered_class_is_the_class_that_was_found() {
        for sql in [
            "SELECT 1",
            "SELECT 2 FOR UPDATE",
            "SELECT @@version",
            "SELECT 1 1",
        ] {
            let first = classify(sql);
            assert_eq!(classify(sql), first, "{sql}");
            assert_eq!(classify(&sql.replace(['1', '2'], "77")), first, "{sql}");
        }
    }
}
