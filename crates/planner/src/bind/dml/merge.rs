//! MERGE: rows of a source, each with the row of the table that matches it, and what is done with them.

use super::insert::{Column, Overriding, Targets, positions_of_parts};
use super::target::{Seen, Target};
use super::{Found, Generated};
use crate::bind::names::split;
use crate::bind::{Binder, Bound};
use crate::optimize::{self, Asked};
use crate::plan::expr::Expr;
use crate::plan::joins::{Leaf, Tree};
use crate::plan::secured::{About, PolicyCheck};
use crate::plan::trigger::{Event, Triggers};
use crate::plan::{
    BoundTable, Checks, Delete, Insert, Kind, Locked, Merge, MergeAction, MergeClause, Modify, Node, Slot,
};
use scaledb_catalog::{PolicyCommand, Privileges, Relation};
use scaledb_parse::marked;
use scaledb_parse::merge::is_nothing;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{
    self, Expr as Ast, MergeClauseKind, MergeInsertExpr, MergeInsertKind, Spanned as _, TableFactor,
    TableWithJoins,
};

/// What a clause does, before it is known what the others do.
enum Action {
    Nothing,
    Insert(Box<Insert>),
    /// The slots of the new row, what is set of it, and the generated columns that change with that.
    Update(Vec<Slot>, Vec<(usize, Expr)>, Generated),
    Delete,
}

impl Action {
    fn event(&self) -> Option<Event> {
        match self {
            Self::Nothing => None,
            Self::Insert(_) => Some(Event::Insert),
            Self::Update(..) => Some(Event::Update),
            Self::Delete => Some(Event::Delete),
        }
    }
}

/// A WHEN clause that is bound: whether it is for rows that match, its condition, and what it does.
type When = (bool, Option<Expr>, Action);

impl Binder<'_> {
    /// MERGE: the rows of its source, joined to those of its table.
    pub(super) fn merge(&mut self, merge: &ast::Merge) -> Result<(Bound, Kind)> {
        check_reachable(&merge.clauses)?;
        self.check_merged(&merge.table)?;
        let (target, mut leaf, _) = self.target_scan(&merge.table, Privileges::NONE, Event::Update)?;
        let table = target.table.clone();
        let (number, old) = (leaf.number(), leaf.slots.clone());
        let name = self.slot();
        self.used[name] = true;
        leaf.lock(Locked { name, loose: false });
        self.hide_target();
        let source = TableWithJoins { relation: merge.source.clone(), joins: Vec::new() };
        let source = self.from(std::slice::from_ref(&source))?;
        self.show_target()?;
        let mut on = Vec::new();
        self.condition(&merge.on, "JOIN/ON")?.into_conjuncts(&mut on);
        let mut clauses = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            clauses.push(self.when(&target, &old, clause)?);
        }
        // rows of the source that match nothing are asked for by INSERT alone
        let inserts = clauses.iter().any(|(.., action)| matches!(action, Action::Insert(_)));
        let triggers = self.merge_triggers(&table, &clauses);
        let sees_rows = triggers.iter().any(|triggers| triggers.see_rows());
        let mut keeps_old = sees_rows;
        let mut done = Vec::with_capacity(clauses.len());
        for (matched, condition, action) in clauses {
            let own = of_event(&triggers, action.event());
            let policies = self.policies_of_merged(&target, &old, action.event())?;
            let action = match action {
                Action::Nothing => MergeAction::Nothing,
                Action::Insert(mut insert) => {
                    insert.checks.policies =
                        self.policies_of_new(&target, &insert.row, PolicyCommand::Insert, false)?;
                    MergeAction::Insert(Box::new(Insert { triggers: own, ..*insert }))
                }
                Action::Update(row, set, generated) => {
                    let (old, source) = (old.clone(), Node::Result);
                    let found = Found { table: table.clone(), source, target: number, old, row };
                    let seen = (&target, Seen::default());
                    let (update, _) = self.changed(found, (set, generated), own, seen, None)?;
                    keeps_old |= update.moves || update.checks.compares();
                    MergeAction::Update(Box::new(update))
                }
                Action::Delete => {
                    let checks = self.checks_of_deleted(&table, &old)?;
                    keeps_old |= !checks.referred.is_empty();
                    let delete = Delete {
                        table: table.clone(),
                        source: Node::Result,
                        target: number,
                        old: old.clone(),
                        instead: false,
                        triggers: own,
                        checks,
                        returning: None,
                        returning_slots: Vec::new(),
                    };
                    MergeAction::Delete(Box::new(delete))
                }
            };
            done.push(MergeClause { matched, condition, policies, action });
        }
        // a trigger of one clause may change the rows of another
        if sees_rows {
            old.iter().for_each(|&slot| self.used[slot] = true);
        }
        leaf.secured = self.quals_of_target(&target, &old, None)?;
        let source = self.merged_rows(source, leaf, on, inserts);
        let clauses = done;
        let merge = Merge { table, source, target: number, name, old, keeps_old, clauses, triggers };
        let node = Node::ModifyTable(Box::new(Modify::Merge(merge)));
        Ok((Bound::new(node, Vec::new()), Kind::Merge))
    }

    /// What policies say of a row that matches, before it is changed or deleted.
    fn policies_of_merged(
        &mut self,
        target: &Target,
        old: &[Slot],
        event: Option<Event>,
    ) -> Result<Option<Box<[PolicyCheck]>>> {
        let command = match event {
            Some(Event::Update) => PolicyCommand::Update,
            Some(Event::Delete) => PolicyCommand::Delete,
            _ => return Ok(None),
        };
        let Some(securing) = self.secured_target(target)? else { return Ok(None) };
        let row = &old[..target.table.types.len()];
        let checks = self.checks_of_old(&target.table, row, securing, (command, false), About::Merged)?;
        Ok(Some(checks.into_boxed_slice()))
    }

    /// Plans the rows of the source with those of the table; where `all`, those of the source that match none, too.
    fn merged_rows(&mut self, source: Tree, target: Leaf, on: Vec<Expr>, all: bool) -> Node {
        let target = Tree::Leaf(target);
        let tree = match all {
            true => Tree::Left(Box::new(source), Box::new(target), on),
            false => Tree::Inner(vec![source, target], on),
        };
        let asked = Asked { order: &[], groups: None, few: false };
        optimize::rows(self, tree, Vec::new(), &asked).node
    }

    /// Refuses what is no table.
    ///
    /// # Errors
    /// 0A000, 42P01.
    fn check_merged(&self, factor: &TableFactor) -> Result<()> {
        let TableFactor::Table { name: object, .. } = factor else { return Ok(()) };
        let (schema, name) = split(object)?;
        let relation = self.relation(schema.as_deref(), &name);
        let kind = match relation.map_err(|error| self.at(object.span(), error))? {
            Relation::Table(table) if !table.is_materialized() || marked::is_materialized(object) => {
                return Ok(());
            }
            other => other.kind(),
        };
        let what = format!("cannot execute MERGE on relation \"{name}\"");
        Err(SqlError::unsupported(what).detail(format!("This operation is not supported for {kind}s.")))
    }

    /// Takes the table that was put in scope last out of it: what is bound now must not refer to it.
    fn hide_target(&mut self) {
        let scope = self.scope();
        let target = scope.tables.pop();
        scope.hidden.extend(target);
    }

    /// Puts the table back in scope, behind those of the source.
    fn show_target(&mut self) -> Result<()> {
        let scope = self.scope();
        let Some(target) = scope.hidden.pop() else { return Ok(()) };
        if scope.tables.iter().any(|table| table.name == target.name) {
            let what = format!("name \"{}\" specified more than once", target.name);
            return Err(SqlError::new(SqlState::DUPLICATE_ALIAS, what)
                .detail("The name is used both as MERGE target table and data source."));
        }
        scope.tables.push(target);
        Ok(())
    }

    /// A WHEN clause; the row of the table is seen by those alone that have one.
    fn when(&mut self, target: &Target, old: &[Slot], clause: &ast::MergeClause) -> Result<When> {
        let matched = clause.clause_kind == MergeClauseKind::Matched;
        if !matched {
            self.hide_target();
        }
        let bound = self.when_in_scope(target, old, clause);
        if !matched {
            self.show_target()?;
        }
        let (condition, action) = bound?;
        Ok((matched, condition, action))
    }

    fn when_in_scope(
        &mut self,
        target: &Target,
        old: &[Slot],
        clause: &ast::MergeClause,
    ) -> Result<(Option<Expr>, Action)> {
        let condition = clause.predicate.as_ref().map(|ast| self.when_condition(ast)).transpose()?;
        let action = match &clause.action {
            nothing if is_nothing(nothing) => Action::Nothing,
            ast::MergeAction::Insert(insert) => Action::Insert(Box::new(self.merge_insert(target, insert)?)),
            ast::MergeAction::Update(update) => {
                let row = self.new_slots(target.width());
                let (set, generated) = self.assignments(target, &update.assignments, old, &row)?;
                Action::Update(row, set, generated)
            }
            ast::MergeAction::Delete { .. } => {
                self.needs_all_of(target, Privileges::DELETE);
                Action::Delete
            }
        };
        Ok((condition, action))
    }

    fn when_condition(&mut self, ast: &Ast) -> Result<Expr> {
        let before = std::mem::replace(&mut self.scope().clause, "MERGE WHEN conditions");
        let typed = self.expr(ast);
        self.scope().clause = before;
        let mut condition = self.boolean(typed?, "WHEN")?;
        self.mark(&condition);
        condition.simplify();
        Ok(condition)
    }

    /// The INSERT of a clause: its values are over the rows of the source.
    fn merge_insert(&mut self, target: &Target, insert: &MergeInsertExpr) -> Result<Insert> {
        let table = &target.table;
        let overriding = Overriding::of(insert.columns.first());
        let (columns, named) = self.insert_targets(target, &insert.columns, overriding)?;
        let provided: Vec<usize> = columns.iter().map(Column::position).collect();
        self.needs_on_target(target, Privileges::INSERT, provided.iter().copied());
        let parts = positions_of_parts(&columns);
        let mut given: Vec<Option<Expr>> = vec![None; table.types.len()];
        if let MergeInsertKind::Values(rows) = &insert.kind {
            let targets = Targets { target, columns, named, overriding };
            self.insert_values(targets, &rows.rows, &mut given)?;
        }
        self.values_of_parts(target, parts, &mut given)?;
        let mut values = Vec::with_capacity(given.len());
        for (position, value) in given.into_iter().enumerate() {
            values.push(match value {
                Some(value) => value,
                None => self.default(table, position)?,
            });
        }
        values.iter().for_each(|value| self.mark(value));
        let row = self.new_slots(table.types.len());
        row.iter().for_each(|&slot| self.used[slot] = true);
        let generated = self.generated(table, &row, None)?;
        let checks = Checks { given: provided, ..self.checks(table, &row, None)? };
        Ok(Insert {
            table: table.clone(),
            source: Node::Result,
            reads: false,
            values,
            row,
            generated,
            checks,
            conflict: None,
            instead: false,
            triggers: None,
            returning: None,
            returning_slots: Vec::new(),
        })
    }

    /// The triggers of each event that a clause may be. Which columns an UPDATE sets is asked of all clauses together.
    fn merge_triggers(&mut self, table: &BoundTable, clauses: &[When]) -> Vec<Triggers> {
        let mut set = Vec::new();
        for (.., action) in clauses {
            if let Action::Update(_, own, generated) = action {
                set.extend(own.iter().chain(generated).map(|(position, _)| *position));
            }
        }
        let has = |event: &Event| clauses.iter().any(|(.., action)| action.event() == Some(*event));
        let events = [Event::Insert, Event::Update, Event::Delete].into_iter().filter(has);
        events.filter_map(|event| self.triggers(table, event, Some(&set)).map(|triggers| *triggers)).collect()
    }
}

/// Those of an event among the triggers of a statement.
fn of_event(all: &[Triggers], event: Option<Event>) -> Option<Box<Triggers>> {
    all.iter().find(|triggers| Some(triggers.event) == event).cloned().map(Box::new)
}

/// Refuses a clause behind one that takes all of its rows.
///
/// # Errors
/// 42601.
fn check_reachable(clauses: &[ast::MergeClause]) -> Result<()> {
    let mut taken = Vec::new();
    for clause in clauses {
        if taken.contains(&clause.clause_kind) {
            let what = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        if clause.predicate.is_none() {
            taken.push(clause.clause_kind);
        }
    }
    Ok(())
}
