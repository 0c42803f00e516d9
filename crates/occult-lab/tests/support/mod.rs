//! What tests of clients share.

#![allow(unreachable_pub, dead_code, reason = "each test takes what it needs")]

use scaledb_occult::{Slot, slot_key};
use scaledb_occult_client::{Address, Client, Options};
use scaledb_occult_lab::{Lab, Node};
use std::net::SocketAddr;
use std::time::Duration;

/// Writes a line that is shown, too, if the test passes.
pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A cluster, unless the machine has no server, or nobody has built the module.
pub fn lab(options: &scaledb_occult_lab::Options) -> Option<Lab> {
    if options.module.is_none() || scaledb_occult_lab::server().is_none() {
        say("SKIPPED: no redis-server, or no SCALEDB_OCCULT_MODULE (make test-occult sets it)");
        return None;
    }
    Some(Lab::start(options).unwrap())
}

/// Runs a test's own tasks.
pub fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// A client that stands in a datacenter: it goes to the servers beside it directly, and to the others by their links.
pub async fn client(lab: &Lab, datacenter: u8) -> Client {
    client_with(lab, datacenter, |_| {}).await
}

/// The same with other options.
pub async fn client_with(lab: &Lab, datacenter: u8, change: impl FnOnce(&mut Options)) -> Client {
    let address = |at: SocketAddr| Address { host: at.ip().to_string(), port: at.port() };
    let seeds = lab.seeds().into_iter().map(|at| format!("redis://{at}"));
    let mut options = Options::new(seeds).in_datacenter(datacenter);
    let near = lab.addresses(datacenter).into_iter();
    options.addresses = near.map(|(announced, direct)| (address(announced), address(direct))).collect();
    change(&mut options);
    Client::connect(options).await.unwrap()
}

/// Moves a slot to the next of three masters, or to the one before, as `redis-cli --cluster reshard` does it.
pub async fn move_slot(lab: &Lab, slot: Slot, back: bool) {
    let masters = &lab.nodes()[..3];
    let owner = |node: &Node| {
        let keys: redis::RedisResult<redis::Value> = node.ask(&["OBJECT", "FREQ", slot_key(slot)]);
        !keys.is_err_and(|error| error.redirect_node().is_some())
    };
    let from = masters.iter().position(owner).unwrap();
    let to = (from + if back { 2 } else { 1 }) % 3;
    let (source, target) = (&masters[from], &masters[to]);
    let number = slot.get().to_string();
    let id = |node: &Node| node.ask::<String>(&["CLUSTER", "MYID"]).unwrap();
    target.ask::<()>(&["CLUSTER", "SETSLOT", &number, "IMPORTING", &id(source)]).unwrap();
    source.ask::<()>(&["CLUSTER", "SETSLOT", &number, "MIGRATING", &id(target)]).unwrap();
    let port = target.place.announced.to_string();
    loop {
        let keys: Vec<String> = source.ask(&["CLUSTER", "GETKEYSINSLOT", &number, "1"]).unwrap();
        let Some(key) = keys.first() else { break };
        source.ask::<redis::Value>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]).unwrap();
        // the clients go on in between
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    for node in [target, source, &masters[3 - from - to]] {
        node.ask::<()>(&["CLUSTER", "SETSLOT", &number, "NODE", &id(target)]).unwrap();
    }
}
