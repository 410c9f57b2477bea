//! What it costs to understand a statement, by its length: `cargo test --release --test understand_cost -- --ignored --nocapture`.

use gtid_gate::sql::{Class, understand};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A text of about so many bytes.
type Text = fn(usize) -> String;

const TEXTS: [(&str, Text); 3] = [
    ("long literal", |bytes| {
        format!(
            "SELECT c FROM sbtest1 WHERE pad = '{}'",
            "x".repeat(bytes - 38)
        )
    }),
    ("list of values", |bytes| {
        format!(
            "SELECT c FROM sbtest1 WHERE id IN ({}1)",
            "1,".repeat((bytes - 36) / 2)
        )
    }),
    ("list of columns", |bytes| {
        let columns = (0..)
            .map(|n| format!("t0_.column_{n:06}, "))
            .take((bytes - 15) / 19);
        format!("SELECT {}1 FROM t0_", columns.collect::<String>())
    }),
];

#[test]
#[ignore = "measures, and takes its time"]
fn by_length() {
    for (name, text) in TEXTS {
        for bytes in [100, 500, 2_000, 100_000, 980_000] {
            let sql = text(bytes);
            assert_eq!(understand(&sql).class, Class::Read);
            println!("{name:16} {bytes:7} bytes: {:9.2?}", cost(&sql));
        }
    }
}

/// Of one statement, the best of some rounds.
fn cost(sql: &str) -> Duration {
    let count = (2_000_000 / sql.len()).clamp(3, 20_000) as u32;
    let round = |_| {
        let began = Instant::now();
        (0..count).for_each(|_| drop(black_box(understand(black_box(sql)))));
        began.elapsed() / count
    };
    (0..5).map(round).min().unwrap_or_default()
}
