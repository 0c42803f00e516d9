//! What a server takes for a command.

use scaledb_occult::Action;
use scaledb_occult::wire::Command;

/// Microseconds of a server's processor for each kind of command, with values of 1 KiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A plain read.
    pub get: f64,
    /// A plain write, at the master.
    pub set: f64,
    /// A plain write from the master's stream, at a replica.
    pub set_applied: f64,
    /// READ, and READMASTER.
    pub read: f64,
    /// WRITE, at the master.
    pub write: f64,
    /// An effect from the master's stream, at a replica.
    pub applied: f64,
    /// PREPARE of one write.
    pub prepare: f64,
    /// COMMIT, ABORT, STATUS, END.
    pub small: f64,
}

impl Costs {
    /// What [`real::costs`](crate::real::costs) found with redis-server 7.0.15 and the release build of the module, on
    /// two busy processors: medians of three rounds of 3,000 commands, which differed by up to a half. Simulations
    /// use it, so that they give the same everywhere.
    pub const MEASURED: Self = Self {
        get: 27.0,
        set: 17.3,
        set_applied: 4.3,
        read: 28.4,
        write: 21.3,
        applied: 3.7,
        prepare: 25.8,
        small: 11.5,
    };

    /// A client's command.
    pub(crate) fn of(&self, command: &Command) -> f64 {
        match command {
            Command::Read { .. } | Command::ReadMaster { .. } => self.read,
            Command::Write { .. } | Command::Delete { .. } => self.write,
            Command::Prepare { prepare, .. } => {
                self.prepare + (prepare.writes.len() as f64 - 1.0) * self.applied
            }
            Command::Commit { .. }
            | Command::Abort { .. }
            | Command::Status { .. }
            | Command::End { .. }
            | Command::Settle { .. } => self.small,
        }
    }

    /// An effect, at a replica.
    pub(crate) fn of_effect(&self, action: &Action) -> f64 {
        match action {
            Action::Put { .. } | Action::Erase { .. } | Action::Lock(_) => self.applied,
            _ => self.applied / 2.0,
        }
    }
}
