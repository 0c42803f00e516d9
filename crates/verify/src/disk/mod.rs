//! A disk in memory that loses what a real one may lose.
//!
//! ```text
//!   write ──> seen by readers (page cache) ──sync──> durable
//!                   │ kill of the process              │ power loss
//!                   ▼                                  ▼
//!             all that is seen,              all that is durable, and of the
//!             still not synced               rest what luck decides: crash.rs
//! ```
//! A disk records every operation that changes it. One run then yields, for each operation, the disks that are
//! found if the machine stops just after it: [`SimDisk::image`]. (A stop within an operation is among them: a
//! write or a change of a name is not durable when it ends, and a sync that has not ended has promised
//! nothing.) All is determined by seeds. Images share their blocks, so that one costs microseconds.

mod content;
mod crash;
mod faults;
mod journal;
mod state;

pub use content::SECTOR;
pub use faults::{Call, Fault, When};
pub use journal::Operation;

use content::BLOCK;
use faults::{Faults, device_error, no_space};
use rand::Rng;
use scaledb_log::disk::{Disk, File};
use scaledb_sync::Arc;
use scaledb_sync::lock::{Mutex, MutexGuard};
use state::{Change, DiskState, FileId, NameChange, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, ErrorKind};

/// The largest file, against offsets that make no sense.
const MAX_FILE: usize = 1 << 40;

/// A simulated disk. A clone is the same disk.
#[derive(Clone)]
pub struct SimDisk {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    state: DiskState,
    /// The state before the first operation, and after each.
    history: Vec<DiskState>,
    /// `history[i + 1]` is what `journal[i]` has made of `history[i]`.
    journal: Vec<Operation>,
    recording: bool,
    operations: usize,
    next_file: FileId,
    /// How many handles each file has.
    open: BTreeMap<FileId, usize>,
    locks: BTreeSet<String>,
    /// Blocks of [`BLOCK`] bytes.
    capacity: usize,
    faults: Faults,
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner();
        f.debug_struct("SimDisk").field("names", &inner.state.names).finish_non_exhaustive()
    }
}

impl SimDisk {
    /// An empty disk that records what is done.
    pub fn new(seed: u64) -> Self {
        Self::of(DiskState::default(), seed).recording()
    }

    /// A disk that does not record.
    fn of(state: DiskState, seed: u64) -> Self {
        let next_file = state.files.last_key_value().map_or(0, |(last, _)| last + 1);
        let inner = Inner {
            state,
            history: Vec::new(),
            journal: Vec::new(),
            recording: false,
            operations: 0,
            next_file,
            open: BTreeMap::new(),
            locks: BTreeSet::new(),
            capacity: usize::MAX,
            faults: Faults::new(seed),
        };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Records from here on: images do not by themselves.
    #[must_use]
    pub fn recording(self) -> Self {
        {
            let mut inner = self.inner();
            inner.recording = true;
            inner.operations = 0;
            inner.history = vec![inner.state.clone()];
            inner.journal = Vec::new();
        }
        self
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// How many operations (all that change the disk, syncs included) there were, since recording began.
    pub fn operations(&self) -> usize {
        self.inner().operations
    }

    /// How many moments there are to lose power at: before the first operation, and after each.
    pub fn crash_points(&self) -> usize {
        self.inner().history.len()
    }

    /// What was done, one operation after the other: crash point `n` lies behind the first `n` of them.
    pub fn journal(&self) -> Vec<Operation> {
        self.inner().journal.clone()
    }

    /// How many calls of a kind there were.
    pub fn calls(&self, call: Call) -> usize {
        self.inner().faults.calls(call)
    }

    /// What a machine finds that loses power after operation `at`; the seed decides what is lost.
    ///
    /// # Panics
    /// There is no such crash point.
    pub fn image(&self, at: usize, seed: u64) -> Self {
        let inner = self.inner();
        Self::of(crash::image(&inner.history[at], seed), seed)
    }

    /// What the next process finds if this one is killed after operation `at`: all that was written, and no
    /// more of it durable than before.
    ///
    /// # Panics
    /// There is no such crash point.
    pub fn killed(&self, at: usize) -> Self {
        Self::of(self.inner().history[at].clone(), at as u64)
    }

    /// Plans a fault. One that is planned earlier goes first.
    pub fn inject(&self, when: When, fault: Fault) {
        self.inner().faults.add(when, fault);
    }

    /// Forgets the faults that are planned.
    pub fn heal(&self) {
        self.inner().faults.clear();
    }

    /// Limits what files may take, rounded up to blocks of 4 KiB.
    pub fn set_capacity(&self, bytes: usize) {
        self.inner().capacity = bytes.div_ceil(BLOCK);
    }

    /// Turns over bits of a byte at rest. False: there is no such byte.
    pub fn flip(&self, name: &str, offset: usize, bits: u8) -> bool {
        let mut inner = self.inner();
        let Some(file) = inner.state.names.get(name).copied() else { return false };
        let Some(node) = inner.state.files.get_mut(&file) else { return false };
        Arc::make_mut(&mut node.durable).flip(offset, bits);
        Arc::make_mut(&mut node.seen).flip(offset, bits)
    }

    /// The bytes of a file, as a reader sees them.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let inner = self.inner();
        let content = &inner.state.files.get(inner.state.names.get(name)?)?.seen;
        let mut bytes = vec![0; content.len()];
        content.read(&mut bytes, 0).then_some(bytes)
    }

    fn handle(&self, inner: &mut Inner, file: FileId) -> Box<dyn File> {
        *inner.open.entry(file).or_default() += 1;
        Box::new(SimFile { disk: self.clone(), file })
    }
}

impl Inner {
    /// Counts a call that changes the disk; says what goes wrong with it.
    fn begin(&mut self, call: Call, name: &str) -> Option<Fault> {
        self.faults.meet(call, name, Some(self.operations))
    }

    /// A call that may have changed the disk is over.
    fn end(&mut self, operation: impl FnOnce() -> Operation) {
        self.operations += 1;
        if self.recording {
            self.journal.push(operation());
            self.history.push(self.state.clone());
        }
    }

    /// The name of a file, or what stands for that of one that has none.
    fn name(&self, file: FileId) -> Arc<str> {
        let named = self.state.names.iter().find(|(_, other)| **other == file);
        named.map_or_else(|| "(removed)".into(), |(name, _)| name.clone())
    }

    /// Counts a call that changes nothing.
    fn look(&mut self, call: Call, name: &str) -> io::Result<()> {
        self.faults.meet(call, name, None).map_or(Ok(()), |fault| Err(error(fault)))
    }

    fn find(&self, name: &str) -> io::Result<(Arc<str>, FileId)> {
        let found = self.state.names.get_key_value(name).map(|(name, file)| (name.clone(), *file));
        found.ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("there is no file {name}")))
    }

    fn create(&mut self, name: &str) -> FileId {
        let file = self.next_file;
        self.next_file += 1;
        self.state.files.insert(file, Node::default());
        self.state.change_names(NameChange::Create { name: name.into(), file });
        file
    }

    fn node(&mut self, file: FileId) -> io::Result<&mut Node> {
        // a handle keeps its file
        self.state.files.get_mut(&file).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// A change of names: if it fails, it may have been made nevertheless.
    fn change_names(&mut self, call: Call, change: NameChange) -> io::Result<()> {
        let fault = self.begin(call, change.name());
        if fault.is_none() || self.faults.rng.random() {
            self.state.change_names(change.clone());
        }
        self.end(|| match change {
            NameChange::Create { name, .. } => Operation::Create(name),
            NameChange::Rename { from, to, .. } => Operation::Rename { from, to },
            NameChange::Remove { name } => Operation::Remove(name),
        });
        fault.map_or(Ok(()), |fault| Err(error(fault)))
    }

    /// Writes as much as fits and as `fault` lets.
    fn write(&mut self, file: FileId, from: &[u8], offset: usize, fault: Option<Fault>) -> io::Result<()> {
        let mut len = match fault {
            None => from.len(),
            Some(Fault::Short(len)) => len.min(from.len()),
            Some(Fault::Full) => 0,
            Some(_) => self.faults.rng.random_range(0..=from.len()),
        };
        let free = match self.capacity {
            usize::MAX => usize::MAX,
            capacity => capacity.saturating_sub(self.state.allocated()),
        };
        let node = self.node(file)?;
        let mut full = false;
        while node.seen.missing(offset, len) > free {
            // back to the last block's start
            len = ((offset + len - 1) / BLOCK * BLOCK).saturating_sub(offset);
            full = true;
        }
        if len > 0 {
            node.change(Change::Write { offset, bytes: from[..len].into() });
        }
        match fault {
            Some(fault) => Err(error(fault)),
            None if full => Err(no_space()),
            None => Ok(()),
        }
    }

    fn sync(&mut self, file: FileId, fault: Option<Fault>) -> io::Result<()> {
        match fault {
            None => self.node(file)?.sync(),
            Some(Fault::Lie) => {}
            Some(fault) => {
                let node = self.node(file)?.clone();
                if !node.changes.is_empty() {
                    let durable = crash::surviving(&node, &self.state, &mut self.faults.rng);
                    self.node(file)?.sync_failed(durable);
                }
                return Err(error(fault));
            }
        }
        Ok(())
    }
}

fn error(fault: Fault) -> io::Error {
    match fault {
        Fault::Full => no_space(),
        Fault::Error | Fault::Short(_) | Fault::Lie => device_error(),
    }
}

/// A directory is flat, as on a real disk.
fn checked(name: &str) -> io::Result<&str> {
    let bad = name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']);
    if bad { Err(ErrorKind::InvalidInput.into()) } else { Ok(name) }
}

fn position(offset: u64, len: usize) -> io::Result<usize> {
    let start = usize::try_from(offset).ok().filter(|start| *start <= MAX_FILE && len <= MAX_FILE - start);
    start.ok_or_else(|| ErrorKind::FileTooLarge.into())
}

impl Disk for SimDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let inner = &mut *self.inner();
        let name = checked(name)?;
        if let Some(fault) = inner.begin(Call::Create, name) {
            return Err(error(fault));
        }
        let file = match inner.find(name) {
            Ok((_, file)) => {
                inner.node(file)?.change(Change::SetLen(0));
                file
            }
            Err(_) => inner.create(name),
        };
        inner.end(|| Operation::Create(name.into()));
        Ok(self.handle(inner, file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let inner = &mut *self.inner();
        let name = checked(name)?;
        inner.look(Call::Open, name)?;
        let (_, file) = inner.find(name)?;
        Ok(self.handle(inner, file))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut inner = self.inner();
        inner.look(Call::List, "")?;
        Ok(inner.state.names.keys().map(|name| name.to_string()).collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut inner = self.inner();
        let (from, file) = inner.find(checked(from)?)?;
        let to = checked(to)?.into();
        inner.change_names(Call::Rename, NameChange::Rename { from, to, file })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut inner = self.inner();
        let (name, _) = inner.find(checked(name)?)?;
        inner.change_names(Call::Remove, NameChange::Remove { name })
    }

    fn sync_names(&self) -> io::Result<()> {
        let inner = &mut *self.inner();
        let changed = inner.state.name_changes.clone();
        let fault = inner.begin(Call::SyncNames, changed.last().map_or("", NameChange::name));
        if fault.is_none() {
            let open = &inner.open;
            inner.state.sync_names(|file| open.contains_key(&file));
        }
        inner.end(|| Operation::SyncNames);
        match fault {
            None | Some(Fault::Lie) => Ok(()),
            Some(fault) => Err(error(fault)),
        }
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        let mut inner = self.inner();
        let name = checked(name)?;
        if !inner.locks.insert(name.to_owned()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        if inner.find(name).is_err() {
            inner.create(name);
            inner.end(|| Operation::Create(name.into()));
        }
        Ok(Box::new(Lock { disk: self.clone(), name: name.to_owned() }))
    }

    fn describe(&self) -> String {
        "a simulated disk".to_owned()
    }
}

/// A lock that is held.
struct Lock {
    disk: SimDisk,
    name: String,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.disk.inner().locks.remove(&self.name);
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    file: FileId,
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut inner = self.disk.inner();
        if let Some(handles) = inner.open.get_mut(&self.file) {
            *handles -= 1;
            if *handles == 0 {
                inner.open.remove(&self.file);
            }
        }
    }
}

impl File for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.inner().node(self.file)?.seen.len() as u64)
    }

    fn read_at(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        let mut inner = self.disk.inner();
        let name = inner.name(self.file);
        inner.look(Call::Read, &name)?;
        let seen = &inner.node(self.file)?.seen;
        // nothing is read behind the largest file
        let inside = usize::try_from(offset).is_ok_and(|offset| seen.read(to, offset));
        if inside { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let offset = position(offset, from.len())?;
        let mut inner = self.disk.inner();
        let name = inner.name(self.file);
        let fault = inner.begin(Call::Write, &name);
        let result = inner.write(self.file, from, offset, fault);
        inner.end(|| Operation::Write { name, offset, len: from.len() });
        result
    }

    fn sync(&self) -> io::Result<()> {
        let mut inner = self.disk.inner();
        let name = inner.name(self.file);
        let fault = inner.begin(Call::Sync, &name);
        let result = inner.sync(self.file, fault);
        inner.end(|| Operation::Sync(name));
        result
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let len = position(len, 0)?;
        let mut inner = self.disk.inner();
        let name = inner.name(self.file);
        let fault = inner.begin(Call::SetLen, &name);
        let result = match fault {
            Some(fault) => Err(error(fault)),
            None => inner.node(self.file).map(|node| node.change(Change::SetLen(len))),
        };
        inner.end(|| Operation::SetLen { name, len });
        result
    }
}

#[cfg(test)]
mod tests;
