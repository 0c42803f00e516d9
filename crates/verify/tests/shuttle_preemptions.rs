//! Two or three transactions, one of which is stopped at each of its atomic operations in turn while the next one
//! runs: every schedule with so few preemptions, in order. What random schedules find by luck, a window of two loads
//! say, this finds by counting.
//!
//! ```text
//!   first    ──────┤ stopped before its operation n        ├──────
//!   second         └─────┤ stopped before its operation m ├─┘
//!   third                └── runs to its end ─────────────┘         or resumes before the first one does
//! ```
#![cfg(shuttle)]

use scaledb_acc::{Acc, Config};
use scaledb_base::Result;
use scaledb_cicada::Cicada;
use scaledb_engine::{Access, Engine, Order, Range, TableDef, TableInfo, TableOptions, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::thread;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Runs task 1 up to its stop, then task 2 up to its own, and so on; then those that were stopped, the first or the
/// last one first. A task that yields lets the next one go on.
struct Preemptions {
    stops: Vec<u64>,
    last_first: bool,
    steps: Vec<u64>,
    started: bool,
    /// One bit for each task that has run.
    begun: u64,
}

thread_local! {
    /// One bit for each task that ran into its stop. All tasks of a schedule run on one thread.
    static STOPPED: Cell<u64> = const { Cell::new(0) };
    /// One bit for each task whose operations count.
    static COUNTED: Cell<u64> = const { Cell::new(0) };
}

/// From here on, or no longer, the operations of a task are places to stop it.
fn count(task: u64, counts: bool) {
    COUNTED.set(COUNTED.get() & !(1 << task) | u64::from(counts) << task);
}

impl Scheduler for Preemptions {
    fn new_execution(&mut self) -> Option<Schedule> {
        (!std::mem::replace(&mut self.started, true)).then(|| Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let number = |id: TaskId| usize::from(id);
        let ids: Vec<usize> = runnable.iter().map(|task| number(task.id())).collect();
        let now = current.map_or(0, number);
        let mut go_on = ids.contains(&now) && !is_yielding;
        if (1..=self.stops.len()).contains(&now) && COUNTED.get() >> now & 1 == 1 {
            self.steps[now - 1] += 1;
            if self.steps[now - 1] == self.stops[now - 1] && STOPPED.get() >> now & 1 == 0 {
                STOPPED.set(STOPPED.get() | 1 << now);
                go_on = false;
            }
        }
        if go_on {
            return Some(now.into());
        }
        // who has not begun, then who was stopped, and last the task that waits for all of them
        let fresh = |&&id: &&usize| id > 0 && self.begun >> id & 1 == 0;
        let next = ids.iter().filter(|&&id| id != now).find(fresh).copied();
        let others: Vec<usize> = ids.iter().copied().filter(|&id| id != now && id > 0).collect();
        let resumed = if self.last_first { others.last() } else { others.first() }.copied();
        let next = next.or(resumed).or(ids.contains(&now).then_some(now)).unwrap_or(ids[0]);
        self.begun |= 1 << next;
        Some(next.into())
    }

    fn next_u64(&mut self) -> u64 {
        4 // as random as the dice of some
    }
}

/// Operations at which the first one of three tasks is stopped.
const EARLY: u64 = 40;

/// Runs `body`, which starts `tasks` threads, under each schedule that stops the first one once at an operation that
/// counts, and, if there are three, the second one once, at every `stride`th. Returns the number of schedules.
fn explore(tasks: usize, stride: u64, body: impl Fn() + Send + Sync + Clone + 'static) -> u64 {
    let run = |stops: Vec<u64>, last_first: bool| {
        STOPPED.set(0);
        COUNTED.set(0);
        let steps = vec![0; stops.len()];
        let scheduler = Preemptions { stops, last_first, steps, started: false, begun: 0 };
        let mut config = shuttle::Config::new();
        config.stack_size = 1 << 20;
        config.max_steps = shuttle::MaxSteps::FailAfter(3_000_000);
        config.failure_persistence = shuttle::FailurePersistence::None;
        shuttle::Runner::new(scheduler, config).run(body.clone());
        [1, 2].map(|task| STOPPED.get() >> task & 1 == 1)
    };
    let mut schedules = 0;
    // of three tasks, the first one is stopped near its beginning
    for first in 1..if tasks < 3 { u64::MAX } else { EARLY } {
        if tasks < 3 {
            schedules += 1;
            if !run(vec![first], false)[0] {
                return schedules;
            }
            continue;
        }
        for second in (1..).step_by(stride as usize) {
            schedules += 2;
            let ends = [true, false].map(|last_first| run(vec![first, second], last_first));
            if !ends[0][0] {
                return schedules;
            }
            if !ends[0][1] {
                break;
            }
        }
    }
    schedules
}

const KINDS: [(Access, Option<u64>); 3] =
    [(Access::Hashed, Some(4)), (Access::Ordered, Some(4)), (Access::Ordered, Some(0))];

fn acc() -> Acc {
    let merge_epoch = Duration::from_millis(1);
    Acc::open(Config { indexlet_slots: 32, merge_epoch, background: false, ..Config::default() }).unwrap()
}

fn cicada() -> Cicada {
    Cicada::open(scaledb_cicada::Config { background: false, ..Default::default() }).unwrap()
}

fn table(db: &impl Engine, (access, merge_batch): (Access, Option<u64>)) -> Arc<TableInfo> {
    let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
    let def = TableDef::new("t", Schema::new(columns, &[KeyPart::asc(0)]).unwrap());
    let has = db.table_options().iter().any(|option| option.name == "merge_batch");
    let options = TableOptions::new(access);
    let options = match merge_batch.filter(|_| has) {
        Some(batch) => options.with("merge_batch", batch),
        None => options,
    };
    db.create_table(def.options(options)).unwrap()
}

fn key(id: i32) -> KeyBuf {
    KeyBuf::new().i32(id)
}

/// The operations of one transaction on the table of a test.
struct Ops<'a, W>(&'a mut W, &'a TableInfo);

impl<W: Worker> Ops<'_, W> {
    fn insert(&mut self, id: i32, n: i64) -> Result<()> {
        let row = RowBuf::from_values(&self.1.schema, &[Datum::Int4(id), Datum::Int8(n)]).unwrap();
        self.0.insert(self.1.id, &row).map(|_| ())
    }

    fn delete(&mut self, id: i32) -> Result<bool> {
        self.0.delete(self.1.id, &key(id))
    }

    fn read(&mut self, id: i32) -> Result<Option<i64>> {
        self.0.get(self.1.id, &key(id), &Projection::all(&self.1.schema), |_, row| row.i64(1))
    }

    fn set(&mut self, id: i32, n: i64) -> Result<()> {
        let all = Projection::all(&self.1.schema);
        let set = self.0.update(self.1.id, &key(id), &all, |row| {
            row.set_i64(1, n);
            Ok(())
        });
        set.map(|_| ())
    }
}

/// One attempt; `None` after a conflict.
fn once<W: Worker, R>(
    worker: &mut W,
    t: &TableInfo,
    f: impl FnOnce(&mut Ops<'_, W>) -> Result<R>,
) -> Option<R> {
    worker.begin(TxnKind::ReadWrite).unwrap();
    let result = f(&mut Ops(worker, t)).and_then(|value| worker.commit().map(|_| value));
    match result {
        Ok(value) => Some(value),
        Err(error) if error.is_conflict() => None,
        Err(error) => {
            worker.rollback();
            // a duplicate is what some of these programs look for
            assert!(matches!(error, scaledb_base::Error::DuplicateKey { .. }), "{error}");
            None
        }
    }
}

/// An insert that is taken back has found its key free. Who commits that, and sees what another transaction wrote
/// beside the row of that key, has seen two states.
fn taken_back<E: Engine>(open: fn() -> E, kind: (Access, Option<u64>), by_delete: bool, deleted: bool) {
    let body = move || {
        let db = Arc::new(open());
        let t = table(&*db, kind);
        let mut setup = db.worker().unwrap();
        once(&mut setup, &t, |ops| ops.insert(1, 0)).unwrap();
        if deleted {
            once(&mut setup, &t, |ops| ops.insert(2, 0)).unwrap();
            once(&mut setup, &t, |ops| ops.delete(2)).unwrap();
        }
        let (mut mine, mut theirs) = (db.worker().unwrap(), db.worker().unwrap());
        let (first, second) = (t.clone(), t.clone());
        let first = thread::spawn(move || {
            count(1, true);
            once(&mut mine, &first, |ops| {
                let savepoint = ops.0.savepoint()?;
                ops.insert(2, 1)?;
                if by_delete {
                    assert!(ops.delete(2)?);
                } else {
                    ops.0.rollback_to(savepoint)?;
                }
                let seen = ops.read(1)?;
                ops.insert(3, 0)?;
                Ok(seen)
            })
        });
        let second = thread::spawn(move || {
            once(&mut theirs, &second, |ops| {
                ops.insert(2, 2)?;
                ops.set(1, 7)
            })
        });
        let seen = first.join().unwrap();
        second.join().unwrap();
        assert_ne!(seen, Some(Some(7)), "the key was free, and what was written with its row is there");
    };
    assert!(explore(2, 1, body) > 100);
}

#[test]
fn an_insert_that_is_taken_back_has_read_its_key_once() {
    for kind in KINDS {
        for by_delete in [true, false] {
            for deleted in [true, false] {
                taken_back(acc, kind, by_delete, deleted);
                taken_back(cicada, kind, by_delete, deleted);
            }
        }
    }
}

/// A key is claimed on the strength of a leaf that was read before the pin, while that leaf is being coalesced, and
/// the generation of that is forgotten: the key would be posted under a part that no leaf inherits.
#[test]
fn a_claim_does_not_trust_a_leaf_that_somebody_is_at() {
    let body = || {
        let db = Arc::new(acc());
        let (t, other) = (table(&*db, (Access::Ordered, Some(64))), {
            let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
            let def = TableDef::new("other", Schema::new(columns, &[KeyPart::asc(0)]).unwrap());
            let options = TableOptions::new(Access::Ordered).with("merge_batch", 1);
            db.create_table(def.options(options)).unwrap()
        });
        let mut setup = db.worker().unwrap();
        for id in 0..12 {
            once(&mut setup, &t, |ops| ops.insert(10 * id, 0)).unwrap();
        }
        // merged into leaves of four
        drop(setup);
        let mut cleaner = db.worker().unwrap();
        // what it does beside its transactions comes with every other one
        once(&mut cleaner, &t, |ops| ops.read(0)).unwrap();
        for id in 0..4 {
            once(&mut cleaner, &t, |ops| ops.delete(10 * id)).unwrap();
        }
        let (mut inserter, mut merger) = (db.worker().unwrap(), db.worker().unwrap());
        once(&mut merger, &other, |ops| ops.insert(0, 0)).unwrap();
        let inserted = t.clone();
        let inserter = thread::spawn(move || {
            inserter.begin(TxnKind::ReadWrite).unwrap();
            let done = Ops(&mut inserter, &inserted).insert(55, 0);
            count(1, true);
            let done = done.and_then(|()| inserter.commit());
            assert!(done.is_ok(), "{done:?}");
            inserter
        });
        let cleaned = t.clone();
        let cleaner = thread::spawn(move || {
            count(2, true);
            for _ in 0..3 {
                once(&mut cleaner, &cleaned, |ops| ops.read(0)).unwrap();
            }
            count(2, false);
        });
        let merger = thread::spawn(move || once(&mut merger, &other, |ops| ops.insert(1, 0)).unwrap());
        // its entry is pending still
        let inserter = inserter.join().unwrap();
        cleaner.join().unwrap();
        merger.join().unwrap();
        let mut reader = db.worker().unwrap();
        reader.begin(TxnKind::ReadWrite).unwrap();
        let mut rows = 0;
        reader
            .scan(t.id, Range::ALL, Order::Forward, &Projection::all(&t.schema), |_, _, _| {
                rows += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(rows, 9, "a committed row is not seen");
        drop(inserter);
    };
    assert!(explore(3, 12, body) > 500);
}
