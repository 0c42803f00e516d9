//! How a database is opened.

use scaledb_acc::Config;
use std::time::Duration;

/// Settings of a [`Database`](crate::Database). The default suits most uses.
///
/// ```
/// use scaledb::{Database, Options};
/// let db = Database::open(Options::new().memory_budget(256 << 20))?;
/// # Ok::<(), scaledb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    config: Config,
}

impl Options {
    /// The default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes that rows and indexes may take; unlimited by default. Writes beyond fail with
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and the database goes on. Memory is taken in
    /// chunks of 2 MiB, at least one for each session that writes.
    #[must_use]
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.config.memory_budget = bytes;
        self
    }

    /// The longest time that a new key waits to be merged into the range indexes, unless its table says
    /// otherwise: 10 ms by default. Reads see it at once in any case; snapshots lag by about this time.
    #[must_use]
    pub fn merge_epoch(mut self, epoch: Duration) -> Self {
        self.config.merge_epoch = epoch;
        self
    }

    /// Whether a thread merges for idle sessions and removes deleted rows: true by default. Without it
    /// both happen only as sessions run transactions.
    #[must_use]
    pub fn background(mut self, background: bool) -> Self {
        self.config.background = background;
        self
    }

    pub(crate) fn into_config(self) -> Config {
        self.config
    }
}

impl From<Config> for Options {
    /// All the settings of the engine.
    fn from(config: Config) -> Self {
        Self { config }
    }
}
