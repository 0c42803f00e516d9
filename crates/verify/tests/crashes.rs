//! Crashes of the whole engine on the simulated disk: whatever operation of the disk power fails after, the
//! database that opens again holds what it acknowledged, and is as it was at some moment.
//!
//! A *story* is a random sequence of transactions of several workers, flushes of the log, checkpoints and
//! new tables, in one thread, so that it is the same for one seed; the log is flushed by the story. Each
//! operation of its disk gives crash points. What opens after a crash is compared with a replay of the committed
//! transactions up to the recovered horizon; then its story goes on, and some of its operations crash again.
//!
//! `SCALEDB_CRASH_POINTS` sets how many there are at least (default 100,000).
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::{Acc, Config, Durability};
use scaledb_base::{Result, Timestamp};
use scaledb_engine::{Access, Engine, Order, Range, TxnKind, Worker};
use scaledb_log::LogOptions;
use scaledb_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use scaledb_sync::clock::Source;
use scaledb_sync::{Arc, thread};
use scaledb_verify::disk::SimDisk;
use scaledb_verify::history::{Bounds, Client, Columns, Keys, Kind, Mix, Model, Pair, Table, Transaction};
use std::ops::ControlFlow;
use std::time::Instant;

/// Keys of a table.
const KEYS: i32 = 24;

const KINDS: [Kind; 4] = [
    Kind::new(Access::Hashed, None),
    Kind::new(Access::Ordered, Some(4)),
    Kind::new(Access::HashOnly, None).plain(),
    Kind::new(Access::Ordered, Some(0)),
];

fn mix() -> Mix {
    Mix { snapshots: 0, deferrable: 0, yields: 0, scan: 4, get: 6, run: 0, ..Mix::ALL }
}

/// The smallest sizes: many groups, segments and leaves in few transactions.
fn config(disk: &SimDisk, sync: bool) -> Config {
    let log = LogOptions { manual: true, segment_bytes: 24 << 10, sync, ..LogOptions::default() };
    let durability = Durability {
        log,
        recovery_threads: 1,
        checkpoint_bytes: 0,
        ..Durability::new(Arc::new(disk.clone()))
    };
    Config {
        clock: Some(Source::Counter),
        indexlet_slots: 64,
        phantomlet_cells: 4,
        background: false,
        durability: Some(durability),
        ..Config::default()
    }
}

/// A generator small enough to be written down here; stories must not change with a library.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ x >> 31) % below
    }
}

/// What was promised when.
#[derive(Clone, Copy)]
struct Promise {
    /// Operations of the disk before it.
    operations: usize,
    /// The durable horizon.
    durable: Timestamp,
    /// Tables that exist.
    tables: usize,
}

/// A database over one or several lives.
#[derive(Clone, Default)]
struct Past {
    /// What is known to have survived, in the order of timestamps.
    survived: Vec<Transaction>,
    /// What was promised before.
    promised: Timestamp,
    tables: usize,
}

/// One life of a database.
struct Life {
    past: Past,
    committed: Vec<Transaction>,
    promises: Vec<Promise>,
}

/// Opens the tables that exist.
fn tables(engine: &Acc) -> Vec<Table> {
    (0..).map_while(|i| Table::open(engine, &format!("t{i}"), KINDS[i % KINDS.len()])).collect()
}

/// Lives on with an open database for some steps.
fn live(
    engine: &Acc,
    disk: &SimDisk,
    past: Past,
    random: &mut Random,
    steps: u64,
    life: u64,
) -> Result<Life> {
    let log = engine.log().expect("a durable engine").clone();
    let mut clients: Vec<(Client, _)> = Vec::new();
    let mut committed = Vec::new();
    let mut existing = tables(engine).len();
    // while the directory was opened, what was promised before held
    let mut promises = vec![
        Promise { operations: 0, durable: past.promised, tables: past.tables },
        Promise { operations: disk.operations(), durable: engine.durable(), tables: existing },
    ];
    let start = Instant::now();
    let tails = Arc::new((0..16).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
    for _ in 0..steps {
        let what = random.next(100);
        if existing == 0 || existing < 5 && what < 4 {
            Table::create(engine, &format!("t{existing}"), KINDS[existing % KINDS.len()])?;
            existing += 1;
            // clients know the tables that they began with
            committed.extend(clients.drain(..).flat_map(|(client, _): (Client, _)| client.committed));
        } else if what < 6 {
            engine.checkpoint()?;
        } else if what < 30 {
            log.flush_once().expect("the disk works");
        } else {
            if clients.is_empty() {
                let tables = Arc::new(tables(engine));
                for id in 0..3 {
                    let seed = random.next(u64::MAX);
                    // marks of rows tell lives apart
                    let id = id + 8 * life as usize;
                    let keys = (Keys::Uniform(KEYS), mix());
                    clients.push((
                        Client::new(id, seed, tables.clone(), tails.clone(), keys, start),
                        engine.worker()?,
                    ));
                }
            }
            let (client, worker) = &mut clients[random.next(3) as usize];
            client.step(worker)?;
        }
        let promise = Promise { operations: disk.operations(), durable: engine.durable(), tables: existing };
        promises.push(promise);
    }
    committed.extend(clients.into_iter().flat_map(|(client, _)| client.committed));
    committed.retain(|transaction| transaction.events.iter().any(|event| event.writes()));
    // one that rolled its writes back may have the timestamp of what it read
    committed.sort_by_key(|transaction| (transaction.ts, transaction.commit));
    Ok(Life { past, committed, promises })
}

impl Life {
    /// What is left of this life and those before when it ends with this horizon.
    fn end(&self, horizon: Timestamp, promise: Promise) -> Past {
        let all = self.past.survived.iter().chain(&self.committed);
        let survived = all.take_while(|transaction| transaction.ts < horizon).cloned().collect();
        Past { survived, promised: promise.durable, tables: promise.tables }
    }

    /// Compares what opened after a crash with what must be there. Says what is wrong.
    fn judge(&self, engine: &Acc, operations: usize) -> std::result::Result<Past, String> {
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
    table: &Table,
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

/// One story with its crashes. Returns how many there were.
fn story(seed: u64, sync: bool) -> std::result::Result<usize, String> {
    let random = &mut Random(seed);
    let disk = SimDisk::new(seed);
    let tell = |error: scaledb_base::Error| format!("seed {seed}: {error}");
    let engine = Acc::open(config(&disk, sync)).map_err(tell)?;
    let steps = 40 + random.next(60);
    let life = live(&engine, &disk, Past::default(), random, steps, 0).map_err(tell)?;
    let mut crashes = 0;
    for at in 0..disk.crash_points() {
        for luck in 0..3 {
            let lost = seed ^ (at as u64) << 20 ^ luck << 50;
            let image = match luck {
                2 => disk.killed(at),
                _ => disk.image(at, lost),
            };
            crashes += 1;
            let place =
                |what: String| format!("seed {seed}, crash after operation {at}, luck {luck}: {what}");
            crash(&life, image, at, random, &mut crashes, sync).map_err(place)?;
        }
    }
    Ok(crashes)
}

/// Opens what a crash has left, judges it and, sometimes, lives on and crashes again.
fn crash(
    life: &Life,
    image: SimDisk,
    at: usize,
    random: &mut Random,
    crashes: &mut usize,
    sync: bool,
) -> std::result::Result<(), String> {
    let again = random.next(24) == 0;
    let image = if again { image.recording() } else { image };
    let tell = |error: scaledb_base::Error| error.to_string();
    let engine = Acc::open(config(&image, sync)).map_err(tell)?;
    let past = life.judge(&engine, at)?;
    if !again {
        return Ok(());
    }
    let second = live(&engine, &image, past.clone(), random, 12, 1).map_err(tell)?;
    let opened = second.promises[1].durable;
    for at in 0..image.crash_points() {
        let third = image.image(at, random.next(u64::MAX));
        *crashes += 1;
        let engine =
            Acc::open(config(&third, sync)).map_err(|e| format!("second life, operation {at}: {e}"))?;
        let tell = |what: String| format!("second life (opened at {opened:?}), operation {at}: {what}");
        second.judge(&engine, at).map_err(tell)?;
    }
    Ok(())
}

/// So many crash points, by all processors.
fn stories(least: usize, sync: bool) -> std::result::Result<(usize, u64), String> {
    let (done, seed) = (AtomicUsize::new(0), AtomicU64::new(1));
    let result: std::result::Result<(), String> = thread::scope(|scope| {
        let work = || {
            // counters
            while done.load(Ordering::Relaxed) < least {
                let seed = seed.fetch_add(1, Ordering::Relaxed);
                done.fetch_add(story(seed, sync)?, Ordering::Relaxed);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..thread::cores()).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a story does not panic")).collect()
    });
    let done = (done.into_inner(), seed.into_inner());
    result.map(|()| done)
}

#[test]
fn a_crash_loses_nothing_that_was_acknowledged() {
    let least = std::env::var("SCALEDB_CRASH_POINTS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let start = Instant::now();
    match stories(least, true) {
        Ok((crashes, stories)) => {
            println!("{crashes} crash points of {stories} stories in {:.1} s", start.elapsed().as_secs_f64());
        }
        Err(what) => panic!("{what}"),
    }
}

#[test]
fn without_sync_something_is_lost() {
    assert!(stories(20_000, false).is_err(), "the test does not notice a log that never syncs");
}
