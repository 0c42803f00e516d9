//! `scaledb bench`: one workload, one result.

mod scale;
pub(crate) mod sql;
mod staleness;

use crate::args::{BenchArgs, Family, IndexUpdates, Workload, scale};
use crate::format::{count, plural, table};
use crate::output::{say, show};
use crate::progress::Line;
use crate::{Result, print};
use scaledb_engine::Engine;
use scaledb_engines::{Durability, Open, Settings, WithEngine};
use scaledb_log::disk::RealDisk;
use scaledb_sync::Arc;
use scaledb_workloads::clocks::{self, ClockRate};
use scaledb_workloads::driver::{self, micros_since_2000};
use scaledb_workloads::epinions::{self, Epinions};
use scaledb_workloads::report::Report;
use scaledb_workloads::seats::{self, Seats};
use scaledb_workloads::smallbank::{self, SmallBank};
use scaledb_workloads::tpcc::{self, Condition, Mix, Tables, Tpcc};
use scaledb_workloads::ycsb::{self, Ycsb};
use serde::Serialize;
use std::time::Instant;

/// A result as JSON.
#[derive(Serialize)]
struct Output<'a> {
    workload: String,
    parameters: serde_json::Value,
    index_updates: IndexUpdates,
    snapshot_reads: bool,
    sql: Option<String>,
    seed: u64,
    load_seconds: f64,
    report: &'a Report,
    check: &'a Check,
}

/// What the check of the database found.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Check {
    NotMade,
    Passed,
    Failed(String),
    Conditions(Vec<Condition>),
}

/// A workload that has run.
struct Finished {
    parameters: serde_json::Value,
    load_seconds: f64,
    report: Report,
    check: Check,
}

pub(crate) fn run(args: &BenchArgs) -> Result {
    args.check()?;
    if !args.scale.is_empty() {
        return scale::run(args);
    }
    if !args.json {
        say!("{}: {}", args.workload.name(), plural(args.threads() as u64, "thread"));
    }
    match args.workload.family() {
        Family::Clock => run_clock(args),
        Family::Staleness => scaledb_engines::open(args.engine, settings(args)?, Staleness(args))?,
        _ => show(args, &finish(args)?),
    }
}

/// Runs a workload that has a report.
fn finish(args: &BenchArgs) -> Result<Finished> {
    if args.connect.is_some() {
        return sql::measure_other(args);
    }
    scaledb_engines::open(args.engine, settings(args)?, Bench(args))?
}

fn settings(args: &BenchArgs) -> Result<Settings> {
    Ok(Settings {
        reserve: args.reserve << 20,
        durability: durability(args)?,
        options: args.engine_options(),
        ..Settings::default()
    })
}

/// The benchmark, on whichever engine.
struct Bench<'a>(&'a BenchArgs);

impl WithEngine for Bench<'_> {
    type Output = Result<Finished>;

    fn with<E: Open>(self, engine: E) -> Result<Finished> {
        let args = self.0;
        if !engine.tables().is_empty() {
            return Err("the directory holds a database already: a benchmark needs an empty one".into());
        }
        if args.sql().is_some() { sql::measure(args, engine) } else { measure(args, &engine) }
    }
}

/// How old snapshots are, on whichever engine.
struct Staleness<'a>(&'a BenchArgs);

impl WithEngine for Staleness<'_> {
    type Output = Result;

    fn with<E: Open>(self, engine: E) -> Result {
        staleness::run(self.0, &engine)
    }
}

/// Runs a workload on an engine.
fn measure<E: Engine>(args: &BenchArgs, engine: &E) -> Result<Finished> {
    match args.workload.family() {
        Family::Ycsb => run_ycsb(args, engine),
        Family::SmallBank => run_smallbank(args, engine),
        Family::Seats => run_seats(args, engine),
        Family::Epinions => run_epinions(args, engine),
        Family::Tpcc | Family::Point | Family::Clock | Family::Staleness => run_tpcc(args, engine),
    }
}

impl Check {
    fn passed(&self) -> bool {
        match self {
            Self::NotMade | Self::Passed => true,
            Self::Failed(_) => false,
            Self::Conditions(conditions) => conditions.iter().all(Condition::holds),
        }
    }
}

/// A result as it is printed in JSON.
fn output<'a>(args: &BenchArgs, finished: &'a Finished) -> Output<'a> {
    Output {
        workload: args.workload.name(),
        parameters: finished.parameters.clone(),
        index_updates: args.index_updates.unwrap_or_default(),
        snapshot_reads: args.snapshot_reads,
        sql: args.sql().map(|by| format!("{by:?}").to_lowercase()),
        seed: args.seed,
        load_seconds: finished.load_seconds,
        report: &finished.report,
        check: &finished.check,
    }
}

/// Prints a result, and tells whether its check passed.
fn show(args: &BenchArgs, finished: &Finished) -> Result {
    let Finished { report, check, .. } = finished;
    let passed = check.passed();
    if args.json {
        say!("{}", serde_json::to_string_pretty(&output(args, finished))?);
        return Ok(passed);
    }
    print::throughput(report);
    print::classes(report);
    print::conflicts(report);
    print::tables(report);
    print::write_to_scan(report);
    match check {
        Check::NotMade => {}
        Check::Passed => say!("\nCheck of the database: ok"),
        Check::Failed(why) => say!("\nCheck of the database: FAILED: {why}"),
        Check::Conditions(conditions) => _ = print::conditions(conditions),
    }
    Ok(passed)
}

/// Whether the tables are synchronous ones.
fn synchronous(args: &BenchArgs) -> bool {
    args.index_updates == Some(IndexUpdates::Synchronous)
}

/// How the benchmark's directory is kept, if there is one.
fn durability(args: &BenchArgs) -> Result<Option<Durability>> {
    let Some(directory) = &args.directory else { return Ok(None) };
    let disk = RealDisk::open(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let checkpoint_bytes = args.checkpoint << 20;
    Ok(Some(Durability { checkpoint_bytes, ..Durability::new(Arc::new(disk)) }))
}

/// Fills a database, and tells how long that took.
fn load<E: Engine, T>(args: &BenchArgs, engine: &E, fill: impl FnOnce(&E) -> Result<T>) -> Result<(T, f64)> {
    let start = Instant::now();
    let filled = fill(engine)?;
    let seconds = start.elapsed().as_secs_f64();
    if !args.json {
        say!("  loaded in {seconds:.1} s");
    }
    Ok((filled, seconds))
}

fn drive<E: Engine, L: driver::Workload>(
    args: &BenchArgs,
    engine: &E,
    workload: &L,
) -> Result<(Report, Vec<L::Client>)> {
    let mut line = Line::new();
    let result = driver::run(engine, workload, &args.options(), |progress| {
        if !args.json {
            line.show(progress);
        }
    });
    line.end();
    Ok(result?)
}

fn mix(args: &BenchArgs) -> Mix {
    match args.workload {
        Workload::TpccNp => Mix::NewOrderPayment,
        Workload::TpccNd => Mix::NewOrderDelivery,
        _ => Mix::Full,
    }
}

fn run_tpcc<E: Engine>(args: &BenchArgs, engine: &E) -> Result<Finished> {
    let mix = mix(args);
    let scale = scale(args.warehouses, args.threads(), args.small);
    let (tables, load_seconds) = load(args, engine, |engine| {
        let tables = Arc::new(Tables::create(engine, scale, synchronous(args))?);
        tpcc::load(engine, &tables, args.seed, args.threads(), micros_since_2000())?;
        Ok(tables)
    })?;
    let workload = Tpcc { tables: tables.clone(), mix, seed: args.seed, snapshot_reads: args.snapshot_reads };
    let (report, _) = drive(args, engine, &workload)?;
    let check = match args.no_check {
        true => Check::NotMade,
        false => Check::Conditions(tpcc::check(&tables, &mut engine.worker()?)?),
    };
    Ok(Finished { parameters: serde_json::to_value(scale)?, load_seconds, report, check })
}

fn ycsb_config(args: &BenchArgs) -> Result<ycsb::Config> {
    let ratio = |default: u8| u32::from(args.read_ratio.unwrap_or(default));
    let mut config = match args.workload {
        Workload::Ycsb16 => ycsb::Config::transactions(16, ratio(50)),
        Workload::Ycsb1 => ycsb::Config::transactions(1, ratio(95)),
        Workload::YcsbReadInsert => ycsb::Config::read_insert(ratio(95)),
        other => {
            let letter = other.name().chars().next_back();
            letter.and_then(ycsb::Config::letter).ok_or("not a YCSB workload")?
        }
    };
    config.records = args.records.map_or(config.records, u64::from);
    config.fields = args.fields.map_or(config.fields, usize::from);
    config.field_bytes = args.field_bytes.map_or(config.field_bytes, usize::from);
    config.theta = args.theta.unwrap_or(config.theta);
    config.requests = args.requests.map_or(config.requests, usize::from);
    config.snapshot_reads = args.snapshot_reads;
    Ok(config)
}

fn run_ycsb<E: Engine>(args: &BenchArgs, engine: &E) -> Result<Finished> {
    let config = ycsb_config(args)?;
    let (table, load_seconds) = load(args, engine, |engine| {
        let table = ycsb::UserTable::create(engine, &config, synchronous(args))?;
        table.load(engine, config.records, args.threads())?;
        Ok(table)
    })?;
    let workload = Ycsb::new(config.clone(), table.clone(), args.seed);
    let (report, sessions) = drive(args, engine, &workload)?;
    let done = sessions.iter().map(|session| session.done()).sum();
    let check = match args.no_check {
        true => Check::NotMade,
        false => ycsb::check(&config, &table, done, &mut engine.worker()?)?
            .map_or_else(Check::Failed, |()| Check::Passed),
    };
    Ok(Finished { parameters: serde_json::to_value(config)?, load_seconds, report, check })
}

fn run_smallbank<E: Engine>(args: &BenchArgs, engine: &E) -> Result<Finished> {
    let default = smallbank::Config::default();
    let config = smallbank::Config {
        customers: args.records.unwrap_or(default.customers),
        hot_customers: args.hot_customers.unwrap_or(default.hot_customers),
        hot_percent: args.hot.map_or(default.hot_percent, u32::from),
    };
    let (tables, load_seconds) = load(args, engine, |engine| {
        let tables = Arc::new(smallbank::Tables::create(engine, synchronous(args))?);
        tables.load(engine, config.customers, args.seed, args.threads())?;
        Ok(tables)
    })?;
    let before = tables.total(&mut engine.worker()?)?;
    let workload =
        SmallBank { config, tables: tables.clone(), seed: args.seed, snapshot_reads: args.snapshot_reads };
    let (report, tellers) = drive(args, engine, &workload)?;
    let check = if args.no_check {
        Check::NotMade
    } else {
        let brought: i64 = tellers.iter().map(|teller| teller.brought()).sum();
        match tables.total(&mut engine.worker()?)? {
            total if total == before + brought => Check::Passed,
            total => Check::Failed(format!("the balances add up to {total}, not {}", before + brought)),
        }
    };
    Ok(Finished { parameters: serde_json::to_value(config)?, load_seconds, report, check })
}

fn run_seats<E: Engine>(args: &BenchArgs, engine: &E) -> Result<Finished> {
    let config = args.records.map_or_else(seats::Config::default, |customers| seats::Config { customers });
    let now = micros_since_2000();
    let (tables, load_seconds) = load(args, engine, |engine| {
        let tables = Arc::new(seats::Tables::create(engine, synchronous(args))?);
        tables.load(engine, config, args.seed, args.threads(), now)?;
        Ok(tables)
    })?;
    let mut worker = engine.worker()?;
    let before = seats::Facts::of(&tables, &mut worker)?;
    let workload = Seats::new(config, tables.clone(), args.seed, args.snapshot_reads, now, &mut worker)?;
    // the threads may need all that there are
    drop(worker);
    let (report, travellers) = drive(args, engine, &workload)?;
    let done = travellers.iter().map(|traveller| traveller.done()).sum();
    let check = match args.no_check {
        true => Check::NotMade,
        false => seats::check(&tables, before, done, &mut engine.worker()?)?
            .map_or_else(Check::Failed, |()| Check::Passed),
    };
    Ok(Finished { parameters: serde_json::to_value(config)?, load_seconds, report, check })
}

fn run_epinions<E: Engine>(args: &BenchArgs, engine: &E) -> Result<Finished> {
    let config = args.records.map_or_else(epinions::Config::default, |users| epinions::Config { users });
    let (tables, load_seconds) = load(args, engine, |engine| {
        let tables = Arc::new(epinions::Tables::create(engine, synchronous(args))?);
        tables.load(engine, config, args.seed, args.threads(), micros_since_2000())?;
        Ok(tables)
    })?;
    let before = epinions::Counts::of(&tables, &mut engine.worker()?)?;
    let workload =
        Epinions { config, tables: tables.clone(), seed: args.seed, snapshot_reads: args.snapshot_reads };
    let (report, _) = drive(args, engine, &workload)?;
    let check = match args.no_check {
        true => Check::NotMade,
        false => epinions::check(&tables, before, &mut engine.worker()?)?
            .map_or_else(Check::Failed, |()| Check::Passed),
    };
    Ok(Finished { parameters: serde_json::to_value(config)?, load_seconds, report, check })
}

/// Each clock, on 1, 2, 4 ... threads.
fn run_clock(args: &BenchArgs) -> Result {
    let most = args.threads();
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most).collect();
    counts.push(most);
    let each = args.seconds / (counts.len() * clocks::SOURCES.len()) as u32;
    let rates: Vec<Vec<ClockRate>> = clocks::SOURCES
        .iter()
        .map(|&source| counts.iter().map(|&threads| clocks::measure(source, threads, each)).collect())
        .collect();
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rates.concat())?);
        return Ok(true);
    }
    let header: Vec<String> = counts.iter().map(|&n| plural(n as u64, "thread")).collect();
    let header: Vec<&str> =
        std::iter::once("reads per second").chain(header.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = rates
        .iter()
        .map(|of_source| {
            let name = of_source[0].source.clone();
            std::iter::once(name).chain(of_source.iter().map(|r| count(r.reads_per_second as u64))).collect()
        })
        .collect();
    show!("{}", table(&header, &rows));
    Ok(true)
}
