//! Gathers what is known of the rows of tables, for the choice of plans.
//!
//! Statistics are gathered when a statement with a join is planned or run and what is known is missing or old: a scan
//! of the table in a snapshot of its own, so that the transaction at hand depends on nothing more. Every so many rows
//! are looked at, twice as far apart whenever the sample has grown too large. What is known is old when so much time
//! has passed that gathering takes a few percent of it. ANALYZE gathers at once.
//!
//! Plans remember the rows of their tables that they were made for. A plan is made again when these have doubled or
//! halved since.

use crate::exec::codec;
use scaledb_base::TableId;
use scaledb_engine::{Engine, Order, Range, TxnKind, Worker};
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::statistics::{ColumnStatistics, TableStatistics};
use scaledb_row::Projection;
use scaledb_sync::lock::Mutex;
use scaledb_types::Value;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of a sample at most.
const SAMPLE: usize = 8_192;
/// Rows that are looked at in each direction; of a larger table, the others are counted by the engine.
const MOST: u64 = 1_000_000;
/// Statistics are kept for so long at least, and for so many times what gathering them has taken.
const YOUNG: Duration = Duration::from_secs(1);
const SHARE: u32 = 30;
struct Entry {
    table: Arc<TableStatistics>,
    /// The numbers of the columns: a table may get and lose some and stay the engine's table.
    columns: Vec<i16>,
    gathered: Instant,
    took: Duration,
}

/// The statistics of a database, by the engine's tables.
#[derive(Default)]
pub(crate) struct Statistics(Mutex<HashMap<TableId, Entry>>);

impl Statistics {
    /// What is known of a table, if it is not old.
    fn known(&self, table: &BoundTable) -> Option<Arc<TableStatistics>> {
        let entries = self.0.lock();
        let entry = entries.get(&table.info.id)?;
        let young = entry.gathered.elapsed() < YOUNG.max(entry.took * SHARE);
        let same = entry.columns.iter().copied().eq(numbers(table));
        (young && same).then(|| entry.table.clone())
    }

    /// What is known of a table; gathered now, if it is missing or old. `None` if that is not possible.
    pub(crate) fn of<E: Engine>(
        &self,
        source: &Source<'_, E>,
        table: &BoundTable,
    ) -> Option<Arc<TableStatistics>> {
        self.known(table).or_else(|| self.gather(source, table))
    }

    /// Gathers the statistics of a table. What is known stays if that is not possible.
    pub(crate) fn gather<E: Engine>(
        &self,
        source: &Source<'_, E>,
        table: &BoundTable,
    ) -> Option<Arc<TableStatistics>> {
        let start = Instant::now();
        let mut worker = source.workers.spare(source.engine)?;
        let sample = Sample::take(&mut *worker, source.engine, table);
        source.workers.give_spare(worker);
        let found = Arc::new(sample?.statistics(table));
        let columns = numbers(table).collect();
        let entry = Entry { table: found.clone(), columns, gathered: Instant::now(), took: start.elapsed() };
        self.0.lock().insert(table.info.id, entry);
        Some(found)
    }

    /// Forgets a table whose rows are gone.
    pub(crate) fn forget(&self, table: TableId) {
        self.0.lock().remove(&table);
    }
}

fn numbers(table: &BoundTable) -> impl Iterator<Item = i16> {
    table.desc.columns.iter().map(|column| column.attnum)
}

/// Where rows are read.
pub(crate) struct Source<'s, E: Engine> {
    pub(crate) workers: &'s crate::workers::Workers<E::Worker>,
    pub(crate) engine: &'s E,
}

/// Rows that were looked at.
struct Sample {
    rows: Vec<Vec<Value>>,
    /// All rows of the table.
    total: f64,
}

impl Sample {
    fn take<E: Engine>(worker: &mut E::Worker, engine: &E, table: &BoundTable) -> Option<Self> {
        let mut sample = Self { rows: Vec::new(), total: 0.0 };
        let mut stride = 1u64;
        let mut count = 0u64;
        worker.begin(TxnKind::Snapshot).ok()?;
        let mut complete = true;
        for order in [Order::Forward, Order::Backward] {
            let mut here = 0u64;
            let projection = Projection::all(&table.info.schema);
            let scanned = worker.scan(table.info.id, Range::ALL, order, &projection, |_, _, row| {
                here += 1;
                count += 1;
                if count.is_multiple_of(stride) {
                    let values = codec::columns(row, table).map(Result::unwrap_or_default);
                    sample.rows.push(values.collect());
                    if sample.rows.len() >= SAMPLE {
                        stride *= 2;
                        let mut number = 0usize;
                        sample.rows.retain(|_| {
                            number += 1;
                            number.is_multiple_of(2)
                        });
                    }
                }
                if here < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            if scanned.is_err() {
                worker.rollback();
                return None;
            }
            complete = here < MOST;
            if complete {
                break;
            }
        }
        worker.commit().ok()?;
        sample.total = count as f64;
        if !complete {
            let stats = engine.stats();
            let counted = stats.tables.iter().find(|known| known.id == Some(table.info.id));
            sample.total = sample.total.max(counted.map_or(0.0, |known| known.tree_entries as f64));
        }
        Some(sample)
    }

    fn statistics(mut self, table: &BoundTable) -> TableStatistics {
        let count = table.types.len();
        let columns = (0..count).map(|column| {
            let mut values: Vec<Value> = Vec::with_capacity(self.rows.len());
            values.extend(self.rows.iter_mut().map(|row| std::mem::take(&mut row[column])));
            let all = values.len();
            values.retain(|value| !value.is_null());
            values.sort_unstable();
            of_column(&values, all, self.total)
        });
        TableStatistics { columns: columns.collect(), rows: self.total }
    }
}

/// What a sorted sample of a column says; `all` rows of it were looked at, of `total`.
fn of_column(values: &[Value], all: usize, total: f64) -> ColumnStatistics {
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return ColumnStatistics {
            nulls: if all == 0 { 0.0 } else { 1.0 },
            distinct: 1.0,
            ..Default::default()
        };
    };
    let ends = Some((first.clone(), last.clone()));
    let (mut different, mut single) = (0usize, 0usize);
    for run in values.chunk_by(|a, b| a == b) {
        different += 1;
        single += usize::from(run.len() == 1);
    }
    let (n, d, f1) = (values.len() as f64, different as f64, single as f64);
    let present = total * n / all as f64;
    // Haas and Stokes: what is seen once in the sample says how much is not seen at all
    let estimate = if present <= n { d } else { n * d / (n - f1 + f1 * n / present) };
    ColumnStatistics { distinct: estimate.clamp(d, present.max(d)), nulls: 1.0 - n / all as f64, ends }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_tells_a_key_from_a_column_of_few_values() {
        let key: Vec<Value> = (0..1_000).map(|n| Value::Int4(n * 10)).collect();
        let few: Vec<Value> = (0..1_000).map(|n| Value::Int4(n / 100)).collect();
        let key = of_column(&key, 1_000, 10_000.0);
        assert!(key.distinct > 9_000.0, "{key:?}");
        let few = of_column(&few, 2_000, 20_000.0);
        assert!((few.distinct - 10.0).abs() < 1.0 && (few.nulls - 0.5).abs() < 0.01, "{few:?}");
        assert_eq!(of_column(&[], 5, 5.0).nulls, 1.0);
    }
}
