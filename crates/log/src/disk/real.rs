//! A directory of the file system.

use super::{ALIGNMENT, Disk, File};
use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::{self as system, Errno};
use scaledb_sync::Arc;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::uring::Rings;

/// Chooses between the ways to write: `direct`, `cached` or `uring`.
const CHOICE: &str = "SCALEDB_IO";

/// How [`File::write_at`] and [`File::write_and_sync`] reach the system.
///
/// What is written to the log is read again after a crash at the earliest, so it has nothing to do in the page
/// cache: writing past it saves copying every byte, and the pages themselves (TPC-C with two threads on two
/// cores: see docs/benchmarks.md). And an error of the disk is reported by the write that it befell.
///
/// io_uring is there by choice: it costs more than it saves (4 KiB to preallocated space, ext4 on a virtual disk,
/// cached: 92 by calls against 180 µs in the median, 200 against 300 µs in the 99th percentile), because the kernel
/// hands a write with a sync behind it to a thread of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Submission {
    /// `pwrite` past the page cache (`O_DIRECT`) of whatever is aligned to pages, `fdatasync`. As
    /// [`Submission::Cached`] where the file system has no such writes.
    #[default]
    Direct,
    /// `pwrite` through the page cache, then `fdatasync`.
    Cached,
    /// The write and the sync as one linked submission to io_uring; an error where that does not work.
    Uring,
}

impl Submission {
    /// What the environment variable `SCALEDB_IO` says; [`Submission::Direct`] if it is not set.
    ///
    /// # Errors
    /// `InvalidInput`: it is set to something unknown.
    pub fn from_environment() -> io::Result<Self> {
        match std::env::var_os(CHOICE) {
            None => Ok(Self::Direct),
            Some(choice) => match choice.to_str() {
                Some("direct") => Ok(Self::Direct),
                Some("cached") => Ok(Self::Cached),
                Some("uring") => Ok(Self::Uring),
                _ => {
                    let what = format!("{CHOICE} is {choice:?}: set it to direct, cached or uring");
                    Err(io::Error::new(ErrorKind::InvalidInput, what))
                }
            },
        }
    }
}

/// A directory of the file system.
///
/// Names are resolved from the directory's descriptor: it may be moved while it is open.
#[derive(Debug)]
pub struct RealDisk {
    path: PathBuf,
    directory: OwnedFd,
    submission: Submission,
    #[cfg(target_os = "linux")]
    rings: Option<Arc<Rings>>,
}

impl RealDisk {
    /// Opens the directory; makes it if it is missing (its parent must exist).
    ///
    /// # Errors
    /// Those of the system; `InvalidInput` for a value of `SCALEDB_IO` that means nothing.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_with(path, Submission::from_environment()?)
    }

    /// Opens the directory with a way to write.
    ///
    /// # Errors
    /// As [`RealDisk::open`]; `Unsupported` if io_uring is asked for and does not work here.
    pub fn open_with(path: impl AsRef<Path>, submission: Submission) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let directory = open_directory(&path)?;
        #[cfg(target_os = "linux")]
        let rings = match submission {
            Submission::Direct | Submission::Cached => None,
            Submission::Uring => Some(Rings::probe().map_err(unsupported)?),
        };
        #[cfg(not(target_os = "linux"))]
        if submission == Submission::Uring {
            return Err(unsupported("only Linux has it"));
        }
        Ok(Self {
            path,
            directory,
            submission,
            #[cfg(target_os = "linux")]
            rings: rings.map(Arc::new),
        })
    }

    /// The way to write.
    pub fn submission(&self) -> Submission {
        self.submission
    }

    fn open_file(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let name = checked(name)?;
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(system::retry_on_intr(|| fs::openat(&self.directory, name, flags, mode))?)
    }

    fn file(&self, name: &str, flags: OFlags) -> io::Result<Box<dyn File>> {
        let fd = self.open_file(name, flags)?;
        #[cfg(target_os = "linux")]
        let direct = match self.submission {
            // an error: the file system has no such writes
            Submission::Direct => self.open_file(name, OFlags::DIRECT).ok(),
            Submission::Cached | Submission::Uring => None,
        };
        #[cfg(not(target_os = "linux"))]
        let direct = None;
        Ok(Box::new(RealFile {
            fd,
            direct,
            #[cfg(target_os = "linux")]
            rings: self.rings.clone(),
        }))
    }
}

fn unsupported(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::Unsupported, format!("io_uring does not work here: {why}"))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let open = |path: &Path| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        system::retry_on_intr(|| fs::open(path, flags, Mode::empty()))
    };
    match fs::mkdir(path, Mode::RWXU) {
        Ok(()) => {
            // without this, a crash could lose the directory and with it the synced files in it
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            system::retry_on_intr({
                let parent = open(parent.unwrap_or(Path::new(".")))?;
                move || fs::fsync(&parent)
            })?;
        }
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(open(path)?)
}

/// A directory is flat: a name never leaves it.
fn checked(name: &str) -> io::Result<&str> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{name:?} cannot be a file's name")));
    }
    Ok(name)
}

impl Disk for RealDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.file(name, OFlags::CREATE | OFlags::TRUNC)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.file(name, OFlags::empty())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.directory)? {
            let entry = entry?;
            // a name that is no text is none of ours
            let Ok(name) = entry.file_name().to_str() else { continue };
            let kind = match entry.file_type() {
                // not every file system says it
                FileType::Unknown => match fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                kind => kind,
            };
            if kind == FileType::RegularFile {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.directory, checked(from)?, &self.directory, checked(to)?)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.directory, checked(name)?, AtFlags::empty())?)
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(system::retry_on_intr(|| fs::fsync(&self.directory))?)
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        // the lock belongs to this opening of the file: it ends when the descriptor is closed
        let fd = self.open_file(name, OFlags::CREATE)?;
        system::retry_on_intr(|| fs::flock(&fd, FlockOperation::NonBlockingLockExclusive))?;
        Ok(Box::new(fd))
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }
}

#[derive(Debug)]
struct RealFile {
    fd: OwnedFd,
    /// The same file, for writes past the page cache.
    direct: Option<OwnedFd>,
    #[cfg(target_os = "linux")]
    rings: Option<Arc<Rings>>,
}

impl File for RealFile {
    fn len(&self) -> io::Result<u64> {
        let size = fs::fstat(&self.fd)?.st_size;
        u64::try_from(size).map_err(|_| io::Error::new(ErrorKind::InvalidData, "negative length"))
    }

    fn read_at(&self, mut to: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !to.is_empty() {
            match system::pread(&self.fd, &mut *to, offset) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    to = &mut to[read..];
                    offset += read as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let mut written = 0;
        if let Some(direct) = self.direct.as_ref().filter(|_| is_aligned(from, offset)) {
            match system::retry_on_intr(|| system::pwrite(direct, from, offset)) {
                // what is left of a write that was cut short need not be aligned any more
                Ok(n) => written = n,
                // a file system may take the flag, and not the write
                Err(Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        write_all(&self.fd, &from[written..], offset + written as u64)
    }

    fn sync(&self) -> io::Result<()> {
        sync_data(&self.fd)
    }

    fn write_and_sync(&self, from: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(rings) = &self.rings {
            return rings.write_and_sync(&self.fd, from, offset);
        }
        self.write_at(from, offset)?;
        self.sync()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Ok(system::retry_on_intr(|| fs::ftruncate(&self.fd, len))?)
    }
}

/// Whether a write may go past the page cache: address, length and offset are multiples of [`ALIGNMENT`].
fn is_aligned(from: &[u8], offset: u64) -> bool {
    let all = from.as_ptr().addr() | from.len() | offset as usize;
    all.is_multiple_of(ALIGNMENT) && !from.is_empty()
}

pub(super) fn write_all(fd: impl AsFd, mut from: &[u8], mut offset: u64) -> io::Result<()> {
    while !from.is_empty() {
        match system::pwrite(&fd, from, offset) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                from = &from[written..];
                offset += written as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Never repeated after an error other than an interruption: the system drops what it could not write, and
/// says so once.
pub(super) fn sync_data(fd: impl AsFd) -> io::Result<()> {
    #[cfg(not(target_vendor = "apple"))]
    let sync = || fs::fdatasync(&fd);
    // there, fsync leaves the data in the drive's cache
    #[cfg(target_vendor = "apple")]
    let sync = || fs::fcntl_fullfsync(&fd);
    Ok(system::retry_on_intr(sync)?)
}

#[cfg(test)]
mod tests;
