//! What the reads of a session are promised. Pure.
//!
//! In: what the statement, the session and the user choose. Out: the policy that holds for the statement in hand, or for the
//! transaction that it is in.

use super::state::Tx;
use crate::common::classes::{ClassName, ReadClass};
use crate::common::consistency::{Choice, Level, Policy};

#[derive(Clone)]
pub(super) struct Promise {
    pub policy: Policy,
    /// The class that was chosen for it, or `none`.
    pub class: Option<ClassName>,
    /// The class that the last read was admitted with.
    pub admitted: Option<ReadClass>,
    /// What the statement in hand reads is all that it was promised, and what the session saw before is there too. A read of
    /// some tables proves nothing about others.
    pub covers: bool,
    /// What the statement that began the transaction chose for it.
    pub at_begin: Choice,
    /// The connection is a proxy's: many clients share it, and what one of them says is not said for the others.
    pub shared_by_clients: bool,
}

/// What holds where a statement says nothing.
pub(super) struct Chosen {
    pub session: Choice,
    pub user: Choice,
    pub otherwise: Policy,
}

impl Promise {
    pub fn new(policy: Policy, shared_by_clients: bool) -> Self {
        Self {
            policy,
            class: None,
            admitted: None,
            covers: true,
            at_begin: Choice::default(),
            shared_by_clients,
        }
    }

    /// A transaction's reads are promised one thing: what holds when its snapshot is chosen.
    pub fn begin_statement(&mut self, tx: Tx, hint: Choice, chosen: impl FnOnce() -> Chosen) {
        self.covers |= matches!(tx, Tx::None | Tx::Pending);
        match tx {
            Tx::None => self.choose(hint, &chosen()),
            Tx::Pending => self.choose(hint.and_then(self.at_begin), &chosen()),
            Tx::OnMaster | Tx::OnSatellite(_) | Tx::Lost => {}
        }
    }

    /// The level at which an answer now covers what was seen before.
    pub fn covering(&self) -> Level {
        match self.covers {
            true => self.policy.level,
            false => Level::Eventual,
        }
    }

    fn choose(&mut self, hint: Choice, chosen: &Chosen) {
        let said = match self.shared_by_clients {
            true => hint,
            false => hint.and_then(chosen.session),
        };
        let said = said.and_then(chosen.user);
        let mut policy = said.or_else(chosen.otherwise);
        if self.shared_by_clients && policy.level == Level::Session {
            policy.level = Level::Strong;
        }
        (self.policy, self.class) = (policy, said.class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::consistency::{AfterWait, MasterReads};
    use std::time::Duration;

    const OTHERWISE: Policy = Policy {
        level: Level::Session,
        wait: Duration::from_millis(100),
        after_wait: AfterWait::Master,
        master_reads: MasterReads::Spare,
    };

    fn says(level: Level) -> Choice {
        Choice {
            level: Some(level),
            ..Choice::default()
        }
    }

    fn promised(promise: &mut Promise, tx: Tx, hint: Choice, session: Choice) -> Level {
        promise.begin_statement(tx, hint, || Chosen {
            session,
            user: Choice::default(),
            otherwise: OTHERWISE,
        });
        promise.policy.level
    }

    #[test]
    fn the_statement_is_asked_before_the_session_and_the_session_before_the_settings() {
        let mut promise = Promise::new(OTHERWISE, false);
        let (none, strong) = (Choice::default(), says(Level::Strong));
        assert_eq!(promised(&mut promise, Tx::None, none, none), Level::Session);
        assert_eq!(
            promised(&mut promise, Tx::None, none, strong),
            Level::Strong
        );
        let hint = says(Level::Eventual);
        assert_eq!(
            promised(&mut promise, Tx::None, hint, strong),
            Level::Eventual
        );
    }

    #[test]
    fn a_transaction_keeps_the_promise_of_its_first_read() {
        let mut promise = Promise::new(OTHERWISE, false);
        promise.at_begin = says(Level::Strong);
        let (none, eventual) = (Choice::default(), says(Level::Eventual));
        assert_eq!(
            promised(&mut promise, Tx::Pending, none, none),
            Level::Strong
        );
        for tx in [Tx::OnSatellite(1), Tx::OnMaster, Tx::Lost] {
            assert_eq!(promised(&mut promise, tx, eventual, none), Level::Strong);
        }
    }

    #[test]
    fn what_one_client_of_a_proxy_says_is_not_said_for_the_others() {
        let mut promise = Promise::new(OTHERWISE, true);
        let (none, eventual) = (Choice::default(), says(Level::Eventual));
        // Nobody knows whose writes "its own" are.
        assert_eq!(
            promised(&mut promise, Tx::None, none, eventual),
            Level::Strong
        );
        assert_eq!(
            promised(&mut promise, Tx::None, eventual, none),
            Level::Eventual
        );
    }
}
