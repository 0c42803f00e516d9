//! Results for people: tables of at most 100 columns.

use crate::format::{bytes, count, latency, percent, plural, short, table};
use crate::output::{say, show};
use scaledb_workloads::report::{ClassReport, Report, TableReport};
use scaledb_workloads::tpcc::Condition;

/// Throughput in one line.
pub(crate) fn throughput(report: &Report) {
    let conflicts: u64 = report.classes.iter().map(|c| c.conflicts).sum();
    say!(
        "  {} txn/s: {} commits in {:.1} s on {}; {} of all attempts ended in a conflict",
        count(report.commits_per_second as u64),
        count(report.commits()),
        report.seconds,
        plural(report.threads as u64, "thread"),
        percent(conflicts, conflicts + report.commits()),
    );
    if let Some(rate) = report.commits_per_cpu_second {
        say!("  {} commits per second of processor time", count(rate as u64));
    }
    if let Some(log) = &report.log {
        say!(
            "  log: {:.0} bytes per writing transaction, {:.0} transactions per write and sync; p50 {} µs, p99 {} µs",
            log.bytes_per_transaction,
            log.transactions_per_group,
            log.sync_p50_us,
            log.sync_p99_us
        );
    }
}

fn active(report: &Report) -> impl Iterator<Item = &ClassReport> {
    report.classes.iter().filter(|c| c.commits + c.rollbacks + c.conflicts > 0)
}

/// Counts and latencies of each class of transactions.
pub(crate) fn classes(report: &Report) {
    let rows: Vec<_> = active(report)
        .map(|c| {
            let l = c.latency;
            let mut row = vec![c.name.clone(), count(c.commits), count(c.rollbacks)];
            row.extend([l.p50_us, l.p95_us, l.p99_us, l.p999_us, l.max_us].map(latency));
            row
        })
        .collect();
    say!("\nTransactions (latency from input to commit, retries included)");
    show!("{}", table(&["", "commits", "rolled back", "p50", "p95", "p99", "p99.9", "max"], &rows));
}

/// Conflicts by transaction, table and kind.
pub(crate) fn conflicts(report: &Report) {
    say!("\nConflicts");
    let mut rows = Vec::new();
    for class in active(report) {
        let mut aborts = class.aborts.clone();
        aborts.sort_by_key(|a| std::cmp::Reverse(a.count));
        for abort in aborts {
            let attempts = class.commits + class.rollbacks + class.conflicts;
            rows.push(vec![
                class.name.clone(),
                abort.table,
                abort.kind,
                count(abort.count),
                percent(abort.count, attempts),
            ]);
        }
    }
    if rows.is_empty() {
        say!("  none");
        return;
    }
    show!("{}", table(&["", "table or index", "kind", "count", "of attempts"], &rows));
}

/// What the engine counted for each table and index.
pub(crate) fn tables(report: &Report) {
    let metric = |table: &TableReport, name: &str| table.metrics.get(name).copied().unwrap_or(0);
    let rows: Vec<_> = report
        .tables
        .iter()
        .map(|t| {
            vec![
                t.name.clone(),
                short(t.tree_entries),
                short(metric(t, "merged")),
                short(metric(t, "merges")),
                short(metric(t, "pending")),
                short(metric(t, "synchronous")),
                short(metric(t, "repairs")),
                short(t.cleaned),
                bytes(t.hash_bytes),
                bytes(t.tree_bytes),
            ]
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    say!("\nTables and indexes (since the database was opened; {} in all)", bytes(report.memory_bytes));
    let header = ["", "entries", "merged", "merges", "pending", "sync", "repairs", "cleaned", "hash", "tree"];
    show!("{}", table(&header, &rows));
}

/// How long before a scan the rows that it found had been written.
pub(crate) fn write_to_scan(report: &Report) {
    let rows: Vec<_> = report
        .tables
        .iter()
        .filter(|table| !table.write_to_scan.is_empty())
        .map(|table| {
            let all: u64 = table.write_to_scan.iter().map(|ago| ago.rows).sum();
            let at = |percent: u64| {
                let (mut sum, wanted) = (0, (all * percent).div_ceil(100).max(1));
                let reached = table.write_to_scan.iter().find(|ago| {
                    sum += ago.rows;
                    sum >= wanted
                });
                reached.and_then(|ago| ago.below_us).map_or_else(|| "longer".into(), |us| latency(us as f64))
            };
            vec![table.name.clone(), short(all), at(5), at(50), at(95)]
        })
        .collect();
    if !rows.is_empty() {
        say!("\nFrom a row's last write to a scan that finds it (a sample; powers of two)");
        show!("{}", table(&["", "rows", "p5", "p50", "p95"], &rows));
    }
}

/// The twelve consistency conditions. Returns whether all hold.
pub(crate) fn conditions(conditions: &[Condition]) -> bool {
    say!("\nConsistency (TPC-C clause 3.3.2)");
    for condition in conditions {
        let mark = if condition.holds() { "ok    " } else { "FAILED" };
        say!(
            "  {:>2}  {mark}  {:<52}  {:>14} checked",
            condition.number,
            condition.says,
            count(condition.checked)
        );
        if let Some(detail) = &condition.detail {
            say!("              {} failed, the first at {detail}", count(condition.failed));
        }
    }
    conditions.iter().all(Condition::holds)
}
