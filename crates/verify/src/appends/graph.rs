//! What depends on what, and cycles of it.

use super::Anomaly;
use std::collections::{HashSet, VecDeque};

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ww,
    Wr,
    Rw,
    Rt,
}

/// Transactions, and nodes that stand for many edges.
#[derive(Debug)]
pub(super) struct Graph {
    transactions: usize,
    edges: Vec<Vec<(usize, Kind)>>,
    observed: HashSet<(u32, u64)>,
}

impl Graph {
    pub(super) fn new(transactions: usize) -> Self {
        Self { transactions, edges: vec![Vec::new(); transactions], observed: HashSet::new() }
    }

    /// A node that is no transaction.
    pub(super) fn node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    pub(super) fn edge(&mut self, from: usize, to: usize, kind: Kind) {
        if from != to {
            self.edges[from].push((to, kind));
        }
    }

    pub(super) fn observe(&mut self, list: u32, value: u64) {
        self.observed.insert((list, value));
    }

    pub(super) fn is_observed(&self, list: u32, value: u64) -> bool {
        self.observed.contains(&(list, value))
    }

    /// Looks for cycles, the worst kind first.
    ///
    /// # Errors
    /// The transactions of one.
    pub(super) fn find(&self) -> Result<(), Anomaly> {
        use Kind::{Rt, Rw, Wr, Ww};
        if self.component(&[Ww, Wr, Rw, Rt]).is_none() {
            return Ok(());
        }
        if let Some(component) = self.component(&[Ww]) {
            return Err(Anomaly::G0(self.cycle(&component, &[Ww])));
        }
        if let Some(component) = self.component(&[Ww, Wr]) {
            return Err(Anomaly::G1c(self.cycle(&component, &[Ww, Wr])));
        }
        if let Some(component) = self.component(&[Ww, Wr, Rw]) {
            let inside: HashSet<usize> = component.iter().copied().collect();
            for &from in &component {
                for &(to, kind) in &self.edges[from] {
                    if kind == Rw
                        && inside.contains(&to)
                        && let Some(path) = self.path(to, from, &inside, &[Ww, Wr])
                    {
                        return Err(Anomaly::GSingle(self.named(path)));
                    }
                }
            }
            return Err(Anomaly::G2(self.cycle(&component, &[Ww, Wr, Rw])));
        }
        let component = self.component(&[Ww, Wr, Rw, Rt]).unwrap_or_default();
        Err(Anomaly::RealTime(self.cycle(&component, &[Ww, Wr, Rw, Rt])))
    }

    /// A shortest cycle through the first node of a component.
    fn cycle(&self, component: &[usize], kinds: &[Kind]) -> Vec<usize> {
        let inside: HashSet<usize> = component.iter().copied().collect();
        let Some(&first) = component.first() else { return Vec::new() };
        let next = self.edges[first].iter().filter(|(to, kind)| kinds.contains(kind) && inside.contains(to));
        let cycles = next.filter_map(|(to, _)| self.path(*to, first, &inside, kinds));
        self.named(cycles.min_by_key(Vec::len).unwrap_or_default())
    }

    /// The transactions among nodes.
    fn named(&self, mut nodes: Vec<usize>) -> Vec<usize> {
        nodes.retain(|node| *node < self.transactions);
        nodes
    }

    /// A shortest path, within a component.
    fn path(&self, from: usize, to: usize, inside: &HashSet<usize>, kinds: &[Kind]) -> Option<Vec<usize>> {
        let mut before = std::collections::HashMap::from([(from, from)]);
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            if node == to {
                let mut path = vec![to];
                let mut at = to;
                while at != from {
                    at = before[&at];
                    path.push(at);
                }
                path.reverse();
                return Some(path);
            }
            for &(next, kind) in &self.edges[node] {
                if kinds.contains(&kind) && inside.contains(&next) && !before.contains_key(&next) {
                    before.insert(next, node);
                    waiting.push_back(next);
                }
            }
        }
        None
    }

    /// A strongly connected component of more than one node, by Tarjan's algorithm with a stack of its own: histories
    /// are long, and so are their paths.
    fn component(&self, kinds: &[Kind]) -> Option<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let count = self.edges.len();
        let mut index = vec![NEW; count];
        let mut low = vec![0; count];
        let mut on_stack = vec![false; count];
        let mut stack = Vec::new();
        let mut next_index = 0;
        for root in 0..count {
            if index[root] != NEW {
                continue;
            }
            // a node, and how many of its edges were followed
            let mut calls = vec![(root, 0)];
            while let Some((node, done)) = calls.pop() {
                if index[node] == NEW {
                    index[node] = next_index;
                    low[node] = next_index;
                    next_index += 1;
                    stack.push(node);
                    on_stack[node] = true;
                }
                let mut child = None;
                for (number, &(to, kind)) in self.edges[node].iter().enumerate().skip(done) {
                    if !kinds.contains(&kind) {
                        continue;
                    }
                    if index[to] == NEW {
                        child = Some((number, to));
                        break;
                    }
                    if on_stack[to] {
                        low[node] = low[node].min(low[to]);
                    }
                }
                if let Some((number, to)) = child {
                    calls.push((node, number + 1));
                    calls.push((to, 0));
                    continue;
                }
                if low[node] == index[node] {
                    let at = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                    let component = stack.split_off(at);
                    for &member in &component {
                        on_stack[member] = false;
                    }
                    if component.len() > 1 {
                        return Some(component);
                    }
                }
                if let Some(&(parent, _)) = calls.last() {
                    low[parent] = low[parent].min(low[node]);
                }
            }
        }
        None
    }
}
