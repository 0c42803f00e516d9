//! The Cicada engine: optimistic, multi-version, multi-clock (Lim, Kaminsky, Andersen, *Cicada: Dependably Fast
//! Multi-Core In-Memory Transactions*, SIGMOD 2017). Section numbers in this crate are the paper's.
//!
//! A transaction takes its timestamp when it begins, reads the versions that were current then, keeps its
//! writes to itself, and installs them as pending versions when it commits, if nobody with another timestamp
//! is in the way. Readers never block writers and are never copied to; the price is a new version per write.
//!
//! ```text
//!  worker.rs   the engine interface
//!    read.rs     point reads, promotion             txn.rs, own.rs   read_set, range_set, write_set
//!    scan.rs     range scans, and their check       table.rs         a table or index: hash, tree, guards
//!    write.rs    buffered writes                    guard.rs         read timestamps of what has no record
//!    commit.rs   V1 to V5                           record.rs        head, key, inlined version
//!  gc.rs         superseded versions, gone records  version.rs       one version
//!  clock.rs      a worker's clock                   horizon.rs       min_wts, min_rts, epochs
//!  contention.rs the backoff                        shared.rs        all of a database
//!  background.rs chores for idle workers            rules.rs         switches for tests
//! ```
//!
//! The order in which commits take effect is that of their timestamps; unless it is told otherwise
//! ([`Consistency`]), it agrees with real time.

mod background;
mod clock;
mod commit;
mod config;
mod contention;
mod gc;
mod guard;
mod horizon;
mod own;
mod read;
mod record;
mod rules;
mod scan;
mod shared;
mod stats;
mod table;
mod txn;
mod version;
mod worker;
mod write;

pub use config::{Clocks, Config, Consistency};
pub use rules::{Rule, Rules};
pub use worker::CicadaWorker;

use background::Background;
use scaledb_base::Result;
use scaledb_engine::{Engine, Stats, TableDef, TableInfo};
use scaledb_sync::Arc;
use shared::Shared;

/// A database with the Cicada engine, in memory.
pub struct Cicada {
    // first: the thread ends before the rest goes
    _background: Option<Background>,
    shared: Arc<Shared>,
}

impl Cicada {
    /// An empty database.
    ///
    /// # Errors
    /// None at present; opening will fail when there is something to read.
    pub fn open(config: Config) -> Result<Self> {
        let (background, reserve) = (config.background, config.reserve);
        let shared = Arc::new(Shared::new(config));
        shared.domain.reserve(reserve);
        let background = if background {
            Some(Background::start(shared.clone(), shared.domain.register()?))
        } else {
            None
        };
        Ok(Self { _background: background, shared })
    }
}

impl Engine for Cicada {
    type Worker = CicadaWorker;

    fn create_table(&self, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        let mut local = self.shared.domain.register()?;
        self.shared.create_table(&mut local, def)
    }

    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.shared.table_info(name)
    }

    fn worker(&self) -> Result<CicadaWorker> {
        Ok(CicadaWorker::new(self.shared.clone(), self.shared.domain.register()?))
    }

    fn stats(&self) -> Stats {
        self.shared.stats()
    }

    fn orders_at_begin(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "cicada"
    }
}
