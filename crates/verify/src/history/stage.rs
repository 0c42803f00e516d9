//! A table on which anomalies are played step by step: several workers of one thread, so that each interleaving is
//! exactly the one that is written down. What must not fail panics.

use crate::history::event::{Bounds, Change, Row};
use crate::history::table::{Columns, HistoryTable, Kind};
use scaledb_base::Error;
use scaledb_engine::{Engine, Order, Range, TxnKind, Worker};
use std::ops::ControlFlow;

/// Ten rows, and what single steps of transactions do with them.
pub struct Stage<E> {
    /// The engine.
    pub engine: E,
    /// The table.
    pub t: HistoryTable,
    /// Whether who is alone may be refused all the same, and tries again.
    patient: bool,
}

impl<E: Engine> Stage<E> {
    /// A table with rows 0, 10 .. 90; `a` is the number divided by ten, `u` the number, and the value 0.
    pub fn new(engine: E, kind: Kind) -> Self {
        Self::with_patience(engine, kind, false)
    }

    /// The same for an engine that may refuse what it need not.
    pub fn with_patience(engine: E, kind: Kind, patient: bool) -> Self {
        let t = HistoryTable::create(&engine, "t", kind).unwrap();
        let stage = Self { engine, t, patient };
        stage.alone(|stage, w| {
            for id in (0..100).step_by(10) {
                stage.insert(w, id, id / 10, Some(id)).unwrap();
            }
        });
        stage
    }

    /// A worker.
    pub fn worker(&self) -> E::Worker {
        self.engine.worker().unwrap()
    }

    /// Two workers that have begun, the first one first.
    pub fn two(&self) -> (E::Worker, E::Worker) {
        let (mut a, mut b) = (self.worker(), self.worker());
        a.begin(TxnKind::ReadWrite).unwrap();
        b.begin(TxnKind::ReadWrite).unwrap();
        (a, b)
    }

    /// Inserts a row with the value 0.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn insert(&self, w: &mut E::Worker, id: i32, a: i32, u: Option<i32>) -> Result<(), Error> {
        let row = Row { a, u, ..Row::default() };
        w.insert(self.t.id_of(0), &self.t.row(id, &row, "text")).map(|_| ())
    }

    /// The value of a row.
    pub fn get(&self, w: &mut E::Worker, id: i32) -> Option<i64> {
        let columns = Columns(Columns::W);
        w.get(self.t.id_of(0), &self.t.key(id), self.t.projection(columns), |_, row| {
            self.t.see(row, columns).w
        })
        .unwrap()
    }

    /// Changes a row. Returns the value that it had.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn change(&self, w: &mut E::Worker, id: i32, change: Change) -> Result<Option<i64>, Error> {
        w.update(self.t.id_of(0), &self.t.key(id), self.t.projection(Columns::ALL), |row| {
            let before = self.t.see(row.view(), Columns::ALL).w;
            self.t.apply(row, &change).map(|()| before)
        })
    }

    /// Sets the value of a row. Returns the one that it had.
    pub fn set(&self, w: &mut E::Worker, id: i32, value: i64) -> Option<i64> {
        self.change(w, id, Change { w: Some(value), ..Change::default() }).unwrap()
    }

    /// Deletes a row. False if there is none.
    pub fn delete(&self, w: &mut E::Worker, id: i32) -> bool {
        w.delete(self.t.id_of(0), &self.t.key(id)).unwrap()
    }

    /// The ids of the rows from `low` to below `high` of an index (0: of the table).
    pub fn scan(&self, w: &mut E::Worker, index: u8, low: i32, high: i32) -> Vec<i32> {
        let (low, high) = self.t.bounds(index, Bounds { low: Some((low, None)), high: Some((high, None)) });
        let mut ids = Vec::new();
        let (range, cols) =
            (Range { start: &low, end: high.as_deref() }, self.t.projection_with_id(Columns::ALL));
        w.scan(self.t.id_of(index), range, Order::Forward, cols, |_, _, row| {
            ids.push(self.t.id_of_row(row));
            ControlFlow::Continue(())
        })
        .unwrap();
        ids
    }

    /// A transaction of its own.
    pub fn alone(&self, f: impl Fn(&Self, &mut E::Worker)) {
        let mut w = self.worker();
        loop {
            w.begin(TxnKind::ReadWrite).unwrap();
            f(self, &mut w);
            match w.commit() {
                Err(error) if self.patient && error.is_conflict() => {}
                done => {
                    done.unwrap();
                    return;
                }
            }
        }
    }
}

/// Commits, which must fail with a conflict.
#[track_caller]
pub fn assert_conflict(w: &mut impl Worker) {
    let result = w.commit();
    assert!(matches!(&result, Err(e) if e.is_conflict()), "{result:?}");
    assert!(!w.in_transaction());
}
