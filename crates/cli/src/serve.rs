//! `scaledb serve`: a server for PostgreSQL's clients.

use crate::Result;
use crate::args::{EngineKind as Choice, ServeArgs};
use crate::output::say;
use scaledb_acc::{Acc, Durability, Recovered};
use scaledb_cicada::Cicada;
use scaledb_engine::Engine;
use scaledb_log::disk::RealDisk;
use scaledb_server::{Config, EngineKind, Server, Sql};
use scaledb_sql::Database;
use scaledb_sync::Arc;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

const PORT: u16 = 5432;

pub(crate) fn run(args: &ServeArgs) -> Result {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(args.log).with_target(false).init();
    let config = config(args)?;
    let memory = args.memory.map_or(u64::MAX, |mebibytes| mebibytes.saturating_mul(1 << 20));
    let durability = config.data.as_deref().map(durability).transpose()?;
    match config.engine {
        EngineKind::Acc => {
            let settings =
                scaledb_acc::Config { memory_budget: memory, durability, ..scaledb_acc::Config::default() };
            let engine = Acc::open(settings)?;
            tell(&config, engine.recovered());
            serve(config, Database::open(engine)?)
        }
        EngineKind::Cicada => {
            let settings = scaledb_cicada::Config {
                memory_budget: memory,
                durability,
                ..scaledb_cicada::Config::default()
            };
            let engine = Cicada::open(settings)?;
            tell(&config, engine.recovered());
            serve(config, Database::open(engine)?)
        }
    }
}

fn durability(directory: &Path) -> Result<Durability> {
    let disk = RealDisk::open(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(Durability::new(Arc::new(disk)))
}

/// What opening the directory found, for the operator.
fn tell(config: &Config, recovered: &Recovered) {
    let Some(directory) = &config.data else { return };
    let Recovered { rows, transactions, load_time, replay_time, rebuild_time, .. } = recovered;
    let time = *load_time + *replay_time + *rebuild_time;
    let directory = directory.display();
    tracing::info!(%directory, rows, transactions, ?time, "opened: rows of the checkpoint, transactions behind it");
}

fn serve<E: Engine>(config: Config, database: Database<E>) -> Result
where
    Database<E>: Send + Sync,
{
    database.set_max_query_memory(config.max_query_memory);
    // taken before there are clients: a signal from here on ends in order
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let server = Server::start(config, Sql::new(database))?;
    for address in server.addresses() {
        say!("listening at {address}");
    }
    if let Some(path) = server.socket() {
        say!("listening at {}", path.display());
    }
    if let Some(address) = server.metrics() {
        say!("metrics at http://{address}/metrics");
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
    config.engine = match args.engine {
        Some(Choice::Acc) => EngineKind::Acc,
        Some(Choice::Cicada) => EngineKind::Cicada,
        None => config.engine,
    };
    config.data = args.data.clone().or(config.data);
    config.socket = args.socket.clone().or(config.socket);
    config.metrics = args.metrics.or(config.metrics);
    config.max_connections = args.max_connections.unwrap_or(config.max_connections);
    Ok(config)
}
