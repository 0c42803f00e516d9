//! ALTER TABLE.

use super::super::Session;
use super::constraint::{initially, not_null, one_primary_key};
use super::rebuild::check_limits;
use super::sequence::next_of;
use super::{new_name, position};
use crate::api::Tag;
use crate::bind::names::{data_type, fold, split};
use crate::exec::{Exec, Scratch, tail};
use crate::plan::Table;
use crate::plan::column_type;
use crate::plan::expr::Expr;
use scaledb_catalog::{AddedColumn, Relation, TableDesc, ViewDesc};
use scaledb_engine::Engine;
use scaledb_types::{Context, Result, SqlError, SqlState};
use sqlparser::ast::{
    AlterColumnOperation, AlterIndexOperation, AlterTable, AlterTableOperation, ColumnDef, GeneratedAs,
    ObjectName, Owner, RenameTableNameKind, TableConstraint,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl<E: Engine> Session<E> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<Tag> {
        self.begin_change()?;
        if self.lookup(&alter.name)?.is_none() && alter.if_exists {
            let (_, name) = split(&alter.name)?;
            self.skip(&format!("relation \"{name}\" does not exist, skipping"), SqlState::UNDEFINED_TABLE);
            return Ok(Tag::plain("ALTER TABLE"));
        }
        // the other kinds of relation have a name and an owner, too
        match self.lookup(&alter.name)? {
            Some(relation @ (Relation::Sequence(_) | Relation::View(_))) => {
                for operation in &alter.operations {
                    self.alter_other(&relation, operation)?;
                }
                self.keep_views(relation.oid(), &alter.operations)?;
                return Ok(Tag::plain("ALTER TABLE"));
            }
            Some(Relation::Table(_)) => {}
            None => {
                self.lookup_table(&alter.name)?;
            }
        }
        let oid = self.lookup_table(&alter.name)?.desc.oid;
        self.check_not_pending(oid, "ALTER TABLE")?;
        for operation in &alter.operations {
            let table = self.table(oid)?;
            self.alter_one(&table, operation)?;
        }
        self.keep_views(oid, &alter.operations)?;
        Ok(Tag::plain("ALTER TABLE"))
    }

    /// After a change: the views that name the relation must mean what they meant, for they are kept as text. DROP
    /// COLUMN CASCADE drops those that do not.
    ///
    /// # Errors
    /// 2BP01 and 0A000.
    fn keep_views(&mut self, oid: u32, operations: &[AlterTableOperation]) -> Result<()> {
        let catalog = self.state.catalog.clone();
        let views = catalog.relations().filter_map(|relation| match relation {
            Relation::View(view) if view.uses.contains(&oid) => Some(view),
            _ => None,
        });
        for view in views {
            // gone with another one
            if self.state.catalog.get(view.oid).is_none() || self.means_the_same(view) {
                continue;
            }
            let dropped = operations.iter().find_map(|operation| match operation {
                AlterTableOperation::DropColumn { column_names, drop_behavior, .. } => {
                    Some((column_names.first().map(fold).unwrap_or_default(), *drop_behavior))
                }
                _ => None,
            });
            let name = catalog.get(oid).map(Relation::name).unwrap_or_default();
            match dropped {
                Some((_, Some(sqlparser::ast::DropBehavior::Cascade))) => {
                    let mut cascaded = vec![format!("view {}", view.name)];
                    self.drop_relation(&Relation::View(view.clone()), &[], true, &mut cascaded)?;
                    self.tell_of_cascade(&cascaded);
                }
                Some((column, _)) => {
                    let what = format!("column {column} of table {name}");
                    return Err(depends(&what, &format!("view {}", view.name)));
                }
                None if operations.iter().any(|o| matches!(o, AlterTableOperation::AlterColumn { .. })) => {
                    let what = "cannot alter type of a column used by a view or rule";
                    let detail = format!("view {} depends on a column of table {name}", view.name);
                    return Err(SqlError::unsupported(what).detail(detail));
                }
                None => {
                    let what = format!("\"{name}\" cannot be changed so: view \"{}\" names it", view.name);
                    return Err(SqlError::unsupported(what)
                        .hint("Drop the view, make the change, and create the view again."));
                }
            }
        }
        Ok(())
    }

    /// Whether the query of a view still has the columns that it had, and from the same relations.
    fn means_the_same(&mut self, view: &ViewDesc) -> bool {
        let quoted = |name: &str| name.replace('"', "\"\"");
        let text = format!("SELECT * FROM \"{}\".\"{}\"", quoted(&view.schema), quoted(&view.name));
        let Ok(compiled) = self.compile(&text, &[]) else { return false };
        let crate::plan::cache::Action::Plan(plan) = &compiled.action else { return false };
        let named = plan.tables.iter().map(|(oid, _)| *oid).chain(plan.relations.iter().copied());
        let named: BTreeSet<u32> = named.filter(|oid| *oid != view.oid).collect();
        let columns = compiled.columns.iter().flatten().map(|column| (column.ty.oid(), column.ty.typmod));
        columns.eq(view.columns.iter().map(|(_, oid, typmod)| (*oid, *typmod)))
            && named == view.uses.iter().copied().collect()
    }

    /// OWNER TO, which can only name the user who asks.
    fn set_owner(&mut self, owner: &Owner) -> Result<()> {
        match owner {
            Owner::Ident(name) => self.own_name(&fold(name)),
            _ => Ok(()),
        }
    }

    /// OWNER TO a user by name.
    pub(super) fn own_name(&mut self, name: &str) -> Result<()> {
        if name == self.state.user { Ok(()) } else { self.state.no_privileges("OWNER TO") }
    }

    fn alter_other(&mut self, relation: &Relation, operation: &AlterTableOperation) -> Result<()> {
        match operation {
            AlterTableOperation::OwnerTo { new_owner } => self.set_owner(new_owner),
            AlterTableOperation::RenameTable { table_name } => {
                let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = table_name;
                self.rename_other(relation, split(name)?.1)
            }
            _ => Err(SqlError::unsupported("this change is not supported")),
        }
    }

    /// Gives a sequence or a view another name.
    pub(super) fn rename_other(&mut self, relation: &Relation, name: String) -> Result<()> {
        self.check_free(relation.schema(), &name)?;
        let relation = match relation {
            Relation::Sequence(s) => {
                let mut s = (**s).clone();
                s.name = name;
                for (mut desc, at) in self.defaults_of(s.oid) {
                    desc.columns[at].default = Some(next_of(&s));
                    self.put(Relation::Table(Arc::new(desc)))?;
                }
                Relation::Sequence(Arc::new(s))
            }
            Relation::View(v) => {
                let mut v = (**v).clone();
                v.name = name;
                Relation::View(Arc::new(v))
            }
            other => other.clone(),
        };
        self.put(relation)
    }

    /// # Errors
    /// 42P07 if there is a relation of that name.
    fn check_free(&self, schema: &str, name: &str) -> Result<()> {
        if self.state.catalog.is_taken(schema, name) {
            let what = format!("relation \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_TABLE, what));
        }
        Ok(())
    }

    fn alter_one(&mut self, table: &Arc<Table>, operation: &AlterTableOperation) -> Result<()> {
        let mut desc = (*table.desc).clone();
        let store = |session: &mut Self, desc: TableDesc| session.put(Relation::Table(Arc::new(desc)));
        match operation {
            AlterTableOperation::AddColumn { if_not_exists, column_def, .. } => {
                if desc.column(&new_name(&column_def.name)).is_some() && *if_not_exists {
                    return Ok(());
                }
                self.add_column_to(table, desc, column_def)
            }
            AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let cascade = *drop_behavior == Some(sqlparser::ast::DropBehavior::Cascade);
                for name in column_names {
                    let name = fold(name);
                    if desc.column(&name).is_none() && *if_exists {
                        continue;
                    }
                    let table = self.table(desc.oid)?;
                    self.drop_column(&table, &name, cascade)?;
                }
                Ok(())
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let at = position(&desc, &fold(old_column_name))?;
                let (old, name) = (fold(old_column_name), new_name(new_column_name));
                if desc.column(&name).is_some() {
                    let what = format!("column \"{name}\" of relation \"{}\" already exists", desc.name);
                    return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
                }
                if desc.checks.iter().any(|check| mentions(&check.expression, &old)) {
                    return Err(SqlError::unsupported(format!(
                        "column \"{old}\" is used by a CHECK constraint"
                    ))
                    .hint("Drop the constraint, rename the column, and add the constraint again."));
                }
                desc.columns[at].name = name;
                store(self, desc)
            }
            AlterTableOperation::RenameTable { table_name } => {
                let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = table_name;
                let (_, name) = split(name)?;
                self.check_free(&desc.schema, &name)?;
                desc.name = name;
                store(self, desc)
            }
            AlterTableOperation::RenameConstraint { old_name, new_name: to } => {
                let (old, to) = (fold(old_name), new_name(to));
                let mut found = false;
                let mut rename = |name: &mut String| {
                    if *name == old {
                        name.clone_from(&to);
                        found = true;
                    }
                };
                desc.primary_key.iter_mut().for_each(|key| rename(&mut key.name));
                desc.indexes.iter_mut().for_each(|index| rename(&mut index.name));
                desc.checks.iter_mut().for_each(|check| rename(&mut check.name));
                desc.foreign_keys.iter_mut().for_each(|key| rename(&mut key.name));
                if !found {
                    return Err(no_constraint(&desc, &old));
                }
                store(self, desc)
            }
            AlterTableOperation::AddConstraint { constraint, not_valid } => {
                self.add_constraint(table, desc, constraint, *not_valid)
            }
            AlterTableOperation::DropConstraint { if_exists, name, drop_behavior } => {
                let cascade = *drop_behavior == Some(sqlparser::ast::DropBehavior::Cascade);
                self.drop_constraint(table, desc, &fold(name), *if_exists, cascade)
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                self.alter_column(table, desc, &fold(column_name), op)
            }
            AlterTableOperation::OwnerTo { new_owner } => self.set_owner(new_owner),
            AlterTableOperation::ValidateConstraint { name } => self.validate_named(&desc, &fold(name)),
            AlterTableOperation::ReplicaIdentity { .. } | AlterTableOperation::SetOptionsParens { .. } => {
                Ok(())
            }
            _ => Err(SqlError::unsupported("this form of ALTER TABLE is not supported")),
        }
    }

    fn add_column_to(&mut self, table: &Arc<Table>, mut desc: TableDesc, column: &ColumnDef) -> Result<()> {
        let (checks, keys) = (desc.checks.len(), desc.foreign_keys.len());
        let name = new_name(&column.name);
        if desc.column(&name).is_some() {
            let what = format!("column \"{name}\" of relation \"{}\" already exists", desc.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
        }
        self.add_column_later(&mut desc, column)?;
        self.column_constraints(&mut desc, column)?;
        self.check_expressions(&desc)?;
        let mut values = Self::identity(table);
        let default = match &desc.columns[desc.columns.len() - 1].default {
            None => Expr::Const(scaledb_types::Value::Null),
            Some(text) => {
                let ast = crate::parse::expression(text)?;
                let ty = column_type(&desc.columns[desc.columns.len() - 1])?;
                self.bind_over(table, |binder| {
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
        table: &Arc<Table>,
        desc: &TableDesc,
        default: &Expr,
    ) -> Result<Option<AddedColumn>> {
        let old = &table.desc;
        let indexes = desc.indexes.len() != old.indexes.len() || desc.primary_key != old.primary_key;
        if indexes || table.places.tail.is_none() || default.is_volatile() || default.needs_worker() {
            return Ok(None);
        }
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let context = self.context();
        let value = Exec::new(&mut *worker, &context, &[], (0, 0, 0), Scratch::default()).eval(default);
        self.worker = Some(worker);
        let value = value?;
        let column = &desc.columns[desc.columns.len() - 1];
        if value.is_null() && column.not_null {
            // an error, if there are rows
            return Ok(None);
        }
        let missing = tail::encode(&value.store(column_type(column)?)?).map(std::borrow::Cow::into_owned);
        Ok(Some(AddedColumn { attnum: column.attnum, missing }))
    }

    /// Puts a changed descriptor in place of the old one; the rows are as they were. Others wait with what they write
    /// until the transaction ends, as behind any change: it may go on with the table, and would meet conflicts.
    fn replace(&mut self, table: &Table, desc: TableDesc) -> Result<()> {
        check_limits(&desc)?;
        self.bar(&[table.desc.oid])?;
        self.transaction.touch(&[(table.desc.oid, table.info.id)], 0);
        self.put(Relation::Table(Arc::new(desc)))
    }

    fn drop_column(&mut self, table: &Arc<Table>, name: &str, cascade: bool) -> Result<()> {
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
        let has =
            |columns: &[scaledb_catalog::KeyColumn]| columns.iter().any(|column| column.attnum == attnum);
        let indexed = desc.primary_key.as_ref().is_some_and(|key| has(&key.columns))
            || desc.indexes.iter().any(|index| has(&index.columns));
        if desc.primary_key.as_ref().is_some_and(|key| has(&key.columns)) {
            desc.primary_key = None;
        }
        desc.indexes.retain(|index| !has(&index.columns));
        desc.foreign_keys.retain(|key| {
            !(key.columns.contains(&attnum) || key.table == desc.oid && key.referred.contains(&attnum))
        });
        desc.checks.retain(|check| !mentions(&check.expression, name));
        let mut values = Self::identity(table);
        values.remove(at);
        desc.columns.remove(at);
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
        Ok(())
    }

    fn add_constraint(
        &mut self,
        table: &Arc<Table>,
        mut desc: TableDesc,
        constraint: &TableConstraint,
        not_valid: bool,
    ) -> Result<()> {
        let (checks, keys) = (desc.checks.len(), desc.foreign_keys.len());
        let oid = desc.oid;
        if let TableConstraint::PrimaryKeyUsingIndex(using) | TableConstraint::UniqueUsingIndex(using) =
            constraint
        {
            let name = fold(&using.index_name);
            let at = desc.indexes.iter().position(|index| index.name == name && index.unique).ok_or_else(
                || SqlError::new(SqlState::UNDEFINED_OBJECT, format!("index \"{name}\" does not exist")),
            )?;
            if desc.indexes[at].constraint {
                let what = format!("index \"{name}\" is already associated with a constraint");
                return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what));
            }
            let shown = using.name.as_ref().map_or(name, new_name);
            let deferrable = initially(using.characteristics.as_ref());
            let primary = matches!(constraint, TableConstraint::PrimaryKeyUsingIndex(_));
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
            return self.rebuild(table, desc, Self::identity(table));
        }
        self.table_constraint(&mut desc, constraint)?;
        self.check_expressions(&desc)?;
        match constraint {
            TableConstraint::PrimaryKey(_) | TableConstraint::Unique(_) => {
                self.rebuild(table, desc, Self::identity(table))
            }
            _ => {
                let (all_checks, all_keys) = (desc.checks.len(), desc.foreign_keys.len());
                let referred: Vec<u32> = desc.foreign_keys[keys..].iter().map(|key| key.table).collect();
                self.put(Relation::Table(Arc::new(desc)))?;
                for to in referred.into_iter().filter(|&to| to != oid) {
                    self.renew(to)?;
                }
                self.transaction.touch(&[(oid, table.info.id)], 0);
                if not_valid {
                    return Ok(());
                }
                let numbers = |from: usize, to: usize| (from..to).collect::<Vec<usize>>();
                self.validate(oid, &numbers(checks, all_checks), &numbers(keys, all_keys))
            }
        }
    }

    /// VALIDATE CONSTRAINT: which constraints all rows are known to fulfil is not kept, so they are looked at.
    fn validate_named(&mut self, desc: &TableDesc, name: &str) -> Result<()> {
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
            return Err(no_constraint(desc, name));
        }
        self.validate(desc.oid, check.as_slice(), key.as_slice())
    }

    fn drop_constraint(
        &mut self,
        table: &Arc<Table>,
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
                Some(at) => {
                    desc.indexes.remove(at);
                }
                None => desc.primary_key = None,
            }
            return self.rebuild(table, desc, Self::identity(table));
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
                super::constraint::check_types(desc, to.map_or(desc, |to| to), &key.columns, &key.referred)?;
                keys.push((desc.oid, number));
            }
        }
        for reference in catalog.references_to(desc.oid) {
            let key = reference.constraint();
            if reference.from.oid != desc.oid && key.referred.contains(&attnum) {
                super::constraint::check_types(&reference.from, desc, &key.columns, &key.referred)?;
                keys.push((reference.from.oid, reference.number));
            }
        }
        Ok(keys)
    }

    fn alter_column(
        &mut self,
        table: &Arc<Table>,
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
            AlterColumnOperation::SetDefault { value } => {
                desc.columns[at].default = Some(value.to_string());
                self.check_expressions(&desc)?;
                self.put(Relation::Table(Arc::new(desc)))
            }
            AlterColumnOperation::DropDefault => {
                desc.columns[at].default = None;
                self.put(Relation::Table(Arc::new(desc)))
            }
            AlterColumnOperation::SetNotNull => {
                desc.columns[at].not_null = true;
                self.set_not_null(table, desc, at)
            }
            AlterColumnOperation::DropNotNull => {
                let attnum = desc.columns[at].attnum;
                let primary = desc.primary_key.as_ref().map(|key| &key.columns);
                let primary = primary.or(desc.deferrable_primary_key().map(|key| &key.columns));
                if primary.is_some_and(|columns| columns.iter().any(|column| column.attnum == attnum)) {
                    let what = format!("column \"{name}\" is in a primary key");
                    return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what));
                }
                desc.columns[at].not_null = false;
                if table.takes_null(at) {
                    return self.replace(table, desc);
                }
                self.rebuild(table, desc, Self::identity(table))
            }
            AlterColumnOperation::SetDataType { data_type: to, using, .. } => {
                let to = data_type(to)?;
                if is_identity {
                    super::create::check_identity_type(to)?;
                }
                desc.columns[at].type_oid = to.oid();
                desc.columns[at].typmod = to.typmod;
                let value = self.bind_over(table, |binder| match using {
                    Some(ast) => {
                        let typed = binder.expr(ast)?;
                        binder.assign(typed, to, name)
                    }
                    None => {
                        let typed = crate::bind::Typed::new(Expr::Slot(at), table.types[at]);
                        let cast = binder.coerce(typed, to, Context::Assignment).map_err(|_| {
                            SqlError::new(
                                SqlState::DATATYPE_MISMATCH,
                                format!(
                                    "column \"{name}\" cannot be cast automatically to type {}",
                                    to.sql_name()
                                ),
                            )
                            .hint(format!("You might need to specify \"USING {name}::{}\".", to.sql_name()))
                        })?;
                        Ok(cast.expr)
                    }
                })?;
                let mut values = Self::identity(table);
                values[at] = value;
                self.check_expressions(&desc)?;
                // what held of the old values must hold of the new ones
                let keys = self.keys_over(&desc, desc.columns[at].attnum)?;
                let (oid, checks): (u32, Vec<usize>) = (desc.oid, (0..desc.checks.len()).collect());
                self.rebuild(table, desc, values)?;
                self.validate(oid, &checks, &[])?;
                keys.into_iter().try_for_each(|(from, number)| self.validate(from, &[], &[number]))
            }
            AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
                let column = &desc.columns[at];
                let refused = match () {
                    () if is_identity => Some("is already an identity column"),
                    () if !column.not_null => Some("must be declared NOT NULL before identity can be added"),
                    () if column.default.is_some() => Some("already has a default value"),
                    () => None,
                };
                super::create::check_identity_type(column_type(column)?)?;
                if let Some(refused) = refused {
                    let what = format!("column \"{name}\" of relation \"{}\" {refused}", desc.name);
                    return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what));
                }
                desc.columns[at].identity = Some(match generated_as {
                    Some(GeneratedAs::Always) => scaledb_catalog::Identity::Always,
                    _ => scaledb_catalog::Identity::ByDefault,
                });
                let options = sequence_options.clone().unwrap_or_default();
                self.add_identity(&mut desc, name, &options)?;
                self.put(Relation::Table(Arc::new(desc)))
            }
        }
    }

    /// SET NOT NULL: what the engine has takes NULL still, and statements see to it that there is none.
    fn set_not_null(&mut self, table: &Arc<Table>, desc: TableDesc, at: usize) -> Result<()> {
        self.begin_change()?;
        self.bar(&[desc.oid])?;
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

    pub(super) fn alter_index(&mut self, name: &ObjectName, operation: &AlterIndexOperation) -> Result<Tag> {
        self.begin_change()?;
        let AlterIndexOperation::RenameIndex { index_name } = operation;
        let (schema, name) = split(name)?;
        let (_, to) = split(index_name)?;
        let schema = self.schema_of_index(schema.as_deref(), &name);
        let found = schema.and_then(|schema| Some((self.state.catalog.index(&schema, &name)?.0, schema)));
        let Some((table, schema)) = found else {
            let what = format!("relation \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
        };
        if self.state.catalog.is_taken(&schema, &to) {
            let what = format!("relation \"{to}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_TABLE, what));
        }
        let mut desc = (**table).clone();
        desc.primary_key.iter_mut().filter(|key| key.name == name).for_each(|key| key.name.clone_from(&to));
        desc.indexes
            .iter_mut()
            .filter(|index| index.name == name)
            .for_each(|index| index.name.clone_from(&to));
        self.put(Relation::Table(Arc::new(desc)))?;
        Ok(Tag::plain("ALTER INDEX"))
    }
}

/// Whether an expression has a name in it.
fn mentions(expression: &str, name: &str) -> bool {
    use crate::parse::lex::{Lexer, name_of};
    Lexer::new(expression).any(|token| name_of(token, expression).as_deref() == Some(name))
}

fn no_constraint(desc: &TableDesc, name: &str) -> SqlError {
    let what = format!("constraint \"{name}\" of relation \"{}\" does not exist", desc.name);
    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
}

/// Something cannot go, because something else needs it.
pub(super) fn depends(what: &str, user: &str) -> SqlError {
    SqlError::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        format!("cannot drop {what} because other objects depend on it"),
    )
    .detail(format!("{user} depends on {what}"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}
