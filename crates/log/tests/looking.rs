//! Looking at a log from outside: what it says of itself, and that a log may be read while it is written.

mod support;

use scaledb_base::{Timestamp, WorkerId};
use scaledb_log::disk::{Disk, File};
use scaledb_log::{DatabaseDir, LogDump, LogError, Op, check};
use scaledb_sync::Arc;
use scaledb_sync::lock::Mutex;
use std::io::{self, ErrorKind};
use support::*;

#[test]
fn a_dump_says_what_was_written_and_where() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let engine = "test";
    let first = running.put_durable(10);
    let two = [running.put(3, 5000), running.put(5, 20)];
    running.log.flush_once().unwrap();
    let horizon = running.log.durable();
    running.log.close().unwrap();
    drop(running);
    let running = start(&disk);
    let last = running.put_durable(30);
    let database = running.log.database_id();
    let disk = running.kill(&disk);

    let dump = LogDump::open(disk.arc()).unwrap();
    assert_eq!((dump.engine(), dump.incarnation(), dump.database_id()), (engine, 2, database));
    assert!(dump.checkpoint().is_none());
    assert!(dump.horizon() > last && dump.newest() >= dump.horizon());
    let segments: Vec<_> = dump.segments().collect();
    let files: Vec<_> = segments.iter().map(|segment| segment.file()).collect();
    assert_eq!(files, ["log-0000000000000001", "log-0000000000000002", "log-0000000000000003"]);
    // two groups, and what the close writes is the first of the next segment
    let counts: Vec<_> = segments.iter().map(|s| (s.incarnation(), s.first_group(), s.count())).collect();
    assert_eq!(counts, [(1, 1, 2), (1, 3, 1), (2, 1, 1)]);
    let ends: Vec<_> = segments.iter().map(|segment| segment.end() / PAGE).collect();
    assert_eq!(ends, [4, 2, 2]);
    assert!(segments[0].cut() == segments[1].cut() && segments[0].cut() > horizon);
    assert_eq!(segments[2].cut(), dump.horizon());

    let groups: Vec<_> = segments[0].groups().unwrap().collect::<Result<_, _>>().unwrap();
    let places: Vec<_> = groups.iter().map(|g| (g.number(), g.offset() / PAGE, g.length() / PAGE)).collect();
    assert_eq!(places, [(1, 1, 1), (2, 2, 2)]);
    assert_eq!(groups.iter().map(|group| group.newest()).collect::<Vec<_>>(), [first, two[1]]);
    assert!(groups[0].horizon() > first && groups[1].horizon() == horizon);
    let blocks: Vec<_> = groups[1].blocks().collect();
    assert_eq!(blocks.iter().map(|block| block.worker()).collect::<Vec<_>>(), [WorkerId(3), WorkerId(5)]);
    for (block, (ts, len)) in blocks.iter().zip(two.into_iter().zip([5000, 20])) {
        let transactions: Vec<_> = block.transactions().collect::<Result<_, _>>().unwrap();
        assert!((len..len + 40).contains(&block.length()), "{}", block.length());
        assert_eq!(transactions.len(), 1);
        assert_eq!(transactions[0].ts, ts);
        let ops: Vec<_> = transactions[0].ops().collect::<Result<_, _>>().unwrap();
        assert!(matches!(ops[..], [Op::Insert { key: b"key", row, .. }] if row.len() == len), "{ops:?}");
    }
    let seal: Vec<_> = segments[1].groups().unwrap().collect::<Result<_, _>>().unwrap();
    assert!(seal.len() == 1 && seal[0].newest() == Timestamp::ZERO && seal[0].blocks().len() == 0);

    let report = check(&disk.arc()).unwrap();
    assert!(report.is_sound());
    assert_eq!((report.database_id, report.engine.as_str(), report.incarnation), (database, engine, 2));
    assert_eq!((report.horizon, report.newest), (dump.horizon(), dump.newest()));
    let counted = (report.segments, report.groups, report.transactions, report.ops, report.log_bytes / PAGE);
    assert_eq!(counted, (3, 4, 4, 4, 5));
    let of_checkpoint = (report.checkpoint, report.parts, report.rows, report.checkpoint_bytes);
    assert_eq!(of_checkpoint, (None, 0, 0, 0));
}

#[test]
fn a_group_that_changes_while_it_is_looked_at_is_damage() {
    let disk = MemDisk::new();
    let running = start(&disk);
    let _: Vec<Timestamp> = (0..3).map(|_| running.put_durable(10)).collect();
    let disk = running.kill(&disk);
    let dump = LogDump::open(disk.arc()).unwrap();
    disk.flip("log-0000000000000001", (2 * PAGE as usize + 100) * 8);
    let groups: Vec<_> = dump.segments().next().unwrap().groups().unwrap().collect();
    assert_eq!(groups.len(), 2, "the error is the last item");
    assert!(matches!(&groups[1], Err(LogError::Damaged { offset, .. }) if *offset == 2 * PAGE));
}

/// A disk, what happens in front of each reading of a file, and what it refuses.
#[derive(Clone)]
struct Watched {
    disk: MemDisk,
    read: Arc<Mutex<Box<dyn FnMut() + Send>>>,
    /// A file that may not be opened.
    closed: Option<&'static str>,
    /// A lock that cannot be taken, for another reason than that it is held.
    no_lock: Option<&'static str>,
    /// Files seem to have this length.
    length: Option<u64>,
}

impl Watched {
    fn new(disk: &MemDisk) -> Self {
        let read = Arc::new(Mutex::new(Box::new(|| {}) as Box<dyn FnMut() + Send>));
        Self { disk: disk.clone(), read, closed: None, no_lock: None, length: None }
    }
}

#[derive(Debug)]
struct WatchedFile(Box<dyn File>, Watched);

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.disk.fmt(f)
    }
}

impl Disk for Watched {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.disk.create(name)
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        if self.closed == Some(name) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(Box::new(WatchedFile(self.disk.open(name)?, self.clone())))
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }
    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        if self.no_lock == Some(name) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        self.disk.lock(name)
    }
    fn describe(&self) -> String {
        self.disk.describe()
    }
}

impl File for WatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.1.length.map_or_else(|| self.0.len(), Ok)
    }
    fn read_at(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        (self.1.read.lock())();
        self.0.read_at(to, offset)
    }
    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(from, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

/// Groups are written in front of any one reading, over the ends of segments, too.
#[test]
fn a_log_that_is_written_while_it_is_checked_is_sound() {
    for (groups, written) in (0..5).flat_map(|groups| (1..6).map(move |written| (groups, written))) {
        let mut readings = 1;
        let mut at = 0;
        while at < readings {
            let disk = MemDisk::new();
            let running = start(&disk);
            let before: Vec<Timestamp> = (0..groups).map(|_| running.put_durable(10)).collect();
            let count = Arc::new(Mutex::new(0));
            let watched = {
                let count = count.clone();
                let read = move || {
                    let mut count = count.lock();
                    if *count == at {
                        (0..written).for_each(|_| _ = running.put_durable(10));
                    }
                    *count += 1;
                };
                Watched { read: Arc::new(Mutex::new(Box::new(read))), ..Watched::new(&disk) }
            };
            let report = check(&(Arc::new(watched) as Arc<dyn Disk>)).unwrap();
            assert!(report.is_sound(), "{groups} and {written} at {at}: {:?}", report.problems);
            assert!(report.transactions >= before.len() as u64);
            assert!(report.transactions <= groups + written);
            readings = *count.lock();
            at += 1;
        }
    }
}

#[test]
fn what_the_system_refuses_is_not_taken_for_something_else() {
    let disk = MemDisk::new();
    let running = start(&disk);
    running.put_durable(10);
    let disk = running.kill(&disk);
    let refused = |watched: Watched| DatabaseDir::open(Arc::new(watched), "test").unwrap_err();
    let is_io = |error: &LogError, of: &str| matches!(error, LogError::Io { file, .. } if file == of);
    // not a new database
    let error = refused(Watched { closed: Some("MANIFEST"), ..Watched::new(&disk) });
    assert!(is_io(&error, "MANIFEST"), "{error}");
    // not in use
    let error = refused(Watched { no_lock: Some("LOCK"), ..Watched::new(&disk) });
    assert!(is_io(&error, "LOCK"), "{error}");
    // not a backup at work
    let error = check(&(Arc::new(Watched { no_lock: Some("HOLD"), ..Watched::new(&disk) }) as Arc<dyn Disk>));
    assert!(error.as_ref().is_err_and(|error| is_io(error, "HOLD")), "{error:?}");
    // too long to be one
    let error = refused(Watched { length: Some((1 << 30) + 1), ..Watched::new(&disk) });
    assert!(matches!(&error, LogError::Damaged { file, .. } if file == "MANIFEST"), "{error}");
    assert!(DatabaseDir::open(Arc::new(Watched::new(&disk)), "test").is_ok());
}
