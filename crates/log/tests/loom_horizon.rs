//! The horizon protocol, in every interleaving (within a bound): a commit below the horizon that is not in the
//! group, or in one before it.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p scaledb-log --test loom_horizon`; under shuttle with `--cfg shuttle`.
#![cfg(any(loom, shuttle))]

mod support;

use scaledb_base::{Timestamp, WorkerId};
use scaledb_log::{Log, Writer};
use scaledb_sync::clock::Clock;
use scaledb_sync::{Arc, thread};
use support::*;

#[cfg(loom)]
fn check(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 1_000_000;
    builder.check(f);
}

#[cfg(shuttle)]
fn check(_: usize, f: impl Fn() + Send + Sync + 'static) {
    scaledb_sync::model(5_000, f);
}

const SEGMENT: &str = "log-0000000000000001";

fn commit(writer: &mut Writer, clock: &Clock, worker: u8) -> Timestamp {
    writer.begin(clock.now());
    let ts = Timestamp::new(clock.now_fenced(), WorkerId(worker));
    let mut append = writer.append(ts);
    append.catalog(b"");
    append.finish();
    writer.end();
    ts
}

/// Flushes, and returns the horizon and what was on disk then.
fn flush(log: &Log, disk: &MemDisk) -> (Timestamp, Vec<u8>) {
    log.flush_once().unwrap();
    let durable = log.durable();
    (durable, disk.read(SEGMENT))
}

fn assert_covered(ts: Timestamp, (durable, bytes): &(Timestamp, Vec<u8>)) {
    let there = bytes.windows(8).any(|window| window == ts.raw().to_le_bytes());
    assert!(ts >= *durable || there, "{ts:?} is below the horizon {durable:?} and not on disk");
}

/// The flusher runs beside threads that commit so many times each.
fn commits_beside_flushes(commits: &'static [usize], flushes: usize, preemptions: usize) {
    check(preemptions, move || {
        let disk = MemDisk::new();
        let Running { log, clock } = start(&disk);
        let mut threads = Vec::new();
        for (worker, &commits) in commits.iter().enumerate() {
            let worker = worker as u8;
            let (mut writer, clock) = (log.writer(WorkerId(worker)), clock.clone());
            threads.push(thread::spawn(move || {
                let stamps: Vec<_> = (0..commits).map(|_| commit(&mut writer, &clock, worker)).collect();
                std::mem::forget(writer); // fewer steps to interleave
                stamps
            }));
        }
        let seen: Vec<_> = (0..flushes).map(|_| flush(&log, &disk)).collect();
        for stamps in threads.into_iter().map(|thread| thread.join().unwrap()) {
            for ts in stamps {
                seen.iter().for_each(|seen| assert_covered(ts, seen));
            }
        }
        std::mem::forget(log);
    });
}

#[test]
fn a_commit_below_the_horizon_is_on_disk() {
    commits_beside_flushes(&[1], 1, 3);
}

#[test]
fn the_commit_before_the_one_on_its_way_is_on_disk() {
    commits_beside_flushes(&[2], 1, 3);
}

#[test]
fn commits_of_two_workers_are_on_disk() {
    commits_beside_flushes(&[1, 1], 1, 2);
}

#[test]
fn a_second_flush_takes_what_the_first_left() {
    commits_beside_flushes(&[1], 2, 2);
}

/// A commit whose timestamp was drawn long before it began, or is drawn again.
#[test]
fn a_commit_that_had_its_timestamp_before_is_on_disk_or_refused() {
    check(3, || {
        let disk = MemDisk::new();
        let Running { log, clock } = start(&disk);
        let mut writer = log.writer(WorkerId(0));
        let mut ticks = clock.now_fenced();
        let thread = thread::spawn(move || {
            while !writer.begin_at(ticks) {
                ticks = writer.passed();
            }
            let ts = Timestamp::new(ticks, WorkerId(0));
            let mut append = writer.append(ts);
            append.catalog(b"");
            append.finish();
            writer.end();
            std::mem::forget(writer); // fewer steps to interleave
            ts
        });
        let seen = flush(&log, &disk);
        assert_covered(thread.join().unwrap(), &seen);
        std::mem::forget(log);
    });
}

#[test]
fn who_waits_is_answered() {
    check(2, || {
        let disk = MemDisk::new();
        let Running { log, clock } = start(&disk);
        let mut writer = log.writer(WorkerId(0));
        let flusher = {
            let log = log.clone();
            thread::spawn(move || {
                log.flush_once().unwrap();
            })
        };
        let ts = commit(&mut writer, &clock, 0);
        let answered = Arc::new(scaledb_sync::atomic::AtomicBool::new(false));
        let flag = answered.clone();
        let answer = move |result: Result<(), scaledb_log::LogError>| {
            result.unwrap();
            flag.store(true, scaledb_sync::atomic::Ordering::SeqCst);
        };
        log.wake_on(ts, Box::new(answer));
        flusher.join().unwrap();
        let is_answered = || answered.load(scaledb_sync::atomic::Ordering::SeqCst);
        assert!(is_answered() || log.durable() <= ts, "a waiter was overlooked");
        // the flush before may have begun in the commit's own tick
        while log.durable() <= ts {
            log.flush_once().unwrap();
        }
        assert!(is_answered(), "a waiter was forgotten");
        std::mem::forget((log, writer));
    });
}
