//! What a disk holds, what a running system sees, and what lies between.

use super::content::{Block, Content};
use scaledb_sync::Arc;
use std::collections::BTreeMap;

/// A file, whatever its name.
pub(super) type FileId = u64;

/// Which file has a name.
pub(super) type Names = BTreeMap<Arc<str>, FileId>;

/// Blocks of removed files that a new file may get, with their content.
const RECYCLED: usize = 64;

/// A change of a file's content that is not synced.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    SetLen(usize),
}

impl Change {
    pub(super) fn apply(&self, to: &mut Content) {
        match self {
            Self::Write { offset, bytes } => to.write(bytes, *offset),
            Self::SetLen(len) => to.set_len(*len),
        }
    }
}

/// A file: `seen = durable + changes`, unless a sync has failed (`lost`).
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// What a power loss leaves.
    pub(super) durable: Arc<Content>,
    /// What a reader gets: the page cache.
    pub(super) seen: Arc<Content>,
    /// What is dirty, in the order in which it was written.
    pub(super) changes: Arc<Vec<Change>>,
    /// A sync has failed: part of what is seen is not dirty any more, and on no disk either.
    pub(super) lost: bool,
}

impl Node {
    pub(super) fn change(&mut self, change: Change) {
        change.apply(Arc::make_mut(&mut self.seen));
        Arc::make_mut(&mut self.changes).push(change);
    }

    pub(super) fn sync(&mut self) {
        if self.lost {
            let durable = Arc::make_mut(&mut self.durable);
            self.changes.iter().for_each(|change| change.apply(durable));
        } else {
            self.durable = self.seen.clone();
        }
        self.changes = Arc::default();
    }

    /// A sync that failed after `durable` had reached the disk.
    pub(super) fn sync_failed(&mut self, durable: Content) {
        self.durable = Arc::new(durable);
        self.changes = Arc::default();
        self.lost = true;
    }
}

/// A change of a name that is not synced.
#[derive(Debug, Clone)]
pub(super) enum NameChange {
    Create { name: Arc<str>, file: FileId },
    Rename { from: Arc<str>, to: Arc<str>, file: FileId },
    Remove { name: Arc<str> },
}

impl NameChange {
    /// The name that means something else now.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Create { name, .. } | Self::Rename { to: name, .. } | Self::Remove { name } => name,
        }
    }

    /// Also after changes before it were lost: a rename then brings its file from wherever it is, for a file
    /// never has two names.
    pub(super) fn apply(&self, names: &mut Names) {
        match self {
            Self::Create { name, file } => {
                names.insert(name.clone(), *file);
            }
            Self::Rename { to, file, .. } => {
                names.retain(|_, other| other != file);
                names.insert(to.clone(), *file);
            }
            Self::Remove { name } => {
                names.remove(name);
            }
        }
    }
}

/// The whole disk. A copy shares all blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct DiskState {
    pub(super) files: BTreeMap<FileId, Node>,
    /// What a power loss leaves.
    pub(super) durable_names: Arc<Names>,
    /// `names = durable_names + name_changes`
    pub(super) names: Arc<Names>,
    pub(super) name_changes: Arc<Vec<NameChange>>,
    /// Blocks of removed files; a grown file may show their old content.
    pub(super) recycled: Arc<Vec<Arc<Block>>>,
}

impl DiskState {
    pub(super) fn change_names(&mut self, change: NameChange) {
        change.apply(Arc::make_mut(&mut self.names));
        Arc::make_mut(&mut self.name_changes).push(change);
    }

    /// Makes names durable, and frees the files that have none and that `is_open` does not hold.
    pub(super) fn sync_names(&mut self, is_open: impl Fn(FileId) -> bool) {
        self.durable_names = self.names.clone();
        self.name_changes = Arc::default();
        let named: Vec<FileId> = self.names.values().copied().collect();
        let unnamed = |file: &FileId| !named.contains(file) && !is_open(*file);
        let freed: Vec<FileId> = self.files.keys().copied().filter(unnamed).collect();
        for file in freed {
            let Some(node) = self.files.remove(&file) else { continue };
            let recycled = Arc::make_mut(&mut self.recycled);
            recycled.extend(node.durable.blocks().cloned());
            let surplus = recycled.len().saturating_sub(RECYCLED);
            recycled.drain(..surplus);
        }
    }

    /// Blocks in use.
    pub(super) fn allocated(&self) -> usize {
        self.files.values().map(|node| node.seen.allocated()).sum()
    }
}
