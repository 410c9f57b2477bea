//! The gate's listening sockets, in processes of their own: nobody who connects is left without an answer, and the host's
//! port is there exactly while a gate is.

mod processes;

use processes::{GATE, Place, Running, WITHIN, free_port, wait_for};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

const GREETING: u8 = 10;
const ERROR: u8 = 0xff;
const TOO_MANY: u16 = 1040;

fn holder(place: &Place, port: u16) -> Running {
    let mut command = Command::new(GATE);
    command
        .arg("hold-port")
        .env("GATE_HANDOVER", place.file("handover"));
    command.env("GATE_HOST_ADDRESS", format!("127.0.0.1:{port}"));
    command.env("GATE_HOST_SOCKET", place.file("host.sock"));
    Running(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    )
}

fn gate_behind_holder(place: &Place) -> Running {
    let handover = place.file("handover");
    place.gate(1000, &[("GATE_HANDOVER", handover.to_str().unwrap())])
}

fn connected(path: &Path) -> UnixStream {
    wait_for("the socket", || UnixStream::connect(path).ok())
}

/// What a server says first: a greeting, or the error of this code.
fn first_words(stream: &mut impl Read) -> Result<(), u16> {
    read_first(stream).expect("an answer in time")
}

fn read_first(stream: &mut impl Read) -> std::io::Result<Result<(), u16>> {
    let mut bytes = [0; 7];
    stream.read_exact(&mut bytes)?;
    Ok(match bytes[4] {
        GREETING => Ok(()),
        ERROR => Err(u16::from_le_bytes([bytes[5], bytes[6]])),
        other => panic!("neither greeting nor error: {other}"),
    })
}

/// What so many clients at once are told; they all stay until all have been told.
fn tell_all(path: &Path, count: usize) -> Vec<Result<(), u16>> {
    let mut clients: Vec<_> = (0..count).map(|_| connected(path)).collect();
    for client in &clients {
        client.set_read_timeout(Some(WITHIN)).unwrap();
    }
    clients.iter_mut().map(first_words).collect()
}

#[test]
fn when_descriptors_run_out_clients_are_refused_instead_of_left_without_a_word() {
    let place = Place::new("descriptors");
    let _gate = place.gate(64, &[]);
    let socket = place.file("gate.sock");
    drop(connected(&socket));
    let told = tell_all(&socket, 200);
    let refused = told.iter().filter(|t| **t == Err(TOO_MANY)).count();
    let greeted = told.iter().filter(|t| t.is_ok()).count();
    assert!(
        greeted > 10 && refused > 100 && greeted + refused == 200,
        "{told:?}"
    );
    wait_for("a greeting again", || {
        first_words(&mut connected(&socket)).ok()
    });
}

/// Each door has a descriptor in reserve, which the other one may take in the moment of its use.
#[test]
fn doors_that_take_each_others_last_descriptor_go_on_refusing() {
    let (place, port) = (Place::new("two-doors"), free_port());
    let _gate = place.gate(64, &[("GATE_LISTEN", &format!("127.0.0.1:{port}"))]);
    let socket = place.file("gate.sock");
    drop(connected(&socket));
    let mut at_sockets = Vec::new();
    let mut at_ports = Vec::new();
    for _ in 0..1000 {
        at_sockets.push(connected(&socket));
        at_ports.push(TcpStream::connect(("127.0.0.1", port)).unwrap());
    }
    let limited = |told: std::io::Result<()>| told.unwrap();
    limited(
        at_sockets
            .iter()
            .try_for_each(|s| s.set_read_timeout(Some(WITHIN))),
    );
    limited(
        at_ports
            .iter()
            .try_for_each(|s| s.set_read_timeout(Some(WITHIN))),
    );
    let told = at_sockets.iter_mut().map(first_words);
    let told = told.chain(at_ports.iter_mut().map(first_words));
    let greeted = told.filter(Result::is_ok).count();
    assert!((10..64).contains(&greeted), "{greeted} are greeted");
}

#[test]
fn beyond_the_most_connections_clients_are_told_so() {
    let place = Place::new("most");
    let _gate = place.gate(1000, &[("GATE_MAX_LOGINS", "5")]);
    let socket = place.file("gate.sock");
    first_words(&mut connected(&socket)).unwrap();
    let told = wait_for("the first one to be gone", || {
        let told = tell_all(&socket, 100);
        (told.iter().filter(|t| t.is_ok()).count() == 5).then_some(told)
    });
    assert_eq!(told.iter().filter(|t| **t == Err(TOO_MANY)).count(), 95);
}

/// More than the 1024 that runtimes ask for by themselves: connecting does not depend on how soon somebody accepts.
#[test]
fn the_queue_is_as_deep_as_the_kernel_allows() {
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let count = allowed.trim().parse::<usize>().unwrap().min(1500);
    let place = Place::new("queue");
    let gate = place.gate(2000, &[]);
    let socket = place.file("gate.sock");
    drop(connected(&socket));
    let pid = gate.0.id().to_string();
    let signal = |name: &str| {
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        )
    };
    signal("-STOP");
    let fill = format!(
        "ulimit -n 3000; exec python3 -c \"{FILL}\" {} {count}",
        socket.display()
    );
    let filled = Command::new("sh").args(["-c", &fill]).output().unwrap();
    signal("-CONT");
    assert!(
        filled.status.success(),
        "{}",
        String::from_utf8_lossy(&filled.stderr)
    );
}

/// Connects without blocking: a full queue is an error at once.
const FILL: &str = "
import socket, sys
open = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[2]))]
for each in open: each.setblocking(False); each.connect(sys.argv[1])";

/// Whoever connects while the port is bound but not yet handed over may be cut off.
fn greeted(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    read_first(&mut stream).ok()?.ok()
}

#[test]
fn the_hosts_port_is_there_while_a_gate_is_whatever_is_restarted() {
    let (place, port) = (Place::new("host"), free_port());
    let held = holder(&place, port);
    let gate = gate_behind_holder(&place);
    wait_for("the port", || greeted(port));
    first_words(&mut connected(&place.file("host.sock"))).unwrap();

    drop(held);
    greeted(port).expect("the gate has the socket itself");
    let _holder = holder(&place, port);
    wait_for("the holder", || {
        UnixStream::connect(place.file("handover")).ok()
    });
    greeted(port).expect("a new holder takes nothing from the gate");

    drop(gate);
    assert!(
        TcpStream::connect(("127.0.0.1", port)).is_err(),
        "no gate, but the port takes connections"
    );
    assert!(UnixStream::connect(place.file("host.sock")).is_err());
    let _gate = gate_behind_holder(&place);
    wait_for("the port after a restart", || greeted(port));
    first_words(&mut connected(&place.file("host.sock"))).unwrap();
}

#[test]
fn a_port_that_somebody_else_has_is_an_error_at_the_start() {
    let place = Place::new("taken");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let mut refused = holder(&place, port);
    let status = wait_for("the end", || refused.0.try_wait().unwrap());
    let mut said = String::new();
    refused
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(
        status.code() == Some(1) && said.contains(&port.to_string()) && said.contains("in use"),
        "{said}"
    );
}
