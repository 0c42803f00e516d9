//! What the metrics say of a database: statements, tables, indexes.

use scaledb_engine::{Engine, Labelled, MetricKind};
use scaledb_sql::{Database, TableNumbers};

/// Tables that have lines of their own, the oldest first. All are in the views.
const TABLES: usize = 500;

/// Numbers of one name.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name, without the suffixes that its kind asks for.
    pub name: &'static str,
    /// What the metric means.
    pub help: &'static str,
    /// What the numbers are.
    pub numbers: Numbers,
}

/// Labels, with their values.
pub type Labels = Vec<(&'static str, String)>;

/// Numbers of one kind, each with its labels.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Counters, which only grow.
    Counters(Vec<(Labels, u64)>),
    /// Gauges, which go up and down.
    Gauges(Vec<(Labels, u64)>),
    /// Times.
    Histograms(Vec<(Labels, Histogram)>),
}

/// How often something took how long.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Up to so many seconds, and more than the bucket before: so often. The last one is without an end.
    pub buckets: Vec<(f64, u64)>,
    /// How often in all.
    pub count: u64,
    /// All times added up.
    pub seconds: f64,
}

/// The metrics of a database that have labels.
pub(crate) fn families<E: Engine>(database: &Database<E>) -> Vec<Family> {
    let times = database.latencies().into_iter().map(|latency| {
        let buckets = latency.buckets.iter().map(|bucket| (bucket.up_to, bucket.count)).collect();
        let histogram = Histogram { buckets, count: latency.calls, seconds: latency.seconds };
        (vec![("kind", latency.kind.to_owned())], histogram)
    });
    let mut families = vec![Family {
        name: "scaledb_statement_duration_seconds",
        help: "How long statements took, by what they are",
        numbers: Numbers::Histograms(times.collect()),
    }];
    let mut tables = database.table_numbers();
    tables.sort_by_key(|table| table.oid);
    tables.truncate(TABLES);
    families.extend(of_tables(&tables));
    families.extend(database.engine().metrics().into_iter().map(of_engine));
    families
}

fn of_engine(Labelled { metric, values }: Labelled) -> Family {
    let numbers = match metric.kind {
        MetricKind::Counter => Numbers::Counters(values),
        MetricKind::Gauge => Numbers::Gauges(values),
    };
    Family { name: metric.name, help: metric.help, numbers }
}

fn of_tables(tables: &[TableNumbers]) -> [Family; 8] {
    let label = |table: &TableNumbers| {
        let name = format!("{}.{}", table.schema, table.name);
        // those of the first database are called as they were when there was no other
        ("table", table.database.as_ref().map_or(name.clone(), |database| format!("{database}.{name}")))
    };
    let each = |value: fn(&TableNumbers) -> u64| {
        tables.iter().map(|table| (vec![label(table)], value(table))).collect::<Vec<_>>()
    };
    let mut writes = Vec::new();
    let mut scans = Vec::new();
    let (mut index_scans, mut index_bytes) = (Vec::new(), Vec::new());
    for table in tables {
        let done = [("insert", table.inserted), ("update", table.updated), ("delete", table.deleted)];
        for (operation, count) in done {
            writes.push((vec![label(table), ("operation", operation.to_owned())], count));
        }
        scans.push((vec![label(table)], table.whole_scans));
        for index in &table.indexes {
            let labels = || vec![label(table), ("index", index.name.clone())];
            index_scans.push((labels(), index.scans));
            index_bytes.push((labels(), index.bytes));
        }
    }
    let family = |name, help, numbers| Family { name, help, numbers };
    [
        family("scaledb_table_rows", "Rows of tables, about", Numbers::Gauges(each(|table| table.rows))),
        family("scaledb_table_bytes", "Memory of rows, about", Numbers::Gauges(each(|table| table.bytes))),
        family("scaledb_table_row_writes", "Rows written, by table and operation", Numbers::Counters(writes)),
        family("scaledb_table_whole_scans", "Scans of whole tables", Numbers::Counters(scans)),
        family(
            "scaledb_table_conflicts",
            "Conflicts at rows and keys of tables, those of statements that were run again included",
            Numbers::Counters(each(|table| table.conflicts)),
        ),
        family(
            "scaledb_table_merge_pending",
            "Entries of tables that wait for a merge, those of indexes left out",
            Numbers::Gauges(each(|table| table.engine.metric("pending"))),
        ),
        family("scaledb_index_scans", "Scans and lookups, by index", Numbers::Counters(index_scans)),
        family("scaledb_index_bytes", "Memory of indexes, rows left out", Numbers::Gauges(index_bytes)),
    ]
}
