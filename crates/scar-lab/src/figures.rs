//! The figures of section 8 of the paper: which they are, and how each is measured.
//!
//! All competitors of a point run by turns in one process, and a point is the median of its rounds: what else the
//! machine does meets all of them. Nodes are threads, messages go over TCP and are delayed at their receiver.

use super::machine::Competitor;
use super::run::{Failed, Measured, Setup, round_trips, run};
use super::workload::{Retwis, TpcC, Workload, Ycsb};
use scaledb_scar::Protocol;
use scaledb_sync::Arc;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Each protocol at each point, all rounds together.
    pub measured: Duration,
    /// In so many rounds, of which the median counts.
    pub rounds: u32,
    /// Two points of each axis, small tables: shows that a figure can be made, and no more.
    pub tiny: bool,
    /// Where the random numbers start.
    pub seed: u64,
}

/// A figure of the paper.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name: `scar-7a`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What the first column is.
    pub x: &'static str,
    measure: fn(&Effort, &mut Progress<'_>) -> Result<FigureTable, Failed>,
}

/// A table: what was measured, and what is to be known of it.
#[derive(Clone, Debug, Default)]
pub struct FigureTable {
    /// The names of the columns behind the first.
    pub columns: Vec<String>,
    /// Rows: their name, and a number for each column.
    pub rows: Vec<(String, Vec<f64>)>,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

/// Is told what is measured.
pub type Progress<'a> = dyn FnMut(&str) + 'a;

impl Figure {
    /// Measures it.
    ///
    /// # Errors
    /// A run could not be made.
    pub fn make(&self, effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
        let mut table = (self.measure)(effort, progress)?;
        let rounds = effort.rounds;
        table.notes.push(format!(
            "real nodes: threads of this process, TCP on loopback, delays added at the receiver; median of {rounds} rounds by turns"
        ));
        Ok(table)
    }
}

/// All of them, in the order of the paper.
pub const FIGURES: &[Figure] = &[
    Figure {
        name: "scar-7a",
        title: "Retwis by skew: transactions per second",
        x: "skew",
        measure: retwis_skew,
    },
    Figure {
        name: "scar-7b",
        title: "Retwis by transactions of several partitions, skew 1.2",
        x: "cross %",
        measure: retwis_cross,
    },
    Figure {
        name: "scar-7c",
        title: "Retwis, skew 1.2: until a transaction has its place, microseconds",
        x: "quantile",
        measure: retwis_latency,
    },
    Figure { name: "scar-8a", title: "YCSB by skew: transactions per second", x: "skew", measure: ycsb_skew },
    Figure {
        name: "scar-8b",
        title: "YCSB by transactions of several partitions, skew 1.2",
        x: "cross %",
        measure: ycsb_cross,
    },
    Figure {
        name: "scar-8c",
        title: "YCSB, skew 1.2: until a transaction has its place, microseconds",
        x: "quantile",
        measure: ycsb_latency,
    },
    Figure {
        name: "scar-9",
        title: "TPC-C New-Order: transactions per second",
        x: "items",
        measure: new_order,
    },
    Figure { name: "scar-10", title: "YCSB by replicas, skew 1.2", x: "replicas", measure: replicas },
    Figure { name: "scar-11", title: "YCSB over a wide area, skew 1.2", x: "database", measure: wide_area },
    Figure {
        name: "scar-12",
        title: "Eight skewed operations: serializable and snapshot isolation",
        x: "skew",
        measure: isolation,
    },
    Figure {
        name: "scar-13",
        title: "Transactions under snapshot isolation that were serializable",
        x: "skew",
        measure: anomalies,
    },
    Figure {
        name: "scar-14a",
        title: "Retwis, skew 1.2: one technique after the other",
        x: "with",
        measure: factors_retwis,
    },
    Figure {
        name: "scar-14b",
        title: "YCSB, skew 1.2: one technique after the other",
        x: "with",
        measure: factors_ycsb,
    },
    Figure {
        name: "scar-14c",
        title: "Snapshot isolation: locks and reads asked for together, times serializable without",
        x: "skew",
        measure: parallel,
    },
    Figure {
        name: "scar-table-1",
        title: "Round trips between nodes, milliseconds",
        x: "from",
        measure: table,
    },
    Figure {
        name: "scar-clients",
        title: "Retwis, skew 1.2, by clients of each node",
        x: "clients",
        measure: clients,
    },
    Figure {
        name: "scar-nodes",
        title: "Retwis, skew 1.2, on one, three and five nodes",
        x: "nodes",
        measure: nodes,
    },
    Figure {
        name: "scar-barrier",
        title: "Retwis, skew 1.2, by the length of an epoch",
        x: "ms",
        measure: barrier,
    },
];

/// What the paper describes: under serializability nothing is asked for together with the locks.
const OF_PAPER: Protocol = Protocol { parallel: false, ..Protocol::SCAR };

/// Those that are compared.
const ALL: [(&str, Competitor); 5] = [
    ("SCAR", Competitor::Optimistic(Protocol::SCAR)),
    ("SCAR of the paper", Competitor::Optimistic(OF_PAPER)),
    ("OCC", Competitor::Optimistic(Protocol::OCC)),
    ("S2PL", Competitor::Locking),
    ("RC", Competitor::Optimistic(Protocol::READ_COMMITTED)),
];

const SKEWS: [f64; 5] = [0.0, 0.6, 1.2, 1.8, 2.4];
const CROSS: [u32; 6] = [0, 20, 40, 60, 80, 100];

/// The cluster of the local figures.
const NODES: u8 = 4;
const PARTITIONS: u16 = 8;
const REPLICAS: u8 = 3;
/// A worker of the paper has one transaction at a time and a processor, which waits while messages are under way. A
/// node here is one thread, so it has one client.
const CLIENTS: usize = 1;
/// Clients of a node that is never idle; and of one among those that contend.
const BUSY: usize = 16;
const DELAY: Duration = Duration::from_micros(100);

/// Round trips of the paper's table 1, in microseconds: North Virginia, Ohio, North California.
const PLACES: [&str; 3] = ["N. Virginia", "Ohio", "N. California"];
const WIDE: [[u64; 3]; 3] = [[0, 11_326, 60_949], [11_314, 0, 50_002], [60_957, 50_043, 0]];

impl Effort {
    fn keys(&self) -> u64 {
        if self.tiny { 200 } else { 100_000 }
    }

    /// The first and the last of an axis, if that is enough.
    fn of<T: Copy>(&self, all: &[T]) -> Vec<T> {
        if self.tiny { all.first().into_iter().chain(all.last()).copied().collect() } else { all.to_vec() }
    }

    fn local(&self, workload: Arc<dyn Workload>, partitions: u16) -> Setup {
        let slice = self.measured / self.rounds.max(1);
        Setup {
            competitor: Competitor::Locking,
            workload,
            nodes: NODES,
            partitions,
            replicas: REPLICAS,
            clients: CLIENTS,
            delays: vec![vec![DELAY; usize::from(NODES)]; usize::from(NODES)],
            epoch: Duration::from_millis(10),
            warm_up: slice / 3,
            measured: slice,
            seed: self.seed,
            keep_history: false,
        }
    }

    /// Runs all of them by turns; the median of each by its throughput.
    fn compare(
        &self,
        setup: &Setup,
        competitors: &[(&str, Competitor)],
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Measured>, Failed> {
        let mut rounds: Vec<Vec<Measured>> = vec![Vec::new(); competitors.len()];
        for round in 0..self.rounds.max(1) {
            for (runs, &(name, competitor)) in rounds.iter_mut().zip(competitors) {
                progress(&format!("{name}, round {}", round + 1));
                let seed = setup.seed.wrapping_add(u64::from(round));
                runs.push(run(&Setup { competitor, seed, ..setup.clone() })?);
            }
        }
        let median = |mut runs: Vec<Measured>| {
            runs.sort_by(|a, b| a.throughput.total_cmp(&b.throughput));
            runs.swap_remove(runs.len() / 2)
        };
        Ok(rounds.into_iter().map(median).collect())
    }

    /// A row for each setup. Columns, for each competitor: transactions per second by its name; then `cpu`,
    /// microseconds of processor time for a transaction; `messages`; `bytes`.
    fn each(&self, setups: Vec<(String, Setup)>, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
        let names = ALL.map(|(name, _)| name);
        let kinds = ["", " cpu", " messages", " bytes"];
        let columns = kinds.iter().flat_map(|kind| names.map(|name| format!("{name}{kind}")));
        let mut table = FigureTable { columns: columns.collect(), ..FigureTable::default() };
        for (name, setup) in setups {
            let all = self.compare(&setup, &ALL, &mut |what| progress(&format!("{name}: {what}")))?;
            let values = [
                |measured: &Measured| measured.throughput,
                |measured: &Measured| measured.processor.unwrap_or_default(),
                |measured: &Measured| measured.messages,
                |measured: &Measured| measured.bytes,
            ];
            table.rows.push((name, values.iter().flat_map(|value| all.iter().map(value)).collect()));
        }
        Ok(table)
    }
}

fn retwis(effort: &Effort, skew: f64, cross: u32) -> Setup {
    effort.local(Arc::new(Retwis::new(PARTITIONS, effort.keys(), skew, cross)), PARTITIONS)
}

fn ycsb(effort: &Effort, skew: f64, cross: u32) -> Setup {
    effort.local(Arc::new(Ycsb::new(PARTITIONS, effort.keys(), skew, cross)), PARTITIONS)
}

fn contended(effort: &Effort, skew: f64) -> Setup {
    let workload = Arc::new(Ycsb::contended(PARTITIONS, effort.keys(), skew, 50));
    Setup { clients: BUSY, ..effort.local(workload, PARTITIONS) }
}

fn retwis_skew(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let setups = effort.of(&SKEWS).into_iter().map(|skew| (skew.to_string(), retwis(effort, skew, 50)));
    effort.each(setups.collect(), progress)
}

fn retwis_cross(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let setups = effort.of(&CROSS).into_iter().map(|cross| (cross.to_string(), retwis(effort, 1.2, cross)));
    effort.each(setups.collect(), progress)
}

fn ycsb_skew(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let setups = effort.of(&SKEWS).into_iter().map(|skew| (skew.to_string(), ycsb(effort, skew, 50)));
    effort.each(setups.collect(), progress)
}

fn ycsb_cross(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let setups = effort.of(&CROSS).into_iter().map(|cross| (cross.to_string(), ycsb(effort, 1.2, cross)));
    effort.each(setups.collect(), progress)
}

fn latencies(effort: &Effort, setup: &Setup, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let all = effort.compare(setup, &ALL, progress)?;
    let row = |quantile: f64| {
        let values = all.iter().map(|measured| measured.latency(quantile).as_micros() as f64);
        (quantile.to_string(), values.collect())
    };
    Ok(FigureTable {
        columns: ALL.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: [0.1, 0.25, 0.5, 0.75, 0.9, 0.99].map(row).into(),
        notes: vec!["from the first attempt of a transaction, retries included".into()],
    })
}

fn retwis_latency(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    latencies(effort, &retwis(effort, 1.2, 50), progress)
}

fn ycsb_latency(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    latencies(effort, &ycsb(effort, 1.2, 50), progress)
}

fn new_order(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let setup = |everywhere| {
        let workload = TpcC::new(PARTITIONS, everywhere);
        let partitions = workload.partitions();
        effort.local(Arc::new(workload), partitions)
    };
    let setups = vec![("replicated".to_owned(), setup(true)), ("partitioned".to_owned(), setup(false))];
    let mut table = effort.each(setups, progress)?;
    table.notes.push("a tenth of TPC-C's customers and items".into());
    Ok(table)
}

fn replicas(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let counts = effort.of(&[1, 2, 3, NODES]);
    let setups = counts
        .into_iter()
        .map(|count| (count.to_string(), Setup { replicas: count, ..ycsb(effort, 1.2, 50) }));
    effort.each(setups.collect(), progress)
}

/// Half of a round trip each way.
fn wide_delays() -> Vec<Vec<Duration>> {
    WIDE.iter().map(|row| row.iter().map(|&us| Duration::from_micros(us / 2)).collect()).collect()
}

fn wide_area(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    const NODES: u16 = 3;
    let setup = |replicas| {
        let workload = Arc::new(Ycsb::new(NODES, 4 * effort.keys(), 1.2, 50));
        // a round must last longer than a transaction of several round trips, and an epoch
        let measured = if effort.tiny { Duration::from_millis(600) } else { effort.measured * 2 };
        Setup {
            nodes: NODES as u8,
            replicas,
            clients: 6,
            delays: wide_delays(),
            epoch: Duration::from_secs(1),
            warm_up: measured / 4,
            measured,
            ..effort.local(workload, NODES)
        }
    };
    let setups = vec![("partitioned".to_owned(), setup(1)), ("replicated".to_owned(), setup(3))];
    let mut table = effort.each(setups, progress)?;
    table.notes.push("round trips of table 1; epochs of 1 s; 6 clients at each of 3 nodes".into());
    Ok(table)
}

const TWO: [(&str, Competitor); 2] = [
    ("serializable", Competitor::Optimistic(Protocol::SCAR)),
    ("SI", Competitor::SnapshotIsolation(Protocol::SCAR)),
];

fn isolation(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let columns = ["serializable", "SI", "SI/serializable", "aborts ser.", "aborts SI"];
    let mut table = FigureTable { columns: columns.map(str::to_owned).into(), ..FigureTable::default() };
    for skew in effort.of(&SKEWS) {
        let all = effort.compare(&contended(effort, skew), &TWO, progress)?;
        let (one, other) = (all[0].throughput, all[1].throughput);
        let values = vec![one, other, other / one.max(1e-9), all[0].aborts, all[1].aborts];
        table.rows.push((skew.to_string(), values));
    }
    Ok(table)
}

fn anomalies(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let mut table =
        FigureTable { columns: vec!["SI".into(), "serializable %".into()], ..FigureTable::default() };
    for skew in effort.of(&SKEWS) {
        let all = effort.compare(&contended(effort, skew), &TWO[1..], progress)?;
        table.rows.push((skew.to_string(), vec![all[0].throughput, 100.0 * all[0].serializable]));
    }
    table
        .notes
        .push("here a transaction counts also if its reads are known to be valid when it writes".into());
    Ok(table)
}

fn factors(effort: &Effort, setup: &Setup, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let base = |protocol: Protocol| Protocol {
        local_reads: false,
        local_validation: false,
        time_sync: false,
        parallel: false,
        ..protocol
    };
    let (scar, occ) = (base(Protocol::SCAR), base(Protocol::OCC));
    let read_committed = base(Protocol::READ_COMMITTED);
    let local = |protocol: Protocol| Protocol { local_reads: true, ..protocol };
    let validated = Protocol { local_validation: true, ..local(scar) };
    let synchronized = Protocol { time_sync: true, ..validated };
    let all = [
        ("SCAR", scar),
        ("SCAR +LR", local(scar)),
        ("SCAR +LR+LV", validated),
        ("SCAR +LR+LV+TS", synchronized),
        ("SCAR +LR+LV+TS+PLV", Protocol::SCAR),
        ("OCC", occ),
        ("OCC +LR", local(occ)),
        ("RC", read_committed),
        ("RC +LR", local(read_committed)),
    ];
    let competitors = all.map(|(name, protocol)| (name, Competitor::Optimistic(protocol)));
    let measured = effort.compare(setup, &competitors, progress)?;
    let columns = ["per second", "times its base", "messages"];
    let mut table = FigureTable { columns: columns.map(str::to_owned).into(), ..FigureTable::default() };
    let mut first = 1.0;
    for ((name, _), measured) in competitors.iter().zip(measured) {
        if !name.contains('+') {
            first = measured.throughput.max(1e-9);
        }
        let values = vec![measured.throughput, measured.throughput / first, measured.messages];
        table.rows.push(((*name).to_owned(), values));
    }
    table.notes.push(
        "PLV under serializability is ours: reads are promised ahead until the time that is foreseen".into(),
    );
    Ok(table)
}

fn factors_retwis(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    factors(effort, &retwis(effort, 1.2, 50), progress)
}

fn factors_ycsb(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    factors(effort, &ycsb(effort, 1.2, 50), progress)
}

fn parallel(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let without = Protocol { parallel: false, ..Protocol::SCAR };
    let three = [
        ("serializable", Competitor::Optimistic(without)),
        ("SI", Competitor::SnapshotIsolation(without)),
        ("SI +PLV", Competitor::SnapshotIsolation(Protocol::SCAR)),
    ];
    let columns = ["serializable", "SI", "SI +PLV", "SI times", "SI +PLV times"];
    let mut table = FigureTable { columns: columns.map(str::to_owned).into(), ..FigureTable::default() };
    for skew in effort.of(&SKEWS) {
        let all = effort.compare(&contended(effort, skew), &three, progress)?;
        let each: Vec<f64> = all.iter().map(|measured| measured.throughput).collect();
        let times = each[1..].iter().map(|value| value / each[0].max(1e-9));
        table.rows.push((skew.to_string(), each.iter().copied().chain(times).collect()));
    }
    Ok(table)
}

/// Transactions per second, and microseconds: to their place, processor time.
fn alone(
    setups: Vec<(String, Setup)>,
    effort: &Effort,
    progress: &mut Progress<'_>,
) -> Result<FigureTable, Failed> {
    let columns = ["per second", "median", "of a hundred 99", "cpu", "messages", "bytes"];
    let mut table = FigureTable { columns: columns.map(str::to_owned).into(), ..FigureTable::default() };
    for (name, setup) in setups {
        let all = effort.compare(&setup, &ALL[..1], &mut |what| progress(&format!("{name}: {what}")))?;
        let latency = |quantile| all[0].latency(quantile).as_micros() as f64;
        let Measured { throughput, processor, messages, bytes, .. } = all[0];
        let values =
            vec![throughput, latency(0.5), latency(0.99), processor.unwrap_or_default(), messages, bytes];
        table.rows.push((name, values));
    }
    Ok(table)
}

fn clients(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let setups = effort
        .of(&[1, 2, 4, 8, BUSY])
        .into_iter()
        .map(|clients| (clients.to_string(), Setup { clients, ..retwis(effort, 1.2, 50) }));
    effort.each(setups.collect(), progress)
}

fn nodes(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let setups = [1u8, 3, 5].into_iter().map(|nodes| {
        let partitions = 2 * u16::from(nodes);
        let workload = Arc::new(Retwis::new(partitions, effort.keys(), 1.2, 50));
        let delays = vec![vec![DELAY; usize::from(nodes)]; usize::from(nodes)];
        let replicas = nodes.min(REPLICAS);
        let local = effort.local(workload, partitions);
        (nodes.to_string(), Setup { nodes, replicas, delays, clients: BUSY, ..local })
    });
    alone(setups.collect(), effort, progress)
}

fn barrier(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    let lengths = effort.of(&[2, 5, 10, 20, 50, 100]);
    let busy = Setup { clients: BUSY, ..retwis(effort, 1.2, 50) };
    let setups = lengths
        .into_iter()
        .map(|ms| (ms.to_string(), Setup { epoch: Duration::from_millis(ms), ..busy.clone() }));
    alone(setups.collect(), effort, progress)
}

fn table(effort: &Effort, progress: &mut Progress<'_>) -> Result<FigureTable, Failed> {
    progress("round trips");
    let measured = if effort.tiny { Duration::from_millis(200) } else { effort.measured };
    let times = round_trips(&wide_delays(), measured)?;
    let row = |(from, times): (&str, Vec<Option<Duration>>)| {
        let times = times.into_iter().map(|time| time.map_or(0.0, |time| time.as_secs_f64() * 1e3));
        (from.to_owned(), times.collect())
    };
    Ok(FigureTable {
        columns: PLACES.map(str::to_owned).into(),
        rows: PLACES.into_iter().zip(times).map(row).collect(),
        notes: vec![
            "what is added is half of the published round trip each way; the rest is this machine".into(),
        ],
    })
}
