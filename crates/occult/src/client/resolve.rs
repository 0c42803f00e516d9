//! Cooperative termination: who meets the lock of a silent transaction asks its home, and ends it at the locked shard.

use super::{Ask, Failure, Target, View};
use crate::wire::{Command, LockInfo, Outcome, Reply};
use crate::{Micros, Slot};

/// What comes next.
pub(super) enum Next {
    /// This question.
    Ask(Box<Ask>),
    /// The transaction is not decided, or its home is out of reach: the lock stays for now.
    Later,
    /// The lock is gone.
    Free,
}

/// The end of a transaction of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolve {
    slot: Slot,
    lock: LockInfo,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The home is asked.
    Asking,
    /// The locked shard is told that the transaction has committed, or that it has not.
    Telling { committed: bool },
    /// The home is told that the lock is gone.
    Ending,
}

impl Resolve {
    /// Asks the home of a lock.
    pub(super) fn start(view: &mut View<'_>, slot: Slot, lock: LockInfo) -> (Self, Ask) {
        view.memory.metrics.homes_asked += 1;
        let command = Command::Status { home: lock.home, txn: lock.txn };
        (Self { slot, lock, phase: Phase::Asking }, Ask { tag: 0, to: Target::Master, command })
    }

    /// What comes after an answer.
    pub(super) fn answer(&mut self, view: &mut View<'_>, answer: Result<Reply, Failure>) -> Next {
        let (slot, txn, home) = (self.slot, self.lock.txn, self.lock.home);
        match self.phase {
            Phase::Asking => {}
            Phase::Telling { committed: true } if matches!(answer, Ok(Reply::Done)) => {
                self.phase = Phase::Ending;
                let command = Command::End { home, txn, parts: vec![slot] };
                return Next::Ask(Box::new(Ask { tag: 0, to: Target::Master, command }));
            }
            // whatever has come of it: the shard says so when it is asked again
            Phase::Telling { .. } | Phase::Ending => return Next::Free,
        }
        let command = match answer {
            Ok(Reply::Outcome(Outcome::Committed(deps))) => {
                view.memory.metrics.helped_commits += 1;
                Command::Commit { slot, txn, home, stamp: None, deps, parts: Vec::new() }
            }
            Ok(Reply::Outcome(Outcome::Aborted)) => {
                view.memory.metrics.helped_aborts += 1;
                Command::Abort { slot, txn }
            }
            _ => return Next::Later,
        };
        self.phase = Phase::Telling { committed: matches!(command, Command::Commit { .. }) };
        Next::Ask(Box::new(Ask { tag: 0, to: Target::Master, command }))
    }
}

/// Whether it is time to ask the home of a lock that is in the way of a write: its client has had its time.
pub(super) fn is_over(lock: &LockInfo) -> bool {
    lock.lease_left == Micros(0)
}
