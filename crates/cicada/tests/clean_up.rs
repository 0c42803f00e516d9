//! Clean-up of deleted rows beside transactions that have met them, one step after the other: several workers of one
//! thread, so that each interleaving is exactly the one that is written here.
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, CicadaWorker, Config};
use scaledb_engine::{Access, Engine, TxnKind, Worker};
use scaledb_verify::history::{Kind, Stage, assert_conflict};
use std::time::Duration;

const KINDS: [Kind; 2] = [Kind::new(Access::Hashed, None), Kind::new(Access::Ordered, None)];

type Db = Stage<Cicada>;

fn stage(kind: Kind, config: Config) -> Db {
    Stage::new(Cicada::open(config).unwrap(), kind)
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
