//! Correlated subqueries, without what ties them to their surroundings.
//!
//! `(SELECT sum(b) FROM t WHERE t.k = outer.k)` is asked anew for each row outside. The same rows come of
//! `SELECT k, sum(b) FROM t GROUP BY k`, run once and kept by `k`. Which of the two is cheaper depends on how many
//! rows there are outside and inside; the run decides (see `exec::lookup`), so both plans are made here.

use super::Statement;
use super::estimate::rows_read;
use super::planner::{Planner, Wish};
use crate::plan::depends::Depends;
use crate::plan::expr::{Compare, Expr, Lookup};
use crate::plan::joins::Tree;
use crate::plan::{Aggregate, Node, Slot};
use std::collections::HashSet;

/// The keys of groups with the slots that they go to, and aggregates.
type Groups = (Vec<(Expr, Slot)>, Vec<Aggregate>);

/// A SELECT, as far as it can be planned again.
pub struct Apart {
    pub tree: Tree,
    pub conditions: Vec<Expr>,
    /// The keys of its groups and its aggregates, if it has any.
    pub groups: Option<Groups>,
    pub having: Option<Expr>,
}

impl Apart {
    /// The plan of a SELECT without the equalities with its surroundings; `None` if these are not all that it
    /// needs of them before its rows are there.
    pub fn lookup(self, statement: &mut dyn Statement, output: &[&Expr]) -> Option<Lookup> {
        let Self { mut tree, conditions, groups, having } = self;
        let mut own = Vec::new();
        tree.slots(&mut own);
        let own: HashSet<Slot> = own.into_iter().collect();
        // whether an expression reads slots of this query, and of its surroundings
        let reads = |expr: &Expr| {
            let (mut inner, mut outer) = (false, false);
            expr.slots(&mut |slot| if own.contains(&slot) { inner = true } else { outer = true });
            (inner, outer)
        };
        let (mut alone, mut rest) = (Vec::new(), Vec::new());
        let (mut inner_keys, mut outer_keys) = (Vec::new(), Vec::new());
        for condition in conditions {
            match (reads(&condition).1, condition) {
                (false, condition) => alone.push(condition),
                (true, Expr::Compare(Compare::Eq, pair)) => match (reads(&pair.0), reads(&pair.1)) {
                    ((true, false), (false, true)) => {
                        inner_keys.push(pair.0);
                        outer_keys.push(pair.1);
                    }
                    ((false, true), (true, false)) => {
                        inner_keys.push(pair.1);
                        outer_keys.push(pair.0);
                    }
                    _ => rest.push(Expr::Compare(Compare::Eq, pair)),
                },
                (true, condition) => rest.push(condition),
            }
        }
        if inner_keys.is_empty() || tree.reads_others(&own) {
            return None;
        }
        let number = statement.keep();
        let plan = |statement: &mut dyn Statement| {
            super::computed::replace_all(statement, &mut tree, &mut alone);
            Planner::new(statement, Wish::default()).plan(tree, alone)
        };
        let Some((mut keys, aggregates)) = groups else {
            let node = alone_in_a_run(plan(statement), &inner_keys)?;
            let mut slots = Vec::new();
            let mut add = |slot: Slot| {
                if own.contains(&slot) && !slots.contains(&slot) {
                    slots.push(slot);
                }
            };
            rest.iter().for_each(|condition| condition.slots(&mut add));
            output.iter().for_each(|expr| expr.slots(&mut add));
            let (rest, reads) = (Expr::all(rest), rows_read(&node) as u64);
            return Some(Lookup {
                node,
                inner_keys,
                outer_keys,
                slots,
                rest,
                aggregates: None,
                number,
                reads,
            });
        };
        let mut tied = !rest.is_empty();
        let mut check = |expr: &Expr| tied |= reads(expr).1;
        keys.iter().for_each(|(key, _)| check(key));
        for aggregate in &aggregates {
            aggregate.args.iter().for_each(&mut check);
            aggregate.filter.iter().for_each(&mut check);
            aggregate.order.iter().for_each(|key| check(&key.expr));
        }
        if tied || aggregates.iter().any(|aggregate| !aggregate.direct.is_empty()) {
            return None;
        }
        let node = alone_in_a_run(plan(statement), &inner_keys)?;
        let lone = keys.is_empty();
        let slots = keys.iter().map(|(_, slot)| *slot);
        let slots = slots.chain(aggregates.iter().map(|aggregate| aggregate.slot)).collect();
        for key in &mut inner_keys {
            let slot = match key {
                Expr::Slot(slot) => *slot,
                _ => statement.slot(),
            };
            keys.push((std::mem::replace(key, Expr::Slot(slot)), slot));
        }
        let node =
            Node::Aggregate { input: Box::new(node), keys, sets: None, aggregates: aggregates.clone() };
        let (aggregates, reads) = (lone.then_some(aggregates), rows_read(&node) as u64);
        Some(Lookup { node, inner_keys, outer_keys, slots, rest: having, aggregates, number, reads })
    }
}

/// The plan, if its rows are the same in a whole run: neither slots nor WITH queries of its surroundings change them.
fn alone_in_a_run(node: Node, keys: &[Expr]) -> Option<Node> {
    let Depends { slots, ctes } = Depends::of(&node, keys);
    (slots.is_empty() && ctes.is_empty()).then_some(node)
}
