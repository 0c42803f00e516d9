//! What an engine counts beside what every engine has.

use std::collections::BTreeMap;

/// Something that an engine counts or measures for each table and index. An engine lists its own:
/// [`Engine::table_metrics`](crate::Engine::table_metrics).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name: lower case, with underscores.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// How it moves.
    pub kind: MetricKind,
}

/// How a metric moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows while the database is open.
    Counter,
    /// It is what it is now.
    Gauge,
}

/// A metric of an engine as a whole, whose values have labels: names, each with what it is for this value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// What is counted or measured.
    pub metric: Metric,
    /// The values.
    pub values: Vec<(Vec<(&'static str, String)>, u64)>,
}

/// Values of an engine's metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    specs: &'static [Metric],
    values: Vec<u64>,
}

impl Metrics {
    /// The value of each metric of `specs`, in their order.
    pub fn new(specs: &'static [Metric], values: Vec<u64>) -> Self {
        debug_assert_eq!(specs.len(), values.len(), "each metric has a value");
        Self { specs, values }
    }

    /// The value of the metric called `name`; `None` if the engine has none of that name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.iter().find(|(metric, _)| metric.name == name).map(|(_, value)| value)
    }

    /// All of them, in the order in which the engine lists them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Metric, u64)> {
        self.specs.iter().zip(self.values.iter().copied())
    }

    /// All of them, by name.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        self.iter().map(|(metric, value)| (metric.name.to_owned(), value)).collect()
    }
}
