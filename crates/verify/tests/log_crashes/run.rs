//! A run of the log on a simulated disk, step by step in one thread, with a list of what was acknowledged
//! when.

use crate::history::{Change, History, KEYS, key_bytes, table, value};
use crate::recover::{CATALOG, ENTRY, Recovered, Violation, recover};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_base::{Timestamp, WorkerId};
use scaledb_log::{CheckpointWriter, Log, LogError, LogOptions, PartWriter, Writer};
use scaledb_sync::Arc;
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::lock::Mutex;
use scaledb_verify::disk::{Call, SimDisk};

/// What a run does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) steps: usize,
    pub(crate) writers: u8,
    /// Of segments, after their header.
    pub(crate) pages: u64,
    pub(crate) checkpoints: bool,
    /// The disk has faults.
    pub(crate) faulty: bool,
    pub(crate) mutation: Mutation,
}

/// A guard that is taken away, to see that it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    None,
    /// Groups are written and not synced.
    NoSync,
    /// The disk says that it has synced, and has not: contents or names, of files whose names begin so.
    Lie(Call, &'static str),
    /// A commit is acknowledged when it was written, whatever the horizon says.
    AcknowledgeEarly,
}

/// From an operation on: what is committed, and how much of it is acknowledged.
#[derive(Debug)]
pub(crate) struct Era {
    pub(crate) from: usize,
    pub(crate) history: History,
    /// After so many operations, so many transactions. The operations ascend.
    pub(crate) acknowledged: Vec<(usize, usize)>,
}

/// A disk with all that was done to it.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) disk: SimDisk,
    pub(crate) eras: Vec<Era>,
}

/// Whether a run ended as it should.
pub(crate) type Outcome = Result<(), Violation>;

impl Trace {
    /// Recovery: until it is over, what holds is what held before.
    pub(crate) fn begin(&mut self, history: History, acknowledged: usize) {
        let from = self.disk.operations();
        self.eras.push(Era { from, history, acknowledged: vec![(from, acknowledged)] });
    }

    /// What a machine may find that stops after operation `at`: a prefix of the history, of this length at
    /// least.
    pub(crate) fn expected(&self, at: usize) -> (&History, usize) {
        let era = &self.eras[self.eras.partition_point(|era| era.from <= at) - 1];
        let known = era.acknowledged.iter().take_while(|(operations, _)| *operations <= at);
        (&era.history, known.map(|(_, count)| *count).max().unwrap_or(0))
    }

    /// How many transactions are acknowledged after operation `at` if the last group that brought any is lost.
    pub(crate) fn before_last_group(&self, at: usize) -> usize {
        let (_, acknowledged) = self.expected(at);
        let marks = || self.eras.iter().flat_map(|era| &era.acknowledged);
        // all commits of a group are answered at once
        let last =
            marks().filter(|(_, count)| *count == acknowledged).map(|(operations, _)| *operations).min();
        let earlier = marks().filter(|(operations, _)| Some(*operations) < last);
        earlier.map(|(_, count)| *count).max().unwrap_or(0)
    }
}

enum Step {
    Idle,
    Begun,
    Drawn(Timestamp, Vec<Change>),
    Appended,
}

struct Worker {
    writer: Writer,
    step: Step,
    began: u64,
}

struct Walk {
    checkpoint: CheckpointWriter,
    part: PartWriter,
    key: u8,
}

struct Run {
    plan: Plan,
    rng: SmallRng,
    disk: SimDisk,
    clock: Arc<Clock>,
    log: Arc<Log>,
    workers: Vec<Worker>,
    walk: Option<Walk>,
    history: History,
    acknowledged: Vec<(usize, usize)>,
    /// What the log has answered: after so many operations, that this commit is durable.
    answers: Arc<Mutex<Vec<(usize, Timestamp)>>>,
    failed: bool,
}

/// Recovers a disk that must hold a prefix of the history, and runs the plan on it. Whatever comes of it, the
/// trace tells of all operations.
pub(crate) fn run(disk: &SimDisk, history: &History, acknowledged: usize, plan: Plan) -> (Trace, Outcome) {
    let mut trace = Trace { disk: disk.clone(), eras: Vec::new() };
    let mut rng = SmallRng::seed_from_u64(plan.seed);
    let (mut history, mut acknowledged) = (history.clone(), acknowledged);
    let mut steps = plan.steps;
    loop {
        trace.begin(history.clone(), acknowledged);
        let mut run = match start(disk, &history, acknowledged, plan, &mut rng) {
            Ok(run) => run,
            Err(violation) => return (trace, Err(violation)),
        };
        let clean = trace.eras.len() > 1;
        if clean && run.history.len() != history.len() {
            let what = format!("{} of {} after a clean end", run.history.len(), history.len());
            return (trace, Err(Violation::Wrong(what)));
        }
        let from = disk.operations();
        let now = if rng.random_range(0..3) == 0 { rng.random_range(0..=steps) } else { steps };
        steps -= now;
        let mut outcome = (0..now).try_for_each(|_| run.step());
        if outcome.is_ok() && steps > 0 {
            outcome = run.end_cleanly();
        }
        // a commit that has its timestamp and is dropped before its record is not what a crash leaves
        run.drain();
        let Run { failed, workers, log, walk, .. } = run;
        (history, acknowledged) = (run.history, run.acknowledged.last().map_or(0, |last| last.1));
        trace.eras.push(Era { from, history: history.clone(), acknowledged: run.acknowledged });
        drop((walk, workers, log));
        if outcome.is_err() || failed || steps == 0 {
            return (trace, outcome);
        }
    }
}

/// Opens and recovers the directory, and starts the log.
fn start(
    disk: &SimDisk,
    history: &History,
    acknowledged: usize,
    plan: Plan,
    rng: &mut SmallRng,
) -> Result<Run, Violation> {
    let Recovered { directory, replay, count } = recover(disk, history, acknowledged)?;
    let clock = Arc::new(Clock::with_source(Source::Counter, replay.newest().ticks() + 1));
    let options = LogOptions {
        segment_bytes: (1 + plan.pages) * 4096,
        recycle: rng.random_range(0..3),
        sync: plan.mutation != Mutation::NoSync,
        manual: true,
        ..LogOptions::default()
    };
    let log = directory.start(replay, options, clock.clone())?;
    let worker = |id| Worker { writer: log.writer(WorkerId(id)), step: Step::Idle, began: 0 };
    Ok(Run {
        plan,
        rng: SmallRng::seed_from_u64(rng.random()),
        disk: disk.clone(),
        clock,
        workers: (0..plan.writers).map(worker).collect(),
        log: log.clone(),
        walk: None,
        history: history.prefix(count),
        // who can read it takes it for durable
        acknowledged: vec![(disk.operations(), count)],
        answers: Arc::default(),
        failed: false,
    })
}

impl Run {
    fn step(&mut self) -> Result<(), Violation> {
        match self.rng.random_range(0..100) {
            0..70 => {
                let worker = self.rng.random_range(0..self.workers.len());
                self.advance(worker);
                Ok(())
            }
            70..88 => self.flush(),
            88..90 => self.wait(),
            _ if self.plan.checkpoints => self.checkpoint(),
            _ => Ok(()),
        }
    }

    fn advance(&mut self, worker: usize) {
        let Self { rng, workers, history, clock, .. } = self;
        let id = WorkerId(worker as u8);
        let worker = &mut workers[worker];
        worker.step = match std::mem::replace(&mut worker.step, Step::Idle) {
            Step::Idle => {
                if worker.writer.reserve(100).is_err() {
                    return;
                }
                worker.began = clock.now();
                worker.writer.begin(worker.began);
                Step::Begun
            }
            Step::Begun => {
                if rng.random_range(0..10) == 0 {
                    worker.writer.end();
                    Step::Idle
                } else {
                    let ts = Timestamp::new(clock.now_fenced(), id);
                    let changes = changes(rng, history);
                    history.push(ts, changes.clone());
                    Step::Drawn(ts, changes)
                }
            }
            Step::Drawn(ts, changes) => {
                append(&mut worker.writer, ts, &changes);
                let (disk, answers) = (self.disk.clone(), self.answers.clone());
                let answer = move |result: scaledb_log::Result<()>| {
                    if result.is_ok() {
                        answers.lock().push((disk.operations(), ts));
                    }
                };
                self.log.wake_on(ts, Box::new(answer));
                Step::Appended
            }
            Step::Appended => {
                worker.writer.end();
                Step::Idle
            }
        };
    }

    /// Ends what is on its way.
    fn drain(&mut self) {
        for worker in 0..self.workers.len() {
            while !matches!(self.workers[worker].step, Step::Idle) {
                self.advance(worker);
            }
        }
    }

    /// What clients are told now.
    fn acknowledge(&mut self) {
        let durable = match self.plan.mutation {
            Mutation::AcknowledgeEarly => Timestamp::start_of(self.clock.now_fenced()),
            _ => self.log.durable(),
        };
        for (operations, ts) in self.answers.lock().drain(..) {
            self.acknowledged.push((operations, self.history.before(ts) + 1));
        }
        self.acknowledged.push((self.disk.operations(), self.history.before(durable)));
    }

    /// A result of a step: a failure of the log is no violation, and nothing else may fail.
    fn told<T>(&mut self, result: scaledb_log::Result<T>) -> Result<Option<T>, Violation> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(LogError::Failed(_)) => {
                self.failed |= self.log.failure().is_some();
                Ok(None)
            }
            // a checkpoint that fails leaves the log as it is
            Err(LogError::Io { .. }) if self.plan.faulty => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn flush(&mut self) -> Result<(), Violation> {
        let (before, failed) = (self.log.durable(), self.failed);
        let done = self.log.flush_once();
        let done = self.told(done)?;
        if done.is_none() && self.log.durable() != before {
            return Err(Violation::Wrong("a failed flush moves the horizon".to_owned()));
        }
        if done.is_some() && failed {
            return Err(Violation::Wrong("the log lives on after a failure".to_owned()));
        }
        self.acknowledge();
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Violation> {
        self.drain();
        let Some(last) = self.history.transactions.last() else { return Ok(()) };
        let ts = last.ts;
        let waited = self.log.wait(ts);
        if self.told(waited)?.is_some() && self.log.durable() <= ts {
            return Err(Violation::Wrong("the wait was too short".to_owned()));
        }
        self.acknowledge();
        Ok(())
    }

    /// The next step of a checkpoint: its begin, some rows, its end.
    fn checkpoint(&mut self) -> Result<(), Violation> {
        let Some(mut walk) = self.walk.take() else { return self.begin_checkpoint() };
        let rows = self.history.rows(self.history.len());
        let end = self.rng.random_range(walk.key + 1..=KEYS as u8);
        for key in walk.key..end {
            let ts = Timestamp::from_raw(rows[usize::from(key)]);
            if ts > Timestamp::ZERO {
                let write = |out: &mut Vec<u8>| out.extend_from_slice(&value(ts, key));
                let written = walk.part.row(table(key), &key_bytes(key), &[ts.raw()], write);
                if self.told(written)?.is_none() {
                    return Ok(());
                }
            }
        }
        walk.key = end;
        if usize::from(end) < KEYS {
            self.walk = Some(walk);
            return Ok(());
        }
        // it waits for what the rows show
        self.drain();
        let newest = self.history.transactions.last().map_or(Timestamp::ZERO, |last| last.ts);
        let written = walk.part.finish();
        if self.told(written)?.is_none() {
            return Ok(());
        }
        let finished = walk.checkpoint.finish(CATALOG, newest);
        self.told(finished)?;
        self.acknowledge();
        Ok(())
    }

    fn begin_checkpoint(&mut self) -> Result<(), Violation> {
        let on_their_way = self.workers.iter().filter(|worker| !matches!(worker.step, Step::Idle));
        let begin = on_their_way.map(|worker| worker.began).fold(self.clock.now_fenced(), u64::min);
        let begun = self.log.begin_checkpoint(Timestamp::start_of(begin));
        let Some(checkpoint) = self.told(begun)? else { return Ok(()) };
        let part = checkpoint.part();
        if let Some(part) = self.told(part)? {
            self.walk = Some(Walk { checkpoint, part, key: 0 });
        }
        Ok(())
    }

    /// Closes the log: all that was committed must be found again.
    fn end_cleanly(&mut self) -> Result<(), Violation> {
        self.walk = None;
        self.drain();
        let closed = self.log.close();
        self.told(closed)?;
        let acknowledged =
            if self.failed { self.history.before(self.log.durable()) } else { self.history.len() };
        self.acknowledged.push((self.disk.operations(), acknowledged));
        Ok(())
    }
}

/// What a transaction does to the rows that there are: to each key one thing.
fn changes(rng: &mut SmallRng, history: &History) -> Vec<Change> {
    let rows = history.rows(history.len());
    let first = rng.random_range(0..KEYS as u8);
    (first..first + rng.random_range(1..5))
        .map(|key| {
            let key = key % KEYS as u8;
            match (rows[usize::from(key)], rng.random_range(0..8)) {
                (_, 0) => Change::Catalog,
                (0, _) => Change::Insert(key),
                (_, 1..4) => Change::Delete(key),
                _ => Change::Update(key),
            }
        })
        .collect()
}

pub(crate) fn append(writer: &mut Writer, ts: Timestamp, changes: &[Change]) {
    let mut record = writer.append(ts);
    for change in changes {
        match *change {
            Change::Insert(key) => {
                record.insert(table(key), &key_bytes(key), |out| out.extend_from_slice(&value(ts, key)));
            }
            Change::Update(key) => {
                record.update(table(key), &key_bytes(key), |out| out.extend_from_slice(&value(ts, key)));
            }
            Change::Delete(key) => record.delete(table(key), &key_bytes(key)),
            Change::Catalog => record.catalog(ENTRY),
        }
    }
    record.finish();
}
