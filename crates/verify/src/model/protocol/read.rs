//! Point reads and scans of read-write transactions.

use super::rules::{Mutation, Owners, PointIndex};
use super::state::{Cell, Item, ROWS, TableId, Word};
use super::tx::{ScannedLeaf, Tx};
use super::{Protocol, Taker};
use crate::model::explorer::Steps;
use crate::model::history::Row;
use crate::model::program::Key;
use crate::model::tree::{Leaf, Part, Rec, Tree};

/// What a scan reads first of a leaf.
#[derive(Clone, Hash, Debug)]
pub(super) struct Header {
    pub id: u8,
    pub version: u8,
    pub high: Key,
    pub cells: Vec<u8>,
}

impl Protocol {
    pub(super) fn has_point_index(&self) -> bool {
        self.config.point_index != PointIndex::TreeOnly
    }

    /// Looks a key up: the bounded indexlet, then the tree; the resident hash alone; the tree alone. An obsolete
    /// record is about to be unlinked, so the look-up is repeated until it is gone.
    pub(super) fn find(&self, cx: &mut Taker<'_>, table: TableId, key: Key) -> Steps<Option<Rec>> {
        if self.has_point_index() {
            let hit = self.find_in_point(cx, table, key)?;
            if hit.is_some() || matches!(self.config.point_index, PointIndex::Resident { .. }) {
                return Ok(hit);
            }
        }
        self.find_in_tree(cx, table, key)
    }

    pub(super) fn find_in_point(&self, cx: &mut Taker<'_>, table: TableId, key: Key) -> Steps<Option<Rec>> {
        cx.wait("probe the point index", |db| {
            let hit = db.tables[table].probe(key);
            hit.is_none_or(|rec| !db.record(rec).word.obsolete).then_some(hit)
        })
    }

    pub(super) fn find_in_tree(&self, cx: &mut Taker<'_>, table: TableId, key: Key) -> Steps<Option<Rec>> {
        cx.wait("look up in the tree", |db| {
            let hit = db.tables[table].tree.get(key);
            hit.is_none_or(|rec| !db.record(rec).word.obsolete).then_some(hit)
        })
    }

    /// Copies a record's row between two looks at its word; waits while it is locked. `None`: the record is obsolete.
    pub(super) fn read_record(&self, cx: &mut Taker<'_>, rec: Rec) -> Steps<Option<(Word, Row)>> {
        loop {
            if !self.config.fine {
                let (word, row) = cx.wait("read record", |db| {
                    let record = db.record(rec);
                    record.word.locker.is_none().then_some((record.word, record.row))
                })?;
                return Ok((!word.obsolete).then_some((word, row)));
            }
            let word =
                cx.wait("read record: word", |db| Some(db.record(rec).word).filter(|w| w.locker.is_none()))?;
            if word.obsolete {
                return Ok(None);
            }
            let row = cx.step("read record: copy row", |db| db.record(rec).row)?;
            if self.breaks(Mutation::NoWordRecheck)
                || cx.step("read record: word again", |db| db.record(rec).word)? == word
            {
                return Ok(Some((word, row)));
            }
        }
    }

    /// A point read; whatever it finds goes into the read_set, and so does finding nothing.
    pub(super) fn point_read(
        &self,
        cx: &mut Taker<'_>,
        tx: &mut Tx,
        table: TableId,
        key: Key,
    ) -> Steps<Option<(Rec, Word, Row)>> {
        loop {
            let Some(rec) = self.find(cx, table, key)? else {
                tx.absent_reads.push((table, key));
                return Ok(None);
            };
            if let Some((word, row)) = self.read_record(cx, rec)? {
                tx.read_set.push((rec, word));
                return Ok(Some((rec, word, row)));
            }
        }
    }

    /// A scan, leaf by leaf; returns the live rows.
    pub(super) fn scan(
        &self,
        cx: &mut Taker<'_>,
        tx: &mut Tx,
        table: TableId,
        low: Key,
        high: Key,
    ) -> Steps<Vec<(Key, Row)>> {
        let mut rows = Vec::new();
        let mut cursor = low;
        loop {
            let leaf_high = self.scan_leaf(cx, tx, table, cursor, high, &mut rows)?;
            if leaf_high >= high {
                return Ok(rows);
            }
            cursor = leaf_high + 1;
        }
    }

    /// Steps (1) to (6) of a scan for the leaf that covers `low`; returns the leaf's high fence.
    fn scan_leaf(
        &self,
        cx: &mut Taker<'_>,
        tx: &mut Tx,
        table: TableId,
        low: Key,
        scan_high: Key,
        rows: &mut Vec<(Key, Row)>,
    ) -> Steps<Key> {
        let me = tx.me;
        let (header, high, cells, mut found) = loop {
            let header = self.read_header(cx, table, low)?;
            let high = header.high.min(scan_high);
            let mut cells = Vec::new();
            for &cell in &header.cells {
                cells.push((cell, self.read_cell(cx, me, cell)?));
            }
            let content = cx.step("scan: content", |db| {
                let leaf = db.tables[table].tree.leaf(low).0;
                let moved = (leaf.id, leaf.version) != (header.id, header.version);
                (!moved).then(|| Tree::entries_in(leaf, low, high))
            })?;
            if let Some(content) = content {
                break (header, high, cells, content);
            }
        };
        // Repair: what is not merged yet.
        let mut lanes: Vec<usize> = cells.iter().flat_map(|(_, (_, lanes))| lanes.clone()).collect();
        lanes.sort_unstable();
        lanes.dedup();
        if self.breaks(Mutation::NoConsult) {
            lanes.clear();
        }
        if !self.breaks(Mutation::NoOwnPending) {
            lanes.push(me);
        }
        for lane in lanes {
            found
                .extend(self.pending_in(cx, lane, table, low, high)?.iter().map(|item| (item.key, item.rec)));
        }
        found.sort_unstable();
        found.dedup();
        // Resolve every key to its record.
        let mut keys = Vec::new();
        for (key, rec) in found {
            let mut seen = self.read_record(cx, rec)?.map(|(word, row)| (rec, word, row));
            match seen {
                Some((rec, word, _)) => {
                    let redundant = !word.absent && self.breaks(Mutation::LiveEntryNotValidated);
                    let skip = redundant || self.breaks(Mutation::EntryNotValidated);
                    if table == ROWS || !skip {
                        tx.read_set.push((rec, word));
                    }
                }
                None if self.breaks(Mutation::ObsoleteCountsAsSeen) => keys.push(key),
                None => seen = self.point_read(cx, tx, table, key)?,
            }
            if let Some((_, word, row)) = seen {
                keys.push(key);
                if !word.absent {
                    rows.push((key, row));
                }
            }
        }
        let cells = cells.into_iter().map(|(cell, (seq, _))| (cell, seq)).collect();
        tx.range_set.push(ScannedLeaf {
            table,
            id: header.id,
            version: header.version,
            low,
            high,
            cells,
            keys,
        });
        Ok(header.high)
    }

    /// The header of the leaf that covers `key`: identity, fence, and the cells that may count keys of it: its own
    /// partition's, and those inherited at a generation newer than that of a commit in flight or of the table's lists.
    pub(super) fn read_header(&self, cx: &mut Taker<'_>, table: TableId, key: Key) -> Steps<Header> {
        let cells = |leaf: &Leaf, oldest_pin| {
            let needed = |&&(_, generation): &&(Part, u8)| {
                generation > oldest_pin && !self.breaks(Mutation::ScanIgnoresInherited)
            };
            let inherited = leaf.inherited.iter().filter(needed).map(|&(part, _)| part);
            let mut cells: Vec<u8> =
                std::iter::once(leaf.part).chain(inherited).map(|part| part % self.config.cells).collect();
            cells.sort_unstable();
            cells.dedup();
            cells
        };
        if !self.config.fine {
            return cx.step("scan: header, pins", |db| {
                let (leaf, high) = db.tables[table].tree.leaf(key);
                Header {
                    id: leaf.id,
                    version: leaf.version,
                    high,
                    cells: cells(leaf, db.oldest_pin(&self.config, table)),
                }
            });
        }
        let (part, inherited, mut header) = cx.step("scan: header", |db| {
            let (leaf, high) = db.tables[table].tree.leaf(key);
            (
                leaf.part,
                leaf.inherited.clone(),
                Header { id: leaf.id, version: leaf.version, high, cells: vec![] },
            )
        })?;
        let mut oldest_pin = u8::MAX;
        for lists in [false, true] {
            for lane in 0..self.program.workers.len() {
                let pin = match lists != self.breaks(Mutation::ListsBeforeFlights) {
                    false => cx.step("scan: commit in flight of a lane", |db| db.lanes[lane].flight)?,
                    true => cx.step("scan: list of a lane", |db| {
                        Some(db.lanes[lane].oldest_item(&self.config, table))
                    })?,
                };
                oldest_pin = oldest_pin.min(pin.unwrap_or(u8::MAX));
            }
        }
        let leaf =
            Leaf { id: header.id, version: header.version, low: key, entries: vec![], part, inherited };
        header.cells = cells(&leaf, oldest_pin);
        Ok(header)
    }

    /// Reads a cell: its seq, and the lanes (other than `me`) whose pending lists must be read.
    pub(super) fn read_cell(&self, cx: &mut Taker<'_>, me: usize, cell: u8) -> Steps<(u8, Vec<usize>)> {
        let own = move |items: &[Item]| items.iter().filter(|item| item.cell == cell).count() as u8;
        let lanes = self.program.workers.len();
        let consult = move |now: Cell, own: u8| {
            let by_bits = (0..lanes).filter(|&lane| lane != me && now.owners & (1 << lane) != 0).collect();
            match self.config.owners {
                Owners::Bits => by_bits,
                Owners::CountAndBits if now.count > own => by_bits,
                Owners::CountAndAllLanes if now.count > own => {
                    (0..lanes).filter(|&lane| lane != me).collect()
                }
                Owners::CountAndBits | Owners::CountAndAllLanes => vec![],
            }
        };
        if !self.config.fine {
            return cx.step("scan: cell", |db| {
                let now = db.cells[cell as usize];
                (now.seq, consult(now, own(&db.lanes[me].pending)))
            });
        }
        // Seq first: a post that the count does not show yet must change the seq later.
        let seq = cx.step("scan: seq of the cell", |db| db.cells[cell as usize].seq)?;
        // Count before the own list: a helper may be merging the own lane, and the own items must not be
        // overestimated.
        let now = cx.step("scan: count and owners", |db| db.cells[cell as usize])?;
        let own = cx.step("scan: own items of the cell", |db| own(&db.lanes[me].pending))?;
        Ok((seq, consult(now, own)))
    }

    /// Reads the items of an interval in a lane's pending list.
    pub(super) fn pending_in(
        &self,
        cx: &mut Taker<'_>,
        lane: usize,
        table: TableId,
        low: Key,
        high: Key,
    ) -> Steps<Vec<Item>> {
        cx.step("pending list of a lane", |db| {
            let inside = |item: &&Item| item.table == table && (low..=high).contains(&item.key);
            db.lanes[lane].pending.iter().filter(inside).copied().collect()
        })
    }
}
