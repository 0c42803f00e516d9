//! The fault model itself: what may be lost, can be lost and can survive; what may not, never is.

use super::*;

const PAGE: [u8; 4096] = [7; 4096];

/// Seeds that are enough for every kind of luck.
const SEEDS: std::ops::Range<u64> = 0..400;

fn now(disk: &SimDisk) -> usize {
    disk.operations()
}

/// A disk with a durable file of pages that hold `1`.
fn with_file(pages: usize) -> (SimDisk, Box<dyn File>) {
    let disk = SimDisk::new(1);
    let file = disk.create("a").unwrap();
    file.write_and_sync(&vec![1; pages * 4096], 0).unwrap();
    disk.sync_names().unwrap();
    (disk, file)
}

fn images(disk: &SimDisk, at: usize) -> impl Iterator<Item = SimDisk> {
    SEEDS.map(move |seed| disk.image(at, seed))
}

/// How many images fulfil a condition.
fn count(disk: &SimDisk, at: usize, what: impl Fn(&SimDisk) -> bool) -> usize {
    images(disk, at).filter(what).count()
}

/// Some, and not all.
fn may(count: usize) -> bool {
    count > 0 && count < SEEDS.count()
}

#[test]
fn what_is_synced_is_always_found() {
    let (disk, file) = with_file(2);
    let (write, sync) = (now(&disk) + 1, now(&disk) + 2);
    file.write_and_sync(&PAGE, 4096).unwrap();
    file.write_at(&[9; 4096], 0).unwrap();
    disk.remove("a").unwrap();
    let whole = |image: &SimDisk| image.contents("a").unwrap()[4096..] == PAGE;
    assert!(may(count(&disk, write, whole)), "a write that is not synced may be lost, and may survive");
    assert_eq!(count(&disk, sync, whole), SEEDS.count());
    assert_eq!(count(&disk, sync + 1, whole), SEEDS.count(), "nor does a later write harm it");
}

#[test]
fn a_write_is_torn_between_sectors_and_never_within_one() {
    let (disk, file) = with_file(1);
    file.write_at(&PAGE, 0).unwrap();
    let mut orders = [0, 0];
    for image in images(&disk, now(&disk)) {
        let found = image.contents("a").unwrap();
        let sectors: Vec<u8> = found.chunks(SECTOR).map(|sector| sector[0]).collect();
        assert!(found.chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        assert!(sectors.iter().all(|byte| matches!(byte, 1 | 7)));
        orders[0] += usize::from(sectors.windows(2).any(|pair| pair == [7, 1]));
        orders[1] += usize::from(sectors.windows(2).any(|pair| pair == [1, 7]));
    }
    assert!(orders.iter().all(|count| may(*count)), "{orders:?}");
}

#[test]
fn writes_overtake_each_other() {
    let (disk, file) = with_file(2);
    file.write_at(&PAGE, 0).unwrap();
    file.write_at(&PAGE, 4096).unwrap();
    let second_only = |image: &SimDisk| {
        let found = image.contents("a").unwrap();
        found[..4096] == [1; 4096] && found[4096..] == PAGE
    };
    assert!(may(count(&disk, now(&disk), second_only)));
}

#[test]
fn a_sector_is_found_as_of_a_time() {
    let (disk, file) = with_file(1);
    file.write_at(&[2; 100], 0).unwrap();
    file.write_at(&[3; 100], 200).unwrap();
    let mut met = [0; 3];
    for image in images(&disk, now(&disk)) {
        let found = image.contents("a").unwrap();
        match (found[0], found[200]) {
            (1, 1) => met[0] += 1,
            (2, 1) => met[1] += 1,
            (2, 3) => met[2] += 1,
            other => panic!("{other:?}: the second write had the first in its page"),
        }
    }
    assert!(met.iter().all(|count| may(*count)), "{met:?}");
}

#[test]
fn a_grown_file_may_be_short_or_hold_anything() {
    let (disk, old) = with_file(4);
    drop(old);
    disk.remove("a").unwrap();
    disk.sync_names().unwrap();
    let file = disk.create("b").unwrap();
    file.sync().unwrap();
    disk.sync_names().unwrap();
    file.write_at(&PAGE, 0).unwrap();
    file.write_at(&PAGE, 4096).unwrap();
    let at = now(&disk);
    let found = |image: &SimDisk| image.contents("b").unwrap();
    for len in [0, 4096, 8192] {
        assert!(may(count(&disk, at, |image| found(image).len() == len)), "{len}");
    }
    assert!(may(count(&disk, at, |image| found(image).chunks(SECTOR).any(|s| s == [0; SECTOR]))), "zeros");
    assert!(may(count(&disk, at, |image| found(image).chunks(SECTOR).any(|s| s == [1; SECTOR]))), "recycled");
    let noise = |byte: &u8| !matches!(byte, 0 | 1 | 7);
    assert!(may(count(&disk, at, |image| found(image).iter().any(noise))), "noise");
}

#[test]
fn a_truncation_is_undone_or_done() {
    let (disk, file) = with_file(2);
    file.set_len(1000).unwrap();
    file.set_len(5000).unwrap();
    for image in images(&disk, now(&disk)) {
        let found = image.contents("a").unwrap();
        match found.len() {
            8192 => assert!(found.iter().all(|byte| *byte == 1)),
            1000 => assert!(found.iter().all(|byte| *byte == 1)),
            5000 => assert!(found[..1000].iter().all(|byte| *byte == 1) && found[1000..] == [0; 4000]),
            len => panic!("{len}"),
        }
    }
}

#[test]
fn a_name_that_is_not_synced_may_be_undone() {
    let (disk, _file) = with_file(1);
    let new = disk.create("a.new").unwrap();
    new.write_and_sync(&PAGE, 0).unwrap();
    let created = now(&disk);
    disk.rename("a.new", "a").unwrap();
    let renamed = now(&disk);
    disk.sync_names().unwrap();
    let has_new = |image: &SimDisk| image.contents("a.new").is_some();
    assert!(may(count(&disk, created, has_new)), "its content is synced, its name is not");
    for image in images(&disk, renamed) {
        let found = image.contents("a").expect("one of the two");
        assert!(found == PAGE || found == [1; 4096], "a rename has no middle");
    }
    let replaced = |image: &SimDisk| image.contents("a").unwrap() == PAGE;
    assert!(may(count(&disk, renamed, replaced)));
    assert_eq!(count(&disk, renamed + 1, replaced), SEEDS.count());
    assert_eq!(count(&disk, renamed + 1, has_new), 0);
}

#[test]
fn a_sync_of_names_syncs_no_content() {
    let (disk, file) = with_file(1);
    file.write_at(&PAGE, 0).unwrap();
    disk.sync_names().unwrap();
    assert!(may(count(&disk, now(&disk), |image| image.contents("a").unwrap() == PAGE)));
}

#[test]
fn a_removal_may_overtake_a_rename() {
    let (disk, _file) = with_file(1);
    disk.create("b.new").unwrap();
    disk.sync_names().unwrap();
    disk.rename("b.new", "b").unwrap();
    disk.remove("a").unwrap();
    let bad = |image: &SimDisk| image.list().unwrap() == ["b.new"];
    assert!(may(count(&disk, now(&disk), bad)));
}

#[test]
fn a_file_never_has_two_names() {
    let (disk, _file) = with_file(1);
    disk.rename("a", "b").unwrap();
    disk.rename("b", "c").unwrap();
    for name in ["a", "b", "c"] {
        assert!(may(count(&disk, now(&disk), |image| image.list().unwrap() == [name])), "{name}");
    }
    assert_eq!(count(&disk, now(&disk), |image| image.list().unwrap().len() == 1), SEEDS.count());
}

#[test]
fn a_kill_loses_nothing_and_syncs_nothing() {
    let (disk, file) = with_file(1);
    file.write_at(&PAGE, 0).unwrap();
    disk.create("b").unwrap();
    let next = disk.killed(now(&disk)).recording();
    assert_eq!(next.contents("a").unwrap(), PAGE);
    assert_eq!(next.list().unwrap(), ["a", "b"]);
    assert!(may(count(&next, 0, |image| image.contents("a").unwrap() == PAGE)), "a power loss comes after");
    assert!(may(count(&next, 0, |image| image.contents("b").is_some())));
    next.open("a").unwrap().sync().unwrap();
    assert_eq!(count(&next, 1, |image| image.contents("a").unwrap() == PAGE), SEEDS.count());
}

#[test]
fn a_failed_sync_loses_data_although_the_next_one_succeeds() {
    let mut lost = 0;
    for seed in SEEDS {
        let disk = SimDisk::new(seed);
        let file = disk.create("a").unwrap();
        file.write_and_sync(&[1; 4096], 0).unwrap();
        disk.sync_names().unwrap();
        disk.inject(When::Nth(Call::Sync, 1), Fault::Error);
        file.write_at(&PAGE, 0).unwrap();
        assert!(file.sync().is_err());
        file.sync().unwrap();
        let mut page = [0; 4096];
        file.read_at(&mut page, 0).unwrap();
        assert_eq!(page, PAGE, "the page cache still shows it");
        let found = disk.image(now(&disk), 0).contents("a").unwrap();
        lost += usize::from(found != PAGE);
        assert!(found.iter().all(|byte| matches!(byte, 1 | 7)));
        file.write_and_sync(&PAGE, 0).unwrap();
        assert_eq!(disk.image(now(&disk), 0).contents("a").unwrap(), PAGE, "what is written anew is durable");
    }
    assert!(may(lost), "{lost}");
}

#[test]
fn a_lying_sync_promises_what_it_does_not_do() {
    let (disk, file) = with_file(1);
    disk.inject(When::Always(Call::Sync), Fault::Lie);
    disk.inject(When::Always(Call::SyncNames), Fault::Lie);
    file.write_and_sync(&PAGE, 0).unwrap();
    disk.create("b").unwrap();
    disk.sync_names().unwrap();
    assert!(may(count(&disk, now(&disk), |image| image.contents("a").unwrap() == PAGE)));
    assert!(may(count(&disk, now(&disk), |image| image.contents("b").is_some())));
    disk.heal();
    file.sync().unwrap();
    assert_eq!(count(&disk, now(&disk), |image| image.contents("a").unwrap() == PAGE), SEEDS.count());
}

#[test]
fn faults_meet_the_calls_they_are_planned_for() {
    let (disk, file) = with_file(1);
    let mut byte = [0];
    disk.inject(When::Nth(Call::Read, 1), Fault::Error);
    file.read_at(&mut byte, 0).unwrap();
    assert!(file.read_at(&mut byte, 0).is_err());
    file.read_at(&mut byte, 0).unwrap();

    disk.inject(When::Operation(now(&disk) + 1), Fault::Short(100));
    file.write_at(&PAGE, 0).unwrap();
    assert!(file.write_at(&[9; 4096], 0).is_err());
    let found = disk.contents("a").unwrap();
    assert_eq!((&found[..100], &found[100..]), (&[9; 100][..], &PAGE[100..]), "partly written");

    disk.inject(When::Of(Call::Sync, "b"), Fault::Error);
    let other = disk.create("b1").unwrap();
    file.sync().unwrap();
    assert!(other.sync().is_err());
    disk.inject(When::Of(Call::SyncNames, "b"), Fault::Error);
    assert!(disk.sync_names().is_err(), "the last name to appear");
    disk.rename("b1", "c").unwrap();
    disk.sync_names().unwrap();

    disk.inject(When::Always(Call::Write), Fault::Full);
    assert_eq!(file.write_at(&PAGE, 0).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.heal();
    disk.inject(When::OneIn(Call::Write, 4), Fault::Error);
    let failed = (0..400).filter(|_| file.write_at(b"x", 0).is_err()).count();
    assert!((50..150).contains(&failed), "{failed}");
}

#[test]
fn a_full_disk_takes_what_fits() {
    let (disk, file) = with_file(2);
    disk.set_capacity(3 * 4096);
    file.write_at(&PAGE, 0).unwrap();
    assert_eq!(file.write_at(&[9; 8192], 8000).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 12288);
    let new = disk.create("b").unwrap();
    assert_eq!(new.write_at(b"x", 0).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(new.len().unwrap(), 0);
    drop(file);
    disk.remove("a").unwrap();
    disk.sync_names().unwrap();
    new.write_at(b"x", 0).unwrap();
}

#[test]
fn damage_is_there_for_readers_and_after_a_crash() {
    let (disk, file) = with_file(1);
    assert!(disk.flip("a", 4000, 0x10));
    assert!(!disk.flip("a", 4096, 1) && !disk.flip("b", 0, 1));
    let mut byte = [0];
    file.read_at(&mut byte, 4000).unwrap();
    assert_eq!(byte, [0x11]);
    disk.sync_names().unwrap();
    assert_eq!(disk.image(now(&disk), 0).contents("a").unwrap()[4000], 0x11);
}

#[test]
fn locks_end_with_their_process() {
    let (disk, _file) = with_file(1);
    let lock = disk.lock("LOCK").unwrap();
    assert_eq!(disk.lock("LOCK").err().unwrap().kind(), ErrorKind::WouldBlock);
    disk.image(now(&disk), 0).lock("LOCK").unwrap();
    disk.killed(now(&disk)).lock("LOCK").unwrap();
    drop(lock);
    disk.lock("LOCK").unwrap();
}

#[test]
fn an_open_file_outlives_its_name() {
    let (disk, file) = with_file(1);
    disk.remove("a").unwrap();
    disk.sync_names().unwrap();
    file.write_and_sync(&PAGE, 0).unwrap();
    let mut page = [0; 4096];
    file.read_at(&mut page, 0).unwrap();
    assert_eq!(page, PAGE);
    assert!(disk.open("a").is_err());
}

#[test]
fn equal_seeds_find_equal_disks() {
    let (disk, file) = with_file(4);
    file.write_at(&[2; 9000], 1000).unwrap();
    disk.create("b").unwrap().write_at(&[3; 9000], 100).unwrap();
    let at = now(&disk);
    let found = |seed| {
        let image = disk.image(at, seed);
        (image.contents("a"), image.contents("b"))
    };
    let all: Vec<_> = SEEDS.map(found).collect();
    assert!(SEEDS.zip(&all).all(|(seed, before)| found(seed) == *before));
    assert!(all.iter().any(|other| *other != all[0]));
}

#[test]
fn names_stay_in_the_directory() {
    let disk = SimDisk::new(0);
    for name in ["", ".", "..", "a/b", "/a"] {
        assert_eq!(disk.create(name).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert!(disk.create("a").unwrap().write_at(b"x", u64::MAX).is_err());
}
