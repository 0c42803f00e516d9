//! The workloads on Cicada, with their own checks: TPC-C's twelve conditions, YCSB's sums, SmallBank's balance,
//! the seats of SEATS, the reviews of Epinions.
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, Clocks, Config};
use scaledb_engine::Engine;
use scaledb_sync::Arc;
use scaledb_workloads::driver::{self, Options, Workload, micros_since_2000};
use scaledb_workloads::epinions::{self, Epinions};
use scaledb_workloads::report::Report;
use scaledb_workloads::seats::{self, Seats};
use scaledb_workloads::smallbank::{self, SmallBank};
use scaledb_workloads::tpcc::{self, Condition, Mix, Scale, Tables, Tpcc};
use scaledb_workloads::ycsb::{self, Ycsb};
use std::time::Duration;

const THREADS: usize = 3;

fn configs() -> [Config; 2] {
    [Config::default(), Config { clocks: Clocks::Loose, inline_words: 200, ..Config::default() }]
}

fn drive<L: Workload>(engine: &Cicada, workload: &L) -> (Report, Vec<L::Client>) {
    let options = Options {
        threads: THREADS,
        warmup: Duration::ZERO,
        measured: Duration::from_secs(2),
        pin: false,
        asynchronous: true,
    };
    let result = driver::run(engine, workload, &options, |_| {}).unwrap();
    assert!(result.0.commits_per_second > 0.0);
    result
}

#[test]
fn tpcc_keeps_its_conditions() {
    for (snapshot_reads, config) in [false, true].into_iter().zip(configs()) {
        for mix in [Mix::Full, Mix::NewOrderDelivery] {
            let engine = Cicada::open(config.clone()).unwrap();
            let tables = Arc::new(Tables::create(&engine, Scale::tiny(2), false).unwrap());
            tpcc::load(&engine, &tables, 1, THREADS, micros_since_2000()).unwrap();
            drive(&engine, &Tpcc { tables: tables.clone(), mix, seed: 1, snapshot_reads });
            let conditions = tpcc::check(&tables, &mut engine.worker().unwrap()).unwrap();
            let broken: Vec<_> = conditions.iter().filter(|c| !Condition::holds(c)).collect();
            assert!(conditions.len() == 12 && broken.is_empty(), "{broken:?}");
        }
    }
}

#[test]
fn ycsb_keeps_its_sums() {
    for (letter, config) in ['a', 'e', 'f'].into_iter().zip(configs().into_iter().cycle()) {
        let engine = Cicada::open(config).unwrap();
        let mut config = ycsb::Config::letter(letter).unwrap();
        config.records = 2000;
        let table = ycsb::UserTable::create(&engine, &config, false).unwrap();
        table.load(&engine, config.records, THREADS).unwrap();
        let (_, sessions) = drive(&engine, &Ycsb::new(config.clone(), table.clone(), 1));
        let done = sessions.iter().map(|session| session.done()).sum();
        ycsb::check(&config, &table, done, &mut engine.worker().unwrap()).unwrap().unwrap();
    }
}

#[test]
fn smallbank_loses_no_cent() {
    for config in configs() {
        let engine = Cicada::open(config).unwrap();
        let config = smallbank::Config { customers: 2000, hot_customers: 10, ..smallbank::Config::default() };
        let tables = Arc::new(smallbank::Tables::create(&engine, false).unwrap());
        tables.load(&engine, config.customers, 1, THREADS).unwrap();
        let before = tables.total(&mut engine.worker().unwrap()).unwrap();
        let bank = SmallBank { config, tables: tables.clone(), seed: 1, snapshot_reads: false };
        let (_, tellers) = drive(&engine, &bank);
        let brought: i64 = tellers.iter().map(|teller| teller.brought()).sum();
        assert_eq!(tables.total(&mut engine.worker().unwrap()).unwrap(), before + brought);
    }
}

#[test]
fn seats_are_sold_once() {
    for config in configs() {
        let engine = Cicada::open(config).unwrap();
        let (config, now) = (seats::Config { customers: 1_000 }, micros_since_2000());
        let tables = Arc::new(seats::Tables::create(&engine, false).unwrap());
        tables.load(&engine, config, 1, THREADS, now).unwrap();
        let mut worker = engine.worker().unwrap();
        let before = seats::Facts::of(&tables, &mut worker).unwrap();
        let seats = Seats::new(config, tables.clone(), 1, false, now, &mut worker).unwrap();
        let (_, travellers) = drive(&engine, &seats);
        let done = travellers.iter().map(|traveller| traveller.done()).sum();
        assert_eq!(seats::check(&tables, before, done, &mut worker).unwrap(), Ok(()));
    }
}

#[test]
fn epinions_keeps_its_reviews() {
    for (snapshot_reads, config) in [false, true].into_iter().zip(configs()) {
        let engine = Cicada::open(config).unwrap();
        let config = epinions::Config { users: 600 };
        let tables = Arc::new(epinions::Tables::create(&engine, false).unwrap());
        tables.load(&engine, config, 1, THREADS, micros_since_2000()).unwrap();
        let before = epinions::Counts::of(&tables, &mut engine.worker().unwrap()).unwrap();
        drive(&engine, &Epinions { config, tables: tables.clone(), seed: 1, snapshot_reads });
        assert_eq!(epinions::check(&tables, before, &mut engine.worker().unwrap()).unwrap(), Ok(()));
    }
}
