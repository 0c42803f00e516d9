//! ALTER TABLE: constraints.

use super::super::super::Session;
use super::super::constraint::{initially, not_null, one_primary_key};
use super::super::new_name;
use super::super::partial::refuse_for_constraint;
use super::depends;
use scaledb_catalog::{Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::exclude::exclusion_of;
use scaledb_planner::bind::names::fold;
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::expr::Expr;
use scaledb_types::{Result, SqlError, SqlState, Value};
use sqlparser::ast::{ConstraintUsingIndex, TableConstraint};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// ADD CONSTRAINT.
    pub(super) fn add_constraint(
        &mut self,
        table: &Arc<BoundTable>,
        mut desc: TableDesc,
        constraint: &TableConstraint,
        not_valid: bool,
    ) -> Result<()> {
        if not_valid {
            check_may_be_not_valid(constraint)?;
        }
        match constraint {
            TableConstraint::PrimaryKeyUsingIndex(using) => {
                return self.constraint_using_index(table, desc, using, true);
            }
            TableConstraint::UniqueUsingIndex(using) => {
                return self.constraint_using_index(table, desc, using, false);
            }
            _ => {}
        }
        let (checks, keys) = (desc.checks.len(), desc.foreign_keys.len());
        let oid = desc.oid;
        self.table_constraint(&mut desc, constraint)?;
        self.check_expressions(&desc)?;
        match constraint {
            TableConstraint::PrimaryKey(_) | TableConstraint::Unique(_) => {
                self.rebuild(table, desc, Self::identity(table))
            }
            TableConstraint::Check(check) if exclusion_of(&check.expr).is_some() => {
                let mut values = Self::identity(table);
                // what is computed takes its place
                values.resize(desc.columns.len(), Expr::Const(Value::Null));
                self.rebuild(table, desc, values)
            }
            _ => {
                let (all_checks, all_keys) = (desc.checks.len(), desc.foreign_keys.len());
                let referred: Vec<u32> = desc.foreign_keys[keys..].iter().map(|key| key.table).collect();
                desc.checks[checks..].iter_mut().for_each(|check| check.validated = !not_valid);
                desc.foreign_keys[keys..].iter_mut().for_each(|key| key.validated = !not_valid);
                self.put(Relation::Table(Arc::new(desc)))?;
                for to in referred.into_iter().filter(|&to| to != oid) {
                    self.renew(to)?;
                }
                self.transaction.touch(&[(oid, table.info.id)], 0);
                let numbers = |from: usize, to: usize| (from..to).collect::<Vec<usize>>();
                self.validate(oid, &numbers(checks, all_checks), &numbers(keys, all_keys))
            }
        }
    }

    /// PRIMARY KEY USING INDEX, UNIQUE USING INDEX: an index becomes the one of a constraint.
    fn constraint_using_index(
        &mut self,
        table: &Arc<BoundTable>,
        mut desc: TableDesc,
        using: &ConstraintUsingIndex,
        primary: bool,
    ) -> Result<()> {
        let name = fold(&using.index_name);
        let at = desc.indexes.iter().position(|index| index.name == name).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_OBJECT, format!("index \"{name}\" does not exist"))
        })?;
        if desc.indexes[at].constraint {
            let what = format!("index \"{name}\" is already associated with a constraint");
            return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what));
        }
        refuse_for_constraint(&desc, &desc.indexes[at])?;
        let shown = using.name.as_ref().map_or(name, new_name);
        let deferrable = initially(using.characteristics.as_ref())?;
        if primary {
            one_primary_key(&desc)?;
        }
        if !primary || deferrable.is_some() {
            let index = &mut desc.indexes[at];
            (index.constraint, index.name, index.primary) = (true, shown, primary);
            if deferrable.is_none() {
                return self.put(Relation::Table(Arc::new(desc)));
            }
            index.deferrable = deferrable;
            if primary {
                let columns = index.columns.clone();
                not_null(&mut desc, &columns);
            }
            return self.rebuild(table, desc, Self::identity(table));
        }
        let index = desc.indexes.remove(at);
        not_null(&mut desc, &index.columns);
        let (oid, columns) = (index.oid, index.columns);
        desc.primary_key = Some(scaledb_catalog::PrimaryKeyDesc { oid, name: shown, columns });
        self.rebuild(table, desc, Self::identity(table))
    }

    /// VALIDATE CONSTRAINT.
    pub(super) fn validate_named(&mut self, mut desc: TableDesc, name: &str) -> Result<()> {
        let check = desc.checks.iter().position(|check| check.name == name);
        let key = desc.foreign_keys.iter().position(|key| key.name == name);
        if check.is_none() && key.is_none() {
            let primary = desc.primary_key.as_ref().is_some_and(|key| key.name == name);
            if primary || desc.indexes.iter().any(|index| index.constraint && index.name == name) {
                let what = format!(
                    "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                    desc.name
                );
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
            }
            return Err(no_constraint(&desc, name));
        }
        let of_check = check.map(|at| &mut desc.checks[at].validated);
        let validated = of_check.or(key.map(|at| &mut desc.foreign_keys[at].validated));
        if validated.is_none_or(|validated| std::mem::replace(validated, true)) {
            return Ok(());
        }
        let oid = desc.oid;
        self.put(Relation::Table(Arc::new(desc)))?;
        self.validate(oid, check.as_slice(), key.as_slice())
    }

    /// DROP CONSTRAINT.
    pub(super) fn drop_constraint(
        &mut self,
        table: &Arc<BoundTable>,
        mut desc: TableDesc,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let is_primary = desc.primary_key.as_ref().is_some_and(|key| key.name == name);
        let index = desc.indexes.iter().position(|index| index.constraint && index.name == name);
        if is_primary || index.is_some() {
            let columns: Vec<i16> = match index {
                Some(at) => desc.indexes[at].columns.iter().map(|c| c.attnum).collect(),
                None => desc.primary_key.iter().flat_map(|key| &key.columns).map(|c| c.attnum).collect(),
            };
            let references = self.state.catalog.references_to(desc.oid);
            let used =
                references.iter().find(|r| r.constraint().referred.iter().all(|c| columns.contains(c)));
            if let Some(used) = used {
                if !cascade {
                    return Err(depends(
                        &format!("constraint {name} on table {}", desc.name),
                        &format!("constraint {} on table {}", used.constraint().name, used.from.name),
                    ));
                }
                self.drop_references(desc.oid, columns.first().copied())?;
            }
            match index {
                // its hidden columns go as well
                Some(at) if desc.indexes[at].exclusion.is_some() => {
                    return self.drop_index_of(table, desc.indexes[at].oid);
                }
                Some(at) => {
                    desc.indexes.remove(at);
                }
                None => desc.primary_key = None,
            }
            return self.rebuild(table, desc, Self::identity(table));
        }
        if let Some(trigger) = desc.constraint_trigger(name) {
            let trigger = format!("trigger {} on table {}", trigger.name, desc.name);
            let what =
                format!("cannot drop constraint {name} on table {} because {trigger} requires it", desc.name);
            return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what)
                .hint(format!("You can drop {trigger} instead.")));
        }
        let before = desc.checks.len() + desc.foreign_keys.len();
        desc.checks.retain(|check| check.name != name);
        desc.foreign_keys.retain(|key| key.name != name);
        if desc.checks.len() + desc.foreign_keys.len() == before {
            if if_exists {
                self.skip(
                    &format!("constraint \"{name}\" of relation \"{}\" does not exist, skipping", desc.name),
                    SqlState::UNDEFINED_OBJECT,
                );
                return Ok(());
            }
            return Err(no_constraint(&desc, name));
        }
        self.put(Relation::Table(Arc::new(desc)))
    }
}

pub(super) fn no_constraint(desc: &TableDesc, name: &str) -> SqlError {
    let what = format!("constraint \"{name}\" of relation \"{}\" does not exist", desc.name);
    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
}

/// Refuses NOT VALID for constraints that are kept by an index: they hold for all of its rows.
fn check_may_be_not_valid(constraint: &TableConstraint) -> Result<()> {
    let kind = match constraint {
        TableConstraint::PrimaryKey(_) | TableConstraint::PrimaryKeyUsingIndex(_) => "PRIMARY KEY",
        TableConstraint::Unique(_) | TableConstraint::UniqueUsingIndex(_) => "UNIQUE",
        TableConstraint::Check(check) if exclusion_of(&check.expr).is_some() => "EXCLUDE",
        _ => return Ok(()),
    };
    Err(SqlError::unsupported(format!("{kind} constraints cannot be marked NOT VALID")))
}
