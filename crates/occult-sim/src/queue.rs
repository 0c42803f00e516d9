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

    /// What is to happen, in the order in which it was put in.
    pub fn waiting(&self) -> Vec<(u64, &T)> {
        let mut all: Vec<(u64, &T)> =
            self.heap.iter().map(|Reverse(entry)| (entry.number, &entry.what)).collect();
        all.sort_by_key(|(number, _)| *number);
        all
    }

    /// Takes out the thing of this number, whatever its time: it happens a while after the last one.
    pub fn take(&mut self, number: u64, pause: Micros) -> Option<T> {
        let (mut found, rest): (Vec<_>, Vec<_>) =
            self.heap.drain().partition(|Reverse(entry)| entry.number == number);
        self.heap.extend(rest);
        self.now = self.now.plus(pause);
        found.pop().map(|Reverse(entry)| entry.what)
    }

    /// The next thing.
    pub fn pop(&mut self) -> Option<T> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.at;
        Some(entry.what)
    }
}
