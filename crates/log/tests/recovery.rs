//! What is durable comes back, in order, and nothing else ever does.

mod support;

use proptest::prelude::*;
use scaledb_base::{TableId, Timestamp, WorkerId};
use scaledb_log::{DatabaseDir, LogError};
use support::*;

fn change() -> impl Strategy<Value = Change> {
    let bytes = |max: usize| prop::collection::vec(any::<u8>(), 0..max);
    let table = || prop_oneof![8 => 0..9u32, 1 => 127..129u32, 1 => any::<u32>()];
    prop_oneof![
        (table(), bytes(40), bytes(3000)).prop_map(|(t, k, r)| Change::Insert(t, k, r)),
        (table(), bytes(40), bytes(100)).prop_map(|(t, k, c)| Change::Update(t, k, c)),
        (table(), bytes(1024)).prop_map(|(t, k)| Change::Delete(t, k)),
        bytes(200).prop_map(Change::Catalog),
    ]
}

#[derive(Debug, Clone)]
enum Action {
    Commit(u8, Vec<Change>),
    Flush,
    /// The process dies; or also all that was not synced goes.
    Kill,
    PowerLoss,
    Close,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (0..4u8, prop::collection::vec(change(), 0..5)).prop_map(|(w, c)| Action::Commit(w, c)),
        3 => Just(Action::Flush),
        1 => Just(Action::Kill),
        1 => Just(Action::PowerLoss),
        1 => Just(Action::Close),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn what_was_flushed_comes_back_and_nothing_else(actions in prop::collection::vec(action(), 1..60)) {
        let mut disk = MemDisk::new();
        let mut running = start(&disk);
        let (mut durable, mut lost): (Vec<(Timestamp, Vec<Change>)>, Vec<_>) = (Vec::new(), Vec::new());
        for action in actions.into_iter().chain([Action::Kill]) {
            match action {
                Action::Commit(worker, changes) => {
                    lost.push((running.commit(worker, &changes), changes));
                    continue;
                }
                Action::Flush => {
                    running.log.flush_once().unwrap();
                    durable.append(&mut lost);
                    continue;
                }
                Action::Close => {
                    running.log.close().unwrap();
                    durable.append(&mut lost);
                    disk = disk.without_unsynced();
                }
                Action::Kill => disk = running.kill(&disk),
                Action::PowerLoss => disk = disk.without_unsynced(),
            }
            lost.clear();
            let (again, recovered) = start_with(&disk, manual()).unwrap();
            prop_assert_eq!(&recovered.transactions, &durable);
            running = again;
        }
        let report = scaledb_log::check(&disk.arc()).unwrap();
        prop_assert!(report.is_sound(), "{:?}", report.problems);
        prop_assert_eq!(report.transactions, durable.len() as u64);
    }
}

#[test]
fn a_commit_above_the_horizon_is_in_the_group_and_is_not_replayed() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let slow = running.writer(1);
    slow.begin(running.clock.now());
    let early = running.put(0, 10);
    assert!(running.log.flush_once().unwrap());
    assert!(running.log.durable() <= early, "a commit on its way may still be earlier");

    let image = disk.as_it_is();
    assert_eq!(recover(&image).unwrap().stamps(), []);
    slow.end();
    assert!(running.log.flush_once().unwrap());
    assert!(running.log.durable() > early);
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), [early]);
}

#[test]
fn cut_transactions_of_an_earlier_incarnation_never_come_back() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let durable = running.put_durable(10);
    let slow = running.writer(1);
    slow.begin(running.clock.now());
    let cut = running.put(0, 10);
    running.log.flush_once().unwrap();
    assert!(running.log.durable() <= cut);
    drop(slow);

    // the group with the cut commit is whole, and later horizons lie above it
    let mut disk = running.kill(&disk);
    let mut expected = vec![durable];
    for _ in 0..3 {
        let (running, recovered) = start_with(&disk, manual()).unwrap();
        assert_eq!(recovered.stamps(), expected);
        let ts = running.put_durable(10);
        assert!(ts > cut, "the clock goes on after all that is in the files");
        expected.push(ts);
        disk = running.kill(&disk);
    }
    assert_eq!(recover(&disk).unwrap().stamps(), expected);
}

#[test]
fn openings_without_commits_leave_nothing_behind() {
    let mut disk = MemDisk::new();
    let running = start(&disk);
    let ts = running.put_durable(10);
    disk = running.kill(&disk);
    for round in 0..10 {
        let running = start(&disk);
        if round % 2 == 0 {
            running.log.close().unwrap();
        }
        disk = running.kill(&disk);
        assert!(disk.segments().len() <= 3, "{:?}", disk.names());
        assert_eq!(recover(&disk).unwrap().stamps(), [ts]);
    }
}

#[test]
fn a_group_larger_than_a_segment_comes_back() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let sizes = [10, 100_000, 10, 4 * PAGE as usize, 50_000, 10];
    let stamps: Vec<_> = sizes.iter().map(|&size| running.put_durable(size)).collect();
    let recovered = recover(&running.kill(&disk)).unwrap();
    assert_eq!(recovered.stamps(), stamps);
    for (transaction, size) in recovered.transactions.iter().zip(sizes) {
        assert_eq!(transaction.1, [Change::Insert(1, b"key".to_vec(), vec![0xa5; size])]);
    }
}

#[test]
fn a_first_group_that_is_larger_than_its_segment_comes_back() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let stamps = [running.put_durable(5 * PAGE as usize), running.put_durable(10)];
    assert_eq!(recover(&running.kill(&disk)).unwrap().stamps(), stamps);
}

#[test]
fn a_commit_exactly_at_a_horizon_comes_back_with_the_next_group() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let mut writer = running.writer(0);
    let ticks = running.clock.now_fenced();
    writer.begin(ticks);
    let others = [running.put(1, 10), running.put(1, 10)];
    assert!(running.log.flush_once().unwrap());
    let at = Timestamp::new(ticks, WorkerId(0));
    assert_eq!(running.log.durable(), at);
    let mut append = writer.append(at);
    append.catalog(b"at the horizon");
    append.finish();
    writer.end();
    assert!(running.log.flush_once().unwrap());
    let image = disk.as_it_is();
    assert_eq!(recover(&image).unwrap().stamps(), [at, others[0], others[1]]);
    let report = scaledb_log::check(&image.arc()).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn groups_may_have_the_same_horizon() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let slow = running.writer(1);
    slow.begin(running.clock.now_fenced());
    let mut stamps = Vec::new();
    for _ in 0..3 {
        stamps.push(running.put(0, 10));
        assert!(running.log.flush_once().unwrap());
        assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), []);
    }
    slow.end();
    assert!(running.log.flush_once().unwrap());
    assert_eq!(recover(&running.kill(&disk)).unwrap().stamps(), stamps);
}

/// Batches end where enough was read, and not where a horizon is: what is above it comes with the next one.
#[test]
fn what_is_above_the_horizon_of_a_long_batch_comes_later() {
    let disk = MemDisk::new();
    let running =
        start_with(&disk, scaledb_log::LogOptions { buffer_bytes: 64 << 20, ..manual() }).unwrap().0;
    let long = if cfg!(debug_assertions) { 50_000 } else { 3 << 20 };
    let mut stamps = Vec::new();
    let mut slow = running.writer(1);
    for round in 0..3 {
        if round != 1 {
            stamps.push(running.put(0, long));
        }
        let ticks = running.clock.now_fenced();
        slow.begin(ticks);
        stamps.push(Timestamp::new(ticks, WorkerId(1)));
        let first = stamps[stamps.len() - 1];
        // enough for a batch by themselves, and all of them above the horizon of their group
        for _ in 0..4 {
            stamps.extend([running.put(0, long), running.put(2, 10)]);
            running.log.flush_once().unwrap();
        }
        // before all of them, and in a later group
        let mut append = slow.append(first);
        append.insert(TableId(1), b"key", |out| out.extend_from_slice(b"slow"));
        append.finish();
        slow.end();
        stamps.push(running.put_durable(10));
    }
    let image = running.kill(&disk);
    assert_eq!(recover(&image).unwrap().stamps(), stamps);

    let replay = &mut DatabaseDir::open(image.arc(), "test").unwrap().replay().unwrap();
    let (mut groups, mut batches, mut bytes) = (0, 0, 0);
    for segment in scaledb_log::LogDump::open(image.arc()).unwrap().segments() {
        groups += segment.count();
        bytes += segment.groups().unwrap().map(|group| group.unwrap().length()).sum::<u64>();
    }
    assert_eq!(replay.bytes(), bytes, "what there is to read");
    assert!(replay.newest() > replay.horizon() && replay.newest() > stamps[stamps.len() - 1]);
    while let Some(batch) = replay.next_batch().unwrap() {
        batches += 1;
        assert!(!batch.is_empty() && batch.len() == batch.transactions().len());
        let in_ops = |transaction: scaledb_log::LoggedTransaction<'_>| -> u64 {
            let bytes = transaction.ops().map(|op| match op.unwrap() {
                scaledb_log::Op::Insert { row, .. } => row.len() as u64,
                op => panic!("{op:?}"),
            });
            bytes.sum()
        };
        // rows, and some bytes for each operation
        let rows: u64 = batch.transactions().map(in_ops).sum();
        assert!((rows..rows + 20 * batch.len() as u64).contains(&batch.bytes()), "{}", batch.bytes());
    }
    assert!(batches > 3 && batches <= groups / 2, "{batches} batches of {groups} groups");
}

#[test]
fn a_transaction_that_needs_several_records_is_one_and_in_order() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let changes: Vec<_> = (0..400u32).map(|i| Change::Insert(i, vec![1; 30], vec![7; 1000])).collect();
    let ts = running.commit(2, &changes);
    running.log.flush_once().unwrap();
    let recovered = recover(&running.kill(&disk)).unwrap();
    assert!(recovered.stamps().iter().all(|&got| got == ts));
    // 415 KB, in records of 64 KB where they are that short
    assert_eq!(recovered.transactions.len(), if cfg!(debug_assertions) { 7 } else { 1 });
    let got: Vec<_> = recovered.transactions.into_iter().flat_map(|transaction| transaction.1).collect();
    assert!(got == changes);
}

#[test]
fn a_record_that_is_dropped_unfinished_leaves_nothing() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let first = running.put(0, 10);
    let mut writer = running.writer(0);
    writer.begin(running.clock.now());
    let mut append = writer.append(Timestamp::new(running.clock.now_fenced(), WorkerId(0)));
    append.catalog(b"half");
    drop(append);
    writer.end();
    drop(writer);
    let second = running.put(0, 10);
    running.log.flush_once().unwrap();
    assert_eq!(recover(&running.kill(&disk)).unwrap().stamps(), [first, second]);
}

#[test]
fn a_seal_that_the_next_group_replaces_is_no_gap() {
    let disk = MemDisk::new();
    // the thread seals when it has nothing to do
    let options = scaledb_log::LogOptions { manual: false, ..manual() };
    let (running, _) = start_with(&disk, options).unwrap();
    let mut stamps = Vec::new();
    // 12 pages at least: over the end of a segment, where the seal is not replaced
    while stamps.len() < 12 || running.log.stats().markers < 8 {
        assert!(stamps.len() < 1_000, "{:?}", running.log.stats());
        let markers = running.log.stats().markers;
        let ts = running.put(0, 10);
        running.log.wait(ts).unwrap();
        stamps.push(ts);
        // at the end of a segment there is no room for one
        for _ in 0..50 {
            if running.log.stats().markers > markers {
                break;
            }
            scaledb_sync::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps);
        assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), stamps);
    }
    running.log.close().unwrap();
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps);
}

#[test]
fn a_segment_has_its_whole_length_on_disk_before_it_has_its_name() {
    const MB: u64 = 1 << 20;
    let bytes = 18 * MB + 3 * PAGE;
    let disk = MemDisk::new();
    let (running, _) =
        start_with(&disk, scaledb_log::LogOptions { segment_bytes: bytes, ..manual() }).unwrap();
    disk.take_steps();
    // prepares the next one
    running.put_durable(10);
    let steps = disk.take_steps();
    let begin = steps.iter().position(|step| matches!(step, Step::Create(_))).expect("a segment");
    let (mut end, mut synced) = (0, Vec::new());
    for step in &steps[begin..] {
        match step {
            Step::Write(_, 0, _) if end > 0 => {}
            Step::Write(_, offset, len) => {
                assert_eq!(*offset, end, "without a gap");
                end += *len as u64;
            }
            Step::Sync(_) => synced.push(end),
            Step::Rename(_, to) => {
                assert_eq!(*synced.last().expect("a sync"), bytes);
                assert_eq!(disk.without_unsynced().read(to).len() as u64, bytes);
            }
            _ => {}
        }
    }
    assert_eq!(synced, [8 * MB, 16 * MB, bytes], "in steps that hold no group up for long");
}

#[test]
fn openings_with_few_commits_leave_small_files() {
    let disk = MemDisk::new();
    let mut stamps = Vec::new();
    for _ in 0..8 {
        let running = start(&disk);
        stamps.push(running.put_durable(10));
        running.log.close().unwrap();
    }
    let sizes: Vec<_> = disk.segments().iter().map(|name| disk.read(name).len() as u64 / PAGE).collect();
    assert_eq!(sizes[..7], [3; 7], "a header, a group and a seal");
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), stamps);
}

#[test]
fn directories_that_are_none_are_refused() {
    let disk = MemDisk::new();
    disk.write("holiday.jpg", vec![1, 2, 3]);
    let refused = |disk: &MemDisk, engine: &str| DatabaseDir::open(disk.arc(), engine).unwrap_err();
    assert!(matches!(refused(&disk, "test"), LogError::Foreign { file, .. } if file == "holiday.jpg"));

    let disk = MemDisk::new();
    let running = start(&disk);
    assert!(matches!(refused(&disk, "test"), LogError::Locked { .. }));
    running.log.close().unwrap();
    assert!(matches!(refused(&disk, "other"), LogError::WrongEngine { .. }));
    // files of others do not matter to a database that is there
    disk.write("holiday.jpg", vec![1, 2, 3]);
    assert!(DatabaseDir::open(MemDisk::new().arc(), "test").unwrap().is_new());
    assert!(!DatabaseDir::open(disk.arc(), "test").unwrap().is_new());

    disk.edit("MANIFEST", Vec::clear);
    assert!(matches!(refused(&disk, "test"), LogError::Damaged { .. }));
    scaledb_log::disk::Disk::remove(&disk, "MANIFEST").unwrap();
    scaledb_log::disk::Disk::remove(&disk, "holiday.jpg").unwrap();
    assert!(matches!(refused(&disk, "test"), LogError::Damaged { file, .. } if file == "MANIFEST"));
}

#[test]
fn a_log_that_was_not_read_is_not_continued() {
    let disk = MemDisk::new();
    let running = start(&disk);
    running.put_durable(10);
    let disk = running.kill(&disk);
    let directory = DatabaseDir::open(disk.arc(), "test").unwrap();
    let replay = directory.replay().unwrap();
    let clock = scaledb_sync::clock::Clock::with_source(scaledb_sync::clock::Source::Counter, 1 << 40);
    let error = directory.start(replay, manual(), scaledb_sync::Arc::new(clock)).unwrap_err();
    assert!(matches!(error, LogError::NotReplayed));
}

#[test]
fn keys_and_tables_come_back_whatever_their_length_takes() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let mut changes = Vec::new();
    for table in [0, 126, 127, 128, 129, 16_383, 16_384, u32::MAX] {
        for len in [0, 1, 126, 127, 128, 129, 1000] {
            changes.push(Change::Insert(table, vec![5; len], vec![1]));
            changes.push(Change::Delete(table, vec![6; len]));
        }
    }
    let ts = running.commit(0, &changes);
    running.log.flush_once().unwrap();
    assert_eq!(recover(&running.kill(&disk)).unwrap().transactions, [(ts, changes)]);
}

/// A segment that was prepared and never used is the first one of the next opening, unless that has segments of
/// another length.
#[test]
fn a_prepared_segment_is_used_by_the_next_opening_if_its_length_fits() {
    for pages in [3, 4, 8] {
        let disk = MemDisk::new();
        let running = start(&disk);
        let mut stamps = vec![running.put_durable(10)];
        let disk = running.kill(&disk);
        let options = scaledb_log::LogOptions { segment_bytes: pages * PAGE, ..manual() };
        let (running, _) = start_with(&disk, options).unwrap();
        let spare = |step: &Step| match step {
            Step::Rename(from, to) => from.starts_with("log-") && to.starts_with("spare-"),
            _ => false,
        };
        assert_eq!(disk.take_steps().iter().any(spare), pages == 4);
        stamps.extend([running.put_durable(10), running.put_durable(10)]);
        assert_eq!(recover(&running.kill(&disk)).unwrap().stamps(), stamps);
    }
}

#[test]
fn values_come_back_whatever_their_length_takes() {
    let disk = MemDisk::new();
    let running = start(&disk);
    // a length of one byte, two, three and four
    let lengths = [0, 1, 126, 127, 128, 129, 16_383, 16_384, 16_385, 2_097_151, 2_097_152];
    let value = |len: usize| (0..len).map(|at| at as u8).collect::<Vec<_>>();
    let changes: Vec<_> = lengths.map(|len| Change::Insert(1, vec![7], value(len))).into();
    running.commit(0, &changes);
    running.log.flush_once().unwrap();
    drop(running);
    // a long transaction is several records
    let transactions = recover(&disk).unwrap().transactions;
    let back: Vec<_> = transactions.into_iter().flat_map(|(_, changes)| changes).collect();
    assert!(back == changes, "not shown: they are long");
}
