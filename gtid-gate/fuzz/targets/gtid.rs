//! GTID sets: reading, printing, and the laws of sets.
//!
//! In: texts, one per line; the first three that are sets are put to the laws. Checked: what is printed reads as the same
//! set; union, difference, containment and counts agree with each other; owners never change what is owned.
#![no_main]

use gtid_gate::gtid::{Gtid, GtidSet};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let sets: Vec<GtidSet> = text.lines().filter_map(set).take(3).collect();
    if let Some(a) = sets.first() {
        let (b, c) = (&sets[1 % sets.len()], &sets[2 % sets.len()]);
        check_two(a, b);
        check_two(b, a);
        check_two(a, c);
        check_three(a, b, c);
    }
    let gtids: Vec<Gtid> = text.lines().filter_map(gtid).take(3).collect();
    check_owned(&gtids);
    check_listed(&gtids);
});

fn set(line: &str) -> Option<GtidSet> {
    if let Ok(owned) = GtidSet::parse_owned(line) {
        comes_back(&owned);
    }
    let set = GtidSet::parse(line).ok()?;
    comes_back(&set);
    for same in [
        line.to_ascii_uppercase(),
        format!("\t{line} ,"),
        format!(", {line}"),
    ] {
        assert_eq!(GtidSet::parse(&same).as_ref(), Ok(&set), "{same:?}");
    }
    Some(set)
}

fn comes_back(set: &GtidSet) {
    assert_eq!(GtidSet::parse(&set.to_string()).as_ref(), Ok(set));
    assert_eq!(set.is_empty(), set.count() == 0);
    assert_eq!(set.is_empty(), set.to_string().is_empty());
}

fn check_two(a: &GtidSet, b: &GtidSet) {
    let (both, only_a, only_b) = (union(a, b), minus(a, b), minus(b, a));
    let shared = minus(a, &only_a);
    for each in [&both, &only_a, &shared] {
        comes_back(each);
    }
    assert_eq!(both, union(b, a));
    assert!(both.contains_set(a) && both.contains_set(b) && a.contains_set(&only_a));
    assert_eq!(union(&only_a, b), both);
    assert_eq!(minus(&both, b), only_a);
    assert_eq!(union(&only_a, &shared), *a);
    assert_eq!(shared, minus(b, &only_b));
    assert_eq!(a.contains_set(b), only_b.is_empty());
    assert_eq!(a.intersects(b), !shared.is_empty());
    assert!(!only_a.intersects(b));
    assert_eq!(both.count(), only_a.count().saturating_add(b.count()));
}

fn check_three(a: &GtidSet, b: &GtidSet, c: &GtidSet) {
    assert_eq!(union(&union(a, b), c), union(a, &union(b, c)));
    assert_eq!(minus(&union(a, b), c), union(&minus(a, c), &minus(b, c)));
    assert_eq!(minus(&minus(a, b), c), minus(a, &union(b, c)));
}

fn union(a: &GtidSet, b: &GtidSet) -> GtidSet {
    let mut set = a.clone();
    set.union_with(b);
    set
}

fn minus(a: &GtidSet, b: &GtidSet) -> GtidSet {
    let mut set = a.clone();
    set.subtract(b);
    set
}

fn gtid(line: &str) -> Option<Gtid> {
    let gtid: Gtid = line.parse().ok()?;
    assert_eq!(gtid.to_string().parse(), Ok(gtid));
    Some(gtid)
}

/// MySQL puts nothing between an owner and the next uuid.
fn check_owned(gtids: &[Gtid]) {
    let owned = |between| {
        let items: Vec<String> = gtids
            .iter()
            .map(|g| format!("{g}#{}#15", g.number as u32))
            .collect();
        GtidSet::parse_owned(&items.join(between))
    };
    let expected: GtidSet = gtids.iter().copied().collect();
    assert_eq!(owned("").as_ref(), Ok(&expected));
    assert_eq!(owned(", ").as_ref(), Ok(&expected));
}

fn check_listed(gtids: &[Gtid]) {
    let set: GtidSet = gtids.iter().copied().collect();
    let texts: Vec<String> = gtids.iter().map(Gtid::to_string).collect();
    assert_eq!(GtidSet::parse(&texts.join(",")).as_ref(), Ok(&set));
    assert!(gtids.iter().all(|g| set.contains(g)));
    assert!(set.count() <= gtids.len() as u64);
    comes_back(&set);
}
