//! Range scans, and their validation.
//!
//! A scan goes leaf by leaf: header, cells, content, and then the pending lists of those who have unmerged
//! entries in the leaf's parts (*repair*). What it depends on is an interval of keys, the records found in
//! it, and, so that the check is cheap when nothing happened, the leaf's stamp and the cells' seqs.

use crate::lookahead::Lookahead;
use crate::read::conflict;
use crate::record::Record;
use crate::rules::Rule;
use crate::table::{AccTable, RecordEntry, Tree};
use crate::tune::{Timer, Visits, is_timed, repaired};
use crate::txn::{Candidate, Op, RangeRead, RowLocation, Txn};
use crate::worker::Ctx;
use scaledb_base::{ConflictKind, Result};
use scaledb_engine::{Order, Range, RowId};
use scaledb_index::btree::{Entry, LeafRead, Position};
use scaledb_index::phantomlet::{CellId, Owners};
use scaledb_kit::Transaction;
use scaledb_memory::Local;
use scaledb_row::{Projection, RowRef};
use scaledb_sync::atomic::Ordering;
use smallvec::SmallVec;
use std::ops::{Bound, ControlFlow};

/// The cells of a leaf that count unmerged entries.
type Unmerged = SmallVec<[(CellId, Owners); 4]>;

impl Candidate {
    /// # Safety
    /// `raw` is a record that an index held in this activity.
    unsafe fn record(raw: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(RowLocation::Record(unsafe { Record::from_raw(raw) }))
    }

    fn key<'a>(&'a self, txn: &'a Txn) -> &'a [u8] {
        match &self.0 {
            RowLocation::Record(record) => record.key(),
            RowLocation::Own(number) => &txn.keys[txn.writes[*number].key.clone()],
        }
    }

    /// Copies the key, and `suffix` behind it.
    fn keep_key(self, txn: &mut Txn, suffix: &[u8]) -> std::ops::Range<usize> {
        let start = txn.keys.len();
        match self.0 {
            RowLocation::Record(record) => txn.keys.extend_from_slice(record.key()),
            RowLocation::Own(number) => txn.keys.extend_from_within(txn.writes[number].key.clone()),
        }
        txn.keys.extend_from_slice(suffix);
        start..txn.keys.len()
    }
}

/// The lesser of two upper bounds, where `None` is infinity.
fn lesser<'a>(a: Option<&'a [u8]>, b: Option<&'a [u8]>) -> Option<&'a [u8]> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

pub(crate) fn open_first(local: &Local, tree: &Tree, range: Range<'_>, order: Order, leaf: &mut LeafRead) {
    let at = match (order, range.end) {
        (Order::Forward, _) => Position::At(range.start),
        (Order::Backward, Some(end)) => Position::Before(end),
        (Order::Backward, None) => Position::Last,
    };
    tree.open_leaf(local, at, leaf);
}

/// Opens the leaf after the one that was read; false behind the end of the range.
pub(crate) fn open_next(
    local: &Local,
    tree: &Tree,
    range: Range<'_>,
    order: Order,
    leaf: &mut LeafRead,
) -> bool {
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
pub(crate) fn rest_of<'a>(range: Range<'a>, order: Order, mark: &'a [u8]) -> Range<'a> {
    match order {
        _ if mark.is_empty() => range,
        Order::Forward => Range { start: mark, end: range.end },
        Order::Backward => Range { start: range.start, end: Some(mark) },
    }
}

/// Notes where the open leaf ends.
pub(crate) fn mark_end(order: Order, leaf: &LeafRead, mark: &mut Vec<u8>) {
    mark.clear();
    match order {
        Order::Forward => mark.extend_from_slice(leaf.high().unwrap_or_default()),
        Order::Backward => mark.extend_from_slice(leaf.low()),
    }
}

/// Reads the entries of the open leaf within the range; false if the leaf has changed since it was opened.
pub(crate) fn read_entries(local: &Local, tree: &Tree, range: Range<'_>, leaf: &mut LeafRead) -> bool {
    tree.read_range(
        local,
        leaf,
        Bound::Included(range.start),
        range.end.map_or(Bound::Unbounded, Bound::Excluded),
    )
}

/// The records of other candidates with the key of candidate `number`: one worker may have inserted the key into the
/// tree and another into its list, until one of them removes its own.
fn same_key(candidates: &[Candidate], number: usize) -> impl Iterator<Item = Record> {
    let key = candidates[number].record_key();
    let same = move |c: &&Candidate| c.record_key() == key;
    let before = candidates[..number].iter().rev().take_while(same);
    before.chain(candidates[number + 1..].iter().take_while(same)).filter_map(|c| match c.0 {
        RowLocation::Record(record) => Some(record),
        RowLocation::Own(_) => None,
    })
}

/// Whether a record is among those that a scan saw. Both the list and most sequences of calls are in key order.
fn was_seen(seen: &[u64], cursor: &mut usize, raw: u64) -> bool {
    match seen[*cursor..].iter().position(|&s| s == raw) {
        Some(ahead) => {
            *cursor += ahead + 1;
            true
        }
        None => seen[..*cursor].contains(&raw),
    }
}

impl Ctx<'_> {
    /// Read, scan (2): calls `f` with the cells that speak for an open leaf: its own part's, and those of
    /// inherited parts that some lane may still have posted to.
    fn cells_of(&self, table: &AccTable, leaf: &LeafRead, mut f: impl FnMut(CellId)) {
        f(table.phantomlet.cell_of(leaf.part()));
        if !self.shared.config.rules.on(Rule::Inherit) {
            return;
        }
        let needed_after = table.needed_after();
        if leaf.inherit_all().is_some_and(|generation| generation > needed_after) {
            (0..table.phantomlet.cells() as u32).for_each(|c| f(CellId(c)));
            return;
        }
        for &(part, generation) in leaf.inherited() {
            if generation > needed_after {
                f(table.phantomlet.cell_of(part));
            }
        }
    }

    /// `scan` of a transaction that reads the current state.
    pub(crate) fn scan(
        &mut self,
        table: &AccTable,
        range: Range<'_>,
        order: Order,
        cols: &Projection,
        mut f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let tree = table.tree()?;
        if range.end.is_some_and(|end| end <= range.start) {
            return Ok(());
        }
        let mut leaf = std::mem::take(&mut self.txn.leaf);
        let mut candidates = std::mem::take(&mut self.txn.candidates);
        open_first(self.local, tree, range, order, &mut leaf);
        let mut mark = Vec::new();
        let result = loop {
            let rest = rest_of(range, order, &mark);
            let (unmerged, cells) = self.read_leaf(table, tree, rest, order, &mut leaf);
            let low = rest.start.max(leaf.low());
            let high = lesser(rest.end, leaf.high());
            candidates.clear();
            // SAFETY: the tree held them in this activity.
            candidates.extend(leaf.values().iter().map(|&raw| unsafe { Candidate::record(raw) }));
            self.add_unmerged(table, &unmerged, low, high, &mut candidates);
            if !unmerged.is_empty() && !tree.is_current(self.local, leaf.stamp()) {
                // An entry that was merged after the leaf was read and before the lists were was in neither: the leaf
                // is read again before its rows are handed out. (Validation would fail.)
                self.txn.cells.truncate(cells.start);
                open_first(self.local, tree, rest_of(range, order, &mark), order, &mut leaf);
                continue;
            }
            if order == Order::Backward {
                candidates.reverse();
            }
            let seen = self.txn.seen.len();
            let stop = match self.visit(table, &candidates, cols, &mut f) {
                Ok(stop) => stop,
                Err(error) => break Err(error),
            };
            // the interval ends where the caller stopped
            let txn = &mut *self.txn;
            let (low, high) = match (stop, order) {
                (None, _) => (txn.keep_key(low), high.map(|h| txn.keep_key(h))),
                // the key behind `last` is `last` and a zero byte
                (Some(last), Order::Forward) => {
                    (txn.keep_key(low), Some(candidates[last].keep_key(txn, &[0])))
                }
                (Some(last), Order::Backward) => {
                    (candidates[last].keep_key(txn, &[]), high.map(|h| txn.keep_key(h)))
                }
            };
            if order == Order::Backward {
                txn.seen[seen..].reverse();
            }
            let seen = seen..txn.seen.len();
            txn.ranges.push(RangeRead { table: table.id, stamp: leaf.stamp(), cells, low, high, seen });
            mark_end(order, &leaf, &mut mark);
            if stop.is_some() || !open_next(self.local, tree, range, order, &mut leaf) {
                break Ok(());
            }
        };
        self.txn.leaf = leaf;
        self.txn.candidates = candidates;
        result
    }

    /// Read, scan (1) to (3): cells, then content of the open leaf, which is opened again until nothing
    /// moves in between. Returns the cells that count unmerged entries, and where in `Txn::cells` all are
    /// noted.
    fn read_leaf(
        &mut self,
        table: &AccTable,
        tree: &Tree,
        range: Range<'_>,
        order: Order,
        leaf: &mut LeafRead,
    ) -> (Unmerged, std::ops::Range<usize>) {
        let mut cells = std::mem::take(&mut self.txn.cells);
        let start = cells.len();
        let unmerged = loop {
            let mut unmerged = Unmerged::new();
            self.cells_of(table, leaf, |cell| {
                let state = table.phantomlet.read(cell);
                cells.push((cell, state.seq));
                if state.count > 0 {
                    unmerged.push((cell, state.owners));
                }
            });
            if read_entries(self.local, tree, range, leaf) {
                break unmerged;
            }
            cells.truncate(start);
            open_first(self.local, tree, range, order, leaf);
        };
        let noted = start..cells.len();
        if noted.len() > 1 {
            self.state.note_inherited(table.id);
        }
        self.txn.cells = cells;
        (unmerged, noted)
    }

    /// Read, scan (4): adds the pending records of the leaf's parts, and this transaction's own inserts,
    /// that lie in the interval; keeps the candidates sorted.
    fn add_unmerged(
        &mut self,
        table: &AccTable,
        unmerged: &[(CellId, Owners)],
        low: &[u8],
        high: Option<&[u8]>,
        candidates: &mut Vec<Candidate>,
    ) {
        let merged = candidates.len();
        let mut visits = SmallVec::<[(&Visits, u64); 4]>::new();
        let timed = !unmerged.is_empty() && is_timed(self.state.until_chores);
        let timer = timed.then(|| Timer::start(&self.shared.clock));
        let within = |key: &[u8]| key >= low && high.is_none_or(|high| key < high);
        if self.shared.config.rules.on(Rule::Repair) {
            let mut repaired = false;
            for &(cell, owners) in unmerged {
                for theirs in owners.iter().filter_map(|owner| table.of_worker(owner)) {
                    let mut visited = 0;
                    theirs.list.for_each_of(cell, u64::MAX, |record| {
                        visited += 1;
                        if within(record.key()) {
                            candidates.push(Candidate(RowLocation::Record(record)));
                        }
                    });
                    if visited > 0 {
                        // statistics, for the tuning of the batch
                        theirs.visits.entries.fetch_add(visited, Ordering::Relaxed);
                        if !std::mem::replace(&mut repaired, true) {
                            theirs.visits.leaves.fetch_add(1, Ordering::Relaxed);
                        }
                        if timed {
                            visits.push((&theirs.visits, visited));
                        }
                    }
                }
            }
        }
        if self.txn.writes.inserts_into(table.id) {
            for (number, write) in self.txn.writes.iter().enumerate() {
                let own = write.record.is_none() && write.table == table.id && write.op == Op::Insert;
                if own && within(&self.txn.keys[write.key.clone()]) {
                    candidates.push(Candidate(RowLocation::Own(number)));
                }
            }
        }
        if candidates.len() > merged {
            let txn = &*self.txn;
            // of one key, an own insert comes last: what the index has is an absent record
            candidates.sort_by(|a, b| {
                a.key(txn)
                    .cmp(b.key(txn))
                    .then(matches!(a.0, RowLocation::Own(_)).cmp(&matches!(b.0, RowLocation::Own(_))))
            });
            candidates.dedup_by(|a, b| match (a.0, b.0) {
                (RowLocation::Record(a), RowLocation::Record(b)) => a == b,
                _ => false,
            });
        }
        let txn = &*self.txn;
        debug_assert!(candidates.is_sorted_by(|a, b| a.key(txn) <= b.key(txn)), "keys ascend");
        if let Some(timer) = timer {
            repaired(visits.iter().copied(), timer.ticks(&self.shared.clock));
        }
    }

    /// Read, scan (5): reads the candidates in order and hands the live ones to `f`. Returns the number of
    /// the one at which it broke.
    fn visit(
        &mut self,
        table: &AccTable,
        candidates: &[Candidate],
        cols: &Projection,
        f: &mut impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<Option<usize>> {
        let base = table.index_of.as_ref().map(|of| self.shared.tables.get(of.base)).transpose()?;
        let ahead = Lookahead::new(table, base, cols);
        let mut found_again = None;
        for (number, &candidate) in candidates.iter().enumerate() {
            ahead.reach(number, |place| candidates.get(place)?.in_table());
            let mut place = candidate.0;
            let found = loop {
                if let RowLocation::Record(record) = place {
                    self.txn.seen.push(record.raw());
                }
                let read = match base {
                    None => self.read_place(table, place, cols)?.map(|row| row.map(|words| (place, words))),
                    Some(base) => self.read_through(table, base, place, cols)?,
                };
                match read {
                    Ok(found) => break found,
                    // an obsolete record: the key may have another one by now
                    Err(()) => {
                        let key = candidate.record_key();
                        let hash = self.shared.hasher.hash(key);
                        match table.find(self.local, hash, key, &mut self.txn.finger).record {
                            // a placeholder that was removed because of a record that is a candidate itself
                            Some(record) if same_key(candidates, number).any(|c| c == record) => break None,
                            Some(record) if found_again == Some(RowLocation::Record(record)) => break None,
                            Some(record) => place = RowLocation::Record(record),
                            None => break None,
                        }
                    }
                }
            };
            if place != candidate.0 {
                found_again = Some(place);
            }
            let Some((row, words)) = found else { continue };
            let home = base.unwrap_or(table);
            let layout = home.schema.layout();
            let key = candidate.key(self.txn);
            if f(self.txn.row_id(home.id, row), key, RowRef::new(layout, &self.txn.row[..words])).is_break() {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Reads the base row of an index entry. Returns where it is and its length.
    fn read_through(
        &mut self,
        index: &AccTable,
        base: &AccTable,
        entry: RowLocation,
        cols: &Projection,
    ) -> Result<std::result::Result<Option<(RowLocation, usize)>, ()>> {
        let target = match self.entry_target(index, entry)? {
            Ok(Some(target)) => target,
            Ok(None) => return Ok(Ok(None)),
            Err(()) => return Ok(Err(())),
        };
        match (self.read_place(base, target, cols)?, target) {
            (Ok(Some(words)), _) => Ok(Ok(Some((target, words)))),
            // the entry was live, so the two reads are of different states
            (_, RowLocation::Record(record)) => Err(conflict(ConflictKind::ReadChanged, base, record)),
            (_, RowLocation::Own(_)) => Ok(Ok(None)),
        }
    }

    /// Step C5 for a scanned leaf: nothing was posted in its parts and its keys are the same; or else the
    /// interval, scanned again, holds no record that was not seen.
    ///
    /// The second scan reads cells and lists again, because a leaf that split in between has successors
    /// whose parts the first scan did not know. It runs after the timestamp was taken, so that it sees the
    /// posts of every commit with a smaller one.
    pub(crate) fn phantom(&mut self, number: usize) -> Result<Option<Record>> {
        let rules = self.shared.config.rules;
        let read = &self.txn.ranges[number];
        let table = self.shared.tables.get(read.table)?;
        let tree = table.tree()?;
        let same_cells = !rules.on(Rule::ValidateCells)
            || self.txn.cells[read.cells.clone()].iter().all(|&(cell, seen)| {
                let own = self.txn.posts.iter().find(|p| p.0 == table.id && p.1 == cell).map_or(0, |p| p.2);
                table.phantomlet.seq(cell) == seen + own
            });
        let same_leaf = !rules.on(Rule::ValidateLeaves) || tree.is_current(self.local, read.stamp);
        if same_cells && same_leaf {
            return Ok(None);
        }
        let mut leaf = std::mem::take(&mut self.txn.leaf);
        let phantom = self.scan_again(table, tree, number, &mut leaf);
        self.txn.leaf = leaf;
        Ok(phantom)
    }

    fn scan_again(
        &self,
        table: &AccTable,
        tree: &Tree,
        number: usize,
        leaf: &mut LeafRead,
    ) -> Option<Record> {
        let read = &self.txn.ranges[number];
        // posts of this commit itself are no phantoms
        let own = self.txn.writes.iter().zip(&self.txn.held).filter(|(write, _)| write.table == table.id);
        let own_before = own.filter_map(|(_, held)| held.item).map(|item| item.0).min().unwrap_or(u64::MAX);
        let keys = &self.txn.keys;
        let range = Range { start: &keys[read.low.clone()], end: read.high.clone().map(|h| &keys[h]) };
        let seen = &self.txn.seen[read.seen.clone()];
        let mut cursor = 0;
        let mut is_known =
            |record: Record| was_seen(seen, &mut cursor, record.raw()) || self.is_own_placeholder(record);
        tree.open_leaf(self.local, Position::At(range.start), leaf);
        loop {
            let mut unmerged = Unmerged::new();
            self.cells_of(table, leaf, |cell| {
                let state = table.phantomlet.read(cell);
                if state.count > 0 {
                    unmerged.push((cell, state.owners));
                }
            });
            let mut steady = read_entries(self.local, tree, range, leaf);
            // SAFETY: the tree held them in this activity.
            let mut records = leaf.values().iter().map(|&raw| unsafe { Record::from_raw(raw) });
            if steady && let Some(record) = records.find(|&record| !is_known(record)) {
                return Some(record);
            }
            let mut phantom = None;
            if !self.shared.config.rules.on(Rule::RecheckLists) {
                unmerged.clear();
            }
            for &(cell, owners) in &unmerged {
                table.for_each_pending(cell, owners, (self.local.id(), own_before), |record| {
                    let key = record.key();
                    if range.contains(key) && leaf.covers(key) && !is_known(record) {
                        phantom = Some(record);
                    }
                });
            }
            if phantom.is_some() {
                return phantom;
            }
            // an entry that was merged meanwhile was in neither: read again
            steady &= unmerged.is_empty() || tree.is_current(self.local, leaf.stamp());
            if !steady {
                let low = leaf.low().max(range.start).to_vec();
                tree.open_leaf(self.local, Position::At(&low), leaf);
            } else if !open_next(self.local, tree, range, Order::Forward, leaf) {
                return None;
            }
        }
    }

    /// Whether a record is a placeholder that this commit has made.
    fn is_own_placeholder(&self, record: Record) -> bool {
        self.has_created(self.shared.hasher.hash(record.key()), record)
    }
}

impl Candidate {
    /// Its record, if it is not of this transaction alone.
    fn in_table(self) -> Option<Record> {
        if let RowLocation::Record(record) = self.0 { Some(record) } else { None }
    }

    /// The key of a candidate that is a record.
    fn record_key<'a>(self) -> &'a [u8] {
        match self.0 {
            // SAFETY: found in an index in this activity.
            RowLocation::Record(record) => unsafe { RecordEntry::key(record.raw()) },
            RowLocation::Own(_) => &[],
        }
    }
}
