//! The commit (sections 3.4 and 3.5), step by step:
//!
//! ```text
//!  L   tell the log; a later timestamp if it is too late    if there is a log
//!  V1  sort the write_set by contention, check early    if transactions have conflicted lately
//!  V2  install pending versions                         new keys: records, hash index, tree
//!  V3  raise the read timestamps of what was read       records, keys without one, leaves
//!  V4  check that what was read is what is visible now, that nobody later has read what is overwritten
//!  V5  settle: pending versions become committed, or aborted; log
//! ```
//!
//! Between V3 and V4, and between V2 and V4, lies Dekker's argument again: a reader raises the read timestamp
//! and then looks whether a version has come; a writer installs the version and then looks at the read
//! timestamp. One of the two sees the other, and gives way if it has to.
//!
//! There is no deadlock: who waits (for a pending version) waits for a smaller timestamp.

use crate::clock::LAST_TICK;
use crate::garbage::{Item, UNSTAMPED};
use crate::gc::remove;
use crate::guard::raise;
use crate::read::{conflict, conflict_with, trace};
use crate::record::{Installed, Record, Stuck, Visible};
use crate::redo;
use crate::rules::Rule;
use crate::table::{CicadaTable, RecordEntry};
use crate::techniques::Technique;
use crate::txn::{Held, Op, Read};
use crate::version::{Status, Version};
use crate::worker::{Ctx, clock_used_up};
use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId, Timestamp};
use scaledb_durability::failed;
use scaledb_index::btree::Entry;
use scaledb_index::indexlet::Inserted;
use scaledb_kit::{Absent, Transaction};
use scaledb_memory::Purpose;
use scaledb_sync::atomic::{Ordering, fence};
use scaledb_sync::hint::Backoff;

/// After so many commits in a row, V1 is left out (section 3.5).
const CALM: u32 = 5;

/// As many writes as V1 sorts: only the most contended ones matter.
const SORTED: usize = 8;

impl Ctx<'_> {
    /// Commits, or changes nothing.
    pub(crate) fn commit(&mut self) -> Result<Timestamp> {
        let ts = Timestamp::from_raw(self.txn.ts);
        if self.txn.kind.is_snapshot() {
            self.txn.depends_on = Timestamp::from_raw(self.txn.ts.saturating_sub(1));
            return Ok(ts);
        }
        self.note_nothings();
        if self.txn.is_read_only() {
            self.raise_reads()?;
            self.check(true)?;
            self.txn.depends_on = self.latest_read();
            return Ok(ts);
        }
        self.enter_log()?;
        if self.shared.domain.is_short() {
            self.local.set_purpose(self.purpose());
        }
        let result = self.validate();
        self.local.set_purpose(Purpose::Growth);
        let ts = Timestamp::from_raw(self.txn.ts);
        match result {
            Ok(()) => {
                self.settle();
                self.txn.depends_on = ts;
            }
            Err(_) => self.abort(),
        }
        if let Some(log) = self.log.as_mut() {
            if result.is_ok() {
                redo::append(log, self.shared, self.txn, ts);
            }
            log.end();
        }
        result.map(|()| ts)
    }

    /// What this commit's memory is for.
    #[cold]
    fn purpose(&self) -> Purpose {
        let words = |op: Op| self.txn.writes.iter().filter(move |w| w.op == op).map(|w| w.image.len() + 8);
        Purpose::of_commit(words(Op::Insert).sum(), words(Op::Update).sum(), words(Op::Delete).count())
    }

    /// Tells the log that a commit with this transaction's timestamp is coming. If the log may have promised a
    /// horizon beyond it, the transaction is postponed: it takes a later timestamp. That is as if it had
    /// begun then, and read in advance what V4 now finds to be still visible, or not.
    fn enter_log(&mut self) -> Result<()> {
        let Some(log) = self.log.as_mut() else { return Ok(()) };
        // may wait for the disk, and fails if the log has
        log.reserve(redo::about(self.txn)).map_err(failed)?;
        let shared = self.shared;
        loop {
            let Some(log) = self.log.as_mut() else { return Ok(()) };
            if log.begin_at(Timestamp::from_raw(self.txn.ts).ticks()) {
                return Ok(());
            }
            let ticks = self.state.clock.advance(shared.clock.now_fenced()).max(log.passed());
            if ticks >= LAST_TICK {
                log.end();
                return Err(clock_used_up());
            }
            self.take_later(ticks)?;
        }
    }

    /// Takes a later timestamp. What the transaction has announced stays, a lower bound, so that nothing of what it has
    /// read is reclaimed; whether all that is still visible is for the caller to find out.
    pub(crate) fn take_later(&mut self, ticks: u64) -> Result<()> {
        if ticks >= LAST_TICK {
            return Err(clock_used_up());
        }
        let id = self.local.id();
        self.shared.horizon.postpone(id, ticks);
        self.state.clock.used(ticks);
        self.txn.ts = Timestamp::new(ticks, id).raw();
        // what was above the old timestamp may be below the new one
        self.txn.reads.iter_mut().for_each(|read| read.later = 0);
        Ok(())
    }

    /// The latest commit that the transaction has seen.
    fn latest_read(&self) -> Timestamp {
        if self.log.is_none() || !self.shared.config.rules.on(Rule::DependOnReads) {
            return Timestamp::ZERO;
        }
        // SAFETY: seen in this transaction.
        let reads = self.txn.reads.iter().map(|read| unsafe { read.record.wts_of(read.seen) });
        Timestamp::from_raw(reads.fold(self.txn.latest, u64::max))
    }

    /// An insert that was deleted again has found its key absent, and that is all that is left of it.
    fn note_nothings(&mut self) {
        let txn = &mut *self.txn;
        for write in txn.writes.iter().filter(|w| w.op == Op::Nothing && w.record.is_none()) {
            let (table, hash, key) = (write.table, write.hash, write.key.clone());
            txn.absents.push(Absent { table, hash, key });
        }
    }

    fn validate(&mut self) -> Result<()> {
        let writes = self.txn.writes.len();
        self.txn.held.clear();
        self.txn.held.resize(writes, Held::default());
        self.sort_by_contention();
        if self.state.calm < CALM && self.shared.config.techniques.on(Technique::CheckEarly) {
            self.check_reads(0, false)?;
        }
        self.install()?;
        self.raise_reads()?;
        self.check(true)
    }

    /// V1: the numbers of the writes to records that exist, those first that were written last.
    fn sort_by_contention(&mut self) {
        let sorts = self.shared.config.techniques.on(Technique::SortByContention);
        let contended = self.state.calm < CALM && sorts;
        let txn = &mut *self.txn;
        txn.order.clear();
        for (number, write) in txn.writes.iter().enumerate() {
            let (Some(record), true) = (write.record, write.op != Op::Nothing) else { continue };
            let mut latest = 0;
            if contended {
                let raw = record.latest().load(Ordering::SeqCst);
                if raw > Record::OBSOLETE {
                    // SAFETY: the newest version of a record that this transaction has seen.
                    latest = unsafe { Version::from_raw(raw) }.wts();
                }
            }
            txn.order.push((u64::MAX - latest, number as u32));
        }
        if contended {
            if txn.order.len() > SORTED {
                txn.order.select_nth_unstable(SORTED);
            }
            let sorted = txn.order.len().min(SORTED);
            txn.order[..sorted].sort_unstable();
        }
    }

    /// V2.
    fn install(&mut self) -> Result<()> {
        for i in 0..self.txn.order.len() {
            let number = self.txn.order[i].1 as usize;
            // an entry of a new row gets its address below
            if self.base_record(number).is_ok() {
                self.install_version(number)?;
            }
        }
        if self.txn.writes.has_inserts() {
            // rows before their index entries, which hold their addresses
            self.insert_records(false)?;
            for i in 0..self.txn.order.len() {
                let number = self.txn.order[i].1 as usize;
                if self.txn.held[number].version.is_none() {
                    self.install_version(number)?;
                }
            }
            self.insert_records(true)?;
        }
        Ok(())
    }

    /// The record that an index entry stands for; `Err` while it has none. Nothing for rows. (A row that was
    /// deleted again has none for ever. That its entry is there still comes from reads that do not belong
    /// together.)
    fn base_record(&self, number: usize) -> std::result::Result<Option<Record>, ()> {
        let write = &self.txn.writes[number];
        match write.base {
            Some(base) if write.op != Op::Delete => self.txn.writes[base].record.ok_or(()).map(Some),
            _ => Ok(None),
        }
    }

    /// Makes the pending version of a write, for its record.
    fn make_version(&mut self, number: usize, record: Record) -> Result<Version> {
        let Ok(base) = self.base_record(number) else {
            let table = self.shared.tables.get(self.txn.writes[number].table)?;
            return Err(conflict(ConflictKind::ReadChanged, table, record));
        };
        let write = &self.txn.writes[number];
        let entry;
        let row = match (base, write.op) {
            (_, Op::Delete) => &[][..],
            (Some(base), _) => {
                entry = [base.raw()];
                &entry[..]
            }
            (None, _) => &self.txn.images[write.image.clone()],
        };
        let version = record.new_version(self.local, row.len())?;
        version.fill(self.txn.ts, row);
        self.txn.held[number].version = Some(version);
        Ok(version)
    }

    /// V2 for a record that exists.
    #[inline]
    fn install_version(&mut self, number: usize) -> Result<()> {
        let record = self.txn.writes[number].record.expect("an existing record");
        let version = self.make_version(number, record)?;
        let installed = record.install(version, self.txn.ts, self.shared.config.rules.on(Rule::LookUp));
        self.txn.held[number].installed = installed != Installed::Not;
        if installed != Installed::Newest {
            let table = self.shared.tables.get(self.txn.writes[number].table)?;
            let ts = record.later(self.txn.ts);
            return Err(conflict_with(ConflictKind::WriteChanged, table, record, ts));
        }
        Ok(())
    }

    /// V2 for keys without a record: of rows, or of index entries.
    fn insert_records(&mut self, entries: bool) -> Result<()> {
        let mut batch = std::mem::take(&mut self.txn.batch);
        batch.clear();
        let result = self.insert_in_hashes(entries, &mut batch);
        let result = result.and_then(|()| {
            if batch.is_empty() {
                return Ok(());
            }
            // SAFETY: records of this commit.
            let key = |raw: u64| unsafe { RecordEntry::key(raw) };
            batch.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
            self.insert_in_trees(&batch)
        });
        self.txn.batch = batch;
        result.and_then(|()| self.check_absent_guards(entries))
    }

    /// Makes the records; collects those that must go into a tree.
    fn insert_in_hashes(&mut self, entries: bool, batch: &mut Vec<(TableId, u64)>) -> Result<()> {
        for number in 0..self.txn.writes.len() {
            let write = &self.txn.writes[number];
            let wanted = write.record.is_none() && write.op == Op::Insert && write.base.is_some() == entries;
            if !wanted {
                continue;
            }
            let (hash, key) = (write.hash, write.key.clone());
            let words = if entries { 1 } else { write.image.len() };
            let table = self.shared.tables.get(write.table)?;
            let capacity = if words <= self.shared.config.inline_words { words } else { 0 };
            let record = Record::create(self.local, &self.txn.keys[key], capacity)?;
            let made = self.make_version(number, record);
            let Ok(version) = made else {
                // SAFETY: made above, in no index.
                unsafe { record.discard(self.local) };
                return made.map(|_| ());
            };
            // pending, so that whoever finds the record waits
            record.latest().store(version.raw(), Ordering::SeqCst);
            if let Some(index) = &table.hash {
                // SAFETY: indexes hold records.
                let eq = |raw: u64| unsafe { RecordEntry::key(raw) } == record.key();
                match index.insert(self.local, hash, record.raw(), eq) {
                    Ok(Inserted::New) => {}
                    Ok(Inserted::Existing(_)) => {
                        self.discard_new(number, record, version);
                        self.take_existing(table, number)?;
                        continue;
                    }
                    Ok(Inserted::Full) => {
                        self.discard_new(number, record, version);
                        return Err(Error::OutOfMemory { budget: self.local.domain().budget() });
                    }
                    Err(error) => {
                        self.discard_new(number, record, version);
                        return Err(error);
                    }
                }
            }
            self.txn.writes[number].record = Some(record);
            self.txn.held[number].created = true;
            if table.tree.is_some() {
                batch.push((table.id, record.raw()));
            }
        }
        Ok(())
    }

    /// Whether no transaction with a larger timestamp has found one of the new keys absent.
    fn check_absent_guards(&self, entries: bool) -> Result<()> {
        if !self.shared.config.rules.on(Rule::GuardAbsent) {
            return Ok(());
        }
        // pairs with the fence after V3: a transaction that found the key absent has raised its guard
        fence(Ordering::SeqCst);
        for (write, held) in self.txn.writes.iter().zip(&self.txn.held) {
            if held.created && write.base.is_some() == entries {
                let table = self.shared.tables.get(write.table)?;
                let rts = table.absent.rts(write.hash);
                if rts > self.txn.ts {
                    let key = self.txn.keys[write.key.clone()].into();
                    let (kind, with) = (ConflictKind::AbsentAppeared, trace(rts));
                    return Err(Conflict { kind, table: table.id, key, with }.into());
                }
            }
        }
        Ok(())
    }

    /// Takes back a record that did not get into an index.
    fn discard_new(&mut self, number: usize, record: Record, version: Version) {
        self.txn.held[number] = Held::default();
        // SAFETY: made by this commit; no index has got them.
        unsafe {
            if !version.is_inlined() {
                version.free(self.local);
            }
            record.discard(self.local);
        }
    }

    /// New records, sorted by table and key, go into their trees.
    fn insert_in_trees(&mut self, batch: &[(TableId, u64)]) -> Result<()> {
        let rules = self.shared.config.rules;
        let mut sorted = Vec::with_capacity(batch.len());
        for group in batch.chunk_by(|a, b| a.0 == b.0) {
            let table = self.shared.tables.get(group[0].0)?;
            let tree = table.tree()?;
            sorted.clear();
            sorted.extend(group.iter().map(|&(_, raw)| raw));
            let mut taken = Vec::new();
            self.insert_in_tree(tree, &sorted, |at, _| taken.push(at))?;
            // where the tree is the only index, it tells who was first
            for &at in &taken {
                // SAFETY: a record of this commit.
                self.lose_to_existing(table, unsafe { Record::from_raw(sorted[at]) })?;
            }
            if !taken.is_empty() {
                taken.sort_unstable();
                let mut at = 0;
                sorted.retain(|_| {
                    at += 1;
                    taken.binary_search(&(at - 1)).is_err()
                });
            }
            if rules.on(Rule::GuardLeaves) {
                // pairs with the fence after V3: a transaction that has scanned the leaf has raised its guard
                fence(Ordering::SeqCst);
                self.check_leaf_guards(table, &sorted)?;
            }
        }
        Ok(())
    }

    /// The tree has another record for the key of one of ours: ours was never found by anybody.
    fn lose_to_existing(&mut self, table: &CicadaTable, record: Record) -> Result<()> {
        let hash = self.shared.hasher.hash(record.key());
        let number = self.txn.creator_of(hash, record).expect("a record of this commit");
        let (record, version) = (self.txn.writes[number].record, self.txn.held[number].version);
        self.txn.writes[number].record = None;
        if let (Some(record), Some(version)) = (record, version) {
            self.discard_new(number, record, version);
        }
        self.take_existing(table, number)
    }

    /// The key of an insert has got a record since it was executed: its row must be absent.
    fn take_existing(&mut self, table: &CicadaTable, number: usize) -> Result<()> {
        let (hash, key) = (self.txn.writes[number].hash, self.txn.writes[number].key.clone());
        let mut backoff = Backoff::new();
        loop {
            // one that is obsolete leaves the index soon; then the next attempt finds the key free
            if let Some(record) = table.find(self.local, hash, &self.txn.keys[key.clone()])
                && !record.is_obsolete()
            {
                let visible = self.see(table, record)?;
                if visible.live || visible.outdated || visible.version == Record::OBSOLETE {
                    // SAFETY: seen in this transaction.
                    let seen = unsafe { record.wts_of(visible.version) };
                    let ts = record.later(self.txn.ts).max(seen);
                    return Err(conflict_with(ConflictKind::AbsentAppeared, table, record, ts));
                }
                let (seen, later) = (visible.version, visible.later);
                self.txn.reads.push(Read { record, table: table.id, seen, later });
                self.txn.find_record(number, record);
                return self.install_version(number);
            }
            if !backoff.wait() {
                let key = self.txn.keys[key].into();
                let kind = ConflictKind::WriteLocked;
                return Err(Conflict { kind, table: table.id, key, with: None }.into());
            }
        }
    }

    /// Whether the running commit has a version of its own in a record.
    #[inline]
    fn overwrites(&self, record: Record) -> bool {
        self.txn.write_of(record).is_some_and(|number| self.txn.writes[number].op != Op::Nothing)
    }

    /// V3. What is overwritten needs no read timestamp: the pending version keeps earlier writers out, since
    /// all write the latest version only.
    fn raise_reads(&mut self) -> Result<()> {
        let rules = self.shared.config.rules;
        if rules.on(Rule::RaiseReads) {
            let writes = !self.txn.is_read_only();
            for at in 0..self.txn.reads.len() {
                let read = self.txn.reads[at];
                if !writes || !self.overwrites(read.record) {
                    // SAFETY: seen in this transaction.
                    if !raise(unsafe { read.record.rts_of(read.seen) }, self.txn.ts) {
                        self.forget_cleaned(read)?;
                    }
                }
            }
        }
        if rules.on(Rule::GuardAbsent) {
            for absent in &self.txn.absents {
                if let Ok(table) = self.shared.tables.get(absent.table) {
                    table.absent.raise(absent.hash, self.txn.ts);
                }
            }
        }
        self.raise_ranges();
        if !self.txn.absents.is_empty() || !self.txn.ranges.is_empty() {
            // pairs with the fences of those who insert: see `guard.rs`
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// A record that was read is out of the indexes. If its row had been deleted, its key is what has none.
    #[cold]
    fn forget_cleaned(&mut self, read: Read) -> Result<()> {
        let table = self.shared.tables.get(read.table)?;
        // SAFETY: seen in this transaction.
        if !unsafe { read.record.was_deleted(read.seen) } {
            return Err(conflict(ConflictKind::ReadChanged, table, read.record));
        }
        let key = read.record.key();
        self.note_absent(table, self.shared.hasher.hash(key), key);
        Ok(())
    }

    /// Whether a record whose row was seen to be deleted, and that is out of the indexes, has no successor.
    #[cold]
    fn is_still_absent(&self, read: Read) -> Result<bool> {
        // SAFETY: seen in this transaction.
        if !unsafe { read.record.was_deleted(read.seen) } {
            return Ok(false);
        }
        let (table, key) = (self.shared.tables.get(read.table)?, read.record.key());
        let hash = self.shared.hasher.hash(key);
        let found = table.find(self.local, hash, key).filter(|record| !record.is_obsolete());
        Ok(found.is_none_or(|record| self.txn.creator_of(hash, record).is_some()))
    }

    /// V4.
    #[inline]
    fn check(&mut self, writing: bool) -> Result<()> {
        self.check_reads(0, writing)?;
        self.check_absents(0)?;
        self.check_ranges(0, true)?;
        self.shared.definitions_hold(self.txn, self.txn.ts)
    }

    /// V4 for records, from one of the reads on: what was seen is visible still, and, where it is overwritten, was not
    /// read later.
    pub(crate) fn check_reads(&mut self, first: usize, writing: bool) -> Result<()> {
        let rules = self.shared.config.rules;
        let ts = self.txn.ts;
        let writing = writing && !self.txn.is_read_only();
        for at in first..self.txn.reads.len() {
            let Read { record, table, seen, later } = self.txn.reads[at];
            let look = if rules.on(Rule::HonourPending) {
                record.visible::<true>(ts, later)
            } else {
                record.visible::<false>(ts, later)
            };
            let (kind, with) = match look {
                Ok(Visible { version, .. }) if version != seen && rules.on(Rule::CheckReads) => {
                    if version == Record::OBSOLETE && self.is_still_absent(self.txn.reads[at])? {
                        continue;
                    }
                    // SAFETY: seen just now.
                    (ConflictKind::ReadChanged, unsafe { record.wts_of(version) })
                }
                Err(Stuck) => (ConflictKind::ReadLocked, 0),
                Ok(visible) => {
                    self.txn.reads[at].later = visible.later;
                    // SAFETY: seen in this transaction.
                    let rts = unsafe { record.rts_of(seen) };
                    if !writing || !rules.on(Rule::CheckWrites) {
                        continue;
                    }
                    let rts = rts.load(Ordering::SeqCst);
                    if rts <= ts || !self.overwrites(record) {
                        continue;
                    }
                    (ConflictKind::WriteChanged, rts)
                }
            };
            return Err(conflict_with(kind, self.shared.tables.get(table)?, record, with));
        }
        Ok(())
    }

    /// V4 for keys without a record: they have none still, but by this commit.
    pub(crate) fn check_absents(&mut self, first: usize) -> Result<()> {
        if !self.shared.config.rules.on(Rule::CheckAbsent) {
            return Ok(());
        }
        for Absent { table, hash, key } in self.txn.absents.get(first..).unwrap_or_default() {
            let (table, key) = (self.shared.tables.get(*table)?, &self.txn.keys[key.clone()]);
            let Some(record) = table.find(self.local, *hash, key) else { continue };
            if !record.is_obsolete() && self.txn.creator_of(*hash, record).is_none() {
                let ts = record.later(0);
                return Err(conflict_with(ConflictKind::AbsentAppeared, table, record, ts));
            }
        }
        Ok(())
    }

    /// V5 of a commit. What the new versions replace goes to clean-up.
    fn settle(&mut self) {
        let ts = self.txn.ts;
        let mut lane = None;
        for (write, held) in self.txn.writes.iter().zip(&self.txn.held) {
            let (Some(version), Some(record)) = (held.version, write.record) else { continue };
            version.settle(if write.op == Op::Delete { Status::Deleted } else { Status::Committed });
            if !held.created {
                record.add_item();
                let lane = lane.get_or_insert_with(|| self.shared.lanes[self.local.id().index()].lock());
                let version = Some(version);
                lane.push_back(Item { record, table: write.table, version, wts: ts, epoch: UNSTAMPED });
            }
        }
    }

    /// V5 of an abort. New records leave the indexes at once, for they may be in some only; while their first
    /// version is pending, nobody else puts one there.
    #[cold]
    fn abort(&mut self) {
        let ts = self.txn.ts;
        for number in 0..self.txn.held.len() {
            let held = self.txn.held[number];
            let write = &self.txn.writes[number];
            let (Some(version), Some(record)) = (held.version, write.record) else { continue };
            if !held.installed && !held.created {
                // SAFETY: made by this commit, in no chain.
                unsafe { version.free(self.local) };
                continue;
            }
            if held.created {
                let obsolete = record.make_obsolete(version.raw());
                assert!(obsolete, "a pending version is the newest");
                version.settle(Status::Aborted);
                // SAFETY: its chain has only the version of this commit, which is freed below or later.
                unsafe { remove(self.shared, self.local, record, write.table, version.raw()) };
                continue;
            }
            version.settle(Status::Aborted);
            if write.op == Op::Insert {
                record.add_item();
                let mut lane = self.shared.lanes[self.local.id().index()].lock();
                lane.push_back(Item { record, table: write.table, version: None, wts: ts, epoch: UNSTAMPED });
            }
        }
    }
}
