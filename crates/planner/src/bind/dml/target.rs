//! What a statement writes to: a table, or a view that it is written through to one.

use crate::bind::Binder;
use crate::bind::names::{check_database, fold, is_temporary, split};
use crate::bind::privileges::UseNumber;
use crate::bind::scope::{Scope, ScopeColumn, ScopeTable};
use crate::bind::updatable::Updatable;
use crate::plan::expr::Expr;
use crate::plan::joins::Leaf;
use crate::plan::trigger::Event;
use crate::plan::{BoundTable, Slot, ViewChecks};
use scaledb_catalog::{CheckOption, Privileges, Relation, TriggerEvents, TriggerTiming, ViewDesc};
use scaledb_parse::marked;
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{ObjectName, Spanned as _, TableFactor};
use std::collections::HashSet;
use std::sync::Arc;

/// How large expressions of views may become where they are put in the place of columns.
const LARGEST: usize = 1_000;

/// Columns by their numbers, and what they are given.
type Values = Vec<(usize, Expr)>;

/// What INSERT, UPDATE, DELETE or MERGE writes to. The columns that the statement sees are counted from 0: those of the
/// table, or of the view.
pub(super) struct Target {
    /// The table whose rows are written; a view in the form of one if its triggers do what is to be done.
    pub(super) table: Arc<BoundTable>,
    /// That view.
    pub(super) instead: Option<Arc<ViewDesc>>,
    uses: UseNumber,
    /// The views that it is written through, the one that the statement names first.
    views: Vec<Through>,
}

/// A view that is written through.
struct Through {
    desc: Arc<ViewDesc>,
    own: Updatable,
    types: Vec<Type>,
    uses: UseNumber,
    /// Whose privileges count in its query.
    by: Option<u32>,
}

/// What a statement sees of a row of the table.
#[derive(Default)]
pub(super) struct Seen {
    /// The columns that have names.
    pub(super) columns: Vec<ScopeColumn>,
    /// The slots of all columns.
    pub(super) slots: Vec<Slot>,
    /// What the columns of views are computed by, each behind those that it reads.
    computed: Vec<(Slot, Expr)>,
    /// The conditions of the views, the innermost first.
    conditions: Vec<Option<Expr>>,
}

impl Target {
    /// What the statement calls it.
    pub(super) fn name(&self) -> &str {
        self.views.first().map_or(&self.table.desc.name, |view| &view.desc.name)
    }

    /// What the statement needs on it.
    pub(super) fn uses(&self) -> UseNumber {
        self.uses
    }

    /// Its schema.
    pub(super) fn schema(&self) -> &str {
        self.views.first().map_or(&self.table.desc.schema, |view| &view.desc.schema)
    }

    /// Whether it is a view.
    pub(super) fn is_view(&self) -> bool {
        !self.views.is_empty() || self.instead.is_some()
    }

    /// What plans call the table: a view may give it another name.
    pub(super) fn scanned_as(&self) -> String {
        match self.views.last().map(|view| view.own.factor()) {
            Some(Ok(TableFactor::Table { alias: Some(alias), .. })) => fold(&alias.name),
            _ => self.table.desc.name.clone(),
        }
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        self.views.first().map_or(self.table.types.len(), |view| view.types.len())
    }

    /// The name of a column.
    pub(super) fn column_name(&self, at: usize) -> &str {
        match self.views.first() {
            Some(view) => view.desc.columns.get(at).map_or("?", |(name, ..)| name.as_str()),
            None => &self.table.desc.columns[at].name,
        }
    }

    /// The type of a column.
    pub(super) fn column_type(&self, at: usize) -> Type {
        self.views.first().map_or_else(|| self.table.types[at], |view| view.types[at])
    }

    /// The columns that statements see.
    pub(super) fn visible(&self) -> impl Iterator<Item = usize> {
        let hidden = |at: &usize| self.views.is_empty() && self.table.desc.columns[*at].hidden;
        (0..self.width()).filter(move |at| !hidden(at))
    }

    /// The column of a name.
    ///
    /// # Errors
    /// 42703.
    pub(super) fn position(&self, name: &str) -> Result<usize> {
        let found = match self.views.first() {
            Some(view) => view.desc.column(name),
            None => self.table.desc.column(name),
        };
        found.ok_or_else(|| {
            let what = format!("column \"{name}\" of relation \"{}\" does not exist", self.name());
            SqlError::new(SqlState::UNDEFINED_COLUMN, what)
        })
    }

    /// The column of the table that a column is.
    pub(super) fn base(&self, at: usize) -> Option<usize> {
        self.views.iter().try_fold(at, |at, view| view.own.columns.get(at).and_then(|to| to.ok()))
    }

    /// The values of columns as those of the columns of the table, with the defaults of each view where it has no
    /// value. A column that is set twice, or that no view can set, is refused.
    ///
    /// # Errors
    /// 0A000, 42601.
    fn to_table(&self, event: Event, mut values: Values, defaults: Vec<Values>) -> Result<Values> {
        let mut defaults = defaults.into_iter();
        for (number, view) in self.views.iter().enumerate() {
            for (at, value) in defaults.next().unwrap_or_default() {
                if values.iter().all(|(known, _)| *known != at) {
                    values.push((at, value));
                }
            }
            let refused =
                values.iter().filter_map(|(at, _)| view.own.columns[*at].err().map(|why| (*at, why)));
            if let Some((at, why)) = refused.min() {
                let does = if event == Event::Insert { "insert into" } else { "update" };
                let (column, name) = (&view.desc.columns[at].0, &view.desc.name);
                let what = format!("cannot {does} column \"{column}\" of view \"{name}\"");
                return Err(SqlError::unsupported(what).detail(why));
            }
            let mut lower: Vec<(usize, Expr)> = Vec::with_capacity(values.len());
            for (at, value) in values {
                let Ok(to) = view.own.columns[at] else { continue };
                if lower.iter().any(|(known, _)| *known == to) {
                    let name = match self.views.get(number + 1) {
                        Some(next) => next.desc.columns[to].0.as_str(),
                        None => &self.table.desc.columns[to].name,
                    };
                    let what = format!("multiple assignments to same column \"{name}\"");
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                }
                lower.push((to, value));
            }
            values = lower;
        }
        Ok(values)
    }
}

impl Seen {
    /// An expression over the columns of the table, as far as it can be.
    pub(super) fn expanded(&self, expr: Expr) -> Expr {
        match self.computed.is_empty() {
            true => expr,
            false => substituted(expr, &self.computed, &mut { LARGEST }),
        }
    }
}

/// Whether triggers of a view do what is to be done with rows.
pub fn has_trigger_instead(view: &ViewDesc, event: Event) -> bool {
    let is_for = |events: TriggerEvents| match event {
        Event::Insert => events.insert,
        Event::Update => events.update,
        Event::Delete => events.delete,
        Event::Truncate => false,
    };
    view.triggers.iter().any(|own| own.timing == TriggerTiming::InsteadOf && is_for(own.events))
}

/// 55000 for a view that cannot be written through.
#[cold]
fn not_updatable(event: Event, name: &str, why: &'static str) -> SqlError {
    let (does, doing, word) = match event {
        Event::Insert => ("insert into", "inserting into", "INSERT"),
        Event::Update => ("update", "updating", "UPDATE"),
        Event::Delete | Event::Truncate => ("delete from", "deleting from", "DELETE"),
    };
    let what = format!("cannot {does} view \"{name}\"");
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what).detail(why).hint(format!(
        "To enable {doing} the view, provide an INSTEAD OF {word} trigger or an unconditional ON {word} DO INSTEAD rule."
    ))
}

/// An expression with what computes columns in the place of their slots, as far as that may be: a subquery reads their
/// slots, and what becomes too large stays as it is.
fn substituted(expr: Expr, computed: &[(Slot, Expr)], left: &mut usize) -> Expr {
    if let Expr::Slot(slot) = &expr
        && let Some((_, own)) = computed.iter().find(|(known, _)| known == slot)
    {
        let mut size = 0;
        count(own, &mut size);
        if size > *left {
            return expr;
        }
        *left -= size;
        return substituted(own.clone(), computed, left);
    }
    let mapped =
        expr.map_children::<std::convert::Infallible>(&mut |child| Ok(substituted(child, computed, left)));
    match mapped {
        Ok(expr) => expr,
    }
}

fn count(expr: &Expr, size: &mut usize) {
    *size += 1;
    expr.children(&mut |child| count(child, size));
}

impl Binder<'_> {
    /// What a name means that is written to; with the privilege that is needed on all of it.
    ///
    /// # Errors
    /// 42P01; 42809 for what cannot be written, 55000 for a view that cannot be.
    pub(super) fn target(&mut self, object: &ObjectName, whole: Privileges, event: Event) -> Result<Target> {
        check_database(object, self.lookup.database())?;
        let (schema, name) = split(object)?;
        if schema.is_none() && self.lookup.written(&name).is_some() {
            let what = format!("relation \"{name}\" cannot be the target of a modifying statement");
            return Err(SqlError::unsupported(what));
        }
        let named = self.relation(schema.as_deref(), &name).map_err(|error| self.at(object.span(), error))?;
        let mut views = Vec::new();
        let around = self.uses.by();
        match named {
            Relation::Table(desc) if !desc.is_materialized() || marked::is_materialized(object) => {
                let uses = self.writes_relation(&Relation::Table(desc.clone()), whole);
                self.target_table(desc.oid, uses, views)
            }
            Relation::View(view) => {
                let found = self.through(view, whole, event, &mut views);
                self.uses.act_for(around);
                match found? {
                    (Relation::View(view), uses) => {
                        self.lasting |= !is_temporary(&view.schema);
                        let table = Arc::new(self.lookup.unmade(&view.as_table())?);
                        Ok(Target { table, instead: Some(view), uses, views })
                    }
                    (table, uses) => self.target_table(table.oid(), uses, views),
                }
            }
            other => {
                let what = format!("cannot change {} \"{name}\"", other.kind());
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
        }
    }

    fn target_table(&mut self, oid: u32, uses: UseNumber, views: Vec<Through>) -> Result<Target> {
        let table = self.lookup.table(oid)?;
        self.lasting |= !is_temporary(&table.desc.schema);
        if !self.tables.iter().any(|(known, _)| *known == oid) {
            self.tables.push((oid, table.info.id));
        }
        Ok(Target { table, instead: None, uses, views })
    }

    /// The views from this one on, and the table that the last one reads; or a view whose triggers do what is to be
    /// done.
    fn through(
        &mut self,
        mut view: Arc<ViewDesc>,
        whole: Privileges,
        event: Event,
        views: &mut Vec<Through>,
    ) -> Result<(Relation, UseNumber)> {
        loop {
            self.nests(views.len())?;
            self.relations.push(view.oid);
            let uses = match views.last() {
                None => self.writes_relation(&Relation::View(view.clone()), whole),
                Some(outer) => self.writes_behind(&Relation::View(view.clone()), whole, outer.uses),
            };
            if has_trigger_instead(&view, event) {
                return Ok((Relation::View(view), uses));
            }
            let own = self.examine(&view)?;
            let own = own.and_then(|own| match own.without_columns() {
                Some(why) if event != Event::Delete => Err(why),
                _ => Ok(own),
            });
            let own = own.map_err(|why| not_updatable(event, &view.name, why))?;
            let mut types = Vec::with_capacity(view.columns.len());
            for (_, oid, typmod) in &view.columns {
                types.push(self.type_of_column(*oid, *typmod)?);
            }
            let by = self.reader_behind(&view);
            self.uses.act_for(by);
            let lower = own.lower.clone();
            views.push(Through { desc: view, own, types, uses, by });
            view = match lower {
                Relation::View(lower) => lower,
                table => {
                    let uses = self.writes_behind(&table, whole, uses);
                    return Ok((table, uses));
                }
            };
        }
    }

    /// The rows that the statement looks for: those of the table, or those of the view whose triggers do what is to be
    /// done.
    pub(super) fn rows_to_write(&mut self, target: &Target, shown: &str) -> Result<Leaf> {
        let Some(view) = &target.instead else { return self.scan_of(target.table.desc.oid, shown) };
        let by = self.reader_behind(view);
        let query = scaledb_parse::query(&view.query)?;
        let bound = self.within_view(view, by, |binder| binder.deeper(|binder| binder.query(&query)))?;
        let (node, mut columns) = self.slots_of(bound, &[]);
        columns.truncate(view.columns.len());
        Ok(Leaf::other(node, columns.iter().map(|column| column.slot).collect()))
    }

    /// What the statement sees of a row of the table, whose columns are in these slots.
    pub(super) fn seen(&mut self, target: &Target, row: &[Slot]) -> Result<Seen> {
        self.has_row(target.uses, &target.table, row);
        let mut seen = Seen { columns: Self::columns_of(&target.table, row), ..Seen::default() };
        if target.views.is_empty() {
            seen.slots = row.to_vec();
            return Ok(seen);
        }
        for view in target.views.iter().rev() {
            // no plan reads what they read, unless the statement does
            let used = self.used.clone();
            let lower = std::mem::take(&mut seen.columns);
            let bound = self.within_view(&view.desc, view.by, |binder| {
                binder.deeper(|binder| binder.rows_of_view(view, lower))
            });
            let (outputs, condition) = bound?;
            self.used[..used.len()].copy_from_slice(&used);
            let mut taken = HashSet::new();
            for (output, (name, ..)) in outputs.into_iter().zip(&view.desc.columns) {
                let slot = match output.expr {
                    Expr::Slot(slot) if taken.insert(slot) => slot,
                    expr => {
                        let slot = self.slot();
                        seen.computed.push((slot, expr));
                        slot
                    }
                };
                let ty = if output.ty.base == Base::Unknown { Type::TEXT } else { output.ty };
                let (name, origin) = (name.clone(), output.origin);
                seen.columns.push(ScopeColumn { name, ty, slot, origin, merged: false });
            }
            let numbered = seen.columns.iter().zip(1..).map(|(column, number)| (number, column.slot));
            self.has_columns(view.uses, numbered);
            seen.conditions.push(condition);
        }
        seen.slots = seen.columns.iter().map(|column| column.slot).collect();
        Ok(seen)
    }

    /// Binds what stands for an index, over the columns that the statement sees of a row, by the name that it has for
    /// the table.
    pub(super) fn over_seen<R>(
        &mut self,
        shown: &str,
        seen: &Seen,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let table =
            ScopeTable { name: shown.to_owned(), columns: seen.columns.clone(), ..ScopeTable::default() };
        self.over_columns(table, f)
    }

    /// The select list of a view over the columns of what it reads, and its condition.
    fn rows_of_view(
        &mut self,
        view: &Through,
        mut lower: Vec<ScopeColumn>,
    ) -> Result<(Vec<crate::bind::Output>, Option<Expr>)> {
        self.scopes.push(Scope::default());
        let TableFactor::Table { alias, .. } = view.own.factor()? else {
            return Err(SqlError::internal("a view of no table"));
        };
        let (relation, select) = (&view.own.lower, &view.own.select);
        let mut later = Vec::new();
        if let Some(&(_, end)) = self.known_columns.iter().find(|(of, _)| *of == relation.oid())
            && matches!(relation, Relation::View(_))
        {
            later = lower.split_off(lower.len().min(usize::from(end.unsigned_abs()).saturating_sub(1)));
        }
        self.add_table(Some(relation.schema()), alias.as_ref(), relation.name(), lower)?;
        self.scope().tables.iter_mut().for_each(|table| table.with_later(std::mem::take(&mut later)));
        let condition = select.selection.as_ref().map(|ast| self.condition(ast, "WHERE")).transpose()?;
        let outputs = self.projection(&select.projection, true)?;
        self.scopes.pop();
        Ok((outputs, condition))
    }

    /// Notes that the statement needs a privilege on columns of what it writes to, and the owners of views on those
    /// that these are.
    pub(super) fn needs_on_target(
        &mut self,
        target: &Target,
        privilege: Privileges,
        columns: impl Iterator<Item = usize>,
    ) {
        let mut columns: Vec<usize> = columns.collect();
        for view in &target.views {
            let numbers = columns.iter().filter_map(|at| i16::try_from(at + 1).ok()).collect();
            self.needs_on_columns(view.uses, privilege, numbers);
            columns = columns.iter().filter_map(|&at| view.own.columns[at].ok()).collect();
        }
        self.needs_on(target.uses, privilege, &target.table, columns.into_iter());
    }

    /// Notes that the statement needs a privilege on all of what it writes to.
    pub(super) fn needs_all_of(&mut self, target: &Target, privilege: Privileges) {
        target.views.iter().for_each(|view| self.needs(view.uses, privilege));
        self.needs(target.uses, privilege);
    }

    /// The default of a column: a view's own, or what that has which it reads.
    pub(super) fn default_behind(&mut self, target: &Target, mut at: usize) -> Result<Expr> {
        for view in &target.views {
            if let Some(text) = view.desc.default(at) {
                return self.default_of_view(&view.desc, at, text);
            }
            let Ok(to) = view.own.columns[at] else { return Ok(Expr::Const(Value::Null)) };
            at = to;
        }
        self.default(&target.table, at)
    }

    /// What an UPDATE sets a column to by DEFAULT: what a view reads is not asked.
    pub(super) fn default_to_set(&mut self, target: &Target, at: usize) -> Result<Expr> {
        match target.views.first() {
            None => self.default(&target.table, at),
            Some(view) => match view.desc.default(at) {
                Some(text) => self.default_of_view(&view.desc, at, text),
                None => Ok(Expr::Const(Value::Null)),
            },
        }
    }

    fn default_of_view(&mut self, view: &Arc<ViewDesc>, at: usize, text: &str) -> Result<Expr> {
        let (name, oid, typmod) = &view.columns[at];
        let ty = self.type_of_column(*oid, *typmod)?;
        self.default_text(text, ty, name)
    }

    /// The values of an INSERT as those of the columns of the table, with the defaults of views; none where the
    /// table's own default is meant.
    pub(super) fn values_of_table(
        &mut self,
        target: &Target,
        values: Vec<Option<Expr>>,
    ) -> Result<Vec<Option<Expr>>> {
        if target.views.is_empty() {
            return Ok(values);
        }
        let given = values.into_iter().enumerate().filter_map(|(at, value)| Some((at, value?)));
        let mut defaults = Vec::with_capacity(target.views.len());
        for view in &target.views {
            let mut own = Vec::with_capacity(view.desc.defaults.len());
            for (number, text) in &view.desc.defaults {
                let at = usize::from(number.unsigned_abs()).saturating_sub(1);
                own.push((at, self.default_of_view(&view.desc, at, text)?));
            }
            defaults.push(own);
        }
        let given = target.to_table(Event::Insert, given.collect(), defaults)?;
        let mut values = vec![None; target.table.types.len()];
        for (at, value) in given {
            // what the statement gives was looked at: this is the default of a view, or stands for the column's own
            let column = &target.table.desc.columns[at];
            if column.generated.is_some() && !matches!(value, Expr::Const(Value::Null)) {
                let what = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
                let detail = format!("Column \"{}\" is a generated column.", column.name);
                return Err(SqlError::new(SqlState::GENERATED_ALWAYS, what).detail(detail));
            }
            values[at] = Some(value);
        }
        Ok(values)
    }

    /// What an UPDATE sets, as columns of the table.
    pub(super) fn set_of_table(&self, target: &Target, set: Values) -> Result<Values> {
        target.to_table(Event::Update, set, Vec::new())
    }

    /// Adds the conditions of the views to those of the statement, and puts what computes columns in their place. The
    /// conditions that read such columns all the same are returned: they hold where the columns are computed.
    pub(super) fn conditions_of(
        &mut self,
        target: &Target,
        seen: &Seen,
        conditions: &mut Vec<Expr>,
    ) -> Vec<Expr> {
        if seen.conditions.is_empty() {
            return Vec::new();
        }
        let own = target.views.iter().rev().zip(&seen.conditions);
        for (_, condition) in own.filter(|(view, _)| view.desc.security_barrier != Some(true)) {
            let Some(condition) = condition else { continue };
            self.mark(condition);
            condition.clone().into_conjuncts(conditions);
        }
        let mut left = LARGEST;
        let all = std::mem::take(conditions);
        let mut late = Vec::new();
        for condition in all {
            let condition = substituted(condition, &seen.computed, &mut left);
            let mut reads = false;
            condition.slots(&mut |slot| reads |= seen.computed.iter().any(|(own, _)| *own == slot));
            self.mark(&condition);
            if reads { late.push(condition) } else { conditions.push(condition) }
        }
        late
    }

    /// The conditions of the security barriers among the views: nothing that may tell of a row is asked before them.
    ///
    /// # Errors
    /// 0A000 for one that reads what another view computes, where that cannot be put in its place.
    pub(super) fn barriers_of(&mut self, target: &Target, seen: &Seen) -> Result<Vec<Expr>> {
        let mut quals = Vec::new();
        for (view, condition) in target.views.iter().rev().zip(&seen.conditions) {
            let Some(condition) = condition.as_ref().filter(|_| view.desc.security_barrier == Some(true))
            else {
                continue;
            };
            let condition = seen.expanded(condition.clone());
            let mut reads = false;
            condition.slots(&mut |slot| reads |= seen.computed.iter().any(|(own, _)| *own == slot));
            if reads {
                let what = format!(
                    "security barrier \"{}\" reads what another view computes, and cannot be written through",
                    view.desc.name
                );
                return Err(SqlError::unsupported(what));
            }
            self.mark(&condition);
            condition.into_conjuncts(&mut quals);
        }
        Ok(quals)
    }

    /// What is computed of a row for a statement that has been bound: the columns that it reads.
    pub(super) fn computed_of(&mut self, seen: &Seen) -> Vec<(Slot, Expr)> {
        let mut read = Vec::new();
        for (slot, expr) in seen.computed.iter().rev() {
            if self.used[*slot] {
                self.mark(expr);
                read.push((*slot, expr.clone()));
            }
        }
        read.reverse();
        read
    }

    /// What must hold of a row that is written through views, and what is computed of it.
    pub(super) fn view_checks(&mut self, target: &Target, seen: &Seen) -> Option<Box<ViewChecks>> {
        let mut conditions = Vec::new();
        let mut cascaded = false;
        // what the outer views say holds for the inner ones, which are looked at first
        let inner_first = seen.conditions.iter().rev();
        for (view, condition) in target.views.iter().zip(inner_first) {
            cascaded |= view.desc.check_option == Some(CheckOption::Cascaded);
            if let Some(condition) = condition
                && (cascaded || view.desc.check_option.is_some())
            {
                self.mark(condition);
                conditions.push((view.desc.name.clone(), condition.clone()));
            }
        }
        conditions.reverse();
        let computed = self.computed_of(seen);
        let mut exprs = conditions.iter().map(|(_, expr)| expr).chain(computed.iter().map(|(_, expr)| expr));
        // what they read is as it was before the statement
        self.writes |= exprs.any(Expr::needs_worker);
        let some = !(conditions.is_empty() && computed.is_empty());
        some.then(|| Box::new(ViewChecks { computed, conditions }))
    }

    /// Whether some view says what must hold of rows that are written.
    pub(super) fn are_checked(target: &Target) -> bool {
        target.views.iter().any(|view| view.desc.check_option.is_some())
    }
}
