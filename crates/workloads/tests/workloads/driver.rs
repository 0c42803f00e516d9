//! The driver counts, measures and stops; the clocks tick.

use crate::common::{Tpcc, options};
use scaledb_engine::{Engine, Worker};
use scaledb_workloads::clocks;
use scaledb_workloads::driver::run;
use scaledb_workloads::tpcc::{Mix, Scale};
use std::time::Duration;

#[test]
fn driver_counts_and_measures_every_transaction() {
    let mut db = Tpcc::load(Scale::tiny(2), 2);
    let mut lines = 0;
    let workload = db.workload(Mix::Full);
    let (report, terminals) = run(&db.engine, &workload, &options(2, 1_500), |progress| {
        assert!(progress.elapsed <= progress.total && progress.per_second > 0.0);
        lines += 1;
    })
    .unwrap();
    // none, if this thread has slept through the second
    assert!(lines <= 1, "{lines}");
    assert_eq!((terminals.len(), report.classes.len()), (2, 5));
    assert!(report.seconds > 1.4, "{}", report.seconds);
    let share = report.classes[0].commits as f64 / report.commits() as f64;
    assert!((0.40..0.50).contains(&share), "{share}");
    for class in &report.classes {
        let latency = class.latency;
        assert_eq!(latency.count, class.commits + class.rollbacks);
        assert!(latency.p50_us > 0.0 && latency.p50_us <= latency.p99_us && latency.p99_us <= latency.max_us);
        assert_eq!((class.conflicts, class.retried), (0, 0), "the reference engine is serial");
    }
    db.assert_consistent();
}

#[test]
fn an_error_of_one_thread_ends_the_run() {
    let db = Tpcc::load(Scale::tiny(1), 1);
    let t = db.tables.clone();
    let mut worker = db.engine.worker().unwrap();
    for d in 1..=10 {
        let key = scaledb_workloads::tpcc::keys::district(1, d);
        worker.run(Default::default(), |w| w.delete(t.district.id, &key)).unwrap();
    }
    let result = run(&db.engine, &db.workload(Mix::Full), &options(2, 60_000), |_| {});
    assert!(result.unwrap_err().to_string().contains("district is missing"));
}

#[test]
fn every_clock_is_measured() {
    for source in clocks::SOURCES {
        let rate = clocks::measure(source, 2, Duration::from_millis(200));
        assert!(rate.reads_per_second > 0.0 && rate.threads == 2, "{rate:?}");
    }
}
