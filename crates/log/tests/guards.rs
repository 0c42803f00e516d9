//! Guards that no crash on its own would need, switched off one at a time: the check fails without each.
//! Those of crashes: `log_crashes` of `scaledb-verify`.

mod support;

use scaledb_base::{Timestamp, WorkerId};
use scaledb_log::Rule;
use scaledb_log::disk::Disk;
use support::*;

/// Whether the check holds, and does not without the guard.
fn is_needed(rule: Rule, check: fn() -> bool) {
    assert!(check(), "{rule:?}");
    assert!(!rule.without(check), "nothing fails without {rule:?}");
}

#[test]
fn files_go_only_while_no_backup_holds_them() {
    is_needed(Rule::Hold, || {
        let disk = MemDisk::new();
        let running = start(&disk);
        let stamps: Vec<_> = (0..12).map(|_| running.put_durable(10)).collect();
        let _held = disk.lock("HOLD").unwrap();
        let before = disk.segments();
        running.log.begin_checkpoint(stamps[10]).unwrap().finish(b"", stamps[10]).unwrap();
        disk.segments() == before
    });
}

/// A group is written while a record is being appended: its horizon may not be beyond.
#[test]
fn a_record_that_is_not_whole_holds_the_horizon() {
    is_needed(Rule::EndBehindAppend, || {
        let disk = MemDisk::new();
        let running = start(&disk);
        let mut writer = running.writer(1);
        writer.begin(running.clock.now());
        let ts = Timestamp::new(running.clock.now_fenced(), WorkerId(1));
        let mut append = writer.append(ts);
        append.catalog(b"half");
        running.put(0, 10);
        running.log.flush_once().unwrap();
        let promised = running.log.durable() > ts;
        append.finish();
        writer.end();
        drop(writer);
        // what was promised is not there
        promised == recover(&running.kill(&disk)).unwrap().stamps().contains(&ts)
    });
}

/// Groups of another database, with the numbers that are expected there.
#[test]
fn groups_from_elsewhere_are_no_groups() {
    is_needed(Rule::Seeds, || {
        let (one, other) = (MemDisk::new(), MemDisk::new());
        let running = start(&one);
        let _: Vec<Timestamp> = (0..3).map(|_| running.put_durable(10)).collect();
        let one = running.kill(&one);
        let running = start(&other);
        let mine = running.put_durable(10);
        let other = running.kill(&other);
        let segment = "log-0000000000000001";
        let groups = one.read(segment)[PAGE as usize..].to_vec();
        let whole = other.read(segment).len();
        // behind its own first group the second and the third of the other one
        let at = 2 * PAGE as usize;
        other.edit(segment, |bytes| {
            let end = whole.min(PAGE as usize + groups.len());
            bytes[at..end].copy_from_slice(&groups[PAGE as usize..PAGE as usize + end - at]);
        });
        recover(&other).is_ok_and(|recovered| recovered.stamps() == [mine])
    });
}

/// The segment behind the short one was prepared, and holds no group that would tell of those that are lost.
#[test]
fn a_segment_that_lost_its_end_is_not_a_torn_one() {
    is_needed(Rule::Length, || {
        let disk = MemDisk::new();
        let running = start(&disk);
        let _: Vec<Timestamp> = (0..3).map(|_| running.put_durable(10)).collect();
        let disk = running.kill(&disk);
        disk.edit("log-0000000000000001", |bytes| bytes.truncate(2 * PAGE as usize));
        recover(&disk).is_err()
    });
}
