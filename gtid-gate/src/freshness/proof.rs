//! Whether a satellite may answer a read, for the sake of what the names in it stand for.
//!
//! In: the names in the read, and what the satellite has. Out: that no view among them asks about the session or touches it; or which may;
//! or that this is not known.
//! A catalog is a proof only where the satellite's definitions are the catalog's: nothing made or renamed a view or function between the two.
//! Must never: take for a proof what a definition may have changed that the stream has not told of.

use super::admission::Gate;
use super::definitions::Unproven;
use super::table_writes::{Proof, Proven, TableNames};
use crate::backend::{Backend, Server};
use std::time::{Duration, Instant};

/// How long a read waits at most for the stream to tell what has become of definitions: it tells within a millisecond or two, and soon after
/// a definition has changed it sends the new catalog.
const PATIENCE: Duration = Duration::from_millis(30);

/// The same where nobody else can answer: the transaction has its snapshot on this satellite.
const LONG_PATIENCE: Duration = Duration::from_secs(3);

/// What comes if nothing is proven in time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    MasterCan,
    NobodyElseCan,
}

impl Patience {
    fn longest(self) -> Duration {
        match self {
            Self::MasterCan => PATIENCE,
            Self::NobodyElseCan => LONG_PATIENCE,
        }
    }
}

/// How often it looks meanwhile whether replication was quicker.
const LOOK: Duration = Duration::from_millis(5);

impl Gate {
    /// Whether this satellite may answer a read of these names, none: of anything. Waits for the stream, not for long.
    pub async fn proves(
        &self,
        names: Option<TableNames<'_>>,
        satellite: &Server,
        patience: Patience,
    ) -> Proof {
        let first = self.proof(names, satellite);
        match first {
            Err(Unproven::Unknown) => self.proof_in_time(names, satellite, patience).await,
            known => known,
        }
    }

    /// Whether what was proven of these names held while the satellite ran the read. Its answer has ended. Waits if that is not known, not
    /// for long.
    pub async fn held(
        &self,
        proven: &Proven,
        names: Option<TableNames<'_>>,
        backend: &Backend,
        patience: Patience,
    ) -> bool {
        let ended = Instant::now();
        let server = &backend.server;
        loop {
            let more = self.table_writes.more();
            let position = server.position();
            let after =
                position.filter(|p| p.asked >= ended && p.incarnation == backend.incarnation);
            let has = after.as_ref().map(|p| &p.executed);
            if let Some(held) = self.table_writes.held(proven, names, has) {
                return held;
            }
            let left = patience.longest().saturating_sub(ended.elapsed());
            if left.is_zero() {
                return false;
            }
            server.wanted.notify_one();
            let _ = tokio::time::timeout(left.min(LOOK), more).await;
        }
    }

    fn proof(&self, names: Option<TableNames<'_>>, satellite: &Server) -> Proof {
        let position = satellite.position();
        let has = position.as_ref().map(|p| &p.executed);
        self.table_writes.proves(names, has)
    }

    async fn proof_in_time(
        &self,
        names: Option<TableNames<'_>>,
        satellite: &Server,
        patience: Patience,
    ) -> Proof {
        let began = Instant::now();
        loop {
            let more = self.table_writes.more();
            let proof = self.proof(names, satellite);
            let left = patience.longest().saturating_sub(began.elapsed());
            match proof {
                Err(Unproven::Unknown)
                    if patience == Patience::MasterCan && !self.table_writes.may_tell() =>
                {
                    return proof;
                }
                Err(Unproven::Unknown) if left.is_zero() => {
                    self.table_writes.waited_in_vain();
                    return proof;
                }
                Err(Unproven::Unknown) => drop(tokio::time::timeout(left.min(LOOK), more).await),
                known => return known,
            }
        }
    }
}
