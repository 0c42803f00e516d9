//! `scaledb cluster backup | restore`.

use super::store;
use crate::Result;
use crate::args::{ClusterBackupArgs, ClusterRestoreArgs};
use crate::format::{bytes, count, plural};
use crate::output::say;
use scaledb_cluster::backup;
use scaledb_log::disk::{Disk, RealDisk};
use scaledb_sync::Arc;
use std::path::Path;
use std::time::Instant;

/// Has the nodes back up, and says what they have.
pub(super) fn backup(args: &ClusterBackupArgs) -> Result {
    let store = store(&args.store.cluster, &args.store.cluster_name)?;
    let start = Instant::now();
    let made = backup::backup(&store, &args.name)?;
    for (node, size) in &made.copies {
        say!("  node {node}: {} in {}/{node} of its directory for backups", bytes(*size), args.name);
    }
    say!(
        "backed up {} at epoch {}, in {:.2} s, verified; all that was answered before is there",
        plural(made.copies.len() as u64, "node"),
        made.epoch.0,
        start.elapsed().as_secs_f64(),
    );
    Ok(true)
}

/// Makes a new cluster, and says how to start it.
pub(super) fn restore(args: &ClusterRestoreArgs) -> Result {
    let store = store(&args.store.cluster, &args.store.cluster_name)?;
    let start = Instant::now();
    let copies = copies(&args.from)?;
    let mut nodes = Vec::new();
    for name in &args.node {
        let directory = args.to.join(name);
        std::fs::create_dir_all(&directory)?;
        nodes.push((name.clone(), Arc::new(RealDisk::open(&directory)?) as Arc<dyn Disk>));
    }
    let failures = args.cluster_failures.map(usize::from);
    let restored = backup::restore(&copies, &store, &args.store.cluster_name, &nodes, failures)?;
    say!(
        "restored, from epoch {} of {}: {} records, {} for {} in {:.2} s",
        restored.epoch.0,
        restored.cluster,
        count(restored.records),
        bytes(restored.bytes),
        plural(nodes.len() as u64, "node"),
        start.elapsed().as_secs_f64(),
    );
    say!("start all nodes on these directories: scaledb serve --cluster ... --node NAME --data .../NAME");
    Ok(true)
}

/// The directories in a directory.
fn copies(from: &Path) -> Result<Vec<Arc<dyn Disk>>> {
    let wrong = |error: std::io::Error| format!("{}: {error}", from.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(from).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("{} has no directory of a node", from.display()).into());
    }
    found
        .iter()
        .map(|path| {
            let disk = RealDisk::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(Arc::new(disk) as Arc<dyn Disk>)
        })
        .collect()
}
