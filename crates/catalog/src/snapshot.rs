//! One state of the catalog.

use crate::desc::{ForeignKeyDesc, IndexDesc, Relation, TableDesc};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Oids below are PostgreSQL's own.
pub const FIRST_OID: u32 = 16_384;

/// A foreign key, seen from the table that it refers to.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The table that refers.
    pub from: Arc<TableDesc>,
    /// The number of the constraint there.
    pub number: usize,
}

impl Reference {
    /// The constraint.
    pub fn constraint(&self) -> &ForeignKeyDesc {
        &self.from.foreign_keys[self.number]
    }
}

/// One state of the catalog: cheap to copy, for descriptors are shared.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Counts the committed changes.
    pub version: u64,
    by_oid: BTreeMap<u32, Relation>,
    by_name: HashMap<(String, String), u32>,
}

impl Catalog {
    /// A catalog of these relations.
    pub fn new(version: u64, relations: impl IntoIterator<Item = Relation>) -> Self {
        let mut catalog = Self { version, ..Self::default() };
        relations.into_iter().for_each(|relation| catalog.put(relation));
        catalog
    }

    /// Adds a relation, or replaces the one of its oid.
    pub fn put(&mut self, relation: Relation) {
        let oid = relation.oid();
        self.remove(oid);
        self.by_name.insert((relation.schema().to_owned(), relation.name().to_owned()), oid);
        self.by_oid.insert(oid, relation);
    }

    /// Removes a relation.
    pub fn remove(&mut self, oid: u32) -> Option<Relation> {
        let relation = self.by_oid.remove(&oid)?;
        self.by_name.remove(&(relation.schema().to_owned(), relation.name().to_owned()));
        Some(relation)
    }

    /// The relation of an oid.
    pub fn get(&self, oid: u32) -> Option<&Relation> {
        self.by_oid.get(&oid)
    }

    /// Whether this very descriptor is in the catalog.
    pub fn has(&self, relation: &Relation) -> bool {
        self.get(relation.oid()).is_some_and(|own| own.is(relation))
    }

    /// The table of an oid.
    pub fn table(&self, oid: u32) -> Option<&Arc<TableDesc>> {
        match self.by_oid.get(&oid) {
            Some(Relation::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// The relation of a name.
    pub fn lookup(&self, schema: &str, name: &str) -> Option<&Relation> {
        // a tuple of borrowed strings cannot be looked up in a map of owned ones; names are short
        self.by_oid.get(self.by_name.get(&(schema.to_owned(), name.to_owned()))?)
    }

    /// The index of a name, and its table. Primary keys are indexes, too, but have no `IndexDesc`.
    pub fn index(&self, schema: &str, name: &str) -> Option<(&Arc<TableDesc>, Option<&IndexDesc>)> {
        self.tables().filter(|t| t.schema == schema).find_map(|table| {
            if table.primary_key.as_ref().is_some_and(|key| key.name == name) {
                return Some((table, None));
            }
            table.indexes.iter().find(|index| index.name == name).map(|index| (table, Some(index)))
        })
    }

    /// Whether a relation or an index has this name.
    pub fn is_taken(&self, schema: &str, name: &str) -> bool {
        self.lookup(schema, name).is_some() || self.index(schema, name).is_some()
    }

    /// All relations, by oid.
    pub fn relations(&self) -> impl Iterator<Item = &Relation> {
        self.by_oid.values()
    }

    /// The numbers under which values of sequences were noted that another catalog does not name any more: the
    /// sequences have been dropped or restarted.
    pub fn values_gone<'a>(&'a self, now: &'a Self) -> impl Iterator<Item = u32> + 'a {
        self.relations().filter_map(|relation| match relation {
            Relation::Sequence(before) => match now.get(before.oid) {
                Some(Relation::Sequence(after)) if after.value_id() == before.value_id() => None,
                _ => Some(before.value_id()),
            },
            _ => None,
        })
    }

    /// All tables, by oid.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDesc>> {
        self.by_oid.values().filter_map(|relation| match relation {
            Relation::Table(table) => Some(table),
            _ => None,
        })
    }

    /// The foreign keys that refer to a table.
    pub fn references_to(&self, table: u32) -> Vec<Reference> {
        let mut found = Vec::new();
        for from in self.tables() {
            for (number, key) in from.foreign_keys.iter().enumerate() {
                if key.table == table {
                    found.push(Reference { from: from.clone(), number });
                }
            }
        }
        found
    }

    /// The greatest oid in use.
    pub fn max_oid(&self) -> u32 {
        let oids = self.by_oid.values().flat_map(|relation| relation.oids());
        oids.max().unwrap_or(0).max(FIRST_OID)
    }
}
