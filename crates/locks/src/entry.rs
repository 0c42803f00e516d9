//! What there is about one lock: who holds it, and who waits for it in what order. The table of a process and that of a
//! cluster's keeper are made of these; they differ in how a waiter is told.

use crate::Mode;
use std::collections::VecDeque;

/// A lock of an owner.
#[derive(Clone, Debug)]
struct Hold<O> {
    owner: O,
    mode: Mode,
    /// How often it was taken.
    count: u32,
}

/// A waiter, and what it is woken by.
#[derive(Clone, Debug)]
pub(crate) struct Queued<O, W> {
    pub(crate) owner: O,
    pub(crate) mode: Mode,
    pub(crate) wake: W,
}

/// The holders and waiters of a lock.
#[derive(Clone, Debug)]
pub(crate) struct Entry<O, W> {
    holds: Vec<Hold<O>>,
    queue: VecDeque<Queued<O, W>>,
}

impl<O, W> Default for Entry<O, W> {
    fn default() -> Self {
        Self { holds: Vec::new(), queue: VecDeque::new() }
    }
}

impl<O: Copy + PartialEq, W> Entry<O, W> {
    pub(crate) fn is_empty(&self) -> bool {
        self.holds.is_empty() && self.queue.is_empty()
    }

    fn hold_of(&mut self, owner: O, mode: Mode) -> Option<&mut Hold<O>> {
        self.holds.iter_mut().find(|hold| hold.owner == owner && hold.mode == mode)
    }

    fn is_of(&self, owner: O) -> bool {
        self.holds.iter().any(|hold| hold.owner == owner)
    }

    /// Whether nothing that others have is in the way.
    fn is_free(&self, owner: O, mode: Mode) -> bool {
        self.holds.iter().all(|hold| hold.owner == owner || !hold.mode.excludes(mode))
    }

    /// Whether it can be had at once. An owner that holds the lock in another mode does not queue behind waiters.
    pub(crate) fn admits(&self, owner: O, mode: Mode) -> bool {
        self.is_free(owner, mode)
            && (self.is_of(owner) || self.queue.iter().all(|waiter| !waiter.mode.excludes(mode)))
    }

    pub(crate) fn grant(&mut self, owner: O, mode: Mode) {
        match self.hold_of(owner, mode) {
            Some(hold) => hold.count = hold.count.saturating_add(1),
            None => self.holds.push(Hold { owner, mode, count: 1 }),
        }
    }

    /// Queues a waiter: behind the others, or before them if its owner has a part of the lock already, since others may
    /// wait for what it has; behind them, it would wait for ever.
    pub(crate) fn wait(&mut self, owner: O, mode: Mode, wake: W) {
        let waiter = Queued { owner, mode, wake };
        if self.is_of(owner) {
            self.queue.push_front(waiter);
        } else {
            self.queue.push_back(waiter);
        }
    }

    /// Takes a waiter out of the queue. False if it is not there: it was granted the lock.
    pub(crate) fn leave(&mut self, is_it: impl Fn(&Queued<O, W>) -> bool) -> bool {
        let at = self.queue.iter().position(is_it);
        at.and_then(|at| self.queue.remove(at)).is_some()
    }

    /// Gives one taking back; none if the owner does not have the lock. Whether that was its last one in this mode, so
    /// that others may be granted theirs ([`Entry::advance`]).
    pub(crate) fn release(&mut self, owner: O, mode: Mode) -> Option<bool> {
        let hold = self.hold_of(owner, mode)?;
        hold.count -= 1;
        let last = hold.count == 0;
        if last {
            self.holds.retain(|hold| hold.count > 0);
        }
        Some(last)
    }

    /// Grants what can be granted, in the order of the queue; the caller wakes those waiters.
    pub(crate) fn advance(&mut self) -> Vec<Queued<O, W>> {
        let mut woken = Vec::new();
        let mut at = 0;
        while let Some(waiter) = self.queue.get(at) {
            let (owner, mode) = (waiter.owner, waiter.mode);
            let behind = self.queue.range(..at).any(|other| other.mode.excludes(mode));
            if behind && !self.is_of(owner) || !self.is_free(owner, mode) {
                at += 1;
                continue;
            }
            woken.extend(self.queue.remove(at));
            self.grant(owner, mode);
        }
        woken
    }

    /// Those whom a waiter waits for, and in which mode it does.
    pub(crate) fn blockers(&self, owner: O) -> Vec<(Mode, O)> {
        let Some(at) = self.queue.iter().position(|waiter| waiter.owner == owner) else { return Vec::new() };
        let mode = self.queue[at].mode;
        let holders = self.holds.iter().filter(|hold| hold.owner != owner && hold.mode.excludes(mode));
        let mut found: Vec<(Mode, O)> = holders.map(|hold| (mode, hold.owner)).collect();
        if !self.is_of(owner) {
            let ahead = self.queue.range(..at).filter(|waiter| waiter.mode.excludes(mode));
            found.extend(ahead.map(|waiter| (mode, waiter.owner)));
        }
        found
    }

    /// Holders and waiters, with their modes, and whether it is granted to them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (O, Mode, bool)> {
        let holders = self.holds.iter().map(|hold| (hold.owner, hold.mode, true));
        holders.chain(self.queue.iter().map(|waiter| (waiter.owner, waiter.mode, false)))
    }
}

/// An owner waits for a lock that another one has, or waits for in front of it: the owner, its mode, the other.
pub(crate) type Edge<O, T> = (O, T, Mode, O);

/// A cycle of waits through `owner`, if there is one; `edges` gives whom an owner waits for.
pub(crate) fn cycle<O: Copy + Eq + std::hash::Hash, T>(
    owner: O,
    edges: impl Fn(O) -> Vec<Edge<O, T>>,
) -> Option<Vec<Edge<O, T>>> {
    let mut met = std::collections::HashSet::new();
    let mut path: Vec<Edge<O, T>> = Vec::new();
    // for each owner on the path, those it waits for and that are not looked at yet
    let mut open: Vec<Vec<Edge<O, T>>> = vec![edges(owner)];
    while let Some(next) = open.last_mut() {
        let Some(edge) = next.pop() else {
            open.pop();
            path.pop();
            continue;
        };
        let by = edge.3;
        path.push(edge);
        if by == owner {
            return Some(path);
        }
        if met.insert(by) {
            open.push(edges(by));
        } else {
            path.pop();
        }
    }
    None
}
