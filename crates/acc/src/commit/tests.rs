//! Commits are run step by step: what others see after each, and what is left when one ends there.

use super::Commit;
use super::steps::Step::{self, Lock, Pin, Post, Publish, Timestamp as TakeTimestamp, Validate};
use crate::lane::NONE;
use crate::shared::AccShared;
use crate::table::Points;
use crate::{AccWorker, Config};
use scaledb_base::{ConflictKind, Error, Timestamp};
use scaledb_engine::{Access, TableDef, TableInfo, TableOptions, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;

const STEPS: [Step; 6] = [Pin, Lock, Post, TakeTimestamp, Validate, Publish];

/// What workers share, without a database around it: no thread, no files.
struct Parts {
    shared: Arc<AccShared>,
    table: std::sync::Arc<TableInfo>,
}

impl Parts {
    /// A table whose keys wait for a merge, with the row 1.
    fn new(access: Access) -> Self {
        let shared = Arc::new(AccShared::new(Config { background: false, ..Config::default() }, 0));
        let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
        let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
        let options = TableOptions::new(access).with("merge_batch", 1_000);
        let def = TableDef::new("t", schema).options(options);
        let mut local = shared.domain.register().unwrap();
        let table = scaledb_kit::create_unlogged(&*shared, &mut local, def).unwrap();
        drop(local);
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
        RowBuf::from_values(&self.table.schema, &[Datum::Int4(id), Datum::Int8(0)]).unwrap()
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
        let table = self.shared.tables.get(self.table.id).unwrap();
        let cells = 0..table.phantomlet.cells();
        cells.map(|cell| table.phantomlet.read(scaledb_index::phantomlet::CellId(cell as u32)).count).sum()
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
    for access in [Access::Hashed, Access::Ordered, Access::HashOnly] {
        for done in 0..STEPS.len() {
            let parts = Parts::new(access);
            let (keys, unmerged) = (parts.keys(), parts.unmerged());
            let mut worker = parts.worker();
            parts.write(&mut worker);
            commit(&mut worker, |commit| {
                STEPS[..done].iter().for_each(|&step| commit.step(step).unwrap());
                commit.ctx.abort();
            });
            let what = format!("{access:?}, behind {done} steps");
            assert_eq!((parts.keys(), parts.unmerged()), (keys, unmerged), "{what}");
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
