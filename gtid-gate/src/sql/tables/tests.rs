//! What tables are found in statements of all kinds.

use super::*;
use proptest::prelude::*;

fn found(sql: &str) -> String {
    named_tables(sql).join(" ")
}

fn check(cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(found(sql), *expected, "{sql}");
    }
}

#[test]
fn tables_are_found_where_they_stand() {
    check(&[
        ("SELECT a FROM t WHERE b = 'from x'", "t"),
        ("SELECT 1", ""),
        ("SELECT 1 FROM DUAL", ""),
        (
            "SELECT * FROM a, db.b AS x JOIN `c d` ON x.i = a.from LEFT JOIN e USING (i)",
            "a db.b c d e",
        ),
        (
            "SELECT EXTRACT(YEAR FROM d), TRIM((x) FROM y) FROM t FOR UPDATE",
            "t",
        ),
        (
            "SELECT 1 FROM (SELECT TRIM(a) FROM inner_one) i WHERE EXISTS (SELECT 1 FROM o)",
            "inner_one o",
        ),
        ("SELECT 1 FROM a JOIN b ON a.i = b.i, c", "a b c"),
        ("SELECT 1 FROM a JOIN b USING (i), c AS d, e f", "a b c e"),
        ("SELECT 1 FROM t PARTITION (p, q), u", "t u"),
        (
            "SELECT 1 FROM t USE INDEX FOR ORDER BY (i, j) IGNORE KEY (k), u FORCE INDEX FOR JOIN (i), v",
            "t u v",
        ),
        (
            "SELECT 1 FROM ((a, b) LEFT JOIN (c JOIN d) ON 1 IN (1, 2)), e",
            "a b c d e",
        ),
        (
            "SELECT 1 FROM a STRAIGHT_JOIN b, { OJ c LEFT OUTER JOIN d ON 1 }",
            "a b c d",
        ),
        ("SELECT STRAIGHT_JOIN a FROM t", "t"),
        (
            "SELECT 1 FROM t, LATERAL (SELECT 1 FROM u) AS l (a, b), v",
            "t u v",
        ),
        (
            "SELECT 1 FROM t, JSON_TABLE(t.j, '$[*]' COLUMNS (a INT PATH '$.a')) AS j, u",
            "t u",
        ),
        ("SELECT a, b INTO OUTFILE 'f' FROM t", "t"),
        (
            "SELECT a FROM t ORDER BY b, c LIMIT 1, 2 INTO OUTFILE 'f'",
            "t",
        ),
        ("SELECT a FROM t INTO @x, @y", "t"),
        (
            "SELECT a FROM t GROUP BY b, c WINDOW w AS (ORDER BY d), v AS (w)",
            "t",
        ),
        ("SELECT 1 FROM/**/t/* , x */, -- y\n`u`", "t u"),
        ("SELECT 1 FROM `a`.`b`, c . d", "a.b c.d"),
        ("(SELECT 1 FROM a) UNION (SELECT 1 FROM b, a)", "a b"),
        ("TABLE t", "t"),
        ("TABLE a UNION ALL TABLE b ORDER BY c, d", "a b"),
        ("SELECT 1 FROM t WHERE a IN (TABLE u)", "t u"),
        ("VALUES ROW(1, 2)", ""),
        ("COMMIT", ""),
    ]);
}

#[test]
fn what_with_defines_is_no_table() {
    check(&[
        ("WITH w AS (SELECT 1 FROM t) SELECT * FROM w", "t"),
        (
            "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n FROM c, t) SELECT * FROM c",
            "t",
        ),
        (
            "WITH a AS (TABLE t), `b` (i, j) AS (SELECT 1 FROM a) SELECT * FROM b JOIN u",
            "t u",
        ),
        // not yet, not here, not this one
        ("WITH t AS (SELECT 1 FROM t) SELECT * FROM t", "t"),
        (
            "SELECT * FROM (WITH w AS (SELECT 1) SELECT * FROM w) d, w",
            "w",
        ),
        // the table w, with lower_case_table_names=0 (measured)
        ("WITH W AS (SELECT 1) SELECT * FROM w", "w"),
        ("WITH w AS (SELECT 1) SELECT * FROM w, db.w", "db.w"),
        (
            "SELECT * FROM (WITH w AS (SELECT 1) SELECT * FROM w, t) d, u",
            "t u",
        ),
        (
            "WITH w AS (SELECT 1 FROM t) UPDATE u JOIN w SET a = 1",
            "t u",
        ),
        ("WITH w AS (SELECT 1 FROM t) DELETE u FROM u, w", "t u"),
        (
            "INSERT INTO u WITH w AS (SELECT 1 FROM t) SELECT * FROM w",
            "u t",
        ),
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", "t"),
    ]);
}

#[test]
fn changes_name_their_tables() {
    check(&[
        ("UPDATE a JOIN b USING (i) SET a.x = 1", "a b"),
        ("UPDATE IGNORE t SET a = 1, b = 2", "t"),
        ("UPDATE LOW_PRIORITY a AS x, b SET x.i = 1", "a b"),
        ("UPDATE (SELECT 1 FROM a) d, b SET i = 1", "a b"),
        (
            "INSERT INTO a SELECT * FROM b ON DUPLICATE KEY UPDATE x = 1, y = 2",
            "a b",
        ),
        ("INSERT t VALUES (1)", "t"),
        ("INSERT IGNORE t (a, b) VALUES (1, 2)", "t"),
        ("INSERT HIGH_PRIORITY INTO t SET a = 1", "t"),
        ("INSERT INTO t TABLE u", "t u"),
        ("REPLACE t VALUES (REPLACE(1, 2, 3))", "t"),
        ("REPLACE DELAYED INTO db.t (SELECT 1 FROM u)", "db.t u"),
        ("DELETE FROM a WHERE i = ?", "a"),
        ("DELETE QUICK FROM t ORDER BY a, b", "t"),
        ("DELETE x, y.* FROM a AS x JOIN b AS y USING (i)", "a b"),
        (
            "DELETE FROM x, y.* USING a AS x JOIN b AS y USING (i)",
            "a b",
        ),
        (
            "DELETE FROM t WHERE i IN (SELECT 1 FROM a JOIN b USING (i))",
            "t a b",
        ),
        (
            "LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE t FIELDS TERMINATED BY ',' (a, b)",
            "t",
        ),
        ("DO REPLACE(a, b, c)", ""),
        ("EXPLAIN FORMAT=TREE UPDATE IGNORE t SET a = 1", "t"),
    ]);
}

#[test]
fn definitions_and_locks_name_their_tables() {
    check(&[
        ("DROP TABLE IF EXISTS a, db.b CASCADE", "a db.b"),
        ("DROP TEMPORARY TABLE t", "t"),
        (
            "CREATE TABLE IF NOT EXISTS t (a INT, b INT) COMMENT 'x', ENGINE = InnoDB",
            "t",
        ),
        ("CREATE TABLE t LIKE db.u", "t db.u"),
        ("CREATE TABLE t (LIKE u)", "t u"),
        ("CREATE TABLE t (a INT) AS SELECT * FROM u, v", "t u v"),
        ("ALTER TABLE t ADD a INT, ADD b INT", "t"),
        ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "t u"),
        ("RENAME TABLE a TO b, c TO d", "a b c d"),
        ("TRUNCATE t", "t"),
        ("TRUNCATE TABLE t", "t"),
        ("ANALYZE LOCAL TABLE a, b", "a b"),
        ("ANALYZE TABLE t UPDATE HISTOGRAM ON a, b", "t"),
        ("LOCK TABLES a AS x READ LOCAL, b LOW_PRIORITY WRITE", "a b"),
        ("UNLOCK TABLES", ""),
        ("FLUSH TABLES WITH READ LOCK", ""),
        ("FLUSH LOCAL TABLES a, b WITH READ LOCK", "a b"),
        (
            "CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW INSERT INTO u VALUES (1)",
            "u",
        ),
        ("CREATE VIEW v AS SELECT 1 FROM t", "t"),
        ("SHOW COLUMNS FROM t FROM db", "db.t"),
        ("SHOW CREATE TABLE t", "t"),
        ("SHOW TABLES FROM db", ""),
        ("DESCRIBE t a", "t"),
        ("REVOKE SELECT ON t FROM u", ""),
        ("PREPARE s FROM 'SELECT 1 FROM t'", ""),
    ]);
}

/// Anybody may have such a text explained.
#[test]
fn a_long_text_is_looked_at_once() {
    for part in [
        "from a, ",
        "from (",
        "(select 1 from t",
        ")",
        "with a as (",
        "with a as (select 1), ",
        "trim(from ",
    ] {
        let text = format!("select 1 {}", part.repeat(100_000));
        assert!(named_tables(&text).len() < 3, "{part}");
    }
}

/// What may stand after a table, and before the next one.
fn after_table() -> impl Strategy<Value = String> {
    let own = prop_oneof![
        Just(""),
        Just(" AS x"),
        Just(" x"),
        Just(" PARTITION (p, q)"),
        Just(" USE INDEX (i, j) IGNORE INDEX FOR JOIN (k)"),
        Just(" FORCE KEY FOR GROUP BY (i, j)"),
    ];
    let next = prop_oneof![
        Just(", "),
        Just(",/* , z */"),
        Just(" JOIN "),
        Just(" LEFT OUTER JOIN "),
        Just(" STRAIGHT_JOIN "),
        Just(" ON a.i = b.i AND f(1, 2) IN (1, 2), "),
        Just(" USING (i, j) NATURAL JOIN "),
    ];
    (own, next).prop_map(|(own, next)| format!("{own}{next}"))
}

proptest! {
    #[test]
    fn no_text_is_too_odd(sql in "[a-z(),.`' ]{0,60}", from in "(from|join|table|into|with|delete|using) [a-z(),.` ]{0,20}") {
        named_tables(&sql);
        named_tables(&format!("{sql}{from}"));
    }

    #[test]
    fn every_table_of_a_list_is_found(between in prop::collection::vec(after_table(), 0..6), nested in any::<bool>()) {
        let expected: Vec<String> = (0..=between.len()).map(|n| format!("t{n}")).collect();
        let list: String = expected.iter().zip(between.iter().map(String::as_str).chain([""])).map(|(t, b)| format!("{t}{b}")).collect();
        let sql = match nested {
            true => format!("SELECT (SELECT 1 FROM ({list})) WHERE b"),
            false => format!("SELECT a, b FROM {list} WHERE c GROUP BY d, e"),
        };
        prop_assert_eq!(named_tables(&sql), expected, "{}", sql);
    }
}
