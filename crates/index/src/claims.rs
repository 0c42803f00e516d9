//! Two workers claim one key, one of them in the indexlet and the other one in the tree; then each looks into the other
//! structure. Each claim is visible to all before the look that follows it, so that one of them, at the least, sees
//! the other: Dekker's argument, with a full fence on either side.

use crate::btree::{BTree, Entry, Finger, Found, LeafStamp};
use crate::indexlet::Indexlet;
use scaledb_memory::Local;
use scaledb_sync::atomic::{Ordering, fence};

/// After a claim in the indexlet: what the tree has under the key. `None`: still nothing, because the leaf has not
/// changed since it was found not to have the key, and is not locked.
#[inline]
pub fn look_in_tree<E: Entry, const L: usize, const I: usize>(
    tree: &BTree<E, L, I>,
    local: &Local,
    key: &[u8],
    had_not: Option<LeafStamp>,
    finger: &mut Finger,
) -> Option<Found> {
    fence(Ordering::SeqCst);
    match had_not {
        Some(stamp) if tree.is_undisturbed(local, stamp) => None,
        _ => Some(tree.find(local, key, finger)),
    }
}

/// After a claim in the tree: what the indexlet has under the key.
#[inline]
pub fn look_in_indexlet(
    indexlet: &Indexlet,
    local: &Local,
    hash: u64,
    eq: impl Fn(u64) -> bool,
) -> Option<u64> {
    fence(Ordering::SeqCst);
    indexlet.get(local, hash, eq)
}
