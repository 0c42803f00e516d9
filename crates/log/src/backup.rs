//! A copy of a database, while it is in use or not.
//!
//! The log goes on while it is copied. What is copied is settled first: the manifest, the parts that it names, and
//! the segments up to the last group that is whole now. Whoever removes or renames a file of a database does it
//! under the lock `HOLD`, without waiting for it; a backup takes that lock, so that all these files stay.

use crate::check::{CheckReport, check_held};
use crate::directory::lock;
use crate::disk::{Disk, File};
use crate::error::{IoContext, LogError, Result};
use crate::layout::{DatabaseId, PAGE, SegmentHeader};
use crate::manifest::Manifest;
use crate::name::{self, HOLD, LOCK, Name};
use crate::scan::scan;
use scaledb_base::Timestamp;
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// What was copied.
#[derive(Debug, Clone)]
pub struct BackupReport {
    /// Everything that was committed before it is in the copy: every commit that was acknowledged when the backup
    /// began.
    pub horizon: Timestamp,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What a check of the copy has found: nothing wrong.
    pub check: CheckReport,
}

/// Makes all files of a database stay.
pub(crate) fn hold(disk: &dyn Disk) -> Result<Box<dyn Send + Sync>> {
    /// Who removes files holds the lock for instants; another backup may hold it longer.
    const PATIENCE: Duration = Duration::from_secs(10);
    let since = Instant::now();
    loop {
        match lock(disk, HOLD) {
            Err(LogError::Locked { .. }) if since.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(10));
            }
            held => return held,
        }
    }
}

/// Copies a database to an empty directory, and checks the copy.
///
/// # Errors
/// [`LogError::NotEmpty`], [`LogError::NoDatabase`], [`LogError::Locked`], [`LogError::Io`]; damage to either of
/// the two.
pub fn backup(from: &Arc<dyn Disk>, to: &Arc<dyn Disk>) -> Result<BackupReport> {
    backup_when(from, to, || Ok(()))
}

/// The same; `ready` runs when no file of the database is removed any more, in front of the moment that is
/// copied. What it makes sure to be on disk is in the copy, and the checkpoint in the copy is from before.
///
/// # Errors
/// As [`backup`], or what `ready` returns.
pub fn backup_when<E: From<LogError>>(
    from: &Arc<dyn Disk>,
    to: &Arc<dyn Disk>,
    ready: impl FnOnce() -> std::result::Result<(), E>,
) -> std::result::Result<BackupReport, E> {
    let _target = lock(&**to, LOCK)?;
    let names = to.list().context("list", &to.describe())?;
    if names.iter().any(|name| Name::parse(name) != Name::Lock) {
        return Err(LogError::NotEmpty { directory: to.describe() }.into());
    }
    let _held = hold(&**from)?;
    let manifest = Manifest::read(&**from)?;
    let manifest = manifest.ok_or_else(|| LogError::NoDatabase { directory: from.describe() })?;
    ready()?;
    Ok(copy_held(from, to, manifest)?)
}

/// Copies a checkpoint and the log up to now, under both locks.
fn copy_held(from: &Arc<dyn Disk>, to: &Arc<dyn Disk>, manifest: Manifest) -> Result<BackupReport> {
    let scan = scan(&**from, &manifest)?;
    let (mut files, mut bytes) = (1, 0);
    let mut copy_file = |name: &str, len: u64| {
        (files, bytes) = (files + 1, bytes + len);
        copy(&**from, &**to, name, len)
    };
    if let Some(checkpoint) = &manifest.checkpoint {
        for (part, entry) in checkpoint.parts.iter().enumerate() {
            copy_file(&name::checkpoint(checkpoint.id, part as u16), entry.bytes)?;
        }
    }
    let of_groups = scan.segments.iter().map(|segment| (segment.number, segment.end));
    let void = scan.void.iter().map(|&number| (number, PAGE as u64));
    for (number, end) in of_groups.chain(void) {
        let name = name::segment(number);
        copy_file(&name, end)?;
        says_its_length(&**to, &name, manifest.database, number, end)?;
    }
    to.sync_names().context("sync the names of", &to.describe())?;
    // a copy that loses its end is damaged, not torn: it holds all up to the horizon
    Manifest { required: scan.horizon, ..manifest }.install(&**to)?;
    let check = check_held(to)?;
    match check.problems.first() {
        Some(problem) => Err(problem.clone()),
        None => Ok(BackupReport { horizon: scan.horizon, files, bytes, check }),
    }
}

/// Writes into the header of a copied segment that it is as long as it is now.
fn says_its_length(to: &dyn Disk, name: &str, database: DatabaseId, number: u64, length: u64) -> Result<()> {
    let file = to.open(name).context("open", name)?;
    let mut page = vec![0; PAGE];
    file.read_at(&mut page, 0).context("read", name)?;
    let header = SegmentHeader { length, ..SegmentHeader::decode(&page, name, database, number)? };
    file.write_at(&header.encode(), 0).context("write", name)?;
    file.sync().context("sync", name)
}

/// Copies the first `len` bytes of a file.
fn copy(from: &dyn Disk, to: &dyn Disk, name: &str, len: u64) -> Result<()> {
    const CHUNK: u64 = 1 << 20;
    let source = from.open(name).context("open", name)?;
    let target: Box<dyn File> = to.create(name).context("create", name)?;
    let mut chunk = Vec::new();
    let mut offset = 0;
    while offset < len {
        chunk.resize(CHUNK.min(len - offset) as usize, 0);
        source.read_at(&mut chunk, offset).context("read", name)?;
        target.write_at(&chunk, offset).context("write", name)?;
        offset += chunk.len() as u64;
    }
    target.sync().context("sync", name)
}
