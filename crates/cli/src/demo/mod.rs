//! `scaledb demo`: what ScaleDB is for, shown in a minute: TPC-C in SQL, a row that everybody updates, the same on
//! PostgreSQL if it is installed, and a server that is killed.

mod postgres;
mod restart;

use crate::args::{DemoArgs, scale};
use crate::bench::sql::{Run, conditions, connect, fill, parameters};
use crate::format::{count, percent, plural, table};
use crate::output::{say, show};
use crate::progress::Line;
use crate::{Result, output, print};
use postgres::Postgres;
use scaledb_engines::{Acc, Open, Settings as EngineSettings};
use scaledb_server::{Config, Server, Sql, StartError};
use scaledb_sql::Database;
use scaledb_sqlbench::point::{self, Points, Statement};
use scaledb_workloads::driver::{Options, run_connected};
use scaledb_workloads::report::Report;
use scaledb_workloads::tpcc::{Mix, Scale};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The port that clients expect.
const PORT: u16 = 5432;

/// Connections that update the same row.
const CROWD: usize = 8;

/// How long they do so.
const CROWDED: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &DemoArgs) -> Result {
    let database = Database::open(Acc::open_with(EngineSettings::default())?)?;
    let server = start(&database)?;
    let passed = show_all(args, &server);
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

/// What was measured of a server.
struct Measured {
    tpcc: Report,
    hot_row: Report,
    /// Whether the database was right afterwards.
    passed: bool,
}

/// All parts, one after the other, as long as the output is read. Whether every check has passed.
fn show_all(args: &DemoArgs, server: &Server) -> Result {
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
    let Some(ours) = measure(args, scale, "acc, SQL over the wire", &parameters(server), true)? else {
        return Ok(true);
    };
    let mut passed = ours.passed;
    if !args.alone && !output::is_unread() {
        passed &= beside_postgres(args, scale, &ours)?;
    }
    if !output::is_unread() {
        passed &= restart::show()?;
    }
    Ok(passed)
}

/// TPC-C, and then the row that all threads update. `None`: the output is not read any more.
fn measure(
    args: &DemoArgs,
    scale: Scale,
    name: &str,
    parameters: &str,
    in_full: bool,
) -> Result<Option<Measured>> {
    let threads = args.threads();
    show!("  loading ...");
    let mut clients = connect(parameters, threads)?;
    say!(" {:.1} s", fill(&mut clients, scale, args.seed)?);
    if output::is_unread() {
        return Ok(None);
    }
    let options = Options {
        threads,
        warmup: Duration::from_secs(1),
        measured: args.seconds,
        pin: false,
        asynchronous: false,
    };
    let run = Run { name, scale, mix: Mix::Full, seed: args.seed, options, progress: true };
    let (tpcc, mut clients) = run.on(clients, None)?;
    if in_full {
        say!("\nThroughput");
        print::throughput(&tpcc);
        print::classes(&tpcc);
        print::conflicts(&tpcc);
    }
    let mut passed = true;
    if in_full {
        passed = print::conditions(&conditions(&mut clients, scale)?);
        say!("\nOne row that {CROWD} connections update, a statement at a time");
    }
    let (hot_row, right) = crowd(args, name, parameters)?;
    if in_full {
        print::throughput(&hot_row);
    }
    if !right {
        say!("  FAILED: an update that was acknowledged is missing, or one counts twice");
    }
    Ok(Some(Measured { tpcc, hot_row, passed: passed && right }))
}

/// The report, and whether the row is the sum of what was acknowledged.
fn crowd(args: &DemoArgs, name: &str, parameters: &str) -> Result<(Report, bool)> {
    let mut clients = connect(parameters, CROWD)?;
    clients.first_mut().map_or(Ok(()), |client| point::create(client, 1))?;
    let points = clients.into_iter().enumerate();
    let points = points.map(|(number, client)| Points::new(client, Statement::Update, 1, args.seed, number));
    let points = points.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = Options {
        threads: CROWD,
        warmup: Duration::ZERO,
        measured: CROWDED.min(args.seconds),
        pin: false,
        asynchronous: false,
    };
    let mut line = Line::new();
    let result = run_connected(name, &point::CLASSES, points, &options, None, |progress| line.show(progress));
    line.end();
    let (report, points) = result?;
    let brought: i64 = points.iter().map(Points::brought).sum();
    let total = points.into_iter().next().map(|first| point::total(&mut first.into_client()));
    Ok((report, total.transpose()? == Some(brought)))
}

/// The same load on PostgreSQL, if it is installed here.
fn beside_postgres(args: &DemoArgs, scale: Scale, ours: &Measured) -> Result {
    let theirs = match Postgres::start() {
        Ok(Some(postgres)) => postgres,
        Ok(None) => {
            say!("\nPostgreSQL is not installed here: it would be given the same load");
            return Ok(true);
        }
        Err(why) => {
            say!("\nPostgreSQL is not given the same load: {why}");
            return Ok(true);
        }
    };
    say!(
        "\nThe same on {}: serializable, too, and made fast with files in memory and no fsync",
        theirs.name()
    );
    let Some(measured) = measure(args, scale, theirs.name(), &theirs.parameters(), false)? else {
        return Ok(true);
    };
    let rate = |report: &Report| report.commits_per_second;
    let retried = |report: &Report| {
        let conflicts: u64 = report.classes.iter().map(|class| class.conflicts).sum();
        percent(conflicts, conflicts + report.commits())
    };
    let row = |what: &str, ours: &Report, theirs: &Report| {
        let ratio = format!("{:.1}", rate(ours) / rate(theirs).max(1e-9));
        let of = |report| [count(rate(report) as u64), retried(report)];
        [vec![what.to_owned()], of(ours).into(), of(theirs).into(), vec![ratio]].concat()
    };
    let rows = [
        row("TPC-C, transactions/s", &ours.tpcc, &measured.tpcc),
        row("one row, updates/s", &ours.hot_row, &measured.hot_row),
    ];
    say!("");
    show!("{}", table(&["", "ScaleDB", "retried", "PostgreSQL", "retried", "ratio"], &rows));
    // what it stores is its own affair: only what ScaleDB does fails the demo
    Ok(true)
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
