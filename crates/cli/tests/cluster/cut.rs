//! Links that are cut: each node in a network namespace of its own, joined by a bridge. A cut goes one way or both.

use crate::process::{Process, scaledb, until};
use crate::{Cluster, NAMES, Trial, UNKNOWN, rounds};
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

/// Where a frame goes that is to be lost.
const NOWHERE: &str = "02:00:00:00:00:99";

/// How many there are in this process.
static NETS: AtomicU8 = AtomicU8::new(0);

/// Network namespaces of three nodes, and a bridge to them.
struct Net {
    name: String,
    subnet: [u8; 3],
}

fn ip(arguments: &str) -> bool {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    output.is_ok_and(|output| output.status.success())
}

impl Net {
    /// None, with a message, where this process may make none.
    fn new() -> Option<Self> {
        let (id, number) = (std::process::id(), NETS.fetch_add(1, Ordering::SeqCst));
        let subnet = [10, 200 + (id >> 8 & 31) as u8 + number, id as u8];
        let net = Self { name: format!("sdb{id}{number}"), subnet };
        if net.make() {
            return Some(net);
        }
        eprintln!("SKIPPED: this process may make no network namespaces: cut links are not tested");
        None
    }

    fn make(&self) -> bool {
        let (bridge, hub) = (&self.name, self.address(3));
        let mut made = ip(&format!("link add {bridge} type bridge"))
            && ip(&format!("addr add {hub}/24 dev {bridge}"))
            && ip(&format!("link set {bridge} up"));
        for (node, name) in NAMES.iter().enumerate() {
            let (space, own) = (self.space(node), self.address(node));
            let link = format!("{bridge}{name}");
            made = made
                && ip(&format!("netns add {space}"))
                && ip(&format!("link add {link} type veth peer name eth0 netns {space}"))
                && ip(&format!("link set {link} master {bridge} up"))
                && ip(&format!("-n {space} addr add {own}/24 dev eth0"))
                && ip(&format!("-n {space} link set lo up"))
                && ip(&format!("-n {space} link set eth0 up"));
        }
        made
    }

    fn space(&self, node: usize) -> String {
        format!("{}-{}", self.name, NAMES[node])
    }

    /// The address of a node; of the bridge, behind them.
    fn address(&self, node: usize) -> IpAddr {
        let [a, b, c] = self.subnet;
        Ipv4Addr::new(a, b, c, node as u8 + 1).into()
    }

    /// Whatever goes from one node to another is lost.
    fn cut(&self, from: usize, to: usize) {
        let (space, to) = (self.space(from), self.address(to));
        assert!(ip(&format!("-n {space} neigh replace {to} lladdr {NOWHERE} nud permanent dev eth0")));
    }

    fn mend(&self, from: usize, to: usize) {
        let (space, to) = (self.space(from), self.address(to));
        assert!(ip(&format!("-n {space} neigh del {to} dev eth0")));
    }

    fn node(&self, cluster: &Cluster, node: usize) -> Process {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(node)]).arg(scaledb().get_program());
        let on_disk = cluster.on_disk(NAMES[node]);
        cluster.start(command, NAMES[node], self.address(node), &on_disk.each_ref().map(String::as_str))
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for node in 0..3 {
            ip(&format!("netns del {}", self.space(node)));
        }
        ip(&format!("link del {}", self.name));
    }
}

/// Cuts links of one node under load, until it is put out; it ends, the links are mended, and it comes back.
fn cut(cuts: &[(usize, usize)]) {
    if !crate::is_long() {
        return;
    }
    let Some(net) = Net::new() else { return };
    let Some(cluster) = Cluster::at(net.address(3)) else { return };
    let nodes = (0..3).map(|node| net.node(&cluster, node)).collect();
    let mut trial = Trial::of(cluster, true, nodes);
    trial.allowed = &UNKNOWN;
    for _ in 0..rounds(1) {
        let load = trial.load();
        load.progress(10);
        cuts.iter().for_each(|&(from, to)| net.cut(from, to));
        trial.is_put_out();
        load.progress(10);
        let mut out = None;
        until("a node learns that it is out", || {
            out = (0..3).find(|&node| trial.nodes[node].0.try_wait().unwrap().is_some());
            out.is_some()
        });
        cuts.iter().for_each(|&(from, to)| net.mend(from, to));
        let out = out.unwrap();
        assert!(cuts.iter().any(|&(from, to)| from == out || to == out), "{} was well", NAMES[out]);
        trial.nodes[out] = net.node(&trial.cluster, out);
        trial.is_back(out);
        trial.settle();
        load.progress(10);
        trial.check(load);
    }
}

/// Node c hears nobody, and is heard by nobody; etcd hears it.
#[test]
fn a_node_that_is_cut_off_is_put_out_and_comes_back() {
    cut(&[(0, 2), (2, 0), (1, 2), (2, 1)]);
}

/// What the leader says does not reach b.
#[test]
fn a_link_that_is_cut_one_way_puts_one_of_its_ends_out() {
    cut(&[(0, 1)]);
}
