//! What tests of clients share.

#![allow(unreachable_pub, dead_code, reason = "each test takes what it needs")]

use scaledb_occult_client::{Address, Client, Options};
use scaledb_occult_lab::Lab;
use std::net::SocketAddr;

/// A cluster, unless the machine has no server, or nobody has built the module.
pub fn lab(options: &scaledb_occult_lab::Options) -> Option<Lab> {
    if options.module.is_none() || scaledb_occult_lab::server().is_none() {
        eprintln!("SKIPPED: no redis-server, or no SCALEDB_OCCULT_MODULE (make test-occult sets it)");
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
