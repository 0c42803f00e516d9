//! Point reads.

use crate::record::{Presence, Record, Word};
use crate::rules::Rule;
use crate::table::AccTable;
use crate::txn::{Op, RowLocation, Txn};
use crate::worker::Ctx;
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId, Timestamp};
use scaledb_engine::{PREFETCH, RowId};
use scaledb_kit::{Absent, Transaction};
use scaledb_row::{Projection, RowRef};

/// How often a look-up is repeated that finds a record which has just left the indexes.
const RETRIES: usize = if scaledb_sync::MODEL { 4 } else { 1 << 10 };

impl Ctx<'_> {
    /// Read, point: own writes, then indexlet and tree. Nothing found is remembered as an absent read.
    #[inline]
    pub(crate) fn locate(&mut self, table: &AccTable, key: &[u8]) -> Option<RowLocation> {
        let hash = self.shared.hasher.hash(key);
        if let Some(own) = self.txn.insert_of(table.id, hash, key) {
            return Some(RowLocation::Own(own));
        }
        match table.find(self.local, hash, key, &mut self.txn.finger).record {
            Some(record) => Some(RowLocation::Record(record)),
            None => {
                let key = self.txn.keep_key(key);
                self.txn.absents.push(Absent { table: table.id, hash, key });
                None
            }
        }
    }

    /// Copies the columns of `cols` of a record to the transaction's row buffer and remembers the words.
    /// Returns the row's length in words; `None` if there is no row.
    ///
    /// # Errors
    /// A conflict. `Ok(Err(()))`: the record is obsolete, look the key up again.
    #[inline]
    pub(crate) fn read_record(
        &mut self,
        table: &AccTable,
        record: Record,
        cols: &Projection,
    ) -> Result<std::result::Result<Option<usize>, ()>> {
        let mut seen = [Word(0); MAX_GROUPS];
        let layout = table.schema.layout();
        #[cfg(feature = "mutations")]
        if !self.shared.config.rules.on(Rule::Seqlock) {
            let presence = record.read_unchecked(layout, cols, &mut self.txn.row, &mut seen);
            self.txn.remember(table.id, record, cols.groups(), &seen);
            return Ok(Ok(presence));
        }
        let presence = record
            .read(layout, cols, &mut self.txn.row, &mut seen)
            .map_err(|_| conflict(ConflictKind::ReadLocked, table, record))?;
        let obsolete = presence == Presence::Absent && cols.groups().iter().any(|g| seen[g].is_obsolete());
        if obsolete && self.shared.config.rules.on(Rule::LookAgain) {
            return Ok(Err(()));
        }
        self.txn.remember(table.id, record, cols.groups(), &seen);
        Ok(Ok(match presence {
            Presence::Live(words) => Some(words),
            Presence::Absent => None,
        }))
    }

    /// Reads a row where it was found, with this transaction's own writes on top, into the row buffer.
    // sampled scans are a copy of the scan, beside which this would not be inlined: 3 % of a scan of ten rows
    #[inline(always)]
    pub(crate) fn read_place(
        &mut self,
        table: &AccTable,
        place: RowLocation,
        cols: &Projection,
    ) -> Result<std::result::Result<Option<usize>, ()>> {
        let own = match place {
            RowLocation::Own(number) => number,
            RowLocation::Record(record) => match self.txn.write_of(record) {
                None => return self.read_record(table, record, cols),
                Some(number) => number,
            },
        };
        let op = self.txn.writes[own].op;
        match op {
            Op::Delete | Op::Nothing => Ok(Ok(None)),
            Op::Insert | Op::Replace => {
                self.txn.row.clear();
                let image = self.txn.writes[own].image.clone();
                self.txn.row.extend_from_slice(&self.txn.images[image]);
                Ok(Ok(Some(self.txn.row.len())))
            }
            Op::Update => {
                let record = self.txn.writes[own].record.expect("an update has a record");
                let read = self.read_record(table, record, cols)?;
                let Ok(Some(words)) = read else { return Ok(read) };
                Ok(Ok(Some(self.overlay(table, own, words))))
            }
        }
    }

    /// Puts the columns that write `own` sets over the row in the row buffer. Returns the row's length.
    pub(crate) fn overlay(&mut self, table: &AccTable, own: usize, words: usize) -> usize {
        let Txn { writes, images, row, .. } = &mut *self.txn;
        let (dirty, image) = (writes[own].dirty, &images[writes[own].image.clone()]);
        let layout = table.schema.layout();
        let any_var = layout.any_var(dirty);
        let len = if any_var { image.len() } else { words };
        if row.len() < len {
            row.resize(len, 0);
        }
        layout.for_each_word(dirty, |w| row[w] = image[w]);
        if any_var {
            row[layout.fixed_words()..len].copy_from_slice(&image[layout.fixed_words()..]);
        }
        len
    }

    /// `get` of a transaction that reads the current state.
    #[inline]
    pub(crate) fn get<R>(
        &mut self,
        table: &AccTable,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        for _ in 0..RETRIES {
            let Some(place) = self.locate(table, key) else { return Ok(None) };
            if let Some(of) = &table.index_of {
                let base = self.shared.tables.get(of.base)?;
                let entry = match self.entry_target(table, place)? {
                    Ok(Some(target)) => target,
                    Ok(None) => return Ok(None),
                    Err(()) => continue,
                };
                return self.read_base(base, entry, cols, f);
            }
            match self.read_place(table, place, cols)? {
                Ok(Some(words)) => {
                    let row = RowRef::new(table.schema.layout(), &self.txn.row[..words]);
                    return Ok(Some(f(self.txn.row_id(table.id, place), row)));
                }
                Ok(None) => return Ok(None),
                Err(()) => {}
            }
        }
        Err(Conflict { kind: ConflictKind::ReadLocked, table: table.id, key: key.into(), with: None }.into())
    }

    /// `get` of a row whose `RowId` the transaction has. A record that has left the indexes has no row.
    pub(crate) fn get_named<R>(
        &mut self,
        table: &AccTable,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let place = self.txn.place(table.id, row)?;
        Ok(match self.read_place(table, place, cols)? {
            Ok(Some(words)) => Some(f(RowRef::new(table.schema.layout(), &self.txn.row[..words]))),
            Ok(None) | Err(()) => None,
        })
    }

    /// The base row that an index entry stands for; `None` if the entry is absent.
    pub(crate) fn entry_target(
        &mut self,
        index: &AccTable,
        place: RowLocation,
    ) -> Result<std::result::Result<Option<RowLocation>, ()>> {
        let own = match place {
            RowLocation::Own(number) => Some(number),
            RowLocation::Record(record) => self.txn.write_of(record),
        };
        if let Some(number) = own {
            let write = &self.txn.writes[number];
            let base = if matches!(write.op, Op::Insert | Op::Replace) { write.base } else { None };
            return Ok(Ok(base.map(|base| {
                let record = self.txn.writes[base].record;
                record.map_or(RowLocation::Own(base), RowLocation::Record)
            })));
        }
        Ok(self.read_place(index, place, &index.all)?.map(|row| {
            row.map(|_| {
                // SAFETY: a live entry's base record is reachable: both are deleted by one commit, and the
                // base record is retired only when everybody who could see the entry live has left.
                RowLocation::Record(unsafe { Record::from_raw(self.txn.row[0]) })
            })
        }))
    }

    /// Reads the base row of a live entry. It must be live too, or the two reads do not belong together.
    pub(crate) fn read_base<R>(
        &mut self,
        base: &AccTable,
        place: RowLocation,
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if let Ok(Some(words)) = self.read_place(base, place, cols)? {
            let row = RowRef::new(base.schema.layout(), &self.txn.row[..words]);
            return Ok(Some(f(self.txn.row_id(base.id, place), row)));
        }
        match place {
            RowLocation::Record(record) => Err(conflict(ConflictKind::ReadChanged, base, record)),
            RowLocation::Own(_) => Ok(None),
        }
    }

    /// Step C5 for absent reads: the record that the key has now, unless it is this commit's own. `None`: the read is
    /// valid.
    pub(crate) fn appeared(&mut self, absent: usize) -> Result<Option<Record>> {
        if !self.shared.config.rules.on(Rule::ValidateAbsent) {
            return Ok(None);
        }
        let Absent { table, hash, key } = &self.txn.absents[absent];
        let (table, hash) = (self.shared.tables.get(*table)?, *hash);
        let found = table.find(self.local, hash, &self.txn.keys[key.clone()], &mut self.txn.finger).record;
        Ok(found.filter(|&record| !self.has_created(hash, record)))
    }

    /// Whether a record is a placeholder that this commit has made; `hash` is that of its key.
    pub(crate) fn has_created(&self, hash: u64, record: Record) -> bool {
        let created = |number: usize| self.txn.held.get(number).is_some_and(|held| held.created);
        self.txn.insert_at(hash, record).is_some_and(created)
    }

    /// Step C5 for a deleted row that was read and that clean-up has removed since: the read is valid as long as the
    /// key has no other record.
    #[cold]
    pub(crate) fn is_still_absent(&mut self, table: &AccTable, record: Record) -> bool {
        let hash = self.shared.hasher.hash(record.key());
        let found = table.find(self.local, hash, record.key(), &mut self.txn.finger).record;
        found.is_none_or(|now| self.has_created(hash, now))
    }
}

/// A conflict over a record.
#[cold]
pub(crate) fn conflict(kind: ConflictKind, table: &AccTable, record: Record) -> Error {
    let with = last_commit(table, record);
    Conflict { kind, table: table.id, key: record.key().into(), with }.into()
}

/// The last commit that changed a record; `None` while it is locked: a lock does not say which commit holds it.
#[cold]
pub(crate) fn last_commit(table: &AccTable, record: Record) -> Option<Timestamp> {
    let mut last = None;
    for group in table.existence.groups().iter() {
        let word = record.word(group);
        if word.is_locked() {
            return None;
        }
        last = last.max(Some(word.ts()));
    }
    last
}

impl Ctx<'_> {
    /// Asks for the places in the hash structure where inserts will put their keys.
    pub(crate) fn prefetch_inserts<'k>(&mut self, keys: impl Iterator<Item = (TableId, &'k [u8])>) {
        let shared = self.shared;
        for (table, key) in keys.take(PREFETCH) {
            if let Ok(table) = shared.tables.get(table) {
                table.prefetch_insert(self.local, shared.hasher.hash(key));
            }
        }
    }

    /// Asks for the leaves in which scans will begin.
    pub(crate) fn prefetch_ranges<'k>(&mut self, starts: impl Iterator<Item = (TableId, &'k [u8])>) {
        let shared = self.shared;
        for (table, start) in starts.take(PREFETCH) {
            if let Ok(tree) = shared.tables.get(table).and_then(|table| table.tree()) {
                tree.prefetch(self.local, start);
            }
        }
    }

    /// Asks for the memory of rows that will be read soon: first for all places in the hash structure, then
    /// for all records, so that the misses overlap.
    pub(crate) fn prefetch<'k>(&mut self, rows: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>) {
        let shared = self.shared;
        let mut round = smallvec::SmallVec::<[(&AccTable, u64, u64); PREFETCH]>::new();
        for (table, key, cols) in rows.take(PREFETCH) {
            let Ok(table) = shared.tables.get(table) else { continue };
            let hash = shared.hasher.hash(key);
            table.prefetch(self.local, hash);
            round.push((table, hash, Record::lines(table.schema.layout().groups(), key.len(), cols)));
        }
        for (table, hash, lines) in round {
            table.prefetch_record(self.local, hash, lines);
        }
    }
}
