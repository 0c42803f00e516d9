//! C5: is everything that the transaction read still so at its timestamp?
//!
//! Every commit with a smaller timestamp has posted its new keys (and locked all its records) before this one took its
//! timestamp, so whatever could matter is visible by now: as a changed or locked word, in a pending list, or in a tree.

use super::rules::Mutation;
use super::state::{CLEANER, Db, TableId, Word};
use super::tx::{ScannedLeaf, Tx};
use super::{Protocol, Taker};
use crate::model::explorer::{Steps, Stop};
use crate::model::program::Key;
use crate::model::tree::{Rec, Tree};

impl Protocol {
    /// C5.
    pub(super) fn validate(&self, cx: &mut Taker<'_>, tx: &Tx) -> Steps<()> {
        if !self.breaks(Mutation::NoReadValidation) {
            for &(rec, seen) in &tx.read_set {
                let now = cx.wait("C5 record unchanged?", |db| {
                    let locker = db.record(rec).word.locker.filter(|&locker| locker != tx.me);
                    let waits =
                        locker == Some(CLEANER) || locker.is_some() && self.breaks(Mutation::ValidationWaits);
                    let now = db.record(rec);
                    let cleaned = (seen.absent && now.word.obsolete).then_some((now.table, now.key));
                    (!waits).then(|| (self.unchanged(db, tx, rec, seen), cleaned))
                })?;
                match now {
                    (true, _) => {}
                    // the key must not be elsewhere by now
                    (false, Some((table, key))) => self.validate_absent(cx, tx, table, key)?,
                    (false, None) => {
                        return Err(Stop::Conflict("a record that was read has changed or is locked"));
                    }
                }
            }
        }
        if !self.breaks(Mutation::NoAbsentValidation) {
            for &(table, key) in &tx.absent_reads {
                self.validate_absent(cx, tx, table, key)?;
            }
        }
        for leaf in &tx.range_set {
            if self.breaks(Mutation::LeafBeforeCells) {
                self.validate_leaf(cx, tx, leaf)?;
                self.validate_cells(cx, tx, leaf)?;
            } else {
                self.validate_cells(cx, tx, leaf)?;
                self.validate_leaf(cx, tx, leaf)?;
            }
        }
        Ok(())
    }

    /// A record that this transaction locked from the very word that it read needs no second look.
    fn unchanged(&self, db: &Db, tx: &Tx, rec: Rec, seen: Word) -> bool {
        if let Some(lock) = tx.locks.iter().find(|lock| lock.rec == rec) {
            return lock.before == seen || self.breaks(Mutation::LockIgnoresWord);
        }
        let now = db.record(rec).word;
        let unlocked = Word { locker: None, ..now };
        now == seen || (unlocked == seen && self.breaks(Mutation::IgnoreLock))
    }

    /// The same nothing: no record at all, or the own placeholder.
    fn validate_absent(&self, cx: &mut Taker<'_>, tx: &Tx, table: TableId, key: Key) -> Steps<()> {
        let Some(rec) = self.find(cx, table, key)? else { return Ok(()) };
        let own = tx.locks.iter().any(|lock| lock.rec == rec && lock.claimed.is_some());
        let naive = self.breaks(Mutation::NaiveAbsent)
            && cx.step("C5 (mutant) absent?", |db| {
                db.record(rec).word.absent && db.record(rec).word.locker.is_none()
            })?;
        (own || naive).then_some(()).ok_or(Stop::Conflict("a key that was absent has a record"))
    }

    /// Cells first: unchanged but for the own posts, or no item in the interval that was not seen. An item that can no
    /// longer be found was taken back, or is in the tree, where the leaf check finds it.
    fn validate_cells(&self, cx: &mut Taker<'_>, tx: &Tx, leaf: &ScannedLeaf) -> Steps<()> {
        if self.breaks(Mutation::NoCellValidation) {
            return Ok(());
        }
        for &(cell, seen) in &leaf.cells {
            let own = tx.posts.iter().filter(|&&post| post == cell).count() as u8;
            if own > 0 && self.breaks(Mutation::OwnWholesale) {
                continue;
            }
            let (seq, lanes) = self.read_cell(cx, tx.me, cell)?;
            if seq != seen + own && !self.breaks(Mutation::NoRefine) {
                self.refine(cx, tx, leaf, lanes, leaf.low, leaf.high)?;
            }
        }
        Ok(())
    }

    /// Aborts if a pending list holds a key of the interval that the scan has not seen.
    fn refine(
        &self,
        cx: &mut Taker<'_>,
        tx: &Tx,
        leaf: &ScannedLeaf,
        lanes: Vec<usize>,
        low: Key,
        high: Key,
    ) -> Steps<()> {
        for lane in lanes {
            let items = self.pending_in(cx, lane, leaf.table, low, high)?;
            if items.iter().any(|item| !self.accounted_for(tx, leaf, item.key, item.rec)) {
                return Err(Stop::Conflict("an unmerged key is new in a scanned interval"));
            }
        }
        Ok(())
    }

    /// Seen by the scan, or claimed by this transaction itself. (A lock on a record that another inserted after the
    /// scan is no excuse.)
    fn accounted_for(&self, tx: &Tx, leaf: &ScannedLeaf, key: Key, rec: Rec) -> bool {
        let excused = self.breaks(Mutation::OwnLocksExcused);
        let own = || tx.locks.iter().any(|lock| lock.rec == rec && (excused || lock.claimed.is_some()));
        leaf.keys.contains(&key) || own()
    }

    /// Then the leaf: the same version, or the leaves that now cover the interval hold no key that was not seen. Those
    /// may post to other partitions than the scanned leaf did, so their cells' owners are read as in a scan.
    fn validate_leaf(&self, cx: &mut Taker<'_>, tx: &Tx, leaf: &ScannedLeaf) -> Steps<()> {
        if self.breaks(Mutation::NoLeafVersionCheck) {
            return Ok(());
        }
        if cx.step("C5 leaf unchanged?", |db| db.tables[leaf.table].tree.unchanged(leaf.id, leaf.version))? {
            return Ok(());
        }
        let mut cursor = leaf.low;
        loop {
            let mut high = leaf.high;
            if !self.breaks(Mutation::RecheckContentOnly) {
                let header = self.read_header(cx, leaf.table, cursor)?;
                high = high.min(header.high);
                for &cell in &header.cells {
                    let lanes = self.read_cell(cx, tx.me, cell)?.1;
                    self.refine(cx, tx, leaf, lanes, cursor, high)?;
                }
            }
            // Lists before content: an item that leaves a list is in the tree already.
            let (entries, leaf_high) = cx.step("C5 content of a covering leaf", |db| {
                let (now, now_high) = db.tables[leaf.table].tree.leaf(cursor);
                let ignored =
                    |rec: Rec| self.breaks(Mutation::RecheckIgnoresAbsent) && db.record(rec).word.absent;
                let mut entries = Tree::entries_in(now, cursor, high);
                entries.retain(|&(_, rec)| !ignored(rec));
                (entries, now_high)
            })?;
            if entries.iter().any(|&(key, rec)| !self.accounted_for(tx, leaf, key, rec)) {
                return Err(Stop::Conflict("a merged key is new in a scanned interval"));
            }
            let covered = high.min(leaf_high);
            if covered >= leaf.high {
                return Ok(());
            }
            cursor = covered + 1;
        }
    }
}
