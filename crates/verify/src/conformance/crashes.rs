//! Crashes and failing disks under the whole engine: whatever operation of the simulated disk power fails after, or
//! which of them fails, the database that opens again holds what it acknowledged, and is as it was at some moment.
//!
//! Each operation of a story's disk gives crash points. What opens after a crash is compared with a replay of the
//! committed transactions up to the recovered horizon; sometimes its story goes on, and each operation from the
//! opening on crashes again.
//!
//! `SCALEDB_CRASH_POINTS` sets how many there are at least (default:
//! [`Differences::crash_points`](crate::conformance::Differences::crash_points)).

use crate::conformance::story::{KINDS, Life, Past, Random};
use crate::conformance::{KeepsFiles, Purpose};
use crate::disk::{Fault, SimDisk, When};
use crate::history::{Columns, HistoryTable};
use scaledb_base::Error;
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use scaledb_sync::thread;
use std::time::Instant;

/// How the engine of a story is opened, each time.
#[derive(Clone, Copy)]
struct Setup {
    seed: u64,
    sync: bool,
}

fn open<S: KeepsFiles>(disk: &SimDisk, setup: Setup) -> scaledb_base::Result<S::Engine> {
    S::open(Purpose::Disk { disk, seed: setup.seed, sync: setup.sync })
}

/// One story with its crashes. Returns how many there were.
fn story<S: KeepsFiles>(seed: u64, sync: bool) -> Result<usize, String> {
    let setup = Setup { seed, sync };
    let random = &mut Random(seed);
    let disk = SimDisk::new(seed);
    let tell = |error: scaledb_base::Error| format!("seed {seed}: {error}");
    let engine = open::<S>(&disk, setup).map_err(tell)?;
    let steps = 40 + random.next(60);
    let mut life = Life::new(&engine, &disk, Past::default());
    life.live::<S>(&engine, &disk, random, steps, 0).map_err(tell)?;
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
            crash::<S>(&life, image, at, random, &mut crashes, setup).map_err(place)?;
        }
    }
    Ok(crashes)
}

/// Opens what a crash has left, judges it and, sometimes, lives on and crashes again.
fn crash<S: KeepsFiles>(
    life: &Life,
    image: SimDisk,
    at: usize,
    random: &mut Random,
    crashes: &mut usize,
    setup: Setup,
) -> Result<(), String> {
    let again = random.next(24) == 0;
    let image = if again { image.recording() } else { image };
    let tell = |error: scaledb_base::Error| error.to_string();
    let engine = open::<S>(&image, setup).map_err(tell)?;
    let past = life.judge(&engine, at)?;
    if !again {
        return Ok(());
    }
    let mut second = Life::new(&engine, &image, past);
    second.live::<S>(&engine, &image, random, 12, 1).map_err(tell)?;
    let opened = second.promises[1].durable;
    for at in 0..image.crash_points() {
        let third = image.image(at, random.next(u64::MAX));
        *crashes += 1;
        let engine = open::<S>(&third, setup).map_err(|e| format!("second life, operation {at}: {e}"))?;
        let tell = |what: String| format!("second life (opened at {opened:?}), operation {at}: {what}");
        second.judge(&engine, at).map_err(tell)?;
    }
    Ok(())
}

/// So many crash points, by all processors.
fn stories<S: KeepsFiles>(least: usize, sync: bool) -> Result<(usize, u64), String> {
    let (done, seed) = (AtomicUsize::new(0), AtomicU64::new(1));
    let result: Result<(), String> = thread::scope(|scope| {
        let work = || {
            // counters
            while done.load(Ordering::Relaxed) < least {
                let seed = seed.fetch_add(1, Ordering::Relaxed);
                done.fetch_add(story::<S>(seed, sync)?, Ordering::Relaxed);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..thread::cores()).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a story does not panic"))
    });
    let done = (done.into_inner(), seed.into_inner());
    result.map(|()| done)
}

/// Whatever operation of the disk power fails after.
pub fn a_crash_loses_nothing_that_was_acknowledged<S: KeepsFiles>() {
    let asked = std::env::var("SCALEDB_CRASH_POINTS").ok().and_then(|n| n.parse().ok());
    let start = Instant::now();
    match stories::<S>(asked.unwrap_or(S::DIFFERENCES.crash_points), true) {
        Ok((crashes, stories)) => {
            println!("{crashes} crash points of {stories} stories in {:.1} s", start.elapsed().as_secs_f64());
        }
        Err(what) => panic!("{what}"),
    }
}

/// The test notices a log that never syncs.
pub fn without_sync_something_is_lost<S: KeepsFiles>() {
    assert!(stories::<S>(20_000, false).is_err(), "the test does not notice a log that never syncs");
}

/// A story whose disk fails at one operation. False: there is no such operation.
fn failing<S: KeepsFiles>(seed: u64, operation: usize, fault: Fault) -> Result<bool, String> {
    let setup = Setup { seed, sync: true };
    let random = &mut Random(seed);
    let disk = SimDisk::new(seed);
    let fail = |what: &str| format!("seed {seed}, {fault:?} at operation {operation}: {what}");
    disk.inject(When::Operation(operation), fault);
    let before = disk.operations();
    let engine = match open::<S>(&disk, setup) {
        Ok(engine) => engine,
        // it must open when the disk works again
        Err(_) => {
            disk.heal();
            return open::<S>(&disk, setup).map(|_| true).map_err(|error| fail(&error.to_string()));
        }
    };
    let mut life = Life::new(&engine, &disk, Past::default());
    let result = life.live::<S>(&engine, &disk, random, 40, 0);
    if disk.operations() - before <= operation {
        return Ok(false);
    }
    if S::log(&engine).failure().is_some() {
        refuses_writes::<S>(&engine).map_err(|what| fail(&what))?;
        if !matches!(result, Err(Error::LogFailed(_))) {
            return Err(fail(&format!("nobody was told: {result:?}")));
        }
    }
    let last = disk.crash_points() - 1;
    drop(engine);
    for image in [disk.killed(last), disk.image(last, seed), disk.image(last, seed + 1)] {
        let engine = open::<S>(&image, setup).map_err(|error| fail(&error.to_string()))?;
        life.judge(&engine, last).map_err(|what| fail(&what))?;
    }
    Ok(true)
}

/// After the log has failed: no write commits, and reads go on.
fn refuses_writes<S: KeepsFiles>(engine: &S::Engine) -> Result<(), String> {
    let Some(table) = HistoryTable::open(engine, "t0", KINDS[0]) else { return Ok(()) };
    let durable = engine.durable();
    let mut worker = engine.worker().map_err(|e| e.to_string())?;
    let written = worker.run(TxnKind::ReadWrite, |worker| {
        worker.delete(table.id_of(0), &table.key(1))?;
        worker.insert(table.id_of(0), &table.row(1, &Default::default(), "after the failure"))
    });
    if !matches!(written, Err(Error::LogFailed(_))) {
        return Err(format!("a write after the failure: {written:?}"));
    }
    let columns = table.projection(Columns::ALL);
    let read =
        worker.run(TxnKind::ReadOnly, |worker| worker.get(table.id_of(0), &table.key(2), columns, |_, _| ()));
    read.map_err(|error| format!("a read after the failure: {error}"))?;
    if engine.durable() != durable {
        return Err("the horizon has moved after the failure".to_owned());
    }
    Ok(())
}

/// Whatever operation of the disk fails, and how.
pub fn a_failing_disk_stops_writes_and_loses_nothing_that_was_acknowledged<S: KeepsFiles>() {
    let (mut failures, mut seed) = (0, 1);
    while failures < 2_000 {
        for fault in [Fault::Error, Fault::Full, Fault::Short(700)] {
            for operation in 0.. {
                match failing::<S>(seed, operation, fault) {
                    Ok(true) => failures += 1,
                    Ok(false) => break,
                    Err(what) => panic!("{what}"),
                }
            }
        }
        seed += 1;
    }
    println!("{failures} failures of {} stories", seed - 1);
}
