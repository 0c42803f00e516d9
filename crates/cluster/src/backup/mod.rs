//! Backups of a durable cluster at an epoch, and a new cluster made from one.
//!
//! ```text
//!   command                                    each member
//!   wish in the metadata store ──────────────► its files stay; it reports its epoch
//!   epoch E := one behind all of these ──────► waits until E has committed, which is on the disks of all;
//!                                              copies its directory, checks the copy, reports that
//!   no wish any more ────────────────────────► files may go again
//!
//!   restore: each copy is read up to the end of E. A partition is taken from one that has it, and written into the
//!   directories of a cluster that has never run: its first view names the lives that have written them.
//! ```
//!
//! E is behind all that a checkpoint in a copy may have, and in front of the end of each log. Whatever was
//! answered before the command began is in an epoch before E. See `docs/internals/cluster-durability.md`.

mod command;
mod keep;
mod restore;

pub use command::{BackupError, Made, backup};
pub use keep::MakeTarget;
pub(crate) use keep::run as keep_backups;
pub use restore::{RestoreError, Restored, restore};

use super::store::MAX_NAME;
use scaledb_log::disk::Disk;
use scaledb_log::{LogError, Result as LogResult};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Epoch, NodeId};
use scaledb_sync::Arc;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The file of a copy that says what it is a copy of. It is written last.
const NOTE: &str = "BACKUP";

/// The bytes of that file, at most.
const MAX_NOTE: u64 = 1 << 20;

/// A wish that has not been renewed for so long is of a command that has died.
const STALE: Duration = Duration::from_secs(20);

/// What the members are to back up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BackupWish {
    /// What it is called: the name of a directory.
    pub name: String,
    /// A number that tells it from others of this name.
    pub number: u64,
    /// Grows as long as somebody waits for it.
    pub beat: u64,
    /// Who is to back up: the members when it began.
    pub lives: BTreeMap<NodeId, Incarnation>,
    /// The epoch, once all files stay.
    pub epoch: Option<Epoch>,
}

/// How far a member is with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BackupState {
    /// Of which.
    pub number: u64,
    /// How far.
    pub step: BackupStep,
}

/// The steps of a member.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BackupStep {
    /// Its files stay; what it has written so far is of this epoch or before.
    Holds(Epoch),
    /// The copy is complete, and was checked: its bytes.
    Done(u64),
    /// There is none: why.
    Failed(String),
}

/// What a copy is a copy of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Note {
    /// The backup.
    backup: String,
    number: u64,
    /// The cluster.
    cluster: String,
    /// Whose directory it is.
    node: String,
    /// Of what is behind this epoch, nothing counts.
    epoch: u64,
    /// Copies of the backup.
    copies: usize,
}

impl Note {
    fn write(&self, disk: &dyn Disk) -> LogResult<()> {
        let failed = |what| {
            let file = format!("{}/{NOTE}", disk.describe());
            move |error: std::io::Error| LogError::Io { what, file, error: Arc::new(error) }
        };
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| failed("write")(error.into()))?;
        let file = disk.create(NOTE).map_err(failed("create"))?;
        file.write_and_sync(&bytes, 0).map_err(failed("write"))?;
        disk.sync_names().map_err(failed("write"))
    }

    /// None if there is none.
    fn read(disk: &dyn Disk) -> std::io::Result<Option<Self>> {
        let file = match disk.open(NOTE) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let length = file.len()?;
        if length > MAX_NOTE {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it is too long"));
        }
        let mut bytes = vec![0; length as usize];
        file.read_at(&mut bytes, 0)?;
        Ok(Some(serde_json::from_slice(&bytes)?))
    }
}

/// Whether a backup can be called so: it is the name of a directory.
fn is_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(fine) && !name.starts_with('.')
}
