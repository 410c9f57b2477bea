use super::*;
use proptest::prelude::*;

/// A type code, a name, and the value in MySQL's binary form; no value is NULL.
#[derive(Debug, Clone)]
struct Value {
    code: u16,
    name: Vec<u8>,
    bytes: Option<Vec<u8>>,
}

fn prefixed(bytes: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    wire::put_lenenc_bytes(&mut out, &bytes);
    out
}

fn fixed(code: u16, size: usize) -> BoxedStrategy<(u16, Vec<u8>)> {
    let bytes = prop::collection::vec(any::<u8>(), size);
    bytes.prop_map(move |bytes| (code, bytes)).boxed()
}

/// DECIMAL to VECTOR, temporal values included: a length, then so many bytes.
fn of_any_length() -> BoxedStrategy<(u16, Vec<u8>)> {
    let codes = prop::sample::select(vec![
        0, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 242, 243, 245, 246, 247, 248, 249, 250, 251, 252,
        253, 254, 255,
    ]);
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        prop::collection::vec(any::<u8>(), 240..300)
    ];
    (codes, bytes)
        .prop_map(|(code, bytes)| (code, prefixed(bytes)))
        .boxed()
}

fn value() -> impl Strategy<Value = Value> {
    let typed = prop_oneof![
        fixed(1, 1),
        fixed(2, 2),
        fixed(3, 4),
        fixed(4, 4),
        fixed(5, 8),
        fixed(8, 8),
        of_any_length()
    ];
    let name = prop::collection::vec(any::<u8>(), 0..12);
    (typed, name, any::<bool>(), any::<bool>()).prop_map(|((code, bytes), name, unsigned, null)| {
        Value {
            code: code | u16::from(unsigned) << 15,
            name,
            bytes: (!null).then_some(bytes),
        }
    })
}

fn values(most: usize) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(value(), 0..=most)
}

/// Nulls, flag, types and values, as both commands have them.
fn block(values: &[Value], bound: bool, named: bool) -> Vec<u8> {
    let mut nulls = vec![0u8; values.len().div_ceil(8)];
    for (at, _) in values.iter().enumerate().filter(|(_, v)| v.bytes.is_none()) {
        nulls[at / 8] |= 1 << (at % 8);
    }
    let mut out = nulls;
    out.push(u8::from(bound));
    for value in values.iter().filter(|_| bound) {
        out.extend_from_slice(&value.code.to_le_bytes());
        if named {
            wire::put_lenenc_bytes(&mut out, &value.name);
        }
    }
    values
        .iter()
        .filter_map(|v| v.bytes.as_ref())
        .for_each(|bytes| out.extend_from_slice(bytes));
    out
}

fn attributes(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    wire::put_lenenc(&mut out, values.len() as u64);
    out.push(1);
    if !values.is_empty() {
        out.extend(block(values, true, true));
    }
    out
}

fn execution(values: &[Value], bound: bool, named: bool) -> Vec<u8> {
    let flags = if named { COUNT_FOLLOWS } else { 0 };
    let mut out = vec![0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0];
    if named {
        wire::put_lenenc(&mut out, values.len() as u64);
    }
    if !values.is_empty() {
        out.extend(block(values, bound, named));
    }
    out
}

fn codes(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|v| v.code.to_le_bytes()).collect()
}

fn unnamed(values: &[Value]) -> Vec<Value> {
    let without = |v: &Value| Value {
        name: Vec::new(),
        ..v.clone()
    };
    values.iter().map(without).collect()
}

proptest! {
    #[test]
    fn the_text_begins_behind_the_attributes(values in values(20), text: Vec<u8>) {
        let before = attributes(&values);
        prop_assert_eq!(text_at(&[&before[..], &text].concat()).unwrap(), before.len());
    }

    #[test]
    fn attributes_that_are_cut_off_are_malformed(values in values(9), cut: prop::sample::Index) {
        let mut before = attributes(&values);
        before.truncate(cut.index(before.len()));
        prop_assert!(text_at(&before).is_err());
    }

    #[test]
    fn garbage_has_a_text_within_it_or_none(garbage: Vec<u8>, params in 0u16..40, named: bool) {
        if let Ok(at) = text_at(&garbage) {
            prop_assert!(at <= garbage.len());
        }
        if let Ok(Some(given)) = Given::find(&garbage, params, named) {
            let _ = given.types(&garbage, params);
            given.with_types(&garbage, &[]);
        }
    }

    #[test]
    fn types_that_came_once_can_be_given_again(values in values(20), attributes in values(3), named: bool) {
        let params = values.len() as u16;
        let bound = [&values[..], if named { &attributes } else { &[] }].concat();
        let first = execution(&bound, true, named);
        let Some(given) = Given::find(&first, params, named).unwrap() else {
            prop_assert!(bound.is_empty());
            return Ok(());
        };
        prop_assert!(given.bound && usize::from(given.count) == bound.len());
        let types = given.types(&first, params).unwrap();
        prop_assert_eq!(&types, &codes(&values));

        let again = execution(&values, false, named);
        if let Some(given) = Given::find(&again, params, named).unwrap() {
            prop_assert!(!given.bound);
            let (head, rest) = given.with_types(&again, &types);
            prop_assert_eq!([&head, rest].concat(), execution(&unnamed(&values), true, named));
        }
    }

    #[test]
    fn an_execution_that_is_cut_off_before_its_values_is_malformed(values in prop::collection::vec(value(), 1..20), named: bool, cut: prop::sample::Index) {
        let params = values.len() as u16;
        let nulls: Vec<Value> = values.into_iter().map(|v| Value { bytes: None, ..v }).collect();
        let mut payload = execution(&nulls, true, named);
        payload.truncate(cut.index(payload.len()));
        let types = Given::find(&payload, params, named).map(|g| g.map(|g| g.types(&payload, params)));
        prop_assert!(!matches!(types, Ok(None | Some(Ok(_)))));
    }
}

#[test]
fn the_example_of_mysql_s_protocol_page() {
    let argument = b"\x01\x01\x00\x01\xfe\x00\x01a\x011select @@version_comment limit 1";
    let at = text_at(argument).unwrap();
    assert_eq!(&argument[at..], b"select @@version_comment limit 1");
    assert_eq!(text_at(b"\x00\x01SELECT 1").unwrap(), 2);
}

/// Each of these a server could read otherwise, or not at all.
#[test]
fn what_is_not_exactly_as_described_is_malformed() {
    for argument in [
        &b""[..],
        b"\x00",
        b"\x00\x00SELECT 1",
        b"\x00\x02SELECT 1",
        b"\xfb\x01SELECT 1",
        b"\xff\x01SELECT 1",
        b"\xfd\x00\x00\x01\x01SELECT 1",
        b"\x01\x01\x01\x00SELECT 1",
        b"\x01\x01\x01\x02\xfe\x00\x01aSELECT 1",
        b"\x01\x01\x00\x01\xf4\x00\x01a\x01SELECT 1",
        b"\x01\x01\x00\x01\xfe\x01\x01a\x01xSELECT 1",
        b"\x01\x01\x00\x01\xfe\x00\x01a\xfbSELECT 1",
        b"\x01\x01\x00\x01\xfe\x00\x01a\x20SELECT 1",
        b"\x01\x01\x00\x01\xfe\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xffSELECT 1",
    ] {
        assert!(text_at(argument).is_err(), "{argument:x?}");
    }
}

#[test]
fn a_count_follows_parameters_or_its_flag() {
    let bare = |flags| vec![0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0];
    assert_eq!(Given::find(&bare(0), 0, true).unwrap(), None);
    assert_eq!(Given::find(&bare(COUNT_FOLLOWS), 0, false).unwrap(), None);
    assert!(Given::find(&bare(COUNT_FOLLOWS), 0, true).is_err());
    let counted = [bare(0), vec![1, 0, 0]].concat();
    let given = Given::find(&counted, 1, true).unwrap().unwrap();
    assert_eq!((given.count, given.flag, given.bound), (1, 12, false));
}

#[test]
fn attributes_without_types_are_nulls() {
    let value = |bytes| Value {
        code: 8,
        name: Vec::new(),
        bytes,
    };
    let payload = execution(&[value(Some(vec![7; 8])), value(None)], false, true);
    let given = Given::find(&payload, 1, true).unwrap().unwrap();
    let (head, values) = given.with_types(&payload, &[8, 0]);
    let spliced = [&head, values].concat();
    assert_eq!(spliced[..FIXED + 2], payload[..FIXED + 2]);
    assert_eq!(spliced[FIXED + 2..FIXED + 9], [1, 8, 0, 0, 6, 0, 0]);
    assert_eq!(spliced[FIXED + 9..], [7; 8]);
}
