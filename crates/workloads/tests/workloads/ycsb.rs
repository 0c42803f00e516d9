//! Every variant leaves what it wrote, and the check sees what is lost.

use crate::common::options;
use scaledb_engine::{Engine, Worker};
use scaledb_row::Projection;
use scaledb_verify::reference::Reference;
use scaledb_workloads::driver::{Client, Workload, run};
use scaledb_workloads::report::Report;
use scaledb_workloads::ycsb::client::Done;
use scaledb_workloads::ycsb::{self, Config, Ycsb};

fn ycsb(config: Config, ms: u64) -> (Reference, ycsb::UserTable, Report, Done) {
    let engine = Reference::new();
    let table = ycsb::UserTable::create(&engine, &config, false).unwrap();
    table.load(&engine, config.records, 2).unwrap();
    let workload = Ycsb::new(config, table.clone(), 1);
    let (report, sessions) = run(&engine, &workload, &options(2, ms), |_| {}).unwrap();
    (engine, table, report, sessions.iter().map(|s| s.done()).sum())
}

#[test]
fn ycsb_variants_leave_what_they_wrote() {
    let mut configs: Vec<_> = ('a'..='f').map(|letter| Config::letter(letter).unwrap()).collect();
    configs.push(Config::transactions(16, 50));
    configs.push(Config::transactions(1, 95));
    configs.push(Config::read_insert(50));
    assert_eq!(Config::letter('g'), None);
    for config in configs {
        let config = Config { records: 300, ..config };
        let (engine, table, report, done) = ycsb(config.clone(), 120);
        let mut worker = engine.worker().unwrap();
        assert_eq!(ycsb::check(&config, &table, done, &mut worker).unwrap(), Ok(()), "{config:?}");
        assert_eq!(done.inserts > 0, config.insert > 0);
        assert_eq!(done.increments > 0, config.read_modify_write > 0);
        let mixed = report.classes[5].commits;
        assert_eq!(mixed == report.commits(), config.requests > 1);
        let reads = report.classes[0].commits as f64 / report.commits() as f64;
        let expected = f64::from(config.read().unwrap()) / 100.0;
        assert!(config.requests > 1 || (reads - expected).abs() < 0.1, "{reads} reads of {config:?}");
    }
}

#[test]
fn ycsb_check_finds_lost_updates_lost_records_and_torn_fields() {
    let config = Config { records: 100, ..Config::transactions(4, 50) };
    let (engine, table, _, done) = ycsb(config.clone(), 60);
    let mut worker = engine.worker().unwrap();
    let mut check = |done| ycsb::check(&config, &table, done, &mut worker).unwrap();
    let lost = Done { increments: done.increments + 1, ..done };
    assert!(check(lost).unwrap_err().contains("increments"));
    assert!(check(Done { inserts: 1, ..done }).unwrap_err().contains("records"));
    let all = Projection::all(&table.info.schema);
    let key = 0x8000_0000_0000_0005u64.to_be_bytes();
    let tear = |w: &mut <Reference as Engine>::Worker| {
        w.update(table.id, &key, &all, |row| {
            let mut field = row.view().bytes(1).to_vec();
            field[0] ^= 1;
            row.set_bytes(1, &field);
            Ok(())
        })
    };
    worker.run(Default::default(), tear).unwrap();
    assert!(ycsb::check(&config, &table, done, &mut worker).unwrap().unwrap_err().contains("torn"));
}

#[test]
fn sessions_insert_in_intervals_of_their_own() {
    let engine = Reference::new();
    let config = Config { records: 10, ..Config::read_insert(0) };
    let table = ycsb::UserTable::create(&engine, &Config { fields: 10, ..Config::reads() }, false).unwrap();
    table.load(&engine, 10, 1).unwrap();
    let workload = Ycsb::new(config.clone(), table.clone(), 1);
    let mut worker = engine.worker().unwrap();
    let mut done = Done::default();
    for number in 0..3 {
        let mut session = workload.client(number, 3);
        for _ in 0..5 {
            worker.begin(session.prepare(0).kind).unwrap();
            session.execute(&mut worker).unwrap();
            worker.commit().unwrap();
            session.committed();
        }
        done = [done, session.done()].into_iter().sum();
    }
    assert_eq!(done.inserts, 15);
    assert_eq!(ycsb::check(&config, &table, done, &mut worker).unwrap(), Ok(()));
}
