//! A database directory, from its lock to the start of its log.
//!
//! ```text
//!  open ──► checkpoint ──► replay ──► start
//!  LOCK     rows           batches    a new incarnation: 1. the last group, again, synced
//!  MANIFEST                                              2. a segment that names the cut
//!                                                        3. the manifest
//!                                                        4. what means nothing any more goes
//! ```

use crate::checkpoint::Checkpoint;
use crate::disk::Disk;
use crate::error::{IoContext, LogError, Result};
use crate::flush::Flusher;
use crate::housekeeping::remove;
use crate::layout::{DatabaseId, Seed, SegmentHeader};
use crate::log::{Log, LogShared, Parts};
use crate::manifest::Manifest;
use crate::name::{self, LOCK, Name};
use crate::options::LogOptions;
use crate::replay::Replay;
use crate::rules::Rule;
use crate::scan::{OpenSegment, Scan, scan};
use crate::segments::{Kept, Segments, prepare, try_hold};
use rand::TryRngCore;
use scaledb_base::Timestamp;
use scaledb_base::limits::MAX_WORKERS;
use scaledb_sync::Arc;
use scaledb_sync::clock::Clock;
use std::io::ErrorKind;

/// What the first segment of a new database is prepared with: opening one should not wait for more.
const FIRST_SEGMENT: u64 = 4 << 20;
/// Model checkers have few workers, and cannot have many words to look at.
const WORKERS: usize = if scaledb_sync::MODEL { 4 } else { MAX_WORKERS };

/// A database directory that is locked for this process.
pub struct DatabaseDir {
    disk: Arc<dyn Disk>,
    lock: Box<dyn Send + Sync>,
    manifest: Manifest,
    is_new: bool,
}

impl std::fmt::Debug for DatabaseDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseDir").field("disk", &self.disk).field("manifest", &self.manifest).finish()
    }
}

/// # Errors
/// [`LogError::Locked`], [`LogError::Io`].
pub(crate) fn lock(disk: &dyn Disk, name: &'static str) -> Result<Box<dyn Send + Sync>> {
    match disk.lock(name) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            Err(LogError::Locked { directory: disk.describe(), lock: name })
        }
        locked => locked.context("lock", name),
    }
}

impl DatabaseDir {
    /// Locks the directory, and reads what the database consists of. An empty directory becomes a new database
    /// of `engine`.
    ///
    /// # Errors
    /// [`LogError::Locked`], [`LogError::Foreign`], [`LogError::WrongEngine`], [`LogError::NewerFormat`],
    /// [`LogError::OlderFormat`], [`LogError::Damaged`], [`LogError::Io`].
    pub fn open(disk: Arc<dyn Disk>, engine: &str) -> Result<Self> {
        let lock = lock(&*disk, LOCK)?;
        let (manifest, is_new) = match Manifest::read(&*disk)? {
            Some(manifest) => (manifest, false),
            None => (create(&*disk, engine)?, true),
        };
        if manifest.engine != engine {
            return Err(LogError::WrongEngine {
                directory: disk.describe(),
                found: manifest.engine,
                asked: engine.to_owned(),
            });
        }
        Ok(Self { disk, lock, manifest, is_new })
    }

    /// Whether this opening made the database.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The random name of the database.
    pub fn database_id(&self) -> DatabaseId {
        self.manifest.database
    }

    /// The checkpoint that is in force.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        let entry = self.manifest.checkpoint.clone()?;
        Some(Checkpoint::new(self.disk.clone(), self.manifest.database, entry))
    }

    /// Finds out what the log consists of, and where it ends.
    ///
    /// # Errors
    /// [`LogError::Damaged`], [`LogError::NewerFormat`], [`LogError::OlderFormat`], [`LogError::Io`].
    pub fn replay(&self) -> Result<Replay> {
        let scan = scan(&*self.disk, &self.manifest)?;
        Ok(Replay::new(self.disk.clone(), self.manifest.clone(), scan))
    }

    /// Starts the log where `replay`, which was read to its end, has ended. `clock` must be ahead of
    /// [`Replay::newest`].
    ///
    /// # Errors
    /// [`LogError::NotReplayed`], [`LogError::Io`]. The directory stays as good as it was.
    ///
    /// # Panics
    /// The clock is behind.
    pub fn start(self, replay: Replay, options: LogOptions, clock: Arc<Clock>) -> Result<Arc<Log>> {
        if !replay.is_done() {
            return Err(LogError::NotReplayed);
        }
        assert!(clock.now() >= replay.newest().ticks(), "the clock is behind the log");
        let (disk, scan) = (self.disk, replay.scan);
        let mut manifest = self.manifest;
        if Rule::WriteLastAgain.holds() {
            harden(&*disk, &manifest, &scan)?;
        }
        let header = SegmentHeader {
            database: manifest.database,
            number: scan.number + 1,
            incarnation: scan.incarnation + 1,
            first: scan.number + 1,
            cut: scan.cut,
            // set when it is prepared
            length: 0,
        };
        let spare = unused_as_spare(&*disk, &scan, options.segment_bytes)?;
        let len =
            if spare.is_some() { options.segment_bytes } else { options.segment_bytes.min(FIRST_SEGMENT) };
        let first = prepare(&*disk, &header, len, spare, || false)?;

        manifest.incarnation = header.incarnation;
        manifest.first_segment = scan.segments.first().map_or(header.number, |first| first.number);
        manifest.required = manifest.required.max(scan.horizon);
        manifest.install(&*disk)?;

        trim(&*disk, &manifest, &scan);
        let checkpoint = manifest.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        // what cannot be removed now is tried again at the next opening
        let _ = remove(&*disk, |name| match name {
            Name::Temporary => true,
            Name::Segment(number) => number < manifest.first_segment || scan.void.contains(&number),
            Name::Checkpoint { id, .. } => Some(id) != checkpoint,
            Name::Lock | Name::Manifest | Name::Other => false,
        });

        let mut kept: Vec<Kept> = scan.segments.iter().map(Kept::from).collect();
        if let (Some(kept), Some(last)) = (kept.last_mut(), scan.segments.last()) {
            // it was made shorter, and is no spare for a whole segment any more
            kept.bytes = last.end;
        }
        kept.push(Kept { number: first.number, bytes: first.len, newest: Timestamp::ZERO });
        let segments = Segments::new(header, options.segment_bytes, options.recycle, kept);
        let seed = Seed::new(manifest.database, header.number);
        let parts = Parts {
            disk,
            incarnation: header.incarnation,
            options,
            clock,
            durable: manifest.required,
            flusher: Flusher::new(seed, first, manifest.required, WORKERS),
            segments,
            manifest,
            lock: self.lock,
        };
        Ok(Log::new(LogShared::new(parts, WORKERS)))
    }
}

/// Makes the database of an empty directory.
fn create(disk: &dyn Disk, engine: &str) -> Result<Manifest> {
    for file in disk.list().context("list", &disk.describe())? {
        match Name::parse(&file) {
            Name::Lock | Name::Temporary => {}
            Name::Segment(_) | Name::Checkpoint { .. } => {
                let what = format!("it is missing, and the directory holds {file}");
                return Err(LogError::damaged(name::MANIFEST, 0, what));
            }
            Name::Manifest | Name::Other => {
                return Err(LogError::Foreign { directory: disk.describe(), file });
            }
        }
    }
    let mut id = [0; 16];
    let random = rand::rngs::OsRng.try_fill_bytes(&mut id);
    random.map_err(std::io::Error::other).context("make an id for", &disk.describe())?;
    let manifest = Manifest::new(DatabaseId(id), engine);
    manifest.install(disk)?;
    Ok(manifest)
}

/// Makes what was found durable: the names of files, and the last group, which is written again. A process that
/// dies between a write and its sync, or whose sync has failed, leaves what can be read and need not be on disk;
/// after a failed sync, another sync alone would not put it there.
fn harden(disk: &dyn Disk, manifest: &Manifest, scan: &Scan) -> Result<()> {
    disk.sync_names().context("sync", &disk.describe())?;
    let Some((segment, offset, len)) = scan.last else { return Ok(()) };
    let open = OpenSegment::open(disk, manifest, segment)?;
    let mut bytes = vec![0; len as usize];
    open.file.read_at(&mut bytes, offset).context("read", &open.name)?;
    open.file.write_and_sync(&bytes, offset).context("write", &open.name)
}

/// Gives back what the last segment has behind the cut: openings with few commits would leave much of it. If it
/// fails, only space is wasted.
fn trim(disk: &dyn Disk, manifest: &Manifest, scan: &Scan) {
    let last = scan.segments.last().filter(|last| last.file_bytes > last.end);
    if let Some(last) = last
        && let Ok(open) = OpenSegment::open(disk, manifest, last.number)
    {
        let _ = open.file.set_len(last.end);
    }
}

/// A segment that was prepared and never used becomes the first one of this incarnation.
fn unused_as_spare(disk: &dyn Disk, scan: &Scan, bytes: u64) -> Result<Option<u64>> {
    let Some(number) = scan.unused else { return Ok(None) };
    let Some(_held) = try_hold(disk)? else { return Ok(None) };
    let name = name::segment(number);
    let len = disk.open(&name).and_then(|file| file.len()).context("read", &name)?;
    if len != bytes {
        return Ok(None);
    }
    disk.rename(&name, &name::spare(number)).context("rename", &name)?;
    Ok(Some(number))
}
