//! gtid-gate: see the library. Without argument it serves; `gtid-gate health` asks a running one whether it is ready.
//!
//! Exit status: 0 stopped on request, 1 could not start or is not ready, 64 wrong settings or usage.
#![forbid(unsafe_code)]

use gtid_gate::config::Config;
use gtid_gate::start;
use std::process::ExitCode;

const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let health = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["health"] => true,
        _ => {
            eprintln!("usage: gtid-gate [health]; settings come from the environment");
            return ExitCode::from(USAGE);
        }
    };
    if health {
        return start::health();
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
