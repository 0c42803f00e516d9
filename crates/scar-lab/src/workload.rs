//! The workloads of section 8 of the paper.
//!
//! A transaction of one partition uses one that its node is the primary of; any other begins there, and each further
//! operation is in a partition drawn from all.

use super::Key;
use super::machine::{Operation, Program};
use scaledb_workloads::rng::Rng;
use scaledb_workloads::zipf::Zipf;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// What transactions do.
pub trait Workload: Debug + Send + Sync {
    /// Keys of each partition that are there at first.
    fn keys(&self, partition: u16) -> u64;

    /// Bytes of a row.
    fn row(&self) -> usize;

    /// The next transaction of a client whose node is primary of `home`; `unique` is another number each time.
    fn next(&self, home: u16, unique: u64, random: &mut Rng) -> Program;

    /// Whether all nodes keep a partition.
    fn everywhere(&self, partition: u16) -> bool {
        let _ = partition;
        false
    }
}

/// Where operations go.
#[derive(Clone, Debug)]
struct Spread {
    partitions: u16,
    keys: u64,
    /// Transactions of several partitions, of a hundred.
    cross: u32,
    reads: Zipf,
}

impl Spread {
    fn new(partitions: u16, keys: u64, skew: f64, cross: u32) -> Self {
        Self { partitions, keys, cross, reads: Zipf::new(keys, skew) }
    }

    fn is_cross(&self, random: &mut Rng) -> bool {
        random.below(100) < u64::from(self.cross)
    }

    /// A key that the transaction has not yet.
    fn key(&self, home: u16, cross: bool, skewed: bool, used: &mut BTreeSet<Key>, random: &mut Rng) -> Key {
        loop {
            let elsewhere = cross && !used.is_empty();
            let partition = if elsewhere { random.below(self.partitions.into()) as u16 } else { home };
            let number = if skewed { self.reads.draw(random) } else { random.below(self.keys) };
            let key = Key { partition, number };
            if used.insert(key) {
                return key;
            }
            // few keys are likely at a high skew: another one after all, and not for ever
            let key = Key { partition, number: random.below(self.keys) };
            if used.insert(key) {
                return key;
            }
        }
    }
}

/// 80 % of the transactions read the timelines of a user and up to nine others, with a skew; 20 % post: three updates
/// and two writes, without.
#[derive(Clone, Debug)]
pub struct Retwis(Spread);

impl Retwis {
    /// So many partitions and keys in each; the skew of reads; transactions of several partitions in a hundred.
    pub fn new(partitions: u16, keys: u64, skew: f64, cross: u32) -> Self {
        Self(Spread::new(partitions, keys, skew, cross))
    }
}

impl Workload for Retwis {
    fn keys(&self, _: u16) -> u64 {
        self.0.keys
    }

    fn row(&self) -> usize {
        100
    }

    fn next(&self, home: u16, _: u64, random: &mut Rng) -> Program {
        let (cross, mut used) = (self.0.is_cross(random), BTreeSet::new());
        let mut key = |skewed, random: &mut Rng| self.0.key(home, cross, skewed, &mut used, random);
        let mut operations = Vec::new();
        if random.below(100) < 80 {
            for _ in 0..random.within(1, 10) {
                operations.push(Operation::Read(key(true, random)));
            }
        } else {
            (0..3).for_each(|_| operations.push(Operation::Update(key(false, random))));
            (0..2).for_each(|_| operations.push(Operation::Put(key(false, random))));
        }
        Program(operations)
    }
}

/// Some operations, each a read with 80 %, otherwise an update.
#[derive(Clone, Debug)]
pub struct Ycsb {
    spread: Spread,
    operations: usize,
    /// Updates have the skew, too.
    skewed_updates: bool,
}

impl Ycsb {
    /// Four operations; reads have the skew.
    pub fn new(partitions: u16, keys: u64, skew: f64, cross: u32) -> Self {
        Self { spread: Spread::new(partitions, keys, skew, cross), operations: 4, skewed_updates: false }
    }

    /// Eight operations, which all have the skew: section 8.5.
    pub fn contended(partitions: u16, keys: u64, skew: f64, cross: u32) -> Self {
        Self { operations: 8, skewed_updates: true, ..Self::new(partitions, keys, skew, cross) }
    }
}

impl Workload for Ycsb {
    fn keys(&self, _: u16) -> u64 {
        self.spread.keys
    }

    fn row(&self) -> usize {
        100
    }

    fn next(&self, home: u16, _: u64, random: &mut Rng) -> Program {
        let (cross, mut used) = (self.spread.is_cross(random), BTreeSet::new());
        let operations = (0..self.operations).map(|_| {
            let reads = random.below(100) < 80;
            let key = self.spread.key(home, cross, reads || self.skewed_updates, &mut used, random);
            if reads { Operation::Read(key) } else { Operation::Update(key) }
        });
        Program(operations.collect())
    }
}

/// TPC-C's New-Order: a warehouse to each partition.
#[derive(Clone, Debug)]
pub struct TpcC {
    warehouses: u16,
    items_everywhere: bool,
}

/// Districts of a warehouse, customers of a district, items: of these a tenth of the benchmark's.
const DISTRICTS: u64 = 10;
const CUSTOMERS: u64 = 300;
const ITEMS: u64 = 10_000;
/// Where the keys of each table begin in a partition.
const DISTRICT: u64 = 1;
const CUSTOMER: u64 = DISTRICT + DISTRICTS;
const STOCK: u64 = CUSTOMER + DISTRICTS * CUSTOMERS;
const ITEM: u64 = STOCK + ITEMS;
/// What is inserted; of a district, in the order of the orders.
const INSERTED: u64 = 1 << 32;

impl TpcC {
    /// Items are kept by all nodes, or spread as all else.
    pub fn new(warehouses: u16, items_everywhere: bool) -> Self {
        Self { warehouses, items_everywhere }
    }

    /// Partitions: one of each warehouse, and one of the items if all nodes keep them.
    pub fn partitions(&self) -> u16 {
        self.warehouses + u16::from(self.items_everywhere)
    }

    fn item(&self, item: u64) -> Key {
        match self.items_everywhere {
            true => Key { partition: self.warehouses, number: item },
            false => {
                let partition = (item % u64::from(self.warehouses)) as u16;
                Key { partition, number: ITEM + item / u64::from(self.warehouses) }
            }
        }
    }
}

impl Workload for TpcC {
    fn keys(&self, partition: u16) -> u64 {
        match partition < self.warehouses {
            true if self.items_everywhere => ITEM,
            true => ITEM + ITEMS.div_ceil(self.warehouses.into()),
            false => ITEMS,
        }
    }

    fn row(&self) -> usize {
        200
    }

    fn everywhere(&self, partition: u16) -> bool {
        partition >= self.warehouses
    }

    fn next(&self, home: u16, unique: u64, random: &mut Rng) -> Program {
        let here = |number| Key { partition: home, number };
        let (district, remote) = (random.below(DISTRICTS), random.below(100) < 10 && self.warehouses > 1);
        let customer = district * CUSTOMERS + random.below(CUSTOMERS);
        let mut operations = vec![
            Operation::Read(here(0)),
            Operation::Update(here(DISTRICT + district)),
            Operation::Read(here(CUSTOMER + customer)),
        ];
        let mut items = BTreeSet::new();
        let lines = random.within(5, 15) as usize;
        while items.len() < lines {
            items.insert(random.below(ITEMS));
        }
        let far = random.below(lines as u64) as usize;
        for (line, &item) in items.iter().enumerate() {
            operations.push(Operation::Read(self.item(item)));
            let supplier = match remote && line == far {
                true => {
                    (u64::from(home) + 1 + random.below(u64::from(self.warehouses) - 1)) as u16
                        % self.warehouses
                }
                false => home,
            };
            operations.push(Operation::Update(Key { partition: supplier, number: STOCK + item }));
        }
        // the order, its place among the new ones, and its lines
        let order = INSERTED + (district << 56) + (unique << 5);
        (0..lines as u64 + 2).for_each(|row| operations.push(Operation::Put(here(order + row))));
        Program(operations)
    }
}
