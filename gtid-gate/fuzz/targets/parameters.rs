//! Query attributes, and the values of executions.
//!
//! In: two bytes that choose how many parameters a statement has and whether values have names, then a payload. Checked: no
//! panic; where a text begins does not depend on the text, and nothing shorter has one; types that were taken from a
//! payload and put back say the same.
#![no_main]

use gtid_gate::protocol::bind_params::{FIXED, Given, text_at};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [params, named, payload @ ..] = input else {
        return;
    };
    check_text(payload);
    check_execution(payload, u16::from(*params % 40), named % 2 == 1);
});

fn check_text(argument: &[u8]) {
    let Ok(at) = text_at(argument) else {
        return;
    };
    let before = &argument[..at];
    assert_eq!(text_at(before).ok(), Some(at));
    assert_eq!(text_at(&[before, b"SELECT 1"].concat()).ok(), Some(at));
    assert!(text_at(&before[..at - 1]).is_err());
}

fn check_execution(payload: &[u8], params: u16, named: bool) {
    let Ok(Some(given)) = Given::find(payload, params, named) else {
        return;
    };
    assert!(given.flag >= FIXED && given.flag < payload.len());
    if !given.bound {
        check_put_back(
            given,
            payload,
            params,
            named,
            &[0xfd, 0].repeat(params.into()),
        );
    } else if let Ok(types) = given.types(payload, params) {
        assert_eq!(types.len(), 2 * usize::from(params.min(given.count)));
        let without = [&payload[..given.flag], &[0], b"values"].concat();
        let unbound = Given::find(&without, params, named).expect("read before");
        let unbound = unbound.expect("it has values");
        check_put_back(unbound, &without, params, named, &types);
    }
}

/// With types put in, it has them, and the same values behind them.
fn check_put_back(given: Given, payload: &[u8], params: u16, named: bool, types: &[u8]) {
    let (head, values) = given.with_types(payload, types);
    let told = [&head, values].concat();
    let again = Given::find(&told, params, named).expect("it can be read");
    let again = again.expect("it has values");
    assert!(again.bound && again.flag == given.flag && again.count == given.count);
    let first = types.len().min(2 * usize::from(given.count));
    assert_eq!(
        again.types(&told, params).ok().as_deref(),
        Some(&types[..first])
    );
    let size = if named { 3 } else { 2 } * usize::from(given.count);
    assert_eq!(told[given.flag + 1 + size..], payload[given.flag + 1..]);
}
