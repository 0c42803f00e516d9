//! Who may make the next view, and what it is.

use super::durable::OnDisk;
use super::placement;
use super::store::{ClusterView, Life};
use scaledb_scar::{NodeId, NodeSet, PartitionId, View};
use std::fmt;

/// Why there is no next view, though a member is silent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// More members would be missing than may fail together: an epoch that was answered could be lost.
    TooMany,
    /// Those that this member hears are the smaller part, and the others are alive: they go on without it.
    Minority,
    /// A partition would be without a replica.
    NoReplica,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "more members are missing than may fail together",
            Self::Minority => "this member hears only the smaller part of the others",
            Self::NoReplica => "a partition would be without a replica",
        })
    }
}

/// A first view: partition 0 is kept by all nodes, each other one by f + 1 of them. At least one node and partition.
pub fn first_view(nodes: u8, partitions: u16, failures: usize) -> View {
    View::first(nodes.max(1), partitions.max(1), failures).everywhere(PartitionId(0))
}

/// The same for nodes of any numbers. None if there is none.
pub fn first_view_of(nodes: NodeSet, partitions: u16, failures: usize) -> Option<View> {
    let numbers: Vec<NodeId> = nodes.iter().collect();
    let mut view = first_view(u8::try_from(numbers.len()).ok()?, partitions, failures);
    let number = |node: NodeId| numbers.get(usize::from(node.0)).copied();
    view.leader = number(view.leader)?;
    view.members = nodes;
    for place in &mut view.partitions {
        place.primary = number(place.primary)?;
        place.backups = place.backups.iter().map(number).collect::<Option<_>>()?;
    }
    Some(view)
}

/// The view without members that are silent. `leased` are those that the metadata store hears.
///
/// A member that is cut off must not put out those that go on without it. So it may put out members that have lost
/// their lease as well, or else it must be of the larger part; of halves, that of the leader is the larger.
///
/// # Errors
/// Why there is none.
pub fn without(now: &ClusterView, silent: NodeSet, leased: NodeSet) -> Result<ClusterView, Halt> {
    let members = now.view.members;
    let gone: NodeSet = silent.iter().filter(|&node| members.has(node)).collect();
    let left = gone.iter().fold(members, NodeSet::without);
    let missing = now.settled.iter().filter(|&node| !left.has(node)).count();
    if missing > now.view.failures && !now.leaving.is_empty() {
        return without(&readmitted(now), silent, leased);
    }
    if missing > now.view.failures {
        return Err(Halt::TooMany);
    }
    let all_dead = gone.iter().all(|node| !leased.has(node));
    let half = 2 * left.count() == members.count() && left.has(now.view.leader);
    if !all_dead && 2 * left.count() <= members.count() && !half {
        return Err(Halt::Minority);
    }
    let view = now.view.without(gone).ok_or(Halt::NoReplica)?;
    let mut next = ClusterView { view, ..now.clone() };
    for node in gone.iter() {
        if let Some(life) = next.lives.remove(&node) {
            next.gone.insert(node, life.incarnation);
        }
        // it does not come back, and others take its part
        next.rebalancing |= next.removed.has(node);
    }
    Ok(next)
}

/// The view with those that were leaving as members again: they have waited for that, as they were. They have missed
/// nothing, as whoever has opened the view without them notes that it is settled before it puts anybody out.
fn readmitted(now: &ClusterView) -> ClusterView {
    let mut next = now.clone();
    next.view = next.view.readmitting(next.leaving.keys().copied().collect());
    next.lives.append(&mut next.leaving);
    next
}

/// The same view, with the note that all its members have installed it. Who was leaving has left.
pub fn settled(now: &ClusterView) -> ClusterView {
    let mut next = ClusterView { installed: now.view.number, settled: now.view.members, ..now.clone() };
    for (node, life) in std::mem::take(&mut next.leaving) {
        next.gone.insert(node, life.incarnation);
    }
    next
}

/// What the leader does next, if all members have installed the view: replicas and primaries move, and a node that is
/// to be removed, and has nothing any more, is no member. None if all is as it should be.
pub fn improved(now: &ClusterView) -> Option<ClusterView> {
    if !now.is_settled() {
        return None;
    }
    if let Some(view) = placement::next(now) {
        return Some(ClusterView { view, ..now.clone() });
    }
    if now.view.partitions.iter().any(|place| place.learners.count() > 0) {
        return None;
    }
    let mut removed = now.removed.iter().filter(|&node| now.view.members.has(node));
    if let Some(node) = removed.find(|&node| placement::is_drained(now, node)) {
        let view = now.view.without(NodeSet::default().with(node))?;
        let mut next = ClusterView { view, ..now.clone() };
        let life = next.lives.remove(&node)?;
        next.leaving.insert(node, life);
        return Some(next);
    }
    now.rebalancing.then(|| ClusterView { rebalancing: false, ..now.clone() })
}

/// The view with one more life, which learns what it is to keep. None unless all members have installed the view, no
/// life of the node is a member, and this one has not been put out.
pub fn joining(now: &ClusterView, node: NodeId, life: &Life) -> Option<ClusterView> {
    let barred = now.is_gone(node, life.incarnation) || now.removed.has(node);
    if !now.is_settled() || now.view.members.has(node) || barred {
        return None;
    }
    let mut next = ClusterView { view: now.view.joining(node), ..now.clone() };
    next.lives.insert(node, life.clone());
    Some(next)
}

/// The view with another life of a member, which has come back with what its former life had on disk. None if the view
/// does not name such a one.
pub fn resumed(now: &ClusterView, node: NodeId, life: &Life, on_disk: &OnDisk) -> Option<ClusterView> {
    if !on_disk.stands_for(now) || !on_disk.is_former(now) || now.is_gone(node, life.incarnation) {
        return None;
    }
    let mut next = ClusterView { view: now.view.resumed(), ..now.clone() };
    next.lives.insert(node, life.clone());
    Some(next)
}

/// The view in which a member keeps what it has learned.
pub fn promoted(now: &ClusterView, node: NodeId) -> ClusterView {
    ClusterView { view: now.view.promoted(node), ..now.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_scar::link::Incarnation;

    fn set(nodes: &[u8]) -> NodeSet {
        nodes.iter().copied().map(NodeId).collect()
    }

    fn life(number: u64) -> Life {
        Life { incarnation: Incarnation(number), name: "a".to_owned(), address: String::new() }
    }

    fn cluster(nodes: u8, failures: usize) -> ClusterView {
        let view = View::first(nodes, 8, failures);
        let lives = view.members.iter().map(|node| (node, life(1))).collect();
        ClusterView::first(view, lives)
    }

    #[test]
    fn a_life_that_was_put_out_does_not_come_back_and_a_later_one_does() {
        let now = cluster(3, 1);
        let (all, node) = (set(&[0, 1, 2]), NodeId(1));
        assert_eq!(joining(&now, node, &life(2)), None, "its former life is a member");
        let now = without(&now, set(&[1]), all).unwrap();
        assert_eq!(joining(&now, node, &life(2)), None, "the view is not installed");
        let now = settled(&now);
        assert_eq!(joining(&now, node, &life(1)), None);
        let next = joining(&now, node, &life(2)).unwrap();
        assert!(next.names(node, Incarnation(2)) && next.view.is_learner(node) && !next.is_settled());
        assert!(next.is_sane() && next.view.number > now.view.number);
        // of those that had the last epochs, none may be missing but one
        assert_eq!(without(&next, set(&[0, 2]), all), Err(Halt::TooMany));
        let next = promoted(&settled(&next), node);
        assert!(!next.is_settled() && !next.view.is_learner(node));
        assert!(next.view.partitions.iter().all(|place| place.replicas().count() == 2));
    }

    #[test]
    fn a_first_view_is_of_any_nodes() {
        let view = first_view_of(set(&[3, 10, 63]), 7, 1).unwrap();
        assert_eq!((view.members, view.leader), (set(&[3, 10, 63]), NodeId(3)));
        assert_eq!(view.partitions[0].replicas(), view.members);
        for (i, place) in view.partitions.iter().enumerate().skip(1) {
            assert!(view.members.covers(place.replicas()) && place.replicas().count() == 2, "{i}");
        }
        assert_eq!(first_view_of(set(&[0, 1, 2]), 9, 2), Some(first_view(3, 9, 2)));
        assert_eq!(first_view_of(set(&[]), 9, 2), None);
    }

    #[test]
    fn the_smaller_part_does_not_put_out_the_larger() {
        let now = cluster(5, 2);
        // both sides of a cut: everyone has a lease
        let all = set(&[0, 1, 2, 3, 4]);
        assert_eq!(without(&now, set(&[2, 3, 4]), all), Err(Halt::TooMany));
        let next = without(&now, set(&[0, 1]), all).unwrap();
        assert_eq!(next.view.members, set(&[2, 3, 4]));
        assert_eq!(next.view.leader, NodeId(2));
        assert!(!next.is_settled());

        // of two, the leader stays; the other only if the leader is dead
        let now = cluster(2, 1);
        assert!(without(&now, set(&[1]), set(&[0, 1])).is_ok());
        assert_eq!(without(&now, set(&[0]), set(&[0, 1])), Err(Halt::Minority));
        assert!(without(&now, set(&[0]), set(&[1])).is_ok());
    }

    /// What it knows may be needed until all others have installed a view without it.
    #[test]
    fn a_node_that_is_removed_is_a_member_again_if_another_fails_at_that_moment() {
        let mut now = cluster(3, 1);
        now.removed = set(&[2]);
        assert!(placement::next(&now).is_some(), "it has replicas");
        for place in &mut now.view.partitions {
            (place.primary, place.backups) = (NodeId(0), set(&[1]));
        }
        let next = improved(&now).unwrap();
        assert_eq!((next.view.members, improved(&next)), (set(&[0, 1]), None));
        assert!(next.is_leaving(NodeId(2), Incarnation(1)) && !next.is_settled() && next.is_sane());
        // all goes well
        let left = settled(&next);
        assert!(left.is_gone(NodeId(2), Incarnation(1)) && !left.is_leaving(NodeId(2), Incarnation(1)));
        assert_eq!(joining(&left, NodeId(2), &life(2)), None, "it is removed");
        // or not
        let all = set(&[0, 1, 2]);
        let back = without(&next, set(&[1]), all).unwrap();
        assert_eq!(back.view.members, set(&[0, 2]));
        assert!(back.names(NodeId(2), Incarnation(1)) && back.leaving.is_empty() && back.is_sane());
        assert_eq!(without(&back, set(&[0]), all), Err(Halt::TooMany));
    }

    /// Before all have installed a view, the decision of what was the last epoch may be known only to those who have.
    #[test]
    fn failures_count_from_the_last_settled_view() {
        let now = cluster(5, 1);
        let all = set(&[0, 1, 2, 3, 4]);
        let next = without(&now, set(&[4]), all).unwrap();
        assert_eq!(without(&next, set(&[3]), all), Err(Halt::TooMany));
        // a view that loses nobody more is fine: the store may be asked twice
        let settled = settled(&next);
        // partition 3 had its replicas at 3 and 4
        assert_eq!(without(&settled, set(&[3]), all), Err(Halt::NoReplica));
        assert!(without(&settled, set(&[1]), all).is_ok());
    }
}
