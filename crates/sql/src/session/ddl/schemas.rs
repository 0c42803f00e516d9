//! CREATE, ALTER and DROP SCHEMA, and SET SCHEMA of what is in them.
//!
//! A descriptor has the name of its schema; so a schema that gets another name, and what moves into another schema, is
//! put anew, like a relation that gets another name.

use super::super::Session;
use super::super::routine::NoRows;
use super::own_types::OwnType;
use super::owner::owner_name;
use super::{MAX_NAME, new_name};
use crate::api::Tag;
use crate::compiled::Action;
use scaledb_catalog::{ObjectKind, PUBLIC, Privileges, Relation, SchemaDesc, TableDesc, ViewDesc};
use scaledb_engine::Engine;
use scaledb_parse::lex::quoted;
use scaledb_parse::schema_elements::SchemaElements;
use scaledb_parse::set_schema::SetSchema;
use scaledb_parse::utility::Utility;
use scaledb_planner::bind::names::{
    find_own_type, find_relation, is_schema, is_temporary, no_schema, own_schema, shown, split,
};
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{
    AlterSchema, AlterSchemaOperation, ObjectName, ObjectNamePart, Owner, SchemaName, Statement,
};
use std::sync::Arc;

/// Of CREATE SCHEMA with a statement that is about another one.
const INVALID_SCHEMA_DEFINITION: SqlState = SqlState::new(b"42P15");

impl<E: Engine> Session<E> {
    /// CREATE SCHEMA.
    ///
    /// # Errors
    /// 42P06, 42939.
    pub(super) fn create_schema(&mut self, name: &SchemaName, if_not_exists: bool) -> Result<Tag> {
        let (name, owner) = match name {
            SchemaName::Simple(name) => (schema_name(name)?, None),
            SchemaName::UnnamedAuthorization(owner) => (new_name(owner), Some(owner)),
            SchemaName::NamedAuthorization(name, owner) => (schema_name(name)?, Some(owner)),
        };
        let owner = owner.map(|owner| owner_name(&Owner::Ident(owner.clone())));
        let owner = owner.map(|owner| self.role_of(&owner)).transpose()?;
        self.state.check_privilege(ObjectKind::Database, self.state.database.oid, Privileges::CREATE)?;
        if let Some(owner) = owner {
            self.check_member(owner)?;
        }
        self.begin_change()?;
        if self.has_schema(&name) {
            let what = format!("schema \"{name}\" already exists");
            if !if_not_exists {
                return Err(SqlError::new(SqlState::DUPLICATE_SCHEMA, what));
            }
            self.skip(&format!("{what}, skipping"), SqlState::DUPLICATE_SCHEMA);
            return Ok(Tag::plain("CREATE SCHEMA"));
        }
        check_reserved(&name)?;
        if name == PUBLIC {
            self.edit_catalog(scaledb_catalog::Catalog::put_public);
            return Ok(Tag::plain("CREATE SCHEMA"));
        }
        let oid = self.state.shared.new_oid();
        self.edit_catalog(|catalog| catalog.put_schema(Arc::new(SchemaDesc { oid, name })));
        self.own(ObjectKind::Schema, oid, None);
        if let Some(owner) = owner {
            self.give_to(ObjectKind::Schema, oid, owner);
        }
        Ok(Tag::plain("CREATE SCHEMA"))
    }

    /// CREATE SCHEMA, and the statements in it: its owner runs them, who finds what is in it first.
    ///
    /// # Errors
    /// Those of the statements; 42P15 for one that is about another schema.
    pub(in crate::session) fn make_schema(&mut self, create: &SchemaElements) -> Result<Tag> {
        let Statement::CreateSchema { schema_name: name, .. } = scaledb_parse::statement(&create.schema)?
        else {
            return Err(SqlError::internal("not a CREATE SCHEMA"));
        };
        let tag = self.create_schema(&name, false)?;
        let schema = match &name {
            SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => schema_name(name)?,
            SchemaName::UnnamedAuthorization(owner) => new_name(owner),
        };
        let Some(oid) = self.state.catalog.schema_oid(&schema) else { return Err(no_schema(&schema)) };
        let mark = self.state.settings.borrow().mark();
        let path = match self.state.settings.borrow().get("search_path") {
            Ok(path) if !path.is_empty() => format!("{}, {path}", quoted(&schema)),
            _ => quoted(&schema),
        };
        self.state.settings.borrow_mut().set("search_path", Some(&path), true)?;
        let done = self.as_owner_of(oid, |session| {
            create.elements.iter().try_for_each(|element| session.make_element(&schema, element))
        });
        self.state.settings.borrow_mut().rollback_to(mark);
        self.refresh();
        done.map(|()| tag)
    }

    fn make_element(&mut self, schema: &str, text: &str) -> Result<()> {
        let compiled = self.compile(text, &[])?;
        let (name, is_new) = match &compiled.action {
            Action::Ddl(statement) => match &**statement {
                Statement::CreateTable(create) if create.query.is_none() => {
                    check_lasting(create.temporary)?;
                    (Some(split(&create.name)?), true)
                }
                Statement::CreateView(create) => {
                    check_lasting(create.temporary)?;
                    (Some(split(&create.name)?), true)
                }
                Statement::CreateSequence { name, temporary, .. } => {
                    check_lasting(*temporary)?;
                    (Some(split(name)?), true)
                }
                Statement::CreateIndex(create) => (Some(split(&create.table_name)?), false),
                _ => return Err(SqlError::new(SqlState::SYNTAX_ERROR, "CREATE SCHEMA does not make this")),
            },
            Action::Utility(Utility::CreateTrigger(create)) => (Some(create.table.clone()), false),
            Action::Utility(Utility::Grant(_)) => (None, true),
            _ => return Err(SqlError::new(SqlState::SYNTAX_ERROR, "CREATE SCHEMA does not make this")),
        };
        if let Some((given, name)) = name {
            if let Some(given) = given.filter(|given| given != schema) {
                let what = format!(
                    "CREATE specifies a schema ({given}) different from the one being created ({schema})"
                );
                return Err(SqlError::new(INVALID_SCHEMA_DEFINITION, what));
            }
            if !is_new && self.state.catalog.lookup(schema, &name).is_none() {
                let what = format!("relation \"{}\" does not exist", shown(Some(schema), &name));
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
            }
        }
        self.run_compiled(&compiled, &[], false, &mut NoRows).map(drop)
    }

    /// ALTER SCHEMA.
    ///
    /// # Errors
    /// 3F000, 42P06, 42939; 0A000 if a text that is kept would not mean the same.
    pub(super) fn alter_schema(&mut self, alter: &AlterSchema) -> Result<Tag> {
        let name = schema_name(&alter.name)?;
        self.begin_change()?;
        if !self.has_schema(&name) {
            return Err(no_schema(&name));
        }
        for operation in &alter.operations {
            match operation {
                AlterSchemaOperation::Rename { name: to } => {
                    let oid = self.state.catalog.schema_oid(&name).unwrap_or(0);
                    self.state.check_owner(oid)?;
                    self.state.check_privilege(
                        ObjectKind::Database,
                        self.state.database.oid,
                        Privileges::CREATE,
                    )?;
                    self.rename_schema(&name, &schema_name(to)?)?;
                }
                AlterSchemaOperation::OwnerTo { owner } => {
                    let oid = self.state.catalog.schema_oid(&name).unwrap_or(0);
                    self.set_owner(ObjectKind::Schema, oid, None, &owner_name(owner))?;
                }
                _ => return Err(SqlError::unsupported("this form of ALTER SCHEMA is not supported")),
            }
        }
        Ok(Tag::plain("ALTER SCHEMA"))
    }

    fn rename_schema(&mut self, from: &str, to: &str) -> Result<()> {
        if self.has_schema(to) {
            let what = format!("schema \"{to}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_SCHEMA, what));
        }
        check_reserved(to)?;
        let Some(desc) = self.state.catalog.schema_named(from).cloned() else {
            return Err(SqlError::unsupported(format!("schema \"{from}\" cannot be renamed")));
        };
        let (relations, types) = self.within(from);
        let of_relations = relations.iter().map(Relation::oid);
        let moved: Vec<u32> = of_relations.chain(types.iter().map(OwnType::oid)).collect();
        let renamed = Arc::new(SchemaDesc { oid: desc.oid, name: to.to_owned() });
        self.edit_catalog(
            |catalog| if to == PUBLIC { catalog.put_public() } else { catalog.put_schema(renamed) },
        );
        for own in types {
            self.move_type(&own, to)?;
        }
        for relation in relations {
            self.move_relation(&relation, to)?;
        }
        self.move_routines(from, to)?;
        self.move_extensions(from, to);
        self.edit_catalog(|catalog| catalog.remove_schema(from));
        self.check_kept(&moved)
    }

    /// DROP SCHEMA.
    ///
    /// # Errors
    /// 3F000; 2BP01 if there is something in it, or it is the system's.
    pub(super) fn drop_schemas(
        &mut self,
        if_exists: bool,
        names: &[ObjectName],
        cascade: bool,
    ) -> Result<Tag> {
        let mut cascaded = Vec::new();
        for name in names {
            let name = schema_name(name)?;
            if matches!(name.as_str(), "pg_catalog" | "information_schema") || is_temporary(&name) {
                let what = format!("cannot drop schema {name} because it is required by the database system");
                return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what));
            }
            if name == "pg_temp" || !self.has_schema(&name) {
                if !if_exists {
                    return Err(no_schema(&name));
                }
                let what = format!("schema \"{name}\" does not exist, skipping");
                self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
                continue;
            }
            self.state.check_owner(self.state.catalog.schema_oid(&name).unwrap_or(0))?;
            self.empty_schema(&name, cascade, &mut cascaded)?;
            self.edit_catalog(|catalog| catalog.remove_schema(&name));
        }
        self.tell_of_cascade(&cascaded);
        Ok(Tag::plain("DROP SCHEMA"))
    }

    pub(super) fn empty_schema(
        &mut self,
        name: &str,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let (relations, types) = self.within(name);
        // sequences of columns are parts of their tables
        let owned = |relation: &&Relation| matches!(relation, Relation::Sequence(s) if s.owned_by.is_some());
        let parts: Vec<&Relation> = relations.iter().filter(|relation| !owned(relation)).collect();
        let mut named: Vec<String> = parts
            .iter()
            .map(|relation| format!("{} {}", relation.kind(), self.seen(name, relation.name())))
            .collect();
        named.extend(types.iter().map(|own| format!("type {}", self.seen(name, own.name()))));
        let extensions: Vec<_> =
            self.state.catalog.extensions().filter(|desc| desc.schema == name).cloned().collect();
        named.extend(extensions.iter().map(|desc| format!("extension {}", quoted(&desc.name))));
        let routines = self.state.catalog.routines().filter(|desc| desc.schema == name);
        let routines: Vec<_> =
            routines.filter(|desc| self.state.catalog.extension_of(desc.oid).is_none()).cloned().collect();
        named.extend(routines.iter().map(|desc| {
            let signature = self.signature_of(desc);
            let found = self.state.path.iter().any(|known| known == name);
            let schema = if found { String::new() } else { format!("{}.", quoted(name)) };
            format!("{} {schema}{signature}", desc.kind.word())
        }));
        if !cascade && !named.is_empty() {
            let what = format!("cannot drop schema {} because other objects depend on it", quoted(name));
            let on = |user: &String| format!("{user} depends on schema {}", quoted(name));
            return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what)
                .detail(named.iter().map(on).collect::<Vec<_>>().join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        cascaded.extend(named);
        let together: Vec<u32> = relations.iter().map(Relation::oid).collect();
        for desc in &extensions {
            cascaded.extend(self.remove_extension(desc)?.into_iter().map(|(user, _)| user));
        }
        // what calls them goes first, as far as it is in the schema, too
        let mut called = Vec::new();
        for routine in &routines {
            match self.kept_calls(routine)?.is_empty() {
                true => self.drop_routine(routine, true, cascaded)?,
                false => called.push(routine),
            }
        }
        for relation in &relations {
            self.drop_relation(relation, &together, true, cascaded)?;
        }
        for routine in called {
            self.drop_routine(routine, true, cascaded)?;
        }
        for own in &types {
            self.drop_type(own, true, cascaded)?;
        }
        Ok(())
    }

    /// A name with its schema, unless the search path leads to it.
    fn seen(&self, schema: &str, name: &str) -> String {
        let found = self.state.path.iter().any(|known| known == schema);
        if found { quoted(name) } else { format!("{}.{}", quoted(schema), quoted(name)) }
    }

    /// ALTER .. SET SCHEMA.
    ///
    /// # Errors
    /// 3F000, 42P01, 42704, 42809, 42P07, 42710; 0A000 for what is temporary, for the sequence of a column, and if a
    /// view names it.
    pub(in crate::session) fn set_schema(&mut self, set: &SetSchema) -> Result<Tag> {
        let tag = Tag::plain(set.kind.tag());
        self.begin_change()?;
        let to = self.existing_schema(&set.to)?;
        if set.kind.is_type() {
            let catalog = &self.state.catalog;
            let found = find_own_type(catalog, &self.state.path, set.schema.as_deref(), &set.name);
            let Some(own) = found.and_then(|oid| OwnType::of(catalog, oid)) else {
                let what = format!("type \"{}\" does not exist", shown(set.schema.as_deref(), &set.name));
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
            };
            self.set_schema_of_type(&own, &to)?;
            return Ok(tag);
        }
        let found = find_relation(&self.state.catalog, &self.state.path, set.schema.as_deref(), &set.name);
        let Some(relation) = found.cloned() else {
            let what = format!("relation \"{}\" does not exist", shown(set.schema.as_deref(), &set.name));
            if !set.if_exists {
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
            }
            self.skip(&format!("{what}, skipping"), SqlState::SUCCESSFUL_COMPLETION);
            return Ok(tag);
        };
        if !set.kind.takes(relation.kind()) {
            let what = format!("\"{}\" is not a {}", relation.name(), set.kind.word());
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        self.state.check_owner(relation.oid())?;
        if relation.schema() == to {
            return Ok(tag);
        }
        if is_temporary(relation.schema()) || is_temporary(&to) {
            return Err(SqlError::unsupported("cannot move objects into or out of temporary schemas"));
        }
        if let Relation::Sequence(sequence) = &relation
            && let Some((owner, _)) = sequence.owned_by
        {
            let table = self.state.catalog.get(owner).map_or("?", Relation::name);
            let detail = format!("Sequence \"{}\" is linked to table \"{table}\".", sequence.name);
            let what = "cannot move an owned sequence into another schema";
            return Err(SqlError::unsupported(what).detail(detail));
        }
        let mut moved = vec![relation.clone()];
        if let Relation::Table(table) = &relation {
            self.check_not_pending(table.oid, "ALTER TABLE")?;
            let belongs = |other: &&Relation| matches!(other, Relation::Sequence(s) if s.owned_by.is_some_and(|(owner, _)| owner == table.oid));
            moved.extend(self.state.catalog.relations().filter(belongs).cloned());
        }
        for relation in &moved {
            self.check_room(relation, &to)?;
        }
        for relation in &moved {
            self.move_relation(relation, &to)?;
        }
        self.check_kept(&moved.iter().map(Relation::oid).collect::<Vec<_>>())?;
        Ok(tag)
    }

    /// SET SCHEMA of an enum type or a domain.
    ///
    /// # Errors
    /// 42501, 42710; 0A000 if a text that is kept names it.
    pub(super) fn set_schema_of_type(&mut self, own: &OwnType, to: &str) -> Result<()> {
        self.state.check_owner(own.oid())?;
        if own.schema() == to {
            return Ok(());
        }
        if self.state.catalog.is_taken(to, own.name()) {
            let what = format!("type \"{}\" already exists in schema \"{to}\"", own.name());
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        self.move_type(own, to)?;
        self.check_kept(&[own.oid()])
    }

    /// # Errors
    /// 42P07 if something in a schema has the name of a relation, or of one of its indexes.
    fn check_room(&self, relation: &Relation, schema: &str) -> Result<()> {
        let mut names = vec![relation.name()];
        if let Relation::Table(table) = relation {
            names.extend(table.primary_key.iter().map(|key| key.name.as_str()));
            names.extend(table.indexes.iter().map(|index| index.name.as_str()));
        }
        match names.into_iter().find(|name| self.state.catalog.is_taken(schema, name)) {
            Some(name) => {
                let what = format!("relation \"{name}\" already exists in schema \"{schema}\"");
                Err(SqlError::new(SqlState::DUPLICATE_TABLE, what))
            }
            None => Ok(()),
        }
    }

    /// Lets views that name something find it in another schema, too. They find nothing else there: only what they use.
    pub(super) fn let_views_follow(&mut self, oid: u32, to: &str) -> Result<()> {
        let follows =
            |view: &Arc<ViewDesc>| view.uses.contains(&oid) && !view.path.iter().any(|known| known == to);
        let views: Vec<Arc<ViewDesc>> = self.state.catalog.definitions().filter(follows).collect();
        for view in views {
            let mut view = (*view).clone();
            if view.path.is_empty() {
                view.path.push(PUBLIC.to_owned());
            }
            view.path.push(to.to_owned());
            self.put_definition(&view)?;
        }
        self.let_policies_find(oid, to)
    }

    fn move_relation(&mut self, relation: &Relation, to: &str) -> Result<()> {
        self.let_views_follow(relation.oid(), to)?;
        // one that a move before it has changed
        let Some(relation) = self.state.catalog.get(relation.oid()).cloned() else { return Ok(()) };
        match relation {
            Relation::Table(table) => {
                let mut table = (*table).clone();
                to.clone_into(&mut table.schema);
                self.put(Relation::Table(Arc::new(table)))
            }
            Relation::View(view) => {
                let mut view = (*view).clone();
                to.clone_into(&mut view.schema);
                self.put(Relation::View(Arc::new(view)))
            }
            Relation::Sequence(sequence) => {
                let mut sequence = (*sequence).clone();
                to.clone_into(&mut sequence.schema);
                self.let_defaults_follow(&sequence)?;
                self.put(Relation::Sequence(Arc::new(sequence)))
            }
        }
    }

    /// After a move: expressions of tables, and the queries of views that use what has moved, mean what they meant, for
    /// they are kept as text.
    ///
    /// # Errors
    /// 0A000.
    fn check_kept(&mut self, moved: &[u32]) -> Result<()> {
        for table in self.state.catalog.tables().cloned().collect::<Vec<Arc<TableDesc>>>() {
            self.check_expressions(&table).map_err(|error| {
                let what =
                    format!("an expression of table \"{}\" would not mean the same: {error}", table.name);
                SqlError::unsupported(what)
                    .hint("Drop what has the expression, make the change, and make it again.")
            })?;
        }
        for domain in self.state.catalog.domains().cloned().collect::<Vec<_>>() {
            self.check_domain(&domain).map_err(|error| {
                let what =
                    format!("an expression of domain \"{}\" would not mean the same: {error}", domain.name);
                SqlError::unsupported(what)
                    .hint("Drop what has the expression, make the change, and make it again.")
            })?;
        }
        let uses = |view: &Arc<ViewDesc>| view.uses.iter().any(|oid| moved.contains(oid));
        for view in self.state.catalog.definitions().filter(uses).collect::<Vec<_>>() {
            // those of other sessions cannot be looked at
            let own = own_schema(&self.state.path, &view.schema).is_some();
            if !own || !self.means_the_same(&view) {
                let what =
                    format!("view \"{}\" would not mean the same: its query names what moves", view.name);
                return Err(SqlError::unsupported(what).hint("Drop the view, and create it again."));
            }
        }
        Ok(())
    }

    /// Relations and types in a schema, by oid.
    fn within(&self, schema: &str) -> (Vec<Relation>, Vec<OwnType>) {
        let catalog = &self.state.catalog;
        let relations = catalog.relations().filter(|relation| relation.schema() == schema).cloned();
        (relations.collect(), OwnType::within(catalog, schema))
    }

    pub(super) fn has_schema(&self, name: &str) -> bool {
        is_schema(&self.state.catalog, &self.state.path, name)
    }

    /// The name of a schema that is there, and not the system's.
    ///
    /// # Errors
    /// 3F000, 42501.
    pub(super) fn existing_schema(&mut self, name: &str) -> Result<String> {
        self.schema_for(Some(name.to_owned()), false)
    }
}

/// 42P16 for a temporary relation, which is in no schema that a name is for.
fn check_lasting(temporary: bool) -> Result<()> {
    if !temporary {
        return Ok(());
    }
    let what = "cannot create temporary relation in non-temporary schema";
    Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what))
}

/// The name of a schema, which has no parts.
fn schema_name(name: &ObjectName) -> Result<String> {
    match &name.0[..] {
        [ObjectNamePart::Identifier(ident)] => Ok(new_name(ident)),
        _ => {
            let what = format!("syntax error at or near \".\": \"{name}\" names no schema");
            Err(SqlError::new(SqlState::SYNTAX_ERROR, what))
        }
    }
}

/// # Errors
/// 42939 for a name that only the system's schemas may have.
fn check_reserved(name: &str) -> Result<()> {
    debug_assert!(name.len() <= MAX_NAME, "names are cut");
    if name == PUBLIC || !name.starts_with("pg_") {
        return Ok(());
    }
    let what = format!("unacceptable schema name \"{name}\"");
    Err(SqlError::new(SqlState::RESERVED_NAME, what)
        .detail("The prefix \"pg_\" is reserved for system schemas."))
}
