//! C1 to C6: the commit of a read-write transaction.

use super::claim::Target;
use super::rules::{Mutation, PointIndex};
use super::state::{ENTRIES, Item, ROWS, Version, Word};
use super::tx::{Claimed, Effect, Lock, Planned, Tx};
use super::{Protocol, Taker};
use crate::model::explorer::{Steps, Stop};
use crate::model::history::Row;
use crate::model::program::{Key, Op, entry_key};
use crate::model::tree::{Generation, Rec};

impl Protocol {
    /// The whole commit; a conflict leaves the transaction to `abort`.
    pub(super) fn commit(&self, cx: &mut Taker<'_>, tx: &mut Tx) -> Steps<()> {
        let m = self.config.mutation;
        let writes = !tx.planned.is_empty();
        if writes && m != Some(Mutation::PinLate) {
            self.pin(cx, tx)?;
        }
        if m == Some(Mutation::TsBeforeLocks) {
            self.take_timestamp(cx, tx)?;
        }
        for planned in std::mem::take(&mut tx.planned) {
            self.lock_write(cx, tx, planned)?;
        }
        let early = [Mutation::TsBeforeLocks, Mutation::TsAfterValidation];
        if m == Some(Mutation::PostAfterTs) {
            self.take_timestamp(cx, tx)?;
            self.post(cx, tx)?;
            self.validate(cx, tx)?;
        } else if m == Some(Mutation::PostAfterValidation) {
            self.take_timestamp(cx, tx)?;
            self.validate(cx, tx)?;
            self.post(cx, tx)?;
        } else {
            self.post(cx, tx)?;
            if !early.map(Some).contains(&m) {
                self.take_timestamp(cx, tx)?;
            }
            self.validate(cx, tx)?;
            if m == Some(Mutation::TsAfterValidation) {
                self.take_timestamp(cx, tx)?;
            }
        }
        self.install(cx, tx)
    }

    /// C1: publish G, and the clock unless the lane is pinned already, before any lock.
    fn pin(&self, cx: &mut Taker<'_>, tx: &Tx) -> Steps<()> {
        if !self.config.fine {
            return cx.step("C1 pin", |db| {
                let now = (db.generation, db.clock);
                let lane = &mut db.lanes[tx.me];
                lane.in_flight = true;
                lane.flight = Some(now.0);
                lane.pin.get_or_insert(now.1);
            });
        }
        let pinned = cx.step("C1 in flight", |db| {
            db.lanes[tx.me].in_flight = true;
            db.lanes[tx.me].pin.is_some()
        })?;
        let now = cx.step("C1 read G and the clock", |db| (db.generation, db.clock))?;
        cx.step("C1 publish G and the pin", |db| {
            db.lanes[tx.me].flight = Some(now.0);
            if !pinned {
                db.lanes[tx.me].pin = Some(now.1);
            }
        })
    }

    /// C2 for one buffered write: lock the row's record and the entry records that change with it.
    fn lock_write(&self, cx: &mut Taker<'_>, tx: &mut Tx, planned: Planned) -> Steps<()> {
        let row = |writer, sec, counter| Row { writer, sec, counter };
        let id = tx.id;
        match planned {
            (Op::Insert(key, sec), _) => {
                self.claim(cx, tx, Target { table: ROWS, key, effect: Effect::Put(row(id, sec, 0)) })?;
                self.claim_entry(cx, tx, key, sec)
            }
            (Op::Update(key), Some(seen)) => {
                self.lock_seen(cx, tx, key, seen, Effect::Put(row(id, seen.2.sec, seen.2.counter)))
            }
            (Op::Move(key, sec), Some(seen)) => {
                self.lock_seen(cx, tx, key, seen, Effect::Put(row(id, sec, seen.2.counter)))?;
                if sec != seen.2.sec {
                    if !self.breaks(Mutation::NoEntryDelete) {
                        self.lock_entry(cx, tx, key, seen.2.sec)?;
                    }
                    self.claim_entry(cx, tx, key, sec)?;
                }
                Ok(())
            }
            (Op::Delete(key), Some(seen)) => {
                self.lock_seen(cx, tx, key, seen, Effect::Remove)?;
                self.lock_entry(cx, tx, key, seen.2.sec)
            }
            (Op::Add(key, delta), _) => self.lock_blind(cx, tx, key, delta),
            (op, _) => Err(Stop::Bug(format!("{op:?} has no write phase"))),
        }
    }

    /// Locks a record that was read: from the observed word to the same word with the lock, or conflict at once.
    fn lock_seen(
        &self,
        cx: &mut Taker<'_>,
        tx: &mut Tx,
        key: Key,
        (rec, seen, _): (Rec, Word, Row),
        effect: Effect,
    ) -> Steps<()> {
        let blindly = self.breaks(Mutation::LockIgnoresWord);
        let locked = cx.step("C2 lock the record that was read", |db| {
            let word = &mut db.record_mut(rec).word;
            let free = word.locker.is_none() && !word.absent && !word.obsolete;
            (*word == seen || (blindly && free)).then(|| {
                let before = *word;
                word.locker = Some(tx.me);
                before
            })
        })?;
        let before = locked.ok_or(Stop::Conflict("changed since it was read"))?;
        tx.locks.push(Lock { rec, table: ROWS, key, before, claimed: None, effect });
        Ok(())
    }

    /// A blind add: find, lock without having read.
    fn lock_blind(&self, cx: &mut Taker<'_>, tx: &mut Tx, key: Key, delta: u8) -> Steps<()> {
        let rec = self.find(cx, ROWS, key)?.ok_or(Stop::Conflict("no such row"))?;
        let seen = match self.breaks(Mutation::AddBeforeLock) {
            true => Some(cx.step("C2 (mutant) read the counter", |db| db.record(rec).row.counter)?),
            false => None,
        };
        self.lock_live(cx, tx, rec, ROWS, key, Effect::Add { delta, seen })
    }

    /// Locks the live entry record of a row whose base record is locked.
    fn lock_entry(&self, cx: &mut Taker<'_>, tx: &mut Tx, key: Key, sec: u8) -> Steps<()> {
        if !self.config.secondary {
            return Ok(());
        }
        let index_key = entry_key(sec, key);
        let rec = self.find(cx, ENTRIES, index_key)?;
        let rec = rec.ok_or_else(|| Stop::Bug(format!("a live row lacks its entry record {index_key}")))?;
        self.lock_live(cx, tx, rec, ENTRIES, index_key, Effect::Remove)
    }

    fn lock_live(
        &self,
        cx: &mut Taker<'_>,
        tx: &mut Tx,
        rec: Rec,
        table: usize,
        key: Key,
        effect: Effect,
    ) -> Steps<()> {
        let before = cx.wait("C2 lock a live record", |db| {
            let word = &mut db.record_mut(rec).word;
            let free = word.locker.is_none() && !word.absent && !word.obsolete;
            let waits = word.locker.is_some() && self.breaks(Mutation::LockWaits);
            (!waits).then(|| {
                let before = *word;
                word.locker = if free { Some(tx.me) } else { word.locker };
                free.then_some(before)
            })
        })?;
        let before = before.ok_or(Stop::Conflict("locked, or gone"))?;
        tx.locks.push(Lock { rec, table, key, before, claimed: None, effect });
        Ok(())
    }

    fn claim_entry(&self, cx: &mut Taker<'_>, tx: &mut Tx, key: Key, sec: u8) -> Steps<()> {
        if !self.config.secondary {
            return Ok(());
        }
        let entry = Row { writer: tx.id, sec, counter: 0 };
        self.claim(cx, tx, Target { table: ENTRIES, key: entry_key(sec, key), effect: Effect::Put(entry) })
    }

    /// C3: list, then owner bit, then cell, for every placeholder that a merge has to bring into a tree.
    fn post(&self, cx: &mut Taker<'_>, tx: &mut Tx) -> Steps<()> {
        let m = self.config.mutation;
        let new: Vec<(usize, Key, Rec)> = tx
            .locks
            .iter()
            .filter(|lock| lock.claimed == Some(Claimed::Pending))
            .map(|lock| (lock.table, lock.key, lock.rec))
            .collect();
        if new.is_empty() {
            return if m == Some(Mutation::PinLate) { self.pin(cx, tx) } else { Ok(()) };
        }
        if m != Some(Mutation::NoLaneLock) {
            cx.wait("C3 lock the lane", |db| {
                let free = !db.lanes[tx.me].locked;
                free.then(|| db.lanes[tx.me].locked = true)
            })?;
            tx.holds_lane = true;
        }
        for (table, key, rec) in new {
            let cell = cx.step("C3 look up the leaf's partition", |db| {
                db.tables[table].tree.leaf(key).0.part % self.config.cells
            })?;
            if m == Some(Mutation::PinLate) {
                self.pin(cx, tx)?;
            }
            let append = |cx: &mut Taker<'_>, bit: bool| {
                cx.step("C3 append the item", |db| {
                    let generation = db.lanes[tx.me].flight.unwrap_or(Generation::MAX);
                    db.lanes[tx.me].pending.push(Item { table, key, rec, cell, generation });
                    if bit {
                        db.cells[cell as usize].owners |= 1 << tx.me;
                    }
                })
            };
            match m {
                Some(Mutation::ListAfterPost) => {
                    self.count_post(cx, cell)?;
                    append(cx, true)?;
                }
                Some(Mutation::BitAfterPost) => {
                    append(cx, false)?;
                    self.count_post(cx, cell)?;
                    cx.step("C3 set the owner bit", |db| db.cells[cell as usize].owners |= 1 << tx.me)?;
                }
                Some(Mutation::NoPost) => {
                    append(cx, true)?;
                    cx.step("(mutant) count only", |db| db.cells[cell as usize].count += 1)?;
                }
                _ => {
                    append(cx, true)?;
                    self.count_post(cx, cell)?;
                }
            }
            tx.posts.push(cell);
        }
        Ok(())
    }

    /// Count+1, seq+1; if these are two stores, count first.
    fn count_post(&self, cx: &mut Taker<'_>, cell: u8) -> Steps<()> {
        let cell = cell as usize;
        if !self.config.fine {
            return cx.step("C3 count+1, seq+1", |db| {
                db.cells[cell].count += 1;
                db.cells[cell].seq += 1;
            });
        }
        for seq in if self.breaks(Mutation::SeqBeforeCount) { [true, false] } else { [false, true] } {
            if seq {
                cx.step("C3 seq+1", |db| db.cells[cell].seq += 1)?;
            } else {
                cx.step("C3 count+1", |db| db.cells[cell].count += 1)?;
            }
        }
        Ok(())
    }

    /// C4: unique, and greater than every ts in the read and write set (the clock is).
    fn take_timestamp(&self, cx: &mut Taker<'_>, tx: &mut Tx) -> Steps<()> {
        if self.breaks(Mutation::AnnouncedBeforeTs) {
            tx.announced = Some(cx.step("(mutant) announced boundary", |db| db.announced)?);
        }
        tx.ts = cx.step("C4 timestamp", |db| {
            db.clock += 1;
            db.clock - 1
        })?;
        Ok(())
    }

    /// C6: keep the old version if a snapshot may need it, write the row, unlock by storing the new word.
    fn install(&self, cx: &mut Taker<'_>, tx: &mut Tx) -> Steps<()> {
        tx.record.ts = tx.ts;
        cx.step("C6 decided", |db| db.history.push(tx.record.clone()))?;
        // behind C4: the boundaries up to this timestamp are announced
        let announced = match tx.announced {
            // without snapshots nothing is retained for them
            _ if tx.locks.is_empty() || !self.program.has_snapshots() => 0,
            Some(early) => early,
            None => cx.step("C6 announced boundary", |db| db.announced)?,
        };
        let horizon = if tx.locks.is_empty() { 0 } else { self.version_horizon(cx)? };
        for lock in &tx.locks {
            let word = Word {
                ts: tx.ts,
                locker: None,
                absent: matches!(lock.effect, Effect::Remove),
                obsolete: false,
            };
            let write = |row: &mut Row| match lock.effect {
                Effect::Put(new) => *row = new,
                Effect::Add { delta, seen } => {
                    *row = Row { writer: tx.id, counter: seen.unwrap_or(row.counter) + delta, ..*row };
                }
                Effect::Remove => {}
            };
            let retain = self.retains(lock, announced);
            cx.step(
                if self.config.fine { "C6 keep the old version, write the row" } else { "C6 install" },
                |db| {
                    let record = db.record_mut(lock.rec);
                    if retain {
                        let row = (!lock.before.absent).then_some(record.row);
                        record.chain.push(Version { ts: lock.before.ts, row });
                    }
                    let superseded: Vec<u8> =
                        record.chain.iter().skip(1).map(|v| v.ts).chain([tx.ts]).collect();
                    let mut superseded = superseded.into_iter();
                    record.chain.retain(|_| superseded.next().is_some_and(|ts| ts >= horizon));
                    write(&mut record.row);
                    if !self.config.fine {
                        record.word = word;
                    }
                },
            )?;
            if self.config.fine {
                cx.step("C6 unlock", |db| db.record_mut(lock.rec).word = word)?;
            }
        }
        Ok(())
    }

    /// May a snapshot_ts lie between the old version and the new one (old < S <= new)? The new one is behind all that
    /// was announced, or its snapshots see it.
    fn retains(&self, lock: &Lock, announced: u8) -> bool {
        let needed = lock.claimed.is_none() && lock.before.ts < announced;
        needed
            && !self.breaks(Mutation::NoRetention)
            && !(lock.before.absent && self.breaks(Mutation::NoAbsentVersion))
    }

    /// Do new keys of this table wait for a merge?
    pub(super) fn merges_later(&self) -> bool {
        matches!(self.config.point_index, PointIndex::Bounded(_) | PointIndex::Resident { sync: false })
    }
}
