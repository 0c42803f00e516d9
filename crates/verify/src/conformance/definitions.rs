//! Definitions that make no sense, and rows that do not fit one, are refused by every engine, and change nothing.

use crate::conformance::basics::WorkerOf;
use crate::conformance::{Purpose, Subject};
use scaledb_base::limits::{MAX_COLUMNS, MAX_INDEXES, MAX_ROW_BYTES};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{
    Access, Engine, IndexDef, Order, Range, TableDef, TableInfo, TableOptions, TxnKind, Worker,
};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use std::ops::ControlFlow;

fn open<S: Subject>() -> S::Engine {
    S::open(Purpose::Steps).unwrap()
}

/// `(id Int4 primary key, city Text(100), n Int8)`.
fn def(name: &str) -> TableDef {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("city", ColumnType::Text(100)),
        Column::new("n", ColumnType::Int8),
    ];
    let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    TableDef::new(name, schema).options(TableOptions::new(Access::Ordered))
}

fn by_city(name: &str) -> IndexDef {
    IndexDef::new(name, vec![KeyPart::asc(1)])
}

fn exists<T>(refused: Result<T>, name: &str) -> bool {
    matches!(refused, Err(Error::TableExists(taken)) if taken == name)
}

fn is_bad<T>(refused: Result<T>) -> bool {
    matches!(refused, Err(Error::BadDefinition(_)))
}

/// Tables and indexes of a database share one space of names; a definition that was refused takes none of them.
pub fn names_of_tables_and_indexes_are_unique<S: Subject>() {
    let db = open::<S>();
    let first = db.create_table(def("first").index(by_city("first_city"))).unwrap();
    assert!(exists(db.create_table(def("first")), "first"));
    assert!(exists(db.create_table(def("first_city")), "first_city"), "a table called as an index");
    let twice = def("second").index(by_city("second_city")).index(by_city("second_city"));
    assert!(exists(db.create_table(twice), "second_city"), "two indexes of one definition");
    assert!(
        exists(db.create_table(def("second").index(by_city("second"))), "second"),
        "an index as its table"
    );
    assert!(
        exists(db.create_table(def("second").index(by_city("first"))), "first"),
        "an index as another table"
    );
    assert!(
        exists(db.create_table(def("second").index(by_city("first_city"))), "first_city"),
        "as another's index"
    );
    let second = db.create_table(def("second").index(by_city("second_city"))).unwrap();
    for taken in ["first", "first_city", "second", "second_city"] {
        assert!(exists(db.add_index(first.id, by_city(taken)), taken), "an index {taken} is added");
    }
    assert_eq!(db.table("first_city").map(|table| table.id), None, "an index is no table");
    // a name is free again when its index is gone, also for another table
    db.drop_index(second.index("second_city").unwrap().id).unwrap();
    db.add_index(first.id, by_city("second_city")).unwrap();
    assert!(exists(db.create_table(def("third").index(by_city("second_city"))), "second_city"));
    let names: Vec<_> = db.tables().iter().map(|table| (table.name.clone(), table.indexes.len())).collect();
    assert_eq!(names, [("first".to_owned(), 2), ("second".to_owned(), 0)]);
}

/// The limit holds for a new table, and for an index that is added.
pub fn a_table_has_no_more_indexes_than_the_limit<S: Subject>() {
    let db = open::<S>();
    let with = |table: &str, indexes: usize| {
        (0..indexes).fold(def(table), |def, number| def.index(by_city(&format!("{table}_{number}"))))
    };
    assert!(is_bad(db.create_table(with("t", MAX_INDEXES + 1))));
    let t = db.create_table(with("t", MAX_INDEXES)).unwrap();
    assert!(is_bad(db.add_index(t.id, by_city("one_more"))));
    db.drop_index(t.indexes[0].id).unwrap();
    assert_eq!(db.add_index(t.id, by_city("one_more")).unwrap().indexes.len(), MAX_INDEXES);
}

/// An index has columns, those of its table, and each of them once.
pub fn an_index_has_columns_of_its_table<S: Subject>() {
    let db = open::<S>();
    let bad: [&[usize]; 4] = [&[], &[3], &[1, 1], &[MAX_COLUMNS + 1]];
    let index = |columns: &[usize]| {
        IndexDef::new("bad", columns.iter().map(|&column| KeyPart::asc(column)).collect())
    };
    for columns in bad {
        assert!(is_bad(db.create_table(def("t").index(index(columns)))), "{columns:?}");
    }
    let t = db.create_table(def("t")).unwrap();
    for columns in bad {
        assert!(is_bad(db.add_index(t.id, index(columns))), "{columns:?}");
    }
    assert!(db.table("t").unwrap().indexes.is_empty());
    assert!(matches!(db.add_index(TableId(9_999), by_city("bad")), Err(Error::NoSuchTable(_))));
    let added = db.add_index(t.id, index(&[1, 2])).unwrap();
    assert!(matches!(db.add_index(added.indexes[0].id, by_city("of_index")), Err(Error::NoSuchTable(_))));
}

/// A row that was made for another table is refused, and the transaction goes on.
pub fn rows_of_another_shape_are_refused<S: Subject>() {
    let db = open::<S>();
    let t = db.create_table(def("t").index(by_city("t_city"))).unwrap();
    let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
    let fixed = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    let f = db.create_table(TableDef::new("f", fixed.clone())).unwrap();
    let narrow = Schema::new(vec![Column::new("id", ColumnType::Int4)], &[KeyPart::asc(0)]).unwrap();
    let wide = Schema::new((0..6).map(|n| Column::new(&format!("c{n}"), ColumnType::Int8)).collect(), &[]);
    let wide = wide.unwrap();
    let narrow = RowBuf::from_values(&narrow, &[Datum::Int4(1)]).unwrap();
    // as offsets and lengths of text these point outside of the row
    let wide = RowBuf::from_values(&wide, &[Datum::Int8(i64::MAX); 6]).unwrap();
    let text = RowBuf::from_values(&t.schema, &[Datum::Int4(1), Datum::Text("a"), Datum::Int8(2)]).unwrap();
    let good = RowBuf::from_values(&fixed, &[Datum::Int4(1), Datum::Int8(2)]).unwrap();
    let mut w = db.worker().unwrap();
    w.begin(TxnKind::ReadWrite).unwrap();
    for row in [&narrow, &wide] {
        assert!(matches!(w.insert(t.id, row), Err(Error::WrongRow(id)) if id == t.id));
    }
    for row in [&narrow, &wide, &text] {
        assert!(matches!(w.insert(f.id, row), Err(Error::WrongRow(id)) if id == f.id));
    }
    w.insert(t.id, &text).unwrap();
    w.insert(f.id, &good).unwrap();
    w.commit().unwrap();
    // a row that grows beyond the limit
    let long = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("a", ColumnType::Bytes(MAX_ROW_BYTES as u32)),
        Column::new("b", ColumnType::Bytes(MAX_ROW_BYTES as u32)),
    ];
    let l = db.create_table(TableDef::new("l", Schema::new(long, &[KeyPart::asc(0)]).unwrap())).unwrap();
    let half = vec![7; MAX_ROW_BYTES / 2];
    let row =
        RowBuf::from_values(&l.schema, &[Datum::Int4(1), Datum::Bytes(&half), Datum::Bytes(&[])]).unwrap();
    w.begin(TxnKind::ReadWrite).unwrap();
    w.insert(l.id, &row).unwrap();
    let all = Projection::all(&l.schema);
    let grown = w.update(l.id, &KeyBuf::new().i32(1), &all, |row| {
        row.set_bytes(2, &half);
        Ok(())
    });
    assert!(matches!(grown, Err(Error::RowTooLarge { .. })), "{grown:?}");
    let lengths = w.get(l.id, &KeyBuf::new().i32(1), &all, |_, row| (row.bytes(1).len(), row.bytes(2).len()));
    assert_eq!(lengths.unwrap(), Some((half.len(), 0)));
    w.commit().unwrap();
}

/// A key column may be set to the value that it has, or be moved within the row by another one, and nothing else: also
/// among columns that are so many that sets of them are not exact.
pub fn keys_stay_as_they_are<S: Subject>() {
    let db = open::<S>();
    let columns = vec![Column::new("v", ColumnType::Text(100)), Column::new("k", ColumnType::Text(100))];
    let schema = Schema::new(columns, &[KeyPart::asc(1)]).unwrap();
    let t = db.create_table(TableDef::new("t", schema)).unwrap();
    let wide = (0..70).map(|n| Column::new(&format!("c{n}"), ColumnType::Int4)).collect();
    let wide = Schema::new(wide, &[KeyPart::asc(65), KeyPart::asc(2)]).unwrap();
    let wide = db.create_table(TableDef::new("wide", wide)).unwrap();
    let mut w = db.worker().unwrap();
    let key = t.schema.primary_key().encode_values(&t.schema, &[Datum::Text("key")]).unwrap();
    let row = RowBuf::from_values(&t.schema, &[Datum::Text("v"), Datum::Text("key")]).unwrap();
    let zeros = RowBuf::from_values(&wide.schema, &[Datum::Int4(0); 70]).unwrap();
    let zero = KeyBuf::new().i32(0).i32(0);
    for committed in [false, true] {
        w.begin(TxnKind::ReadWrite).unwrap();
        if !committed {
            w.insert(t.id, &row).unwrap();
            w.insert(wide.id, &zeros).unwrap();
        }
        let all = Projection::all(&t.schema);
        let values = Projection::new(&t.schema, [0]);
        for value in ["a value that takes more room than the one before", "", "short"] {
            let set = w.update(t.id, &key, &values, |row| row.set(&t.schema, 0, Datum::Text(value)));
            assert_eq!(set.unwrap(), Some(()), "{value}");
            let read = w.get(t.id, &key, &all, |_, row| (row.text(0).to_owned(), row.text(1).to_owned()));
            assert_eq!(read.unwrap(), Some((value.to_owned(), "key".to_owned())));
        }
        let same = w.update(t.id, &key, &all, |row| row.set(&t.schema, 1, Datum::Text("key")));
        assert_eq!(same.unwrap(), Some(()));
        let other = w.update(t.id, &key, &all, |row| row.set(&t.schema, 1, Datum::Text("other")));
        assert!(matches!(other, Err(Error::KeyUpdate(column)) if column == "k"));
        let set = |column: usize, value| {
            let schema = wide.schema.clone();
            move |row: &mut scaledb_row::RowMut<'_>| row.set(&schema, column, Datum::Int4(value))
        };
        let all = Projection::all(&wide.schema);
        for (column, name) in [(65, "c65"), (2, "c2")] {
            let refused = w.update(wide.id, &zero, &all, set(column, 1));
            assert!(matches!(&refused, Err(Error::KeyUpdate(column)) if column == name), "{refused:?}");
        }
        assert_eq!(
            w.update(wide.id, &zero, &all, set(66, 1)).unwrap(),
            Some(()),
            "another of those beyond 63"
        );
        let read = w.get(wide.id, &zero, &all, |_, row| [65, 2, 66].map(|column| row.i32(column)));
        assert_eq!(read.unwrap(), Some([0, 0, 1]));
        w.commit().unwrap();
    }
}

/// Ids that name nothing, or an index where a table is asked for, are errors of every operation.
pub fn ids_that_name_nothing_are_refused<S: Subject>() {
    let db = open::<S>();
    let t = db.create_table(def("t")).unwrap();
    let row = RowBuf::from_values(&t.schema, &[Datum::Int4(1), Datum::Text("a"), Datum::Int8(2)]).unwrap();
    let (all, key) = (Projection::all(&t.schema), KeyBuf::new().i32(1));
    for no_index in [t.id, TableId(t.id.0 + 1), TableId(u32::MAX)] {
        assert!(matches!(db.drop_index(no_index), Err(Error::NoSuchTable(_))));
    }
    let mut w = db.worker().unwrap();
    w.begin(TxnKind::ReadWrite).unwrap();
    for none in [TableId(t.id.0 + 1), TableId(u32::MAX)] {
        let missing = |error: Error| matches!(error, Error::NoSuchTable(_));
        assert!(missing(w.get(none, &key, &all, |_, _| ()).unwrap_err()));
        let scan = w.scan(none, Range::ALL, Order::Forward, &all, |_, _, _| ControlFlow::Continue(()));
        assert!(missing(scan.unwrap_err()));
        assert!(missing(w.insert(none, &row).unwrap_err()));
        assert!(missing(w.update(none, &key, &all, |_| Ok(())).unwrap_err()));
        assert!(missing(w.delete(none, &key).unwrap_err()));
    }
    w.insert(t.id, &row).unwrap();
    w.commit().unwrap();
}

/// A dropped table takes its rows, its indexes and all their names with it; its ids are not given again, and name
/// nothing. Other tables stay.
pub fn a_dropped_table_is_gone_with_its_indexes<S: Subject>() {
    let db = open::<S>();
    let other = db.create_table(def("other").index(by_city("other_city"))).unwrap();
    let row = |t: &TableInfo, id, city| {
        RowBuf::from_values(&t.schema, &[Datum::Int4(id), Datum::Text(city), Datum::Int8(2)]).unwrap()
    };
    let count = |w: &mut WorkerOf<S>, id: TableId, all: &Projection| {
        let mut rows = 0;
        w.scan(id, Range::ALL, Order::Forward, all, |_, _, _| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    };
    let mut w = db.worker().unwrap();
    w.run(TxnKind::ReadWrite, |w| w.insert(other.id, &row(&other, 1, "a"))).unwrap();
    let mut before: Vec<TableId> = Vec::new();
    for round in 0..3 {
        let t = db.create_table(def("t").index(by_city("t_city"))).unwrap();
        let index = t.indexes[0].id;
        assert!(before.iter().all(|old| *old < t.id && *old < index), "ids are not given again");
        let (all, key) = (Projection::all(&t.schema), KeyBuf::new().i32(1));
        for id in [t.id, index] {
            assert_eq!(w.run(TxnKind::ReadOnly, |w| count(w, id, &all)).unwrap(), 0, "round {round}");
        }
        w.run(TxnKind::ReadWrite, |w| {
            (0..300).try_for_each(|id| w.insert(t.id, &row(&t, id, "a")).map(|_| ()))
        })
        .unwrap();
        assert_eq!(w.run(TxnKind::ReadOnly, |w| count(w, index, &all)).unwrap(), 300);
        assert!(matches!(db.drop_table(index), Err(Error::NoSuchTable(_))), "an index is no table");
        db.drop_table(t.id).unwrap();
        before.extend([t.id, index]);
        let names: Vec<_> = db.tables().iter().map(|table| table.name.clone()).collect();
        assert_eq!((db.table("t").map(|table| table.id), names), (None, vec!["other".to_owned()]));
        let stats = db.stats().tables;
        assert!(!stats.iter().any(|table| table.id.is_some_and(|id| before.contains(&id))), "{stats:?}");
        let missing = |error: Error| matches!(error, Error::NoSuchTable(_));
        for &id in &before {
            assert!(db.table_stats(id).is_none());
            assert!(missing(db.drop_table(id).unwrap_err()) && missing(db.drop_index(id).unwrap_err()));
            assert!(missing(db.add_index(id, by_city("added")).unwrap_err()));
        }
        // of a worker that has used it, and of another one
        for mut w in [db.worker().unwrap(), std::mem::replace(&mut w, db.worker().unwrap())] {
            w.begin(TxnKind::ReadWrite).unwrap();
            for &id in &before {
                assert!(missing(w.get(id, &key, &all, |_, _| ()).unwrap_err()));
                assert!(missing(count(&mut w, id, &all).unwrap_err()));
            }
            for id in before.iter().step_by(2).copied() {
                assert!(missing(w.insert(id, &row(&t, 1, "a")).unwrap_err()));
                assert!(missing(w.update(id, &key, &all, |_| Ok(())).unwrap_err()));
                assert!(missing(w.delete(id, &key).unwrap_err()));
            }
            w.commit().unwrap();
        }
        for id in [other.id, other.indexes[0].id] {
            assert_eq!(
                w.run(TxnKind::ReadOnly, |w| count(w, id, &Projection::all(&other.schema))).unwrap(),
                1
            );
        }
    }
    // another kind of thing may have the names
    db.create_table(def("t_city").index(by_city("t"))).unwrap();
    for none in [TableId(u32::MAX), TableId(9_999)] {
        assert!(matches!(db.drop_table(none), Err(Error::NoSuchTable(_))));
    }
}
