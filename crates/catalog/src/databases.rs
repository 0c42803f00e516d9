//! The databases of a server.
//!
//! Each has a catalog of its own, with its schemas and what is in them. Roles, the list of databases, and who may do
//! what with a database are common to all: they stand in the catalog of each, and a change of them is written to all
//! catalogs by one transaction.

use crate::access::{AccessDesc, DATABASE};
use crate::snapshot::Catalog;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A database.
///
/// The first one is always there, under the oid [`DATABASE`]. It has a descriptor only if ALTER DATABASE has set
/// something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseDesc {
    /// Its oid.
    pub oid: u32,
    /// Its name. Empty: it is the first one, whose name the server knows.
    pub name: String,
    /// The engine's table that holds its catalog. Empty for the first one.
    pub engine: String,
    /// Whether others may be copied from it by who does not own it.
    #[serde(default)]
    pub is_template: bool,
    /// Whether sessions may begin in it.
    pub allow_connections: bool,
    /// How many sessions it may have; -1 is any number.
    pub connection_limit: i32,
    /// Settings that its sessions begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
    /// What COMMENT ON has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl DatabaseDesc {
    /// A database that nobody has set anything of.
    pub fn new(oid: u32, name: impl Into<String>, engine: impl Into<String>) -> Self {
        Self {
            oid,
            name: name.into(),
            engine: engine.into(),
            is_template: false,
            allow_connections: true,
            connection_limit: -1,
            settings: Vec::new(),
            comment: None,
        }
    }
}

impl Catalog {
    /// The oid of the database that the catalog is of.
    pub fn own_database(&self) -> u32 {
        self.own.unwrap_or(DATABASE)
    }

    /// The catalog of a database in which nothing has been made yet, with what is common to all.
    #[must_use]
    pub fn of_new_database(&self, oid: u32) -> Self {
        let mut catalog = Self::default();
        catalog.belong_to(oid);
        catalog.take_common(self);
        catalog
    }

    /// The catalog is that of another database than the first.
    pub(crate) fn belong_to(&mut self, database: u32) {
        self.own = (database != DATABASE).then_some(database);
    }

    /// Adds a database, or replaces the one of its oid.
    pub fn put_database(&mut self, desc: Arc<DatabaseDesc>) {
        Arc::make_mut(&mut self.databases).insert(desc.oid, desc);
    }

    /// Removes a database.
    pub fn remove_database(&mut self, oid: u32) {
        Arc::make_mut(&mut self.databases).remove(&oid);
        self.access.remove(&oid);
    }

    /// What is known of a database.
    pub fn database(&self, oid: u32) -> Option<&Arc<DatabaseDesc>> {
        self.databases.get(&oid)
    }

    /// The database of a name, of those that somebody made.
    pub fn database_named(&self, name: &str) -> Option<&Arc<DatabaseDesc>> {
        self.databases.values().find(|desc| desc.oid != DATABASE && desc.name == name)
    }

    /// What is known of databases, by oid.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseDesc>> {
        self.databases.values()
    }

    /// Whether an oid is a database's.
    pub fn is_database(&self, oid: u32) -> bool {
        oid == DATABASE || self.databases.contains_key(&oid)
    }

    /// Whether what is common to all databases is the same in another catalog.
    pub fn has_same_common(&self, other: &Self) -> bool {
        let of_databases = |catalog: &Self| {
            let access = catalog.access.iter().filter(|(object, _)| catalog.is_database(**object));
            access.map(|(_, access)| access.clone()).collect::<Vec<_>>()
        };
        self.has_same_roles(other)
            && (Arc::ptr_eq(&self.databases, &other.databases) || self.databases == other.databases)
            && of_databases(self) == of_databases(other)
    }

    /// How many objects of this database alone belong to a role, are granted to it, or have been by it; policies that
    /// are for it count, too.
    pub fn naming_role(&self, role: u32) -> usize {
        let names = |(object, access): &(&u32, &Arc<AccessDesc>)| {
            // under its own oid stands what it grants of what it makes
            let own = **object == role;
            !self.is_database(**object)
                && if own { !access.defaults.is_empty() } else { access.roles().contains(&role) }
        };
        let policies = self.tables().flat_map(|table| table.policies());
        let targets = policies.filter(|policy| policy.roles.contains(&role)).count();
        self.access.iter().filter(names).count() + targets
    }

    /// Takes over what is common to all databases from the catalog of another. Returns whether anything is different.
    pub fn take_common(&mut self, other: &Self) -> bool {
        if self.has_same_common(other) {
            return false;
        }
        // what is said of roles here goes with them
        let gone: Vec<u32> =
            self.roles.keys().filter(|oid| !other.roles.contains_key(oid)).copied().collect();
        gone.into_iter().for_each(|role| drop(self.access.remove(&role)));
        self.roles = other.roles.clone();
        let mine: Vec<u32> =
            self.access.keys().filter(|object| self.is_database(**object)).copied().collect();
        mine.into_iter().for_each(|database| drop(self.access.remove(&database)));
        let theirs = other.access.iter().filter(|(object, _)| other.is_database(**object));
        self.access.extend(theirs.map(|(object, access)| (*object, access.clone())));
        self.databases = other.databases.clone();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{OWNER, RoleDesc};

    fn role(oid: u32) -> Arc<RoleDesc> {
        Arc::new(RoleDesc {
            oid,
            name: format!("role{oid}"),
            superuser: false,
            inherit: true,
            create_role: false,
            create_db: false,
            login: true,
            replication: false,
            bypass_rls: false,
            connection_limit: -1,
            password: None,
            valid_until: None,
            settings: Vec::new(),
            member_of: Vec::new(),
            comment: None,
        })
    }

    fn owned(object: u32, owner: u32) -> AccessDesc {
        AccessDesc { object, owner, ..AccessDesc::default() }
    }

    #[test]
    fn what_is_common_is_taken_over_and_what_is_not_stays() {
        let mut first = Catalog::default();
        first.put_role(role(20_000));
        first.put_database(Arc::new(DatabaseDesc::new(20_001, "shop", "#20002")));
        first.put_access(owned(20_001, 20_000));
        first.put_access(owned(DATABASE, 20_000));
        first.put_access(owned(20_005, 20_000));
        let mut other = first.of_new_database(20_001);
        assert_eq!(other.own_database(), 20_001);
        assert_eq!(first.own_database(), DATABASE);
        assert!(other.access(20_005).is_none(), "an object of the first database");
        assert_eq!(other.owner_of(20_001), 20_000);
        assert_eq!(other.owner_of(DATABASE), 20_000);
        assert!(!other.take_common(&first), "nothing has changed");

        other.put_access(owned(20_010, 20_000));
        let mut role_with_defaults = owned(20_000, OWNER);
        role_with_defaults.owner = 20_000;
        other.put_access(role_with_defaults);
        first.put_access(owned(20_001, OWNER));
        assert!(other.take_common(&first));
        assert_eq!(other.owner_of(20_001), OWNER);
        assert_eq!(other.owner_of(20_010), 20_000, "an object of its own");
        first.remove_role(20_000);
        first.remove_database(20_001);
        assert!(other.take_common(&first));
        assert!(other.database_named("shop").is_none());
        assert!(other.access(20_000).is_none(), "the role is gone, with what was said of it");
        assert!(!other.take_common(&first));
    }
}
