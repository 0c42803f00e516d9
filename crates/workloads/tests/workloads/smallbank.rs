//! The balances add up.

use crate::common::options;
use scaledb_engine::Engine;
use scaledb_sync::Arc;
use scaledb_verify::reference::Reference;
use scaledb_workloads::driver::run;
use scaledb_workloads::smallbank;

#[test]
fn smallbank_keeps_the_money() {
    let config = smallbank::Config { customers: 500, hot_customers: 10, hot_percent: 90 };
    let engine = Reference::new();
    let tables = Arc::new(smallbank::Tables::create(&engine, false).unwrap());
    tables.load(&engine, config.customers, 7, 2).unwrap();
    let mut worker = engine.worker().unwrap();
    let before = tables.total(&mut worker).unwrap();
    assert!((2 * 500 * 10_000_00..=2 * 500 * 50_000_00).contains(&before));
    let workload = smallbank::SmallBank { config, tables: tables.clone(), seed: 7, snapshot_reads: false };
    let (report, tellers) = run(&engine, &workload, &options(2, 1_500), |_| {}).unwrap();
    let brought: i64 = tellers.iter().map(|t| t.brought()).sum();
    assert_eq!(tables.total(&mut worker).unwrap(), before + brought);
    assert!(brought != 0 && report.classes.iter().all(|c| c.commits > 0), "{report:#?}");
    // an account of the hot spot is emptied again and again by Amalgamate
    let payments = &report.classes[3];
    assert!(payments.rollbacks > 0, "{payments:?}");
}
