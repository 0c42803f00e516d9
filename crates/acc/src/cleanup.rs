//! Clean-up: deleted records leave the indexes, and versions their chains, when nobody can need them.

use crate::lane::{Deleted, LaneGuard};
use crate::pending::EMPTY;
use crate::record::{Record, Word};
use crate::rules::Rule;
use crate::shared::AccShared;
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{TableId, Timestamp};
use scaledb_kit::count;
use scaledb_memory::Local;
use scaledb_row::GroupSet;
use smallvec::SmallVec;

/// The most records of one lane that one call cleans, so that the lane is soon unlocked; of a long queue it cleans
/// more, or a worker whose transactions delete much would never catch up.
const AT_ONCE: usize = 256;
/// One call cleans this fraction (one part in so many) of a long queue.
const BACKLOG: usize = 8;

/// A timestamp before every running transaction and every one that may begin.
pub(crate) struct Horizon {
    /// A record deleted before this raw timestamp may go, unless it is on a pending list.
    records: u64,
    /// A version superseded before this raw timestamp may go.
    versions: u64,
}

/// The raw timestamps from which on the deleted records of a table may be on a pending list, for the tables that were
/// asked for: what is deleted before was inserted before, and is merged.
///
/// ```text
///   on a list:  list.since < insert < delete
/// ```
///
/// The horizon is computed before the lists are read. It lies before the begin of each transaction that was in flight
/// then, and of all later ones; so nothing that they insert was deleted before it, and it does not matter whether their
/// entries are seen. The entries of all earlier transactions are seen.
#[derive(Default)]
pub(crate) struct Unmerged(SmallVec<[(TableId, u64); 4]>);

impl Unmerged {
    fn since(&mut self, shared: &AccShared, table: TableId) -> u64 {
        if !shared.config.rules.on(Rule::GraceOfLists) {
            return u64::MAX;
        }
        if let Some(&(_, since)) = self.0.iter().find(|(id, _)| *id == table) {
            return since;
        }
        let ticks =
            shared.tables.get(table).map_or(EMPTY, |table| table.unmerged_since(shared.domain.workers()));
        let since = Timestamp::start_of(ticks).raw();
        self.0.push((table, since));
        since
    }
}

impl Horizon {
    /// Looks at the snapshots' floor, then at every worker's activity. The floor never goes back, whatever stale pin is
    /// published meanwhile, and every later snapshot reads at it or above.
    pub(crate) fn now(shared: &AccShared) -> Self {
        let versions = shared.advance_floor();
        // a transaction that was active before a delete may have begun at a later time of its own core
        let active = shared.domain.horizon().saturating_sub(shared.clock.skew());
        let records = Timestamp::start_of(active).raw();
        // a reader that finds no record does not depend on the delete's commit: so that one must be durable before
        let log = shared.log().filter(|_| shared.config.rules.on(Rule::GraceOfDurability));
        let records = log.map_or(records, |log| records.min(log.durable().raw()));
        // looked at behind the activities: if rows are retained only from now on, snapshots read after these
        let snapshots = shared.config.rules.on(Rule::GraceOfSnapshots) && !shared.snapshots.are_off();
        let records = if snapshots { records.min(versions) } else { records };
        if !shared.config.rules.on(Rule::Grace) {
            return Self { records: u64::MAX, versions };
        }
        Self { records, versions }
    }

    /// Whether a queue of a lane has something whose grace period is over.
    pub(crate) fn lets_clean(&self, shared: &AccShared, lane: &LaneGuard<'_>) -> bool {
        lane.deleted.front().is_some_and(|d| self.is_over(shared, &mut Unmerged::default(), d))
    }

    /// Whether a record's grace period is over.
    fn is_over(&self, shared: &AccShared, unmerged: &mut Unmerged, deleted: &Deleted) -> bool {
        deleted.ts < self.records && deleted.ts < unmerged.since(shared, deleted.table)
    }
}

/// Cleans the queues of a lane. `local` is active.
pub(crate) fn clean(shared: &AccShared, local: &mut Local, lane: &mut LaneGuard<'_>, horizon: &Horizon) {
    while lane.versions.front().is_some_and(|v| v.0 < horizon.versions) {
        let (_, version) = lane.versions.pop_front().expect("just looked at");
        // without the rule a snapshot may still read it: the test ends at the assertion of `freed`
        if shared.config.rules.on(Rule::FloorBehindAnnouncement) {
            // SAFETY: every snapshot, running or to come, reads after the commit that superseded it.
            unsafe { version.free(local) };
        }
    }
    let mut unmerged = Unmerged::default();
    for _ in 0..AT_ONCE.max(lane.deleted.len() / BACKLOG) {
        if lane.deleted.front().is_none_or(|d| !horizon.is_over(shared, &mut unmerged, d)) {
            return;
        }
        let deleted = lane.deleted.pop_front().expect("just looked at");
        if let Some(later) = clean_record(shared, local, deleted) {
            lane.deleted.push_back(later);
        }
    }
}

/// Removes a record that is still the same delete. Returns what has to wait: a record whose lock is taken, or
/// one that was inserted and deleted again.
fn clean_record(shared: &AccShared, local: &mut Local, deleted: Deleted) -> Option<Deleted> {
    let Deleted { record, ts, .. } = deleted;
    let table = shared.tables.get(deleted.table).ok()?;
    let groups = table.existence.groups();
    // the lock may be held by an insert, which may still abort
    let Some(before) = try_lock(record, groups) else { return Some(deleted) };
    // transactions wait for this lock without a bound: while it is held, nothing here waits for a transaction
    let now = Record::current(&before, table.schema.layout().groups());
    if now != Word::absent(Timestamp::from_raw(ts)) {
        // the row was inserted again, so that nothing is to be cleaned; or even deleted again
        let again = now.is_absent().then(|| Deleted { ts: now.ts().raw(), ..deleted });
        if again.is_none() {
            record.delist();
        }
        for group in groups.iter() {
            record.unlock(group, before[group]);
        }
        return again;
    }
    if let Some(tree) = &table.tree {
        tree.remove(local, table.needed_after(), record.key(), record.raw());
    }
    table.remove_point(local, shared.hasher.hash(record.key()), record);
    for group in groups.iter() {
        record.unlock(group, now.obsolete());
    }
    if let Some(mine) = table.of_worker(local.id()) {
        count(&mine.counters.cleaned, 1);
    }
    // SAFETY: obsolete, out of the indexes, and on no pending list, as `Horizon::is_over` has found; and this was the
    // only entry for clean-up.
    unsafe { record.retire(local) };
    None
}

/// Locks all groups of a record. Returns their words before; `None` if one is locked.
fn try_lock(record: Record, groups: GroupSet) -> Option<[Word; MAX_GROUPS]> {
    let mut before = [Word(0); MAX_GROUPS];
    for group in groups.iter() {
        let word = record.word(group);
        if word.is_locked() || !record.try_lock_to_clean(group, word) {
            for locked in groups.iter().take_while(|&g| g < group) {
                record.unlock(locked, before[locked]);
            }
            return None;
        }
        before[group] = word;
    }
    Some(before)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::{Acc, AccWorker, Config};
    use scaledb_engine::{Access, Engine, Order, Range, TableDef, TableOptions, TxnKind, Worker};
    use scaledb_keys::KeyBuf;
    use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
    use scaledb_sync::thread;
    use std::ops::ControlFlow;
    use std::time::Duration;

    /// A transaction that has read a deleted row stays valid when clean-up removes the record.
    #[test]
    fn clean_up_is_no_conflict_for_who_has_read_that_a_row_is_gone() {
        let merge_epoch = std::time::Duration::ZERO;
        let db = Acc::open(Config { background: false, merge_epoch, ..Config::default() }).unwrap();
        let columns = vec![Column::new("id", ColumnType::Int4)];
        let t =
            db.create_table(TableDef::new("t", Schema::new(columns, &[KeyPart::asc(0)]).unwrap())).unwrap();
        let row = |id| RowBuf::from_values(&t.schema, &[Datum::Int4(id)]).unwrap();
        let all = scaledb_row::Projection::all(&t.schema);
        let (mut cleaner, mut reader) = (db.worker().unwrap(), db.worker().unwrap());
        cleaner.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(1)).map(|_| ())).unwrap();
        assert!(cleaner.run(TxnKind::ReadWrite, |w| w.delete(t.id, &KeyBuf::new().i32(1))).unwrap());
        // by its key, and in a range
        for (number, by_key) in [(2, true), (3, false)] {
            // merges what it has inserted: an unmerged entry keeps deleted rows, too
            (0..200).for_each(|_| reader.run(TxnKind::ReadWrite, |_| Ok(())).unwrap());
            reader.begin(TxnKind::ReadWrite).unwrap();
            if by_key {
                assert!(reader.get(t.id, &KeyBuf::new().i32(1), &all, |_, _| ()).unwrap().is_none());
            } else {
                let mut rows = 0;
                let count = |_, _: &[u8], _: scaledb_row::RowRef<'_>| {
                    rows += 1;
                    std::ops::ControlFlow::Continue(())
                };
                reader.scan(t.id, Range::ALL, Order::Forward, &all, count).unwrap();
                assert_eq!(rows, number - 2);
            }
            reader.insert(t.id, &row(number)).unwrap();
            let mut rounds = 0;
            while !db.shared().lanes[0].lock().deleted.is_empty() {
                rounds += 1;
                assert!(rounds < 10_000_000, "clean-up never comes");
                cleaner.run(TxnKind::ReadWrite, |_| Ok(())).unwrap();
            }
            reader.commit().unwrap();
            assert!(cleaner.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(1)).map(|_| ())).is_ok());
            assert!(cleaner.run(TxnKind::ReadWrite, |w| w.delete(t.id, &KeyBuf::new().i32(1))).unwrap());
        }
    }

    /// Transactions wait for clean-up that has locked a record and whose thread is off its core: it is no conflict.
    #[test]
    fn clean_up_that_stands_still_is_no_conflict() {
        const WAIT: Duration = Duration::from_millis(20);
        let db = Acc::open(Config { background: false, ..Config::default() }).unwrap();
        let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
        let t =
            db.create_table(TableDef::new("t", Schema::new(columns, &[KeyPart::asc(0)]).unwrap())).unwrap();
        let row = |id| RowBuf::from_values(&t.schema, &[Datum::Int4(id), Datum::Int8(0)]).unwrap();
        let all = Projection::all(&t.schema);
        let key = |id| KeyBuf::new().i32(id);
        let (mut deleter, mut worker) = (db.worker().unwrap(), db.worker().unwrap());
        let scan = |w: &mut AccWorker| {
            w.scan(t.id, Range::ALL, Order::Forward, &all, |_, _, _| ControlFlow::Continue(()))
        };
        // what is done before clean-up takes the record, and what while it has it; on a row that is deleted, and on
        // one that lives again when clean-up looks
        type Step<'a> = &'a dyn Fn(&mut AccWorker) -> scaledb_base::Result<()>;
        let nothing: Step<'_> = &|_| Ok(());
        let read: Step<'_> = &|w| w.get(t.id, &key(1), &all, |_, _| ()).map(|_| ());
        let insert: Step<'_> = &|w| w.insert(t.id, &row(1)).map(|_| ());
        let other: Step<'_> = &|w| w.insert(t.id, &row(2)).map(|_| ());
        let update: Step<'_> = &|w| {
            w.update(t.id, &key(1), &all, |row| {
                row.set_i64(1, 1);
                Ok(())
            })
            .map(|_| ())
        };
        let taken_back: Step<'_> = &|w| {
            w.insert(t.id, &row(1))?;
            w.delete(t.id, &key(1)).map(|_| ())
        };
        let cases: [(&str, bool, Step<'_>, Step<'_>); 9] = [
            ("a scan", false, nothing, &scan),
            ("a read", false, nothing, read),
            ("an insert", false, nothing, insert),
            ("an insert's commit", false, insert, nothing),
            ("a commit that has scanned", false, &scan, other),
            ("an insert that is taken back", false, other, taken_back),
            ("a read of what lives", true, nothing, read),
            ("an update's commit", true, update, nothing),
            ("a commit that has read what lives", true, read, other),
        ];
        for (name, lives, before, during) in cases {
            deleter.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(1)).map(|_| ())).unwrap();
            assert!(deleter.run(TxnKind::ReadWrite, |w| w.delete(t.id, &key(1))).unwrap());
            let record = db.shared().lanes[0].lock().deleted.back().unwrap().record;
            if lives {
                deleter.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(1)).map(|_| ())).unwrap();
            }
            worker.begin(TxnKind::ReadWrite).unwrap();
            before(&mut worker).unwrap();
            let groups = scaledb_row::GroupSet::all(t.schema.layout().groups());
            let words = super::try_lock(record, groups).unwrap();
            thread::scope(|s| {
                s.spawn(|| {
                    thread::sleep(WAIT);
                    groups.iter().for_each(|group| record.unlock(group, words[group]));
                });
                let result = during(&mut worker).and_then(|()| worker.commit().map(|_| ()));
                assert!(result.is_ok(), "{name}: {result:?}");
            });
            for id in [1, 2] {
                deleter.run(TxnKind::ReadWrite, |w| w.delete(t.id, &key(id))).unwrap();
            }
        }
    }

    /// A deleted record that is on a pending list would be merged after it is gone. Those of other tables are on none.
    #[test]
    fn what_is_on_a_pending_list_stays_and_holds_up_no_other_table() {
        let merge_epoch = Duration::from_secs(3600);
        let db = Acc::open(Config { background: false, merge_epoch, ..Config::default() }).unwrap();
        let table = |name: &str, batch| {
            let schema = Schema::new(vec![Column::new("id", ColumnType::Int4)], &[KeyPart::asc(0)]).unwrap();
            let options = TableOptions::new(Access::Ordered).with("merge_batch", batch);
            db.create_table(TableDef { options, ..TableDef::new(name, schema) }).unwrap()
        };
        let (pending, merged) = (table("pending", 1 << 20), table("merged", 0));
        let (mut cleaner, mut inserter) = (db.worker().unwrap(), db.worker().unwrap());
        let insert = |w: &mut AccWorker, table: &scaledb_engine::TableInfo| {
            let row = RowBuf::from_values(&table.schema, &[Datum::Int4(1)]).unwrap();
            w.run(TxnKind::ReadWrite, |w| w.insert(table.id, &row).map(|_| ())).unwrap();
        };
        let key = KeyBuf::new().i32(1);
        let waiting = || db.shared().lanes[0].lock().deleted.iter().map(|d| d.table).collect::<Vec<_>>();
        let chores =
            |w: &mut AccWorker| (0..1_000).for_each(|_| w.run(TxnKind::ReadWrite, |_| Ok(())).unwrap());
        insert(&mut inserter, &pending);
        assert!(db.shared().lanes[1].is_pinned());
        insert(&mut cleaner, &merged);
        for table in [&merged, &pending] {
            assert!(cleaner.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key)).unwrap());
        }
        chores(&mut cleaner);
        assert_eq!(waiting(), [pending.id], "beside a pinned lane");
        drop(inserter);
        chores(&mut cleaner);
        assert_eq!(waiting(), [], "its list is merged");
    }

    /// A row that two workers delete in turn is in one worker's list: the other's entry would outlive the record.
    #[test]
    fn a_row_deleted_twice_awaits_clean_up_once() {
        let db = Acc::open(Config { background: false, ..Config::default() }).unwrap();
        let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8).group(1)];
        let t =
            db.create_table(TableDef::new("t", Schema::new(columns, &[KeyPart::asc(0)]).unwrap())).unwrap();
        let key = KeyBuf::new().i32(1);
        let waiting = |worker: usize| db.shared().lanes[worker].lock().deleted.len();
        let mut workers = [db.worker().unwrap(), db.worker().unwrap()];
        let ids = [0, 1];
        let delete_of_a_new_row = |w: &mut crate::AccWorker| {
            let row = RowBuf::from_values(&t.schema, &[Datum::Int4(1), Datum::Int8(7)]).unwrap();
            w.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row).map(|_| ())).unwrap();
            assert!(w.run(TxnKind::ReadWrite, |w| w.delete(t.id, &key)).unwrap());
        };
        delete_of_a_new_row(&mut workers[0]);
        delete_of_a_new_row(&mut workers[1]);
        assert_eq!(ids.map(waiting), [1, 0]);
        // the second worker's chores find nothing, the first one's clean what the second one deleted
        let mut rounds = 0;
        while ids.map(waiting) != [0, 0] {
            rounds += 1;
            assert!(rounds < 10_000_000, "clean-up never comes");
            for worker in [1, 0] {
                workers[worker].run(TxnKind::ReadWrite, |_| Ok(())).unwrap();
            }
        }
        assert_eq!(db.stats().tables[0].cleaned, 1);
        // a record that lives again when its entry is looked at is enlisted by its next delete
        delete_of_a_new_row(&mut workers[1]);
        assert_eq!(ids.map(waiting), [0, 1]);
    }
}
