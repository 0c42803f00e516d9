//! Keys that live as long as the test, and trees of tiny nodes.

use scaledb_index::btree::{BTree, Entry};
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::clock::Clock;
use scaledb_sync::{Arc, CachePadded};

/// A value is the address of a leaked or otherwise long-lived `Key`.
pub(crate) struct Key(Box<[u8]>);

pub(crate) struct ByAddress;

// SAFETY: keys are immutable.
unsafe impl Entry for ByAddress {
    unsafe fn key<'a>(raw: u64) -> &'a [u8] {
        // SAFETY: the address of a `Key` that outlives the tree.
        unsafe { &(*std::ptr::with_exposed_provenance::<Key>(raw as usize)).0 }
    }
}

pub(crate) type Tiny = BTree<ByAddress, 4, 4>;
pub(crate) type Small = BTree<ByAddress, 8, 5>;
pub(crate) type Full = BTree<ByAddress>;

/// Owns keys; their addresses are the values.
#[derive(Default)]
pub(crate) struct Keys(Vec<*mut Key>);

// SAFETY: it only owns the keys.
unsafe impl Send for Keys {}
// SAFETY: shared, it gives nothing away.
unsafe impl Sync for Keys {}

impl Keys {
    pub(crate) fn make(&mut self, bytes: &[u8]) -> u64 {
        let key = Box::into_raw(Box::new(Key(bytes.into())));
        self.0.push(key);
        key.expose_provenance() as u64
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        for &key in &self.0 {
            // SAFETY: made by `make`; the tree that held it is gone.
            drop(unsafe { Box::from_raw(key) });
        }
    }
}

pub(crate) fn key_of(value: u64) -> &'static [u8] {
    // SAFETY: tests keep their keys until the end.
    unsafe { ByAddress::key(value) }
}

pub(crate) fn domain() -> Arc<Domain> {
    Domain::new(Arc::new(Clock::new(0)), u64::MAX)
}

pub(crate) fn generation() -> Arc<CachePadded<AtomicU64>> {
    Arc::new(CachePadded(AtomicU64::new(0)))
}

/// `f` with an active worker.
pub(crate) fn active<T>(local: &mut Local, f: impl FnOnce(&mut Local) -> T) -> T {
    local.enter();
    let result = f(local);
    local.exit();
    local.collect();
    result
}
