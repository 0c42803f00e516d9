//! How a node of a cluster over TCP starts: it registers, and waits until a view names it; the first of enough nodes
//! founds the cluster.

use super::member::{Member, StartError};
use super::membership;
use super::settings::Settings;
use super::store::{ClusterView, MetadataStore, StoreError};
use super::tcp::{PeerTls, Tcp, TcpConfig};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{NodeId, NodeSet};
use scaledb_sync::{Arc, thread};
use std::net::TcpListener;

/// What a first view is made of. All nodes should be told the same; it matters only until there is a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Founding {
    /// How many nodes must be there.
    pub nodes: u8,
    /// How many of them may fail together.
    pub failures: usize,
    /// Into how many partitions the keys are divided, for ever.
    pub partitions: u16,
}

impl Founding {
    /// Whether a cluster can be like this.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        let most = NodeSet::LIMIT;
        if self.nodes == 0 || self.nodes > most {
            return Err(format!("a cluster has 1 to {most} nodes, not {}", self.nodes));
        }
        if self.failures >= usize::from(self.nodes) {
            return Err(format!("of {} nodes at most {} may fail together", self.nodes, self.nodes - 1));
        }
        if self.partitions == 0 {
            return Err("a cluster has at least one partition".to_owned());
        }
        Ok(())
    }
}

/// A node to be started.
pub struct NodeConfig {
    /// The name of the cluster.
    pub cluster: String,
    /// The node's name, which its certificate is for.
    pub name: String,
    /// Where it listens to other nodes.
    pub listener: TcpListener,
    /// Where they find it: `host:port`.
    pub advertise: String,
    /// The certificates.
    pub tls: PeerTls,
    /// The metadata store.
    pub store: Arc<dyn MetadataStore>,
    /// If there is no cluster yet: what it is to be. None: wait until others found it.
    pub founding: Option<Founding>,
    /// The times.
    pub settings: Settings,
}

/// Starts a node, when the cluster's view names it. `goes_on` is asked again and again while that takes time.
///
/// # Errors
/// The store does not answer, the system has no thread, or nobody wants to wait any more.
pub fn open(config: NodeConfig, goes_on: impl Fn() -> bool) -> Result<(Arc<Member>, Arc<Tcp>), StartError> {
    let NodeConfig { cluster, name, listener, advertise, tls, store, founding, settings } = config;
    if let Some(founding) = founding {
        founding.check().map_err(|what| StartError::Store(StoreError(what)))?;
    }
    let (me, life) = store.register(&name, &advertise)?;
    wait_until_named(&settings, &*store, me, life, founding, goes_on)?;
    let tcp = Tcp::new(TcpConfig { cluster, me, life, tls, settings }, listener)?;
    let member = Member::start(settings, me, life, store, tcp.clone())?;
    Ok((member, tcp))
}

/// Waits until the view names this life of the node.
pub(crate) fn wait_until_named(
    settings: &Settings,
    store: &dyn MetadataStore,
    me: NodeId,
    life: Incarnation,
    founding: Option<Founding>,
    goes_on: impl Fn() -> bool,
) -> Result<(), StartError> {
    while !is_named(settings, store, me, life, founding)? {
        if !goes_on() || store.view()?.is_some_and(|view| view.is_gone(me, life)) {
            return Err(StartError::NotNamed(me));
        }
        thread::sleep(settings.heartbeat);
    }
    Ok(())
}

/// Whether the view names this life of the node; founds the cluster if there is no view and enough nodes are there.
fn is_named(
    settings: &Settings,
    store: &dyn MetadataStore,
    me: NodeId,
    life: Incarnation,
    founding: Option<Founding>,
) -> Result<bool, StoreError> {
    store.renew(me, life, settings.lease)?;
    if let Some(view) = store.view()? {
        return Ok(view.names(me, life));
    }
    let Some(founding) = founding else { return Ok(false) };
    let alive = store.alive()?;
    let mut lives = store.nodes()?;
    lives.retain(|node, life| alive.get(node) == Some(&life.incarnation));
    if lives.len() < usize::from(founding.nodes) || !lives.contains_key(&me) {
        return Ok(false);
    }
    let nodes = lives.keys().copied().collect();
    let first = membership::first_view_of(nodes, founding.partitions, founding.failures);
    let Some(view) = first else { return Ok(false) };
    let first = ClusterView::first(view, lives);
    // another may be faster: then its view counts
    store.replace(None, &first)?;
    Ok(store.view()?.is_some_and(|view| view.names(me, life)))
}
