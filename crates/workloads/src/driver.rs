//! Runs a workload on worker threads: warm-up, measurement, retries, counters, latencies.
//!
//! On an engine that keeps a log a transaction counts when it is *acknowledged*: when the durable horizon has
//! passed what it depends on. A thread does not wait for that; it stands for many clients, and goes on with
//! the next one's transaction.

mod connected;

pub use connected::{Attempt, ConflictAt, Connected, run_connected};

use crate::cpu::thread_time;
use crate::report::{Abort as AbortRow, ClassReport, Latency, Report};
use hdrhistogram::Histogram;
use scaledb_base::{ConflictKind, Error, TableId, Timestamp};
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::{Clock, Instant};
use scaledb_sync::{CachePadded, thread};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

/// Why a transaction of a workload stopped.
#[derive(Debug, thiserror::Error)]
pub enum Abort {
    /// The engine said so, or the transaction rolled itself back.
    #[error(transparent)]
    Database(#[from] Error),
    /// It read what no consistent database holds. A transaction that is bound to fail its validation may
    /// do so; one that commits may not.
    #[error("inconsistent: {0}")]
    Inconsistent(&'static str),
}

/// What a transaction came to.
pub type Outcome<T = ()> = std::result::Result<T, Abort>;

/// A transaction that a client has prepared.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// Its number in [`Workload::classes`].
    pub class: usize,
    /// How it is begun.
    pub kind: TxnKind,
}

/// A workload: a source of clients.
pub trait Workload: Sync {
    /// One thread's client.
    type Client: Client;

    /// The names of its transactions.
    fn classes(&self) -> &'static [&'static str];

    /// Client `number` of `of`.
    fn client(&self, number: usize, of: usize) -> Self::Client;

    /// One of how many transactions has its latency measured (a power of two): more than 1 where a
    /// measurement would cost a noticeable part of a transaction.
    fn latency_sample(&self) -> u64 {
        1
    }
}

/// One thread's state of a workload.
pub trait Client: Send {
    /// Chooses the next transaction and its input. `now` is the time in microseconds since 2000.
    fn prepare(&mut self, now: i64) -> Transaction;

    /// Runs the prepared transaction up to its commit; after a conflict, again.
    ///
    /// # Errors
    /// [`Error::RolledBack`] where the workload asks for it; else what the engine returns.
    fn execute<W: Worker>(&mut self, worker: &mut W) -> Outcome;

    /// The prepared transaction has committed.
    #[inline]
    fn committed(&mut self) {}
}

/// How a workload is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads.
    pub threads: usize,
    /// How long before counting begins.
    pub warmup: Duration,
    /// How long is counted.
    pub measured: Duration,
    /// Whether each thread stays on a core of its own.
    pub pin: bool,
    /// Whether a transaction counts when it has committed, durable or not.
    pub asynchronous: bool,
}

/// The state of a run, once per second.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Since the run began, warm-up included.
    pub elapsed: Duration,
    /// How long it takes in all.
    pub total: Duration,
    /// Whether the counting has not begun.
    pub warming_up: bool,
    /// Transactions per second since the last report.
    pub per_second: f64,
    /// Conflicts per second since the last report.
    pub conflicts_per_second: f64,
}

/// Microseconds since 2000-01-01 00:00:00 UTC.
pub fn micros_since_2000() -> i64 {
    const UNIX_SECONDS_OF_2000: u64 = 946_684_800;
    if scaledb_sync::SIMULATED {
        return 0;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as i64 - UNIX_SECONDS_OF_2000 as i64 * 1_000_000
}

const WARM_UP: u64 = 0;
const MEASURE: u64 = 1;
const STOP: u64 = 2;

/// What the main thread and one worker thread tell each other, on cache lines of their own.
#[derive(Debug, Default)]
struct Channel {
    phase: CachePadded<AtomicU64>,
    /// Transactions that ended and conflicts so far, written by the worker alone.
    ended: CachePadded<AtomicU64>,
    conflicts: CachePadded<AtomicU64>,
    /// The last transaction that is to be acknowledged: what it depends on, as a raw timestamp.
    newest: CachePadded<AtomicU64>,
}

/// A thread's counters of one class; `K` is what conflicts are told apart by.
struct Counters<K> {
    commits: u64,
    rollbacks: u64,
    retried: u64,
    aborts: BTreeMap<K, u64>,
    /// In ticks.
    latency: Histogram<u32>,
}

/// Conflicts of the engine: where, and of what kind.
type EngineCounters = Counters<(TableId, ConflictKind)>;

impl<K: Ord + Clone> Counters<K> {
    fn new(clock: &Clock) -> Self {
        let longest = clock.ticks(Duration::from_secs(100));
        let latency = Histogram::new_with_bounds(1, longest, 2).expect("the bounds are sound");
        Self { commits: 0, rollbacks: 0, retried: 0, aborts: BTreeMap::new(), latency }
    }

    fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.retried += other.retried;
        other.aborts.iter().for_each(|(key, &n)| *self.aborts.entry(key.clone()).or_default() += n);
        self.latency.add(&other.latency).expect("the bounds are equal");
    }
}

/// Runs `workload` and hands back what it did, and the clients for further checks. `progress` is called
/// once per second.
///
/// # Errors
/// The first error of a thread that is neither a conflict nor a rollback; all threads have ended then.
pub fn run<E: Engine, L: Workload>(
    engine: &E,
    workload: &L,
    options: &Options,
    mut progress: impl FnMut(&Progress),
) -> Outcome<(Report, Vec<L::Client>)> {
    let threads = options.threads.max(1);
    let before = engine.stats();
    let clock = Clock::new(0);
    let channels: Vec<Channel> = (0..threads).map(|_| Channel::default()).collect();
    let cores = if options.pin { core_affinity::get_core_ids().unwrap_or_default() } else { Vec::new() };
    let mut setup = Vec::new();
    for (number, channel) in channels.iter().enumerate() {
        let client = workload.client(number, threads);
        setup.push((engine.worker()?, client, channel, cores.get(number % cores.len().max(1)).copied()));
    }
    let clock_ref = &clock;
    let (classes, sample) = (workload.classes().len(), workload.latency_sample());
    let results: Vec<_> = thread::scope(|scope| {
        let handles: Vec<_> = setup
            .into_iter()
            .enumerate()
            .map(|(number, (worker, client, channel, core))| {
                thread::place_next(number);
                scope.spawn(move || {
                    core.map(core_affinity::set_for_current);
                    let waits = !options.asynchronous && engine.durable() < Timestamp::MAX;
                    let unacknowledged = waits.then(VecDeque::new);
                    Thread { engine, worker, client, channel, clock: clock_ref, sample, unacknowledged }
                        .work(classes)
                })
            })
            .collect();
        if !options.asynchronous && engine.durable() < Timestamp::MAX {
            scope.spawn(|| await_durable(engine, &channels));
        }
        conduct(&channels, &handles, options, &mut progress);
        handles.into_iter().map(|handle| handle.join().expect("a worker thread does not panic")).collect()
    });
    let mut totals: Vec<EngineCounters> = (0..classes).map(|_| Counters::new(&clock)).collect();
    let (mut clients, mut seconds, mut cpu) = (Vec::new(), 0.0, Some(Duration::ZERO));
    for result in results {
        let Worked { client, counters, measured, cpu: thread_cpu } = result?;
        totals.iter_mut().zip(&counters).for_each(|(total, counters)| total.add(counters));
        clients.push(client);
        seconds += measured.as_secs_f64() / threads as f64;
        cpu = cpu.zip(thread_cpu).map(|(a, b)| a + b);
    }
    let classes = summarize(engine, workload, &clock, &totals);
    let report = Report::new(engine.name(), threads, seconds, cpu, classes, (&before, &engine.stats()));
    Ok((report, clients))
}

/// The main thread's part: phases and progress.
fn conduct<T>(
    channels: &[Channel],
    handles: &[thread::ScopedJoinHandle<'_, T>],
    options: &Options,
    progress: &mut impl FnMut(&Progress),
) {
    // read by the worker's Relaxed load; a phase carries no other data
    let set_phase = |phase| channels.iter().for_each(|c| c.phase.store(phase, Ordering::Relaxed));
    let sum = |counter: fn(&Channel) -> &AtomicU64| -> u64 {
        // statistics, not synchronization
        channels.iter().map(|c| counter(c).load(Ordering::Relaxed)).sum()
    };
    let start = Instant::now();
    let total = options.warmup + options.measured;
    let (mut last, mut last_ended, mut last_conflicts) = (Duration::ZERO, 0, 0);
    let mut warming_up = true;
    loop {
        if warming_up && start.elapsed() >= options.warmup {
            warming_up = false;
            set_phase(MEASURE);
        }
        let elapsed = start.elapsed();
        if elapsed >= total || handles.iter().any(thread::ScopedJoinHandle::is_finished) {
            set_phase(STOP);
            return;
        }
        if elapsed - last >= Duration::from_secs(1) {
            let (ended, conflicts) = (sum(|c| &c.ended), sum(|c| &c.conflicts));
            let seconds = (elapsed - last).as_secs_f64();
            progress(&Progress {
                elapsed,
                total,
                warming_up,
                per_second: (ended - last_ended) as f64 / seconds,
                conflicts_per_second: (conflicts - last_conflicts) as f64 / seconds,
            });
            (last, last_ended, last_conflicts) = (elapsed, ended, conflicts);
        }
        let next = if warming_up { options.warmup } else { total };
        let next = next.min(last + Duration::from_secs(1));
        thread::sleep(
            next.saturating_sub(start.elapsed()).clamp(Duration::from_millis(1), Duration::from_millis(100)),
        );
    }
}

/// Stands for all clients that wait for the disk: keeps the engine writing until the run stops.
fn await_durable<E: Engine>(engine: &E, channels: &[Channel]) {
    // a phase carries no other data
    while channels.iter().all(|c| c.phase.load(Ordering::Relaxed) != STOP) {
        // only the number counts
        let newest = channels.iter().map(|c| c.newest.load(Ordering::Relaxed)).max().unwrap_or_default();
        if newest < engine.durable().raw() {
            thread::sleep(Duration::from_micros(50));
        } else if engine.wait_durable(Timestamp::from_raw(newest)).is_err() {
            // the workers fail with the same error
            return;
        }
    }
}

/// What a worker thread has done.
struct Worked<C> {
    client: C,
    /// Of the measured time.
    counters: Vec<EngineCounters>,
    measured: Duration,
    /// The processor time in it, where the system tells.
    cpu: Option<Duration>,
}

/// A committed transaction whose client does not know it yet.
struct Unacknowledged {
    depends_on: Timestamp,
    class: usize,
    /// When it was begun, in ticks, if its latency is measured.
    begun: Option<u64>,
}

/// Transactions of a thread that may be on their way to the disk: its clients.
const CLIENTS: usize = 16_384;

/// A worker thread.
struct Thread<'a, E, W, C> {
    engine: &'a E,
    worker: W,
    /// In the order of their commits; `None` if the engine keeps no log.
    unacknowledged: Option<VecDeque<Unacknowledged>>,
    client: C,
    channel: &'a Channel,
    clock: &'a Clock,
    sample: u64,
}

impl<E: Engine, W: Worker, C: Client> Thread<'_, E, W, C> {
    /// Runs transactions until told to stop.
    fn work(mut self, classes: usize) -> Outcome<Worked<C>> {
        let clock = self.clock;
        let fresh = || (0..classes).map(|_| Counters::new(clock)).collect::<Vec<_>>();
        let mut counters = fresh();
        let (origin, origin_micros) = (clock.now(), micros_since_2000());
        let micros_per_tick = 1e6 / clock.ticks_per_second();
        let (mut measured_from, mut before) = (origin, origin);
        let (mut ended, mut conflicts) = (0, 0);
        let mut cpu_before = thread_time();
        let mut phase = WARM_UP;
        let mut number = 0u64;
        loop {
            // no data comes with a phase
            let now_phase = self.channel.phase.load(Ordering::Relaxed);
            if now_phase != phase {
                before = clock.now();
                if phase == WARM_UP {
                    counters = fresh();
                    measured_from = before;
                    cpu_before = thread_time();
                }
                if now_phase == STOP {
                    let measured = clock.duration(before - measured_from);
                    let cpu = thread_time().zip(cpu_before).map(|(after, before)| after - before);
                    return Ok(Worked { client: self.client, counters, measured, cpu });
                }
                phase = now_phase;
            }
            number += 1;
            let sampled = number & (self.sample - 1) == 0;
            if sampled && self.sample > 1 {
                before = clock.now();
            }
            let micros = ((before - origin) as f64 * micros_per_tick) as i64;
            let transaction = self.client.prepare(origin_micros + micros);
            let (retries, committed) = self.transact(transaction, &mut counters[transaction.class])?;
            if self.unacknowledged.is_some() {
                let begun = sampled.then_some(before);
                self.acknowledge(transaction.class, committed, begun, &mut counters)?;
                before = clock.now();
            } else {
                let counters = &mut counters[transaction.class];
                counters.commits += u64::from(committed);
                // the end of one transaction is the beginning of the next
                if sampled {
                    let after = clock.now();
                    counters.latency.saturating_record(after - before);
                    before = after;
                }
            }
            ended += 1;
            conflicts += u64::from(retries);
            // statistics for the progress report
            self.channel.ended.store(ended, Ordering::Relaxed);
            self.channel.conflicts.store(conflicts, Ordering::Relaxed);
        }
    }

    /// Notes a transaction that has just ended, and counts those that have become durable.
    fn acknowledge(
        &mut self,
        class: usize,
        committed: bool,
        begun: Option<u64>,
        counters: &mut [EngineCounters],
    ) -> Outcome {
        let Some(waiting) = &mut self.unacknowledged else { return Ok(()) };
        if committed {
            let depends_on = self.worker.depends_on();
            waiting.push_back(Unacknowledged { depends_on, class, begun });
            // read by `await_durable`; only the number counts
            self.channel.newest.store(depends_on.raw(), Ordering::Relaxed);
        }
        if waiting.len() > CLIENTS {
            // every client waits for the disk
            self.engine.wait_durable(waiting[0].depends_on)?;
        }
        let durable = self.engine.durable();
        let mut now = None;
        while waiting.front().is_some_and(|first| first.depends_on < durable) {
            let Some(done) = waiting.pop_front() else { break };
            let counters = &mut counters[done.class];
            counters.commits += 1;
            if let Some(begun) = done.begun {
                let now = *now.get_or_insert_with(|| self.clock.now());
                counters.latency.saturating_record(now - begun);
            }
        }
        Ok(())
    }

    /// Runs a prepared transaction until it commits or rolls itself back. Returns the number of retries, and
    /// whether it committed.
    #[inline]
    fn transact(&mut self, transaction: Transaction, counters: &mut EngineCounters) -> Outcome<(u32, bool)> {
        let mut attempt = 0;
        loop {
            self.worker.begin(transaction.kind)?;
            let result = match self.client.execute(&mut self.worker) {
                Ok(()) => self.worker.commit().map_err(Abort::from),
                Err(abort) => Err(abort),
            };
            match result {
                Ok(_) => {
                    self.client.committed();
                    return Ok((attempt, true));
                }
                Err(Abort::Database(Error::RolledBack)) => {
                    self.worker.rollback();
                    counters.rollbacks += 1;
                    return Ok((attempt, false));
                }
                Err(abort) => {
                    attempt += 1;
                    self.retry(abort, attempt, counters)?;
                }
            }
        }
    }

    /// Counts a conflict and waits as the engine likes; anything else is handed back.
    ///
    /// A transaction that reads while others commit may see rows that do not fit together, find a key
    /// taken or a row missing, and stop for that. It is bound to fail its validation: that is tried, and
    /// if it does not fail, the reason stands.
    #[cold]
    fn retry(&mut self, abort: Abort, attempt: u32, counters: &mut EngineCounters) -> Outcome {
        let conflict = match abort {
            Abort::Database(Error::Conflict(conflict)) => conflict,
            Abort::Inconsistent(_) | Abort::Database(Error::DuplicateKey { .. })
                if self.worker.in_transaction() =>
            {
                match self.worker.commit() {
                    Err(Error::Conflict(conflict)) => conflict,
                    _ => return Err(abort),
                }
            }
            abort => {
                self.worker.rollback();
                return Err(abort);
            }
        };
        counters.retried += u64::from(attempt == 1);
        *counters.aborts.entry((conflict.table, conflict.kind)).or_default() += 1;
        self.worker.back_off(attempt);
        Ok(())
    }
}

fn summarize<E: Engine, L: Workload>(
    engine: &E,
    workload: &L,
    clock: &Clock,
    totals: &[EngineCounters],
) -> Vec<ClassReport> {
    let stats = engine.stats();
    let name_of = |table: TableId| {
        let found = stats.tables.iter().find(|t| t.id == Some(table));
        found.map_or_else(|| table.to_string(), |t| t.name.clone())
    };
    let label = |&(table, kind): &(TableId, ConflictKind)| (kind.name().to_owned(), name_of(table));
    let of_names = workload.classes().iter().zip(totals);
    of_names.map(|(name, total)| class_report(name, total, clock, label)).collect()
}

/// The counters of a class as data; `label` tells the kind and the place of a conflict.
fn class_report<K>(
    name: &str,
    total: &Counters<K>,
    clock: &Clock,
    label: impl Fn(&K) -> (String, String),
) -> ClassReport {
    let abort = |(key, &count)| {
        let (kind, table) = label(key);
        AbortRow { kind, table, count }
    };
    ClassReport {
        name: name.to_owned(),
        commits: total.commits,
        rollbacks: total.rollbacks,
        retried: total.retried,
        conflicts: total.aborts.values().sum(),
        aborts: total.aborts.iter().map(abort).collect(),
        latency: Latency::of(&total.latency, clock.ticks_per_second()),
    }
}
