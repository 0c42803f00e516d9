//! From the tree of joins to operators: in which order tables are joined, and how. The order is the one that costs
//! least, as far as statistics tell (see `order`).

use super::Statement;
use super::estimate::Facts;
use super::foresee::foresee;
use super::order::{self, Method, Way};
use crate::plan::depends::Depends;
use crate::plan::expr::{Compare, Expr};
use crate::plan::factor;
use crate::plan::joins::{Derived, Tree};
use crate::plan::{HashJoin, JoinKind, NestedLoop, Node, Slot, SortKey};
use std::collections::HashSet;

/// What the rows of a scan are wanted for.
#[derive(Clone, Copy, Default)]
pub(super) struct Wish<'w> {
    /// The order that they should come in.
    pub(super) order: &'w [SortKey],
    /// The scan whose rows are written: it must not be kept in a hash table.
    pub(super) target: Option<usize>,
    /// Whether only the first rows are wanted.
    pub(super) few: bool,
}

/// Plans joins within one statement.
pub(super) struct Planner<'p> {
    pub(super) statement: &'p mut dyn Statement,
    pub(super) wish: Wish<'p>,
    /// Whether the rows come in the order wished for.
    pub(super) ordered: bool,
    /// Slots that this query's tables do not have are there from the start.
    own: HashSet<Slot>,
    pub(super) facts: Facts,
    /// How many rows what was planned last is thought to yield.
    pub(super) rows: f64,
}

impl<'p> Planner<'p> {
    pub(super) fn new(statement: &'p mut dyn Statement, wish: Wish<'p>) -> Self {
        Self { statement, wish, ordered: false, own: HashSet::new(), facts: Facts::default(), rows: 1.0 }
    }

    /// Plans a tree under conditions, all of which hold for the rows that come out.
    pub(super) fn plan(&mut self, tree: Tree, mut conditions: Vec<Expr>) -> Node {
        let mut own = Vec::new();
        tree.slots(&mut own);
        self.own = own.into_iter().collect();
        // one table alone is scanned in the same way however large it is; what is around a subquery may want to know
        if !matches!(tree, Tree::Leaf(_)) || self.statement.is_in_another() {
            self.learn(&tree);
        }
        let mut bound = HashSet::new();
        let node = self.tree(tree, &mut conditions, &mut bound, true);
        match Expr::all(conditions) {
            Some(predicate) => Node::Filter { input: Box::new(node), predicate },
            None => node,
        }
    }

    /// Whether a slot is one of this query's tables.
    pub(super) fn is_own(&self, slot: Slot) -> bool {
        self.own.contains(&slot)
    }

    pub(super) fn available(&self, expr: &Expr, bound: &HashSet<Slot>) -> bool {
        let mut available = true;
        expr.slots(&mut |slot| available &= !self.own.contains(&slot) || bound.contains(&slot));
        available
    }

    /// Plans a subtree; takes the conditions that it can apply. `first` if its rows decide the order.
    fn tree(
        &mut self,
        tree: Tree,
        conditions: &mut Vec<Expr>,
        bound: &mut HashSet<Slot>,
        first: bool,
    ) -> Node {
        match tree {
            Tree::Leaf(leaf) => self.leaf(leaf, conditions, bound, first),
            Tree::Inner(parts, on) => {
                conditions.extend(on);
                self.inner(parts, conditions, bound, first)
            }
            Tree::Left(left, right, on) => {
                let before = bound.clone();
                let (mut parts, known) = self.parts(&[&left, &right], &on, &before);
                self.look_within(&mut parts[1], &right, (2, &known), &on, &before);
                let outer = self.tree(*left, conditions, bound, first);
                let rows = self.rows;
                let (_, method) = order::step(&parts[1], 2, &known, 1, rows);
                let more = order::joined(&parts, 1, &known, 1).max(1.0);
                let node = self.join(outer, *right, on, JoinKind::Left, method, bound);
                self.rows = rows * more;
                node
            }
            Tree::Full(left, right, on) => {
                let mut outer_slots = Vec::new();
                left.slots(&mut outer_slots);
                let mut inner_slots = Vec::new();
                right.slots(&mut inner_slots);
                // conditions above a full join do not reach into it
                let outer = self.tree(*left, &mut Vec::new(), bound, false);
                let mut alone = HashSet::new();
                let inner = self.tree(*right, &mut Vec::new(), &mut alone, false);
                let (outer_keys, inner_keys, rest) = self.equalities(on, bound, &alone);
                bound.extend(&alone);
                self.ordered = false;
                inner_slots.iter().chain(&outer_slots).for_each(|&slot| self.statement.note_read(slot));
                Node::HashJoin(Box::new(HashJoin {
                    outer,
                    inner,
                    kind: JoinKind::Left,
                    full: true,
                    outer_keys,
                    inner_keys,
                    on: Expr::all(rest),
                    inner_slots,
                    outer_slots,
                    ordered: false,
                    target: self.wish.target,
                }))
            }
            Tree::Derived(derived) => self.derived(*derived, conditions, bound, first),
        }
    }

    /// Plans a query that stays where it is: conditions that do not read what it computes are checked in it, behind
    /// its own.
    fn derived(
        &mut self,
        derived: Derived,
        conditions: &mut Vec<Expr>,
        bound: &mut HashSet<Slot>,
        first: bool,
    ) -> Node {
        let Derived { tree, conditions: mut own, exprs, .. } = derived;
        let made: HashSet<Slot> = exprs.iter().map(|(_, slot)| *slot).collect();
        let reads = |condition: &Expr| {
            let mut reads = false;
            condition.slots(&mut |slot| reads |= made.contains(&slot));
            reads
        };
        let (above, within): (Vec<Expr>, Vec<Expr>) = std::mem::take(conditions).into_iter().partition(reads);
        own.extend(within);
        let mut node = self.tree(tree, &mut own, bound, first);
        if !exprs.is_empty() {
            node = Node::Project { input: Box::new(node), exprs };
        }
        bound.extend(made);
        own.extend(above);
        *conditions = own;
        self.apply(node, conditions, bound)
    }

    /// Joins the parts of an inner join, the best one next.
    fn inner(
        &mut self,
        mut parts: Vec<Tree>,
        conditions: &mut Vec<Expr>,
        bound: &mut HashSet<Slot>,
        first: bool,
    ) -> Node {
        parts = flat(parts, conditions);
        let mut implied = Vec::new();
        for part in &parts {
            let Tree::Leaf(leaf) = part else { continue };
            for condition in conditions.iter() {
                implied.extend(factor::implied(condition, &leaf.slots));
            }
        }
        conditions.extend(implied);
        let way = self.way(&parts.iter().collect::<Vec<_>>(), conditions, bound, first);
        // a subquery that is run for each row waits until the joins have dropped some
        let late = |condition: &Expr| {
            condition.effort() > 1 && !condition.is_volatile() && self.alone(condition, &parts) >= way.rows
        };
        let (late, early): (Vec<Expr>, Vec<Expr>) =
            std::mem::take(conditions).into_iter().partition(|condition| parts.len() > 1 && late(condition));
        *conditions = early;
        let mut parts: Vec<Option<Tree>> = parts.into_iter().map(Some).collect();
        let mut node: Option<Node> = None;
        for (number, method) in way.steps {
            let Some(part) = parts[number].take() else { continue };
            node = Some(match node {
                None => self.tree(part, conditions, bound, first),
                Some(outer) => self.join_inner(outer, part, conditions, method, bound),
            });
        }
        self.rows = way.rows;
        conditions.extend(late);
        let node = node.unwrap_or(Node::Result);
        self.apply(node, conditions, bound)
    }

    /// The rows of the only table among parts whose slots a condition reads; 0 if it reads several.
    fn alone(&self, condition: &Expr, parts: &[Tree]) -> f64 {
        let mut reads = HashSet::new();
        condition.slots(&mut |slot| _ = reads.insert(slot));
        let mut read = parts.iter().filter(|part| {
            let mut slots = Vec::new();
            part.slots(&mut slots);
            slots.iter().any(|slot| reads.contains(slot))
        });
        match (read.next(), read.next()) {
            (Some(Tree::Leaf(leaf)), None) if leaf.scanned().is_some() => self.facts.rows(leaf.number()),
            _ => 0.0,
        }
    }

    /// In which order to join parts, and how.
    pub(super) fn way(
        &self,
        trees: &[&Tree],
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        first: bool,
    ) -> Way {
        let as_written = || {
            let is_table = |tree: &Tree| tree.leaf().is_some_and(|leaf| leaf.open.is_none());
            let method = |tree: &Tree| if is_table(tree) { Method::Loop } else { Method::Hash };
            let steps = trees.iter().map(|tree| method(tree)).enumerate().collect();
            Way { steps, rows: self.rows, cost: f64::MAX }
        };
        if trees.len() > order::MOST {
            return as_written();
        }
        let (mut costs, known) = self.parts(trees, conditions, bound);
        let wished = first && !self.wish.order.is_empty();
        for (number, (part, tree)) in costs.iter_mut().zip(trees).enumerate() {
            self.look_within(part, tree, (1 << number, &known), conditions, bound);
            part.first = self.wish.target.is_none_or(|target| tree.contains(target));
            if let (true, Tree::Leaf(leaf)) = (wished, *tree) {
                let candidate = self.candidate(leaf, conditions, bound, true);
                part.ordered = candidate.is_some_and(|candidate| candidate.ordered);
            }
        }
        if !costs.iter().any(|part| part.first) {
            costs.iter_mut().for_each(|part| part.first = true);
        }
        let order = order::Order { wished, few: self.wish.few };
        order::best(&costs, &known, order).unwrap_or_else(as_written)
    }

    /// Filters by the conditions whose slots are there.
    pub(super) fn apply(&self, node: Node, conditions: &mut Vec<Expr>, bound: &HashSet<Slot>) -> Node {
        let (now, later): (Vec<Expr>, Vec<Expr>) =
            std::mem::take(conditions).into_iter().partition(|condition| self.available(condition, bound));
        *conditions = later;
        match (Expr::all(now), node) {
            (None, node) => node,
            (Some(more), Node::Scan(mut scan)) => {
                scan.filter_by(more);
                Node::Scan(scan)
            }
            (Some(predicate), node) => Node::Filter { input: Box::new(node), predicate },
        }
    }

    fn join_inner(
        &mut self,
        outer: Node,
        part: Tree,
        conditions: &mut Vec<Expr>,
        method: Method,
        bound: &mut HashSet<Slot>,
    ) -> Node {
        // conditions that the part's slots complete
        let mut slots = Vec::new();
        part.slots(&mut slots);
        let mut with: HashSet<Slot> = bound.clone();
        with.extend(&slots);
        let (on, later): (Vec<Expr>, Vec<Expr>) =
            std::mem::take(conditions).into_iter().partition(|condition| self.available(condition, &with));
        *conditions = later;
        self.join(outer, part, on, JoinKind::Inner, method, bound)
    }

    /// Joins a part to what is there: by an index of it, by a hash table, or by trying all pairs.
    fn join(
        &mut self,
        mut outer: Node,
        part: Tree,
        on: Vec<Expr>,
        kind: JoinKind,
        method: Method,
        bound: &mut HashSet<Slot>,
    ) -> Node {
        let mut inner_slots = Vec::new();
        part.slots(&mut inner_slots);
        let mut depends = Vec::new();
        part.outer(&mut depends);
        let lateral = depends.iter().any(|slot| bound.contains(slot));
        let by_index = match part.leaf() {
            Some(leaf) if method == Method::Loop && leaf.open.is_none() => {
                self.candidate(leaf, &on, bound, false).is_some_and(|c| c.score.1 > 0)
            }
            _ => method == Method::Loop && self.is_served(&part, &on, bound),
        };
        if by_index || lateral {
            let mut conditions = on;
            let mut with = bound.clone();
            let table = part.leaf().map_or(0.0, |leaf| self.facts.rows(leaf.number()));
            let inner = self.tree(part, &mut conditions, &mut with, false);
            foresee(&mut outer, &inner, table);
            bound.extend(&inner_slots);
            return Node::NestedLoop(Box::new(NestedLoop {
                outer,
                inner,
                kind,
                on: Expr::all(conditions),
                inner_slots,
            }));
        }
        // conditions on the part alone are applied there
        let mut alone_slots = HashSet::new();
        alone_slots.extend(inner_slots.iter().copied());
        let (mut alone, rest): (Vec<Expr>, Vec<Expr>) =
            on.into_iter().partition(|condition| self.available(condition, &alone_slots));
        let mut alone_bound = HashSet::new();
        let mut inner = self.tree(part, &mut alone, &mut alone_bound, false);
        if let Some(predicate) = Expr::all(alone) {
            inner = Node::Filter { input: Box::new(inner), predicate };
        }
        let (outer_keys, inner_keys, rest) = self.equalities(rest, bound, &alone_bound);
        let mut outer_slots: Vec<Slot> = bound.iter().copied().collect();
        outer_slots.sort_unstable();
        bound.extend(&inner_slots);
        if outer_keys.is_empty() && inner.is_kept() {
            return Node::NestedLoop(Box::new(NestedLoop {
                outer,
                inner,
                kind,
                on: Expr::all(rest),
                inner_slots,
            }));
        }
        if outer_keys.is_empty() {
            let number = self.statement.keep();
            let depends = Depends::of(&inner, []);
            let input = Box::new(inner);
            let inner = Node::Materialize { input, number, depends, slots: inner_slots.clone() };
            return Node::NestedLoop(Box::new(NestedLoop {
                outer,
                inner,
                kind,
                on: Expr::all(rest),
                inner_slots,
            }));
        }
        Node::HashJoin(Box::new(HashJoin {
            outer,
            inner,
            kind,
            full: false,
            outer_keys,
            inner_keys,
            on: Expr::all(rest),
            inner_slots,
            outer_slots,
            ordered: self.ordered,
            target: self.wish.target,
        }))
    }

    /// Takes equalities between the two sides out of conditions.
    fn equalities(
        &self,
        conditions: Vec<Expr>,
        outer: &HashSet<Slot>,
        inner: &HashSet<Slot>,
    ) -> (Vec<Expr>, Vec<Expr>, Vec<Expr>) {
        let (mut outer_keys, mut inner_keys, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let reads = |expr: &Expr, slots: &HashSet<Slot>| {
            let mut reads = false;
            expr.slots(&mut |slot| reads |= slots.contains(&slot));
            reads
        };
        for condition in conditions {
            match condition {
                Expr::Compare(Compare::Eq, pair) => {
                    let (left, right) = *pair;
                    let is_outer = |e: &Expr| self.available(e, outer) && !reads(e, inner);
                    let is_inner = |e: &Expr| reads(e, inner) && self.available(e, inner);
                    if is_outer(&left) && is_inner(&right) {
                        outer_keys.push(left);
                        inner_keys.push(right);
                    } else if is_inner(&left) && is_outer(&right) {
                        outer_keys.push(right);
                        inner_keys.push(left);
                    } else {
                        rest.push(Expr::Compare(Compare::Eq, Box::new((left, right))));
                    }
                }
                other => rest.push(other),
            }
        }
        (outer_keys, inner_keys, rest)
    }
}

/// The parts of inner joins within an inner join are parts of it, and so are their conditions.
fn flat(parts: Vec<Tree>, conditions: &mut Vec<Expr>) -> Vec<Tree> {
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Tree::Inner(parts, on) => {
                conditions.extend(on);
                all.extend(flat(parts, conditions));
            }
            other => all.push(other),
        }
    }
    all
}
