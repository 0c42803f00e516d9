//! `scaledb bench --scale 1,2,4`: the same workload on several numbers of threads.

use super::{Check, Finished, finish, output};
use crate::Result;
use crate::args::BenchArgs;
use crate::format::{count, table};
use crate::output::{complain, say, show};
use scaledb_sync::thread::cores;

pub(super) fn run(args: &BenchArgs) -> Result {
    let most = cores();
    let (possible, beyond): (Vec<u16>, Vec<u16>) = args.scale.iter().partition(|&&n| usize::from(n) <= most);
    let mut runs: Vec<(BenchArgs, Finished)> = Vec::new();
    let mut passed = true;
    for threads in possible {
        // one line each: what a single run prints is left out
        let one = BenchArgs { threads: Some(threads), scale: Vec::new(), json: true, ..args.clone() };
        let finished = finish(&one)?;
        if let Check::Failed(why) = &finished.check {
            complain!("check of the database with {threads} threads: FAILED: {why}\n");
        }
        passed &= finished.check.passed();
        runs.push((one, finished));
    }
    if args.json {
        let outputs: Vec<_> = runs.iter().map(|(args, finished)| output(args, finished)).collect();
        say!("{}", serde_json::to_string_pretty(&outputs)?);
    } else {
        say!("{}, each thread a core, as far as this machine has them", args.workload.name());
        show!("{}", scaling(&runs));
        if passed && !args.no_check {
            say!("\nChecks of the databases: ok");
        }
    }
    if !beyond.is_empty() {
        let beyond: Vec<_> = beyond.iter().map(u16::to_string).collect();
        complain!("left out: {} threads; there are {most} cores\n", beyond.join(", "));
    }
    Ok(passed)
}

/// A row for each number of threads. Times and efficiency are of the processor time that the threads had, where the
/// system tells it: others may use the machine, too.
fn scaling(runs: &[(BenchArgs, Finished)]) -> String {
    let rate = |finished: &Finished| {
        let report = &finished.report;
        report.commits_per_cpu_second.map_or(report.commits_per_second, |each| each * report.threads as f64)
    };
    let first = runs.first().map(|(_, first)| rate(first) / first.report.threads as f64).unwrap_or_default();
    let row = |(_, finished): &(BenchArgs, Finished)| {
        let report = &finished.report;
        let times = rate(finished) / first.max(f64::MIN_POSITIVE);
        vec![
            report.threads.to_string(),
            count(report.commits_per_second as u64),
            count(rate(finished) as u64),
            format!("{times:.2}"),
            format!("{:.1} %", 100.0 * times / report.threads as f64),
            format!("{:.2} %", report.abort_percent),
        ]
    };
    let rows: Vec<_> = runs.iter().map(row).collect();
    table(&["threads", "per second", "with whole cores", "times one", "efficiency", "conflicts"], &rows)
}
