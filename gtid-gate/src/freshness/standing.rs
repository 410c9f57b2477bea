//! How satellites stand to a read, to be shown to people.
//!
//! In: a read. Out: for each satellite whether it may take the read, what it lacks of what the read must see, and how soon it
//! should answer, from what is known now. Must never: wait, ask anybody, or count.

use super::admission::{Gate, Request, usable};
use super::requirement::Need;
use crate::backend::{Position, Server};
use crate::common::consistency::Level;
use std::sync::Arc;
use std::time::Instant;

pub struct Standing {
    pub server: Arc<Server>,
    pub holds: Holds,
    /// Until its answer, in seconds, were it fresh.
    pub seconds: f64,
}

/// What it has of what the read must see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// It takes no such reads: it is being drained, or bound to a class of others.
    NotForIt,
    /// Nobody knows: it is down.
    Unknown,
    All,
    /// All but so many transactions.
    AllBut(u64),
    /// It was not asked since what the session has seen elsewhere.
    Unsure,
}

impl Gate {
    pub fn standings(&self, read: Request<'_>) -> Vec<Standing> {
        let master = self.servers.master.position();
        let need = match read.policy.level {
            Level::Strong => self.need(read, master),
            Level::Session | Level::Bounded(_) => self.need(read, None),
            Level::Eventual => Need::default(),
        };
        let satellites = self.servers.satellites();
        let usable: Vec<usize> = usable(&satellites, read).map(|s| s.id).collect();
        let now = Instant::now();
        let standing = |server: &Arc<Server>| Standing {
            holds: match usable.contains(&server.id) {
                true => holds(&need, server.id, server.position().as_deref()),
                false => Holds::NotForIt,
            },
            seconds: self.price(server, read, now).seconds,
            server: server.clone(),
        };
        satellites.iter().map(standing).collect()
    }
}

fn holds(need: &Need, server: usize, position: Option<&Position>) -> Holds {
    let Some(position) = position else {
        return Holds::Unknown;
    };
    match (
        need.is_met(server, position),
        need.lacking(server, position),
    ) {
        (true, _) => Holds::All,
        (false, 0) => Holds::Unsure,
        (false, lacking) => Holds::AllBut(lacking),
    }
}
