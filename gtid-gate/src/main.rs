//! gtid-gate: see the library. Without argument it serves; with one it asks a running one (`operate`).
//!
//! Exit status: 0 stopped on request or done, 1 could not start or was refused, 64 wrong settings or usage.
#![forbid(unsafe_code)]

use gtid_gate::config::Config;
use gtid_gate::{operate, start};
use std::process::ExitCode;

const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.is_empty() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        return operate::run(&arguments).unwrap_or_else(|| {
            eprintln!("{}", operate::USAGE);
            ExitCode::from(USAGE)
        });
    }
    match Config::from_environment() {
        Ok(config) => start::serve(config),
        Err(mistakes) => {
            mistakes
                .iter()
                .for_each(|mistake| eprintln!("gtid-gate: {mistake}"));
            ExitCode::from(USAGE)
        }
    }
}
