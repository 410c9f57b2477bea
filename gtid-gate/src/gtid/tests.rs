//! Laws of GTID sets against plain sets of GTIDs, and MySQL's own texts.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

const U1: &str = "11111111-1111-1111-1111-111111111111";
const U2: &str = "01111111-1111-1111-1111-11111111111f";

fn set(text: &str) -> GtidSet {
    GtidSet::parse(text).unwrap()
}

fn gtids() -> impl Strategy<Value = HashSet<Gtid>> {
    let tag = prop_oneof![Just(""), Just("a"), Just("ab_9")];
    let one = (0u8..3, tag, 1u64..24).prop_map(|(uuid, tag, number)| {
        let mut bytes = [0; 32];
        bytes[..tag.len()].copy_from_slice(tag.as_bytes());
        let source = Source {
            uuid: [uuid; 16],
            tag: Tag(bytes),
        };
        Gtid { source, number }
    });
    proptest::collection::hash_set(one, 0..60)
}

fn build(model: &HashSet<Gtid>) -> GtidSet {
    model.iter().copied().collect()
}

proptest! {
    #[test]
    fn operations_agree_with_plain_sets(a in gtids(), b in gtids(), probe in gtids()) {
        let (x, y) = (build(&a), build(&b));
        prop_assert_eq!(x.count(), a.len() as u64);
        prop_assert_eq!(x.is_empty(), a.is_empty());
        prop_assert_eq!(x.contains_set(&y), b.is_subset(&a));
        prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
        prop_assert_eq!(x == y, a == b);
        for gtid in probe {
            prop_assert_eq!(x.contains(&gtid), a.contains(&gtid));
        }
        let mut union = x.clone();
        union.union_with(&y);
        prop_assert_eq!(&union, &build(&a.union(&b).copied().collect()));
        prop_assert!(union.contains_set(&x) && union.contains_set(&y));
        let mut rest = x.clone();
        rest.subtract(&y);
        prop_assert_eq!(&rest, &build(&a.difference(&b).copied().collect()));
        prop_assert!(!rest.intersects(&y) && x.contains_set(&rest));
    }

    #[test]
    fn subset_of_a_union_is_contained(a in gtids(), b in gtids()) {
        let mut union = build(&a);
        union.union_with(&build(&b));
        let half: GtidSet = a.iter().copied().step_by(2).collect();
        prop_assert!(union.contains_set(&half));
    }

    #[test]
    fn text_comes_back(a in gtids()) {
        let x = build(&a);
        prop_assert_eq!(&set(&x.to_string()), &x);
        let upper = x.to_string().to_uppercase().replace(':', " : ").replace(',', "\n,\r\n, ");
        prop_assert_eq!(&set(&upper), &x);
        for gtid in a {
            prop_assert_eq!(gtid.to_string().parse::<Gtid>().unwrap(), gtid);
        }
    }

    #[test]
    fn owned_text_is_read_with_and_without_commas(a in gtids(), owner in 1u32.., comma in any::<bool>()) {
        let mut text = String::new();
        for gtid in &a {
            text.push_str(if comma && !text.is_empty() { "," } else { "" });
            text.push_str(&format!("{gtid}#{owner}"));
        }
        prop_assert_eq!(GtidSet::parse_owned(&text).unwrap(), build(&a));
    }

    #[test]
    fn garbage_never_panics(text in "\\PC*", near in "[0-9a-fA-F:,#_ \\-{}\n]{0,80}") {
        let nearer = format!("{U1}:{near}");
        for text in [text, near, nearer] {
            let _ = (GtidSet::parse(&text), GtidSet::parse_owned(&text), text.parse::<Gtid>());
        }
    }
}

#[test]
fn prints_as_mysql_does() {
    let text = format!("{U1}:BB:3:1-5:1:aa:1-5:7,{U2}:5");
    assert_eq!(
        set(&text).to_string(),
        format!("{U2}:5,{U1}:aa:1-5:7:bb:1-5")
    );
    let text = format!("{U1}:7:9:_a9:9:tagg:7:9,\n{U2}:1-5");
    assert_eq!(
        set(&text).to_string(),
        format!("{U2}:1-5,{U1}:7:9:_a9:9:tagg:7:9")
    );
}

/// Every text here was put to MySQL 9.7's gtid_subset().
#[test]
fn takes_what_mysql_takes() {
    let bare = U1.replace('-', "");
    for (text, count) in [
        (String::new(), 0),
        (" , \n".into(), 0),
        (U1.into(), 0),
        (format!("{U1}:3-1"), 0),
        (format!("{U1}:5-0"), 0),
        (format!("{U1}:01"), 1),
        (format!("{U1}:9223372036854775806"), 1),
        (format!("{U1}:1-9223372036854775806"), MAX_NUMBER),
        (format!("{bare}:1"), 1),
        (format!("{{{U1}}}:1"), 1),
        (format!(" , , {U1} : 1 - 5 : 6 , , "), 6),
        (format!("{U1}:1\x0b\x0c\t\r\n"), 1),
        (format!("{U1}:1:Tag"), 1),
        (format!("{U1}:Tag:Tag2:1"), 1),
        (format!("{U1}: Tag : 1"), 1),
        (format!("{U1}:t2345678901234567890123456789012:1"), 1),
        (format!("{U1}:1-5:tag:1-5:7,{U2}:5"), 12),
    ] {
        assert_eq!(
            GtidSet::parse(&text).map(|s| s.count()),
            Ok(count),
            "{text:?}"
        );
    }
}

#[test]
fn refuses_what_mysql_refuses() {
    for tail in [
        ":",
        ":1::2",
        ":0",
        ":0-5",
        ":9223372036854775807",
        ":5-9223372036854775807",
        ":1 2",
        ":1-",
        ":1-2-3",
        ":t23456789012345678901234567890123:1",
        ":1;",
        ":18446744073709551617",
        ":+1",
        ":1-5:tag-:1",
        ":tag 1:1",
        "-1",
        ":1\0",
        ":1,abc",
        ",:1",
        ":1,",
    ] {
        let text = format!("{U1}{tail}");
        assert_eq!(GtidSet::parse(&text).is_ok(), tail == ":1,", "{text:?}");
    }
    for text in [
        ":1",
        "+1",
        "1111 1111",
        "111111111111-1111-1111-111111111111:1",
        "{11111111111111111111111111111111}:1",
    ] {
        assert!(GtidSet::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn errors_say_where() {
    let error = GtidSet::parse(&format!("{U1}:1:x")).err();
    assert_eq!(error, None);
    let error = GtidSet::parse(&format!("{U1}:0")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "malformed gtid set at byte 37: transaction numbers start at 1"
    );
}

/// The text of a 9.7 server with seven transactions open.
#[test]
fn owned_uuids_run_into_the_owner_before_them() {
    let text = format!("{U2}:7#16:8#15{U1}:102#13:100#12{U1}:aa:1#18{U1}:tag:1#17:5#14");
    let expected = format!("{U2}:7-8,{U1}:100:102:aa:1:tag:1:5");
    assert_eq!(GtidSet::parse_owned(&text), Ok(set(&expected)));
    assert_eq!(GtidSet::parse_owned(""), Ok(GtidSet::new()));
    assert_eq!(
        GtidSet::parse_owned(&format!("{U1}:7")),
        Ok(set(&format!("{U1}:7")))
    );
    assert_eq!(
        GtidSet::parse_owned(&format!("{U1}:7#1#2:8#3")),
        Ok(set(&format!("{U1}:7-8")))
    );
}

#[test]
fn owned_text_that_was_cut_off_is_refused() {
    let text = format!("{U2}:7#16{U1}:102#13");
    for end in [36, 37, 39, 50, text.len() - 2] {
        assert!(
            GtidSet::parse_owned(&text[..end]).is_err(),
            "{}",
            &text[..end]
        );
    }
}
