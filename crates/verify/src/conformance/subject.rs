//! What the suite asks of an engine, and what sets engines apart.

use crate::disk::SimDisk;
use crate::history::{Keys, Kind, Mix};
use scaledb_base::Result;
use scaledb_engine::Engine;
use scaledb_log::Log;
use scaledb_sync::Arc;

/// An engine under test.
pub trait Subject: 'static {
    /// The engine.
    type Engine: Engine<Worker: 'static>;

    /// Its name, which is also that of its module in the test programs.
    const NAME: &'static str;

    /// What sets it apart.
    const DIFFERENCES: Differences;

    /// Opens a database, with the settings that the purpose asks for.
    ///
    /// # Errors
    /// The engine's.
    fn open(purpose: Purpose<'_>) -> Result<Self::Engine>;

    /// The rules of its protocol that this build can switch off.
    fn mutations() -> Vec<Mutation> {
        Vec::new()
    }
}

/// An engine that keeps files: for the tests of directories and crashes.
pub trait KeepsFiles: Subject {
    /// The log of a database that was opened on a disk.
    fn log(engine: &Self::Engine) -> &Arc<Log>;

    /// Opens what is on a disk, compares every table with its indexes, and counts.
    ///
    /// # Errors
    /// The engine's, and what does not fit together.
    fn inspect(disk: &SimDisk) -> Result<Counted>;
}

/// An engine whose rules can be switched off: for mutations.
pub trait Hunted: Subject {
    /// The history with this number of a hunt; [`Purpose::Hunt`] with the same number opens its engine.
    fn hunt(seed: u64) -> Hunt;
}

/// What a database is opened for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// For steps that a test has written down: with the default settings.
    Steps,
    /// For a history: with some of [`Differences::configurations`] settings under which rare paths are common, by
    /// number.
    History(u64),
    /// For the history with this number of a hunt, without the rule of that name.
    Hunt {
        /// Its number.
        seed: u64,
        /// The rule that is switched off; a name that no rule has switches nothing off.
        without: &'a str,
    },
    /// For a small history under a schedule.
    Schedule {
        /// Its number.
        seed: u64,
        /// Whether everything that has a limited number of places has very few of them.
        full: bool,
        /// The rule that is switched off.
        without: Option<&'a str>,
    },
    /// On a disk, with the smallest sizes, many groups and segments, and nothing done in the background: the log is
    /// flushed when the test says so.
    Disk {
        /// The disk.
        disk: &'a SimDisk,
        /// By which settings may differ.
        seed: u64,
        /// Whether the log is synced.
        sync: bool,
    },
    /// On a disk, with the default sizes, and nothing done in the background.
    Kept {
        /// The disk.
        disk: &'a SimDisk,
        /// The rule that is switched off.
        without: Option<&'a str>,
    },
}

/// What sets an engine apart from the others.
#[derive(Clone, Copy, Debug)]
pub struct Differences {
    /// Whether commits leave new keys to be merged into the range indexes later: then steps are played with and without
    /// a merge in between.
    pub merges: bool,
    /// Whether a transaction depends only on the conflict groups of columns that it read, and not on the whole row.
    pub groups_of_columns: bool,
    /// Whether snapshots read versions: else transactions of these kinds read the present, and are validated as others
    /// are.
    pub keeps_snapshots: bool,
    /// Whether no two transactions that write have one timestamp: else two that do not touch each other may.
    pub unique_timestamps: bool,
    /// Whether it may refuse what it need not: a transaction that has read where a row was being removed, or a scan of
    /// which a neighbour is inserted.
    pub refuses_more: bool,
    /// Whether a conflict names the key that has changed.
    pub names_what_changed: bool,
    /// The tables of anomalies.
    pub tables_of_steps: &'static [Kind],
    /// Every way to keep a table.
    pub tables: &'static [Kind],
    /// The ways to keep a table whose leaves split and coalesce.
    pub tables_that_split: &'static [Kind],
    /// The ways to keep a table that is a queue.
    pub queues: &'static [Kind],
    /// Settings for histories: see [`Purpose::History`].
    pub configurations: u64,
    /// Seconds that each test of histories takes.
    pub seconds: f64,
    /// Transactions of each thread of a history.
    pub transactions: u64,
    /// Programs under random schedules.
    pub programs: Programs,
    /// Crash points at least.
    pub crash_points: usize,
}

/// The tables of programs under random schedules, and how many schedules there are.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// Schedules of each test.
    pub schedules: u64,
    /// For inserts against scans.
    pub inserts: &'static [Kind],
    /// For places that are full.
    pub full: &'static [Kind],
    /// For one row.
    pub row: Kind,
    /// For the others.
    pub others: &'static [Kind],
}

/// A rule of a protocol that can be switched off.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// Its name.
    pub rule: String,
    /// Which tests notice.
    pub noticed: Noticed,
}

/// Which tests notice that a rule is off.
#[derive(Clone, Copy, Debug)]
pub enum Noticed {
    /// Histories of real threads.
    ByHistories,
    /// Random schedules of one of these programs; `schedules.rs` has them by name.
    BySchedules(&'static [&'static str]),
    /// Both.
    ByBoth(&'static [&'static str]),
    /// The test of what depends on what is not durable.
    ByDurability,
}

impl Noticed {
    /// Whether real threads are expected to run into the hole.
    pub fn by_histories(self) -> bool {
        matches!(self, Self::ByHistories | Self::ByBoth(_))
    }

    /// The programs that find the hole under random schedules.
    pub fn by_schedules(self) -> &'static [&'static str] {
        match self {
            Self::BySchedules(programs) | Self::ByBoth(programs) => programs,
            Self::ByHistories | Self::ByDurability => &[],
        }
    }
}

/// A history of a hunt.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// Its tables.
    pub tables: Vec<Kind>,
    /// Keys, each of so many evenly; as many are there at first.
    pub keys: i32,
    /// Operations.
    pub mix: Mix,
}

impl Hunt {
    /// The keys of its plan.
    pub fn keys(&self) -> Keys {
        Keys::Uniform(self.keys)
    }
}

/// What [`KeepsFiles::inspect`] has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Rows that came out of the checkpoint.
    pub from_checkpoint: u64,
    /// Rows.
    pub rows: u64,
    /// Indexes, without tables.
    pub indexes: u64,
}
