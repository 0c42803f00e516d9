//! Removing files that mean nothing any more, unless somebody holds on to them.

use crate::disk::Disk;
use crate::error::{IoContext, Result};
use crate::name::Name;
use crate::segments::try_hold;
use std::io::ErrorKind;

/// Removes files of checkpoints other than `keep`. Returns false if a backup is at work: then they stay.
pub(crate) fn remove_checkpoints(disk: &dyn Disk, keep: Option<u64>) -> Result<bool> {
    remove(disk, |name| matches!(name, Name::Checkpoint { id, .. } if Some(id) != keep))
}

/// Removes the files that `unwanted` says. Returns false if a backup is at work: then they stay.
pub(crate) fn remove(disk: &dyn Disk, unwanted: impl Fn(Name) -> bool) -> Result<bool> {
    let Some(_held) = try_hold(disk)? else { return Ok(false) };
    for name in disk.list().context("list", &disk.describe())? {
        if unwanted(Name::parse(&name)) {
            match disk.remove(&name) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => done.context("remove", &name)?,
            }
        }
    }
    Ok(true)
}
