//! Backups that are not made, and why; one that is made and restored while the first cluster goes on.

use super::bank::{self, PARTITIONS, account};
use super::client::{Failed, Txn, value};
use scaledb_cluster::backup::{BackupError, RestoreError, backup, restore};
use scaledb_cluster::{InMemory, LocalCluster, Member, MetadataStore, Owner};
use scaledb_log::disk::Disk;
use scaledb_scar::NodeId;
use scaledb_sync::Arc;
use scaledb_sync::lock::Mutex;
use scaledb_verify::disk::SimDisk;
use std::collections::BTreeMap;

type Copies = Arc<Mutex<BTreeMap<(String, NodeId), SimDisk>>>;

fn put(member: &Member, accounts: std::ops::Range<u64>, number: u64) {
    let mut session = member.session();
    for i in accounts {
        loop {
            let done = Txn::begin(&mut session).and_then(|mut txn| {
                txn.put(account(i), value(number))?;
                txn.commit()
            });
            match done {
                Ok(()) => break,
                Err(Failed::Aborted(_)) => {}
                Err(unknown) => panic!("{unknown:?}"),
            }
        }
    }
}

fn keep(member: &Member, disk: &SimDisk, copies: &Copies) {
    let (node, copies) = (member.node(), copies.clone());
    let owner = Owner { cluster: "local".to_owned(), name: format!("node-{}", node.0), node };
    let target = move |backup: &str| {
        let mut copies = copies.lock();
        let seed = copies.len() as u64;
        let disk = copies.entry((backup.to_owned(), node)).or_insert_with(|| SimDisk::new(seed));
        Ok(Arc::new(disk.clone()) as Arc<dyn Disk>)
    };
    member.keep_backups(owner, Arc::new(disk.clone()), Some(Box::new(target))).unwrap();
}

#[test]
fn a_backup_says_why_there_is_none_and_copies_of_two_do_not_mix() {
    let in_memory = LocalCluster::start(bank::settings(), 3, PARTITIONS as u16, 1).unwrap();
    assert!(matches!(backup(&**in_memory.store(), "one"), Err(BackupError::NotDurable)));
    assert!(matches!(backup(&InMemory::new(), "one"), Err(BackupError::NoView)));

    let disks: Vec<SimDisk> = (0..3).map(SimDisk::new).collect();
    let shared: Vec<Arc<dyn Disk>> = disks.iter().map(|disk| Arc::new(disk.clone()) as _).collect();
    let cluster = LocalCluster::start_on(bank::settings(), 3, PARTITIONS as u16, 1, &shared).unwrap();
    let store = cluster.store();
    assert!(matches!(backup(&**store, "../one"), Err(BackupError::Name(_))));
    let copies = Copies::default();
    for member in cluster.members() {
        keep(member, &disks[usize::from(member.node().0)], &copies);
    }
    let first = cluster.member(NodeId(0)).unwrap();
    put(first, 0..5, 7);
    let one = backup(&**store, "one").unwrap();
    put(first, 0..5, 8);
    let two = backup(&**store, "two").unwrap();
    assert!(one.epoch < two.epoch && one.copies.len() == 3);
    // a second one of this name has no empty directory
    assert!(matches!(backup(&**store, "two"), Err(BackupError::Node { .. })));
    assert!(store.backup().unwrap().is_none(), "nobody keeps files any more");

    let copy = |name: &str, node| {
        let found = copies.lock().get(&(name.to_owned(), NodeId(node))).cloned().unwrap();
        Arc::new(found) as Arc<dyn Disk>
    };
    let nodes = |seed: u64| {
        let node = |i: u64| (format!("new-{i}"), Arc::new(SimDisk::new(seed + i)) as Arc<dyn Disk>);
        (0..2).map(node).collect::<Vec<_>>()
    };
    let fresh = InMemory::new();
    let mixed = restore(&[copy("one", 0), copy("two", 1)], &fresh, "new", &nodes(100), None);
    assert!(matches!(mixed, Err(RestoreError::Mixed { .. })), "{mixed:?}");
    let few = restore(&[copy("one", 0)], &fresh, "new", &nodes(200), None);
    assert!(matches!(few, Err(RestoreError::Incomplete { found: 1, copies: 3, .. })), "{few:?}");
    let none = restore(&[Arc::new(SimDisk::new(300))], &fresh, "new", &nodes(300), None);
    assert!(matches!(none, Err(RestoreError::NoCopy(_))), "{none:?}");
    let restored = restore(&[copy("one", 0), copy("one", 2)], &fresh, "new", &nodes(400), None).unwrap();
    assert!(restored.records >= 5 && restored.epoch == one.epoch, "{restored:?}");
    let view = fresh.view().unwrap().unwrap();
    assert!(view.is_sane() && view.view.members.count() == 2 && view.view.durable);
    let again = restore(&[copy("one", 0), copy("one", 2)], &fresh, "new", &nodes(500), None);
    assert!(matches!(again, Err(RestoreError::Occupied)), "{again:?}");
    put(first, 0..1, 9);
}
