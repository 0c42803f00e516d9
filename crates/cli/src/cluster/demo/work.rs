//! The work of the demonstration: TPC-C in SQL, and Retwis. Clients remember what was answered, so that it can be
//! looked for in the end.

use crate::Result;
use scaledb_cluster::engine::Cluster;
use scaledb_engine::{Engine, Worker};
use scaledb_sql::Database;
use scaledb_sqlbench::tpcc::{self, Terminal};
use scaledb_sqlbench::{Client as _, Embedded, Failure, Rows};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread::{JoinHandle, sleep, spawn};
use scaledb_workloads::driver::{Abort, Attempt, Client as _, Connected, Workload, micros_since_2000};
use scaledb_workloads::retwis::{Config, Retwis, Table};
use scaledb_workloads::tpcc::{Class, Inputs, Mix, Scale};
use std::time::{Duration, Instant};

const SEED: u64 = 1;

/// How long a client waits after a conflict.
const PAUSE: Duration = Duration::from_millis(1);

/// How often what must succeed is tried: members may change meanwhile.
const ATTEMPTS: u32 = 100;

/// The most writes of a transaction of Retwis.
const MOST_WRITES: u64 = 5;

/// What all clients have done.
pub(super) struct Tally {
    begin: Instant,
    pub(super) orders: AtomicU64,
    pub(super) tpcc: AtomicU64,
    pub(super) retwis: AtomicU64,
    pub(super) conflicts: AtomicU64,
    /// Microseconds since the beginning.
    last: AtomicU64,
    longest: AtomicU64,
    stop: AtomicBool,
}

impl Tally {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begin: Instant::now(),
            orders: AtomicU64::new(0),
            tpcc: AtomicU64::new(0),
            retwis: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            last: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    fn count(&self, counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::SeqCst);
        let now = self.begin.elapsed().as_micros() as u64;
        let last = self.last.fetch_max(now, Ordering::SeqCst);
        self.longest.fetch_max(now.saturating_sub(last), Ordering::SeqCst);
    }

    fn conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::SeqCst);
        sleep(PAUSE);
    }

    /// The longest time in which nobody was answered, since this was last asked.
    pub(super) fn longest_gap(&self) -> Duration {
        Duration::from_micros(self.longest.swap(0, Ordering::SeqCst))
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }
}

/// What clients know at their ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// New-Orders and Payments of TPC-C that were answered.
    orders: u64,
    payments: u64,
    /// Transactions of TPC-C whose answers never came.
    unknown: u64,
    /// Writes of Retwis that were answered, and those of transactions whose answers never came.
    writes: u64,
    unknown_writes: u64,
}

impl Known {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            orders: self.orders + other.orders,
            payments: self.payments + other.payments,
            unknown: self.unknown + other.unknown,
            writes: self.writes + other.writes,
            unknown_writes: self.unknown_writes + other.unknown_writes,
        }
    }
}

/// The tables of both.
pub(super) struct Work {
    scale: Scale,
    /// Orders and rows of the history at the beginning.
    loaded: (u64, u64),
    retwis: Retwis,
}

impl Work {
    /// Creates and fills the tables at one node.
    pub(super) fn found(database: &Database<Cluster>, warehouses: u16) -> Result<Self> {
        let scale = crate::args::scale(Some(warehouses), 1, true);
        let mut clients = [Embedded::new(database)];
        tpcc::create_in_cluster(&mut clients[0])?;
        tpcc::load(&mut clients, scale, SEED)?;
        let engine = database.engine();
        let config = Config { keys: 10_000, ..Config::default() };
        let table = Table::create(engine)?;
        table.load(engine, config.keys, SEED, 1)?;
        let retwis = Retwis::new(config, Arc::new(table), SEED);
        let loaded = counts(&mut clients[0])?;
        Ok(Self { scale, loaded, retwis })
    }

    /// Starts clients at a node, with these numbers.
    pub(super) fn start(
        self: &Arc<Self>,
        database: &Database<Cluster>,
        numbers: std::ops::Range<usize>,
        tally: &Arc<Tally>,
    ) -> Vec<JoinHandle<Known>> {
        let client = |number: usize| {
            let (work, database, tally) = (self.clone(), database.clone(), tally.clone());
            spawn(move || match number % 2 {
                0 => work.terminal(&database, number / 2, &tally),
                _ => work.user(&database, number / 2, &tally),
            })
        };
        numbers.map(client).collect()
    }

    /// TPC-C until it is told to stop, or its node has gone.
    fn terminal(&self, database: &Database<Cluster>, number: usize, tally: &Tally) -> Known {
        let mut known = Known::default();
        let terminal = || {
            let inputs = Inputs::new(self.scale, Mix::Full, SEED, number, usize::from(self.scale.warehouses));
            Terminal::new(Embedded::new(database), inputs)
        };
        let Some(mut terminal) = (0..ATTEMPTS).find_map(|_| terminal().map_err(|_| sleep(PAUSE)).ok()) else {
            return known;
        };
        while tally.goes_on() {
            let class = terminal.prepare(micros_since_2000());
            while tally.goes_on() {
                match terminal.attempt() {
                    Ok(Attempt::Committed) => {
                        known.orders += u64::from(class == Class::NewOrder as usize);
                        known.payments += u64::from(class == Class::Payment as usize);
                        tally
                            .orders
                            .fetch_add(u64::from(class == Class::NewOrder as usize), Ordering::SeqCst);
                        tally.count(&tally.tpcc);
                        break;
                    }
                    Ok(Attempt::RolledBack) => break,
                    Ok(Attempt::Conflict(_)) => tally.conflict(),
                    Err(_) => {
                        known.unknown += 1;
                        return known;
                    }
                }
            }
        }
        known
    }

    /// Retwis, likewise.
    fn user(&self, database: &Database<Cluster>, number: usize, tally: &Tally) -> Known {
        let mut known = Known::default();
        let Ok(mut worker) = database.engine().worker() else { return known };
        let mut user = self.retwis.client(number, 0);
        while tally.goes_on() {
            let transaction = user.prepare(0);
            while tally.goes_on() {
                let done = worker.begin(transaction.kind).map_err(Abort::from).and_then(|()| {
                    user.execute(&mut worker)?;
                    worker.commit().map_err(Abort::from)
                });
                match done {
                    Ok(_) => {
                        user.committed();
                        tally.count(&tally.retwis);
                        break;
                    }
                    Err(Abort::Database(error)) if error.is_conflict() => tally.conflict(),
                    Err(_) => {
                        known.writes = user.written();
                        known.unknown_writes = user.pending().min(MOST_WRITES);
                        return known;
                    }
                }
            }
        }
        known.writes = user.written();
        known
    }

    /// What is wrong at a node in the end, if anything is: all that was answered must be there, and TPC-C's twelve
    /// conditions hold.
    pub(super) fn wrong_at(&self, database: &Database<Cluster>, known: &Known) -> Result<Option<String>> {
        let mut client = Embedded::new(database);
        for condition in again(|| tpcc::check(&mut client, self.scale))? {
            if condition.failed > 0 {
                return Ok(Some(format!(
                    "TPC-C's condition {} does not hold: {}",
                    condition.number, condition.says
                )));
            }
        }
        let (orders, payments) = again(|| counts(&mut client))?;
        let (orders, payments) = (orders - self.loaded.0, payments - self.loaded.1);
        let writes = self.retwis.table.writes(&mut database.engine().worker()?)?;
        let found = [
            ("New-Orders", orders, known.orders, known.unknown),
            ("Payments", payments, known.payments, known.unknown),
            ("writes of Retwis", writes, known.writes, known.unknown_writes),
        ];
        let wrong = found
            .into_iter()
            .find(|(_, found, answered, unknown)| !(*answered..=answered + unknown).contains(found));
        Ok(wrong.map(|(what, found, answered, unknown)| {
            format!("{found} {what} are there; {answered} were answered, and of {unknown} nobody has heard")
        }))
    }
}

/// Orders, and rows of the history.
fn counts(client: &mut Embedded<Cluster>) -> std::result::Result<(u64, u64), Failure> {
    let mut count = |table: &str| {
        let mut rows = Rows::default();
        client.query(&format!("SELECT count(*)::text FROM {table}"), &mut rows)?;
        let text = rows.answer(0).text(0, 0)?.to_owned();
        text.parse().map_err(|_| Failure::Inconsistent("a count that is no number"))
    };
    Ok((count("orders")?, count("history")?))
}

/// Tries again what meets a conflict.
fn again<T>(mut f: impl FnMut() -> std::result::Result<T, Failure>) -> std::result::Result<T, Failure> {
    for _ in 1..ATTEMPTS {
        match f() {
            Err(failure) if failure.code() == Some("40001") => sleep(PAUSE),
            done => return done,
        }
    }
    f()
}
