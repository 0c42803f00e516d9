//! Which parts a leaf answers for, step by step.

use crate::support::*;
use proptest::prelude::*;
use scaledb_index::btree::{BTree, Finger, LeafRead, Position};
use scaledb_memory::Local;
use scaledb_sync::atomic::Ordering;

const KEYS: usize = 48;

#[derive(Clone, Debug)]
enum Op {
    Insert(usize),
    Remove(usize),
    RemoveRun(usize, usize),
    Post(usize),
    /// Takes the oldest post back.
    Merge,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..KEYS).prop_map(Op::Insert),
        5 => (0..KEYS).prop_map(Op::Remove),
        1 => (0..KEYS, 1usize..20).prop_map(|(from, count)| Op::RemoveRun(from, count)),
        3 => (0..KEYS).prop_map(Op::Post),
        1 => Just(Op::Merge),
    ]
}

struct Post {
    key: [u8; 2],
    part: u64,
    pin: u64,
}

fn bytes(n: usize) -> [u8; 2] {
    (n as u16).to_be_bytes()
}

fn covers(read: &LeafRead, post: &Post) -> bool {
    read.part() == post.part
        || read.inherited().iter().any(|&(part, generation)| part == post.part && generation > post.pin)
        || read.inherit_all().is_some_and(|generation| generation > post.pin)
}

fn run<const L: usize, const I: usize>(ops: &[Op]) {
    let (domain, generation) = (domain(), generation());
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let values: Vec<u64> = (0..KEYS).map(|n| keys.make(&bytes(n))).collect();
    local.enter();
    let tree = BTree::<ByAddress, L, I>::new(&mut local, generation.clone()).unwrap();
    let mut posts: Vec<Post> = Vec::new();
    let mut read = LeafRead::new();
    for op in ops {
        let needed_after =
            posts.iter().map(|post| post.pin).min().unwrap_or(generation.load(Ordering::SeqCst));
        match *op {
            Op::Insert(n) => {
                // SAFETY: the keys outlive the tree.
                unsafe { tree.insert(&mut local, needed_after, values[n]) }.unwrap();
            }
            Op::Remove(n) => drop(tree.remove(&mut local, needed_after, &bytes(n), values[n])),
            Op::RemoveRun(from, count) => {
                for (n, &value) in values.iter().enumerate().skip(from).take(count) {
                    tree.remove(&mut local, needed_after, &bytes(n), value);
                }
            }
            Op::Post(n) => {
                let key = bytes(n);
                let part = tree.find(&local, &key, &mut Finger::default()).part;
                posts.push(Post { key, part, pin: generation.load(Ordering::SeqCst) });
            }
            Op::Merge if posts.is_empty() => {}
            Op::Merge => drop(posts.remove(0)),
        }
        for post in &posts {
            tree.open_leaf(&local, Position::At(&post.key), &mut read);
            assert!(covers(&read, post), "{:?}, {} since {}: {read:?}", post.key, post.part, post.pin);
        }
    }
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 600 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn posted_keys_stay_in_sight(ops in proptest::collection::vec(op(), 0..if cfg!(miri) { 60 } else { 300 })) {
        run::<4, 4>(&ops);
    }
}

fn fill(tree: &Tiny, local: &mut Local, needed_after: u64, values: &[u64]) {
    for &value in values {
        // SAFETY: the keys outlive the tree.
        unsafe { tree.insert(local, needed_after, value) }.unwrap();
    }
}

/// The parts and the lengths of the lists of all leaves.
fn lists(tree: &Tiny, local: &Local) -> Vec<(u64, usize, Option<u64>)> {
    let (mut read, mut all) = (LeafRead::new(), Vec::new());
    tree.open_leaf(local, Position::First, &mut read);
    loop {
        all.push((read.part(), read.inherited().len(), read.inherit_all()));
        if !tree.open_next(local, &mut read) {
            return all;
        }
    }
}

#[test]
fn appended_keys_stay_in_one_part() {
    let (domain, generation) = (domain(), generation());
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let values: Vec<u64> = (0..KEYS).map(|n| keys.make(&bytes(n))).collect();
    local.enter();
    let tree = Tiny::new(&mut local, generation).unwrap();
    let mut read = LeafRead::new();
    tree.open_leaf(&local, Position::Last, &mut read);
    let tail = read.part();
    fill(&tree, &mut local, 0, &values);
    let lists = lists(&tree, &local);
    let (last, rest) = lists.split_last().unwrap();
    assert_eq!(*last, (tail, 0, None));
    // sequential keys fill their leaves, and each leaf inherits just the tail's part
    assert_eq!(lists.len(), KEYS / 4);
    assert!(rest.iter().all(|&(part, inherited, all)| part != tail && inherited == 1 && all.is_none()));
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}

#[test]
fn what_no_pin_needs_is_forgotten_by_the_next_change() {
    let (domain, generation) = (domain(), generation());
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let values: Vec<u64> = (0..KEYS).map(|n| keys.make(&bytes(n))).collect();
    local.enter();
    let tree = Tiny::new(&mut local, generation.clone()).unwrap();
    fill(&tree, &mut local, 0, &values);
    for &value in &values {
        assert!(tree.remove(&mut local, 0, key_of(value), value));
    }
    assert!(matches!(lists(&tree, &local)[..], [(_, _, Some(_))]), "one leaf, whose list overflowed");
    fill(&tree, &mut local, generation.load(Ordering::SeqCst), &values[..1]);
    assert!(matches!(lists(&tree, &local)[..], [(_, 0, None)]));
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}

#[test]
fn a_leaf_covers_the_keys_that_lead_to_it_and_no_others() {
    let (domain, generation) = (domain(), generation());
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    let values: Vec<u64> = (0..KEYS).map(|n| keys.make(&bytes(n))).collect();
    local.enter();
    let tree = Tiny::new(&mut local, generation).unwrap();
    fill(&tree, &mut local, 0, &values);
    let (mut read, mut other) = (LeafRead::new(), LeafRead::new());
    for n in 0..KEYS {
        tree.open_leaf(&local, Position::At(&bytes(n)), &mut read);
        for key in (0..KEYS).map(bytes) {
            tree.open_leaf(&local, Position::At(&key), &mut other);
            assert_eq!(read.covers(&key), read.low() == other.low(), "{key:?}: {read:?}");
        }
    }
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}

/// Nodes and fences that were taken out are used again.
#[test]
#[cfg_attr(miri, ignore = "too many operations: memory is steady after many rounds")]
fn a_tree_that_grows_and_shrinks_takes_no_more_memory() {
    let (domain, generation) = (domain(), generation());
    let mut local = domain.register().unwrap();
    let mut keys = Keys::default();
    // with long fences
    let values: Vec<u64> = (0..KEYS).map(|n| keys.make(&[&[7; 60][..], &bytes(n)].concat())).collect();
    local.enter();
    let tree = Tiny::new(&mut local, generation).unwrap();
    let mut used = 0;
    let (first, rounds) = (200, 3_000);
    for round in 0..rounds {
        fill(&tree, &mut local, 0, &values);
        for &value in &values {
            assert!(tree.remove(&mut local, 0, key_of(value), value));
        }
        local.exit();
        local.collect();
        local.enter();
        if round == first {
            used = domain.used();
        }
    }
    assert_eq!(domain.used(), used);
    // SAFETY: nobody else has it.
    unsafe { tree.free_all(&mut local) };
    local.exit();
}
