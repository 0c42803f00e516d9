//! Temporary files: where statements put rows that do not fit their memory.
//!
//! A file has no name once it is open, so that nothing of it is left when the process ends, however it ends. Only the
//! instant between the two calls can leave an empty file behind, which the next start removes.

use scaledb_log::disk::{Disk, File};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_types::{Result, SqlError, SqlState};
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// What the names of the files begin with.
const PREFIX: &str = "rows-";

/// The temporary files of a database.
#[derive(Debug)]
pub(crate) struct Temporary {
    disk: Arc<dyn Disk>,
    /// What this database's names begin with: others may use the directory, too.
    prefix: String,
    /// Bytes that all sessions may have at a time.
    limit: u64,
    used: AtomicU64,
    /// Files and bytes that have been written so far.
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Temporary {
    /// Files in a directory; what was left behind there is removed.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn new(disk: Arc<dyn Disk>, limit: u64) -> io::Result<Self> {
        for name in disk.list()? {
            if name.starts_with(PREFIX) {
                match disk.remove(&name) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        let prefix = format!("{PREFIX}{}-{:x}-", std::process::id(), scaledb_types::zone::clock());
        let zero = || AtomicU64::new(0);
        Ok(Self { disk, prefix, limit, used: zero(), files: zero(), bytes: zero() })
    }

    /// How many files there have been, how many bytes were written to them, and how many bytes there are now.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed); // statistics
        (count(&self.files), count(&self.bytes), count(&self.used))
    }

    fn create(&self) -> io::Result<Box<dyn File>> {
        let number = self.files.fetch_add(1, Ordering::Relaxed); // only uniqueness matters
        let name = format!("{}{number}", self.prefix);
        let file = self.disk.create(&name)?;
        self.disk.remove(&name)?;
        Ok(file)
    }

    /// Counts bytes that will be there, if there may be as many.
    ///
    /// # Errors
    /// 53400.
    fn take(&self, bytes: u64) -> Result<()> {
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit);
        // a count: the bytes themselves are the disk's
        let taken = self.used.try_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(drop).map_err(|_| {
            let what = format!("temporary files of all sessions exceed max_temp_bytes ({})", self.limit);
            SqlError::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, what)
                .hint("Try again later, restrict the rows, or raise max_temp_bytes.")
        })?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed); // a statistic
        Ok(())
    }
}

/// The temporary files that a run may have.
#[derive(Debug)]
pub(crate) struct Allowance<'a> {
    place: Option<&'a Arc<Temporary>>,
    /// `temp_file_limit` in bytes, if there is one.
    limit: Option<u64>,
    used: Cell<u64>,
}

impl<'a> Allowance<'a> {
    pub(crate) fn new(place: Option<&'a Arc<Temporary>>, limit: Option<u64>) -> Self {
        Self { place, limit, used: Cell::new(0) }
    }

    /// Whether there are temporary files.
    pub(crate) fn exists(&self) -> bool {
        self.place.is_some()
    }

    /// A new file that may outlive the run.
    ///
    /// # Errors
    /// 53100 and 58030.
    pub(crate) fn kept_file(&self) -> Result<KeptFile> {
        let place = self.place.ok_or_else(|| SqlError::internal("there are no temporary files"))?;
        let file = place.create().map_err(|error| failed("create", place, &error))?;
        Ok(KeptFile { place: place.clone(), file, len: 0, limit: self.limit })
    }

    /// A new file.
    ///
    /// # Errors
    /// 53100 and 58030.
    pub(crate) fn file(&'a self) -> Result<TemporaryFile<'a>> {
        let place = self.place.ok_or_else(|| SqlError::internal("there are no temporary files"))?;
        let file = place.create().map_err(|error| failed("create", place, &error))?;
        Ok(TemporaryFile { allowance: self, place, file, len: 0 })
    }
}

/// A file without a name.
#[derive(Debug)]
pub(crate) struct TemporaryFile<'a> {
    allowance: &'a Allowance<'a>,
    place: &'a Temporary,
    file: Box<dyn File>,
    len: u64,
}

impl TemporaryFile<'_> {
    /// Bytes that were written.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Writes at the end.
    ///
    /// # Errors
    /// 53100, 53400 and 58030.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let more = bytes.len() as u64;
        let used = self.allowance.used.get() + more;
        check_limit(used, self.allowance.limit)?;
        self.place.take(more)?;
        self.allowance.used.set(used);
        let at = self.len;
        self.len += more;
        self.file.write_at(bytes, at).map_err(|error| failed("write", self.place, &error))
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// 58030.
    pub(crate) fn read(&self, to: &mut [u8], at: u64) -> Result<()> {
        self.file.read_at(to, at).map_err(|error| failed("read", self.place, &error))
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        self.place.used.fetch_sub(self.len, Ordering::Relaxed); // a count
        self.allowance.used.set(self.allowance.used.get().saturating_sub(self.len));
    }
}

/// A file without a name that outlives the run that has written it.
#[derive(Debug)]
pub(crate) struct KeptFile {
    place: Arc<Temporary>,
    file: Box<dyn File>,
    len: u64,
    /// `temp_file_limit` in bytes, if there is one.
    limit: Option<u64>,
}

impl KeptFile {
    /// Bytes that were written.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Writes at the end.
    ///
    /// # Errors
    /// 53100, 53400 and 58030.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let more = bytes.len() as u64;
        check_limit(self.len + more, self.limit)?;
        self.place.take(more)?;
        let at = self.len;
        self.len += more;
        self.file.write_at(bytes, at).map_err(|error| failed("write", &self.place, &error))
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// 58030.
    pub(crate) fn read(&self, to: &mut [u8], at: u64) -> Result<()> {
        self.file.read_at(to, at).map_err(|error| failed("read", &self.place, &error))
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        self.place.used.fetch_sub(self.len, Ordering::Relaxed); // a count
    }
}

/// 53400: more than `temp_file_limit`.
fn check_limit(used: u64, limit: Option<u64>) -> Result<()> {
    let Some(limit) = limit.filter(|limit| used > *limit) else { return Ok(()) };
    let what = format!("temporary file size exceeds temp_file_limit ({}kB)", limit >> 10);
    Err(SqlError::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, what))
}

#[cold]
fn failed(what: &str, place: &Temporary, error: &io::Error) -> SqlError {
    let full = matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge | ErrorKind::WriteZero
    );
    let code = if full { SqlState::DISK_FULL } else { SqlState::IO_ERROR };
    let error = SqlError::new(
        code,
        format!("could not {what} a temporary file in {}: {error}", place.disk.describe()),
    );
    if full { error.hint("Free space there, restrict the rows, or set temp_directory.") } else { error }
}
