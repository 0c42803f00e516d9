//! The protocol that the engine implements: one file for each part, step names as in `model`'s picture.

mod check;
mod claim;
mod cleanup;
mod commit;
mod merge;
mod read;
pub mod rules;
mod snapshot;
pub mod state;
mod tx;
mod validate;

use super::explorer::{Cx, Steps, System};
use super::history::History;
use super::program::{Action, Program};
use rules::Config;
use state::Db;

/// A program run under the protocol.
pub struct Protocol {
    /// Which variant, which mutation.
    pub config: Config,
    /// Who does what.
    pub program: Program,
}

/// What steps are taken through.
type Taker<'a> = Cx<'a, Db>;

impl System for Protocol {
    type Shared = Db;

    fn initial(&self) -> Db {
        Db::new(&self.program, &self.config)
    }

    fn workers(&self) -> usize {
        self.program.workers.len()
    }

    fn actions(&self, worker: usize) -> usize {
        self.program.workers[worker].len()
    }

    fn act(&self, cx: &mut Taker<'_>, worker: usize, action: usize) -> Steps<()> {
        match &self.program.workers[worker][action] {
            Action::Tx(ops) => self.transaction(cx, worker, action, ops),
            Action::Snapshot(ops) => self.snapshot(cx, worker, action, ops),
            Action::Merge => self.merge(cx, worker),
            Action::Help(lane) => self.merge(cx, *lane),
            Action::Cleanup => self.cleanup(cx, worker),
        }
    }

    fn history<'a>(&self, db: &'a Db) -> &'a History {
        &db.history
    }

    fn final_check(&self, db: &Db) -> Result<(), String> {
        check::final_check(&self.config, db)
    }

    fn show(&self, db: &Db) -> String {
        db.show()
    }
}
