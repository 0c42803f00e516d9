//! An index is made from the rows of its table, while nobody writes to that.

use crate::bulk::{Headed, duplicate, load_index, sort};
use crate::record::Record;
use crate::records::{RecordOf, Records};
use crate::table::EngineTable;
use scaledb_base::{Error, Result};
use scaledb_engine::check_key;
use scaledb_index::btree::{LeafRead, Position};
use scaledb_keys::KeyBuf;
use scaledb_memory::{Domain, Local, Private};
use scaledb_row::RowRef;
use scaledb_sync::Arc;

/// Rows that are looked at, and entries that are loaded, before the caller is asked whether to go on.
const ASK: usize = if cfg!(debug_assertions) { 16 } else { 1 << 12 };
const LOAD: usize = if cfg!(debug_assertions) { 64 } else { 1 << 16 };

/// An index that is being built, which nobody else has seen, and the entries that have been made for it.
pub(crate) struct Build<T: EngineTable> {
    index: T,
    entries: Vec<Headed<T::Record>>,
    /// What the list takes of the budget of all transactions.
    room: Private,
}

impl<T: EngineTable> Build<T> {
    /// Begins with an empty index.
    pub(crate) fn new(domain: Arc<Domain>, index: T) -> Self {
        Self { index, entries: Vec::new(), room: Private::new(domain) }
    }

    /// Fills the index. The table is closed for writers, and `local` is active. After an error
    /// the caller calls [`Build::discard`].
    ///
    /// # Errors
    /// [`Error::DuplicateKey`], [`Error::KeyTooLarge`], [`Error::OutOfMemory`], [`Error::Stopped`].
    pub(crate) fn fill<P: Records<Table = T>>(
        &mut self,
        engine: &P,
        local: &mut Local,
        base: &T,
        go_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        let ask = || if go_on() { Ok(()) } else { Err(Error::Stopped) };
        let records = records(local, base);
        self.room.raise_to(records.len() * (size_of::<u64>() + size_of::<Headed<T::Record>>()), false)?;
        self.entries.reserve_exact(records.len());
        let (mut words, mut entry_key) = (Vec::new(), KeyBuf::new());
        for (number, raw) in records.into_iter().enumerate() {
            if number.is_multiple_of(ASK) {
                ask()?;
            }
            // SAFETY: the table holds it, or held it in this activity.
            let record = unsafe { T::Record::from_raw(raw) };
            let entry = make_entry(engine, local, (base, record), &self.index, &mut words, &mut entry_key)?;
            // SAFETY: made for the index, which `discard` alone frees entries of.
            self.entries.extend(entry.map(|entry| unsafe { Headed::new(entry) }));
        }
        sort(&mut self.entries);
        if let Some(key) = duplicate(&self.entries) {
            return Err(Error::DuplicateKey { table: base.id, key: key.into() });
        }
        for entries in self.entries.chunks(LOAD) {
            ask()?;
            load_index(engine, local, &self.index, entries)?;
        }
        Ok(())
    }

    /// The index, to be published.
    pub(crate) fn finish(self) -> T {
        self.index
    }

    /// Frees the index and what was made of it. `local` is active.
    pub(crate) fn discard(self, local: &mut Local) {
        if let Some(tree) = self.index.ordered() {
            // SAFETY: nobody else has seen the index, which is dropped without a further look at its tree.
            unsafe { tree.free_all(local) };
        }
        for entry in self.entries {
            // SAFETY: made for the index, which nobody else has seen.
            unsafe { entry.record().free(local) };
        }
    }
}

/// The entry of a row in an index; `None` if the record has no row. It is as old as the row.
pub(crate) fn make_entry<P: Records>(
    engine: &P,
    local: &mut Local,
    (base, record): (&P::Table, RecordOf<P>),
    index: &P::Table,
    words: &mut Vec<u64>,
    entry_key: &mut KeyBuf,
) -> Result<Option<RecordOf<P>>> {
    let Some((row, ts)) = engine.committed_row(base, record, words) else { return Ok(None) };
    // SAFETY: a record is valid for as long as it is used: see `Record::from_raw`.
    let key = unsafe { record.key_for() };
    index.entry_key(&base.schema, RowRef::new(base.schema.layout(), row), key, entry_key);
    check_key(entry_key)?;
    engine.create(local, index, entry_key, &[record.raw()], &[ts]).map(Some)
}

/// The records of a table, each once. Records that come meanwhile belong to commits that fail.
fn records<T: EngineTable>(local: &Local, table: &T) -> Vec<u64> {
    let mut records = Vec::new();
    match (table.hash(), table.ordered()) {
        (Some(hashed), _) => hashed.for_each(local, |raw| records.push(raw)),
        (None, None) => {}
        (None, Some(tree)) => {
            // a record is in the tree before it is merged no more
            table.for_each_unmerged(|raw| records.push(raw));
            let (mut leaf, mut from) = (LeafRead::new(), Vec::new());
            loop {
                tree.open_leaf(local, Position::At(&from), &mut leaf);
                while !tree.read_entries(local, &mut leaf) {
                    tree.open_leaf(local, Position::At(&from), &mut leaf);
                }
                records.extend_from_slice(leaf.values());
                match leaf.high() {
                    Some(high) => from = high.to_vec(),
                    None => break,
                }
            }
        }
    }
    // a structure that grows may show one twice: some come whose commits fail
    records.sort_unstable();
    records.dedup();
    records
}
