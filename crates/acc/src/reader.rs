//! Reads committed rows beside transactions: for checkpoints and statistics.

use crate::record::{Presence, Record, Word};
use crate::shared::AccShared;
use crate::table::AccTable;
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Result, Timestamp};
use scaledb_kit::Reader;
use scaledb_memory::Local;
use scaledb_sync::thread;

/// Reads rows one by one, each in its current state. Unlike a snapshot, it makes no commit retain old rows.
pub struct RowReader {
    local: Local,
    row: Vec<u64>,
}

impl RowReader {
    /// # Errors
    /// Too many workers.
    pub(crate) fn new(shared: &AccShared) -> Result<Self> {
        Ok(Self { local: shared.domain.register()?, row: Vec::new() })
    }
}

impl AccShared {
    /// The merge horizon: the keys of all commits before it are in the trees. A walk sees those commits, or later ones
    /// of the same rows.
    pub(crate) fn merge_horizon(&self) -> Timestamp {
        // the clock before the pins: a commit that pins after this has a later timestamp
        let now = self.clock.now_fenced();
        Timestamp::start_of(self.min_pin().min(now))
    }
}

impl Reader<AccTable> for RowReader {
    fn enter(&mut self) {
        self.local.enter();
    }

    fn exit(&mut self) {
        self.local.exit();
    }

    fn local(&self) -> &Local {
        &self.local
    }

    fn collect(&mut self) {
        self.local.collect();
    }

    fn read(
        &mut self,
        table: &AccTable,
        record: Record,
        f: impl FnOnce(&[u64], Option<&[u64]>) -> Result<()>,
    ) -> Result<()> {
        let layout = table.schema.layout();
        let mut seen = [Word(0); MAX_GROUPS];
        // a commit holds its locks only from C2 to C6
        let presence = loop {
            match record.read(layout, &table.all, &mut self.row, &mut seen) {
                Ok(presence) => break presence,
                Err(_) => thread::yield_now(),
            }
        };
        let stamps = seen.map(|word| word.ts().raw());
        let row = match presence {
            Presence::Live(words) => Some(&self.row[..words]),
            Presence::Absent => None,
        };
        f(&stamps[..layout.groups()], row)
    }
}
