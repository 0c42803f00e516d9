//! One history: tables, threads, check.

use crate::history::check::{Violation, check};
use crate::history::client::{Client, Keys, Mix};
use crate::history::replay::Model;
use crate::history::table::{HistoryTable, Kind};
use scaledb_base::Error;
use scaledb_engine::Engine;
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::clock::Instant;
use scaledb_sync::{Arc, thread};

/// What a history is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides what each worker does; not how they interleave.
    pub seed: u64,
    /// Workers.
    pub threads: usize,
    /// Transactions of each worker.
    pub transactions: u64,
    /// Tables.
    pub tables: Vec<Kind>,
    /// Keys.
    pub keys: Keys,
    /// Rows loaded before.
    pub rows: i32,
    /// Operations.
    pub mix: Mix,
    /// Whether no two transactions that write may have one timestamp.
    pub unique_timestamps: bool,
}

/// What a history was like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Committed transactions, all of them replayed.
    pub committed: u64,
    /// Conflicts and rollbacks.
    pub aborted: u64,
}

fn failure(error: &Error) -> Box<Violation> {
    Box::new(Violation::Failure(error.to_string()))
}

/// Runs a history on a fresh database and checks it.
///
/// # Errors
/// What is wrong with it.
pub fn run<E>(engine: &E, plan: &Plan) -> Result<Report, Box<Violation>>
where
    E: Engine,
    E::Worker: 'static,
{
    let fail = |e: Error| failure(&e);
    let create = |(i, &kind): (usize, &Kind)| HistoryTable::create(engine, &format!("t{i}"), kind);
    let tables: Vec<HistoryTable> =
        plan.tables.iter().enumerate().map(create).collect::<Result<_, _>>().map_err(fail)?;
    let tables = Arc::new(tables);
    let tails = Arc::new(tables.iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
    let start = Instant::now();
    let client = |id| Client::new(id, plan.seed, tables.clone(), tails.clone(), (plan.keys, plan.mix), start);
    let mut first = client(0);
    {
        let mut worker = engine.worker().map_err(fail)?;
        first.load(&mut worker, plan.rows).map_err(fail)?;
    }
    let mut threads = Vec::new();
    for id in 1..=plan.threads {
        let mut client = client(id);
        let mut worker = engine.worker().map_err(fail)?;
        let transactions = plan.transactions;
        threads.push(thread::spawn(move || {
            for _ in 0..transactions {
                client.step(&mut worker)?;
            }
            Ok(client)
        }));
    }
    let mut report = Report::default();
    let mut transactions = Vec::new();
    let mut failed = None;
    for thread in threads {
        match thread.join() {
            Ok(Ok(client)) => {
                report.aborted += client.aborted;
                transactions.extend(client.committed);
            }
            Ok(Err(error)) => failed = Some(failure(&error)),
            Err(_) => failed = Some(Box::new(Violation::Failure("a worker panicked".into()))),
        }
    }
    if let Some(failed) = failed {
        return Err(failed);
    }
    let mut worker = engine.worker().map_err(fail)?;
    first.audit(&mut worker).map_err(fail)?;
    transactions.extend(first.committed);
    report.committed = transactions.len() as u64;
    let mut model = Model::new(tables.iter().map(|t| t.kind.indexes));
    check(&mut transactions, &mut model, plan.unique_timestamps)?;
    Ok(report)
}
