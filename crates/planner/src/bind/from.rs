//! FROM: tables in scope, and the tree of joins.

use super::names::{Naming, check_database, fold, split};
use super::scope::{Alias, Merged, ScopeColumn, ScopeTable, Shown};
use super::with::{Reading, Stage};
use super::{Binder, CteDef, Typed, unsupported};
use crate::functions::{SetFn, of_records};
use crate::plan::expr::Expr;
use crate::plan::joins::{Derived, Held, Leaf, Open, OpenPart, Tree};
use crate::plan::window::{Frame, OwnFn, Window, WindowFn};
use crate::plan::{Computed, Label, Node, SetCall, SetItem, Slot, column_types};
use scaledb_catalog::{Relation, TableDesc, ViewDesc};
use scaledb_parse::join_alias::alias_of;
use scaledb_parse::marked;
use scaledb_parse::reserved::not_a_name;
use scaledb_types::func::{Form, JsonRecords};
use scaledb_types::{Base, Context, Result, SqlError, SqlState, Type, common_type};
use sqlparser::ast::{
    Expr as Ast, FunctionArguments, JoinConstraint, JoinOperator, ObjectName, Spanned as _, TableAlias,
    TableAliasColumnDef, TableFactor, TableWithJoins,
};
use std::sync::Arc;

/// A table factor that was bound: its tree, and where its tables stand in the scope.
type Bound = (Tree, std::ops::Range<usize>);

impl Binder<'_> {
    /// Binds a FROM list. Conditions of joins become part of the tree.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from(&mut self, from: &[TableWithJoins]) -> Result<Tree> {
        let mut parts = Vec::new();
        for item in from {
            parts.push(self.joined(item)?.0);
        }
        self.check_aliases()?;
        Ok(match parts.len() {
            0 => Tree::Leaf(Leaf::other(Node::Result, Vec::new())),
            1 => parts.remove(0),
            _ => Tree::Inner(parts, Vec::new()),
        })
    }

    fn check_aliases(&mut self) -> Result<()> {
        let tables = &self.scope().tables;
        for (number, table) in tables.iter().enumerate() {
            let twice = |other: &&ScopeTable| other.name == table.name && other.schema == table.schema;
            if !table.name.is_empty() && tables[..number].iter().any(|other| twice(&other)) {
                let what = format!("table name \"{}\" specified more than once", table.name);
                return Err(SqlError::new(SqlState::DUPLICATE_ALIAS, what));
            }
        }
        Ok(())
    }

    fn joined(&mut self, item: &TableWithJoins) -> Result<Bound> {
        self.deeper(|binder| {
            let references = binder.recursive_references.len();
            let (mut tree, mut tables) = binder.factor(&item.relation)?;
            for join in &item.joins {
                let (kind, constraint) = match &join.join_operator {
                    JoinOperator::Join(c) | JoinOperator::Inner(c) => (Kind::Inner, c),
                    JoinOperator::CrossJoin(c) => (Kind::Inner, c),
                    JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (Kind::Left, c),
                    JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (Kind::Right, c),
                    JoinOperator::FullOuter(c) => (Kind::Full, c),
                    _ => return Err(unsupported("this kind of join")),
                };
                if matches!(kind, Kind::Right | Kind::Full) {
                    binder.refuse_recursion(references, "an outer join")?;
                }
                let right_references = binder.recursive_references.len();
                // the rows on the right do not depend on those on the left where these may be missing
                let barred = binder.scope().barred.len();
                if matches!(kind, Kind::Right | Kind::Full) {
                    let scope = binder.scope();
                    let left = scope.tables[tables.clone()].iter().flat_map(ScopeTable::named);
                    let left: Vec<Slot> = left.map(|column| column.slot).collect();
                    scope.barred.extend(left);
                }
                let right = binder.factor(&join.relation);
                binder.scope().barred.truncate(barred);
                let (right, right_tables) = right?;
                if matches!(kind, Kind::Left | Kind::Full) {
                    binder.refuse_recursion(right_references, "an outer join")?;
                }
                let on = binder.constraint(constraint, &tables, &right_tables, kind)?;
                if matches!(kind, Kind::Left | Kind::Full) {
                    binder.scope().may_miss(right_tables.clone());
                }
                if matches!(kind, Kind::Right | Kind::Full) {
                    binder.scope().may_miss(tables.clone());
                }
                tree = match kind {
                    Kind::Inner => match tree {
                        Tree::Inner(mut parts, mut conditions) => {
                            parts.push(right);
                            conditions.extend(on);
                            Tree::Inner(parts, conditions)
                        }
                        other => Tree::Inner(vec![other, right], on),
                    },
                    Kind::Left => Tree::Left(Box::new(tree), Box::new(right), on),
                    Kind::Right => Tree::Left(Box::new(right), Box::new(tree), on),
                    Kind::Full => Tree::Full(Box::new(tree), Box::new(right), on),
                };
                tables = tables.start..right_tables.end;
            }
            Ok((tree, tables))
        })
    }

    fn constraint(
        &mut self,
        constraint: &JoinConstraint,
        left: &std::ops::Range<usize>,
        right: &std::ops::Range<usize>,
        kind: Kind,
    ) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        match constraint {
            JoinConstraint::On(ast) => {
                // of this join it sees both sides, and nothing that a comma separates from them
                let scope = self.scope();
                let beside: Vec<ScopeTable> = scope.tables.drain(..left.start).collect();
                let (merges, aliases) = (scope.merges.clone(), scope.aliases.clone());
                scope.merges.retain(|merged| merged.tables.start >= left.start);
                scope.aliases.retain(|alias| alias.first >= left.start);
                let condition = self.condition(ast, "JOIN/ON");
                let scope = self.scope();
                scope.tables.splice(..0, beside);
                (scope.merges, scope.aliases) = (merges, aliases);
                condition?.into_conjuncts(&mut conditions);
            }
            JoinConstraint::None => {}
            JoinConstraint::Using(names) => {
                let (names, alias) = match names.split_last() {
                    Some((last, names)) if let Some(alias) = alias_of(last) => (names, Some(fold(alias))),
                    _ => (&names[..], None),
                };
                let names = names.iter().map(|name| Ok(split(name)?.1)).collect::<Result<Vec<String>>>()?;
                for (number, name) in names.iter().enumerate() {
                    if names[..number].contains(name) {
                        let what = format!("column name \"{name}\" appears more than once in USING clause");
                        return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
                    }
                    conditions.push(self.using(name, left, right, kind)?);
                }
                if let Some(alias) = alias {
                    self.name_join(alias, &names, left.start)?;
                }
            }
            JoinConstraint::Natural => {
                let others = self.scope().shown(right.clone());
                for column in self.scope().shown(left.clone()) {
                    if others.iter().any(|other| other.name == column.name) {
                        conditions.push(self.using(&column.name, left, right, kind)?);
                    }
                }
            }
        }
        Ok(conditions)
    }

    /// Gives the columns that USING has made the name of their join.
    fn name_join(&mut self, name: String, columns: &[String], first: usize) -> Result<()> {
        let scope = self.scope();
        let mut names = scope.tables.iter().map(|table| &table.name);
        if names.any(|known| *known == name) || scope.aliases.iter().any(|alias| alias.name == name) {
            let what = format!("table name \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_ALIAS, what));
        }
        let made = |column: &String| {
            let mut merges = scope.merges.iter().rev();
            merges.find(|merged| merged.shown.name == *column).map(|merged| merged.shown.clone())
        };
        let columns = columns.iter().filter_map(made).collect();
        scope.aliases.push(Alias { name, columns, first });
        Ok(())
    }

    /// Merges the columns of a name.
    fn using(
        &mut self,
        name: &str,
        left: &std::ops::Range<usize>,
        right: &std::ops::Range<usize>,
        kind: Kind,
    ) -> Result<Expr> {
        let a = self.common_column(name, left, "left")?;
        let b = self.common_column(name, right, "right")?;
        let ty = common_type(&[a.ty, b.ty], "JOIN/USING")?;
        let (a, b) = (Typed::new(a.expr, a.ty), Typed::new(b.expr, b.ty));
        for side in [&a, &b] {
            self.mark(&side.expr);
            side.expr.slots(&mut |slot| self.names_slot(slot));
        }
        let condition = self.comparison("=", a.clone(), b.clone())?.expr;
        let a = self.coerce(a, ty, Context::Implicit)?.expr;
        let b = self.coerce(b, ty, Context::Implicit)?.expr;
        // the side that is never missing has the value
        let expr = match kind {
            Kind::Inner if !matches!(a, Expr::Slot(_)) && matches!(b, Expr::Slot(_)) => b,
            Kind::Inner | Kind::Left => a,
            Kind::Right => b,
            Kind::Full => Expr::Coalesce(vec![a, b]),
        };
        let origin = self.origin(&expr);
        let scope = self.scope();
        let tables = left.start..right.end;
        for column in scope.tables[tables.clone()].iter_mut().flat_map(|table| &mut table.columns) {
            column.merged |= column.name == name;
        }
        scope.merges.retain(|merged| merged.shown.name != name || merged.tables.start < tables.start);
        let shown = Shown { name: name.to_owned(), expr, ty, origin };
        scope.merges.push(Merged { shown, tables });
        Ok(condition)
    }

    /// The column on one side of a join that USING names.
    fn common_column(&mut self, name: &str, tables: &std::ops::Range<usize>, side: &str) -> Result<Shown> {
        let mut columns = self.scope().shown(tables.clone());
        columns.retain(|column| column.name == name);
        if columns.len() > 1 {
            let what = format!("common column name \"{name}\" appears more than once in {side} table");
            return Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, what));
        }
        columns.pop().ok_or_else(|| {
            let what = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
            SqlError::new(SqlState::UNDEFINED_COLUMN, what)
        })
    }

    fn factor(&mut self, factor: &TableFactor) -> Result<Bound> {
        let first = self.scope().tables.len();
        let tree = match factor {
            TableFactor::Table { sample: Some(_), .. } => return Err(unsupported("TABLESAMPLE")),
            TableFactor::Derived { sample: Some(_), .. } => {
                let what = "syntax error at or near \"TABLESAMPLE\"";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            TableFactor::Table { name, alias, args: None, .. } => self.named_table(name, alias.as_ref())?,
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                self.table_function(name, &args.args, alias.as_ref(), *with_ordinality)?
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                self.table_function(name, args, alias.as_ref(), *with_ordinality)?
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
                let mut arrays = Vec::new();
                for array in array_exprs {
                    arrays.push(self.expr_decided(array)?);
                }
                self.set_function("unnest", arrays, alias.as_ref(), *with_ordinality)?
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                // views may have been made without
                if alias.is_none() && matches!(self.naming, Naming::Statement) {
                    return Err(no_alias(subquery));
                }
                // a query in FROM does not see its neighbours, unless it is lateral
                let hidden = (!lateral).then(|| {
                    let scope = self.scope();
                    let aliases = std::mem::take(&mut scope.aliases);
                    (std::mem::take(&mut scope.tables), std::mem::take(&mut scope.merges), aliases)
                });
                let alias_name = alias.as_ref().map_or_else(String::new, |alias| fold(&alias.name));
                self.inherited = self.locking.within(&alias_name);
                self.lifts = !self.inherited.is_empty();
                self.pulled = self.inherited.is_empty();
                let locked = self.locking.count();
                self.placed.repeated += usize::from(*lateral);
                let bound = self.deeper(|binder| binder.query_in_scope(subquery));
                self.placed.repeated -= usize::from(*lateral);
                if let Some(hidden) = hidden {
                    let scope = self.scope();
                    (scope.tables, scope.merges, scope.aliases) = hidden;
                }
                let (mut bound, outer) = bound?;
                let (rows, open) = (bound.rows.take(), bound.open.take());
                let (node, columns) = self.open_columns(bound, &outer);
                let mut slots: Vec<Slot> = Vec::new();
                columns.iter().for_each(|column| self.carry(column.slot, &mut slots));
                self.locking.carry_from(locked, &mut slots);
                self.add_table(None, alias.as_ref(), "", columns)?;
                tree_of(rows, open, node, slots, outer)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let (tree, tables) = self.joined(table_with_joins)?;
                let Some(alias) = alias else { return Ok((tree, tables)) };
                // its name hides those in it
                let mut columns = Vec::new();
                for Shown { name, expr, ty, origin } in self.scope().shown(tables.clone()) {
                    let Expr::Slot(slot) = expr else {
                        return Err(unsupported("an alias of a join that computes its columns"));
                    };
                    columns.push(ScopeColumn { name, ty, slot, origin, merged: false });
                }
                let scope = self.scope();
                scope.tables.truncate(tables.start);
                scope.merges.retain(|merged| merged.tables.start < tables.start);
                scope.aliases.retain(|alias| alias.first < tables.start);
                self.add_table(None, Some(alias), "", columns)?;
                tree
            }
            _ => return Err(unsupported("this kind of table")),
        };
        Ok((tree, first..self.scope().tables.len()))
    }

    /// Puts a table in scope, under its alias.
    pub fn add_table(
        &mut self,
        schema: Option<&str>,
        alias: Option<&TableAlias>,
        name: &str,
        mut columns: Vec<ScopeColumn>,
    ) -> Result<()> {
        let mut table = ScopeTable {
            schema: schema.map(str::to_owned),
            name: name.to_owned(),
            own: schema.is_some() && alias.is_none_or(|alias| alias.columns.is_empty()),
            ..ScopeTable::default()
        };
        if let Some(alias) = alias {
            if alias.name.quote_style == Some('\'') {
                return Err(not_a_name(&alias.name));
            }
            table.name = fold(&alias.name);
            table.schema = None;
            if alias.columns.len() > columns.len() {
                let what = format!(
                    "table \"{}\" has {} columns available but {} columns specified",
                    table.name,
                    columns.len(),
                    alias.columns.len()
                );
                return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what));
            }
            if schema.is_some() && !alias.columns.is_empty() {
                table.row_names = Some(columns.iter().map(|column| column.name.clone()).collect());
            }
            for (column, alias) in columns.iter_mut().zip(&alias.columns) {
                column.name = fold(&alias.name);
            }
        }
        table.columns = columns;
        self.scope().tables.push(table);
        Ok(())
    }

    /// What the table that was put in scope last is called.
    fn label(&mut self) -> Label {
        let last = self.scope().tables.last();
        last.map_or_else(Label::default, |table| Label {
            alias: table.name.clone(),
            columns: table.named().map(|column| column.name.clone()).collect(),
        })
    }

    fn named_table(&mut self, object: &ObjectName, alias: Option<&TableAlias>) -> Result<Tree> {
        check_database(object, self.lookup.database())?;
        let (schema, name) = split(object)?;
        if schema.is_none()
            && let Some(cte) = self.ctes.iter().rev().find(|cte| cte.name == name).cloned()
        {
            return self.cte_table(&cte, alias);
        }
        if schema.is_none()
            && matches!(self.naming, Naming::Statement)
            && let Some((new, desc)) = self.lookup.written(&name)
        {
            return self.written_table(new, desc, &name, alias);
        }
        let found = self.find_relation(schema.as_deref(), &name);
        let found = match found {
            Some(Relation::Table(desc)) if marked::is_materialized(object) => {
                desc.definition().map(Relation::View)
            }
            found => found,
        };
        match found {
            Some(Relation::Table(desc)) => {
                self.note_relation(object, desc.oid, alias.is_some());
                let alias_name = alias.map_or_else(|| name.clone(), |alias| fold(&alias.name));
                self.read_materialized(&desc, &alias_name)?;
                let mut leaf = self.scan_of(desc.oid, &alias_name)?;
                let columns = self.scope_columns(&leaf)?;
                let slots = columns.iter().map(|column| (column.origin.1, column.slot));
                let number = self.reads_relation(&Relation::Table(desc.clone()), slots);
                self.locks_relation(number, &alias_name);
                let locks = !self.locking.within(&alias_name).is_empty();
                self.secure_leaf(&mut leaf, locks)?;
                self.lock_leaf(&mut leaf, &alias_name);
                self.add_table(Some(&desc.schema), alias, &name, columns)?;
                Ok(Tree::Leaf(leaf))
            }
            Some(Relation::View(view)) => {
                self.note_relation(object, view.oid, alias.is_some());
                self.relations.push(view.oid);
                let query = scaledb_parse::query(&view.query)?;
                let alias_name = alias.map_or_else(|| name.clone(), |alias| fold(&alias.name));
                self.inherited = self.locking.within(&alias_name);
                self.lifts = !self.inherited.is_empty();
                self.pulled = self.inherited.is_empty();
                let locked = self.locking.count();
                let by = self.reader_behind(&view);
                let bound =
                    self.within_view(&view, by, |binder| binder.deeper(|binder| binder.query(&query)));
                let mut bound = bound?;
                let (mut rows, mut open) = (bound.rows.take(), bound.open.take());
                if view.security_barrier == Some(true) {
                    open = barred(rows.take(), open);
                }
                let (node, mut columns) = self.open_columns(bound, &[]);
                for (column, (name, ..)) in columns.iter_mut().zip(&view.columns) {
                    column.name.clone_from(name);
                }
                let mut slots = columns.iter().map(|column| column.slot).collect();
                // another view shows what this one had when that was made: new columns stand behind
                let later = match self.known_columns.iter().find(|(of, _)| *of == view.oid) {
                    Some(&(_, end)) => {
                        columns.split_off(columns.len().min(usize::from(end.unsigned_abs()) - 1))
                    }
                    None => Vec::new(),
                };
                let all = columns.iter().chain(&later);
                let numbered = all.zip(1..).map(|(column, number)| (number, column.slot));
                let number = self.reads_relation(&Relation::View(view.clone()), numbered);
                self.locks_relation(number, &alias_name);
                self.locking.carry_from(locked, &mut slots);
                self.add_table(Some(&view.schema), alias, &name, columns)?;
                // they come from the tables that it reads
                if let Some(table) = self.scope().tables.last_mut() {
                    table.view = table.own.then_some(view.oid);
                    table.own = false;
                    table.with_later(later);
                }
                Ok(tree_of(rows, open, node, slots, Vec::new()))
            }
            Some(Relation::Sequence(sequence)) => {
                self.note_relation(object, sequence.oid, alias.is_some());
                self.relations.push(sequence.oid);
                let slots = self.new_slots(3);
                self.reads_relation(&Relation::Sequence(sequence.clone()), std::iter::empty());
                let names = [("last_value", Type::INT8), ("log_cnt", Type::INT8), ("is_called", Type::BOOL)];
                let columns =
                    names.iter().zip(&slots).map(|((name, ty), &slot)| column(name, *ty, slot)).collect();
                self.add_table(Some(&sequence.schema), alias, &name, columns)?;
                let rows = Computed::Sequence(sequence.oid);
                let node = Node::ComputedScan { rows, slots: slots.clone(), label: self.label() };
                Ok(Tree::Leaf(Leaf::other(node, slots)))
            }
            None => {
                let found = self.system_table(schema.as_deref(), &name, alias);
                found.map_err(|error| self.at(object.span(), error))
            }
        }
    }

    /// Whose privileges count in the query of a view: what the view reads, its owner may read; or, behind a view of its
    /// invoker, the role that runs the statement, even if another view is around it.
    pub(super) fn reader_behind(&self, view: &ViewDesc) -> Option<u32> {
        (view.security_invoker != Some(true)).then(|| self.catalog.owner_of(view.oid))
    }

    /// Binds something of a view, which sees neither the query around it nor its parameters, for a reader.
    pub(super) fn within_view<R>(
        &mut self,
        view: &Arc<ViewDesc>,
        by: Option<u32>,
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let scopes = std::mem::take(&mut self.scopes);
        let ctes = std::mem::take(&mut self.ctes);
        let named = std::mem::take(&mut self.named);
        let noted = self.noted.take();
        let known = std::mem::replace(&mut self.known_columns, view.known.clone());
        let before = self.uses.by();
        self.uses.act_for(by);
        // its names mean what they meant when it was made
        let result = self.apart(Naming::View(view.clone()), f);
        self.uses.act_for(before);
        self.known_columns = known;
        self.noted = noted;
        self.scopes = scopes;
        self.ctes = ctes;
        self.named = named;
        result
    }

    fn system_table(&mut self, schema: Option<&str>, name: &str, alias: Option<&TableAlias>) -> Result<Tree> {
        let in_path = |wanted: &str| self.lookup.search_path().iter().any(|schema| schema == wanted);
        let found = self.lookup.system_table(schema, name).or_else(|| match schema {
            None if in_path("information_schema") => {
                self.lookup.system_table(Some("information_schema"), name)
            }
            _ => None,
        });
        let Some((source, names)) = found else {
            return Err(self.undefined(schema, name));
        };
        self.whole_catalog = true;
        // behind its columns it has the oid of the catalog itself
        let slots = self.new_slots(names.len() + 1);
        let columns = names.iter().zip(&slots).map(|((name, ty), &slot)| column(name, *ty, slot)).collect();
        self.add_table(schema.or(Some("pg_catalog")), alias, name, columns)?;
        if let Some(table) = self.scope().tables.last_mut() {
            table.system.push(column("tableoid", Type::OID, slots[names.len()]));
        }
        let node = Node::ComputedScan { rows: source, slots: slots.clone(), label: self.label() };
        Ok(Tree::Leaf(Leaf::other(node, slots)))
    }

    /// The rows that a statement has written, as a trigger sees them: without what is hidden.
    fn written_table(
        &mut self,
        new: bool,
        desc: &TableDesc,
        name: &str,
        alias: Option<&TableAlias>,
    ) -> Result<Tree> {
        let types = column_types(self.catalog, desc)?;
        let slots = self.new_slots(desc.visible().count());
        let named = desc.columns.iter().zip(types).filter(|(of, _)| !of.hidden);
        let columns = named.zip(&slots).map(|((of, ty), &slot)| column(&of.name, ty, slot)).collect();
        self.add_table(None, alias, name, columns)?;
        let rows = Computed::Written { new };
        let node = Node::ComputedScan { rows, slots: slots.clone(), label: self.label() };
        Ok(Tree::Leaf(Leaf::other(node, slots)))
    }

    fn cte_table(&mut self, cte: &CteDef, alias: Option<&TableAlias>) -> Result<Tree> {
        self.nests(cte.height + 1)?;
        let recursive = match cte.stage {
            Stage::Whole { recursive } => recursive,
            Stage::Silent => {
                let what = format!("WITH query \"{}\" does not have a RETURNING clause", cte.name);
                return Err(SqlError::unsupported(what));
            }
            Stage::Recursive => {
                self.refer_recursively(cte)?;
                false
            }
            Stage::Barred(bar) => return Err(bar.error(&cte.name)),
        };
        if let Some(bound) = self.placed.take(cte.number) {
            return self.placed_cte(cte, bound, alias);
        }
        let slots = self.new_slots(cte.columns.len() + cte.hidden.len());
        self.records.extend(cte.records.iter().map(|(at, fields)| (slots[*at], Arc::clone(fields))));
        // by others than itself
        if matches!(cte.stage, Stage::Whole { .. }) {
            // not where it would run for each row of others, nor beside rows that are locked and read again
            let here = |&(_, repeated): &(usize, usize)| repeated == self.placed.repeated;
            let place = cte.place.filter(here).map(|(defined, _)| defined);
            let place = place.filter(|_| self.locking.is_empty());
            let reading = Reading { slots: slots.clone(), within: self.within.clone(), place };
            self.uses.reads_cte(cte.number);
            self.placed.note_read(cte.number);
            self.read_ctes.entry(cte.number).or_default().push(reading);
        }
        let columns =
            cte.columns.iter().zip(&slots).map(|((name, ty), &slot)| column(name, *ty, slot)).collect();
        self.add_table(None, alias, &cte.name, columns)?;
        let hidden = cte.hidden.iter().zip(&slots[cte.columns.len()..]);
        let hidden =
            hidden.flat_map(|((name, own, ty), &slot)| [column(name, *ty, slot), column(own, *ty, slot)]);
        if let Some(table) = self.scope().tables.last_mut() {
            table.system.extend(hidden);
        }
        let label = self.label();
        let node = Node::CteScan { number: cte.number, slots: slots.clone(), recursive, label };
        Ok(Tree::Leaf(Leaf::other(node, slots)))
    }

    /// A WITH query that is planned with the tables around it.
    fn placed_cte(
        &mut self,
        cte: &CteDef,
        mut bound: super::Bound,
        alias: Option<&TableAlias>,
    ) -> Result<Tree> {
        self.uses.reads_cte(cte.number);
        let (rows, open) = (bound.rows.take(), bound.open.take());
        let (node, mut columns) = self.open_columns(bound, &[]);
        let mut slots: Vec<Slot> = Vec::new();
        for (column, (name, ty)) in columns.iter_mut().zip(&cte.columns) {
            self.carry(column.slot, &mut slots);
            column.name.clone_from(name);
            (column.ty, column.origin) = (*ty, (0, 0));
        }
        let records = cte.records.iter();
        self.records.extend(records.map(|(at, fields)| (columns[*at].slot, Arc::clone(fields))));
        self.add_table(None, alias, &cte.name, columns)?;
        Ok(tree_of(rows, open, node, slots, Vec::new()))
    }

    /// A scan of a table with all its columns.
    ///
    /// # Errors
    /// The database's.
    pub fn scan_of(&mut self, oid: u32, alias: &str) -> Result<Leaf> {
        let table = self.lookup.table(oid)?;
        if !self.tables.iter().any(|(known, _)| *known == oid) {
            self.tables.push((oid, table.info.id));
        }
        let slots = self.new_slots(table.types.len());
        let number = self.scans;
        self.scans += 1;
        let partial = self.predicates(&table, &slots)?;
        let computed = self.key_expressions(&table, &slots)?;
        let only = |position: usize| {
            let indexes = partial.iter().filter(|(number, _)| {
                table.secondary[*number].iter().any(|column| column.position == position)
            });
            indexes.map(|(_, predicate)| predicate.clone()).next()
        };
        let held = |(position, expr)| Held { slot: slots[position], expr, only: only(position) };
        let computed = computed.into_iter().map(held).collect();
        Ok(Leaf { partial, computed, ..Leaf::table(table, alias.to_owned(), number, slots) })
    }

    /// The columns of a scan, for the scope.
    pub fn scope_columns(&mut self, leaf: &Leaf) -> Result<Vec<ScopeColumn>> {
        let table = leaf.scanned().ok_or_else(|| SqlError::internal("a scan without a table"))?;
        let columns = table.desc.columns.iter().zip(&table.types).zip(&leaf.slots);
        Ok(columns
            .filter(|((desc, _), _)| !desc.hidden)
            .map(|((desc, &ty), &slot)| ScopeColumn {
                name: desc.name.clone(),
                ty,
                slot,
                origin: (table.desc.oid, desc.attnum),
                merged: false,
            })
            .collect())
    }

    fn table_function(
        &mut self,
        name: &ObjectName,
        args: &[sqlparser::ast::FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<Tree> {
        if marked::mark_of(name) == Some(marked::ROWS) {
            return self.rows_from(args, alias, ordinality);
        }
        if self.names_routine(name)
            && let Some((call, result)) = self.routine_rows(name, args, (alias, ordinality))?
        {
            let (_, name) = split(name)?;
            return self.rows_of_function(&name, call, result, alias, ordinality);
        }
        let name = super::expr::last_name(name)?;
        let mut bound = Vec::new();
        for arg in args {
            bound.push(self.arg(arg)?);
        }
        if let (Some(function), 1) = (of_records(&name), bound.len()) {
            return self.records(function, bound, alias, ordinality);
        }
        self.set_function(&name, bound, alias, ordinality)
    }

    /// `jsonb_to_recordset(..) AS x (a int, b text)` and its like: objects as rows of these columns.
    fn records(
        &mut self,
        (name, takes, set): (&'static str, Type, bool),
        args: Vec<super::Typed>,
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<Tree> {
        let mut args = self.args_as(name, args, &[takes])?;
        let Some(arg) = args.pop() else { return Err(SqlError::internal("a function without its argument")) };
        let defined = |column: &TableAliasColumnDef| column.data_type.is_some();
        let Some(alias) =
            alias.filter(|alias| !alias.columns.is_empty() && alias.columns.iter().all(defined))
        else {
            let what = "a column definition list is required for functions returning \"record\"";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        };
        if ordinality {
            let what = "WITH ORDINALITY cannot be used with a column definition list";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let (mut members, mut columns, mut exprs) = (Vec::new(), Vec::new(), Vec::new());
        let raw = self.new_slots(alias.columns.len());
        for (definition, &slot) in alias.columns.iter().zip(&raw) {
            let Some(ast) = &definition.data_type else { continue };
            let (ty, column_name) = (self.data_type(ast)?, fold(&definition.name));
            if members.iter().any(|(known, _): &(scaledb_types::Text, Form)| **known == *column_name) {
                let what = format!("column name \"{column_name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
            }
            let (form, of_form) = match ty.base {
                _ if ty.array => (Form::Array, Type::TEXT),
                Base::Json => (Form::Json, Type::JSON),
                Base::Jsonb => (Form::Jsonb, Type::JSONB),
                _ => (Form::Text, Type::TEXT),
            };
            members.push((column_name.as_str().into(), form));
            // as the input of the type, so that what is too long is refused and not cut
            let typed = self.coerce(Typed::new(Expr::Slot(slot), of_form), ty.plain(), Context::Explicit)?;
            let typed = self.coerce(typed, ty, Context::Assignment)?;
            self.used[slot] = true;
            let value = self.slot();
            exprs.push((typed.expr, value));
            columns.push(column(&column_name, ty, value));
        }
        let slots: Vec<Slot> = columns.iter().map(|column| column.slot).collect();
        let mut outer = Vec::new();
        arg.slots(&mut |slot| outer.push(slot));
        outer.iter().for_each(|&slot| self.used[slot] = true);
        let call = SetCall::new(SetFn::Records(Arc::new(JsonRecords { set, members }), name), vec![arg]);
        self.add_table(None, Some(alias), name, columns)?;
        let rows = Node::FunctionScan { call, slots: raw, ordinality: None, label: self.label() };
        let node = Node::Project { input: Box::new(rows), exprs };
        Ok(Tree::Leaf(Leaf::lateral(node, slots, outer)))
    }

    /// ROWS FROM: rows of several functions side by side, NULL where one has ended before the others.
    fn rows_from(
        &mut self,
        functions: &[sqlparser::ast::FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<Tree> {
        let mut calls = Vec::with_capacity(functions.len());
        for function in functions {
            let Ast::Function(function) = super::function::plain_arg(function)? else {
                return Err(unsupported("what is no function in ROWS FROM"));
            };
            let FunctionArguments::List(list) = &function.args else {
                return Err(unsupported("this function in ROWS FROM"));
            };
            calls.push((&function.name, &list.args));
        }
        if let [(name, args)] = calls[..] {
            return self.table_function(name, args, alias, ordinality);
        }
        let (mut sets, mut columns, mut all, mut outer) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (name, args) in calls {
            let own = match self.names_routine(name) {
                true => self.routine_rows(name, args, (None, false))?,
                false => None,
            };
            let name = super::expr::last_name(name)?;
            let (call, result) = match own {
                Some(found) => found,
                None => {
                    let args = self.args(args)?;
                    self.set_call(&name, args)?
                }
            };
            call.args().iter().for_each(|arg| arg.slots(&mut |slot| outer.push(slot)));
            let slots = self.new_slots(result.len());
            for ((column_name, ty), &slot) in result.into_iter().zip(&slots) {
                let column_name = if column_name.is_empty() { &name } else { &column_name };
                columns.push(column(column_name, ty, slot));
                self.used[slot] = true;
            }
            all.extend(&slots);
            sets.push(SetItem { call, slots, row: None });
        }
        outer.iter().for_each(|&slot| self.used[slot] = true);
        let mut node = Node::ProjectSet { input: Box::new(Node::Result), sets };
        if ordinality {
            let slot = self.slot();
            self.used[slot] = true;
            columns.push(column("ordinality", Type::INT8, slot));
            let function = WindowFn::Own(OwnFn::RowNumber, Vec::new());
            let (partition, order, frame) = (Vec::new(), Vec::new(), Frame::DEFAULT);
            let windows = vec![Window { function, partition, order, frame, slot }];
            node = Node::WindowAgg { input: Box::new(node), windows, carry: all.clone() };
            all.push(slot);
        }
        self.add_table(None, alias, "", columns)?;
        Ok(Tree::Leaf(Leaf::lateral(node, all, outer)))
    }

    fn set_function(
        &mut self,
        name: &str,
        args: Vec<super::Typed>,
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<Tree> {
        if alias.is_some_and(|alias| alias.columns.iter().any(|column| column.data_type.is_some())) {
            let what = "a column definition list is only allowed for functions returning \"record\"";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let (call, result) = self.set_call(name, args)?;
        self.rows_of_function(name, call, result, alias, ordinality)
    }

    /// The rows of a function: its name, its call, and the names and types of its columns.
    fn rows_of_function(
        &mut self,
        name: &str,
        call: SetCall,
        result: Vec<(String, Type)>,
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<Tree> {
        let scalar = result.len() == 1 && !ordinality;
        let mut columns = Vec::new();
        let mut slots = Vec::new();
        for (column_name, ty) in result {
            let slot = self.slot();
            // a function of one column names it as itself
            let column_name = match (&column_name[..], alias) {
                ("", Some(alias)) if alias.columns.is_empty() => fold(&alias.name),
                ("", _) => name.to_owned(),
                _ => column_name,
            };
            columns.push(column(&column_name, ty, slot));
            slots.push(slot);
        }
        let mut all = slots.clone();
        let mut number = None;
        if ordinality {
            let slot = self.slot();
            columns.push(column("ordinality", Type::INT8, slot));
            all.push(slot);
            number = Some(slot);
        }
        let mut outer = Vec::new();
        call.args().iter().for_each(|arg| arg.slots(&mut |slot| outer.push(slot)));
        outer.iter().for_each(|&slot| self.used[slot] = true);
        self.add_table(None, alias, name, columns)?;
        if let Some(table) = self.scope().tables.last_mut() {
            table.scalar = scalar;
        }
        let node = Node::FunctionScan { call, slots, ordinality: number, label: self.label() };
        Ok(Tree::Leaf(Leaf::lateral(node, all, outer)))
    }
}

fn column(name: &str, ty: Type, slot: Slot) -> ScopeColumn {
    ScopeColumn { name: name.to_owned(), ty, slot, origin: (0, 0), merged: false }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Inner,
    Left,
    Right,
    Full,
}

/// 42601: a query in FROM without an alias.
#[cold]
fn no_alias(query: &sqlparser::ast::Query) -> SqlError {
    let (what, form) = match &*query.body {
        sqlparser::ast::SetExpr::Values(_) => ("VALUES", "VALUES"),
        _ => ("subquery", "SELECT"),
    };
    SqlError::new(SqlState::SYNTAX_ERROR, format!("{what} in FROM must have an alias"))
        .hint(format!("For example, FROM ({form} ...) [AS] foo."))
}

/// What of the query of a security barrier is left to plan: conditions from outside are not mixed with its own.
fn barred(rows: Option<(Tree, Vec<Expr>)>, open: Option<Box<Open>>) -> Option<Box<Open>> {
    let Some((tree, conditions)) = rows else {
        return open.map(|open| Box::new(Open { barrier: true, ..*open }));
    };
    let mut slots = Vec::new();
    tree.slots(&mut slots);
    let part = OpenPart::Rows(Box::new(tree), conditions);
    Some(Box::new(Open { pushable: slots.into_iter().collect(), barrier: true, part }))
}

/// A query in FROM, with the slots of its columns: its tables and what is computed of their rows, if these are planned
/// together with others; else its plan.
fn tree_of(
    rows: Option<(Tree, Vec<Expr>)>,
    open: Option<Box<Open>>,
    node: Node,
    slots: Vec<Slot>,
    outer: Vec<Slot>,
) -> Tree {
    let Some((tree, conditions)) = rows else {
        return Tree::Leaf(Leaf { open, ..Leaf::lateral(node, slots, outer) });
    };
    let exprs = if let Node::Project { exprs, .. } = node { exprs } else { Vec::new() };
    Tree::Derived(Box::new(Derived { tree, conditions, exprs, outer }))
}
