//! Keys that are not in the trees yet are found, however long ago and while they move.

use scaledb_acc::{Acc, AccWorker, Config, IndexUpdates};
use scaledb_engine::{Access, Engine, Order, Range, TableDef, TableOptions, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::thread;
use std::ops::ControlFlow;
use std::time::Duration;

fn key(id: i32) -> KeyBuf {
    KeyBuf::new().i32(id)
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
        let options = TableOptions::new(access).with("merge_batch", 64);
        let t = db.create_table(TableDef::new("t", schema).options(options)).unwrap();
        let insert = |w: &mut AccWorker, ids: &[i32]| {
            w.run(TxnKind::ReadWrite, |w| {
                ids.iter().try_for_each(|&id| {
                    let row = RowBuf::from_values(&t.schema, &[Datum::Int4(id)]).unwrap();
                    w.insert(t.id, &row).map(|_| ())
                })
            })
            .unwrap();
        };
        insert(&mut db.worker().unwrap(), &[2_000_000]);
        let (mut pending, mut merging) = (db.worker().unwrap(), db.worker().unwrap());
        insert(&mut pending, &[1_000_000]);
        for batch in 0..13 {
            // between the keys of the upper half of the batch before, so that the pending key's leaf splits in its
            // middle, and the half that has a new part covers the key
            let step = 4096 >> batch;
            let ids: Vec<i32> = (0..64).map(|n| 1_000_000 - (2 * n + 1) * step).collect();
            insert(&mut merging, &ids);
            let mut last = Vec::new();
            let start = key(1_000_000);
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

/// What was committed before a transaction begins is in its scans, also while it moves from the lists into the tree:
/// the commit would refuse a scan that missed it, but a client has seen the rows by then.
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
        let options = TableOptions::new(access).with("merge_batch", 4);
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
