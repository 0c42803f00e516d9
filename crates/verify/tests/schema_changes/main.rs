//! Indexes that come and go while their table is used: what they hold, who may use them, what is left of a change that
//! failed or was cut short, and how many records it touches. And tables that are dropped, or lose all rows at once.
//! docs/internals/schema-changes.md has the argument.
#![cfg(not(any(loom, shuttle)))]

mod cleared;
mod dropped;
mod indexes;

use scaledb_acc::Acc;
use scaledb_base::{Error, Result, TableId};
use scaledb_cicada::Cicada;
use scaledb_engine::{
    Access, Engine, IndexDef, Order, Range, SerializationPoint, TableDef, TableInfo, TableOptions, TxnKind,
    Worker,
};
use scaledb_keys::KeyBuf;
use scaledb_log::LogOptions;
use scaledb_memory::Domain;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread;
use scaledb_verify::disk::SimDisk;
use scaledb_verify::reference::Reference;
use std::cell::Cell;
use std::ops::ControlFlow;

/// An engine that the tests try.
trait Tried: Engine + Sized {
    fn start(background: bool) -> Self;
    /// `None`: it has no memory of its own.
    fn domain(&self) -> Option<&Domain>;
}

/// One that keeps a directory.
trait Kept: Tried {
    fn open(disk: &SimDisk) -> Result<Self>;
    fn inspect(disk: &SimDisk) -> Result<()>;
}

macro_rules! kept {
    ($engine:ident, $config:path) => {
        impl Tried for $engine {
            fn start(background: bool) -> Self {
                use $config as Config;
                $engine::open(Config { background, ..Config::default() }).unwrap()
            }
            fn domain(&self) -> Option<&Domain> {
                Some(self.memory())
            }
        }

        impl Kept for $engine {
            fn open(disk: &SimDisk) -> Result<Self> {
                use $config as Config;
                let durability = Some(durability(disk));
                $engine::open(Config { background: false, durability, ..Config::default() })
            }
            fn inspect(disk: &SimDisk) -> Result<()> {
                use $config as Config;
                let durability = Some(durability(disk));
                $engine::inspect(Config { background: false, durability, ..Config::default() }).map(|_| ())
            }
        }
    };
}

fn durability(disk: &SimDisk) -> scaledb_acc::Durability {
    let log = LogOptions { manual: true, ..LogOptions::default() };
    scaledb_acc::Durability {
        log,
        recovery_threads: 2,
        ..scaledb_acc::Durability::new(Arc::new(disk.clone()))
    }
}

kept!(Acc, scaledb_acc::Config);
kept!(Cicada, scaledb_cicada::Config);

impl Tried for Reference {
    fn start(_: bool) -> Self {
        Self::new()
    }
    fn domain(&self) -> Option<&Domain> {
        None
    }
}

fn def(access: Access) -> TableDef {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("a", ColumnType::Int8).nullable(),
        Column::new("b", ColumnType::Text(40)),
        Column::new("n", ColumnType::Int8),
    ];
    let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    TableDef::new("t", schema).options(TableOptions { access, ..TableOptions::default() })
}

fn row(table: &TableInfo, id: i64, a: Option<i64>) -> RowBuf {
    let (a, b) = (a.map_or(Datum::Null, Datum::Int8), format!("row {id}"));
    RowBuf::from_values(&table.schema, &[Datum::Int8(id), a, Datum::Text(&b), Datum::Int8(0)]).unwrap()
}

fn key(id: i64) -> KeyBuf {
    KeyBuf::new().i64(id)
}

fn insert<W: Worker>(w: &mut W, table: &TableInfo, id: i64, a: Option<i64>) -> Result<()> {
    w.insert(table.id, &row(table, id, a)).map(|_| ())
}

fn set<W: Worker>(w: &mut W, table: &TableInfo, id: i64, a: i64) -> Result<bool> {
    let all = Projection::all(&table.schema);
    let schema = table.schema.clone();
    Ok(w.update(table.id, &key(id), &all, |row| row.set(&schema, 1, Datum::Int8(a)))?.is_some())
}

/// The rows of a table, as one of its indexes has them.
fn scan<W: Worker>(w: &mut W, table: &TableInfo, index: TableId) -> Result<Vec<(Option<i64>, i64)>> {
    let all = Projection::all(&table.schema);
    let mut rows = Vec::new();
    w.scan(index, Range::ALL, Order::Forward, &all, |_, _, row| {
        rows.push(((!row.is_null(1)).then(|| row.i64(1)), row.i64(0)));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// What an index of column `a` has to hold.
fn sorted(mut rows: Vec<(Option<i64>, i64)>) -> Vec<(Option<i64>, i64)> {
    // NULLs are last
    rows.sort_by_key(|&(a, id)| (a.is_none(), a, id));
    rows
}

/// Compares an index with its table in one transaction.
fn compare<E: Engine>(db: &E, table: &TableInfo, index: TableId, kind: TxnKind) -> usize {
    let mut w = db.worker().unwrap();
    let (rows, entries) = w.run(kind, |w| Ok((scan(w, table, table.id)?, scan(w, table, index)?))).unwrap();
    assert_eq!(sorted(rows), entries);
    entries.len()
}

fn by_a() -> IndexDef {
    IndexDef::new("by_a", vec![KeyPart::asc(1)])
}

fn unique() -> IndexDef {
    IndexDef::unique("only_a", vec![KeyPart::asc(1)])
}

/// A table with some thousand rows, of which some have been changed and deleted.
fn filled<E: Engine>(db: &E, access: Access) -> std::sync::Arc<TableInfo> {
    let table = db.create_table(def(access)).unwrap();
    let mut w = db.worker().unwrap();
    for batch in 0..30 {
        w.run(TxnKind::ReadWrite, |w| {
            (0..100).try_for_each(|i| {
                let id = batch * 100 + i;
                insert(w, &table, id, (id % 17 != 0).then_some(id * 7919 % 10_007))
            })
        })
        .unwrap();
    }
    for id in (0..3_000).step_by(13) {
        w.run(TxnKind::ReadWrite, |w| {
            if id % 2 == 0 { w.delete(table.id, &key(id)) } else { set(w, &table, id, id + 20_000) }
        })
        .unwrap();
    }
    table
}

macro_rules! engine {
    ($name:ident, $engine:ty, [$($part:ident: $($test:ident),*;)*]) => {
        mod $name {
            $($(#[test] fn $test() { super::$part::$test::<$engine>(); })*)*
        }
    };
}

/// The tests of an engine that keeps its rows in memory, and a log.
macro_rules! engine_with_files {
    ($name:ident, $engine:ty) => {
        engine!(
            $name,
            $engine,
            [
                indexes: holds_what_it_should, refuses_duplicates, wrote_before, snapshots, beside_writers,
                    out_of_memory, stops_when_told, costs_what_it_should, crashes;
                cleared: clears_what_is_there, clears_at_once, crashes_while_it_clears;
                dropped: who_used_it_does_not_commit, snapshots_from_before_see_it, its_memory_serves_others,
                    beside_readers_and_writers, a_drop_that_fails_changes_nothing, crashes_while_it_drops;
            ]
        );
    };
}

engine!(reference, super::Reference, [indexes: holds_what_it_should, refuses_duplicates;]);
engine_with_files!(acc, super::Acc);
engine_with_files!(cicada, super::Cicada);
