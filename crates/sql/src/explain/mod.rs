//! EXPLAIN: plans as PostgreSQL prints them.
//!
//! ```text
//! Plan ──► names: what its slots are called
//!      └─► nodes: a tree of what there is to say, with expressions as SQL ──► text, structured
//! ```

mod expressions;
mod names;
mod nodes;
mod structured;
mod text;

pub(crate) use nodes::describe;

use crate::parse::explain::Format;

/// What is said of an operator, or of one of its properties.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Text(String),
    Truth(bool),
    List(Vec<String>),
    Group(Fields),
    Groups(Vec<Fields>),
}

/// Names and values, in the order in which they are shown.
pub(crate) type Fields = Vec<(&'static str, Data)>;

/// A property of an operator: for a reader its line, for programs its fields.
#[derive(Clone, Debug)]
pub(crate) struct Detail {
    line: String,
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
    details: Vec<Detail>,
    children: Vec<Child>,
    /// Whether a condition on its rows may be shown as a property of it.
    filters: bool,
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
    /// The rows of the answer.
    pub(crate) fn rows(&self, format: Format) -> Vec<String> {
        match format {
            Format::Text => text::lines(self),
            Format::Json => vec![structured::json(self)],
            Format::Yaml => vec![structured::yaml(self)],
        }
    }
}
