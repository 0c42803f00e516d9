//! The contract of [`Disk`], as far as it shows without a crash.

use super::*;
use scaledb_sync::atomic::{AtomicU32, Ordering};
use scaledb_sync::thread;

/// A directory of its own for each test, removed at its end.
struct TestDirectory(PathBuf);

impl TestDirectory {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed); // only unique
        let name = format!("scaledb-disk-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// The directory with each way to write that works here.
    fn disks(&self) -> Vec<RealDisk> {
        let ways = [Submission::Direct, Submission::Cached, Submission::Uring];
        let disks = ways.map(|way| RealDisk::open_with(&self.0, way));
        let disks: Vec<_> = disks.into_iter().flatten().collect();
        assert_eq!(disks[0].submission(), Submission::Direct);
        assert_eq!(disks[1].submission(), Submission::Cached);
        disks
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_was_written_is_read_again() {
    let place = TestDirectory::new();
    for disk in place.disks() {
        let file = disk.create("a").unwrap();
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
        file.write_and_sync(&bytes, 0).unwrap();
        file.write_and_sync(&bytes[..4096], 4096).unwrap();
        file.write_and_sync(&[], 0).unwrap();
        file.write_at(b"end", 200_000).unwrap();
        file.sync().unwrap();

        let file = disk.open("a").unwrap();
        assert_eq!(file.len().unwrap(), 200_003);
        let mut got = vec![1; 200_003];
        file.read_at(&mut got, 0).unwrap();
        assert_eq!(got[..4096], bytes[..4096]);
        assert_eq!(got[4096..8192], bytes[..4096]);
        assert_eq!(got[8192..100_000], bytes[8192..]);
        assert!(got[100_000..200_000].iter().all(|byte| *byte == 0));
        assert_eq!(&got[200_000..], b"end");
        assert_eq!(file.read_at(&mut [0; 4], 200_000).unwrap_err().kind(), ErrorKind::UnexpectedEof);

        file.set_len(5).unwrap();
        assert_eq!(file.len().unwrap(), 5);
        file.set_len(9).unwrap();
        let mut got = [1; 9];
        file.read_at(&mut got, 0).unwrap();
        assert_eq!(got[5..], [0; 4]);
        assert_eq!(disk.create("a").unwrap().len().unwrap(), 0, "creating empties");
    }
}

#[test]
fn aligned_and_other_writes_of_one_file_are_seen_by_all() {
    let place = TestDirectory::new();
    for disk in place.disks() {
        let mut page = super::super::Buffer::new();
        page.resize(2 * ALIGNMENT);
        page.fill(7);
        assert!(is_aligned(&page, 8192) && is_aligned(&page[4096..], 4096));
        assert!(!is_aligned(&page, 8191) && !is_aligned(&page[1..], 0) && !is_aligned(&page[..100], 0));
        assert!(!is_aligned(&[], 0));
        let file = disk.create("a").unwrap();
        file.write_at(&page, 4096).unwrap();
        file.write_at(b"head", 0).unwrap();
        file.write_at(b"middle", 8190).unwrap();
        page.fill(9);
        file.write_and_sync(&page[4096..], 8192).unwrap();
        file.write_at(b"!", 8200).unwrap();
        let mut got = vec![0; 12288];
        file.read_at(&mut got, 0).unwrap();
        assert_eq!(&got[..5], b"head\0");
        assert!(got[4096..8190].iter().all(|&byte| byte == 7));
        assert_eq!(&got[8190..8194], b"mi\x09\x09");
        assert_eq!(&got[8199..8202], b"\x09!\x09");
        assert_eq!(file.len().unwrap(), 12288);
    }
}

#[test]
fn names_appear_move_and_vanish() {
    let place = TestDirectory::new();
    for disk in place.disks() {
        std::fs::create_dir_all(place.0.join("lost+found")).unwrap();
        disk.create("a").unwrap().write_at(b"1", 0).unwrap();
        disk.create("b").unwrap().write_at(b"22", 0).unwrap();
        disk.rename("b", "a").unwrap();
        disk.sync_names().unwrap();
        assert_eq!(disk.list().unwrap(), ["a"], "a directory is no file");
        assert_eq!(disk.open("a").unwrap().len().unwrap(), 2);
        disk.remove("a").unwrap();
        assert!(disk.list().unwrap().is_empty());
        for missing in [disk.open("a").err(), disk.remove("a").err(), disk.rename("a", "b").err()] {
            assert_eq!(missing.unwrap().kind(), ErrorKind::NotFound);
        }
    }
}

#[test]
fn no_name_leaves_the_directory() {
    let place = TestDirectory::new();
    let disk = &place.disks()[0];
    disk.create("here").unwrap();
    std::os::unix::fs::symlink("/dev/null", place.0.join("link")).unwrap();
    assert!(disk.open("link").is_err(), "a link may lead anywhere");
    for name in ["", ".", "..", "../a", "/etc/passwd", "a/b", "a\0b"] {
        let refused = [
            disk.create(name).err(),
            disk.open(name).err(),
            disk.remove(name).err(),
            disk.rename(name, "a").err(),
            disk.rename("here", name).err(),
            disk.lock(name).err(),
        ];
        for error in refused {
            assert_eq!(error.unwrap().kind(), ErrorKind::InvalidInput, "{name:?}");
        }
    }
}

#[test]
fn a_lock_keeps_everybody_else_out_until_it_is_dropped() {
    let place = TestDirectory::new();
    let disk = &place.disks()[0];
    let other = &place.disks()[0];
    let lock = disk.lock("LOCK").unwrap();
    assert_eq!(other.lock("LOCK").err().unwrap().kind(), ErrorKind::WouldBlock);
    assert_eq!(disk.lock("LOCK").err().unwrap().kind(), ErrorKind::WouldBlock);
    drop(lock);
    other.lock("LOCK").unwrap();
}

#[test]
fn threads_do_not_take_each_others_completions() {
    let place = TestDirectory::new();
    for disk in place.disks() {
        let file: Arc<dyn File> = Arc::from(disk.create("shared").unwrap());
        let threads: Vec<_> = (0..4u8)
            .map(|id| {
                let file = file.clone();
                thread::spawn(move || {
                    for i in 0..50u64 {
                        let offset = (i * 4 + u64::from(id)) * 4096;
                        // no threads' lengths are equal, so an answer to another's write would not fit
                        file.write_and_sync(&vec![id + 1; 4096 - usize::from(id)], offset).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut page = [0; 4096];
        for i in 0..200u64 {
            let id = (i % 4) as u8;
            let len = 4096 - usize::from(id);
            file.read_at(&mut page[..len], i * 4096).unwrap();
            assert!(page[..len].iter().all(|byte| *byte == id + 1));
        }
    }
}

#[test]
fn an_error_of_the_write_is_returned() {
    let place = TestDirectory::new();
    for disk in place.disks() {
        let file = disk.create("a").unwrap();
        // beyond the largest file of any file system
        assert!(file.write_and_sync(b"x", u64::MAX >> 1).is_err());
        file.write_and_sync(b"x", 0).unwrap();
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let place = TestDirectory::new();
    assert_eq!(RealDisk::open(place.0.join("a/b")).unwrap_err().kind(), ErrorKind::NotFound);
    place.disks();
    assert!(RealDisk::open(&place.0).is_ok(), "it may exist");
    std::fs::write(place.0.join("file"), "").unwrap();
    assert!(RealDisk::open(place.0.join("file")).is_err());
}
