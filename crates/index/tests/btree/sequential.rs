//! One thread, against `BTreeMap`.

use crate::support::*;
use proptest::prelude::*;
use scaledb_index::btree::{BTree, Finger, LEAF_ENTRIES, LeafRead, Position};
use scaledb_memory::{Domain, Local};
use scaledb_sync::Arc;
use scaledb_sync::clock::Clock;
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<u8>),
    Remove(Vec<u8>),
    Replace(Vec<u8>),
    Batch(Vec<Vec<u8>>),
    Clear(Vec<u8>, usize),
    Find(Vec<u8>),
    Range(Vec<u8>, Vec<u8>),
}

/// Keys that share prefixes, contain zeros, are prefixes of each other, or are integers.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..5),
        4 => (0u64..200).prop_map(|n| n.to_be_bytes().to_vec()),
        4 => (0u8..3, proptest::collection::vec(0u8..3, 0..4)).prop_map(|(n, tail)| {
            [&b"a long prefix shared by many keys"[..usize::from(n) * 11], &tail].concat()
        }),
        1 => (0u32..100).prop_map(|n| [&[7u8; 12][..], &n.to_be_bytes()].concat()),
        1 => (0usize..1024).prop_map(|n| vec![9; n]),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => key().prop_map(Op::Insert),
        8 => key().prop_map(Op::Remove),
        2 => key().prop_map(Op::Replace),
        3 => proptest::collection::vec(key(), 0..40).prop_map(Op::Batch),
        1 => (key(), 0usize..60).prop_map(|(k, n)| Op::Clear(k, n)),
        6 => key().prop_map(Op::Find),
        2 => (key(), key()).prop_map(|(a, b)| Op::Range(a, b)),
    ]
}

fn forward<const L: usize, const I: usize>(tree: &BTree<ByAddress, L, I>, local: &Local) -> Vec<u64> {
    let (mut read, mut all) = (LeafRead::new(), Vec::new());
    tree.open_leaf(local, Position::First, &mut read);
    loop {
        assert!(tree.read_entries(local, &mut read));
        assert!(read.values().iter().all(|&value| read.covers(key_of(value))));
        all.extend_from_slice(read.values());
        let high = read.high().map(<[u8]>::to_vec);
        if !tree.open_next(local, &mut read) {
            assert_eq!(high, None);
            return all;
        }
        assert_eq!(high.as_deref(), Some(read.low()));
    }
}

fn backward<const L: usize, const I: usize>(tree: &BTree<ByAddress, L, I>, local: &Local) -> Vec<u64> {
    let (mut read, mut all) = (LeafRead::new(), Vec::new());
    tree.open_leaf(local, Position::Last, &mut read);
    loop {
        assert!(tree.read_entries(local, &mut read));
        all.extend(read.values().iter().rev());
        let low = read.low().to_vec();
        if !tree.open_previous(local, &mut read) {
            all.reverse();
            return all;
        }
        assert_eq!(read.high(), Some(&low[..]));
    }
}

fn range<const L: usize, const I: usize>(
    tree: &BTree<ByAddress, L, I>,
    local: &Local,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> Vec<u64> {
    let (mut read, mut all) = (LeafRead::new(), Vec::new());
    let start = match from {
        Bound::Included(key) | Bound::Excluded(key) => Position::At(key),
        Bound::Unbounded => Position::First,
    };
    tree.open_leaf(local, start, &mut read);
    loop {
        assert!(tree.read_range(local, &mut read, from, to));
        all.extend_from_slice(read.values());
        if !tree.open_next(local, &mut read) {
            return all;
        }
    }
}

fn run<const L: usize, const I: usize>(ops: &[Op]) {
    let domain = domain();
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let mut map: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let mut finger = Finger::default();
    local.enter();
    let tree = BTree::<ByAddress, L, I>::new(&mut local, generation()).unwrap();
    for op in ops {
        match op {
            Op::Insert(key) => {
                let value = keys.make(key);
                // SAFETY: keys outlive the tree.
                let existing = unsafe { tree.insert(&mut local, 0, value).unwrap() };
                assert_eq!(existing, map.get(key).copied());
                map.entry(key.clone()).or_insert(value);
            }
            Op::Remove(key) => {
                let value = map.remove(key);
                assert!(!tree.remove(&mut local, 0, key, u64::MAX));
                assert_eq!(tree.remove(&mut local, 0, key, value.unwrap_or(1)), value.is_some());
            }
            Op::Replace(key) => {
                let value = keys.make(key);
                let stamp = tree.find(&local, key, &mut finger).leaf;
                // SAFETY: keys outlive the tree.
                assert!(!unsafe { tree.replace(&local, key, 1, value) });
                if let Some(old) = map.get_mut(key) {
                    // SAFETY: as above.
                    assert!(unsafe { tree.replace(&local, key, *old, value) });
                    *old = value;
                }
                assert!(tree.is_current(&local, stamp));
            }
            Op::Batch(batch) => {
                let mut batch = batch.clone();
                batch.sort();
                let values: Vec<u64> = batch.iter().map(|key| keys.make(key)).collect();
                let mut found = Vec::new();
                // SAFETY: keys outlive the tree.
                let stats =
                    unsafe { tree.insert_batch(&mut local, 0, &values, |i, v| found.push((i, v))) }.unwrap();
                let mut expected = Vec::new();
                for (i, (key, &value)) in batch.iter().zip(&values).enumerate() {
                    match map.get(key) {
                        Some(&there) => expected.push((i, there)),
                        None => drop(map.insert(key.clone(), value)),
                    }
                }
                assert_eq!(found, expected);
                assert_eq!(stats.existing as usize, found.len());
                assert_eq!(stats.inserted as usize, values.len() - found.len());
            }
            Op::Clear(from, count) => {
                let gone: Vec<_> =
                    map.range(from.clone()..).take(*count).map(|(k, v)| (k.clone(), *v)).collect();
                for (key, value) in gone {
                    assert!(tree.remove(&mut local, 0, &key, value));
                    map.remove(&key);
                }
            }
            Op::Find(key) => {
                let expected = map.get(key).copied();
                assert_eq!(tree.get(&local, key), expected);
                let found = tree.find(&local, key, &mut finger);
                assert_eq!(found.value, expected);
                let again = tree.find(&local, key, &mut finger);
                assert_eq!((again.leaf, again.part), (found.leaf, found.part));
                assert!(tree.is_current(&local, found.leaf));
            }
            Op::Range(a, b) => {
                for (from, to) in [
                    (Bound::Included(&a[..]), Bound::Included(&b[..])),
                    (Bound::Excluded(&a[..]), Bound::Excluded(&b[..])),
                ] {
                    let inside = |key: &[u8]| {
                        use std::ops::RangeBounds;
                        (from, to).contains(key)
                    };
                    let expected: Vec<u64> = map.iter().filter(|(k, _)| inside(k)).map(|(_, v)| *v).collect();
                    assert_eq!(range(&tree, &local, from, to), expected);
                }
            }
        }
        tree.check(&local).unwrap();
    }
    let expected: Vec<u64> = map.values().copied().collect();
    assert_eq!(forward(&tree, &local), expected);
    assert_eq!(backward(&tree, &local), expected);
    assert_eq!(tree.stats(&local).entries, map.len());

    for (key, value) in map {
        assert!(tree.remove(&mut local, 0, &key, value));
    }
    tree.check(&local).unwrap();
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 300 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn tiny_nodes_behave_as_a_map(ops in proptest::collection::vec(op(), 0..if cfg!(miri) { 40 } else { 300 })) {
        run::<4, 4>(&ops);
    }

    #[test]
    fn small_nodes_behave_as_a_map(ops in proptest::collection::vec(op(), 0..if cfg!(miri) { 40 } else { 300 })) {
        run::<8, 5>(&ops);
    }

    #[test]
    fn real_nodes_behave_as_a_map(ops in proptest::collection::vec(op(), 0..if cfg!(miri) { 20 } else { 300 })) {
        run::<64, 64>(&ops);
    }
}

#[test]
fn a_finger_of_another_tree_leads_nowhere() {
    let (domain, generation) = (domain(), generation());
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let value = keys.make(b"key");
    local.enter();
    let tree = Tiny::new(&mut local, generation.clone()).unwrap();
    let other = Tiny::new(&mut local, generation).unwrap();
    // SAFETY: the key outlives the tree.
    unsafe { tree.insert(&mut local, 0, value) }.unwrap();
    let mut finger = Finger::default();
    assert_eq!(tree.find(&local, b"key", &mut finger).value, Some(value));
    assert_eq!(other.find(&local, b"key", &mut finger).value, None);
    // SAFETY: nobody else has them.
    unsafe {
        tree.free_all(&mut local);
        other.free_all(&mut local);
    }
    local.exit();
}

/// Nobody reads on in a leaf that has coalesced away: it would never change again.
#[test]
fn buried_leaves_are_left_alone() {
    let domain = domain();
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let values: Vec<u64> = (0u8..9).map(|n| keys.make(&[n])).collect();
    local.enter();
    let tree = Tiny::new(&mut local, generation()).unwrap();
    // SAFETY: keys outlive the tree.
    unsafe { tree.insert_batch(&mut local, 0, &values, |_, _| {}) }.unwrap();
    assert_eq!(tree.stats(&local).leaves, 3);

    let (mut read, mut finger) = (LeafRead::new(), Finger::default());
    tree.open_leaf(&local, Position::First, &mut read);
    let stamp = tree.find(&local, &[4], &mut finger).leaf;
    assert!(tree.is_undisturbed(&local, stamp));
    for n in [4, 5, 6, 7, 1, 2, 3, 0] {
        assert!(tree.remove(&mut local, 0, &[n], values[n as usize]));
    }
    // SAFETY: as above.
    unsafe { tree.insert(&mut local, 0, values[4]) }.unwrap();
    assert!(!tree.is_current(&local, stamp) && !tree.is_undisturbed(&local, stamp));
    assert_eq!(tree.find(&local, &[4], &mut finger).value, Some(values[4]));
    assert!(!tree.read_entries(&local, &mut read));
    assert!(tree.open_next(&local, &mut read));
    assert!(read.covers(&[4]));
    assert!(tree.read_entries(&local, &mut read));
    assert_eq!(read.values(), [values[4], values[8]]);

    // nor with what was read in an earlier activity
    let found = tree.find(&local, &[4], &mut finger);
    assert!(tree.is_undisturbed(&local, found.leaf));
    local.exit();
    local.enter();
    assert!(!tree.is_current(&local, found.leaf) && !tree.is_undisturbed(&local, found.leaf));
    assert!(!tree.read_entries(&local, &mut read));
    assert_eq!(tree.find(&local, &[4], &mut finger).value, Some(values[4]));
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}

#[test]
#[cfg_attr(miri, ignore = "too many operations")]
fn a_full_database_is_an_error_that_changes_nothing() {
    use scaledb_base::Error;
    let domain = Domain::new(Arc::new(Clock::new(0)), 2 << 20);
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    local.enter();
    let tree = Small::new(&mut local, generation()).unwrap();
    let mut inserted = 0u32;
    let error = loop {
        let value = keys.make(&inserted.wrapping_mul(0x9e37_79b9).to_be_bytes());
        // SAFETY: keys outlive the tree.
        match unsafe { tree.insert(&mut local, 0, value) } {
            Ok(existing) => assert_eq!(existing, None),
            Err(error) => break error,
        }
        inserted += 1;
    };
    assert!(matches!(error, Error::OutOfMemory { .. }));
    tree.check(&local).unwrap();
    assert_eq!(tree.stats(&local).entries, inserted as usize);
    // SAFETY: as above.
    let error = unsafe { tree.insert(&mut local, 0, keys.make(&[1; 1025])) }.unwrap_err();
    assert!(matches!(error, Error::KeyTooLarge { got: 1025, limit: 1024 }));
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}

#[test]
#[cfg_attr(miri, ignore = "too many operations")]
fn bulk_load_packs_leaves_and_leaves_some_room() {
    let domain = domain();
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let values: Vec<u64> = (0u32..5_000).map(|n| keys.make(&n.to_be_bytes())).collect();
    local.enter();
    let tree = Full::new(&mut local, generation()).unwrap();
    // SAFETY: keys outlive the tree.
    let stats = unsafe { tree.bulk_load(&mut local, values.iter().copied()) }.unwrap();
    assert_eq!((stats.inserted, stats.existing), (5_000, 0));
    tree.check(&local).unwrap();
    assert_eq!(forward(&tree, &local), values);
    assert_eq!(tree.stats(&local).leaves, 5_000usize.div_ceil(LEAF_ENTRIES * 7 / 8));
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}
