//! Commits are run step by step: what others see after each, and what is left when one ends there.

use super::Commit;
use super::steps::Step::{self, Lock, Pin, Post, Publish, Timestamp as TakeTimestamp, Validate};
use crate::lane::NONE;
use crate::shared::AccShared;
use crate::table::Points;
use crate::txn::{Held, Op};
use crate::{AccWorker, Config};
use scaledb_base::{ConflictKind, Error, Timestamp, WorkerId};
use scaledb_engine::{Access, Order, Range, TableDef, TableInfo, TableOptions, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_memory::Purpose;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::clock::Source;
use std::ops::ControlFlow;
use std::time::Duration;

const STEPS: [Step; 6] = [Pin, Lock, Post, TakeTimestamp, Validate, Publish];

/// What workers share, without a database around it: no thread, no files.
struct Parts {
    shared: Arc<AccShared>,
    table: std::sync::Arc<TableInfo>,
}

impl Parts {
    /// A table whose keys wait for a merge, with the row 1.
    fn new(access: Access) -> Self {
        Self::with_batch(access, 1_000)
    }

    /// A table whose keys wait until there are so many, with the row 1; 0: commits insert into the tree.
    fn with_batch(access: Access, batch: u64) -> Self {
        let shared = Arc::new(AccShared::new(
            Config { background: false, phantomlet_cells: 2, ..Config::default() },
            0,
        ));
        let columns = vec![
            Column::new("id", ColumnType::Int4),
            Column::new("n", ColumnType::Int8).group(1),
            Column::new("text", ColumnType::Text(10_000)),
        ];
        let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
        let options = TableOptions::new(access).with("merge_batch", batch);
        let table = create(&shared, TableDef::new("t", schema).options(options));
        let parts = Self { shared, table };
        let mut worker = parts.worker();
        parts.begin(&mut worker);
        worker.insert(parts.table.id, &parts.row(1)).unwrap();
        worker.commit().unwrap();
        parts
    }

    fn worker(&self) -> AccWorker {
        AccWorker::new(self.shared.clone(), self.shared.domain.register().unwrap())
    }

    fn begin(&self, worker: &mut AccWorker) {
        worker.begin(TxnKind::ReadWrite).unwrap();
    }

    fn row(&self, id: i32) -> RowBuf {
        self.row_with(id, "")
    }

    fn row_with(&self, id: i32, text: &str) -> RowBuf {
        RowBuf::from_values(&self.table.schema, &[Datum::Int4(id), Datum::Int8(0), Datum::Text(text)])
            .unwrap()
    }

    /// An insert of row 2, and an update of row 1.
    fn write(&self, worker: &mut AccWorker) {
        self.begin(worker);
        worker.insert(self.table.id, &self.row(2)).unwrap();
        let all = Projection::all(&self.table.schema);
        let update = |row: &mut scaledb_row::RowMut<'_>| {
            row.set_i64(1, 7);
            Ok(())
        };
        assert!(worker.update(self.table.id, &KeyBuf::new().i32(1), &all, update).unwrap().is_some());
    }

    /// An update of row 1 in its other group.
    fn set_text(&self, worker: &mut AccWorker, text: &str) {
        let cols = Projection::new(&self.table.schema, [2]);
        let update = |row: &mut scaledb_row::RowMut<'_>| {
            row.set_bytes(2, text.as_bytes());
            Ok(())
        };
        assert!(worker.update(self.table.id, &KeyBuf::new().i32(1), &cols, update).unwrap().is_some());
    }

    /// `n` of a row, as a transaction by itself finds it.
    fn read(&self, id: i32) -> Result<Option<i64>, ConflictKind> {
        let mut worker = self.worker();
        self.begin(&mut worker);
        let all = Projection::all(&self.table.schema);
        let read = worker.get(self.table.id, &KeyBuf::new().i32(id), &all, |_, row| row.i64(1));
        read.and_then(|n| worker.commit().map(|_| n)).map_err(kind)
    }

    /// Entries of the table that are posted and not merged.
    fn unmerged(&self) -> u64 {
        self.unmerged_in(&self.table)
    }

    fn unmerged_in(&self, table: &TableInfo) -> u64 {
        let table = self.shared.tables.get(table.id).unwrap();
        let cells = 0..table.phantomlet.cells();
        cells.map(|cell| table.phantomlet.read(scaledb_index::phantomlet::CellId(cell as u32)).count).sum()
    }

    /// Keys in the tree, if there is one.
    fn in_tree(&self) -> usize {
        let table = self.shared.tables.get(self.table.id).unwrap();
        let mut local = self.shared.domain.register().unwrap();
        local.enter();
        let entries = table.tree.as_ref().map_or(0, |tree| tree.stats(&local).entries);
        local.exit();
        entries
    }

    fn is_pinned(&self, worker: &AccWorker) -> bool {
        self.shared.lanes[worker.id().index()].pin_ticks.load(Ordering::SeqCst) != NONE
    }

    /// Keys that a point read finds in the hash structure.
    fn keys(&self) -> usize {
        let table = self.shared.tables.get(self.table.id).unwrap();
        let mut local = self.shared.domain.register().unwrap();
        local.enter();
        let mut keys = 0;
        match &table.points {
            Points::Hash(hashed) => hashed.for_each(&local, |_| keys += 1),
            Points::Indexlet(indexlet) => indexlet.for_each(|_| keys += 1),
        }
        local.exit();
        keys
    }
}

fn create(shared: &AccShared, def: TableDef) -> std::sync::Arc<TableInfo> {
    let mut local = shared.domain.register().unwrap();
    scaledb_kit::create_unlogged(shared, &mut local, def).unwrap()
}

fn kind(error: Error) -> ConflictKind {
    match error {
        Error::Conflict(conflict) => conflict.kind,
        other => panic!("{other}"),
    }
}

/// The running transaction of a worker as a commit in flight.
fn commit<R>(worker: &mut AccWorker, f: impl FnOnce(&mut Commit<'_, '_>) -> R) -> R {
    let mut ctx = worker.ctx();
    let shared = ctx.shared;
    let lane = shared.lanes[ctx.local.id().index()].lock();
    f(&mut Commit {
        ctx: &mut ctx,
        lane,
        now: 0,
        retain: false,
        announced: Timestamp::ZERO,
        ts: Timestamp::ZERO,
    })
}

#[test]
fn each_step_shows_what_it_is_for_and_no_more() {
    let parts = Parts::new(Access::Hashed);
    let mut worker = parts.worker();
    let before = parts.unmerged();
    parts.write(&mut worker);
    let pinned = |parts: &Parts, id: usize| parts.shared.lanes[id].pin_ticks.load(Ordering::SeqCst) != NONE;
    let id = worker.id().index();
    commit(&mut worker, |commit| {
        assert!(!pinned(&parts, id));
        commit.step(Pin).unwrap();
        assert!(pinned(&parts, id) && parts.keys() == 1);
        assert_eq!((parts.read(1), parts.read(2)), (Ok(Some(0)), Ok(None)), "a pin holds nobody up");

        commit.step(Lock).unwrap();
        assert_eq!((parts.keys(), parts.unmerged()), (2, before), "a placeholder, which is not posted");
        assert_eq!(parts.read(1), Err(ConflictKind::ReadLocked), "others wait, not for ever");
        assert_eq!(commit.ts, Timestamp::ZERO);

        commit.step(Post).unwrap();
        assert_eq!(parts.unmerged(), before + 1, "scans look into the pending list from here on");

        commit.step(TakeTimestamp).unwrap();
        assert!(commit.ts > commit.ctx.txn.latest, "later than all that was read");

        commit.step(Validate).unwrap();
        assert_eq!(parts.read(2), Err(ConflictKind::ReadLocked));

        commit.step(Publish).unwrap();
        assert_eq!((parts.read(1), parts.read(2)), (Ok(Some(7)), Ok(Some(0))));
    });
}

#[test]
fn a_commit_that_ends_behind_any_step_leaves_nothing_behind() {
    for (access, batch) in
        [Access::Hashed, Access::Ordered, Access::HashOnly].into_iter().flat_map(|a| [(a, 1_000), (a, 0)])
    {
        for done in 0..STEPS.len() {
            let parts = Parts::with_batch(access, batch);
            let left = || (parts.keys(), parts.unmerged(), parts.in_tree());
            let before = left();
            let mut worker = parts.worker();
            parts.write(&mut worker);
            commit(&mut worker, |commit| {
                STEPS[..done].iter().for_each(|&step| commit.step(step).unwrap());
                commit.ctx.abort();
            });
            let what = format!("{access:?} with a batch of {batch}, behind {done} steps");
            assert_eq!(left(), before, "{what}");
            assert_eq!((parts.read(1), parts.read(2)), (Ok(Some(0)), Ok(None)), "{what}");
            // nothing is locked
            let mut other = parts.worker();
            parts.write(&mut other);
            other.commit().unwrap();
            assert_eq!((parts.read(1), parts.read(2)), (Ok(Some(7)), Ok(Some(0))), "{what}");
        }
    }
}

#[test]
fn a_commit_without_keys_to_merge_takes_its_pin_away() {
    let parts = Parts::new(Access::Hashed);
    let mut worker = parts.worker();
    parts.write(&mut worker);
    worker.commit().unwrap();
    assert!(parts.is_pinned(&worker), "its key is in no tree yet");
    // the first transaction of a worker ends with chores, which look after pins as well
    let mut worker = parts.worker();
    for _ in 0..4 {
        parts.begin(&mut worker);
        parts.set_text(&mut worker, "text");
        worker.commit().unwrap();
        assert!(!parts.is_pinned(&worker), "snapshots and clean-up would wait for it");
    }
}

#[test]
fn a_transaction_that_only_read_fails_if_what_it_read_has_changed() {
    /// What else is read beside the row 1.
    #[derive(Debug, Clone, Copy)]
    enum Also {
        Row,
        Absent,
        Range,
    }
    for also in [Also::Row, Also::Absent, Also::Range] {
        let parts = Parts::new(Access::Hashed);
        let mut worker = parts.worker();
        parts.begin(&mut worker);
        worker.insert(parts.table.id, &parts.row(3)).unwrap();
        worker.commit().unwrap();
        let all = Projection::all(&parts.table.schema);
        let read =
            |worker: &mut AccWorker| {
                parts.begin(worker);
                worker.get(parts.table.id, &KeyBuf::new().i32(1), &all, |_, _| ()).unwrap();
                let other = |worker: &mut AccWorker, id| {
                    worker.get(parts.table.id, &KeyBuf::new().i32(id), &all, |_, _| ()).unwrap()
                };
                match also {
                    Also::Row => assert!(other(worker, 3).is_some()),
                    Also::Absent => assert!(other(worker, 5).is_none()),
                    Also::Range => {
                        let (low, high) = (KeyBuf::new().i32(5), KeyBuf::new().i32(9));
                        let range = Range { start: &low, end: Some(&high) };
                        worker
                            .scan(parts.table.id, range, Order::Forward, &all, |_, _, _| {
                                ControlFlow::Continue(())
                            })
                            .unwrap();
                    }
                }
            };
        read(&mut worker);
        assert!(worker.commit().unwrap() > Timestamp::ZERO);
        read(&mut worker);
        let mut other = parts.worker();
        parts.write(&mut other);
        other.commit().unwrap();
        assert_eq!(kind(worker.commit().unwrap_err()), ConflictKind::ReadChanged, "{also:?}");
    }
}

#[test]
fn a_duplicate_that_follows_from_a_stale_read_is_a_conflict() {
    let parts = Parts::new(Access::Hashed);
    let (mut worker, mut other) = (parts.worker(), parts.worker());
    let all = Projection::all(&parts.table.schema);
    parts.begin(&mut worker);
    assert!(worker.get(parts.table.id, &KeyBuf::new().i32(2), &all, |_, _| ()).unwrap().is_none());
    parts.write(&mut other);
    other.commit().unwrap();
    let inserted = worker.insert(parts.table.id, &parts.row(2));
    assert_eq!(
        kind(inserted.unwrap_err()),
        ConflictKind::AbsentAppeared,
        "it has seen that there is no row 2"
    );
}

#[test]
fn a_key_that_was_merged_since_the_insert_looked_for_it_is_found_by_the_commit() {
    let parts = Parts::with_batch(Access::Ordered, 1);
    let (mut worker, mut other) = (parts.worker(), parts.worker());
    parts.begin(&mut worker);
    worker.insert(parts.table.id, &parts.row(2)).unwrap();
    parts.write(&mut other);
    other.commit().unwrap();
    assert_eq!((parts.keys(), parts.in_tree()), (0, 2), "the row 2 has left the indexlet");
    assert_eq!(kind(worker.commit().unwrap_err()), ConflictKind::AbsentAppeared);
    assert_eq!((parts.keys(), parts.in_tree()), (0, 2));
}

#[test]
fn a_row_that_takes_the_place_of_a_shorter_one_is_whole() {
    let text = "long ".repeat(1_000);
    let key = KeyBuf::new().i32(1);
    for way in ["inserted over a deleted row", "deleted and inserted", "updated"] {
        let parts = Parts::new(Access::Hashed);
        let (table, all) = (parts.table.id, Projection::all(&parts.table.schema));
        let mut worker = parts.worker();
        // the chores behind the first transaction would take the deleted row away
        parts.begin(&mut worker);
        parts.set_text(&mut worker, "");
        worker.commit().unwrap();
        parts.begin(&mut worker);
        if way == "updated" {
            parts.set_text(&mut worker, &text);
        } else {
            assert!(worker.delete(table, &key).unwrap());
            if way == "inserted over a deleted row" {
                worker.commit().unwrap();
                assert_eq!(parts.keys(), 1, "its record is still there");
                parts.begin(&mut worker);
            }
            worker.insert(table, &parts.row_with(1, &text)).unwrap();
        }
        worker.commit().unwrap();
        assert_eq!(parts.keys(), 1, "{way}: it is the same record");
        parts.begin(&mut worker);
        let got = worker.get(table, &key, &all, |_, row| row.text(2).to_owned()).unwrap();
        assert_eq!(got.as_deref(), Some(&*text), "{way}");
    }
}

#[test]
fn a_row_that_moves_is_locked_in_all_its_groups() {
    for (text, moves) in [("", false), (&*"long ".repeat(1_000), true)] {
        let parts = Parts::new(Access::Hashed);
        let (mut worker, mut other) = (parts.worker(), parts.worker());
        parts.begin(&mut worker);
        parts.set_text(&mut worker, text);
        // the other group
        parts.begin(&mut other);
        let (key, cols) = (KeyBuf::new().i32(1), Projection::new(&parts.table.schema, [1]));
        let update = |row: &mut scaledb_row::RowMut<'_>| {
            row.set_i64(1, 7);
            Ok(())
        };
        assert!(other.update(parts.table.id, &key, &cols, update).unwrap().is_some());
        commit(&mut worker, |commit| {
            STEPS[..2].iter().for_each(|&step| commit.step(step).unwrap());
            let written = other.commit().map_err(kind);
            assert_eq!(written.err(), moves.then_some(ConflictKind::WriteLocked));
            STEPS[2..].iter().for_each(|&step| commit.step(step).unwrap());
        });
        assert_eq!(parts.read(1), Ok(Some(if moves { 0 } else { 7 })));
    }
}

#[test]
fn a_row_that_changes_behind_the_check_of_all_is_not_locked() {
    let parts = Parts::new(Access::Hashed);
    let (mut worker, mut other) = (parts.worker(), parts.worker());
    parts.write(&mut worker);
    parts.write(&mut other);
    other.commit().unwrap();
    commit(&mut worker, |commit| {
        assert_eq!(commit.ctx.writes_are_unchanged().map_err(kind), Err(ConflictKind::WriteChanged));
        let writes = &commit.ctx.txn.writes;
        let update = writes.iter().position(|write| write.op == Op::Update).expect("of row 1");
        let len = writes.len();
        commit.ctx.txn.held.resize_with(len, Held::default);
        assert_eq!(commit.ctx.lock(update, false).map_err(kind), Err(ConflictKind::WriteChanged));
        commit.ctx.abort();
    });
    assert_eq!(parts.read(1), Ok(Some(7)));
}

#[test]
fn each_new_key_is_counted_once_and_in_its_table() {
    const KEYS: i32 = 20;
    let parts = Parts::new(Access::Ordered);
    let schema = Schema::new(vec![Column::new("id", ColumnType::Int4)], &[KeyPart::asc(0)]).unwrap();
    // two of three tables count in the cells of one number
    let tables = ["a", "b", "c"].map(|name| {
        let options = TableOptions::new(Access::Ordered).with("merge_batch", 1_000);
        create(&parts.shared, TableDef::new(name, schema.clone()).options(options))
    });
    let counted = || tables.each_ref().map(|table| parts.unmerged_in(table));
    for ends_well in [false, true] {
        let mut worker = parts.worker();
        parts.begin(&mut worker);
        for id in 0..KEYS {
            for table in &tables {
                let row = RowBuf::from_values(&table.schema, &[Datum::Int4(id)]).unwrap();
                worker.insert(table.id, &row).unwrap();
            }
        }
        commit(&mut worker, |commit| {
            STEPS[..3].iter().for_each(|&step| commit.step(step).unwrap());
            assert_eq!(counted(), [KEYS as u64; 3]);
            match ends_well {
                true => STEPS[3..].iter().for_each(|&step| commit.step(step).unwrap()),
                false => commit.ctx.abort(),
            }
        });
        assert_eq!(counted(), [if ends_well { KEYS as u64 } else { 0 }; 3]);
    }
}

#[test]
fn a_timestamp_is_behind_those_it_follows_however_far_these_are_ahead_of_the_clock() {
    let second = Duration::from_secs(1);
    // within what the counters of two cores may differ by, or far beyond
    for (parts_of_skew, far) in [(0, false), (1, false), (0, true)] {
        for (by_worker, validates) in [(false, false), (false, true), (true, false), (true, true)] {
            let parts = Parts::new(Access::Hashed);
            let clock = &parts.shared.clock;
            let mut worker = parts.worker();
            parts.begin(&mut worker);
            worker.insert(parts.table.id, &parts.row(2)).unwrap();
            if validates {
                let all = Projection::all(&parts.table.schema);
                worker.get(parts.table.id, &KeyBuf::new().i32(1), &all, |_, _| ()).unwrap();
            }
            commit(&mut worker, |commit| {
                let ahead = clock.skew() / 2 * parts_of_skew + if far { clock.ticks(2 * second) } else { 0 };
                let seen = clock.now() + ahead;
                if by_worker {
                    commit.ctx.state.last_ticks = seen;
                } else {
                    commit.ctx.txn.latest = Timestamp::new(seen, WorkerId(0));
                }
                commit.step(TakeTimestamp).unwrap();
                assert!(commit.ts.ticks() > seen);
                assert!(clock.now() > commit.ts.ticks(), "who begins now is behind it");
                assert_eq!(commit.ctx.state.last_ticks, commit.ts.ticks());
                let differs = far && clock.source() == Source::Tsc;
                assert_eq!(clock.is_replaced(), differs, "{parts_of_skew} {far}");
            });
        }
    }
}

#[test]
fn memory_that_is_kept_for_deletes_is_for_commits_that_do_little_else() {
    let parts = Parts::new(Access::Hashed);
    let (mut worker, table) = (parts.worker(), parts.table.id);
    parts.write(&mut worker);
    worker.commit().unwrap();
    let purpose = |deletes: &[i32], insert: Option<&str>, update: bool| {
        let mut worker = parts.worker();
        parts.begin(&mut worker);
        if update {
            parts.set_text(&mut worker, "longer");
        }
        for &id in deletes {
            assert!(worker.delete(table, &KeyBuf::new().i32(id)).unwrap());
        }
        insert.map(|text| worker.insert(table, &parts.row_with(3, text)).unwrap());
        commit(&mut worker, |commit| commit.ctx.purpose())
    };
    assert_eq!(purpose(&[1, 2], None, false), Purpose::Upkeep);
    assert_eq!(purpose(&[1, 2], Some(""), false), Purpose::Relief, "less than it gives back");
    assert_eq!(purpose(&[1, 2], Some(&"long ".repeat(100)), false), Purpose::Growth);
    assert_eq!(purpose(&[], Some(""), false), Purpose::Growth);
    assert_eq!(purpose(&[2], None, true), Purpose::Relief);
    assert_eq!(purpose(&[2], Some(""), false), Purpose::Growth, "a record takes more than its row");
}

#[test]
fn a_row_that_is_overwritten_is_kept_for_boundaries_behind_it_and_a_new_one_for_none() {
    for (later, kept) in [(0, 0), (1, 1)] {
        let parts = Parts::new(Access::Hashed);
        let mut worker = parts.worker();
        parts.write(&mut worker);
        commit(&mut worker, |commit| {
            STEPS[..4].iter().for_each(|&step| commit.step(step).unwrap());
            // of row 1, which is all that was read
            let boundary = Timestamp::from_raw(commit.ctx.txn.latest.raw() + later);
            commit.ctx.retain(&mut commit.lane, commit.ts, boundary).unwrap();
            assert_eq!(commit.lane.versions.len(), kept);
            STEPS[4..].iter().for_each(|&step| commit.step(step).unwrap());
        });
    }
}

#[test]
fn who_has_found_a_placeholder_that_is_taken_back_sees_that_it_is() {
    for access in [Access::Hashed, Access::Ordered, Access::HashOnly] {
        let parts = Parts::new(access);
        let (mut worker, mut other) = (parts.worker(), parts.worker());
        parts.write(&mut worker);
        // keeps the record from being freed
        parts.begin(&mut other);
        commit(&mut worker, |commit| {
            STEPS[..3].iter().for_each(|&step| commit.step(step).unwrap());
            let found = commit.ctx.txn.writes.iter().find(|write| write.op == Op::Insert);
            let record = found.and_then(|write| write.record).expect("inserted");
            assert!(!record.word(0).is_obsolete());
            commit.ctx.abort();
            assert!(record.word(0).is_obsolete(), "{access:?}: it would be waited for");
        });
    }
}

#[test]
fn a_row_that_a_commit_has_locked_itself_is_as_it_was_read() {
    let parts = Parts::new(Access::Hashed);
    let mut worker = parts.worker();
    parts.begin(&mut worker);
    let all = Projection::all(&parts.table.schema);
    worker.get(parts.table.id, &KeyBuf::new().i32(1), &all, |_, _| ()).unwrap();
    parts.set_text(&mut worker, "text");
    worker.commit().unwrap();
}

#[test]
fn who_locks_first_is_in_the_way_and_who_validates_later_sees_it() {
    let parts = Parts::new(Access::Hashed);
    let (mut first, mut second) = (parts.worker(), parts.worker());
    let all = Projection::all(&parts.table.schema);
    // the second one has read what the first one writes
    parts.begin(&mut second);
    second.get(parts.table.id, &KeyBuf::new().i32(1), &all, |_, _| ()).unwrap();
    second.insert(parts.table.id, &parts.row(3)).unwrap();
    parts.write(&mut first);
    commit(&mut first, |first| {
        first.step(Pin).unwrap();
        first.step(Lock).unwrap();
        commit(&mut second, |second| {
            STEPS[..4].iter().for_each(|&step| second.step(step).unwrap());
            // a row that it has read is locked: it cannot tell that its holder will get a later timestamp
            assert_eq!(kind(second.step(Validate).unwrap_err()), ConflictKind::ReadChanged);
            second.ctx.abort();
        });
        STEPS[2..].iter().for_each(|&step| first.step(step).unwrap());
    });
    assert_eq!((parts.read(1), parts.read(3)), (Ok(Some(7)), Ok(None)));
}
