//! What logging costs a commit, and what a group commit carries: `cargo bench -p scaledb-log`.
//!
//! The first figures have no file (a disk that forgets); the others write to a directory below the one that
//! `SCALEDB_BENCH_DIR` names (the system's temporary directory otherwise).

use scaledb_base::{TableId, Timestamp, WorkerId};
use scaledb_log::disk::{Disk, File, RealDisk};
use scaledb_log::{DatabaseDir, Log, LogOptions, Writer};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::{Arc, thread};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

/// A directory that takes everything and keeps nothing.
#[derive(Debug)]
struct Nowhere;

impl Disk for Nowhere {
    fn create(&self, _: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(Self))
    }

    fn open(&self, _: &str) -> io::Result<Box<dyn File>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: &str) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }

    fn describe(&self) -> String {
        "nowhere".to_owned()
    }
}

impl File for Nowhere {
    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

fn start(disk: Arc<dyn Disk>, options: LogOptions) -> (Arc<Log>, Arc<Clock>) {
    let directory = DatabaseDir::open(disk, "bench").expect("a new directory");
    let mut replay = directory.replay().expect("an empty log");
    while replay.next_batch().expect("an empty log").is_some() {}
    let clock = Arc::new(Clock::new(replay.newest().ticks()));
    let log = directory.start(replay, options, clock.clone()).expect("a started log");
    (log, clock)
}

#[inline]
fn append(
    writer: &mut Writer,
    bound: u64,
    ts: impl FnOnce() -> Timestamp,
    key: u64,
    columns: &[u8],
) -> Timestamp {
    writer.reserve(64).expect("a log that works");
    writer.begin(bound);
    let ts = ts();
    let mut append = writer.append(ts);
    append.update(TableId(1), &key.to_be_bytes(), |out| out.extend_from_slice(columns));
    append.finish();
    writer.end();
    ts
}

fn per_op(columns: usize) {
    const OPS: u64 = 2_000_000;
    let options = LogOptions { manual: true, buffer_bytes: 64 << 20, ..LogOptions::default() };
    let (log, clock) = start(Arc::new(Nowhere), options);
    let mut writer = log.writer(WorkerId(0));
    let columns = vec![7; columns];
    let mut best = f64::MAX;
    for _ in 0..10 {
        let first = clock.now() << 10;
        let since = Instant::now();
        for i in 0..OPS / 10 {
            let ticks = first + i;
            append(&mut writer, ticks, || Timestamp::start_of(ticks), black_box(i), black_box(&columns));
        }
        best = best.min(since.elapsed().as_nanos() as f64 / (OPS / 10) as f64);
        log.flush_once().expect("nowhere takes everything");
    }
    println!("reserve, begin, append of {:3} bytes, end: {best:5.1} ns", columns.len());
}

/// Workers that wait for each commit, or for none.
fn group_commit(workers: u8, waits: bool) {
    let place = std::env::var_os("SCALEDB_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let place = place.join(format!("scaledb-log-bench-{}", std::process::id()));
    {
        let disk = Arc::new(RealDisk::open(&place).expect("a directory"));
        let way = disk.submission();
        let (log, clock) = start(disk, LogOptions::default());
        let stop = AtomicBool::new(false);
        let run = |worker: u8| {
            let mut writer = log.writer(WorkerId(worker));
            let mut commits = 0u64;
            while !stop.load(Ordering::SeqCst) {
                let draw = || Timestamp::new(clock.now_fenced(), WorkerId(worker));
                let ts = append(&mut writer, clock.now(), draw, commits, &[7; 100]);
                if waits {
                    log.wait(ts).expect("a log that works");
                }
                commits += 1;
            }
            commits
        };
        let since = Instant::now();
        let commits: u64 = thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || run(worker))).collect();
            thread::sleep(Duration::from_secs(3));
            stop.store(true, Ordering::SeqCst);
            threads.into_iter().map(|thread| thread.join().expect("a worker")).sum()
        });
        let took = since.elapsed().as_secs_f64();
        let stats = log.stats();
        println!(
            "{workers:3} workers, {}, {way:?}: {:9.0} commits/s, {:6.0} groups/s, {:6.1} MB/s, sync p50 {:?} p99 {:?}",
            if waits { "waiting" } else { "not waiting" },
            commits as f64 / took,
            (stats.groups + stats.markers) as f64 / took,
            stats.bytes as f64 / took / 1e6,
            stats.sync_times.quantile(0.5),
            stats.sync_times.quantile(0.99),
        );
    }
    // the next figure starts with an empty directory
    let _ = std::fs::remove_dir_all(place);
}

fn main() {
    for columns in [0, 8, 32, 100] {
        per_op(columns);
    }
    for workers in [1, 4, 16, 64] {
        group_commit(workers, true);
    }
    for workers in [1, 2] {
        group_commit(workers, false);
    }
}
