//! Extensions that a database has.

use crate::snapshot::Catalog;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An extension that CREATE EXTENSION has added. The functions that came with it have descriptors of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtensionDesc {
    /// Its oid.
    pub oid: u32,
    /// Its name, which no other extension of the database has.
    pub name: String,
    /// The schema that its functions are in.
    pub schema: String,
    /// Its version.
    pub version: String,
    /// The oids of what came with it: nothing of that is dropped without it.
    pub members: Vec<u32>,
    /// What COMMENT ON has said, at first what the extension says of itself.
    pub comment: Option<String>,
}

impl Catalog {
    /// The extensions of the database, by name.
    pub fn extensions(&self) -> impl Iterator<Item = &Arc<ExtensionDesc>> {
        self.extensions.values()
    }

    /// The extension of a name.
    pub fn extension(&self, name: &str) -> Option<&Arc<ExtensionDesc>> {
        self.extensions.get(name)
    }

    /// The extension of an oid.
    pub fn extension_of_oid(&self, oid: u32) -> Option<&Arc<ExtensionDesc>> {
        self.extensions().find(|desc| desc.oid == oid)
    }

    /// The extension that something came with.
    pub fn extension_of(&self, member: u32) -> Option<&Arc<ExtensionDesc>> {
        self.extensions().find(|desc| desc.members.contains(&member))
    }

    /// Adds an extension, or replaces the one of its name.
    pub fn put_extension(&mut self, desc: Arc<ExtensionDesc>) {
        self.extensions.insert(desc.name.clone(), desc);
    }

    /// Removes an extension; its members are to be removed before.
    pub fn remove_extension(&mut self, name: &str) {
        if let Some(desc) = self.extensions.remove(name) {
            debug_assert!(
                desc.members.iter().all(|oid| self.routine(*oid).is_none()),
                "{name} has no members"
            );
        }
    }
}
