//! One worker and random steps, on an engine and on the reference engine: both answer the same.

use crate::conformance::{Purpose, Subject};
use crate::history::{Change, Columns, HistoryTable, Kind, Row, text_of};
use crate::reference::Reference;
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Engine, Order, Range, Savepoint, TxnKind, Worker};
use std::fmt::Debug;
use std::ops::ControlFlow;

/// Keys of rows, and of the unique index.
const KEYS: u64 = 24;
const TRANSACTIONS: usize = 120;
const STEPS: u64 = 24;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn key(&mut self) -> i32 {
        self.below(KEYS) as i32
    }

    fn unique(&mut self) -> Option<i32> {
        (self.below(3) > 0).then(|| self.key())
    }

    fn columns(&mut self) -> Columns {
        Columns::SETS[self.below(Columns::SETS.len() as u64) as usize]
    }
}

/// A step of a transaction; savepoints by the order in which they were made.
#[derive(Clone, Debug)]
enum Step {
    Insert(i32, Row, u64),
    Update(i32, Change),
    /// An update or delete of a row by the name with which it was just found.
    UpdateFound(i32, Change),
    DeleteFound(i32),
    Delete(i32),
    Get(i32, Columns),
    GetUnique(i32),
    Scan {
        index: u8,
        from: i32,
        to: Option<i32>,
        order: Order,
        limit: usize,
        columns: Columns,
    },
    Savepoint,
    RollbackTo(usize),
}

impl Step {
    fn random(random: &mut Random, ordered: bool, indexes: bool, savepoints: usize) -> Self {
        let change = |random: &mut Random| Change {
            a: (random.below(2) == 0).then(|| random.below(5) as i32),
            u: (random.below(3) == 0).then(|| random.unique()),
            text: (random.below(3) == 0).then(|| random.below(1000)),
            w: (random.below(2) == 0).then(|| random.below(1000) as i64),
            g: (random.below(2) == 0).then(|| random.below(1000) as i64),
        };
        match random.below(16) {
            0..=4 => {
                let (a, u) = (random.below(5) as i32, random.unique());
                let row = Row { a, u, w: random.below(9) as i64, ..Row::default() };
                Self::Insert(random.key(), row, random.below(1000))
            }
            5 | 6 => Self::Update(random.key(), change(random)),
            7 => Self::UpdateFound(random.key(), change(random)),
            8 => Self::DeleteFound(random.key()),
            9 => Self::Delete(random.key()),
            10 if indexes => Self::GetUnique(random.key()),
            11..=13 if ordered => Self::Scan {
                index: if indexes { random.below(3) as u8 } else { 0 },
                from: random.key(),
                to: (random.below(2) == 0).then(|| random.key()),
                order: if random.below(2) == 0 { Order::Forward } else { Order::Backward },
                limit: 1 + random.below(KEYS) as usize,
                columns: random.columns(),
            },
            14 => Self::Savepoint,
            15 if savepoints > 0 => Self::RollbackTo(random.below(savepoints as u64) as usize),
            _ => Self::Get(random.key(), random.columns()),
        }
    }
}

/// A table of one of the two engines, and the savepoints of its transaction.
struct Side<W> {
    worker: W,
    table: HistoryTable,
    savepoints: Vec<Savepoint>,
}

impl<W: Worker> Side<W> {
    fn of<E: Engine<Worker = W>>(engine: &E, kind: Kind) -> Self {
        let table = HistoryTable::create(engine, "t", kind).unwrap();
        Self { worker: engine.worker().unwrap(), table, savepoints: Vec::new() }
    }

    /// What a step answers, as text: ids of indexes are their numbers within the table.
    fn play(&mut self, step: &Step) -> Result<String> {
        let played = self.answer(step);
        match played {
            Err(error) if error.is_conflict() => Err(error),
            Err(Error::DuplicateKey { table, key }) => {
                Ok(format!("duplicate in {} of {key:?}", self.number(table)))
            }
            played => Ok(format!("{played:?}")),
        }
    }

    fn number(&self, index: TableId) -> u8 {
        (0..3).find(|&number| self.table.id_of(number) == index).expect("the table, or one of its indexes")
    }

    fn answer(&mut self, step: &Step) -> Result<Box<dyn Debug>> {
        let Self { worker, table, savepoints } = self;
        let (id, all) = (table.info.id, Columns::ALL);
        Ok(match step {
            Step::Insert(key, row, text) => {
                worker.insert(id, &table.row(*key, row, &text_of(*text)))?;
                Box::new(())
            }
            Step::Update(key, change) => {
                let change = |row: &mut scaledb_row::RowMut<'_>| table.apply(row, change);
                Box::new(worker.update(id, &table.key(*key), table.projection(all), change)?)
            }
            Step::UpdateFound(key, change) => {
                let found = worker.get(id, &table.key(*key), table.projection(all), |name, _| name)?;
                let Some(name) = found else { return Ok(Box::new("not found")) };
                let before = worker.get_at(id, name, table.projection(all), |row| table.see(row, all))?;
                let change = |row: &mut scaledb_row::RowMut<'_>| table.apply(row, change);
                Box::new((before, worker.update_at(id, name, table.projection(all), change)?))
            }
            Step::DeleteFound(key) => {
                let found = worker.get(id, &table.key(*key), table.projection(Columns(0)), |name, _| name)?;
                let Some(name) = found else { return Ok(Box::new("not found")) };
                let deleted = (worker.delete_at(id, name)?, worker.delete_at(id, name)?);
                let read = worker.get_at(id, name, table.projection(all), |row| table.see(row, all))?;
                Box::new((deleted, read))
            }
            Step::Delete(key) => Box::new(worker.delete(id, &table.key(*key))?),
            Step::Get(key, columns) => {
                let cols = table.projection(*columns);
                Box::new(worker.get(id, &table.key(*key), cols, |_, row| table.see(row, *columns))?)
            }
            Step::GetUnique(key) => {
                let (index, cols) = (table.id_of(2), table.projection(all));
                let seen = worker.get(index, &table.unique_key(*key), cols, |_, row| {
                    (table.id_of_row(row), table.see(row, all))
                })?;
                Box::new(seen)
            }
            Step::Scan { index, from, to, order, limit, columns } => {
                let bound = |key: i32| match index {
                    2 => table.unique_key(key),
                    _ => table.key(key),
                };
                let (start, end) = (bound(*from), to.map(bound));
                let range = Range { start: &start, end: end.as_deref() };
                let mut rows = Vec::new();
                let cols = table.projection_with_id(*columns);
                worker.scan(table.id_of(*index), range, *order, cols, |_, key, row| {
                    rows.push((key.to_vec(), table.id_of_row(row), table.see(row, *columns)));
                    if rows.len() < *limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                Box::new(rows)
            }
            Step::Savepoint => {
                savepoints.push(worker.savepoint()?);
                Box::new(())
            }
            Step::RollbackTo(number) => {
                worker.rollback_to(savepoints[*number])?;
                savepoints.truncate(number + 1);
                Box::new(())
            }
        })
    }
}

/// What a worker reads, and what it is refused, is what the reference engine says, for every kind of table.
pub fn one_worker_is_answered_as_by_the_reference_engine<S: Subject>() {
    for (seed, &kind) in (1..).zip(S::DIFFERENCES.tables) {
        let (engine, reference) = (S::open(Purpose::Steps).unwrap(), Reference::new());
        let (mut ours, mut other) = (Side::of(&engine, kind), Side::of(&reference, kind));
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
        let mut commits = 0;
        for transaction in 0..TRANSACTIONS {
            ours.worker.begin(TxnKind::ReadWrite).unwrap();
            other.worker.begin(TxnKind::ReadWrite).unwrap();
            ours.savepoints.clear();
            other.savepoints.clear();
            let mut conflict = false;
            let mut steps = Vec::new();
            for _ in 0..random.below(STEPS) {
                let ordered = ours.table.is_ordered();
                let step = Step::random(&mut random, ordered, kind.indexes, other.savepoints.len());
                steps.push(step.clone());
                match ours.play(&step) {
                    Ok(answer) => {
                        let expected = other.play(&step).unwrap();
                        assert_eq!(answer, expected, "{kind:?}, transaction {transaction}: {steps:#?}");
                    }
                    // an engine may refuse what it need not
                    Err(_) => {
                        conflict = true;
                        break;
                    }
                }
            }
            if conflict || random.below(4) == 0 || ours.worker.commit().is_err() {
                ours.worker.rollback();
                other.worker.rollback();
            } else {
                other.worker.commit().unwrap();
                commits += 1;
            }
        }
        assert!(2 * commits > TRANSACTIONS, "{commits} commits of {TRANSACTIONS} transactions: {kind:?}");
    }
}
