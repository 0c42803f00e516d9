//! The log's horizon, beside transactions that began long ago.
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, CicadaWorker, Clocks, Config, Consistency, Durability};
use scaledb_engine::{Engine, Order, Range, TableDef, TableInfo, TxnKind, Worker};
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

fn create(engine: &Cicada) -> std::sync::Arc<TableInfo> {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("city", ColumnType::Text(100)),
        Column::new("n", ColumnType::Int8),
    ];
    let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    engine.create_table(TableDef::new("t", schema)).unwrap()
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

/// How many rows there are.
fn rows(engine: &Cicada, table: &TableInfo) -> usize {
    let cols = Projection::all(&table.schema);
    let scan = |w: &mut CicadaWorker| {
        let mut rows = 0;
        w.scan(table.id, Range::ALL, Order::Forward, &cols, |_, _, _| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    };
    engine.worker().unwrap().run(TxnKind::ReadOnly, scan).unwrap()
}

/// A transaction that began before the horizon, and one that did not wait for it. Returns what is wrong.
fn slow_and_fast(clocks: Clocks) -> Result<(), &'static str> {
    let disk = SimDisk::new(3);
    let engine = Cicada::open(config(&disk, clocks)).unwrap();
    let table = create(&engine);
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
    let surviving = || {
        let image = disk.image(disk.crash_points() - 1, 1);
        rows(&Cicada::open(config(&image, clocks)).unwrap(), &table)
    };
    if slow.depends_on() < engine.durable() && surviving() < 2 {
        return Err("a commit is acknowledged and not on disk");
    }
    slow.wait_durable().unwrap();
    if surviving() == 2 { Ok(()) } else { Err("a commit is lost") }
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
    let table = create(&engine);
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
        // also behind a conflict: its clock is ahead of the others' until the next commit
        slow.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(3)).map(|_| ())).unwrap();
    }
}
