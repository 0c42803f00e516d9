//! A directory that is opened again holds what was there: tables, rows, deletes, indexes, row numbers; from a
//! checkpoint, from the log, and from both. And the log's horizon, beside transactions that began long ago.
#![cfg(not(any(loom, shuttle)))]

use scaledb_base::Error;
use scaledb_cicada::{Cicada, CicadaWorker, Clocks, Config, Consistency, Durability, Rules};
use scaledb_engine::{
    Access, Engine, IndexDef, Order, Range, TableDef, TableInfo, TableOptions, TxnKind, Worker,
};
use scaledb_keys::KeyBuf;
use scaledb_log::LogOptions;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::Arc;
use scaledb_verify::disk::SimDisk;
use std::ops::ControlFlow;

fn config(disk: &SimDisk, clocks: Clocks) -> Config {
    let log = LogOptions { manual: true, ..LogOptions::default() };
    let durability = Durability { log, recovery_threads: 2, ..Durability::new(Arc::new(disk.clone())) };
    // with loose clocks, external consistency waits for all that runs, and here one thread runs all
    let consistency = Consistency::Causal;
    Config { clocks, consistency, background: false, durability: Some(durability), ..Config::default() }
}

fn open(disk: &SimDisk) -> Cicada {
    Cicada::open(config(disk, Clocks::Synchronized)).unwrap()
}

fn schema(key: &[KeyPart]) -> Schema {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("city", ColumnType::Text(100)),
        Column::new("n", ColumnType::Int8),
    ];
    Schema::new(columns, key).unwrap()
}

fn create(engine: &Cicada, name: &str, access: Access, key: &[KeyPart]) -> std::sync::Arc<TableInfo> {
    let mut def =
        TableDef::new(name, schema(key)).options(TableOptions { access, ..TableOptions::default() });
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

fn set(worker: &mut CicadaWorker, table: &TableInfo, id: i64, n: i64) {
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
fn all(engine: &Cicada, table: &TableInfo, index: Option<usize>, kind: TxnKind) -> Vec<(i64, String, i64)> {
    let id = index.map_or(table.id, |index| table.indexes[index].id);
    let cols = Projection::all(&table.schema);
    let mut worker = engine.worker().unwrap();
    let scan = |w: &mut CicadaWorker| {
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
fn churn(engine: &Cicada, table: &TableInfo, round: i64) {
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

#[test]
fn what_was_committed_is_there_again_by_every_index() {
    for checkpoints in [&[][..], &[0], &[1], &[0, 1, 2]] {
        for access in [Access::Hashed, Access::Ordered] {
            let disk = SimDisk::new(1);
            let mut expected = Vec::new();
            for round in 0..3 {
                let engine = open(&disk);
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
                assert_eq!(all(&engine, &table, None, TxnKind::Snapshot), expected);
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
                let (recovered, inspected) = Cicada::inspect(config(&disk, Clocks::Synchronized)).unwrap();
                assert_eq!((inspected.rows, inspected.indexes), (expected.len() as u64, 2));
                assert_eq!(recovered.rows > 0, checkpoints.iter().any(|&at| at <= round));
            }
        }
    }
}

#[test]
fn tables_without_order_and_without_keys_are_there_again() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
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
    let engine = open(&disk);
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

/// A transaction that began before the horizon, and one that did not wait for it. Returns what is wrong.
fn slow_and_fast(clocks: Clocks) -> Result<(), &'static str> {
    let disk = SimDisk::new(3);
    let engine = Cicada::open(config(&disk, clocks)).unwrap();
    let table = create(&engine, "t", Access::Hashed, &[KeyPart::asc(0)]);
    let (mut slow, mut fast) = (engine.worker().unwrap(), engine.worker().unwrap());
    let insert = |w: &mut CicadaWorker, id: i64| w.insert(table.id, &row(&table, id, "t", id)).map(|_| ());
    slow.begin(TxnKind::ReadWrite).unwrap();
    insert(&mut slow, 1).unwrap();
    fast.run(TxnKind::ReadWrite, |w| insert(w, 2)).unwrap();
    fast.wait_durable().unwrap();
    if engine.durable() <= fast.depends_on() {
        return Err("the slow one delays the fast one");
    }
    slow.commit().unwrap();
    // as if power failed now: what was flushed is there
    let rows = || {
        let image = disk.image(disk.crash_points() - 1, 1);
        all(&Cicada::open(config(&image, clocks)).unwrap(), &table, None, TxnKind::ReadOnly).len()
    };
    if slow.depends_on() < engine.durable() && rows() < 2 {
        return Err("a commit is acknowledged and not on disk");
    }
    slow.wait_durable().unwrap();
    if rows() == 2 { Ok(()) } else { Err("a commit is lost") }
}

#[test]
fn a_transaction_that_began_before_the_horizon_commits_behind_it() {
    for clocks in [Clocks::Synchronized, Clocks::Loose] {
        assert_eq!(slow_and_fast(clocks), Ok(()), "{clocks:?}");
    }
}

#[cfg(feature = "mutations")]
#[test]
fn a_commit_that_the_horizon_has_passed_is_missed_without_the_rule() {
    let found = scaledb_log::Rule::Passed.without(|| slow_and_fast(Clocks::Synchronized));
    assert_eq!(found, Err("a commit is acknowledged and not on disk"));
}

#[test]
fn a_postponed_transaction_notices_what_has_changed_since() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    let table = create(&engine, "t", Access::Hashed, &[KeyPart::asc(0)]);
    let (mut slow, mut fast) = (engine.worker().unwrap(), engine.worker().unwrap());
    fast.run(TxnKind::ReadWrite, |w| {
        w.insert(table.id, &row(&table, 1, "t", 1))?;
        w.insert(table.id, &row(&table, 2, "t", 2)).map(|_| ())
    })
    .unwrap();
    let cols = Projection::all(&table.schema);
    let read = |w: &mut CicadaWorker, id: i64| w.get(table.id, &key(id), &cols, |_, row| row.i64(2)).unwrap();
    for (changed, flushed) in [(false, true), (true, true), (true, false)] {
        slow.begin(TxnKind::ReadWrite).unwrap();
        assert!(read(&mut slow, 1).is_some());
        slow.delete(table.id, &key(3)).unwrap();
        slow.insert(table.id, &row(&table, 3, "slow", 3)).unwrap();
        if changed {
            set(&mut fast, &table, 1, if flushed { 10 } else { 11 });
        }
        if flushed {
            fast.wait_durable().unwrap();
            engine.log().unwrap().flush_once().unwrap();
        }
        // unless it is postponed, it comes before the change
        let result = slow.commit();
        assert_eq!(result.is_ok(), !(changed && flushed), "{result:?}");
        if result.is_ok() {
            slow.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(3)).map(|_| ())).unwrap();
        }
    }
}

#[test]
fn who_reads_depends_on_what_it_has_seen() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    let table = create(&engine, "t", Access::Hashed, &[KeyPart::asc(0)]);
    let (mut writer, mut reader) = (engine.worker().unwrap(), engine.worker().unwrap());
    let insert = |w: &mut CicadaWorker, id: i64| w.insert(table.id, &row(&table, id, "t", id)).map(|_| ());
    let cols = Projection::all(&table.schema);
    let read = |w: &mut CicadaWorker, id: i64| w.get(table.id, &key(id), &cols, |_, _| ());
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

#[test]
fn a_directory_of_the_other_engine_is_refused_with_both_names() {
    let disk = SimDisk::new(6);
    drop(scaledb_log::DatabaseDir::open(Arc::new(disk.clone()), "acc").unwrap());
    match Cicada::open(config(&disk, Clocks::Synchronized)) {
        Err(Error::Directory(what)) => assert!(what.contains("acc") && what.contains("cicada"), "{what}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}

/// Whether who has read what is not durable depends on it: a row, and that there is none, whatever clean-up does.
fn reads_depend_on_commits(rules: Rules) -> bool {
    let disk = SimDisk::new(12);
    let quiescence = std::time::Duration::ZERO;
    let config = Config { rules, quiescence, ..config(&disk, Clocks::Synchronized) };
    let engine = Cicada::open(config).unwrap();
    let table = create(&engine, "t", Access::Hashed, &[KeyPart::asc(0)]);
    let (mut writer, mut reader) = (engine.worker().unwrap(), engine.worker().unwrap());
    writer.run(TxnKind::ReadWrite, |w| w.insert(table.id, &row(&table, 1, "t", 1)).map(|_| ())).unwrap();
    writer.wait_durable().unwrap();
    let cols = Projection::all(&table.schema);
    let mut depends = |rows: usize| {
        let read = |w: &mut CicadaWorker| w.get(table.id, &key(1), &cols, |_, _| ());
        assert_eq!(reader.run(TxnKind::ReadOnly, read).unwrap().into_iter().count(), rows);
        reader.depends_on()
    };
    set(&mut writer, &table, 1, 2);
    let changed = depends(1) >= writer.depends_on();
    writer.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(1)).map(|_| ())).unwrap();
    let deleted = writer.depends_on();
    (0..200).for_each(|_| writer.run(TxnKind::ReadWrite, |_| Ok(())).unwrap());
    changed && depends(0) >= deleted
}

#[test]
fn who_has_read_what_is_not_durable_depends_on_it() {
    assert!(reads_depend_on_commits(Rules::default()));
    #[cfg(feature = "mutations")]
    for rule in scaledb_cicada::Rule::OF_DURABILITY {
        assert!(!reads_depend_on_commits(Rules::without(rule)), "{rule:?}");
    }
}
