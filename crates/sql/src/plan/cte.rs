//! WITH queries.

use super::{Node, Slot};
use std::sync::Arc;

/// Whether PostgreSQL takes a WITH query as if it stood where it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inlined {
    /// Never: it is MATERIALIZED, recursive, volatile, or locks or writes.
    Never,
    /// If it is read in one place only.
    Once,
    /// Always: it is NOT MATERIALIZED.
    Always,
}

/// A common table expression.
#[derive(Debug)]
pub(crate) struct Cte {
    pub(crate) name: String,
    pub(crate) number: usize,
    pub(crate) node: Arc<Node>,
    pub(crate) slots: Vec<Slot>,
    /// Whether its rows are read; they are evaluated at the end if they are not.
    pub(crate) read: bool,
    /// Where those that read them have their columns, if what none of them uses is not computed.
    pub(crate) readers: Option<Vec<Vec<Slot>>>,
    pub(crate) inlined: Inlined,
    /// The part that refers to itself.
    pub(crate) recursive: Option<Arc<Recursive>>,
}

/// The part of a WITH query that refers to the query.
#[derive(Debug)]
pub(crate) struct Recursive {
    pub(crate) node: Node,
    pub(crate) slots: Vec<Slot>,
    /// Whether the rows are made distinct.
    pub(crate) distinct: bool,
    /// Whether they are handed on as they come: one reads them, and finding them once more would find the same.
    pub(crate) streams: bool,
}

impl Cte {
    /// The operator that its rows come from, what only computes columns left out.
    pub(crate) fn source(&self) -> &Node {
        let mut node = &*self.node;
        while let Node::Project { input, .. } = node {
            node = input;
        }
        node
    }
}
