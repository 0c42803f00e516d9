//! The classical anomalies, one step after the other: several workers of one thread, so that each
//! interleaving is exactly the one that is written here.
//!
//! Whoever is to be refused begins last where it can, for then it is behind the others in either
//! [order](SerializationPoint). What becomes of one that began first is a difference, and has tests of its own.

use crate::conformance::Subject;
use crate::conformance::basics::{WorkerOf, for_each_kind, key, row, stage, table};
use crate::history::{Change, Stage, assert_conflict};
use scaledb_base::{Error, Result};
use scaledb_engine::{Engine, Order, Range, SerializationPoint, TxnKind, Worker};
use scaledb_row::{Datum, Projection, RowMut};
use scaledb_sync::thread;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

type Db<S> = Stage<<S as Subject>::Engine>;

/// Whether a transaction that began before another one may come before it, although it commits behind it.
fn orders_begins<S: Subject>(db: &Db<S>) -> bool {
    db.engine.serialization_point() == SerializationPoint::Begin
}

/// Everything that was committed is in the trees afterwards. Only for engines that merge.
fn merge_all<S: Subject>(db: &Db<S>) {
    let mut w = db.worker();
    w.begin(TxnKind::Deferrable).unwrap();
    w.commit().unwrap();
}

/// Without a merge in between, and with one if the engine has any.
fn merged_or_not<S: Subject>() -> &'static [bool] {
    if S::DIFFERENCES.merges { &[false, true] } else { &[false] }
}

fn begun<S: Subject>(db: &Db<S>) -> WorkerOf<S> {
    let mut w = db.worker();
    w.begin(TxnKind::ReadWrite).unwrap();
    w
}

/// What a transaction writes, and its commit: one of them must be refused with a conflict.
#[track_caller]
fn assert_refused<W: Worker>(w: &mut W, write: impl FnOnce(&mut W) -> Result<()>) {
    let result = write(w).and_then(|()| w.commit().map(|_| ()));
    assert!(matches!(&result, Err(e) if e.is_conflict()), "{result:?}");
    assert!(!w.in_transaction());
}

/// Each of two reads what the other writes.
pub fn write_skew<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut a, mut b) = db.two();
        for w in [&mut a, &mut b] {
            assert_eq!((db.get(w, 0), db.get(w, 10)), (Some(0), Some(0)));
        }
        db.set(&mut a, 0, 1);
        db.set(&mut b, 10, 1);
        a.commit().unwrap();
        assert_conflict(&mut b);
    });
}

/// Each of two inserts where the other has scanned; whoever began first, the second to commit is refused.
pub fn write_skew_over_ranges<S: Subject>() {
    for_each_kind::<S>(|db| {
        for reversed in [false, true] {
            let (mut a, mut b) = db.two();
            if reversed {
                std::mem::swap(&mut a, &mut b);
            }
            assert_eq!(
                db.scan(&mut a, 0, 0, 30),
                if reversed { vec![0, 5, 10, 20] } else { vec![0, 10, 20] }
            );
            assert_eq!(db.scan(&mut b, 0, 30, 60), [30, 40, 50]);
            db.insert(&mut b, if reversed { 6 } else { 5 }, 0, None).unwrap();
            let inserted = db.insert(&mut a, 35, 0, None);
            b.commit().unwrap();
            assert_refused(&mut a, |_| inserted);
        }
    });
}

/// Both read a row and write it.
pub fn lost_update<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut a, mut b) = db.two();
        assert_eq!((db.set(&mut a, 0, 1), db.set(&mut b, 0, 2)), (Some(0), Some(0)));
        b.commit().unwrap();
        assert_conflict(&mut a);
        db.alone(|db, w| assert_eq!(db.get(w, 0), Some(2)));
    });
}

/// Both delete a row; one inserts its key again.
pub fn blind_insert_and_delete_of_one_key<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut a, mut b) = db.two();
        assert!(db.delete(&mut a, 0));
        assert!(db.delete(&mut b, 0));
        db.insert(&mut b, 0, 3, None).unwrap();
        b.commit().unwrap();
        assert_conflict(&mut a);
        db.alone(|db, w| assert_eq!(db.scan(w, 1, 3, 4), [0, 30]));
    });
}

/// What a transaction does to a range that another one scans: keys 10 to 20, or their index entries.
type Step<S> = fn(&Db<S>, &mut WorkerOf<S>);

/// For each kind of table, each index, and each step that changes what a scan of it finds: the table, the scan, the
/// step.
fn for_each_step<S: Subject>(f: impl Fn(&Db<S>, &dyn Fn(&mut WorkerOf<S>) -> Vec<i32>, Step<S>)) {
    let steps: [Step<S>; 4] = [
        |db, w| db.insert(w, 15, 1, Some(15)).unwrap(),
        |db, w| assert!(db.delete(w, 10)),
        |db, w| {
            db.change(w, 10, Change { a: Some(77), u: Some(Some(777)), ..Change::default() }).unwrap();
        },
        |db, w| {
            db.change(w, 80, Change { a: Some(1), u: Some(Some(15)), ..Change::default() }).unwrap();
        },
    ];
    for &kind in S::DIFFERENCES.tables_of_steps {
        for index in 0..3 {
            // the last two change entries of indexes, and no keys of the table
            for step in &steps[..if index == 0 { 2 } else { 4 }] {
                let db = stage::<S>(kind);
                let (low, high) = if index == 1 { (1, 2) } else { (10, 20) };
                f(&db, &|w| db.scan(w, index, low, high), *step);
            }
        }
    }
}

/// What has changed since it was scanned is noticed at the commit.
pub fn phantoms<S: Subject>() {
    for &merge in merged_or_not::<S>() {
        for_each_step::<S>(|db, scan, step| {
            let (mut writer, mut reader) = db.two();
            assert_eq!(scan(&mut reader), [10]);
            db.insert(&mut reader, 1000, 55, Some(1000)).unwrap();
            db.set(&mut reader, 50, 1);
            step(db, &mut writer);
            writer.commit().unwrap();
            if merge {
                merge_all::<S>(db);
            }
            assert_conflict(&mut reader);
        });
    }
}

/// The scan is that of a transaction that began behind the writer and has committed before it.
pub fn a_writer_that_began_before_does_not_change_what_was_scanned<S: Subject>() {
    for_each_step::<S>(|db, scan, step| {
        let mut writer = begun::<S>(db);
        step(db, &mut writer);
        db.alone(|_, w| assert_eq!(scan(w), [10]));
        // where commits decide, the scan came before, and nothing is wrong
        if orders_begins::<S>(db) {
            assert_conflict(&mut writer);
        } else {
            writer.commit().unwrap();
        }
    });
}

/// As above, of a key that was absent; and since it was looked for, its leaf has split so often that it knows only that
/// it comes from more leaves than it can list.
pub fn what_was_scanned_stays_scanned_however_often_its_leaf_has_split<S: Subject>() {
    for &kind in S::DIFFERENCES.tables_that_split {
        let db = stage::<S>(kind);
        let mut writer = begun::<S>(&db);
        db.insert(&mut writer, 1_000_000, 0, None).unwrap();
        db.alone(|db, w| assert_eq!(db.scan(w, 0, 999_000, 2_000_000), [0; 0]));
        for batch in 0..13 {
            // between the keys of the upper half of the batch before: the leaf splits in its middle
            let step = 4096 >> batch;
            db.alone(|db, w| {
                (0..64).for_each(|n| db.insert(w, 1_000_000 - (2 * n + 1) * step, 1, None).unwrap());
            });
        }
        match writer.commit() {
            Ok(_) => assert!(!orders_begins::<S>(&db), "the scan is behind it, and has not seen it"),
            Err(error) => {
                assert!(error.is_conflict() && (orders_begins::<S>(&db) || S::DIFFERENCES.refuses_more));
            }
        }
    }
}

/// A reader that began before the writer: where begins decide, it comes before it, and sees what was there.
pub fn a_reader_that_began_before<S: Subject>() {
    for &merge in merged_or_not::<S>() {
        for_each_step::<S>(|db, scan, step| {
            let mut reader = begun::<S>(db);
            assert_eq!(scan(&mut reader), [10]);
            if !orders_begins::<S>(db) {
                db.insert(&mut reader, 1000, 55, Some(1000)).unwrap();
            }
            let mut writer = begun::<S>(db);
            step(db, &mut writer);
            writer.commit().unwrap();
            if merge {
                merge_all::<S>(db);
            }
            if orders_begins::<S>(db) {
                assert_eq!(scan(&mut reader), [10]);
                // not even for a transaction that writes, elsewhere
                db.insert(&mut reader, 1000, 55, Some(1000)).unwrap();
                reader.commit().unwrap();
            } else {
                assert_conflict(&mut reader);
            }
        });
    }
}

/// An insert behind the scanned range, and one of the transaction's own.
pub fn inserts_beside_the_range_do_not_conflict<S: Subject>() {
    for_each_kind::<S>(|db| {
        let mut a = begun::<S>(&db);
        assert_eq!(db.scan(&mut a, 0, 10, 20), [10]);
        assert_eq!(db.scan(&mut a, 1, 1, 2), [10]);
        db.insert(&mut a, 1000, 55, None).unwrap();
        db.alone(|db, w| db.insert(w, 25, 7, Some(25)).unwrap());
        match a.commit() {
            Err(error) if S::DIFFERENCES.refuses_more && error.is_conflict() => {}
            done => _ = done.unwrap(),
        }
    });
}

/// A reader that has seen the second of two transactions without the first makes the first impossible.
pub fn the_read_only_anomaly<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut a, mut b) = db.two();
        assert_eq!((db.get(&mut a, 0), db.get(&mut a, 10)), (Some(0), Some(0)));
        db.set(&mut b, 10, 20);
        b.commit().unwrap();
        let mut reader = db.worker();
        reader.begin(TxnKind::ReadOnly).unwrap();
        assert_eq!((db.get(&mut reader, 0), db.get(&mut reader, 10)), (Some(0), Some(20)));
        reader.commit().unwrap();
        let change = Change { w: Some(-11), ..Change::default() };
        assert_refused(&mut a, |a| db.change(a, 0, change).map(|_| ()));
    });
}

/// That a key was not there is a read: of a point read, and of a delete.
pub fn a_key_that_was_absent_and_came<S: Subject>() {
    for_each_kind::<S>(|db| {
        let mut writer = begun::<S>(&db);
        let (mut a, mut b) = db.two();
        assert_eq!(db.get(&mut a, 5), None);
        assert!(!db.delete(&mut b, 6));
        db.set(&mut a, 0, 1);
        db.set(&mut b, 10, 1);
        db.insert(&mut writer, 5, 0, None).unwrap();
        db.insert(&mut writer, 6, 0, None).unwrap();
        writer.commit().unwrap();
        assert_conflict(&mut a);
        assert_conflict(&mut b);
    });
}

/// The same where those who found nothing began before the writer, or have committed before it.
pub fn a_key_that_was_absent_and_came_for_one_that_began_before<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut a, mut b) = db.two();
        let mut late = begun::<S>(&db);
        assert_eq!(db.get(&mut a, 5), None);
        assert!(!db.delete(&mut b, 6));
        db.set(&mut a, 0, 1);
        db.set(&mut b, 10, 1);
        db.insert(&mut late, 5, 0, None).unwrap();
        db.insert(&mut late, 6, 0, None).unwrap();
        late.commit().unwrap();
        for w in [&mut a, &mut b] {
            // an engine may refuse more than it must
            if !orders_begins::<S>(&db) {
                assert_conflict(w);
            } else {
                assert!(matches!(w.commit(), Ok(_) | Err(Error::Conflict(_))));
            }
        }
        let mut writer = begun::<S>(&db);
        db.insert(&mut writer, 7, 0, Some(7)).unwrap();
        db.alone(|db, w| assert_eq!(db.get(w, 7), None));
        if orders_begins::<S>(&db) {
            assert_conflict(&mut writer);
        } else {
            writer.commit().unwrap();
        }
    });
}

/// A row that was deleted and inserted again is another one.
pub fn a_key_that_went_and_came_back<S: Subject>() {
    for &merge in merged_or_not::<S>() {
        for_each_kind::<S>(|db| {
            let (mut deleter, mut inserter) = db.two();
            let mut a = begun::<S>(&db);
            assert_eq!(db.get(&mut a, 10), Some(0));
            db.set(&mut a, 0, 1);
            assert!(db.delete(&mut deleter, 10));
            deleter.commit().unwrap();
            if merge {
                merge_all::<S>(&db);
            }
            db.insert(&mut inserter, 10, 1, Some(10)).unwrap();
            db.set(&mut inserter, 10, 5);
            inserter.commit().unwrap();
            assert_conflict(&mut a);
            db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 25), [0, 10, 20]));
        });
    }
}

/// The same for a transaction that began before both.
pub fn a_key_that_went_and_came_back_for_one_that_began_before<S: Subject>() {
    for_each_kind::<S>(|db| {
        let mut late = begun::<S>(&db);
        if !orders_begins::<S>(&db) {
            assert_eq!(db.get(&mut late, 10), Some(0));
        }
        db.alone(|db, w| assert!(db.delete(w, 10)));
        db.alone(|db, w| {
            db.insert(w, 10, 1, Some(10)).unwrap();
            db.set(w, 10, 5);
        });
        if orders_begins::<S>(&db) {
            assert_eq!(db.get(&mut late, 10), Some(0), "the version of its time");
        }
        let change = Change { w: Some(7), ..Change::default() };
        assert_refused(&mut late, |w| db.change(w, 10, change).map(|_| ()));
        db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 25), [0, 10, 20]));
    });
}

/// Of two that take one key of a unique index, one is refused; and that a key was taken is a read.
pub fn unique_keys_are_unique<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut a, mut b) = db.two();
        db.insert(&mut a, 1, 0, Some(500)).unwrap();
        db.insert(&mut b, 2, 0, Some(500)).unwrap();
        a.commit().unwrap();
        let result = b.commit();
        assert!(
            matches!(result, Err(Error::DuplicateKey { .. } | Error::Conflict(_))),
            "{:?} {result:?}",
            db.t.kind
        );
        // by updates
        let (mut a, mut b) = db.two();
        let change = Change { u: Some(Some(600)), ..Change::default() };
        db.change(&mut a, 10, change).unwrap();
        db.change(&mut b, 20, change).unwrap();
        b.commit().unwrap();
        assert!(matches!(a.commit(), Err(Error::DuplicateKey { .. } | Error::Conflict(_))));
        let (mut b, mut a) = db.two();
        assert!(matches!(db.insert(&mut a, 3, 0, Some(30)), Err(Error::DuplicateKey { .. })));
        db.set(&mut a, 0, 1);
        assert!(db.delete(&mut b, 30));
        b.commit().unwrap();
        assert_conflict(&mut a);
        // and free again
        db.alone(|db, w| db.insert(w, 3, 0, Some(30)).unwrap());
        db.alone(|db, w| assert_eq!(db.scan(w, 2, 30, 31), [3]));
    });
}

/// A snapshot reads on while everything that it reads is changed.
pub fn snapshots_neither_wait_nor_conflict<S: Subject>() {
    if !S::DIFFERENCES.keeps_snapshots {
        return;
    }
    for_each_kind::<S>(|db| {
        let mut s = db.worker();
        s.begin(TxnKind::Deferrable).unwrap();
        let mut a = db.worker();
        for round in 1..50 {
            a.begin(TxnKind::ReadWrite).unwrap();
            db.set(&mut a, 0, round);
            if round == 1 {
                assert!(db.delete(&mut a, 10));
                db.change(&mut a, 20, Change { a: Some(9), text: Some(31 * 90), ..Change::default() })
                    .unwrap();
                db.insert(&mut a, 5, 1, Some(5)).unwrap();
            }
            // half of the time the writer is in the middle of its transaction
            assert_eq!((db.get(&mut s, 0), db.get(&mut s, 10), db.get(&mut s, 5)), (Some(0), Some(0), None));
            a.commit().unwrap();
            assert_eq!(db.scan(&mut s, 0, 0, 30), [0, 10, 20]);
            assert_eq!(db.scan(&mut s, 1, 1, 3), [10, 20]);
            assert_eq!(db.scan(&mut s, 2, 0, 21), [0, 10, 20]);
        }
        s.commit().unwrap();
        db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 30), [0, 5, 20]));
    });
}

/// A write that was rolled back to a savepoint has told its transaction something all the same.
pub fn what_a_rolled_back_write_has_seen_stays_read<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut writer, mut reader) = db.two();
        let here = reader.savepoint().unwrap();
        assert_eq!(db.set(&mut reader, 10, 7), Some(0));
        db.insert(&mut reader, 5, 0, None).unwrap();
        reader.rollback_to(here).unwrap();
        db.set(&mut reader, 0, 1);
        let mut other = begun::<S>(&db);
        let here = other.savepoint().unwrap();
        db.insert(&mut other, 5, 0, None).unwrap();
        other.rollback_to(here).unwrap();
        db.set(&mut other, 20, 1);
        let mut third = begun::<S>(&db);
        let here = third.savepoint().unwrap();
        assert_eq!(db.set(&mut third, 10, 7), Some(0));
        third.rollback_to(here).unwrap();
        db.set(&mut third, 30, 1);
        db.set(&mut writer, 10, 100);
        db.insert(&mut writer, 5, 0, None).unwrap();
        writer.commit().unwrap();
        assert_conflict(&mut reader);
        assert_conflict(&mut other);
        assert_conflict(&mut third);
    });
}

/// What an engine knows of a row that was found is not what is there, if the transaction does not depend on it.
pub fn a_row_whose_read_was_forgotten_is_read_again_to_be_written<S: Subject>() {
    for &kind in S::DIFFERENCES.tables_of_steps {
        for scans in [false, true] {
            let (db, t) = table::<S>(kind);
            let (all, n) = (Projection::all(&t.schema), Projection::new(&t.schema, [2]));
            let (mut writer, mut other) = (db.worker().unwrap(), db.worker().unwrap());
            other.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(&t, 1, "a", 0)).map(|_| ())).unwrap();
            let add = |row: &mut RowMut<'_>, more: i64| {
                let now = row.view().i64(2);
                row.set(&t.schema, 2, Datum::Int8(now + more))
            };
            writer.begin(TxnKind::ReadWrite).unwrap();
            let mark = writer.read_mark();
            let mut found = None;
            if scans {
                let scanned = writer.scan(t.id, Range::ALL, Order::Forward, &all, |row, _, _| {
                    found = Some(row);
                    ControlFlow::Continue(())
                });
                scanned.unwrap();
            } else {
                found = writer.get(t.id, &key(1), &all, |row, _| row).unwrap();
            }
            writer.forget_reads(mark);
            let added = other.run(TxnKind::ReadWrite, |w| w.update(t.id, &key(1), &n, |row| add(row, 10)));
            assert!(added.unwrap().is_some());
            let written = writer.update_at(t.id, found.unwrap(), &n, |row| add(row, 1));
            let sum = match written.and_then(|row| writer.commit().map(|_| row)) {
                Ok(row) => row.map(|()| 11),
                Err(error) => {
                    assert!(error.is_conflict(), "{error:?}");
                    Some(10)
                }
            };
            let now = other.run(TxnKind::ReadOnly, |w| w.get(t.id, &key(1), &all, |_, row| row.i64(2)));
            assert_eq!(now.unwrap(), sum);
        }
    }
}

/// A key whose record is kept by a snapshot is inserted, deleted, and rolled back.
pub fn insert_and_delete_where_a_deleted_row_awaits_its_clean_up<S: Subject>() {
    for_each_kind::<S>(|db| {
        // a snapshot keeps the record of row 10
        let mut s = db.worker();
        s.begin(TxnKind::Deferrable).unwrap();
        db.alone(|db, w| assert!(db.delete(w, 10)));
        db.alone(|db, w| {
            db.insert(w, 10, 9, None).unwrap();
            assert!(db.delete(w, 10));
            db.set(w, 0, 1);
        });
        db.alone(|db, w| {
            let here = w.savepoint().unwrap();
            db.insert(w, 10, 9, None).unwrap();
            w.rollback_to(here).unwrap();
            db.set(w, 0, 2);
        });
        db.alone(|db, w| db.insert(w, 10, 9, None).unwrap());
        if S::DIFFERENCES.merges {
            merge_all::<S>(&db);
        }
        if S::DIFFERENCES.keeps_snapshots {
            assert_eq!(db.get(&mut s, 10), Some(0));
        }
        db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 25), [0, 10, 20]));
    });
}

/// That a statement failed at the index, and not at the table, says that the key of the table was free.
pub fn a_statement_that_failed_has_read_what_it_found_free<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (mut b, mut a) = db.two();
        let Err(Error::DuplicateKey { table, .. }) = db.insert(&mut a, 5, 0, Some(10)) else {
            panic!("a duplicate of the index was not found");
        };
        assert_eq!(table, db.t.id_of(2));
        db.insert(&mut b, 5, 0, Some(500)).unwrap();
        db.set(&mut b, 0, 7);
        b.commit().unwrap();
        if db.get(&mut a, 0) == Some(7) {
            assert_conflict(&mut a);
        }
    });
}

/// Who has read what does not hold any more is told of a conflict, not of the duplicate that goes with the new state.
pub fn a_duplicate_that_follows_from_a_stale_read_is_a_conflict<S: Subject>() {
    for_each_kind::<S>(|db| {
        // with the key of the table, with that of the unique index; whether the key was ever there
        for (id, u, was_there) in [(5, None, false), (6, Some(10), false), (7, None, true)] {
            if was_there {
                db.alone(|db, w| db.insert(w, id, 0, None).unwrap());
                db.alone(|db, w| assert!(db.delete(w, id)));
            }
            let (mut a, mut b) = db.two();
            assert!(db.get(&mut a, 0).is_some());
            db.set(&mut b, 0, i64::from(id));
            if u.is_none() {
                db.insert(&mut b, id, 0, None).unwrap();
            }
            b.commit().unwrap();
            let refused = db.insert(&mut a, id, 0, u);
            if u.is_some() && !matches!(&refused, Err(error) if error.is_conflict()) {
                // this duplicate was there all the time; an engine that orders at the begin may say so
                assert!(matches!(refused, Err(Error::DuplicateKey { .. })));
                continue;
            }
            assert!(matches!(&refused, Err(error) if error.is_conflict()), "{id}: {refused:?}");
        }
        // one that began before changes what was read; the duplicate is its row, or one of the transaction's own
        for (id, twice) in [(15, false), (16, true)] {
            let (mut b, mut a) = db.two();
            assert!(db.get(&mut a, 0).is_some());
            db.set(&mut b, 0, i64::from(id));
            if twice {
                db.insert(&mut a, id, 0, None).unwrap();
            } else {
                db.insert(&mut b, id, 0, None).unwrap();
            }
            b.commit().unwrap();
            let refused = db.insert(&mut a, id, 0, None);
            assert!(matches!(&refused, Err(error) if error.is_conflict()), "{id}: {refused:?}");
        }
    });
}

/// The table and the key are those that were read; and columns of another group are no conflict.
pub fn a_conflict_ends_the_transaction_and_names_the_key<S: Subject>() {
    let (db, t) = table::<S>(S::DIFFERENCES.tables_of_steps[0]);
    let (mut writer, mut reader) = (db.worker().unwrap(), db.worker().unwrap());
    let all = Projection::all(&t.schema);
    let n = Projection::new(&t.schema, [2]);
    let set = |w: &mut WorkerOf<S>, n_is| {
        let set = w.update(t.id, &key(1), &n, |r| r.set(&t.schema, 2, Datum::Int8(n_is)));
        set.unwrap().unwrap();
        w.commit().unwrap();
    };
    writer.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(&t, 1, "a", 1)).map(|_| ())).unwrap();
    writer.begin(TxnKind::ReadWrite).unwrap();
    reader.begin(TxnKind::ReadWrite).unwrap();
    reader.get(t.id, &key(1), &all, |_, _| ()).unwrap();
    reader.insert(t.id, &row(&t, 2, "a", 1)).unwrap();
    set(&mut writer, 5);
    let Err(Error::Conflict(conflict)) = reader.commit() else { panic!("stale read committed") };
    if S::DIFFERENCES.names_what_changed {
        assert_eq!((conflict.table, &conflict.key[..]), (t.id, &key(1)[..]));
    }
    assert!(!reader.in_transaction());
    if S::DIFFERENCES.groups_of_columns {
        reader.begin(TxnKind::ReadWrite).unwrap();
        reader.get(t.id, &key(1), &Projection::new(&t.schema, [1]), |_, _| ()).unwrap();
        reader.insert(t.id, &row(&t, 3, "a", 1)).unwrap();
        writer.begin(TxnKind::ReadWrite).unwrap();
        set(&mut writer, 6);
        reader.commit().unwrap();
    }
}

/// What is held back by a transaction that does nothing is counted, and who holds it back is named.
pub fn a_transaction_that_idles_is_seen_to_hold_rows_back<S: Subject>() {
    // what no version is kept for is held back by nobody
    if !S::DIFFERENCES.keeps_snapshots {
        return;
    }
    for &kind in S::DIFFERENCES.tables_of_steps {
        let (db, t) = table::<S>(kind);
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
        assert!(held.lag() > Duration::ZERO);
        let memory = db.memory();
        assert!(memory.bytes > 0 && memory.bytes <= memory.budget, "{memory:?}");
        idle.rollback();
        assert!(db.reclamation().active.iter().all(|(id, _)| *id != idle.id()));
        let start = Instant::now();
        while db.reclamation().waiting > 0 {
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", db.reclamation());
            thread::sleep(Duration::from_millis(5));
        }
    }
}
