//! The thread of a member that copies its directory when it is told to.

use super::{BackupState, BackupStep, BackupWish, Note, STALE, is_name};
use crate::durable::Owner;
use crate::state::Core;
use scaledb_log::disk::Disk;
use scaledb_log::{LogError, backup_when};
use scaledb_scar::Epoch;
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// How often it asks the store whether there is something to do.
const ASK: Duration = Duration::from_secs(1);

/// How often it looks while a backup is made.
const LOOK: Duration = Duration::from_millis(50);

/// Makes the directory of this node's copy, by the name of a backup.
pub type MakeTarget = dyn Fn(&str) -> std::io::Result<Arc<dyn Disk>> + Send + Sync;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("{0}")]
    Here(String),
}

/// Looks for wishes until the member ends. Without a place for copies it says so when it is asked.
pub(crate) fn run(core: &Core, owner: &Owner, from: &Arc<dyn Disk>, target: Option<&MakeTarget>) {
    let (mut last, mut asked) = (None, Instant::now());
    while !core.stopping() {
        thread::sleep(LOOK);
        if asked.elapsed() < ASK {
            continue;
        }
        asked = Instant::now();
        // a store that does not answer is asked again
        let Ok(Some(wish)) = core.store.backup() else { continue };
        let mine = wish.lives.get(&core.me) == Some(&core.life);
        if !mine || last == Some(wish.number) {
            continue;
        }
        last = Some(wish.number);
        let step = match make(core, owner, from, target, &wish) {
            Ok(bytes) => BackupStep::Done(bytes),
            Err(why) => BackupStep::Failed(why.to_string()),
        };
        tell(core, &wish, step);
    }
}

fn tell(core: &Core, wish: &BackupWish, step: BackupStep) {
    core.views.lock().backup = Some(BackupState { number: wish.number, step });
    // if it does not get there now, it will with the next report
    let _ = core.report();
}

fn make(
    core: &Core,
    owner: &Owner,
    from: &Arc<dyn Disk>,
    target: Option<&MakeTarget>,
    wish: &BackupWish,
) -> Result<u64, Failed> {
    let no_place = || Failed::Here("it has no directory for backups (--cluster-backups)".to_owned());
    let target = target.ok_or_else(no_place)?;
    // the store is not of this crate
    if !is_name(&wish.name) {
        return Err(Failed::Here("that cannot be the name of a backup".to_owned()));
    }
    let to = target(&wish.name).map_err(|error| Failed::Here(error.to_string()))?;
    let mut epoch = Epoch(0);
    let report = backup_when(from, &to, || {
        // the guard goes first: a report locks, too
        let now = core.lock().node.epoch();
        tell(core, wish, BackupStep::Holds(now));
        epoch = told(core, wish)?;
        committed(core, epoch)
    })?;
    let note = Note {
        backup: wish.name.clone(),
        number: wish.number,
        cluster: owner.cluster.clone(),
        node: owner.name.clone(),
        epoch: epoch.0,
        copies: wish.lives.len(),
    };
    note.write(&*to)?;
    Ok(report.bytes)
}

/// Waits until the command has named the epoch.
fn told(core: &Core, wish: &BackupWish) -> Result<Epoch, Failed> {
    let (mut beat, mut since) = (wish.beat, Instant::now());
    while since.elapsed() < STALE && !core.stopping() {
        match core.store.backup() {
            Ok(Some(now)) if now.number == wish.number => {
                if let Some(epoch) = now.epoch {
                    return Ok(epoch);
                }
                if now.beat != beat {
                    (beat, since) = (now.beat, Instant::now());
                }
            }
            Ok(_) => break,
            // a store that is away for long ends it
            Err(_) => {}
        }
        thread::sleep(LOOK);
    }
    Err(Failed::Here("it was given up".to_owned()))
}

/// Waits until an epoch has committed: then the disks of all members have it.
fn committed(core: &Core, epoch: Epoch) -> Result<(), Failed> {
    let since = Instant::now();
    while core.lock().node.committed() < epoch {
        let patience = core.settings.patience;
        if since.elapsed() > patience || core.stopping() || core.lock().left {
            return Err(Failed::Here(format!("epoch {} does not commit", epoch.0)));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
