//! The tables that a statement names, to be shown to people. Decides nothing.
//!
//! In: a statement's text. Out: names as they stand there, where a table stands: after FROM, JOIN, UPDATE, INTO or TABLE. Names of
//! WITH are left out. Must never: be taken for all that a statement may read (`names` is for that).

use super::lex;
use super::tokens::Tokens;

const BEFORE_TABLES: [&str; 6] = ["from", "join", "straight_join", "update", "into", "table"];
/// What may follow a table and is no alias.
const NO_ALIAS: [&str; 14] = [
    "where", "join", "inner", "left", "right", "cross", "natural", "on", "using", "group", "order",
    "limit", "set", "for",
];

/// Each once, in the order of the text.
pub fn named_tables(sql: &str) -> Vec<String> {
    let Ok(lexed) = lex::tokens(sql) else {
        return Vec::new();
    };
    let list = &lexed.tokens;
    let tokens = Tokens { sql, list };
    let mut found: Vec<String> = Vec::new();
    for at in (0..list.len()).filter(|at| begins_tables(&tokens, *at)) {
        for name in tables_after(tokens.from(at + 1)) {
            if !found.contains(&name) && !is_with(&tokens, &name) {
                found.push(name);
            }
        }
    }
    found
}

/// FROM in a call, as of EXTRACT or TRIM, and UPDATE after FOR or KEY stand before no table.
fn begins_tables(tokens: &Tokens, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    let is_clause = match tokens.is(at, "from") {
        true => !is_in_call(tokens, at),
        false => !tokens.is_any(before, &["for", "key"]),
    };
    is_clause && tokens.is_any(at, &BEFORE_TABLES) && !tokens.is_symbol(before, b'.')
}

/// The innermost open parenthesis before it begins no query.
fn is_in_call(tokens: &Tokens, at: usize) -> bool {
    let mut closed = 0;
    for before in (0..at).rev() {
        if tokens.is_symbol(before, b')') {
            closed += 1;
        } else if tokens.is_symbol(before, b'(') && closed > 0 {
            closed -= 1;
        } else if tokens.is_symbol(before, b'(') {
            return !tokens.is_any(before + 1, &["select", "with"]);
        }
    }
    false
}

/// `a, b.c AS d, (e`
fn tables_after(mut rest: Tokens) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        while rest.eat_symbol(b'(') {}
        let Some(first) = rest.name(0) else { break };
        if rest.is_any(0, &["select", "with", "values", "lateral"]) {
            break;
        }
        match rest.name(2).filter(|_| rest.is_symbol(1, b'.')) {
            Some(table) => {
                found.push(format!("{first}.{table}"));
                rest = rest.from(3);
            }
            None => {
                found.push(first);
                rest = rest.from(1);
            }
        }
        let named = rest.eat("as") || !rest.is_any(0, &NO_ALIAS);
        if named && rest.name(0).is_some() {
            rest = rest.from(1);
        }
        if !rest.eat_symbol(b',') {
            break;
        }
    }
    found
}

/// `name AS (`
fn is_with(tokens: &Tokens, name: &str) -> bool {
    (0..tokens.list.len()).any(|at| {
        tokens.is(at + 1, "as")
            && tokens.is_symbol(at + 2, b'(')
            && tokens.name(at).is_some_and(|n| n == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tables_are_found_where_they_stand() {
        for (sql, expected) in [
            ("SELECT a FROM t WHERE b = 'from x'", "t"),
            ("SELECT 1", ""),
            (
                "SELECT * FROM a, db.b AS x JOIN `c d` ON x.i = a.from LEFT JOIN e USING (i)",
                "a db.b c d e",
            ),
            (
                "SELECT EXTRACT(YEAR FROM d), TRIM('x' FROM y) FROM t FOR UPDATE",
                "t",
            ),
            (
                "SELECT 1 FROM (SELECT TRIM(a) FROM inner_one) i WHERE EXISTS (SELECT 1 FROM o)",
                "inner_one o",
            ),
            ("WITH w AS (SELECT 1 FROM t) SELECT * FROM w", "t"),
            ("UPDATE a JOIN b USING (i) SET a.x = 1", "a b"),
            (
                "INSERT INTO a SELECT * FROM b ON DUPLICATE KEY UPDATE x = 1",
                "a b",
            ),
            ("DELETE FROM a WHERE i = ?", "a"),
            ("TABLE t", "t"),
            ("COMMIT", ""),
        ] {
            assert_eq!(named_tables(sql).join(" "), expected, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(sql in "[a-z(),.`' ]{0,60}", from in "(from|join|table|into) [a-z(),.` ]{0,20}") {
            named_tables(&sql);
            named_tables(&format!("{sql}{from}"));
        }
    }
}
