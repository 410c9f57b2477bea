//! Puts every statement of `corpus/statements.txt` to the classifier, and variations of them.

use gtid_gate::protocol::charset::Encoding;
use gtid_gate::sql::{
    ChoiceValue, Class, Completion, Mode, Name, SetItem, classify, folded, is_system_schema,
    named_tables, understand, understand_bytes,
};
use proptest::prelude::*;

mod oracle;

struct Case {
    line: usize,
    class: &'static str,
    statement: String,
}

fn corpus() -> Vec<Case> {
    let lines = include_str!("corpus/statements.txt").lines().enumerate();
    let cases = lines.filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
    cases.map(|(number, line)| case(number + 1, line)).collect()
}

fn case(line: usize, text: &'static str) -> Case {
    let mut parts = text.splitn(3, '\t');
    let (class, _reason) = (parts.next(), parts.next());
    let statement = parts
        .next()
        .unwrap_or_else(|| panic!("line {line}: three parts, please"));
    let statement = statement.replace('⏎', "\n").replace('␀', "\0");
    Case {
        line,
        class: class.unwrap(),
        statement,
    }
}

fn name(class: &Class) -> String {
    let flags = |flags: &[(bool, &str)]| -> String {
        flags
            .iter()
            .filter(|f| f.0)
            .map(|f| format!(" {}", f.1))
            .collect()
    };
    match class {
        Class::Read => "read".into(),
        Class::Write(_) => "write".into(),
        Class::Pin(_) => "pin".into(),
        Class::ShowWarnings => "follow".into(),
        Class::InTransaction => "savepoint".into(),
        Class::Begin {
            read_only,
            consistent_snapshot,
        } => {
            let ro = (*read_only == Some(true), "read-only");
            let rw = (*read_only == Some(false), "read-write");
            format!(
                "begin{}",
                flags(&[ro, rw, (*consistent_snapshot, "snapshot")])
            )
        }
        Class::Commit(completion) => format!("commit{}", completed(completion)),
        Class::Rollback(completion) => format!("rollback{}", completed(completion)),
        Class::Use(schema) => format!("use {schema}"),
        Class::Kill { query_only, id } => {
            let query = flags(&[(*query_only, "query")]);
            let id = id.map_or("own".to_owned(), |id| id.to_string());
            format!("kill{query} {id}")
        }
        Class::Multimed(Ok(_)) => "multimed".into(),
        Class::Multimed(Err(_)) => "multimed?".into(),
        Class::Set(items) => format!(
            "set {}",
            items.iter().map(item_name).collect::<Vec<_>>().join("; ")
        ),
    }
}

fn completed(completion: &Completion) -> String {
    let said = |what: Option<bool>, yes, no| match what {
        Some(true) => yes,
        Some(false) => no,
        None => "",
    };
    let chain = said(completion.chain, " chain", " no chain");
    format!(
        "{chain}{}",
        said(completion.release, " release", " no release")
    )
}

fn item_name(item: &SetItem) -> String {
    let switch = |on: &bool| if *on { "ON" } else { "OFF" };
    match item {
        SetItem::Session(name) => name.clone(),
        SetItem::Names(charset) => format!("names {charset}"),
        SetItem::Timestamp(value) => format!("timestamp={value}"),
        SetItem::TransactionReadOnlyNext(on) => format!("read-only next {}", switch(on)),
        SetItem::IsolationNext(level) => format!("isolation next {level}"),
        SetItem::UserVariable => "@".into(),
        SetItem::Choice { name, value } => match value {
            ChoiceValue::Said(Some(value)) => format!("choice {name}={value}"),
            ChoiceValue::Said(None) => format!("choice {name}=NULL"),
            ChoiceValue::Computed => format!("choice {name}=?"),
        },
        SetItem::Global => "global".into(),
        SetItem::Account => "account".into(),
        SetItem::Other => "other".into(),
    }
}

#[test]
fn every_statement_gets_its_class() {
    let corpus = corpus();
    assert!(
        corpus.len() >= 250,
        "the corpus has shrunk to {}",
        corpus.len()
    );
    let wrong: Vec<String> = corpus.iter().filter_map(mistake).collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        corpus.len(),
        wrong.join("\n")
    );
}

fn mistake(case: &Case) -> Option<String> {
    let class = classify(&case.statement);
    let found = name(&class);
    let wrong = found != case.class;
    wrong.then(|| {
        format!(
            "line {}: {found} ({class:?}) instead of {}: {:?}",
            case.line, case.class, case.statement
        )
    })
}

#[test]
fn a_lock_makes_any_query_a_write() {
    for case in corpus().iter().filter(|c| c.class == "read") {
        for lock in [
            "FOR UPDATE",
            "for share",
            "LOCK IN SHARE MODE",
            "/*! FOR UPDATE */",
            "FOR/**/UPDATE",
            "INTO OUTFILE 'x'",
        ] {
            let query = case.statement.split(';').next().unwrap_or_default();
            let locked = format!("{query}\n{lock}");
            assert_ne!(
                classify(&locked),
                Class::Read,
                "line {}: {locked:?}",
                case.line
            );
        }
    }
}

#[test]
fn what_is_called_a_read_is_none_of_a_parsers_changes() {
    let corpus = corpus();
    let texts = || corpus.iter().map(|c| c.statement.as_str());
    for text in texts().filter(|text| classify(text) == Class::Read) {
        assert!(!oracle::sees_more_than_a_read(text), "{text}");
    }
    let seen = texts().filter(|text| oracle::sees_more_than_a_read(text));
    assert!(seen.count() >= 50, "the parser has no opinion");
}

/// Each killed the process: the parser recursed.
#[test]
fn hundreds_of_joins_without_a_condition_are_a_read() {
    for (count, join) in [
        (300, " JOIN t"),
        (100_000, " STRAIGHT_JOIN t"),
        (50_000, " JOIN (t"),
    ] {
        let close = if join.contains('(') { ")" } else { "" };
        let sql = format!(
            "SELECT 1 FROM t{}{}",
            join.repeat(count),
            close.repeat(count)
        );
        let found = std::thread::spawn(move || classify(&sql)).join();
        assert_eq!(found.unwrap(), Class::Read, "{count}{join}");
    }
}

/// The one is for people, the other for freshness, where a table must not be missing.
#[test]
fn each_table_that_a_read_is_shown_with_is_among_those_it_waits_for() {
    let (mut looked_at, corpus) = (0, corpus());
    for case in &corpus {
        let Some(names) = understand(&case.statement).names else {
            continue;
        };
        for shown in named_tables(&case.statement) {
            let (schema, table) = shown.split_once('.').unzip();
            let name = Name {
                schema: schema.map(|s| folded(s).into()),
                table: folded(table.unwrap_or(&shown)).into(),
            };
            assert!(names.list.contains(&name), "line {}: {shown}", case.line);
            looked_at += 1;
        }
    }
    assert!(looked_at >= 50, "{looked_at}");
}

fn class_in(charset: &str, sql: &[u8]) -> Class {
    understand_bytes(sql, Encoding::of(charset), Mode::unknown()).class
}

#[test]
fn other_character_sets_are_read_only_as_ascii() {
    assert_eq!(class_in("latin1", b"SELECT 1"), Class::Read);
    assert_eq!(class_in("utf8mb4", "SELECT 'ö'".as_bytes()), Class::Read);
    assert_ne!(class_in("latin1", "SELECT 'ö'".as_bytes()), Class::Read);
    let hidden = b"SELECT 'x\xbf\\' FOR UPDATE -- '";
    assert_ne!(class_in("gbk", hidden), Class::Read);
    assert_ne!(class_in("utf8mb4", b"SELECT '\xff'"), Class::Read);
}

#[test]
fn a_client_in_swe7_is_not_read_as_ascii() {
    assert_ne!(class_in("swe7", b"SELECT 1"), Class::Read);
    assert_ne!(class_in("10", b"SELECT 1"), Class::Read);
}

#[test]
fn a_change_that_reads_other_rows_is_not_only_a_change() {
    for (sql, expected) in [
        ("UPDATE t SET a = 1", true),
        ("INSERT INTO t VALUES ('select', `table`)", true),
        ("INSERT INTO t SELECT * FROM u", false),
        ("INSERT INTO t TABLE u", false),
        ("INSERT INTO t VALUES (1); TABLE u", false),
        ("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)", false),
        ("SELECT 1", false),
    ] {
        assert_eq!(understand(sql).changes_only, expected, "{sql}");
    }
}

#[test]
fn deep_and_long_statements_are_survived() {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let check = || {
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("1+", "1", ""),
            ("NOT ", "1", ""),
            ("-", "1", ""),
            ("1 OR ", "1", ""),
        ] {
            for depth in [10, 1_000, 2_900, 50_000] {
                let text = format!(
                    "SELECT {}{middle}{}",
                    open.repeat(depth),
                    close.repeat(depth)
                );
                let _ = classify(&text);
            }
        }
        let _ = classify(&format!("SELECT 1{}", " UNION SELECT 1".repeat(1_400)));
        let many = format!("SELECT * FROM t WHERE a IN ({}1)", "1,".repeat(100_000));
        assert_eq!(classify(&many), Class::Read);
    };
    thread.spawn(check).unwrap().join().unwrap();
}

/// In a time that grows with the length alone: with its square, this test takes minutes.
#[test]
fn a_text_that_repeats_many_times_is_understood() {
    for part in [
        "row_count(), ",
        "found_rows(), ",
        "@@warning_count, ",
        "@@a.b, ",
        "last_insert_id(), ",
        "-+",
        "- ",
        "~",
        "!",
        "value(",
        "values (",
        "values(1), ",
        "(1), ",
        "((",
        "))",
        "(a,",
        "x(a), ",
        "x (a) ",
        ") x (a",
        "a, b) as (select 1), c (",
        "with a (b) as (",
        "as a(b) ",
        "`x`(",
        "\"x\"(",
        "x.y(",
        "case when ",
        "(select ",
        "from (",
        "from a join ",
        "into @a ",
        "for update ",
        "in (",
        "in (1, ",
        "interval 1 ",
        "null, ",
        "_utf8mb4 ",
        "_utf8mb4 x",
        "x'1' ",
        "N",
        "'a' ",
        "'a', ",
        "\"a\", ",
        "/**/",
        "/*!1*/",
        "-- a\n",
        "# a\n",
        "a.",
        ".1",
        "1.",
        "?, ",
        ":=",
        "@",
        "@@",
        "{d ",
        "set a = ",
        "explain ",
        "kill 1, ",
        "union select ",
        "; select 1",
        "; kill 1",
        "; set a = 1",
        "begin ",
        "call a(",
        "execute s using @a, ",
        "over (",
        "like '%' ",
        "show ",
        "a$$",
        "\u{e9}",
        "drop table a, ",
    ] {
        for verb in ["SELECT ", "SET a = ", ""] {
            let _ = understand(&format!("{verb}{}", part.repeat(20_000)));
        }
    }
}

#[test]
fn schemas_of_the_server_are_known() {
    assert!(
        ["mysql", "SYS", "Information_Schema", "performance_schema"]
            .iter()
            .all(|s| is_system_schema(s))
    );
    assert!(!is_system_schema("d"));
}

/// Puts `filler` into every gap between tokens that is already a blank outside of quotes and comments.
fn widen(statement: &str, filler: &str) -> String {
    let mut quote = None;
    let mut wide = String::new();
    for c in statement.chars() {
        match (quote, c) {
            (None, '\'' | '"' | '`') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
        match (quote, c) {
            (None, ' ') if !wide.ends_with("--") && wide.rfind("/*") <= wide.rfind("*/") => {
                wide.push_str(filler)
            }
            _ => wide.push(c),
        }
    }
    wide
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn blanks_and_comments_never_make_a_read(at in any::<prop::sample::Index>(), filler in prop_oneof![
        Just("  "), Just("\n"), Just("\t\r\n "), Just("/**/"), Just(" /* x */ "), Just(" /* ' */ "), Just("/*! */"),
        Just(" -- x\n"), Just(" # \"\n"), Just(" /*!50000 */ "),
    ]) {
        let corpus = corpus();
        let case = at.get(&corpus);
        let wide = widen(&case.statement, filler);
        prop_assert!(case.class == "read" || classify(&wide) != Class::Read, "line {}: {:?}", case.line, wide);
    }

    #[test]
    fn any_text_is_survived(text in any::<String>(), sql in "(SELECT|SET|SHOW|WITH|EXPLAIN|KILL|START)?[ -~\n\\PC]{0,60}") {
        let _ = (classify(&text), classify(&sql), class_in("latin1", text.as_bytes()));
    }

    #[test]
    fn pieces_of_statements_are_survived(a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(), cut in 0.0..1.0, from in 0.0..1.0) {
        let corpus = corpus();
        let part = |text: &str, share: f64| (text.chars().count() as f64 * share) as usize;
        let (a, b) = (&a.get(&corpus).statement, &b.get(&corpus).statement);
        let text: String = a.chars().take(part(a, cut)).chain(b.chars().skip(part(b, from))).collect();
        let _ = classify(&text);
    }

    /// Statements of random tokens: one that locks, assigns or calls what is unknown is never a read.
    #[test]
    fn dangerous_tokens_never_make_a_read(before in words(), danger in danger(), after in words()) {
        let text = format!("SELECT {before} {danger} {after}");
        prop_assert_ne!(classify(&text), Class::Read, "{}", text);
    }

    #[test]
    fn a_parser_never_sees_more_than_a_read_in_one(pieces in prop::collection::vec(piece(), 1..14)) {
        let text = format!("SELECT {}", pieces.join(" "));
        prop_assert!(classify(&text) != Class::Read || !oracle::sees_more_than_a_read(&text), "{}", text);
    }
}

/// Of statements of all kinds, in any order.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "1",
        ",",
        "FROM t",
        "FROM d.2024",
        "WHERE a = 1",
        "FOR UPDATE",
        "FOR SHARE",
        "INTO b",
        "INTO @x",
        "UNION SELECT",
        "UNION TABLE t",
        "LOCK IN SHARE MODE",
        "(SELECT 1 FROM t)",
        "(SELECT 1 FOR UPDATE)",
        "WITH c AS (SELECT 1)",
        ";",
        "DELETE FROM t",
        "UPDATE t SET a = 1",
        "INSERT INTO t VALUES (1)",
        "f(1)",
        "GROUP BY a",
        "LIMIT 1",
        "AS x",
        "JOIN u",
        "ON 1",
        "*",
        "1.5FOR UPDATE",
        "a.1e5",
        "2024t",
    ])
}

proptest! {
    /// A name that WITH or a derived table gives with columns is no function; called anywhere it is.
    #[test]
    fn a_list_of_columns_hides_no_call(wide in prop_oneof![Just(""), Just(" "), Just("/**/"), Just("\n")], quoted in any::<bool>(), place in 0..CALLS.len()) {
        let name = if quoted { "`f`" } else { "f" };
        let fill = |text: &str| text.replace("%(", &format!("{name}{wide}(")).replace('%', name);
        for query in LISTS {
            let harmless = fill(&query.replace("CALL", "1"));
            prop_assert_eq!(classify(&harmless), Class::Read, "{}", harmless);
            let calling = fill(&query.replace("CALL", CALLS[place]));
            prop_assert_ne!(classify(&calling), Class::Read, "{}", calling);
        }
    }

    #[test]
    fn a_call_where_no_list_of_columns_can_stand_is_no_read(before in words(), word in prop_oneof![
        Just("SELECT"), Just("WHERE"), Just("AND"), Just("="), Just("UNION SELECT"), Just("a,"), Just("ON"), Just("IN ("),
    ], after in words()) {
        let text = format!("SELECT {before} {word} f (a) {after}");
        prop_assert_ne!(classify(&text), Class::Read, "{}", text);
    }
}

const LISTS: [&str; 5] = [
    "WITH %(a) AS (SELECT CALL) SELECT a FROM %",
    "WITH %(a) AS (SELECT 1) SELECT CALL FROM %",
    "WITH RECURSIVE c AS (SELECT 1), %(a, b) AS (SELECT 1, 2) SELECT a, CALL FROM c, %",
    "SELECT a FROM (SELECT CALL) AS %(a) WHERE CALL",
    "SELECT a FROM t JOIN ((SELECT 1) UNION (SELECT 2)) %(a) ON CALL",
];
const CALLS: [&str; 6] = [
    "%(a)",
    "(1) + %(a)",
    "%(1)",
    "%(%.a)",
    "(SELECT %(a))",
    "1, %(a)",
];

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("a"),
        Just(","),
        Just("'x'"),
        Just("FROM"),
        Just("t"),
        Just("("),
        Just(")"),
        Just("1"),
        Just("WHERE"),
        Just("="),
        Just("AND"),
        Just("/* c */"),
        Just("`q`"),
        Just("UNION"),
        Just("SELECT"),
        Just("max(a)"),
        Just("*"),
        Just("AS"),
        Just("j->'$.a'"),
    ];
    prop::collection::vec(word, 0..8).prop_map(|words| words.join(" "))
}

fn danger() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("FOR UPDATE"),
        Just("FOR SHARE"),
        Just("LOCK IN SHARE MODE"),
        Just("INTO @x"),
        Just("@x := 1"),
        Just("@@server_id"),
        Just("f(1)"),
        Just("d.f(1)"),
        Just("GET_LOCK('x',1)"),
        Just("max (a)"),
        Just("`f`(1)"),
        Just("\"f\"(1)"),
        Just("mysql.user"),
        Just("; DELETE FROM t"),
        Just("INTO OUTFILE 'x'"),
        Just("LAST_INSERT_ID()"),
        Just("/*! FOR UPDATE */"),
        Just("/*!99999 x */"),
    ]
}
