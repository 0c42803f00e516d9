//! All versions of all keys, and what each depends on, exactly: what the checkers compare reads with.
//!
//! The simulation sees everything, so the checkers need no search. A *past* is a vector of version numbers, one for
//! each key: who has it in its past must not read anything older. For each session and each version the past is the
//! join of what it depends on, so that one comparison for each read checks all orders at once:
//!
//! ```text
//!   causal order, single operations:  version read >= past of the session              [key]
//!   missed effects, transactions:     version read >= past of the whole transaction    [key]
//!     for a past of the transaction are its session, all that it read, all that it overwrites
//!   circular information flow:        what a transaction depends on was decided before it was
//!   aborted and intermediate reads:   what is read was decided, and is what its transaction wrote at last
//! ```
//!
//! A version that a failover has lost counts as the one before it.

use std::collections::HashMap;
use std::rc::Rc;

use scaledb_occult::{Stamp, TxnId};

/// The number of a key.
pub type Key = usize;

/// For each key a version number.
pub type Past = Rc<[u32]>;

/// Who wrote a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writer {
    /// Nobody: the key has no version yet.
    Nobody,
    /// A single operation, by its number.
    Single(u64),
    /// A transaction.
    Transaction(TxnId),
}

/// A version of a key.
#[derive(Clone, Debug)]
pub struct Version {
    /// Its stamp.
    pub stamp: Stamp,
    /// Who wrote it.
    pub writer: Writer,
    /// What it depends on, itself included.
    pub past: Past,
    /// The failover that has lost it, by its number.
    pub lost: Option<u64>,
}

/// The versions.
#[derive(Debug)]
pub struct Versions {
    keys: Vec<Vec<Version>>,
    by_stamp: HashMap<(Key, Stamp), u32>,
}

impl Versions {
    /// Of so many keys, none of which has a version.
    pub fn new(keys: usize) -> Self {
        let past: Past = vec![0; keys].into();
        let none = Version { stamp: Stamp::ZERO, writer: Writer::Nobody, past, lost: None };
        Self { keys: vec![vec![none]; keys], by_stamp: HashMap::new() }
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// A past that depends on nothing.
    pub fn nothing(&self) -> Vec<u32> {
        vec![0; self.keys.len()]
    }

    /// The number that the next version of a key gets.
    pub fn next(&self, key: Key) -> u32 {
        self.keys[key].len() as u32
    }

    /// The newest version that is not lost.
    pub fn newest(&self, key: Key) -> u32 {
        self.surviving(key, self.next(key) - 1)
    }

    /// A version.
    pub fn get(&self, key: Key, number: u32) -> &Version {
        &self.keys[key][number as usize]
    }

    /// The version of a stamp.
    pub fn of(&self, key: Key, stamp: Stamp) -> Option<u32> {
        if stamp == Stamp::ZERO { Some(0) } else { self.by_stamp.get(&(key, stamp)).copied() }
    }

    /// A key gets a version.
    pub fn add(&mut self, key: Key, version: Version) -> u32 {
        let number = self.next(key);
        self.by_stamp.insert((key, version.stamp), number);
        self.keys[key].push(version);
        number
    }

    /// A failover has lost a version; whether it was not lost before.
    pub fn lose(&mut self, key: Key, number: u32, failover: u64) -> bool {
        let lost = &mut self.keys[key][number as usize].lost;
        let first = lost.is_none();
        lost.get_or_insert(failover);
        first
    }

    /// A version that was lost is there again.
    pub fn find(&mut self, key: Key, number: u32) {
        self.keys[key][number as usize].lost = None;
    }

    /// The newest version up to this one that is not lost.
    pub fn surviving(&self, key: Key, number: u32) -> u32 {
        let mut number = number;
        while self.get(key, number).lost.is_some() {
            number -= 1;
        }
        number
    }

    /// Whether somebody with this past may read a version of a key.
    pub fn may_read(&self, past: &[u32], key: Key, number: u32) -> bool {
        number >= self.surviving(key, past[key])
    }
}

/// Adds a past to another one.
pub fn join(into: &mut [u32], other: &[u32]) {
    for (a, b) in into.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}
