//! One worker, one step at a time: every operation does what it says.

use crate::conformance::{Purpose, Subject};
use crate::history::{Change, Columns, Kind, Row, Stage};
use scaledb_base::Error;
use scaledb_engine::{Access, Engine, IndexDef, Order, Range, TableDef, TableInfo, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The worker of a subject.
pub(super) type WorkerOf<S> = <<S as Subject>::Engine as Engine>::Worker;

/// A table of three columns, of which the last one is a conflict group of its own, with an index of the second one.
pub(super) fn table<S: Subject>(kind: Kind) -> (S::Engine, Arc<TableInfo>) {
    let db = S::open(Purpose::Steps).unwrap();
    let info = table_in(&db, kind);
    (db, info)
}

/// The same in a database that is open.
pub(super) fn table_in<E: Engine>(db: &E, kind: Kind) -> Arc<TableInfo> {
    let schema = Schema::new(
        vec![
            Column::new("id", ColumnType::Int4),
            Column::new("city", ColumnType::Text(100)),
            Column::new("n", ColumnType::Int8).group(1),
        ],
        &[KeyPart::asc(0)],
    )
    .unwrap();
    let mut def = TableDef::new("t", schema).options(kind.options(db));
    if kind.access != Access::HashOnly {
        let by_city = IndexDef::new("by_city", vec![KeyPart::asc(1)]);
        def = def.index(IndexDef { options: kind.options(db), ..by_city });
    }
    db.create_table(def).unwrap()
}

pub(super) fn row(t: &TableInfo, id: i32, city: &str, n: i64) -> RowBuf {
    RowBuf::from_values(&t.schema, &[Datum::Int4(id), Datum::Text(city), Datum::Int8(n)]).unwrap()
}

pub(super) fn key(id: i32) -> KeyBuf {
    KeyBuf::new().i32(id)
}

type Rows = Vec<(i32, String, i64)>;

/// All rows by the table or its index.
pub(super) fn scan<W: Worker>(w: &mut W, t: &TableInfo, index: bool, order: Order) -> Rows {
    let mut rows = Vec::new();
    let id = if index { t.indexes[0].id } else { t.id };
    w.scan(id, Range::ALL, order, &Projection::all(&t.schema), |_, _, r| {
        rows.push((r.i32(0), r.text(1).to_owned(), r.i64(2)));
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

/// Own writes are read, by every index and in both orders; and so by others behind the commit.
pub fn what_is_written_is_read_before_and_after_the_commit<S: Subject>() {
    for &kind in S::DIFFERENCES.tables_of_steps {
        let (db, t) = table::<S>(kind);
        let mut w = db.worker().unwrap();
        for id in 0..300 {
            w.run(TxnKind::ReadWrite, |w| {
                w.insert(t.id, &row(&t, id * 7 % 300, &format!("c{}", id % 10), 0)).map(|_| ())
            })
            .unwrap();
        }
        w.begin(TxnKind::ReadWrite).unwrap();
        let before = scan(&mut w, &t, false, Order::Forward);
        assert_eq!(before.iter().map(|r| r.0).collect::<Vec<_>>(), (0..300).collect::<Vec<_>>(), "{kind:?}");
        w.insert(t.id, &row(&t, 1000, "c3", 5)).unwrap();
        assert!(w.delete(t.id, &key(7)).unwrap());
        let all = Projection::all(&t.schema);
        w.update(t.id, &key(8), &all, |r| r.set(&t.schema, 1, Datum::Text("a long way to another city")))
            .unwrap()
            .unwrap();
        w.update(t.id, &key(8), &all, |r| r.set(&t.schema, 2, Datum::Int8(88))).unwrap().unwrap();
        let check = |w: &mut WorkerOf<S>| {
            let mut forward = scan(w, &t, false, Order::Forward);
            assert_eq!(forward.len(), 300, "{kind:?}");
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
        for kind in [TxnKind::ReadOnly, TxnKind::Deferrable] {
            w.begin(kind).unwrap();
            check(&mut w);
            w.commit().unwrap();
        }
    }
}

/// What a caller can do wrong has a type, and leaves the transaction as it was.
pub fn errors_are_typed_and_change_nothing<S: Subject>() {
    let (db, t) = table::<S>(Kind::new(Access::Hashed, None));
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
    let (db, t) = table::<S>(Kind::new(Access::HashOnly, None));
    let mut w = db.worker().unwrap();
    w.begin(TxnKind::ReadWrite).unwrap();
    assert!(matches!(
        w.scan(t.id, Range::ALL, Order::Forward, &all, |_, _, _| ControlFlow::Continue(())),
        Err(Error::NotOrdered(_))
    ));
}

/// A rollback to a savepoint leaves the state of then, by every index.
pub fn savepoints_undo_writes_of_every_kind<S: Subject>() {
    for &kind in S::DIFFERENCES.tables_of_steps {
        let (db, t) = table::<S>(kind);
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

/// A table of the subject's engine on which steps are played.
pub(super) fn stage<S: Subject>(kind: Kind) -> Stage<S::Engine> {
    Stage::with_patience(S::open(Purpose::Steps).unwrap(), kind, S::DIFFERENCES.refuses_more)
}

pub(super) fn for_each_kind<S: Subject>(f: impl Fn(Stage<S::Engine>)) {
    S::DIFFERENCES.tables_of_steps.iter().for_each(|&kind| f(stage::<S>(kind)));
}

/// Deletes and inserts of one key of a unique index, within transactions and behind them.
pub fn an_index_entry_that_passes_from_row_to_row_within_a_transaction<S: Subject>() {
    for_each_kind::<S>(|db| {
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

/// The name of a row that was taken back does not become that of the row which is inserted next.
pub fn the_name_of_a_row_that_was_rolled_back_is_stale<S: Subject>() {
    for_each_kind::<S>(|db| {
        let (t, cols) = (db.t.id_of(0), db.t.projection(Columns::ALL));
        let row = |id| db.t.row(id, &Row { a: id, ..Row::default() }, "text");
        let set = |w: &mut WorkerOf<S>, name, value| {
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
    });
}

/// A duplicate of a unique index is refused, by inserts and by updates, and its key is free when its row is gone.
pub fn keys_of_unique_indexes_are_free_again<S: Subject>() {
    for_each_kind::<S>(|db| {
        db.alone(|db, w| {
            assert!(matches!(db.insert(w, 3, 0, Some(30)), Err(Error::DuplicateKey { .. })));
            let change = Change { u: Some(Some(30)), ..Change::default() };
            assert!(matches!(db.change(w, 10, change), Err(Error::DuplicateKey { .. })));
            assert!(db.delete(w, 30));
        });
        db.alone(|db, w| db.insert(w, 3, 0, Some(30)).unwrap());
        db.alone(|db, w| assert_eq!(db.scan(w, 2, 30, 31), [3]));
    });
}
