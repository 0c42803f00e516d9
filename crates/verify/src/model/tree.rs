//! A B+ tree of one level of leaves, with the fences, versions and partitions of section "State" of the design.
//!
//! Every operation on it is one atomic step: what happens inside the tree (optimistic lock coupling) is verified
//! elsewhere. Splits and coalescing happen inside the insert or removal that causes them.

use super::program::Key;

/// Index of a record.
pub type Rec = u8;
/// Split generation.
pub type Generation = u8;
/// Partition id: the unit of key space that phantomlet cells count for.
pub type Part = u8;

/// The largest key: the high fence of the last leaf.
pub const MAX_KEY: Key = 63;

/// A leaf.
#[derive(Clone, Hash, Debug)]
pub struct Leaf {
    /// Identity, never reused.
    pub id: u8,
    /// Changes with every insert and removal of a key and with every split and coalescing.
    pub version: u8,
    /// Low fence; the high fence is the low fence of the next leaf.
    pub low: Key,
    /// Keys and records in key order.
    pub entries: Vec<(Key, Rec)>,
    /// The partition under which new keys of this leaf are posted.
    pub part: Part,
    /// Partitions under which keys of this leaf may have been posted earlier, by lanes pinned at a smaller generation.
    pub inherited: Vec<(Part, Generation)>,
}

/// What a split or coalescing needs to know.
#[derive(Clone, Copy)]
pub struct Inheritance {
    /// The generation of this split or coalescing, should there be one: G + 1.
    pub next: Generation,
    /// The smallest generation at which a lane is pinned, `MAX` if none is.
    pub oldest_pin: Generation,
    /// False only in mutations.
    pub on_split: bool,
    /// False only in mutations.
    pub on_coalesce: bool,
}

/// The tree.
#[derive(Clone, Hash, Debug)]
pub struct Tree {
    capacity: usize,
    next_id: u8,
    /// The leaves in key order.
    pub leaves: Vec<Leaf>,
}

impl Tree {
    /// An empty tree whose ids and partitions begin with `first_id`.
    pub fn new(capacity: usize, first_id: u8) -> Self {
        let leaf =
            Leaf { id: first_id, version: 0, low: 0, entries: vec![], part: first_id, inherited: vec![] };
        Tree { capacity, next_id: first_id + 1, leaves: vec![leaf] }
    }

    fn position(&self, key: Key) -> usize {
        self.leaves.partition_point(|leaf| leaf.low <= key) - 1
    }

    /// The leaf that covers `key`, and its high fence.
    pub fn leaf(&self, key: Key) -> (&Leaf, Key) {
        let at = self.position(key);
        (&self.leaves[at], self.leaves.get(at + 1).map_or(MAX_KEY, |next| next.low - 1))
    }

    /// Is this leaf still alive at this version?
    pub fn unchanged(&self, id: u8, version: u8) -> bool {
        self.leaves.iter().any(|leaf| leaf.id == id && leaf.version == version)
    }

    /// The record of a key.
    pub fn get(&self, key: Key) -> Option<Rec> {
        self.leaf(key).0.entries.iter().find(|entry| entry.0 == key).map(|entry| entry.1)
    }

    /// The entries of one leaf within an interval.
    pub fn entries_in(leaf: &Leaf, low: Key, high: Key) -> Vec<(Key, Rec)> {
        leaf.entries.iter().filter(|(key, _)| (low..=high).contains(key)).copied().collect()
    }

    /// Adds a key that the tree lacks; a full leaf splits, and its new sibling gets a new partition.
    /// Returns true if it split.
    #[must_use]
    pub fn insert(&mut self, key: Key, rec: Rec, inheritance: Inheritance) -> bool {
        let at = self.position(key);
        let leaf = &mut self.leaves[at];
        let slot = leaf.entries.partition_point(|entry| entry.0 < key);
        leaf.entries.insert(slot, (key, rec));
        leaf.version += 1;
        if leaf.entries.len() <= self.capacity {
            return false;
        }
        let moved = leaf.entries.split_off(leaf.entries.len() / 2);
        leaf.inherited.retain(|&(_, generation)| generation > inheritance.oldest_pin);
        let mut inherited = leaf.inherited.clone();
        if inheritance.oldest_pin < inheritance.next {
            inherited.push((leaf.part, inheritance.next));
        }
        if !inheritance.on_split {
            inherited.clear();
        }
        let id = self.next_id;
        self.next_id += 1;
        let sibling = Leaf { id, version: 0, low: moved[0].0, entries: moved, part: id, inherited };
        self.leaves.insert(at + 1, sibling);
        true
    }

    /// Removes a key if it is there with this record; a leaf that becomes empty is merged into its left neighbour.
    /// Returns true if that happened.
    #[must_use]
    pub fn remove(&mut self, key: Key, rec: Rec, inheritance: Inheritance) -> bool {
        let at = self.position(key);
        let leaf = &mut self.leaves[at];
        if !leaf.entries.contains(&(key, rec)) {
            return false;
        }
        leaf.entries.retain(|entry| entry.0 != key);
        leaf.version += 1;
        if at == 0 || !leaf.entries.is_empty() {
            return false;
        }
        let right = self.leaves.remove(at);
        let left = &mut self.leaves[at - 1];
        left.version += 1;
        if inheritance.on_coalesce {
            left.inherited.extend(right.inherited);
            left.inherited.push((right.part, inheritance.next));
        }
        left.inherited.retain(|&(_, generation)| generation > inheritance.oldest_pin);
        left.inherited.sort_unstable();
        left.inherited.dedup();
        true
    }

    /// For traces.
    pub fn show(&self, record: impl Fn(Rec) -> String) -> String {
        let show = |leaf: &Leaf| {
            let entries: Vec<String> =
                leaf.entries.iter().map(|&(key, rec)| format!("{key}:{}", record(rec))).collect();
            format!(
                "L{}v{}p{}{:?}[{}..]{{{}}}",
                leaf.id,
                leaf.version,
                leaf.part,
                leaf.inherited,
                leaf.low,
                entries.join(",")
            )
        };
        self.leaves.iter().map(show).collect::<Vec<_>>().join(" ")
    }
}
