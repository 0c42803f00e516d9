//! `scaledb demo`: TPC-C in half a minute.

use crate::args::{DemoArgs, scale};
use crate::format::{bytes, count, plural};
use crate::progress::Line;
use crate::{Result, print};
use scaledb_acc::{Acc, Config};
use scaledb_engine::Engine;
use scaledb_sync::Arc;
use scaledb_workloads::driver::{self, Options, micros_since_2000};
use scaledb_workloads::tpcc::{self, Mix, Tables, Tpcc};
use std::time::{Duration, Instant};

pub(crate) fn run(args: &DemoArgs) -> Result {
    let threads = args.threads();
    let scale = scale(args.warehouses, threads, args.small);
    println!(
        "TPC-C, full mix: {}, {}",
        plural(u64::from(scale.warehouses), "warehouse"),
        plural(threads as u64, "thread")
    );
    let engine = Acc::open(Config::default())?;
    let start = Instant::now();
    let tables = Arc::new(Tables::create(&engine, scale, false)?);
    tpcc::load(&engine, &tables, args.seed, threads, micros_since_2000())?;
    let stats = engine.stats();
    let rows: u64 = stats.tables.iter().map(|t| t.tree_entries).sum();
    println!(
        "  loaded in {:.1} s: {} index entries, {}",
        start.elapsed().as_secs_f64(),
        count(rows),
        bytes(stats.memory_bytes)
    );
    let workload = Tpcc { tables: tables.clone(), mix: Mix::Full, seed: args.seed, snapshot_reads: false };
    let options = Options {
        threads,
        warmup: Duration::from_secs(1),
        measured: args.seconds,
        pin: false,
        asynchronous: false,
    };
    let mut line = Line::new();
    let (report, _) = driver::run(&engine, &workload, &options, |progress| line.show(progress))?;
    line.end();
    println!("\nThroughput");
    print::throughput(&report);
    print::classes(&report);
    print::conflicts(&report);
    print::tables(&report);
    let conditions = tpcc::check(&tables, &mut engine.worker()?)?;
    Ok(print::conditions(&conditions))
}
