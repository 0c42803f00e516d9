//! What roles may do: roles and lists of privileges in a state of the catalog.

use crate::access::{
    AccessDesc, DATABASE_OWNER, EVERYBODY, Grant, MONITOR, OWNER, ObjectKind, PREDEFINED, PUBLIC_SCHEMA,
    Privileges, READ_ALL_DATA, READ_ALL_SETTINGS, READ_ALL_STATS, RoleDesc, WRITE_ALL_DATA, default_grants,
    default_grants_of_public,
};
use crate::desc::{Relation, TableDesc};
use crate::policy::PolicyDesc;
use crate::snapshot::{Catalog, PUBLIC};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Catalog {
    /// Adds a role, or replaces the one of its oid.
    pub fn put_role(&mut self, desc: Arc<RoleDesc>) {
        Arc::make_mut(&mut self.roles).insert(desc.oid, desc);
    }

    /// Removes a role; what it owns, and what names it, is to be removed before.
    pub fn remove_role(&mut self, oid: u32) {
        Arc::make_mut(&mut self.roles).remove(&oid);
        self.access.remove(&oid);
    }

    /// The role of an oid, of those that somebody made.
    pub fn role(&self, oid: u32) -> Option<&Arc<RoleDesc>> {
        self.roles.get(&oid)
    }

    /// The role of a name, of those that somebody made.
    pub fn role_named(&self, name: &str) -> Option<&Arc<RoleDesc>> {
        self.roles.values().find(|desc| desc.name == name)
    }

    /// The roles that somebody made, by oid.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<RoleDesc>> {
        self.roles.values()
    }

    /// Whether roles are the same in another catalog, with their memberships.
    pub fn has_same_roles(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.roles, &other.roles) || self.roles == other.roles
    }

    /// Who owns an object, and what others may do with it.
    pub fn access(&self, object: u32) -> Option<&Arc<AccessDesc>> {
        self.access.get(&object)
    }

    /// All that is said about who owns what, and who may do what with it.
    pub fn accesses(&self) -> impl Iterator<Item = &Arc<AccessDesc>> {
        self.access.values()
    }

    /// Says who owns an object, and what others may do with it.
    pub fn put_access(&mut self, desc: AccessDesc) {
        if desc.is_default() {
            self.access.remove(&desc.object);
        } else {
            self.access.insert(desc.object, Arc::new(desc));
        }
    }

    /// Forgets who owns what is not there any more.
    pub fn forget_access(&mut self) {
        let schemas: BTreeSet<u32> = self.schemas().map(|desc| desc.oid).collect();
        let gone = |object: &&u32| {
            let object = **object;
            let is_there = self.get(object).is_some()
                || self.routine(object).is_some()
                || self.own_type(object).is_some()
                || self.extension_of_oid(object).is_some()
                || schemas.contains(&object)
                || object == PUBLIC_SCHEMA && self.has_public()
                || self.role(object).is_some()
                || self.is_database(object)
                // the first role, types and languages of the system
                || object < PUBLIC_SCHEMA
                || (PUBLIC_SCHEMA + 1..crate::FIRST_OID).contains(&object);
            !is_there
        };
        let gone: Vec<u32> = self.access.keys().filter(gone).copied().collect();
        for object in gone {
            self.access.remove(&object);
        }
        let dropped = |access: &AccessDesc, attnum: i16| {
            self.table(access.object).is_some_and(|table| table.position(attnum).is_none())
        };
        let of_dropped = |access: &&Arc<AccessDesc>| access.columns.iter().any(|(n, _)| dropped(access, *n));
        let mut columns: Vec<AccessDesc> =
            self.access.values().filter(of_dropped).map(|access| (**access).clone()).collect();
        for access in &mut columns {
            let object = access.object;
            if let Some(table) = self.table(object) {
                access.columns.retain(|(attnum, _)| table.position(*attnum).is_some());
            }
        }
        columns.into_iter().for_each(|access| self.put_access(access));
        let has_public = self.has_public();
        let is_gone = |schema: u32| !schemas.contains(&schema) && (schema != PUBLIC_SCHEMA || !has_public);
        let within_gone =
            |access: &AccessDesc| access.defaults.iter().any(|each| each.schema.is_some_and(is_gone));
        let left: Vec<AccessDesc> = self
            .access
            .values()
            .filter(|access| within_gone(access))
            .map(|access| (**access).clone())
            .collect();
        for mut access in left {
            access.defaults.retain(|each| !each.schema.is_some_and(is_gone));
            self.put_access(access);
        }
    }

    /// The owner of an object.
    pub fn owner_of(&self, object: u32) -> u32 {
        match self.access.get(&object) {
            Some(access) => access.owner,
            None if object == PUBLIC_SCHEMA => DATABASE_OWNER,
            None => OWNER,
        }
    }

    /// What is granted of an object: its list, or the defaults of its kind.
    pub fn grants_of(&self, kind: ObjectKind, object: u32) -> Vec<Grant> {
        let grants = self.access.get(&object).and_then(|access| access.grants.as_ref());
        grants.cloned().unwrap_or_else(|| {
            let owner = self.owner_of(object);
            if object == PUBLIC_SCHEMA {
                default_grants_of_public(owner)
            } else {
                default_grants(kind, owner)
            }
        })
    }

    /// Whether a role may do everything.
    pub fn is_superuser(&self, role: u32) -> bool {
        role == OWNER || self.roles.get(&role).is_some_and(|desc| desc.superuser)
    }

    /// Whether policies of tables say nothing to a role.
    pub fn bypasses_policies(&self, role: u32) -> bool {
        self.is_superuser(role) || self.roles.get(&role).is_some_and(|desc| desc.bypass_rls)
    }

    /// Whether policies say which rows of a table a role sees and writes.
    pub fn are_rows_secured(&self, table: &TableDesc, role: u32) -> bool {
        let own = |forced: bool| !forced && self.has_rights_of(role, self.owner_of(table.oid));
        table.is_secured() && !self.bypasses_policies(role) && !own(table.is_forced())
    }

    /// Whether a policy is for a role: it names that role, or one that it is a member of.
    pub fn is_policy_for(&self, policy: &PolicyDesc, role: u32) -> bool {
        policy.is_public() || policy.roles.iter().any(|&named| self.has_rights_of(role, named))
    }

    /// Whether a role may do what another may: it is that role, or a member of it that inherits; or a superuser.
    pub fn has_rights_of(&self, role: u32, other: u32) -> bool {
        role == other || self.is_superuser(role) || self.reaches(role, other, true)
    }

    /// Whether a role is another, or may become it: as a member of a member of it; or as a superuser.
    pub fn is_member(&self, role: u32, other: u32) -> bool {
        role == other || self.is_superuser(role) || self.reaches(role, other, false)
    }

    /// Whether memberships lead from a role to another, superuser or not; if `inherits`, only through roles that
    /// inherit.
    pub fn reaches(&self, role: u32, other: u32, inherits: bool) -> bool {
        let mut seen = BTreeSet::from([role]);
        let mut todo = vec![role];
        while let Some(member) = todo.pop() {
            if member == other {
                return true;
            }
            todo.extend(self.roles_of(member, inherits).into_iter().filter(|role| seen.insert(*role)));
        }
        false
    }

    /// The roles that a role is a member of, not by way of others.
    fn roles_of(&self, member: u32, inherits: bool) -> Vec<u32> {
        let mut roles: Vec<u32> = match self.roles.get(&member) {
            Some(desc) if inherits && !desc.inherit => return Vec::new(),
            Some(desc) => desc.member_of.iter().map(|membership| membership.role).collect(),
            None if member == MONITOR => vec![READ_ALL_SETTINGS, READ_ALL_STATS],
            None => Vec::new(),
        };
        if self.owner_of(self.own_database()) == member {
            roles.push(DATABASE_OWNER);
        }
        roles
    }

    /// Which privileges of those asked for a list grants to a role.
    pub fn held(&self, role: u32, grants: &[Grant], asked: Privileges) -> Privileges {
        let mut held = Privileges::NONE;
        for grant in grants {
            let more = grant.privileges.common(asked).without(held);
            if !more.is_empty() && (grant.to == EVERYBODY || self.has_rights_of(role, grant.to)) {
                held = held.and(more);
            }
        }
        held
    }

    /// Which privileges of those asked for a role has on an object.
    pub fn privileges(&self, role: u32, kind: ObjectKind, object: u32, asked: Privileges) -> Privileges {
        if self.is_superuser(role) {
            return asked;
        }
        let stored = self.access.get(&object).and_then(|access| access.grants.as_deref());
        let held = match stored {
            Some(grants) => self.held(role, grants, asked),
            None => self.held(role, &self.grants_of(kind, object), asked),
        };
        if held == asked {
            return held;
        }
        let (reads, writes) = match kind {
            ObjectKind::Table | ObjectKind::Sequence => {
                (Privileges::SELECT, Privileges::INSERT.and(Privileges::UPDATE).and(Privileges::DELETE))
            }
            ObjectKind::Schema => (Privileges::USAGE, Privileges::USAGE),
            _ => return held,
        };
        let all = [(READ_ALL_DATA, reads), (WRITE_ALL_DATA, writes)];
        all.into_iter().fold(held, |held, (of_all, may)| {
            let more = asked.common(may).without(held);
            if more.is_empty() || !self.reaches(role, of_all, true) { held } else { held.and(more) }
        })
    }

    /// Which privileges of those asked for a role has on a column, whatever it has on its table.
    pub fn column_privileges(&self, role: u32, object: u32, attnum: i16, asked: Privileges) -> Privileges {
        if self.is_superuser(role) {
            return asked;
        }
        self.access
            .get(&object)
            .map_or(Privileges::NONE, |access| self.held(role, access.of_column(attnum), asked))
    }

    /// Which of the privileges asked for a role may grant, and as whom: as the owner, or as a role that may.
    pub fn grantor(&self, role: u32, owner: u32, grants: &[Grant], asked: Privileges) -> (u32, Privileges) {
        if self.has_rights_of(role, owner) {
            return (owner, asked);
        }
        let options = |of: u32| {
            let own = grants.iter().filter(|grant| grant.to == of || grant.to == EVERYBODY);
            own.fold(Privileges::NONE, |all, grant| all.and(grant.options)).common(asked)
        };
        // the first that may grant all, or else the one that may grant most, itself first
        let mut best = (role, options(role));
        for other in self.all_roles().into_iter().filter(|other| self.has_rights_of(role, *other)) {
            let may = options(other);
            if may.each().count() > best.1.each().count() {
                best = (other, may);
            }
        }
        best
    }

    /// Whether a role may make others members of another.
    pub fn may_grant_role(&self, role: u32, other: u32) -> bool {
        let admin = |member: u32| {
            let own = self.role(member).into_iter().flat_map(|desc| &desc.member_of);
            own.into_iter().any(|membership| membership.role == other && membership.admin)
        };
        self.is_superuser(role)
            || self.all_roles().into_iter().any(|member| admin(member) && self.is_member(role, member))
    }

    /// The oids of all roles.
    pub fn all_roles(&self) -> Vec<u32> {
        let predefined = PREDEFINED.iter().map(|(oid, _)| *oid);
        [OWNER].into_iter().chain(predefined).chain(self.roles.keys().copied()).collect()
    }

    /// The kind of a relation, for lists of privileges.
    pub fn kind_of_relation(relation: &Relation) -> ObjectKind {
        match relation {
            Relation::Sequence(_) => ObjectKind::Sequence,
            Relation::Table(_) | Relation::View(_) => ObjectKind::Table,
        }
    }

    /// The name of the schema of an oid.
    pub fn schema_of(&self, oid: u32) -> Option<String> {
        if oid == PUBLIC_SCHEMA {
            return self.has_public().then(|| PUBLIC.to_owned());
        }
        self.schemas().find(|desc| desc.oid == oid).map(|desc| desc.name.clone())
    }

    /// The oid of a schema, if it has one in lists of privileges: those of temporary relations have none.
    pub fn schema_oid(&self, name: &str) -> Option<u32> {
        match name {
            PUBLIC => self.has_public().then_some(PUBLIC_SCHEMA),
            _ => self.schema_named(name).map(|desc| desc.oid),
        }
    }
}
