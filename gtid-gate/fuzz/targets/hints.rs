//! What people write to choose: hints, levels, addresses, settings.
//!
//! In: a text. Checked: no panic; what was understood says the same when it is written and read again, and keeps its bounds;
//! a hint in a comment of a read is that hint and leaves it a read; no mistake shows the password.
#![no_main]

use gtid_gate::common::consistency::{self, AfterWait, Choice, Hint, Level, MasterReads};
use gtid_gate::ops::config::{Address, Config};
use gtid_gate::sql::{Class, understand};
use std::time::Duration;

/// No printed escape of a text, like `\t`, may end in its first letter.
const SECRET: &str = "Keep this away";

libfuzzer_sys::fuzz_target!(|text: &str| {
    for choice in [
        Choice::parse(text).ok(),
        consistency::hint(text)
            .and_then(Result::ok)
            .map(|h| h.choice),
    ]
    .into_iter()
    .flatten()
    {
        check_choice(choice);
    }
    if let Some(level) = consistency::level(text) {
        assert_eq!(consistency::level(&level.to_string()), Some(level));
    }
    if let Ok(address) = text.parse::<Address>() {
        assert!(address.port != 0);
        assert_eq!(address.to_string().parse(), Ok(address));
    }
    let _ = (consistency::variable(text), consistency::after_wait(text));
    check_comment(text);
    check_settings(text);
});

fn check_choice(choice: Choice) {
    assert!(choice.wait.is_none_or(|w| w <= Duration::from_secs(60)));
    assert!(
        !matches!(choice.level, Some(Level::Bounded(bound)) if bound > Duration::from_secs(3600))
    );
    assert_eq!(Choice::parse(&written(choice)), Ok(choice));
    assert_eq!(
        consistency::hint(&format!(" MULTIMED: {} ", written(choice))),
        Some(Ok(Hint {
            choice,
            tables: None
        }))
    );
    assert_eq!(choice.and_then(choice), choice);
}

fn written(choice: Choice) -> String {
    let level = choice.level.map(|l| format!("consistency={l}"));
    let wait = choice.wait.map(|w| format!("wait_ms={}", w.as_millis()));
    let after_wait = choice.after_wait.map(|a| match a {
        AfterWait::Master => "after_wait=master".to_owned(),
        AfterWait::Error => "after_wait=error".to_owned(),
    });
    let master_reads = choice.master_reads.map(|m| match m {
        MasterReads::Spare => "master_reads=spare".to_owned(),
        MasterReads::Fallback => "master_reads=fallback".to_owned(),
        MasterReads::Never => "master_reads=never".to_owned(),
    });
    let class = choice.class.map(|c| format!("class={}", c.as_str()));
    [level, wait, after_wait, master_reads, class]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(",")
}

fn check_comment(text: &str) {
    let is_plain_comment = !text.contains("*/")
        && !text.contains('\0')
        && !text.starts_with(['!', '+'])
        && !text.starts_with("M!");
    if is_plain_comment {
        let said = consistency::hint(text).unwrap_or(Ok(Hint::default()));
        let understood = understand(&format!("SELECT 1 /*{text}*/"));
        assert_eq!(understood.class, Class::Read);
        match said {
            // What it lists are no tables.
            Ok(hint) if hint.tables.is_some() && understood.listed.is_none() => {
                assert!(understood.hint.is_err());
            }
            said => assert_eq!(understood.hint, said.map(|h| h.choice)),
        }
    }
}

/// The text as the value of each setting in turn would say little more than as the value of all that are not numbers.
fn check_settings(text: &str) {
    let read = Config::read(&|name| match name {
        "GATE_PASSWORD" => Some(SECRET.to_owned()),
        "GATE_WORKERS" => Some("1".to_owned()),
        _ if name.ends_with("_FILE") => None,
        "GATE_SATELLITES" | "GATE_USERS" | "GATE_CLASSES" | "GATE_CONSISTENCY"
        | "GATE_AFTER_WAIT" | "GATE_MASTER" | "GATE_MASTER_READS" | "GATE_TABLE_STREAM" => {
            Some(text.to_owned())
        }
        "GATE_WAIT_MS" | "GATE_LISTEN" => text.split(';').next_back().map(str::to_owned),
        _ => None,
    });
    match read {
        Ok(config) => config.users.into_values().for_each(check_choice),
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            assert!(text.contains(SECRET) || !mistakes.concat().contains(SECRET));
        }
    }
}
