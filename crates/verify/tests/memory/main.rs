//! Memory does not grow under updates, inserts and deletes of as many rows as there were.
//!
//! `SCALEDB_MEMORY_SECONDS` is the time after the warm-up (default 4; 1800 for a soak), `SCALEDB_MEMORY_ROWS` the
//! number of rows (default 24,000), `SCALEDB_MEMORY_REST` the microseconds that a thread rests after some transactions
//! (default 0). What a transaction holds back that is preempted in its middle is as much for few rows as for many: a
//! soak on a busy machine wants many rows, rests, and a high priority.
#![cfg(not(any(loom, shuttle)))]

mod faults;
mod rest;
mod shortage;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_acc::{Acc, Config};
use scaledb_engine::{Access, Engine, TxnKind, Worker};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, thread};
use scaledb_verify::history::{Change, Columns, HistoryTable, Kind, Row, text_of};
use scaledb_verify::level::stays_level;
use std::sync::LazyLock;
use std::time::Duration;

/// A setting from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// Texts of up to 96 bytes; the few long ones would take long to reach their greatest number.
fn text_number(random: &mut SmallRng) -> u64 {
    random.random_range(0..1 << 40) * 31 + 1
}

/// Keys of a thread are its own: a ring that is filled at one end and emptied at the other. Every row has
/// the same expected length at all times.
fn churn(engine: &Acc, t: &HistoryTable, thread: i32, rows: i32, (filled, stop): (&AtomicU64, &AtomicBool)) {
    let mut worker = engine.worker().unwrap();
    let mut random = SmallRng::seed_from_u64(thread as u64);
    let columns = Columns(Columns::W | Columns::TEXT);
    let base = thread << 28;
    let row = |id: i32, random: &mut SmallRng| {
        (Row { a: id % 50, u: Some(id), ..Row::default() }, text_of(text_number(random)))
    };
    for id in base..base + rows {
        let (row, text) = row(id, &mut random);
        worker
            .run(TxnKind::ReadWrite, |w| w.insert(t.id_of(0), &t.row(id, &row, &text)).map(|_| ()))
            .unwrap();
    }
    filled.fetch_add(1, Ordering::Relaxed); // a number, and nothing else
    let rest = Duration::from_micros(setting("SCALEDB_MEMORY_REST", 0));
    let (mut first, mut next) = (base, base + rows);
    // a flag, and nothing else
    while !stop.load(Ordering::Relaxed) {
        let (new, text) = row(next, &mut random);
        let change = Change {
            text: Some(text_number(&mut random)),
            w: Some(1),
            a: Some(random.random_range(0..50)),
            ..Change::default()
        };
        let updated = random.random_range(first + 1..next);
        worker
            .run(TxnKind::ReadWrite, |w| {
                w.delete(t.id_of(0), &t.key(first))?;
                w.insert(t.id_of(0), &t.row(next, &new, &text))?;
                w.update(t.id_of(0), &t.key(updated), t.projection(Columns(columns.0 | Columns::A)), |r| {
                    t.apply(r, &change)
                })?;
                Ok(())
            })
            .unwrap();
        (first, next) = (first + 1, next + 1);
        if !rest.is_zero() && first % 256 == 0 {
            thread::sleep(rest);
        }
        if random.random_ratio(1, 2000) {
            // snapshots make updates keep versions
            worker
                .run(TxnKind::Snapshot, |w| {
                    w.get(t.id_of(0), &t.key(updated), t.projection(columns), |_, _| ()).map(|_| ())
                })
                .unwrap();
        }
    }
}

/// One at a time, unless it is a soak.
static QUIET: LazyLock<Mutex<()>> = LazyLock::new(|| Mutex::new(()));

#[test]
fn churn_of_a_hashed_table_takes_no_more_memory_than_it_had() {
    memory_stays(Access::Hashed);
}

#[test]
fn churn_of_an_ordered_table_takes_no_more_memory_than_it_had() {
    memory_stays(Access::Ordered);
}

fn memory_stays(access: Access) {
    let seconds = setting("SCALEDB_MEMORY_SECONDS", 4);
    let rows = setting("SCALEDB_MEMORY_ROWS", 24_000) as i32 / 2;
    let _quiet = (seconds < 60).then(|| QUIET.lock());
    let engine = Arc::new(Acc::open(Config::default()).unwrap());
    let t = Arc::new(HistoryTable::create(&*engine, "t", Kind::new(access, None)).unwrap());
    let (stop, filled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let threads: Vec<_> = (1..=2)
        .map(|thread| {
            let (engine, t, stop, filled) = (engine.clone(), t.clone(), stop.clone(), filled.clone());
            thread::spawn(move || churn(&engine, &t, thread, rows, (&filled, &stop)))
        })
        .collect();
    while filled.load(Ordering::Relaxed) < 2 {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_secs(4 + (seconds / 20).min(30)));
    let window = Duration::from_secs(seconds);
    let stays = stays_level(&format!("{access:?}"), window, || engine.memory_bytes());
    stop.store(true, Ordering::Relaxed); // a flag
    threads.into_iter().for_each(|t| t.join().unwrap());
    let stats = engine.stats();
    println!("{access:?}: {} commits", stats.commits);
    for table in &stats.tables {
        println!(
            "  {}: {} entries in the tree, {} pending, {} cleaned",
            table.name,
            table.tree_entries,
            table.entries - table.tree_entries,
            table.cleaned
        );
    }
    stays.unwrap();
}
