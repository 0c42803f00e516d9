//! The command line: clusters, and nodes of them.

use super::times::within;
use clap::{Args as ClapArgs, Subcommand};
use scaledb_base::timeouts::Unit;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Milliseconds of silence that a cluster may be told to take for the end of a node.
const SILENCE: RangeInclusive<u64> = 100..=600_000;

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Print the nodes of a cluster, who is a member, who leads, and who keeps what
    Status(StatusArgs),
    /// Let a node be a member, after it was drained or removed, or give one that is new its part; waits until it has it
    Add(NodeCommandArgs),
    /// Move what a node keeps to others; it stays a member. Waits until it is done
    Drain(NodeCommandArgs),
    /// Move what a node keeps to others, and let it be a member no more. Waits until it is done
    Remove(NodeCommandArgs),
    /// Let all nodes keep as much as the others, and replace lost replicas; waits until it is done
    Rebalance(RebalanceArgs),
    /// Have all nodes copy their directories, as they are at one epoch; waits until they have
    Backup(ClusterBackupArgs),
    /// Make the directories of a new cluster's nodes, and its first view, from a backup
    Restore(ClusterRestoreArgs),
    /// Run three nodes on this machine with TPC-C and Retwis in SQL, kill one, let it come back, and look for what was
    /// answered; needs etcd
    Demo(ClusterDemoArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// What is to be done with a node.
#[derive(Debug, ClapArgs)]
pub(crate) struct NodeCommandArgs {
    /// The node's name
    pub(crate) node: String,
    /// Wait no longer than so many seconds; the cluster goes on
    #[arg(long, value_name = "SECONDS", value_parser = within(Unit::Seconds, 0..=u64::MAX))]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RebalanceArgs {
    /// Wait no longer than so many seconds; the cluster goes on
    #[arg(long, value_name = "SECONDS", value_parser = within(Unit::Seconds, 0..=u64::MAX))]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterBackupArgs {
    /// The name of the backup: that of a directory below each node's --cluster-backups
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterRestoreArgs {
    /// The nodes' copies, each a directory in this one
    pub(crate) from: PathBuf,
    /// Where the directories of the new nodes go, each by its node's name: move them to --data of the nodes
    pub(crate) to: PathBuf,
    /// The name of a node of the new cluster; once for each
    #[arg(long, value_name = "NAME", required = true)]
    pub(crate) node: Vec<String>,
    /// How many nodes of the new cluster may fail together [default: as in the one of the backup]
    #[arg(long, value_name = "N")]
    pub(crate) cluster_failures: Option<u8>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Where the cluster's metadata are.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct StoreArgs {
    /// Where the cluster's metadata are kept: etcd, several of its addresses with commas between
    #[arg(long, value_name = "etcd://HOST:PORT")]
    pub(crate) cluster: String,
    /// The name of the cluster
    #[arg(long, default_value = "scaledb", value_name = "NAME")]
    pub(crate) cluster_name: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterDemoArgs {
    /// How long the nodes work before one is killed, without it, and when it is back, each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Clients of each node: half of them run TPC-C, half Retwis
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=64))]
    pub(crate) clients: u16,
    /// Milliseconds of silence after which a node is given up: more on a machine that is busy
    #[arg(long, default_value = "1000", value_name = "MS", value_parser = within(Unit::Milliseconds, SILENCE))]
    pub(crate) silence: Duration,
    /// Warehouses of TPC-C, small ones
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) warehouses: u16,
    /// The program etcd
    #[arg(long, default_value = "etcd", value_name = "FILE")]
    pub(crate) etcd: PathBuf,
}

/// A server that is a node of a cluster.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct NodeArgs {
    /// Be a node of the cluster whose metadata are kept there: etcd, several of its addresses with commas between
    #[arg(long, value_name = "etcd://HOST:PORT", requires_all = ["node", "peer_listen", "peer_ca", "peer_certificate", "peer_key"])]
    pub(crate) cluster: Option<String>,
    /// The name of the cluster
    #[arg(long, default_value = "scaledb", value_name = "NAME", requires = "cluster")]
    pub(crate) cluster_name: String,
    /// The name of this node, which its certificate is for
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub(crate) node: Option<String>,
    /// Where to listen to other nodes
    #[arg(long, value_name = "ADDRESS:PORT", requires = "cluster")]
    pub(crate) peer_listen: Option<SocketAddr>,
    /// Where other nodes find this one [default: the node's name, and the port of --peer-listen]
    #[arg(long, value_name = "HOST:PORT", requires = "cluster")]
    pub(crate) peer_advertise: Option<String>,
    /// The authority that all nodes' certificates are of: a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) peer_ca: Option<PathBuf>,
    /// The certificate of this node: a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) peer_certificate: Option<PathBuf>,
    /// Its key: a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) peer_key: Option<PathBuf>,
    /// A node that says nothing for so many milliseconds is put out; the same at all nodes
    #[arg(long, default_value = "1000", value_name = "MS", requires = "cluster", value_parser = within(Unit::Milliseconds, SILENCE))]
    pub(crate) cluster_silence: Duration,
    /// Nodes that come back with their directories wait so many seconds for one that has not
    #[arg(long, default_value = "30", value_name = "SECONDS", requires = "cluster", value_parser = within(Unit::Seconds, 1..=86_400))]
    pub(crate) cluster_restart: Duration,
    /// A checkpoint is made when this node's log is so many mebibytes long
    #[arg(long, default_value_t = 64, value_name = "MIB", requires = "cluster", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) cluster_checkpoint: u64,
    /// Where this node puts its copy when the cluster is backed up: in DIR/BACKUP/NODE
    #[arg(long, value_name = "DIR", requires_all = ["cluster", "data"])]
    pub(crate) cluster_backups: Option<PathBuf>,
    /// A new cluster begins when so many nodes are there
    #[arg(long, default_value_t = 3, value_name = "N", requires = "cluster", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) cluster_nodes: u8,
    /// How many nodes of a new cluster may fail together
    #[arg(long, default_value_t = 1, value_name = "N", requires = "cluster")]
    pub(crate) cluster_failures: u8,
    /// Into how many partitions the keys of a new cluster are divided, for ever
    #[arg(long, default_value_t = 64, value_name = "N", requires = "cluster", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) cluster_partitions: u16,
}
