//! The clauses of a SELECT above the rows of its tables, bound.

use super::group_keys::GroupKeys;
use super::grouping::{GroupingCall, Groups};
use super::lock::Shape;
use super::scope::Grouping;
use super::select_list::check_width;
use super::tail::check_distinct_on;
use super::{Binder, Output};
use crate::plan::expr::Expr;
use crate::plan::{Aggregate, SetItem, Slot, SortKey, Window};
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{Distinct, Expr as Ast, GroupByExpr, OrderByExpr, Select};
use std::collections::HashSet;

/// What a SELECT makes of the rows of its tables.
pub(super) struct Clauses {
    /// The select list.
    pub(super) output: Vec<Output>,
    pub(super) groups: Groups,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) grouping_calls: Vec<GroupingCall>,
    pub(super) having: Option<Expr>,
    /// Conditions of HAVING that are checked on rows before these are grouped. Like the rest of it they may read only
    /// what is grouped by.
    moved: Vec<Expr>,
    pub(super) windows: Vec<Window>,
    /// Calls of set-returning functions in the select list and in ORDER BY.
    pub(super) sets: Vec<SetItem>,
    pub(super) distinct: bool,
    pub(super) distinct_on: Option<Vec<Expr>>,
    /// ORDER BY; without it what DISTINCT ON sorts by.
    pub(super) order: Vec<SortKey>,
    /// Whether there is no ORDER BY.
    unordered: bool,
    /// Columns of the output that must not be computed twice, and the slots that they are computed to.
    pub(super) computed: Vec<(Expr, Slot)>,
}

impl Binder<'_> {
    /// Binds all clauses but FROM and WHERE. What has no type of its own is text if that is to be `decided`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn clauses(
        &mut self,
        select: &Select,
        order: &[OrderByExpr],
        decided: bool,
    ) -> Result<Clauses> {
        self.begin_clauses(select)?;
        let mut output = self.output_columns(select, decided)?;
        let having = self.having(select.having.as_ref())?;
        let mut order = self.order(order, &mut output)?;
        let unordered = order.is_empty();
        let distinct_on = match &select.distinct {
            Some(Distinct::On(list)) => Some(self.distinct_on(list, &output)?),
            _ => None,
        };
        self.unused_windows()?;
        let groups = self.group_by(&select.group_by, &mut output)?;
        let sets = self.scope().sets.take().unwrap_or_default();
        if let Some(on) = &distinct_on {
            check_distinct_on(on, &order)?;
            if unordered {
                // equal rows come one behind the other then, in the order in which PostgreSQL returns them
                let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
                order = on.iter().map(|expr| (key(expr), None)).collect();
            }
        }
        let distinct = is_distinct(select);
        let (order, computed) = self.computed(&mut output, order, distinct);
        let Grouping { aggregates, calls, .. } = self.scope().grouping.take().unwrap_or_default();
        let windows = self.scope().windows.take().unwrap_or_default();
        if groups.keys.iter().any(|group| reads_any(group, windows.iter().map(|window| window.slot))) {
            let what = "window functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::WINDOWING_ERROR, what));
        }
        // a key that is a column of the result, by its number or its name
        if groups.keys.iter().any(|group| reads_any(group, aggregates.iter().map(|aggregate| aggregate.slot)))
        {
            let what = "aggregate functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::GROUPING_ERROR, what));
        }
        if !aggregates.is_empty() && self.scope().recursive {
            let what = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(SqlError::new(SqlState::INVALID_RECURSION, what));
        }
        Ok(Clauses {
            output,
            groups,
            aggregates,
            grouping_calls: calls,
            having,
            moved: Vec::new(),
            windows,
            sets,
            distinct,
            distinct_on,
            order,
            unordered,
            computed,
        })
    }

    /// Lets the scope collect aggregates, window functions and set-returning functions; binds WINDOW.
    pub(super) fn begin_clauses(&mut self, select: &Select) -> Result<()> {
        self.scope().grouping = Some(Grouping::default());
        let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
        self.scope().subqueries = grouped.then(Vec::new);
        self.scope().windows = Some(Vec::new());
        self.window_clause(&select.named_window)?;
        self.scope().sets = Some(Vec::new());
        Ok(())
    }

    /// The select list.
    pub(super) fn output_columns(&mut self, select: &Select, decided: bool) -> Result<Vec<Output>> {
        let output = self.projection(&select.projection, decided)?;
        check_width(output.len())?;
        Ok(output)
    }

    /// HAVING, in which set-returning functions may not stand.
    fn having(&mut self, having: Option<&Ast>) -> Result<Option<Expr>> {
        let sets = self.scope().sets.take();
        let having = having.map(|having| self.condition(having, "HAVING")).transpose()?;
        self.scope().sets = sets;
        Ok(having)
    }

    /// Columns whose values are sorted or made distinct, and would be others if they were computed again, go to
    /// slots: the keys, and what is to be computed.
    fn computed(
        &mut self,
        output: &mut [Output],
        order: Vec<(SortKey, Option<usize>)>,
        distinct: bool,
    ) -> (Vec<SortKey>, Vec<(Expr, Slot)>) {
        let mut computed: Vec<(Expr, Slot)> = Vec::new();
        for (number, output) in output.iter_mut().enumerate() {
            let is_key = order.iter().any(|(_, named)| *named == Some(number));
            if !(distinct || is_key) || output.expr.same(&output.expr) && !output.expr.needs_worker() {
                continue;
            }
            let slot = self.slot();
            self.used[slot] = true;
            self.mark(&output.expr);
            computed.push((std::mem::replace(&mut output.expr, Expr::Slot(slot)), slot));
        }
        let keys = order.into_iter().map(|(key, number)| {
            let expr = match number {
                Some(number) => output[number].expr.clone(),
                // what is computed for the select list is not computed again
                None => match computed.iter().find(|(expr, _)| expr.same(&key.expr)) {
                    Some((_, slot)) => Expr::Slot(*slot),
                    None => key.expr,
                },
            };
            SortKey { expr, ..key }
        });
        let keys = keys.collect();
        (keys, computed)
    }
}

impl Clauses {
    /// Whether rows are grouped more than once, or GROUPING asks how.
    pub(super) fn has_several_groupings(&self) -> bool {
        self.groups.sets.is_some() || !self.grouping_calls.is_empty()
    }

    /// Whether its rows are groups.
    pub(super) fn is_grouped(&self) -> bool {
        !self.groups.keys.is_empty()
            || self.has_several_groupings()
            || !self.aggregates.is_empty()
            || self.having.is_some()
    }

    /// Whether there is nothing but WHERE, GROUP BY, HAVING and ORDER BY.
    pub(super) fn only_filter_and_group(&self) -> bool {
        self.windows.is_empty()
            && self.sets.is_empty()
            && self.computed.is_empty()
            && !self.has_several_groupings()
            && !self.distinct
            && self.distinct_on.is_none()
    }

    /// Whether there is nothing but WHERE, and a select list that may be computed wherever its rows are.
    pub(super) fn only_filter(&self) -> bool {
        self.only_filter_and_group()
            && !self.is_grouped()
            && self.order.is_empty()
            && !self.output.iter().any(|output| output.expr.has_volatile())
    }

    /// The slots of rows that conditions on the result may read before these are grouped, and before window functions
    /// see them: keys of all groups and partitions. None where the result is ordered, or has the first of several rows.
    pub(super) fn pushable(&self, input: &HashSet<Slot>) -> HashSet<Slot> {
        if self.has_several_groupings() || !self.order.is_empty() || self.distinct_on.is_some() {
            return HashSet::new();
        }
        fn plain(exprs: &[Expr]) -> HashSet<Slot> {
            exprs
                .iter()
                .filter_map(|expr| if let Expr::Slot(slot) = expr { Some(*slot) } else { None })
                .collect()
        }
        let mut slots = if self.is_grouped() { plain(&self.groups.keys) } else { input.clone() };
        for window in &self.windows {
            let partition = plain(&window.partition);
            slots.retain(|slot| partition.contains(slot));
        }
        slots
    }

    /// What there is that the rows cannot be locked with.
    pub(super) fn shape(&self) -> Shape {
        Shape {
            distinct: self.distinct || self.distinct_on.is_some(),
            groups: !self.groups.keys.is_empty() || self.groups.sets.is_some(),
            having: self.having.is_some(),
            aggregates: !self.aggregates.is_empty(),
            windows: !self.windows.is_empty(),
            sets: !self.sets.is_empty(),
        }
    }

    /// Makes all expressions above the groups ones over groups.
    ///
    /// # Errors
    /// 42803 for a column that the groups do not have.
    pub(super) fn rewrite(&mut self, keys: &GroupKeys<'_>) -> Result<()> {
        for output in &mut self.output {
            keys.rewrite_in(&mut output.expr)?;
        }
        for key in &mut self.order {
            keys.rewrite_in(&mut key.expr)?;
        }
        for (expr, _) in &mut self.computed {
            keys.rewrite_in(expr)?;
        }
        for expr in self.distinct_on.iter_mut().flatten() {
            keys.rewrite_in(expr)?;
        }
        self.having = self.having.take().map(|having| keys.rewrite(having)).transpose()?;
        // checked on rows, and still refused where they read what is not grouped by
        std::mem::take(&mut self.moved).into_iter().try_for_each(|moved| keys.rewrite(moved).map(|_| ()))?;
        for set in &mut self.sets {
            set.call = set.call.clone().map_args(&mut |arg| keys.rewrite(arg))?;
        }
        for window in &mut self.windows {
            let order = window.order.iter_mut().map(|key| &mut key.expr);
            let partition = window.partition.iter_mut().chain(order);
            partition.chain(window.function.exprs_mut()).try_for_each(|expr| keys.rewrite_in(expr))?;
        }
        Ok(())
    }

    /// Takes the conditions of HAVING that can be checked on rows before these are grouped, as PostgreSQL does: groups
    /// that they drop are never made, and no aggregate fails for them.
    pub(super) fn take_row_conditions(&mut self) -> Vec<Expr> {
        // without keys there is a group even where no row is, and with several groupings the keys of some are NULL
        if self.groups.keys.is_empty() || self.has_several_groupings() {
            return Vec::new();
        }
        let Some(having) = self.having.take() else { return Vec::new() };
        let mut conjuncts = Vec::new();
        having.into_conjuncts(&mut conjuncts);
        let aggregates = &self.aggregates;
        let (kept, moved) = conjuncts.into_iter().partition(|conjunct| {
            let mut kept = conjunct.has_subquery() || conjunct.is_volatile();
            conjunct.slots(&mut |slot| kept |= aggregates.iter().any(|aggregate| aggregate.slot == slot));
            kept
        });
        self.having = Expr::together(kept);
        self.moved = moved;
        let mut conditions = self.moved.clone();
        conditions.iter_mut().for_each(Expr::simplify);
        conditions
    }

    /// The expressions that are computed of the rows that come out of window functions.
    pub(super) fn read_above_windows(&self) -> impl Iterator<Item = &Expr> {
        let output = self.output.iter().map(|output| &output.expr);
        let order = self.order.iter().map(|key| &key.expr);
        let sets = self.sets.iter().flat_map(|set| set.call.args());
        let computed = self.computed.iter().map(|(expr, _)| expr);
        output.chain(order).chain(sets).chain(computed).chain(self.distinct_on.iter().flatten())
    }

    /// Takes the calls of set-returning functions that rows are grouped by: they make the rows that are grouped.
    pub(super) fn take_grouped_sets(&mut self) -> Vec<SetItem> {
        let mut grouped = vec![false; self.sets.len()];
        let mut read: Vec<&Expr> = self.groups.keys.iter().collect();
        while let Some(expr) = read.pop() {
            for (set, grouped) in self.sets.iter().zip(&mut grouped) {
                let mut reads = false;
                expr.slots(&mut |slot| reads |= set.makes(slot));
                if reads && !std::mem::replace(grouped, true) {
                    read.extend(set.call.args());
                }
            }
        }
        let mut grouped = grouped.into_iter();
        self.sets.extract_if(.., |_| grouped.next().unwrap_or(false)).collect()
    }

    /// Takes the calls of set-returning functions that come after DISTINCT ON: for rows that it drops no function is
    /// called, unless it drops them by what the function returns.
    pub(super) fn take_late_sets(&mut self) -> Vec<SetItem> {
        let mut early = self.unordered;
        let keys = self.order.iter().map(|key| &key.expr).chain(self.distinct_on.iter().flatten());
        keys.for_each(|expr| expr.slots(&mut |slot| early |= self.sets.iter().any(|set| set.makes(slot))));
        match self.distinct_on.is_some() && !early {
            true => std::mem::take(&mut self.sets),
            false => Vec::new(),
        }
    }

    /// The columns that DISTINCT compares.
    ///
    /// # Errors
    /// 42P10 if ORDER BY has others.
    pub(super) fn distinct_columns(&self) -> Result<Vec<Expr>> {
        let on: Vec<Expr> = self.output.iter().map(|output| output.expr.clone()).collect();
        if self.order.iter().all(|key| on.iter().any(|expr| expr.same(&key.expr))) {
            return Ok(on);
        }
        Err(SqlError::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        ))
    }
}

/// Whether it is a SELECT DISTINCT, without ON.
pub(super) fn is_distinct(select: &Select) -> bool {
    matches!(select.distinct, Some(Distinct::Distinct))
}

/// Whether an expression reads what a window function returns.
fn reads_any(expr: &Expr, of: impl Iterator<Item = Slot> + Clone) -> bool {
    let mut found = false;
    expr.slots(&mut |slot| found |= of.clone().any(|other| other == slot));
    found
}
