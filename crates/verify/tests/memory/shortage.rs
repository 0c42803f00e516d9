//! What was committed stays, and gets into every index, when memory runs out: at the budget, and at any single
//! allocation.

use scaledb_acc::{Acc, AccWorker, Config, Durability};
use scaledb_base::Error;
use scaledb_engine::{Access, Engine, Order, Range, TxnKind, Worker};
use scaledb_sync::Arc;
use scaledb_verify::disk::SimDisk;
use scaledb_verify::history::{Columns, Kind, Row, Table, text_of};
use std::ops::ControlFlow;

/// Rows of a table that a transaction of this kind sees by the table's own range index.
fn count<W: Worker>(worker: &mut W, t: &Table, kind: TxnKind) -> u64 {
    worker
        .run(kind, |w| {
            let mut rows = 0;
            w.scan(t.id_of(0), Range::ALL, Order::Forward, t.projection(Columns(0)), |_, _, _| {
                rows += 1;
                ControlFlow::Continue(())
            })?;
            Ok(rows)
        })
        .unwrap()
}

fn insert<W: Worker>(worker: &mut W, t: &Table, id: i32) -> scaledb_base::Result<()> {
    let row = t.row(id, &Row { a: id % 10, u: Some(id), ..Row::default() }, &text_of(3));
    worker.run(TxnKind::ReadWrite, |w| w.insert(t.id_of(0), &row).map(|_| ()))
}

/// A table whose entries nobody merges unless somebody has to.
const UNMERGED: Kind = Kind::new(Access::Hashed, Some(1 << 22)).plain().epoch_us(1 << 30);
/// One that takes what memory is left, in blocks of all sizes.
const BALLAST: Kind = Kind::new(Access::Ordered, Some(0)).plain();

const BUDGET: u64 = 12 << 20;
const ROWS: i32 = 10_000;

/// Inserts rows, and others until memory is out.
fn fill(worker: &mut AccWorker, t: &Table, ballast: &Table) {
    for id in 0..ROWS {
        insert(worker, t, id).unwrap();
    }
    let mut id = 0;
    for text in (0..97).rev() {
        // one text in 31 is 24 times as long
        let text = text_of(text + 97 * 30 * (text % 2));
        let row = |id| ballast.row(id, &Row::default(), &text);
        loop {
            id += 1;
            match worker.run(TxnKind::ReadWrite, |w| w.insert(ballast.id_of(0), &row(id)).map(|_| ())) {
                Ok(()) => {}
                Err(Error::OutOfMemory { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_session_that_ends_while_memory_is_short_leaves_its_rows_to_snapshots_and_others() {
    for background in [false, true] {
        let config = Config { memory_budget: BUDGET, background, ..Config::default() };
        let db = Acc::open(config).unwrap();
        let t = Table::create(&db, "t", UNMERGED).unwrap();
        let ballast = Table::create(&db, "ballast", BALLAST).unwrap();
        // the session that fills has the highest id, and is gone when the others look
        let mut other = db.worker().unwrap();
        let mut filler = db.worker().unwrap();
        fill(&mut filler, &t, &ballast);
        // not even what is kept for merges is there
        db.memory().fail_allocations(0, u64::MAX);
        drop(filler);
        let gives_up = other.begin(TxnKind::Deferrable);
        assert!(matches!(gives_up, Err(Error::OutOfMemory { .. })), "{gives_up:?}");
        assert!(db.memory().stop_failing());
        for kind in [TxnKind::Deferrable, TxnKind::Snapshot, TxnKind::ReadOnly] {
            assert_eq!(count(&mut other, &t, kind), ROWS as u64, "{kind:?}, background {background}");
        }
        // records that are deleted and cleaned are in no list any more
        for id in 0..1000 {
            assert!(other.run(TxnKind::ReadWrite, |w| w.delete(t.id_of(0), &t.key(id))).unwrap());
        }
        for id in 0..1000 {
            while insert(&mut other, &t, id).is_err() {}
        }
        assert_eq!(count(&mut other, &t, TxnKind::Deferrable), ROWS as u64);
    }
}

#[test]
fn a_checkpoint_has_the_rows_of_a_session_that_ended_while_memory_was_short() {
    let disk = SimDisk::new(5);
    let config = |budget| {
        let durability = Durability { recovery_threads: 1, ..Durability::new(Arc::new(disk.clone())) };
        let durability = Some(durability);
        Config { memory_budget: budget, background: false, durability, ..Config::default() }
    };
    let db = Acc::open(config(BUDGET)).unwrap();
    let t = Table::create(&db, "t", UNMERGED).unwrap();
    let ballast = Table::create(&db, "ballast", BALLAST).unwrap();
    let mut filler = db.worker().unwrap();
    fill(&mut filler, &t, &ballast);
    filler.wait_durable().unwrap();
    drop(filler);
    db.checkpoint().unwrap();
    drop(db);
    let db = Acc::open(config(u64::MAX)).unwrap();
    let t = Table::open(&db, "t", UNMERGED).unwrap();
    assert_eq!(count(&mut db.worker().unwrap(), &t, TxnKind::ReadOnly), ROWS as u64);
}
