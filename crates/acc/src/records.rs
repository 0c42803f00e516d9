//! How the kit reads and makes ACC's records: see `scaledb_kit`. Each conflict group of a row has a timestamp of its
//! own.

use crate::record::{Overflow, Presence, Record, Word};
use crate::shared::AccShared;
use crate::table::AccTable;
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Result, Timestamp};
use scaledb_engine::TableOptions;
use scaledb_kit::{Core, Records, TableCore, malformed};
use scaledb_memory::Local;
use scaledb_row::GroupSet;
use scaledb_sync::thread;

impl Records for AccShared {
    type Table = AccTable;

    #[inline]
    fn core(&self) -> &Core<AccTable> {
        self
    }

    fn make_table(&self, local: &mut Local, core: TableCore, options: &TableOptions) -> Result<AccTable> {
        AccTable::new(local, self, &self.config, core, options)
    }

    fn stamps(&self, table: &AccTable) -> usize {
        table.schema.layout().groups()
    }

    fn create(
        &self,
        local: &mut Local,
        table: &AccTable,
        key: &[u8],
        row: &[u64],
        stamps: &[Timestamp],
    ) -> Result<Record> {
        debug_assert_eq!(stamps.len(), self.stamps(table));
        let record = Record::create(local, stamps.len(), key, row)?;
        set_stamps(record, stamps);
        Ok(record)
    }

    fn replace_older(
        &self,
        local: &mut Local,
        _: &AccTable,
        record: Record,
        row: &[u64],
        stamps: &[Timestamp],
    ) -> Result<()> {
        if stamps.iter().enumerate().any(|(group, &ts)| record.word(group).ts() < ts) {
            overwrite(local, record, row)?;
            set_stamps(record, stamps);
        }
        Ok(())
    }

    fn update_older(
        &self,
        local: &mut Local,
        table: &AccTable,
        record: Record,
        columns: &[u8],
        ts: Timestamp,
        row: &mut Vec<u64>,
    ) -> Result<()> {
        let layout = table.schema.layout();
        let older = (0..layout.groups())
            .filter(|&group| record.word(group).ts() < ts)
            .fold(GroupSet::default(), GroupSet::with);
        record.copy_locked(row);
        let changed = layout.decode_columns(columns, older, row).map_err(|_| malformed(table))?;
        overwrite(local, record, row)?;
        for group in changed.iter() {
            record.set_word(group, Word::live(ts));
        }
        Ok(())
    }

    fn committed_row<'a>(
        &self,
        table: &AccTable,
        record: Record,
        words: &'a mut Vec<u64>,
    ) -> Option<(&'a [u64], Timestamp)> {
        let layout = table.schema.layout();
        let mut seen = [Word(0); MAX_GROUPS];
        // commits and clean-up hold locks for moments
        let presence = loop {
            match record.read(layout, &table.all, words, &mut seen) {
                Ok(presence) => break presence,
                Err(_) => thread::yield_now(),
            }
        };
        let Presence::Live(len) = presence else { return None };
        let newest = seen[..layout.groups()].iter().map(|word| word.ts()).max();
        Some((&words[..len], newest.unwrap_or(Timestamp::ZERO)))
    }

    fn has_row(&self, record: Record) -> Option<bool> {
        let word = record.word(0);
        let never = word.is_locked() || word.ts() == Timestamp::ZERO && !word.is_absent();
        (!never).then(|| !word.is_absent())
    }
}

fn set_stamps(record: Record, stamps: &[Timestamp]) {
    for (group, &ts) in stamps.iter().enumerate() {
        record.set_word(group, Word::live(ts));
    }
}

/// Replaces the row of a record that no other thread touches.
fn overwrite(local: &mut Local, record: Record, row: &[u64]) -> Result<()> {
    if !record.fits(row.len()) {
        let overflow = Overflow::create(local, row.len() + row.len() / 4)?;
        record.move_to_overflow(local, overflow);
    }
    record.store_row(row);
    Ok(())
}
