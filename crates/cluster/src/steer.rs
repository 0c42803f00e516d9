//! What an operator asks of a cluster: a note beside the view in the metadata store, that the leader acts on. So
//! whoever asks may go away, and no command and no leader that fails leaves something half done.

use super::placement;
use super::store::{ClusterView, Life, MetadataStore, StoreError};
use scaledb_scar::NodeId;
use std::collections::BTreeMap;

/// How often it is tried: views may change at the same time.
const ATTEMPTS: u32 = 100;

/// Why it is not done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no view yet.
    #[error("the cluster has no view yet")]
    NoView,
    /// There is no such node.
    #[error("the cluster has no node {0}")]
    NoNode(String),
    /// The others could not keep all replicas.
    #[error(
        "{node} cannot go: {others} others stay, and {} are needed so that {failures} may fail together",
        .failures + 1
    )]
    TooFew {
        /// Its name.
        node: String,
        /// How many others there are that keep replicas.
        others: usize,
        /// f.
        failures: usize,
    },
    /// Others have replaced the view again and again.
    #[error("the cluster's view changes all the time; try again")]
    Busy,
}

/// The node of a name, and its last life.
fn find(nodes: BTreeMap<NodeId, Life>, name: &str) -> Result<NodeId, Refused> {
    let found = nodes.into_iter().find(|(_, life)| life.name == name);
    found.map(|(node, _)| node).ok_or_else(|| Refused::NoNode(name.to_owned()))
}

/// Changes what is noted beside the view.
fn note(
    store: &dyn MetadataStore,
    change: impl Fn(&mut ClusterView) -> Result<(), Refused>,
) -> Result<(), Refused> {
    for _ in 0..ATTEMPTS {
        let now = store.view()?.ok_or(Refused::NoView)?;
        let mut next = now.clone();
        change(&mut next)?;
        if next == now || store.replace(Some(&now), &next)? {
            return Ok(());
        }
    }
    Err(Refused::Busy)
}

fn check(now: &ClusterView, node: NodeId, name: &str) -> Result<(), Refused> {
    match placement::cannot_drain(now, node) {
        Some(others) => Err(Refused::TooFew { node: name.to_owned(), others, failures: now.view.failures }),
        None => Ok(()),
    }
}

/// The node's replicas and primaries go to others; it stays a member, and takes statements.
///
/// # Errors
/// There is no such node, the others are too few, or the store does not answer.
pub fn drain(store: &dyn MetadataStore, name: &str) -> Result<NodeId, Refused> {
    let node = find(store.nodes()?, name)?;
    note(store, |next| {
        check(next, node, name)?;
        next.draining = next.draining.with(node);
        Ok(())
    })?;
    Ok(node)
}

/// The node is to be no member: first its replicas go to others. One that is dead is replaced by others at once.
///
/// # Errors
/// As [`drain`].
pub fn remove(store: &dyn MetadataStore, name: &str) -> Result<NodeId, Refused> {
    let node = find(store.nodes()?, name)?;
    note(store, |next| {
        // one that is no member, as it is dead, does not come back: others take its part
        match next.view.members.has(node) {
            true => check(next, node, name)?,
            false => next.rebalancing = true,
        }
        next.removed = next.removed.with(node);
        Ok(())
    })?;
    Ok(node)
}

/// The node may be a member, and keep its part: it is neither drained nor removed any more.
///
/// # Errors
/// There is no such node, or the store does not answer.
pub fn add(store: &dyn MetadataStore, name: &str) -> Result<NodeId, Refused> {
    let node = find(store.nodes()?, name)?;
    note(store, |next| {
        next.draining = next.draining.without(node);
        next.removed = next.removed.without(node);
        // a node that is not there yet is given its part when it is
        next.rebalancing |= next.view.members.has(node);
        Ok(())
    })?;
    Ok(node)
}

/// All members are to keep as many replicas as the others, and to be primary of as many partitions; and partitions that
/// have lost replicas get others.
///
/// # Errors
/// There is no view, or the store does not answer.
pub fn rebalance(store: &dyn MetadataStore) -> Result<(), Refused> {
    note(store, |next| {
        next.rebalancing = true;
        Ok(())
    })
}

/// How far it is: what is left to do for a node that drains or is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Replicas that the node keeps, and that others are to keep instead.
    pub replicas: usize,
    /// Partitions of which it is primary.
    pub primaries: usize,
    /// Replicas that are being copied, at any node.
    pub copying: usize,
    /// Whether it is a member.
    pub member: bool,
}

/// What is left to do for a node.
pub fn left(now: &ClusterView, node: NodeId) -> Left {
    let places = &now.view.partitions;
    Left {
        replicas: places.iter().filter(|place| !place.everywhere && place.replicas().has(node)).count(),
        primaries: places.iter().filter(|place| place.primary == node).count(),
        copying: places.iter().map(|place| place.learners.count()).sum(),
        member: now.view.members.has(node) || now.leaving.contains_key(&node),
    }
}
