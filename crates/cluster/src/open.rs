//! How a node of a cluster over TCP starts: it registers, and waits until a view names it; the first of enough nodes
//! founds the cluster.

use super::backup::MakeTarget;
use super::durable::{OnDisk, Owner};
use super::member::{Member, StartError};
use super::membership;
use super::settings::Settings;
use super::store::{ClusterView, MetadataStore, StoreError};
use super::tcp::{PeerTls, Tcp, TcpConfig};
use scaledb_log::disk::Disk;
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
    /// Where it keeps what it has, in a cluster whose nodes do.
    pub disk: Option<Arc<dyn Disk>>,
    /// Makes the directories of its backups; none: it makes no backups.
    pub backups: Option<Box<MakeTarget>>,
    /// If there is no cluster yet: what it is to be. None: wait until others found it.
    pub founding: Option<Founding>,
    /// The times.
    pub settings: Settings,
}

/// Starts a node, when the cluster's view names it. `goes_on` is asked again and again while that takes time, and told
/// if that is because the store does not answer: the node waits until it does.
///
/// # Errors
/// The store refuses something, the system has no thread, or nobody wants to wait any more.
pub fn open(
    config: NodeConfig,
    goes_on: impl Fn(Option<&StoreError>) -> bool,
) -> Result<(Arc<Member>, Arc<Tcp>), StartError> {
    let NodeConfig { cluster, name, listener, advertise, tls, store, disk, backups, founding, settings } =
        config;
    if let Some(founding) = founding {
        founding.check().map_err(|what| StartError::Store(StoreError::Refused(what)))?;
    }
    let (me, life) = patiently(&settings, &goes_on, || Ok(store.register(&name, &advertise)?))?;
    let owner = Owner { cluster: cluster.clone(), name, node: me };
    let on_disk = disk.clone().map(|disk| OnDisk::open(disk, owner.clone(), life)).transpose()?;
    let wait = Waiting { settings: &settings, store: &*store, me, life, founding, on_disk: on_disk.as_ref() };
    let view = wait.until_named(goes_on)?;
    let tcp = Tcp::new(TcpConfig { cluster, me, life, tls, settings }, listener)?;
    let member = Member::start_in(settings, me, life, (store, view), tcp.clone(), on_disk)?;
    if let Some(disk) = disk {
        member.keep_backups(owner, disk, backups)?;
    }
    Ok((member, tcp))
}

/// Tries again as long as the store does not answer.
fn patiently<T>(
    settings: &Settings,
    goes_on: impl Fn(Option<&StoreError>) -> bool,
    ask: impl Fn() -> Result<T, StartError>,
) -> Result<T, StartError> {
    loop {
        match ask() {
            Err(StartError::Store(away @ StoreError::Away(_))) if goes_on(Some(&away)) => {
                thread::sleep(settings.heartbeat);
            }
            done => return done,
        }
    }
}

/// A life of a node that is to be a member.
pub(crate) struct Waiting<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) store: &'a dyn MetadataStore,
    pub(crate) me: NodeId,
    pub(crate) life: Incarnation,
    pub(crate) founding: Option<Founding>,
    pub(crate) on_disk: Option<&'a OnDisk>,
}

impl Waiting<'_> {
    /// Waits until the view names this life of the node: the view.
    pub(crate) fn until_named(
        &self,
        goes_on: impl Fn(Option<&StoreError>) -> bool,
    ) -> Result<ClusterView, StartError> {
        loop {
            let named = patiently(self.settings, &goes_on, || {
                let named = self.is_named()?;
                Ok((named, self.store.view()?))
            })?;
            match named {
                (true, Some(view)) if view.names(self.me, self.life) => return Ok(view),
                (_, Some(view)) if view.is_gone(self.me, self.life) => {
                    return Err(StartError::NotNamed(self.me));
                }
                _ if !goes_on(None) => return Err(StartError::NotNamed(self.me)),
                _ => thread::sleep(self.settings.heartbeat),
            }
        }
    }

    /// Whether the view names this life of the node. Founds the cluster if there is no view and enough nodes are there;
    /// takes the place of a former life whose disk it has.
    fn is_named(&self) -> Result<bool, StartError> {
        let (store, me, life) = (self.store, self.me, self.life);
        if let Some(view) = store.view()? {
            match self.on_disk {
                None if view.view.durable => return Err(StartError::NeedsDirectory),
                Some(_) if !view.view.durable => return Err(StartError::NoDirectory),
                _ => {}
            }
        }
        // whoever has a lease may be made a member
        store.renew(me, life, self.settings.lease)?;
        let Some(view) = store.view()? else { return self.found() };
        if view.names(me, life) {
            return Ok(true);
        }
        if let (Some(on_disk), Some(this)) = (self.on_disk, store.nodes()?.get(&me))
            && this.incarnation == life
            && let Some(next) = membership::resumed(&view, me, this, on_disk)
        {
            // another may be faster: then its view counts
            store.replace(Some(&view), &next)?;
            return Ok(store.view()?.is_some_and(|view| view.names(me, life)));
        }
        Ok(false)
    }

    fn found(&self) -> Result<bool, StartError> {
        let store = self.store;
        let Some(founding) = self.founding else { return Ok(false) };
        let alive = store.alive()?;
        let mut lives = store.nodes()?;
        lives.retain(|node, life| alive.get(node) == Some(&life.incarnation));
        if lives.len() < usize::from(founding.nodes) || !lives.contains_key(&self.me) {
            return Ok(false);
        }
        let nodes = lives.keys().copied().collect();
        let first = membership::first_view_of(nodes, founding.partitions, founding.failures);
        let Some(mut view) = first else { return Ok(false) };
        view.durable = self.on_disk.is_some();
        let first = ClusterView::first(view, lives);
        // another may be faster: then its view counts
        store.replace(None, &first)?;
        Ok(store.view()?.is_some_and(|view| view.names(self.me, self.life)))
    }
}
