//! EXPLAIN: plans as PostgreSQL prints them.
//!
//! ```text
//! Plan ──► names: what its slots are called
//!      └─► nodes: a tree of lines and properties, with expressions as SQL, and of a cluster the nodes that
//!          answer (sites) ──► text, structured
//! ```

mod expressions;
mod figures;
mod joins;
mod modify_table;
mod names;
mod nodes;
mod output;
mod queries;
mod scans;
mod sites;
mod structured;
mod text;

pub(crate) use nodes::describe;
pub(crate) use sites::Reaching;

use scaledb_parse::explain::Format;
use scaledb_types::Value;
use std::time::Duration;

/// What is said of an operator, or of one of its properties.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Text(String),
    Truth(bool),
    Count(u64),
    /// With three digits behind the point.
    Decimal(f64),
    List(Vec<String>),
    Group(Fields),
    Groups(Vec<Fields>),
}

/// Names and values, in the order in which they are shown.
pub(crate) type Fields = Vec<(&'static str, Data)>;

/// A property of an operator: for a reader its line, for programs its fields.
#[derive(Clone, Debug)]
pub(crate) struct Detail {
    /// None for what programs alone are told.
    line: Option<String>,
    fields: Fields,
}

/// An operator as it is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// What a reader is told that it is.
    title: String,
    /// What programs are told: PostgreSQL's name of the kind, and what belongs to it.
    kind: &'static str,
    manner: Fields,
    /// What it reads, and how it joins.
    about: Fields,
    /// What it hands on, if that is to be said.
    output: Vec<String>,
    details: Vec<Detail>,
    children: Vec<Child>,
    /// Whether a condition on its rows may be shown as a property of it.
    filters: bool,
    /// What it has done, if the plan was run.
    figures: Option<Figures>,
}

/// What an operator has done in all its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    loops: u64,
    rows: u64,
    /// The time to the first rows and to the last, if it was measured.
    times: Option<(Duration, Duration)>,
}

impl Figures {
    /// The rows of a run on an average, and the milliseconds to its first row and to its last.
    fn average(&self) -> (u64, Option<(f64, f64)>) {
        let each = |time: Duration| milliseconds(time) / self.loops.max(1) as f64;
        (average(self.rows, self.loops), self.times.map(|(first, total)| (each(first), each(total))))
    }
}

/// As PostgreSQL does it: rounded.
fn average(count: u64, loops: u64) -> u64 {
    let loops = loops.max(1);
    (count + loops / 2) / loops
}

/// What there is to say of a statement as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) planning: Option<Duration>,
    pub(crate) execution: Option<Duration>,
    /// How often it was run again after a conflict.
    pub(crate) conflicts: Option<u64>,
    /// How often it was run again behind a wait for a lock.
    pub(crate) waits: Option<u64>,
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// An operator below another one.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    relationship: &'static str,
    /// The name of a subquery.
    label: Option<String>,
    node: Shown,
}

/// A plan as it is shown.
#[derive(Debug)]
pub(crate) struct Explained {
    root: Shown,
}

impl Explained {
    /// The plan of the query whose rows a statement inserts.
    pub(crate) fn into_query(self) -> Self {
        let mut children = self.root.children;
        let Some(at) = children.iter().position(|child| child.label.is_none()) else {
            return Self { root: Shown { children, ..self.root } };
        };
        let mut root = children.remove(at).node;
        // what is run once for the statement is run for the query
        root.children.splice(0..0, children);
        Self { root }
    }

    /// The rows of the answer, as those of a query.
    pub(crate) fn values(&self, format: Format, summary: &Summary) -> Vec<Box<[Value]>> {
        let lines = self.rows(format, summary).into_iter();
        lines.map(|line| Box::from([Value::text(line)])).collect()
    }

    /// The rows of the answer.
    pub(crate) fn rows(&self, format: Format, summary: &Summary) -> Vec<String> {
        match format {
            Format::Text => text::lines(self, summary),
            Format::Json => vec![structured::json(self, summary)],
            Format::Yaml => vec![structured::yaml(self, summary)],
        }
    }
}
