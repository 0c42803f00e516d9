//! Point look-ups, and stamps by which they can be confirmed later.

use super::node::Leaf;
use super::search::head;
use super::version::Restart;
use super::{BTree, Entry, Position};
use scaledb_memory::Local;
use scaledb_sync::hint::Backoff;

/// Names one activity of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Activity(u64);

impl Activity {
    #[inline(always)]
    pub(super) fn of(local: &Local) -> Self {
        Self(local.activity())
    }
}

/// A leaf's address, compared and, within the activity in which it was taken, followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address(*const ());

// SAFETY: an address alone gives no access; following it is checked where it is done.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// A leaf at one moment: [`BTree::is_current`] tells whether a key has come or gone since. Means
/// something only within the activity in which it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeafStamp {
    pub(super) leaf: Address,
    pub(super) version: u64,
    pub(super) activity: Activity,
}

impl LeafStamp {
    pub(super) fn new<const L: usize>(leaf: &Leaf<L>, version: u64, local: &Local) -> Self {
        Self { leaf: Address::of(leaf), version, activity: Activity::of(local) }
    }
}

impl Address {
    pub(super) fn of<const L: usize>(leaf: *const Leaf<L>) -> Self {
        Self(leaf.cast())
    }

    /// The leaf.
    ///
    /// # Safety
    /// The address was taken of a leaf of `L` entries, within the caller's present activity.
    #[inline(always)]
    pub(super) unsafe fn leaf<'t, const L: usize>(self) -> &'t Leaf<L> {
        // SAFETY: the caller's promise: what was in the tree within the activity is not reclaimed.
        unsafe { &*self.0.cast::<Leaf<L>>() }
    }
}

/// Remembers the leaf of a caller's last look-up; the next one needs no descent if it falls into the
/// same leaf. Forgets by itself when the activity ends.
#[derive(Clone, Debug, Default)]
pub struct Finger(Option<(u64, Activity, Address)>);

/// What [`BTree::find`] found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The key's value, if it is there.
    pub value: Option<u64>,
    /// The leaf in which the key is or would be.
    pub leaf: LeafStamp,
    /// That leaf's part.
    pub part: u64,
}

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// The value of `key`. O(log n); follows the value only when eight bytes do not decide.
    pub fn get(&self, local: &Local, key: &[u8]) -> Option<u64> {
        self.assert_protected(local);
        let mut backoff = Backoff::new();
        loop {
            if let Ok(value) = self.try_get(key) {
                return value;
            }
            backoff.wait_forever();
        }
    }

    #[inline(always)]
    fn try_get(&self, key: &[u8]) -> Result<Option<u64>, Restart> {
        let place = self.descend(Position::At(key))?;
        self.read_key(place.node, place.version, key)
    }

    #[inline(always)]
    fn read_key(&self, leaf: &Leaf<L>, version: u64, key: &[u8]) -> Result<Option<u64>, Restart> {
        let validate = || leaf.version.validate(version);
        let slot = leaf.lookup::<E>(leaf.meta(), key, validate)?;
        let value = slot.map(|slot| leaf.value(slot));
        validate()?;
        Ok(value)
    }

    /// The value of `key`, and the leaf where it is or would be. As [`BTree::get`], without the
    /// descent when `finger` was last used for a key of the same leaf.
    pub fn find(&self, local: &Local, key: &[u8], finger: &mut Finger) -> Found {
        self.assert_protected(local);
        let mut backoff = Backoff::new();
        loop {
            if let Ok(found) = self.try_find(local, key, finger) {
                return found;
            }
            *finger = Finger::default();
            backoff.wait_forever();
        }
    }

    #[inline(always)]
    fn try_find(&self, local: &Local, key: &[u8], finger: &mut Finger) -> Result<Found, Restart> {
        let (leaf, version) = match self.follow(local, key, finger) {
            Some(hit) => hit,
            None => {
                let place = self.descend(Position::At(key))?;
                *finger = Finger(Some((self.id, Activity::of(local), Address::of(place.node))));
                (place.node, place.version)
            }
        };
        let part = leaf.part();
        let value = self.read_key(leaf, version, key)?;
        Ok(Found { value, leaf: LeafStamp::new(leaf, version, local), part })
    }

    /// The finger's leaf, if it covers `key`.
    #[inline(always)]
    fn follow(&self, local: &Local, key: &[u8], finger: &Finger) -> Option<(&Leaf<L>, u64)> {
        let (tree, activity, address) = finger.0?;
        if tree != self.id || activity != Activity::of(local) {
            return None;
        }
        // SAFETY: taken from this tree in this activity.
        let leaf = unsafe { address.leaf::<L>() };
        let version = leaf.version.read().ok()?;
        let head = head(key, 0);
        let covered = match (leaf.is_above_low(head), leaf.is_below_high(head)) {
            (Some(true), Some(true)) => true,
            (Some(false), _) | (_, Some(false)) => false,
            _ => {
                let (low, high) = (leaf.low(), leaf.high());
                leaf.version.validate(version).ok()?;
                low.is_at_most(key) && high.is_above(key)
            }
        };
        covered.then_some((leaf, version))
    }

    /// Whether no key has come to, or gone from, the leaf since the stamp was taken. A stamp of an
    /// earlier activity is never current.
    #[inline]
    pub fn is_current(&self, local: &Local, stamp: LeafStamp) -> bool {
        self.assert_protected(local);
        if stamp.activity != Activity::of(local) {
            return false;
        }
        // SAFETY: taken in this activity.
        unsafe { stamp.leaf.leaf::<L>() }.version.stamp() == stamp.version
    }

    /// [`BTree::is_current`], and the leaf is not locked: from now on, its keys may be posted under the leaf's part. A
    /// holder of the lock may be splitting or unlinking the leaf, in a generation that other threads already read.
    #[inline]
    pub fn is_undisturbed(&self, local: &Local, stamp: LeafStamp) -> bool {
        self.assert_protected(local);
        // SAFETY: taken in this activity.
        stamp.activity == Activity::of(local) && unsafe { stamp.leaf.leaf::<L>() }.version.is(stamp.version)
    }

    /// Asks for the memory of the leaf of `key`, without waiting for it. Pays when the look-up follows
    /// some other work.
    pub fn prefetch(&self, local: &Local, key: &[u8]) {
        self.assert_protected(local);
        // somebody is in the way: then the look-up itself fetches it
        let _ = self.prefetch_leaf(key);
    }
}
