//! What of the catalog a transaction has used.

use scaledb_catalog::Catalog;
use std::cell::{Cell, RefCell};

/// What of the catalog a transaction has used.
#[derive(Debug, Default)]
pub(crate) struct Used {
    relations: RefCell<Vec<u32>>,
    whole: Cell<bool>,
    roles: Cell<bool>,
    /// Objects whose owner or privileges it has looked at.
    access: RefCell<Vec<u32>>,
}

impl Used {
    /// Notes that the transaction has used a relation.
    pub(crate) fn note(&self, oid: u32) {
        let mut relations = self.relations.borrow_mut();
        if !relations.contains(&oid) {
            relations.push(oid);
        }
    }

    /// Whether it has used a relation.
    pub(crate) fn contains(&self, oid: u32) -> bool {
        self.relations.borrow().contains(&oid)
    }

    /// Notes that the transaction has read what any change of the catalog may change.
    pub(crate) fn note_all(&self) {
        self.whole.set(true);
    }

    /// Whether it has.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole.get()
    }

    /// Notes that it has looked who owns an object, and what a role may do with it.
    pub(crate) fn note_access(&self, object: u32) {
        self.roles.set(true);
        let mut access = self.access.borrow_mut();
        if !access.contains(&object) {
            access.push(object);
        }
    }

    /// Forgets all: the transaction has ended.
    pub(crate) fn clear(&self) {
        self.relations.borrow_mut().clear();
        self.whole.set(false);
        self.roles.set(false);
        self.access.borrow_mut().clear();
    }

    /// Whether a transaction that began with one catalog has found what it would find in another.
    pub(crate) fn is_same(&self, before: &Catalog, now: &Catalog) -> bool {
        !self.whole.get()
            && (!self.roles.get() || before.has_same_roles(now))
            && self.access.borrow().iter().all(|&object| before.has_same_access(now, object))
            && self.relations.borrow().iter().all(|&oid| before.finds_same(now, oid))
    }
}
