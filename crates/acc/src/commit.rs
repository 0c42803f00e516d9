//! The commit, step by step as in the design: C1 pin, C2 lock, C3 post, C4 timestamp, C5 validate,
//! C6 publish; or abort.

use crate::lane::{Deleted, LaneGuard};
use crate::read::{conflict, last_commit};
use crate::record::{Overflow, Record, Stuck, Word};
use crate::redo;
use crate::rules::Rule;
use crate::shared::AccShared;
use crate::table::{AccTable, Points, RecordEntry};
use crate::tune::{Timer, times_posts};
use crate::txn::{Held, Op};
use crate::worker::Ctx;
use scaledb_base::{Conflict, ConflictKind, Error, Result, Timestamp};
use scaledb_index::btree::{Entry, Found};
use scaledb_index::claims;
use scaledb_index::indexlet::Inserted;
use scaledb_kit::count;
use scaledb_memory::Purpose;
use scaledb_row::GroupSet;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::hint::Backoff;
use std::time::Duration;

/// Cores whose counters can be trusted differ by less.
const SKEW: Duration = Duration::from_millis(1);

/// What an attempt to claim an existing record came to.
enum Claim {
    /// Locked, and absent.
    Taken,
    /// It has just left the indexes: look again.
    Gone,
}

impl Ctx<'_> {
    pub(crate) fn commit(&mut self) -> Result<Timestamp> {
        if self.txn.kind.is_snapshot() {
            // it has seen what was committed before the boundary
            self.state.depends_on = Timestamp::from_raw(self.txn.snapshot.raw().saturating_sub(1));
            return Ok(self.txn.snapshot);
        }
        if self.txn.writes.iter().all(|w| w.op == Op::Nothing) {
            let depends = self.shared.config.rules.on(Rule::DependOnReads);
            self.state.depends_on = if depends { self.txn.latest } else { Timestamp::ZERO };
            return self.commit_read_only();
        }
        let shared = self.shared;
        if let Some(log) = self.log.as_mut() {
            // before anything is locked: may wait for the disk, and fails if the log has
            log.reserve(redo::about(self.txn)).map_err(scaledb_durability::failed)?;
        }
        if !self.state.privileged {
            shared.contention.give_way(&shared.clock);
        }
        let mut lane = shared.lanes[self.local.id().index()].lock();
        let rules = shared.config.rules;
        // C1. The lane lock keeps helpers from taking the pin away while this commit is in flight.
        let now = shared.clock.now();
        if rules.on(Rule::PinFirst) {
            lane.pin(shared.generation.load(Ordering::SeqCst), now);
        }
        if let Some(log) = self.log.as_mut() {
            log.begin(now);
        }
        if shared.domain.is_short() {
            self.local.set_purpose(self.purpose());
        }
        let result = self.lock_validate_publish(shared, &mut lane);
        self.local.set_purpose(Purpose::Growth);
        match &result {
            Ok(commit_ts) => self.state.depends_on = *commit_ts,
            Err(_) => self.abort(),
        }
        if let Some(log) = self.log.as_mut() {
            if let Ok(commit_ts) = &result {
                redo::append(log, shared, self.txn, *commit_ts);
            }
            log.end();
        }
        self.merge_full_lists(shared, &lane);
        if lane.is_clean() || !rules.on(Rule::PinUntilMerged) {
            lane.unpin();
        }
        result
    }

    /// What this commit's memory is for.
    #[cold]
    fn purpose(&self) -> Purpose {
        let words = |op: Op| self.txn.writes.iter().filter(move |w| w.op == op).map(|w| w.image.len() + 8);
        let deleted = words(Op::Delete).count();
        Purpose::of_commit(
            words(Op::Insert).sum(),
            words(Op::Update).chain(words(Op::Replace)).sum(),
            deleted,
        )
    }

    fn lock_validate_publish(&mut self, shared: &AccShared, lane: &mut LaneGuard<'_>) -> Result<Timestamp> {
        let rules = shared.config.rules;
        // read after the pin is out; pairs with the wait of those who start retaining
        let retain = shared.snapshots.is_retaining();
        let early = if rules.on(Rule::TimestampAfterLocks) { Timestamp::ZERO } else { self.timestamp() };
        // what has changed already fails before anything is claimed
        self.definitions_hold()?;
        self.writes_are_unchanged(shared)?;
        // C2. Existing rows first: who comes to read one of them now waits for the new row, and is spared a
        // conflict. (No order of locks is needed: waits are bounded.)
        let writes = self.txn.writes.len();
        self.txn.held.resize_with(writes, Held::default);
        for number in 0..writes {
            if !matches!(self.txn.writes[number].op, Op::Insert | Op::Nothing) {
                self.lock(shared, number, retain)?;
            }
        }
        for number in 0..writes {
            // some are locked already, before their index entries
            if self.txn.writes[number].op == Op::Insert && self.txn.writes[number].record.is_none() {
                self.lock_insert(shared, lane, number)?;
            }
        }
        // C3
        if rules.on(Rule::PostBeforeTimestamp) {
            self.post(shared, lane)?;
        }
        // C4
        let commit_ts = if rules.on(Rule::TimestampAfterLocks) { self.timestamp() } else { early };
        // C5
        self.validate(shared)?;
        if !rules.on(Rule::PostBeforeTimestamp) {
            self.post(shared, lane)?;
        }
        // C6
        if retain {
            self.retain(shared, lane, commit_ts)?;
        }
        self.publish(shared, lane, commit_ts);
        self.leave_tick(commit_ts);
        if !rules.on(Rule::PinFirst) {
            lane.pin(shared.generation.load(Ordering::SeqCst), shared.clock.now());
        }
        Ok(commit_ts)
    }

    /// A transaction that wrote nothing does C4 and C5. One that read a single record needs neither: the
    /// record was as it was read at the moment of the read.
    fn commit_read_only(&mut self) -> Result<Timestamp> {
        let txn = &self.txn;
        if txn.ranges.is_empty() && txn.absents.is_empty() && txn.reads.len() <= 1 {
            return Ok(txn.latest);
        }
        let commit_ts = self.timestamp();
        self.validate(self.shared)?;
        Ok(commit_ts)
    }

    /// C4: after the locks and posts are visible to all, later than all that was read, unique.
    ///
    /// Returns when the clock has left the timestamp's tick, if something is validated behind it. Two commits in one
    /// tick are in the order of their workers' ids; who validates in a later tick has validated what nobody with a
    /// timestamp of this tick will lock any more, for locks come before timestamps. A timestamp that is ahead of the
    /// clock is waited for, too. For the others, see [`leave_tick`](Self::leave_tick).
    fn timestamp(&mut self) -> Timestamp {
        let clock = &self.shared.clock;
        let now = clock.now_fenced();
        let ticks = now.max(self.state.last_ticks + 1).max(self.txn.latest.ticks() + 1);
        self.state.last_ticks = ticks;
        if (self.validates() || ticks > now) && self.shared.config.rules.on(Rule::LeaveTick) {
            if ticks > now && !scaledb_sync::MODEL && ticks - now > clock.ticks(SKEW) {
                // this core is behind what another one, or this one, has seen: that is no skew any more
                clock.distrust(ticks);
            }
            while clock.now_ordered() <= ticks {
                scaledb_sync::hint::spin_loop();
            }
        }
        Timestamp::new(ticks, self.local.id())
    }

    /// Whether anything but the rows that are written is compared with what it was.
    #[inline]
    fn validates(&self) -> bool {
        let txn = &self.txn;
        !(txn.reads.is_empty() && txn.absents.is_empty() && txn.ranges.is_empty())
    }

    /// The end of a commit that validated nothing: in a later tick than its timestamp's, as it is for the others
    /// already. So whoever begins when this commit has returned gets a later timestamp, whatever its worker's id.
    /// The tick has passed long before this as a rule, and this is one look at the clock.
    #[inline]
    fn leave_tick(&self, commit_ts: Timestamp) {
        if self.validates() || !self.shared.config.rules.on(Rule::LeaveTick) {
            return;
        }
        while self.shared.clock.now() <= commit_ts.ticks() {
            scaledb_sync::hint::spin_loop();
        }
    }

    /// Whether the rows that are to be written are as they were read: a cheap look before the locks, which
    /// check again. Lets a transaction that has lost fail at once.
    fn writes_are_unchanged(&self, shared: &AccShared) -> Result<()> {
        for write in &self.txn.writes {
            let Some(record) = write.record else { continue };
            let table = shared.tables.get(write.table)?;
            for group in write.groups(table.schema.layout()).iter() {
                let (seen, now) = (write.seen[group], record.after_clean_up(group));
                if seen != now {
                    let locked = now.unlocked() == seen;
                    let kind = if locked { ConflictKind::WriteLocked } else { ConflictKind::WriteChanged };
                    return Err(conflict(kind, table, record));
                }
            }
        }
        Ok(())
    }

    /// Whether what the running transaction has read still holds: else an error that it found is no news.
    pub(crate) fn check_so_far(&mut self) -> Result<()> {
        self.writes_are_unchanged(self.shared)?;
        self.validate(self.shared)
    }

    /// C2 for a record that exists. On an error, `held` says what is locked.
    #[inline]
    fn lock(&mut self, shared: &AccShared, number: usize, retain: bool) -> Result<()> {
        let write = &self.txn.writes[number];
        let table = shared.tables.get(write.table)?;
        let layout = table.schema.layout();
        let record = write.record.expect("found when it was first written");
        // versions are of whole rows
        let groups = if retain { table.existence.groups() } else { write.groups(layout) };
        let grows = write.op == Op::Replace || write.op == Op::Update && layout.any_var(write.dirty);
        self.lock_groups(table, number, record, groups)?;
        let words = self.image_words(number);
        if grows && !record.fits(words) {
            // the row moves, with all its groups
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

    fn make_room(&mut self, number: usize, words: usize) -> Result<()> {
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
        let (write, held) = (&self.txn.writes[number], &mut self.txn.held[number]);
        for group in groups.iter() {
            let check = self.shared.config.rules.on(Rule::LockUnchanged);
            let before = if write.read.has(group) && check {
                let seen = write.seen[group];
                // clean-up looks at a row that lives again once more, and lets go of it
                while !record.try_lock(group, seen) {
                    let now = record.after_clean_up(group);
                    if now == seen {
                        continue;
                    }
                    let kind = if now.unlocked() == seen {
                        ConflictKind::WriteLocked
                    } else {
                        ConflictKind::WriteChanged
                    };
                    return Err(conflict(kind, table, record));
                }
                seen
            } else {
                record.lock(group).map_err(|Stuck| conflict(ConflictKind::WriteLocked, table, record))?
            };
            self.txn.latest = self.txn.latest.max(before.ts());
            held.before[group] = before;
            held.groups = held.groups.with(group);
        }
        Ok(())
    }

    /// C2 for an insert: claims a placeholder in the point index, or the absent record that is there.
    fn lock_insert(&mut self, shared: &AccShared, lane: &mut LaneGuard<'_>, number: usize) -> Result<()> {
        let write = &self.txn.writes[number];
        let table = shared.tables.get(write.table)?;
        if let Some(base) = write.base
            && self.txn.writes[base].record.is_none()
        {
            // an entry that was taken back, and then inserted again for a later row
            self.lock_insert(shared, lane, base)?;
        }
        let mut backoff = Backoff::new();
        while self.try_lock_insert(shared, lane, table, number)?.is_none() {
            if !backoff.wait() {
                let key = self.txn.keys[self.txn.writes[number].key.clone()].into();
                return Err(
                    Conflict { kind: ConflictKind::WriteLocked, table: table.id, key, with: None }.into()
                );
            }
        }
        Ok(())
    }

    /// `None`: the record that the key had has just left the indexes; look again.
    fn try_lock_insert(
        &mut self,
        shared: &AccShared,
        lane: &mut LaneGuard<'_>,
        table: &AccTable,
        number: usize,
    ) -> Result<Option<()>> {
        let write = &self.txn.writes[number];
        let (hash, key) = (write.hash, write.key.clone());
        let entry = write
            .base
            .map(|base| [self.txn.writes[base].record.expect("rows are locked before their entries").raw()]);
        let row: &[u64] = match &entry {
            Some(entry) => entry,
            None => &self.txn.images[write.image.clone()],
        };
        let groups = table.schema.layout().groups();
        let placeholder = Record::create(self.local, groups, &self.txn.keys[key.clone()], row)?;
        let words = row.len();
        match self.claim(shared, lane, table, number, placeholder, hash) {
            Ok(None) => {
                let held = &mut self.txn.held[number];
                held.created = true;
                held.groups = table.existence.groups();
                held.before = [Word::PLACEHOLDER; _];
                self.txn.writes[number].record = Some(placeholder);
                Ok(Some(()))
            }
            Ok(Some(existing)) => {
                // others may have found the placeholder in the indexlet for a moment
                make_obsolete(placeholder, table.existence.groups());
                // SAFETY: `claim` says that it is in no index.
                unsafe { placeholder.retire(self.local) };
                match self.claim_absent(table, number, existing)? {
                    Claim::Gone => Ok(None),
                    Claim::Taken => {
                        self.txn.writes[number].record = Some(existing);
                        if !existing.fits(words) {
                            self.make_room(number, words)?;
                        }
                        Ok(Some(()))
                    }
                }
            }
            Err(error) => {
                // SAFETY: `claim` has taken it back from where it was.
                unsafe { placeholder.retire(self.local) };
                Err(error)
            }
        }
    }

    /// Puts the placeholder where the key is looked for first. `Some`: the key has a record already.
    fn claim(
        &mut self,
        shared: &AccShared,
        lane: &mut LaneGuard<'_>,
        table: &AccTable,
        number: usize,
        placeholder: Record,
        hash: u64,
    ) -> Result<Option<Record>> {
        // SAFETY: indexes hold records.
        let eq = |raw: u64| unsafe { RecordEntry::key(raw) } == placeholder.key();
        // SAFETY: as above.
        let record = |raw: u64| unsafe { Record::from_raw(raw) };
        let at_commit = table.inserts_at_commit(self.local)?;
        match &table.points {
            Points::Hash(hashed) => match hashed.insert(self.local, hash, placeholder.raw(), eq)? {
                Inserted::New => {
                    if !at_commit {
                        return Ok(None);
                    }
                    let inserted = self.insert_in_tree(shared, table, number, placeholder);
                    if !matches!(inserted, Ok(None)) {
                        hashed.remove(self.local, hash, placeholder.raw());
                    }
                    if inserted.is_err() {
                        make_obsolete(placeholder, table.existence.groups());
                    }
                    inserted
                }
                Inserted::Existing(raw) => Ok(Some(record(raw))),
                Inserted::Full => Err(self.shared_out_of_memory()),
            },
            Points::Indexlet(indexlet) => {
                if !at_commit {
                    let mut inserted = indexlet.insert(self.local, hash, placeholder.raw(), eq);
                    if inserted == Inserted::Full {
                        // early merge, then the synchronous fallback
                        self.merge_table(shared, lane, table)?;
                        inserted = indexlet.insert(self.local, hash, placeholder.raw(), eq);
                    }
                    match inserted {
                        Inserted::New => {
                            // claimed in the indexlet: now the tree must not have the key, as it had not
                            // when the insert was executed
                            let leaf = self.txn.writes[number].leaf;
                            if let (Some(_), false) = (leaf, shared.config.rules.on(Rule::LookInTree)) {
                                self.txn.held[number].leaf = leaf;
                                return Ok(None);
                            }
                            let (key, had_not) = (placeholder.key(), leaf.map(|(stamp, _)| stamp));
                            let (tree, finger) = (table.tree()?, &mut self.txn.finger);
                            let look = claims::look_in_tree(tree, self.local, key, had_not, finger);
                            self.txn.held[number].leaf = match look {
                                None => leaf,
                                Some(Found { value: None, leaf, part }) => Some((leaf, part)),
                                Some(Found { value: Some(raw), .. }) => {
                                    indexlet.remove(self.local, hash, placeholder.raw());
                                    return Ok(Some(record(raw)));
                                }
                            };
                            return Ok(None);
                        }
                        Inserted::Existing(raw) => return Ok(Some(record(raw))),
                        Inserted::Full => {}
                    }
                }
                // claimed in the tree: now the indexlet must not have the key
                if let Some(existing) = self.insert_in_tree(shared, table, number, placeholder)? {
                    return Ok(Some(existing));
                }
                if claims::look_in_indexlet(indexlet, self.local, hash, eq).is_some() {
                    self.txn.held[number].in_tree = false;
                    self.remove_from_tree(shared, table, placeholder);
                    make_obsolete(placeholder, table.existence.groups());
                    let key = placeholder.key().into();
                    let kind = ConflictKind::WriteLocked;
                    return Err(Conflict { kind, table: table.id, key, with: None }.into());
                }
                Ok(None)
            }
        }
    }

    #[cold]
    fn shared_out_of_memory(&self) -> Error {
        Error::OutOfMemory { budget: self.local.domain().budget() }
    }

    /// Inserts a placeholder into the tree itself: at commit, or because its indexlet is full.
    fn insert_in_tree(
        &mut self,
        shared: &AccShared,
        table: &AccTable,
        number: usize,
        placeholder: Record,
    ) -> Result<Option<Record>> {
        let tree = table.tree()?;
        let mut existing = None;
        let timer = table.of_me(self.local)?.way.is_sampled().then(|| Timer::start(&shared.clock));
        // SAFETY: a record stays valid until it has left the tree and everybody who was active then has gone.
        let stats = unsafe {
            tree.insert_batch(self.local, shared.needed_after(), &[placeholder.raw()], |_, raw| {
                existing = Some(Record::from_raw(raw));
            })?
        };
        let mine = table.of_me(self.local)?;
        count(&mine.counters.node_locks, stats.locks);
        if let Some(timer) = timer {
            mine.way.inserted(table.tuning.updates, timer.ticks(&shared.clock));
        }
        if existing.is_none() {
            count(&mine.counters.synchronous, 1);
            self.txn.held[number].in_tree = true;
        }
        Ok(existing)
    }

    /// Takes a record out of the tree.
    pub(crate) fn remove_from_tree(&mut self, shared: &AccShared, table: &AccTable, record: Record) {
        if let Some(tree) = &table.tree {
            tree.remove(self.local, shared.needed_after(), record.key(), record.raw());
        }
    }

    /// Locks the record that a key has already: it must be absent. Until it is, the record is not this
    /// write's, and `abort` does not know it: whatever was locked is given back here.
    fn claim_absent(&mut self, table: &AccTable, number: usize, record: Record) -> Result<Claim> {
        let claim = self.lock_absent(table, number, record);
        if !matches!(claim, Ok(Claim::Taken)) {
            let held = &mut self.txn.held[number];
            for group in std::mem::take(&mut held.groups).iter() {
                record.unlock(group, held.before[group]);
            }
        }
        claim
    }

    /// On anything but `Taken`, `held` says what is locked.
    fn lock_absent(&mut self, table: &AccTable, number: usize, record: Record) -> Result<Claim> {
        for group in table.existence.groups().iter() {
            let before =
                record.lock(group).map_err(|Stuck| conflict(ConflictKind::WriteLocked, table, record))?;
            self.txn.latest = self.txn.latest.max(before.ts());
            let held = &mut self.txn.held[number];
            held.before[group] = before;
            held.groups = held.groups.with(group);
            if before.is_obsolete() {
                return Ok(Claim::Gone);
            }
            if !before.is_absent() {
                // it was absent when the insert was executed: run again, that finds the duplicate
                let (kind, key) = (ConflictKind::AbsentAppeared, record.key().into());
                return Err(Conflict { kind, table: table.id, key, with: Some(before.ts()) }.into());
            }
        }
        Ok(Claim::Taken)
    }

    /// C3: posts each key that is new in a tree. List before bit before count and seq.
    fn post(&mut self, shared: &AccShared, lane: &LaneGuard<'_>) -> Result<()> {
        if !shared.config.rules.on(Rule::Post) {
            return Ok(());
        }
        let timed = self.txn.inserts > 0 && times_posts(self.state.until_chores);
        let timer = timed.then(|| Timer::start(&shared.clock));
        for number in 0..self.txn.writes.len() {
            let (write, held) = (&self.txn.writes[number], &self.txn.held[number]);
            if !held.created || held.in_tree {
                continue;
            }
            let table = shared.tables.get(write.table)?;
            if table.tree.is_none() {
                continue;
            }
            let record = write.record.expect("created");
            let leaf = match held.leaf {
                Some(leaf) => Some(leaf),
                None => table.find_in_tree(self.local, record.key(), &mut self.txn.finger).leaf,
            };
            let (_, part) = leaf.expect("the tree was asked");
            let cell = table.phantomlet.cell_of(part);
            let mine = table.of_me(self.local)?;
            let item = mine.list.push(self.local, record, cell)?;
            lane.mark(table.id);
            self.txn.held[number].item = Some((item, cell));
            match self.txn.posts.iter_mut().rev().find(|p| p.0 == table.id && p.1 == cell) {
                Some(post) => post.2 += 1,
                None => self.txn.posts.push((table.id, cell, 1)),
            }
        }
        for &(table, cell, n) in &self.txn.posts {
            let table = shared.tables.get(table)?;
            count(&table.of_me(self.local)?.counters.posted, n);
            table.phantomlet.post(cell, self.local.id(), n);
            self.txn.posted += 1;
        }
        if let Some(timer) = timer {
            let ticks = timer.ticks(&shared.clock);
            let entries = self.txn.posts.iter().map(|&(_, _, n)| n).sum::<u64>();
            for &(table, ..) in &self.txn.posts {
                shared.tables.get(table)?.of_me(self.local)?.way.posted(entries, ticks);
            }
        }
        Ok(())
    }

    /// C5.
    fn validate(&mut self, shared: &AccShared) -> Result<()> {
        let rules = shared.config.rules;
        if rules.on(Rule::ValidateReads) {
            for number in 0..self.txn.reads.len() {
                let read = &self.txn.reads[number];
                let now = read.record.after_clean_up(read.group as usize);
                if now == read.seen {
                    continue;
                }
                let unchanged = now.unlocked() == read.seen;
                if unchanged && (!rules.on(Rule::HonourLocks) || self.holds(read.record, read.group as usize))
                {
                    continue;
                }
                let (table, record) = (shared.tables.get(read.table)?, read.record);
                if read.seen.is_absent() && now.is_obsolete() && self.is_still_absent(table, record) {
                    continue;
                }
                return Err(conflict(ConflictKind::ReadChanged, table, record));
            }
        }
        for absent in 0..self.txn.absents.len() {
            if let Some(record) = self.appeared(absent)? {
                let absent = &self.txn.absents[absent];
                let key = self.txn.keys[absent.key.clone()].into();
                let with = last_commit(shared.tables.get(absent.table)?, record);
                let kind = ConflictKind::AbsentAppeared;
                return Err(Conflict { kind, table: absent.table, key, with }.into());
            }
        }
        for range in 0..self.txn.ranges.len() {
            if let Some(phantom) = self.phantom(range)? {
                let range = &self.txn.ranges[range];
                let key = self.txn.keys[range.low.clone()].into();
                let with = last_commit(shared.tables.get(range.table)?, phantom);
                let kind = ConflictKind::RangePhantom;
                return Err(Conflict { kind, table: range.table, key, with }.into());
            }
        }
        self.definitions_hold()
    }

    /// Whether this commit holds the lock of a record's group.
    #[cold]
    fn holds(&self, record: Record, group: usize) -> bool {
        let number = self.txn.write_of(record);
        let number = number.or_else(|| self.txn.insert_at(self.shared.hasher.hash(record.key()), record));
        number.and_then(|number| self.txn.held.get(number)).is_some_and(|held| held.groups.has(group))
    }

    /// Before C6: keeps the rows that this commit overwrites, if a snapshot boundary lies between.
    fn retain(&mut self, shared: &AccShared, lane: &mut LaneGuard<'_>, commit_ts: Timestamp) -> Result<()> {
        if !shared.config.rules.on(Rule::Retain) {
            return Ok(());
        }
        // copies of whole rows, which no delete pays for: never beyond the budget
        let purpose = self.local.set_purpose(Purpose::Relief);
        let retained = self.retain_rows(shared, lane, commit_ts);
        self.local.set_purpose(purpose);
        retained
    }

    fn retain_rows(
        &mut self,
        shared: &AccShared,
        lane: &mut LaneGuard<'_>,
        commit_ts: Timestamp,
    ) -> Result<()> {
        for (write, held) in self.txn.writes.iter().zip(&self.txn.held) {
            let (Some(record), false) = (write.record, held.created || held.groups.0 == 0) else { continue };
            let groups = shared.tables.get(write.table)?.schema.layout().groups();
            let current = Record::current(&held.before, groups);
            if shared.snapshots.boundary_between(current.ts(), commit_ts) {
                let version = record.retain(self.local, current)?;
                lane.versions.push_back((commit_ts.raw(), version));
            }
        }
        Ok(())
    }

    /// C6: installs the rows and unlocks by storing the timestamp, the rows that others may wait for first.
    /// Nothing can fail from here on.
    fn publish(&mut self, shared: &AccShared, lane: &mut LaneGuard<'_>, commit_ts: Timestamp) {
        for new in [false, true] {
            for number in 0..self.txn.writes.len() {
                if self.txn.held[number].created == new {
                    self.publish_write(shared, lane, number, commit_ts);
                }
            }
        }
    }

    #[inline]
    fn publish_write(
        &mut self,
        shared: &AccShared,
        lane: &mut LaneGuard<'_>,
        number: usize,
        commit_ts: Timestamp,
    ) {
        let (write, held) = (&self.txn.writes[number], &mut self.txn.held[number]);
        let (Some(record), Ok(table)) = (write.record, shared.tables.get(write.table)) else { return };
        let layout = table.schema.layout();
        if let Some(overflow) = held.overflow.take() {
            record.move_to_overflow(self.local, overflow);
        }
        let changed = write.groups(layout);
        let mut next = Word::live(commit_ts);
        match write.op {
            Op::Nothing => return,
            Op::Delete => {
                // inserted again since an earlier delete, it may be in a list still, maybe another lane's
                if record.enlist() {
                    lane.deleted.push_back(Deleted { table: write.table, record, ts: commit_ts.raw() });
                }
                next = Word::absent(commit_ts);
            }
            Op::Update => {
                record.store_columns(layout, write.dirty, &self.txn.images[write.image.clone()]);
            }
            Op::Insert | Op::Replace if !held.created => match write.base {
                Some(base) => {
                    let target = self.txn.writes[base].record.expect("rows are locked before their entries");
                    record.store_row(&[target.raw()]);
                }
                None => record.store_row(&self.txn.images[write.image.clone()]),
            },
            Op::Insert | Op::Replace => {}
        }
        for group in held.groups.iter() {
            record.unlock(group, if changed.has(group) { next } else { held.before[group] });
        }
    }

    /// Takes back what the commit did so far: posts, then placeholders and locks.
    fn abort(&mut self) {
        let shared = self.shared;
        for &(table, cell, n) in &self.txn.posts[..self.txn.posted] {
            if let Ok(table) = shared.tables.get(table) {
                table.phantomlet.unpost(cell, n);
            }
        }
        for number in (0..self.txn.held.len()).rev() {
            let (write, held) = (&self.txn.writes[number], &mut self.txn.held[number]);
            if let Some(overflow) = held.overflow.take() {
                overflow.discard(self.local);
            }
            let (Some(record), Ok(table)) = (write.record, shared.tables.get(write.table)) else { continue };
            if !held.created {
                for group in held.groups.iter() {
                    record.unlock(group, held.before[group]);
                }
                continue;
            }
            if let (Some((item, _)), Some(mine)) = (held.item, table.of_worker(self.local.id())) {
                mine.list.kill(item);
            }
            let (hash, in_tree) = (write.hash, held.in_tree);
            // the tree first: who does not find the key in the hash index does not find it in the tree either
            if in_tree {
                self.remove_from_tree(shared, table, record);
            }
            table.remove_point(self.local, hash, record);
            make_obsolete(record, table.existence.groups());
            // SAFETY: it has left the indexes and the list.
            unsafe { record.retire(self.local) };
        }
    }
}

/// Tells all who have found a placeholder to look again.
fn make_obsolete(placeholder: Record, groups: GroupSet) {
    for group in groups.iter() {
        placeholder.unlock(group, Word::PLACEHOLDER.obsolete());
    }
}
