//! `scaledb serve`: a server for PostgreSQL's clients.

use crate::Result;
use crate::args::{LogFormat, ServeArgs};
use crate::cluster;
use crate::output::say;
use scaledb_cluster::engine::{Answers, Cluster};
use scaledb_engine::Engine;
use scaledb_engines::{Durability, Open, Recovered, Settings, WithEngine};
use scaledb_log::disk::{RealDisk, Submission};
use scaledb_server::{Config, Handle, Server, Sql, SqlSession, Waiting};
use scaledb_sql::{Database, Supervisor};
use scaledb_sync::Arc;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

const PORT: u16 = 5432;

pub(crate) fn run(args: &ServeArgs) -> Result {
    let log =
        tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(args.log).with_target(false);
    match args.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    let config = config(args)?;
    let memory = args
        .memory
        .map_or_else(scaledb_log::machine::default_budget, |mebibytes| mebibytes.saturating_mul(1 << 20));
    let durability = config.data.as_deref().map(durability).transpose()?;
    if let Some(cluster) = &args.node.cluster {
        return serve_node(config, args, cluster, memory);
    }
    let settings = Settings { memory_budget: Some(memory), durability, ..Settings::default() };
    scaledb_engines::open(config.engine, settings, Serve { config, args })?
}

/// The server, on whichever engine.
struct Serve<'a> {
    config: Config,
    args: &'a ServeArgs,
}

impl WithEngine for Serve<'_> {
    type Output = Result;

    fn with<E: Open>(self, engine: E) -> Result {
        tell(&self.config, engine.recovered());
        serve(self.config, self.args, Database::open(engine)?, Vec::new())
    }
}

/// The server, on a node of a cluster.
fn serve_node(config: Config, args: &ServeArgs, cluster: &str, memory: u64) -> Result {
    if args.engine.is_some() {
        return Err("a node of a cluster has the engine of the cluster: leave out --engine".into());
    }
    // a client that comes before the node is a member is told why it has to wait
    let patience = cluster::node::Patience::new();
    let why = patience.clone();
    let waiting = Waiting::<SqlSession<Cluster>>::new(move || why.why());
    let waiting = Server::start(Config { metrics: None, ..config.clone() }, waiting)?;
    for address in waiting.addresses() {
        tracing::info!(%address, "clients are told to wait");
    }
    let (member, peers) = cluster::node::open(&args.node, cluster, config.data.as_deref(), &patience)?;
    member.call(|node, _| node.limit_memory(usize::try_from(memory).unwrap_or(usize::MAX)));
    let engine = Cluster::new(member.clone(), Answers::WhenDecided);
    let watch = cluster::node::Watch::begin(&member);
    let served = Database::open(engine)
        .map_err(Into::into)
        .and_then(|database| serve(config, args, database, waiting.hand_over()));
    watch.end();
    let (left, removed) = (member.has_left(), member.was_removed());
    member.stop();
    if removed {
        say!("this node was removed from its cluster; what it kept is at the others");
        return Ok(true);
    }
    if left {
        if let Some(why) = member.failure() {
            return Err(
                format!("this node cannot write its directory, and has left its cluster: {why}").into()
            );
        }
        let why = peers.last_error().unwrap_or_else(|| "the others went on without it".to_owned());
        return Err(format!("this node was put out of its cluster: {why}").into());
    }
    served
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

/// The disk failed while the server ran: what was acknowledged is on it, and nothing that came after the failure.
/// The command ends with an exit code of its own then.
#[derive(Debug)]
pub(crate) struct DiskFailed(String);

impl std::fmt::Display for DiskFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the disk has failed while the server ran: {}", self.0)
    }
}

impl std::error::Error for DiskFailed {}

/// The server, as functions of SQL reach it.
struct Supervision {
    handle: Handle,
    args: ServeArgs,
}

impl Supervision {
    /// Reads the configuration again, and logs what came of it.
    fn reload(&self) -> std::result::Result<(), String> {
        let done = match &self.args.config {
            None => Err("the server was started without a configuration file".to_owned()),
            Some(_) => config(&self.args)
                .map_err(|error| error.to_string())
                .and_then(|config| self.handle.reload(&config).map_err(|error| error.to_string())),
        };
        match done {
            Ok(later) => {
                tracing::info!(
                    "the configuration was read again: it holds for connections that come from now on"
                );
                for setting in later {
                    tracing::warn!(
                        setting,
                        "was changed in the configuration, and stays as it is until the next start"
                    );
                }
                Ok(())
            }
            Err(why) => {
                tracing::error!(why, "the configuration was not read again: the one before stays in force");
                // any user may ask: what is in the file is not for all of them
                Err("what is wrong with the new one is in the log of the server".to_owned())
            }
        }
    }
}

impl Supervisor for Supervision {
    fn cancel(&self, pid: i32) -> bool {
        self.handle.cancel(pid)
    }

    fn terminate(&self, pid: i32) -> bool {
        self.handle.terminate(pid)
    }

    fn reload(&self) -> std::result::Result<(), String> {
        Self::reload(self)
    }

    fn status(&self) -> Vec<(String, String)> {
        self.handle.status()
    }
}

/// Warns of what an operator should know before the server is relied on.
fn introduce(config: &Config, server: &Server, is_node: bool) {
    for address in server.addresses() {
        say!("listening at {address}");
    }
    if let Some(path) = server.socket() {
        say!("listening at {}", path.display());
    }
    if let Some(address) = server.metrics() {
        say!("metrics at http://{address}/metrics");
    }
    match &config.data {
        Some(directory) if is_node => say!(
            "this node keeps its part of the data in {}: they survive when all nodes crash",
            directory.display()
        ),
        Some(directory) => say!("data are kept in {}, and survive a crash", directory.display()),
        None if is_node => {
            say!("data are in the memory of the cluster's nodes: they survive as long as enough of those do")
        }
        None => say!("data are in memory only: they are gone when this process ends (--data DIR keeps them)"),
    }
    if config.rules.is_empty() {
        say!("everybody on this machine may connect, as any user, without a password");
    }
    if let Some(address) = server.addresses().first() {
        say!("connect with: psql 'host={} port={} user=scaledb'", address.ip(), address.port());
    }
}

/// `listening`: where a server has listened until now; else it listens where the configuration says.
fn serve<E: Engine>(
    config: Config,
    args: &ServeArgs,
    database: Database<E>,
    listening: Vec<TcpListener>,
) -> Result
where
    Database<E>: Send + Sync,
{
    database.set_max_query_memory(config.max_query_memory);
    if let Some(directory) = config.temporary() {
        let wrong = |error| format!("{}: {error}", directory.display());
        let disk = RealDisk::open_with(&directory, Submission::Cached).map_err(wrong)?;
        database.set_temporary_files(Arc::new(disk), config.max_temp_bytes).map_err(wrong)?;
    }
    // taken before there are clients: a signal from here on ends in order
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let server = Server::start_at(config.clone(), Sql::new(database.clone()).of_server(&config), listening)?;
    let supervision = Arc::new(Supervision { handle: server.handle(), args: args.clone() });
    database.supervise(supervision.clone());
    introduce(&config, &server, args.node.cluster.is_some());
    for signal in signals.forever() {
        if signal != SIGHUP {
            tracing::info!(signal, "ending: statements that run may finish");
            break;
        }
        // what is wrong is in the log
        let _ = supervision.reload();
    }
    server.stop();
    // here, where what fails can still be told: clients may not have waited for their last commits
    match database.engine().close() {
        Err(error) => {
            let why = database.engine().log_failure().unwrap_or_else(|| error.to_string());
            Err(Box::new(DiskFailed(why)))
        }
        Ok(()) => Ok(true),
    }
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
    config.engine = args.engine.unwrap_or(config.engine);
    config.data = args.data.clone().or(config.data);
    config.socket = args.socket.clone().or(config.socket);
    config.metrics = args.metrics.or(config.metrics);
    config.max_connections = args.max_connections.unwrap_or(config.max_connections);
    Ok(config)
}
