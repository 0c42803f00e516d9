//! A copy of a database that is in use.

mod support;

use scaledb_base::TableId;
use scaledb_log::{LogError, LogOptions, backup, check};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::{Arc, thread};
use support::*;

#[test]
fn what_was_acknowledged_before_a_backup_is_in_it() {
    let disk = MemDisk::new();
    let options = LogOptions { manual: false, recycle: 2, ..manual() };
    let running = Arc::new(start_with(&disk, options).unwrap().0);
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..2)
        .map(|worker| {
            let (running, stop) = (running.clone(), stop.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    let ts = running.put(worker, 700);
                    running.log.wait(ts).unwrap();
                    // segments are removed and recycled all the time
                    if worker == 1 {
                        let checkpoint = running.log.begin_checkpoint(ts).unwrap();
                        let mut part = checkpoint.part().unwrap();
                        part.row(TableId(1), b"k", &[ts.raw()], |out| out.push(1)).unwrap();
                        part.finish().unwrap();
                        checkpoint.finish(b"", ts).unwrap();
                    }
                }
            })
        })
        .collect();
    for round in 0..30 {
        let acknowledged = running.put(2, 10);
        running.log.wait(acknowledged).unwrap();
        let durable = running.log.durable();
        let copy = MemDisk::new();
        let report = backup(&disk.arc(), &copy.arc()).unwrap();
        assert!(report.horizon >= durable, "{round}");
        assert!(report.check.is_sound());
        let recovered = recover(&copy).unwrap();
        assert!(recovered.horizon >= durable && durable > acknowledged);
        // the copy is a database
        let running = start(&copy);
        let ts = running.put_durable(10);
        assert_eq!(recover(&running.kill(&copy)).unwrap().stamps().last(), Some(&ts));
        assert!(check(&disk.arc()).unwrap().is_sound());
    }
    stop.store(true, Ordering::SeqCst);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

#[test]
fn nothing_is_removed_or_renamed_while_a_backup_is_at_work() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let stamps: Vec<_> = (0..12).map(|_| running.put_durable(10)).collect();
    let checkpoint = |ts| running.log.begin_checkpoint(ts).unwrap().finish(b"", ts).unwrap();
    let held = scaledb_log::disk::Disk::lock(&disk, "HOLD").unwrap();
    let before = disk.segments();
    checkpoint(stamps[10]);
    assert_eq!(disk.segments(), before);
    // another opening does not remove them either
    let image = disk.as_it_is();
    let held_there = scaledb_log::disk::Disk::lock(&image, "HOLD").unwrap();
    let (other, recovered) = start_with(&image, manual()).unwrap();
    assert_eq!(recovered.stamps(), stamps[10..]);
    assert!(before.iter().all(|name| image.segments().contains(name)));
    drop((other, held_there));
    drop(held);
    checkpoint(stamps[11]);
    assert!(disk.segments().len() < before.len());
}

#[test]
fn a_backup_waits_for_who_is_just_removing_files() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let ts = running.put_durable(10);
    let copy = MemDisk::new();
    let held = scaledb_log::disk::Disk::lock(&disk, "HOLD").unwrap();
    let (from, to) = (disk.arc(), copy.arc());
    let at_work = thread::spawn(move || backup(&from, &to));
    // it has the copy's lock before it asks for this one
    while scaledb_log::disk::Disk::lock(&copy, "LOCK").is_ok() {
        thread::yield_now();
    }
    // most likely it asks by then
    thread::sleep(std::time::Duration::from_millis(30));
    drop(held);
    assert!(at_work.join().unwrap().unwrap().check.is_sound());
    assert_eq!(recover(&copy).unwrap().stamps(), [ts]);
}

#[test]
fn long_files_are_copied_to_their_ends() {
    let disk = MemDisk::new();
    let running = start_with(&disk, LogOptions { segment_bytes: 64 << 20, ..manual() }).unwrap().0;
    let stamps: Vec<_> = (0..5).map(|_| running.put_durable(700_000)).collect();
    let copy = MemDisk::new();
    let report = backup(&disk.arc(), &copy.arc()).unwrap();
    // more than a few steps of the copy, and no multiple of them
    assert!(report.bytes > 3 << 20, "{}", report.bytes);
    let lengths = copy.segments().into_iter().map(|name| copy.read(&name).len() as u64);
    assert_eq!(lengths.sum::<u64>(), report.bytes);
    assert_eq!(recover(&copy).unwrap().stamps(), stamps);
}

#[test]
fn a_backup_goes_to_an_empty_directory_only() {
    let disk = MemDisk::new();
    let copy = MemDisk::new();
    assert!(matches!(backup(&disk.arc(), &copy.arc()), Err(LogError::NoDatabase { .. })));
    start(&disk).log.close().unwrap();
    // a database without a commit
    backup(&disk.arc(), &copy.arc()).unwrap();
    assert_eq!(recover(&copy).unwrap().stamps(), []);
    assert!(matches!(backup(&disk.arc(), &copy.arc()), Err(LogError::NotEmpty { .. })));
}

#[test]
fn a_backup_counts_its_files_and_knows_its_end() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let stamps: Vec<_> = (0..5).map(|_| running.put_durable(10)).collect();
    let checkpoint = running.log.begin_checkpoint(stamps[0]).unwrap();
    let mut part = checkpoint.part().unwrap();
    for key in [b"a", b"b"] {
        part.row(TableId(1), key, &[stamps[0].raw()], |out| out.push(1)).unwrap();
    }
    part.finish().unwrap();
    checkpoint.finish(b"", stamps[0]).unwrap();
    let last = running.put_durable(10);
    let copy = MemDisk::new();
    let report = backup(&disk.arc(), &copy.arc()).unwrap();
    let names = copy.names();
    assert_eq!(report.files, names.len() as u64);
    let length = |name: &String| if name == "MANIFEST" { 0 } else { copy.read(name).len() as u64 };
    assert_eq!(report.bytes, names.iter().map(length).sum::<u64>());
    let part = names.iter().find(|name| name.starts_with("checkpoint-")).unwrap();
    let check = &report.check;
    let of_checkpoint = (check.checkpoint, check.parts, check.rows, check.checkpoint_bytes);
    assert_eq!(of_checkpoint, (Some(stamps[0]), 1, 2, length(part)));
    assert_eq!(recover(&copy).unwrap().stamps().last(), Some(&last));

    // its last group is torn: a copy that was whole is not any more
    let segment = copy.segments().into_iter().rfind(|name| copy.read(name).len() > PAGE as usize).unwrap();
    copy.edit(&segment, |bytes| {
        let end = bytes.len();
        bytes[end - PAGE as usize..].fill(0);
    });
    assert!(matches!(recover(&copy), Err(LogError::Damaged { .. })));
}

#[test]
fn a_damaged_database_gives_no_backup() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let stamps: Vec<_> = (0..3).map(|_| running.put_durable(10)).collect();
    assert_eq!(running.log.durable().max(stamps[2]), running.log.durable());
    let disk = running.kill(&disk);
    disk.flip("log-0000000000000001", (PAGE as usize + 100) * 8);
    let copy = MemDisk::new();
    assert!(matches!(backup(&disk.arc(), &copy.arc()), Err(LogError::Damaged { .. })));
}
