//! How the kit reads and makes Cicada's records: see `scaledb_kit`. While a directory is opened, a record has one
//! version.

use crate::record::Record;
use crate::shared::CicadaShared;
use crate::table::CicadaTable;
use crate::version::{Status, Version};
use scaledb_base::{Result, Timestamp};
use scaledb_engine::TableOptions;
use scaledb_kit::{Core, Records, TableCore, malformed};
use scaledb_memory::Local;
use scaledb_row::GroupSet;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread;

impl Records for CicadaShared {
    type Table = CicadaTable;

    #[inline]
    fn core(&self) -> &Core<CicadaTable> {
        self
    }

    fn make_table(&self, local: &mut Local, core: TableCore, options: &TableOptions) -> Result<CicadaTable> {
        CicadaTable::new(local, self, &self.config, core, options)
    }

    fn stamps(&self, _: &CicadaTable) -> usize {
        1
    }

    fn create(
        &self,
        local: &mut Local,
        _: &CicadaTable,
        key: &[u8],
        row: &[u64],
        stamps: &[Timestamp],
    ) -> Result<Record> {
        let inline = row.len() <= self.config.inline_words;
        let record = Record::create(local, key, if inline { row.len() } else { 0 })?;
        if let Err(error) = set(local, record, stamps[0], row) {
            // SAFETY: made above, in no index, without a version.
            unsafe { record.discard(local) };
            return Err(error);
        }
        Ok(record)
    }

    fn replace_older(
        &self,
        local: &mut Local,
        _: &CicadaTable,
        record: Record,
        row: &[u64],
        stamps: &[Timestamp],
    ) -> Result<()> {
        if wts(record) < stamps[0] { set(local, record, stamps[0], row) } else { Ok(()) }
    }

    fn update_older(
        &self,
        local: &mut Local,
        table: &CicadaTable,
        record: Record,
        columns: &[u8],
        ts: Timestamp,
        row: &mut Vec<u64>,
    ) -> Result<()> {
        if wts(record) >= ts {
            return Ok(());
        }
        row.clear();
        // SAFETY: the only version, which this thread alone touches.
        row.extend_from_slice(unsafe { Version::from_raw(record.latest().load(Ordering::SeqCst)).row() });
        let layout = table.schema.layout();
        let all = GroupSet::all(layout.groups());
        layout.decode_columns(columns, all, row).map_err(|_| malformed(table))?;
        set(local, record, ts, row)
    }

    fn committed_row<'a>(
        &self,
        _: &CicadaTable,
        record: Record,
        _: &'a mut Vec<u64>,
    ) -> Option<(&'a [u64], Timestamp)> {
        // a commit that has looked at the count of changes before settles its versions soon, one that looks now aborts
        // them
        let visible = loop {
            match record.visible::<true>(u64::MAX, 0) {
                Ok(visible) => break visible,
                Err(_) => thread::yield_now(),
            }
        };
        if !visible.live {
            return None;
        }
        // SAFETY: the newest row, which stays so: nobody writes.
        let version = unsafe { Version::from_raw(visible.version) };
        // SAFETY: as above.
        Some((unsafe { version.row() }, Timestamp::from_raw(version.wts())))
    }

    /// A record without a row is gone when a directory has been opened.
    fn has_row(&self, record: Record) -> Option<bool> {
        let newest = record.latest().load(Ordering::SeqCst);
        // SAFETY: nobody changes anything now.
        let committed =
            newest > Record::OBSOLETE && unsafe { Version::from_raw(newest) }.status() == Status::Committed;
        committed.then_some(true)
    }
}

impl scaledb_kit::Record for Record {
    #[inline]
    unsafe fn from_raw(raw: u64) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw(raw) }
    }

    #[inline]
    fn raw(self) -> u64 {
        self.raw()
    }

    #[inline]
    unsafe fn key_for<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe { self.key_for() }
    }

    fn committed(self) -> Timestamp {
        wts(self)
    }

    unsafe fn retire(self, local: &mut Local) {
        let version = self.latest().load(Ordering::SeqCst);
        // SAFETY: the caller's promise: its only version goes with it.
        unsafe {
            if version > Self::OBSOLETE {
                Version::from_raw(version).retire(local);
            }
            self.retire(local);
        }
    }

    unsafe fn free(self, local: &mut Local) {
        // SAFETY: the caller's promise: it has one version.
        unsafe {
            let version = Version::from_raw(self.latest().load(Ordering::SeqCst));
            if !version.is_inlined() {
                version.free(local);
            }
            self.discard(local);
        }
    }
}

/// The timestamp of a record's newest version.
fn wts(record: Record) -> Timestamp {
    // SAFETY: what a record shows is valid for whoever is active and knows the record.
    Timestamp::from_raw(unsafe { record.wts_of(record.latest().load(Ordering::SeqCst)) })
}

/// Makes a row the only version of a record that no other thread touches.
fn set(local: &mut Local, record: Record, ts: Timestamp, row: &[u64]) -> Result<()> {
    let old = record.latest().swap(Record::NOTHING, Ordering::SeqCst);
    if old > Record::OBSOLETE {
        // SAFETY: the only version; others compare the record's key at the most.
        unsafe { Version::from_raw(old).free(local) };
    }
    let version = record.new_version(local, row.len())?;
    version.fill(ts.raw(), row);
    version.settle(Status::Committed);
    record.latest().store(version.raw(), Ordering::SeqCst);
    Ok(())
}
