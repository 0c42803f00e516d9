//! The log of a member: entries go in under the member's lock, and a thread waits for the disk.

use super::line::{Catalog, Head, Line};
use crate::codec::Malformed;
use crate::rows::Rows;
use crate::state::Core;
use scaledb_base::{Timestamp, WorkerId};
use scaledb_log::{CheckpointWriter, Log, LogError, Writer};
use scaledb_scar::Entry;
use scaledb_scar::link::Incarnation;
use scaledb_sync::Arc;
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::{Condvar, Mutex};
use std::time::Duration;

/// A member's only writer of the log.
const WRITER: WorkerId = WorkerId(0);

/// Entries of one call are written in transactions of about so many bytes.
const TRANSACTION_BYTES: usize = 1 << 20;

/// How long the thread waits before it looks whether the member ends.
const LOOK: Duration = Duration::from_millis(500);

/// The log of a member.
pub(crate) struct Journal {
    log: Arc<Log>,
    clock: Arc<Clock>,
    head: Head,
    inner: Mutex<Inner>,
    asked: Mutex<Asked>,
    wake: Condvar,
}

struct Inner {
    writer: Writer,
    /// The ticks of the last transaction: each has its own.
    last: u64,
    lives: Vec<Incarnation>,
    /// Since the last checkpoint began.
    bytes: u64,
    /// Where the last checkpoint began, and with what.
    begin: Option<(Timestamp, Entry<Rows>)>,
}

/// What the state machine waits for.
#[derive(Default)]
struct Asked {
    /// So many entries, the last of which has this time.
    entries: u64,
    until: Option<Timestamp>,
}

fn unencodable(error: &Malformed) -> LogError {
    LogError::Io {
        what: "write",
        file: "the log".to_owned(),
        error: Arc::new(std::io::Error::other(error.to_string())),
    }
}

impl Journal {
    pub(super) fn new(log: Arc<Log>, clock: Arc<Clock>, head: Head, lives: Vec<Incarnation>) -> Self {
        let writer = log.writer(WRITER);
        let inner = Inner { writer, last: 0, lives, bytes: 0, begin: None };
        let (asked, wake) = (Mutex::new(Asked::default()), Condvar::new());
        Self { log, clock, head, inner: Mutex::new(inner), asked, wake }
    }

    /// Writes a line, and waits until it is on disk.
    pub(super) fn write(&self, line: &Line) -> Result<(), LogError> {
        let mut bytes = Vec::new();
        line.encode(&mut bytes).map_err(|error| unencodable(&error))?;
        let ts = self.transaction(&mut self.inner.lock(), &[bytes])?;
        self.log.wait(ts)
    }

    /// This life goes on with what is there.
    pub(super) fn note_life(&self, life: Incarnation) -> Result<(), LogError> {
        self.write(&Line::Life(life))?;
        self.inner.lock().lives.push(life);
        Ok(())
    }

    /// This life begins with nothing.
    pub(super) fn begin_anew(&self, life: Incarnation) -> Result<(), LogError> {
        self.write(&Line::Anew(life))?;
        self.inner.lock().lives = vec![life];
        Ok(())
    }

    fn transaction(&self, inner: &mut Inner, lines: &[Vec<u8>]) -> Result<Timestamp, LogError> {
        let bytes = lines.iter().map(Vec::len).sum();
        inner.writer.reserve(bytes)?;
        let low = inner.last + 1;
        inner.writer.begin(low.max(self.clock.now()));
        inner.last = self.clock.now_fenced().max(low);
        let ts = Timestamp::new(inner.last, WRITER);
        let mut append = inner.writer.append(ts);
        lines.iter().for_each(|line| append.catalog(line));
        append.finish();
        inner.writer.end();
        inner.bytes += bytes as u64;
        Ok(ts)
    }

    /// Writes entries of the state machine. They are on disk sooner or later.
    ///
    /// # Errors
    /// The log has failed.
    pub(crate) fn append(&self, entries: impl Iterator<Item = Entry<Rows>>) -> Result<(), LogError> {
        let mut inner = self.inner.lock();
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for entry in entries {
            let begins = matches!(entry, Entry::Checkpoint(..)).then(|| entry.clone());
            let mut line = Vec::new();
            Line::Entry(entry).encode(&mut line).map_err(|error| unencodable(&error))?;
            // a checkpoint begins with a transaction: what is in front of it may go
            if !lines.is_empty() && (begins.is_some() || bytes >= TRANSACTION_BYTES) {
                self.transaction(&mut inner, &lines)?;
                (lines, bytes) = (Vec::new(), 0);
            }
            bytes += line.len();
            lines.push(line);
            if let Some(entry) = begins {
                let ts = self.transaction(&mut inner, &lines)?;
                (inner.begin, inner.bytes) = (Some((ts, entry)), 0);
                (lines, bytes) = (Vec::new(), 0);
            }
        }
        if !lines.is_empty() {
            self.transaction(&mut inner, &lines)?;
        }
        Ok(())
    }

    /// The state machine waits until so many entries are on disk: all that were appended.
    pub(crate) fn ask(&self, entries: u64) {
        let last = Timestamp::new(self.inner.lock().last, WRITER);
        let mut asked = self.asked.lock();
        if asked.entries < entries {
            *asked = Asked { entries, until: Some(last) };
            self.wake.notify_all();
        }
    }

    /// The next thing that is waited for.
    fn next(&self) -> Option<(u64, Timestamp)> {
        let mut asked = self.asked.lock();
        if asked.until.is_none() {
            asked = self.wake.wait_timeout(asked, LOOK);
        }
        asked.until.take().map(|until| (asked.entries, until))
    }

    /// Nobody waits any more.
    pub(crate) fn wake(&self) {
        let _between_check_and_wait = self.asked.lock();
        self.wake.notify_all();
    }

    /// Writes what is left, and ends the log.
    pub(crate) fn close(&self) {
        // what was promised is on disk already
        let _ = self.log.close();
    }

    /// Bytes of the log since the last checkpoint began.
    pub(super) fn bytes(&self) -> u64 {
        self.inner.lock().bytes
    }

    /// Begins to write the checkpoint whose walk has begun: what it says of itself, and the writer.
    pub(super) fn begin_checkpoint(&self) -> Result<Option<(Catalog, CheckpointWriter)>, LogError> {
        let (begin, lives) = {
            let mut inner = self.inner.lock();
            (inner.begin.take(), inner.lives.clone())
        };
        let Some((ts, begin)) = begin else { return Ok(None) };
        let writer = self.log.begin_checkpoint(ts)?;
        Ok(Some((Catalog { head: self.head.clone(), lives, begin }, writer)))
    }

    /// The time of the last transaction.
    pub(super) fn last(&self) -> Timestamp {
        Timestamp::new(self.inner.lock().last, WRITER)
    }
}

/// The thread that waits for the disk, and tells the state machine.
pub(crate) fn run(core: &Core, journal: &Journal) {
    while !core.stopping() {
        let Some((entries, until)) = journal.next() else { continue };
        match journal.log.wait(until) {
            Ok(()) => {
                let mut state = core.lock();
                if !state.left {
                    core.run(&mut state, |node, out| node.persisted(entries, out));
                }
            }
            Err(error) => core.fail(&error.to_string()),
        }
    }
    if core.failure().is_some() {
        // the others shall notice
        core.network.close();
    }
}
