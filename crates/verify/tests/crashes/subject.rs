//! The engines that crash.

use scaledb_acc::{Acc, Durability};
use scaledb_base::Result;
use scaledb_cicada::{Cicada, Clocks};
use scaledb_engine::Engine;
use scaledb_log::{Log, LogOptions};
use scaledb_sync::Arc;
use scaledb_sync::clock::Source;
use scaledb_verify::disk::SimDisk;

/// How the engine of a story is opened, each time.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) sync: bool,
}

/// An engine that keeps its databases in directories.
pub(crate) trait Subject: Engine + Sized {
    /// Opens a directory, with the smallest sizes, and nothing done in the background.
    fn open_on(disk: &SimDisk, setup: Setup) -> Result<Self>;
    fn log(&self) -> &Arc<Log>;
}

/// Many groups and segments in few transactions.
fn durability(disk: &SimDisk, sync: bool) -> Durability {
    let log = LogOptions { manual: true, segment_bytes: 24 << 10, sync, ..LogOptions::default() };
    Durability { log, recovery_threads: 1, checkpoint_bytes: 0, ..Durability::new(Arc::new(disk.clone())) }
}

impl Subject for Acc {
    fn open_on(disk: &SimDisk, setup: Setup) -> Result<Self> {
        Self::open(scaledb_acc::Config {
            clock: Some(Source::Counter),
            indexlet_slots: 64,
            phantomlet_cells: 4,
            background: false,
            durability: Some(durability(disk, setup.sync)),
            ..Default::default()
        })
    }

    fn log(&self) -> &Arc<Log> {
        self.log().expect("a directory")
    }
}

impl Subject for Cicada {
    fn open_on(disk: &SimDisk, setup: Setup) -> Result<Self> {
        Self::open(scaledb_cicada::Config {
            clock: Some(Source::Counter),
            clocks: if setup.seed.is_multiple_of(3) { Clocks::Loose } else { Clocks::Synchronized },
            quiescence: std::time::Duration::ZERO,
            inline_words: if setup.seed.is_multiple_of(2) { 27 } else { 0 },
            guards: 4,
            background: false,
            durability: Some(durability(disk, setup.sync)),
            ..Default::default()
        })
    }

    fn log(&self) -> &Arc<Log> {
        self.log().expect("a directory")
    }
}
