//! The classical anomalies, one step after the other: several workers of one thread, so that each
//! interleaving is exactly the one that is written here. Timestamps are those of the begins.
#![cfg(not(any(loom, shuttle)))]

use scaledb_base::Error;
use scaledb_cicada::{Cicada, CicadaWorker, Clocks, Config, Consistency};
use scaledb_engine::{Access, Engine, TxnKind, Worker};
use scaledb_verify::history::{Change, Kind, Stage, assert_conflict};
use std::time::Duration;

const KINDS: [Kind; 2] = [Kind::new(Access::Hashed, None), Kind::new(Access::Ordered, None)];

type Db = Stage<Cicada>;

fn stage(kind: Kind, config: Config) -> Db {
    Stage::new(Cicada::open(config).unwrap(), kind)
}

fn for_each_kind(f: impl Fn(Db)) {
    KINDS.into_iter().for_each(|kind| f(stage(kind, Config::default())));
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
fn lost_update() {
    for_each_kind(|db| {
        let (mut a, mut b) = db.two();
        assert_eq!((db.set(&mut a, 0, 1), db.set(&mut b, 0, 2)), (Some(0), Some(0)));
        b.commit().unwrap();
        assert_conflict(&mut a);
        db.alone(|db, w| assert_eq!(db.get(w, 0), Some(2)));
    });
}

/// What a transaction does to a range that another one scans: keys 10 to 20, or their index entries.
type Step<'a> = &'a dyn Fn(&Db, &mut CicadaWorker);

const STEPS: [Step<'static>; 4] = [
    &|db, w| db.insert(w, 15, 1, Some(15)).unwrap(),
    &|db, w| assert!(db.delete(w, 10)),
    &|db, w| {
        db.change(w, 10, Change { a: Some(77), u: Some(Some(777)), ..Change::default() }).unwrap();
    },
    &|db, w| {
        db.change(w, 80, Change { a: Some(1), u: Some(Some(15)), ..Change::default() }).unwrap();
    },
];

fn for_each_step(f: impl Fn(&Db, u8, &dyn Fn(&Db, &mut CicadaWorker) -> Vec<i32>, Step<'_>)) {
    for kind in KINDS {
        for index in 0..3 {
            for step in &STEPS[..if index == 0 { 2 } else { 4 }] {
                let (low, high) = if index == 1 { (1, 2) } else { (10, 20) };
                let scan = move |db: &Db, w: &mut CicadaWorker| db.scan(w, index, low, high);
                f(&stage(kind, Config::default()), index, &scan, *step);
            }
        }
    }
}

#[test]
fn a_writer_from_the_past_does_not_change_what_was_scanned() {
    for_each_step(|db, _, scan, step| {
        let mut writer = db.worker();
        writer.begin(TxnKind::ReadWrite).unwrap();
        step(db, &mut writer);
        db.alone(|db, w| assert_eq!(scan(db, w), [10]));
        assert_conflict(&mut writer);
    });
}

#[test]
fn a_scan_is_repeated_by_its_commit() {
    for_each_step(|db, _, scan, step| {
        let (mut writer, mut reader) = db.two();
        assert_eq!(scan(db, &mut reader), [10]);
        db.set(&mut reader, 50, 1);
        step(db, &mut writer);
        writer.commit().unwrap();
        assert_conflict(&mut reader);
    });
}

#[test]
fn a_writer_from_the_future_changes_nothing_for_the_past() {
    for_each_step(|db, _, scan, step| {
        let (mut reader, mut writer) = db.two();
        assert_eq!(scan(db, &mut reader), [10]);
        step(db, &mut writer);
        writer.commit().unwrap();
        assert_eq!(scan(db, &mut reader), [10]);
        // not even for a transaction that writes, elsewhere
        db.insert(&mut reader, 1000, 55, Some(1000)).unwrap();
        reader.commit().unwrap();
    });
}

#[test]
fn a_key_that_was_absent_stays_so_for_its_reader() {
    for_each_kind(|db| {
        // the reader's timestamp is the larger one
        let mut writer = db.worker();
        writer.begin(TxnKind::ReadWrite).unwrap();
        db.insert(&mut writer, 5, 0, Some(5)).unwrap();
        db.alone(|db, w| assert_eq!(db.get(w, 5), None));
        assert_conflict(&mut writer);
        let (mut writer, mut reader) = db.two();
        assert!(!db.delete(&mut reader, 6));
        db.set(&mut reader, 0, 1);
        db.insert(&mut writer, 6, 0, None).unwrap();
        writer.commit().unwrap();
        assert_conflict(&mut reader);
        // and the smaller one
        let (mut reader, mut writer) = db.two();
        assert_eq!(db.get(&mut reader, 7), None);
        db.insert(&mut writer, 7, 0, None).unwrap();
        db.set(&mut reader, 10, 1);
        writer.commit().unwrap();
        assert!(matches!(reader.commit(), Ok(_) | Err(Error::Conflict(_))));
    });
}

#[test]
fn a_key_that_went_and_came_back_is_another_row() {
    for_each_kind(|db| {
        let mut late = db.worker();
        late.begin(TxnKind::ReadWrite).unwrap();
        db.alone(|db, w| assert!(db.delete(w, 10)));
        db.alone(|db, w| db.insert(w, 10, 1, Some(10)).unwrap());
        assert_eq!(db.get(&mut late, 10), Some(0), "the version of its time");
        assert!(
            matches!(db.change(&mut late, 10, Change { w: Some(7), ..Change::default() }), Err(e) if e.is_conflict())
        );
        db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 25), [0, 10, 20]));
    });
}

#[test]
fn what_a_rolled_back_write_has_seen_stays_read() {
    for_each_kind(|db| {
        let (mut writer, mut reader) = db.two();
        let here = reader.savepoint().unwrap();
        assert_eq!(db.set(&mut reader, 10, 7), Some(0));
        db.insert(&mut reader, 5, 0, None).unwrap();
        reader.rollback_to(here).unwrap();
        db.set(&mut reader, 0, 1);
        let mut other = db.worker();
        other.begin(TxnKind::ReadWrite).unwrap();
        let here = other.savepoint().unwrap();
        db.insert(&mut other, 5, 0, None).unwrap();
        other.rollback_to(here).unwrap();
        db.set(&mut other, 20, 1);
        db.set(&mut writer, 10, 100);
        db.insert(&mut writer, 5, 0, None).unwrap();
        writer.commit().unwrap();
        assert_conflict(&mut reader);
        assert_conflict(&mut other);
    });
}

#[test]
fn a_worker_comes_after_what_it_was_told_of() {
    for clocks in [Clocks::Synchronized, Clocks::Loose] {
        let config = Config { clocks, consistency: Consistency::Causal, ..Config::default() };
        let db = stage(KINDS[0], config);
        let (mut a, mut b) = (db.worker(), db.worker());
        for round in 0..100 {
            a.begin(TxnKind::ReadWrite).unwrap();
            db.set(&mut a, 0, round);
            let ts = a.commit().unwrap();
            b.observe(ts);
            b.begin(TxnKind::ReadOnly).unwrap();
            assert_eq!(db.get(&mut b, 0), Some(round));
            assert!(b.commit().unwrap() > ts);
        }
    }
}

#[test]
fn loose_clocks_are_externally_consistent_if_asked() {
    let db = stage(KINDS[0], Config { clocks: Clocks::Loose, ..Config::default() });
    let mut workers: Vec<_> = (0..4).map(|_| db.worker()).collect();
    let mut last = None;
    for round in 0..400 {
        let w = &mut workers[round % 4];
        w.begin(TxnKind::ReadWrite).unwrap();
        // rows that have nothing to do with each other
        db.set(w, 10 * (round % 4) as i32, round as i64);
        let ts = w.commit().unwrap();
        assert!(last < Some(ts), "{last:?} {ts:?}");
        last = Some(ts);
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
        assert_eq!(db.get(&mut s, 10), Some(0));
        db.alone(|db, w| assert_eq!(db.scan(w, 0, 0, 25), [0, 10, 20]));
    });
}

/// Row 10 is deleted, and old enough to be cleaned up, which the worker that deleted it does at the end of its
/// next transaction: [`clean_up`].
fn with_deleted_row(kind: Kind) -> (Db, CicadaWorker) {
    let db = stage(kind, Config { background: false, quiescence: Duration::ZERO, ..Config::default() });
    let mut deleter = db.worker();
    deleter.begin(TxnKind::ReadWrite).unwrap();
    db.delete(&mut deleter, 10);
    deleter.commit().unwrap();
    // the end of somebody else's transaction moves the epoch
    db.alone(|db, w| assert_eq!(db.get(w, 10), None));
    (db, deleter)
}

/// Returns how many records and entries are cleaned up by now.
fn clean_up(db: &Db, deleter: &mut CicadaWorker) -> u64 {
    deleter.begin(TxnKind::Snapshot).unwrap();
    deleter.commit().unwrap();
    db.engine.stats().tables.iter().map(|t| t.cleaned).sum()
}

#[test]
fn an_insert_keeps_the_record_of_a_deleted_row() {
    for kind in KINDS {
        let (db, mut deleter) = with_deleted_row(kind);
        let mut w = db.worker();
        w.begin(TxnKind::ReadWrite).unwrap();
        db.insert(&mut w, 10, 1, Some(10)).unwrap();
        assert_eq!(clean_up(&db, &mut deleter), 0, "{kind:?}");
        assert_eq!(db.get(&mut w, 10), Some(0));
        assert_eq!(db.scan(&mut w, 1, 1, 3), [10, 20]);
        w.rollback();
        // nobody keeps it any more
        drop(w);
        db.alone(|db, w| db.insert(w, 12, 1, Some(10)).unwrap());
        db.alone(|db, w| assert!(db.delete(w, 12)));
        db.alone(|db, w| assert_eq!(db.scan(w, 1, 1, 3), [20]));
    }
}

#[test]
fn what_was_read_to_be_deleted_is_cleaned_up_without_a_conflict() {
    for kind in KINDS {
        let (db, mut deleter) = with_deleted_row(kind);
        let (mut earlier, mut w) = db.two();
        assert_eq!((db.get(&mut w, 10), db.scan(&mut w, 1, 1, 3)), (None, vec![20]));
        assert!(clean_up(&db, &mut deleter) > 0, "{kind:?}");
        db.set(&mut w, 0, 1);
        w.commit().unwrap();
        // it has read that the row is not there
        let result = db.insert(&mut earlier, 10, 1, Some(10)).and_then(|()| earlier.commit().map(|_| ()));
        assert!(result.is_err_and(|e| e.is_conflict()), "{kind:?}");
    }
}

#[test]
fn what_was_read_to_be_deleted_and_cleaned_up_does_not_come_back() {
    for kind in KINDS {
        let (db, mut deleter) = with_deleted_row(kind);
        let (mut earlier, mut w) = db.two();
        assert_eq!(db.get(&mut w, 10), None);
        assert!(clean_up(&db, &mut deleter) > 0, "{kind:?}");
        db.insert(&mut earlier, 10, 1, Some(10)).unwrap();
        earlier.commit().unwrap();
        db.set(&mut w, 0, 1);
        assert_conflict(&mut w);
    }
}

/// A transaction that is bound to fail has an index entry of its own where an earlier one now has another.
#[test]
fn an_entry_that_somebody_else_inserted_before_is_a_conflict() {
    for kind in KINDS {
        let (db, mut deleter) = with_deleted_row(kind);
        let mut earlier = db.worker();
        earlier.begin(TxnKind::ReadWrite).unwrap();
        let mut w = db.worker();
        // who has had no conflict for long does not check before it writes (section 3.5)
        for _ in 0..10 {
            w.begin(TxnKind::Snapshot).unwrap();
            w.commit().unwrap();
        }
        w.begin(TxnKind::ReadWrite).unwrap();
        db.insert(&mut w, 11, 1, Some(10)).unwrap();
        clean_up(&db, &mut deleter);
        db.insert(&mut earlier, 12, 1, Some(10)).unwrap();
        earlier.commit().unwrap();
        assert!(db.delete(&mut w, 11));
        db.set(&mut w, 0, 1);
        assert_conflict(&mut w);
    }
}
