//! A process that runs TPC-C and is killed, again and again: what it acknowledged is there when its directory is
//! opened again, and TPC-C's consistency conditions hold.
//!
//! The test starts itself as the child. Each transaction of the child also inserts a row that carries the number of
//! its thread and its own number; the child prints that number when the transaction is durable. So the parent
//! knows what was acknowledged, and each thread's rows must be without a gap.
//!
//! `SCALEDB_KILLS` sets how many kills there are (default 5; 100 and more for a soak), `SCALEDB_KILL_DIRECTORY` where.
//! `tests/crash/run.sh` runs this with real power cuts and failing system calls instead of kills:
//! `SCALEDB_POWER` names a program that is called with `cut` before the kill and with `restore` after it,
//! `SCALEDB_KILL_PRELOAD` a library that the child is loaded with, `SCALEDB_NO_SYNC` makes the child never sync (then
//! power cuts must be noticed).
#![cfg(not(any(loom, shuttle)))]

use rand::{Rng, SeedableRng, rngs::SmallRng};
use scaledb_acc::{Acc, Durability};
use scaledb_base::{Error, Result, TableId};
use scaledb_cicada::Cicada;
use scaledb_engine::{Engine, Order, Range, TableDef, TxnKind, Worker};
use scaledb_keys::{Direction, KeyReader};
use scaledb_log::LogOptions;
use scaledb_log::disk::RealDisk;
use scaledb_row::{Column, ColumnType, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::{Arc, thread};
use scaledb_workloads::driver::{Abort, Client, Workload, micros_since_2000};
use scaledb_workloads::tpcc::{self, Mix, Scale, Tables, Tpcc};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tells the child its directory.
const DIRECTORY: &str = "SCALEDB_KILL_CHILD";
const THREADS: usize = 3;

/// Tells the child its engine.
const ENGINE: &str = "SCALEDB_KILL_ENGINE";

/// An engine that is killed.
trait Subject: Engine + Sized {
    const NAME: &str;
    fn open(durability: Durability) -> Result<Self>;
}

impl Subject for Acc {
    const NAME: &str = "acc";

    fn open(durability: Durability) -> Result<Self> {
        Self::open(scaledb_acc::Config { durability: Some(durability), ..Default::default() })
    }
}

impl Subject for Cicada {
    const NAME: &str = "cicada";

    fn open(durability: Durability) -> Result<Self> {
        Self::open(scaledb_cicada::Config { durability: Some(durability), ..Default::default() })
    }
}

fn open<E: Subject>(path: &Path) -> Result<E> {
    let disk = RealDisk::open(path).map_err(|error| Error::Directory(error.to_string()))?;
    let sync = std::env::var_os("SCALEDB_NO_SYNC").is_none();
    let log = LogOptions { segment_bytes: 4 << 20, sync, ..LogOptions::default() };
    let durability = Durability {
        log,
        checkpoint_bytes: 6 << 20,
        checkpoint_share: 0.3,
        ..Durability::new(Arc::new(disk))
    };
    E::open(durability)
}

/// The tables of TPC-C, and the one of acknowledgements.
fn tables<E: Engine>(engine: &E) -> Result<(Tables, TableId)> {
    let scale = Scale { warehouses: 2, items: 1_000, customers: 30 };
    let tables = Tables::create(engine, scale, false)?;
    if let Some(acknowledged) = engine.table("acknowledged") {
        return Ok((tables, acknowledged.id));
    }
    tpcc::load(engine, &tables, 1, 2, micros_since_2000())?;
    let columns = vec![Column::new("thread", ColumnType::Int4), Column::new("number", ColumnType::Int8)];
    let schema = Schema::new(columns, &[KeyPart::asc(0), KeyPart::asc(1)])?;
    // last: a child that was killed before begins anew
    let acknowledged = engine.create_table(TableDef::new("acknowledged", schema))?;
    Ok((tables, acknowledged.id))
}

/// The highest number of each thread. Fails if one is missing.
fn numbers<E: Engine>(engine: &E, table: TableId) -> Result<[i64; THREADS]> {
    let mut highest = [0; THREADS];
    let mut gap = None;
    let mut worker = engine.worker()?;
    worker.begin(TxnKind::ReadOnly)?;
    worker.scan(table, Range::ALL, Order::Forward, &Projection::existence(), |_, key, _| {
        let mut key = KeyReader::new(key);
        let thread = key.i32(Direction::Ascending).expect("a thread") as usize;
        let number = key.i64(Direction::Ascending).expect("a number");
        if number != highest[thread] + 1 {
            gap = Some((thread, number));
        }
        highest[thread] = number;
        ControlFlow::Continue(())
    })?;
    worker.commit()?;
    match gap {
        None => Ok(highest),
        Some(gap) => Err(Error::Directory(format!("thread and number behind a gap: {gap:?}"))),
    }
}

/// Not a test: what the child does. Prints `ready`, then `thread number` for what is durable.
#[test]
fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    match std::env::var(ENGINE).as_deref() {
        Ok(Cicada::NAME) => run_child::<Cicada>(Path::new(&directory)),
        _ => run_child::<Acc>(Path::new(&directory)),
    }
}

fn run_child<E: Subject>(directory: &Path) {
    let engine: E = open(directory).expect("the directory opens");
    let (tables, acknowledged) = tables(&engine).expect("tables");
    let tables = Arc::new(tables);
    let last = numbers(&engine, acknowledged).expect("no gap");
    println!("\nready");
    let workload = Tpcc { tables, mix: Mix::Full, seed: std::process::id().into(), snapshot_reads: false };
    thread::scope(|scope| {
        for (thread, &last) in last.iter().enumerate() {
            let (engine, workload) = (&engine, &workload);
            scope.spawn(move || terminal(engine, workload, acknowledged, thread, last));
        }
    });
}

/// One thread of the child: ends when the log fails, and never otherwise.
fn terminal<E: Engine>(engine: &E, workload: &Tpcc, table: TableId, thread: usize, last: i64) {
    let mut worker = engine.worker().expect("a worker");
    let mut client = workload.client(thread, THREADS);
    let schema = engine.table("acknowledged").expect("the table").schema.clone();
    let (mut number, mut row) = (last, RowBuf::new(&schema));
    let mut waiting: VecDeque<_> = VecDeque::new();
    loop {
        let transaction = client.prepare(micros_since_2000());
        let mut attempt = 0;
        loop {
            worker.begin(TxnKind::ReadWrite).expect("begin");
            let mut edit = row.edit(&schema);
            edit.set_i32(0, thread as i32);
            edit.set_i64(1, number + 1);
            let done =
                client.execute(&mut worker).and_then(|()| Ok(worker.insert(table, &row).map(|_| ())?));
            match done.and_then(|()| Ok(worker.commit()?)) {
                Ok(_) => break,
                Err(Abort::Database(Error::RolledBack)) => {
                    worker.rollback();
                    number -= 1; // taken back below
                    break;
                }
                Err(Abort::Database(Error::LogFailed(_))) => return,
                Err(_) => {
                    worker.rollback();
                    attempt += 1;
                    worker.back_off(attempt);
                }
            }
        }
        number += 1;
        let _ = transaction;
        waiting.push_back((worker.depends_on(), number));
        let durable = engine.durable();
        let mut told = None;
        while waiting.front().is_some_and(|first| first.0 < durable) {
            told = waiting.pop_front();
        }
        if let Some((_, number)) = told {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{thread} {number}").expect("the parent listens");
        }
    }
}

/// The child, and what it has acknowledged when it has died.
struct Running {
    child: Child,
    /// It has opened its directory.
    is_ready: Arc<AtomicBool>,
    told: thread::JoinHandle<[i64; THREADS]>,
}

/// Cuts the power, or gives it back, if the environment names a program that can.
fn power(what: &str) {
    if let Some(program) = std::env::var_os("SCALEDB_POWER") {
        let done = Command::new(program).arg(what).status().expect("the program for the power runs");
        assert!(done.success(), "power {what}: {done}");
    }
}

fn start(directory: &Path, engine: &str) -> Running {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(DIRECTORY, directory).env(ENGINE, engine).stdout(Stdio::piped());
    if let Some(library) = std::env::var_os("SCALEDB_KILL_PRELOAD") {
        command.env("LD_PRELOAD", library);
    }
    let mut child = command.spawn().expect("the child starts");
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let ready = Arc::new(AtomicBool::new(false));
    let is_ready = ready.clone();
    let told = thread::spawn(move || {
        let mut highest = [0; THREADS];
        for line in out.lines().map_while(|line| line.ok()) {
            if line == "ready" {
                ready.store(true, Ordering::Relaxed); // a flag
            }
            // the last line may be torn: a prefix of a number is a smaller number
            if let Some((thread, number)) = line.split_once(' ')
                && let (Ok(thread), Ok(number)) = (thread.parse::<usize>(), number.parse::<i64>())
                && thread < THREADS
            {
                highest[thread] = highest[thread].max(number);
            }
        }
        highest
    });
    Running { child, told, is_ready }
}

/// Waits until another checkpoint is in force.
fn await_checkpoint(directory: &Path, patience: Duration) {
    let next = || {
        let manifest = std::fs::read_to_string(directory.join("MANIFEST")).unwrap_or_default();
        let (_, rest) = manifest.split_once("\"next_checkpoint\":")?;
        rest.split(',').next()?.parse::<u64>().ok()
    };
    let (before, since) = (next(), Instant::now());
    while next() == before && since.elapsed() < patience {
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    kill_again_and_again::<Acc>();
}

#[test]
fn a_killed_process_with_cicada_loses_nothing_that_it_acknowledged() {
    kill_again_and_again::<Cicada>();
}

/// After so many kills the next process begins with an empty directory.
const ONE_DATABASE: u32 = 25;

fn kill_again_and_again<E: Subject>() {
    if std::env::var_os(DIRECTORY).is_some() {
        return;
    }
    let kills = std::env::var("SCALEDB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let base = std::env::var_os("SCALEDB_KILL_DIRECTORY").map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = base.join(format!("scaledb-kills-{}-{}", E::NAME, std::process::id()));
    let mut random = SmallRng::seed_from_u64(std::process::id().into());
    let mut sum = 0;
    for kill in 0..kills {
        // the orders of many lives take longer and longer to recover and to check
        if kill > 0 && kill % ONE_DATABASE == 0 {
            println!("{}: {kill} kills", E::NAME);
            std::fs::remove_dir_all(&directory).expect("the directory can be removed");
        }
        let mut running = start(&directory, E::NAME);
        // a fault may keep it from opening its directory, or end it
        let faulty = std::env::var_os("SCALEDB_KILL_PRELOAD").is_some();
        let patience = Duration::from_secs(if faulty { 10 } else { 120 });
        let since = Instant::now();
        // a flag
        while !running.is_ready.load(Ordering::Relaxed) && since.elapsed() < patience {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(faulty || since.elapsed() < patience, "the child does not open its directory");
        // lives are too short for a checkpoint: without one now and then, the log grows with each of them
        if kill % 10 == 9 && !faulty {
            await_checkpoint(&directory, patience);
        }
        thread::sleep(Duration::from_millis(random.random_range(20..700)));
        power("cut");
        running.child.kill().expect("the child can be killed");
        running.child.wait().expect("the child dies");
        let told = running.told.join().expect("the listener ends");
        power("restore");
        let engine: E = open(&directory).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        let (tables, acknowledged) = tables(&engine).expect("tables");
        let found = numbers(&engine, acknowledged).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        for thread in 0..THREADS {
            assert!(
                found[thread] >= told[thread],
                "kill {kill}: thread {thread} was told of {}, and {} is the last: {}",
                told[thread],
                found[thread],
                directory.display()
            );
        }
        let conditions = tpcc::check(&tables, &mut engine.worker().expect("a worker")).expect("a check");
        let broken: Vec<_> = conditions.iter().filter(|condition| !condition.holds()).collect();
        assert!(broken.is_empty(), "kill {kill}: {broken:?}: {}", directory.display());
        sum = found.iter().sum();
    }
    println!("{kills} kills, {sum} transactions");
    std::fs::remove_dir_all(&directory).expect("the directory can be removed");
}
