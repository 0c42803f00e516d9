//! A write that fails ends the log; what only prepares does not.

mod support;

use scaledb_log::{LogError, LogOptions};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::{Arc, thread};
use std::io;
use std::time::Duration;
use support::*;

fn is_group(step: &Step) -> bool {
    matches!(step, Step::Write(name, offset, _) if name.starts_with("log-") && !name.ends_with(".new") && *offset > 0)
}

fn is_group_sync(step: &Step) -> bool {
    matches!(step, Step::Sync(name) if name.starts_with("log-") && !name.ends_with(".new"))
}

fn assert_failed<T: std::fmt::Debug>(result: Result<T, LogError>) {
    assert!(matches!(result, Err(LogError::Failed(_))), "{result:?}");
}

#[test]
fn after_a_failure_the_horizon_stands_still_and_nothing_is_written() {
    for fails in [is_group, is_group_sync] {
        let disk = MemDisk::new();
        let running = start(&disk);
        let before = running.put_durable(10);
        let durable = running.log.durable();
        disk.set_fault(move |step| fails(step).then(|| io::Error::from_raw_os_error(28)));
        let ts = running.put(0, 10);
        let answered = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let answered = answered.clone();
            let answer = move |result| {
                assert_failed::<()>(result);
                answered.fetch_add(1, Ordering::SeqCst);
            };
            running.log.wake_on(ts, Box::new(answer));
        }
        assert_failed(running.log.flush_once());
        assert_eq!(answered.load(Ordering::SeqCst), 3);
        // the disk is well again, and the log is not
        disk.clear_fault();
        disk.take_steps();
        assert_failed(running.log.flush_once());
        assert_failed(running.log.wait(ts));
        assert_failed(running.writer(0).reserve(10));
        assert_failed(running.log.begin_checkpoint(before));
        running.log.wait(before).unwrap();
        assert_eq!(running.log.durable(), durable);
        let failure = running.log.failure().unwrap();
        assert!(matches!(&*failure, LogError::Io { file, .. } if file.starts_with("log-")), "{failure}");
        assert_failed(running.log.close());
        drop(running);
        assert_eq!(disk.take_steps(), [], "nothing is written after a failure");
        let recovered = recover(&disk.without_unsynced()).unwrap();
        assert_eq!(recovered.stamps(), [before]);
    }
}

#[test]
fn a_checkpoint_that_was_begun_before_a_failure_is_not_put_in_force() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let before = running.put_durable(10);
    let checkpoint = running.log.begin_checkpoint(before).unwrap();
    let part = checkpoint.part().unwrap();
    part.finish().unwrap();
    disk.set_fault(|step| is_group(step).then(|| io::ErrorKind::Other.into()));
    running.put(0, 10);
    assert_failed(running.log.flush_once());
    disk.clear_fault();
    disk.take_steps();
    assert_failed(checkpoint.finish(b"", before));
    assert!(disk.take_steps().iter().all(|step| *step == Step::SyncNames));
}

#[test]
fn every_waiter_of_a_log_with_threads_hears_of_the_failure() {
    let disk = MemDisk::new();
    let options = LogOptions { manual: false, ..manual() };
    let running = Arc::new(start_with(&disk, options).unwrap().0);
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = broken.clone();
    disk.set_fault(move |step| {
        (is_group_sync(step) && is_broken.load(Ordering::SeqCst)).then(|| io::ErrorKind::Other.into())
    });
    let threads: Vec<_> = (0..4)
        .map(|worker| {
            let running = running.clone();
            thread::spawn(move || {
                let mut acknowledged = Vec::new();
                for _ in 0..100_000 {
                    if let Err(error) = running.writer(worker).reserve(100) {
                        return (acknowledged, error);
                    }
                    let ts = running.put_unreserved(worker, 10);
                    match running.log.wait(ts) {
                        Ok(()) => acknowledged.push(ts),
                        Err(error) => return (acknowledged, error),
                    }
                }
                panic!("nobody has told of the failure")
            })
        })
        .collect();
    while running.log.stats().groups < 10 {
        thread::yield_now();
    }
    broken.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for thread in threads {
        let (mut stamps, error) = thread.join().unwrap();
        assert!(matches!(error, LogError::Failed(_)), "{error}");
        acknowledged.append(&mut stamps);
    }
    let recovered = recover(&disk.without_unsynced()).unwrap().stamps();
    assert!(acknowledged.iter().all(|ts| recovered.contains(ts)));
}

#[test]
fn no_space_for_the_next_segment_matters_only_when_it_is_needed() {
    let disk = MemDisk::new();
    let running = start(&disk);
    disk.set_fault(|step| match step {
        Step::Create(name) if name.starts_with("log-") => Some(io::Error::from_raw_os_error(28)),
        _ => None,
    });
    // the segment has three pages for groups
    running.put_durable(10);
    running.put_durable(10);
    assert!(running.log.stats().preparations_failed > 0);
    disk.clear_fault();
    running.put_durable(10);
    disk.set_fault(|step| match step {
        Step::Create(name) if name.starts_with("log-") => Some(io::Error::from_raw_os_error(28)),
        _ => None,
    });
    // prepared meanwhile: three more, and then there is no place
    for _ in 0..3 {
        running.put_durable(10);
    }
    running.put(0, 10);
    assert_failed(running.log.flush_once());
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps().len(), 6);
}

#[test]
fn a_log_that_is_closed_writes_what_needs_another_segment() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let mut stamps = Vec::new();
    // three pages for groups in each segment, and none is prepared here before it is needed
    for _ in 0..3 {
        let ts = running.put(0, 10);
        running.log.wait(ts).unwrap();
        stamps.push(ts);
    }
    stamps.push(running.put(0, 10));
    running.log.close().unwrap();
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), stamps);
}

/// The helper's thread ends by a panic in the middle of a segment, which the flusher then makes by itself.
#[test]
fn a_segment_whose_preparation_has_panicked_is_not_waited_for() {
    let disk = MemDisk::new();
    let panicked = Arc::new(AtomicBool::new(false));
    let panics = panicked.clone();
    disk.set_fault(move |step| {
        let prepared = |name: &str| name.starts_with("log-") && !name.contains("0001");
        let helpers = matches!(step, Step::Create(name) if prepared(name));
        assert!(!helpers || panics.swap(true, Ordering::SeqCst), "a disk that panics, on purpose");
        None
    });
    let running = start_with(&disk, LogOptions { manual: false, ..manual() }).unwrap().0;
    // a flusher that is faster than the helper prepares the segment itself, and its panic would end the log
    while !panicked.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
    let mut stamps = Vec::new();
    for _ in 0..8 {
        stamps.push(running.put(0, 10));
        running.log.wait(stamps[stamps.len() - 1]).unwrap();
    }
    running.log.close().unwrap();
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), stamps);
}

#[test]
fn without_syncs_a_loss_of_power_loses_commits() {
    let disk = MemDisk::new();
    let (running, _) = start_with(&disk, LogOptions { sync: false, ..manual() }).unwrap();
    let ts = running.put_durable(10);
    running.log.wait(ts).unwrap();
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), [ts]);
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), []);
}

#[test]
fn a_group_that_was_read_and_not_synced_is_on_disk_before_anything_is_built_on_it() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let durable = running.put_durable(10);
    disk.set_fault(|step| is_group_sync(step).then(|| io::ErrorKind::Other.into()));
    let unsynced = running.put(0, 10);
    assert_failed(running.log.flush_once());
    disk.clear_fault();
    drop(running);
    // the process is opened again, and finds the group where the system still has it
    let (running, recovered) = start_with(&disk, manual()).unwrap();
    assert_eq!(recovered.stamps(), [durable, unsynced]);
    let later = running.put_durable(10);
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), [durable, unsynced, later]);
}
