//! Members on simulated disks that lose what was not synced, and tear what was being written: all nodes lose power
//! together, or one is lost, comes back, has a full disk, or another's directory.

use super::bank::{self, ACCOUNTS, INITIAL, Known, PARTITIONS, account, check, until};
use super::client::{Failed, Txn, value};
use scaledb_cluster::{DirectoryError, LocalCluster, Member, Settings, StartError};
use scaledb_log::disk::Disk;
use scaledb_scar::NodeId;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::{Arc, thread};
use scaledb_verify::disk::{Call, Fault, SimDisk, When};
use std::time::Duration;

fn settings() -> Settings {
    Settings {
        // who has lost its disk is put out soon, and the log is cut often
        restart: Duration::from_secs(4),
        checkpoint_bytes: 64 << 10,
        ..bank::settings()
    }
}

fn shared(disks: &[SimDisk]) -> Vec<Arc<dyn Disk>> {
    disks.iter().map(|disk| Arc::new(disk.clone()) as Arc<dyn Disk>).collect()
}

fn fill(member: &Member) {
    let mut session = member.session();
    loop {
        let filled = Txn::begin(&mut session).and_then(|mut txn| {
            for i in 0..ACCOUNTS {
                txn.put(account(i), value(INITIAL))?;
            }
            txn.commit()
        });
        match filled {
            Ok(()) => return,
            Err(Failed::Aborted(_)) => {}
            Err(unknown) => panic!("{unknown:?}"),
        }
    }
}

/// Transfers at some members, until the power is cut.
struct Load {
    cut: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    threads: Vec<thread::JoinHandle<(u64, Vec<Known>)>>,
}

impl Load {
    fn begin(cluster: &LocalCluster, first: u64) -> Self {
        let (cut, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut threads = Vec::new();
        for (i, member) in cluster.members().cloned().enumerate() {
            for j in 0..2 {
                let (member, cut, done, id) =
                    (member.clone(), cut.clone(), done.clone(), first + 10 * i as u64 + j);
                threads.push(thread::spawn(move || (id, bank::worker(&member, id, (&cut, &cut), &done))));
            }
        }
        Self { cut, done, threads }
    }

    fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// No answer counts from now on.
    fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    fn end(self) -> Vec<(u64, Vec<Known>)> {
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

/// What the disks hold if all lose power now, and what had been answered.
fn lose_power(
    cluster: &mut LocalCluster,
    load: Load,
    disks: &[SimDisk],
    seed: u64,
) -> (Vec<SimDisk>, Vec<(u64, Vec<Known>)>) {
    load.cut();
    let images =
        (0_u64..).zip(disks).map(|(i, disk)| disk.image(disk.operations(), 10 * seed + i).recording());
    let images = images.collect();
    for node in 0..disks.len() as u8 {
        cluster.kill(NodeId(node));
    }
    (images, load.end())
}

fn restart(cluster: &mut LocalCluster, disks: &[SimDisk], nodes: &[u8]) {
    for &node in nodes {
        let disk = Arc::new(disks[usize::from(node)].clone());
        cluster.restart_on(NodeId(node), Some(disk), || true).unwrap();
    }
    settle(cluster);
}

fn settle(cluster: &LocalCluster) {
    until("all are members and have what they should", || {
        cluster.members().all(|member| {
            let view = member.view();
            view.is_settled()
                && view.view.members.count() == 3
                && view.view.partitions.iter().all(|place| place.replicas().count() > 1)
        })
    });
}

fn equal_replicas(cluster: &LocalCluster) {
    for partition in (0..PARTITIONS as u16).map(scaledb_scar::PartitionId) {
        let rows = cluster.members().filter_map(|member| member.call(|node, _| node.rows(partition)));
        let rows: Vec<_> = rows.collect();
        assert!(rows.windows(2).all(|pair| pair[0] == pair[1]), "{partition:?}");
    }
}

/// Three rounds: all disks come back; one node has lost its disk; a node is killed and comes back at once.
#[test]
fn nothing_that_was_answered_is_lost_when_all_nodes_lose_power() {
    let mut disks: Vec<SimDisk> = (0..3).map(SimDisk::new).collect();
    let mut cluster = LocalCluster::start_on(settings(), 3, PARTITIONS as u16, 1, &shared(&disks)).unwrap();
    fill(cluster.member(NodeId(0)).unwrap());
    let mut workers = Vec::new();
    for seed in 0..2 {
        let load = Load::begin(&cluster, 100 * seed);
        until("transfers", || load.done() >= 150);
        until("a checkpoint", || cluster.members().any(|member| member.numbers().checkpoints > 0));
        let (images, known) = lose_power(&mut cluster, load, &disks, seed);
        assert!(known.iter().any(|(_, known)| known.contains(&Known::Committed)));
        workers.extend(known);
        disks = images;
        if seed == 1 {
            disks[1] = SimDisk::new(99);
        }
        restart(&mut cluster, &disks, &[2, 0, 1]);
        for member in cluster.members() {
            check(member, &workers);
        }
    }
    equal_replicas(&cluster);

    let load = Load::begin(&cluster, 900);
    until("transfers", || load.done() >= 60);
    let killed = disks[2].killed(disks[2].operations());
    cluster.kill(NodeId(2));
    let view = cluster.member(NodeId(0)).unwrap().view().view.number;
    cluster.restart_on(NodeId(2), Some(Arc::new(killed)), || true).unwrap();
    let back = cluster.member(NodeId(2)).unwrap().view();
    assert!(!back.view.is_learner(NodeId(2)), "it has what it had: {back:?} after {view:?}");
    let before = load.done();
    until("transfers go on", || load.done() >= before + 60);
    load.cut();
    workers.extend(load.end());
    settle(&cluster);
    check(cluster.member(NodeId(2)).unwrap(), &workers);
}

#[test]
fn a_node_whose_disk_is_full_leaves_and_the_others_go_on() {
    let disks: Vec<SimDisk> = (0..3).map(SimDisk::new).collect();
    let cluster = LocalCluster::start_on(settings(), 3, PARTITIONS as u16, 1, &shared(&disks)).unwrap();
    fill(cluster.member(NodeId(0)).unwrap());
    let load = Load::begin(&cluster, 0);
    until("transfers", || load.done() >= 30);
    disks[1].inject(When::Of(Call::Write, "log-"), Fault::Full);
    until("it has noticed", || cluster.member(NodeId(1)).unwrap().failure().is_some());
    let left: Vec<Arc<Member>> = cluster.members().filter(|m| m.node() != NodeId(1)).cloned().collect();
    until("a new view", || left.iter().all(|member| !member.view().view.members.has(NodeId(1))));
    let before = load.done();
    until("transfers go on", || load.done() >= before + 60);
    load.cut();
    let workers = load.end();
    for member in &left {
        check(member, &workers);
    }
    assert!(cluster.member(NodeId(1)).unwrap().has_left());
}

#[test]
fn a_directory_belongs_to_one_node_and_a_cluster_keeps_rows_in_one_way() {
    let disks: Vec<SimDisk> = (0..3).map(SimDisk::new).collect();
    let mut cluster = LocalCluster::start_on(settings(), 3, 3, 1, &shared(&disks)).unwrap();
    cluster.kill(NodeId(1));
    let of_another = disks[0].killed(disks[0].operations());
    let refused = cluster.restart_on(NodeId(1), Some(Arc::new(of_another)), || true);
    assert!(
        matches!(refused, Err(StartError::Directory(DirectoryError::Another { ref name, .. })) if name == "node-0"),
        "{refused:?}"
    );
    let refused = cluster.restart(NodeId(1), || true);
    assert!(matches!(refused, Err(StartError::NeedsDirectory)), "{refused:?}");

    let mut cluster = LocalCluster::start(settings(), 3, 3, 1).unwrap();
    cluster.kill(NodeId(1));
    let refused = cluster.restart_on(NodeId(1), Some(Arc::new(SimDisk::new(7))), || true);
    assert!(matches!(refused, Err(StartError::NoDirectory)), "{refused:?}");
}
