//! The files of one database directory: the only way in which this crate does I/O.
//!
//! Two implementations: the real file system ([`RealDisk`]), and a simulated disk with a fault model in
//! `scaledb-verify`. The contract is that of a careful reading of POSIX:
//!
//! - What was written is durable after [`File::sync`] returned `Ok`, and not before. Before, any subset of
//!   the written sectors may reach the disk, in any order.
//! - A new name, a new content of a name, or the absence of a removed one is durable after
//!   [`Disk::sync_names`] returned `Ok`.
//! - After an `Err` nothing is known about the file.

mod buffer;
mod real;
#[cfg(target_os = "linux")]
mod uring;

pub use buffer::Buffer;
pub use real::{RealDisk, Submission};

use std::fmt;
use std::io;

/// What is written from a multiple of it in memory, to a multiple of it in the file, in multiples of it, may go past
/// the page cache. That of disks is 512 or 4096 bytes.
pub const ALIGNMENT: usize = 4096;

/// One directory.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// Creates a file, for reading and writing; an existing one is emptied.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Gives a file another name; a file that has it is replaced, at once or not at all.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals durable.
    fn sync_names(&self) -> io::Result<()>;

    /// Takes the lock of that name, held until the result is dropped or the process dies.
    /// `WouldBlock`: another process (or another opening in this one) holds it.
    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>>;

    /// Where the directory is, for messages.
    fn describe(&self) -> String;
}

/// An open file. Offsets are in bytes from its start.
#[expect(clippy::len_without_is_empty, reason = "nobody asks a file whether it is empty")]
pub trait File: Send + Sync + fmt::Debug {
    /// Its length.
    fn len(&self) -> io::Result<u64>;

    /// Fills `to` from `offset` on. `UnexpectedEof` if the file is shorter.
    fn read_at(&self, to: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `from`; the file grows if it must.
    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()>;

    /// Makes what was written durable, the file's length included.
    fn sync(&self) -> io::Result<()>;

    /// [`File::write_at`], then [`File::sync`]; in one submission where the system can.
    fn write_and_sync(&self, from: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(from, offset)?;
        self.sync()
    }

    /// Cuts or extends the file (with zeros).
    fn set_len(&self, len: u64) -> io::Result<()>;
}
