//! C2 for inserts: a key is claimed where it is looked for first, by a placeholder, or by the lock of the absent record
//! that it has already.
//!
//! | table | the key is claimed in | then it must not be in |
//! |---|---|---|
//! | hashed | the hash index | |
//! | hashed, updated at commit | the hash index | the tree, where it is claimed as well |
//! | ordered | the indexlet | the tree |
//! | ordered, updated at commit; or its indexlet is full | the tree | the indexlet |

use crate::lane::LaneGuard;
use crate::read::conflict;
use crate::record::{Record, Stuck, Word};
use crate::rules::Rule;
use crate::table::{AccTable, Points, RecordEntry};
use crate::tune::Timer;
use crate::worker::Ctx;
use scaledb_base::{Conflict, ConflictKind, Error, Result};
use scaledb_index::btree::{Entry, Found};
use scaledb_index::claims;
use scaledb_index::hash::HashIndex;
use scaledb_index::indexlet::{Indexlet, Inserted};
use scaledb_kit::count;
use scaledb_memory::Local;
use scaledb_sync::hint::Backoff;

/// An insert that is being put into the indexes.
#[derive(Clone, Copy)]
struct Insert<'t> {
    table: &'t AccTable,
    /// The number of the write.
    number: usize,
    /// The hash of the key.
    hash: u64,
    placeholder: Record,
}

/// The result of inserting a placeholder.
enum Claimed {
    /// It is inserted.
    New,
    /// It is in no index: the key has a record already.
    Has(Record),
}

/// The result of locking an existing record for an insert.
enum Taken {
    /// Locked, and absent.
    Yes,
    /// It has just left the indexes: the key must be looked up again.
    Gone,
}

impl Ctx<'_> {
    /// Locks what an insert makes: a placeholder in the point index, or the absent record that is there.
    pub(super) fn lock_insert(&mut self, lane: &LaneGuard<'_>, number: usize) -> Result<()> {
        let write = &self.txn.writes[number];
        let table = self.shared.tables.get(write.table)?;
        if let Some(base) = write.base
            && self.txn.writes[base].record.is_none()
        {
            // an index entry that was undone and then inserted again for a later row
            self.lock_insert(lane, base)?;
        }
        let mut backoff = Backoff::new();
        while let Taken::Gone = self.try_lock_insert(lane, table, number)? {
            if !backoff.wait() {
                let key = self.txn.keys[self.txn.writes[number].key.clone()].into();
                let kind = ConflictKind::WriteLocked;
                return Err(Conflict { kind, table: table.id, key, with: None }.into());
            }
        }
        Ok(())
    }

    fn try_lock_insert(&mut self, lane: &LaneGuard<'_>, table: &AccTable, number: usize) -> Result<Taken> {
        let write = &self.txn.writes[number];
        let entry = write
            .base
            .map(|base| [self.txn.writes[base].record.expect("rows are locked before their entries").raw()]);
        let row: &[u64] = match &entry {
            Some(entry) => entry,
            None => &self.txn.images[write.image.clone()],
        };
        let (groups, words) = (table.schema.layout().groups(), row.len());
        let placeholder = Record::create(self.local, groups, &self.txn.keys[write.key.clone()], row)?;
        scaledb_sync::names::name_with(|| {
            let at: *const u8 = std::ptr::without_provenance(placeholder.raw() as usize);
            (at, placeholder.bytes(), format!("record of {}", table.name))
        });
        let insert = Insert { table, number, hash: write.hash, placeholder };
        match self.claim(lane, insert) {
            Ok(Claimed::New) => {
                let held = &mut self.txn.held[number];
                held.created = true;
                held.groups = table.existence.groups();
                held.before = [Word::PLACEHOLDER; _];
                self.txn.writes[number].record = Some(placeholder);
                Ok(Taken::Yes)
            }
            Ok(Claimed::Has(existing)) => {
                // SAFETY: `claim` says that it is in no index.
                unsafe { take_back(self.local, table, placeholder) };
                if let Taken::Gone = self.claim_absent(table, number, existing)? {
                    return Ok(Taken::Gone);
                }
                self.txn.writes[number].record = Some(existing);
                if !existing.fits(words) {
                    self.make_room(number, words)?;
                }
                Ok(Taken::Yes)
            }
            Err(error) => {
                // SAFETY: `claim` has removed it from where it was.
                unsafe { take_back(self.local, table, placeholder) };
                Err(error)
            }
        }
    }

    /// Puts the placeholder where the key is looked for first.
    fn claim(&mut self, lane: &LaneGuard<'_>, insert: Insert<'_>) -> Result<Claimed> {
        let at_commit = insert.table.inserts_at_commit(self.local)?;
        match (&insert.table.points, at_commit) {
            (Points::Hash(hashed), false) => self.claim_in_hash(hashed, insert),
            (Points::Hash(hashed), true) => self.claim_in_hash_and_tree(hashed, insert),
            (Points::Indexlet(indexlet), true) => self.claim_in_tree(indexlet, insert),
            (Points::Indexlet(indexlet), false) => match self.claim_in_indexlet(lane, indexlet, insert)? {
                Some(claimed) => Ok(claimed),
                None => self.claim_in_tree(indexlet, insert),
            },
        }
    }

    fn claim_in_hash(&mut self, hashed: &HashIndex, insert: Insert<'_>) -> Result<Claimed> {
        let Insert { hash, placeholder, .. } = insert;
        // SAFETY: called for records of the index.
        let same = |raw| unsafe { has_key_of(placeholder, raw) };
        match hashed.insert(self.local, hash, placeholder.raw(), same)? {
            Inserted::New => Ok(Claimed::New),
            // SAFETY: the index has just held it.
            Inserted::Existing(raw) => Ok(Claimed::Has(unsafe { Record::from_raw(raw) })),
            Inserted::Full => Err(Error::OutOfMemory { budget: self.local.domain().budget() }),
        }
    }

    fn claim_in_hash_and_tree(&mut self, hashed: &HashIndex, insert: Insert<'_>) -> Result<Claimed> {
        if let Claimed::Has(existing) = self.claim_in_hash(hashed, insert)? {
            return Ok(Claimed::Has(existing));
        }
        let claimed = self.insert_in_tree(insert);
        if !matches!(claimed, Ok(Claimed::New)) {
            hashed.remove(self.local, insert.hash, insert.placeholder.raw());
        }
        claimed
    }

    /// `None`: the indexlet is full, and stays so.
    fn claim_in_indexlet(
        &mut self,
        lane: &LaneGuard<'_>,
        indexlet: &Indexlet,
        insert: Insert<'_>,
    ) -> Result<Option<Claimed>> {
        let Insert { table, hash, placeholder, .. } = insert;
        // SAFETY: called for records of the indexlet.
        let same = |raw| unsafe { has_key_of(placeholder, raw) };
        let mut inserted = indexlet.insert(self.local, hash, placeholder.raw(), same);
        if inserted == Inserted::Full {
            // an early merge makes room
            self.merge_table(self.shared, lane, table)?;
            inserted = indexlet.insert(self.local, hash, placeholder.raw(), same);
        }
        match inserted {
            Inserted::New => self.look_in_tree(indexlet, insert).map(Some),
            // SAFETY: the indexlet has just held it.
            Inserted::Existing(raw) => Ok(Some(Claimed::Has(unsafe { Record::from_raw(raw) }))),
            Inserted::Full => Ok(None),
        }
    }

    /// A key that is claimed in the indexlet must not be in the tree, as it was not when the insert was executed. Notes
    /// the leaf that it will come to.
    fn look_in_tree(&mut self, indexlet: &Indexlet, insert: Insert<'_>) -> Result<Claimed> {
        let Insert { table, number, hash, placeholder } = insert;
        let leaf = self.txn.writes[number].leaf;
        if leaf.is_some() && self.skips(Rule::LookInTree) {
            self.txn.held[number].leaf = leaf;
            return Ok(Claimed::New);
        }
        let (key, had_not) = (placeholder.key(), leaf.map(|(stamp, _)| stamp));
        let found = claims::look_in_tree(table.tree()?, self.local, key, had_not, &mut self.txn.finger);
        self.txn.held[number].leaf = match found {
            None => leaf,
            Some(Found { value: None, leaf, part }) => Some((leaf, part)),
            Some(Found { value: Some(raw), .. }) => {
                indexlet.remove(self.local, hash, placeholder.raw());
                // SAFETY: the tree has just held it.
                return Ok(Claimed::Has(unsafe { Record::from_raw(raw) }));
            }
        };
        Ok(Claimed::New)
    }

    /// A key that is claimed in the tree must not be in the indexlet: a record there is a conflict.
    fn claim_in_tree(&mut self, indexlet: &Indexlet, insert: Insert<'_>) -> Result<Claimed> {
        let Insert { table, number, hash, placeholder } = insert;
        if let Claimed::Has(existing) = self.insert_in_tree(insert)? {
            return Ok(Claimed::Has(existing));
        }
        // SAFETY: called for records of the indexlet.
        let same = |raw| unsafe { has_key_of(placeholder, raw) };
        if claims::look_in_indexlet(indexlet, self.local, hash, same).is_none() {
            return Ok(Claimed::New);
        }
        self.txn.held[number].in_tree = false;
        self.remove_from_tree(table, placeholder);
        let (kind, key) = (ConflictKind::WriteLocked, placeholder.key().into());
        Err(Conflict { kind, table: table.id, key, with: None }.into())
    }

    /// Inserts a placeholder into the tree itself: at commit, or because its indexlet is full.
    fn insert_in_tree(&mut self, insert: Insert<'_>) -> Result<Claimed> {
        let (shared, Insert { table, number, placeholder, .. }) = (self.shared, insert);
        let tree = table.tree()?;
        let mut existing = None;
        let timer = table.of_me(self.local)?.way.is_sampled().then(|| Timer::start(&shared.clock));
        // SAFETY: a record stays valid until it has left the tree and everybody who was active then has gone.
        let stats = unsafe {
            tree.insert_batch(self.local, table.needed_after(), &[placeholder.raw()], |_, raw| {
                existing = Some(Record::from_raw(raw));
            })?
        };
        let mine = table.of_me(self.local)?;
        count(&mine.counters.node_locks, stats.locks);
        if let Some(timer) = timer {
            mine.way.inserted(table.tuning.updates, timer.ticks(&shared.clock));
        }
        if let Some(existing) = existing {
            return Ok(Claimed::Has(existing));
        }
        count(&mine.counters.synchronous, 1);
        self.txn.held[number].in_tree = true;
        Ok(Claimed::New)
    }

    /// Takes a record out of the tree.
    pub(super) fn remove_from_tree(&mut self, table: &AccTable, record: Record) {
        if let Some(tree) = &table.tree {
            tree.remove(self.local, table.needed_after(), record.key(), record.raw());
        }
    }

    /// Locks the record that a key has already, which must be absent. Before that is known `abort` does not know of the
    /// record: groups that were locked are unlocked here on failure.
    fn claim_absent(&mut self, table: &AccTable, number: usize, record: Record) -> Result<Taken> {
        let taken = self.lock_absent(table, number, record);
        if !matches!(taken, Ok(Taken::Yes)) {
            let held = &mut self.txn.held[number];
            for group in std::mem::take(&mut held.groups).iter() {
                record.unlock(group, held.before[group]);
            }
        }
        taken
    }

    /// On anything but [`Taken::Yes`], `held` says what is locked.
    fn lock_absent(&mut self, table: &AccTable, number: usize, record: Record) -> Result<Taken> {
        for group in table.existence.groups().iter() {
            let before =
                record.lock(group).map_err(|Stuck| conflict(ConflictKind::WriteLocked, table, record))?;
            self.txn.latest = self.txn.latest.max(before.ts());
            let held = &mut self.txn.held[number];
            held.before[group] = before;
            held.groups = held.groups.with(group);
            if before.is_obsolete() {
                return Ok(Taken::Gone);
            }
            if !before.is_absent() {
                // it was absent when the insert was executed: run again, that finds the duplicate
                let (kind, key) = (ConflictKind::AbsentAppeared, record.key().into());
                return Err(Conflict { kind, table: table.id, key, with: Some(before.ts()) }.into());
            }
        }
        Ok(Taken::Yes)
    }
}

/// Whether a record has the key of a placeholder.
///
/// # Safety
/// An index holds the record, or held it since this worker became active.
unsafe fn has_key_of(placeholder: Record, raw: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { RecordEntry::key(raw) == placeholder.key() }
}

/// Gives a placeholder up. Transactions that have found it in an index, if only for a moment, look the key up again.
///
/// # Safety
/// It has left the indexes, and is on no list.
pub(super) unsafe fn take_back(local: &mut Local, table: &AccTable, placeholder: Record) {
    for group in table.existence.groups().iter() {
        placeholder.unlock(group, Word::PLACEHOLDER.obsolete());
    }
    // SAFETY: the caller's promise.
    unsafe { placeholder.retire(local) };
}
