//! A directory that is opened again holds what was there: tables, rows, deletes, indexes, row numbers; from a
//! checkpoint, from the log, and from both. And who has read what is not durable depends on it.

use crate::conformance::basics::{self, WorkerOf, table_in};
use crate::conformance::{Counted, KeepsFiles, Noticed, Purpose};
use crate::disk::SimDisk;
use scaledb_base::Error;
use scaledb_engine::{
    Access, Engine, IndexDef, Order, Range, TableDef, TableInfo, TableOptions, TxnKind, Worker,
};
use scaledb_keys::KeyBuf;
use scaledb_log::DatabaseDir;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::{Arc, thread};
use std::ops::ControlFlow;
use std::time::Duration;

fn open<S: KeepsFiles>(disk: &SimDisk) -> S::Engine {
    S::open(Purpose::Kept { disk, without: None }).unwrap()
}

fn schema(key: &[KeyPart]) -> Schema {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("city", ColumnType::Text(100)),
        Column::new("n", ColumnType::Int8),
    ];
    Schema::new(columns, key).unwrap()
}

fn create<E: Engine>(engine: &E, name: &str, access: Access, key: &[KeyPart]) -> std::sync::Arc<TableInfo> {
    let mut def = TableDef::new(name, schema(key)).options(TableOptions::new(access));
    if access != Access::HashOnly {
        def = def.index(IndexDef::new(&format!("{name}_by_city"), vec![KeyPart::asc(1)]));
        def = def.index(IndexDef {
            unique: true,
            ..IndexDef::new(&format!("{name}_by_n"), vec![KeyPart::asc(2)])
        });
    }
    engine.create_table(def).unwrap()
}

fn row(table: &TableInfo, id: i64, city: &str, n: i64) -> RowBuf {
    RowBuf::from_values(&table.schema, &[Datum::Int8(id), Datum::Text(city), Datum::Int8(n)]).unwrap()
}

fn key(id: i64) -> KeyBuf {
    KeyBuf::new().i64(id)
}

fn set<W: Worker>(worker: &mut W, table: &TableInfo, id: i64, n: i64) {
    let cols = Projection::all(&table.schema);
    let updated = worker
        .run(TxnKind::ReadWrite, |w| {
            w.update(table.id, &key(id), &cols, |row| {
                row.set_i64(2, n);
                row.set_bytes(1, if n % 2 == 0 { &b"a much longer name than before"[..] } else { b"x" });
                Ok(())
            })
        })
        .unwrap();
    assert!(updated.is_some());
}

/// All rows by one index.
fn all<E: Engine>(
    engine: &E,
    table: &TableInfo,
    index: Option<usize>,
    kind: TxnKind,
) -> Vec<(i64, String, i64)> {
    let id = index.map_or(table.id, |index| table.indexes[index].id);
    let cols = Projection::all(&table.schema);
    let mut worker = engine.worker().unwrap();
    let scan = |w: &mut E::Worker| {
        let mut rows = Vec::new();
        w.scan(id, Range::ALL, Order::Forward, &cols, |_, _, row| {
            rows.push((row.i64(0), row.text(1).to_owned(), row.i64(2)));
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    };
    let mut rows = worker.run(kind, scan).unwrap();
    rows.sort();
    rows
}

/// Changes some rows: inserts, updates that grow and shrink, deletes, deletes that are taken back.
fn churn<E: Engine>(engine: &E, table: &TableInfo, round: i64) {
    let mut worker = engine.worker().unwrap();
    for id in round * 100..round * 100 + 100 {
        let city = format!("city {}", id % 7);
        worker
            .run(TxnKind::ReadWrite, |w| w.insert(table.id, &row(table, id, &city, id)).map(|_| ()))
            .unwrap();
    }
    for id in (0..round * 100 + 100).step_by(3) {
        worker.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(id)).map(|_| ())).unwrap();
    }
    for id in (0..round * 100 + 100).step_by(6) {
        let again = row(table, id, "again", id + 10_000 * (round + 1));
        worker.run(TxnKind::ReadWrite, |w| w.insert(table.id, &again).map(|_| ())).unwrap();
    }
    for id in (round * 100..round * 100 + 100).filter(|id| id % 3 != 0) {
        set(&mut worker, table, id, id + 1_000_000 * (round + 1));
    }
    worker.wait_durable().unwrap();
}

/// After each of three rounds of changes, with checkpoints at different places.
pub fn what_was_committed_is_there_again_by_every_index<S: KeepsFiles>() {
    for checkpoints in [&[][..], &[0], &[1], &[0, 1, 2]] {
        for access in [Access::Hashed, Access::Ordered] {
            let disk = SimDisk::new(1);
            let mut expected = Vec::new();
            for round in 0..3 {
                let engine = open::<S>(&disk);
                let table = match engine.table("t") {
                    Some(table) => table,
                    None => create(&engine, "t", access, &[KeyPart::asc(0)]),
                };
                for index in [None, Some(0), Some(1)] {
                    assert_eq!(
                        all(&engine, &table, index, TxnKind::ReadOnly),
                        expected,
                        "{access:?} {index:?}"
                    );
                }
                for snapshot in [TxnKind::Snapshot, TxnKind::Deferrable] {
                    assert_eq!(all(&engine, &table, None, snapshot), expected, "{snapshot:?}");
                }
                churn(&engine, &table, round);
                if checkpoints.contains(&round) {
                    engine.checkpoint().unwrap();
                    let mut worker = engine.worker().unwrap();
                    let id = (round * 100..).find(|id| id % 3 == 1).unwrap();
                    set(&mut worker, &table, id, -id);
                    worker.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(id + 1)).map(|_| ())).unwrap();
                    worker.wait_durable().unwrap();
                }
                expected = all(&engine, &table, None, TxnKind::ReadOnly);
                drop(engine);
                let Counted { from_checkpoint, rows, indexes } = S::inspect(&disk).unwrap();
                assert_eq!((rows, indexes), (expected.len() as u64, 2));
                assert_eq!(from_checkpoint > 0, checkpoints.iter().any(|&at| at <= round));
            }
        }
    }
}

/// A table that is only probed, and one whose rows the engine numbers.
pub fn tables_without_order_and_without_keys_are_there_again<S: KeepsFiles>() {
    let disk = SimDisk::new(2);
    let engine = open::<S>(&disk);
    let hashed = create(&engine, "h", Access::HashOnly, &[KeyPart::asc(0)]);
    let keyless = create(&engine, "k", Access::Ordered, &[]);
    let mut worker = engine.worker().unwrap();
    for id in 0..500 {
        worker
            .run(TxnKind::ReadWrite, |w| {
                w.insert(hashed.id, &row(&hashed, id, "h", id))?;
                w.insert(keyless.id, &row(&keyless, id, "k", id)).map(|_| ())
            })
            .unwrap();
        if id == 250 {
            engine.checkpoint().unwrap();
        }
    }
    worker.wait_durable().unwrap();
    drop(worker);
    drop(engine);
    let engine = open::<S>(&disk);
    let cols = Projection::all(&hashed.schema);
    let mut worker = engine.worker().unwrap();
    for id in 0..500 {
        let found = worker.run(TxnKind::ReadOnly, |w| w.get(hashed.id, &key(id), &cols, |_, row| row.i64(2)));
        assert_eq!(found.unwrap(), Some(id));
    }
    let rows = (500..600).map(|id| row(&keyless, id, "new", id));
    for row in rows {
        worker.run(TxnKind::ReadWrite, |w| w.insert(keyless.id, &row).map(|_| ())).unwrap();
    }
    assert_eq!(all(&engine, &keyless, None, TxnKind::ReadOnly).len(), 600);
}

/// Who has read what is not durable depends on it: a row, and that there is none, whatever clean-up does. Not so
/// without the rules, if this build can switch them off.
pub fn who_has_read_what_is_not_durable_depends_on_it<S: KeepsFiles>() {
    assert!(reads_depend_on_commits::<S>(None));
    let rules = S::mutations().into_iter().filter(|rule| matches!(rule.noticed, Noticed::ByDurability));
    for rule in rules {
        assert!(!reads_depend_on_commits::<S>(Some(&rule.rule)), "{}", rule.rule);
    }
}

fn reads_depend_on_commits<S: KeepsFiles>(without: Option<&str>) -> bool {
    let disk = SimDisk::new(12);
    let engine = S::open(Purpose::Kept { disk: &disk, without }).unwrap();
    let table = create(&engine, "t", Access::Hashed, &[KeyPart::asc(0)]);
    let (mut writer, mut reader) = (engine.worker().unwrap(), engine.worker().unwrap());
    writer.run(TxnKind::ReadWrite, |w| w.insert(table.id, &row(&table, 1, "t", 1)).map(|_| ())).unwrap();
    writer.wait_durable().unwrap();
    let cols = Projection::all(&table.schema);
    let mut depends = |rows: usize| {
        let read = |w: &mut WorkerOf<S>| w.get(table.id, &key(1), &cols, |_, _| ());
        assert_eq!(reader.run(TxnKind::ReadOnly, read).unwrap().into_iter().count(), rows);
        reader.depends_on()
    };
    set(&mut writer, &table, 1, 2);
    let changed = depends(1) >= writer.depends_on();
    writer.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(1)).map(|_| ())).unwrap();
    let deleted = writer.depends_on();
    // its chores among them, and behind a snapshot that might begin
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(1));
        (0..100).for_each(|_| writer.run(TxnKind::ReadWrite, |_| Ok(())).unwrap());
    }
    changed && depends(0) >= deleted
}

/// What a reader depends on is what it has read, and not what was committed meanwhile.
pub fn who_reads_depends_on_what_it_has_seen<S: KeepsFiles>() {
    let disk = SimDisk::new(5);
    let engine = open::<S>(&disk);
    let table = create(&engine, "t", Access::Hashed, &[KeyPart::asc(0)]);
    let (mut writer, mut reader) = (engine.worker().unwrap(), engine.worker().unwrap());
    let insert = |w: &mut WorkerOf<S>, id: i64| w.insert(table.id, &row(&table, id, "t", id)).map(|_| ());
    let cols = Projection::all(&table.schema);
    let read = |w: &mut WorkerOf<S>, id: i64| w.get(table.id, &key(id), &cols, |_, _| ());
    writer.run(TxnKind::ReadWrite, |w| insert(w, 1)).unwrap();
    let first = writer.depends_on();
    writer.wait_durable().unwrap();
    writer.run(TxnKind::ReadWrite, |w| insert(w, 2)).unwrap();
    let second = writer.depends_on();
    assert_eq!(reader.run(TxnKind::ReadOnly, |w| read(w, 1)).unwrap(), Some(()));
    assert_eq!(reader.depends_on(), first);
    assert_eq!(reader.run(TxnKind::ReadWrite, |w| read(w, 2)).unwrap(), Some(()));
    assert_eq!(reader.depends_on(), second);
    assert!(engine.durable() <= second);
    // a delete that is not durable is not forgotten, however often there is clean-up
    writer.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(1)).map(|_| ())).unwrap();
    let deleted = writer.depends_on();
    for _ in 0..1_000 {
        writer.run(TxnKind::ReadWrite, |w| insert(w, 3)).unwrap();
        writer.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(3)).map(|_| ())).unwrap();
        assert_eq!(reader.run(TxnKind::ReadOnly, |w| read(w, 1)).unwrap(), None);
        assert_eq!(reader.depends_on(), deleted);
    }
}

/// What a transaction that wrote nothing tells depends on the latest commit that it saw.
pub fn who_only_reads_depends_on_what_was_read<S: KeepsFiles>() {
    for &kind in S::DIFFERENCES.tables_of_steps {
        let disk = SimDisk::new(7);
        let db = open::<S>(&disk);
        let t = table_in(&db, kind);
        let (mut w, mut r) = (db.worker().unwrap(), db.worker().unwrap());
        let all = Projection::all(&t.schema);
        for kind in [TxnKind::ReadOnly, TxnKind::ReadWrite] {
            for ranges in [false, true] {
                let id = i32::from(ranges) + 2 * i32::from(kind == TxnKind::ReadOnly);
                w.run(TxnKind::ReadWrite, |w| w.insert(t.id, &basics::row(&t, id, "a", 1)).map(|_| ()))
                    .unwrap();
                let written = w.depends_on();
                r.begin(kind).unwrap();
                if ranges {
                    basics::scan(&mut r, &t, true, Order::Forward);
                } else {
                    r.get(t.id, &basics::key(id), &all, |_, _| ()).unwrap();
                }
                r.commit().unwrap();
                assert!(r.depends_on() >= written, "{kind:?} {ranges}");
                // that a row is gone is seen of the delete
                w.run(TxnKind::ReadWrite, |w| w.delete(t.id, &basics::key(id)).map(|_| ())).unwrap();
                let deleted = w.depends_on();
                r.begin(kind).unwrap();
                assert!(r.get(t.id, &basics::key(id), &all, |_, _| ()).unwrap().is_none());
                r.commit().unwrap();
                assert!(r.depends_on() >= deleted, "{kind:?} {ranges}");
            }
        }
    }
}

/// Dropped before, between and behind checkpoints, with a table of its name that came later.
pub fn a_dropped_table_stays_gone<S: KeepsFiles>() {
    for checkpoints in [&[][..], &[0], &[1], &[2], &[0, 2]] {
        for access in [Access::Hashed, Access::Ordered] {
            let disk = SimDisk::new(8);
            let db = open::<S>(&disk);
            let other = create(&db, "other", access, &[KeyPart::asc(0)]);
            let mut ids = Vec::new();
            for step in 0..3 {
                let table = create(&db, "t", access, &[KeyPart::asc(0)]);
                churn(&db, &table, 0);
                ids.push(table.id);
                if step < 2 {
                    db.drop_table(table.id).unwrap();
                }
                if checkpoints.contains(&step) {
                    db.checkpoint().unwrap();
                }
            }
            churn(&db, &other, 0);
            let last = db.table("t").unwrap();
            let expected =
                [all(&db, &last, Some(0), TxnKind::ReadOnly), all(&db, &other, None, TxnKind::ReadOnly)];
            drop(db);
            for checkpoint in [false, true, true] {
                let db = open::<S>(&disk);
                assert_eq!(db.table("t").map(|table| table.id), ids.last().copied());
                assert_eq!(db.tables().len(), 2);
                for gone in &ids[..2] {
                    assert!(matches!(db.drop_table(*gone), Err(Error::NoSuchTable(_))));
                }
                for index in [None, Some(0), Some(1)] {
                    assert_eq!(all(&db, &last, index, TxnKind::ReadOnly), expected[0], "{access:?}");
                    assert_eq!(all(&db, &other, index, TxnKind::ReadOnly), expected[1], "{access:?}");
                }
                if checkpoint {
                    db.checkpoint().unwrap();
                }
            }
            let db = open::<S>(&disk);
            db.drop_table(last.id).unwrap();
            drop(db);
            let db = open::<S>(&disk);
            assert!(db.table("t").is_none());
            let new = create(&db, "t", access, &[KeyPart::asc(0)]);
            assert!(new.id > last.indexes[1].id, "ids are not given again");
            assert_eq!(all(&db, &new, None, TxnKind::ReadOnly), []);
        }
    }
}

/// The message names both engines.
pub fn a_directory_of_another_engine_is_refused_with_both_names<S: KeepsFiles>() {
    let disk = SimDisk::new(6);
    drop(DatabaseDir::open(Arc::new(disk.clone()), "another").unwrap());
    match S::open(Purpose::Kept { disk: &disk, without: None }) {
        Err(Error::Directory(what)) => assert!(what.contains("another") && what.contains(S::NAME), "{what}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}
