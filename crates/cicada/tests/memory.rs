//! Memory does not grow under updates, inserts and deletes of as many rows as there were, nor under updates of
//! few rows as fast as can be: clean-up keeps up (section 3.8).
//!
//! `SCALEDB_MEMORY_SECONDS` is the time after the warm-up (default 3; 1800 for a soak).
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, Clocks, Config};
use scaledb_engine::{Access, Engine, TxnKind, Worker};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::{Arc, thread};
use scaledb_verify::history::{Change, Columns, HistoryTable, Kind, Row, text_of};
use scaledb_verify::level::stays_level;
use std::time::{Duration, Instant};

const ROWS: i32 = 10_000;

/// Keys of a thread are its own: a ring that is filled at one end and emptied at the other; and one row that
/// all change. Texts have one length, so that every row has the same size at all times.
fn churn(engine: &Cicada, t: &HistoryTable, thread: i32, (filled, stop): (&AtomicU64, &AtomicBool)) {
    let mut worker = engine.worker().unwrap();
    let base = thread << 24;
    let row = |id: i32| (Row { a: id % 50, u: Some(id), ..Row::default() }, text_of(1));
    let insert = |w: &mut scaledb_cicada::CicadaWorker, id: i32| {
        let (row, text) = row(id);
        w.insert(t.id_of(0), &t.row(id, &row, &text)).map(|_| ())
    };
    for id in base..base + ROWS {
        worker.run(TxnKind::ReadWrite, |w| insert(w, id)).unwrap();
    }
    filled.fetch_add(1, Ordering::Relaxed); // a number, and nothing else
    let mut first = base;
    // a flag, and nothing else
    while !stop.load(Ordering::Relaxed) {
        let next = first + ROWS;
        let moved = Change { a: Some(first % 49), ..Change::default() };
        let hot = Change { w: Some(i64::from(first)), ..Change::default() };
        let columns = Columns::ALL;
        worker
            .run(TxnKind::ReadWrite, |w| {
                w.delete(t.id_of(0), &t.key(first))?;
                insert(w, next)?;
                let cols = t.projection(columns);
                w.update(t.id_of(0), &t.key(first + ROWS / 2), cols, |r| t.apply(r, &moved))?;
                w.update(t.id_of(0), &t.key(0), cols, |r| t.apply(r, &hot))?;
                Ok(())
            })
            .unwrap();
        first += 1;
    }
}

#[test]
fn churn_takes_no_more_memory_than_it_had() {
    let seconds = std::env::var("SCALEDB_MEMORY_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    for (access, clocks) in [(Access::Hashed, Clocks::Synchronized), (Access::Ordered, Clocks::Loose)] {
        let engine = Arc::new(Cicada::open(Config { clocks, ..Config::default() }).unwrap());
        let t = Arc::new(HistoryTable::create(&*engine, "t", Kind::new(access, None)).unwrap());
        let (shared, text) = (Row { u: Some(-1), ..Row::default() }, text_of(1));
        let mut worker = engine.worker().unwrap();
        worker
            .run(TxnKind::ReadWrite, |w| w.insert(t.id_of(0), &t.row(0, &shared, &text)).map(|_| ()))
            .unwrap();
        // this worker stays, idle, and holds nothing up
        let (stop, filled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let threads: Vec<_> = (1..=3)
            .map(|thread| {
                let (engine, t, stop, filled) = (engine.clone(), t.clone(), stop.clone(), filled.clone());
                thread::spawn(move || churn(&engine, &t, thread, (&filled, &stop)))
            })
            .collect();
        while filled.load(Ordering::Relaxed) < 3 {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_secs(3 + (seconds / 20).min(30)));
        let window = Duration::from_secs(seconds);
        let stays = stays_level(&format!("{access:?}"), window, || engine.stats().memory_bytes);
        stop.store(true, Ordering::Relaxed); // a flag
        threads.into_iter().for_each(|t| t.join().unwrap());
        let stats = engine.stats();
        println!("{access:?}: {} commits", stats.commits);
        stays.unwrap();
    }
}

#[test]
fn what_idle_workers_left_is_cleaned() {
    let engine = Cicada::open(Config::default()).unwrap();
    let t = HistoryTable::create(&engine, "t", Kind::new(Access::Hashed, None)).unwrap();
    let mut worker = engine.worker().unwrap();
    for id in 0..1000 {
        let (row, text) = (Row { u: Some(id), ..Row::default() }, text_of(1));
        worker
            .run(TxnKind::ReadWrite, |w| w.insert(t.id_of(0), &t.row(id, &row, &text)))
            .map(|_| ())
            .unwrap();
    }
    let delete = |w: &mut scaledb_cicada::CicadaWorker| {
        (0..1000).try_for_each(|id| w.delete(t.id_of(0), &t.key(id)).map(|_| ()))
    };
    worker.run(TxnKind::ReadWrite, delete).unwrap();
    // the worker stays, and does nothing
    let cleaned = || engine.stats().tables.iter().map(|t| t.cleaned).sum::<u64>();
    let start = Instant::now();
    while cleaned() < 3000 && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(cleaned(), 3000, "rows and two entries of each");
    assert!(engine.stats().tables.iter().all(|t| t.tree_entries == 0));
}

#[test]
fn records_are_weighed_while_their_versions_are_reused() {
    const FEW: i32 = 64;
    let engine = Arc::new(Cicada::open(Config::default()).unwrap());
    let t = Arc::new(HistoryTable::create(&*engine, "t", Kind::new(Access::Ordered, None)).unwrap());
    let mut worker = engine.worker().unwrap();
    for id in 0..FEW {
        let (row, text) = (Row { u: Some(id), ..Row::default() }, text_of(1));
        worker
            .run(TxnKind::ReadWrite, |w| w.insert(t.id_of(0), &t.row(id, &row, &text)).map(|_| ()))
            .unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (t, stop) = (t.clone(), stop.clone());
        thread::spawn(move || {
            // 840 bytes and one, which have their places apart and in the record
            for (round, text) in [2945, 1].into_iter().cycle().enumerate() {
                let change = Change { text: Some(text), ..Change::default() };
                let id = round as i32 / 2 % FEW;
                let cols = t.projection(Columns::ALL);
                worker
                    .run(TxnKind::ReadWrite, |w| {
                        w.update(t.id_of(0), &t.key(id), cols, |r| t.apply(r, &change)).map(|_| ())
                    })
                    .unwrap();
                // a flag, and nothing else
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        })
    };
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        let bytes = engine.table_stats(t.id_of(0)).unwrap().record_bytes;
        assert!((FEW as u64 * 100..FEW as u64 * 2_500).contains(&bytes), "{bytes}");
    }
    stop.store(true, Ordering::Relaxed); // a flag
    writer.join().unwrap();
}

#[test]
fn a_transaction_that_idles_is_seen_to_hold_versions_back() {
    let engine = Cicada::open(Config::default()).unwrap();
    let t = HistoryTable::create(&engine, "t", Kind::new(Access::Ordered, None)).unwrap();
    let (mut idle, mut writer) = (engine.worker().unwrap(), engine.worker().unwrap());
    let row = Row { u: Some(1), ..Row::default() };
    writer
        .run(TxnKind::ReadWrite, |w| w.insert(t.id_of(0), &t.row(1, &row, &text_of(1))).map(|_| ()))
        .unwrap();
    idle.begin(TxnKind::ReadWrite).unwrap();
    for number in 0..1_000 {
        let change = Change { w: Some(number), ..Change::default() };
        let cols = t.projection(Columns::ALL);
        writer
            .run(TxnKind::ReadWrite, |w| {
                w.update(t.id_of(0), &t.key(1), cols, |r| t.apply(r, &change)).map(|_| ())
            })
            .unwrap();
    }
    let held = engine.reclamation();
    assert!(held.waiting >= 999, "{held:?}");
    // the background may look at something at this moment, too
    assert!(held.active.iter().any(|(id, time)| *id == idle.id() && *time == held.lag()), "{held:?}");
    assert!(held.lag() > Duration::ZERO);
    let memory = Engine::memory(&engine);
    assert!(memory.bytes > 0 && memory.bytes <= memory.budget, "{memory:?}");
    idle.rollback();
    assert!(engine.reclamation().active.iter().all(|(id, _)| *id != idle.id()));
    let start = Instant::now();
    while engine.reclamation().waiting > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", engine.reclamation());
        thread::sleep(Duration::from_millis(5));
    }
}
