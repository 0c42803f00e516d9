//! Who has read what is not durable depends on it: a row, and that there is none, whatever clean-up does.
//!
//! With the feature `mutations` also: not so without the rules.
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::{Acc, AccWorker, Config, Durability, Rules};
use scaledb_engine::{Access, Engine, TableDef, TableOptions, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_log::LogOptions;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::{Arc, thread};
use scaledb_verify::disk::SimDisk;
use std::time::Duration;

fn reads_depend_on_commits(rules: Rules) -> bool {
    let log = LogOptions { manual: true, ..LogOptions::default() };
    let durability = Durability { log, ..Durability::new(Arc::new(SimDisk::new(12))) };
    let config = Config { rules, background: false, durability: Some(durability), ..Config::default() };
    let engine = Acc::open(config).unwrap();
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("n", ColumnType::Int8)];
    let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    let options = TableOptions { access: Access::Hashed, ..TableOptions::default() };
    let table = engine.create_table(TableDef::new("t", schema).options(options)).unwrap();
    let (mut writer, mut reader) = (engine.worker().unwrap(), engine.worker().unwrap());
    let (key, cols) = (KeyBuf::new().i64(1), Projection::all(&table.schema));
    let row = RowBuf::from_values(&table.schema, &[Datum::Int8(1), Datum::Int8(1)]).unwrap();
    writer.run(TxnKind::ReadWrite, |w| w.insert(table.id, &row).map(|_| ())).unwrap();
    writer.wait_durable().unwrap();
    let mut depends = |rows: usize| {
        let read = |w: &mut AccWorker| w.get(table.id, &key, &cols, |_, _| ());
        assert_eq!(reader.run(TxnKind::ReadOnly, read).unwrap().into_iter().count(), rows);
        reader.depends_on()
    };
    let change = |w: &mut AccWorker| {
        w.update(table.id, &key, &cols, |row| {
            row.set_i64(1, 2);
            Ok(())
        })
    };
    writer.run(TxnKind::ReadWrite, change).unwrap();
    let changed = depends(1) >= writer.depends_on();
    writer.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key).map(|_| ())).unwrap();
    let deleted = writer.depends_on();
    // its chores among them, and behind a snapshot that might begin
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(1));
        (0..100).for_each(|_| writer.run(TxnKind::ReadWrite, |_| Ok(())).unwrap());
    }
    changed && depends(0) >= deleted
}

#[test]
fn who_has_read_what_is_not_durable_depends_on_it() {
    assert!(reads_depend_on_commits(Rules::default()));
    #[cfg(feature = "mutations")]
    for rule in scaledb_acc::Rule::OF_DURABILITY {
        assert!(!reads_depend_on_commits(Rules::without(rule)), "{rule:?}");
    }
}
