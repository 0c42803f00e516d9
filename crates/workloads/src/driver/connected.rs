//! Runs clients that bring their own connection to a database: of an SQL session, of a server by its protocol.

use super::{
    Channel, Counters, MEASURE, Options, Progress, STOP, WARM_UP, class_report, conduct, micros_since_2000,
};
use crate::report::Report;
use crate::rng::Rng;
use scaledb_engine::Stats;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::clock::Clock;
use scaledb_sync::thread;
use std::time::Duration;

/// Attempts of one transaction at most: what fails so often fails for another reason than concurrency.
const MAX_ATTEMPTS: u32 = 10_000;
/// The wait after the first conflict of a transaction; it doubles up to [`MAX_DOUBLINGS`] times.
const FIRST_WAIT: Duration = Duration::from_micros(20);
const MAX_DOUBLINGS: u32 = 9;

/// Where an attempt failed, and why: to be tried again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConflictAt {
    /// The kind of conflict, as the database names it.
    pub kind: String,
    /// The table or index, as far as the database tells.
    pub table: String,
}

/// What an attempt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Its transaction has committed.
    Committed,
    /// It rolled itself back.
    RolledBack,
    /// The database rolled it back: it may succeed when it is run again.
    Conflict(ConflictAt),
}

/// One thread's client, with its connection.
pub trait Connected: Send {
    /// Why a run ends early.
    type Error: Send;

    /// One of how many transactions has its latency measured (a power of two); those between have the time of the
    /// one before.
    const LATENCY_SAMPLE: u64 = 1;

    /// Chooses the next transaction and its input; its number among the classes. `now` is the time in microseconds
    /// since 2000.
    fn prepare(&mut self, now: i64) -> usize;

    /// Runs the chosen transaction to its end. The connection is outside of a transaction then.
    ///
    /// # Errors
    /// Those that running it again does not help.
    fn attempt(&mut self) -> Result<Attempt, Self::Error>;

    /// The error of a transaction that met this conflict again and again.
    fn given_up(conflict: ConflictAt) -> Self::Error;
}

/// Runs each of `clients` on a thread of its own, and hands back what they did, and the clients. `engine` is the name
/// in the report. `stats` tells the state of the database, if it is at hand: then the clients' processor time is the
/// database's, too.
///
/// # Errors
/// The first error of a client; all threads have ended then.
pub fn run_connected<C: Connected>(
    engine: &str,
    classes: &[&str],
    clients: Vec<C>,
    options: &Options,
    stats: Option<&dyn Fn() -> Stats>,
    mut progress: impl FnMut(&Progress),
) -> Result<(Report, Vec<C>), C::Error> {
    let threads = clients.len();
    let state = || stats.map_or_else(Stats::default, |stats| stats());
    let before = state();
    let clock = Clock::new(0);
    let channels: Vec<Channel> = clients.iter().map(|_| Channel::default()).collect();
    let clock_ref = &clock;
    let results: Vec<_> = thread::scope(|scope| {
        let spawn = |(number, (client, channel))| {
            let rng = Rng::new(0x6261_636B_6F66_6600, number as u64);
            scope.spawn(move || work(client, channel, clock_ref, rng, classes.len()))
        };
        let handles: Vec<_> = clients.into_iter().zip(&channels).enumerate().map(spawn).collect();
        conduct(&channels, &handles, options, &mut progress);
        handles.into_iter().map(|handle| handle.join().expect("a client's thread does not panic")).collect()
    });
    let mut totals: Vec<Counters<ConflictAt>> = classes.iter().map(|_| Counters::new(&clock)).collect();
    let (mut clients, mut seconds, mut cpu) = (Vec::new(), 0.0, stats.map(|_| Duration::ZERO));
    for result in results {
        let worked: Worked<C> = result?;
        totals.iter_mut().zip(&worked.counters).for_each(|(total, counters)| total.add(counters));
        clients.push(worked.client);
        seconds += worked.measured.as_secs_f64() / threads as f64;
        cpu = cpu.zip(worked.cpu).map(|(a, b)| a + b);
    }
    let of_names = classes.iter().zip(&totals);
    let label = |at: &ConflictAt| (at.kind.clone(), at.table.clone());
    let classes = of_names.map(|(name, total)| class_report(name, total, &clock, label)).collect();
    Ok((Report::new(engine, threads, seconds, cpu, classes, (&before, &state())), clients))
}

/// What a client's thread has done.
struct Worked<C> {
    client: C,
    counters: Vec<Counters<ConflictAt>>,
    measured: Duration,
    cpu: Option<Duration>,
}

/// Runs transactions until told to stop.
fn work<C: Connected>(
    mut client: C,
    channel: &Channel,
    clock: &Clock,
    mut rng: Rng,
    classes: usize,
) -> Result<Worked<C>, C::Error> {
    let fresh = || (0..classes).map(|_| Counters::new(clock)).collect::<Vec<_>>();
    let mut counters = fresh();
    let mut measured_from = clock.now();
    let mut cpu_before = crate::cpu::thread_time();
    let mut phase = WARM_UP;
    let (mut ended, mut conflicts) = (0u64, 0);
    let mut micros = micros_since_2000();
    loop {
        // no data comes with a phase
        let now_phase = channel.phase.load(Ordering::Relaxed);
        if now_phase == MEASURE && phase == WARM_UP {
            (counters, measured_from, cpu_before) = (fresh(), clock.now(), crate::cpu::thread_time());
        }
        if now_phase == STOP {
            let measured = clock.duration(clock.now() - measured_from);
            let cpu = crate::cpu::thread_time().zip(cpu_before).map(|(after, before)| after - before);
            return Ok(Worked { client, counters, measured, cpu });
        }
        phase = now_phase;
        let sampled = ended & (C::LATENCY_SAMPLE - 1) == 0;
        let before = sampled.then(|| {
            micros = micros_since_2000();
            clock.now()
        });
        let class = client.prepare(micros);
        let counters = &mut counters[class];
        let mut attempt = 0;
        let committed = loop {
            match client.attempt()? {
                Attempt::Committed => break true,
                Attempt::RolledBack => break false,
                Attempt::Conflict(conflict) => {
                    attempt += 1;
                    if attempt == MAX_ATTEMPTS {
                        return Err(C::given_up(conflict));
                    }
                    *counters.aborts.entry(conflict).or_default() += 1;
                    let most = FIRST_WAIT * (1 << (attempt - 1).min(MAX_DOUBLINGS));
                    thread::sleep(most.mul_f64(rng.fraction()));
                }
            }
        };
        counters.retried += u64::from(attempt > 0);
        counters.commits += u64::from(committed);
        counters.rollbacks += u64::from(!committed);
        if let Some(before) = before {
            counters.latency.saturating_record(clock.now() - before);
        }
        ended += 1;
        conflicts += u64::from(attempt);
        // statistics for the progress report
        channel.ended.store(ended, Ordering::Relaxed);
        channel.conflicts.store(conflicts, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each transaction conflicts twice, then commits; every fourth rolls itself back instead.
    struct Stubborn {
        number: u64,
        attempt: u32,
        ends_at: Option<u64>,
    }

    impl Connected for Stubborn {
        type Error = ConflictAt;

        fn prepare(&mut self, _: i64) -> usize {
            self.number += 1;
            self.attempt = 0;
            1
        }

        fn attempt(&mut self) -> Result<Attempt, ConflictAt> {
            self.attempt += 1;
            let at = ConflictAt { kind: "kind".into(), table: "table".into() };
            match self.attempt {
                _ if self.ends_at == Some(self.number) => Err(at),
                1 | 2 => Ok(Attempt::Conflict(at)),
                _ if self.number.is_multiple_of(4) => Ok(Attempt::RolledBack),
                _ => Ok(Attempt::Committed),
            }
        }

        fn given_up(conflict: ConflictAt) -> ConflictAt {
            conflict
        }
    }

    fn run(ends_at: Option<u64>) -> Result<Report, ConflictAt> {
        let clients = (0..2).map(|_| Stubborn { number: 0, attempt: 0, ends_at }).collect();
        let measured = Duration::from_millis(if ends_at.is_some() { 60_000 } else { 1_000 });
        let options =
            Options { threads: 2, warmup: Duration::ZERO, measured, pin: false, asynchronous: false };
        run_connected("none", &["idle", "busy"], clients, &options, None, |_| {}).map(|(report, _)| report)
    }

    #[test]
    fn conflicts_are_retried_and_counted() {
        let report = run(None).unwrap();
        let [idle, busy] = &report.classes[..] else { panic!("{report:?}") };
        assert_eq!((idle.commits, idle.conflicts), (0, 0));
        assert!(busy.commits > 0 && busy.rollbacks > 0, "{busy:?}");
        assert_eq!(busy.conflicts, 2 * (busy.commits + busy.rollbacks));
        assert_eq!(busy.retried, busy.commits + busy.rollbacks);
        assert_eq!(busy.latency.count, busy.commits + busy.rollbacks);
        assert_eq!((busy.aborts.len(), busy.aborts[0].count), (1, busy.conflicts));
        assert_eq!(report.commits_per_cpu_second, None, "the database's time is not known");
    }

    #[test]
    fn an_error_ends_the_run_at_once() {
        assert_eq!(run(Some(20)).unwrap_err().kind, "kind");
    }
}
