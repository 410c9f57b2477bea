//! How eagerly a worker takes its core from a server's thread there, once something has arrived for it.
//!
//! At once is best for one client that waits. With many short statements under way it costs two switches for each of them; a
//! worker under SCHED_BATCH (sched(7)) lets the server's thread go on instead, and finds several answers when it runs: a fifth
//! less CPU a point select with eight connections. Beside long statements that would be the wrong trade, hence only at rates
//! that these do not reach.
//! Must never: change what a thread outside the runtime's workers does.

use crate::clients::shared::Shared;
use scheduler::Policy;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(100);
/// Statements in an interval, for each worker: from so many on it is patient, below so few no longer.
const MANY: u64 = 600;
const FEW: u64 = 300;

/// What workers are asked to be; each sees to itself before it sleeps.
#[derive(Clone, Default)]
pub struct Scheduling(Arc<AtomicBool>);

thread_local! {
    static IS_BATCH: Cell<bool> = const { Cell::new(false) };
}

impl Scheduling {
    /// For the runtime to call on a worker before it sleeps.
    pub fn heed(&self) {
        let wanted = self.0.load(Ordering::Relaxed);
        if IS_BATCH.replace(wanted) == wanted {
            return;
        }
        let policy = match wanted {
            true => Policy::Batch,
            false => Policy::Other,
        };
        // Where it is forbidden, all stays as it is.
        let _ = scheduler::set_self_policy(policy, 0);
    }

    /// Looks at the rate of statements forever.
    pub async fn follow(self, shared: Arc<Shared>) {
        let workers = shared.config.workers as u64;
        let mut last = statements(&shared);
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = statements(&shared);
            // A server that was removed takes its count with it.
            let rate = now.saturating_sub(last) / workers;
            last = now;
            let batch = self.0.load(Ordering::Relaxed);
            self.0.store(is_batch(batch, rate), Ordering::Relaxed);
        }
    }
}

fn is_batch(now: bool, rate: u64) -> bool {
    rate >= if now { FEW } else { MANY }
}

fn statements(shared: &Shared) -> u64 {
    let all = shared.gate.servers.all();
    let reads = all.iter().filter_map(|server| server.reads.get());
    reads.map(|r| r.get()).sum::<u64>() + shared.metrics.master_statements.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patient_from_many_statements_on_until_there_are_few() {
        assert!(!is_batch(false, MANY - 1));
        assert!(is_batch(false, MANY));
        assert!(is_batch(true, FEW));
        assert!(!is_batch(true, FEW - 1));
    }

    #[test]
    fn a_worker_heeds_what_is_asked_and_takes_it_back() {
        let policy = || scheduler::get_self_policy().unwrap();
        let scheduling = Scheduling::default();
        scheduling.heed();
        assert!(matches!(policy(), Policy::Other));
        scheduling.0.store(true, Ordering::Relaxed);
        scheduling.heed();
        assert!(matches!(policy(), Policy::Batch));
        scheduling.0.store(false, Ordering::Relaxed);
        scheduling.heed();
        assert!(matches!(policy(), Policy::Other));
    }
}
