//! C2 for records that exist: locks their groups; a group that was read is locked only if it is unchanged.

use crate::read::conflict;
use crate::record::{Overflow, Record, Stuck, Word};
use crate::rules::Rule;
use crate::table::AccTable;
use crate::txn::Op;
use crate::worker::Ctx;
use scaledb_base::{ConflictKind, Error, Result};
use scaledb_memory::Purpose;
use scaledb_row::GroupSet;

impl Ctx<'_> {
    /// Whether the rows that will be written are unchanged since they were read. Checked before any lock is taken, so
    /// that a transaction that must fail does so cheaply; the locks check again.
    pub(super) fn writes_are_unchanged(&self) -> Result<()> {
        for write in &self.txn.writes {
            let Some(record) = write.record else { continue };
            let table = self.shared.tables.get(write.table)?;
            for group in write.groups(table.schema.layout()).iter() {
                let (seen, now) = (write.seen[group], record.after_clean_up(group));
                if seen != now {
                    return Err(changed(table, record, seen, now));
                }
            }
        }
        Ok(())
    }

    /// C2 for a record that exists. On an error, `held` says what is locked.
    #[inline]
    pub(super) fn lock(&mut self, number: usize, retain: bool) -> Result<()> {
        let write = &self.txn.writes[number];
        let table = self.shared.tables.get(write.table)?;
        let layout = table.schema.layout();
        let record = write.record.expect("found when it was first written");
        // versions are of whole rows
        let groups = if retain { table.existence.groups() } else { write.groups(layout) };
        let grows = write.op == Op::Replace || write.op == Op::Update && layout.any_var(write.dirty);
        self.lock_groups(table, number, record, groups)?;
        let words = self.image_words(number);
        if grows && !record.fits(words) {
            // the row moves to another block, so that all its groups must be locked
            let rest = GroupSet(table.existence.groups().0 & !groups.0);
            self.lock_groups(table, number, record, rest)?;
            self.make_room(number, words)?;
        }
        Ok(())
    }

    /// Words of the row that write `number` leaves, if it replaces the whole of it.
    fn image_words(&self, number: usize) -> usize {
        let write = &self.txn.writes[number];
        if write.base.is_some() { 1 } else { write.image.len() }
    }

    pub(super) fn make_room(&mut self, number: usize, words: usize) -> Result<()> {
        // the row grows
        let purpose = self.local.set_purpose(Purpose::Growth);
        let overflow = Overflow::create(self.local, words + words / 4);
        self.local.set_purpose(purpose);
        self.txn.held[number].overflow = Some(overflow?);
        Ok(())
    }

    /// Locks groups of a record: those that were read only if they are unchanged.
    #[inline]
    fn lock_groups(
        &mut self,
        table: &AccTable,
        number: usize,
        record: Record,
        groups: GroupSet,
    ) -> Result<()> {
        let unchecked = self.skips(Rule::LockUnchanged);
        let (write, held) = (&self.txn.writes[number], &mut self.txn.held[number]);
        for group in groups.iter() {
            let before = if write.read.has(group) && !unchecked {
                lock_as_read(table, record, group, write.seen[group])?
            } else {
                record.lock(group).map_err(|Stuck| conflict(ConflictKind::WriteLocked, table, record))?
            };
            self.txn.latest = self.txn.latest.max(before.ts());
            held.before[group] = before;
            held.groups = held.groups.with(group);
        }
        Ok(())
    }
}

/// Locks a group whose word is still `seen`. Returns the word.
#[inline]
fn lock_as_read(table: &AccTable, record: Record, group: usize, seen: Word) -> Result<Word> {
    while !record.try_lock(group, seen) {
        // clean-up may briefly hold the lock of a row that was inserted again
        let now = record.after_clean_up(group);
        if now != seen {
            return Err(changed(table, record, seen, now));
        }
    }
    Ok(seen)
}

/// The conflict of a write whose row is not as it was read.
#[cold]
fn changed(table: &AccTable, record: Record, seen: Word, now: Word) -> Error {
    let locked = now.unlocked() == seen;
    let kind = if locked { ConflictKind::WriteLocked } else { ConflictKind::WriteChanged };
    conflict(kind, table, record)
}
