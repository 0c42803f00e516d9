//! The workers' side of the log: each has a buffer, and a word that says that a commit is in flight.
//!
//! ```text
//!  worker    begin(ticks) ── fence, clock: commit_ts ── append ── end
//!            in_flight = ticks                          buffer    in_flight = NONE
//! ```
//! The flusher looks at `in_flight` *after* it has read the clock, and takes the buffer after that. See
//! `flush.rs` for the proof.

use crate::error::Result;
use crate::log::LogShared;
use crate::record::{CATALOG, DELETE, INSERT, RECORD_HEADER, SPLIT, UPDATE};
use crate::rules::Rule;
use scaledb_base::limits::MAX_KEY_BYTES;
use scaledb_base::{TableId, Timestamp, WorkerId, varint};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use scaledb_sync::lock::{Mutex, MutexGuard};
use std::fmt;

/// No commit is in flight.
pub(crate) const NONE: u64 = u64::MAX;

/// What a worker has appended and the flusher has not taken.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pub(crate) bytes: Vec<u8>,
    /// The largest commit_ts in it.
    pub(crate) newest: Timestamp,
    pub(crate) transactions: u64,
}

/// A worker's place, on cache lines of its own.
#[derive(Debug)]
pub(crate) struct Slot {
    /// At or below the ticks of the commit in flight, or [`NONE`]. Written by the worker only.
    pub(crate) in_flight: AtomicU64,
    /// `= buffer.bytes.len()`, to be read without the lock. Written under it.
    pub(crate) pending: AtomicUsize,
    /// Locked by the worker for the time of an append, and by the flusher for a swap.
    pub(crate) buffer: Mutex<Buffer>,
    taken: AtomicBool,
}

impl Slot {
    pub(crate) fn new() -> Self {
        Self {
            in_flight: AtomicU64::new(NONE),
            pending: AtomicUsize::new(0),
            buffer: Mutex::new(Buffer::default()),
            taken: AtomicBool::new(false),
        }
    }
}

/// A worker's access to the log. A worker has one at a time.
pub struct Writer {
    shared: Arc<LogShared>,
    worker: WorkerId,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("worker", &self.worker).finish()
    }
}

impl Writer {
    pub(crate) fn new(shared: Arc<LogShared>, worker: WorkerId) -> Self {
        let slot = &shared.slots[worker.index()];
        // with SeqCst, as the flusher's load: a slot that it does not look at begins its commits later
        shared.used.fetch_max(worker.index() + 1, Ordering::SeqCst);
        // Acquire: pairs with the Release of the drop of the writer before
        assert!(!slot.taken.swap(true, Ordering::Acquire), "worker {worker} has a writer of the log already");
        Self { shared, worker }
    }

    #[inline]
    fn slot(&self) -> &Slot {
        &self.shared.slots[self.worker.index()]
    }

    /// Makes sure that there is room for the records of a transaction, before it takes any lock; waits while
    /// the log is far behind.
    ///
    /// # Errors
    /// The log has failed, or is closed.
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        // a figure for back-pressure; the lock orders the content
        let pending = self.slot().pending.load(Ordering::Relaxed);
        let limit = self.shared.options.buffer_bytes;
        // a flag; what it stands for is read under a lock
        if pending.saturating_add(bytes) <= limit / 2 && !self.shared.stopped.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.reserve_slowly(bytes)
    }

    #[cold]
    fn reserve_slowly(&mut self, bytes: usize) -> Result<()> {
        self.shared.wait_for_room(self.slot())?;
        // rather now than under the locks of the commit
        self.slot().buffer.lock().bytes.reserve(bytes);
        Ok(())
    }

    /// A commit is in flight: its commit_ts, which it takes after a fence that follows this, has `ticks` or more.
    #[inline]
    pub fn begin(&self, ticks: u64) {
        // Release: a flusher that reads this has read past the `end` of the commit before, and must see its
        // append. The fence before the clock of the commit (C4) orders it before the timestamp.
        self.slot().in_flight.store(ticks, Ordering::Release);
    }

    /// [`Writer::begin`] for a transaction that has drawn its timestamp before. False: a horizon beyond it may have
    /// been promised, so that it comes too late; it needs another timestamp, of [`Writer::passed`] ticks or
    /// more, and this again.
    #[inline]
    pub fn begin_at(&self, ticks: u64) -> bool {
        self.begin(ticks);
        // pairs with the fence of the flusher: it sees the store above, or its `now` is seen below
        fence(Ordering::SeqCst);
        self.passed() <= ticks || !Rule::Passed.holds()
    }

    /// Timestamps with these ticks or more are not too late, as far as is known.
    #[inline]
    pub fn passed(&self) -> u64 {
        self.shared.passed.load(Ordering::SeqCst)
    }

    /// Starts the record of a transaction. To be called between [`Writer::begin`] and [`Writer::end`].
    #[inline]
    pub fn append(&mut self, ts: Timestamp) -> Append<'_> {
        let slot = self.slot();
        debug_assert_ne!(slot.in_flight.load(Ordering::Relaxed), NONE, "a record of no commit on its way");
        if !Rule::EndBehindAppend.holds() {
            self.end();
        }
        let mut buffer = slot.buffer.lock();
        let start = buffer.bytes.len();
        open_record(&mut buffer.bytes, ts);
        Append { buffer, slot, ts, start, record: start, finished: false }
    }

    /// The commit has appended its record, or was given up.
    #[inline]
    pub fn end(&self) {
        // Release: pairs with the flusher's Acquire load, which then sees what was appended
        self.slot().in_flight.store(NONE, Ordering::Release);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
        // Release: pairs with the Acquire of the next writer of this worker
        self.slot().taken.store(false, Ordering::Release);
    }
}

/// A transaction's record in the making. Dropped unfinished, it leaves nothing behind.
#[must_use = "a record that is not finished is taken back"]
pub struct Append<'a> {
    buffer: MutexGuard<'a, Buffer>,
    slot: &'a Slot,
    ts: Timestamp,
    /// Where the transaction starts in the buffer.
    start: usize,
    /// Where its present record starts: `record >= start`.
    record: usize,
    finished: bool,
}

impl fmt::Debug for Append<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Append").field("ts", &self.ts).finish()
    }
}

#[inline]
fn open_record(bytes: &mut Vec<u8>, ts: Timestamp) {
    let mut header = [0; RECORD_HEADER];
    header[..8].copy_from_slice(&ts.raw().to_le_bytes());
    bytes.extend_from_slice(&header);
}

#[inline]
fn close_record(bytes: &mut [u8], record: usize) {
    debug_assert!(record + RECORD_HEADER <= bytes.len(), "a record begins with its header");
    let len = bytes.len() - record - RECORD_HEADER;
    let len = u32::try_from(len).expect("a record is split before it is too long");
    bytes[record + 8..record + RECORD_HEADER].copy_from_slice(&len.to_le_bytes());
}

/// Puts the length of the value behind `at` there, where one byte is free: it takes more.
#[inline(never)]
fn long_value(bytes: &mut Vec<u8>, at: usize) {
    let end = bytes.len();
    let len = u32::try_from(end - at - 1).expect("a row is far shorter than 4 GiB");
    varint::push(bytes, len);
    let mut head = [0; 5];
    let head = &mut head[..bytes.len() - end];
    head.copy_from_slice(&bytes[end..]);
    bytes.truncate(end + head.len() - 1);
    bytes.copy_within(at + 1..end, at + head.len());
    bytes[at..at + head.len()].copy_from_slice(head);
}

impl Append<'_> {
    #[inline]
    fn op(&mut self, tag: u8, table: TableId, key: &[u8]) {
        assert!(key.len() <= MAX_KEY_BYTES, "a key of {} bytes", key.len());
        self.split();
        let bytes = &mut self.buffer.bytes;
        if table.0 < 0x80 && key.len() < 0x80 {
            // the usual case with one look at the buffer's capacity
            bytes.extend_from_slice(&[tag, table.0 as u8, key.len() as u8]);
        } else {
            bytes.push(tag);
            varint::push(bytes, table.0);
            varint::push(bytes, key.len() as u32);
        }
        bytes.extend_from_slice(key);
    }

    #[inline]
    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let bytes = &mut self.buffer.bytes;
        let at = bytes.len();
        bytes.push(0);
        write(bytes);
        let len = bytes.len() - at - 1;
        if len < 0x80 {
            bytes[at] = len as u8;
        } else {
            long_value(bytes, at);
        }
    }

    #[inline]
    fn split(&mut self) {
        debug_assert!(self.start <= self.record && self.record <= self.buffer.bytes.len());
        if self.buffer.bytes.len() - self.record > SPLIT {
            close_record(&mut self.buffer.bytes, self.record);
            self.record = self.buffer.bytes.len();
            open_record(&mut self.buffer.bytes, self.ts);
        }
    }

    /// A new row; `row` appends it.
    #[inline]
    pub fn insert(&mut self, table: TableId, key: &[u8], row: impl FnOnce(&mut Vec<u8>)) {
        self.op(INSERT, table, key);
        self.value(row);
    }

    /// A changed row; `columns` appends what has changed.
    #[inline]
    pub fn update(&mut self, table: TableId, key: &[u8], columns: impl FnOnce(&mut Vec<u8>)) {
        self.op(UPDATE, table, key);
        self.value(columns);
    }

    /// The end of a row.
    #[inline]
    pub fn delete(&mut self, table: TableId, key: &[u8]) {
        self.op(DELETE, table, key);
    }

    /// A change of the catalog.
    pub fn catalog(&mut self, entry: &[u8]) {
        self.split();
        self.buffer.bytes.push(CATALOG);
        self.value(|out| out.extend_from_slice(entry));
    }

    /// The record is whole: the flusher may take it.
    #[inline]
    pub fn finish(mut self) {
        self.finished = true;
        let buffer = &mut *self.buffer;
        close_record(&mut buffer.bytes, self.record);
        buffer.newest = buffer.newest.max(self.ts);
        buffer.transactions += 1;
        // published by the Release of `end`; under the lock
        self.slot.pending.store(buffer.bytes.len(), Ordering::Relaxed);
    }
}

impl Drop for Append<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.finished {
            self.buffer.bytes.truncate(self.start);
        }
    }
}
