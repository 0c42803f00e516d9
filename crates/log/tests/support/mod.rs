//! A disk in memory that keeps apart what was synced, counts and refuses operations; and short ways to write
//! and read a log.
#![allow(dead_code, reason = "each test file uses a part of it")]

use scaledb_base::{TableId, Timestamp, WorkerId};
use scaledb_log::disk::{Disk, File};
use scaledb_log::{DatabaseDir, Log, LogError, LogOptions, Op, Replay, Writer};
use scaledb_sync::Arc;
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::lock::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, ErrorKind};
use std::time::Duration;

pub(crate) const PAGE: u64 = 4096;

/// An operation on the disk that changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Create(String),
    Write(String, u64, usize),
    Sync(String),
    SetLen(String),
    Rename(String, String),
    Remove(String),
    SyncNames,
}

/// What is to happen instead of a step, if anything.
pub(crate) type Fault = Box<dyn FnMut(&Step) -> Option<io::Error> + Send>;

#[derive(Debug, Default, Clone)]
struct Content {
    /// Its present name.
    name: String,
    now: Vec<u8>,
    synced: Vec<u8>,
}

#[derive(Default)]
struct State {
    names: BTreeMap<String, Arc<Mutex<Content>>>,
    locks: BTreeSet<String>,
    steps: Vec<Step>,
    fault: Option<Fault>,
}

/// A directory in memory. Clones are the same directory.
#[derive(Clone, Default)]
pub(crate) struct MemDisk(Arc<Mutex<State>>);

impl fmt::Debug for MemDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemDisk")
    }
}

impl MemDisk {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn arc(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    fn step(&self, step: Step) -> io::Result<()> {
        let mut state = self.0.lock();
        if let Some(error) = state.fault.as_mut().and_then(|fault| fault(&step)) {
            return Err(error);
        }
        state.steps.push(step);
        Ok(())
    }

    pub(crate) fn set_fault(&self, fault: impl FnMut(&Step) -> Option<io::Error> + Send + 'static) {
        self.0.lock().fault = Some(Box::new(fault));
    }

    pub(crate) fn clear_fault(&self) {
        self.0.lock().fault = None;
    }

    /// What was done since the last call.
    pub(crate) fn take_steps(&self) -> Vec<Step> {
        std::mem::take(&mut self.0.lock().steps)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.lock().names.keys().cloned().collect()
    }

    pub(crate) fn segments(&self) -> Vec<String> {
        let segment = |name: &String| name.starts_with("log-") && !name.ends_with(".new");
        self.names().into_iter().filter(segment).collect()
    }

    fn content(&self, name: &str) -> io::Result<Arc<Mutex<Content>>> {
        self.0.lock().names.get(name).cloned().ok_or_else(|| ErrorKind::NotFound.into())
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        self.content(name).unwrap().lock().now.clone()
    }

    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) {
        let content = Content { name: name.to_owned(), now: bytes.clone(), synced: bytes };
        self.0.lock().names.insert(name.to_owned(), Arc::new(Mutex::new(content)));
    }

    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.read(name);
        edit(&mut bytes);
        self.write(name, bytes);
    }

    pub(crate) fn flip(&self, name: &str, bit: usize) {
        self.edit(name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
    }

    fn copy(&self, take: impl Fn(&Content) -> Vec<u8>) -> Self {
        let copy = Self::new();
        for (name, content) in &self.0.lock().names {
            copy.write(name, take(&content.lock()));
        }
        copy
    }

    /// The directory as another process would find it that opens it now.
    pub(crate) fn as_it_is(&self) -> Self {
        self.copy(|content| content.now.clone())
    }

    /// The directory after a loss of power that takes all that was not synced (names are kept).
    pub(crate) fn without_unsynced(&self) -> Self {
        self.copy(|content| content.synced.clone())
    }
}

struct Held(MemDisk, String);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.lock().locks.remove(&self.1);
    }
}

impl Disk for MemDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.step(Step::Create(name.to_owned()))?;
        let content = Arc::new(Mutex::new(Content { name: name.to_owned(), ..Content::default() }));
        self.0.lock().names.insert(name.to_owned(), content.clone());
        Ok(Box::new(MemFile { disk: self.clone(), content }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let content = self.content(name)?;
        Ok(Box::new(MemFile { disk: self.clone(), content }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.content(from)?;
        self.step(Step::Rename(from.to_owned(), to.to_owned()))?;
        let mut state = self.0.lock();
        let content = state.names.remove(from).ok_or(ErrorKind::NotFound)?;
        content.lock().name = to.to_owned();
        state.names.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.content(name)?;
        self.step(Step::Remove(name.to_owned()))?;
        self.0.lock().names.remove(name);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        self.step(Step::SyncNames)
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        match self.0.lock().locks.insert(name.to_owned()) {
            true => Ok(Box::new(Held(self.clone(), name.to_owned()))),
            false => Err(ErrorKind::WouldBlock.into()),
        }
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }
}

struct MemFile {
    disk: MemDisk,
    content: Arc<Mutex<Content>>,
}

impl fmt::Debug for MemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl MemFile {
    fn name(&self) -> String {
        self.content.lock().name.clone()
    }
}

impl File for MemFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().now.len() as u64)
    }

    fn read_at(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        let content = self.content.lock();
        let bytes = content.now.get(offset as usize..).and_then(|bytes| bytes.get(..to.len()));
        to.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        self.disk.step(Step::Write(self.name(), offset, from.len()))?;
        let mut content = self.content.lock();
        let end = offset as usize + from.len();
        if content.now.len() < end {
            content.now.resize(end, 0);
        }
        content.now[offset as usize..end].copy_from_slice(from);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.step(Step::Sync(self.name()))?;
        let mut content = self.content.lock();
        content.synced = content.now.clone();
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.step(Step::SetLen(self.name()))?;
        self.content.lock().now.resize(len as usize, 0);
        Ok(())
    }
}

/// An op that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Insert(u32, Vec<u8>, Vec<u8>),
    Update(u32, Vec<u8>, Vec<u8>),
    Delete(u32, Vec<u8>),
    Catalog(Vec<u8>),
}

impl From<Op<'_>> for Change {
    fn from(op: Op<'_>) -> Self {
        match op {
            Op::Insert { table, key, row } => Self::Insert(table.0, key.into(), row.into()),
            Op::Update { table, key, columns } => Self::Update(table.0, key.into(), columns.into()),
            Op::Delete { table, key } => Self::Delete(table.0, key.into()),
            Op::Catalog { entry } => Self::Catalog(entry.into()),
        }
    }
}

/// Segments of four pages, no threads.
pub(crate) fn manual() -> LogOptions {
    LogOptions {
        segment_bytes: 4 * PAGE,
        flush_interval: Duration::from_millis(1),
        buffer_bytes: 1 << 20,
        manual: true,
        ..LogOptions::default()
    }
}

/// A log that was started, and its clock.
pub(crate) struct Running {
    pub(crate) log: Arc<Log>,
    pub(crate) clock: Arc<Clock>,
}

/// What was in a directory when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovered {
    pub(crate) horizon: Timestamp,
    pub(crate) transactions: Vec<(Timestamp, Vec<Change>)>,
}

impl Recovered {
    pub(crate) fn stamps(&self) -> Vec<Timestamp> {
        self.transactions.iter().map(|transaction| transaction.0).collect()
    }
}

pub(crate) fn read(replay: &mut Replay) -> Result<Recovered, LogError> {
    let mut transactions = Vec::new();
    while let Some(batch) = replay.next_batch()? {
        for transaction in batch.transactions() {
            let ops: Result<Vec<Change>, LogError> =
                transaction.ops().map(|op| op.map(Change::from)).collect();
            transactions.push((transaction.ts, ops?));
        }
    }
    assert!(replay.is_done());
    assert!(transactions.is_sorted_by_key(|transaction| transaction.0), "batches are in order");
    Ok(Recovered { horizon: replay.horizon(), transactions })
}

/// Opens and reads, and starts nothing.
pub(crate) fn recover(disk: &MemDisk) -> Result<Recovered, LogError> {
    read(&mut DatabaseDir::open(disk.arc(), "test")?.replay()?)
}

pub(crate) fn start_with(disk: &MemDisk, options: LogOptions) -> Result<(Running, Recovered), LogError> {
    let directory = DatabaseDir::open(disk.arc(), "test")?;
    let mut replay = directory.replay()?;
    let recovered = read(&mut replay)?;
    let clock = Arc::new(Clock::with_source(Source::Counter, replay.newest().ticks()));
    let log = directory.start(replay, options, clock.clone())?;
    Ok((Running { log, clock }, recovered))
}

pub(crate) fn start(disk: &MemDisk) -> Running {
    start_with(disk, manual()).unwrap().0
}

impl Running {
    pub(crate) fn writer(&self, worker: u8) -> Writer {
        self.log.writer(WorkerId(worker))
    }

    /// Appends a transaction. Nobody has heard of it before it is durable.
    pub(crate) fn commit(&self, worker: u8, changes: &[Change]) -> Timestamp {
        self.writer(worker).reserve(100).unwrap();
        self.commit_unreserved(worker, changes)
    }

    pub(crate) fn commit_unreserved(&self, worker: u8, changes: &[Change]) -> Timestamp {
        let mut writer = self.writer(worker);
        writer.begin(self.clock.now());
        let ts = Timestamp::new(self.clock.now_fenced(), WorkerId(worker));
        let mut append = writer.append(ts);
        for change in changes {
            match change {
                Change::Insert(table, key, row) => {
                    append.insert(TableId(*table), key, |out| out.extend_from_slice(row));
                }
                Change::Update(table, key, columns) => {
                    append.update(TableId(*table), key, |out| out.extend_from_slice(columns));
                }
                Change::Delete(table, key) => append.delete(TableId(*table), key),
                Change::Catalog(entry) => append.catalog(entry),
            }
        }
        append.finish();
        writer.end();
        ts
    }

    /// A transaction that inserts `len` bytes.
    pub(crate) fn put(&self, worker: u8, len: usize) -> Timestamp {
        self.commit(worker, &[Change::Insert(1, b"key".to_vec(), vec![0xa5; len])])
    }

    /// The same, whether or not the log takes more.
    pub(crate) fn put_unreserved(&self, worker: u8, len: usize) -> Timestamp {
        self.commit_unreserved(worker, &[Change::Insert(1, b"key".to_vec(), vec![0xa5; len])])
    }

    /// A transaction in a group of its own, on disk.
    pub(crate) fn put_durable(&self, len: usize) -> Timestamp {
        let ts = self.put(0, len);
        assert!(self.log.flush_once().unwrap());
        assert!(self.log.durable() > ts);
        ts
    }

    /// The process dies: nothing is closed.
    pub(crate) fn kill(self, disk: &MemDisk) -> MemDisk {
        disk.as_it_is()
    }
}
