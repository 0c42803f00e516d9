//! Those who wait until a commit is durable.
//!
//! A heap by timestamp: when the horizon moves, exactly those are answered that it has passed.

use crate::error::{LogError, Result};
use scaledb_base::Timestamp;
use scaledb_sync::Arc;
use scaledb_sync::lock::{Condvar, Mutex};
use std::collections::BinaryHeap;
use std::time::Duration;

/// What is told to one who waits, once.
pub type Answer = Box<dyn FnOnce(Result<()>) + Send>;

struct Waiter {
    ts: Timestamp,
    answer: Answer,
}

impl PartialEq for Waiter {
    fn eq(&self, other: &Self) -> bool {
        self.ts == other.ts
    }
}

impl Eq for Waiter {}

impl PartialOrd for Waiter {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiter {
    /// The heap gives the greatest first: the earliest timestamp.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.ts.cmp(&self.ts)
    }
}

/// What the flusher and those who want something of it share.
#[derive(Default)]
pub(crate) struct Waiting {
    heap: BinaryHeap<Waiter>,
    /// A flush is wanted now, though nobody waits for durability.
    pub(crate) kick: bool,
    /// The flusher waits for work.
    pub(crate) asleep: bool,
    /// How many wait for room in their buffers.
    pub(crate) for_room: usize,
    /// The flusher is to end.
    pub(crate) closing: bool,
    /// Why nothing is written any more.
    pub(crate) stopped: Option<LogError>,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("waiters", &self.heap.len()).field("stopped", &self.stopped).finish()
    }
}

impl Waiting {
    pub(crate) fn push(&mut self, ts: Timestamp, answer: Answer) {
        self.heap.push(Waiter { ts, answer });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Takes those whom a horizon satisfies.
    pub(crate) fn satisfied(&mut self, durable: Timestamp) -> Vec<Answer> {
        let mut answers = Vec::new();
        while self.heap.peek().is_some_and(|first| first.ts < durable) {
            answers.extend(self.heap.pop().map(|waiter| waiter.answer));
        }
        answers
    }

    /// Takes all.
    pub(crate) fn all(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.heap).into_iter().map(|waiter| waiter.answer).collect()
    }
}

/// A place where one thread waits for its answer.
#[derive(Debug, Default)]
pub(crate) struct Parking {
    answer: Mutex<Option<Result<()>>>,
    answered: Condvar,
}

impl Parking {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { answer: Mutex::new(None), answered: Condvar::new() })
    }

    pub(crate) fn answer(self: &Arc<Self>) -> Answer {
        let parking = self.clone();
        Box::new(move |result| {
            *parking.answer.lock() = Some(result);
            parking.answered.notify_all();
        })
    }

    pub(crate) fn wait(&self) -> Result<()> {
        let mut answer = self.answer.lock();
        loop {
            if let Some(result) = answer.take() {
                return result;
            }
            answer = self.answered.wait_timeout(answer, Duration::from_secs(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_whom_the_horizon_has_passed_are_answered_whoever_came_first() {
        for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
            let mut waiting = Waiting::default();
            order.iter().for_each(|&ticks| waiting.push(Timestamp::start_of(ticks), Box::new(|_| ())));
            for horizon in 2..5 {
                assert_eq!(waiting.satisfied(Timestamp::start_of(horizon)).len(), 1, "{order:?} {horizon}");
            }
            assert!(waiting.is_empty());
        }
    }
}
