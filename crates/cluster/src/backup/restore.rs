//! A new cluster from a backup: directories of its nodes, and its first view.

use super::Note;
use crate::durable::{DirectoryError, OnDisk, Owner, read_copy};
use crate::membership::first_view_of;
use crate::rows::Rows;
use crate::store::{ClusterView, MetadataStore, StoreError};
use scaledb_log::LogError;
use scaledb_log::disk::Disk;
use scaledb_scar::{Entry, Epoch, PartitionId, Piece, Time, View};
use scaledb_sync::Arc;
use std::collections::BTreeMap;

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A directory.
    #[error("{directory}: {error}")]
    Directory {
        /// Which.
        directory: String,
        /// What is wrong with it.
        error: DirectoryError,
    },
    /// A copy whose note cannot be read.
    #[error("{directory}: {error}")]
    Note {
        /// Which.
        directory: String,
        /// What is wrong with it.
        error: std::io::Error,
    },
    /// It is no copy, or was not completed.
    #[error("{0} is no complete copy of a node: it has no BACKUP file")]
    NoCopy(String),
    /// Copies of several backups.
    #[error("{one} is of the backup {backup}, and {other} is not")]
    Mixed {
        /// A copy.
        one: String,
        /// Its backup.
        backup: String,
        /// One of another.
        other: String,
    },
    /// The log of a copy does not have the epoch.
    #[error("{directory} has no end of epoch {}", epoch.0)]
    NoEpoch {
        /// Which.
        directory: String,
        /// The epoch.
        epoch: Epoch,
    },
    /// Partitions that no copy has.
    #[error("{found} of {copies} copies are here, and none of them has partition {}", partition.0)]
    Incomplete {
        /// The first of them.
        partition: PartitionId,
        /// How many are here.
        found: usize,
        /// How many were made.
        copies: usize,
    },
    /// There is a cluster already.
    #[error("the metadata store has a cluster of this name already: take another name, or another store")]
    Occupied,
    /// A directory of a node that is to be written is not empty.
    #[error("{0} has been used: a node is restored into an empty directory")]
    Used(String),
    /// The new cluster cannot be like this.
    #[error("{0}")]
    Founding(String),
}

/// What was restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The epoch at which the cluster goes on.
    pub epoch: Epoch,
    /// The cluster that the backup is of.
    pub cluster: String,
    /// Records of all partitions, each counted once.
    pub records: u64,
    /// Bytes that were written.
    pub bytes: u64,
}

fn directory(disk: &dyn Disk, error: impl Into<DirectoryError>) -> RestoreError {
    RestoreError::Directory { directory: disk.describe(), error: error.into() }
}

/// What the copies have.
#[derive(Default)]
struct Contents {
    partitions: BTreeMap<PartitionId, Vec<Piece<Rows>>>,
    floor: Time,
    view: Option<View>,
}

/// Reads the copies of a backup, and writes the directories of a new cluster's nodes and its first view. When all nodes
/// are started on them, the cluster is as the other was at the end of the epoch of the backup.
///
/// # Errors
/// Why there is none. The directories may have been written then, and are of no use.
pub fn restore(
    copies: &[Arc<dyn Disk>],
    store: &dyn MetadataStore,
    cluster: &str,
    nodes: &[(String, Arc<dyn Disk>)],
    failures: Option<usize>,
) -> Result<Restored, RestoreError> {
    if store.view()?.is_some() {
        return Err(RestoreError::Occupied);
    }
    let note = one_backup(copies)?;
    let contents = read(copies, &note)?;
    let of_backup = contents.view.as_ref().map_or(0, |view| view.failures);
    let failures = failures.unwrap_or(of_backup.min(nodes.len().saturating_sub(1)));
    if failures >= nodes.len() {
        let most = nodes.len().saturating_sub(1);
        return Err(RestoreError::Founding(format!(
            "of {} nodes at most {most} may fail together",
            nodes.len()
        )));
    }
    let epoch = Epoch(note.epoch);
    let bytes = write(&contents, store, cluster, nodes, (failures, epoch))?;
    let records = contents.partitions.values().flatten().map(|piece| piece.records.len() as u64).sum();
    Ok(Restored { epoch, cluster: note.cluster, records, bytes })
}

/// The note that all copies have.
fn one_backup(copies: &[Arc<dyn Disk>]) -> Result<Note, RestoreError> {
    let mut found: Option<(String, Note)> = None;
    for copy in copies {
        let directory = copy.describe();
        let note = match Note::read(&**copy) {
            Ok(Some(note)) => note,
            Ok(None) => return Err(RestoreError::NoCopy(directory)),
            Err(error) => return Err(RestoreError::Note { directory, error }),
        };
        let same = |other: &Note| {
            (&other.cluster, other.number, other.epoch) == (&note.cluster, note.number, note.epoch)
        };
        if let Some((one, other)) = found.as_ref().filter(|(_, other)| !same(other)) {
            let (one, backup) = (one.clone(), other.backup.clone());
            return Err(RestoreError::Mixed { one, backup, other: directory });
        }
        found.get_or_insert((directory, note));
    }
    found.map(|(_, note)| note).ok_or_else(|| RestoreError::NoCopy("nothing".to_owned()))
}

fn read(copies: &[Arc<dyn Disk>], note: &Note) -> Result<Contents, RestoreError> {
    let epoch = Epoch(note.epoch);
    let mut contents = Contents::default();
    for copy in copies {
        let recovered = read_copy(copy.clone(), epoch).map_err(|error| directory(&**copy, error))?;
        if recovered.whole() != epoch {
            return Err(RestoreError::NoEpoch { directory: copy.describe(), epoch });
        }
        contents.floor = contents.floor.max(recovered.floor());
        for partition in recovered.partitions() {
            contents.partitions.entry(partition).or_insert_with(|| recovered.pieces_of(partition));
        }
        if contents.view.is_none() {
            contents.view = recovered.installed().cloned();
        }
    }
    for piece in contents.partitions.values_mut().flatten() {
        crate::engine::open_all(&mut piece.records)
            .map_err(|error| RestoreError::Founding(error.to_string()))?;
    }
    let all = contents.view.as_ref().map_or(0, |view| view.partitions.len() as u16);
    match (0..all).map(PartitionId).find(|partition| !contents.partitions.contains_key(partition)) {
        Some(partition) => {
            Err(RestoreError::Incomplete { partition, found: copies.len(), copies: note.copies })
        }
        None => Ok(contents),
    }
}

fn write(
    contents: &Contents,
    store: &dyn MetadataStore,
    cluster: &str,
    nodes: &[(String, Arc<dyn Disk>)],
    (failures, epoch): (usize, Epoch),
) -> Result<u64, RestoreError> {
    let mut begun = Vec::new();
    for (name, disk) in nodes {
        let (node, life) = store.register(name, "")?;
        let owner = Owner { cluster: cluster.to_owned(), name: name.clone(), node };
        let on_disk = OnDisk::open(disk.clone(), owner, life).map_err(|error| directory(&**disk, error))?;
        if !on_disk.is_new() {
            return Err(RestoreError::Used(disk.describe()));
        }
        begun.push((node, on_disk, disk));
    }
    let members = begun.iter().map(|&(node, ..)| node).collect();
    let partitions = contents.partitions.len() as u16;
    let no_view = || RestoreError::Founding("a cluster needs a node, and a backup of one".to_owned());
    let mut view = first_view_of(members, partitions, failures).ok_or_else(no_view)?;
    view.durable = true;
    let mut lives = store.nodes()?;
    lives.retain(|&node, _| members.has(node));
    let begin = Entry::Checkpoint(Arc::new(view.clone()), epoch, contents.floor);
    let mut bytes = 0;
    for (node, on_disk, disk) in begun {
        let kept = contents.partitions.iter().filter(|(partition, _)| view.keeps(node, **partition));
        let pieces = kept.flat_map(|(_, pieces)| pieces);
        let written = on_disk.settle(begin.clone(), pieces);
        bytes += written.map_err(|error: LogError| directory(&**disk, error))?;
    }
    match store.replace(None, &ClusterView::first(view, lives))? {
        true => Ok(bytes),
        false => Err(RestoreError::Occupied),
    }
}
