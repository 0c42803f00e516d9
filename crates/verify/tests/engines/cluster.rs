//! A replicated database, as the conformance suite opens it: three members in this process, and workers at each in
//! turn.

use scaledb_base::{Error, Result, TableId, Timestamp};
use scaledb_cluster::engine::{Answers, Cluster, ClusterWorker};
use scaledb_cluster::{LocalCluster, Settings};
use scaledb_engine::{Access, Engine, IndexDef, OptionSpec, Stats, TableDef, TableInfo};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_verify::conformance::{Differences, Programs, Purpose, Subject};
use scaledb_verify::history::Kind;
use std::time::Duration;

const ORDERED: Kind = Kind::new(Access::Ordered, None);
const HASH_ONLY: Kind = Kind::new(Access::HashOnly, None).plain();

/// The replicated engine under test.
pub(crate) struct OnCluster;

/// Three members.
pub(crate) struct Members {
    engines: Vec<Cluster>,
    next: AtomicUsize,
    _cluster: LocalCluster,
}

impl Members {
    fn start(partitions: u16, failures: usize) -> Result<Self> {
        let settings = Settings {
            epoch: Duration::from_millis(1),
            idle_epoch: Duration::from_millis(20),
            // the machine may be busy with other tests
            suspect_after: Duration::from_secs(60),
            lease: Duration::from_secs(60),
            ..Settings::default()
        };
        let cluster = LocalCluster::start(settings, 3, partitions, failures);
        let cluster = cluster.map_err(|error| Error::BadDefinition(error.to_string()))?;
        let engines = cluster.members().map(|member| Cluster::new(member.clone(), Answers::WithTheEpoch));
        Ok(Self { engines: engines.collect(), next: AtomicUsize::new(0), _cluster: cluster })
    }

    fn any(&self) -> &Cluster {
        let next = self.next.fetch_add(1, Ordering::Relaxed); // by turns is enough
        &self.engines[next % self.engines.len()]
    }
}

impl Engine for Members {
    type Worker = ClusterWorker;

    fn create_table(&self, def: TableDef) -> Result<Arc<TableInfo>> {
        self.any().create_table(def)
    }

    fn table(&self, name: &str) -> Option<Arc<TableInfo>> {
        self.any().table(name)
    }

    fn tables(&self) -> Vec<Arc<TableInfo>> {
        self.any().tables()
    }

    fn add_index(&self, table: TableId, def: IndexDef) -> Result<Arc<TableInfo>> {
        self.any().add_index(table, def)
    }

    fn drop_index(&self, index: TableId) -> Result<Arc<TableInfo>> {
        self.any().drop_index(index)
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        self.any().drop_table(table)
    }

    fn worker(&self) -> Result<ClusterWorker> {
        self.any().worker()
    }

    fn stats(&self) -> Stats {
        self.any().stats()
    }

    fn name(&self) -> &'static str {
        self.any().name()
    }

    fn table_options(&self) -> &'static [OptionSpec] {
        self.any().table_options()
    }

    fn durable(&self) -> Timestamp {
        self.any().durable()
    }

    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        self.any().wait_durable(ts)
    }
}

impl Subject for OnCluster {
    type Engine = Members;

    const NAME: &'static str = "cluster";

    const DIFFERENCES: Differences = Differences {
        merges: false,
        groups_of_columns: false,
        keeps_snapshots: false,
        unique_timestamps: false,
        refuses_more: true,
        names_what_changed: false,
        tables_of_steps: &[ORDERED],
        tables: &[ORDERED, HASH_ONLY],
        tables_that_split: &[ORDERED],
        queues: &[ORDERED],
        configurations: 3,
        seconds: 4.0,
        transactions: 150,
        programs: Programs {
            schedules: 0,
            inserts: &[ORDERED],
            full: &[ORDERED],
            row: ORDERED,
            others: &[ORDERED],
        },
        crash_points: 0,
    };

    fn open(purpose: Purpose<'_>) -> Result<Members> {
        match purpose {
            // everything everywhere; one backup of each partition; all on three nodes
            Purpose::History(0) => Members::start(1, 1),
            Purpose::History(1) => Members::start(8, 1),
            Purpose::History(_) => Members::start(5, 2),
            _ => Members::start(5, 1),
        }
    }
}
