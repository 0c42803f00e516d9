//! What operators hand on, as EXPLAIN (VERBOSE) says it.
//!
//! Programs compare what the query returns with what the inner side of an outer join does, by these texts, to tell
//! which columns may be NULL.

use super::Shown;
use super::expressions::Extent;
use super::nodes::Describer;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Node, Slot};

impl<'p> Describer<'p> {
    /// What a query returns, whose operators these are.
    pub(super) fn returned(&mut self, output: &'p [Expr], shown: &mut Shown) {
        if self.verbose {
            shown.output =
                self.as_output(shown.kind, |own| output.iter().map(|expr| own.expr(expr, None)).collect());
        }
    }

    /// What an operator hands on: the columns that it has read, and what it has computed.
    pub(super) fn handed_on(&mut self, node: &'p Node, shown: &mut Shown) {
        if !self.verbose {
            return;
        }
        let mut slots = Vec::new();
        made(node, &mut slots);
        slots.retain(|slot| self.names.is_column(*slot));
        shown.output = self.as_output(shown.kind, |own| {
            let mut texts = Vec::with_capacity(slots.len());
            for slot in slots {
                own.extent = Extent::default();
                let text = own.slot(slot, None);
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            texts
        });
    }

    /// The texts of what an operator of this kind hands on: of one relation, columns without its name.
    fn as_output(&mut self, kind: &str, texts: impl FnOnce(&mut Self) -> Vec<String>) -> Vec<String> {
        let of_groups = std::mem::replace(&mut self.of_groups, kind == "Aggregate");
        self.verbose = false;
        let texts = texts(self);
        self.verbose = true;
        self.of_groups = of_groups;
        texts
    }
}

/// The slots that an operator has filled for those above.
fn made(node: &Node, slots: &mut Vec<Slot>) {
    match node {
        Node::Result | Node::ModifyTable(_) => {}
        Node::Scan(scan) => {
            slots.extend(scan.loads.columns.iter().map(|load| load.slot));
            slots.extend(scan.loads.added.iter().map(|(_, slot)| *slot));
        }
        Node::ComputedScan { slots: own, .. }
        | Node::CteScan { slots: own, .. }
        | Node::ValuesScan { slots: own, .. }
        | Node::Append { slots: own, .. }
        | Node::SetOp { slots: own, .. } => slots.extend(own),
        Node::FunctionScan { slots: own, ordinality, .. } => slots.extend(own.iter().chain(ordinality)),
        Node::NestedLoop(join) => {
            made(&join.outer, slots);
            made(&join.inner, slots);
        }
        Node::HashJoin(join) => {
            made(&join.outer, slots);
            made(&join.inner, slots);
        }
        Node::Aggregate { keys, aggregates, .. } => {
            slots.extend(keys.iter().map(|(_, slot)| *slot));
            slots.extend(aggregates.iter().map(|aggregate| aggregate.slot));
        }
        Node::Project { input, exprs } => {
            made(input, slots);
            slots.extend(exprs.iter().map(|(_, slot)| *slot));
        }
        Node::ProjectSet { input, sets } => {
            made(input, slots);
            slots.extend(sets.iter().flat_map(|set| set.made()));
        }
        Node::WindowAgg { input, windows, .. } => {
            made(input, slots);
            slots.extend(windows.iter().map(|window| window.slot));
        }
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Distinct { input, .. }
        | Node::Limit { input, .. }
        | Node::LockRows { input, .. }
        | Node::Materialize { input, .. }
        | Node::With { input, .. } => made(input, slots),
    }
}
