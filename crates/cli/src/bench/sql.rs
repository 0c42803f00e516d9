//! `scaledb bench` in SQL: TPC-C and single statements, prepared, in process, or over the wire to any server.

use super::{Check, Finished, mix};
use crate::Result;
use crate::args::{BenchArgs, SqlBy, Workload, scale};
use crate::output::say;
use crate::progress::Line;
use scaledb_engine::{Engine, Stats};
use scaledb_server::{Config, Server, Sql};
use scaledb_sql::{Database, Session};
use scaledb_sqlbench::point::{self, Points, Statement};
use scaledb_sqlbench::tpcc::{CLASSES, Terminal, check, create, load};
use scaledb_sqlbench::{Client, Embedded, Rows, Wire};
use scaledb_workloads::driver::{Options, run_connected};
use scaledb_workloads::report::Report;
use scaledb_workloads::tpcc::{Condition, Inputs, Mix, Scale};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

/// Rows of the table of single statements, unless another number is given: as many as pgbench has at scale 1.
const RECORDS: u32 = 100_000;

/// Measures a database on an engine of this process.
pub(super) fn measure<E: Engine>(args: &BenchArgs, engine: E) -> Result<Finished>
where
    Database<E>: Send + Sync + 'static,
    Session<E>: Send,
{
    let database = Database::open(engine)?;
    if args.sql() == Some(SqlBy::Embedded) {
        let clients = (0..args.threads()).map(|_| Embedded::new(&database)).collect();
        let name = format!("{}, SQL in process", database.engine().name());
        return drive(args, &name, clients, Some(&|| database.engine().stats()));
    }
    let name = format!("{}, SQL over the wire", database.engine().name());
    let config = Config { listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))], ..Config::default() };
    let server = Server::start(config, Sql::new(database))?;
    let result =
        connect(&parameters(&server), args.threads()).and_then(|clients| drive(args, &name, clients, None));
    server.stop();
    result
}

/// Measures a server that runs already.
pub(super) fn measure_other(args: &BenchArgs) -> Result<Finished> {
    let mut clients = connect(args.connect.as_deref().unwrap_or_default(), args.threads())?;
    let mut rows = Rows::default();
    clients[0].query("SHOW server_version", &mut rows)?;
    let name = format!("server of version {}, SQL over the wire", rows.answer(0).text(0, 0)?);
    drive(args, &name, clients, None)
}

/// What a client on this machine connects with.
pub(crate) fn parameters(server: &Server) -> String {
    let port = server.addresses().first().map_or(0, SocketAddr::port);
    format!("host=127.0.0.1 port={port} user=postgres dbname=postgres")
}

pub(crate) fn connect(parameters: &str, clients: usize) -> Result<Vec<Wire>> {
    Ok((0..clients).map(|_| Wire::connect(parameters)).collect::<Result<_, _>>()?)
}

/// Creates the tables, and fills them; the seconds that it took.
pub(crate) fn fill<C: Client>(clients: &mut [C], scale: Scale, seed: u64) -> Result<f64> {
    let start = Instant::now();
    if let Some(first) = clients.first_mut()
        && let Err(failure) = create(first)
    {
        let hint = match failure.code() {
            Some("42P07") => "; the benchmark needs a database without these tables",
            _ => "",
        };
        return Err(format!("{failure}{hint}").into());
    }
    load(clients, scale, seed)?;
    Ok(start.elapsed().as_secs_f64())
}

/// A run on tables that are there.
pub(crate) struct Run<'a> {
    pub(crate) name: &'a str,
    pub(crate) scale: Scale,
    pub(crate) mix: Mix,
    pub(crate) seed: u64,
    pub(crate) options: Options,
    pub(crate) progress: bool,
}

impl Run<'_> {
    /// Runs a terminal on each connection; the report, and the connections.
    pub(crate) fn on<C: Client>(
        &self,
        clients: Vec<C>,
        stats: Option<&dyn Fn() -> Stats>,
    ) -> Result<(Report, Vec<C>)> {
        let of = clients.len();
        let terminal = |(number, client)| {
            Terminal::new(client, Inputs::new(self.scale, self.mix, self.seed, number, of))
        };
        let terminals = clients.into_iter().enumerate().map(terminal).collect::<Result<Vec<_>, _>>()?;
        let mut line = Line::new();
        let result = run_connected(self.name, &CLASSES, terminals, &self.options, stats, |progress| {
            if self.progress {
                line.show(progress);
            }
        });
        line.end();
        let (mut report, terminals) = result?;
        // the engine's tables have names of their own
        report.tables.clear();
        Ok((report, terminals.into_iter().map(Terminal::into_client).collect()))
    }
}

/// The twelve conditions, by the first connection.
pub(crate) fn conditions<C: Client>(clients: &mut [C], scale: Scale) -> Result<Vec<Condition>> {
    Ok(check(clients.first_mut().ok_or("there is no connection")?, scale)?)
}

fn drive<C: Client>(
    args: &BenchArgs,
    name: &str,
    clients: Vec<C>,
    stats: Option<&dyn Fn() -> Stats>,
) -> Result<Finished> {
    match args.workload {
        Workload::PointSelect => drive_points(args, name, clients, Statement::Select, stats),
        Workload::PointUpdate => drive_points(args, name, clients, Statement::Update, stats),
        _ => drive_tpcc(args, name, clients, stats),
    }
}

fn drive_tpcc<C: Client>(
    args: &BenchArgs,
    name: &str,
    mut clients: Vec<C>,
    stats: Option<&dyn Fn() -> Stats>,
) -> Result<Finished> {
    let scale = scale(args.warehouses, args.threads(), args.small);
    let load_seconds = fill(&mut clients, scale, args.seed)?;
    if !args.json {
        say!("  {name}\n  loaded in {load_seconds:.1} s");
    }
    let (mix, options) = (mix(args), args.options());
    let run = Run { name, scale, mix, seed: args.seed, options, progress: !args.json };
    let (report, mut clients) = run.on(clients, stats)?;
    let check = match args.no_check {
        true => Check::NotMade,
        false => Check::Conditions(conditions(&mut clients, scale)?),
    };
    Ok(Finished { parameters: serde_json::to_value(scale)?, load_seconds, report, check })
}

fn drive_points<C: Client>(
    args: &BenchArgs,
    name: &str,
    mut clients: Vec<C>,
    statement: Statement,
    stats: Option<&dyn Fn() -> Stats>,
) -> Result<Finished> {
    let records = args.records.unwrap_or(RECORDS);
    let start = Instant::now();
    clients.first_mut().map_or(Ok(()), |client| point::create(client, records))?;
    let load_seconds = start.elapsed().as_secs_f64();
    if !args.json {
        println!("  {name}\n  loaded in {load_seconds:.1} s");
    }
    let points = clients.into_iter().enumerate();
    let points = points.map(|(number, client)| Points::new(client, statement, records, args.seed, number));
    let points = points.collect::<std::result::Result<Vec<_>, _>>()?;
    let mut line = Line::new();
    let result = run_connected(name, &point::CLASSES, points, &args.options(), stats, |progress| {
        if !args.json {
            line.show(progress);
        }
    });
    line.end();
    let (mut report, points) = result?;
    // the engine's tables have names of their own
    report.tables.clear();
    let brought: i64 = points.iter().map(Points::brought).sum();
    let check = match points.into_iter().next() {
        Some(first) if !args.no_check => match point::total(&mut first.into_client())? {
            total if total == brought => Check::Passed,
            total => Check::Failed(format!("the balances add up to {total}, not {brought}")),
        },
        _ => Check::NotMade,
    };
    Ok(Finished { parameters: serde_json::json!({ "records": records }), load_seconds, report, check })
}
