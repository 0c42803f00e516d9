//! `scaledb serve`: a server for PostgreSQL's clients.

use crate::Result;
use crate::args::ServeArgs;
use scaledb_acc::{Acc, Durability};
use scaledb_log::disk::RealDisk;
use scaledb_server::{Config, Server, Sql};
use scaledb_sync::Arc;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const PORT: u16 = 5432;

pub(crate) fn run(args: &ServeArgs) -> Result {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(args.log).with_target(false).init();
    let config = config(args)?;
    let mut engine = scaledb_acc::Config::default();
    if let Some(mebibytes) = args.memory {
        engine.memory_budget = mebibytes.saturating_mul(1 << 20);
    }
    if let Some(directory) = &args.data {
        let disk = RealDisk::open(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        engine.durability = Some(Durability::new(Arc::new(disk)));
    }
    let database = scaledb_sql::Database::open(Acc::open(engine)?)?;
    database.set_max_query_memory(config.max_query_memory);
    // taken before there are clients: a signal from here on ends in order
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let server = Server::start(config, Sql::new(database))?;
    for address in server.addresses() {
        println!("listening at {address}");
    }
    if let Some(path) = server.socket() {
        println!("listening at {}", path.display());
    }
    if let Some(address) = server.metrics() {
        println!("metrics at http://{address}/metrics");
    }
    if let Some(signal) = signals.forever().next() {
        tracing::info!(signal, "ending: statements that run may finish");
    }
    server.stop();
    Ok(true)
}

/// What the file says, and the command line over it.
fn config(args: &ServeArgs) -> Result<Config> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if !args.listen.is_empty() || args.port.is_some() {
        let port = args.port.or_else(|| config.listen.first().map(SocketAddr::port)).unwrap_or(PORT);
        let addresses: Vec<IpAddr> = if !args.listen.is_empty() {
            args.listen.clone()
        } else if args.config.is_some() {
            config.listen.iter().map(SocketAddr::ip).collect()
        } else {
            vec![Ipv4Addr::LOCALHOST.into()]
        };
        config.listen = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
    }
    config.socket = args.socket.clone().or(config.socket);
    config.metrics = args.metrics.or(config.metrics);
    config.max_connections = args.max_connections.unwrap_or(config.max_connections);
    Ok(config)
}
