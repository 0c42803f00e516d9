//! Which nodes answer for keys, as a view of the cluster has it.

use super::spread::Spread;
use crate::store::ClusterView;
use scaledb_engine::{Keys, Reach, Reached, Site};
use scaledb_scar::{NodeId, PartitionId};
use std::collections::BTreeMap;

/// Who answers the node `me` for keys of a table or index with so many columns.
pub(super) fn reach(
    cluster: &ClusterView,
    me: NodeId,
    (spread, columns): (&Spread, usize),
    partitions: usize,
    keys: Keys<'_>,
) -> Reach {
    let all = || (1..partitions).map(|partition| PartitionId(partition as u16)).collect();
    let (found, by_key): (Vec<PartitionId>, bool) = match (spread, keys) {
        (Spread::ByHash(by), Keys::Beginning(known)) if partitions > 1 => {
            // without a key of its own a row has a number, that nobody asks for
            let needed = if by.is_empty() { columns.max(1) } else { by.len() };
            (all(), known >= needed)
        }
        (_, Keys::Beginning(_)) => (vec![PartitionId(0)], false),
        (_, Keys::In(range)) => (spread.partitions(range.start, range.end, partitions), false),
    };
    let reached = match found[..] {
        [one] => Reached::One(u32::from(one.0)),
        _ if by_key => Reached::ByKey,
        _ => Reached::All,
    };
    let view = &cluster.view;
    let (mut reads, mut primaries) = (BTreeMap::new(), BTreeMap::new());
    for partition in &found {
        let Some(place) = view.placement(*partition) else { continue };
        let reader = if place.replicas().has(me) { me } else { place.primary };
        *reads.entry((reader != me, reader)).or_insert(0) += 1;
        *primaries.entry((place.primary != me, place.primary)).or_insert(0) += 1;
    }
    let sites = |counts: BTreeMap<(bool, NodeId), u32>| {
        let site = |((_, node), partitions): ((bool, NodeId), u32)| Site {
            node: cluster.lives.get(&node).map_or_else(|| node.0.to_string(), |life| life.name.clone()),
            here: node == me,
            partitions,
        };
        counts.into_iter().map(site).collect()
    };
    let of = if spread.is_everywhere() { 1 } else { partitions.saturating_sub(1).max(1) as u32 };
    Reach { reached, of, reads: sites(reads), primaries: sites(primaries) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::first_view;
    use crate::store::Life;
    use scaledb_engine::Range;
    use scaledb_scar::link::Incarnation;

    const PARTITIONS: usize = 7;

    fn cluster() -> ClusterView {
        let view = first_view(3, PARTITIONS as u16, 1);
        let life = |node: NodeId| Life {
            incarnation: Incarnation(1),
            name: format!("n{}", node.0),
            address: String::new(),
        };
        let lives = view.members.iter().map(|node| (node, life(node))).collect();
        ClusterView::first(view, lives)
    }

    fn asked(spread: &Spread, keys: Keys<'_>) -> Reach {
        reach(&cluster(), NodeId(0), (spread, 2), PARTITIONS, keys)
    }

    /// Primaries of partitions 1 to 6: nodes 1, 2, 0, 1, 2, 0; a backup of each at the node behind.
    #[test]
    fn what_a_node_keeps_it_answers_and_what_it_does_not_the_primary() {
        let by_key = Spread::ByHash(Vec::new());
        let all = asked(&by_key, Keys::In(Range::ALL));
        let here = Site { node: "n0".into(), here: true, partitions: 4 };
        let there = Site { node: "n1".into(), here: false, partitions: 2 };
        assert_eq!((all.reached, all.of, all.reads), (Reached::All, 6, vec![here, there]));
        assert_eq!(all.primaries.iter().map(|site| site.partitions).collect::<Vec<_>>(), [2, 2, 2]);
        let one = asked(&by_key, Keys::In(Range::new(b"a", b"a\0")));
        assert!(matches!(one.reached, Reached::One(1..=6)) && one.reads.len() == 1, "{one:?}");
        assert_eq!(asked(&by_key, Keys::Beginning(2)).reached, Reached::ByKey);
        assert_eq!(asked(&by_key, Keys::Beginning(1)).reached, Reached::All);
        let replicated = asked(&Spread::Everywhere, Keys::In(Range::ALL));
        assert_eq!((replicated.reached, replicated.reads.len()), (Reached::One(0), 1));
        assert!(replicated.reads[0].here);
    }
}
