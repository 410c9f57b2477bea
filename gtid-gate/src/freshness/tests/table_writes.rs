use super::*;
use crate::freshness::table::Table;
use crate::sql::understand;

const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

fn set(numbers: &str) -> GtidSet {
    match numbers {
        "" => GtidSet::new(),
        _ => GtidSet::parse(&format!("{UUID}:{numbers}")).unwrap(),
    }
}

fn gtid(number: u64) -> Gtid {
    set(&number.to_string()).only().unwrap()
}

fn wrote(number: u64, tables: Option<&[&str]>) -> Written {
    let tables = tables.map(|t| {
        t.iter()
            .map(|t| ("Db".to_owned(), (*t).to_owned()))
            .collect()
    });
    let gtid = gtid(number);
    Written {
        gtid,
        redefines: match tables {
            Some(_) => Redefines::Nothing,
            None => Redefines::Anything,
        },
        tables,
    }
}

fn sample(before: &str, after: &str) -> Sample {
    Sample {
        before: set(before),
        after: set(after),
        tables: vec![Table {
            schema: "db".into(),
            name: "t".into(),
        }],
        ..Sample::default()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Needs {
    These(GtidSet),
    Behind,
    Everything,
}
use Needs::{Behind, Everything};

fn needs(writes: &TableWrites, sql: &str, master: &str) -> Needs {
    let names = understand(sql).names.unwrap();
    let read = TableNames {
        names: &names,
        database: Some("db"),
    };
    match writes.needs(read, [&set(master)].into_iter()) {
        Answer::Needs(needed, _) => Needs::These(needed),
        Answer::Behind => Behind,
        Answer::Everything => Everything,
    }
}

fn position(executed: &str) -> Arc<Position> {
    of_boot("", executed)
}

fn of_boot(incarnation: &str, executed: &str) -> Arc<Position> {
    Arc::new(Position {
        incarnation: incarnation.into(),
        asked: std::time::Instant::now(),
        owned: GtidSet::new(),
        executed: set(executed),
        as_of: None,
        backlog: None,
    })
}

/// Of a master that had 1-10 when the stream began.
fn begun() -> TableWrites {
    let writes = TableWrites::new(None, false);
    writes.begin("m", &set("1-10"), false);
    writes.catalog(sample("1-10", "1-10"));
    writes
}

const T: &str = "SELECT 1 FROM t";

#[test]
fn a_read_needs_the_last_writer_of_its_tables_and_what_the_stream_does_not_cover() {
    let writes = begun();
    assert_eq!(needs(&writes, T, "1-10"), Needs::These(set("1-10")));
    assert!(writes.wrote(wrote(11, Some(&["T", "u"]))));
    assert!(writes.wrote(wrote(12, Some(&["u"]))));
    assert_eq!(needs(&writes, T, "1-12"), Needs::These(set("1-11")));
    assert_eq!(
        needs(&writes, "SELECT 1 FROM w", "1-12"),
        Needs::These(set("1-10"))
    );
    assert_eq!(
        needs(&writes, "SELECT 1 FROM t, u", "1-12"),
        Needs::These(set("1-12"))
    );
}

#[test]
fn what_the_stream_has_not_told_yet_is_waited_for_or_all_is_needed() {
    let writes = begun();
    assert_eq!(needs(&writes, T, "1-11"), Behind);
    writes.wrote(wrote(12, Some(&["u"])));
    assert_eq!(needs(&writes, T, "1-12"), Behind, "a hole");
    writes.lost();
    assert_eq!(needs(&writes, T, "1-12"), Everything);
    assert_eq!(needs(&writes, T, "1-10"), Needs::These(set("1-10")));
    writes.begin("m", &set("1-12"), false);
    assert_eq!(needs(&writes, T, "1-12"), Behind, "a table may have come");
    writes.catalog(sample("1-12", "1-12"));
    assert_eq!(
        needs(&writes, T, "1-12"),
        Needs::These(set("1-11")),
        "of the hole nobody knows"
    );
}

#[test]
fn a_stream_that_was_waited_for_in_vain_is_not_waited_for_before_it_tells_something() {
    let writes = begun();
    assert_eq!(needs(&writes, T, "1-11"), Behind);
    writes.waited_in_vain();
    assert_eq!(needs(&writes, T, "1-11"), Everything);
    assert_eq!(needs(&writes, T, "1-10"), Needs::These(set("1-10")));
    writes.wrote(wrote(12, Some(&["u"])));
    assert_eq!(needs(&writes, T, "1-11"), Behind);
}

#[test]
fn what_is_told_again_changes_nothing() {
    let writes = begun();
    for number in [11, 12] {
        writes.wrote(wrote(number, Some(&[if number == 11 { "t" } else { "u" }])));
    }
    writes.begin("m", &set("1-10"), false);
    assert!(!writes.wrote(wrote(11, Some(&["t"]))));
    assert!(!writes.wrote(wrote(12, Some(&["t"]))));
    assert_eq!(needs(&writes, T, "1-12"), Needs::These(set("1-11")));
}

#[test]
fn a_barrier_is_needed_by_all_and_ends_what_is_known_of_views() {
    let writes = begun();
    writes.wrote(wrote(11, Some(&["t"])));
    writes.wrote(wrote(12, None));
    assert_eq!(needs(&writes, T, "1-12"), Behind);
    writes.catalog(sample("1-11", "1-12"));
    assert_eq!(
        needs(&writes, T, "1-12"),
        Behind,
        "read before or after 12?"
    );
    writes.catalog(sample("1-12", "1-13"));
    assert_eq!(
        needs(&writes, T, "1-12"),
        Behind,
        "13 may be another definition"
    );
    writes.wrote(wrote(13, Some(&["u"])));
    assert_eq!(needs(&writes, T, "1-12"), Needs::These(set("12")));
}

#[test]
fn another_master_or_another_history_begins_anew() {
    let writes = begun();
    writes.wrote(wrote(11, Some(&["u"])));
    writes.begin("other", &set(""), false);
    assert_eq!(needs(&writes, T, "1-11"), Behind);
    let writes = begun();
    writes.look_at(&position("1-12"));
    writes.look_at(&position("1-12"));
    assert_eq!(needs(&writes, T, "1-10"), Needs::These(set("1-10")));
    writes.look_at(&position("1-3"));
    assert_eq!(needs(&writes, T, "1-3"), Everything);
    // A copy that was restored, and has overtaken: by its numbers nothing is wrong.
    let writes = begun();
    writes.look_at(&of_boot("boot-1", "1-10"));
    writes.look_at(&of_boot("boot-2", "1-12"));
    assert_eq!(needs(&writes, T, "1-10"), Everything);
    assert!(!writes.is_connected(), "its connection is given up");
}

/// A stream in any state, and reads of a satellite that holds any prefix: what `needs` admits shows the tables as they are.
mod any_history {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_satellite_that_is_admitted_lacks_no_write_of_the_tables_read(
            history in prop::collection::vec(prop::option::weighted(0.9, 0usize..4), 1..40),
            begins in 0usize..40,
            lost in prop::collection::vec(0usize..40, 0..3),
            master in 1usize..40,
            table in 0usize..4,
        ) {
            let all = history.len();
            let (begins, master) = (begins.min(all), master.min(all));
            let upto = |n: usize| if n == 0 { String::new() } else { format!("1-{n}") };
            let writes = TableWrites::new(None, false);
            writes.begin("m", &set(&upto(begins)), false);
            let tables = ["a", "b", "c", "d"];
            let mut last = begins;
            for at in begins..all {
                if lost.contains(&at) {
                    // The connection breaks; the next one begins later, or earlier.
                    last = at.saturating_sub(at % 3).min(at);
                    writes.lost();
                    writes.begin("m", &set(&upto(last)), false);
                    for (again, table) in history.iter().enumerate().take(at).skip(last) {
                        writes.wrote(wrote(again as u64 + 1, table.map(|t| &tables[t..=t])));
                    }
                }
                writes.wrote(wrote(at as u64 + 1, history[at].map(|t| &tables[t..=t])));
            }
            let _ = last;
            writes.catalog(sample(&upto(all), &upto(all)));
            let sql = format!("SELECT 1 FROM {}", tables[table]);
            let Needs::These(needed) = needs(&writes, &sql, &upto(master)) else {
                return Ok(());
            };
            for prefix in 0..=all {
                if set(&upto(prefix)).contains_set(&needed) {
                    let missing = history[prefix..master.max(prefix)].iter();
                    prop_assert!(missing.clone().all(|w| w.is_some_and(|t| t != table)), "{prefix} {needed:?}");
                }
            }
        }
    }
}

/// Whether a satellite may answer, for the sake of the views that a read names.
mod names {
    use super::*;
    use crate::freshness::catalog::View;
    use crate::freshness::definitions::Definition;
    use crate::sql::Uses;

    const V: &str = "SELECT 1 FROM v";
    const ASKS: &str = "select last_insert_id() AS `a`";
    const PLAIN: &str = "select `db`.`t`.`a` AS `a` from `db`.`t`";

    /// A catalog with this view `v`.
    fn with_view(text: &str, before: &str, after: &str) -> Sample {
        let name = Table {
            schema: "db".into(),
            name: "v".into(),
        };
        Sample {
            views: vec![View {
                view: name.clone(),
                reads: None,
            }],
            definitions: vec![Definition {
                name,
                is_function: false,
                uses: Uses::of_view(text),
            }],
            ..sample(before, after)
        }
    }

    fn followed(text: &str) -> TableWrites {
        let writes = TableWrites::new(None, true);
        writes.begin("m", &set("1-10"), false);
        writes.catalog(with_view(text, "1-10", "1-10"));
        writes
    }

    fn defined(number: u64) -> Written {
        wrote(number, None)
    }

    /// "yes", what asks, or "unknown".
    fn proof(writes: &TableWrites, sql: &str, has: &str) -> String {
        let names = understand(sql).names.unwrap();
        let read = TableNames {
            names: &names,
            database: Some("Db"),
        };
        match writes.proves(Some(read), Some(&set(has))) {
            Ok(_) => "yes".into(),
            Err(Unproven::Asks(asks)) => asks.what.to_string(),
            Err(Unproven::Unknown) => "unknown".into(),
        }
    }

    #[test]
    fn a_view_that_asks_about_the_session_is_not_read_on_a_satellite() {
        let writes = followed(ASKS);
        assert_eq!(
            proof(&writes, "SELECT * FROM db.V", "1-10"),
            "view `db`.`v`: LAST_INSERT_ID()"
        );
        assert_eq!(proof(&writes, T, "1-10"), "yes");
        assert!(writes.proves(None, Some(&set("1-10"))).is_err());
        assert_eq!(proof(&followed(PLAIN), V, "1-10"), "yes");
    }

    #[test]
    fn nothing_is_proven_before_the_first_catalog_but_a_read_without_names() {
        let writes = TableWrites::new(None, true);
        assert_eq!(proof(&writes, T, "1-10"), "unknown");
        assert_eq!(proof(&writes, "SELECT 1", "1-10"), "yes");
        let without_stream = TableWrites::new(None, false);
        assert_eq!(proof(&without_stream, V, "1-10"), "yes");
    }

    #[test]
    fn a_view_that_was_replaced_is_not_read_by_what_was_known_of_it_before() {
        let writes = followed(PLAIN);
        writes.wrote(defined(11));
        assert_eq!(proof(&writes, V, "1-10"), "unknown");
        assert_eq!(proof(&writes, T, "1-11"), "unknown", "a view in its stead?");
        writes.catalog(with_view(ASKS, "1-11", "1-11"));
        assert_eq!(proof(&writes, T, "1-11"), "yes");
        writes.wrote(defined(12));
        writes.catalog(with_view(PLAIN, "1-12", "1-12"));
        assert_eq!(proof(&writes, V, "1-11"), "unknown", "it has the old one");
        assert_eq!(proof(&writes, T, "1-11"), "yes");
        assert_eq!(proof(&writes, V, "1-12"), "yes");
    }

    #[test]
    fn a_view_that_asked_and_became_a_table_is_not_read_where_it_still_is_a_view() {
        let writes = followed(ASKS);
        writes.wrote(defined(11));
        let table = |before| Sample {
            tables: with_view(ASKS, "", "")
                .definitions
                .into_iter()
                .map(|d| d.name)
                .collect(),
            ..sample(before, before)
        };
        writes.catalog(table("1-11"));
        assert_eq!(proof(&writes, V, "1-10"), "unknown");
        assert_eq!(proof(&writes, V, "1-11"), "yes");
        writes.wrote(defined(12));
        writes.catalog(table("1-12"));
        assert_eq!(proof(&writes, V, "1-10"), "unknown");
    }

    #[test]
    fn a_truncated_table_sends_no_reads_to_the_master() {
        let writes = followed(PLAIN);
        writes.wrote(Written {
            redefines: Redefines::Nothing,
            ..defined(11)
        });
        // What lay before the stream is untold until then.
        writes.catalog(with_view(PLAIN, "1-11", "1-11"));
        for number in 12..20 {
            let truncated = Written {
                redefines: Redefines::Nothing,
                ..defined(number)
            };
            writes.wrote(truncated);
            assert_eq!(proof(&writes, V, &format!("1-{number}")), "yes");
        }
        writes.catalog(with_view(PLAIN, "1-19", "1-21"));
        assert_eq!(proof(&writes, V, "1-19"), "yes", "by the one before");
    }

    #[test]
    fn a_satellite_that_is_ahead_of_the_stream_answers_nothing_with_names() {
        let writes = followed(PLAIN);
        assert_eq!(proof(&writes, T, "1-11"), "unknown");
        writes.wrote(wrote(11, Some(&["t"])));
        assert_eq!(proof(&writes, T, "1-11"), "yes");
        // Never told, but the catalog was read when it was there.
        writes.catalog(with_view(PLAIN, "1-12", "1-12"));
        assert_eq!(proof(&writes, T, "1-12"), "yes");
    }

    #[test]
    fn of_a_capture_that_sends_no_definitions_no_view_is_proven() {
        let writes = TableWrites::new(None, true);
        writes.begin("m", &set("1-10"), false);
        writes.catalog(Sample {
            definitions: Vec::new(),
            ..with_view(PLAIN, "1-10", "1-10")
        });
        assert_eq!(
            proof(&writes, V, "1-10"),
            "view `db`.`v`: definition that is not known"
        );
        assert_eq!(proof(&writes, T, "1-10"), "yes");
    }

    fn proven(writes: &TableWrites) -> Proven {
        let names = understand(V).names.unwrap();
        let read = TableNames {
            names: &names,
            database: Some("Db"),
        };
        let proof = writes.proves(Some(read), Some(&set("1-10")));
        proof.unwrap().unwrap()
    }

    /// After the read, of `v`.
    fn held(writes: &TableWrites, proven: &Proven, has: Option<&str>) -> Option<bool> {
        let names = understand(V).names.unwrap();
        let read = TableNames {
            names: &names,
            database: Some("Db"),
        };
        let held = writes.held(proven, Some(read), has.map(set).as_ref());
        assert!(!writes.holds(proven) || held == Some(true));
        held
    }

    fn redefines(writes: &TableWrites, number: u64, name: &str) {
        let name = Table {
            schema: "db".into(),
            name: name.into(),
        };
        writes.wrote(Written {
            redefines: Redefines::These(vec![name]),
            ..defined(number)
        });
    }

    #[test]
    fn a_proof_holds_until_something_behind_its_names_is_redefined() {
        for (name, holds) in [("w", true), ("v", false), ("t", false)] {
            let writes = followed(PLAIN);
            let proven = proven(&writes);
            assert!(writes.holds(&proven));
            writes.wrote(wrote(11, Some(&["v", "t"])));
            assert!(writes.holds(&proven), "rows are no definitions");
            redefines(&writes, 12, name);
            assert!(!writes.holds(&proven));
            assert_eq!(held(&writes, &proven, None), Some(holds), "{name}");
            // What is harmless again may have been something else meanwhile.
            writes.catalog(with_view(PLAIN, "1-12", "1-12"));
            assert_eq!(held(&writes, &proven, None), Some(holds), "{name}");
        }
        let writes = followed(PLAIN);
        let proven = proven(&writes);
        writes.wrote(defined(11));
        assert_eq!(held(&writes, &proven, Some("1-10")), Some(false), "any");
    }

    #[test]
    fn a_proof_that_the_stream_was_lost_after_holds_if_the_satellite_has_no_more_than_was_told() {
        let writes = followed(PLAIN);
        let proven = proven(&writes);
        writes.lost();
        assert_eq!(held(&writes, &proven, None), None);
        assert_eq!(held(&writes, &proven, Some("1-11")), None);
        assert_eq!(held(&writes, &proven, Some("1-10")), Some(true));
        writes.begin("m", &set("1-10"), true);
        assert_eq!(held(&writes, &proven, None), None, "before the first mark");
        writes.begin("m", &set("1-12"), true);
        assert_eq!(held(&writes, &proven, Some("1-10")), Some(false), "untold");
    }

    #[test]
    fn what_is_known_is_trusted_from_the_time_that_a_mark_brings_back_and_not_for_long() {
        let writes = followed(PLAIN);
        writes.begin("m", &set("1-10"), true);
        let proven = proven(&writes);
        for time in [0, writes.clock() + 1_000_000, u64::MAX] {
            writes.marked(time);
            assert!(!writes.holds(&proven), "no time of the gate's: {time}");
        }
        let old = Instant::now() - 2 * TRUSTED;
        let writes = TableWrites {
            began: old,
            ..writes
        };
        writes.marked(1);
        assert!(!writes.holds(&proven), "too old");
        writes.marked(writes.clock());
        assert!(writes.holds(&proven));
        writes.lost();
        assert!(!writes.holds(&proven));
    }

    #[test]
    fn a_definition_keeps_only_reads_of_its_own_name_from_satellites() {
        let writes = followed(PLAIN);
        writes.wrote(defined(11));
        writes.catalog(with_view(PLAIN, "1-11", "1-11"));
        let names = |names: &[&str]| {
            let table = |name: &&str| Table {
                schema: "db".into(),
                name: (*name).into(),
            };
            Redefines::These(names.iter().map(table).collect())
        };
        writes.wrote(Written {
            redefines: names(&["f", "w"]),
            ..defined(12)
        });
        assert_eq!(proof(&writes, V, "1-12"), "yes");
        assert_eq!(proof(&writes, V, "1-11"), "yes");
        assert_eq!(proof(&writes, T, "1-11"), "yes");
        assert_eq!(proof(&writes, "SELECT 1 FROM w", "1-12"), "unknown");
        assert!(writes.proves(None, Some(&set("1-12"))).is_err());
        writes.wrote(Written {
            redefines: names(&["t"]),
            ..defined(13)
        });
        assert_eq!(proof(&writes, V, "1-13"), "unknown", "it reads t");
        writes.catalog(with_view(PLAIN, "1-13", "1-13"));
        assert_eq!(proof(&writes, V, "1-13"), "yes");
        assert_eq!(
            proof(&writes, T, "1-12"),
            "unknown",
            "t is another one there"
        );
    }
}
