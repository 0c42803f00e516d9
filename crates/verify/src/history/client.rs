//! Random transactions of one worker, recorded.

use crate::history::event::{Bounds, Change, Event, Pair, Row, Transaction};
use crate::history::table::{Columns, HistoryTable, hash_text, text_of};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_base::{Error, Result};
use scaledb_engine::{Order, Range, RowId, TxnKind, Worker};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::Instant;
use scaledb_sync::thread::yield_now;
use std::ops::ControlFlow;

/// Which keys transactions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Each of so many, evenly.
    Uniform(i32),
    /// Most often the first eighth of so many.
    Skewed(i32),
    /// Inserted at one end, deleted at the other.
    Queue,
}

/// How often transactions do what: weights.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Transactions that only read the present, in a thousand.
    pub read_only: u32,
    /// Snapshots, in a thousand.
    pub snapshots: u32,
    /// Deferrable snapshots, in ten thousand: each waits for some milliseconds.
    pub deferrable: u32,
    /// Operations of a transaction, at the most.
    pub operations: u32,
    /// Point reads.
    pub get: u32,
    /// Point reads through the unique index.
    pub get_unique: u32,
    /// Scans.
    pub scan: u32,
    /// Inserts.
    pub insert: u32,
    /// Updates of columns without an index.
    pub update: u32,
    /// Updates of indexed columns.
    pub move_entry: u32,
    /// Deletes.
    pub delete: u32,
    /// Delete and insert of one key.
    pub replace: u32,
    /// Scans that update or delete what they find.
    pub sweep: u32,
    /// Inserts of neighbouring keys.
    pub run: u32,
    /// Savepoints and rollbacks to them.
    pub savepoint: u32,
    /// A worker gives its core away between two operations: in a hundred.
    pub yields: u32,
}

impl Mix {
    /// A bit of everything.
    pub const ALL: Self = Self {
        read_only: 120,
        snapshots: 60,
        deferrable: 4,
        operations: 8,
        get: 20,
        get_unique: 8,
        scan: 14,
        insert: 16,
        update: 20,
        move_entry: 10,
        delete: 10,
        replace: 4,
        sweep: 4,
        run: 1,
        savepoint: 6,
        yields: 6,
    };

    /// Much structural change: runs of inserts, sweeps of deletes, and scans over all of it.
    pub const CHURN: Self = Self {
        get: 6,
        get_unique: 3,
        scan: 20,
        insert: 20,
        update: 4,
        move_entry: 6,
        delete: 12,
        sweep: 8,
        run: 6,
        ..Self::ALL
    };

    /// Short transactions.
    pub const SHORT: Self = Self { operations: 3, savepoint: 2, ..Self::ALL };
}

/// Keys beyond the last that an audit looks for.
const BEYOND: i32 = if scaledb_sync::MODEL { 2 } else { 32 };

/// One worker's part of a history.
pub struct Client {
    id: usize,
    tables: Arc<Vec<HistoryTable>>,
    tails: Arc<Vec<AtomicU64>>,
    keys: Keys,
    mix: Mix,
    random: SmallRng,
    start: Instant,
    number: u64,
    last: String,
    losses: u32,
    /// What was committed.
    pub committed: Vec<Transaction>,
    /// Conflicts and rollbacks.
    pub aborted: u64,
}

/// How a transaction ended.
enum Ended {
    /// By an error of the engine.
    By(Error),
    /// By its own decision.
    RolledBack,
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::By(error)
    }
}

type Step<T> = std::result::Result<T, Ended>;

/// How many savepoints a transaction has by now: a rollback ends those behind its own.
fn savepoints(events: &[Event]) -> usize {
    events.iter().fold(0, |count, event| match event {
        Event::Savepoint => count + 1,
        Event::RollbackTo(number) => number + 1,
        _ => count,
    })
}

fn is_duplicate<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::DuplicateKey { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Client {
    /// A client of these tables. All clients of a history share `tails` and `start`.
    pub fn new(
        id: usize,
        seed: u64,
        tables: Arc<Vec<HistoryTable>>,
        tails: Arc<Vec<AtomicU64>>,
        (keys, mix): (Keys, Mix),
        start: Instant,
    ) -> Self {
        let random = SmallRng::seed_from_u64(seed ^ (id as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Self {
            id,
            tables,
            tails,
            keys,
            mix,
            random,
            start,
            number: 0,
            last: String::new(),
            losses: 0,
            committed: Vec::new(),
            aborted: 0,
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn mark(&mut self, operation: usize) -> i64 {
        (self.id as i64) << 48 | (self.number as i64) << 12 | operation as i64
    }

    fn chance(&mut self, of_thousand: u32) -> bool {
        self.random.random_range(0..1000) < of_thousand
    }

    /// The key behind a queue's last.
    fn tail(&self, table: usize) -> i32 {
        self.tails[table].load(Ordering::Relaxed) as i32 // only the number counts
    }

    fn pick(&mut self, table: u8) -> i32 {
        match self.keys {
            Keys::Uniform(n) => self.random.random_range(0..n),
            Keys::Skewed(n) => {
                let n = if self.random.random_ratio(3, 4) { (n / 8).max(1) } else { n };
                self.random.random_range(0..n)
            }
            Keys::Queue => {
                let tail = self.tail(usize::from(table));
                (tail - self.random.random_range(-2..200)).max(0)
            }
        }
    }

    /// Values of `a` are few, so that keys of the secondary index share prefixes; those of `u` are many
    /// enough that inserts succeed and few enough that they collide.
    fn pick_a(&mut self) -> i32 {
        self.random.random_range(0..12)
    }

    fn pick_u(&mut self) -> i32 {
        let n = match self.keys {
            Keys::Uniform(n) | Keys::Skewed(n) => n * 2,
            Keys::Queue => 400,
        };
        self.random.random_range(0..n)
    }

    fn random_row(&mut self, operation: usize) -> (Row, String) {
        let text = text_of(self.random.random());
        let mark = self.mark(operation);
        let u = if self.random.random_ratio(1, 4) { None } else { Some(self.pick_u()) };
        (Row { a: self.pick_a(), u, text: hash_text(&text), w: mark, g: mark }, text)
    }

    fn pick_columns(&mut self) -> Columns {
        Columns::SETS[self.random.random_range(0..Columns::SETS.len())]
    }

    /// Runs one random transaction.
    ///
    /// # Errors
    /// What is neither a conflict nor a duplicate key.
    pub fn step<W: Worker>(&mut self, worker: &mut W) -> Result<()> {
        let kind = if self.chance(self.mix.snapshots) {
            TxnKind::Snapshot
        } else if self.random.random_range(0..10_000) < self.mix.deferrable {
            TxnKind::Deferrable
        } else if self.chance(self.mix.read_only) {
            TxnKind::ReadOnly
        } else {
            TxnKind::ReadWrite
        };
        let operations = self.random.random_range(1..=self.mix.operations);
        self.transaction(worker, kind, |client, worker, events| {
            for _ in 0..operations {
                if client.random.random_range(0..100) < client.mix.yields {
                    yield_now();
                }
                client.operation(worker, kind, events)?;
            }
            if client.random.random_ratio(1, 40) { Err(Ended::RolledBack) } else { Ok(()) }
        })
    }

    fn transaction<W: Worker>(
        &mut self,
        worker: &mut W,
        kind: TxnKind,
        f: impl FnOnce(&mut Self, &mut W, &mut Vec<Event>) -> Step<()>,
    ) -> Result<()> {
        let begin = self.now();
        self.number += 1;
        let mut events = Vec::new();
        worker.begin(kind)?;
        let mut commit = 0;
        let result = f(self, worker, &mut events).and_then(|()| {
            commit = self.now();
            Ok(worker.commit()?)
        });
        match result {
            Ok(ts) => {
                let end = self.now();
                let (client, number) = (self.id, self.number);
                self.committed.push(Transaction { client, number, kind, begin, commit, end, ts, events });
                self.losses = 0;
                return Ok(());
            }
            Err(Ended::RolledBack) => worker.rollback(),
            Err(Ended::By(Error::Conflict(c))) => {
                self.last = format!("{c:?}");
                if worker.in_transaction() {
                    return Err(Error::BadDefinition("a conflict left the transaction running".into()));
                }
                if kind.is_snapshot() {
                    return Err(Error::BadDefinition("a snapshot has met a conflict".into()));
                }
                self.losses += 1;
                worker.back_off(self.losses);
            }
            Err(Ended::By(Error::DuplicateKey { .. })) => {}
            Err(Ended::By(error)) => return Err(error),
        }
        self.aborted += 1;
        Ok(())
    }

    fn operation<W: Worker>(&mut self, worker: &mut W, kind: TxnKind, events: &mut Vec<Event>) -> Step<()> {
        let table = self.random.random_range(0..self.tables.len()) as u8;
        let tables = self.tables.clone();
        let t = &tables[usize::from(table)];
        let mix = self.mix;
        let unique = t.kind.indexes;
        let scans = t.is_ordered() || unique && t.is_ordered();
        let writes = kind == TxnKind::ReadWrite;
        let weight = |w: u32, if_so: bool| if if_so { w } else { 0 };
        let weights = [
            mix.get,
            weight(mix.get_unique, unique),
            weight(mix.scan, scans),
            weight(mix.insert, writes),
            weight(mix.update, writes),
            weight(mix.move_entry, writes),
            weight(mix.delete, writes),
            weight(mix.replace, writes),
            weight(mix.sweep, writes && scans),
            weight(mix.run, writes),
            weight(mix.savepoint, writes),
        ];
        let mut at = self.random.random_range(0..weights.iter().sum());
        let chosen = weights.iter().position(|&w| {
            let here = at < w;
            at = at.saturating_sub(w);
            here
        });
        match chosen.unwrap_or(0) {
            0 => {
                let (id, columns) = (self.pick(table), self.pick_columns());
                self.get(worker, t, table, id, columns, events)
            }
            1 => {
                let (u, columns) = (self.pick_u(), self.pick_columns());
                let found =
                    worker.get(t.id_of(2), &t.unique_key(u), t.projection_with_id(columns), |_, row| {
                        (t.id_of_row(row), t.see(row, columns))
                    })?;
                events.push(Event::GetUnique { table, u, columns, found });
                Ok(())
            }
            2 => {
                let limit =
                    if self.random.random_bool(0.5) { u32::MAX } else { self.random.random_range(1..12) };
                self.scan(worker, t, table, limit, events).map(|_| ())
            }
            3 => {
                let id = match self.keys {
                    // only the number counts
                    Keys::Queue => self.tails[usize::from(table)].fetch_add(1, Ordering::Relaxed) as i32,
                    _ => self.pick(table),
                };
                self.insert(worker, t, table, id, events)
            }
            4 | 5 => {
                let id = self.pick(table);
                let (columns, change) = self.random_change(chosen == Some(5), events.len());
                self.update(worker, t, table, (id, None), columns, change, events)?;
                if self.random.random_ratio(1, 6) {
                    let indexed = self.random.random_bool(0.5);
                    let (columns, change) = self.random_change(indexed, events.len());
                    self.update(worker, t, table, (id, None), columns, change, events)?;
                }
                Ok(())
            }
            6 => {
                let id = match self.keys {
                    Keys::Queue => (self.pick(table) - 150).max(0),
                    _ => self.pick(table),
                };
                self.delete(worker, t, table, (id, None), events)
            }
            7 => {
                let id = self.pick(table);
                if self.random.random_bool(0.5) {
                    self.delete(worker, t, table, (id, None), events)?;
                    self.insert(worker, t, table, id, events)
                } else {
                    self.insert(worker, t, table, id, events)?;
                    self.delete(worker, t, table, (id, None), events)
                }
            }
            8 => {
                let limit = self.random.random_range(1..16);
                let found = self.scan(worker, t, table, limit, events)?;
                let deletes = self.random.random_bool(0.6);
                for (row_id, id) in found {
                    if deletes {
                        self.delete(worker, t, table, (id, Some(row_id)), events)?;
                    } else if self.random.random_bool(0.5) {
                        let indexed = self.random.random_bool(0.5);
                        let (columns, change) = self.random_change(indexed, events.len());
                        self.update(worker, t, table, (id, Some(row_id)), columns, change, events)?;
                    }
                }
                Ok(())
            }
            9 => {
                let first = self.pick(table);
                for id in first..first + self.random.random_range(2..24) {
                    self.insert(worker, t, table, id, events)?;
                }
                Ok(())
            }
            _ => {
                let savepoint = worker.savepoint()?;
                let number = savepoints(events);
                events.push(Event::Savepoint);
                for _ in 0..self.random.random_range(1..4) {
                    self.operation(worker, kind, events)?;
                }
                if self.random.random_bool(0.6) {
                    worker.rollback_to(savepoint)?;
                    events.push(Event::RollbackTo(number));
                }
                Ok(())
            }
        }
    }

    fn get<W: Worker>(
        &mut self,
        worker: &mut W,
        t: &HistoryTable,
        table: u8,
        id: i32,
        columns: Columns,
        events: &mut Vec<Event>,
    ) -> Step<()> {
        let found =
            worker.get(t.id_of(0), &t.key(id), t.projection(columns), |_, row| t.see(row, columns))?;
        events.push(Event::Get { table, id, columns, found });
        Ok(())
    }

    fn random_bounds(&mut self, table: u8, index: u8) -> Bounds {
        let bound = |client: &mut Self| match index {
            0 => Some((client.pick(table), None)),
            1 => Some((client.pick_a(), client.random.random_bool(0.3).then(|| client.pick(table)))),
            _ => Some((client.pick_u(), None)),
        };
        let low = if self.random.random_ratio(1, 4) { None } else { bound(self) };
        let high = match (low, self.random.random_range(0..3)) {
            (_, 0) => None,
            // short
            (Some((lead, _)), 1) => Some((lead + self.random.random_range(1..10), None)),
            _ => bound(self),
        };
        Bounds { low, high }
    }

    fn scan<W: Worker>(
        &mut self,
        worker: &mut W,
        t: &HistoryTable,
        table: u8,
        limit: u32,
        events: &mut Vec<Event>,
    ) -> Step<Vec<(RowId, i32)>> {
        let index = if t.kind.indexes { self.random.random_range(0..3) } else { 0 };
        let bounds = if self.keys == Keys::Queue && self.random.random_bool(0.5) {
            Bounds::default()
        } else {
            self.random_bounds(table, index)
        };
        let (backward, columns) = (self.random.random_ratio(1, 3), self.pick_columns());
        self.scan_in(worker, t, (table, index), bounds, backward, limit, columns, events)
    }

    #[allow(clippy::too_many_arguments)]
    fn scan_in<W: Worker>(
        &mut self,
        worker: &mut W,
        t: &HistoryTable,
        (table, index): (u8, u8),
        bounds: Bounds,
        backward: bool,
        limit: u32,
        columns: Columns,
        events: &mut Vec<Event>,
    ) -> Step<Vec<(RowId, i32)>> {
        let (low, high) = t.bounds(index, bounds);
        let range = Range { start: &low, end: high.as_deref() };
        let order = if backward { Order::Backward } else { Order::Forward };
        let cols = if index == 2 { t.projection_with_id(columns) } else { t.projection(columns) };
        let (mut found, mut ids): (Vec<Pair>, _) = (Vec::new(), Vec::new());
        worker.scan(t.id_of(index), range, order, cols, |row_id, key, row| {
            let pair = t.see_in(index, key, row, columns);
            ids.push((row_id, pair.0));
            found.push(pair);
            if found.len() as u32 == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        events.push(Event::Scan { table, index, bounds, backward, limit, columns, found: found.into() });
        Ok(ids)
    }

    fn insert<W: Worker>(
        &mut self,
        worker: &mut W,
        t: &HistoryTable,
        table: u8,
        id: i32,
        events: &mut Vec<Event>,
    ) -> Step<()> {
        let (mut row, text) = self.random_row(events.len());
        if !t.kind.indexes && row.u.is_some_and(|u| u % 2 == 0) {
            row.u = None;
        }
        let done = is_duplicate(worker.insert(t.id_of(0), &t.row(id, &row, &text)))?.is_some();
        events.push(Event::Insert { table, id, row, done });
        Ok(())
    }

    fn random_change(&mut self, indexed: bool, operation: usize) -> (Columns, Change) {
        let mark = self.mark(operation);
        let mut change = Change::default();
        if indexed {
            match self.random.random_range(0..3) {
                0 => change.a = Some(self.pick_a()),
                1 => change.u = Some(if self.random.random_ratio(1, 5) { None } else { Some(self.pick_u()) }),
                _ => {
                    change.a = Some(self.pick_a());
                    change.u = Some(Some(self.pick_u()));
                }
            }
        }
        match self.random.random_range(0..5) {
            0 => change.g = Some(mark),
            1 => (change.g, change.w) = (Some(mark), Some(mark)),
            2 => (change.text, change.w) = (Some(self.random.random()), Some(mark)),
            _ => change.w = Some(mark),
        }
        let columns = match self.random.random_range(0..3) {
            0 => Columns::ALL,
            1 => Columns(change.columns().0 | self.pick_columns().0),
            _ => change.columns(),
        };
        (columns, change)
    }

    #[allow(clippy::too_many_arguments)]
    fn update<W: Worker>(
        &mut self,
        worker: &mut W,
        t: &HistoryTable,
        table: u8,
        (id, row_id): (i32, Option<RowId>),
        columns: Columns,
        change: Change,
        events: &mut Vec<Event>,
    ) -> Step<()> {
        let mut before = None;
        let set = |row: &mut scaledb_row::RowMut<'_>| {
            before = Some(t.see(row.view(), columns));
            t.apply(row, &change)
        };
        let cols = t.projection(columns);
        let result = match row_id {
            Some(row_id) => worker.update_at(t.id_of(0), row_id, cols, set),
            None => worker.update(t.id_of(0), &t.key(id), cols, set),
        };
        let done = is_duplicate(result)?;
        if done.is_some_and(|d| d.is_some() != before.is_some()) {
            return Err(Error::BadDefinition(
                "an update says that there is no row that it has changed".into(),
            )
            .into());
        }
        events.push(Event::Update { table, id, columns, before, change, done: done.is_some() });
        Ok(())
    }

    fn delete<W: Worker>(
        &mut self,
        worker: &mut W,
        t: &HistoryTable,
        table: u8,
        (id, row_id): (i32, Option<RowId>),
        events: &mut Vec<Event>,
    ) -> Step<()> {
        let done = match row_id {
            Some(row_id) => worker.delete_at(t.id_of(0), row_id)?,
            None => worker.delete(t.id_of(0), &t.key(id))?,
        };
        events.push(Event::Delete { table, id, done });
        Ok(())
    }

    /// Inserts every other of the first `rows` keys of each table, some per transaction.
    ///
    /// # Errors
    /// The engine's.
    pub fn load<W: Worker>(&mut self, worker: &mut W, rows: i32) -> Result<()> {
        let tables = self.tables.clone();
        for (table, t) in tables.iter().enumerate() {
            for first in (0..rows).step_by(16) {
                self.transaction(worker, TxnKind::ReadWrite, |client, worker, events| {
                    for id in (first..rows.min(first + 16)).step_by(2) {
                        client.insert(worker, t, table as u8, id, events)?;
                    }
                    Ok(())
                })?;
            }
            self.tails[table].store(rows as u64, Ordering::Relaxed); // before other clients run
        }
        Ok(())
    }

    /// Reads everything in every way: the final state.
    ///
    /// # Errors
    /// The engine's.
    pub fn audit<W: Worker>(&mut self, worker: &mut W) -> Result<()> {
        let tables = self.tables.clone();
        for kind in [TxnKind::ReadOnly, TxnKind::Deferrable] {
            for (table, t) in tables.iter().enumerate() {
                let (n, units) = match self.keys {
                    Keys::Uniform(n) | Keys::Skewed(n) => (n + BEYOND, n * 2),
                    Keys::Queue => (self.tail(table) + BEYOND, 400),
                };
                let table = table as u8;
                let before = self.committed.len();
                let mut tries = 0;
                // helpers may be cleaning up still
                while self.committed.len() == before && tries < 100 {
                    tries += 1;
                    self.transaction(worker, kind, |client, worker, events| {
                        let indexes = if !t.is_ordered() {
                            0
                        } else if t.kind.indexes {
                            3
                        } else {
                            1
                        };
                        for index in 0..indexes {
                            for backward in [false, true] {
                                let (all, columns) = (Bounds::default(), Columns::ALL);
                                client.scan_in(
                                    worker,
                                    t,
                                    (table, index),
                                    all,
                                    backward,
                                    u32::MAX,
                                    columns,
                                    events,
                                )?;
                            }
                        }
                        for id in (n - 1000).max(0)..n {
                            client.get(worker, t, table, id, Columns::ALL, events)?;
                        }
                        for u in 0..if t.kind.indexes { units } else { 0 } {
                            let columns = Columns::ALL;
                            let found = worker.get(
                                t.id_of(2),
                                &t.unique_key(u),
                                t.projection(columns),
                                |_, row| (t.id_of_row(row), t.see(row, columns)),
                            )?;
                            events.push(Event::GetUnique { table, u, columns, found });
                        }
                        Ok(())
                    })?;
                }
                if self.committed.len() == before {
                    return Err(Error::BadDefinition(format!(
                        "alone, and yet a hundred conflicts, the last {}",
                        self.last
                    )));
                }
            }
        }
        Ok(())
    }
}
