//! A query, and the three parts of its rows: where a condition holds, where it does not, and where it is unknown.

use super::{Generator, Statement};
use crate::tree::{Node, Ty};

/// The parts of a query's rows.
#[derive(Clone, Debug)]
pub struct Partition {
    /// All rows.
    pub whole: Statement,
    /// Where the condition is true, false, and NULL.
    pub parts: [Statement; 3],
    /// The condition for each row.
    pub values: Statement,
}

impl Generator {
    pub(super) fn partition(&mut self) -> Partition {
        self.names = 0;
        self.outer.clear();
        self.common.clear();
        let types: Vec<Ty> = (0..1 + self.below(3)).map(|_| self.ty()).collect();
        let (from, scope) = self.from(2);
        let values: Vec<Node> = types.iter().map(|&ty| self.value(ty, &scope, 1)).collect();
        let condition = self.condition(&scope, 3);
        let statement = |parts: Vec<Node>| {
            let tree = Node::Seq(parts);
            Statement { tree, ordered: false, query: true, index: false }
        };
        let t = |text: &'static str| Node::text(text);
        let head = |list: Vec<Node>| vec![t("select"), Node::list(1, list), t("from"), from.clone()];
        let part = |tail: (&'static str, &'static str)| {
            let mut parts = head(values.clone());
            parts.extend([t(tail.0), condition.clone(), t(tail.1)]);
            statement(parts)
        };
        Partition {
            whole: statement(head(values.clone())),
            parts: [part(("where", "")), part(("where not", "")), part(("where", "is null"))],
            values: statement(head(vec![condition.clone()])),
        }
    }
}
