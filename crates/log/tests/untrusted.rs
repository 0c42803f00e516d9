//! Files that anybody may have written: errors, and never a panic, an endless loop or a vast allocation.

mod support;

use proptest::prelude::*;
use scaledb_base::TableId;
use scaledb_log::{DatabaseDir, check, dump::LogDump};
use support::*;

/// A database with a checkpoint, and a log of three openings.
fn database() -> MemDisk {
    let disk = MemDisk::new();
    for round in 0..3 {
        let running = start(&disk);
        let stamps: Vec<_> = (0..5).map(|i| running.put_durable(i * 1000)).collect();
        if round == 1 {
            let checkpoint = running.log.begin_checkpoint(stamps[2]).unwrap();
            let mut part = checkpoint.part().unwrap();
            for i in 0..50u8 {
                part.row(TableId(3), &[i; 9], &[1, 2], |out| out.extend_from_slice(&[i; 300])).unwrap();
            }
            part.finish().unwrap();
            checkpoint.finish(b"{}", stamps[4]).unwrap();
        }
    }
    disk.as_it_is()
}

#[derive(Debug, Clone)]
enum Harm {
    Overwrite(Vec<u8>),
    Truncate,
    Remove,
    Extend(Vec<u8>),
    CopyPage(usize),
    Swap(usize),
}

fn harm() -> impl Strategy<Value = (usize, usize, Harm)> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..200);
    let harm = prop_oneof![
        bytes().prop_map(Harm::Overwrite),
        Just(Harm::Truncate),
        Just(Harm::Remove),
        bytes().prop_map(Harm::Extend),
        any::<usize>().prop_map(Harm::CopyPage),
        any::<usize>().prop_map(Harm::Swap),
    ];
    (any::<usize>(), any::<usize>(), harm)
}

fn inflict(disk: &MemDisk, (file, at, harm): &(usize, usize, Harm)) {
    let names = disk.names();
    let Some(name) = names.get(file % names.len().max(1)) else { return };
    let mut bytes = disk.read(name);
    let at = at % bytes.len().max(1);
    let page = PAGE as usize;
    match harm {
        Harm::Overwrite(with) => {
            bytes.splice(at..(at + with.len()).min(bytes.len()), with.clone()).for_each(drop)
        }
        Harm::Truncate => bytes.truncate(at),
        Harm::Remove => return scaledb_log::disk::Disk::remove(disk, name).unwrap(),
        Harm::Extend(with) => bytes.extend_from_slice(with),
        Harm::CopyPage(to) => {
            let pages = bytes.len() / page;
            if pages > 0 {
                let (from, to) = (at / page % pages * page, to % pages * page);
                bytes.copy_within(from..from + page, to);
            }
        }
        Harm::Swap(other) => {
            let other = &names[other % names.len()];
            disk.write(name, disk.read(other));
            return disk.write(other, bytes);
        }
    }
    disk.write(name, bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_harmed_database_is_refused_or_read_and_nothing_worse(
        harms in prop::collection::vec(harm(), 1..4)
    ) {
        let disk = database();
        let whole = recover(&disk).unwrap();
        harms.iter().for_each(|harm| inflict(&disk, harm));
        let _ = check(&disk.arc());
        if let Ok(dump) = LogDump::open(disk.arc()) {
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
        if let Ok(recovered) = recover(&disk) {
            // not a transaction that was not there, and what is there as it was
            prop_assert!(recovered.transactions.iter().all(|got| whole.transactions.contains(got)) || recovered.horizon < whole.horizon);
            prop_assert!(recovered.horizon <= whole.horizon);
        }
        let Ok(directory) = DatabaseDir::open(disk.arc(), "test") else { return Ok(()) };
        let Some(checkpoint) = directory.checkpoint() else { return Ok(()) };
        let mut buffer = Vec::new();
        for part in 0..checkpoint.parts() {
            let Ok(mut part) = checkpoint.part(part) else { continue };
            while let Ok(Some(block)) = part.next_block(&mut buffer) {
                block.rows().for_each(drop);
            }
        }
    }
}
