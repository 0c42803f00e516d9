//! Constraints of tables.

use super::super::Session;
use super::create::key_column;
use super::generated::unqualified;
use super::{new_name, position};
use crate::system::printed::sequence_of;
use scaledb_catalog::{
    Action, Catalog, CheckDesc, ForeignKeyDesc, IncludedDesc, IndexDesc, Initially, KeyColumn,
    PrimaryKeyDesc, TableDesc,
};
use scaledb_engine::Engine;
use scaledb_parse::exclude::exclusion_of;
use scaledb_parse::ignored::included_columns;
use scaledb_parse::marked::sets_columns;
use scaledb_planner::bind::mentioned::mentioned;
use scaledb_planner::bind::names::{fold, is_temporary};
use scaledb_planner::plan::{BoundTable, column_type};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    self, ColumnDef, ColumnOption, ConstraintCharacteristics, ConstraintReferenceMatchKind,
    DeferrableInitial, ForeignKeyConstraint, Ident, NullsDistinctOption, ReferentialAction, TableConstraint,
};
use std::sync::Arc;

/// Notes the columns that an index INCLUDEs.
///
/// # Errors
/// 42703.
pub(super) fn include(desc: &mut TableDesc, index: Option<u32>, names: &[String]) -> Result<()> {
    let Some(index) = index.filter(|_| !names.is_empty()) else { return Ok(()) };
    let columns = names.iter().map(|name| Ok(desc.columns[position(desc, name)?].attnum));
    let columns = columns.collect::<Result<_>>()?;
    desc.included.push(IncludedDesc { index, columns });
    Ok(())
}

impl<E: Engine> Session<E> {
    /// The constraints that stand behind a column.
    pub(super) fn column_constraints(&mut self, desc: &mut TableDesc, column: &ColumnDef) -> Result<()> {
        let own = new_name(&column.name);
        for option in &column.options {
            let name = option.name.as_ref();
            match &option.option {
                ColumnOption::PrimaryKey(option) => {
                    let key = plain_key(desc, &own)?;
                    self.primary_key(desc, name, vec![key], option.characteristics.as_ref())?;
                }
                ColumnOption::Unique(option) => {
                    let key = plain_key(desc, &own)?;
                    let characteristics = option.characteristics.as_ref();
                    self.unique(desc, name, vec![key], &[], (characteristics, option.nulls_distinct))?;
                }
                ColumnOption::Check(check) => {
                    refuse_enforced(check.enforced)?;
                    self.check(desc, name.or(check.name.as_ref()), &check.expr)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The foreign keys that stand behind a column.
    pub(super) fn column_references(&mut self, desc: &mut TableDesc, column: &ColumnDef) -> Result<()> {
        for option in &column.options {
            if let ColumnOption::ForeignKey(key) = &option.option {
                let mut key = key.clone();
                key.columns = vec![column.name.clone()];
                key.name = option.name.clone().or(key.name);
                self.foreign_key(desc, &key)?;
            }
        }
        Ok(())
    }

    /// A constraint of a table.
    pub(super) fn table_constraint(
        &mut self,
        desc: &mut TableDesc,
        constraint: &TableConstraint,
    ) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let columns =
                    key.columns.iter().map(|c| key_column(desc, &c.column)).collect::<Result<_>>()?;
                self.primary_key(desc, key.name.as_ref(), columns, key.characteristics.as_ref())?;
                let index = desc.primary_key.as_ref().map(|key| key.oid);
                let index = index.or_else(|| desc.indexes.last().map(|index| index.oid));
                include(desc, index, &key.index_name.iter().flat_map(included_columns).collect::<Vec<_>>())
            }
            TableConstraint::Unique(key) => {
                let columns =
                    key.columns.iter().map(|c| key_column(desc, &c.column)).collect::<Result<_>>()?;
                let included: Vec<String> = key.index_name.iter().flat_map(included_columns).collect();
                let how = (key.characteristics.as_ref(), key.nulls_distinct);
                self.unique(desc, key.name.as_ref(), columns, &included, how)
            }
            TableConstraint::Check(check) if check.enforced.is_some() => refuse_enforced(check.enforced),
            TableConstraint::Check(check) => match exclusion_of(&check.expr) {
                Some(exclusion) => self.exclusion(desc, check.name.as_ref(), &exclusion),
                None => self.check(desc, check.name.as_ref(), &check.expr),
            },
            TableConstraint::ForeignKey(key) => self.foreign_key(desc, key),
            _ => Err(SqlError::unsupported("this kind of constraint is not supported")),
        }
    }

    pub(super) fn constraint_name(
        &self,
        desc: &TableDesc,
        given: Option<&Ident>,
        parts: &[&str],
        suffix: &str,
    ) -> Result<String> {
        let Some(given) = given else { return Ok(self.free_name(desc, parts, suffix)) };
        let name = new_name(given);
        let is_index = ["pkey", "key", "excl"].contains(&suffix);
        if is_index && (self.state.catalog.is_taken(&desc.schema, &name) || name == desc.name) {
            let what = format!("relation \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_TABLE, what));
        }
        if desc.has_constraint(&name) {
            let what = format!("constraint \"{name}\" for relation \"{}\" already exists", desc.name);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        Ok(name)
    }

    fn primary_key(
        &mut self,
        desc: &mut TableDesc,
        name: Option<&Ident>,
        columns: Vec<KeyColumn>,
        characteristics: Option<&ConstraintCharacteristics>,
    ) -> Result<()> {
        self.check_may_create_in(&desc.schema)?;
        one_primary_key(desc)?;
        no_duplicates(desc, &columns)?;
        not_null(desc, &columns);
        let table = desc.name.clone();
        let name = self.constraint_name(desc, name, &[&table], "pkey")?;
        let oid = self.state.new_oid(&desc.schema);
        let deferrable = initially(characteristics)?;
        if deferrable.is_some() {
            // two rows may share it for a while, which the key of the engine's table does not allow
            desc.indexes.push(IndexDesc {
                oid,
                name,
                columns,
                unique: true,
                constraint: true,
                primary: true,
                deferrable,
                engine: String::new(),
                predicate: None,
                nulls_not_distinct: false,
                exclusion: None,
            });
        } else {
            desc.primary_key = Some(PrimaryKeyDesc { oid, name, columns });
        }
        Ok(())
    }

    fn unique(
        &mut self,
        desc: &mut TableDesc,
        name: Option<&Ident>,
        columns: Vec<KeyColumn>,
        included: &[String],
        (characteristics, nulls): (Option<&ConstraintCharacteristics>, NullsDistinctOption),
    ) -> Result<()> {
        self.check_may_create_in(&desc.schema)?;
        no_duplicates(desc, &columns)?;
        let names: Vec<String> = columns.iter().map(|c| desc.column_name(c.attnum).to_owned()).collect();
        let mut parts = vec![desc.name.as_str()];
        parts.extend(names.iter().chain(included).map(String::as_str));
        let name = self.constraint_name(desc, name, &parts, "key")?;
        let oid = self.state.new_oid(&desc.schema);
        let deferrable = initially(characteristics)?;
        desc.indexes.push(IndexDesc {
            oid,
            name,
            columns,
            unique: true,
            constraint: true,
            primary: false,
            deferrable,
            engine: String::new(),
            predicate: None,
            nulls_not_distinct: matches!(nulls, NullsDistinctOption::NotDistinct),
            exclusion: None,
        });
        include(desc, Some(oid), included)
    }

    fn check(&mut self, desc: &mut TableDesc, name: Option<&Ident>, expr: &ast::Expr) -> Result<()> {
        let expression = self.kept_expression(&unqualified(expr, desc));
        let table = desc.name.clone();
        let mut parts = vec![table];
        // a check of one column has its name
        if let [column] = mentioned(desc, &expression)[..] {
            parts.push(desc.column_name(column).to_owned());
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = self.constraint_name(desc, name, &parts, "check")?;
        let oid = self.state.new_oid(&desc.schema);
        desc.checks.push(CheckDesc { oid, name, expression, validated: true });
        Ok(())
    }

    /// Binds defaults, what computes generated columns, and CHECK constraints, for what is wrong with them.
    pub(super) fn check_expressions(&self, desc: &TableDesc) -> Result<()> {
        let table = self.unmade(desc)?;
        self.check_generated(&table)?;
        self.bind_kept_over(&table, |binder| {
            for check in &table.desc.checks {
                let ast = scaledb_parse::expression(&check.expression)?;
                let condition = binder.condition(&ast, "CHECK")?;
                if condition.has_subquery() {
                    return Err(SqlError::unsupported("cannot use subquery in check constraint"));
                }
            }
            for position in 0..table.types.len() {
                // the sequence of a column may not exist yet, and is only looked up when it is used
                let Some(default) = table.desc.columns[position].default.as_deref() else { continue };
                let sequence = sequence_of(&self.state.catalog, default);
                let sequence = sequence.and_then(|oid| self.state.catalog.get(oid));
                if sequence.is_some_and(|sequence| is_temporary(sequence.schema()))
                    && !is_temporary(&desc.schema)
                {
                    let what = "a default that takes values of a temporary sequence is not supported";
                    return Err(SqlError::unsupported(what));
                }
                let call = scaledb_parse::expression(default)?;
                let next = matches!(&call, ast::Expr::Function(call) if call.name.to_string() == "nextval");
                if !next && binder.default(&table, position)?.has_subquery() {
                    return Err(SqlError::unsupported("cannot use subquery in DEFAULT expression"));
                }
            }
            Ok(())
        })
    }

    /// A table that the engine may not have made yet: any of its tables does, for no rows are read.
    pub(super) fn unmade(&self, desc: &TableDesc) -> Result<BoundTable> {
        scaledb_planner::bind::Lookup::unmade(&self.state, desc)
    }

    fn foreign_key(&mut self, desc: &mut TableDesc, key: &ForeignKeyConstraint) -> Result<()> {
        let mut columns = Vec::new();
        for column in &key.columns {
            columns.push(desc.columns[position(desc, &fold(column))?].attnum);
        }
        let (_, referred_name) = scaledb_planner::bind::names::split(&key.foreign_table)?;
        let to = match self.lookup(&key.foreign_table)? {
            Some(scaledb_catalog::Relation::Table(to)) if to.is_materialized() => {
                let what = format!("referenced relation \"{}\" is not a table", to.name);
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
            }
            Some(scaledb_catalog::Relation::Table(to)) if to.oid != desc.oid => to,
            None if referred_name != desc.name => {
                let what = format!("relation \"{referred_name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
            }
            _ => Arc::new(desc.clone()),
        };
        let (own, theirs) = (is_temporary(&desc.schema), is_temporary(&to.schema));
        if own != theirs {
            let kind = if own { "temporary" } else { "permanent" };
            let what = format!("constraints on {kind} tables may reference only {kind} tables");
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what));
        }
        let referred: Vec<i16> = if key.referred_columns.is_empty() {
            let primary = to.primary_key.as_ref().map(|key| &key.columns);
            let primary =
                primary.or(to.deferrable_primary_key().map(|key| &key.columns)).ok_or_else(|| {
                    let what = format!("there is no primary key for referenced table \"{}\"", to.name);
                    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
                })?;
            primary.iter().map(|column| column.attnum).collect()
        } else {
            let positions = key.referred_columns.iter().map(|column| position(&to, &fold(column)));
            positions.map(|at| Ok(to.columns[at?].attnum)).collect::<Result<_>>()?
        };
        if referred.len() != columns.len() {
            return Err(SqlError::new(
                SqlState::INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        if to.oid != desc.oid {
            self.state.check_references(to.oid, &referred)?;
        }
        let same =
            |of: &[KeyColumn]| of.len() == referred.len() && of.iter().all(|c| referred.contains(&c.attnum));
        let unique = to.primary_key.as_ref().is_some_and(|key| same(&key.columns))
            || to.indexes.iter().any(|index| index.is_key() && same(&index.columns));
        if !unique {
            if to.indexes.iter().any(|index| index.deferrable.is_some() && same(&index.columns)) {
                let what =
                    format!("cannot use a deferrable unique constraint for referenced table \"{}\"", to.name);
                return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what));
            }
            let what = format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                to.name
            );
            return Err(SqlError::new(SqlState::INVALID_FOREIGN_KEY, what));
        }
        check_types(&self.state.catalog, desc, &to, &columns, &referred)?;
        let names: Vec<String> = columns.iter().map(|&c| desc.column_name(c).to_owned()).collect();
        let table = desc.name.clone();
        let mut parts = vec![table.as_str()];
        parts.extend(names.iter().map(String::as_str));
        let name = self.constraint_name(desc, key.name.as_ref(), &parts, "fkey")?;
        let action = |action: &Option<ReferentialAction>| match action {
            None | Some(ReferentialAction::NoAction) => Action::NoAction,
            Some(ReferentialAction::Restrict) => Action::Restrict,
            Some(ReferentialAction::Cascade) => Action::Cascade,
            Some(ReferentialAction::SetNull) => Action::SetNull,
            Some(ReferentialAction::SetDefault) => Action::SetDefault,
        };
        let traits = key.characteristics.as_ref();
        initially(traits)?;
        let deferred = traits.is_some_and(|t| t.initially == Some(DeferrableInitial::Deferred));
        let (on_delete, on_update) = (action(&key.on_delete), action(&key.on_update));
        check_actions(desc, &columns, on_delete, on_update)?;
        let mut on_delete_sets = Vec::new();
        for name in key.index_name.iter().flat_map(sets_columns) {
            let attnum = desc.column(&name).map(|at| desc.columns[at].attnum).ok_or_else(|| {
                let what = format!("column \"{name}\" referenced in foreign key constraint does not exist");
                SqlError::new(SqlState::UNDEFINED_COLUMN, what)
            })?;
            if !columns.contains(&attnum) {
                let what = format!(
                    "column \"{name}\" referenced in ON DELETE SET action must be part of foreign key"
                );
                return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what));
            }
            if !on_delete_sets.contains(&attnum) {
                on_delete_sets.push(attnum);
            }
        }
        desc.foreign_keys.push(ForeignKeyDesc {
            oid: self.state.new_oid(&desc.schema),
            name,
            columns,
            table: to.oid,
            referred,
            on_delete,
            on_delete_sets,
            on_update,
            full: key.match_kind == Some(ConstraintReferenceMatchKind::Full),
            deferrable: deferred || traits.is_some_and(|t| t.deferrable == Some(true)),
            deferred,
            validated: true,
        });
        Ok(())
    }

    /// Checks that all rows fulfil those of the constraints of these numbers that all rows are known to fulfil.
    pub(super) fn validate(&mut self, oid: u32, checks: &[usize], keys: &[usize]) -> Result<()> {
        let table = self.table(oid)?;
        let mut conditions = Vec::new();
        for check in checks.iter().map(|&number| &table.desc.checks[number]).filter(|check| check.validated) {
            let ast = scaledb_parse::expression(&check.expression)?;
            let condition = self.bind_kept_over(&table, |binder| binder.condition(&ast, "CHECK"))?;
            conditions.push((check.name.clone(), condition));
        }
        let mut foreign = Vec::new();
        for &number in keys.iter().filter(|&&number| table.desc.foreign_keys[number].validated) {
            foreign.push(self.state.foreign_key(&table, number)?);
        }
        if conditions.is_empty() && foreign.is_empty() {
            return Ok(());
        }
        // rows that are referred to must not go meanwhile
        let mut tables = vec![oid];
        tables.extend(foreign.iter().map(|key| key.to.desc.oid));
        self.bar_everywhere(&tables)?;
        self.for_each_row(&table, |exec, row| {
            exec.frame.clear();
            exec.frame.extend_from_slice(row);
            for (name, condition) in &conditions {
                if matches!(exec.eval(condition)?, Value::Bool(false)) {
                    let what = format!(
                        "check constraint \"{name}\" of relation \"{}\" is violated by some row",
                        table.desc.name
                    );
                    return Err(SqlError::new(SqlState::CHECK_VIOLATION, what)
                        .table(table.desc.schema.as_str(), table.desc.name.as_str())
                        .constraint(name.as_str()));
                }
            }
            for key in &foreign {
                let values = key.from_columns.iter().map(|&column| row[column].clone()).collect();
                let check = crate::exec::late::Check::referring(key.clone(), values)?;
                exec.check_now(check)?;
            }
            Ok(())
        })
    }
}

/// What no value can be set in, no action of a foreign key may set.
///
/// # Errors
/// 42601.
fn check_actions(desc: &TableDesc, columns: &[i16], on_delete: Action, on_update: Action) -> Result<()> {
    let generated = |column: &scaledb_catalog::ColumnDesc| column.generated.is_some();
    if !desc.columns.iter().any(|column| columns.contains(&column.attnum) && generated(column)) {
        return Ok(());
    }
    let sets = |action: Action| matches!(action, Action::SetNull | Action::SetDefault);
    let invalid = |when: &str| {
        let what = format!("invalid {when} action for foreign key constraint containing generated column");
        Err(SqlError::new(SqlState::SYNTAX_ERROR, what))
    };
    match () {
        () if sets(on_update) || on_update == Action::Cascade => invalid("ON UPDATE"),
        () if sets(on_delete) => invalid("ON DELETE"),
        () => Ok(()),
    }
}

/// When a constraint is checked, if it is deferrable.
///
/// # Errors
/// 42601 for one that is deferred and not deferrable, and for ENFORCED.
pub(super) fn initially(characteristics: Option<&ConstraintCharacteristics>) -> Result<Option<Initially>> {
    let Some(characteristics) = characteristics else { return Ok(None) };
    refuse_enforced(characteristics.enforced)?;
    Ok(match (characteristics.initially, characteristics.deferrable) {
        (Some(DeferrableInitial::Deferred), Some(false)) => {
            let what = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        (Some(DeferrableInitial::Deferred), _) => Some(Initially::Deferred),
        (_, Some(true)) => Some(Initially::Immediate),
        _ => None,
    })
}

/// Refuses ENFORCED and NOT ENFORCED, which PostgreSQL 15 does not know: all constraints are enforced.
fn refuse_enforced(enforced: Option<bool>) -> Result<()> {
    match enforced {
        None => Ok(()),
        Some(_) => Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"ENFORCED\"")),
    }
}

/// 42P16 for a second primary key.
pub(super) fn one_primary_key(desc: &TableDesc) -> Result<()> {
    if desc.primary_key.is_none() && desc.deferrable_primary_key().is_none() {
        return Ok(());
    }
    let what = format!("multiple primary keys for table \"{}\" are not allowed", desc.name);
    Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what))
}

/// Whether columns may refer to others, for their types.
///
/// # Errors
/// 42804.
pub(super) fn check_types(
    catalog: &Catalog,
    desc: &TableDesc,
    to: &TableDesc,
    columns: &[i16],
    referred: &[i16],
) -> Result<()> {
    let ty = |desc: &TableDesc, attnum: i16| {
        let column = desc.columns.iter().find(|column| column.attnum == attnum);
        column.map(|column| column_type(catalog, column)).transpose()
    };
    for (&from, &of) in columns.iter().zip(referred) {
        let (Some(a), Some(b)) = (ty(desc, from)?, ty(to, of)?) else { continue };
        if !may_refer(a, b) {
            let what = "foreign key constraint cannot be implemented";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what)
                .detail(format!(
                    "Key columns \"{}\" and \"{}\" are of different types: {} and {}.",
                    desc.column_name(from),
                    to.column_name(of),
                    a.sql_name(),
                    b.sql_name()
                ))
                .hint(
                    "Numbers may refer to numbers that hold them, text to text; others to their own type.",
                ));
        }
    }
    Ok(())
}

/// Whether a column of one type may refer to a column of another: to its own type, or where equal values have one
/// meaning whatever the session.
fn may_refer(from: Type, to: Type) -> bool {
    let integer = |ty: Type| matches!(ty.base, Base::Int2 | Base::Int4 | Base::Int8) && !ty.array;
    let float = |ty: Type| matches!(ty.base, Base::Float4 | Base::Float8) && !ty.array;
    let numeric = |ty: Type| ty.base == Base::Numeric && !ty.array;
    from.plain() == to.plain()
        || from.is_text() && to.is_text()
        || integer(from) && (integer(to) || numeric(to) || float(to))
        || float(from) && float(to)
        || numeric(from) && float(to)
}

/// Columns of a primary key refuse NULL.
pub(super) fn not_null(desc: &mut TableDesc, columns: &[KeyColumn]) {
    for column in columns {
        if let Some(at) = desc.position(column.attnum) {
            desc.columns[at].not_null = true;
        }
    }
}

fn plain_key(desc: &TableDesc, name: &str) -> Result<KeyColumn> {
    let at = position(desc, name)?;
    Ok(KeyColumn { attnum: desc.columns[at].attnum, descending: false, nulls_first: false })
}

fn no_duplicates(desc: &TableDesc, columns: &[KeyColumn]) -> Result<()> {
    for (number, column) in columns.iter().enumerate() {
        if columns[..number].iter().any(|other| other.attnum == column.attnum) {
            let what =
                format!("column \"{}\" appears twice in a constraint", desc.column_name(column.attnum));
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
        }
    }
    Ok(())
}
