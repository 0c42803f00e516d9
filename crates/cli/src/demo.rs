//! `scaledb demo`: a server with TPC-C's tables, and the transactions run against it in SQL.

use crate::args::{DemoArgs, scale};
use crate::bench::sql::{Run, conditions, connect, fill, parameters};
use crate::format::plural;
use crate::output::{say, show};
use crate::{Result, output, print};
use scaledb_acc::{Acc, Config as EngineConfig};
use scaledb_server::{Config, Server, Sql, StartError};
use scaledb_sql::Database;
use scaledb_workloads::driver::Options;
use scaledb_workloads::tpcc::Mix;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The port that clients expect.
const PORT: u16 = 5432;

pub(crate) fn run(args: &DemoArgs) -> Result {
    let database = Database::open(Acc::open(EngineConfig::default())?)?;
    let server = start(&database)?;
    let passed = measure(args, &server);
    if passed.is_ok() && !args.exit && !output::is_unread() && std::io::stdin().is_terminal() {
        stay(&server)?;
    }
    server.stop();
    passed
}

/// A server at the usual port, or at a free one if that is taken.
fn start(database: &Database<Acc>) -> Result<Server> {
    let at = |port| {
        let config =
            Config { listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))], ..Config::default() };
        Server::start(config, Sql::new(database.clone()))
    };
    match at(PORT) {
        Err(StartError::Listen { .. }) => Ok(at(0)?),
        started => Ok(started?),
    }
}

fn measure(args: &DemoArgs, server: &Server) -> Result {
    let threads = args.threads();
    let scale = scale(args.warehouses, threads, args.small);
    say!(
        "TPC-C, full mix, in SQL over the wire: {}, {}",
        plural(u64::from(scale.warehouses), "warehouse"),
        plural(threads as u64, "connection")
    );
    for address in server.addresses() {
        say!("  a server listens at {address}");
    }
    show!("  loading ...");
    let mut clients = connect(&parameters(server), threads)?;
    say!(" {:.1} s", fill(&mut clients, scale, args.seed)?);
    if output::is_unread() {
        return Ok(true);
    }
    let options = Options {
        threads,
        warmup: Duration::from_secs(1),
        measured: args.seconds,
        pin: false,
        asynchronous: false,
    };
    let run = Run {
        name: "acc, SQL over the wire",
        scale,
        mix: Mix::Full,
        seed: args.seed,
        options,
        progress: true,
    };
    let (report, mut clients) = run.on(clients, None)?;
    say!("\nThroughput");
    print::throughput(&report);
    print::classes(&report);
    print::conflicts(&report);
    Ok(print::conditions(&conditions(&mut clients, scale)?))
}

/// Leaves the server to others, until the user ends it.
fn stay(server: &Server) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let port = server.addresses().first().map_or(PORT, SocketAddr::port);
    say!("\nThe server stays. Look at the tables from another terminal:");
    say!("  psql -h 127.0.0.1 -p {port} -U postgres");
    say!("Ctrl-C ends it.");
    signals.forever().next();
    Ok(())
}
