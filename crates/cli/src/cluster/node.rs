//! A node of a cluster, for `scaledb serve --cluster`.

use super::store;
use crate::Result;
use crate::args::NodeArgs;
use scaledb_cluster::backup::MakeTarget;
use scaledb_cluster::tcp::{PeerTls, Tcp};
use scaledb_cluster::{Founding, Member, NodeConfig, Settings, StoreError};
use scaledb_log::disk::{Disk, RealDisk};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::thread::{JoinHandle, sleep, spawn};
use signal_hook::consts::SIGTERM;
use signal_hook::low_level::raise;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often it is looked whether the node still is a member.
const LOOK: Duration = Duration::from_millis(100);

/// How often it is said that the metadata store does not answer.
const SAY_AGAIN: Duration = Duration::from_secs(10);

/// Why a node that starts is no member yet, for its log and its clients.
#[derive(Clone)]
pub(crate) struct Patience(Arc<Mutex<(String, Option<Instant>)>>);

impl Patience {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new((NOT_NAMED.to_owned(), None))))
    }

    /// What the node waits for.
    pub(crate) fn why(&self) -> String {
        self.0.lock().0.clone()
    }

    /// Notes that the node waits on, and why.
    fn waits(&self, store: Option<&StoreError>) {
        let (why, said) = &mut *self.0.lock();
        match store {
            Some(error) => {
                if said.is_none_or(|at| at.elapsed() >= SAY_AGAIN) {
                    tracing::error!(%error, "this node waits until the metadata store answers");
                    *said = Some(Instant::now());
                }
                *why = format!("This node waits until the metadata store of its cluster answers: {error}");
            }
            None => {
                if said.take().is_some() {
                    tracing::info!("the metadata store answers again");
                }
                NOT_NAMED.clone_into(why);
            }
        }
    }
}

/// What a node waits for when it has registered.
const NOT_NAMED: &str = "This node waits until the view of its cluster names it.";

/// Joins the cluster, or founds it with others; waits for that.
pub(crate) fn open(
    args: &NodeArgs,
    cluster: &str,
    data: Option<&Path>,
    patience: &Patience,
) -> Result<(Arc<Member>, Arc<Tcp>)> {
    let needed = |option: &str| format!("a node of a cluster needs {option}");
    let name = args.node.clone().ok_or_else(|| needed("--node"))?;
    let listen = args.peer_listen.ok_or_else(|| needed("--peer-listen"))?;
    let authority = args.peer_ca.as_deref().ok_or_else(|| needed("--peer-ca"))?;
    let certificate = args.peer_certificate.as_deref().ok_or_else(|| needed("--peer-certificate"))?;
    let key = args.peer_key.as_deref().ok_or_else(|| needed("--peer-key"))?;
    let listener = TcpListener::bind(listen).map_err(|error| format!("{listen}: {error}"))?;
    let port = listener.local_addr()?.port();
    let advertise = args.peer_advertise.clone().unwrap_or_else(|| format!("{name}:{port}"));
    let founding = Founding {
        nodes: args.cluster_nodes,
        failures: usize::from(args.cluster_failures),
        partitions: args.cluster_partitions,
    };
    let silence = args.cluster_silence;
    let config = NodeConfig {
        cluster: args.cluster_name.clone(),
        name: name.clone(),
        listener,
        advertise: advertise.clone(),
        tls: PeerTls::load(authority, certificate, key)?,
        store: Arc::new(store(cluster, &args.cluster_name)?),
        disk: data.map(RealDisk::open).transpose()?.map(|disk| Arc::new(disk) as Arc<dyn Disk>),
        backups: args.cluster_backups.clone().map(|directory| targets(directory, name.clone())),
        founding: Some(founding),
        settings: Settings {
            suspect_after: silence,
            heartbeat: silence / 10,
            restart: args.cluster_restart,
            checkpoint_bytes: args.cluster_checkpoint << 20,
            ..Settings::default()
        },
    };
    tracing::info!(node = name, address = advertise, "waiting until the cluster's view names this node");
    let opened = scaledb_cluster::open(config, |store| {
        patience.waits(store);
        true
    })?;
    let view = opened.0.view();
    let members: Vec<&str> = view.lives.values().map(|life| life.name.as_str()).collect();
    tracing::info!(view = view.view.number.0, members = members.join(", "), "is a member of the cluster");
    Ok(opened)
}

/// Makes directories for copies of a node: DIR/BACKUP/NODE.
fn targets(directory: PathBuf, node: String) -> Box<MakeTarget> {
    Box::new(move |backup| {
        let target = directory.join(backup).join(&node);
        std::fs::create_dir_all(&target)?;
        Ok(Arc::new(RealDisk::open(&target)?))
    })
}

/// Ends the server when its node is no member any more.
pub(crate) struct Watch {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Begins to look.
    pub(crate) fn begin(member: &Arc<Member>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (member, end) = (member.clone(), ended.clone());
        let thread = spawn(move || {
            while !end.load(Ordering::SeqCst) {
                for why in member.take_put_out() {
                    tracing::warn!(why, "a member was put out");
                }
                if member.has_left() {
                    let why = member.failure().unwrap_or_default();
                    tracing::error!(why, "this node is no member of its cluster any more");
                    // as the system would end it; before there is a handler it ends the process
                    let _ = raise(SIGTERM);
                    return;
                }
                sleep(LOOK);
            }
        });
        Self { ended, thread }
    }

    /// The server has ended.
    pub(crate) fn end(self) {
        self.ended.store(true, Ordering::SeqCst);
        // one that has panicked has said so
        let _ = self.thread.join();
    }
}
