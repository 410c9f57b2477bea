use super::*;
use crate::sql::understand;
use proptest::prelude::*;

fn of(sql: &str) -> String {
    understand(sql).digest.text.to_string()
}

#[test]
fn values_comments_and_blanks_are_gone_and_keywords_are_in_upper_case() {
    for (sql, expected) in [
        (
            "select  c from\tsbtest1 where id=42 -- secret7\n",
            "SELECT c FROM sbtest1 WHERE id = ?",
        ),
        (
            "SELECT `a`, t.`order` /* secret7 */ FROM `t` WHERE b<=>'it''s' AND c!=\"secret7\"",
            "SELECT a, t.`order` FROM t WHERE b <=> ? AND c != ?",
        ),
        (
            "SELECT /*+ MAX_EXECUTION_TIME(1000) */ COUNT( * ) FROM a.b",
            "SELECT COUNT(*) FROM a.b",
        ),
        ("select /*!50000 sql_no_cache */ 1", "SELECT SQL_NO_CACHE ?"),
        ("SELECT -5, + 3", "SELECT ?, ..."),
        ("SELECT a-5, a - -5, (-5)", "SELECT a - ?, a - ?, (?)"),
        (
            "SELECT x'41', 0x41, b'01', 0b01, N'a', _utf8mb4'a', _latin1 x'41', .5, 1e9",
            "SELECT ?, ...",
        ),
        ("SELECT 'a' 'b' \"c\"", "SELECT ?"),
        (
            "select a from t where b in (1,2, -3) and c in ('x') and d in (?, ?)",
            "SELECT a FROM t WHERE b IN (...) AND c IN (...) AND d IN (...)",
        ),
        (
            "INSERT INTO t(a,b) VALUES (1,'x'),(2,NULL) , (3,DEFAULT) on duplicate key update a=values(a)+1",
            "INSERT INTO t(a, b) VALUES (...) ON DUPLICATE KEY UPDATE a = VALUES (a) + ?",
        ),
        (
            "insert into T values (1, now()), (2, now()), (3, f(2)); ",
            "INSERT INTO T VALUES (?, NOW());",
        ),
        (
            "INSERT INTO t VALUES (1,2),(3,now())",
            "INSERT INTO t VALUES (...)",
        ),
        (
            "SELECT a IS NULL, coalesce(a, NULL) FROM t LIMIT 5,10",
            "SELECT a IS NULL, COALESCE(a, ?) FROM t LIMIT ?, ...",
        ),
        (
            "set password for 'u'@'%' = 'secret7'",
            "SET PASSWORD FOR ? @? = ?",
        ),
        ("SET @a := 5, @@session.b=6", "SET @a := ?, @@SESSION.b = ?"),
        ("commit", "COMMIT"),
        ("", ""),
    ] {
        assert_eq!(of(sql), expected, "{sql}");
    }
}

#[test]
fn of_a_text_that_reads_differently_elsewhere_nothing_is_kept_from_the_first_quote_on() {
    for (sql, expected) in [
        (
            r"SELECT a FROM t WHERE b = 'x\' OR 5 -- secret7'",
            "SELECT a FROM t WHERE b = ...",
        ),
        (
            "insert into t values (7, 'secret7",
            "INSERT INTO t VALUES (?, ...",
        ),
        ("SELECT $$secret7$$", "SELECT ..."),
        ("SELECT 1.esecret7", "SELECT ..."),
        ("SELECT 5 /*! unfinished secret7", "SELECT ? ..."),
        ("SELECT 5 # secret7\n /*M! a */", "SELECT ? ..."),
        ("select a\0secret7", "SELECT a ..."),
    ] {
        assert_eq!(of(sql), expected, "{sql}");
    }
    let bytes = [
        b"select a from t where b = ".as_slice(),
        &[0xff, 0xfe, b'\'', b'7'],
    ]
    .concat();
    assert_eq!(&*of_unclear(&bytes).text, "SELECT a FROM t WHERE b = ...");
    assert_eq!(&*of_unclear(b"").text, CUT);
}

#[test]
fn a_huge_text_has_a_bounded_digest_and_any_number_of_rows_has_the_same() {
    let columns = format!("SELECT {}é FROM t", "some_column, ".repeat(1000));
    let text = of(&columns);
    assert!(
        text.len() <= LONGEST + CUT.len() && text.ends_with(CUT),
        "{}",
        text.len()
    );
    let number = |sql: &str| understand(sql).digest.number;
    let other = columns.replace("FROM t", "FROM u");
    assert_eq!(of(&columns), of(&other));
    assert_ne!(
        number(&columns),
        number(&other),
        "they differ at their ends"
    );
    let rows = |count: usize| {
        format!(
            "INSERT INTO t VALUES {}(1, uuid())",
            "(1, uuid()),".repeat(count)
        )
    };
    assert_eq!(of(&rows(1)), of(&rows(20_000)));
    let list = |count: usize| {
        format!(
            "SELECT a FROM t WHERE b IN ({}9) ORDER BY a",
            "8,".repeat(count)
        )
    };
    assert_eq!(of(&list(1)), of(&list(100_000)));
    assert!(of(&list(5)).ends_with("ORDER BY a"));
}

#[test]
fn a_digest_has_one_number_and_is_shared() {
    let (one, other) = (
        understand("SELECT 1").digest,
        understand("select  'x'").digest,
    );
    assert_eq!(one, other);
    assert_ne!(one.number, understand("SELECT a").digest.number);
}

/// Values that no word of a statement contains.
fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        "[1-9][0-9]{6}",
        "-[1-9][0-9]{6}\\.[0-9]{3}",
        "'zq([a-z ;#]|--|/\\*|''){0,12}'",
        "\"zq([a-z ;#']|--|\\*/|\"\"){0,12}\"",
        "'zq[a-z]{1,5}\\\\\\\\[a-z]'",
        "0x7a71[0-9a-f]{8}",
        "x'7a71[0-9a-f]{8}'",
        "_utf8mb4'zq[a-zäß]{3,9}'",
    ]
}

const STATEMENTS: &[&str] = &[
    "select a , b from t where c = # and d in ( # , # ) limit # ",
    "insert into t ( a , b ) values ( # , # ) , ( # , now() )",
    "update t set a = # , b = concat ( # , c ) where d between # and #",
    "select a - # , # from t join u on t . a = u . b where c like # or d < # group by #",
    "call p ( # , @x , # )",
    "create user a identified by #",
    "set @a = #",
];

fn filled(statement: &str, literals: &[String]) -> String {
    let mut literals = literals.iter().cycle();
    let word = |w: &str| match w {
        "#" => literals.next().cloned().unwrap_or_default(),
        other => other.to_owned(),
    };
    statement.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What of a literal could be told from its digest.
fn secret(literal: &str) -> &str {
    let marks = ["zq", "7a71"];
    let mark = marks.into_iter().find(|mark| literal.contains(mark));
    mark.unwrap_or_else(|| &literal[1..5])
}

proptest! {
    #[test]
    fn a_digest_has_no_value_and_is_the_same_with_others(
        at in 0..STATEMENTS.len(), one in prop::collection::vec(literal(), 8), other in prop::collection::vec(literal(), 8),
        blank in "( |\t|\n|  |/\\* zq \\*/|-- zq\n){1}",
    ) {
        let sql = filled(STATEMENTS[at], &one);
        let digest = of(&sql);
        for literal in &one {
            prop_assert!(!digest.contains(secret(literal)), "{sql}: {digest}");
        }
        prop_assert!(digest.len() <= LONGEST + CUT.len());
        prop_assert_eq!(&digest, &of(&filled(STATEMENTS[at], &other)));
        let blanks = STATEMENTS[at].replace(' ', &format!(" {blank} ")).split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
        prop_assert_eq!(&digest, &of(&filled(&blanks, &one)));
    }

    #[test]
    fn the_case_of_keywords_makes_no_difference(at in 0..STATEMENTS.len(), literals in prop::collection::vec(literal(), 8)) {
        let upper = |word: &str| match is_keyword(word) || word == "now()" {
            true => word.to_uppercase(),
            false => word.to_owned(),
        };
        let other = STATEMENTS[at].split(' ').map(upper).collect::<Vec<_>>().join(" ");
        prop_assert_eq!(of(&filled(STATEMENTS[at], &literals)), of(&filled(&other, &literals)));
    }

    #[test]
    fn nothing_makes_it_long_or_keeps_what_quotes_hold(
        sql in "(select|insert|values| |\\(|\\)|,|'zq'|\"zq\"|'|\"|\\\\|`|é|/\\*|\\*/|-- |#|\n|@|\\.|5|-|in|\\?|_utf8|x){0,60}",
        bytes in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let understood = understand(&sql);
        let digest = &understood.digest.text;
        prop_assert!(digest.len() <= LONGEST + CUT.len());
        prop_assert!(!digest.contains('\'') && !digest.contains('"'), "{sql}: {digest}");
        prop_assert!(of_unclear(&bytes).text.len() <= LONGEST + CUT.len());
    }
}
