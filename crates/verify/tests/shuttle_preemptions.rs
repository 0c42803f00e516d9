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
use scaledb_engine::{Access, Engine, TableDef, TableInfo, TableOptions, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::thread;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs task 1 up to its stop, then task 2 up to its own, and so on; then those that were stopped, the first or the
/// last one first. A task that yields lets the next one go on.
struct Preemptions {
    stops: Vec<u64>,
    last_first: bool,
    steps: Vec<u64>,
    started: bool,
    /// Which tasks ran into their stops.
    stopped: Arc<Mutex<Vec<bool>>>,
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
        let mut stopped = self.stopped.lock().unwrap();
        let now = current.map_or(0, number);
        let mut go_on = ids.contains(&now) && !is_yielding;
        if (1..=self.stops.len()).contains(&now) {
            self.steps[now - 1] += 1;
            if self.steps[now - 1] == self.stops[now - 1] && !stopped[now - 1] {
                stopped[now - 1] = true;
                go_on = false;
            }
        }
        if go_on {
            return Some(now.into());
        }
        // who has not begun, then who was stopped, and last the task that waits for all of them
        let fresh = |&&id: &&usize| id > 0 && self.steps.get(id - 1).is_none_or(|&steps| steps == 0);
        let next = ids.iter().filter(|&&id| id != now).find(fresh).copied();
        let others: Vec<usize> = ids.iter().copied().filter(|&id| id != now && id > 0).collect();
        let resumed = if self.last_first { others.last() } else { others.first() }.copied();
        let next = next.or(resumed).or(ids.contains(&now).then_some(now)).unwrap_or(ids[0]);
        if next > 0 && next <= self.steps.len() && self.steps[next - 1] == 0 {
            self.steps[next - 1] = 1;
        }
        Some(next.into())
    }

    fn next_u64(&mut self) -> u64 {
        4 // as random as the dice of some
    }
}

/// Runs `body`, which starts `tasks` threads, under each schedule that stops the first task once, and, if there are
/// three, the second one once. Stops are `stride` operations apart. Returns the number of schedules.
fn explore(tasks: usize, stride: u64, body: impl Fn() + Send + Sync + Clone + 'static) -> u64 {
    let run = |stops: Vec<u64>, last_first: bool| {
        let stopped = Arc::new(Mutex::new(vec![false; stops.len()]));
        let steps = vec![0; stops.len()];
        let mine = stopped.clone();
        let scheduler = Preemptions { stops, last_first, steps, started: false, stopped: mine };
        let mut config = shuttle::Config::new();
        config.stack_size = 1 << 20;
        config.max_steps = shuttle::MaxSteps::FailAfter(3_000_000);
        config.failure_persistence = shuttle::FailurePersistence::None;
        shuttle::Runner::new(scheduler, config).run(body.clone());
        let stopped = stopped.lock().unwrap().clone();
        stopped
    };
    let mut schedules = 0;
    for first in (2..).step_by(stride as usize) {
        if tasks < 3 {
            schedules += 1;
            if !run(vec![first], false)[0] {
                return schedules;
            }
            continue;
        }
        for second in (2..).step_by(stride as usize) {
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
    unreachable!("tasks end")
}

const KINDS: [(Access, Option<u32>); 3] =
    [(Access::Hashed, Some(4)), (Access::Ordered, Some(4)), (Access::Ordered, Some(0))];

fn acc() -> Acc {
    let merge_epoch = Duration::from_millis(1);
    Acc::open(Config { indexlet_slots: 32, merge_epoch, background: false, ..Config::default() }).unwrap()
}

fn cicada() -> Cicada {
    Cicada::open(scaledb_cicada::Config { background: false, ..Default::default() }).unwrap()
}

fn table(db: &impl Engine, (access, merge_batch): (Access, Option<u32>)) -> Arc<TableInfo> {
    let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
    let def = TableDef::new("t", Schema::new(columns, &[KeyPart::asc(0)]).unwrap());
    db.create_table(def.options(TableOptions { access, merge_batch, merge_epoch: None })).unwrap()
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
fn taken_back<E: Engine>(open: fn() -> E, kind: (Access, Option<u32>), by_delete: bool, deleted: bool) {
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
