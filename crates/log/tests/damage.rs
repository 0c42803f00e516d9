//! The damage rule: what is torn is cut, what is damaged is named.

mod support;

use scaledb_base::Timestamp;
use scaledb_log::{LogError, check};
use support::*;

/// A log of some groups in one segment: the stamps, and where the groups end.
fn log_of(sizes: &[usize]) -> (MemDisk, Vec<Timestamp>, Vec<usize>) {
    let disk = MemDisk::new();
    let options = scaledb_log::LogOptions { segment_bytes: 12 * PAGE, ..manual() };
    let (running, _) = start_with(&disk, options).unwrap();
    let mut end = PAGE as usize;
    let (mut stamps, mut ends) = (Vec::new(), vec![end]);
    for &size in sizes {
        stamps.push(running.put_durable(size));
        end += (size + 200).next_multiple_of(PAGE as usize);
        ends.push(end);
    }
    (running.kill(&disk), stamps, ends)
}

const SEGMENT: &str = "log-0000000000000001";

fn assert_damaged(disk: &MemDisk, file: &str, from: usize, to: usize) {
    match recover(disk) {
        Err(LogError::Damaged { file: at, offset, what }) => {
            assert_eq!(at, file, "{what}");
            assert!((from as u64..to as u64).contains(&offset), "{offset}: {what}");
        }
        other => panic!("{other:?}"),
    }
    match check(&disk.arc()) {
        Ok(report) => assert!(!report.is_sound()),
        Err(error) => assert!(matches!(error, LogError::Damaged { .. }), "{error}"),
    }
}

#[test]
fn every_torn_end_of_the_last_group_is_cut_off() {
    let (disk, stamps, ends) = log_of(&[10, 5000, 9000]);
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps);
    let whole = disk.read(SEGMENT);
    let (start, end) = (ends[2], ends[3]);
    for cut in (start..end - 1).step_by(7) {
        // sectors are lost, but the prefix may end anywhere
        let torn = disk.as_it_is();
        torn.edit(SEGMENT, |bytes| bytes[cut..].fill(0));
        if torn.read(SEGMENT) == whole {
            continue; // only padding was cut
        }
        assert_eq!(recover(&torn).unwrap().stamps(), stamps[..2], "{cut}");
        let (running, _) = start_with(&torn, manual()).unwrap();
        let ts = running.put_durable(10);
        assert_eq!(recover(&running.kill(&torn)).unwrap().stamps(), [stamps[0], stamps[1], ts]);
    }
}

#[test]
fn any_lost_sectors_of_the_last_group_cut_it_off() {
    let (disk, stamps, ends) = log_of(&[10, 9000]);
    let (start, end) = (ends[1], ends[2]);
    let sectors = (end - start) / 512;
    let old = vec![0xee; 512];
    for lost in 1..1u32 << sectors.min(12) {
        let torn = disk.as_it_is();
        torn.edit(SEGMENT, |bytes| {
            for sector in (0..sectors).filter(|sector| lost >> sector & 1 == 1) {
                let at = start + sector * 512;
                bytes[at..at + 512].copy_from_slice(&old);
            }
        });
        assert_eq!(recover(&torn).unwrap().stamps(), stamps[..1], "{lost:b}");
    }
}

#[test]
fn a_file_that_has_lost_its_end_is_not_taken_for_a_torn_one() {
    let (disk, stamps, ends) = log_of(&[10, 9000, 10]);
    let whole = disk.read(SEGMENT).len();
    for len in (1..whole).step_by(509).chain(ends.iter().copied()).chain([whole - 1]) {
        let short = disk.as_it_is();
        short.edit(SEGMENT, |bytes| bytes.truncate(len));
        assert_damaged(&short, SEGMENT, 0, len + 1);
    }
    assert_eq!(recover(&disk).unwrap().stamps(), stamps);
}

/// Changes the header of a segment, which gets its checksum again.
fn edit_header(disk: &MemDisk, file: &str, edit: impl FnOnce(&mut [u8])) {
    disk.edit(file, |bytes| {
        edit(&mut bytes[..PAGE as usize]);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..PAGE as usize]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    });
}

/// A header says by zero that it does not know the length: then a group beyond the end of the file is a torn one.
#[test]
fn a_group_that_goes_beyond_the_end_of_its_file_is_torn_where_the_length_is_not_known() {
    let (disk, stamps, ends) = log_of(&[10, 600, 9000]);
    edit_header(&disk, SEGMENT, |header| header[80..88].fill(0));
    for len in (ends[2]..ends[3]).step_by(512) {
        let short = disk.as_it_is();
        short.edit(SEGMENT, |bytes| bytes.truncate(len));
        assert_eq!(recover(&short).unwrap().stamps(), stamps[..2], "{len}");
        // nor does it follow one that is torn
        short.flip(SEGMENT, (ends[1] + 8) * 8);
        assert_eq!(recover(&short).unwrap().stamps(), stamps[..1], "{len}");
    }
    disk.edit(SEGMENT, |bytes| bytes.truncate(ends[3]));
    assert_eq!(recover(&disk).unwrap().stamps(), stamps);
}

#[test]
fn a_short_segment_in_front_of_others_is_named_whether_they_are_used_or_not() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let stamps: Vec<Timestamp> = (0..8).map(|_| running.put_durable(10)).collect();
    let disk = running.kill(&disk);
    let segments = disk.segments();
    assert!(segments.len() > 2, "{segments:?}");
    for name in &segments {
        let whole = disk.read(name).len();
        for len in (PAGE as usize..whole).step_by(PAGE as usize) {
            let short = disk.as_it_is();
            short.edit(name, |bytes| bytes.truncate(len));
            assert_damaged(&short, name, 0, whole);
        }
    }
    // an opening that ends without commits leaves a shortened segment behind: its header names the end
    let image = disk.as_it_is();
    for _ in 0..3 {
        start(&image).log.close().unwrap();
    }
    assert_eq!(recover(&image).unwrap().stamps(), stamps);
}

#[test]
fn every_flipped_bit_before_the_last_group_is_named() {
    let (disk, _, ends) = log_of(&[10, 600, 10]);
    // the header of the segment is a group of its own here
    let starts = [0, ends[0], ends[1], ends[2]];
    for bit in 0..ends[2] * 8 {
        let group = starts.iter().rposition(|&start| start <= bit / 8).unwrap();
        let flipped = disk.as_it_is();
        flipped.flip(SEGMENT, bit);
        assert_damaged(&flipped, SEGMENT, starts[group], starts[group] + 1);
    }
}

#[test]
fn every_flipped_bit_before_the_last_group_is_named_in_a_log_of_several_segments_and_openings() {
    let disk = MemDisk::new();
    let mut running = start(&disk);
    for i in 0..16 {
        running.put_durable(if i % 5 == 0 { 6000 } else { 10 });
        if i % 6 == 5 {
            running.log.close().unwrap();
            running = start(&disk);
        }
    }
    drop(running);
    let image = disk.as_it_is();
    let dump = scaledb_log::dump::LogDump::open(image.arc()).unwrap();
    let segments: Vec<_> = dump.segments().map(|segment| (segment.file(), segment.end() as usize)).collect();
    assert!(segments.len() > 4);
    for (i, (name, end)) in segments.iter().enumerate() {
        // the last group is the synced seal of the close
        let end = if i + 1 == segments.len() { end - PAGE as usize } else { *end };
        for at in (0..end).step_by(61) {
            let flipped = image.as_it_is();
            flipped.flip(name, at * 8 + at % 8);
            let page = at / PAGE as usize * PAGE as usize;
            // a group may have two pages
            assert_damaged(&flipped, name, page.saturating_sub(PAGE as usize), at + 1);
        }
    }
}

#[test]
fn a_damaged_group_is_named_when_the_one_behind_it_fills_its_file() {
    let disk = MemDisk::new();
    let running = start(&disk);
    // a segment of four pages, with its header
    let _: Vec<Timestamp> = (0..3).map(|_| running.put_durable(10)).collect();
    let disk = running.kill(&disk);
    let at = 2 * PAGE as usize;
    disk.flip(SEGMENT, at * 8);
    assert_damaged(&disk, SEGMENT, at, at + 1);
}

#[test]
fn a_group_that_was_written_to_another_place_is_none() {
    let (disk, stamps, ends) = log_of(&[10, 10, 10]);
    for from in 0..2 {
        let image = disk.as_it_is();
        image.edit(SEGMENT, |bytes| bytes.copy_within(ends[from]..ends[from + 1], ends[2]));
        assert_eq!(recover(&image).unwrap().stamps(), stamps[..2], "{from}");
    }
}

/// What follows a damaged group may be far behind it: segments are read in pieces of a megabyte.
#[test]
fn a_damaged_group_is_named_however_long_it_is() {
    for len in [1_000_000, 1 << 20, 2_500_000] {
        let disk = MemDisk::new();
        let options = scaledb_log::LogOptions { segment_bytes: 4 << 20, ..manual() };
        let (running, _) = start_with(&disk, options).unwrap();
        running.put_durable(10);
        let at = 2 * PAGE as usize;
        running.put_durable(len);
        running.put_durable(10);
        let disk = running.kill(&disk);
        disk.flip(SEGMENT, at * 8);
        assert_damaged(&disk, SEGMENT, at, at + 1);
        // without the one behind it, it is torn
        let torn = disk.as_it_is();
        torn.edit(SEGMENT, |bytes| bytes[at + len..].fill(0));
        assert_eq!(recover(&torn).unwrap().stamps().len(), 1, "{len}");
    }
}

#[test]
fn a_missing_segment_is_named() {
    let disk = MemDisk::new();
    let mut running = start(&disk);
    for i in 0..12 {
        running.put_durable(10);
        if i == 5 {
            running.log.close().unwrap();
            running = start(&disk);
        }
    }
    running.log.close().unwrap();
    let dump = scaledb_log::dump::LogDump::open(disk.arc()).unwrap();
    let files: Vec<_> = dump.segments().map(|segment| segment.file()).collect();
    for (i, missing) in files.iter().enumerate() {
        let image = disk.as_it_is();
        scaledb_log::disk::Disk::remove(&image, missing).unwrap();
        let error = recover(&image).unwrap_err();
        // without the last one of an opening, the log ends too early in the one before
        let named = if i + 1 == files.len() { &files[i - 1] } else { missing };
        assert!(matches!(&error, LogError::Damaged { file, .. } if file == named), "{missing}: {error}");
    }
}

#[test]
fn an_opening_that_is_missing_is_named() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let ts = running.put(0, 10);
    running.log.wait(ts).unwrap();
    running.log.close().unwrap();
    let before = disk.segments();
    drop(start(&disk));
    let opened: Vec<_> = disk.segments().into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(opened, ["log-0000000000000002"], "and none is prepared");
    scaledb_log::disk::Disk::remove(&disk, &opened[0]).unwrap();
    assert_damaged(&disk, &opened[0], 0, 1);
}

#[test]
fn the_last_group_is_known_after_a_close() {
    let disk = MemDisk::new();
    let running = start(&disk);
    running.put_durable(10);
    running.log.close().unwrap();
    let end = 3 * PAGE as usize;
    for bit in 0..end * 8 {
        let flipped = disk.as_it_is();
        flipped.flip(SEGMENT, bit);
        assert!(matches!(recover(&flipped), Err(LogError::Damaged { .. })), "{bit}");
    }
}

#[test]
fn the_last_group_is_known_once_the_log_is_idle() {
    // behind the second group there is one page left
    for groups in 1..=2 {
        let disk = MemDisk::new();
        let running = start_with(&disk, scaledb_log::LogOptions { manual: false, ..manual() }).unwrap().0;
        for _ in 0..groups {
            let ts = running.put(0, 10);
            running.log.wait(ts).unwrap();
        }
        wait_for_a_seal(&disk, groups);
        let flipped = disk.as_it_is();
        flipped.flip(SEGMENT, groups * PAGE as usize * 8);
        assert!(matches!(recover(&flipped), Err(LogError::Damaged { .. })), "{groups}");
    }
}

/// Until the flusher has found nothing to do behind some groups of a page each.
fn wait_for_a_seal(disk: &MemDisk, groups: usize) {
    let since = std::time::Instant::now();
    while disk.read(SEGMENT)[(groups + 1) * PAGE as usize..].iter().all(|&byte| byte == 0) {
        assert!(since.elapsed().as_secs() < 20, "no seal behind {groups} groups");
        scaledb_sync::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_group_that_does_not_fit_behind_a_sealed_one_is_found_in_the_next_segment() {
    let disk = MemDisk::new();
    let running = start_with(&disk, scaledb_log::LogOptions { manual: false, ..manual() }).unwrap().0;
    let put = |len| {
        let ts = running.put(0, len);
        running.log.wait(ts).unwrap();
        ts
    };
    let first = put(10);
    wait_for_a_seal(&disk, 1);
    // the seal stays, and counts as a group
    let stamps = [first, put(3 * PAGE as usize), put(10)];
    assert!(disk.segments().len() > 1);
    assert_eq!(recover(&disk.as_it_is()).unwrap().stamps(), stamps);
}

#[test]
fn segments_of_another_database_or_place_are_none() {
    let (disk, ..) = log_of(&[10]);
    let (other, ..) = log_of(&[10]);
    let mixed = disk.as_it_is();
    mixed.write(SEGMENT, other.read(SEGMENT));
    assert_damaged(&mixed, SEGMENT, 0, 1);
    let moved = disk.as_it_is();
    moved.write("log-0000000000000002", disk.read(SEGMENT));
    assert_damaged(&moved, "log-0000000000000002", 0, 1);
}

#[test]
fn a_segment_that_does_not_begin_as_one_is_none() {
    let (disk, ..) = log_of(&[10]);
    edit_header(&disk, SEGMENT, |header| header[0] ^= 1);
    assert_damaged(&disk, SEGMENT, 0, 1);
}

/// The checksums are right, and what they are of cannot be.
#[test]
fn a_transaction_in_front_of_the_horizon_of_the_group_before_is_damage() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let early = running.put(0, 10);
    running.put_durable(10);
    let mut writer = running.writer(1);
    writer.begin(running.clock.now());
    let mut append = writer.append(Timestamp::new(early.ticks(), scaledb_base::WorkerId(1)));
    append.catalog(b"too late");
    append.finish();
    writer.end();
    running.put_durable(10);
    drop(writer);
    assert_damaged(&running.kill(&disk), SEGMENT, 2 * PAGE as usize, 2 * PAGE as usize + 1);
}

#[test]
fn another_format_is_refused_by_name() {
    let refusal = |format: u8| {
        let (disk, ..) = log_of(&[10]);
        edit_header(&disk, SEGMENT, |header| header[8] = format);
        recover(&disk).unwrap_err()
    };
    let newer = refusal(3);
    assert!(matches!(&newer, LogError::NewerFormat { file, found: 3, .. } if file == SEGMENT), "{newer}");
    let older = refusal(1);
    assert!(matches!(&older, LogError::OlderFormat { file, found: 1, .. } if file == SEGMENT), "{older}");
}
