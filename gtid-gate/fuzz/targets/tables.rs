//! The frames of capture's table stream.
//!
//! In: one frame's content. Checked: no panic, for no part of it either; what follows a frame changes nothing.
#![no_main]

use gtid_gate::freshness::table_frame;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(whole) = table_frame(bytes) else {
        return;
    };
    let longer = table_frame(&[bytes, b"more"].concat()).unwrap();
    assert_eq!(format!("{longer:?}"), format!("{whole:?}"));
    for end in 0..bytes.len() {
        let _ = table_frame(&bytes[..end]);
    }
});
