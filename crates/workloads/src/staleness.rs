//! How old the state is that a snapshot shows (Cicada, section 4.6).
//!
//! Threads write the time into a row each, over and over; one thread begins a snapshot, reads all of these rows, and
//! notes how long ago the latest of them was written. That is the lag of the snapshot and the time between two writes,
//! some microseconds.

use crate::report::Latency;
use hdrhistogram::Histogram;
use scaledb_base::Result;
use scaledb_engine::{Engine, TableDef, TxnKind, Worker};
use scaledb_keys::{Direction, KeyBuf};
use scaledb_row::{Column, ColumnType, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::thread;
use std::time::{Duration, Instant};

/// The longest staleness that is told from longer ones.
const LONGEST: Duration = Duration::from_secs(10);
/// Between two snapshots.
const PAUSE: Duration = Duration::from_micros(50);

/// Measures on an empty database, for `duration`, with `writers` threads that write and one that reads.
///
/// # Errors
/// What the engine returns.
pub fn measure<E: Engine>(engine: &E, writers: usize, duration: Duration) -> Result<Latency> {
    let columns = vec![Column::new("writer", ColumnType::Int8), Column::new("at", ColumnType::Int8)];
    let info = engine.create_table(TableDef::new("beats", Schema::new(columns, &[KeyPart::asc(0)])?))?;
    let at = Projection::new(&info.schema, [1]);
    let key = |writer: usize| {
        let mut key = KeyBuf::new();
        key.push_i64(writer as i64, Direction::Ascending);
        key
    };
    let mut worker = engine.worker()?;
    for writer in 0..writers {
        let mut row = RowBuf::new(&info.schema);
        row.edit(&info.schema).set_i64(0, writer as i64);
        worker.run(TxnKind::ReadWrite, |worker| worker.insert(info.id, &row).map(drop))?;
    }
    let (start, stop) = (Instant::now(), AtomicBool::new(false));
    let now = || start.elapsed().as_nanos() as i64;
    let mut found = Histogram::<u32>::new_with_bounds(1, LONGEST.as_nanos() as u64, 2).expect("sound bounds");
    thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let (stop, info, at, key, now) = (&stop, &info, &at, key(writer), &now);
                let mut worker = engine.worker()?;
                Ok(scope.spawn(move || -> Result<()> {
                    // nothing is published with the flag
                    while !stop.load(Ordering::Relaxed) {
                        worker.run(TxnKind::ReadWrite, |worker| {
                            let write = |row: &mut scaledb_row::RowMut<'_>| {
                                row.set_i64(1, now());
                                Ok(())
                            };
                            worker.update(info.id, &key, at, write).map(drop)
                        })?;
                    }
                    Ok(())
                }))
            })
            .collect::<Result<_>>()?;
        // the first snapshots may have to be switched on
        let (warm, end) = (duration / 10, duration);
        let mut read = || -> Result<()> {
            while start.elapsed() < end {
                let begun = now();
                let latest = worker.run(TxnKind::Snapshot, |worker| {
                    let mut latest = 0;
                    for writer in 0..writers {
                        let beat = worker.get(info.id, &key(writer), &at, |_, row| row.i64(1))?;
                        latest = latest.max(beat.unwrap_or(0));
                    }
                    Ok(latest)
                })?;
                if start.elapsed() > warm {
                    found.saturating_record((begun - latest).max(1) as u64);
                }
                thread::sleep(PAUSE);
            }
            Ok(())
        };
        let result = read();
        // nothing is published with the flag
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().try_for_each(|thread| thread.join().expect("a writer does not panic"))?;
        result
    })?;
    Ok(Latency::of(&found, 1e9))
}
