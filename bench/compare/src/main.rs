//! ScaleDB's hash structures against other concurrent maps (see README.md).

mod maps;

use maps::{Map, Op};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Barrier;
use std::time::Instant;

/// Operations in one critical section: about a transaction.
const BATCH: u64 = 16;

/// Batches of inserts that each thread runs before the clock starts.
const WARM_UP: u64 = 50;

struct Plan {
    keys: u64,
    ops: u64,
    rounds: usize,
    threads: Vec<u64>,
    only: Vec<String>,
    json: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Mode {
    Read,
    Mixed,
    Insert,
}

/// One run. The processor time is what is left when others use the machine, too.
#[derive(Clone, Copy)]
struct Figure {
    mops: f64,
    cpu_ns: f64,
}

/// (mode, threads) -> one figure for each round
type Figures = BTreeMap<(Mode, u64), Vec<Figure>>;

/// The i-th key: a bijection that looks random.
#[inline(always)]
fn key(i: u64) -> u64 {
    let x = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[inline(always)]
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Runs `ops` operations in all on `threads` threads; returns million operations per second.
fn run<M: Map>(map: &M, mode: Mode, threads: u64, ops: u64, keys: u64, from: &mut u64) -> Figure {
    let barrier = Barrier::new(threads as usize);
    let each = ops / threads / BATCH * BATCH;
    let start = *from;
    let (wall, cpu) = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|t| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut worker = map.worker();
                    let mut seed = 0x1234_5678_9abc_def1 ^ (start + t + 1).wrapping_mul(0x9e37_79b9);
                    let mut new = start + t * (each + WARM_UP * BATCH);
                    // fills caches and touches the thread's first memory, untimed
                    for _ in 0..WARM_UP {
                        let ops = (0..BATCH).map(|_| {
                            new += 1;
                            Op::Insert(key(new - 1))
                        });
                        M::batch(&mut worker, ops);
                    }
                    barrier.wait();
                    let (began, cpu) = (Instant::now(), cpu_seconds());
                    for _ in 0..each / BATCH {
                        let ops = (0..BATCH).map(|i| {
                            let read = match mode {
                                Mode::Read => true,
                                Mode::Mixed => i % 2 == 0,
                                Mode::Insert => false,
                            };
                            if read {
                                Op::Get(key((u128::from(next(&mut seed)) * u128::from(keys) >> 64) as u64))
                            } else {
                                new += 1;
                                Op::Insert(key(new - 1))
                            }
                        });
                        std::hint::black_box(M::batch(&mut worker, ops));
                    }
                    (began, Instant::now(), cpu_seconds() - cpu)
                })
            })
            .collect();
        let times: Vec<_> = handles.into_iter().map(|h| h.join().expect("a worker failed")).collect();
        let first = times.iter().map(|t| t.0).min().expect("at least one");
        let last = times.iter().map(|t| t.1).max().expect("at least one");
        ((last - first).as_secs_f64(), times.iter().map(|t| t.2).sum::<f64>())
    });
    *from += (each + WARM_UP * BATCH) * threads;
    let ops = (each * threads) as f64;
    Figure { mops: ops / wall / 1e6, cpu_ns: cpu * 1e9 / ops }
}

/// Processor time of the calling thread.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn contest<M: Map>(plan: &Plan, round: usize, figures: &mut Figures) {
    let modes = [Mode::Read, Mode::Mixed, Mode::Insert];
    // what all runs of a round insert: everything but the reads, half of the mixed ones
    let map = M::new((plan.keys + plan.ops * 2 * plan.threads.len() as u64) as usize);
    let mut from = 0;
    let load = run(&map, Mode::Insert, 2, plan.keys.next_multiple_of(2 * BATCH), plan.keys, &mut from);
    figures.entry((Mode::Insert, 0)).or_default().push(load);
    for mode in modes {
        for i in 0..plan.threads.len() {
            // another order in each round: the maps grow a little on the way
            let threads = plan.threads[(i + round) % plan.threads.len()];
            let result = run(&map, mode, threads, plan.ops, plan.keys, &mut from);
            figures.entry((mode, threads)).or_default().push(result);
        }
    }
}

fn median(figures: &[Figure], of: impl Fn(&Figure) -> f64) -> f64 {
    let mut values: Vec<_> = figures.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn plan() -> Plan {
    let mut plan = Plan {
        keys: 5_000_000,
        ops: 400_000,
        rounds: 5,
        threads: vec![1, 2, 4, 8],
        only: Vec::new(),
        json: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("the option takes a value");
        match arg.as_str() {
            "--quick" => (plan.keys, plan.ops, plan.rounds) = (200_000, 50_000, 2),
            "--keys" => plan.keys = value().parse().expect("a number"),
            "--ops" => plan.ops = value().parse().expect("a number"),
            "--rounds" => plan.rounds = value().parse().expect("a number"),
            "--threads" => {
                plan.threads = value().split(',').map(|t| t.parse().expect("a number")).collect();
            }
            "--only" => plan.only = value().split(',').map(String::from).collect(),
            "--json" => plan.json = Some(value()),
            _ => {
                println!(
                    "scaledb-compare [--quick] [--keys N] [--ops N] [--rounds N] [--threads 1,2,4,8]\n\
                     \x20               [--only NAME,NAME] [--json FILE]"
                );
                std::process::exit(i32::from(arg != "--help"));
            }
        }
    }
    plan
}

type Contestant = (&'static str, fn(&Plan, usize, &mut Figures));

const CONTESTANTS: [Contestant; 8] = [
    ("indexlet", contest::<maps::OurIndexlet>),
    ("hash-index", contest::<maps::OurHashIndex>),
    ("scc-hashmap", contest::<maps::SccHashMap>),
    ("scc-hashindex", contest::<maps::SccHashIndex>),
    ("dashmap", contest::<maps::DashMap>),
    ("papaya", contest::<maps::Papaya>),
    ("congee", contest::<maps::Congee>),
    ("skiplist", contest::<maps::SkipList>),
];

fn main() {
    let plan = plan();
    let mut all: BTreeMap<usize, Figures> = BTreeMap::new();
    for round in 0..plan.rounds {
        for i in 0..CONTESTANTS.len() {
            let who = (i + round) % CONTESTANTS.len();
            let (name, contest) = CONTESTANTS[who];
            if plan.only.is_empty() || plan.only.iter().any(|o| o == name) {
                eprint!("\rround {} of {}: {name:20}", round + 1, plan.rounds);
                contest(&plan, round, all.entry(who).or_default());
            }
        }
    }
    eprintln!("\r{:40}\r", "");
    println!("medians of {} runs; {} keys", plan.rounds, plan.keys);
    for mode in [Mode::Mixed, Mode::Read, Mode::Insert] {
        print!("\n{:14}million operations per second", format!("{mode:?}").to_lowercase());
        println!("{:>32}", "cpu ns per operation");
        print!("{:14}", "threads");
        (0..2).for_each(|_| plan.threads.iter().for_each(|t| print!("{t:>8}")));
        println!();
        for (&who, figures) in &all {
            print!("{:14}", CONTESTANTS[who].0);
            plan.threads.iter().for_each(|&t| print!("{:>8.2}", median(&figures[&(mode, t)], |f| f.mops)));
            plan.threads.iter().for_each(|&t| print!("{:>8.0}", median(&figures[&(mode, t)], |f| f.cpu_ns)));
            println!();
        }
    }
    println!("\nload of all keys, 2 threads: million operations per second, cpu ns per operation");
    for (&who, figures) in &all {
        let load = &figures[&(Mode::Insert, 0)];
        print!("{:14}{:>8.2}", CONTESTANTS[who].0, median(load, |f| f.mops));
        println!("{:>8.0}", median(load, |f| f.cpu_ns));
    }
    if let Some(path) = &plan.json {
        write_json(path, &plan, &all).expect("the file can be written");
    }
}

fn write_json(path: &str, plan: &Plan, all: &BTreeMap<usize, Figures>) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "{{\"keys\": {}, \"ops\": {}, \"batch\": {BATCH}, \"results\": [", plan.keys, plan.ops)?;
    let mut first = true;
    for (&who, figures) in all {
        for (&(mode, threads), values) in figures {
            let mode = if threads == 0 { "load".into() } else { format!("{mode:?}").to_lowercase() };
            let threads = if threads == 0 { 2 } else { threads };
            let comma = if std::mem::take(&mut first) { "" } else { ",\n" };
            write!(
                out,
                "{comma}  {{\"map\": \"{}\", \"mode\": \"{mode}\", \"threads\": {threads}, \"mops\": {:.3}, \
                 \"cpu_ns\": {:.1}, \"all_mops\": {:.3?}}}",
                CONTESTANTS[who].0,
                median(values, |f| f.mops),
                median(values, |f| f.cpu_ns),
                values.iter().map(|f| f.mops).collect::<Vec<_>>()
            )?;
        }
    }
    writeln!(out, "\n]}}")
}
