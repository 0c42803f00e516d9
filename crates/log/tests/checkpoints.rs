//! Checkpoints: what is read is what was written, and a crash leaves the old one or the new one.

mod support;

use proptest::prelude::*;
use scaledb_base::{TableId, Timestamp};
use scaledb_log::{DatabaseDir, LogError, LogOptions, check};
use std::io;
use support::*;

/// Table, key, stamps, row.
type Row = (u32, Vec<u8>, Vec<u64>, Vec<u8>);

fn write_checkpoint(running: &Running, begin: Timestamp, parts: &[Vec<Row>]) -> Result<(), LogError> {
    let checkpoint = running.log.begin_checkpoint(begin)?;
    let mut newest = begin;
    for rows in parts {
        let mut part = checkpoint.part()?;
        for (table, key, stamps, row) in rows {
            part.row(TableId(*table), key, stamps, |out| out.extend_from_slice(row))?;
            newest = stamps.iter().map(|&raw| Timestamp::from_raw(raw)).fold(newest, Timestamp::max);
        }
        part.finish()?;
    }
    checkpoint.finish(b"the catalog", newest)
}

/// The begin, and the rows of each part.
type Read = (Timestamp, Vec<Vec<Row>>);

fn read_checkpoint(disk: &MemDisk) -> Result<Option<Read>, LogError> {
    let directory = DatabaseDir::open(disk.arc(), "test")?;
    let Some(checkpoint) = directory.checkpoint() else { return Ok(None) };
    assert_eq!(checkpoint.catalog(), b"the catalog");
    let mut parts = Vec::new();
    let mut buffer = Vec::new();
    for part in 0..checkpoint.parts() {
        let mut rows = Vec::new();
        let mut reader = checkpoint.part(part)?;
        while let Some(block) = reader.next_block(&mut buffer)? {
            for row in block.rows() {
                let row = row?;
                rows.push((block.table().0, row.key.to_vec(), row.stamps().to_vec(), row.row.to_vec()));
            }
        }
        parts.push(rows);
    }
    assert_eq!(checkpoint.rows(), parts.iter().map(|part| part.len() as u64).sum::<u64>());
    Ok(Some((checkpoint.begin(), parts)))
}

fn row() -> impl Strategy<Value = Row> {
    let bytes = |max: usize| prop::collection::vec(any::<u8>(), 0..max);
    let stamps = prop::collection::vec(0..1000u64, 1..=4);
    // now and then a row that is longer than a block
    let content = prop_oneof![20 => bytes(200), 1 => (260_000..600_000usize).prop_map(|len| vec![3; len])];
    (0..3u32, bytes(60), stamps, content)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn rows_come_back_as_they_were_written(
        parts in prop::collection::vec(prop::collection::vec(row(), 0..40), 0..4)
    ) {
        let disk = MemDisk::new();
        let running = start(&disk);
        let begin = running.put_durable(10);
        write_checkpoint(&running, begin, &parts).unwrap();
        let disk = disk.without_unsynced();
        prop_assert_eq!(read_checkpoint(&disk).unwrap(), Some((begin, parts)));
        let report = check(&disk.arc()).unwrap();
        prop_assert!(report.is_sound(), "{:?}", report.problems);
    }
}

/// A reader refuses a block that is far longer.
#[test]
fn a_block_is_written_when_it_has_a_quarter_of_a_mebibyte() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let begin = running.put_durable(10);
    let rows = (0..100u32).map(|n| (1, n.to_be_bytes().to_vec(), vec![1], vec![7; 10_000])).collect();
    write_checkpoint(&running, begin, &[rows]).unwrap();
    let disk = disk.without_unsynced();
    let checkpoint = DatabaseDir::open(disk.arc(), "test").unwrap().checkpoint().unwrap();
    let (mut part, mut buffer, mut counts) = (checkpoint.part(0).unwrap(), Vec::new(), Vec::new());
    while let Some(block) = part.next_block(&mut buffer).unwrap() {
        counts.push(block.count());
    }
    assert_eq!(counts, [27, 27, 27, 19]);
}

fn some_rows(n: u64) -> Vec<Vec<Row>> {
    (0..2)
        .map(|part| (0..20).map(|i| (part, vec![i as u8; 5], vec![n, n + 1], vec![n as u8; 100])).collect())
        .collect()
}

#[test]
fn the_log_before_a_checkpoint_is_not_read_again_and_its_segments_go() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let mut stamps: Vec<_> = (0..20).map(|_| running.put_durable(10)).collect();
    let before = disk.segments().len();
    assert!(before > 6);
    write_checkpoint(&running, stamps[15], &some_rows(1)).unwrap();
    assert!(disk.segments().len() < before - 3, "{:?}", disk.names());
    stamps.push(running.put_durable(10));
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps[15..]);

    // two of them are used again, and what they held is not seen
    let spares = disk.names().iter().filter(|name| name.starts_with("spare-")).count();
    assert_eq!(spares, 2);
    let first: Vec<_> = disk.segments();
    disk.take_steps();
    for _ in 0..9 {
        stamps.push(running.put_durable(10));
        assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps[15..]);
        assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), stamps[15..]);
    }
    let renamed = |step: &Step| matches!(step, Step::Rename(from, to) if from.starts_with("spare-") && to.starts_with("log-"));
    assert_eq!(disk.take_steps().iter().filter(|step| renamed(step)).count(), 2);
    assert_eq!(disk.segments()[0], first[0]);

    let mut disk = running.kill(&disk);
    for _ in 0..3 {
        let (running, recovered) = start_with(&disk, manual()).unwrap();
        assert_eq!(recovered.stamps(), stamps[15..]);
        running.log.close().unwrap();
        disk = running.kill(&disk);
    }
}

#[test]
fn a_segment_that_could_not_be_removed_goes_with_the_next_checkpoint() {
    let disk = MemDisk::new();
    let running = start_with(&disk, LogOptions { recycle: 0, ..manual() }).unwrap().0;
    let stamps: Vec<_> = (0..20).map(|_| running.put_durable(10)).collect();
    let before = disk.segments();
    // all that hold the log, and the one that is prepared
    assert_eq!(running.log.stats().segments + 1, before.len() as u64);
    disk.set_fault(|step| {
        matches!(step, Step::Remove(name) if name.starts_with("log-")).then(|| io::ErrorKind::Other.into())
    });
    write_checkpoint(&running, stamps[15], &some_rows(1)).unwrap();
    assert_eq!(disk.segments(), before);
    // or with the next opening
    let image = disk.as_it_is();
    let _opened = start(&image);
    assert!(!image.segments().contains(&before[0]), "{:?}", image.segments());
    disk.clear_fault();
    // somebody else has removed one of them
    scaledb_log::disk::Disk::remove(&disk, &before[0]).unwrap();
    write_checkpoint(&running, stamps[15], &some_rows(1)).unwrap();
    let checkpoints = disk.names().iter().filter(|name| name.starts_with("checkpoint-")).count();
    assert_eq!(checkpoints, 2, "the parts of the one that is in force");
    let left = disk.segments();
    assert!(before.ends_with(&left) && left.len() == 3, "{left:?}");
    assert_eq!(running.log.stats().segments, 2);
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps[15..]);
}

/// A checkpoint says up to where the log was durable: a log that ends earlier has lost its end.
#[test]
fn a_log_that_ends_in_front_of_its_checkpoint_is_damaged() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let stamps: Vec<_> = (0..3).map(|_| running.put_durable(10)).collect();
    write_checkpoint(&running, stamps[1], &[]).unwrap();
    let disk = running.kill(&disk);
    let last = "log-0000000000000001";
    let (whole, end) = (disk.read(last), 4 * PAGE as usize);
    assert!(whole.len() == end);
    disk.edit(last, |bytes| bytes[end - PAGE as usize..].fill(0));
    assert!(matches!(recover(&disk), Err(LogError::Damaged { file, .. }) if file == last));
}

#[test]
fn the_commit_at_which_a_checkpoint_begins_stays_in_the_log() {
    // wherever in its segment it is
    for begin in 10..14 {
        let disk = MemDisk::new();
        let running = start(&disk);
        let stamps: Vec<_> = (0..16).map(|_| running.put_durable(10)).collect();
        let before = disk.segments().len();
        write_checkpoint(&running, stamps[begin], &some_rows(1)).unwrap();
        assert!(disk.segments().len() < before);
        assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps[begin..]);
    }
}

#[test]
fn old_groups_in_a_recycled_segment_never_follow_a_torn_end() {
    let disk = MemDisk::new();
    let running = start(&disk);
    // the segment with one group of three pages, and then those with three groups of one page
    let mut stamps: Vec<_> = (0..12).map(|_| running.put_durable(10)).collect();
    write_checkpoint(&running, stamps[11], &[]).unwrap();
    for _ in 0..6 {
        stamps.push(running.put_durable(10));
        let image = disk.as_it_is();
        let name = image.segments().pop().unwrap();
        assert_eq!(recover(&image).unwrap().stamps(), stamps[11..]);
        for segment in image.segments().into_iter().filter(|segment| *segment <= name) {
            // wherever the log ends in it
            for page in 1..4 {
                let torn = image.as_it_is();
                torn.edit(&segment, |bytes| bytes[page * PAGE as usize + 8] ^= 1);
                match recover(&torn) {
                    Ok(recovered) => assert!(stamps[11..].starts_with(&recovered.stamps())),
                    Err(error) => assert!(matches!(error, LogError::Damaged { .. }), "{error}"),
                }
            }
        }
    }
}

#[test]
fn a_crash_at_any_step_leaves_the_old_checkpoint_or_the_new_one() {
    let mut seen = [0, 0];
    for crash_at in 0.. {
        let disk = MemDisk::new();
        let running = start(&disk);
        let mut stamps: Vec<_> = (0..10).map(|_| running.put_durable(10)).collect();
        write_checkpoint(&running, stamps[4], &some_rows(1)).unwrap();
        stamps.extend((0..10).map(|_| running.put_durable(10)));
        let mut step = 0;
        disk.set_fault(move |_| {
            step += 1;
            (step > crash_at).then(|| io::ErrorKind::Other.into())
        });
        let done = write_checkpoint(&running, stamps[16], &some_rows(2));
        for image in [disk.as_it_is(), disk.without_unsynced()] {
            let (begin, parts) = read_checkpoint(&image).unwrap().unwrap();
            let new = begin == stamps[16];
            assert!(new || begin == stamps[4] && done.is_err(), "{crash_at}");
            assert_eq!(parts, some_rows(if new { 2 } else { 1 }));
            seen[usize::from(new)] += 1;
            let from = if new { 16 } else { 4 };
            let (running, recovered) = start_with(&image, manual()).unwrap();
            assert_eq!(recovered.stamps(), stamps[from..], "{crash_at}");
            // what the crash has left is cleared away, and the next one works
            let checkpoints = image.names().iter().filter(|name| name.starts_with("checkpoint-")).count();
            assert_eq!(checkpoints, 2);
            write_checkpoint(&running, running.put_durable(10), &some_rows(3)).unwrap();
            assert!(check(&image.arc()).unwrap().is_sound());
        }
        if done.is_ok() {
            // the removal of files at the end may fail without harm
            if crash_at > 60 {
                break;
            }
        }
    }
    assert!(seen[0] > 5 && seen[1] > 5, "{seen:?}");
}

#[test]
fn an_opening_that_crashes_at_any_step_changes_nothing() {
    opening_that_crashes(false);
}

#[test]
fn an_opening_behind_one_without_commits_that_crashes_at_any_step_changes_nothing() {
    opening_that_crashes(true);
}

fn opening_that_crashes(behind_an_idle_one: bool) {
    let original = MemDisk::new();
    let running = start(&original);
    let mut stamps: Vec<_> = (0..8).map(|_| running.put_durable(10)).collect();
    write_checkpoint(&running, stamps[4], &some_rows(1)).unwrap();
    running.log.close().unwrap();
    let running = start(&original);
    stamps.extend((0..8).map(|_| running.put_durable(10)));
    let mut original = running.kill(&original);
    if behind_an_idle_one {
        original = start(&original).kill(&original);
    }
    for crash_at in 0.. {
        let disk = original.as_it_is();
        let mut step = 0;
        disk.set_fault(move |_| {
            step += 1;
            (step > crash_at).then(|| io::ErrorKind::Other.into())
        });
        let started = start_with(&disk, manual()).is_ok();
        for image in [disk.as_it_is(), disk.without_unsynced()] {
            assert_eq!(recover(&image).unwrap().stamps(), stamps[4..], "{crash_at}");
            let running = start(&image);
            let ts = running.put_durable(10);
            let again = recover(&running.kill(&image)).unwrap().stamps();
            assert_eq!(again.split_last(), Some((&ts, &stamps[4..])), "{crash_at}");
        }
        if started && crash_at > 40 {
            break;
        }
    }
}

#[test]
fn a_checkpoint_waits_until_what_it_shows_is_durable() {
    let disk = MemDisk::new();
    let options = LogOptions { manual: false, ..manual() };
    let (running, _) = start_with(&disk, options).unwrap();
    let begin = running.put(0, 10);
    let later = running.put(0, 10);
    let rows = vec![vec![(1, b"k".to_vec(), vec![later.raw()], b"r".to_vec())]];
    write_checkpoint(&running, begin, &rows).unwrap();
    assert!(running.log.durable() > later);
    assert_eq!(recover(&disk.without_unsynced()).unwrap().stamps(), [begin, later]);
}

#[test]
fn one_checkpoint_at_a_time_and_none_that_is_half() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let begin = running.put_durable(10);
    let first = running.log.begin_checkpoint(begin).unwrap();
    assert!(matches!(running.log.begin_checkpoint(begin), Err(LogError::CheckpointRunning)));
    let part = first.part().unwrap();
    assert!(matches!(first.finish(b"", begin), Err(LogError::UnfinishedParts(1))));
    drop(part);
    assert!(disk.names().iter().all(|name| !name.starts_with("checkpoint-")), "{:?}", disk.names());
    running.log.begin_checkpoint(begin).unwrap();
}

#[test]
fn a_checkpoint_of_an_opening_without_commits_is_whole() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let ts = running.put_durable(10);
    let disk = running.kill(&disk);
    let running = start(&disk);
    let begin = Timestamp::start_of(ts.ticks() + 1);
    write_checkpoint(&running, begin, &some_rows(1)).unwrap();
    running.log.close().unwrap();
    let mut disk = running.kill(&disk);
    for _ in 0..3 {
        assert_eq!(recover(&disk).unwrap().stamps(), []);
        let running = start(&disk);
        write_checkpoint(&running, begin, &some_rows(1)).unwrap();
        disk = running.kill(&disk);
        assert!(check(&disk.arc()).unwrap().is_sound());
    }
    let running = start(&disk);
    let later = running.put_durable(10);
    assert_eq!(recover(&running.kill(&disk)).unwrap().stamps(), [later]);
}

#[test]
fn a_part_says_how_long_its_file_is() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let begin = running.put_durable(10);
    let checkpoint = running.log.begin_checkpoint(begin).unwrap();
    let mut part = checkpoint.part().unwrap();
    part.row(TableId(1), b"key", &[begin.raw()], |out| out.extend_from_slice(&[7; 100])).unwrap();
    let length = part.finish().unwrap();
    checkpoint.finish(b"the catalog", begin).unwrap();
    let file = disk.names().into_iter().find(|name| name.starts_with("checkpoint-")).unwrap();
    assert_eq!(length, disk.read(&file).len() as u64);

    let disk = disk.as_it_is();
    let checkpoint = DatabaseDir::open(disk.arc(), "test").unwrap().checkpoint().unwrap();
    assert_eq!((checkpoint.bytes(), checkpoint.rows(), checkpoint.parts()), (length, 1, 1));
    assert_eq!((checkpoint.begin(), checkpoint.newest()), (begin, begin));
    let mut buffer = Vec::new();
    let mut part = checkpoint.part(0).unwrap();
    assert_eq!(part.next_block(&mut buffer).unwrap().unwrap().count(), 1);
    assert!(matches!(checkpoint.part(1), Err(LogError::Damaged { .. })));

    // neither shorter nor longer than it was
    let bytes = disk.read(&file);
    for len in [0, 63, 64, 95, bytes.len() - 1, bytes.len() + 1] {
        let mut other = bytes.clone();
        other.resize(len, 0);
        disk.write(&file, other);
        let refused = checkpoint.part(0).unwrap_err();
        assert!(matches!(&refused, LogError::Damaged { file: at, .. } if *at == file), "{len}: {refused}");
    }
}

/// The rows of a part and the checksum over its blocks stand in the manifest as well.
#[test]
fn a_part_that_the_manifest_tells_otherwise_of_is_damaged() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let begin = running.put_durable(10);
    write_checkpoint(&running, begin, &some_rows(1)).unwrap();
    let disk = running.kill(&disk);
    let text = String::from_utf8(disk.read("MANIFEST")).unwrap();
    for (field, more) in [("\"rows\":", 1), ("\"crc32c\":", 1), ("\"bytes\":", 1)] {
        let at = text.find(field).unwrap() + field.len();
        let end = at + text[at..].find(|c: char| !c.is_ascii_digit()).unwrap();
        let number: u64 = text[at..end].parse().unwrap();
        let body = format!("{}{}{}", &text[..at], number ^ more, &text[end..]);
        let body = &body[..body.rfind("crc32c ").unwrap()];
        let image = disk.as_it_is();
        image.write(
            "MANIFEST",
            format!("{body}crc32c {:08x}\n", crc32c::crc32c(body.as_bytes())).into_bytes(),
        );
        let refused = read_checkpoint(&image).unwrap_err();
        assert!(
            matches!(&refused, LogError::Damaged { file, .. } if file.starts_with("checkpoint-")),
            "{refused}"
        );
    }
}

#[test]
fn every_flipped_bit_of_a_checkpoint_is_named() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let begin = running.put_durable(10);
    write_checkpoint(&running, begin, &some_rows(1)).unwrap();
    let disk = running.kill(&disk);
    let files: Vec<_> = disk.names().into_iter().filter(|name| name.starts_with("checkpoint-")).collect();
    for name in files {
        for bit in 0..disk.read(&name).len() * 8 {
            let flipped = disk.as_it_is();
            flipped.flip(&name, bit);
            let error = read_checkpoint(&flipped).unwrap_err();
            assert!(matches!(&error, LogError::Damaged { file, .. } if *file == name), "{bit}: {error}");
            assert!(!check(&flipped.arc()).unwrap().is_sound());
        }
    }
}
