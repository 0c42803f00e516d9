//! The last pass over a plan: columns that are not read are not loaded and not computed, and scans learn whether what
//! is done with their rows reads, too.

use crate::plan::expr::Expr;
use crate::plan::{
    Aggregate, Cte, HashJoin, MergeAction, MergeClause, Modify, NestedLoop, Node, SortKey, Update,
};
use std::sync::Arc;

/// Prepares a tree of operators for running. `reads` if what comes behind it reads.
pub fn prepare(node: &mut Node, used: &mut [bool], reads: bool) {
    simplify(node);
    match node {
        Node::Result
        | Node::ComputedScan { .. }
        | Node::CteScan { .. }
        | Node::ValuesScan { .. }
        | Node::FunctionScan { .. } => {}
        Node::Scan(scan) => {
            scan.loads.retain(used);
            scan.projection = scan.loads.projection(&scan.table);
            scan.counted = scan.access.counted(&scan.table, scan.index);
            scan.batches = reads || scan.filter.as_ref().is_some_and(Expr::needs_worker);
        }
        Node::Filter { input, predicate } => prepare(input, used, reads || predicate.needs_worker()),
        Node::NestedLoop(join) => nested_loop(join, used, reads),
        Node::HashJoin(join) => hash_join(join, used, reads),
        Node::Project { input, exprs } => {
            // an expression with side effects is evaluated for every row, whether its result is read or not
            exprs.retain(|(expr, slot)| used[*slot] || expr.has_volatile());
            let own = exprs.iter().any(|(expr, _)| expr.needs_worker());
            prepare(input, used, reads || own);
        }
        // one row, whatever rows there are
        Node::Aggregate { input, keys, sets: None, aggregates }
            if keys.is_empty() && aggregates.is_empty() =>
        {
            **input = Node::Result;
        }
        Node::Aggregate { input, keys, aggregates, .. } => {
            let own =
                keys.iter().any(|(expr, _)| expr.needs_worker()) || aggregates.iter().any(aggregate_reads);
            prepare(input, used, own);
        }
        Node::Sort { input, keys, carry, .. } => {
            carry.sort_unstable();
            carry.dedup();
            prepare(input, used, keys.iter().any(key_reads));
        }
        Node::Distinct { input, on, .. } => prepare(input, used, reads || on.iter().any(Expr::needs_worker)),
        Node::Limit { input, .. } => prepare(input, used, reads),
        Node::LockRows { input, locks } => {
            for lock in locks {
                lock.loads.retain(used);
                lock.projection = lock.loads.projection(&lock.table);
            }
            prepare(input, used, true);
        }
        Node::Append { inputs, slots } => {
            for (input, from) in inputs {
                from.iter().zip(&*slots).for_each(|(&from, &to)| used[from] |= used[to]);
                prepare(input, used, reads);
            }
        }
        Node::SetOp { left, right, .. } => {
            prepare(&mut left.0, used, reads);
            prepare(&mut right.0, used, reads);
        }
        Node::Materialize { input, .. } => prepare(input, used, false),
        Node::With { ctes, input } => {
            with(ctes, used);
            prepare(input, used, reads);
        }
        Node::ModifyTable(modify) => modify_table(modify, used),
        Node::ProjectSet { input, sets } => {
            let own = sets.iter().any(|set| set.call.needs_worker())
                || sets.iter().flat_map(|set| set.call.args()).any(Expr::needs_worker);
            prepare(input, used, reads || own);
        }
        Node::WindowAgg { input, windows, .. } => {
            let own = windows.iter().any(|window| {
                window.partition.iter().any(Expr::needs_worker)
                    || window.order.iter().any(key_reads)
                    || window.exprs().any(Expr::needs_worker)
            });
            prepare(input, used, own);
        }
    }
}

/// Puts what constants settle in the place of expressions: until here the columns in them counted.
fn simplify(node: &mut Node) {
    match node {
        Node::Filter { predicate, .. } => predicate.simplify(),
        Node::Project { exprs, .. } => exprs.iter_mut().for_each(|(expr, _)| expr.simplify()),
        Node::Aggregate { keys, aggregates, .. } => {
            keys.iter_mut().for_each(|(expr, _)| expr.simplify());
            for Aggregate { args, filter, order, .. } in aggregates {
                let order = order.iter_mut().map(|key| &mut key.expr);
                args.iter_mut().chain(filter).chain(order).for_each(Expr::simplify);
            }
        }
        Node::Sort { keys, .. } => keys.iter_mut().for_each(|key| key.expr.simplify()),
        Node::WindowAgg { windows, .. } => {
            for window in windows {
                let order = window.order.iter_mut().map(|key| &mut key.expr);
                window.partition.iter_mut().chain(order).for_each(Expr::simplify);
                window.function.exprs_mut().for_each(Expr::simplify);
            }
        }
        Node::ModifyTable(modify) => {
            let returning = match &mut **modify {
                Modify::Insert(insert) => {
                    insert.values.iter_mut().for_each(Expr::simplify);
                    &mut insert.returning
                }
                Modify::Update(update) => {
                    update.set.iter_mut().for_each(|(_, expr)| expr.simplify());
                    &mut update.returning
                }
                Modify::Delete(delete) => &mut delete.returning,
                Modify::Merge(merge) => {
                    merge.clauses.iter_mut().for_each(simplify_clause);
                    return;
                }
            };
            returning.iter_mut().flatten().for_each(Expr::simplify);
        }
        _ => {}
    }
}

/// The inner side of a nested loop runs for each row of the outer one.
fn nested_loop(join: &mut NestedLoop, used: &mut [bool], reads: bool) {
    let on = join.on.as_ref().is_some_and(Expr::needs_worker);
    prepare(&mut join.inner, used, reads || on);
    prepare(&mut join.outer, used, true);
}

/// A hash join reads its inner side before its outer one.
fn hash_join(join: &mut HashJoin, used: &mut [bool], reads: bool) {
    let on = join.on.as_ref().is_some_and(Expr::needs_worker);
    let inner = join.inner_keys.iter().any(Expr::needs_worker);
    let outer = join.outer_keys.iter().any(Expr::needs_worker);
    prepare(&mut join.inner, used, inner);
    prepare(&mut join.outer, used, reads || on || outer);
}

/// WITH queries compute what some reference to them uses.
fn with(ctes: &mut [Cte], used: &mut [bool]) {
    for cte in ctes {
        for (number, &slot) in cte.slots.iter().enumerate() {
            let uses = |readers: &Vec<Vec<usize>>| readers.iter().any(|slots| used[slots[number]]);
            used[slot] |= cte.readers.as_ref().is_none_or(uses);
        }
        // nothing else refers to them yet
        if let Some(node) = Arc::get_mut(&mut cte.node) {
            prepare(node, used, false);
        }
        if let Some(recursive) = cte.recursive.as_mut().and_then(Arc::get_mut) {
            prepare(&mut recursive.node, used, false);
        }
    }
}

/// The rows that are written, and what is read for that.
fn modify_table(modify: &mut Modify, used: &mut [bool]) {
    match modify {
        Modify::Insert(insert) => {
            let reads = !insert.reads || insert.values.iter().any(Expr::needs_worker);
            prepare(&mut insert.source, used, reads);
        }
        // what is done with a row that was found may read; the changes themselves come later
        Modify::Update(update) => {
            copy_rest(update, used);
            prepare(&mut update.source, used, true);
        }
        Modify::Delete(delete) => prepare(&mut delete.source, used, true),
        Modify::Merge(merge) => {
            for clause in &mut merge.clauses {
                if let MergeAction::Update(update) = &mut clause.action {
                    copy_rest(update, used);
                }
            }
            prepare(&mut merge.source, used, true);
        }
    }
}

/// What an UPDATE does not set is what it was, as far as that is read.
fn copy_rest(update: &mut Update, used: &[bool]) {
    let rows = update.row.iter().copied().zip(update.old.iter().copied());
    let sets = |column: &usize| update.set.iter().any(|(set, _)| set == column);
    let kept = rows.enumerate().filter(|(column, _)| !sets(column));
    update.copies = kept.map(|(_, pair)| pair).filter(|(_, old)| used[*old]).collect();
}

fn simplify_clause(clause: &mut MergeClause) {
    clause.condition.iter_mut().for_each(Expr::simplify);
    match &mut clause.action {
        MergeAction::Insert(insert) => insert.values.iter_mut().for_each(Expr::simplify),
        MergeAction::Update(update) => update.set.iter_mut().for_each(|(_, expr)| expr.simplify()),
        MergeAction::Nothing | MergeAction::Delete(_) => {}
    }
}

fn key_reads(key: &SortKey) -> bool {
    key.expr.needs_worker()
}

fn aggregate_reads(aggregate: &Aggregate) -> bool {
    aggregate.args.iter().chain(&aggregate.direct).any(Expr::needs_worker)
        || aggregate.filter.as_ref().is_some_and(Expr::needs_worker)
        || aggregate.order.iter().any(key_reads)
}
