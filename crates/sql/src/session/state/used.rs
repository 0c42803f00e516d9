//! What of the catalog a transaction has used.

use scaledb_catalog::Catalog;
use std::cell::{Cell, RefCell};

/// What of the catalog a transaction has used.
#[derive(Debug, Default)]
pub(crate) struct Used {
    relations: RefCell<Vec<u32>>,
    whole: Cell<bool>,
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

    /// Forgets all: the transaction has ended.
    pub(crate) fn clear(&self) {
        self.relations.borrow_mut().clear();
        self.whole.set(false);
    }

    /// Whether a transaction that began with one catalog has found what it would find in another.
    pub(crate) fn is_same(&self, before: &Catalog, now: &Catalog) -> bool {
        !self.whole.get() && self.relations.borrow().iter().all(|&oid| before.finds_same(now, oid))
    }
}
