//! INSERT, UPDATE, DELETE and MERGE: what all of them have, and UPDATE and DELETE.

mod insert;
mod merge;
mod on_conflict;
mod target;

pub use target::has_trigger_instead;

use super::generated::Generated;
use super::names::{Naming, fold, split};
use super::policy::Securing;
use super::scope::{Scope, ScopeColumn};
use super::{Binder, Bound, Output, Typed, unsupported};
use crate::functions::SessionFn;
use crate::optimize::{self, Asked};
use crate::plan::expr::Expr;
use crate::plan::joins::{Leaf, Tree};
use crate::plan::secured::PolicyCheck;
use crate::plan::trigger::{Event, Triggers};
use crate::plan::{BoundTable, Checks, CurrentOf, Delete, ForeignKey, Kind, Modify, Node, Slot, Update};
use scaledb_catalog::{Identity, PolicyCommand, Privileges};
use scaledb_parse::{elements, marked, parts_of_row};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr as Ast, FromTable, SelectItem, Spanned as _, Statement,
    TableFactor, TableWithJoins,
};
use std::sync::Arc;
use target::{Seen, Target};

/// RETURNING: the values, the slots that they go to, and the columns of the result.
type Returning = (Option<Vec<Expr>>, Vec<Slot>, Vec<Output>);

impl Binder<'_> {
    /// Binds a statement that writes, as a query: its rows are those of RETURNING.
    pub fn dml_in_query(&mut self, statement: &Statement) -> Result<Bound> {
        self.scopes.push(Scope::default());
        let bound = match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            _ => Err(unsupported("this statement in WITH")),
        };
        self.scopes.pop();
        bound.map(|(bound, _)| bound)
    }

    /// Binds a statement that writes.
    ///
    /// # Errors
    /// What is wrong with it; `None` if it is another kind of statement.
    pub fn dml(&mut self, statement: &Statement) -> Result<Option<(Bound, Kind)>> {
        // WITH of what it reads is not at the top
        self.may_write = false;
        Ok(Some(match statement {
            Statement::Insert(insert) => self.insert(insert)?,
            Statement::Update(update) => self.update(update)?,
            Statement::Delete(delete) => self.delete(delete)?,
            Statement::Merge(merge) => self.merge(merge)?,
            _ => return Ok(None),
        }))
    }

    /// The columns of a table over slots, for the scope.
    pub(super) fn columns_of(table: &BoundTable, slots: &[Slot]) -> Vec<ScopeColumn> {
        let columns = table.desc.columns.iter().zip(&table.types).zip(slots);
        columns
            .filter(|((desc, _), _)| !desc.hidden)
            .map(|((desc, &ty), &slot)| ScopeColumn {
                name: desc.name.clone(),
                ty,
                slot,
                origin: (table.desc.oid, desc.attnum),
                merged: false,
            })
            .collect()
    }

    /// The column that a statement gives a value, its name, and the subscripts if it is an element of it.
    fn target_to_set<'o>(
        &self,
        target: &Target,
        object: &'o ast::ObjectName,
    ) -> Result<(usize, String, Option<&'o [ast::AccessExpr]>)> {
        let Some((column, chain)) = elements::element(object) else {
            return self.column_to_set(target, object).map(|(position, name)| (position, name, None));
        };
        let name = fold(column);
        let position = target.position(&name).map_err(|error| self.at(column.span, error))?;
        Ok((position, name, Some(chain)))
    }

    /// The column that a statement gives a value, and its name.
    fn column_to_set(&self, target: &Target, object: &ast::ObjectName) -> Result<(usize, String)> {
        let position = |name: &str| target.position(name).map_err(|error| self.at(object.span(), error));
        let [first, field, ..] = &object.0[..] else {
            let (_, name) = split(object)?;
            return Ok((position(&name)?, name));
        };
        // a name of several parts is a field of a column
        let first = first.as_ident().map_or_else(String::new, fold);
        let (at, field) = (position(&first)?, field.as_ident().map_or_else(String::new, fold));
        let ty = target.column_type(at).sql_name();
        let what = format!(
            "cannot assign to field \"{field}\" of column \"{first}\" because its type {ty} is not a composite type"
        );
        Err(self.at(object.span(), SqlError::new(SqlState::DATATYPE_MISMATCH, what)))
    }

    /// The default of a column.
    pub fn default(&mut self, table: &BoundTable, position: usize) -> Result<Expr> {
        let column = &table.desc.columns[position];
        if column.generated.is_some() {
            return Ok(Expr::Const(Value::Null));
        }
        let Some(default) = &column.default else {
            return self.default_of_type(table.types[position], &column.name);
        };
        self.default_text(default, table.types[position], &column.name)
    }

    /// The default of a column of a type, which this text is.
    fn default_text(&mut self, text: &str, ty: Type, name: &str) -> Result<Expr> {
        let ast = scaledb_parse::expression(text)?;
        // a default sees no columns
        let scopes = std::mem::take(&mut self.scopes);
        let typed = self.apart(Naming::Kept, |binder| binder.expr(&ast));
        self.scopes = scopes;
        let typed = typed.map_err(|error| match error.code() {
            SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE => {
                SqlError::unsupported("cannot use column reference in DEFAULT expression")
            }
            _ => error,
        })?;
        self.assign(typed, ty, name)
    }

    /// SET of an UPDATE, and the generated columns that change with it, over the slots of the old row and the new one.
    fn assignments(
        &mut self,
        target: &Target,
        list: &[Assignment],
        old: &[Slot],
        row: &[Slot],
    ) -> Result<(Vec<(usize, Expr)>, Generated)> {
        let table = &target.table;
        let mut set: Vec<(usize, Expr)> = Vec::new();
        // columns of which elements are set: several may be
        let mut parts: Vec<usize> = Vec::new();
        let mut add = |binder: &mut Self, column: &ast::ObjectName, value: Option<Typed>| {
            let (position, name, chain) = binder.target_to_set(target, column)?;
            let known = set.iter().position(|(known, _)| *known == position);
            if known.is_some() && !(chain.is_some() && parts.contains(&position)) {
                let what = format!("multiple assignments to same column \"{name}\"");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            if let Some(chain) = chain {
                let Some(value) = value else { return Err(element_to_default()) };
                refuse_update(target, position)?;
                parts.push(position);
                // one is the value that the next one changes
                binder.nests(parts.iter().filter(|part| **part == position).count())?;
                let element = binder.element(target.column_type(position), &name, chain)?;
                let before = match known {
                    Some(at) => set.remove(at).1,
                    None => Expr::Slot(old[position]),
                };
                set.push((position, binder.with_element(before, &name, element, value)?));
                return Ok(());
            }
            let expr = if let Some(value) = value {
                refuse_update(target, position)?;
                binder.assign(value, target.column_type(position), &name)?
            } else {
                // of a view it is a value like any other
                if target.is_view() {
                    refuse_update(target, position)?;
                }
                binder.default_to_set(target, position)?
            };
            set.push((position, expr));
            Ok(())
        };
        let mut given: Vec<(&ast::ObjectName, Option<Typed>)> = Vec::new();
        // a parameter that several columns take has no type before all values are known
        for assignment in list {
            match (&assignment.target, &assignment.value) {
                (AssignmentTarget::ColumnName(name), ast) => given.push((name, self.given(ast)?)),
                (AssignmentTarget::Tuple(names), ast) => match row_given(ast)? {
                    Given::Values(values) => {
                        let values = self.given_row(values)?;
                        if names.len() != values.len() {
                            let what = "number of columns does not match number of values";
                            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                        }
                        given.extend(names.iter().zip(values));
                    }
                    Given::Query(query) => {
                        let row = self.row_of(query, names.len())?;
                        given.extend(names.iter().zip(row.into_iter().map(Some)));
                    }
                },
            }
        }
        for (name, value) in given {
            add(self, name, value)?;
        }
        for (position, expr) in set.iter_mut().filter(|(position, _)| parts.contains(position)) {
            let parts = std::mem::replace(expr, Expr::Const(Value::Null));
            *expr = self.of_parts(parts, target.column_type(*position))?;
        }
        self.needs_on_target(target, Privileges::UPDATE, set.iter().map(|(at, _)| *at));
        let mut set = self.set_of_table(target, set)?;
        let positions: Vec<usize> = set.iter().map(|(position, _)| *position).collect();
        let generated = self.generated(table, row, Some(&positions))?;
        set.retain(|(position, _)| table.desc.columns[*position].generated.is_none());
        Ok((set, generated))
    }

    /// A value that a column is to get; none for DEFAULT.
    fn given(&mut self, ast: &Ast) -> Result<Option<Typed>> {
        if is_default(ast) { Ok(None) } else { self.expr(ast).map(Some) }
    }

    /// The values of a row that columns are to get, stars as those of their columns.
    fn given_row(&mut self, parts: &[Ast]) -> Result<Vec<Option<Typed>>> {
        let mut given = Vec::with_capacity(parts.len());
        for part in parts {
            match self.star_in_row(part)? {
                Some(fields) => given.extend(fields.into_iter().map(Some)),
                None => given.push(self.given(part)?),
            }
        }
        Ok(given)
    }

    /// Constraints over the slots of a row; with a SET, only those that it can break.
    fn checks(&mut self, table: &Arc<BoundTable>, row: &[Slot], set: Option<&[usize]>) -> Result<Checks> {
        let touched = |position: &usize| set.is_none_or(|set| set.contains(position));
        let (not_null, checks) = self.conditions(table, row, set)?;
        let (references, referred) = self.lookup.foreign_keys(table.desc.oid)?;
        let breaks = |key: &Arc<ForeignKey>, own: bool| {
            let columns = if own { &key.from_columns } else { &key.to_columns };
            columns.iter().any(&touched)
        };
        for key in references.iter().chain(&referred) {
            // what an action sets becomes a value of the column's domain
            key.from_columns.iter().for_each(|&column| self.depend_on(key.from.types[column]));
            for side in [&key.from, &key.to] {
                if !self.tables.iter().any(|(known, _)| *known == side.desc.oid) {
                    self.tables.push((side.desc.oid, side.info.id));
                }
            }
        }
        let mut late = table.late();
        late.retain(|&number| table.secondary[number].iter().any(|column| touched(&column.position)));
        Ok(Checks {
            not_null,
            checks,
            references: references.into_iter().filter(|key| breaks(key, true)).collect(),
            referred: referred.into_iter().filter(|key| breaks(key, false)).collect(),
            late,
            given: set.unwrap_or_default().to_vec(),
            views: None,
            policies: None,
        })
    }

    /// The triggers that an event fires; with the columns that an UPDATE sets.
    fn triggers(&mut self, table: &BoundTable, event: Event, set: Option<&[usize]>) -> Option<Box<Triggers>> {
        let triggers = Triggers::of(self.catalog, &table.desc, event, set)?;
        self.relations.extend(triggers.all().map(|trigger| trigger.function.oid));
        Some(triggers)
    }

    fn returning(&mut self, items: Option<&[SelectItem]>) -> Result<Returning> {
        let Some(items) = items else { return Ok((None, Vec::new(), Vec::new())) };
        let mut output = self.projection(items, true)?;
        if output.is_empty() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "RETURNING must have at least one column"));
        }
        let slots = self.new_slots(output.len());
        let mut exprs = Vec::with_capacity(output.len());
        for (output, &slot) in output.iter_mut().zip(&slots) {
            self.mark(&output.expr);
            exprs.push(std::mem::replace(&mut output.expr, Expr::Slot(slot)));
            if output.ty.base == Base::Unknown {
                output.ty = Type::TEXT;
            }
        }
        // what it reads is as it was before the statement
        self.writes |= exprs.iter().any(Expr::needs_worker);
        Ok((Some(exprs), slots, output))
    }

    /// Puts the target of UPDATE or DELETE in scope.
    fn target_scan(
        &mut self,
        factor: &TableFactor,
        whole: Privileges,
        event: Event,
    ) -> Result<(Target, Leaf, Seen)> {
        let TableFactor::Table { name, alias, .. } = factor else { return Err(unsupported("this target")) };
        let target = self.target(name, whole, event)?;
        let shown = alias.as_ref().filter(|_| !target.is_view()).map(|alias| fold(&alias.name));
        let shown = shown.unwrap_or_else(|| target.scanned_as());
        let leaf = self.rows_to_write(&target, &shown)?;
        let mut seen = self.seen(&target, &leaf.slots)?;
        let columns = std::mem::take(&mut seen.columns);
        self.add_table(Some(target.schema()), alias.as_ref(), target.name(), columns)?;
        if target.is_view()
            && let Some(table) = self.scope().tables.last_mut()
        {
            // they come from the table that it reads
            table.own = false;
        }
        Ok((target, leaf, seen))
    }

    /// Plans the rows that a statement writes.
    fn rows(
        &mut self,
        of: &Target,
        leaf: Leaf,
        seen: &Seen,
        from: &[TableWithJoins],
        selection: Option<&Ast>,
    ) -> Result<Rows> {
        let cursor = selection.and_then(marked::current_of);
        let current = cursor.map(|cursor| self.current_row(of, &leaf.slots, fold(cursor))).transpose()?;
        let target = leaf.scanned().is_some().then(|| leaf.number());
        let tree = if from.is_empty() {
            Tree::Leaf(leaf)
        } else {
            // the tables of FROM do not depend on the target's rows
            let own: Vec<Slot> = self.scope().slots().collect();
            self.scope().barred = own;
            let others = self.from(from);
            self.scope().barred = Vec::new();
            let others = others?;
            Tree::Inner(vec![Tree::Leaf(leaf), others], Vec::new())
        };
        let mut conditions = match current {
            Some(current) => current,
            None => self.where_clause(selection)?,
        };
        let late = self.conditions_of(of, seen, &mut conditions);
        Ok(Rows { tree, conditions, late, target })
    }

    /// The rows that a statement writes, with the columns of views that it reads; it has been bound, so that it is
    /// known which policies say something of them.
    fn computed_rows(
        &mut self,
        Rows { mut tree, conditions, late, target }: Rows,
        seen: &Seen,
        quals: Vec<Expr>,
    ) -> Node {
        match &mut tree {
            Tree::Leaf(leaf) => leaf.secured = quals,
            Tree::Inner(parts, _) => {
                if let Some(Tree::Leaf(leaf)) = parts.first_mut() {
                    leaf.secured = quals;
                }
            }
            _ => debug_assert!(quals.is_empty(), "the first table is the one that is written"),
        }
        let node = match target {
            Some(target) => optimize::written(self, tree, conditions, target),
            // of a view whose triggers see rows without names
            None => {
                let asked = Asked { order: &[], groups: None, few: false };
                optimize::rows(self, tree, conditions, &asked).node
            }
        };
        let exprs: Vec<(Expr, Slot)> =
            self.computed_of(seen).into_iter().map(|(slot, expr)| (expr, slot)).collect();
        let mut node = match exprs.is_empty() {
            true => node,
            false => Node::Project { input: Box::new(node), exprs },
        };
        if let Some(predicate) = Expr::all(late) {
            node = Node::Filter { input: Box::new(node), predicate };
        }
        node
    }

    /// WHERE CURRENT OF: the row that has the key of the cursor's.
    fn current_row(&mut self, target: &Target, slots: &[Slot], cursor: String) -> Result<Vec<Expr>> {
        if target.is_view() {
            return Err(SqlError::unsupported("WHERE CURRENT OF on a view is not implemented"));
        }
        let table = target.table.clone();
        if table.primary.is_empty() {
            let what = format!("WHERE CURRENT OF on \"{}\", which has no primary key", target.name());
            return Err(unsupported(what));
        }
        let mut conditions = Vec::with_capacity(table.primary.len());
        for (number, part) in table.primary.iter().enumerate() {
            let (ty, slot) = (table.types[part.position], slots[part.position]);
            self.used[slot] = true;
            let number = Value::Int4(i32::try_from(number).unwrap_or(i32::MAX));
            let key = Expr::Session(Box::new((SessionFn::current_of(ty), vec![Expr::Const(number)])));
            let column = Typed::new(Expr::Slot(slot), ty);
            conditions.push(self.comparison("=", column, Typed::new(key, ty))?.expr);
        }
        let variable = match self.visible_variables() {
            Some(variables) => variables.variable(None, &cursor)?,
            None => None,
        };
        let variable = variable.filter(|variable| variable.ty == Type::REFCURSOR).map(|variable| variable.at);
        let (table, name) = (table.desc.oid, table.desc.name.clone());
        self.current_of = Some(CurrentOf { cursor, variable, table, name });
        Ok(conditions)
    }

    fn update(&mut self, update: &ast::Update) -> Result<(Bound, Kind)> {
        if !update.table.joins.is_empty() || update.limit.is_some() || update.or.is_some() {
            return Err(unsupported("this form of UPDATE"));
        }
        let (target, leaf, seen) =
            self.target_scan(&update.table.relation, Privileges::NONE, Event::Update)?;
        let table = target.table.clone();
        let (number, old) = (leaf.number(), leaf.slots.clone());
        let own_scope = self.scope().tables.len();
        let from = match &update.from {
            None => &[][..],
            Some(ast::UpdateTableFromKind::AfterSet(from) | ast::UpdateTableFromKind::BeforeSet(from)) => {
                from.as_slice()
            }
        };
        let rows = self.rows(&target, leaf, &seen, from, update.selection.as_ref())?;
        let row = self.new_slots(table.types.len());
        let new = self.seen(&target, &row)?;
        let (set, generated) = self.assignments(&target, &update.assignments, &seen.slots, &row)?;
        let assigned: Vec<usize> = set.iter().chain(&generated).map(|(position, _)| *position).collect();
        let triggers = self.triggers(&table, Event::Update, Some(&assigned));
        let found =
            Found { table: table.clone(), source: Node::Result, target: number, old: old.clone(), row };
        let returning = update.returning.as_deref().map(|items| (items, own_scope - 1));
        let (mut update, output) =
            self.changed(found, (set, generated), triggers, (&target, new), returning)?;
        let mut quals = self.quals_of_target(&target, &old, Some(PolicyCommand::Update))?;
        quals.extend(self.barriers_of(&target, &seen)?);
        update.source = self.computed_rows(rows, &seen, quals);
        let node = Node::ModifyTable(Box::new(Modify::Update(update)));
        Ok((Bound::new(node, output), Kind::Update))
    }

    /// UPDATE of rows that are found, with what is set of them. RETURNING comes with the number of the target in scope.
    fn changed(
        &mut self,
        Found { table, source, target, old, row }: Found,
        (mut set, generated): (Vec<(usize, Expr)>, Generated),
        triggers: Option<Box<Triggers>>,
        (written, new): (&Target, Seen),
        returning: Option<(&[SelectItem], usize)>,
    ) -> Result<(Update, Vec<Output>)> {
        let assigned: Vec<usize> = set.iter().chain(&generated).map(|(position, _)| *position).collect();
        let changed = triggers.as_ref().is_some_and(|triggers| !triggers.before_row.is_empty());
        let seen = triggers.as_ref().is_some_and(|triggers| triggers.see_rows());
        // they read the slots of the new row, which has the other values by then
        let (columns, generated) = match (seen, changed) {
            // triggers may change any column
            (_, true) => ((0..table.types.len()).collect(), self.generated(&table, &row, None)?),
            (true, false) => (assigned, generated),
            (false, false) => {
                set.extend(generated);
                (assigned, Vec::new())
            }
        };
        let moves = table.primary.iter().any(|part| columns.contains(&part.position));
        let mut checks = match written.instead {
            None => self.checks(&table, &row, Some(&columns))?,
            Some(_) => Checks { given: columns.clone(), ..Checks::default() },
        };
        // RETURNING sees the new row where the old one was
        if let Some((_, own)) = returning {
            for (column, new) in self.scope().tables[own].columns.iter_mut().zip(&new.columns) {
                column.slot = new.slot;
            }
        }
        let (returning, returning_slots, output) = self.returning(returning.map(|(items, _)| items))?;
        checks.views = self.view_checks(written, &new);
        checks.policies = self.policies_of_new(written, &row, PolicyCommand::Update, true)?;
        // columns of the new row that an expression reads are copied from the old one; a message shows all of them
        let mut whole = moves || checks.compares() || seen || Self::are_checked(written);
        whole |= written.instead.is_some();
        whole |= !checks.checks.is_empty() && checks.checks.iter().any(|(_, check)| check.needs_worker());
        for (position, (&old, &new)) in old.iter().zip(&row).enumerate() {
            if whole || self.used[new] || checks.not_null.contains(&position) {
                self.used[old] = true;
            }
        }
        let projection = table.projection_to_write(&columns);
        let update = Update {
            table,
            source,
            target,
            old,
            row,
            set,
            instead: written.instead.is_some(),
            triggers,
            generated,
            columns,
            copies: Vec::new(),
            moves,
            projection,
            checks,
            returning,
            returning_slots,
        };
        for (_, expr) in update.set.iter().chain(&update.generated) {
            self.mark(expr);
        }
        Ok((update, output))
    }

    /// What policies show of the rows that a statement writes, which has been bound.
    fn quals_of_target(
        &mut self,
        target: &Target,
        row: &[Slot],
        command: Option<PolicyCommand>,
    ) -> Result<Vec<Expr>> {
        let Some(securing) = self.secured_target(target)? else { return Ok(Vec::new()) };
        let reads = self.uses.is_read(target.uses());
        let table = target.table.clone();
        self.written_quals(&table, &row[..table.types.len()], securing, command, reads)
    }

    /// What policies say of a new row of a statement that has been bound; those for SELECT, if it reads the table and
    /// `may_read`.
    fn policies_of_new(
        &mut self,
        target: &Target,
        row: &[Slot],
        command: PolicyCommand,
        may_read: bool,
    ) -> Result<Option<Box<[PolicyCheck]>>> {
        let Some(securing) = self.secured_target(target)? else { return Ok(None) };
        let reads = may_read && self.uses.is_read(target.uses());
        let table = target.table.clone();
        let checks = self.checks_of_new(&table, row, securing, command, reads)?;
        Ok(Some(checks.into_boxed_slice()))
    }

    /// Whose policies count of what a statement writes.
    fn secured_target(&mut self, target: &Target) -> Result<Option<Securing>> {
        if target.instead.is_some() {
            return Ok(None);
        }
        self.secured_table(&target.table.desc, target.uses())
    }

    /// What is checked about rows that go, which these slots hold.
    fn checks_of_deleted(&mut self, table: &BoundTable, old: &[Slot]) -> Result<Checks> {
        let (_, referred) = self.lookup.foreign_keys(table.desc.oid)?;
        for key in &referred {
            for &column in &key.to_columns {
                self.used[old[column]] = true;
            }
            if !self.tables.iter().any(|(known, _)| *known == key.from.desc.oid) {
                self.tables.push((key.from.desc.oid, key.from.info.id));
            }
        }
        let (not_null, checks, references, late) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Checks { not_null, checks, references, referred, late, ..Checks::default() })
    }

    fn delete(&mut self, delete: &ast::Delete) -> Result<(Bound, Kind)> {
        if !delete.tables.is_empty() || delete.limit.is_some() || !delete.order_by.is_empty() {
            return Err(unsupported("this form of DELETE"));
        }
        let from = match &delete.from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => from,
        };
        let [item] = from.as_slice() else { return Err(unsupported("DELETE from several tables")) };
        if !item.joins.is_empty() {
            return Err(unsupported("DELETE from a join"));
        }
        let (target, leaf, seen) = self.target_scan(&item.relation, Privileges::DELETE, Event::Delete)?;
        let table = target.table.clone();
        let (number, old) = (leaf.number(), leaf.slots.clone());
        let using = delete.using.as_deref().unwrap_or_default();
        let rows = self.rows(&target, leaf, &seen, using, delete.selection.as_ref())?;
        let checks = match target.instead {
            None => self.checks_of_deleted(&table, &old)?,
            Some(_) => Checks::default(),
        };
        let (returning, returning_slots, output) = self.returning(delete.returning.as_deref())?;
        let triggers = self.triggers(&table, Event::Delete, None);
        if triggers.as_ref().is_some_and(|triggers| triggers.see_rows()) {
            old.iter().for_each(|&slot| self.used[slot] = true);
        }
        let mut quals = self.quals_of_target(&target, &old, Some(PolicyCommand::Delete))?;
        quals.extend(self.barriers_of(&target, &seen)?);
        let source = self.computed_rows(rows, &seen, quals);
        let instead = target.instead.is_some();
        let delete = Delete {
            table,
            source,
            target: number,
            old,
            instead,
            triggers,
            checks,
            returning,
            returning_slots,
        };
        let node = Node::ModifyTable(Box::new(Modify::Delete(delete)));
        Ok((Bound::new(node, output), Kind::Delete))
    }
}

/// Refuses to set a column that computes its values.
///
/// # Errors
/// 428C9.
fn refuse_update(target: &Target, at: usize) -> Result<()> {
    // what no view sets is refused behind this
    let Some(position) = target.base(at) else { return Ok(()) };
    let column = &target.table.desc.columns[position];
    let name = &column.name;
    let detail = match column.identity {
        _ if column.generated.is_some() => is_generated(name),
        Some(Identity::Always) => {
            format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.")
        }
        _ => return Ok(()),
    };
    let what = format!("column \"{name}\" can only be updated to DEFAULT");
    Err(SqlError::new(SqlState::GENERATED_ALWAYS, what).detail(detail))
}

#[cold]
fn element_to_default() -> SqlError {
    SqlError::unsupported("cannot set an array element to DEFAULT")
}

fn is_generated(name: &str) -> String {
    format!("Column \"{name}\" is a generated column.")
}

/// The rows that a statement writes, before they are planned.
struct Rows {
    tree: Tree,
    conditions: Vec<Expr>,
    /// The number of the scan of the table, if it is one.
    target: Option<usize>,
    /// Conditions that read what is computed of a row.
    late: Vec<Expr>,
}

/// The rows that an UPDATE has found, and the slots of what it makes of them.
struct Found {
    table: Arc<BoundTable>,
    source: Node,
    target: usize,
    old: Vec<Slot>,
    row: Vec<Slot>,
}

/// What several columns are given.
enum Given<'a> {
    Values(&'a [Ast]),
    Query(&'a ast::Query),
}

/// What stands behind a list of columns and `=`.
///
/// # Errors
/// 0A000 if it is neither a query nor a row.
fn row_given(ast: &Ast) -> Result<Given<'_>> {
    match ast {
        Ast::Nested(inner) if matches!(**inner, Ast::Nested(_) | Ast::Subquery(_)) => row_given(inner),
        Ast::Subquery(query) => Ok(Given::Query(query)),
        _ if let Some(values) = parts_of_row(ast) => Ok(Given::Values(values)),
        _ => Err(SqlError::unsupported(
            "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
        )),
    }
}

/// Whether an expression is the word DEFAULT.
fn is_default(ast: &Ast) -> bool {
    matches!(ast, Ast::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
