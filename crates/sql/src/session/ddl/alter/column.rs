//! ALTER TABLE: columns.

use super::super::super::Session;
use super::super::constraint::check_types;
use super::super::generated::refuse_generated;
use super::super::{new_name, position};
use super::depends;
use super::own::retypes;
use crate::exec::{Exec, Scratch, tail};
use scaledb_catalog::{AccessDesc, AddedColumn, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::marked;
use scaledb_planner::bind::names::fold;
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::column_type;
use scaledb_planner::plan::expr::Expr;
use scaledb_types::{Context, Result, SqlError, SqlState, Type};
use sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ColumnDef, Expr as Ast, GeneratedAs, SequenceOptions,
};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// ADD COLUMN.
    pub(super) fn add_column_to(
        &mut self,
        table: &Arc<BoundTable>,
        mut desc: TableDesc,
        column: &ColumnDef,
    ) -> Result<()> {
        let (checks, keys) = (desc.checks.len(), desc.foreign_keys.len());
        let name = new_name(&column.name);
        if desc.column(&name).is_some() {
            let what = format!("column \"{name}\" of relation \"{}\" already exists", desc.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
        }
        self.add_column_later(&mut desc, column)?;
        self.column_constraints(&mut desc, column)?;
        self.column_references(&mut desc, column)?;
        self.check_expressions(&desc)?;
        let mut values = Self::identity(table);
        let ty = column_type(&self.state.catalog, &desc.columns[desc.columns.len() - 1])?;
        let default = match &desc.columns[desc.columns.len() - 1].default {
            None if desc.columns[desc.columns.len() - 1].generated.is_some() => {
                Expr::Const(scaledb_types::Value::Null)
            }
            None => self.bind_kept_over(table, |binder| binder.default_of_type(ty, &name))?,
            Some(text) => {
                let ast = scaledb_parse::expression(text)?;
                self.bind_kept_over(table, |binder| {
                    let typed = binder.expr(&ast)?;
                    binder.assign(typed, ty, &name)
                })?
            }
        };
        values.push(default);
        let oid = desc.oid;
        let (all_checks, all_keys) = (desc.checks.len(), desc.foreign_keys.len());
        let referred: Vec<u32> = desc.foreign_keys[keys..].iter().map(|key| key.table).collect();
        match self.missing(table, &desc, &values[values.len() - 1])? {
            Some(added) => {
                let mut placement = table.desc.placement();
                placement.added.push(added);
                desc.placement = Some(placement);
                self.replace(table, desc)?;
            }
            None => self.rebuild(table, desc, values)?,
        }
        for to in referred.into_iter().filter(|&to| to != oid) {
            self.renew(to)?;
        }
        let numbers = |from: usize, to: usize| (from..to).collect::<Vec<usize>>();
        self.validate(oid, &numbers(checks, all_checks), &numbers(keys, all_keys))
    }

    /// What the rows that are there have in a new column, which is the last one, if no row needs to be touched: one
    /// value for all of them, and no index.
    fn missing(
        &mut self,
        table: &Arc<BoundTable>,
        desc: &TableDesc,
        default: &Expr,
    ) -> Result<Option<AddedColumn>> {
        let old = &table.desc;
        let indexes = desc.indexes.len() != old.indexes.len() || desc.primary_key != old.primary_key;
        let generated = desc.columns.last().is_some_and(|column| column.generated.is_some());
        if indexes
            || generated
            || table.places.tail.is_none()
            || default.is_volatile()
            || default.needs_worker()
        {
            return Ok(None);
        }
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let context = self.context();
        let value = Exec::new(&mut *worker, &context, &[], (0, 0, 0), Scratch::default()).eval(default);
        self.worker = Some(worker);
        let value = match value {
            // an error, if there are rows
            Err(_) if matches!(default, Expr::Domain(_)) => return Ok(None),
            value => value?,
        };
        let column = &desc.columns[desc.columns.len() - 1];
        if value.is_null() && column.not_null {
            // an error, if there are rows
            return Ok(None);
        }
        let missing = tail::encode(&value.store(column_type(&self.state.catalog, column)?)?)
            .map(std::borrow::Cow::into_owned);
        Ok(Some(AddedColumn { attnum: column.attnum, missing }))
    }

    /// DROP COLUMN.
    pub(in crate::session::ddl) fn drop_column(
        &mut self,
        table: &Arc<BoundTable>,
        name: &str,
        cascade: bool,
    ) -> Result<()> {
        let mut desc = (*table.desc).clone();
        let at = position(&desc, name)?;
        let attnum = desc.columns[at].attnum;
        let references = self.state.catalog.references_to(desc.oid);
        let used =
            references.iter().filter(|r| r.from.oid != desc.oid && r.constraint().referred.contains(&attnum));
        if let Some(used) = used.map(|r| (r.from.clone(), r.constraint().name.clone())).next() {
            if !cascade {
                return Err(depends(
                    &format!("column {name} of table {}", desc.name),
                    &format!("constraint {} on table {}", used.1, used.0.name),
                ));
            }
            self.drop_references(desc.oid, Some(attnum))?;
        }
        if let Some(index) = self.computed_index_over(table, at)? {
            // a constraint whose condition or expression has the column does not go in silence
            if let Some(own) = desc.indexes.iter().find(|own| own.oid == index && own.exclusion.is_some()) {
                let user = format!("constraint {} on table {}", own.name, desc.name);
                if !cascade {
                    return Err(depends(&format!("column {name} of table {}", desc.name), &user));
                }
                self.tell_of_cascade(&[user]);
            }
            self.drop_index_of(table, index)?;
            let table = self.table(desc.oid)?;
            return self.drop_column(&table, name, cascade);
        }
        let computed = self.computed_from(table, at)?;
        if !computed.is_empty() {
            let computed: Vec<String> = computed.iter().map(|&own| desc.columns[own].name.clone()).collect();
            let shown = |column: &String| format!("column {column} of table {}", desc.name);
            if !cascade {
                return Err(depends(&shown(&name.to_owned()), &shown(&computed[0])));
            }
            for column in &computed {
                let table = self.table(desc.oid)?;
                self.drop_column(&table, column, true)?;
            }
            self.tell_of_cascade(&computed.iter().map(shown).collect::<Vec<_>>());
            let table = self.table(desc.oid)?;
            return self.drop_column(&table, name, true);
        }
        let with: Vec<u32> =
            desc.included.iter().filter(|of| of.columns.contains(&attnum)).map(|of| of.index).collect();
        let has = |oid: u32, columns: &[scaledb_catalog::KeyColumn]| {
            columns.iter().any(|column| column.attnum == attnum) || with.contains(&oid)
        };
        let indexed = desc.primary_key.as_ref().is_some_and(|key| has(key.oid, &key.columns))
            || desc.indexes.iter().any(|index| has(index.oid, &index.columns));
        if desc.primary_key.as_ref().is_some_and(|key| has(key.oid, &key.columns)) {
            desc.primary_key = None;
        }
        desc.indexes.retain(|index| !has(index.oid, &index.columns));
        desc.foreign_keys.retain(|key| {
            !(key.columns.contains(&attnum) || key.table == desc.oid && key.referred.contains(&attnum))
        });
        self.drop_triggers_over(&mut desc, attnum, cascade)?;
        self.drop_policies_over(&mut desc, attnum, cascade)?;
        let mut values = Self::identity(table);
        values.remove(at);
        desc.columns.remove(at);
        self.drop_checks_without_column(&mut desc)?;
        let owned: Vec<u32> = self
            .state
            .catalog
            .relations()
            .filter(|relation| {
                matches!(relation, Relation::Sequence(s) if s.owned_by == Some((desc.oid, attnum)))
            })
            .map(Relation::oid)
            .collect();
        if indexed {
            self.rebuild(table, desc, values)?;
        } else {
            let mut placement = table.desc.placement();
            placement.added.retain(|added| added.attnum != attnum);
            desc.placement = Some(placement);
            self.replace(table, desc)?;
        }
        for oid in owned {
            self.remove(oid)?;
        }
        let of_column = |access: &Arc<AccessDesc>| access.columns.iter().any(|(known, _)| *known == attnum);
        if self.state.catalog.access(table.desc.oid).is_some_and(of_column) {
            self.edit_access(table.desc.oid, |access| access.columns.retain(|(known, _)| *known != attnum));
        }
        Ok(())
    }

    /// The foreign keys that a column of a changed table belongs to, on either side: their tables, and numbers there.
    ///
    /// # Errors
    /// 42804 if the column's type is none that they could have.
    fn keys_over(&self, desc: &TableDesc, attnum: i16) -> Result<Vec<(u32, usize)>> {
        let catalog = &self.state.catalog;
        let mut keys = Vec::new();
        for (number, key) in desc.foreign_keys.iter().enumerate() {
            let itself = key.table == desc.oid && key.referred.contains(&attnum);
            if itself || key.columns.contains(&attnum) {
                let to = catalog.table(key.table).filter(|to| to.oid != desc.oid);
                check_types(
                    &self.state.catalog,
                    desc,
                    to.map_or(desc, |to| to),
                    &key.columns,
                    &key.referred,
                )?;
                keys.push((desc.oid, number));
            }
        }
        for reference in catalog.references_to(desc.oid) {
            let key = reference.constraint();
            if reference.from.oid != desc.oid && key.referred.contains(&attnum) {
                check_types(&self.state.catalog, &reference.from, desc, &key.columns, &key.referred)?;
                keys.push((reference.from.oid, reference.number));
            }
        }
        Ok(keys)
    }

    /// ALTER COLUMN.
    pub(super) fn alter_column(
        &mut self,
        table: &Arc<BoundTable>,
        mut desc: TableDesc,
        name: &str,
        operation: &AlterColumnOperation,
    ) -> Result<()> {
        let at = position(&desc, name)?;
        let is_identity = desc.columns[at].identity.is_some();
        let frees =
            matches!(operation, AlterColumnOperation::DropDefault | AlterColumnOperation::DropNotNull);
        if is_identity && (frees || matches!(operation, AlterColumnOperation::SetDefault { .. })) {
            let what = format!("column \"{name}\" of relation \"{}\" is an identity column", desc.name);
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        match operation {
            AlterColumnOperation::SetDefault { value } if let Some(if_exists) = marked::dropped(value) => {
                self.drop_expression(desc, at, if_exists)
            }
            AlterColumnOperation::SetDefault { value } => {
                refuse_generated(&desc, at, None)?;
                desc.columns[at].default = self.kept_default(&desc.columns[at], value);
                self.check_expressions(&desc)?;
                self.put(Relation::Table(Arc::new(desc)))
            }
            AlterColumnOperation::DropDefault => {
                let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.";
                refuse_generated(&desc, at, Some(hint))?;
                desc.columns[at].default = None;
                self.put(Relation::Table(Arc::new(desc)))
            }
            AlterColumnOperation::SetNotNull => {
                desc.columns[at].not_null = true;
                self.set_not_null(table, desc, at)
            }
            AlterColumnOperation::DropNotNull => self.drop_not_null(table, desc, at),
            AlterColumnOperation::SetDataType { .. } => Err(SqlError::internal("types change by themselves")),
            AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
                let options = sequence_options.as_deref().unwrap_or_default();
                self.make_identity(desc, at, generated_as.as_ref(), options)
            }
        }
    }

    /// SET DATA TYPE of all columns that a statement gives other types, each with an expression for the new values or a
    /// cast. The expressions see the table as it was.
    pub(super) fn set_data_types(
        &mut self,
        table: &Arc<BoundTable>,
        operations: &[AlterTableOperation],
    ) -> Result<()> {
        let mut desc = (*table.desc).clone();
        let (mut values, mut changed) = (Self::identity(table), Vec::new());
        for (column, data_type, using) in operations.iter().filter_map(retypes) {
            let (name, to) = (fold(column), self.data_type(data_type)?);
            let at = position(&desc, &name)?;
            if changed.contains(&at) {
                let what = format!("cannot alter type of column \"{name}\" twice");
                return Err(SqlError::unsupported(what));
            }
            if desc.columns[at].identity.is_some() {
                crate::session::ddl::create::check_identity_type(to)?;
                self.retype_sequence((desc.oid, desc.columns[at].attnum), to)?;
            }
            self.check_new_type(table, at, using.is_some())?;
            desc.columns[at].type_oid = to.oid();
            desc.columns[at].typmod = to.modifier();
            values[at] = self.new_value(table, at, to, using)?;
            changed.push(at);
        }
        self.retype_expressions(&mut desc)?;
        self.check_exclusions(&desc)?;
        self.check_expressions(&desc)?;
        // what held of the old values must hold of the new ones
        let mut keys = Vec::new();
        for at in changed {
            for key in self.keys_over(&desc, desc.columns[at].attnum)? {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        let (oid, checks): (u32, Vec<usize>) = (desc.oid, (0..desc.checks.len()).collect());
        self.rebuild(table, desc, values)?;
        self.validate(oid, &checks, &[])?;
        keys.into_iter().try_for_each(|(from, number)| self.validate(from, &[], &[number]))
    }

    /// The values of a column as those of another type.
    fn new_value(
        &mut self,
        table: &Arc<BoundTable>,
        at: usize,
        to: Type,
        using: Option<&Ast>,
    ) -> Result<Expr> {
        let name = table.desc.columns[at].name.clone();
        let value = self.bind_over(table, |binder| match using {
            Some(ast) => {
                let typed = binder.expr(ast)?;
                binder.assign(typed, to, &name)
            }
            None => {
                let typed = scaledb_planner::bind::Typed::new(Expr::Slot(at), table.types[at]);
                let cast = binder.coerce(typed, to, Context::Assignment).map_err(|_| {
                    SqlError::new(
                        SqlState::DATATYPE_MISMATCH,
                        format!("column \"{name}\" cannot be cast automatically to type {}", to.sql_name()),
                    )
                    .hint(format!("You might need to specify \"USING {name}::{}\".", to.sql_name()))
                })?;
                Ok(cast.expr)
            }
        })?;
        if value.has_subquery() {
            return Err(SqlError::unsupported("cannot use subquery in transform expression"));
        }
        Ok(value)
    }

    /// What generated columns have against another type of a column.
    ///
    /// # Errors
    /// 0A000 if one is computed from it; 42611 for USING with one of them.
    fn check_new_type(&self, table: &BoundTable, at: usize, using: bool) -> Result<()> {
        let columns = &table.desc.columns;
        if let Some(&own) = self.computed_from(table, at)?.first() {
            let detail = format!(
                "Column \"{}\" is used by generated column \"{}\".",
                columns[at].name, columns[own].name
            );
            let what = "cannot alter type of a column used by a generated column";
            return Err(SqlError::unsupported(what).detail(detail));
        }
        if using && columns[at].generated.is_some() {
            let what = "cannot specify USING when altering type of generated column";
            let detail = format!("Column \"{}\" is a generated column.", columns[at].name);
            return Err(SqlError::new(SqlState::INVALID_COLUMN_DEFINITION, what).detail(detail));
        }
        Ok(())
    }

    /// ADD GENERATED AS IDENTITY.
    fn make_identity(
        &mut self,
        mut desc: TableDesc,
        at: usize,
        generated_as: Option<&GeneratedAs>,
        options: &[SequenceOptions],
    ) -> Result<()> {
        let name = desc.columns[at].name.clone();
        let column = &desc.columns[at];
        let refused = match () {
            () if column.identity.is_some() => Some("is already an identity column"),
            () if !column.not_null => Some("must be declared NOT NULL before identity can be added"),
            () if column.default.is_some() || column.generated.is_some() => {
                Some("already has a default value")
            }
            () => None,
        };
        crate::session::ddl::create::check_identity_type(column_type(&self.state.catalog, column)?)?;
        if let Some(refused) = refused {
            let what = format!("column \"{name}\" of relation \"{}\" {refused}", desc.name);
            return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what));
        }
        desc.columns[at].identity = Some(match generated_as {
            Some(GeneratedAs::Always) => scaledb_catalog::Identity::Always,
            _ => scaledb_catalog::Identity::ByDefault,
        });
        self.add_identity(&mut desc, &name, options)?;
        self.put(Relation::Table(Arc::new(desc)))
    }

    /// DROP NOT NULL.
    fn drop_not_null(&mut self, table: &Arc<BoundTable>, mut desc: TableDesc, at: usize) -> Result<()> {
        let attnum = desc.columns[at].attnum;
        let primary = desc.primary_key.as_ref().map(|key| &key.columns);
        let primary = primary.or(desc.deferrable_primary_key().map(|key| &key.columns));
        if primary.is_some_and(|columns| columns.iter().any(|column| column.attnum == attnum)) {
            let what = format!("column \"{}\" is in a primary key", desc.columns[at].name);
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what));
        }
        desc.columns[at].not_null = false;
        if table.takes_null(at) {
            return self.replace(table, desc);
        }
        self.rebuild(table, desc, Self::identity(table))
    }

    /// SET NOT NULL: what the engine has takes NULL still, and statements see to it that there is none.
    fn set_not_null(&mut self, table: &Arc<BoundTable>, desc: TableDesc, at: usize) -> Result<()> {
        self.begin_change()?;
        self.bar_everywhere(&[desc.oid])?;
        let name = desc.columns[at].name.clone();
        self.for_each_row(table, |_, row| {
            if !row[at].is_null() {
                return Ok(());
            }
            let what = format!("column \"{name}\" of relation \"{}\" contains null values", table.desc.name);
            Err(SqlError::new(SqlState::NOT_NULL_VIOLATION, what)
                .table(table.desc.schema.as_str(), table.desc.name.as_str())
                .column(name.as_str()))
        })?;
        self.begin_behind()?;
        self.replace(table, desc)
    }
}
