//! Waiting for durability, with the threads of a real log.

mod support;

use scaledb_base::{Timestamp, WorkerId};
use scaledb_log::{LogError, LogOptions};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, thread};
use std::time::Duration;
use support::*;

fn threaded() -> LogOptions {
    LogOptions { manual: false, segment_bytes: 64 * PAGE, ..manual() }
}

#[test]
fn every_commit_that_was_acknowledged_survives_a_loss_of_power() {
    const WORKERS: u8 = 4;
    let disk = MemDisk::new();
    let running = Arc::new(start_with(&disk, threaded()).unwrap().0);
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (running, acknowledged) = (running.clone(), acknowledged.clone());
            thread::spawn(move || {
                for i in 0..200 {
                    let ts = running.put(worker, i);
                    running.log.wait(ts).unwrap();
                    acknowledged.lock().push(ts);
                }
            })
        })
        .collect();
    for _ in 0..20 {
        let before = acknowledged.lock().clone();
        let recovered = recover(&disk.without_unsynced()).unwrap().stamps();
        assert!(before.iter().all(|ts| recovered.contains(ts)));
        thread::yield_now();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let stats = running.log.stats();
    assert_eq!(stats.transactions, 800);
    assert!(stats.groups <= 800 && stats.sync_times.count() >= stats.groups);
    running.log.close().unwrap();
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps().len(), 800);
}

#[test]
fn a_commit_that_nobody_waits_for_is_written_within_the_interval() {
    let disk = MemDisk::new();
    let running = start_with(&disk, threaded()).unwrap().0;
    let ts = running.put(0, 10);
    while running.log.durable() <= ts {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), [ts]);
}

#[test]
fn a_log_that_is_flushed_by_hand_makes_room_when_it_is_full() {
    let disk = MemDisk::new();
    let running = start_with(&disk, LogOptions { buffer_bytes: 1000, ..manual() }).unwrap().0;
    let stamps: Vec<_> = (0..50).map(|_| running.put(0, 100)).collect();
    let groups = running.log.stats().groups;
    assert!((4..10).contains(&groups), "{groups}");
    running.log.wait(stamps[49]).unwrap();
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), stamps);
}

#[test]
fn answers_come_in_the_order_of_the_horizon_and_once() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let held = running.writer(1);
    let first = running.put(0, 10);
    held.begin(running.clock.now());
    let second = running.put(0, 10);
    let order = Arc::new(Mutex::new(Vec::new()));
    for (name, ts) in [(2, second), (1, first)] {
        let order = order.clone();
        running.log.wake_on(ts, Box::new(move |result| order.lock().push((name, result.is_ok()))));
    }
    running.log.flush_once().unwrap();
    assert_eq!(*order.lock(), [(1, true)], "only whom the horizon satisfies");
    assert!(!running.log.flush_once().unwrap(), "no group that moves nothing");
    held.end();
    running.log.flush_once().unwrap();
    assert_eq!(*order.lock(), [(1, true), (2, true)]);
}

#[test]
fn a_commit_at_the_horizon_is_not_on_disk_yet() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let held = running.writer(1);
    let ticks = running.clock.now_fenced();
    held.begin(ticks);
    let at = Timestamp::start_of(ticks);
    let answers = Arc::new(AtomicU64::new(0));
    let wake = || {
        let answers = answers.clone();
        running.log.wake_on(at, Box::new(move |_| _ = answers.fetch_add(1, Ordering::SeqCst)));
    };
    wake();
    running.put(0, 10);
    running.log.flush_once().unwrap();
    assert_eq!(running.log.durable(), at);
    wake();
    assert_eq!(answers.load(Ordering::SeqCst), 0);
    held.end();
    running.log.wait(at).unwrap();
    assert!(running.log.durable() > at);
    assert_eq!(answers.load(Ordering::SeqCst), 2);
}

#[test]
fn a_timestamp_that_a_horizon_may_have_passed_comes_too_late() {
    let disk = MemDisk::new();
    let running = start(&disk);
    running.put_durable(10);
    let writer = running.writer(0);
    let passed = writer.passed();
    assert!(Timestamp::start_of(passed) >= running.log.durable());
    assert!(!writer.begin_at(passed - 1));
    assert!(writer.begin_at(passed) && writer.begin_at(passed + 1));
}

#[test]
fn a_log_that_is_dropped_is_closed() {
    let disk = MemDisk::new();
    let running = start_with(&disk, threaded()).unwrap().0;
    let ts = running.put(0, 10);
    drop(running);
    let (_running, recovered) = start_with(&disk, threaded()).expect("nobody has the directory");
    assert_eq!(recovered.stamps(), [ts]);
}

#[test]
fn closing_writes_what_is_left_and_tells_the_others() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let ts = running.put(0, 10);
    running.log.close().unwrap();
    running.log.wait(ts).unwrap();
    let late = Timestamp::new(running.clock.now_fenced(), WorkerId(0));
    assert!(matches!(running.log.wait(late), Err(LogError::Closed)));
    assert!(matches!(running.writer(0).reserve(1), Err(LogError::Closed)));
    assert!(matches!(running.log.flush_once(), Err(LogError::Closed)));
    assert!(matches!(running.log.begin_checkpoint(ts), Err(LogError::Closed)));
    assert!(running.log.failure().is_none());
    running.log.close().unwrap();
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), [ts]);
}

#[test]
fn a_worker_far_ahead_of_the_flusher_waits_for_it() {
    let disk = MemDisk::new();
    let options = LogOptions { buffer_bytes: 10_000, ..threaded() };
    let running = start_with(&disk, options).unwrap().0;
    let mut stamps = Vec::new();
    for _ in 0..500 {
        stamps.push(running.put(0, 3000));
    }
    assert!(running.log.stats().groups > 100, "{:?}", running.log.stats());
    running.log.wait(stamps[499]).unwrap();
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps);
}

#[test]
fn a_slow_commit_holds_the_horizon_and_no_core_forever() {
    let disk = MemDisk::new();
    let running = Arc::new(start_with(&disk, threaded()).unwrap().0);
    let slow = running.writer(1);
    slow.begin(running.clock.now());
    let ts = running.put(0, 10);
    let waiter = {
        let running = running.clone();
        thread::spawn(move || running.log.wait(ts))
    };
    thread::sleep(Duration::from_millis(20));
    assert!(running.log.durable() <= ts);
    let written = running.log.stats();
    assert!(written.groups + written.markers < 10, "groups that move nothing: {written:?}");
    slow.end();
    waiter.join().unwrap().unwrap();
}

#[test]
fn a_panic_in_an_answer_leaves_nobody_waiting() {
    let disk = MemDisk::new();
    let running = start_with(&disk, threaded()).unwrap().0;
    let ts = running.put(0, 10);
    running.log.wake_on(ts, Box::new(|_| panic!("an answer that panics, on purpose")));
    while running.log.failure().is_none() {
        thread::yield_now();
    }
    let late = Timestamp::new(running.clock.now_fenced(), WorkerId(0));
    assert!(
        matches!(running.log.wait(late), Err(LogError::Failed(error)) if matches!(*error, LogError::Panicked))
    );
}

#[test]
fn the_machines_own_clock_keeps_the_horizon_right() {
    const COMMITS: u64 = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    let disk = MemDisk::new();
    let directory = scaledb_log::DatabaseDir::open(disk.arc(), "test").unwrap();
    let replay = directory.replay().unwrap();
    let clock = Arc::new(Clock::new(replay.newest().ticks()));
    let options = LogOptions { segment_bytes: 1 << 22, ..threaded() };
    let log = directory.start(replay, options, clock.clone()).unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..3u8)
        .map(|worker| {
            let (log, clock, done) = (log.clone(), clock.clone(), done.clone());
            thread::spawn(move || {
                let mut writer = log.writer(WorkerId(worker));
                let mut stamps = Vec::new();
                for _ in 0..COMMITS {
                    writer.reserve(40).unwrap();
                    writer.begin(clock.now());
                    let ts = Timestamp::new(clock.now_fenced(), WorkerId(worker));
                    let mut append = writer.append(ts);
                    append.delete(scaledb_base::TableId(1), b"k");
                    append.finish();
                    writer.end();
                    stamps.push(ts);
                }
                done.fetch_add(1, Ordering::SeqCst);
                stamps
            })
        })
        .collect();
    // each image has all below the horizon that was read before it was taken
    let mut images = Vec::new();
    while done.load(Ordering::SeqCst) < 3 && images.len() < 8 {
        log.flush_once().unwrap();
        let durable = log.durable();
        images.push((durable, recover(&disk.without_unsynced()).unwrap()));
    }
    let mut stamps: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    stamps.sort_unstable();
    for (durable, recovered) in images {
        assert!(recovered.horizon >= durable);
        let expected: Vec<_> = stamps.iter().copied().filter(|&ts| ts < recovered.horizon).collect();
        assert!(recovered.stamps() == expected);
    }
}
