//! The contestants behind one interface: maps from `u64` to `u64`.

use scaledb_index::hash::HashIndex;
use scaledb_index::indexlet::{Indexlet, Inserted};
use scaledb_memory::{Domain, Local};
use scaledb_sync::Arc;
use scaledb_sync::clock::Clock;
use std::hash::{BuildHasherDefault, Hasher};

/// A map that threads share.
pub trait Map: Sync {
    /// What a thread keeps between its operations.
    type Worker<'a>
    where
        Self: 'a;

    /// An empty map for `keys` keys; a map that can be told so is told.
    fn new(keys: usize) -> Self;
    fn worker(&self) -> Self::Worker<'_>;
    /// Runs `f`, a batch of operations, in one critical section (epoch, guard) where the map has them.
    fn batch(worker: &mut Self::Worker<'_>, ops: impl Iterator<Item = Op>) -> u64;
}

/// One operation. A get must find the key, an insert must not.
#[derive(Clone, Copy)]
pub enum Op {
    Get(u64),
    Insert(u64),
}

/// The value that belongs to a key.
#[inline(always)]
pub fn value_of(key: u64) -> u64 {
    key >> 1
}

/// The same hash function for everybody.
#[inline(always)]
pub fn hash(key: u64) -> u64 {
    let x = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_a076_1d64_78bd_642f;
    (x >> 64) as u64 ^ x as u64
}

#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are integers")
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = hash(key);
    }
}

type BuildMix = BuildHasherDefault<Mix>;

#[inline(always)]
fn check(found: Option<u64>, key: u64) -> u64 {
    assert_eq!(found, Some(value_of(key)));
    1
}

#[repr(C)]
struct Record {
    key: u64,
    value: u64,
}

#[inline(always)]
fn record(local: &mut Local, key: u64) -> u64 {
    let block = local.alloc(size_of::<Record>()).expect("the budget is large").cast::<Record>();
    // SAFETY: the block is large enough, aligned to 16, and ours.
    unsafe { block.write(Record { key, value: value_of(key) }) };
    block.as_ptr().expose_provenance() as u64
}

#[inline(always)]
fn at<'a>(value: u64) -> &'a Record {
    // SAFETY: values are records from `record`, and none is ever freed before its map.
    unsafe { &*std::ptr::with_exposed_provenance(value as usize) }
}

fn domain() -> Arc<Domain> {
    Domain::new(Arc::new(Clock::new(0)), u64::MAX)
}

pub struct OurIndexlet(Indexlet, Arc<Domain>);

impl Map for OurIndexlet {
    type Worker<'a> = (&'a Indexlet, Local);

    fn new(keys: usize) -> Self {
        let domain = domain();
        let mut local = domain.register().expect("a free worker");
        // two fifths full when all keys are in
        let indexlet = Indexlet::new(&mut local, keys * 5 / 2).expect("the budget is large");
        Self(indexlet, domain)
    }

    fn worker(&self) -> Self::Worker<'_> {
        (&self.0, self.1.register().expect("a free worker"))
    }

    #[inline(always)]
    fn batch((map, local): &mut Self::Worker<'_>, ops: impl Iterator<Item = Op>) -> u64 {
        local.enter();
        let mut sum = 0;
        for op in ops {
            match op {
                Op::Get(key) => {
                    let found = map.get(local, hash(key), |v| at(v).key == key);
                    sum += check(found.map(|v| at(v).value), key);
                }
                Op::Insert(key) => {
                    let value = record(local, key);
                    let new = map.insert(local, hash(key), value, |v| at(v).key == key);
                    assert_eq!(new, Inserted::New);
                }
            }
        }
        local.exit();
        sum
    }
}

pub struct OurHashIndex(HashIndex, Arc<Domain>);

impl Map for OurHashIndex {
    type Worker<'a> = (&'a HashIndex, Local);

    fn new(_: usize) -> Self {
        let domain = domain();
        let mut local = domain.register().expect("a free worker");
        let index = HashIndex::new(&mut local).expect("the budget is large");
        Self(index, domain)
    }

    fn worker(&self) -> Self::Worker<'_> {
        (&self.0, self.1.register().expect("a free worker"))
    }

    #[inline(always)]
    fn batch((map, local): &mut Self::Worker<'_>, ops: impl Iterator<Item = Op>) -> u64 {
        local.enter();
        let mut sum = 0;
        for op in ops {
            match op {
                Op::Get(key) => {
                    let found = map.get(local, hash(key), |v| at(v).key == key);
                    sum += check(found.map(|v| at(v).value), key);
                }
                Op::Insert(key) => {
                    let value = record(local, key);
                    let new = map.insert(local, hash(key), value, |v| at(v).key == key);
                    assert_eq!(new.expect("the budget is large"), Inserted::New);
                }
            }
        }
        local.exit();
        local.collect();
        sum
    }
}

/// A map whose operations need no state of the thread.
macro_rules! rival {
    ($name:ident, $inner:ty, |$keys:ident| $new:expr, |$map:ident| $guard:expr,
     |$m:ident, $g:ident, $k:ident| $get:expr, $insert:expr) => {
        pub struct $name($inner);

        impl Map for $name {
            type Worker<'a> = &'a $inner;

            fn new($keys: usize) -> Self {
                Self($new)
            }

            fn worker(&self) -> Self::Worker<'_> {
                &self.0
            }

            #[inline(always)]
            fn batch($map: &mut Self::Worker<'_>, ops: impl Iterator<Item = Op>) -> u64 {
                let $g = $guard;
                let $m = &**$map;
                let mut sum = 0;
                for op in ops {
                    match op {
                        Op::Get($k) => sum += check($get, $k),
                        Op::Insert($k) => assert!($insert),
                    }
                }
                let _ = $g;
                sum
            }
        }
    };
}

rival!(SccHashMap, scc::HashMap<u64, u64, BuildMix>,
    |keys| scc::HashMap::with_capacity_and_hasher(keys, BuildMix::default()), |map| (),
    |m, _g, k| m.read_sync(&k, |_, v| *v), m.insert_sync(k, value_of(k)).is_ok());

rival!(SccHashIndex, scc::HashIndex<u64, u64, BuildMix>,
    |keys| scc::HashIndex::with_capacity_and_hasher(keys, BuildMix::default()), |map| scc::Guard::new(),
    |m, g, k| m.peek(&k, &g).copied(), m.insert_sync(k, value_of(k)).is_ok());

rival!(DashMap, dashmap::DashMap<u64, u64, BuildMix>,
    |keys| dashmap::DashMap::with_capacity_and_hasher(keys, BuildMix::default()), |map| (),
    |m, _g, k| m.get(&k).map(|v| *v), m.insert(k, value_of(k)).is_none());

rival!(Papaya, papaya::HashMap<u64, u64, BuildMix>,
    |keys| papaya::HashMap::with_capacity_and_hasher(keys, BuildMix::default()), |map| map.guard(),
    |m, g, k| m.get(&k, &g).copied(), m.try_insert(k, value_of(k), &g).is_ok());

rival!(SkipList, crossbeam_skiplist::SkipMap<u64, u64>,
    |_keys| crossbeam_skiplist::SkipMap::new(), |map| (),
    |m, _g, k| m.get(&k).map(|e| *e.value()), *m.get_or_insert(k, value_of(k)).key() == k);

rival!(Congee, congee::Congee<usize, usize>,
    |_keys| congee::Congee::default(), |map| map.pin(),
    |m, g, k| m.get(&(k as usize), &g).map(|v| v as u64),
    m.insert(k as usize, value_of(k) as usize, &g).is_ok_and(|old| old.is_none()));
