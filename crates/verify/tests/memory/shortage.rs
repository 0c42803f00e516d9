//! What was committed stays, and gets into every index, when memory runs out: at the budget, and at any single
//! allocation.

use scaledb_acc::{Acc, AccWorker, Config, Durability};
use scaledb_base::Error;
use scaledb_cicada::Cicada;
use scaledb_engine::{Access, Engine, Order, Range, TxnKind, Worker};
use scaledb_memory::Domain;
use scaledb_sync::{Arc, thread};
use scaledb_verify::disk::SimDisk;
use scaledb_verify::history::{Change, Columns, HistoryTable, Kind, Row, text_of};
use std::ops::ControlFlow;
use std::time::Duration;

/// Rows of a table that a transaction of this kind sees by the table's own range index.
fn count<W: Worker>(worker: &mut W, t: &HistoryTable, kind: TxnKind) -> u64 {
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

fn insert<W: Worker>(worker: &mut W, t: &HistoryTable, id: i32) -> scaledb_base::Result<()> {
    let row = t.row(id, &Row { a: id % 10, u: Some(id), ..Row::default() }, &text_of(3));
    worker.run(TxnKind::ReadWrite, |w| w.insert(t.id_of(0), &row).map(|_| ()))
}

/// A table whose entries nobody merges unless somebody has to.
const UNMERGED: Kind = Kind::new(Access::Hashed, Some(1 << 22)).plain().epoch_us(1 << 30);
/// One that takes what memory is left, in blocks of all sizes.
const BALLAST: Kind = Kind::new(Access::Ordered, Some(0)).plain();

const BUDGET: u64 = 12 << 20;
const LIMIT: u64 = 16 << 20;
const ROWS: i32 = 10_000;

/// Inserts rows, and others until memory is out.
fn fill(worker: &mut AccWorker, t: &HistoryTable, ballast: &HistoryTable) {
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
        let config = Config { background, ..Config::default() };
        let db = Acc::open(config).unwrap();
        let t = HistoryTable::create(&db, "t", UNMERGED).unwrap();
        // the session that fills has the highest id, and is gone when the others look
        let mut other = db.worker().unwrap();
        let mut filler = db.worker().unwrap();
        (0..ROWS).for_each(|id| insert(&mut filler, &t, id).unwrap());
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
    let t = HistoryTable::create(&db, "t", UNMERGED).unwrap();
    let ballast = HistoryTable::create(&db, "ballast", BALLAST).unwrap();
    let mut filler = db.worker().unwrap();
    fill(&mut filler, &t, &ballast);
    filler.wait_durable().unwrap();
    drop(filler);
    db.checkpoint().unwrap();
    drop(db);
    let db = Acc::open(config(u64::MAX)).unwrap();
    let t = HistoryTable::open(&db, "t", UNMERGED).unwrap();
    assert_eq!(count(&mut db.worker().unwrap(), &t, TxnKind::ReadOnly), ROWS as u64);
}

/// What is done at the budget, on both engines: rows of one size fill it, are deleted, and rows of another size find
/// the memory.
fn at_the_budget<E: Engine>(engine: &E, memory: &Domain, access: Access) {
    let name = format!("{} {access:?}", engine.name());
    let t = HistoryTable::create(engine, "t", Kind { indexes: false, ..Kind::new(access, None) }).unwrap();
    let mut worker = engine.worker().unwrap();
    let mut next = 0;
    let mut fill = |worker: &mut E::Worker, text: &str, batch: i32| {
        let first = next;
        // other threads may still clean; nothing is waited for but them
        let mut refused = 0;
        while refused < 20 {
            let inserted = worker.run(TxnKind::ReadWrite, |w| {
                for id in next..next + batch {
                    w.insert(t.id_of(0), &t.row(id, &Row::default(), text))?;
                }
                Ok(())
            });
            match inserted {
                Ok(()) => next += batch,
                Err(Error::OutOfMemory { .. }) => {
                    refused += 1;
                    thread::sleep(Duration::from_millis(2));
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
        first..next
    };
    let wide = text_of(96).repeat(16);
    let mut sizes = [&wide[..480], &wide[..20], &wide[..1500], &wide[..480]].into_iter().cycle();
    let mut filled = Vec::new();
    for _ in 0..4 {
        let text = sizes.next().unwrap();
        let rows = fill(&mut worker, text, 10);
        filled.push(rows.len() * (text.len() + 200));
        // nothing grows; what does not grow goes on, and so does what frees
        let some = rows.start..rows.start + 200;
        let columns = t.projection(Columns(Columns::W));
        let change = Change { w: Some(1), ..Change::default() };
        for id in some {
            let updated = worker.run(TxnKind::ReadWrite, |w| {
                w.update(t.id_of(0), &t.key(id), columns, |row| t.apply(row, &change))
            });
            assert!(matches!(updated, Ok(Some(()))), "{name}: {updated:?}");
        }
        let half = rows.start + rows.len() as i32 / 2;
        for part in [rows.start..half, half..rows.end] {
            // many at once, as TRUNCATE does
            let deleted = worker.run(TxnKind::ReadWrite, |w| {
                part.clone().try_for_each(|id| w.delete(t.id_of(0), &t.key(id)).map(|_| ()))
            });
            assert!(deleted.is_ok(), "{name}: {deleted:?}");
        }
        assert!(memory.used() <= memory.budget() / 8 * 9, "{name}: {} bytes", memory.used());
    }
    let (first, least) = (filled[0], filled.iter().copied().min().unwrap());
    assert!(least > first / 3 * 2, "{name}: rows of each size, in bytes: {filled:?}");
}

#[test]
fn acc_at_its_budget_deletes_updates_and_takes_rows_of_other_sizes() {
    for access in [Access::Hashed, Access::Ordered] {
        let db = Acc::open(Config { memory_budget: LIMIT, ..Config::default() }).unwrap();
        at_the_budget(&db, db.memory(), access);
    }
}

#[test]
fn cicada_at_its_budget_deletes_updates_and_takes_rows_of_other_sizes() {
    for access in [Access::Hashed, Access::Ordered] {
        let config = scaledb_cicada::Config { memory_budget: LIMIT, ..scaledb_cicada::Config::default() };
        let db = Cicada::open(config).unwrap();
        at_the_budget(&db, db.memory(), access);
    }
}

/// What a transaction remembers is bounded, too, and is there for the next one when it has failed.
fn a_large_transaction<E: Engine>(engine: &E) {
    let t = HistoryTable::create(engine, "t", Kind { indexes: false, ..Kind::new(Access::Hashed, None) })
        .unwrap();
    let (mut worker, mut other) = (engine.worker().unwrap(), engine.worker().unwrap());
    let text = text_of(31 * 40);
    let insert = |w: &mut E::Worker, ids: std::ops::Range<i32>| {
        ids.into_iter().find_map(|id| w.insert(t.id_of(0), &t.row(id, &Row::default(), &text)).err())
    };
    for _ in 0..2 {
        worker.begin(TxnKind::ReadWrite).unwrap();
        let error = insert(&mut worker, 0..1_000_000);
        let Some(Error::TransactionsTooLarge { own, limit }) = error else {
            panic!("{}: {error:?}", engine.name())
        };
        assert!(own > limit / 10 * 9, "{}: it has {own} of {limit} bytes", engine.name());
        // beside it, there is little left, but for small ones enough
        other.run(TxnKind::ReadWrite, |w| insert(w, 0..10).map_or(Ok(()), Err)).unwrap();
        other
            .run(TxnKind::ReadWrite, |w| {
                (0..10).try_for_each(|id| w.delete(t.id_of(0), &t.key(id)).map(|_| ()))
            })
            .unwrap();
        worker.rollback();
    }
}

#[test]
fn a_transaction_that_remembers_too_much_fails_alone() {
    a_large_transaction(&Acc::open(Config { memory_budget: LIMIT, ..Config::default() }).unwrap());
    let config = scaledb_cicada::Config { memory_budget: LIMIT, ..scaledb_cicada::Config::default() };
    a_large_transaction(&Cicada::open(config).unwrap());
}
