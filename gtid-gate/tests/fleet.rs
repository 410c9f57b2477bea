//! The list of servers, changed by an operator's commands and by its file, in gates that are killed and started again.

mod processes;

use processes::{GATE, Place, Running, WITHIN, free_port, wait_for};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};

const TOKEN: &str = "admin";

/// A gate with a state of its own, and where its commands reach it. Its satellites are out of reach.
struct Gate {
    place: Place,
    status: String,
    running: Option<Running>,
}

impl Gate {
    fn new(name: &str) -> Self {
        let mut gate = Self {
            place: Place::new(name),
            status: format!("127.0.0.1:{}", free_port()),
            running: None,
        };
        gate.start();
        gate
    }

    fn start(&mut self) {
        let path = |name| self.place.file(name).to_str().unwrap().to_owned();
        let settings = [
            ("GATE_STATUS_LISTEN", self.status.as_str()),
            ("GATE_ADMIN_TOKEN", TOKEN),
            ("GATE_SATELLITES", "127.0.0.1:2,127.0.0.1:3"),
            ("GATE_SATELLITES_FILE", &path("list")),
            ("GATE_STATE", &path("state.json")),
        ];
        self.running = Some(self.place.gate(1000, &settings));
        wait_for("the gate", || {
            self.command(&["servers"]).status.success().then_some(())
        });
    }

    fn kill_and_start(&mut self) {
        self.running = None;
        self.start();
    }

    fn command(&self, words: &[&str]) -> Output {
        let mut command = Command::new(GATE);
        command.env("GATE_STATUS_LISTEN", &self.status);
        command.env("GATE_ADMIN_TOKEN", TOKEN);
        command.args(words).output().unwrap()
    }

    /// What a command that succeeds says on stderr.
    fn done(&self, words: &[&str]) -> String {
        let output = self.command(words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words:?}: {said}");
        said
    }

    fn servers(&self) -> Vec<Value> {
        serde_json::from_slice(&self.command(&["servers"]).stdout).unwrap()
    }

    fn satellites(&self) -> Vec<String> {
        let servers = self.servers();
        let satellites = servers.iter().filter(|s| s["role"] == "satellite");
        let addresses = satellites.map(|s| s["address"].as_str().unwrap().to_owned());
        addresses.collect()
    }

    fn limits(&self) -> Vec<Value> {
        self.servers().iter().map(|s| s["limits"].clone()).collect()
    }

    /// What is drained does not show on a satellite that is down.
    fn state(&self) -> String {
        fs::read_to_string(self.place.file("state.json")).unwrap_or_default()
    }

    fn list(&self, text: &str) {
        fs::write(self.place.file("list"), text).unwrap();
        let pid = self.running.as_ref().unwrap().0.id().to_string();
        let sent = Command::new("kill").args(["-HUP", &pid]).status();
        assert!(sent.unwrap().success());
    }
}

#[test]
fn what_operators_changed_survives_a_gate_that_is_killed() {
    let mut gate = Gate::new("killed");
    gate.done(&["add", "127.0.0.1:4"]);
    gate.done(&["drain", "127.0.0.1:4"]);
    gate.done(&["remove", "127.0.0.1:3"]);
    gate.done(&["limit", "127.0.0.1:4", "running=7", "connections=8"]);
    gate.done(&["limit", "127.0.0.1", "running=9"]);
    let (satellites, limits, state) = (gate.satellites(), gate.limits(), gate.state());
    assert_eq!(satellites, ["127.0.0.1:2", "127.0.0.1:4"]);
    assert!(
        limits[0]["running"] == 9 && limits[2]["connections"] == 8,
        "{limits:?}"
    );
    assert!(state.contains("\"drained\": true"), "{state}");
    gate.kill_and_start();
    assert_eq!(
        (gate.satellites(), gate.limits(), gate.state()),
        (satellites, limits, state)
    );
    assert_eq!(gate.done(&["limit", "127.0.0.1", "running=default"]), "");
    assert_eq!(gate.limits()[0]["running"], 64);
}

/// A program that merely can reach the port of its own host could add a server that gets users' logins.
#[test]
fn without_the_token_nothing_is_changed_on_the_gates_own_host_either() {
    let gate = Gate::new("token");
    for (token, said) in [("", "missing"), ("guess", "wrong")] {
        let mut command = Command::new(GATE);
        command.env("GATE_STATUS_LISTEN", &gate.status);
        command.env("GATE_ADMIN_TOKEN", token);
        let refused = command.args(["add", "127.0.0.1:4"]).output().unwrap();
        let words = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && words.contains(said), "{words}");
    }
    assert_eq!(gate.satellites(), ["127.0.0.1:2", "127.0.0.1:3"]);
    assert!(gate.command(&["statements"]).status.success());
}

/// Not even those whose connections take all that one may have: the one that came first makes room.
#[test]
fn viewers_that_stay_keep_nobody_out_nor_take_the_clients_descriptors() {
    let place = Place::new("viewers");
    let (http, clients) = (free_port(), free_port());
    let listen = |port| format!("127.0.0.1:{port}");
    let _gate = place.gate(
        400,
        &[
            ("GATE_STATUS_LISTEN", &listen(http)),
            ("GATE_LISTEN", &listen(clients)),
        ],
    );
    let connected = |port| wait_for("the port", || TcpStream::connect(("127.0.0.1", port)).ok());
    let viewers = (0..400).map(|_| {
        let mut viewer = connected(http);
        let asks = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
        viewer.write_all(asks.as_bytes()).unwrap();
        viewer
    });
    let mut viewers: Vec<_> = viewers.collect();
    let mut newest = viewers.pop().unwrap();
    newest.set_read_timeout(Some(WITHIN)).unwrap();
    let mut told = [0; 12];
    newest.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 200");
    let mut client = connected(clients);
    client.set_read_timeout(Some(WITHIN)).unwrap();
    let mut greeting = [0; 5];
    client.read_exact(&mut greeting).unwrap();
    assert_eq!(greeting[4], 10, "a greeting");
}

#[test]
fn a_change_that_can_not_be_kept_is_done_and_says_so() {
    let gate = Gate::new("unkept");
    fs::create_dir(gate.place.file("state.json.new")).unwrap();
    let said = gate.done(&["limit", "127.0.0.1", "connections=8"]);
    assert!(
        said.contains("will not survive a restart") && said.contains("state.json"),
        "{said}"
    );
    assert_eq!(gate.limits()[0]["connections"], 8);
    let said = gate.done(&["remove", "127.0.0.1:3"]);
    assert!(said.contains("will not survive a restart"), "{said}");
    assert_eq!(gate.satellites(), ["127.0.0.1:2"]);
}

#[test]
fn a_gate_whose_state_is_broken_starts_all_the_same() {
    let mut gate = Gate::new("broken");
    gate.done(&["remove", "127.0.0.1:3"]);
    fs::write(gate.place.file("state.json"), &gate.state()[..20]).unwrap();
    gate.kill_and_start();
    assert_eq!(gate.satellites(), ["127.0.0.1:2", "127.0.0.1:3"]);
    assert!(gate.place.file("state.json.broken").exists());
}

#[test]
fn a_hangup_has_the_file_of_satellites_read_anew() {
    let mut gate = Gate::new("hangup");
    gate.done(&["add", "127.0.0.1:9"]);
    gate.list("127.0.0.1:2\n127.0.0.1:4\n");
    let expected = ["127.0.0.1:2", "127.0.0.1:9", "127.0.0.1:4"];
    wait_for("the new list", || {
        (gate.satellites() == expected).then_some(())
    });
    gate.kill_and_start();
    assert_eq!(gate.satellites(), expected);
    gate.list("");
    let as_set = ["127.0.0.1:2", "127.0.0.1:9", "127.0.0.1:3"];
    wait_for("those of GATE_SATELLITES", || {
        (gate.satellites() == as_set).then_some(())
    });
}
