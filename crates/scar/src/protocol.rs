//! The protocol of transactions: SCAR, or one of those that it is compared with.
//!
//! All of them lock what they write at the primaries, without waiting, and send the writes to the replicas when they
//! are decided; results are sent when the epoch has committed. They differ in how they validate reads at the primaries:
//!
//! ```text
//!   Scar             those whose promise ends before the transaction's time, to have it extended
//!   Occ              all, after the locks, whether they have changed: there are no promises
//!   ReadCommitted    none
//! ```
//!
//! A node asks its [`Rules`]. Those of a database answer with a constant, so that nothing is left of the others there.

use super::rules::{Rule, Rules};

/// How reads are validated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// By promises in logical time.
    Scar,
    /// By a look at each record's primary at the commit, as Silo does at its only copy.
    Occ,
    /// Not at all: what is read has committed, or commits with the same epoch.
    ReadCommitted,
}

/// A method, and its optimizations that are switched on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Protocol {
    /// How reads are validated.
    pub method: Method,
    /// Reads are answered by a replica of the node; otherwise by primaries only.
    pub local_reads: bool,
    /// A read whose promise is long enough is not asked about.
    pub local_validation: bool,
    /// Backups are told what was promised.
    pub time_sync: bool,
    /// Reads are asked about together with the locks, as far as the time that they need can be foreseen.
    pub parallel: bool,
    /// How far beyond the time that is needed a promise is requested.
    pub ahead: u64,
}

impl Protocol {
    /// What a database runs.
    pub const SCAR: Self = Self {
        method: Method::Scar,
        local_reads: true,
        local_validation: true,
        time_sync: true,
        parallel: true,
        ahead: 0,
    };

    /// Optimistic concurrency control.
    pub const OCC: Self = Self { method: Method::Occ, time_sync: false, parallel: false, ..Self::SCAR };

    /// Read committed.
    pub const READ_COMMITTED: Self = Self { method: Method::ReadCommitted, ..Self::OCC };
}

/// The rules of a protocol that is compared: all that are not about promises, for those without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Compared(pub Protocol);

impl Rules for Compared {
    fn on(self, rule: Rule) -> bool {
        match rule {
            Rule::TellExtensions => self.0.time_sync,
            Rule::ExtensionPromises => self.0.method == Method::Scar,
            _ => true,
        }
    }

    fn protocol(self) -> Protocol {
        self.0
    }
}
