//! The files of a database: manifest, segments, checkpoint.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_base::{TableId, Timestamp, WorkerId};
use scaledb_log::disk::Disk;
use scaledb_log::{DatabaseDir, Log, LogOptions, check, dump::LogDump};
use scaledb_sync::Arc;
use scaledb_sync::clock::{Clock, Source};
use scaledb_verify::disk::SimDisk;
use std::sync::LazyLock;

const PAGE: u64 = 4_096;

/// Files by name.
type Files = Vec<(String, Vec<u8>)>;

static WHOLE: LazyLock<Files> = LazyLock::new(whole);

/// A database that was opened three times, with a checkpoint.
fn whole() -> Files {
    let disk = SimDisk::new(1);
    for round in 0..3 {
        let directory = DatabaseDir::open(Arc::new(disk.clone()), "fuzzed").expect("a directory");
        let mut replay = directory.replay().expect("a log");
        while replay.next_batch().expect("a batch").is_some() {}
        let clock = Arc::new(Clock::with_source(Source::Counter, replay.newest().ticks()));
        let options = LogOptions { segment_bytes: 4 * PAGE, manual: true, ..LogOptions::default() };
        let log = directory.start(replay, options, clock.clone()).expect("a log");
        let stamps: Vec<Timestamp> = (0..4).map(|number| transaction(&log, &clock, number)).collect();
        if round == 1 {
            let checkpoint = log.begin_checkpoint(stamps[1]).expect("a checkpoint");
            let mut part = checkpoint.part().expect("a part");
            for i in 0..50_u8 {
                part.row(TableId(3), &[i; 9], &[1, 2], |out| out.extend_from_slice(&[i; 30])).expect("a row");
            }
            part.finish().expect("the part");
            checkpoint.finish(b"{}", stamps[3]).expect("the checkpoint");
        }
    }
    let names = disk.list().expect("names");
    names.into_iter().filter_map(|name| disk.contents(&name).map(|bytes| (name, bytes))).collect()
}

fn transaction(log: &Arc<Log>, clock: &Clock, number: u8) -> Timestamp {
    let worker = WorkerId(number % 2);
    let mut writer = log.writer(worker);
    writer.reserve(100).expect("room");
    writer.begin(clock.now());
    let ts = Timestamp::new(clock.now_fenced(), worker);
    let mut append = writer.append(ts);
    let table = TableId(number.into());
    append.insert(table, &[number; 8], |out| out.extend_from_slice(&[0xa5; 700]));
    append.update(table, &[number; 8], |out| out.extend_from_slice(&[1, 2, 3]));
    append.delete(table, &[number; 4]);
    append.catalog(b"{\"table\": 1}");
    append.finish();
    writer.end();
    log.flush_once().expect("a group");
    ts
}

/// Changes files of a database as the input says, and reads all of them. An input is a list of changes: a file, a place
/// in it (two bytes), what is done there, and a byte for it.
pub fn log(input: &[u8]) {
    let mut files = WHOLE.clone();
    for change in input.chunks_exact(5) {
        let names = files.len();
        let number = usize::from(change[0]) % names;
        let file = &mut files[number].1;
        let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % file.len().max(1);
        match change[3] % 6 {
            0 if at < file.len() => file[at] = change[4],
            1 if at < file.len() => file[at] ^= change[4] | 1,
            2 => file.truncate(at),
            3 => file.extend_from_slice(&[change[4]; 97]),
            4 => {
                let bytes = SmallRng::seed_from_u64(change[4].into()).random::<[u8; 32]>();
                let end = (at + bytes.len()).min(file.len());
                file[at..end].copy_from_slice(&bytes[..end - at]);
            }
            _ => {
                let other = files[usize::from(change[4]) % names].1.clone();
                files[number].1 = other;
            }
        }
    }
    #[cfg(feature = "mutations")]
    scaledb_log::Rule::Checksums.without(|| read(&disk_of(&files)));
    read(&disk_of(&files));
}

fn disk_of(files: &Files) -> Arc<dyn Disk> {
    let disk = SimDisk::new(1).killed(0);
    for (name, bytes) in files {
        let file = disk.create(name).expect("a new file");
        file.write_at(bytes, 0).expect("room");
    }
    Arc::new(disk)
}

/// Reads whatever there is to read. Errors are expected, panics are not.
fn read(disk: &Arc<dyn Disk>) {
    let _ = check(disk);
    if let Ok(dump) = LogDump::open(disk.clone()) {
        for segment in dump.segments() {
            let Ok(groups) = segment.groups() else { continue };
            for group in groups.flatten() {
                for block in group.blocks() {
                    for transaction in block.transactions().flatten() {
                        transaction.ops().for_each(drop);
                    }
                }
            }
        }
    }
    let Ok(directory) = DatabaseDir::open(disk.clone(), "fuzzed") else { return };
    if let Some(checkpoint) = directory.checkpoint() {
        let mut buffer = Vec::new();
        for part in 0..checkpoint.parts() {
            let Ok(mut part) = checkpoint.part(part) else { continue };
            while let Ok(Some(block)) = part.next_block(&mut buffer) {
                block.rows().for_each(drop);
            }
        }
    }
    let Ok(mut replay) = directory.replay() else { return };
    while let Ok(Some(batch)) = replay.next_batch() {
        for transaction in batch.transactions() {
            transaction.ops().for_each(drop);
        }
    }
}
