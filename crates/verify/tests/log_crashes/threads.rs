//! A run of the log as it is used: its own threads flush and prepare segments, others commit and write
//! checkpoints. It does not repeat; its crashes are checked as those of any other run.

use crate::history::{Change, History, KEYS, key_bytes, table, value};
use crate::recover::{CATALOG, Recovered, Violation, recover};
use crate::run::{Era, Plan, Trace, append};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_base::{Timestamp, WorkerId};
use scaledb_log::{Log, LogOptions};
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, thread};
use scaledb_verify::disk::SimDisk;
use std::time::Duration;

struct Run {
    disk: SimDisk,
    clock: Arc<Clock>,
    log: Arc<Log>,
    history: Mutex<History>,
    /// After so many operations, all up to this commit is acknowledged.
    answers: Arc<Mutex<Vec<(usize, Timestamp)>>>,
}

/// Runs the plan from an empty directory; its steps are those of each thread.
pub(crate) fn run(disk: &SimDisk, plan: Plan) -> Result<Trace, Violation> {
    let mut trace = Trace { disk: disk.clone(), eras: Vec::new() };
    trace.begin(History::default(), 0);
    let Recovered { directory, replay, .. } = recover(disk, &History::default(), 0)?;
    let clock = Arc::new(Clock::with_source(Source::Counter, replay.newest().ticks() + 1));
    let options = LogOptions {
        segment_bytes: (1 + plan.pages) * 4096,
        flush_interval: Duration::from_micros(20),
        ..LogOptions::default()
    };
    let log = directory.start(replay, options, clock.clone())?;
    let from = disk.operations();
    let run = Run {
        disk: disk.clone(),
        clock,
        log,
        history: Mutex::new(History::default()),
        answers: Arc::new(Mutex::new(vec![])),
    };
    thread::scope(|scope| {
        let run = &run;
        let committing = (0..plan.writers).map(|id| scope.spawn(move || run.commit(WorkerId(id), plan)));
        let committing: Vec<_> = committing.collect();
        let checkpoint = plan.checkpoints.then(|| scope.spawn(|| run.checkpoint(plan)));
        committing.into_iter().chain(checkpoint).try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    run.log.close()?;
    let history = std::mem::take(&mut *run.history.lock());
    let mut acknowledged = vec![(from, 0)];
    let mut answers = std::mem::take(&mut *run.answers.lock());
    answers.sort_unstable();
    for (operations, ts) in answers {
        let count = history.before(ts) + 1;
        let known = acknowledged.last().map_or(0, |last| last.1);
        acknowledged.push((operations, count.max(known)));
    }
    acknowledged.push((disk.operations(), history.len()));
    trace.eras.push(Era { from, history, acknowledged });
    Ok(trace)
}

impl Run {
    fn commit(&self, worker: WorkerId, plan: Plan) -> Result<(), Violation> {
        let mut rng = SmallRng::seed_from_u64(plan.seed ^ u64::from(worker.0) << 32);
        let mut writer = self.log.writer(worker);
        for _ in 0..plan.steps {
            writer.reserve(100)?;
            let changes = changes(&mut rng);
            let mut history = self.history.lock();
            writer.begin(self.clock.now());
            let ts = Timestamp::new(self.clock.now_fenced(), worker);
            history.push(ts, changes.clone());
            drop(history);
            if rng.random() {
                thread::yield_now();
            }
            append(&mut writer, ts, &changes);
            writer.end();
            match rng.random_range(0..6) {
                0 => self.log.wait(ts)?,
                // long enough for the log to fall idle
                1 => thread::sleep(Duration::from_micros(rng.random_range(0..200))),
                _ => {}
            }
            let (disk, answers) = (self.disk.clone(), self.answers.clone());
            self.log.wake_on(
                ts,
                Box::new(move |result| {
                    if result.is_ok() {
                        answers.lock().push((disk.operations(), ts));
                    }
                }),
            );
        }
        Ok(())
    }

    fn checkpoint(&self, plan: Plan) -> Result<(), Violation> {
        for _ in 0..plan.steps / 20 {
            let history = self.history.lock();
            let begin = Timestamp::start_of(self.clock.now_fenced());
            drop(history);
            let checkpoint = self.log.begin_checkpoint(begin)?;
            let mut part = checkpoint.part()?;
            let mut newest = Timestamp::ZERO;
            for key in 0..KEYS as u8 {
                let history = self.history.lock();
                let ts = Timestamp::from_raw(history.rows(history.len())[usize::from(key)]);
                newest = history.transactions.last().map_or(newest, |last| last.ts);
                drop(history);
                if ts > Timestamp::ZERO {
                    let write = |out: &mut Vec<u8>| out.extend_from_slice(&value(ts, key));
                    part.row(table(key), &key_bytes(key), &[ts.raw()], write)?;
                }
            }
            part.finish()?;
            checkpoint.finish(CATALOG, newest)?;
        }
        Ok(())
    }
}

fn changes(rng: &mut SmallRng) -> Vec<Change> {
    let (first, count) = (rng.random_range(0..KEYS as u8), rng.random_range(1..5));
    let change = |key| match rng.random_range(0..4) {
        0 => Change::Delete(key % KEYS as u8),
        1 => Change::Update(key % KEYS as u8),
        _ => Change::Insert(key % KEYS as u8),
    };
    (first..first + count).map(change).collect()
}
