//! A scripted master and satellite, asked for what they have.

use super::admission::{Gate, Leave, Request};
use super::probe::serve_until_lost;
use super::read_index::{ReadIndex, Unanswered};
use super::*;
use crate::backend::{Backend, Monitor, Position, Server};
use crate::clients::shared::Shared;
use crate::gtid::GtidSet;
use crate::test_support::{
    Lost, PIPE, Step, WAIT, expects, one_row, play, query, sends, shared, total,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{DuplexStream, duplex};

mod admission;
mod choice;
mod probe;
mod read_index;

const ASKED: &str = "SELECT @@global.gtid_owned, @@global.gtid_executed";

/// A master and a satellite to which nobody connects by himself.
fn servers() -> Arc<Shared> {
    shared(&[
        ("GATE_KEEPALIVE_MS", "600000"),
        ("GATE_FALLBACK_LIMIT", "1"),
    ])
}

fn satellite(shared: &Shared) -> Arc<Server> {
    shared.gate.servers.satellites()[0].clone()
}

fn monitor(shared: &Shared, server: &Arc<Server>) -> Monitor {
    Monitor::new(server.clone(), &shared.config, shared.metrics.clone())
}

/// The first transactions of one server, up to this one.
fn text(last: u64) -> String {
    format!("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-{last}")
}

fn set(last: u64) -> GtidSet {
    GtidSet::parse(&text(last)).unwrap()
}

fn has(server: &Server) -> Option<GtidSet> {
    Some(server.position()?.executed.clone())
}

fn publish(server: &Server, last: u64) {
    server.publish(Arc::new(Position {
        incarnation: "".into(),
        asked: Instant::now(),
        owned: GtidSet::new(),
        executed: set(last),
        as_of: None,
        backlog: None,
    }));
}

fn answer(last: u64) -> Step {
    Step::Sends(one_row(&["", &text(last)]))
}

/// Asks the master over a connection in memory that is lost after so many bytes; the master's end.
fn ask_master(shared: &Shared, lost_after: usize) -> (ReadIndex, DuplexStream) {
    let (near, far) = duplex(PIPE);
    let master = &shared.gate.servers.master;
    let backend = Backend::scripted(master, Lost::after(lost_after, near));
    let index = ReadIndex::start_on(Some(backend), monitor(shared, master));
    (index, far)
}

/// A master that has these transactions whenever it is asked.
fn master_that_has(shared: &Shared, last: u64) -> ReadIndex {
    let (index, mut far) = ask_master(shared, usize::MAX);
    tokio::spawn(async move {
        let steps = [expects(0, &query(ASKED)), answer(last)];
        while play(&steps, &mut far).await.is_ok() {}
    });
    index
}

async fn played(steps: &[Step], far: &mut DuplexStream) {
    let playing = tokio::time::timeout(WAIT, play(steps, far)).await;
    playing.expect("what was expected").expect("a connection");
}

/// Not ready yet; it has begun.
async fn begun<F: Future>(work: &mut std::pin::Pin<Box<F>>) {
    let now = std::future::poll_fn(|context| {
        let ready = work.as_mut().poll(context).is_ready();
        std::task::Poll::Ready(ready)
    });
    assert!(!now.await, "ready at once");
}
