//! What a row takes at rest: short rows with one index, however they came, and after a restart.

use super::{Acc, Config, setting};
use scaledb_acc::Durability;
use scaledb_cicada::Cicada;
use scaledb_engine::{Engine, IndexDef, TableDef, TableInfo, TxnKind, Worker};
use scaledb_memory::Domain;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, RowBuf, Schema};
use scaledb_sync::{Arc, thread};
use scaledb_verify::disk::SimDisk;
use std::time::{Duration, Instant};

/// How many; `SCALEDB_REST_ROWS` are others.
fn rows() -> i32 {
    setting("SCALEDB_REST_ROWS", 300_000) as i32
}

/// (int primary key, int, short text), and an index of the second column.
fn table(engine: &impl Engine) -> std::sync::Arc<TableInfo> {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("a", ColumnType::Int4).nullable(),
        Column::new("b", ColumnType::Text(1000)).nullable(),
    ];
    let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    engine.create_table(TableDef::new("t", schema).index(IndexDef::new("a", vec![KeyPart::asc(1)]))).unwrap()
}

fn row(t: &TableInfo, id: i32) -> RowBuf {
    let a = (i64::from(id) * 7919 % 1_000_003) as i32;
    RowBuf::from_values(&t.schema, &[Datum::Int4(id), Datum::Int4(a), Datum::Text(&format!("row {id}"))])
        .unwrap()
}

/// Bytes of a row, once they are at most so many: what is left over is given back by and by.
fn at_rest(memory: &Domain, most: u64, what: &str) {
    let bytes = || memory.used() / rows() as u64;
    let start = Instant::now();
    while bytes() > most && start.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(50));
    }
    println!("{what}: {} bytes a row", bytes());
    assert!(bytes() <= most, "{what}: {} bytes a row, and no more than {most} are needed", bytes());
}

fn rows_take<E: Engine>(open: impl Fn(Option<SimDisk>) -> E, memory: impl Fn(&E) -> &Domain, most: u64) {
    let disk = SimDisk::new(1);
    let engine = open(Some(disk.clone()));
    let t = table(&engine);
    // the worker stays, and does nothing more
    let mut worker = engine.worker().unwrap();
    worker
        .run(TxnKind::ReadWrite, |w| (0..rows()).try_for_each(|id| w.insert(t.id, &row(&t, id)).map(|_| ())))
        .unwrap();
    at_rest(memory(&engine), most, "one transaction");
    engine.checkpoint().unwrap();
    drop((worker, engine));
    at_rest(memory(&open(Some(disk))), most, "restart");
    let engine = open(None);
    let t = table(&engine);
    let mut worker = engine.worker().unwrap();
    for id in 0..rows() {
        worker.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(&t, id)).map(|_| ())).unwrap();
    }
    at_rest(memory(&engine), most, "one by one");
}

fn durability(disk: Option<SimDisk>) -> Option<Durability> {
    disk.map(|disk| Durability { recovery_threads: 2, ..Durability::new(Arc::new(disk)) })
}

#[test]
fn short_rows_are_short_at_rest() {
    let open = |disk| Acc::open(Config { durability: durability(disk), ..Config::default() }).unwrap();
    rows_take(open, Acc::memory, 205);
}

#[test]
fn short_rows_with_versions_are_short_at_rest() {
    let config = |disk| scaledb_cicada::Config { durability: durability(disk), ..Default::default() };
    rows_take(|disk| Cicada::open(config(disk)).unwrap(), Cicada::memory, 310);
}
