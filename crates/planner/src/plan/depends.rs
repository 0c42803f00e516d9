//! What the rows of a part of a plan depend on, besides the database and the parameters.
//!
//! A part that is kept is as good as what it was computed from: slots that its surroundings fill, and WITH queries
//! that are evaluated outside of it. Both may change while a statement runs.

use super::expr::Expr;
use super::{Aggregate, Cte, HashJoin, NestedLoop, Node, Scan, Slot, SortKey, Window};
use std::collections::HashSet;

/// What a part of a plan reads of its surroundings.
#[derive(Clone, Debug, Default)]
pub struct Depends {
    /// Slots.
    pub slots: Vec<Slot>,
    /// Numbers of WITH queries.
    pub ctes: Vec<usize>,
}

impl Depends {
    /// What an operator depends on, and expressions over its rows.
    pub fn of<'e>(node: &Node, output: impl IntoIterator<Item = &'e Expr>) -> Self {
        let mut depends = Self::default();
        let filled = depends.node(node);
        output.into_iter().for_each(|expr| depends.read(expr, &filled));
        depends
    }

    fn slot(&mut self, slot: Slot, filled: &HashSet<Slot>) {
        if !filled.contains(&slot) && !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }

    fn cte(&mut self, number: usize) {
        if !self.ctes.contains(&number) {
            self.ctes.push(number);
        }
    }

    /// Notes what an expression reads that is not among the slots that were filled before it.
    fn read(&mut self, expr: &Expr, filled: &HashSet<Slot>) {
        expr.slots(&mut |slot| self.slot(slot, filled));
        expr.ctes(&mut |number| self.cte(number));
    }

    fn keys(&mut self, keys: &[SortKey], filled: &HashSet<Slot>) {
        keys.iter().for_each(|key| self.read(&key.expr, filled));
    }

    /// Notes what an operator reads of its surroundings; the slots that it fills.
    fn node(&mut self, node: &Node) -> HashSet<Slot> {
        match node {
            // what writes stands at the top, where nothing is kept
            Node::Result | Node::ModifyTable(_) => HashSet::new(),
            Node::Scan(scan) => self.scan(scan),
            Node::ComputedScan { slots, .. } => slots.iter().copied().collect(),
            Node::ValuesScan { rows, slots } => {
                rows.iter().flatten().for_each(|expr| self.read(expr, &HashSet::new()));
                slots.iter().copied().collect()
            }
            Node::FunctionScan { call, slots, ordinality, .. } => {
                call.args().iter().for_each(|arg| self.read(arg, &HashSet::new()));
                slots.iter().chain(ordinality).copied().collect()
            }
            Node::Filter { input, predicate } => {
                let filled = self.node(input);
                self.read(predicate, &filled);
                filled
            }
            Node::NestedLoop(join) => self.nested_loop(join),
            Node::HashJoin(join) => self.hash_join(join),
            Node::Project { input, exprs } => {
                let mut filled = self.node(input);
                for (expr, slot) in exprs {
                    self.read(expr, &filled);
                    filled.insert(*slot);
                }
                filled
            }
            Node::Aggregate { input, keys, aggregates, .. } => self.aggregate(input, keys, aggregates),
            Node::Sort { input, keys, carry, .. } => {
                let filled = self.node(input);
                self.keys(keys, &filled);
                carry.iter().for_each(|&slot| self.slot(slot, &filled));
                carry.iter().copied().collect()
            }
            Node::Distinct { input, on, .. } => {
                let filled = self.node(input);
                on.iter().for_each(|expr| self.read(expr, &filled));
                filled
            }
            Node::LockRows { input, locks } => {
                let filled = self.node(input);
                for lock in locks {
                    self.slot(lock.name, &filled);
                    lock.loads.slots().for_each(|slot| self.slot(slot, &filled));
                }
                filled
            }
            Node::Limit { input, limit, offset, ties } => {
                limit.iter().chain(offset).for_each(|expr| self.read(expr, &HashSet::new()));
                let filled = self.node(input);
                ties.iter().for_each(|&slot| self.slot(slot, &filled));
                filled
            }
            Node::Append { inputs, slots } => {
                for (input, from) in inputs {
                    self.side(input, from);
                }
                slots.iter().copied().collect()
            }
            Node::SetOp { left, right, slots, .. } => {
                self.side(&left.0, &left.1);
                self.side(&right.0, &right.1);
                slots.iter().copied().collect()
            }
            Node::Materialize { depends, slots, .. } => {
                depends.slots.iter().for_each(|&slot| self.slot(slot, &HashSet::new()));
                depends.ctes.iter().for_each(|&number| self.cte(number));
                slots.iter().copied().collect()
            }
            Node::With { ctes, input } => self.with(ctes, input),
            Node::CteScan { number, slots, .. } => {
                self.cte(*number);
                slots.iter().copied().collect()
            }
            Node::ProjectSet { input, sets } => {
                let mut filled = self.node(input);
                for set in sets {
                    set.call.args().iter().for_each(|arg| self.read(arg, &filled));
                    filled.extend(set.made());
                }
                filled
            }
            Node::WindowAgg { input, windows, carry } => self.windows(input, windows, carry),
        }
    }

    /// A scan, whose bounds are computed before it has a row.
    fn scan(&mut self, scan: &Scan) -> HashSet<Slot> {
        let none = HashSet::new();
        scan.access.exprs(&mut |expr| self.read(expr, &none));
        let name = scan.locked.map(|locked| locked.name);
        let filled = scan.loads.slots().chain(name).collect();
        scan.filter.iter().for_each(|filter| self.read(filter, &filled));
        filled
    }

    /// The inner side of a nested loop runs for each row of the outer one.
    fn nested_loop(&mut self, join: &NestedLoop) -> HashSet<Slot> {
        let mut filled = self.node(&join.outer);
        filled.extend(self.within(&join.inner, &filled));
        join.on.iter().for_each(|on| self.read(on, &filled));
        filled
    }

    /// The sides of a hash join do not see each other.
    fn hash_join(&mut self, join: &HashJoin) -> HashSet<Slot> {
        let inner = self.node(&join.inner);
        let mut filled = self.node(&join.outer);
        join.inner_keys.iter().for_each(|key| self.read(key, &inner));
        join.outer_keys.iter().for_each(|key| self.read(key, &filled));
        filled.extend(inner);
        join.on.iter().for_each(|on| self.read(on, &filled));
        filled
    }

    /// Groups, of which nothing is left but their keys and their aggregates.
    fn aggregate(&mut self, input: &Node, keys: &[(Expr, Slot)], aggregates: &[Aggregate]) -> HashSet<Slot> {
        let filled = self.node(input);
        keys.iter().for_each(|(expr, _)| self.read(expr, &filled));
        for aggregate in aggregates {
            aggregate.args.iter().chain(&aggregate.filter).for_each(|expr| self.read(expr, &filled));
            self.keys(&aggregate.order, &filled);
        }
        // what groups have themselves
        let mut groups: HashSet<Slot> = keys.iter().map(|(_, slot)| *slot).collect();
        let direct = aggregates.iter().flat_map(|aggregate| &aggregate.direct);
        direct.for_each(|expr| self.read(expr, &groups));
        groups.extend(aggregates.iter().map(|aggregate| aggregate.slot));
        groups
    }

    /// WITH: who reads its queries within it depends on nothing outside.
    fn with(&mut self, ctes: &[Cte], input: &Node) -> HashSet<Slot> {
        for cte in ctes {
            self.side(&cte.node, &cte.slots);
            if let Some(recursive) = &cte.recursive {
                self.side(&recursive.node, &recursive.slots);
            }
        }
        let filled = self.node(input);
        self.ctes.retain(|number| !ctes.iter().any(|cte| cte.number == *number));
        filled
    }

    /// Window functions.
    fn windows(&mut self, input: &Node, windows: &[Window], carry: &[Slot]) -> HashSet<Slot> {
        let filled = self.node(input);
        for window in windows {
            window.partition.iter().for_each(|expr| self.read(expr, &filled));
            self.keys(&window.order, &filled);
            window.exprs().for_each(|expr| self.read(expr, &filled));
        }
        carry.iter().for_each(|&slot| self.slot(slot, &filled));
        carry.iter().copied().chain(windows.iter().map(|window| window.slot)).collect()
    }

    /// An operator that runs for each row of another one, whose slots it may read.
    fn within(&mut self, node: &Node, filled: &HashSet<Slot>) -> HashSet<Slot> {
        let mut inner = Self::default();
        let more = inner.node(node);
        inner.slots.iter().for_each(|&slot| self.slot(slot, filled));
        inner.ctes.iter().for_each(|&number| self.cte(number));
        more
    }

    /// An operator of whose rows these slots are taken.
    fn side(&mut self, node: &Node, slots: &[Slot]) {
        let filled = self.node(node);
        slots.iter().for_each(|&slot| self.slot(slot, &filled));
    }
}
