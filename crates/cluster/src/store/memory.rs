//! The metadata store of a cluster within one process.

use super::{ClusterView, MetadataStore, StoreError};
use scaledb_scar::NodeId;
use scaledb_scar::link::Incarnation;
use scaledb_sync::lock::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Metadata in memory: shared by the members of a process.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    view: Option<ClusterView>,
    leases: BTreeMap<NodeId, (Incarnation, Instant)>,
}

impl InMemory {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }
}

impl MetadataStore for InMemory {
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
}
