//! Gates in processes of their own, for the tests that look at them from outside.
//!
//! In: settings. Out: processes and directories, which end with the test. Must never: outlive it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const GATE: &str = env!("CARGO_BIN_EXE_gtid-gate");
pub const WITHIN: Duration = Duration::from_secs(10);

/// A process that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory, and a gate in it whose servers are out of reach: it greets all the same.
pub struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gtid-gate-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn gate(&self, descriptors: usize, settings: &[(&str, &str)]) -> Running {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("ulimit -n {descriptors}; exec {GATE}"));
        for name in ["GATE_LISTEN", "GATE_PROXY_LISTEN", "GATE_STATUS_LISTEN"] {
            command.env(name, "127.0.0.1:0");
        }
        command
            .env("GATE_PASSWORD", "x")
            .env("GATE_MASTER", "127.0.0.1:1")
            .env("GATE_SATELLITES", "");
        command.env("GATE_PROXY_SOCKET", self.file("gate.sock"));
        command.envs(settings.iter().copied());
        Running(command.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + WITHIN;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < end, "not within {WITHIN:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
