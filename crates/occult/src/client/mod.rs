//! The client half: sessions, single operations and transactions.
//!
//! An [`Operation`] is a state machine. Its driver, an asynchronous client or a simulation, sends what a [`Step`] asks,
//! sleeps as long as it says, and gives back what comes as an [`Event`]:
//!
//! ```text
//!   step(Start) ─► Ask(..) ─► answers, one by one ─► step(Answer) ─┬► Wait: more answers are to come
//!                    ▲                                             ├► Ask, Sleep ─► step(Wake)
//!                    └─────────────────────────────────────────────┘► Done
//! ```

mod commit;
mod error;
mod metrics;
mod read;
mod resolve;
mod session;
#[cfg(test)]
mod tests;
mod transaction;
mod write;

use crate::wire::{Command, Reply};
use crate::{Micros, Refused, Timestamp};

pub use commit::{Commit, Finish};
pub use error::{Conflict, Error};
pub use metrics::Metrics;
pub use read::{Read, ReadResult};
pub use session::{BEGIN_ENTROPY, Memory, Session};
pub use transaction::Transaction;
pub use write::{Change, Changed};

/// How a client behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often a stale read is tried again at the same copy before the master is asked.
    pub local_retries: u32,
    /// The pause before the second of these retries; the first has none, and each further one waits twice as long.
    pub local_delay: Micros,
    /// How often a transaction tries to lock a shard that another one has locked, before it aborts.
    pub lock_retries: u32,
    /// The first pause when a shard is locked or out of reach; the next ones are twice as long, each time.
    pub delay: Micros,
    /// The longest pause.
    pub max_delay: Micros,
    /// How long an operation goes on trying.
    pub patience: Micros,
    /// How long others leave a transaction alone that does not finish its commit.
    pub lease: Micros,
    /// Whether also writes that the session knows by hearsay only are reported when a failover has lost them; otherwise
    /// those that it has read or made.
    pub report_hearsay: bool,
    /// The rules in force: all but in tests.
    pub rules: crate::Rules,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            local_retries: 4,
            local_delay: Micros(1_000),
            lock_retries: 4,
            delay: Micros(1_000),
            max_delay: Micros(100_000),
            patience: Micros(5_000_000),
            lease: Micros(2_000_000),
            report_hearsay: false,
            rules: crate::Rules::ours(),
        }
    }
}

/// Which copy of a shard is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Whichever is nearest, the master among them.
    Nearest,
    /// The master.
    Master,
}

/// A command to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What the answer is given back with.
    pub tag: usize,
    /// To whom.
    pub to: Target,
    /// What.
    pub command: Command,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The shard has refused.
    Refused(Refused),
    /// The command has surely not been executed: there is no connection, or a redirection did not end.
    NotSent,
    /// The command may have been executed: the connection broke, or nothing came in time.
    Unknown,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first event of each operation.
    Start,
    /// An answer, or that there is none.
    Answer {
        /// Of the question.
        tag: usize,
        /// Whether a master has answered.
        from_master: bool,
        /// What.
        answer: Result<Reply, Failure>,
    },
    /// The pause is over.
    Wake,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step<T> {
    /// Send these, at once and independently of each other. Each gets exactly one answer.
    Ask(Vec<Ask>),
    /// Go on waiting for answers.
    Wait,
    /// Wake me then.
    Sleep(Micros),
    /// It is over.
    Done(Result<T, Error>),
}

/// What an operation works with: the knowledge of a session or of a transaction, and the session's memory.
#[derive(Debug)]
pub struct View<'a> {
    /// What is known.
    pub deps: &'a mut Timestamp,
    /// What the session remembers besides.
    pub memory: &'a mut Memory,
    /// How the client behaves.
    pub config: &'a Config,
}

/// A state machine.
pub trait Operation {
    /// What it leads to.
    type Output;

    /// What is to be done after an event. `now` is any clock that does not go back.
    fn step(&mut self, view: &mut View<'_>, now: Micros, event: Event) -> Step<Self::Output>;
}

/// How long an operation has been trying.
#[derive(Clone, Copy, Debug, Default)]
struct Patience {
    since: Option<Micros>,
    tries: u32,
}

impl Patience {
    fn start(now: Micros) -> Self {
        Self { since: Some(now), tries: 0 }
    }

    fn waited(&self, now: Micros) -> Micros {
        self.since.map_or(Micros(0), |since| now.since(since))
    }

    /// The next pause; none if the patience is over. Half of a pause is random, so that clients do not meet again.
    fn pause(&mut self, view: &mut View<'_>, now: Micros) -> Option<Micros> {
        if self.waited(now) >= view.config.patience {
            return None;
        }
        let longest = view.config.delay.0.checked_shl(self.tries.min(20)).unwrap_or(u64::MAX);
        let longest = longest.clamp(1, view.config.max_delay.0.max(1));
        self.tries += 1;
        Some(Micros(longest / 2 + view.memory.random() % (longest / 2 + 1)))
    }
}
