//! `scaledb cluster`: a cluster of nodes, looked at, and shown at work.

mod backup;
mod demo;
pub(crate) mod node;
mod status;
mod steer;

use crate::Result;
use crate::args::{ClusterArgs, ClusterCommand};
use scaledb_cluster::Etcd;
use std::time::Duration;

/// How long etcd may take to answer.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &ClusterArgs) -> Result {
    match &args.command {
        ClusterCommand::Status(args) => status::run(&args.store),
        ClusterCommand::Add(args) => steer::node(args, steer::Wish::Add),
        ClusterCommand::Drain(args) => steer::node(args, steer::Wish::Drain),
        ClusterCommand::Remove(args) => steer::node(args, steer::Wish::Remove),
        ClusterCommand::Rebalance(args) => steer::rebalance(args),
        ClusterCommand::Backup(args) => backup::backup(args),
        ClusterCommand::Restore(args) => backup::restore(args),
        ClusterCommand::Demo(args) => demo::run(args),
    }
}

/// The metadata store that a URL names.
fn store(url: &str, cluster: &str) -> Result<Etcd> {
    let addresses = url.strip_prefix("etcd://").ok_or_else(|| {
        format!("`{url}` is no metadata store: etcd://HOST:PORT is, several HOST:PORT with commas between")
    })?;
    Ok(Etcd::new(addresses, cluster, STORE_PATIENCE)?)
}
