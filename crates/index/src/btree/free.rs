//! Frees the nodes of a tree.

use super::boundary::Boundary;
use super::node::{Inner, Leaf, Node};
use super::{BTree, Entry};
use scaledb_memory::Local;
use std::ptr::NonNull;

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Gives the memory of all nodes back to `local`. Without this call, it stays allocated until the domain is
    /// dropped. (Under Miri and the model checkers blocks are not carved from the domain's chunks: there, it leaks.)
    ///
    /// # Safety
    /// Nobody else uses the tree, or anything that was read of it, now or later; nor does the caller.
    pub unsafe fn free_all(&self, local: &mut Local) {
        self.assert_protected(local);
        let (root, height) = self.anchor.root();
        // SAFETY: the caller's promise.
        unsafe { self.free_below(local, root, height) };
    }

    /// # Safety
    /// As for [`BTree::free_all`]; `node` is at `level`, and freed once.
    unsafe fn free_below(&self, local: &mut Local, node: *mut Node, level: usize) {
        let block = NonNull::new(node).expect("children are not null").cast();
        if level > 0 {
            // SAFETY: nobody changes the tree; the level says what it is.
            let inner = unsafe { self.inner(node) };
            for i in 0..inner.count() {
                // SAFETY: the caller's promise.
                unsafe { self.free_below(local, inner.child(i), level - 1) };
            }
            // SAFETY: made by `create` for an inner node; the caller's promise.
            unsafe { local.free(block, size_of::<Inner<I>>()) };
        } else {
            // SAFETY: nobody changes the tree; the level says what it is.
            let high: Boundary = unsafe { self.leaf(node) }.high();
            // SAFETY: a boundary belongs to the leaf that it is the high fence of; the leaf was made
            // by `create`; the caller's promise.
            unsafe {
                high.free(local);
                local.free(block, size_of::<Leaf<L>>());
            }
        }
    }
}
