//! Who owns what is made, who may change it, and OWNER TO.

use super::super::Session;
use scaledb_catalog::{AccessDesc, Grant, ObjectKind, Privileges, Relation, default_grants, with_owner};
use scaledb_engine::Engine;
use scaledb_parse::roles::RoleName;
use scaledb_planner::bind::names::{fold, is_temporary};
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::Owner;

/// Whether PUBLIC is meant, which is no role.
pub(super) fn no_role_is_public(name: &RoleName) -> bool {
    matches!(name, RoleName::Everybody)
}

impl<E: Engine> Session<E> {
    /// Changes what is said about who owns an object and who may do what with it.
    pub(super) fn edit_access(&mut self, object: u32, f: impl FnOnce(&mut AccessDesc)) {
        let known = self.state.catalog.access(object).map(|access| (**access).clone());
        let mut access = known.unwrap_or_else(|| AccessDesc {
            object,
            owner: self.state.catalog.owner_of(object),
            ..AccessDesc::default()
        });
        f(&mut access);
        self.edit_catalog(|catalog| catalog.put_access(access));
    }

    /// An object has been made: the current role owns it, and others may do what its default privileges say.
    pub(super) fn own(&mut self, kind: ObjectKind, object: u32, schema: Option<&str>) {
        let owner = self.state.identity.current();
        let grants = self.default_grants(kind, owner, schema);
        self.edit_access(object, |access| {
            access.owner = owner;
            access.grants = grants;
        });
    }

    /// What is granted of a new object, if not the defaults of its kind.
    fn default_grants(&self, kind: ObjectKind, owner: u32, schema: Option<&str>) -> Option<Vec<Grant>> {
        let catalog = &self.state.catalog;
        let schema = schema.and_then(|schema| catalog.schema_oid(schema));
        let defaults = &catalog.access(owner)?.defaults;
        let of = |wanted: Option<u32>| {
            defaults.iter().find(|each| each.kind == kind && each.schema == wanted).map(|each| &each.grants)
        };
        let (all, here) = (of(None), schema.and_then(|schema| of(Some(schema))));
        if all.is_none() && here.is_none() {
            return None;
        }
        let standard = default_grants(kind, owner);
        let mut grants = all.cloned().unwrap_or_else(|| standard.clone());
        for &grant in here.into_iter().flatten() {
            // what the owner grants is never circular
            let _ = catalog.add_grant(&mut grants, owner, grant);
        }
        // compared as sets
        grants.sort_by_key(|grant| (grant.to, grant.by));
        (grants != standard).then_some(grants)
    }

    /// The role of a name in a statement.
    ///
    /// # Errors
    /// 42704; 42939 for PUBLIC.
    pub(super) fn role_of(&self, name: &RoleName) -> Result<u32> {
        let none =
            |name: &str| SqlError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"));
        let identity = &self.state.identity;
        match name {
            RoleName::Current => Ok(identity.current()),
            RoleName::Session => Ok(identity.session()),
            RoleName::Everybody => Err(none("public")),
            RoleName::Named(name) => identity.role_named(&self.state.catalog, name).ok_or_else(|| none(name)),
        }
    }

    /// # Errors
    /// 42501 if the current role is no member of another.
    pub(super) fn check_member(&self, role: u32) -> Result<()> {
        if self.state.catalog.is_member(self.state.identity.current(), role) {
            return Ok(());
        }
        let what = format!("must be member of role \"{}\"", self.state.role_name(role));
        Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what))
    }

    /// # Errors
    /// 42501 unless the current role may drop something: it owns it, or its schema.
    pub(super) fn check_may_drop(&self, object: u32, schema: &str) -> Result<()> {
        if self.may_drop(object, schema) { Ok(()) } else { Err(self.state.not_owner(object)) }
    }

    pub(super) fn may_drop(&self, object: u32, schema: &str) -> bool {
        let of_schema = self.state.catalog.schema_oid(schema);
        self.state.owns(object) || of_schema.is_some_and(|schema| self.state.owns(schema))
    }

    /// # Errors
    /// 42501 unless the current role may make something in a schema.
    pub(super) fn check_may_create_in(&self, schema: &str) -> Result<()> {
        if is_temporary(schema) {
            let what = format!(
                "permission denied to create temporary tables in database \"{}\"",
                self.state.database_name
            );
            let allowed = self.state.check_privilege(
                ObjectKind::Database,
                self.state.database.oid,
                Privileges::TEMPORARY,
            );
            return allowed.map_err(|_| SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        }
        match self.state.catalog.schema_oid(schema) {
            Some(oid) => self.state.check_privilege(ObjectKind::Schema, oid, Privileges::CREATE),
            None => Ok(()),
        }
    }

    /// OWNER TO, of something in a schema, or of a schema.
    ///
    /// # Errors
    /// 42704; 42501 unless the current role owns it and is a member of the new owner, which may make something there.
    pub(super) fn set_owner(
        &mut self,
        kind: ObjectKind,
        object: u32,
        schema: Option<&str>,
        owner: &RoleName,
    ) -> Result<()> {
        let to = self.role_of(owner)?;
        // as in PostgreSQL: of other objects nobody is asked who owns them, if nothing changes
        let same = self.state.catalog.owner_of(object) == to;
        if !same || matches!(kind, ObjectKind::Table | ObjectKind::Sequence) {
            self.state.check_owner(object)?;
        }
        if same {
            return Ok(());
        }
        self.check_member(to)?;
        if !self.state.identity.is_superuser() {
            let (kind, object) = match schema {
                Some(schema) => (ObjectKind::Schema, self.state.catalog.schema_oid(schema).unwrap_or(0)),
                None => (ObjectKind::Database, self.state.database.oid),
            };
            // the new owner of a schema need not be allowed to make one, but who gives it away must
            let role = if schema.is_some() { to } else { self.state.identity.current() };
            let asked = Privileges::CREATE;
            if self.state.catalog.privileges(role, kind, object, asked) != asked {
                return Err(self.state.denied(kind, object));
            }
        }
        self.give_to(kind, object, to);
        Ok(())
    }

    /// Gives an object to another owner, with the sequences of its columns.
    pub(super) fn give_to(&mut self, kind: ObjectKind, object: u32, to: u32) {
        debug_assert_ne!(kind, ObjectKind::Column, "columns have no owners");
        let from = self.state.catalog.owner_of(object);
        let listed = self.state.catalog.access(object).is_some_and(|access| access.grants.is_some());
        let grants = listed.then(|| with_owner(&self.state.catalog.grants_of(kind, object), from, to));
        self.edit_access(object, |access| {
            access.owner = to;
            access.grants = grants;
            for (_, grants) in &mut access.columns {
                *grants = with_owner(grants, from, to);
            }
        });
        let owned = |relation: &&Relation| matches!(relation, Relation::Sequence(s) if s.owned_by.is_some_and(|(table, _)| table == object));
        let sequences: Vec<u32> = self.state.catalog.relations().filter(owned).map(Relation::oid).collect();
        for sequence in sequences {
            self.give_to(ObjectKind::Sequence, sequence, to);
        }
    }
}

/// The role behind OWNER TO.
pub(super) fn owner_name(owner: &Owner) -> RoleName {
    match owner {
        Owner::CurrentRole | Owner::CurrentUser => RoleName::Current,
        Owner::SessionUser => RoleName::Session,
        Owner::Ident(ident) if ident.quote_style.is_none() => named(&fold(ident)),
        Owner::Ident(ident) => RoleName::Named(ident.value.clone()),
    }
}

/// The role of a word behind OWNER TO.
pub(super) fn named(name: &str) -> RoleName {
    match name {
        "current_user" | "current_role" => RoleName::Current,
        "session_user" => RoleName::Session,
        "public" => RoleName::Everybody,
        name => RoleName::Named(name.to_owned()),
    }
}
