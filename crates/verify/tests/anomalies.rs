//! The classical anomalies, one step after the other: several workers of one thread, so that each
//! interleaving is exactly the one that is written here.
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::{Acc, AccWorker, Config};
use scaledb_base::Error;
use scaledb_cicada::Cicada;
use scaledb_engine::{Access, Engine, TxnKind, Worker};
use scaledb_verify::history::{Change, Columns, Kind, Row, Stage, assert_conflict};

const KINDS: [Kind; 6] = [
    Kind::new(Access::Hashed, None),
    Kind::new(Access::Ordered, None),
    Kind::new(Access::Hashed, Some(0)),
    Kind::new(Access::Ordered, Some(0)),
    Kind::new(Access::Hashed, Some(1)),
    Kind::new(Access::Ordered, Some(1)),
];

type Db = Stage<Acc>;

fn stage(kind: Kind) -> Db {
    Stage::new(Acc::open(Config::default()).unwrap(), kind)
}

/// Everything that was committed is in the trees afterwards.
fn merge_all(db: &Db) {
    let mut w = db.worker();
    w.begin(TxnKind::Deferrable).unwrap();
    w.commit().unwrap();
}

fn for_each_kind(f: impl Fn(Db)) {
    KINDS.into_iter().for_each(|kind| f(stage(kind)));
}

#[test]
fn write_skew() {
    for_each_kind(|db| {
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

#[test]
fn write_skew_over_ranges() {
    for_each_kind(|db| {
        let (mut a, mut b) = db.two();
        assert_eq!(db.scan(&mut a, 0, 0, 30), [0, 10, 20]);
        assert_eq!(db.scan(&mut b, 0, 30, 60), [30, 40, 50]);
        db.insert(&mut a, 35, 0, None).unwrap();
        db.insert(&mut b, 5, 0, None).unwrap();
        b.commit().unwrap();
        assert_conflict(&mut a);
    });
}

#[test]
fn lost_update() {
    for_each_kind(|db| {
        let (mut a, mut b) = db.two();
        assert_eq!((db.set(&mut a, 0, 1), db.set(&mut b, 0, 2)), (Some(0), Some(0)));
        b.commit().unwrap();
        assert_conflict(&mut a);
        db.alone(|db, w| assert_eq!(db.get(w, 0), Some(2)));
    });
}

#[test]
fn blind_insert_and_delete_of_one_key() {
    for_each_kind(|db| {
        let (mut a, mut b) = db.two();
        assert!(db.delete(&mut a, 0));
        assert!(db.delete(&mut b, 0));
        db.insert(&mut b, 0, 3, None).unwrap();
        b.commit().unwrap();
        assert_conflict(&mut a);
        db.alone(|db, w| assert_eq!(db.scan(w, 1, 3, 4), [0, 30]));
    });
}

/// What another transaction does.
type Step<'a> = &'a dyn Fn(&Db, &mut AccWorker);

#[test]
fn phantoms() {
    for merge in [false, true] {
        for index in 0..3 {
            for_each_kind(|db| {
                // what the others do in the range that was scanned, in terms of the index
                let steps: [Step; 4] = [
                    &|db, w| db.insert(w, 15, 1, Some(15)).unwrap(),
                    &|db, w| assert!(db.delete(w, 10)),
                    &|db, w| {
                        db.change(w, 10, Change { a: Some(77), u: Some(Some(777)), ..Change::default() })
                            .unwrap();
                    },
                    &|db, w| {
                        db.change(w, 80, Change { a: Some(1), u: Some(Some(15)), ..Change::default() })
                            .unwrap();
                    },
                ];
                for (number, step) in steps.into_iter().enumerate() {
                    if index == 0 && number > 1 {
                        continue;
                    }
                    let db = stage(db.t.kind);
                    let mut a = db.worker();
                    a.begin(TxnKind::ReadWrite).unwrap();
                    let (low, high) = if index == 1 { (1, 2) } else { (10, 20) };
                    assert_eq!(db.scan(&mut a, index, low, high), [10]);
                    db.insert(&mut a, 1000, 55, Some(1000)).unwrap();
                    db.alone(|db, w| step(db, w));
                    if merge {
                        merge_all(&db);
                    }
                    assert_conflict(&mut a);
                }
            });
        }
    }
}

#[test]
fn inserts_beside_the_range_do_not_conflict() {
    for_each_kind(|db| {
        let mut a = db.worker();
        a.begin(TxnKind::ReadWrite).unwrap();
        assert_eq!(db.scan(&mut a, 0, 10, 20), [10]);
        assert_eq!(db.scan(&mut a, 1, 1, 2), [10]);
        db.insert(&mut a, 1000, 55, None).unwrap();
        db.alone(|db, w| db.insert(w, 25, 7, Some(25)).unwrap());
        a.commit().unwrap();
    });
}

#[test]
fn the_read_only_anomaly() {
    for_each_kind(|db| {
        let (mut a, mut b) = db.two();
        assert_eq!((db.get(&mut a, 0), db.get(&mut a, 10)), (Some(0), Some(0)));
        db.set(&mut b, 10, 20);
        b.commit().unwrap();
        let mut reader = db.worker();
        reader.begin(TxnKind::ReadOnly).unwrap();
        assert_eq!((db.get(&mut reader, 0), db.get(&mut reader, 10)), (Some(0), Some(20)));
        reader.commit().unwrap();
        db.set(&mut a, 0, -11);
        assert_conflict(&mut a);
    });
}

#[test]
fn a_key_that_was_absent_and_came() {
    for_each_kind(|db| {
        let (mut a, mut b) = db.two();
        assert_eq!(db.get(&mut a, 5), None);
        assert!(!db.delete(&mut b, 6));
        db.set(&mut a, 0, 1);
        db.set(&mut b, 10, 1);
        db.alone(|db, w| {
            db.insert(w, 5, 0, None).unwrap();
            db.insert(w, 6, 0, None).unwrap();
        });
        assert_conflict(&mut a);
        assert_conflict(&mut b);
    });
}

#[test]
fn a_key_that_went_and_came_back() {
    for merge in [false, true] {
        for_each_kind(|db| {
            let mut a = db.worker();
            a.begin(TxnKind::ReadWrite).unwrap();
            assert_eq!(db.get(&mut a, 10), Some(0));
            db.set(&mut a, 0, 1);
            db.alone(|db, w| assert!(db.delete(w, 10)));
            if merge {
                merge_all(&db);
            }
            db.alone(|db, w| {
                db.insert(w, 10, 1, Some(10)).unwrap();
                db.set(w, 10, 5);
            });
            assert_conflict(&mut a);
            db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 25), [0, 10, 20]));
        });
    }
}

#[test]
fn unique_keys_are_unique() {
    for_each_kind(|db| {
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
        // that a key was taken is a read
        let (mut a, mut b) = db.two();
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

#[test]
fn snapshots_neither_wait_nor_conflict() {
    for_each_kind(|db| {
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

#[test]
fn what_a_rolled_back_write_has_seen_stays_read() {
    for_each_kind(|db| {
        let (mut a, mut b) = db.two();
        let here = a.savepoint().unwrap();
        assert_eq!(db.set(&mut a, 10, 7), Some(0));
        a.rollback_to(here).unwrap();
        db.set(&mut a, 0, 1);
        let here = b.savepoint().unwrap();
        db.insert(&mut b, 5, 0, None).unwrap();
        b.rollback_to(here).unwrap();
        db.set(&mut b, 20, 1);
        db.alone(|db, w| {
            db.set(w, 10, 100);
            db.insert(w, 5, 0, None).unwrap();
        });
        assert_conflict(&mut a);
        assert_conflict(&mut b);
    });
}

#[test]
fn an_index_entry_that_passes_from_row_to_row_within_a_transaction() {
    for_each_kind(|db| {
        db.alone(|db, w| {
            db.insert(w, 1, 0, Some(500)).unwrap();
            assert!(db.delete(w, 1));
            db.insert(w, 2, 0, Some(500)).unwrap();
        });
        db.alone(|db, w| {
            db.insert(w, 3, 0, Some(600)).unwrap();
            db.change(w, 3, Change { u: Some(Some(601)), ..Change::default() }).unwrap();
            db.insert(w, 4, 0, Some(600)).unwrap();
        });
        db.alone(|db, w| {
            assert!(db.delete(w, 2));
            db.insert(w, 6, 0, Some(500)).unwrap();
        });
        db.alone(|db, w| assert_eq!(db.scan(w, 2, 500, 700), [6, 4, 3]));
    });
}

#[test]
fn insert_and_delete_where_a_deleted_row_awaits_its_clean_up() {
    for_each_kind(|db| {
        // the snapshot keeps the record of row 10
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
        merge_all(&db);
        assert_eq!(db.get(&mut s, 10), Some(0));
        db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 25), [0, 10, 20]));
    });
}

/// A test of both engines.
fn cicada(kind: Kind) -> Stage<Cicada> {
    Stage::new(Cicada::open(scaledb_cicada::Config::default()).unwrap(), kind)
}

/// The name of a row that was taken back does not become that of the row which is inserted next.
fn the_name_of_a_row_that_is_gone<E: Engine>(db: &Stage<E>) {
    let (t, cols) = (db.t.id_of(0), db.t.projection(Columns::ALL));
    let row = |id| db.t.row(id, &Row { a: id, ..Row::default() }, "text");
    let set = |w: &mut E::Worker, name, value| {
        let change = Change { w: Some(value), ..Change::default() };
        w.update_at(t, name, cols, |row| db.t.apply(row, &change)).map(|_| ())
    };
    db.alone(|db, w| {
        let kept = w.insert(t, &row(1)).unwrap();
        let savepoint = w.savepoint().unwrap();
        let gone = w.insert(t, &row(2)).unwrap();
        w.rollback_to(savepoint).unwrap();
        let next = w.insert(t, &row(3)).unwrap();
        assert!(matches!(set(w, gone, 5), Err(Error::StaleRow)));
        assert!(matches!(w.delete_at(t, gone), Err(Error::StaleRow)));
        set(w, next, 6).unwrap();
        set(w, kept, 7).unwrap();
        // and so if the savepoint is used again
        w.rollback_to(savepoint).unwrap();
        let last = w.insert(t, &row(4)).unwrap();
        assert!(matches!(set(w, next, 5), Err(Error::StaleRow)));
        assert!(matches!(set(w, gone, 5), Err(Error::StaleRow)));
        set(w, kept, 8).unwrap();
        set(w, last, 9).unwrap();
        assert_eq!([1, 2, 3, 4].map(|id| db.get(w, id)), [Some(8), None, None, Some(9)]);
    });
    db.alone(|db, w| assert_eq!([1, 2, 3, 4].map(|id| db.get(w, id)), [Some(8), None, None, Some(9)]));
}

#[test]
fn the_name_of_a_row_that_was_rolled_back_is_stale() {
    for kind in KINDS {
        the_name_of_a_row_that_is_gone(&stage(kind));
        the_name_of_a_row_that_is_gone(&cicada(kind));
    }
}

/// That a statement failed at the index, and not at the table, says that the key of the table was free.
fn a_key_that_was_free_when_a_statement_failed<E: Engine>(db: &Stage<E>) {
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
}

#[test]
fn a_statement_that_failed_has_read_what_it_found_free() {
    for kind in KINDS {
        a_key_that_was_free_when_a_statement_failed(&stage(kind));
        a_key_that_was_free_when_a_statement_failed(&cicada(kind));
    }
}

/// Who has read what does not hold any more is told of a conflict, not of the duplicate that goes with the new state.
fn a_duplicate_of_a_later_state<E: Engine>(db: &Stage<E>) {
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
}

#[test]
fn a_duplicate_that_follows_from_a_stale_read_is_a_conflict() {
    for kind in KINDS {
        a_duplicate_of_a_later_state(&stage(kind));
        a_duplicate_of_a_later_state(&cicada(kind));
    }
}
