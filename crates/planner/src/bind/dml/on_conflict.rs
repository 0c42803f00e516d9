//! ON CONFLICT of an INSERT.

use super::target::{Seen, Target};
use crate::bind::Binder;
use crate::bind::names::{fold, split};
use crate::bind::scope::{ScopeColumn, ScopeTable};
use crate::optimize;
use crate::plan::expr::Expr;
use crate::plan::secured::{About, PolicyCheck};
use crate::plan::trigger::Event;
use crate::plan::{ConflictUpdate, IndexRef, OnConflict, Slot};
use scaledb_catalog::{IndexDesc, PolicyCommand};
use scaledb_parse::marked;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{self, Assignment, ConflictTarget, Expr as Ast};

impl Binder<'_> {
    /// ON CONFLICT: the index whose keys collide, any if it names none, and what is done then.
    pub(super) fn on_conflict(
        &mut self,
        target: &Target,
        shown: &str,
        (row, seen): (&[Slot], &Seen),
        on: &ast::OnConflict,
    ) -> Result<OnConflict> {
        let table = &target.table;
        let marked::Conflict { targets, predicate, set: action } = marked::conflict(&on.action);
        let index = match &on.conflict_target {
            None => None,
            Some(ConflictTarget::Columns(columns)) => {
                Some(self.conflict_index((target, shown), (row, seen), (columns, &targets), predicate)?)
            }
            Some(ConflictTarget::OnConstraint(name)) => {
                let index = conflict_constraint(target, name)?;
                // as if its columns were named
                for column in table.shown_columns(index) {
                    self.names_slot(row[column.position]);
                }
                Some(index)
            }
        };
        let update = match action {
            None => None,
            Some(_) if index.is_none() => {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                )
                .hint("For example, ON CONFLICT (column_name)."));
            }
            Some(_)
                if matches!(index, Some(IndexRef::Secondary(number))
                if table.desc.indexes[number].exclusion.is_some()) =>
            {
                let what = "ON CONFLICT DO UPDATE not supported with exclusion constraints";
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
            }
            Some((assignments, selection)) => {
                Some(Box::new(self.conflict_update(target, shown, (row, seen), assignments, selection)?))
            }
        };
        Ok(OnConflict { index, update })
    }

    /// The unique index of these columns; or, if there are any, of these targets, which may be expressions.
    fn conflict_index(
        &mut self,
        (target, shown): (&Target, &str),
        (row, seen): (&[Slot], &Seen),
        (columns, targets): (&[ast::Ident], &[&Ast]),
        predicate: Option<&Ast>,
    ) -> Result<IndexRef> {
        let table = &target.table;
        let mut wanted = Vec::new();
        let mut expressions = Vec::new();
        if target.instead.is_some() {
            return Err(no_fitting_index());
        }
        let mut add = |expr: Expr| match row.iter().position(|&slot| expr.same(&Expr::Slot(slot))) {
            Some(position) => wanted.push(position),
            None => expressions.push(expr),
        };
        for ast in targets {
            let typed = self.over_seen(shown, seen, |binder| binder.in_index(ast))?;
            add(seen.expanded(typed.expr));
        }
        for column in columns.iter().filter(|_| targets.is_empty()) {
            let at = target.position(&fold(column)).map_err(|error| self.at(column.span, error))?;
            self.names_slot(seen.slots[at]);
            add(seen.expanded(Expr::Slot(seen.slots[at])));
        }
        let held = self.key_expressions(table, row)?;
        wanted.sort_unstable();
        wanted.dedup();
        let fits = |index: IndexRef| {
            let own = table.shown_columns(index).iter().map(|column| column.position);
            let (computed, mut has): (Vec<usize>, Vec<usize>) =
                own.partition(|&position| table.desc.columns[position].hidden);
            has.sort_unstable();
            let is = |position: usize, expr: &Expr| {
                held.iter().any(|(own, computes)| *own == position && computes.same(expr))
            };
            has == wanted
                && computed.iter().all(|&own| expressions.iter().any(|expr| is(own, expr)))
                && expressions.iter().all(|expr| computed.iter().any(|&own| is(own, expr)))
        };
        let unique = |&n: &usize| table.desc.indexes[n].unique && table.desc.indexes[n].predicate.is_none();
        let whole = (0..table.secondary.len()).filter(unique);
        let partial = self.fitting_partial((target, shown), (row, seen), predicate)?;
        let all = std::iter::once(IndexRef::Primary);
        let mut all = all.chain(whole.chain(partial).map(IndexRef::Secondary));
        all.find(|&index| fits(index)).ok_or_else(no_fitting_index)
    }

    /// DO UPDATE: its scope has the row that is there, under the table's name, and the one that was to be inserted.
    fn conflict_update(
        &mut self,
        target: &Target,
        shown: &str,
        (row, seen): (&[Slot], &Seen),
        assignments: &[Assignment],
        selection: Option<&Ast>,
    ) -> Result<ConflictUpdate> {
        let table = &target.table;
        let existing = self.new_slots(table.types.len());
        existing.iter().for_each(|&slot| self.used[slot] = true);
        let there = self.seen(target, &existing)?;
        self.scope().tables = vec![
            ScopeTable {
                schema: Some(target.schema().to_owned()),
                name: shown.to_owned(),
                columns: there.columns.clone(),
                system: Vec::new(),
                scalar: false,
                own: false,
                view: None,
                later: Vec::new(),
                row_names: None,
            },
            ScopeTable {
                schema: None,
                name: "excluded".to_owned(),
                system: Vec::new(),
                scalar: false,
                own: false,
                view: None,
                later: Vec::new(),
                row_names: None,
                // by its qualified name only
                columns: seen
                    .columns
                    .iter()
                    .map(|column| ScopeColumn { merged: true, ..column.clone() })
                    .collect(),
            },
        ];
        let (set, generated) = self.assignments(target, assignments, &there.slots, row)?;
        let filter = match selection {
            Some(selection) => Some(self.condition(selection, "WHERE")?),
            None => None,
        };
        let mut exprs = set.iter().map(|(_, expr)| expr).chain(&filter);
        self.writes |= exprs.any(Expr::needs_worker);
        let mut columns: Vec<usize> = set.iter().chain(&generated).map(|(column, _)| *column).collect();
        let mut generated = generated;
        let triggers = self.triggers(table, Event::Update, Some(&columns));
        if triggers.as_ref().is_some_and(|triggers| !triggers.before_row.is_empty()) {
            // they may change any column
            columns = (0..table.types.len()).collect();
            generated = self.generated(table, row, None)?;
        }
        let mut computed = self.computed_of(&there);
        computed.extend(self.computed_of(seen));
        self.writes |= computed.iter().any(|(_, expr)| expr.needs_worker());
        let policies = None;
        Ok(ConflictUpdate { existing, computed, set, generated, columns, filter, policies, triggers })
    }

    /// What policies say of the row that is in the way, and of what becomes of it.
    pub(super) fn policies_of_conflict(
        &mut self,
        target: &Target,
        existing: &[Slot],
        row: &[Slot],
    ) -> Result<Option<Box<[PolicyCheck]>>> {
        let Some(securing) = self.secured_target(target)? else { return Ok(None) };
        let update = (PolicyCommand::Update, self.uses.is_read(target.uses()));
        let mut checks = self.checks_of_old(&target.table, existing, securing, update, About::InTheWay)?;
        checks.extend(self.checks_of_new(&target.table, row, securing, update.0, update.1)?);
        Ok(Some(checks.into_boxed_slice()))
    }

    /// The unique indexes of some rows whose condition follows from that of ON CONFLICT.
    fn fitting_partial(
        &mut self,
        (target, shown): (&Target, &str),
        (row, seen): (&[Slot], &Seen),
        predicate: Option<&Ast>,
    ) -> Result<Vec<usize>> {
        let Some(predicate) = predicate else { return Ok(Vec::new()) };
        let mut given = Vec::new();
        let table = &target.table;
        let condition = self.over_seen(shown, seen, |binder| binder.condition(predicate, "WHERE"))?;
        seen.expanded(condition).into_conjuncts(&mut given);
        let mut partial = self.predicates(table, row)?;
        partial.retain(|(number, wanted)| {
            table.desc.indexes[*number].unique && optimize::implied(&given, wanted)
        });
        Ok(partial.into_iter().map(|(number, _)| number).collect())
    }
}

/// The unique index of a constraint of this name.
fn conflict_constraint(target: &Target, name: &ast::ObjectName) -> Result<IndexRef> {
    let (_, name) = split(name)?;
    let table = &target.table;
    let unknown = || {
        let what = format!("constraint \"{name}\" for table \"{}\" does not exist", target.name());
        SqlError::new(SqlState::UNDEFINED_OBJECT, what)
    };
    // a view has none, whatever its table has
    if target.is_view() {
        return Err(unknown());
    }
    if table.desc.primary_key.as_ref().is_some_and(|key| key.name == name) {
        return Ok(IndexRef::Primary);
    }
    let named = |index: &IndexDesc| index.constraint && index.name == name;
    table.desc.indexes.iter().position(named).map(IndexRef::Secondary).ok_or_else(unknown)
}

#[cold]
fn no_fitting_index() -> SqlError {
    SqlError::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        "there is no unique or exclusion constraint matching the ON CONFLICT specification",
    )
}
