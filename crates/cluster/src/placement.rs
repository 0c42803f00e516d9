//! Where replicas should be, and the next step there: the leader takes one whenever all have installed the last.
//!
//! ```text
//!   a node is draining       its replicas are copied to others, then dropped; its primaries are handed over; what it
//!                            was copying itself is called off
//!   the cluster rebalances   every node keeps as many replicas as the others, and is primary of as many
//!
//!   step 1   learners for all that is to be copied, in one view       they copy, while writes go on
//!            (each is made a backup when it has copied all)
//!   step 2   what is now one too many is dropped, primaries are handed over, in one view
//! ```
//!
//! A view ends open transactions, so that many moves are made in one. No step leaves a partition with less than f + 1
//! replicas that had as many: f members may fail at any moment.

use super::store::ClusterView;
use scaledb_scar::{NodeId, NodeSet, Placement, View, ViewNumber};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// The members that may keep replicas.
fn eligible(now: &ClusterView) -> NodeSet {
    now.view.members.iter().filter(|&node| !now.draining.has(node) && !now.removed.has(node)).collect()
}

/// How many replicas nodes keep, and of how many partitions they are primary, those left out that all keep.
struct Loads {
    nodes: NodeSet,
    replicas: BTreeMap<NodeId, usize>,
    primaries: BTreeMap<NodeId, usize>,
}

impl Loads {
    /// With learners as if they were replicas.
    fn of(view: &View, nodes: NodeSet) -> Self {
        let mut loads = Self { nodes, replicas: BTreeMap::new(), primaries: BTreeMap::new() };
        for place in &view.partitions {
            if !place.everywhere {
                place.writers().iter().for_each(|node| *loads.replicas.entry(node).or_default() += 1);
            }
            *loads.primaries.entry(place.primary).or_default() += 1;
        }
        loads
    }

    fn replicas(&self, node: NodeId) -> usize {
        self.replicas.get(&node).copied().unwrap_or_default()
    }

    fn primaries(&self, node: NodeId) -> usize {
        self.primaries.get(&node).copied().unwrap_or_default()
    }

    /// The node that keeps least, of some.
    fn least(&self, among: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        self.nodes.iter().filter(|&node| among(node)).min_by_key(|&node| (self.replicas(node), node))
    }

    fn come(&mut self, node: NodeId) {
        *self.replicas.entry(node).or_default() += 1;
    }

    fn go(&mut self, node: NodeId) {
        let count = self.replicas.entry(node).or_default();
        *count = count.saturating_sub(1);
    }
}

/// Whether something is under way that must end first.
fn is_copying(view: &View) -> bool {
    view.partitions.iter().any(|place| place.learners.count() > 0)
}

/// The view of the next step; none if all is where it should be, or something is being copied.
pub fn next(now: &ClusterView) -> Option<View> {
    let mut going = now.view.members.iter().filter(|&node| now.draining.has(node) || now.removed.has(node));
    let moves = now.rebalancing || going.any(|node| !is_drained(now, node));
    let mut view = now.view.clone();
    view.number = ViewNumber(view.number.0.saturating_add(1));
    if call_off(now, &mut view) {
        return Some(view);
    }
    if !moves || is_copying(&now.view) {
        return None;
    }
    trim(now, &mut view);
    if view.partitions == now.view.partitions && view.leader == now.view.leader {
        grow(now, &mut view);
    }
    (view.partitions != now.view.partitions || view.leader != now.view.leader).then_some(view)
}

/// What a node that goes has not copied yet it need not, and may never have the memory for. One that drains stays a
/// member, and keeps what all keep. Whether there was such a copy.
fn call_off(now: &ClusterView, view: &mut View) -> bool {
    for place in &mut view.partitions {
        let goes = |node| now.removed.has(node) || now.draining.has(node) && !place.everywhere;
        place.learners = place.learners.iter().filter(|&node| !goes(node)).collect();
    }
    view.partitions != now.view.partitions
}

/// Whether a node that drains keeps nothing any more that others do not keep as well.
pub fn is_drained(now: &ClusterView, node: NodeId) -> bool {
    let kept = |place: &Placement| {
        place.primary == node || !place.everywhere && (place.replicas().has(node) || place.learners.has(node))
    };
    now.view.leader != node && !now.view.partitions.iter().any(kept)
}

/// Why a node cannot be drained: the others are too few for f + 1 replicas.
pub fn cannot_drain(now: &ClusterView, node: NodeId) -> Option<usize> {
    let others = eligible(now).without(node).count();
    (others <= now.view.failures).then_some(others)
}

/// Drops replicas that are too many, and hands over primaries and the lead.
fn trim(now: &ClusterView, view: &mut View) {
    let eligible = eligible(now);
    let mut loads = Loads::of(view, eligible);
    let wanted = view.failures + 1;
    for place in view.partitions.iter_mut().filter(|place| !place.everywhere) {
        while place.replicas().count() > wanted {
            // whoever goes anyway, then who has most
            let last = place
                .replicas()
                .iter()
                .max_by_key(|&node| (!eligible.has(node), loads.replicas(node), node != place.primary, node));
            let Some(last) = last else { break };
            let left = place.replicas().without(last);
            if place.primary == last {
                let Some(next) = left.iter().min_by_key(|&node| (!eligible.has(node), loads.primaries(node)))
                else {
                    break;
                };
                place.primary = next;
                *loads.primaries.entry(next).or_default() += 1;
            }
            place.backups = left.without(place.primary);
            loads.go(last);
        }
    }
    hand_over(view, eligible, now.rebalancing);
    if !eligible.has(view.leader)
        && let Some(leader) = eligible.iter().next()
    {
        view.leader = leader;
    }
}

/// Hands over primaries: all of nodes that go, and as many of others as makes them even.
fn hand_over(view: &mut View, eligible: NodeSet, evens: bool) {
    let give = |place: &mut Placement, to: NodeId| {
        place.backups = place.replicas().without(to);
        place.primary = to;
    };
    for i in 0..view.partitions.len() {
        let loads = Loads::of(view, eligible);
        let place = &mut view.partitions[i];
        if !eligible.has(place.primary) {
            let next = place.backups.iter().filter(|&node| eligible.has(node));
            if let Some(next) = next.min_by_key(|&node| loads.primaries(node)) {
                give(place, next);
            }
        }
    }
    if !evens {
        return;
    }
    // each way brings the counts of its ends nearer to each other, so that this ends
    loop {
        let ways = eligible.iter().filter_map(|from| way(view, eligible, from));
        let Some(way) = ways.min_by_key(Vec::len) else { return };
        for (i, to) in way {
            give(&mut view.partitions[i], to);
        }
    }
}

/// The fewest partitions to hand over, each to the node of the next one, so that a node is primary of one less, and one
/// that is primary of at least two less is of one more.
fn way(view: &View, eligible: NodeSet, from: NodeId) -> Option<Vec<(usize, NodeId)>> {
    let loads = Loads::of(view, eligible);
    let mut ways = BTreeMap::from([(from, Vec::new())]);
    let mut ends = VecDeque::from([from]);
    while let Some(end) = ends.pop_front() {
        let so_far = ways.get(&end).cloned().unwrap_or_default();
        if loads.primaries(end) + 1 < loads.primaries(from) {
            return Some(so_far);
        }
        for (i, place) in view.partitions.iter().enumerate().filter(|(_, place)| place.primary == end) {
            for to in place.backups.iter().filter(|&node| eligible.has(node)) {
                if let Entry::Vacant(way) = ways.entry(to) {
                    way.insert(so_far.iter().copied().chain([(i, to)]).collect());
                    ends.push_back(to);
                }
            }
        }
    }
    None
}

/// Adds learners: for partitions that have too few replicas that stay, and for those that move.
fn grow(now: &ClusterView, view: &mut View) {
    let eligible = eligible(now);
    let wanted = (view.failures + 1).min(eligible.count());
    let mut loads = Loads::of(view, eligible);
    for place in &mut view.partitions {
        if place.everywhere {
            let missing = eligible.iter().filter(|&node| !place.replicas().has(node));
            place.learners = missing.fold(place.learners, NodeSet::with);
            continue;
        }
        while place.writers().iter().filter(|&node| eligible.has(node)).count() < wanted {
            let Some(next) = loads.least(|node| !place.writers().has(node)) else { break };
            place.learners = place.learners.with(next);
            loads.come(next);
        }
    }
    if !now.rebalancing {
        return;
    }
    // what goes away when this has been copied is the replica of who has most: see `trim`
    loop {
        let moved = view.partitions.iter().enumerate().filter(|(_, place)| {
            !place.everywhere && place.learners.count() == 0 && place.replicas().count() <= wanted
        });
        let moved = moved.filter_map(|(i, place)| {
            let from = place.replicas().iter().max_by_key(|&node| loads.replicas(node))?;
            let to = loads.least(|node| !place.replicas().has(node))?;
            (loads.replicas(to) + 1 < loads.replicas(from)).then_some((loads.replicas(from), i, from, to))
        });
        let Some((_, i, from, to)) = moved.max_by_key(|&(load, i, ..)| (load, std::cmp::Reverse(i))) else {
            return;
        };
        view.partitions[i].learners = view.partitions[i].learners.with(to);
        loads.come(to);
        loads.go(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::{first_view_of, joining, promoted, settled};
    use crate::store::Life;
    use scaledb_scar::link::Incarnation;

    fn life(node: NodeId) -> Life {
        Life { incarnation: Incarnation(1), name: format!("n{}", node.0), address: String::new() }
    }

    fn cluster(nodes: u8, partitions: u16, failures: usize) -> ClusterView {
        let nodes: NodeSet = (0..nodes).map(NodeId).collect();
        let view = first_view_of(nodes, partitions, failures).unwrap();
        ClusterView::first(view, nodes.iter().map(|node| (node, life(node))).collect())
    }

    /// Takes steps until there is none, as the leader and the learners do. No partition loses replicas that it needs.
    fn carry_out(mut now: ClusterView) -> (ClusterView, usize) {
        let wanted = now.view.failures + 1;
        for step in 0..50 {
            let before = now.view.number;
            let needed: Vec<usize> =
                now.view.partitions.iter().map(|place| place.replicas().count().min(wanted)).collect();
            now = settled(&now);
            if let Some(view) = next(&now) {
                now = ClusterView { view, ..now };
            } else if let Some(learner) = now.view.members.iter().find(|&node| now.view.is_learner(node)) {
                now = promoted(&now, learner);
            } else {
                return (now, step);
            }
            assert!(now.view.number > before);
            let kept = now.view.partitions.iter().map(|place| place.replicas().count());
            assert!(kept.zip(needed).all(|(kept, needed)| kept >= needed), "{now:?}");
        }
        panic!("there is no end: {now:?}");
    }

    fn counts(now: &ClusterView, of: impl Fn(&Placement, NodeId) -> bool) -> Vec<usize> {
        let count = |node| now.view.partitions.iter().skip(1).filter(|place| of(place, node)).count();
        now.view.members.iter().map(count).collect()
    }

    fn even(counts: &[usize]) -> bool {
        counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1
    }

    #[test]
    fn a_new_node_gets_its_part_and_the_others_stay_even() {
        for (nodes, partitions, failures) in [(3, 64, 1), (3, 64, 2), (4, 37, 2), (5, 12, 1), (1, 9, 0)] {
            let mut now =
                joining(&cluster(nodes, partitions, failures), NodeId(nodes), &life(NodeId(nodes))).unwrap();
            now.rebalancing = true;
            let (now, steps) = carry_out(now);
            let replicas = counts(&now, |place, node| place.replicas().has(node));
            let primaries = counts(&now, |place, node| place.primary == node);
            assert!(even(&replicas), "{nodes} {partitions} {failures}: {replicas:?}");
            assert!(even(&primaries), "{nodes} {partitions} {failures}: {primaries:?}");
            assert!(now.view.partitions.iter().skip(1).all(|place| place.replicas().count() == failures + 1));
            assert_eq!(now.view.partitions[0].replicas(), now.view.members);
            assert!(steps <= 8, "{steps} views");
            // what is even stays as it is
            assert_eq!(next(&now), None);
        }
    }

    #[test]
    fn a_node_that_drains_keeps_nothing_in_the_end_and_does_not_lead() {
        for failures in [1, 2] {
            let mut now = cluster(4, 64, failures);
            now.draining = now.draining.with(NodeId(0));
            assert!(!is_drained(&now, NodeId(0)) && cannot_drain(&now, NodeId(0)).is_none());
            let (now, steps) = carry_out(now);
            assert!(is_drained(&now, NodeId(0)), "{now:?}");
            assert!(now.view.members.has(NodeId(0)) && now.view.leader == NodeId(1));
            assert!(steps <= 8, "{steps} views");
            // back again
            let now = ClusterView { draining: NodeSet::default(), rebalancing: true, ..now };
            let (now, _) = carry_out(now);
            assert!(even(&counts(&now, |place, node| place.replicas().has(node))));
            assert!(even(&counts(&now, |place, node| place.primary == node)));
        }
        // two of three are too few for three replicas
        assert_eq!(cannot_drain(&cluster(3, 9, 2), NodeId(1)), Some(2));
        assert_eq!(cannot_drain(&cluster(3, 9, 1), NodeId(1)), None);
    }

    #[test]
    fn while_something_is_copied_nothing_else_is_begun() {
        let mut now = cluster(4, 8, 1);
        now.draining = now.draining.with(NodeId(2));
        // at first it hands over what it is primary of
        while !is_copying(&now.view) {
            let view = next(&now).unwrap();
            now = settled(&ClusterView { view, ..now });
        }
        assert_eq!(next(&settled(&now)), None);
        // a learner that fails is another's task
        let view = now.view.without(NodeSet::default().with(NodeId(3))).unwrap();
        let (now, _) = carry_out(ClusterView { view, ..now });
        assert!(is_drained(&now, NodeId(2)));
    }

    /// It may never have the memory for it.
    #[test]
    fn what_a_node_copies_that_is_to_go_is_called_off() {
        let now = joining(&cluster(4, 8, 1), NodeId(4), &life(NodeId(4))).unwrap();
        let mut now = settled(&now);
        let node = NodeId(4);
        for place in &mut now.view.partitions[1..3] {
            place.learners = place.learners.with(node);
        }
        let learns = |view: &View| view.partitions.iter().filter(|place| place.learners.has(node)).count();
        assert_eq!((learns(&now.view), next(&now)), (3, None), "it copies");
        now.draining = now.draining.with(node);
        let view = next(&now).unwrap();
        assert_eq!(learns(&view), 1, "what all keep it keeps, too");
        now.draining = NodeSet::default();
        now.removed = now.removed.with(node);
        let view = next(&now).unwrap();
        assert_eq!(learns(&view), 0);
        let now = settled(&ClusterView { view, ..now });
        let left = crate::membership::improved(&now).unwrap();
        assert!(!left.view.members.has(node));
    }
}
