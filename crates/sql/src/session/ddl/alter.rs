//! ALTER TABLE, ALTER INDEX, and what is altered of other relations.

mod column;
mod constraint;
mod own;

use super::super::Session;
use super::owner::owner_name;
use super::rebuild::check_limits;
use super::{new_name, position};
use crate::api::Tag;
use constraint::no_constraint;
use scaledb_catalog::{Catalog, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::alter_table;
use scaledb_parse::roles::RoleName;
use scaledb_planner::bind::names::{fold, shown, split};
use scaledb_planner::plan::BoundTable;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{
    AlterIndexOperation, AlterTable, AlterTableOperation, ObjectName, RenameTableNameKind, ReplicaIdentity,
};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<Tag> {
        self.begin_change()?;
        if self.lookup(&alter.name)?.is_none() && alter.if_exists {
            let (_, name) = split(&alter.name)?;
            self.skip(&format!("relation \"{name}\" does not exist, skipping"), SqlState::UNDEFINED_TABLE);
            return Ok(Tag::plain("ALTER TABLE"));
        }
        let named = self.named_where(&alter.name, &alter.operations)?;
        // the other kinds of relation have a name and an owner, too
        match self.lookup(&alter.name)? {
            Some(relation @ (Relation::Sequence(_) | Relation::View(_))) => {
                self.check_may_alter(relation.oid(), &alter.operations)?;
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
        self.check_may_alter(oid, &alter.operations)?;
        self.check_not_pending(oid, "ALTER TABLE")?;
        let mut retyped = false;
        for operation in own::in_order(&alter.operations) {
            let table = self.table(oid)?;
            self.may_alter(&table, operation)?;
            if let Some((column, ..)) = own::retypes(operation) {
                self.refuse_policies_over(&table.desc, &fold(column))?;
                // all of them at once: USING sees what the columns were before
                if !std::mem::replace(&mut retyped, true) {
                    self.set_data_types(&table, &alter.operations)?;
                }
                continue;
            }
            self.alter_one(&table, operation)?;
        }
        self.let_names_follow(named)?;
        self.keep_views(oid, &alter.operations)?;
        Ok(Tag::plain("ALTER TABLE"))
    }

    /// # Errors
    /// 42501 unless the current role may change a relation so: what only gives it to another says it by itself.
    fn check_may_alter(&self, oid: u32, operations: &[AlterTableOperation]) -> Result<()> {
        let gives = matches!(operations, [AlterTableOperation::OwnerTo { .. }]);
        if gives { Ok(()) } else { self.state.check_owner(oid) }
    }

    /// After a change: the views that name the relation must mean what they meant, for they are kept as text. DROP
    /// COLUMN CASCADE drops those that do not.
    ///
    /// # Errors
    /// 2BP01 and 0A000.
    fn keep_views(&mut self, oid: u32, operations: &[AlterTableOperation]) -> Result<()> {
        let catalog = self.state.catalog.clone();
        for view in catalog.definitions().filter(|view| view.uses.contains(&oid)) {
            // gone with another one
            if self.state.catalog.get(view.oid).is_none() || self.means_the_same(&view) {
                continue;
            }
            let called = self.kind_and_name(&view);
            let dropped = operations.iter().find_map(|operation| match operation {
                AlterTableOperation::DropColumn { column_names, drop_behavior, .. } => {
                    let column = column_names.first().map(fold).unwrap_or_default();
                    Some((format!("column {column} of"), *drop_behavior))
                }
                // what is grouped by a key has the other columns, too
                AlterTableOperation::DropConstraint { name, drop_behavior, .. } => {
                    Some((format!("constraint {} on", fold(name)), *drop_behavior))
                }
                _ => None,
            });
            let name = catalog.get(oid).map(Relation::name).unwrap_or_default();
            match dropped {
                Some((_, Some(sqlparser::ast::DropBehavior::Cascade))) => {
                    let mut cascaded = vec![called];
                    if let Some(relation) = self.state.catalog.get(view.oid).cloned() {
                        self.drop_relation(&relation, &[], true, &mut cascaded)?;
                    }
                    self.tell_of_cascade(&cascaded);
                }
                Some((part, _)) => {
                    let what = format!("{part} table {name}");
                    return Err(depends(&what, &called));
                }
                None if operations.iter().any(|o| matches!(o, AlterTableOperation::AlterColumn { .. })) => {
                    let what = "cannot alter type of a column used by a view or rule";
                    let detail = format!("{called} depends on a column of table {name}");
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

    /// OWNER TO.
    pub(super) fn set_owner_of(&mut self, relation: &Relation, owner: &RoleName) -> Result<()> {
        let kind = Catalog::kind_of_relation(relation);
        if let Relation::Sequence(sequence) = relation
            && let Some((table, _)) = sequence.owned_by
        {
            let table = self.state.catalog.get(table).map_or("?", Relation::name);
            let detail = format!("Sequence \"{}\" is linked to table \"{table}\".", sequence.name);
            return Err(SqlError::unsupported("cannot change owner of sequence that is linked to a table")
                .detail(detail));
        }
        self.set_owner(kind, relation.oid(), Some(relation.schema()), owner)
    }

    fn alter_other(&mut self, relation: &Relation, operation: &AlterTableOperation) -> Result<()> {
        match operation {
            AlterTableOperation::OwnerTo { new_owner } => self.set_owner_of(relation, &owner_name(new_owner)),
            AlterTableOperation::RenameTable { table_name } => {
                let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = table_name;
                self.rename_other(relation, split(name)?.1)
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                match self.state.catalog.get(relation.oid()).cloned() {
                    Some(Relation::View(view)) => {
                        self.rename_column_of_view(&view, &fold(old_column_name), &new_name(new_column_name))
                    }
                    _ => Err(SqlError::unsupported("this change is not supported")),
                }
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                use sqlparser::ast::AlterColumnOperation as Op;
                let default = match op {
                    Op::SetDefault { value } if scaledb_parse::marked::dropped(value).is_none() => {
                        Some(value)
                    }
                    Op::DropDefault => None,
                    _ => return Err(SqlError::unsupported("this change is not supported")),
                };
                match self.state.catalog.get(relation.oid()).cloned() {
                    Some(Relation::View(view)) => {
                        self.set_default_of_view(&view, &fold(column_name), default)
                    }
                    _ => Err(SqlError::unsupported("this change is not supported")),
                }
            }
            _ => Err(SqlError::unsupported("this change is not supported")),
        }
    }

    /// Gives a sequence or a view another name.
    pub(super) fn rename_other(&mut self, relation: &Relation, name: String) -> Result<()> {
        self.check_free(relation.schema(), &name)?;
        let named = self.named_in_views(relation);
        let relation = match relation {
            Relation::Sequence(s) => {
                let mut s = (**s).clone();
                s.name = name;
                self.let_defaults_follow(&s)?;
                Relation::Sequence(Arc::new(s))
            }
            Relation::View(v) => {
                let mut v = (**v).clone();
                v.name = name;
                Relation::View(Arc::new(v))
            }
            other => other.clone(),
        };
        self.put(relation)?;
        self.let_names_follow(Some(named))
    }

    /// # Errors
    /// 42P07 if there is a relation of that name; 42501 for one who may not make one.
    fn check_free(&self, schema: &str, name: &str) -> Result<()> {
        self.check_may_create_in(schema)?;
        if self.state.catalog.is_taken(schema, name) {
            return Err(self.name_is_taken(schema, name));
        }
        Ok(())
    }

    fn alter_one(&mut self, table: &Arc<BoundTable>, operation: &AlterTableOperation) -> Result<()> {
        let mut desc = (*table.desc).clone();
        let store = |session: &mut Self, desc: TableDesc| session.put(Relation::Table(Arc::new(desc)));
        match operation {
            AlterTableOperation::AddColumn { if_not_exists, column_def, .. } => {
                let name = new_name(&column_def.name);
                if desc.column(&name).is_some() && *if_not_exists {
                    let what =
                        format!("column \"{name}\" of relation \"{}\" already exists, skipping", desc.name);
                    self.skip(&what, SqlState::DUPLICATE_COLUMN);
                    return Ok(());
                }
                self.add_column_to(table, desc, column_def)
            }
            AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let cascade = *drop_behavior == Some(sqlparser::ast::DropBehavior::Cascade);
                for name in column_names {
                    let name = fold(name);
                    if desc.column(&name).is_none() && *if_exists {
                        let what = format!(
                            "column \"{name}\" of relation \"{}\" does not exist, skipping",
                            desc.name
                        );
                        self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
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
                super::create::not_of_system(&name)?;
                if desc.column(&name).is_some() {
                    let what = format!("column \"{name}\" of relation \"{}\" already exists", desc.name);
                    return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
                }
                desc.columns[at].name.clone_from(&name);
                self.rename_in_texts(table, &mut desc, &old, &name)?;
                super::triggers::rename_field(&mut desc, &old, &name);
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
                let triggers = desc.triggers.iter_mut().filter_map(|trigger| trigger.constraint.as_mut());
                triggers.for_each(|constraint| rename(&mut constraint.name));
                if !found {
                    return Err(no_constraint(&desc, &old));
                }
                if desc.constraints().filter(|(name, _)| *name == to).count() > 1 {
                    let what = format!("constraint \"{to}\" for relation \"{}\" already exists", desc.name);
                    return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
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
            AlterTableOperation::OwnerTo { new_owner } => {
                self.set_owner_of(&Relation::Table(table.desc.clone()), &owner_name(new_owner))
            }
            AlterTableOperation::ValidateConstraint { name } => self.validate_named(desc, &fold(name)),
            AlterTableOperation::ReplicaIdentity { identity: ReplicaIdentity::Index(name) } => {
                self.check_identity(&table.desc, &fold(name))
            }
            AlterTableOperation::ReplicaIdentity { .. } => Ok(()),
            AlterTableOperation::SetTblProperties { .. } => match alter_table::own(operation)? {
                Some(own) => self.alter_own(desc, &own),
                None => Err(SqlError::unsupported("this form of ALTER TABLE is not supported")),
            },
            _ => Err(SqlError::unsupported("this form of ALTER TABLE is not supported")),
        }
    }

    /// Whether an index would say which rows a replica means. Nobody asks for that here.
    ///
    /// # Errors
    /// 42704, 42809, 0A000.
    fn check_identity(&self, desc: &TableDesc, name: &str) -> Result<()> {
        if desc.primary_key.as_ref().is_some_and(|key| key.name == name) {
            return Ok(());
        }
        let wrong = |what: String| Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        let refused = |kind: &str| {
            let what = format!("cannot use {kind} index \"{name}\" as replica identity");
            Err(SqlError::unsupported(what))
        };
        let Some(index) = desc.indexes.iter().find(|index| index.name == name) else {
            if self.state.catalog.index(&desc.schema, name).is_some() {
                return wrong(format!("\"{name}\" is not an index for table \"{}\"", desc.name));
            }
            let what = format!("index \"{name}\" for table \"{}\" does not exist", desc.name);
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
        };
        if !index.unique {
            return wrong(format!("cannot use non-unique index \"{name}\" as replica identity"));
        }
        if index.deferrable.is_some() {
            return refused("non-immediate");
        }
        let columns = || {
            index
                .columns
                .iter()
                .filter_map(|key| desc.columns.iter().find(|column| column.attnum == key.attnum))
        };
        if columns().any(|column| column.hidden) {
            return refused("expression");
        }
        if index.predicate.is_some() {
            return refused("partial");
        }
        match columns().find(|column| !column.not_null) {
            None => Ok(()),
            Some(column) => wrong(format!(
                "index \"{name}\" cannot be used as replica identity because column \"{}\" is nullable",
                column.name
            )),
        }
    }

    /// Puts a changed descriptor in place of the old one; the rows are as they were. Others wait with what they write
    /// until the transaction ends, as behind any change: it may go on with the table, and would meet conflicts.
    pub(super) fn replace(&mut self, table: &BoundTable, desc: TableDesc) -> Result<()> {
        check_limits(&desc)?;
        self.bar(&[table.desc.oid])?;
        self.transaction.touch(&[(table.desc.oid, table.info.id)], 0);
        self.put(Relation::Table(Arc::new(desc)))
    }

    pub(super) fn alter_index(&mut self, name: &ObjectName, operation: &AlterIndexOperation) -> Result<Tag> {
        self.begin_change()?;
        let AlterIndexOperation::RenameIndex { index_name } = operation;
        let (name, if_exists) = alter_table::split_if_exists(name);
        let (schema, name) = split(&name)?;
        let given = schema;
        let schema = self.schema_of_index(given.as_deref(), &name);
        let found = schema.and_then(|schema| Some((self.state.catalog.index(&schema, &name)?.0, schema)));
        let Some((table, schema)) = found else {
            let what = format!("relation \"{}\" does not exist", shown(given.as_deref(), &name));
            if if_exists {
                self.skip(&format!("{what}, skipping"), SqlState::SUCCESSFUL_COMPLETION);
                return Ok(Tag::plain("ALTER INDEX"));
            }
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
        };
        self.state.check_owner_as(table.oid, "index", &name)?;
        if alter_table::is_about_parameters(index_name) {
            return Ok(Tag::plain("ALTER INDEX"));
        }
        let (_, to) = split(index_name)?;
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

/// Something cannot go, because something else needs it.
pub(super) fn depends(what: &str, user: &str) -> SqlError {
    SqlError::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        format!("cannot drop {what} because other objects depend on it"),
    )
    .detail(format!("{user} depends on {what}"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}
