//! A *story*: a random sequence of transactions of several workers, flushes of the log, checkpoints and new tables, in
//! one thread, so that it is the same for one seed; the log is flushed by the story. And the judge, who says whether
//! what opens after it is as it must be.

use crate::conformance::KeepsFiles;
use crate::conformance::basics::WorkerOf;
use crate::disk::SimDisk;
use crate::history::{Bounds, Client, Columns, HistoryTable, Keys, Kind, Mix, Model, Pair, Transaction};
use scaledb_base::{Error, Result, Timestamp};
use scaledb_engine::{Access, Engine, Order, Range, TxnKind, Worker};
use scaledb_sync::Arc;
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::clock::Instant;
use std::ops::ControlFlow;

/// Keys of a table.
const KEYS: i32 = 24;

pub(super) const KINDS: [Kind; 4] = [
    Kind::new(Access::Hashed, None),
    Kind::new(Access::Ordered, Some(4)),
    Kind::new(Access::HashOnly, None).plain(),
    Kind::new(Access::Ordered, Some(0)),
];

fn mix() -> Mix {
    Mix { snapshots: 0, deferrable: 0, yields: 0, scan: 4, get: 6, run: 0, ..Mix::ALL }
}

/// A generator small enough to be written down here; stories must not change with a library.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ x >> 31) % below
    }
}

/// What was promised when.
#[derive(Clone, Copy)]
pub(super) struct Promise {
    /// Operations of the disk before it.
    pub(super) operations: usize,
    /// The durable horizon.
    pub(super) durable: Timestamp,
    /// Tables that exist.
    tables: usize,
}

/// A database over one or several lives.
#[derive(Clone, Default)]
pub(super) struct Past {
    /// What is known to have survived, in the order of timestamps.
    survived: Vec<Transaction>,
    /// What was promised before.
    promised: Timestamp,
    tables: usize,
}

/// One life of a database.
pub(super) struct Life {
    past: Past,
    committed: Vec<Transaction>,
    pub(super) promises: Vec<Promise>,
    /// Whose creation was acknowledged.
    tables: usize,
}

/// The tables that exist.
fn tables<E: Engine>(engine: &E) -> Vec<HistoryTable> {
    (0..).map_while(|i| HistoryTable::open(engine, &format!("t{i}"), KINDS[i % KINDS.len()])).collect()
}

impl Life {
    /// The life of a database that has just been opened.
    pub(super) fn new<E: Engine>(engine: &E, disk: &SimDisk, past: Past) -> Self {
        // while the directory was opened, what was promised before held
        let before = Promise { operations: 0, durable: past.promised, tables: past.tables };
        let existing = tables(engine).len();
        let mut life = Self { past, committed: Vec::new(), promises: vec![before], tables: existing };
        life.promise(engine, disk);
        life
    }

    fn promise<E: Engine>(&mut self, engine: &E, disk: &SimDisk) {
        self.promises.push(Promise {
            operations: disk.operations(),
            durable: engine.durable(),
            tables: self.tables,
        });
    }

    /// Lives on for some steps. `number`: of this life, so that its rows are told from those of others.
    ///
    /// # Errors
    /// The engine's; what was committed before is noted all the same.
    pub(super) fn live<S: KeepsFiles>(
        &mut self,
        engine: &S::Engine,
        disk: &SimDisk,
        random: &mut Random,
        steps: u64,
        number: usize,
    ) -> Result<()> {
        let mut clients = Vec::new();
        let result = (0..steps).try_for_each(|_| {
            let result = self.step::<S>(engine, &mut clients, random, number);
            self.promise(engine, disk);
            result
        });
        self.meet(clients);
        result
    }

    /// Notes what clients have committed.
    fn meet<W>(&mut self, clients: Vec<(Client, W)>) {
        let committed = clients.into_iter().flat_map(|(client, _)| client.committed);
        self.committed.extend(committed.filter(|t| t.events.iter().any(|event| event.writes())));
        // one that rolled its writes back may have the timestamp of what it read
        self.committed.sort_by_key(|transaction| (transaction.ts, transaction.commit));
    }

    fn step<S: KeepsFiles>(
        &mut self,
        engine: &S::Engine,
        clients: &mut Vec<(Client, WorkerOf<S>)>,
        random: &mut Random,
        number: usize,
    ) -> Result<()> {
        let existing = tables(engine).len();
        let what = random.next(100);
        if existing == 0 || existing < 5 && what < 4 {
            // clients know the tables that they began with
            self.meet(std::mem::take(clients));
            HistoryTable::create(engine, &format!("t{existing}"), KINDS[existing % KINDS.len()])?;
            self.tables = existing + 1;
        } else if what < 6 {
            engine.checkpoint()?;
        } else if what < 30 {
            S::log(engine).flush_once().map_err(|error| Error::LogFailed(error.to_string()))?;
        } else {
            if clients.is_empty() {
                let tables = Arc::new(tables(engine));
                let tails = Arc::new(tables.iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
                for id in 0..3 {
                    let (seed, keys) = (random.next(u64::MAX), (Keys::Uniform(KEYS), mix()));
                    let id = id + 8 * number;
                    let client = Client::new(id, seed, tables.clone(), tails.clone(), keys, Instant::now());
                    clients.push((client, engine.worker()?));
                }
            }
            let (client, worker) = &mut clients[random.next(3) as usize];
            client.step(worker)?;
        }
        Ok(())
    }

    /// What is left of this life and those before when it ends with this horizon.
    fn end(&self, horizon: Timestamp, promise: Promise) -> Past {
        let all = self.past.survived.iter().chain(&self.committed);
        let survived = all.take_while(|transaction| transaction.ts < horizon).cloned().collect();
        Past { survived, promised: promise.durable, tables: promise.tables }
    }

    /// Compares what opened after a crash with what must be there. Says what is wrong.
    pub(super) fn judge<E: Engine>(
        &self,
        engine: &E,
        operations: usize,
    ) -> std::result::Result<Past, String> {
        let horizon = engine.durable();
        let promised = self.promises.iter().rev().find(|promise| promise.operations <= operations);
        let promised = *promised.ok_or("no promise")?;
        if horizon < promised.durable {
            return Err(format!(
                "recovered up to {horizon:?}, but acknowledged up to {:?}",
                promised.durable
            ));
        }
        let tables = tables(engine);
        if tables.len() < promised.tables {
            return Err(format!("{} tables of {}", tables.len(), promised.tables));
        }
        let past = self.end(horizon, promised);
        let mut model = Model::new((0..16).map(|i| KINDS[i % KINDS.len()].indexes));
        for transaction in &past.survived {
            if let Err((event, expected)) = model.apply(&transaction.events) {
                let event = &transaction.events[event];
                return Err(format!("{:?}: {event:?}, but expected {expected}", transaction.ts));
            }
        }
        let mut worker = engine.worker().map_err(|e| e.to_string())?;
        for number in 0..16u8 {
            let Some(table) = tables.get(usize::from(number)) else {
                match model.rows(number).next() {
                    None => continue,
                    Some(row) => return Err(format!("table {number} is gone, with {row:?}")),
                }
            };
            compare(&mut worker, &model, number, table)?;
        }
        Ok(past)
    }
}

/// Every row by every way.
fn compare<W: Worker>(
    worker: &mut W,
    model: &Model,
    number: u8,
    table: &HistoryTable,
) -> std::result::Result<(), String> {
    let differ = |how: &str, got: &[Pair], expected: &[Pair]| {
        let (got, expected): (Vec<_>, Vec<_>) = (
            got.iter().filter(|pair| !expected.contains(pair)).collect(),
            expected.iter().filter(|pair| !got.contains(pair)).collect(),
        );
        Err(format!("table {number} {how}: got {got:?}, expected {expected:?}"))
    };
    let all = table.projection(Columns::ALL);
    let fail = |error: scaledb_base::Error| error.to_string();
    worker.begin(TxnKind::ReadOnly).map_err(fail)?;
    let mut got = Vec::new();
    for id in 0..KEYS + 4 {
        let row = worker
            .get(table.id_of(0), &table.key(id), all, |_, row| table.see(row, Columns::ALL))
            .map_err(fail)?;
        got.extend(row.map(|row| (id, row)));
    }
    let expected: Vec<Pair> = model.rows(number).collect();
    if got != expected {
        return differ("by key", &got, &expected);
    }
    for index in 0..if !table.is_ordered() {
        0
    } else if table.kind.indexes {
        3
    } else {
        1
    } {
        let mut got = Vec::new();
        let see = |_, key: &[u8], row: scaledb_row::RowRef<'_>| {
            got.push(table.see_in(index, key, row, Columns::ALL));
            ControlFlow::Continue(())
        };
        worker.scan(table.id_of(index), Range::ALL, Order::Forward, all, see).map_err(fail)?;
        let expected = model.scan(number, index, Bounds::default(), false, usize::MAX);
        if got != expected {
            return differ(&format!("by index {index}"), &got, &expected);
        }
    }
    worker.commit().map_err(fail)?;
    Ok(())
}
