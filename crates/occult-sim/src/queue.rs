//! What is to happen, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use scaledb_occult::Micros;

struct Entry<T> {
    at: Micros,
    number: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Things to happen.
pub struct Queue<T> {
    now: Micros,
    number: u64,
    heap: BinaryHeap<Reverse<Entry<T>>>,
}

impl<T> Queue<T> {
    /// Nothing, from a time on.
    pub fn new(start: Micros) -> Self {
        Self { now: start, number: 0, heap: BinaryHeap::new() }
    }

    /// The time.
    pub fn now(&self) -> Micros {
        self.now
    }

    /// How many things have been put in.
    pub fn count(&self) -> u64 {
        self.number
    }

    /// Something is to happen after a while.
    pub fn after(&mut self, delay: u64, what: T) {
        self.number += 1;
        let at = self.now.plus(Micros(delay));
        self.heap.push(Reverse(Entry { at, number: self.number, what }));
    }

    /// The next thing.
    pub fn pop(&mut self) -> Option<T> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.at;
        Some(entry.what)
    }
}
