//! How a database is opened.

use scaledb_base::{Error, Result};
use scaledb_engine::OptionValue;
use scaledb_engines::{Durability, Open, Progress, Settings};
use scaledb_log::disk::RealDisk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// When a commit returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CommitMode {
    /// When the transaction survives a crash of the process, of the system, and a power cut. So do then all
    /// transactions that it has seen: also one that only reads waits for those.
    #[default]
    Durable,
    /// At once. A crash may lose the last transactions, those of about 10 ms
    /// ([`LogOptions::flush_interval`](scaledb_log::LogOptions) and one write to the disk), but none in the middle:
    /// what is left is always all up to some timestamp, and nothing after it.
    Asynchronous,
}

/// Settings of a [`Database`](crate::Database). The default suits most uses.
///
/// ```
/// use scaledb::{Database, Options};
/// let db = Database::open(Options::new().memory_budget(256 << 20))?;
/// # Ok::<(), scaledb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    settings: Settings,
    mode: CommitMode,
    /// Where SQL puts rows that do not fit its memory.
    temporary: Option<PathBuf>,
    query_memory: Option<usize>,
}

/// What SQL is given.
#[derive(Clone, Debug, Default)]
#[cfg_attr(not(feature = "sql"), allow(dead_code))]
pub(crate) struct ForSql {
    pub(crate) mode: CommitMode,
    pub(crate) temporary: Option<PathBuf>,
    pub(crate) query_memory: Option<usize>,
}

/// Where temporary files are in the directory of a database.
const TEMPORARY: &str = "temporary";

impl Options {
    /// The default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes that rows and indexes may take; by default six tenths of what the machine, or the control group (cgroup)
    /// of the process, has. Writes beyond fail with [`Error::OutOfMemory`](crate::Error::OutOfMemory), and the database
    /// goes on; a part is kept so that deletes, and updates that do not grow, go on as well. Transactions that run
    /// may take a third as much for what they remember, and fail beyond with
    /// [`Error::TransactionsTooLarge`](crate::Error::TransactionsTooLarge). Memory is taken in chunks of 2 MiB, at
    /// least one for each session that writes.
    #[must_use]
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.settings.memory_budget = Some(bytes);
        self
    }

    /// The longest time that a new key waits to be merged into the range indexes, unless its table says
    /// otherwise: 10 ms by default. Reads see it at once in any case; snapshots lag by about this time. For ACC; an
    /// engine that does not merge refuses it.
    #[must_use]
    pub fn merge_epoch(self, epoch: Duration) -> Self {
        self.engine_option("merge_epoch", epoch)
    }

    /// A setting that only one engine has: see `docs/engines.md`. An engine that does not have it refuses to open, with
    /// [`Error::UnknownOption`].
    #[must_use]
    pub fn engine_option(mut self, name: &str, value: impl Into<OptionValue>) -> Self {
        self.settings.options.set(name, value);
        self
    }

    /// Whether a thread merges for idle sessions and removes deleted rows: true by default. Without it
    /// both happen only as sessions run transactions.
    #[must_use]
    pub fn background(mut self, background: bool) -> Self {
        self.settings.background = Some(background);
        self
    }

    /// Keeps the database in this directory, which is created if it does not exist. What it holds is read when
    /// the database is opened.
    ///
    /// # Errors
    /// [`Error::Directory`] when it cannot be created or opened.
    pub fn directory(mut self, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let disk =
            RealDisk::open(path).map_err(|error| Error::Directory(format!("{}: {error}", path.display())))?;
        self.settings.durability = Some(Durability::new(Arc::new(disk)));
        self.temporary.get_or_insert_with(|| path.join(TEMPORARY));
        Ok(self)
    }

    /// Lets statements of SQL put rows that do not fit their memory into files of this directory, instead of failing
    /// with
    /// 53200. It is created when SQL is opened first, and must be for nothing else: two databases have two. The files
    ///        have
    /// no names, and are gone with the statement. A database in a directory has `temporary` there unless it is told
    /// otherwise; one in memory has none.
    #[must_use]
    pub fn temp_directory(mut self, path: impl AsRef<Path>) -> Self {
        self.temporary = Some(path.as_ref().to_owned());
        self
    }

    /// When commits return, unless one asks for another mode: durable by default. Means nothing without a
    /// directory.
    #[must_use]
    pub fn commit_mode(mut self, mode: CommitMode) -> Self {
        self.mode = mode;
        self
    }

    /// All settings of the directory, the log and the checkpoints. After [`Options::directory`]; without one it
    /// does nothing.
    #[must_use]
    pub fn durability(mut self, change: impl FnOnce(&mut Durability)) -> Self {
        if let Some(durability) = &mut self.settings.durability {
            change(durability);
        }
        self
    }

    /// Is told, some times a second, how far the opening of the directory is.
    #[must_use]
    pub fn progress(self, tell: fn(&Progress)) -> Self {
        self.durability(|durability| durability.progress = Some(tell))
    }

    /// Bytes that all statements of SQL together may use for sorts, joins, groups and rows that they keep: by default
    /// an eighth of what the machine, or the control group of the process, has, 4 GiB at most. One may use half of it
    /// for rows; beyond, it writes files ([`Options::temp_directory`]) or fails with 53200.
    #[must_use]
    pub fn max_query_memory(mut self, bytes: usize) -> Self {
        self.query_memory = Some(bytes);
        self
    }

    pub(crate) fn for_sql(&self) -> ForSql {
        ForSql { mode: self.mode, temporary: self.temporary.clone(), query_memory: self.query_memory }
    }
}

/// An engine that is opened with [`Options`]: see
/// [`Database::with_options`](crate::Database::with_options).
pub trait FromOptions: Open {
    /// Opens it.
    ///
    /// # Errors
    /// As [`Database::open`](crate::Database::open); [`Error::UnknownOption`], [`Error::BadOption`].
    fn from_options(options: Options) -> Result<Self> {
        Self::open_with(options.settings)
    }
}

impl<E: Open> FromOptions for E {}
