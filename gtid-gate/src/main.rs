//! gtid-gate: see the library. Without argument it serves; as `hold-port` it binds the host's port for another (`frontend::handover`);
//! as `classify` it says where statements would run (`ops::classify`); with any other argument it asks a running one (`ops::cli`).
//!
//! Exit status: 0 stopped on request or done, 1 could not start or was refused, 64 wrong settings or usage.
#![forbid(unsafe_code)]

use gtid_gate::frontend::handover;
use gtid_gate::ops::config::Config;
use gtid_gate::ops::{classify, cli, start};
use std::process::ExitCode;

const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["hold-port"] {
        let settings = handover::Settings::read(&|name| std::env::var(name).ok());
        return settings.map_or_else(|mistakes| wrong(&mistakes), |s| start::hold_port(&s));
    }
    if arguments == ["classify"] {
        let said = classify::run(std::io::stdin().lock(), std::io::stdout().lock());
        return said.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS);
    }
    if !arguments.is_empty() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        return cli::run(&arguments).unwrap_or_else(|| {
            eprintln!("{}", cli::USAGE);
            ExitCode::from(USAGE)
        });
    }
    match Config::from_environment() {
        Ok(config) => start::serve(config),
        Err(mistakes) => wrong(&mistakes),
    }
}

fn failed(error: &std::io::Error) -> ExitCode {
    eprintln!("gtid-gate: {error}");
    ExitCode::FAILURE
}

fn wrong(settings: &[String]) -> ExitCode {
    settings
        .iter()
        .for_each(|mistake| eprintln!("gtid-gate: {mistake}"));
    ExitCode::from(USAGE)
}
