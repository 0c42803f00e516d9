//! Settings of a database.

use crate::rules::Rules;
use scaledb_base::Result;
use scaledb_durability::Durability;
use scaledb_engine::{EngineOptions, OptionSpec, OptionType};
use scaledb_sync::clock::Source;
use std::time::Duration;

/// How new keys get into the range indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IndexUpdates {
    /// Each worker measures for each index what it costs to insert at commit, and what to collect and merge, and does
    /// what costs less: at commit while the index is its own or few others are in its way, else in batches.
    #[default]
    Measured,
    /// In batches, by the merge.
    Collected,
    /// By turns, so that both meet: for tests.
    Alternating,
}

/// Settings of an [`Acc`](crate::Acc) database. The default suits most uses.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes that rows and indexes may take: by default, six tenths of what the machine or the control group of the
    /// process has. Beyond, writes fail with [`OutOfMemory`](scaledb_base::Error::OutOfMemory); a part is kept for
    /// deletes and updates in place. What running transactions remember may take a third as much, beside this;
    /// beyond, they fail with [`TransactionsTooLarge`](scaledb_base::Error::TransactionsTooLarge).
    pub memory_budget: u64,
    /// Bytes of memory to take from the system when the database is opened, and to keep ready: the first
    /// touch of memory is slow.
    pub reserve: u64,
    /// The clock, if not the best that the machine has.
    pub clock: Option<Source>,
    /// The longest time that an entry stays unmerged, unless its table says otherwise.
    pub merge_epoch: Duration,
    /// Slots of an ordered table's indexlet: four times the workers times the batch is plenty. By default there
    /// is room for half of the greatest batch of each core ([`Config::sized_for`]); with more workers, merges come
    /// earlier.
    pub indexlet_slots: usize,
    /// Cells of an index's phantomlet. By default 64 for each core, 512 at least and 2,048 at most: each costs 8 bytes
    /// for every worker that inserts into the index.
    pub phantomlet_cells: usize,
    /// How tables without a merge batch of their own are kept.
    pub index_updates: IndexUpdates,
    /// A background thread merges for idle workers, removes deleted records and regulates the backoff.
    /// Without it, that is done only by workers as they run transactions.
    pub background: bool,
    /// The directory where the database survives; `None` keeps it in memory only.
    pub durability: Option<Durability>,
    /// Protocol rules in force: all, except in tests.
    pub rules: Rules,
}

impl Default for Config {
    fn default() -> Self {
        Self::sized_for(scaledb_sync::thread::cores())
    }
}

impl Config {
    /// The default configuration on a machine of so many cores.
    pub fn sized_for(cores: usize) -> Self {
        let model = scaledb_sync::MODEL;
        Self {
            memory_budget: if model { u64::MAX } else { scaledb_log::machine::default_budget() },
            reserve: 0,
            clock: None,
            merge_epoch: Duration::from_millis(1),
            indexlet_slots: if model { 32 } else { (16 << 10).max(512 * cores) },
            phantomlet_cells: if model { 4 } else { (64 * cores).clamp(512, 2048) },
            index_updates: if model { IndexUpdates::Alternating } else { IndexUpdates::Measured },
            background: !model,
            durability: None,
            rules: Rules::default(),
        }
    }
}

/// The names of what ACC's tables and indexes can be told.
pub(crate) const TABLE_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "merge_batch",
        takes: OptionType::Integer,
        help: "The greatest number of entries that a worker leaves unmerged; 0: each commit updates the range index. Tuned \
               by the engine if it is not given.",
    },
    OptionSpec {
        name: "merge_epoch",
        takes: OptionType::Time,
        help: "The longest time that an entry stays unmerged.",
    },
];

/// The names of ACC's own settings.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "merge_epoch",
        takes: OptionType::Time,
        help: "The longest time that an entry stays unmerged, unless its table says otherwise.",
    },
    OptionSpec {
        name: "indexlet_slots",
        takes: OptionType::Integer,
        help: "Slots of an ordered table's indexlet.",
    },
    OptionSpec {
        name: "phantomlet_cells",
        takes: OptionType::Integer,
        help: "Cells of an index's phantomlet.",
    },
    OptionSpec {
        name: "index_updates",
        takes: OptionType::Word(&["measured", "collected"]),
        help: "How tables without a merge batch of their own are kept.",
    },
];

impl Config {
    /// Takes over what is set by name.
    ///
    /// # Errors
    /// [`Error::UnknownOption`](scaledb_base::Error::UnknownOption),
    /// [`Error::BadOption`](scaledb_base::Error::BadOption).
    pub fn set(&mut self, options: &EngineOptions) -> Result<()> {
        options.check("acc", OPTIONS)?;
        self.merge_epoch = options.time("merge_epoch").unwrap_or(self.merge_epoch);
        let slots = options.integer("indexlet_slots");
        self.indexlet_slots = slots.map_or(self.indexlet_slots, |slots| slots as usize);
        let cells = options.integer("phantomlet_cells");
        self.phantomlet_cells = cells.map_or(self.phantomlet_cells, |cells| cells as usize);
        match options.word("index_updates") {
            Some("measured") => self.index_updates = IndexUpdates::Measured,
            Some("collected") => self.index_updates = IndexUpdates::Collected,
            _ => {}
        }
        Ok(())
    }
}
