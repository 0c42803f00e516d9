//! From the tree of joins to operators: in which order, by which indexes.
//!
//! The order of joins is the one that costs least, as far as statistics tell (see `order`). How a table is scanned does
//! not depend on them: what counts is what an index can give: a row by its whole key, rows by leading columns of a
//! key, a range.

use super::Statement;
use super::estimate::Facts;
use super::order::{self, Method, Way};
use crate::functions::ScalarFn;
use crate::plan::depends::Depends;
use crate::plan::expr::{Ask, Compare, Expr};
use crate::plan::factor;
use crate::plan::joins::{Leaf, LeafKind, Tree};
use crate::plan::place::Loads;
use crate::plan::{
    Access, Bound, HashJoin, IndexRef, JoinKind, KeyValue, NestedLoop, Node, Scan, Slot, SortKey, Table,
};
use scaledb_engine::Order;
use scaledb_row::Projection;
use scaledb_types::{Base, Type, Value};
use std::collections::HashSet;
use std::sync::Arc;

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

/// How good an access is: the whole key, the number of equal columns, a range, the order.
type Score = (bool, usize, bool, bool);

struct Candidate {
    score: Score,
    index: IndexRef,
    access: Access,
    /// Numbers of the conditions that the access guarantees.
    consumed: Vec<usize>,
    ordered: bool,
}

/// Plans joins within one statement.
pub(super) struct Planner<'p> {
    pub(super) statement: &'p mut dyn Statement,
    wish: Wish<'p>,
    /// Whether the rows come in the order wished for.
    pub(super) ordered: bool,
    /// Slots that this query's tables do not have are there from the start.
    own: HashSet<Slot>,
    pub(super) facts: Facts,
    /// How many rows what was planned last is thought to yield.
    rows: f64,
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

    fn available(&self, expr: &Expr, bound: &HashSet<Slot>) -> bool {
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
                let (parts, known) = self.parts(&[&left, &right], &on, &before);
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
        }
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
        let way = self.way(&parts, conditions, bound, first);
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
    fn way(&self, parts: &[Tree], conditions: &[Expr], bound: &HashSet<Slot>, first: bool) -> Way {
        let trees: Vec<&Tree> = parts.iter().collect();
        if trees.len() > order::MOST {
            // as they are written
            let steps = (0..trees.len()).map(|number| (number, Method::Loop)).collect();
            return Way { steps, rows: self.rows, cost: 0.0 };
        }
        let (mut costs, known) = self.parts(&trees, conditions, bound);
        let wished = first && !self.wish.order.is_empty();
        for (part, tree) in costs.iter_mut().zip(parts) {
            part.first = self.wish.target.is_none_or(|target| tree.contains(target));
            if let (true, Tree::Leaf(leaf)) = (wished, tree) {
                let candidate = self.candidate(leaf, conditions, bound, true);
                part.ordered = candidate.is_some_and(|candidate| candidate.ordered);
            }
        }
        if !costs.iter().any(|part| part.first) {
            costs.iter_mut().for_each(|part| part.first = true);
        }
        order::best(&costs, &known, order::Order { wished, few: self.wish.few }).unwrap_or_else(|| Way {
            steps: (0..parts.len()).map(|number| (number, Method::Loop)).collect(),
            rows: self.rows,
            cost: 0.0,
        })
    }

    /// Filters by the conditions whose slots are there.
    fn apply(&self, node: Node, conditions: &mut Vec<Expr>, bound: &HashSet<Slot>) -> Node {
        let (now, later): (Vec<Expr>, Vec<Expr>) =
            std::mem::take(conditions).into_iter().partition(|condition| self.available(condition, bound));
        *conditions = later;
        match (Expr::all(now), node) {
            (None, node) => node,
            (Some(more), Node::Scan(mut scan)) => {
                let mut all = Vec::new();
                if let Some(filter) = scan.filter.take() {
                    filter.into_conjuncts(&mut all);
                }
                more.into_conjuncts(&mut all);
                scan.filter = Expr::all(all);
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
        outer: Node,
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
        let by_index = match &part {
            Tree::Leaf(leaf) if method == Method::Loop => {
                self.candidate(leaf, &on, bound, false).is_some_and(|c| c.score.1 > 0)
            }
            _ => false,
        };
        if by_index || lateral {
            let mut conditions = on;
            let mut with = bound.clone();
            let inner = self.tree(part, &mut conditions, &mut with, false);
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

    fn leaf(
        &mut self,
        leaf: Leaf,
        conditions: &mut Vec<Expr>,
        bound: &mut HashSet<Slot>,
        first: bool,
    ) -> Node {
        let candidate = self.candidate(&leaf, conditions, bound, first);
        bound.extend(&leaf.slots);
        let applied = conditions.iter().filter(|condition| self.available(condition, bound));
        let share: f64 = applied.map(|condition| self.facts.share(condition)).product();
        self.rows = match leaf.node() {
            Some(_) => self.rows,
            None => self.facts.rows(leaf.number()) * share,
        };
        let rows = self.rows;
        let node = match (leaf.kind, candidate) {
            (LeafKind::Table { table, alias, number, locked }, Some(candidate)) => {
                if first {
                    self.ordered = candidate.ordered;
                }
                let mut numbers = candidate.consumed;
                numbers.sort_unstable();
                // what a loose scan finds in an index is not validated: the row itself must say that it fits
                if locked.is_some_and(|locked| locked.loose) {
                    numbers.clear();
                }
                for number in numbers.into_iter().rev() {
                    conditions.remove(number);
                }
                let loads = Loads::new(&table, &leaf.slots);
                let projection = Projection::existence();
                let counted = candidate.access.counted(&table, candidate.index);
                Node::Scan(Box::new(Scan {
                    table,
                    alias,
                    number,
                    index: candidate.index,
                    access: candidate.access,
                    loads,
                    projection,
                    filter: None,
                    rows,
                    counted,
                    batches: false,
                    locked,
                }))
            }
            (LeafKind::Other(node), _) => node,
            (LeafKind::Table { .. }, None) => Node::Result,
        };
        self.apply(node, conditions, bound)
    }

    /// The best access to a table under conditions.
    fn candidate(
        &self,
        leaf: &Leaf,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        first: bool,
    ) -> Option<Candidate> {
        let LeafKind::Table { table, .. } = &leaf.kind else { return None };
        let indexes =
            std::iter::once(IndexRef::Primary).chain((0..table.secondary.len()).map(IndexRef::Secondary));
        let mut best: Option<Candidate> = None;
        for index in indexes {
            let candidate = self.by_index(table, leaf, index, conditions, bound, first);
            if best.as_ref().is_none_or(|best| candidate.score > best.score) {
                best = Some(candidate);
            }
        }
        best
    }

    fn by_index(
        &self,
        table: &Arc<Table>,
        leaf: &Leaf,
        index: IndexRef,
        conditions: &[Expr],
        bound: &HashSet<Slot>,
        first: bool,
    ) -> Candidate {
        let columns = table.index(index);
        let mut key = Vec::new();
        let mut consumed = Vec::new();
        let mut listed = false;
        for column in columns {
            let slot = leaf.slots[column.position];
            let mut found = None;
            for (number, condition) in conditions.iter().enumerate() {
                if let Some(value) = equal_to(condition, slot, column.ty)
                    && (!listed || matches!(value, KeyValue::One(_)))
                    && self.is_bound(&value, bound)
                {
                    let one = matches!(value, KeyValue::One(_));
                    found = Some((number, value));
                    if one {
                        break;
                    }
                }
            }
            let Some((number, value)) = found else { break };
            listed |= !matches!(value, KeyValue::One(_));
            consumed.push(number);
            key.push(value);
        }
        let unique = match index {
            IndexRef::Primary => !columns.is_empty(),
            IndexRef::Secondary(number) => table.desc.indexes[number].is_unique_at_once(),
        };
        let id = table.index_id(index);
        let equal = key.len();
        if unique && equal == columns.len() {
            // one row is in order, as far as the order is by its columns
            let own = |key: &SortKey| matches!(key.expr, Expr::Slot(slot) if leaf.slots.contains(&slot));
            let ordered = first && !listed && !self.wish.order.is_empty() && self.wish.order.iter().all(own);
            return Candidate {
                score: (true, equal, false, !listed),
                index,
                access: Access::Point { index: id, key },
                consumed,
                ordered,
            };
        }
        let (mut low, mut high) = (None, None);
        if let Some(column) = columns.get(equal)
            && range_is_exact(column.ty)
        {
            let slot = leaf.slots[column.position];
            for (number, condition) in conditions.iter().enumerate() {
                let Some((op, value)) = compared_to(condition, slot, column.ty) else { continue };
                if !self.available(&value, bound) {
                    continue;
                }
                let inclusive = matches!(op, Compare::Le | Compare::Ge);
                match op {
                    Compare::Gt | Compare::Ge if low.is_none() => {
                        low = Some(Bound { value, inclusive });
                        consumed.push(number);
                    }
                    Compare::Lt | Compare::Le if high.is_none() => {
                        high = Some(Bound { value, inclusive });
                        consumed.push(number);
                    }
                    _ => {}
                }
            }
        }
        let ranged = low.is_some() || high.is_some();
        let direction = if first && !listed { self.direction(table, leaf, index, equal, &key) } else { None };
        Candidate {
            score: (false, equal, ranged, direction.is_some()),
            index,
            access: Access::Range { index: id, key, low, high, order: direction.unwrap_or_default() },
            consumed,
            ordered: direction.is_some(),
        }
    }

    fn is_bound(&self, value: &KeyValue, bound: &HashSet<Slot>) -> bool {
        match value {
            KeyValue::One(expr) | KeyValue::Array(expr) => self.available(expr, bound),
            KeyValue::List(list) => list.iter().all(|expr| self.available(expr, bound)),
        }
    }

    /// The direction in which an index gives the order wished for.
    fn direction(
        &self,
        table: &Table,
        leaf: &Leaf,
        index: IndexRef,
        equal: usize,
        _key: &[KeyValue],
    ) -> Option<Order> {
        let columns = table.index(index);
        if self.wish.order.is_empty() || columns.is_empty() {
            return None;
        }
        let mut at = equal;
        let mut direction: Option<Order> = None;
        let fixed: Vec<Slot> = columns[..equal].iter().map(|c| leaf.slots[c.position]).collect();
        for key in self.wish.order {
            let Expr::Slot(slot) = key.expr else { return None };
            // a column that has one value only does not matter
            if fixed.contains(&slot) {
                continue;
            }
            let Some(column) = columns.get(at) else {
                // behind a whole unique key there is nothing to order
                let unique = match index {
                    IndexRef::Primary => true,
                    IndexRef::Secondary(number) => table.desc.indexes[number].is_unique_at_once(),
                };
                let nullable = columns.iter().any(|c| !table.desc.columns[c.position].not_null);
                let own = leaf.slots.contains(&slot);
                return if unique && !nullable && own { direction } else { None };
            };
            if leaf.slots[column.position] != slot {
                return None;
            }
            let not_null = table.desc.columns[column.position].not_null;
            let forward =
                key.descending == column.descending && (not_null || key.nulls_first == column.nulls_first);
            let backward =
                key.descending != column.descending && (not_null || key.nulls_first != column.nulls_first);
            let wanted = match (forward, backward) {
                (true, _) => Order::Forward,
                (_, true) => Order::Backward,
                _ => return None,
            };
            if direction.is_some_and(|direction| direction != wanted) {
                return None;
            }
            direction = Some(wanted);
            at += 1;
        }
        direction.or(Some(Order::Forward))
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

/// Whether keys of the type are in the order of all values that a comparison may meet: a numeric of a fixed
/// scale is compared with numbers of any.
fn range_is_exact(ty: Type) -> bool {
    !(ty.base == Base::Numeric && ty.precision_scale().is_some())
}

/// The slot that an expression is, if but for a cast that widens an integer.
pub(super) fn widened(expr: &Expr) -> Option<(Slot, bool)> {
    match expr {
        Expr::Slot(slot) => Some((*slot, false)),
        Expr::Call(call) if call.0.is_widening() => match call.1[..] {
            [Expr::Slot(slot)] => Some((slot, true)),
            _ => None,
        },
        _ => None,
    }
}

/// The value that a condition wants a column to equal.
pub(super) fn equal_to(condition: &Expr, slot: Slot, ty: Type) -> Option<KeyValue> {
    match condition {
        Expr::Compare(Compare::Eq, pair) => {
            let other = |expr: &Expr, wide: bool| Some(KeyValue::One(narrowed(expr, wide, ty)));
            match (widened(&pair.0), widened(&pair.1)) {
                (Some((found, wide)), _) if found == slot => other(&pair.1, wide),
                (_, Some((found, wide))) if found == slot => other(&pair.0, wide),
                _ => None,
            }
        }
        Expr::In(value, list) => {
            let (found, wide) = widened(value).filter(|(found, _)| *found == slot)?;
            debug_assert_eq!(found, slot);
            Some(KeyValue::List(list.iter().map(|item| narrowed(item, wide, ty)).collect()))
        }
        Expr::Quantified(false, Compare::Eq, pair) => match (&pair.0, is_exact_type(ty)) {
            (Expr::Slot(found), true) if *found == slot => Some(KeyValue::Array(pair.1.clone())),
            _ => None,
        },
        Expr::Subquery(sub) => {
            let Ask::Any(values, Compare::Eq) = &sub.ask else { return None };
            // a list that does not depend on the row is looked up key by key
            match (&values[..], sub.keep.is_some() && is_exact_type(ty)) {
                ([Expr::Slot(found)], true) if *found == slot => {
                    let array = Ask::Array(ty.plain());
                    Some(KeyValue::Array(Expr::Subquery(Arc::new(sub.asking(array)))))
                }
                _ => None,
            }
        }
        // a boolean column by itself
        Expr::Slot(found) if *found == slot => Some(KeyValue::One(Expr::Const(Value::Bool(true)))),
        Expr::Not(inner) => match **inner {
            Expr::Slot(found) if found == slot => Some(KeyValue::One(Expr::Const(Value::Bool(false)))),
            _ => None,
        },
        _ => None,
    }
}

/// Whether every value that is compared with the column is one that the column could hold.
fn is_exact_type(ty: Type) -> bool {
    range_is_exact(ty)
}

/// The value as one of the column's type; NULL, which nothing equals, if there is none.
fn narrowed(expr: &Expr, wide: bool, ty: Type) -> Expr {
    if !wide && is_exact_type(ty) {
        return expr.clone();
    }
    let function = ScalarFn::narrow(ty);
    Expr::Call(Box::new((function, vec![expr.clone()])))
}

/// The comparison that a condition makes with a column.
fn compared_to(condition: &Expr, slot: Slot, _ty: Type) -> Option<(Compare, Expr)> {
    let Expr::Compare(op, pair) = condition else { return None };
    match (&pair.0, &pair.1) {
        (Expr::Slot(found), value) if *found == slot => Some((*op, value.clone())),
        (value, Expr::Slot(found)) if *found == slot => Some((op.flip(), value.clone())),
        _ => None,
    }
}
