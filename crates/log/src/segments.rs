//! The segments on disk: prepared ahead, kept while they are needed, used again.
//!
//! ```text
//!  log-N.new ── zeros (or an old segment), header, sync ── rename ──► log-N, ready
//!      ▲                                                                │ the current one is full
//!      │ rename                                                         ▼
//!  spare-M.new ◄── rename ── covered by a checkpoint ◄──────────── current, kept
//! ```
//! Writing over blocks that the file has already syncs more than twice as fast as making it grow. A file gets
//! the name of a segment when all of its header is durable: a segment without a valid header is damaged.

use crate::disk::{Buffer, Disk, File};
use crate::error::{IoContext, LogError, Result};
use crate::layout::{PAGE, SegmentHeader};
use crate::name::{self, HOLD};
use crate::rules::Rule;
use scaledb_base::Timestamp;
use scaledb_sync::lock::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::time::Duration;

/// A segment that groups can be written to.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) number: u64,
    pub(crate) file: Box<dyn File>,
    pub(crate) len: u64,
}

/// A segment of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    /// The largest commit_ts in it.
    pub(crate) newest: Timestamp,
}

#[derive(Debug)]
enum Next {
    /// Is to be prepared.
    Wanted,
    /// Somebody prepares it.
    InWork,
    Ready(Prepared),
    /// Could not be prepared; is tried again.
    Failed,
}

#[derive(Debug)]
pub(crate) struct SegmentStates {
    /// The log, oldest first; the last one is the current segment.
    pub(crate) kept: VecDeque<Kept>,
    /// Not needed any more, and not removed yet.
    pub(crate) covered: Vec<Kept>,
    /// Names that files wait under to be used again.
    spares: Vec<u64>,
    next: Next,
    stop: bool,
}

/// The segments of a running log.
#[derive(Debug)]
pub(crate) struct Segments {
    /// What all headers of the incarnation have in common; the number is the next one's.
    template: SegmentHeader,
    bytes: u64,
    recycle: usize,
    pub(crate) state: Mutex<SegmentStates>,
    changed: Condvar,
}

/// Prepares a segment: from a spare file if there is one, otherwise with zeros. Its header says how long it was
/// made. `given_up` is asked now and then.
pub(crate) fn prepare(
    disk: &dyn Disk,
    header: &SegmentHeader,
    len: u64,
    spare: Option<u64>,
    given_up: impl Fn() -> bool,
) -> Result<Prepared> {
    let header = SegmentHeader { length: len.max(PAGE as u64), ..*header };
    let name = name::segment_in_preparation(header.number);
    let made = write_segment(disk, &header, len, spare, &name, given_up);
    if made.is_err() {
        // what is left would be in the way on a full disk; if it stays, the next opening removes it
        let _ = disk.remove(&name);
    }
    made
}

fn write_segment(
    disk: &dyn Disk,
    header: &SegmentHeader,
    len: u64,
    spare: Option<u64>,
    name: &str,
    given_up: impl Fn() -> bool,
) -> Result<Prepared> {
    const CHUNK: usize = 1 << 20;
    const SYNC_EVERY: u64 = 8 << 20;
    let file = match spare {
        Some(spare) => {
            disk.rename(&name::spare(spare), name).context("rename", name)?;
            // the old name must be gone before the file says that it is another
            disk.sync_names().context("sync the names of", &disk.describe())?;
            disk.open(name).context("open", name)?
        }
        None => {
            let file = disk.create(name).context("create", name)?;
            let mut zeros = Buffer::new();
            zeros.resize(CHUNK.min(len as usize));
            let mut offset = 0;
            while offset < len {
                if given_up() {
                    return Err(LogError::Closed);
                }
                let n = (len - offset).min(zeros.len() as u64);
                file.write_at(&zeros[..n as usize], offset).context("write", name)?;
                offset += n;
                // in small steps, since the log syncs groups meanwhile
                if offset.is_multiple_of(SYNC_EVERY) {
                    file.sync().context("sync", name)?;
                }
            }
            file
        }
    };
    file.write_at(&header.encode(), 0).context("write", name)?;
    file.sync().context("sync", name)?;
    let to = name::segment(header.number);
    disk.rename(name, &to).context("rename", name)?;
    disk.sync_names().context("sync the names of", &disk.describe())?;
    Ok(Prepared { number: header.number, file, len: len.max(PAGE as u64) })
}

/// Keeps backups away while files are removed. `None`: one is at work, so that they have to stay.
pub(crate) fn try_hold(disk: &dyn Disk) -> Result<Option<Box<dyn Send + Sync>>> {
    match disk.lock(HOLD) {
        _ if !Rule::Hold.holds() => Ok(Some(Box::new(()))),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        held => held.context("lock", HOLD).map(Some),
    }
}

/// Sees to it that nobody waits for a segment whose preparation has panicked.
struct Unwound<'a>(&'a Segments);

impl Drop for Unwound<'_> {
    fn drop(&mut self) {
        self.0.state.lock().next = Next::Failed;
        self.0.changed.notify_all();
    }
}

impl Segments {
    /// `first` is the number of the first segment of the incarnation, `kept` what is there of earlier ones.
    pub(crate) fn new(first: SegmentHeader, bytes: u64, recycle: usize, kept: Vec<Kept>) -> Self {
        let state = SegmentStates {
            kept: kept.into(),
            covered: Vec::new(),
            spares: Vec::new(),
            next: Next::Wanted,
            stop: false,
        };
        let template = SegmentHeader { number: first.number + 1, ..first };
        Self { template, bytes, recycle, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn next_header(&self, state: &SegmentStates) -> SegmentHeader {
        let number = state.kept.back().map_or(self.template.number, |last| last.number + 1);
        SegmentHeader { number, ..self.template }
    }

    /// Prepares the next segment unless that is done. Returns whether there is one. `given_up` is asked now and
    /// then: only the helper gives up. A group that needs the segment is written while the log is being closed,
    /// too.
    pub(crate) fn prepare_next(&self, disk: &dyn Disk, given_up: impl Fn() -> bool) -> Result<bool> {
        let mut state = self.state.lock();
        match state.next {
            Next::Wanted | Next::Failed => {}
            Next::InWork => return Ok(false),
            Next::Ready(_) => return Ok(true),
        }
        let header = self.next_header(&state);
        let spare = state.spares.pop();
        state.next = Next::InWork;
        drop(state);
        let unwound = Unwound(self);
        let prepared = prepare(disk, &header, self.bytes, spare, given_up);
        std::mem::forget(unwound);
        let mut state = self.state.lock();
        self.changed.notify_all();
        match prepared {
            Ok(prepared) => {
                state.next = Next::Ready(prepared);
                Ok(true)
            }
            Err(error) => {
                state.next = Next::Failed;
                Err(error)
            }
        }
    }

    /// The next segment, which becomes the current one. Waits if it is in work.
    pub(crate) fn switch(&self, disk: &dyn Disk) -> Result<Prepared> {
        loop {
            let mut state = self.state.lock();
            while matches!(state.next, Next::InWork) {
                state = self.changed.wait_timeout(state, Duration::from_secs(1));
            }
            if matches!(state.next, Next::Ready(_))
                && let Next::Ready(next) = std::mem::replace(&mut state.next, Next::Wanted)
            {
                state.kept.push_back(Kept { number: next.number, bytes: next.len, newest: Timestamp::ZERO });
                self.changed.notify_all();
                return Ok(next);
            }
            drop(state);
            self.prepare_next(disk, || false)?;
        }
    }

    /// The helper's work: keeps one segment prepared, until [`Segments::stop`].
    pub(crate) fn keep_prepared(&self, disk: &dyn Disk, mut failed: impl FnMut()) {
        /// After a failure, and in case of a lost notification.
        const RETRY: Duration = Duration::from_secs(1);
        loop {
            if self.prepare_next(disk, || self.state.lock().stop).is_err() {
                failed();
            }
            let mut state = self.state.lock();
            if matches!(state.next, Next::Failed) && !state.stop {
                state = self.changed.wait_timeout(state, RETRY);
            }
            while matches!(state.next, Next::Ready(_) | Next::InWork) && !state.stop {
                state = self.changed.wait_timeout(state, RETRY);
            }
            if state.stop {
                return;
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }

    /// A group was written to the current segment.
    pub(crate) fn wrote(&self, newest: Timestamp, end: u64) {
        if let Some(current) = self.state.lock().kept.back_mut() {
            current.newest = current.newest.max(newest);
            current.bytes = current.bytes.max(end);
        }
    }

    /// Which segment the log must begin with, if what is before `begin` is in a checkpoint. The segment that
    /// holds the last group stays: the front of a log always has a group, or is the front of an incarnation.
    pub(crate) fn first_needed(&self, begin: Timestamp, last_group_in: u64) -> u64 {
        let state = self.state.lock();
        let needed =
            |kept: &&Kept| kept.newest >= begin && Rule::KeepNeeded.holds() || kept.number >= last_group_in;
        state.kept.iter().find(needed).map_or(last_group_in, |kept| kept.number)
    }

    /// Removes or recycles what lies in front of `first`. Returns whether all is gone that should be.
    pub(crate) fn remove_before(&self, disk: &dyn Disk, first: u64) -> Result<bool> {
        let mut state = self.state.lock();
        while state.kept.front().is_some_and(|kept| kept.number < first) {
            let kept = state.kept.pop_front();
            state.covered.extend(kept);
        }
        let covered = std::mem::take(&mut state.covered);
        let room = self.recycle.saturating_sub(state.spares.len());
        drop(state);
        if covered.is_empty() {
            return Ok(true);
        }
        let Some(_held) = try_hold(disk)? else {
            self.state.lock().covered.extend(covered);
            return Ok(false);
        };
        let mut spares = Vec::new();
        let mut left = Vec::new();
        for kept in covered {
            let name = name::segment(kept.number);
            let done = if spares.len() < room && kept.bytes == self.bytes {
                disk.rename(&name, &name::spare(kept.number)).map(|()| spares.push(kept.number))
            } else {
                disk.remove(&name)
            };
            // what cannot be removed now is tried again
            if done.is_err_and(|error| error.kind() != ErrorKind::NotFound) {
                left.push(kept);
            }
        }
        let mut state = self.state.lock();
        state.spares.extend(spares);
        let all = left.is_empty();
        state.covered.extend(left);
        Ok(all)
    }

    pub(crate) fn count(&self) -> u64 {
        self.state.lock().kept.len() as u64
    }
}

impl From<&crate::scan::Segment> for Kept {
    fn from(segment: &crate::scan::Segment) -> Self {
        Self { number: segment.number, bytes: segment.file_bytes, newest: segment.newest }
    }
}
