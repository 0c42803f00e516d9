//! What the slots of a plan are called.
//!
//! A slot is a column of something that is read, or holds what an operator has computed: then it is called by what that
//! was computed from.

use scaledb_planner::plan::expr::{Expr, Subquery};
use scaledb_planner::plan::place::ColumnPlace;
use scaledb_planner::plan::{
    Aggregate, BoundTable, Cte, Label, Modify, Node, Scan, SetCall, SetItem, Slot, Window,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning<'p> {
    /// A column of the relation of this number.
    Column(usize, &'p str),
    /// What a column that no statement sees is computed by.
    Hidden(&'p str),
    /// The column of this number, counted from 1, of VALUES.
    Numbered(usize, usize),
    Computed(&'p Expr),
    Aggregate(&'p Aggregate),
    Window(&'p Window),
    Set(&'p SetCall),
}

/// The names of a plan.
#[derive(Debug, Default)]
pub(super) struct Names<'p> {
    meanings: HashMap<Slot, Meaning<'p>>,
    /// The aliases of what is read, each once.
    aliases: Vec<String>,
    /// The relations of scans, by their numbers, and of other operators, by one of their slots.
    scans: HashMap<usize, usize>,
    others: HashMap<Slot, usize>,
    /// WITH queries by their numbers.
    ctes: HashMap<usize, &'p str>,
}

impl<'p> Names<'p> {
    /// The names of everything in a tree of operators, and in what is computed from its rows.
    pub(super) fn new(root: &'p Node, output: &'p [Expr]) -> Self {
        let mut names = Self::default();
        names.node(root);
        names.exprs(output);
        names
    }

    /// What a slot holds.
    pub(super) fn meaning(&self, slot: Slot) -> Option<Meaning<'p>> {
        self.meanings.get(&slot).copied()
    }

    /// Whether a slot holds something that a statement may name.
    pub(super) fn is_column(&self, slot: Slot) -> bool {
        self.meaning(slot).is_some_and(|meaning| !matches!(meaning, Meaning::Hidden(_)))
    }

    /// Whether columns are named with their tables where that is not plain.
    pub(super) fn several(&self) -> bool {
        self.aliases.len() > 1
    }

    /// The alias of a relation.
    pub(super) fn alias(&self, relation: usize) -> &str {
        self.aliases.get(relation).map_or("", String::as_str)
    }

    /// The relation of a scan.
    pub(super) fn scan(&self, number: usize) -> Option<usize> {
        self.scans.get(&number).copied()
    }

    /// The relation that has a slot of an operator that is no scan.
    pub(super) fn other(&self, slots: &[Slot]) -> Option<usize> {
        slots.iter().find_map(|slot| self.others.get(slot).copied())
    }

    /// The name of a WITH query.
    pub(super) fn cte(&self, number: usize) -> &'p str {
        self.ctes.get(&number).copied().unwrap_or_default()
    }

    /// A relation of this alias; another one if it is taken.
    fn relation(&mut self, alias: &str) -> usize {
        let taken = |name: &str| self.aliases.iter().any(|known| known == name);
        let mut name = alias.to_owned();
        let mut number = 0;
        while taken(&name) {
            number += 1;
            name = format!("{alias}_{number}");
        }
        self.aliases.push(name);
        self.aliases.len() - 1
    }

    /// The first meaning of a slot counts: an operator that passes a column on does not rename it.
    fn mean(&mut self, slot: Slot, meaning: Meaning<'p>) {
        if matches!(meaning, Meaning::Computed(Expr::Slot(itself)) if *itself == slot) {
            return;
        }
        self.meanings.entry(slot).or_insert(meaning);
    }

    fn columns(&mut self, relation: usize, table: &'p BoundTable, slots: &[Slot]) {
        for (column, &slot) in table.desc.columns.iter().zip(slots) {
            self.mean(slot, Meaning::Column(relation, &column.name));
        }
    }

    fn scanned(&mut self, scan: &'p Scan) {
        let relation = self.relation(&scan.alias);
        self.scans.insert(scan.number, relation);
        let columns = &scan.table.desc.columns;
        for load in &scan.loads.columns {
            let place =
                |place: &ColumnPlace| matches!(place, ColumnPlace::Column(column) if *column == load.column);
            if let Some(at) = scan.table.places.columns.iter().position(place) {
                let meaning = match columns[at].key.as_deref() {
                    Some(text) => Meaning::Hidden(text),
                    None => Meaning::Column(relation, &columns[at].name),
                };
                self.mean(load.slot, meaning);
            }
        }
        for &(at, slot) in &scan.loads.added {
            self.mean(slot, Meaning::Column(relation, &columns[at].name));
        }
        scan.access.exprs(&mut |expr| self.expr(expr));
        scan.filter.iter().for_each(|expr| self.expr(expr));
    }

    fn labelled(&mut self, label: &'p Label, slots: &[Slot]) {
        let relation = self.relation(&label.alias);
        for (name, &slot) in label.columns.iter().zip(slots) {
            self.mean(slot, Meaning::Column(relation, name));
            self.others.insert(slot, relation);
        }
    }

    fn copies(&mut self, from: &[Slot], to: &[Slot]) {
        for (from, &to) in from.iter().zip(to) {
            if let Some(meaning) = self.meaning(*from) {
                self.mean(to, meaning);
            }
        }
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'p Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &'p Expr) {
        match expr {
            Expr::Once(slot, pair) => self.mean(*slot, Meaning::Computed(&pair.0)),
            Expr::Subquery(sub) => self.subquery(sub),
            _ => {}
        }
        expr.children(&mut |child| self.expr(child));
    }

    fn subquery(&mut self, sub: &'p Arc<Subquery>) {
        self.node(&sub.node);
        self.exprs(&sub.output);
    }

    fn cte_query(&mut self, cte: &'p Cte) {
        self.ctes.insert(cte.number, &cte.name);
        self.node(&cte.node);
        if let Some(recursive) = &cte.recursive {
            self.node(&recursive.node);
        }
    }

    fn node(&mut self, node: &'p Node) {
        match node {
            Node::Result => {}
            Node::Scan(scan) => self.scanned(scan),
            Node::ComputedScan { slots, label, .. } | Node::CteScan { slots, label, .. } => {
                self.labelled(label, slots);
            }
            Node::ValuesScan { rows, slots } => self.values(rows, slots),
            Node::FunctionScan { call, slots, ordinality, label } => {
                self.exprs(call.args());
                let all: Vec<Slot> = slots.iter().chain(ordinality).copied().collect();
                self.labelled(label, &all);
            }
            Node::Filter { input, predicate } => {
                self.node(input);
                self.expr(predicate);
            }
            Node::NestedLoop(join) => {
                self.node(&join.outer);
                self.node(&join.inner);
                self.exprs(&join.on);
            }
            Node::HashJoin(join) => {
                self.node(&join.outer);
                self.node(&join.inner);
                self.exprs(join.outer_keys.iter().chain(&join.inner_keys).chain(&join.on));
            }
            Node::Project { input, exprs } => self.project(input, exprs),
            Node::Aggregate { input, keys, aggregates, .. } => self.aggregates(input, keys, aggregates),
            Node::Sort { input, keys, .. } => {
                self.node(input);
                self.exprs(keys.iter().map(|key| &key.expr));
            }
            Node::Distinct { input, on, .. } => {
                self.node(input);
                self.exprs(on);
            }
            Node::LockRows { input, .. } | Node::Materialize { input, .. } => self.node(input),
            Node::Limit { input, limit, offset, .. } => {
                self.node(input);
                self.exprs(limit.iter().chain(offset));
            }
            Node::Append { inputs, slots } => {
                inputs.iter().for_each(|(input, _)| self.node(input));
                if let Some((_, from)) = inputs.first() {
                    self.copies(from, slots);
                }
            }
            Node::SetOp { left, right, slots, .. } => {
                self.node(&left.0);
                self.node(&right.0);
                self.copies(&left.1, slots);
            }
            Node::With { ctes, input } => {
                self.node(input);
                ctes.iter().for_each(|cte| self.cte_query(cte));
            }
            Node::ModifyTable(modify) => self.modify(modify),
            Node::ProjectSet { input, sets } => self.project_set(input, sets),
            Node::WindowAgg { input, windows, .. } => self.windows(input, windows),
        }
    }

    /// VALUES: of one row, a Result, else a relation.
    fn values(&mut self, rows: &'p [Vec<Expr>], slots: &[Slot]) {
        if let [row] = rows {
            for (expr, &slot) in row.iter().zip(slots) {
                self.mean(slot, Meaning::Computed(expr));
            }
        } else {
            let relation = self.relation("*VALUES*");
            for (&slot, number) in slots.iter().zip(1..) {
                self.mean(slot, Meaning::Numbered(relation, number));
                self.others.insert(slot, relation);
            }
        }
        self.exprs(rows.iter().flatten());
    }

    /// Values that are computed from the rows below.
    fn project(&mut self, input: &'p Node, exprs: &'p [(Expr, Slot)]) {
        self.node(input);
        for (expr, slot) in exprs {
            self.expr(expr);
            self.mean(*slot, Meaning::Computed(expr));
        }
    }

    /// Groups: their keys, and their aggregates.
    fn aggregates(&mut self, input: &'p Node, keys: &'p [(Expr, Slot)], aggregates: &'p [Aggregate]) {
        self.project(input, keys);
        for aggregate in aggregates {
            self.exprs(aggregate.args.iter().chain(&aggregate.direct).chain(&aggregate.filter));
            self.exprs(aggregate.order.iter().map(|key| &key.expr));
            self.mean(aggregate.slot, Meaning::Aggregate(aggregate));
        }
    }

    /// Set-returning functions in a SELECT list.
    fn project_set(&mut self, input: &'p Node, sets: &'p [SetItem]) {
        self.node(input);
        for set in sets {
            self.exprs(set.call.args());
            for &slot in set.made() {
                self.mean(slot, Meaning::Set(&set.call));
            }
        }
    }

    /// Window functions.
    fn windows(&mut self, input: &'p Node, windows: &'p [Window]) {
        self.node(input);
        for window in windows {
            self.exprs(window.partition.iter().chain(window.exprs()));
            self.exprs(window.order.iter().map(|key| &key.expr));
            self.mean(window.slot, Meaning::Window(window));
        }
    }

    fn modify(&mut self, modify: &'p Modify) {
        match modify {
            Modify::Insert(insert) => {
                let relation = self.relation(&insert.table.desc.name);
                self.node(&insert.source);
                self.exprs(&insert.values);
                let update = insert.conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
                if let Some(update) = update {
                    self.columns(relation, &insert.table, &update.existing);
                    let excluded = self.relation("excluded");
                    self.columns(excluded, &insert.table, &insert.row);
                    self.exprs(update.set.iter().map(|(_, expr)| expr).chain(&update.filter));
                } else {
                    self.columns(relation, &insert.table, &insert.row);
                }
                self.exprs(insert.returning.iter().flatten());
            }
            Modify::Update(update) => {
                self.node(&update.source);
                let relation = self.scan(update.target).unwrap_or_default();
                self.columns(relation, &update.table, &update.old);
                self.columns(relation, &update.table, &update.row);
                self.exprs(update.set.iter().map(|(_, expr)| expr));
                self.exprs(update.returning.iter().flatten());
            }
            Modify::Delete(delete) => {
                self.node(&delete.source);
                let relation = self.scan(delete.target).unwrap_or_default();
                self.columns(relation, &delete.table, &delete.old);
                self.exprs(delete.returning.iter().flatten());
            }
            Modify::Merge(merge) => {
                self.node(&merge.source);
                let relation = self.scan(merge.target).unwrap_or_default();
                self.columns(relation, &merge.table, &merge.old);
                for clause in &merge.clauses {
                    self.exprs(clause.condition.iter().chain(clause.action.exprs()));
                }
            }
        }
    }
}
