//! C5: validation of the read_set and the range_set.

use crate::read::{conflict, last_commit};
use crate::record::Record;
use crate::rules::Rule;
use crate::txn::Read;
use crate::worker::Ctx;
use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId};
use scaledb_engine::ReadMark;
use scaledb_kit::PRESENT;
use std::ops::Range;

impl Ctx<'_> {
    /// Words that were read are unchanged, apart from this commit's own locks; keys that were absent still are.
    pub(super) fn validate(&mut self) -> Result<()> {
        self.validate_since(ReadMark::default())
    }

    /// [`Ctx::validate`] of what was read since a mark.
    pub(crate) fn validate_since(&mut self, ReadMark([reads, absents, ranges, ..]): ReadMark) -> Result<()> {
        self.validate_reads(reads)?;
        self.validate_absents(absents)?;
        self.validate_ranges(ranges)?;
        self.shared.definitions_hold(self.txn, PRESENT)
    }

    #[inline]
    fn validate_reads(&mut self, first: usize) -> Result<()> {
        if self.skips(Rule::ValidateReads) {
            return Ok(());
        }
        for number in first..self.txn.reads.len() {
            let Read { record, seen, table, group } = self.txn.reads[number];
            let now = record.after_clean_up(group as usize);
            if now == seen {
                continue;
            }
            let locked = now.unlocked() == seen;
            if locked && (self.skips(Rule::HonourLocks) || self.holds(record, group as usize)) {
                continue;
            }
            let table = self.shared.tables.get(table)?;
            if seen.is_absent() && now.is_obsolete() && self.is_still_absent(table, record) {
                continue;
            }
            return Err(conflict(ConflictKind::ReadChanged, table, record));
        }
        Ok(())
    }

    #[inline]
    fn validate_absents(&mut self, first: usize) -> Result<()> {
        for number in first..self.txn.absents.len() {
            if let Some(record) = self.appeared(number)? {
                let absent = &self.txn.absents[number];
                return Err(self.met(ConflictKind::AbsentAppeared, absent.table, &absent.key, record));
            }
        }
        Ok(())
    }

    #[inline]
    fn validate_ranges(&mut self, first: usize) -> Result<()> {
        for number in first..self.txn.ranges.len() {
            if let Some(phantom) = self.phantom(number)? {
                let range = &self.txn.ranges[number];
                return Err(self.met(ConflictKind::RangePhantom, range.table, &range.low, phantom));
            }
        }
        Ok(())
    }

    /// The conflict with the commit that has inserted a record whose absence was read.
    #[cold]
    fn met(&self, kind: ConflictKind, table: TableId, key: &Range<usize>, record: Record) -> Error {
        let with = self.shared.tables.get(table).ok().and_then(|table| last_commit(table, record));
        Conflict { kind, table, key: self.txn.keys[key.clone()].into(), with }.into()
    }

    /// Whether this commit holds the lock of a record's group.
    #[cold]
    fn holds(&self, record: Record, group: usize) -> bool {
        let number = self.txn.write_of(record);
        let number = number.or_else(|| self.txn.insert_at(self.shared.hasher.hash(record.key()), record));
        number.and_then(|number| self.txn.held.get(number)).is_some_and(|held| held.groups.has(group))
    }
}
