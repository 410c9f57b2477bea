//! All settings of the gate, in one immutable value.
//!
//! In: environment variables (and the files that `NAME_FILE` points to). Out: a `Config`, or every mistake at once.
//! Must never: stop at the first mistake, or show a secret.

mod broken;
mod settings;
mod values;

use crate::common::classes::Classes;
use crate::common::consistency::{Choice, Policy};
use crate::common::secret::Renewable;
use std::collections::HashMap;
use std::sync::Arc;
use std::{
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, SystemTime},
};

pub use broken::Broken;
use settings::Settings;
use values::LOGIN_TIMEOUT_MS;
pub use values::{Address, BackOff, Limits, MOST, RunningLimit};

pub struct Config {
    pub listen: SocketAddr,
    pub status_listen: SocketAddr,
    /// Names under which callers know `status_listen`, besides localhost.
    pub http_hosts: Vec<String>,
    pub master: Address,
    /// Those that the settings declare.
    pub satellites: Vec<Address>,
    /// Where what operators change in the list of servers is kept.
    pub state: Option<PathBuf>,
    /// Capture's table stream.
    pub table_stream: Option<Address>,
    /// Where capture tells its metrics; and an applier, `*` for the number in its satellite's name.
    pub capture_status: Option<Address>,
    pub applier_status: Option<Address>,
    /// What the last `make verify` found.
    pub verify_file: Option<PathBuf>,
    /// The machine and who runs where, as JSON, for the status page.
    pub machine_file: Option<PathBuf>,
    /// Directory with the Unix sockets of servers on this host, HOST/mysqld.sock each; beside them what entrypoints tell, HOST.facts.
    pub sockets: Option<PathBuf>,
    pub user: String,
    /// The one thing here that can change: see `renew_password`.
    pub password: Arc<Renewable>,
    /// Where it was read from, if from a file.
    pub password_file: Option<PathBuf>,
    /// What reads are promised where nobody chooses otherwise.
    pub policy: Policy,
    /// What users choose.
    pub users: HashMap<String, Choice>,
    /// Reads that are bound to satellites.
    pub classes: Arc<Classes>,
    /// For proxies that let clients share connections.
    pub proxy_listen: SocketAddr,
    /// For the same on this host: a Unix socket.
    pub proxy_socket: Option<PathBuf>,
    /// Where listening sockets of the host are handed over.
    pub handover: Option<PathBuf>,
    /// What each server gets at most, until an operator says otherwise.
    pub limits: Limits,
    /// Queries that take so long on satellites are heavy; zero: none are.
    pub heavy_from: Duration,
    /// How long a statement waits for its turn, or for a connection.
    pub queue: Duration,
    pub fallback_limit: usize,
    pub fallback_queue: Duration,
    pub password_ttl: Duration,
    /// What proves that somebody may change the list of servers.
    pub admin_token: Option<Renewable>,
    pub max_packet: usize,
    /// What one connection, and all together, may have the gate hold, in bytes.
    pub connection_memory: usize,
    pub memory: usize,
    pub max_connections: usize,
    /// Connections that are not logged in yet.
    pub max_logins: usize,
    /// Logins to the master at once that verify a password.
    pub login_verifications: usize,
    pub back_off: BackOff,
    pub login_timeout: Duration,
    pub connect_timeout: Duration,
    pub server_timeout: Duration,
    pub keepalive: Duration,
    pub drain: Duration,
    pub workers: usize,
    pub tls_files: Option<(PathBuf, PathBuf)>,
    /// The key under which clients without TLS send their password.
    pub rsa_key: Option<PathBuf>,
    pub log: String,
    /// For tests only: the promise that this gate does not keep.
    pub broken: Option<Broken>,
}

const PASSWORD: &str = "GATE_PASSWORD";
const ADMIN_TOKEN: &str = "GATE_ADMIN_TOKEN";
const CONNECTION_MEMORY: &str = "GATE_CONNECTION_MEMORY_BYTES";

impl Config {
    pub fn from_environment() -> Result<Self, Vec<String>> {
        Self::read(&|name| std::env::var(name).ok())
    }

    /// `get` looks one variable up. Every mistake is in the error, one per line of it.
    pub fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<String>> {
        let mut s = Settings {
            get,
            mistakes: Vec::new(),
        };
        let asked = SystemTime::now();
        let password = Renewable::new(s.secret(PASSWORD), asked);
        let classes = s.classes("GATE_CLASSES");
        let master = s.master("GATE_MASTER");
        let config = Self {
            listen: s.listen("GATE_LISTEN", "0.0.0.0:6034"),
            status_listen: s.listen("GATE_STATUS_LISTEN", "0.0.0.0:8080"),
            http_hosts: s.names("GATE_HTTP_HOSTS"),
            proxy_listen: s.listen("GATE_PROXY_LISTEN", "0.0.0.0:6035"),
            proxy_socket: s.given("GATE_PROXY_SOCKET").map(PathBuf::from),
            handover: s.given("GATE_HANDOVER").map(PathBuf::from),
            satellites: s.satellites(&master),
            master,
            state: s.given("GATE_STATE").map(PathBuf::from),
            table_stream: s.address("GATE_TABLE_STREAM"),
            capture_status: s.address("GATE_CAPTURE_STATUS"),
            applier_status: s.address("GATE_APPLIER_STATUS"),
            verify_file: s.given("GATE_VERIFY_FILE").map(PathBuf::from),
            machine_file: s.given("GATE_MACHINE_FILE").map(PathBuf::from),
            sockets: s.given("GATE_SOCKETS").map(PathBuf::from),
            user: s.text("GATE_USER", "multimed_gate"),
            password: Arc::new(password),
            password_file: s.given(&format!("{PASSWORD}_FILE")).map(PathBuf::from),
            policy: Policy {
                level: s.level("GATE_CONSISTENCY", "strong"),
                wait: s.millis("GATE_WAIT_MS", 100, 0),
                after_wait: s.after_wait("GATE_AFTER_WAIT", "master"),
                master_reads: s.master_reads("GATE_MASTER_READS", "spare"),
            },
            users: s.users("GATE_USERS", &classes),
            classes: Arc::new(classes),
            limits: Limits {
                running: s.running("GATE_SERVER_RUNNING"),
                connections: s.number("GATE_SERVER_CONNECTIONS", 1000, 1, MOST),
            },
            heavy_from: s.millis("GATE_HEAVY_MS", 20, 0),
            queue: s.millis("GATE_QUEUE_MS", 5000, 0),
            fallback_limit: s.number("GATE_FALLBACK_LIMIT", 16, 0, 100_000),
            fallback_queue: s.millis("GATE_FALLBACK_QUEUE_MS", 1000, 0),
            password_ttl: Duration::from_secs(
                s.number("GATE_PASSWORD_TTL_S", 300, 0, 86_400) as u64
            ),
            admin_token: s
                .optional_secret(ADMIN_TOKEN)
                .map(|token| Renewable::new(token, asked)),
            max_packet: s.number("GATE_MAX_PACKET_BYTES", 1 << 30, 1 << 16, 1 << 30),
            connection_memory: s.number(CONNECTION_MEMORY, 128 << 20, 1 << 20, 1 << 40),
            memory: s.number("GATE_MEMORY_BYTES", 512 << 20, 1 << 20, 1 << 40),
            max_connections: s.number("GATE_MAX_CONNECTIONS", 4000, 1, 1_000_000),
            max_logins: s.number("GATE_MAX_LOGINS", 2000, 1, 1_000_000),
            login_verifications: s.number("GATE_LOGIN_VERIFICATIONS", 8, 1, 1000),
            back_off: s.back_off(),
            login_timeout: s.millis("GATE_LOGIN_TIMEOUT_MS", LOGIN_TIMEOUT_MS, 1),
            connect_timeout: s.millis("GATE_CONNECT_TIMEOUT_MS", 5000, 1),
            server_timeout: s.millis("GATE_SERVER_TIMEOUT_MS", 5000, 100),
            keepalive: s.millis("GATE_KEEPALIVE_MS", 1000, 50),
            drain: s.millis("GATE_DRAIN_MS", 5000, 0),
            workers: s.number("GATE_WORKERS", default_workers(), 1, 1024),
            tls_files: s.tls_files(),
            rsa_key: s.given("GATE_RSA_KEY_FILE").map(PathBuf::from),
            log: s.text("GATE_LOG", "info"),
            broken: s.broken("GATE_TEST_BREAK"),
        };
        config.contradictions(&mut s);
        if s.mistakes.is_empty() {
            Ok(config)
        } else {
            Err(s.mistakes)
        }
    }

    /// The satellites that the settings declare by now: their file may have changed since the start.
    pub fn declared(
        &self,
        get: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Address>, Vec<String>> {
        let mut s = Settings {
            get,
            mistakes: Vec::new(),
        };
        let satellites = s.satellites(&self.master);
        if s.mistakes.is_empty() {
            Ok(satellites)
        } else {
            Err(s.mistakes)
        }
    }

    /// Reads the gate's own password anew, for connections that are made from now on, and the token. With a mistake in one of them, both stay.
    pub fn renew_secrets(&self, get: &dyn Fn(&str) -> Option<String>) -> Result<(), Vec<String>> {
        let mut s = Settings {
            get,
            mistakes: Vec::new(),
        };
        let asked = SystemTime::now();
        let password = s.secret(PASSWORD);
        let token = s.optional_secret(ADMIN_TOKEN);
        if !s.mistakes.is_empty() {
            return Err(s.mistakes);
        }
        self.password.renew(password, asked);
        if let (Some(mine), Some(token)) = (&self.admin_token, token) {
            mine.renew(token, asked);
        }
        Ok(())
    }

    fn contradictions(&self, s: &mut Settings<'_>) {
        let named = [
            ("GATE_LISTEN", self.listen),
            ("GATE_STATUS_LISTEN", self.status_listen),
            ("GATE_PROXY_LISTEN", self.proxy_listen),
        ];
        for (at, (name, address)) in named.iter().enumerate() {
            let same = named[..at].iter().find(|(_, other)| other == address);
            if let Some((other, _)) = same.filter(|_| address.port() != 0) {
                s.mistake(name, format_args!("is the same as {other}"));
            }
        }
        if self.connection_memory > self.memory {
            s.mistake(CONNECTION_MEMORY, "is more than GATE_MEMORY_BYTES");
        }
        let names = self.classes.list.iter().flat_map(|c| &c.satellites);
        if names.into_iter().any(|name| *name == self.master.host) {
            let text = format_args!("{:?} is the master's name", self.master.host);
            s.mistake("GATE_CLASSES", text);
        }
    }
}

fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::consistency::{AfterWait, Level};

    fn read(settings: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        let find = |name: &str| {
            settings
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        Config::read(&find)
    }

    #[test]
    fn a_password_is_all_that_has_no_default() {
        let config = read(&[("GATE_PASSWORD", "x")]).ok().unwrap();
        assert_eq!(config.satellites.len(), 2);
        assert_eq!(config.policy.wait, Duration::from_millis(100));
        assert_eq!(config.policy.level, Level::Strong);
        assert!(config.broken.is_none());
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        let mistakes = read(&[
            ("GATE_LISTEN", "nowhere"),
            ("GATE_WAIT_MS", "-1"),
            ("GATE_SATELLITES", "a:1,a:1,:3306"),
            ("GATE_TLS_CERT_FILE", "/x"),
            ("GATE_TEST_BREAK", "yes"),
            ("GATE_PASSWORD", "secret-a"),
            ("GATE_PASSWORD_FILE", "/x"),
        ])
        .err()
        .unwrap();
        assert_eq!(mistakes.len(), 7, "{mistakes:?}");
        assert!(!mistakes.concat().contains("secret-a"));
    }

    #[test]
    #[cfg(not(feature = "test-break"))]
    fn a_build_for_production_cannot_be_told_to_break_its_promises() {
        let settings = [("GATE_PASSWORD", "x"), ("GATE_TEST_BREAK", "freshness")];
        assert_eq!(read(&settings).err().unwrap().len(), 1);
    }

    #[test]
    fn contradictions_are_mistakes() {
        let settings = [
            ("GATE_PASSWORD", "x"),
            ("GATE_LISTEN", "0.0.0.0:8080"),
            ("GATE_PROXY_LISTEN", "0.0.0.0:8080"),
            ("GATE_SATELLITES", "master:3306"),
            ("GATE_CONNECTION_MEMORY_BYTES", "2000000"),
            ("GATE_MEMORY_BYTES", "1999999"),
        ];
        assert_eq!(read(&settings).err().unwrap().len(), 4);
    }

    #[test]
    fn a_file_with_something_in_it_lists_the_satellites_instead() {
        let path = std::env::temp_dir().join(format!("gtid-gate-list-{}", std::process::id()));
        let settings = [
            ("GATE_PASSWORD", "x"),
            ("GATE_SATELLITES", "a:1"),
            ("GATE_SATELLITES_FILE", path.to_str().unwrap()),
        ];
        let listed = || {
            let list = read(&settings)?.satellites;
            Ok::<_, Vec<String>>(list.iter().map(Address::to_string).collect::<Vec<_>>())
        };
        let _ = std::fs::remove_file(&path);
        assert_eq!(listed().unwrap(), ["a:1"]);
        std::fs::write(&path, " \n").unwrap();
        assert_eq!(listed().unwrap(), ["a:1"]);
        std::fs::write(&path, "b:2\r\nc,\nd:4, e:5\n").unwrap();
        assert_eq!(listed().unwrap(), ["b:2", "c:3306", "d:4", "e:5"]);
        std::fs::write(&path, "b:2\nb:2\nc:x\nmaster").unwrap();
        let mistakes = listed().err().unwrap();
        assert_eq!(mistakes.len(), 3, "{mistakes:?}");
        assert!(
            mistakes
                .iter()
                .all(|m| m.starts_with("GATE_SATELLITES_FILE"))
        );
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(listed().err().unwrap().len(), 1);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn own_password_and_token_are_read_anew_and_stay_where_one_cannot_be() {
        let path =
            |name| std::env::temp_dir().join(format!("gtid-gate-{name}-{}", std::process::id()));
        let (own, token) = (path("own"), path("token"));
        let get = |name: &str| match name {
            "GATE_PASSWORD_FILE" => own.to_str().map(str::to_owned),
            "GATE_ADMIN_TOKEN_FILE" => token.to_str().map(str::to_owned),
            _ => None,
        };
        let write = |password: &str, admin: &str| {
            std::fs::write(&own, password).unwrap();
            std::fs::write(&token, admin).unwrap();
        };
        write("old\n", "old token\n");
        let config = Config::read(&get).ok().unwrap();
        let admin = || config.admin_token.as_ref().unwrap().current();
        let first = config.password.read_at();
        assert!(first > 0.0);
        for (password, token, wrong) in [
            ("\n", "new token\n", "GATE_PASSWORD"),
            ("new\n", "\n", "GATE_ADMIN_TOKEN"),
        ] {
            write(password, token);
            let mistakes = config.renew_secrets(&get).err().unwrap();
            assert!(mistakes[0].starts_with(wrong), "{mistakes:?}");
            assert_eq!(config.password.current().as_slice(), b"old");
            assert_eq!(config.password.read_at(), first);
            assert_eq!(admin().as_slice(), b"old token");
        }
        write("new\n", "new token\n");
        config.renew_secrets(&get).unwrap();
        assert_eq!(config.password.current().as_slice(), b"new");
        assert_eq!(admin().as_slice(), b"new token");
        assert!(config.password.read_at() > first);
        for file in [&own, &token] {
            std::fs::remove_file(file).unwrap();
        }
    }

    #[test]
    fn users_choose_what_their_reads_are_promised() {
        let users = "web: consistency=session; report:consistency=bounded:5000,after_wait=error;";
        let config = read(&[("GATE_PASSWORD", "x"), ("GATE_USERS", users)]);
        let users = config.ok().unwrap().users;
        assert_eq!(users["web"].level, Some(Level::Session));
        let report = users["report"];
        assert_eq!(report.level, Some(Level::Bounded(Duration::from_secs(5))));
        assert_eq!(report.after_wait, Some(AfterWait::Error));
        let wrong = [
            ("GATE_PASSWORD", "x"),
            ("GATE_CONSISTENCY", "stong"),
            ("GATE_AFTER_WAIT", "retry"),
            ("GATE_USERS", "web; a: level=x; b: ; b: wait_ms=1"),
        ];
        assert_eq!(read(&wrong).err().unwrap().len(), 5);
    }

    #[test]
    fn users_belong_to_classes_unless_they_choose_another() {
        let classes = "reports: satellites=s users=bi,etl,web; exports: satellites=s";
        let users = "etl: class=exports; web: class=none";
        let settings = [
            ("GATE_PASSWORD", "x"),
            ("GATE_CLASSES", classes),
            ("GATE_USERS", users),
        ];
        let users = read(&settings).ok().unwrap().users;
        let class = |user: &str| users[user].class.unwrap().as_str().to_owned();
        assert_eq!(
            ["bi", "etl", "web"].map(class),
            ["reports", "exports", "none"]
        );
        let wrong = [
            ("GATE_PASSWORD", "x"),
            ("GATE_CLASSES", "a: color=red; b: satellites=master"),
            ("GATE_USERS", "web: class=c"),
        ];
        assert_eq!(read(&wrong).err().unwrap().len(), 4);
    }

    #[test]
    fn statements_at_a_time_are_found_bounded_or_fixed() {
        let running = |value| {
            let settings = [("GATE_PASSWORD", "x"), ("GATE_SERVER_RUNNING", value)];
            read(&settings).map(|c| c.limits.running)
        };
        assert_eq!(running("").ok(), Some(RunningLimit::Auto(64)));
        assert_eq!(running("auto").ok(), Some(RunningLimit::Auto(64)));
        assert_eq!(running("12").ok(), Some(RunningLimit::Auto(12)));
        assert_eq!(running("fixed:12").ok(), Some(RunningLimit::Fixed(12)));
        for wrong in [
            "0",
            "fixed:0",
            "fixed",
            "fixed:auto",
            "-1",
            "1000001",
            "many",
        ] {
            let mistakes = running(wrong).err().unwrap();
            assert!(mistakes[0].contains("fixed:N"), "{mistakes:?}");
        }
    }

    #[test]
    fn no_satellites_is_a_choice() {
        let config = read(&[("GATE_PASSWORD", "x"), ("GATE_SATELLITES", "")])
            .ok()
            .unwrap();
        assert!(config.satellites.is_empty());
    }
}
