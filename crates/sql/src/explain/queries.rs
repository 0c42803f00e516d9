//! Operators over the rows of others: conditions, groups, orders, windows, sets, and WITH.

use super::figures::together;
use super::nodes::{Describer, text};
use super::{Child, Detail, Shown};
use scaledb_parse::lex::quoted;
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Aggregate, Cte, Node, SetItem, SetKind, Sets, Slot, SortKey, Window};

impl<'p> Describer<'p> {
    /// A condition is a property of the operator below, if that can have one.
    pub(super) fn filter(&mut self, input: &'p Node, predicate: &'p Expr) -> Shown {
        let own = self.own_of(input);
        let condition = match input {
            Node::Aggregate { .. } => self.having(predicate),
            _ => self.expr(predicate, own),
        };
        let pending = std::mem::take(&mut self.pending);
        let mut shown = self.node(input);
        let has_one =
            shown.details.iter().any(|detail| detail.fields.iter().any(|(key, _)| *key == "Filter"));
        if !shown.filters || has_one {
            shown = Shown::new("Result").filtering().over("Outer", shown);
        }
        let once = shown.kind == "Result" && shown.children.is_empty();
        shown.details.push(Detail::text(if once { "One-Time Filter" } else { "Filter" }, condition));
        if !once {
            self.removed("Rows Removed by Filter", predicate, self.loops(input), &mut shown);
        }
        self.pending.splice(0..0, pending);
        self.take_subplans(&mut shown);
        shown
    }

    /// What is computed is not shown: PostgreSQL has it in the operator below.
    pub(super) fn project(&mut self, input: &'p Node, exprs: &'p [(Expr, Slot)]) -> Shown {
        let mut shown = self.node(input);
        exprs.iter().for_each(|(expr, _)| self.place(expr));
        self.take_subplans(&mut shown);
        shown
    }

    /// An aggregation, hashed if there are groups.
    pub(super) fn aggregation(
        &mut self,
        input: &'p Node,
        (keys, sets): (&'p [(Expr, Slot)], Option<&Sets>),
        aggregates: &'p [Aggregate],
    ) -> Shown {
        let mut shown = Shown::new("Aggregate").filtering();
        let strategy = if keys.is_empty() { "Plain" } else { "Hashed" };
        shown.manner = vec![("Strategy", text(strategy)), ("Partial Mode", text("Simple"))];
        if !keys.is_empty() {
            shown.title = "HashAggregate".to_owned();
            // the number of the set is no key of the statement
            let shown_keys = &keys[..keys.len() - usize::from(sets.is_some())];
            let names: Vec<String> = shown_keys.iter().map(|(expr, _)| self.expr(expr, None)).collect();
            for set in sets.iter().flat_map(|sets| &sets.sets) {
                let of_set = names.iter().zip(set).filter(|(_, has)| **has);
                let of_set: Vec<String> = of_set.map(|(name, _)| name.clone()).collect();
                let of_set = if of_set.is_empty() { vec!["()".to_owned()] } else { of_set };
                shown.details.push(Detail::list("Group Key", of_set));
            }
            if sets.is_none() {
                shown.details.push(Detail::list("Group Key", names));
            }
        }
        for aggregate in aggregates {
            let exprs = aggregate.args.iter().chain(&aggregate.direct).chain(&aggregate.filter);
            exprs.for_each(|expr| self.place(expr));
            aggregate.order.iter().for_each(|key| self.place(&key.expr));
        }
        self.finish(shown, &[("Outer", input)])
    }

    /// ORDER BY.
    pub(super) fn sort(&mut self, input: &'p Node, keys: &'p [SortKey]) -> Shown {
        let keys = keys.iter().map(|key| self.sort_key(key)).collect();
        let mut shown = Shown::new("Sort");
        shown.details.push(Detail::list("Sort Key", keys));
        self.finish(shown, &[("Outer", input)])
    }

    /// DISTINCT: by groups, or, of rows that are sorted, by comparing each with the one before.
    pub(super) fn distinct(&mut self, input: &'p Node, on: &'p [Expr], sorted: bool) -> Shown {
        let keys: Vec<String> = on.iter().map(|expr| self.expr(expr, None)).collect();
        let shown = if sorted { Shown::new("Unique") } else { hashed_groups(keys) };
        self.finish(shown, &[("Outer", input)])
    }

    /// LIMIT and OFFSET.
    pub(super) fn limit(&mut self, input: &'p Node, counts: impl Iterator<Item = &'p Expr>) -> Shown {
        counts.for_each(|expr| self.place(expr));
        self.finish(Shown::new("Limit"), &[("Outer", input)])
    }

    /// UNION ALL.
    pub(super) fn append(&mut self, node: &'p Node) -> Shown {
        let mut inputs = Vec::new();
        appended(node, &mut inputs);
        let below: Vec<_> = inputs.into_iter().map(|input| ("Member", input)).collect();
        self.finish(Shown::new("Append"), &below)
    }

    /// A set operation; UNION is an Append whose rows are grouped.
    pub(super) fn set_operation(
        &mut self,
        kind: SetKind,
        (left, slots): &'p (Node, Vec<Slot>),
        (right, _): &'p (Node, Vec<Slot>),
    ) -> Shown {
        let command = match kind {
            SetKind::Union => {
                let keys = slots.iter().map(|slot| self.slot(*slot, None)).collect();
                let mut append = self.finish(Shown::new("Append"), &[("Member", left), ("Member", right)]);
                together(&mut append);
                return hashed_groups(keys).over("Outer", append);
            }
            SetKind::Intersect => "Intersect",
            SetKind::IntersectAll => "Intersect All",
            SetKind::Except => "Except",
            SetKind::ExceptAll => "Except All",
        };
        let mut shown = Shown::new("SetOp").titled(format!("HashSetOp {command}"));
        shown.manner.push(("Strategy", text("Hashed")));
        shown.about.push(("Command", text(command)));
        self.finish(shown, &[("Outer", left), ("Inner", right)])
    }

    /// WITH: its queries stand at the top of the query at hand.
    pub(super) fn with(&mut self, ctes: &'p [Cte], input: &'p Node) -> Shown {
        for cte in ctes {
            let node = self.cte(cte);
            let label = Some(format!("CTE {}", quoted(&cte.name)));
            self.first.push(Child { relationship: "InitPlan", label, node });
        }
        self.node(input)
    }

    pub(super) fn cte(&mut self, cte: &'p Cte) -> Shown {
        let first = self.query(&cte.node, &[]);
        let Some(recursive) = &cte.recursive else { return first };
        self.growing.push(cte.number);
        let next = self.query(&recursive.node, &[]);
        self.growing.pop();
        let mut union = Shown::new("Recursive Union").over("Outer", first).over("Inner", next);
        // of distinct rows, some may have been dropped
        if !recursive.distinct {
            together(&mut union);
        }
        union
    }

    /// Set-returning functions in a SELECT list.
    pub(super) fn project_set(&mut self, input: &'p Node, sets: &'p [SetItem]) -> Shown {
        sets.iter().flat_map(|set| set.call.args()).for_each(|arg| self.place(arg));
        self.finish(Shown::new("ProjectSet"), &[("Outer", input)])
    }

    /// An operator for each window that is another than that before it, over the sort that it does, if it does one.
    pub(super) fn windows(&mut self, input: &'p Node, windows: &'p [Window]) -> Shown {
        let mut sorts: Vec<Vec<String>> = Vec::new();
        for (number, window) in windows.iter().enumerate() {
            window.partition.iter().chain(window.exprs()).for_each(|expr| self.place(expr));
            window.order.iter().for_each(|key| self.place(&key.expr));
            let before = number.checked_sub(1).map(|before| &windows[before]);
            match before.filter(|before| window.sorts_as(before)) {
                None => sorts.push(self.window_keys(window)),
                Some(before) if !window.frame.same(&before.frame) => sorts.push(Vec::new()),
                Some(_) => {}
            }
        }
        let mut shown = self.finish(Shown::new("WindowAgg"), &[("Outer", input)]);
        let Some(at) = shown.children.iter().position(|child| child.relationship == "Outer") else {
            return shown;
        };
        let mut below = shown.children.remove(at).node;
        for (number, keys) in sorts.into_iter().enumerate() {
            if number > 0 {
                below = Shown::new("WindowAgg").over("Outer", below);
                together(&mut below);
            }
            if !keys.is_empty() {
                below = Shown::new("Sort").over("Outer", below);
                below.details.push(Detail::list("Sort Key", keys));
                together(&mut below);
            }
        }
        shown.children.insert(at, Child { relationship: "Outer", label: None, node: below });
        shown
    }

    /// What the rows of a window are sorted by.
    pub(super) fn window_keys(&mut self, window: &'p Window) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        let partition = window.partition.iter().filter(|expr| !matches!(expr, Expr::Const(_)));
        let partition: Vec<&'p Expr> = partition.collect();
        for (number, expr) in partition.iter().enumerate() {
            if !partition[..number].iter().any(|known| known.same(expr)) {
                keys.push(self.unsorted_key(expr));
            }
        }
        for key in &window.order {
            let known = partition.iter().any(|expr| expr.same(&key.expr));
            if !known && !matches!(key.expr, Expr::Const(_)) {
                keys.push(self.sort_key(key));
            }
        }
        keys
    }
}

/// The inputs of appends within appends.
fn appended<'p>(node: &'p Node, out: &mut Vec<&'p Node>) {
    match node {
        Node::Append { inputs, .. } => inputs.iter().for_each(|(input, _)| appended(input, out)),
        other => out.push(other),
    }
}

fn hashed_groups(keys: Vec<String>) -> Shown {
    let mut shown = Shown::new("Aggregate").titled("HashAggregate").filtering();
    shown.manner = vec![("Strategy", text("Hashed")), ("Partial Mode", text("Simple"))];
    shown.details.push(Detail::list("Group Key", keys));
    shown
}
