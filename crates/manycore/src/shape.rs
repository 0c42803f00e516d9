//! The workloads, at sizes that a simulation of 128 cores can hold.

use crate::ask::Ask;
use clap::ValueEnum;
use scaledb_engine::Engine;
use scaledb_sync::Arc;
use scaledb_sync::lock::Mutex;
use scaledb_workloads::driver::{self, Options, Outcome, Workload, micros_since_2000};
use scaledb_workloads::epinions::{self, Epinions};
use scaledb_workloads::report::Report;
use scaledb_workloads::seats::{self, Seats};
use scaledb_workloads::smallbank::{self, SmallBank};
use scaledb_workloads::tpcc::{self, Mix, Scale, Tables, Tpcc};
use scaledb_workloads::ycsb::{self, Ycsb};
use serde::{Deserialize, Serialize};

/// Rows of `item`, and of `stock` per warehouse: a twentieth. Less fits the caches better, which lets what cores share
/// weigh more.
const ITEMS: u32 = 5_000;
/// Customers of a district: a twentieth.
const CUSTOMERS: u16 = 150;
/// Records of YCSB.
const RECORDS: u64 = 200_000;
/// Customers of SEATS, and users of Epinions.
const PEOPLE: u64 = 5_000;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// TPC-C, a warehouse per core.
    Tpcc,
    /// TPC-C on four warehouses.
    #[value(name = "tpcc-4")]
    Tpcc4,
    /// TPC-C on one warehouse.
    #[value(name = "tpcc-1")]
    Tpcc1,
    /// New-Order and Delivery, a warehouse per core.
    NewOrderDelivery,
    /// New-Order and Payment, a warehouse per core.
    NewOrderPayment,
    /// YCSB: half single reads, half inserts.
    #[value(name = "read-insert-50")]
    ReadInsert50,
    /// YCSB: 95 % single reads, 5 % inserts.
    #[value(name = "read-insert-95")]
    ReadInsert95,
    /// YCSB: transactions of 16 requests, half of them read-modify-writes, skew 0.9.
    #[value(name = "rmw-90")]
    Rmw90,
    /// The same at skew 0.99.
    #[value(name = "rmw-99")]
    Rmw99,
    /// YCSB: single reads.
    Reads,
    /// YCSB: half reads, half updates.
    #[value(name = "ycsb-a")]
    YcsbA,
    /// YCSB: scans of up to 100 records, 5 % inserts.
    Scans,
    /// SmallBank.
    Smallbank,
    /// SEATS.
    Seats,
    /// Epinions.
    Epinions,
}

impl Shape {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn ycsb(self, ask: &Ask) -> Option<ycsb::Config> {
        let config = match self {
            Self::ReadInsert50 => ycsb::Config::read_insert(50),
            Self::ReadInsert95 => ycsb::Config::read_insert(95),
            Self::Rmw90 => ycsb::Config { theta: 0.9, ..ycsb::Config::transactions(16, 50) },
            Self::Rmw99 => ycsb::Config { theta: 0.99, ..ycsb::Config::transactions(16, 50) },
            Self::Reads => ycsb::Config::reads(),
            Self::YcsbA => ycsb::Config::letter('a')?,
            Self::Scans => ycsb::Config::letter('e')?,
            _ => return None,
        };
        let tuning = &ask.tuning;
        let mut config = ycsb::Config { records: tuning.records.unwrap_or(RECORDS), ..config };
        config.theta = tuning.theta.unwrap_or(config.theta);
        config.requests = tuning.requests.unwrap_or(config.requests);
        config.field_bytes = tuning.record_bytes.map_or(config.field_bytes, |bytes| bytes / config.fields);
        if let Some(percent) = tuning.read_percent {
            let others = 100u32.saturating_sub(percent);
            // the workloads that are asked for so do one thing beside reading
            for share in [&mut config.read_modify_write, &mut config.insert, &mut config.update] {
                *share = if *share > 0 { others } else { 0 };
            }
        }
        Some(config)
    }

    /// Loads it on as many threads as run it, calls `loaded`, and runs it.
    ///
    /// # Errors
    /// What the engine returns.
    pub(crate) fn run<E: Engine>(
        self,
        engine: &E,
        options: &Options,
        ask: &Ask,
        synchronous: bool,
        loaded: &mut (dyn FnMut() + Send),
    ) -> Outcome<Report> {
        let (threads, seed) = (options.threads, ask.seed);
        if let Some(config) = self.ycsb(ask) {
            let table = ycsb::UserTable::create(engine, &config, synchronous)?;
            table.load(engine, config.records, threads)?;
            return drive(engine, Ycsb::new(config, table, seed), options, loaded);
        }
        if self == Self::Smallbank {
            let config = smallbank::Config { customers: RECORDS as u32, ..smallbank::Config::default() };
            let tables = Arc::new(smallbank::Tables::create(engine, synchronous)?);
            tables.load(engine, config.customers, seed, threads)?;
            let workload = SmallBank { config, tables, seed, snapshot_reads: false };
            return drive(engine, workload, options, loaded);
        }
        let people = ask.tuning.records.unwrap_or(PEOPLE).min(u32::MAX.into()) as u32;
        if self == Self::Seats {
            let (config, now) = (seats::Config { customers: people }, micros_since_2000());
            let tables = Arc::new(seats::Tables::create(engine, synchronous)?);
            tables.load(engine, config, seed, threads, now)?;
            let workload = Seats::new(config, tables, seed, false, now, &mut engine.worker()?)?;
            return drive(engine, workload, options, loaded);
        }
        if self == Self::Epinions {
            let config = epinions::Config { users: people };
            let tables = Arc::new(epinions::Tables::create(engine, synchronous)?);
            tables.load(engine, config, seed, threads, micros_since_2000())?;
            let workload = Epinions { config, tables, seed, snapshot_reads: false };
            return drive(engine, workload, options, loaded);
        }
        let warehouses = match self {
            Self::Tpcc4 => 4,
            Self::Tpcc1 => 1,
            _ => threads as u16,
        };
        let warehouses = ask.tuning.warehouses.unwrap_or(warehouses);
        let mix = match self {
            Self::NewOrderDelivery => Mix::NewOrderDelivery,
            Self::NewOrderPayment => Mix::NewOrderPayment,
            _ => Mix::Full,
        };
        let small = Scale { warehouses, items: ITEMS, customers: CUSTOMERS };
        let scale = if ask.tuning.full { Scale::full(warehouses) } else { small };
        let tables = Arc::new(Tables::create(engine, scale, synchronous)?);
        tpcc::load(engine, &tables, seed, threads, micros_since_2000())?;
        drive(engine, Tpcc { tables, mix, seed, snapshot_reads: false }, options, loaded)
    }
}

/// A workload that tells when its last client is made: all that is left is to start the threads.
struct Telling<'a, L> {
    workload: L,
    loaded: Mutex<&'a mut (dyn FnMut() + Send)>,
}

impl<L: Workload> Workload for Telling<'_, L> {
    type Client = L::Client;

    fn classes(&self) -> &'static [&'static str] {
        self.workload.classes()
    }

    fn client(&self, number: usize, of: usize) -> L::Client {
        if number + 1 == of {
            (self.loaded.lock())();
        }
        self.workload.client(number, of)
    }

    fn latency_sample(&self) -> u64 {
        self.workload.latency_sample()
    }
}

fn drive<E: Engine, L: Workload>(
    engine: &E,
    workload: L,
    options: &Options,
    loaded: &mut (dyn FnMut() + Send),
) -> Outcome<Report> {
    let workload = Telling { workload, loaded: Mutex::new(loaded) };
    driver::run(engine, &workload, options, |_| ()).map(|(report, _)| report)
}
