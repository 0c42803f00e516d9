//! The metadata store of a cluster within one process.

use super::{BackupWish, ClusterView, Life, MetadataStore, NodeReport, StoreError};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{NodeId, NodeSet};
use scaledb_sync::lock::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Metadata in memory: shared by the members of a process.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    incarnations: u64,
    nodes: BTreeMap<NodeId, Life>,
    view: Option<ClusterView>,
    leases: BTreeMap<NodeId, (Incarnation, Instant)>,
    reports: BTreeMap<NodeId, NodeReport>,
    backup: Option<BackupWish>,
}

impl InMemory {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }
}

impl MetadataStore for InMemory {
    fn register(&self, name: &str, address: &str) -> Result<(NodeId, Incarnation), StoreError> {
        let mut contents = self.0.lock();
        let known = contents.nodes.iter().find(|(_, life)| life.name == name).map(|(&node, _)| node);
        let free = || (0..NodeSet::LIMIT).map(NodeId).find(|node| !contents.nodes.contains_key(node));
        let node =
            known.or_else(free).ok_or_else(|| StoreError::Refused("there are too many nodes".to_owned()))?;
        contents.incarnations += 1;
        let incarnation = Incarnation(contents.incarnations);
        let life = Life { incarnation, name: name.to_owned(), address: address.to_owned() };
        contents.nodes.insert(node, life);
        Ok((node, incarnation))
    }

    fn nodes(&self) -> Result<BTreeMap<NodeId, Life>, StoreError> {
        Ok(self.0.lock().nodes.clone())
    }

    fn view(&self) -> Result<Option<ClusterView>, StoreError> {
        Ok(self.0.lock().view.clone())
    }

    fn replace(&self, last: Option<&ClusterView>, next: &ClusterView) -> Result<bool, StoreError> {
        let mut contents = self.0.lock();
        let same = contents.view.as_ref() == last;
        if same {
            contents.view = Some(next.clone());
        }
        Ok(same)
    }

    fn renew(&self, node: NodeId, life: Incarnation, lease: Duration) -> Result<(), StoreError> {
        self.0.lock().leases.insert(node, (life, Instant::now() + lease));
        Ok(())
    }

    fn alive(&self) -> Result<BTreeMap<NodeId, Incarnation>, StoreError> {
        let mut contents = self.0.lock();
        let now = Instant::now();
        contents.leases.retain(|_, (_, end)| *end > now);
        Ok(contents.leases.iter().map(|(&node, &(life, _))| (node, life)).collect())
    }

    fn report(&self, node: NodeId, report: &NodeReport) -> Result<(), StoreError> {
        self.0.lock().reports.insert(node, report.clone());
        Ok(())
    }

    fn reports(&self) -> Result<BTreeMap<NodeId, NodeReport>, StoreError> {
        Ok(self.0.lock().reports.clone())
    }

    fn backup(&self) -> Result<Option<BackupWish>, StoreError> {
        Ok(self.0.lock().backup.clone())
    }

    fn replace_backup(
        &self,
        last: Option<&BackupWish>,
        next: Option<&BackupWish>,
    ) -> Result<bool, StoreError> {
        let mut contents = self.0.lock();
        let same = contents.backup.as_ref() == last;
        if same {
            contents.backup = next.cloned();
        }
        Ok(same)
    }
}
