//! WITH queries.

use super::{Node, Slot};
use std::sync::Arc;

/// Whether PostgreSQL takes a WITH query as if it stood where it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inlined {
    /// Never: it is MATERIALIZED, recursive, volatile, or locks or writes.
    Never,
    /// If it is read in one place only.
    Once,
    /// Always: it is NOT MATERIALIZED.
    Always,
}

/// A common table expression.
#[derive(Debug)]
pub struct Cte {
    pub name: String,
    pub number: usize,
    pub node: Arc<Node>,
    pub slots: Vec<Slot>,
    /// Whether its rows are read; they are evaluated at the end if they are not.
    pub read: bool,
    /// Where those that read them have their columns, if what none of them uses is not computed.
    pub readers: Option<Vec<Vec<Slot>>>,
    pub inlined: Inlined,
    /// The part that refers to itself.
    pub recursive: Option<Arc<Recursive>>,
}

/// The part of a WITH query that refers to the query.
#[derive(Debug)]
pub struct Recursive {
    pub node: Node,
    pub slots: Vec<Slot>,
    /// Whether the rows are made distinct.
    pub distinct: bool,
    /// Whether they are handed on as they come: one reads them, and finding them once more would find the same.
    pub streams: bool,
}

impl Cte {
    /// The operator that its rows come from, what only computes columns left out.
    pub fn source(&self) -> &Node {
        let mut node = &*self.node;
        while let Node::Project { input, .. } = node {
            node = input;
        }
        node
    }
}
