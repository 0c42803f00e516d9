//! One worker, one step at a time: every operation does what it says.

use scaledb_acc::{Acc, AccWorker, Config, IndexUpdates};
use scaledb_base::Error;
use scaledb_engine::{
    Access, Engine, IndexDef, Order, Range, TableDef, TableInfo, TableOptions, TxnKind, Worker,
};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::thread;
use std::ops::ControlFlow;
use std::sync::Arc;

use std::time::Duration;

/// A table with this merge batch.
fn batched(access: Access, merge_batch: Option<u64>) -> TableOptions {
    let options = TableOptions::new(access);
    merge_batch.into_iter().fold(options, |options, batch| options.with("merge_batch", batch))
}

fn table(access: Access, merge_batch: Option<u64>) -> (Acc, Arc<TableInfo>) {
    let db = Acc::open(Config::default()).unwrap();
    let schema = Schema::new(
        vec![
            Column::new("id", ColumnType::Int4),
            Column::new("city", ColumnType::Text(100)),
            Column::new("n", ColumnType::Int8).group(1),
        ],
        &[KeyPart::asc(0)],
    )
    .unwrap();
    let by_city = IndexDef {
        options: batched(Access::default(), merge_batch),
        ..IndexDef::new("by_city", vec![KeyPart::asc(1)])
    };
    let mut def = TableDef::new("t", schema).options(batched(access, merge_batch));
    if access != Access::HashOnly {
        def = def.index(by_city);
    }
    let info = db.create_table(def).unwrap();
    (db, info)
}

fn row(t: &TableInfo, id: i32, city: &str, n: i64) -> RowBuf {
    RowBuf::from_values(&t.schema, &[Datum::Int4(id), Datum::Text(city), Datum::Int8(n)]).unwrap()
}

fn key(id: i32) -> KeyBuf {
    KeyBuf::new().i32(id)
}

type Rows = Vec<(i32, String, i64)>;

fn scan(w: &mut AccWorker, t: &TableInfo, index: bool, order: Order) -> Rows {
    let mut rows = Vec::new();
    let id = if index { t.indexes[0].id } else { t.id };
    w.scan(id, Range::ALL, order, &Projection::all(&t.schema), |_, _, r| {
        rows.push((r.i32(0), r.text(1).to_owned(), r.i64(2)));
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

const KINDS: [(Access, Option<u64>); 6] = [
    (Access::Hashed, None),
    (Access::Ordered, None),
    (Access::Hashed, Some(0)),
    (Access::Ordered, Some(0)),
    (Access::Hashed, Some(3)),
    (Access::Ordered, Some(3)),
];

#[test]
fn what_is_written_is_read_before_and_after_the_commit() {
    for (access, batch) in KINDS {
        let (db, t) = table(access, batch);
        let mut w = db.worker().unwrap();
        for id in 0..300 {
            w.run(TxnKind::ReadWrite, |w| {
                w.insert(t.id, &row(&t, id * 7 % 300, &format!("c{}", id % 10), 0)).map(|_| ())
            })
            .unwrap();
        }
        w.begin(TxnKind::ReadWrite).unwrap();
        let before = scan(&mut w, &t, false, Order::Forward);
        assert_eq!(
            before.iter().map(|r| r.0).collect::<Vec<_>>(),
            (0..300).collect::<Vec<_>>(),
            "{access:?} {batch:?}"
        );
        w.insert(t.id, &row(&t, 1000, "c3", 5)).unwrap();
        assert!(w.delete(t.id, &key(7)).unwrap());
        let all = Projection::all(&t.schema);
        w.update(t.id, &key(8), &all, |r| r.set(&t.schema, 1, Datum::Text("a long way to another city")))
            .unwrap()
            .unwrap();
        w.update(t.id, &key(8), &all, |r| r.set(&t.schema, 2, Datum::Int8(88))).unwrap().unwrap();
        let check = |w: &mut AccWorker| {
            let mut forward = scan(w, &t, false, Order::Forward);
            assert_eq!(forward.len(), 300, "{access:?} {batch:?}");
            assert_eq!(forward[7], (8, "a long way to another city".into(), 88));
            assert_eq!(forward[299], (1000, "c3".into(), 5));
            let mut backward = scan(w, &t, false, Order::Backward);
            backward.reverse();
            assert_eq!(forward, backward);
            let by_city = scan(w, &t, true, Order::Forward);
            forward.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
            assert_eq!(by_city, forward);
            assert_eq!(w.get(t.id, &key(7), &all, |_, _| ()).unwrap(), None);
            assert_eq!(w.get(t.id, &key(1000), &all, |_, r| r.i64(2)).unwrap(), Some(5));
        };
        check(&mut w);
        w.commit().unwrap();
        w.begin(TxnKind::ReadOnly).unwrap();
        check(&mut w);
        w.commit().unwrap();
        w.begin(TxnKind::Deferrable).unwrap();
        check(&mut w);
        w.commit().unwrap();
    }
}

#[test]
fn errors_are_typed_and_change_nothing() {
    let (db, t) = table(Access::Hashed, None);
    let mut w = db.worker().unwrap();
    let all = Projection::all(&t.schema);
    assert!(matches!(w.get(t.id, &key(1), &all, |_, _| ()), Err(Error::TransactionEnded)));
    assert!(matches!(w.commit(), Err(Error::TransactionEnded)));
    w.begin(TxnKind::ReadWrite).unwrap();
    let id = w.insert(t.id, &row(&t, 1, "a", 1)).unwrap();
    assert!(matches!(w.insert(t.id, &row(&t, 1, "b", 2)), Err(Error::DuplicateKey { .. })));
    assert!(matches!(
        w.update(t.id, &key(1), &all, |r| r.set(&t.schema, 0, Datum::Int4(9))),
        Err(Error::KeyUpdate(_))
    ));
    assert!(matches!(w.insert(t.indexes[0].id, &row(&t, 1, "b", 2)), Err(Error::BadDefinition(_))));
    w.commit().unwrap();
    w.begin(TxnKind::ReadWrite).unwrap();
    assert!(matches!(w.insert(t.id, &row(&t, 1, "b", 2)), Err(Error::DuplicateKey { .. })));
    assert!(matches!(w.delete_at(t.id, id), Err(Error::StaleRow)));
    assert_eq!(scan(&mut w, &t, true, Order::Forward), [(1, "a".into(), 1)]);
    w.commit().unwrap();
    w.begin(TxnKind::ReadOnly).unwrap();
    assert!(matches!(w.delete(t.id, &key(1)), Err(Error::ReadOnlyTransaction)));
    w.rollback();
    let (db, t) = table(Access::HashOnly, None);
    let mut w = db.worker().unwrap();
    w.begin(TxnKind::ReadWrite).unwrap();
    assert!(matches!(
        w.scan(t.id, Range::ALL, Order::Forward, &all, |_, _, _| ControlFlow::Continue(())),
        Err(Error::NotOrdered(_))
    ));
}

#[test]
fn savepoints_undo_writes_of_every_kind() {
    for (access, batch) in KINDS {
        let (db, t) = table(access, batch);
        let mut w = db.worker().unwrap();
        let all = Projection::all(&t.schema);
        w.begin(TxnKind::ReadWrite).unwrap();
        for id in 0..5 {
            w.insert(t.id, &row(&t, id, "x", 0)).unwrap();
        }
        w.commit().unwrap();
        w.begin(TxnKind::ReadWrite).unwrap();
        w.insert(t.id, &row(&t, 10, "y", 1)).unwrap();
        w.update(t.id, &key(0), &all, |r| r.set(&t.schema, 1, Datum::Text("zero"))).unwrap();
        let here = w.savepoint().unwrap();
        let state = scan(&mut w, &t, true, Order::Forward);
        w.delete(t.id, &key(10)).unwrap();
        w.delete(t.id, &key(0)).unwrap();
        w.insert(t.id, &row(&t, 0, "again", 7)).unwrap();
        w.insert(t.id, &row(&t, 11, "y", 1)).unwrap();
        w.update(t.id, &key(1), &all, |r| r.set(&t.schema, 1, Datum::Text("one"))).unwrap();
        assert_ne!(scan(&mut w, &t, true, Order::Forward), state);
        w.rollback_to(here).unwrap();
        assert_eq!(scan(&mut w, &t, true, Order::Forward), state);
        w.commit().unwrap();
        w.begin(TxnKind::ReadOnly).unwrap();
        assert_eq!(scan(&mut w, &t, true, Order::Forward), state);
    }
}

#[test]
fn a_conflict_ends_the_transaction_and_names_the_key() {
    let (db, t) = table(Access::Hashed, None);
    let (mut a, mut b) = (db.worker().unwrap(), db.worker().unwrap());
    let all = Projection::all(&t.schema);
    let n = Projection::new(&t.schema, [2]);
    a.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(&t, 1, "a", 1)).map(|_| ())).unwrap();
    a.begin(TxnKind::ReadWrite).unwrap();
    a.get(t.id, &key(1), &all, |_, _| ()).unwrap();
    a.insert(t.id, &row(&t, 2, "a", 1)).unwrap();
    b.run(TxnKind::ReadWrite, |w| {
        w.update(t.id, &key(1), &n, |r| r.set(&t.schema, 2, Datum::Int8(5))).map(|_| ())
    })
    .unwrap();
    let Err(Error::Conflict(conflict)) = a.commit() else { panic!("stale read committed") };
    assert_eq!((conflict.table, &conflict.key[..]), (t.id, &key(1)[..]));
    assert!(!a.in_transaction());
    // other columns, other group: no conflict
    a.begin(TxnKind::ReadWrite).unwrap();
    a.get(t.id, &key(1), &Projection::new(&t.schema, [1]), |_, _| ()).unwrap();
    a.insert(t.id, &row(&t, 3, "a", 1)).unwrap();
    b.run(TxnKind::ReadWrite, |w| {
        w.update(t.id, &key(1), &n, |r| r.set(&t.schema, 2, Datum::Int8(6))).map(|_| ())
    })
    .unwrap();
    a.commit().unwrap();
}

/// Leaves that split again and again forget from which parts they come, and remember only that there were more than
/// they can list: then a scan looks into all cells.
#[test]
fn a_key_that_was_posted_many_splits_ago_is_found() {
    for access in [Access::Hashed, Access::Ordered] {
        let config =
            Config { background: false, merge_epoch: Duration::from_secs(3600), ..Config::default() };
        let db = Acc::open(config).unwrap();
        let schema = Schema::new(vec![Column::new("id", ColumnType::Int4)], &[KeyPart::asc(0)]).unwrap();
        let options = batched(access, Some(64));
        let t = db.create_table(TableDef::new("t", schema).options(options)).unwrap();
        let insert = |w: &mut AccWorker, ids: std::ops::Range<i32>| {
            w.run(TxnKind::ReadWrite, |w| {
                ids.clone().try_for_each(|id| {
                    let row = RowBuf::from_values(&t.schema, &[Datum::Int4(id)]).unwrap();
                    w.insert(t.id, &row).map(|_| ())
                })
            })
            .unwrap();
        };
        // the last key of the tree, so that what comes before it is not appended
        insert(&mut db.worker().unwrap(), 2_000_000..2_000_001);
        let (mut pending, mut merging) = (db.worker().unwrap(), db.worker().unwrap());
        insert(&mut pending, 1_000_000..1_000_001);
        for batch in 0..40 {
            insert(&mut merging, 64 * batch..64 * (batch + 1));
            let mut last = Vec::new();
            let start = key(999_999);
            merging.begin(TxnKind::ReadWrite).unwrap();
            let all = Projection::all(&t.schema);
            merging
                .scan(t.id, Range { start: &start, end: None }, Order::Forward, &all, |_, _, row| {
                    last.push(row.i32(0));
                    ControlFlow::Continue(())
                })
                .unwrap();
            merging.commit().unwrap();
            assert_eq!(last, [1_000_000, 2_000_000], "{access:?} after {batch} batches");
        }
    }
}

/// What a transaction that wrote nothing tells depends on the latest commit that it saw.
#[test]
fn who_only_reads_depends_on_what_was_read() {
    for (access, batch) in KINDS {
        let (db, t) = table(access, batch);
        let (mut w, mut r) = (db.worker().unwrap(), db.worker().unwrap());
        let all = Projection::all(&t.schema);
        for kind in [TxnKind::ReadOnly, TxnKind::ReadWrite] {
            for ranges in [false, true] {
                let id = i32::from(ranges) + 2 * i32::from(kind == TxnKind::ReadOnly);
                w.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(&t, id, "a", 1)).map(|_| ())).unwrap();
                let written = w.depends_on();
                r.begin(kind).unwrap();
                if ranges {
                    scan(&mut r, &t, true, Order::Forward);
                } else {
                    r.get(t.id, &key(id), &all, |_, _| ()).unwrap();
                }
                r.commit().unwrap();
                assert!(r.depends_on() >= written, "{access:?} {kind:?} {ranges}");
                // that a row is gone is seen of the delete
                w.run(TxnKind::ReadWrite, |w| w.delete(t.id, &key(id)).map(|_| ())).unwrap();
                let deleted = w.depends_on();
                r.begin(kind).unwrap();
                assert!(r.get(t.id, &key(id), &all, |_, _| ()).unwrap().is_none());
                r.commit().unwrap();
                assert!(r.depends_on() >= deleted, "{access:?} {kind:?} {ranges}");
            }
        }
    }
}

/// What was committed before a transaction begins is in its scans, also while it moves from the lists into the tree: the
/// commit would refuse a scan that missed it, but a client has seen the rows by then.
#[test]
fn a_scan_finds_what_is_merged_meanwhile() {
    const ROWS: i32 = 30_000;
    const LAST: i32 = 20;
    for access in [Access::Hashed, Access::Ordered] {
        let db = Acc::open(Config {
            index_updates: IndexUpdates::Collected,
            merge_epoch: Duration::from_micros(20),
            ..Config::default()
        })
        .unwrap();
        let schema = Schema::new(vec![Column::new("id", ColumnType::Int4)], &[KeyPart::asc(0)]).unwrap();
        let options = batched(access, Some(4));
        let t = db.create_table(TableDef::new("t", schema).options(options)).unwrap();
        let committed = AtomicU64::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                let mut w = db.worker().unwrap();
                for id in 0..ROWS {
                    let row = RowBuf::from_values(&t.schema, &[Datum::Int4(id)]).unwrap();
                    w.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row).map(|_| ())).unwrap();
                    committed.store(id as u64 + 1, Ordering::SeqCst);
                }
            });
            let mut w = db.worker().unwrap();
            loop {
                let there = committed.load(Ordering::SeqCst) as i32;
                let start = key((there - LAST).max(0));
                let range = Range { start: &start, end: None };
                let mut next = (there - LAST).max(0);
                w.begin(TxnKind::ReadWrite).unwrap();
                let scanned =
                    w.scan(t.id, range, Order::Forward, &Projection::all(&t.schema), |_, _, row| {
                        assert_eq!(row.i32(0), next, "of {there}");
                        next += 1;
                        ControlFlow::Continue(())
                    });
                w.rollback();
                // a row whose commit is on its way
                if scanned.is_ok_and(|()| next < there) {
                    panic!("{next} of {there}");
                }
                if there == ROWS {
                    break;
                }
            }
        });
    }
}

#[test]
fn a_transaction_that_idles_is_seen_to_hold_rows_back() {
    let (db, t) = table(Access::Ordered, Some(1));
    let (mut idle, mut writer) = (db.worker().unwrap(), db.worker().unwrap());
    for id in 0..500 {
        writer.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(&t, id, "x", 0)).map(|_| ())).unwrap();
    }
    idle.begin(TxnKind::ReadWrite).unwrap();
    for id in 0..500 {
        writer.run(TxnKind::ReadWrite, |w| w.delete(t.id, &key(id)).map(|_| ())).unwrap();
    }
    let held = db.reclamation();
    assert!(held.waiting >= 500, "{held:?}");
    // the background may look at something at this moment, too
    assert!(held.active.iter().any(|(id, time)| *id == idle.id() && *time == held.lag()), "{held:?}");
    let memory = Engine::memory(&db);
    assert!(memory.bytes > 0 && memory.bytes <= memory.budget, "{memory:?}");
    idle.rollback();
    assert!(db.reclamation().active.iter().all(|(id, _)| *id != idle.id()));
    let start = std::time::Instant::now();
    while db.reclamation().waiting > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", db.reclamation());
        thread::sleep(Duration::from_millis(5));
    }
}
