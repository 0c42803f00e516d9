//! GRANT, REVOKE and ALTER DEFAULT PRIVILEGES.

use super::super::Session;
use crate::api::{Severity, Tag};
use scaledb_catalog::{
    Catalog, DefaultGrants, EVERYBODY, Grant, GrantError, ObjectKind, PLPGSQL_LANGUAGE, Privileges, Relation,
    SQL_LANGUAGE, default_grants,
};
use scaledb_engine::Engine;
use scaledb_parse::grant::{Change, GrantStatement, Named, Objects};
use scaledb_parse::roles::RoleName;
use scaledb_parse::routine::{Kinds, Name};
use scaledb_planner::bind::names::{find_relation, no_schema, parse_type, shown};
use scaledb_types::{Base, Result, SqlError, SqlState};

/// The languages of routines, by their oids.
const LANGUAGES: [(&str, u32); 4] =
    [("internal", 12), ("c", 13), ("sql", SQL_LANGUAGE), ("plpgsql", PLPGSQL_LANGUAGE)];

/// A change of one list, with who makes it.
struct ListChange<'c> {
    change: &'c Change,
    /// To whom, or from whom.
    roles: &'c [u32],
    by: u32,
    privileges: Privileges,
}

impl<E: Engine> Session<E> {
    /// GRANT and REVOKE.
    ///
    /// # Errors
    /// 42501 for what the current role may not grant, 0LP01 for what there is no such privilege on, 2BP01 for what was
    /// granted on; 42704 and others for what is not there.
    pub(in crate::session) fn grant(&mut self, statement: &GrantStatement) -> Result<Tag> {
        self.begin_change()?;
        match statement {
            GrantStatement::Roles { revokes, admin_only, admin, roles, members, by } => {
                self.grant_roles(*revokes, (*admin_only, *admin), (roles, members), by.as_ref())?;
            }
            GrantStatement::Privileges(change, objects) => self.grant_privileges(change, objects)?,
            GrantStatement::Defaults { roles, schemas, change, kind } => {
                self.change_defaults(roles, schemas, change, *kind)?;
            }
        }
        Ok(Tag::plain(statement.tag()))
    }

    fn grantees(&self, change: &Change) -> Result<Vec<u32>> {
        if let Some(by) = &change.by
            && self.role_of(by)? != self.state.identity.current()
        {
            return Err(SqlError::unsupported("grantor must be current user"));
        }
        let role = |name: &RoleName| match name {
            RoleName::Everybody => Ok(EVERYBODY),
            name => self.role_of(name),
        };
        change.roles.iter().map(role).collect()
    }

    fn grant_privileges(&mut self, change: &Change, objects: &Objects) -> Result<()> {
        let roles = self.grantees(change)?;
        let (kind, found) = self.objects(objects)?;
        if kind != ObjectKind::Table {
            let privileges = asked(change, kind)?;
            for object in found {
                let name = self.name_of_object(object);
                self.change_grants((kind, object, &name), &roles, change, privileges)?;
            }
            return Ok(());
        }
        asked_of_columns(change)?;
        for oid in found {
            let Some(relation) = self.state.catalog.get(oid).cloned() else { continue };
            self.change_relation(&relation, &roles, change)?;
        }
        Ok(())
    }

    /// GRANT and REVOKE on a relation, and on columns of it.
    fn change_relation(&mut self, relation: &Relation, roles: &[u32], change: &Change) -> Result<()> {
        let (oid, name) = (relation.oid(), relation.name());
        let kind = Catalog::kind_of_relation(relation);
        let of_table: Vec<&Named> =
            change.privileges.iter().filter(|named| named.columns.is_empty()).collect();
        let everything = change.privileges.is_empty() && change.all_of.is_empty();
        let mut whole =
            if everything { kind.all() } else { union(of_table.iter().map(|named| named.privilege)) };
        if kind == ObjectKind::Sequence && !kind.all().has(whole) {
            // as a table, which sequences have been for long
            if !ObjectKind::Table.all().and(kind.all()).has(whole) {
                let named = of_table.iter().find(|named| !kind.all().has(named.privilege));
                return Err(invalid(named.map(|named| named.name), "sequence"));
            }
            let what = format!("sequence \"{name}\" only supports USAGE, SELECT, and UPDATE privileges");
            self.state.notice(Severity::Warning, SqlError::new(SqlState::INVALID_GRANT_OPERATION, what));
            whole = whole.common(kind.all());
        }
        if let Some(named) =
            of_table.iter().find(|named| kind == ObjectKind::Table && !kind.all().has(named.privilege))
        {
            return Err(invalid(Some(named.name), "table"));
        }
        // the list as it was decides who may grant
        let before = self.state.catalog.grants_of(kind, oid);
        let mut columns: Vec<(i16, Privileges)> = Vec::new();
        let mut add = |attnum: i16, privileges: Privileges| match columns
            .iter_mut()
            .find(|(known, _)| *known == attnum)
        {
            Some((_, known)) => *known = known.and(privileges),
            None => columns.push((attnum, privileges)),
        };
        for named in change.privileges.iter().filter(|named| !named.columns.is_empty()) {
            for column in &named.columns {
                add(self.column_number(relation, column)?, named.privilege);
            }
        }
        for column in &change.all_of {
            add(self.column_number(relation, column)?, ObjectKind::Column.all());
        }
        if !whole.is_empty() {
            self.change_grants((kind, oid, name), roles, change, whole)?;
            // what is taken from all of a table is taken from its columns
            if change.revokes {
                let of_columns = whole.common(ObjectKind::Column.all());
                let listed: Vec<i16> = self
                    .state
                    .catalog
                    .access(oid)
                    .into_iter()
                    .flat_map(|access| &access.columns)
                    .map(|(attnum, _)| *attnum)
                    .collect();
                listed
                    .into_iter()
                    .filter(|_| !of_columns.is_empty())
                    .for_each(|attnum| add(attnum, of_columns));
            }
        }
        for (attnum, privileges) in columns {
            let owner = self.state.catalog.owner_of(oid);
            let mut grants = self
                .state
                .catalog
                .access(oid)
                .map_or_else(Vec::new, |access| access.of_column(attnum).to_vec());
            let both: Vec<Grant> = before.iter().chain(&grants).copied().collect();
            let (by, may) =
                self.state.catalog.grantor(self.state.identity.current(), owner, &both, privileges);
            let column = column_name(relation, attnum);
            let shown = format!("column \"{column}\" of relation \"{name}\"");
            if may.is_empty() {
                let any =
                    |list: &[Grant]| !self.state.catalog.held(by, list, ObjectKind::Column.all()).is_empty();
                let options = both.iter().any(|grant| grant.to == by && !grant.options.is_empty());
                if !any(&both) && !options {
                    return Err(self.state.denied(kind, oid));
                }
            }
            self.tell_of_less(change, may, privileges, &shown);
            let changes = ListChange { change, roles, by, privileges: may };
            self.apply_to(&mut grants, owner, &changes)?;
            self.edit_access(oid, |access| {
                access.columns.retain(|(known, _)| *known != attnum);
                if !grants.is_empty() {
                    access.columns.push((attnum, grants));
                    access.columns.sort_by_key(|(attnum, _)| *attnum);
                }
            });
        }
        Ok(())
    }

    /// GRANT and REVOKE on all of an object.
    fn change_grants(
        &mut self,
        (kind, object, name): (ObjectKind, u32, &str),
        roles: &[u32],
        change: &Change,
        privileges: Privileges,
    ) -> Result<()> {
        let catalog = &self.state.catalog;
        let owner = catalog.owner_of(object);
        let mut grants = catalog.grants_of(kind, object);
        let current = self.state.identity.current();
        let (by, may) = catalog.grantor(current, owner, &grants, privileges);
        if may.is_empty() {
            let any = !catalog.privileges(by, kind, object, kind.all()).is_empty();
            let options = grants.iter().any(|grant| grant.to == by && !grant.options.is_empty());
            if !any && !options {
                return Err(self.state.denied(kind, object));
            }
        }
        self.tell_of_less(change, may, privileges, &format!("\"{name}\""));
        let changes = ListChange { change, roles, by, privileges: may };
        self.apply_to(&mut grants, owner, &changes)?;
        self.edit_access(object, |access| access.grants = Some(grants));
        Ok(())
    }

    /// Warns where less was granted or revoked than was asked for.
    fn tell_of_less(&self, change: &Change, may: Privileges, asked: Privileges, on: &str) {
        let (code, none, some) = match change.revokes {
            false => (
                SqlState::PRIVILEGE_NOT_GRANTED,
                "no privileges were granted for",
                "not all privileges were granted for",
            ),
            true => (
                SqlState::PRIVILEGE_NOT_REVOKED,
                "no privileges could be revoked for",
                "not all privileges could be revoked for",
            ),
        };
        let what = if may.is_empty() {
            none
        } else if may != asked && !change.privileges.is_empty() {
            some
        } else {
            return;
        };
        self.state.notice(Severity::Warning, SqlError::new(code, format!("{what} {on}")));
    }

    /// Changes a list.
    fn apply_to(&self, grants: &mut Vec<Grant>, owner: u32, changes: &ListChange<'_>) -> Result<()> {
        let ListChange { change, roles, by, privileges } = *changes;
        for &to in roles {
            if change.with_option && to == EVERYBODY {
                let what = "grant options can only be granted to roles";
                return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, what));
            }
            let none = Privileges::NONE;
            let catalog = &self.state.catalog;
            let done = match change.revokes {
                false => {
                    let options = if change.with_option { privileges } else { none };
                    catalog.add_grant(grants, owner, Grant { to, by, privileges, options })
                }
                // the right to grant goes with what it is for
                true => {
                    let of = if change.option_only { none } else { privileges };
                    let gone = Grant { to, by, privileges: of, options: privileges };
                    catalog.take_grant(grants, owner, gone, change.cascade)
                }
            };
            done.map_err(|error| match error {
                GrantError::Dependent => {
                    SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, error.to_string())
                        .hint("Use CASCADE to revoke them too.")
                }
                GrantError::Circular => SqlError::new(SqlState::INVALID_GRANT_OPERATION, error.to_string()),
            })?;
        }
        Ok(())
    }

    /// The objects of a statement, and of which kind they are.
    fn objects(&self, objects: &Objects) -> Result<(ObjectKind, Vec<u32>)> {
        let catalog = &self.state.catalog;
        Ok(match objects {
            Objects::Relations(names) => {
                let all = names.iter().map(|name| self.granted_relation(name).map(|found| found.oid()));
                (ObjectKind::Table, all.collect::<Result<_>>()?)
            }
            Objects::Sequences(names) => {
                let one = |name: &Name| match self.granted_relation(name)? {
                    Relation::Sequence(desc) => Ok(desc.oid),
                    other => {
                        let what = format!("\"{}\" is not a sequence", other.name());
                        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
                    }
                };
                (ObjectKind::Sequence, names.iter().map(one).collect::<Result<_>>()?)
            }
            Objects::Routines(kinds, all) => {
                let one = |signature| self.routine_named(*kinds, signature).map(|desc| desc.oid);
                (ObjectKind::Routine, all.iter().map(one).collect::<Result<_>>()?)
            }
            Objects::Types(names) => {
                let one = |name: &String| {
                    let ty = parse_type(catalog, &self.state.path, name)?;
                    Ok(match ty.base {
                        _ if ty.as_domain().is_some() => ty.oid(),
                        Base::Enum(definition) if !ty.array => definition.oid(),
                        _ if ty.array => {
                            let what = "cannot set privileges of array types";
                            return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, what)
                                .hint("Set the privileges of the element type instead."));
                        }
                        _ => ty.oid(),
                    })
                };
                (ObjectKind::Type, names.iter().map(one).collect::<Result<_>>()?)
            }
            Objects::Schemas(names) => {
                let one = |name: &String| self.granted_schema(name);
                (ObjectKind::Schema, names.iter().map(one).collect::<Result<_>>()?)
            }
            Objects::Databases(names) => {
                let one = |name: &String| self.database_of(name);
                (ObjectKind::Database, names.iter().map(one).collect::<Result<_>>()?)
            }
            Objects::Languages(names) => {
                let one = |name: &String| {
                    let found = LANGUAGES.iter().find(|(known, _)| known == name);
                    let what = format!("language \"{name}\" does not exist");
                    let oid = found.ok_or_else(|| SqlError::new(SqlState::UNDEFINED_OBJECT, what))?.1;
                    if matches!(name.as_str(), "c" | "internal") {
                        let what = format!("language \"{name}\" is not trusted");
                        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
                            .detail("GRANT and REVOKE are not allowed on untrusted languages, because only superusers can use untrusted languages."));
                    }
                    Ok(oid)
                };
                (ObjectKind::Language, names.iter().map(one).collect::<Result<_>>()?)
            }
            Objects::In(kind, kinds, schemas) => {
                for schema in schemas {
                    let oid = self.granted_schema(schema)?;
                    self.state.check_privilege(ObjectKind::Schema, oid, Privileges::USAGE)?;
                }
                (*kind, self.all_in(*kind, *kinds, schemas))
            }
        })
    }

    fn all_in(&self, kind: ObjectKind, kinds: Kinds, schemas: &[String]) -> Vec<u32> {
        let catalog = &self.state.catalog;
        if kind == ObjectKind::Routine {
            let within =
                catalog.routines().filter(|desc| schemas.contains(&desc.schema) && kinds.has(desc.kind));
            return within.map(|desc| desc.oid).collect();
        }
        let within = catalog.relations().filter(|relation| {
            Catalog::kind_of_relation(relation) == kind
                && schemas.iter().any(|schema| schema == relation.schema())
        });
        within.map(Relation::oid).collect()
    }

    fn granted_relation(&self, (schema, name): &Name) -> Result<Relation> {
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let found = find_relation(catalog, path, schema.as_deref(), name);
        found.cloned().ok_or_else(|| {
            if self.schema_of_index(schema.as_deref(), name).is_some() {
                return SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is an index"));
            }
            if let Some(schema) = schema.as_deref().filter(|schema| !self.has_schema(schema)) {
                return no_schema(schema);
            }
            let what = format!("relation \"{}\" does not exist", shown(schema.as_deref(), name));
            SqlError::new(SqlState::UNDEFINED_TABLE, what)
        })
    }

    fn granted_schema(&self, name: &str) -> Result<u32> {
        self.state.catalog.schema_oid(name).ok_or_else(|| {
            if self.has_schema(name) {
                return SqlError::unsupported(format!("privileges on schema {name} are fixed"));
            }
            no_schema(name)
        })
    }

    fn column_number(&self, relation: &Relation, name: &str) -> Result<i16> {
        let found = match relation {
            Relation::Table(desc) => desc.column(name).map(|at| desc.columns[at].attnum),
            Relation::View(view) => {
                let at = view.columns.iter().position(|(known, ..)| known == name);
                at.and_then(|at| i16::try_from(at + 1).ok())
            }
            Relation::Sequence(_) => {
                let at = ["last_value", "log_cnt", "is_called"].iter().position(|known| *known == name);
                at.and_then(|at| i16::try_from(at + 1).ok())
            }
        };
        found.ok_or_else(|| {
            let what = format!("column \"{name}\" of relation \"{}\" does not exist", relation.name());
            SqlError::new(SqlState::UNDEFINED_COLUMN, what)
        })
    }

    fn name_of_object(&self, object: u32) -> String {
        let catalog = &self.state.catalog;
        if let Some(relation) = catalog.get(object) {
            return relation.name().to_owned();
        }
        if let Some(desc) = catalog.routine(object) {
            return desc.name.clone();
        }
        if let Some((_, name)) = catalog.own_type(object) {
            return name.to_owned();
        }
        if catalog.is_database(object) {
            return self.state.name_of_database(object);
        }
        let language = LANGUAGES.iter().find(|(_, oid)| *oid == object).map(|(name, _)| (*name).to_owned());
        let schema = catalog.schema_of(object).or(language);
        schema.or_else(|| catalog.type_of_oid(object).map(|ty| ty.name())).unwrap_or_default()
    }

    /// ALTER DEFAULT PRIVILEGES.
    fn change_defaults(
        &mut self,
        roles: &[RoleName],
        schemas: &[String],
        change: &Change,
        kind: ObjectKind,
    ) -> Result<()> {
        let to = self.grantees(change)?;
        let privileges = asked(change, kind)?;
        if kind == ObjectKind::Schema && !schemas.is_empty() {
            let what = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, what));
        }
        let mut owners = vec![self.state.identity.current()];
        if !roles.is_empty() {
            owners = self.roles_of(roles)?;
            owners.iter().try_for_each(|role| self.check_member(*role))?;
        }
        let schemas: Vec<Option<u32>> = match schemas {
            [] => vec![None],
            some => some.iter().map(|name| self.granted_schema(name).map(Some)).collect::<Result<_>>()?,
        };
        for owner in owners {
            for &schema in &schemas {
                let standard = if schema.is_some() { Vec::new() } else { default_grants(kind, owner) };
                let known = self.state.catalog.access(owner).map_or(&[][..], |access| &access.defaults);
                let known = known.iter().find(|each| each.kind == kind && each.schema == schema);
                let (oid, mut grants) = match known {
                    Some(known) => (known.oid, known.grants.clone()),
                    None => (self.state.shared.new_oid(), standard.clone()),
                };
                let changes = ListChange { change, roles: &to, by: owner, privileges };
                self.apply_to(&mut grants, owner, &changes)?;
                // compared as sets
                grants.sort_by_key(|grant| (grant.to, grant.by));
                self.edit_access(owner, |access| {
                    access.defaults.retain(|each| each.kind != kind || each.schema != schema);
                    if grants != standard {
                        access.defaults.push(DefaultGrants { oid, schema, kind, grants });
                    }
                });
            }
        }
        Ok(())
    }
}

/// The privileges that a statement names, on objects of a kind.
///
/// # Errors
/// 0LP01 for one that there is none of on such objects.
fn asked(change: &Change, kind: ObjectKind) -> Result<Privileges> {
    if !change.all_of.is_empty() || change.privileges.iter().any(|named| !named.columns.is_empty()) {
        let what = match kind {
            ObjectKind::Table => "default privileges cannot be set for columns",
            _ => "column privileges are only valid for relations",
        };
        return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, what));
    }
    if change.privileges.is_empty() {
        return Ok(kind.all());
    }
    if let Some(named) = change.privileges.iter().find(|named| !kind.all().has(named.privilege)) {
        return Err(invalid(Some(named.name), plural_word(kind)));
    }
    Ok(union(change.privileges.iter().map(|named| named.privilege)))
}

/// # Errors
/// 0LP01 for a privilege on columns that there is not.
fn asked_of_columns(change: &Change) -> Result<()> {
    let of_columns = |named: &&Named| !named.columns.is_empty();
    let no_such = |named: &&Named| !ObjectKind::Column.all().has(named.privilege);
    match change.privileges.iter().filter(of_columns).find(no_such) {
        Some(named) => Err(invalid(Some(named.name), "column")),
        None => {
            let any = ObjectKind::Table.all().and(ObjectKind::Sequence.all());
            let whole = change.privileges.iter().filter(|named| named.columns.is_empty());
            match whole.into_iter().find(|named| !any.has(named.privilege)) {
                Some(named) => Err(invalid(Some(named.name), "relation")),
                None => Ok(()),
            }
        }
    }
}

fn plural_word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "relation",
        other => other.word(),
    }
}

fn invalid(name: Option<&str>, kind: &str) -> SqlError {
    let what = format!("invalid privilege type {} for {kind}", name.unwrap_or_default());
    SqlError::new(SqlState::INVALID_GRANT_OPERATION, what)
}

fn union(all: impl Iterator<Item = Privileges>) -> Privileges {
    all.fold(Privileges::NONE, Privileges::and)
}

pub(super) fn column_name(relation: &Relation, attnum: i16) -> String {
    match relation {
        Relation::Table(desc) => desc.column_name(attnum).to_owned(),
        Relation::View(view) => {
            let at = usize::from(attnum.unsigned_abs()).saturating_sub(1);
            view.columns.get(at).map_or_else(String::new, |(name, ..)| name.clone())
        }
        Relation::Sequence(_) => String::new(),
    }
}
