//! Range scans, and their validation (section 3.6).
//!
//! A scan goes leaf by leaf. It depends on the records found there, live or not, as point reads do, and on no
//! other record coming: for that it remembers the leaf's stamp, which tells whether a key came, and raises
//! the read timestamps of the leaf's part at the commit, which keeps later keys with smaller timestamps out.

use crate::guard::raise;
use crate::read::{conflict_with, trace};
use crate::record::Record;
use crate::rules::Rule;
use crate::table::{CicadaTable, RecordEntry, Tree};
use crate::txn::{Op, RangeRead, RowLocation, Txn};
use crate::worker::Ctx;
use scaledb_base::{Conflict, ConflictKind, Error, Result};
use scaledb_engine::{Order, Range, RowId, TxnKind};
use scaledb_index::btree::{Entry, LeafRead, Position};
use scaledb_kit::Transaction;
use scaledb_memory::Local;
use scaledb_row::RowRef;
use scaledb_sync::atomic::{Ordering, fence};
use std::ops::{Bound, ControlFlow};

/// Records fetched ahead of the one that is read.
const AHEAD: usize = 4;

/// The key of what a scan looks at.
fn key_of<'a>(txn: &'a Txn, place: &'a RowLocation) -> &'a [u8] {
    match place {
        RowLocation::Record(record) => record.key(),
        RowLocation::Own(number) => &txn.keys[txn.writes[*number].key.clone()],
    }
}

/// The lesser of two upper bounds, where `None` is infinity.
fn lesser<'a>(a: Option<&'a [u8]>, b: Option<&'a [u8]>) -> Option<&'a [u8]> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn open_first(local: &Local, tree: &Tree, range: Range<'_>, order: Order, leaf: &mut LeafRead) {
    let at = match (order, range.end) {
        (Order::Forward, _) => Position::At(range.start),
        (Order::Backward, Some(end)) => Position::Before(end),
        (Order::Backward, None) => Position::Last,
    };
    tree.open_leaf(local, at, leaf);
}

/// Opens the leaf after the one that was read; false behind the end of the range.
fn open_next(local: &Local, tree: &Tree, range: Range<'_>, order: Order, leaf: &mut LeafRead) -> bool {
    match order {
        Order::Forward => {
            leaf.high().is_some_and(|high| range.end.is_none_or(|end| high < end))
                && tree.open_next(local, leaf)
        }
        Order::Backward => leaf.low() > range.start && tree.open_previous(local, leaf),
    }
}

/// What is left of a range behind the leaves that were visited: from `mark` on, or, going backward, up to it.
/// A leaf that is opened later may have swallowed visited ones.
fn rest_of<'a>(range: Range<'a>, order: Order, mark: &'a [u8]) -> Range<'a> {
    match order {
        _ if mark.is_empty() => range,
        Order::Forward => Range { start: mark, end: range.end },
        Order::Backward => Range { start: range.start, end: Some(mark) },
    }
}

/// Notes where the open leaf ends.
fn mark_end(order: Order, leaf: &LeafRead, mark: &mut Vec<u8>) {
    mark.clear();
    match order {
        Order::Forward => mark.extend_from_slice(leaf.high().unwrap_or_default()),
        Order::Backward => mark.extend_from_slice(leaf.low()),
    }
}

/// Reads the entries of an open leaf that lie in a range. False if the leaf changed since it was opened.
fn read_entries(local: &Local, tree: &Tree, range: Range<'_>, leaf: &mut LeafRead) -> bool {
    let end = range.end.map_or(Bound::Unbounded, Bound::Excluded);
    tree.read_range(local, leaf, Bound::Included(range.start), end)
}

impl Ctx<'_> {
    /// `scan`, of the present or of a snapshot.
    pub(crate) fn scan(
        &mut self,
        table: &CicadaTable,
        range: Range<'_>,
        order: Order,
        mut f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let tree = table.tree()?;
        if range.end.is_some_and(|end| end <= range.start) {
            return Ok(());
        }
        let mut leaf = std::mem::take(&mut self.txn.leaf);
        let mut candidates = std::mem::take(&mut self.txn.candidates);
        let result = self.scan_leaves(table, tree, (range, order), &mut leaf, &mut candidates, &mut f);
        self.txn.leaf = leaf;
        self.txn.candidates = candidates;
        result
    }

    fn scan_leaves(
        &mut self,
        table: &CicadaTable,
        tree: &Tree,
        (range, order): (Range<'_>, Order),
        leaf: &mut LeafRead,
        candidates: &mut Vec<RowLocation>,
        f: &mut impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let tracks = matches!(self.txn.kind, TxnKind::ReadWrite | TxnKind::ReadOnly);
        open_first(self.local, tree, range, order, leaf);
        let mut mark = Vec::new();
        loop {
            let rest = rest_of(range, order, &mark);
            if !read_entries(self.local, tree, rest, leaf) {
                open_first(self.local, tree, rest, order, leaf);
                continue;
            }
            let low = rest.start.max(leaf.low());
            let high = lesser(rest.end, leaf.high());
            candidates.clear();
            // SAFETY: the tree held them in this activity.
            let record = |&raw: &u64| RowLocation::Record(unsafe { Record::from_raw(raw) });
            candidates.extend(leaf.values().iter().map(record));
            self.add_own(table, low, high, candidates);
            debug_assert!(
                candidates.is_sorted_by(|a, b| key_of(self.txn, a) <= key_of(self.txn, b)),
                "keys ascend"
            );
            if order == Order::Backward {
                candidates.reverse();
            }
            let seen = self.txn.seen.len();
            let stop = self.visit(table, candidates, f)?;
            if tracks {
                // the interval ends where the caller stopped
                let txn = &mut *self.txn;
                let last = stop.map(|number| key_of(txn, &candidates[number]).to_vec());
                let (low, high) = match (last, order) {
                    (None, _) => (txn.keep_key(low), high.map(|h| txn.keep_key(h))),
                    // the key behind `last` is `last` and a zero byte
                    (Some(mut last), Order::Forward) => {
                        last.push(0);
                        (txn.keep_key(low), Some(txn.keep_key(&last)))
                    }
                    (Some(last), Order::Backward) => (txn.keep_key(&last), high.map(|h| txn.keep_key(h))),
                };
                if order == Order::Backward {
                    txn.seen[seen..].reverse();
                }
                let seen = seen..txn.seen.len();
                let (stamp, part) = (leaf.stamp(), leaf.part());
                txn.ranges.push(RangeRead { table: table.id, stamp, part, low, high, seen });
            }
            mark_end(order, leaf, &mut mark);
            if stop.is_some() || !open_next(self.local, tree, range, order, leaf) {
                return Ok(());
            }
        }
    }

    /// Adds this transaction's own inserts that lie in the interval; keeps the candidates sorted.
    fn add_own(
        &mut self,
        table: &CicadaTable,
        low: &[u8],
        high: Option<&[u8]>,
        candidates: &mut Vec<RowLocation>,
    ) {
        if !self.txn.writes.inserts_into(table.id) {
            return;
        }
        let txn = &*self.txn;
        let found = candidates.len();
        for (number, write) in txn.writes.iter().enumerate() {
            if write.record.is_none() && write.table == table.id && write.op == Op::Insert {
                let key = &txn.keys[write.key.clone()];
                if key >= low && high.is_none_or(|high| key < high) {
                    candidates.push(RowLocation::Own(number));
                }
            }
        }
        if candidates.len() > found {
            let is_own = |place: &RowLocation| matches!(place, RowLocation::Own(_));
            // of one key, an own insert comes last: what the index has is an absent record
            candidates.sort_by(|a, b| key_of(txn, a).cmp(key_of(txn, b)).then(is_own(a).cmp(&is_own(b))));
        }
    }

    /// Reads the candidates in order and hands the live ones to `f`. Returns the number of the one at which
    /// it broke.
    fn visit(
        &mut self,
        table: &CicadaTable,
        candidates: &[RowLocation],
        f: &mut impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<Option<usize>> {
        let base = table.index_of.as_ref().map(|of| self.shared.tables.get(of.base)).transpose()?;
        let home = base.unwrap_or(table);
        let fetch = |place: &RowLocation| {
            if let RowLocation::Record(record) = place {
                Record::prefetch(record.raw());
            }
        };
        candidates.iter().take(AHEAD).for_each(fetch);
        for (number, &candidate) in candidates.iter().enumerate() {
            if let Some(ahead) = candidates.get(number + AHEAD) {
                fetch(ahead);
            }
            if let RowLocation::Record(record) = candidate {
                // obsolete: absent at every timestamp, and an insert of the key meets the guard of the leaf
                if record.is_obsolete() {
                    continue;
                }
                self.txn.seen.push(record.raw());
            }
            let place = match base {
                None => candidate,
                Some(_) => match self.entry_target(table, candidate)? {
                    Some(target) => target,
                    None => continue,
                },
            };
            let Some(row) = self.read_place(home, place)? else {
                self.lost_base(table, home, place)?;
                continue;
            };
            let key = key_of(self.txn, &candidate);
            let view = RowRef::new(home.schema.layout(), self.words(row));
            if f(self.txn.row_id(home.id, place), key, view).is_break() {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Raises the read timestamps of what was scanned. A fence follows.
    pub(crate) fn raise_ranges(&mut self) {
        if !self.shared.config.rules.on(Rule::GuardLeaves) {
            return;
        }
        for range in &self.txn.ranges {
            if let Ok(table) = self.shared.tables.get(range.table) {
                table.leaves.raise(range.part, self.txn.ts);
            }
        }
    }

    /// Whether what was scanned holds no key that was not seen. With `raise`, what is found absent there is
    /// kept absent.
    pub(crate) fn check_ranges(&mut self, first: usize, raise: bool) -> Result<()> {
        if !self.shared.config.rules.on(Rule::CheckLeaves) {
            return Ok(());
        }
        for number in first..self.txn.ranges.len() {
            let range = &self.txn.ranges[number];
            let table = self.shared.tables.get(range.table)?;
            let tree = table.tree()?;
            if tree.is_current(self.local, range.stamp) {
                continue;
            }
            let mut leaf = std::mem::take(&mut self.txn.leaf);
            let result = self.scan_again(table, tree, number, raise, &mut leaf);
            self.txn.leaf = leaf;
            self.txn.latest = self.txn.latest.max(result?);
        }
        Ok(())
    }

    /// Returns the latest commit that took a row out of the range, of those that were not read.
    fn scan_again(
        &self,
        table: &CicadaTable,
        tree: &Tree,
        number: usize,
        raising: bool,
        leaf: &mut LeafRead,
    ) -> Result<u64> {
        let mut latest = 0;
        let read = &self.txn.ranges[number];
        let keys = &self.txn.keys;
        let range = Range { start: &keys[read.low.clone()], end: read.high.clone().map(|h| &keys[h]) };
        let seen = &self.txn.seen[read.seen.clone()];
        let mut cursor = 0;
        tree.open_leaf(self.local, Position::At(range.start), leaf);
        let mut mark = Vec::new();
        loop {
            let rest = rest_of(range, Order::Forward, &mark);
            if !read_entries(self.local, tree, rest, leaf) {
                tree.open_leaf(self.local, Position::At(rest.start), leaf);
                continue;
            }
            for &raw in leaf.values() {
                // SAFETY: the tree held it in this activity.
                let record = unsafe { Record::from_raw(raw) };
                if !was_seen(seen, &mut cursor, raw) && !self.is_own_record(record) {
                    latest = latest.max(self.check_newcomer(table, record, raising)?);
                }
            }
            mark_end(Order::Forward, leaf, &mut mark);
            if !open_next(self.local, tree, range, Order::Forward, leaf) {
                return Ok(latest);
            }
        }
    }

    /// A record that came to a leaf after it was scanned: it must be absent at this transaction's timestamp,
    /// and stay so. Returns the commit that took its row away.
    fn check_newcomer(&self, table: &CicadaTable, record: Record, raising: bool) -> Result<u64> {
        let visible = self.see(table, record)?;
        let phantom = || {
            // SAFETY: seen in this transaction.
            let seen = unsafe { record.wts_of(visible.version) };
            conflict_with(ConflictKind::RangePhantom, table, record, seen.max(record.later(self.txn.ts)))
        };
        if visible.live {
            return Err(phantom());
        }
        if raising && visible.version != Record::OBSOLETE {
            // SAFETY: seen in this transaction.
            let raised = raise(unsafe { record.rts_of(visible.version) }, self.txn.ts);
            fence(Ordering::SeqCst);
            let again = self.see(table, record)?;
            if !raised || again.version != visible.version {
                return Err(phantom());
            }
        }
        // SAFETY: seen in this transaction.
        Ok(unsafe { record.wts_of(visible.version) })
    }

    /// Whether a record is new by this commit.
    fn is_own_record(&self, record: Record) -> bool {
        self.txn.creator_of(self.shared.hasher.hash(record.key()), record).is_some()
    }

    /// Puts new records of one table, which stand sorted, into its tree. Calls `existing` with the position
    /// and the record of each key that is there.
    pub(crate) fn insert_in_tree(
        &mut self,
        tree: &Tree,
        sorted: &[u64],
        existing: impl FnMut(usize, u64),
    ) -> Result<()> {
        // SAFETY: records are retired after they were taken out of the tree.
        unsafe { tree.insert_batch(self.local, self.shared.needed_after(), sorted, existing) }.map(|_| ())
    }

    /// Whether nobody with a larger timestamp has scanned the leaves of these new records, which stand
    /// sorted and are in the tree.
    pub(crate) fn check_leaf_guards(&mut self, table: &CicadaTable, sorted: &[u64]) -> Result<()> {
        let Some(tree) = &table.tree else { return Ok(()) };
        let mut leaf = std::mem::take(&mut self.txn.leaf);
        let mut open = false;
        let mut late = None;
        let inherit = self.shared.config.rules.on(Rule::InheritGuards);
        let needed_after = if inherit { self.shared.needed_after() } else { u64::MAX };
        for &raw in sorted {
            // SAFETY: a record of this commit, in the tree.
            let key = unsafe { RecordEntry::key(raw) };
            if open && leaf.covers(key) {
                continue;
            }
            tree.open_leaf(self.local, Position::At(key), &mut leaf);
            open = true;
            let rts = table.leaves.rts_of_leaf(&leaf, needed_after);
            if rts > self.txn.ts {
                let (kind, with) = (ConflictKind::RangePhantom, trace(rts));
                late = Some(Error::from(Conflict { kind, table: table.id, key: key.into(), with }));
                break;
            }
        }
        self.txn.leaf = leaf;
        late.map_or(Ok(()), Err)
    }
}

/// Whether a record is among those that a scan saw; they stand in key order, and so do the calls, mostly.
fn was_seen(seen: &[u64], cursor: &mut usize, raw: u64) -> bool {
    match seen[*cursor..].iter().position(|&s| s == raw) {
        Some(ahead) => {
            *cursor += ahead + 1;
            true
        }
        None => seen[..*cursor].contains(&raw),
    }
}
