//! Copy-on-write pieces of a model state, each with its hash cached.
//!
//! A transition changes one or two pieces of the state, so successors share all the others with their predecessor and
//! only the changed pieces are hashed again.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A shared value that is cloned on its first change; zero in the cache means "not hashed yet".
pub struct Cached<T> {
    value: Rc<T>,
    hash: Cell<u64>,
}

impl<T> Cached<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Cached { value: Rc::new(value), hash: Cell::new(0) }
    }
}

impl<T> Clone for Cached<T> {
    fn clone(&self) -> Self {
        Cached { value: Rc::clone(&self.value), hash: self.hash.clone() }
    }
}

impl<T> Deref for Cached<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Clone> DerefMut for Cached<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.hash.set(0);
        Rc::make_mut(&mut self.value)
    }
}

impl<T: Hash> Hash for Cached<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.hash.get() == 0 {
            self.hash.set(hash_of(&*self.value) | 1);
        }
        state.write_u64(self.hash.get());
    }
}

/// The 64-bit hash by which states are told apart (two multiplicative lanes; a few million states make a collision
/// improbable, and a collision can only hide a state, never invent a counterexample).
pub fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = StateHasher { a: 0x9E37_79B9_7F4A_7C15, b: 0xD1B5_4A32_D192_ED03 };
    value.hash(&mut hasher);
    hasher.finish()
}

struct StateHasher {
    a: u64,
    b: u64,
}

fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    (product as u64) ^ ((product >> 64) as u64)
}

impl StateHasher {
    fn add(&mut self, word: u64) {
        self.a = fold(self.a ^ word, 0xE703_7ED1_A0B4_28DB);
        self.b = fold(self.b.rotate_left(23) ^ word, 0x8EBC_6AF0_9C88_C6E3) ^ self.a.rotate_left(17);
    }
}

impl Hasher for StateHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 56));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value) | 0x100);
    }
    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.add(value as u64 ^ 0xABCD_0000_0000_0000);
    }
    fn finish(&self) -> u64 {
        fold(self.a ^ 0x5895_60E9_31FB_9A37, self.b ^ 0xA076_1D64_78BD_642F) ^ self.b
    }
}
