//! Large transactions: their write_set is found by hash in every step of the commit. One by one, the steps below
//! would be some 10^10.
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, CicadaWorker, Config};
use scaledb_engine::{Access, Engine, Order, Range, TableDef, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use std::ops::ControlFlow;

const ROWS: i64 = 100_000;

/// A transaction that looks for each key, inserts it and scans about it: each key is in its write_set, among the
/// keys that it has read as absent, and in a leaf that it has scanned.
#[test]
fn a_transaction_finds_its_own_inserts_among_very_many() {
    for access in [Access::Hashed, Access::Ordered] {
        let engine = Cicada::open(Config::default()).unwrap();
        let columns = vec![Column::new("id", ColumnType::Int8), Column::new("n", ColumnType::Int8)];
        let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
        let all = Projection::all(&schema);
        let mut def = TableDef::new("t", schema.clone());
        def.options.access = access;
        let table = engine.create_table(def).unwrap().id;
        let key = |id: i64| KeyBuf::new().i64(id);
        let mut worker = engine.worker().unwrap();
        let sum = |worker: &mut CicadaWorker, from: i64, to: i64| {
            let mut sum = 0;
            let (from, to) = (key(from), key(to));
            worker
                .scan(table, Range::new(&from, &to), Order::Forward, &all, |_, _, row| {
                    sum += row.i64(1);
                    ControlFlow::Continue(())
                })
                .map(|()| sum)
        };
        worker.begin(TxnKind::ReadWrite).unwrap();
        for id in (0..ROWS).map(|n| n * 7919 % ROWS) {
            assert_eq!(worker.get(table, &key(id), &all, |_, _| ()).unwrap(), None);
            let row = RowBuf::from_values(&schema, &[Datum::Int8(id), Datum::Int8(1)]).unwrap();
            worker.insert(table, &row).unwrap();
            if id % 1_000 == 0 {
                assert_eq!(sum(&mut worker, id, id + 1).unwrap(), 1);
            }
        }
        worker.commit().unwrap();
        assert_eq!(worker.run(TxnKind::ReadOnly, |worker| sum(worker, 0, ROWS)).unwrap(), ROWS);
    }
}
