//! What happens next. Things of the same time happen in the order in which they were put in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Virtual time in microseconds.
pub(super) type Micros = u64;

/// Things to come. The heap holds numbers only: a thing is as large as a message.
pub(super) struct Queue<T> {
    heap: BinaryHeap<Reverse<(Micros, u64, u32)>>,
    things: Vec<Option<T>>,
    free: Vec<u32>,
    count: u64,
    now: Micros,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), things: Vec::new(), free: Vec::new(), count: 0, now: 0 }
    }

    /// The time.
    pub(super) fn now(&self) -> Micros {
        self.now
    }

    /// Things that have been put in.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// A thing will happen after a while.
    pub(super) fn after(&mut self, delay: Micros, thing: T) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.things.push(None);
            (self.things.len() - 1) as u32
        });
        self.things[slot as usize] = Some(thing);
        self.count += 1;
        self.heap.push(Reverse((self.now + delay, self.count, slot)));
    }

    /// The next one; time goes on to it.
    pub(super) fn pop(&mut self) -> Option<T> {
        let Reverse((time, _, slot)) = self.heap.pop()?;
        self.now = time;
        self.free.push(slot);
        self.things[slot as usize].take()
    }
}
