//! CREATE, ALTER and DROP ROLE; memberships; DROP OWNED and REASSIGN OWNED.

use super::super::Session;
use super::own_types::OwnType;
use crate::api::{Severity, Tag};
use scaledb_catalog::{
    Catalog, DATABASE_OWNER, EVERYBODY, Grant, MembershipDesc, OWNER, ObjectKind, PREDEFINED, Relation,
    RoleDesc,
};
use scaledb_engine::Engine;
use scaledb_parse::roles::{RoleName, RoleOption, RoleStatement, reserved};
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// A statement about roles.
    ///
    /// # Errors
    /// 42501 for what the current role may not, 42704 for a role that is not there, 42710 for one that is; 2BP01 for
    /// one that something belongs to.
    pub(in crate::session) fn change_roles(&mut self, statement: &RoleStatement) -> Result<Tag> {
        self.begin_change()?;
        match statement {
            RoleStatement::Create { name, options } => self.create_role(name, options)?,
            RoleStatement::Alter { role, options } => self.alter_role(role, options)?,
            RoleStatement::Rename { from, to } => self.rename_role(from, to)?,
            RoleStatement::Set { role, name, value } => {
                self.set_of_role(role, name.as_deref(), value.as_deref())?
            }
            RoleStatement::Drop { if_exists, roles } => self.drop_roles(*if_exists, roles)?,
            RoleStatement::Members { group, adds, members } => {
                let group = self.role_of(group)?;
                self.may_create_roles("permission denied")?;
                let members = self.roles_of(members)?;
                for member in members {
                    self.change_membership(group, member, *adds, None)?;
                }
            }
            RoleStatement::DropOwned { roles, cascade } => {
                for role in self.roles_to_empty(roles, "permission denied to drop objects")? {
                    self.drop_owned(role, *cascade)?;
                }
            }
            RoleStatement::ReassignOwned { from, to } => {
                let from = self.roles_to_empty(from, "permission denied to reassign objects")?;
                let to = self.role_of(to)?;
                if !self.state.catalog.has_rights_of(self.state.identity.current(), to) {
                    return Err(denied("permission denied to reassign objects"));
                }
                for role in from {
                    for (kind, object) in self.owned_by(role) {
                        self.give_to(kind, object, to);
                    }
                }
            }
        }
        Ok(Tag::plain(statement.tag()))
    }

    pub(super) fn roles_of(&self, names: &[RoleName]) -> Result<Vec<u32>> {
        names.iter().map(|name| self.role_of(name)).collect()
    }

    /// Whether the current role may make roles, and change those of others.
    fn has_create_role(&self) -> bool {
        let current = self.state.identity.current();
        self.state.identity.is_superuser()
            || self.state.catalog.role(current).is_some_and(|desc| desc.create_role)
    }

    fn may_create_roles(&self, what: &'static str) -> Result<()> {
        if self.has_create_role() { Ok(()) } else { Err(denied(what)) }
    }

    fn create_role(&mut self, name: &RoleName, options: &[RoleOption]) -> Result<()> {
        let name = match name {
            RoleName::Named(name) => super::new_name(&sqlparser::ast::Ident::with_quote('"', name)),
            RoleName::Everybody => return Err(reserved("public")),
            RoleName::Current | RoleName::Session => {
                return Err(SqlError::internal("a role without a name"));
            }
        };
        let says = |wanted: RoleOption| options.contains(&wanted);
        if !self.state.identity.is_superuser() {
            let refused = [
                (RoleOption::Superuser(true), "must be superuser to create superusers"),
                (RoleOption::Replication(true), "must be superuser to create replication users"),
                (RoleOption::BypassRls(true), "must be superuser to create bypassrls users"),
            ];
            if let Some((_, what)) = refused.into_iter().find(|(option, _)| says(option.clone())) {
                return Err(denied(what));
            }
        }
        self.may_create_roles("permission denied to create role")?;
        check_name(&name)?;
        if self.state.identity.role_named(&self.state.catalog, &name).is_some() {
            let what = format!("role \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        let mut desc = RoleDesc {
            oid: self.state.shared.new_oid(),
            name,
            superuser: false,
            inherit: true,
            create_role: false,
            create_db: false,
            login: false,
            replication: false,
            bypass_rls: false,
            connection_limit: -1,
            password: None,
            valid_until: None,
            settings: Vec::new(),
            member_of: Vec::new(),
            comment: None,
        };
        self.apply(&mut desc, options)?;
        let oid = desc.oid;
        self.edit_catalog(|catalog| catalog.put_role(Arc::new(desc)));
        for option in options {
            match option {
                RoleOption::InRoles(roles) => {
                    for role in self.roles_of(roles)? {
                        self.check_may_grant_role(role)?;
                        self.change_membership(role, oid, true, Some(false))?;
                    }
                }
                RoleOption::Members(members) | RoleOption::Admins(members) => {
                    let admin = matches!(option, RoleOption::Admins(_));
                    for member in self.roles_of(members)? {
                        self.change_membership(oid, member, true, Some(admin))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets what options say, but for memberships.
    fn apply(&mut self, desc: &mut RoleDesc, options: &[RoleOption]) -> Result<()> {
        for option in options {
            match option {
                RoleOption::Superuser(is) => desc.superuser = *is,
                RoleOption::CreateDb(is) => desc.create_db = *is,
                RoleOption::CreateRole(is) => desc.create_role = *is,
                RoleOption::Inherit(is) => desc.inherit = *is,
                RoleOption::Login(is) => desc.login = *is,
                RoleOption::Replication(is) => desc.replication = *is,
                RoleOption::BypassRls(is) => desc.bypass_rls = *is,
                RoleOption::ConnectionLimit(limit) => {
                    let limit = i32::try_from(*limit).ok().filter(|limit| *limit >= -1);
                    desc.connection_limit = limit.ok_or_else(|| {
                        let what = format!("invalid connection limit: {}", limit_of(option));
                        SqlError::invalid_parameter(what)
                    })?;
                }
                RoleOption::Password(text) => desc.password = self.verifier_of(text.as_deref())?,
                RoleOption::ValidUntil(text) => {
                    desc.valid_until = match Value::parse(text, Type::TIMESTAMPTZ, &self.env)? {
                        Value::Timestamptz(at) => Some(at),
                        _ => None,
                    };
                }
                RoleOption::InRoles(_) | RoleOption::Members(_) | RoleOption::Admins(_) => {}
            }
        }
        Ok(())
    }

    /// What is kept of a password.
    fn verifier_of(&self, text: Option<&str>) -> Result<Option<String>> {
        let Some(text) = text else { return Ok(None) };
        if text.is_empty() {
            let what = "empty string is not a valid password, clearing password";
            self.state.notice(Severity::Notice, SqlError::new(SqlState::SUCCESSFUL_COMPLETION, what));
            return Ok(None);
        }
        if is_verifier(text) {
            return Ok(Some(text.to_owned()));
        }
        let Some(hash) = self.state.shared.password_hash.get() else {
            let what = "this session cannot make a verifier of a password";
            return Err(SqlError::unsupported(what).hint(
                "Set it over a connection to the server, or give the verifier: `scaledb password` makes one.",
            ));
        };
        hash(text).map(Some).ok_or_else(|| SqlError::internal("the system has no random numbers"))
    }

    fn alter_role(&mut self, role: &RoleName, options: &[RoleOption]) -> Result<()> {
        let oid = self.role_of(role)?;
        let of_superusers = options.iter().any(|option| matches!(option, RoleOption::Superuser(_)));
        let replicates = options.iter().any(|option| matches!(option, RoleOption::Replication(_)));
        let bypasses = options.iter().any(|option| matches!(option, RoleOption::BypassRls(_)));
        let known = self.state.catalog.role(oid).cloned();
        if PREDEFINED.iter().any(|(predefined, _)| *predefined == oid) {
            return Err(reserved(&self.state.role_name(oid)).detail("Cannot alter reserved roles."));
        }
        if !self.state.identity.is_superuser() {
            if of_superusers || self.state.catalog.is_superuser(oid) {
                let what = "must be superuser to alter superuser roles or change superuser attribute";
                return Err(denied(what));
            }
            if replicates || known.as_ref().is_some_and(|desc| desc.replication) {
                let what = "must be superuser to alter replication roles or change replication attribute";
                return Err(denied(what));
            }
            if bypasses {
                return Err(denied("must be superuser to change bypassrls attribute"));
            }
            let own = oid == self.state.identity.current()
                && options.iter().all(|option| matches!(option, RoleOption::Password(_)));
            if !own {
                self.may_create_roles("permission denied")?;
            }
        }
        let Some(known) = known else {
            // a script that makes all roles again says of the first one what it is
            let says_nothing = options.iter().all(|option| {
                matches!(
                    option,
                    RoleOption::Superuser(true)
                        | RoleOption::Inherit(true)
                        | RoleOption::CreateRole(true)
                        | RoleOption::CreateDb(true)
                        | RoleOption::Login(true)
                        | RoleOption::Replication(true)
                        | RoleOption::BypassRls(true)
                        | RoleOption::ConnectionLimit(-1)
                )
            });
            return if says_nothing { Ok(()) } else { Err(not_made()) };
        };
        let mut desc = (*known).clone();
        self.apply(&mut desc, options)?;
        self.edit_catalog(|catalog| catalog.put_role(Arc::new(desc)));
        Ok(())
    }

    fn rename_role(&mut self, from: &str, to: &str) -> Result<()> {
        let oid = self.role_of(&RoleName::Named(from.to_owned()))?;
        let identity = &self.state.identity;
        if oid == identity.session() {
            return Err(SqlError::unsupported("session user cannot be renamed"));
        }
        if oid == identity.current() {
            return Err(SqlError::unsupported("current user cannot be renamed"));
        }
        check_name(from)?;
        let to = super::new_name(&sqlparser::ast::Ident::with_quote('"', to));
        check_name(&to)?;
        if identity.role_named(&self.state.catalog, &to).is_some() {
            let what = format!("role \"{to}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        if self.state.catalog.is_superuser(oid) {
            self.state.check_superuser("must be superuser to rename superusers")?;
        }
        self.may_create_roles("permission denied to rename role")?;
        let Some(known) = self.state.catalog.role(oid) else { return Err(not_made()) };
        let desc = RoleDesc { name: to, ..(**known).clone() };
        self.edit_catalog(|catalog| catalog.put_role(Arc::new(desc)));
        Ok(())
    }

    /// ALTER ROLE .. SET and RESET: what its sessions begin with.
    fn set_of_role(&mut self, role: &RoleName, name: Option<&str>, value: Option<&str>) -> Result<()> {
        let oid = self.role_of(role)?;
        if self.state.catalog.is_superuser(oid) {
            self.state.check_superuser("must be superuser to alter superusers")?;
        } else if oid != self.state.identity.current() {
            self.may_create_roles("permission denied")?;
        }
        let Some(known) = self.state.catalog.role(oid) else { return Err(not_made()) };
        let mut desc = (**known).clone();
        self.state.settings.borrow().change_list(&mut desc.settings, name, value)?;
        self.edit_catalog(|catalog| catalog.put_role(Arc::new(desc)));
        Ok(())
    }

    /// COMMENT ON ROLE.
    pub(super) fn comment_on_role(&mut self, role: &RoleName, text: Option<&str>) -> Result<()> {
        let oid = self.role_of(role)?;
        if self.state.catalog.is_superuser(oid) {
            self.state.check_superuser("must be superuser")?;
        }
        self.may_create_roles("must have CREATEROLE privilege")?;
        let Some(known) = self.state.catalog.role(oid) else { return Err(not_made()) };
        let comment = text.filter(|text| !text.is_empty()).map(str::to_owned);
        let desc = RoleDesc { comment, ..(**known).clone() };
        self.edit_catalog(|catalog| catalog.put_role(Arc::new(desc)));
        Ok(())
    }

    fn drop_roles(&mut self, if_exists: bool, roles: &[RoleName]) -> Result<()> {
        self.may_create_roles("permission denied to drop role")?;
        let mut gone = Vec::new();
        for role in roles {
            let name = match role {
                RoleName::Named(name) => name,
                _ => {
                    let what = "cannot use special role specifier in DROP ROLE";
                    return Err(SqlError::invalid_parameter(what));
                }
            };
            let Some(oid) = self.state.identity.role_named(&self.state.catalog, name) else {
                let what = format!("role \"{name}\" does not exist");
                if !if_exists {
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
                }
                self.skip(&format!("{what}, skipping"), SqlState::SUCCESSFUL_COMPLETION);
                continue;
            };
            let in_use = |what: &'static str| Err(SqlError::new(SqlState::OBJECT_IN_USE, what));
            let identity = &self.state.identity;
            if oid == identity.current() {
                return in_use("current user cannot be dropped");
            }
            if oid == identity.session() || oid == identity.login() {
                return in_use("session user cannot be dropped");
            }
            if self.state.catalog.is_superuser(oid) {
                self.state.check_superuser("must be superuser to drop superusers")?;
            }
            if self.state.catalog.role(oid).is_none() {
                let what = format!("cannot drop role {name} because it is required by the database system");
                return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what));
            }
            gone.push((oid, name));
        }
        // what the transaction has dropped needs no role
        self.edit_catalog(Catalog::forget_access);
        for (oid, name) in gone {
            let mut needed = self.needs_role(oid);
            needed.extend(
                self.state
                    .shared
                    .needs_role_elsewhere(&self.state.database, &self.state.catalog, oid)?
                    .into_iter()
                    .map(|(database, count)| {
                        let objects = if count == 1 { "object" } else { "objects" };
                        format!("{count} {objects} in database {}", self.state.name_of_database(database))
                    }),
            );
            if !needed.is_empty() {
                let what = format!("role \"{name}\" cannot be dropped because some objects depend on it");
                let code = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                return Err(SqlError::new(code, what).detail(needed.join("\n")));
            }
            let members: Vec<Arc<RoleDesc>> = self.state.catalog.roles().cloned().collect();
            self.edit_catalog(|catalog| {
                for member in members {
                    if member.member_of.iter().any(|membership| membership.role == oid) {
                        let mut member = (*member).clone();
                        member.member_of.retain(|membership| membership.role != oid);
                        catalog.put_role(Arc::new(member));
                    }
                }
                catalog.remove_role(oid);
            });
        }
        Ok(())
    }

    /// What keeps a role from being dropped.
    fn needs_role(&self, role: u32) -> Vec<String> {
        let catalog = &self.state.catalog;
        let mut lines = Vec::new();
        for access in catalog.accesses() {
            let named = self.named_object(access.object);
            if access.owner == role && catalog.role(access.object).is_none() {
                lines.push(format!("owner of {named}"));
            }
            let names = |grants: &[Grant]| grants.iter().any(|grant| grant.to == role || grant.by == role);
            if access.owner != role && access.grants.as_deref().is_some_and(names) {
                lines.push(format!("privileges for {named}"));
            }
            for (attnum, grants) in &access.columns {
                if let Some(relation) = catalog.get(access.object)
                    && names(grants)
                {
                    let column = super::grants::column_name(relation, *attnum);
                    lines.push(format!("privileges for column {column} of {named}"));
                }
            }
            for defaults in &access.defaults {
                if access.object != role && !defaults.grants.iter().any(|g| g.to == role || g.by == role) {
                    continue;
                }
                let kind = match defaults.kind {
                    ObjectKind::Table => "relations",
                    ObjectKind::Sequence => "sequences",
                    ObjectKind::Routine => "functions",
                    ObjectKind::Type => "types",
                    _ => "schemas",
                };
                let within = defaults.schema.and_then(|oid| catalog.schema_of(oid));
                let within = within.map_or_else(String::new, |schema| format!(" in schema {schema}"));
                let owner = self.state.role_name(access.object);
                let whose = if access.object == role { "owner of" } else { "privileges for" };
                lines.push(format!(
                    "{whose} default privileges on new {kind} belonging to role {owner}{within}"
                ));
            }
        }
        for table in catalog.tables() {
            let on = self.named_object(table.oid);
            let named = table.policies().iter().filter(|policy| policy.roles.contains(&role));
            lines.extend(named.map(|policy| format!("target of policy {} on {on}", policy.name)));
        }
        lines
    }

    /// An object, with its kind.
    fn named_object(&self, object: u32) -> String {
        let catalog = &self.state.catalog;
        let path = &self.state.path;
        let seen = |schema: &str, name: &str| {
            let is_seen = path.iter().any(|known| known == schema);
            if is_seen { name.to_owned() } else { format!("{schema}.{name}") }
        };
        if let Some(relation) = catalog.get(object) {
            return format!("{} {}", relation.kind(), seen(relation.schema(), relation.name()));
        }
        if let Some(desc) = catalog.routine(object) {
            let word = desc.kind.word();
            return format!("{word} {}", seen(&desc.schema, &self.signature_of(desc)));
        }
        if let Some((schema, name)) = catalog.own_type(object) {
            return format!("type {}", seen(schema, name));
        }
        if let Some(desc) = catalog.extension_of_oid(object) {
            return format!("extension {}", desc.name);
        }
        if catalog.is_database(object) {
            return format!("database {}", self.state.name_of_database(object));
        }
        format!("schema {}", catalog.schema_of(object).unwrap_or_default())
    }

    /// The roles whose objects are dropped or given to another.
    fn roles_to_empty(&self, names: &[RoleName], refused: &'static str) -> Result<Vec<u32>> {
        let roles = self.roles_of(names)?;
        for &role in &roles {
            if !self.state.catalog.has_rights_of(self.state.identity.current(), role) {
                return Err(denied(refused));
            }
            if role == OWNER || PREDEFINED.iter().any(|(oid, _)| *oid == role) {
                let verb =
                    if refused.contains("drop") { "drop objects" } else { "reassign ownership of objects" };
                let name = self.state.role_name(role);
                let what = format!(
                    "cannot {verb} owned by role {name} because they are required by the database system"
                );
                return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what));
            }
        }
        Ok(roles)
    }

    /// What a role owns.
    fn owned_by(&self, role: u32) -> Vec<(ObjectKind, u32)> {
        let catalog = &self.state.catalog;
        let owned = catalog.accesses().filter(|access| access.owner == role).map(|access| access.object);
        owned
            .filter(|object| catalog.role(*object).is_none())
            .map(|object| (kind_of(catalog, object), object))
            .collect()
    }

    /// DROP OWNED: what a role owns, and what it has been granted.
    fn drop_owned(&mut self, role: u32, cascade: bool) -> Result<()> {
        let owned = self.owned_by(role);
        let together: Vec<u32> = owned.iter().map(|(_, object)| *object).collect();
        let mut cascaded = Vec::new();
        // what is in a schema goes before it, and relations before the functions that they call
        let (mut schemas, mut types, mut routines) = (Vec::new(), Vec::new(), Vec::new());
        for (_, object) in &owned {
            if let Some(relation) = self.state.catalog.get(*object).cloned() {
                let part = matches!(&relation, Relation::Sequence(s) if s.owned_by.is_some());
                if !part {
                    self.drop_relation(&relation, &together, cascade, &mut cascaded)?;
                }
            } else if self.state.catalog.routine(*object).is_some() {
                routines.push(*object);
            } else if let Some(own) = OwnType::of(&self.state.catalog, *object) {
                types.push(own);
            } else if let Some(desc) = self.state.catalog.extension_of_oid(*object).cloned() {
                self.drop_extension(&desc, cascade, &mut cascaded)?;
            } else if let Some(name) = self.state.catalog.schema_of(*object) {
                schemas.push(name);
            }
        }
        for object in routines {
            // unless it went with what it depends on
            if let Some(desc) = self.state.catalog.routine(object).cloned() {
                self.drop_routine(&desc, cascade, &mut cascaded)?;
            }
        }
        self.drop_types_together(types, cascade, &mut cascaded)?;
        self.drop_policies_for(role)?;
        for name in schemas {
            self.empty_schema(&name, cascade, &mut cascaded)?;
            self.edit_catalog(|catalog| catalog.remove_schema(&name));
        }
        self.tell_of_cascade(&cascaded);
        let others: Vec<u32> = self.state.catalog.accesses().map(|access| access.object).collect();
        self.edit_catalog(|catalog| {
            for object in others {
                let Some(known) = catalog.access(object) else { continue };
                let mut access = (**known).clone();
                let lists =
                    access.grants.iter_mut().chain(access.columns.iter_mut().map(|(_, grants)| grants));
                let lists = lists.chain(access.defaults.iter_mut().map(|each| &mut each.grants));
                lists.for_each(|grants| grants.retain(|grant| grant.to != role && grant.by != role));
                access.columns.retain(|(_, grants)| !grants.is_empty());
                if object == role {
                    access.defaults.clear();
                }
                access.defaults.retain(|each| each.schema.is_none() || !each.grants.is_empty());
                if access != **known {
                    catalog.put_access(access);
                }
            }
        });
        Ok(())
    }

    /// GRANT and REVOKE of memberships.
    ///
    /// # Errors
    /// 42501, 42704; 0LP01 for a role that would be a member of itself.
    pub(super) fn grant_roles(
        &mut self,
        revokes: bool,
        (admin_only, admin): (bool, bool),
        (roles, members): (&[RoleName], &[RoleName]),
        by: Option<&RoleName>,
    ) -> Result<()> {
        if let Some(by) = by
            && self.role_of(by)? != self.state.identity.current()
        {
            self.state.check_superuser("must be superuser to set grantor")?;
        }
        let members = self.roles_of(members)?;
        for role in self.roles_of(roles)? {
            self.check_may_grant_role(role)?;
            for &member in &members {
                let admin = if revokes { admin_only.then_some(true) } else { Some(admin) };
                self.change_membership(role, member, !revokes, admin)?;
            }
        }
        Ok(())
    }

    /// # Errors
    /// 42501 unless the current role may make others members of a role.
    fn check_may_grant_role(&self, role: u32) -> Result<()> {
        if self.state.identity.is_superuser() {
            return Ok(());
        }
        let catalog = &self.state.catalog;
        if catalog.is_superuser(role) {
            return Err(denied("must be superuser to alter superusers"));
        }
        if self.has_create_role() || catalog.may_grant_role(self.state.identity.current(), role) {
            return Ok(());
        }
        let what = format!("must have admin option on role \"{}\"", self.state.role_name(role));
        Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what))
    }

    /// Makes a role a member of another, or takes it out; `admin` says with the right to do the same for others, or
    /// that only this is taken from it.
    fn change_membership(&mut self, role: u32, member: u32, adds: bool, admin: Option<bool>) -> Result<()> {
        let invalid = |what: String| Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, what));
        let name = |oid| self.state.role_name(oid);
        if role == DATABASE_OWNER {
            return invalid(format!("role \"{}\" cannot have explicit members", name(role)));
        }
        if member == DATABASE_OWNER {
            return invalid(format!("role \"{}\" cannot be a member of any role", name(member)));
        }
        if adds && (role == member || self.state.catalog.reaches(role, member, false)) {
            return invalid(format!("role \"{}\" is a member of role \"{}\"", name(role), name(member)));
        }
        let Some(known) = self.state.catalog.role(member).cloned() else { return Err(not_made()) };
        let mut desc = (*known).clone();
        let at = desc.member_of.iter().position(|membership| membership.role == role);
        match (at, adds) {
            (Some(at), true) if desc.member_of[at].admin || admin != Some(true) => {
                let what =
                    format!("role \"{}\" is already a member of role \"{}\"", name(member), name(role));
                self.state.notice(Severity::Notice, SqlError::new(SqlState::SUCCESSFUL_COMPLETION, what));
                return Ok(());
            }
            (Some(at), true) => desc.member_of[at].admin = true,
            (None, true) => {
                let by = self.state.identity.current();
                desc.member_of.push(MembershipDesc { role, by, admin: admin == Some(true) });
            }
            (Some(at), false) if admin == Some(true) => desc.member_of[at].admin = false,
            (Some(at), false) => drop(desc.member_of.remove(at)),
            (None, false) => {
                let what = format!("role \"{}\" is not a member of role \"{}\"", name(member), name(role));
                self.state.notice(Severity::Warning, SqlError::new(SqlState::WARNING, what));
                return Ok(());
            }
        }
        self.edit_catalog(|catalog| catalog.put_role(Arc::new(desc)));
        Ok(())
    }
}

/// The kind of an object that is owned.
pub(super) fn kind_of(catalog: &Catalog, object: u32) -> ObjectKind {
    debug_assert_ne!(object, EVERYBODY, "no object");
    match catalog.get(object) {
        Some(relation) => Catalog::kind_of_relation(relation),
        None if catalog.routine(object).is_some() => ObjectKind::Routine,
        None if catalog.own_type(object).is_some() => ObjectKind::Type,
        None if catalog.is_database(object) => ObjectKind::Database,
        None => ObjectKind::Schema,
    }
}

/// Whether a password is a verifier already: anything else that begins as one is a password.
fn is_verifier(text: &str) -> bool {
    let parts = || {
        let (head, keys) = text.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
        Some((head.split_once(':')?, keys.split_once(':')?))
    };
    let is_base64 = |text: &str| {
        let digits = text.trim_end_matches('=');
        let is_digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
        text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.bytes().all(is_digit)
    };
    // 32 bytes
    let is_key = |text: &str| text.len() == 44 && text.ends_with('=') && is_base64(text);
    parts().is_some_and(|((iterations, salt), (stored, server))| {
        let counts = iterations.parse::<u32>().is_ok_and(|iterations| iterations > 0);
        counts && !salt.is_empty() && is_base64(salt) && is_key(stored) && is_key(server)
    })
}

fn limit_of(option: &RoleOption) -> i64 {
    match option {
        RoleOption::ConnectionLimit(limit) => *limit,
        _ => -1,
    }
}

/// # Errors
/// 42939 for a name that only roles of the system may have.
fn check_name(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    Err(reserved(name).detail("Role names starting with \"pg_\" are reserved."))
}

#[cold]
fn denied(what: &'static str) -> SqlError {
    SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what)
}

/// What nobody has made cannot be changed.
#[cold]
fn not_made() -> SqlError {
    SqlError::unsupported("roles that are always there cannot be changed")
        .detail("Users without a role in the catalog are the first role, which may do everything.")
        .hint("CREATE ROLE makes one that can.")
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_verifier_is_a_password() {
        let (salt, key) = ("c2VjcmV0c2VjcmV0", "YtlR4t69SguDiwFvbVgVZtuz6gpJQQqUMZ7IQJK5yI8=");
        let is = |text: &str| super::is_verifier(text);
        assert!(is(&format!("SCRAM-SHA-256$4096:{salt}${key}:{key}")));
        assert!(is(&format!("SCRAM-SHA-256$4096:VLK4RMaQLCvNtQ==${key}:{key}")));
        assert!(!is("SCRAM-SHA-256$1234"));
        assert!(!is("SCRAM-SHA-256$"));
        assert!(!is(&format!("SCRAM-SHA-256$0:{salt}${key}:{key}")));
        assert!(!is(&format!("SCRAM-SHA-256$many:{salt}${key}:{key}")));
        assert!(!is(&format!("SCRAM-SHA-256$4096:${key}:{key}")));
        assert!(!is(&format!("SCRAM-SHA-256$4096:{salt}${key}:{}", &key[4..])));
        assert!(!is(&format!("SCRAM-SHA-256$4096:{salt}$AAAA{key}:{key}")));
        assert!(!is(&format!("SCRAM-SHA-256$4096:{salt}!${key}:{key}")));
    }
}
