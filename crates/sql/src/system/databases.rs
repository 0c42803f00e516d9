//! The databases that there are, by their names.

use super::Facts;
use scaledb_catalog::{DATABASE, DatabaseDesc};
use std::sync::Arc;

/// A database; the first one may have no descriptor.
pub(super) struct Named {
    pub(super) oid: u32,
    pub(super) name: String,
    pub(super) desc: Option<Arc<DatabaseDesc>>,
}

/// All databases, the first one first.
pub(super) fn all(facts: &dyn Facts) -> Vec<Named> {
    let catalog = facts.catalog();
    let others = catalog.databases().map(|desc| desc.oid).filter(|oid| *oid != DATABASE);
    let one = |oid| Named { oid, name: name_of(facts, oid), desc: catalog.database(oid).cloned() };
    std::iter::once(DATABASE).chain(others).map(one).collect()
}

/// The name of a database, as the session knows it.
pub(super) fn name_of(facts: &dyn Facts, oid: u32) -> String {
    if oid == facts.catalog().own_database() {
        return facts.names().1.to_owned();
    }
    if oid == DATABASE {
        return facts.first_database().to_owned();
    }
    facts.catalog().database(oid).map_or_else(String::new, |desc| desc.name.clone())
}

/// The database of a name.
pub(super) fn named(facts: &dyn Facts, name: &str) -> Option<u32> {
    all(facts).into_iter().find(|database| database.name == name).map(|database| database.oid)
}
