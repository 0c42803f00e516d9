//! Memory that runs out at any allocation: a small history is run again and again, and each time another of its
//! allocations fails, once, or from there on. What was acknowledged is there, by every index; what was not is not;
//! and a later transaction works.

use scaledb_acc::{Acc, IndexUpdates};
use scaledb_base::{Error, Result};
use scaledb_cicada::Cicada;
use scaledb_engine::{Access, Engine, Order, Range, TxnKind, Worker};
use scaledb_memory::Domain;
use scaledb_verify::history::{Change, Columns, HistoryTable, Kind, Row, hash_text, text_of};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

type Rows = BTreeMap<i32, Row>;

/// One change of a row.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(i32),
    /// Of all columns; the row grows.
    Update(i32),
    Delete(i32),
    /// What the steps before have done since the last one of these is taken back.
    Back,
}

use Step::{Back, Delete, Insert, Update};

/// Transactions; inserts over deleted rows, and of rows that are taken back, among them.
const HISTORY: &[&[Step]] = &[
    &[Insert(1), Insert(2), Insert(3)],
    &[Insert(4), Back, Insert(5), Delete(2)],
    &[Update(1), Update(3)],
    &[Delete(3), Insert(6), Insert(2)],
    &[Insert(3), Update(5), Delete(1)],
    &[Insert(7), Insert(8), Insert(9), Insert(10), Insert(11)],
    &[Update(2), Delete(5), Insert(1)],
];

fn row_of(id: i32, version: u64) -> (Row, String) {
    let text = text_of(31 * (u64::from(id.unsigned_abs()) + 40 * version));
    (Row { a: id % 3, u: Some(id * 7), text: hash_text(&text), w: version as i64, g: 0 }, text)
}

/// Runs one transaction, and notes in `rows` what it did if it was acknowledged.
fn transact<W: Worker>(
    worker: &mut W,
    t: &HistoryTable,
    steps: &[Step],
    version: u64,
    rows: &mut Rows,
) -> Result<()> {
    let mut after = rows.clone();
    worker.begin(TxnKind::ReadWrite)?;
    let mut savepoint = (worker.savepoint()?, rows.clone());
    for &step in steps {
        match step {
            // a transaction before that failed may have left it there
            Insert(id) if after.contains_key(&id) => {}
            Insert(id) => {
                let (row, text) = row_of(id, version);
                worker.insert(t.id_of(0), &t.row(id, &row, &text))?;
                after.insert(id, row);
            }
            Update(id) => {
                let number = 31 * (40 * version + 39);
                let text = text_of(number);
                let change = Change {
                    a: Some(2 - id % 3),
                    u: Some(Some(id * 7 + 1000 * version as i32)),
                    text: Some(number),
                    w: Some(version as i64),
                    ..Change::default()
                };
                let columns = t.projection(Columns::ALL);
                let found = worker.update(t.id_of(0), &t.key(id), columns, |row| t.apply(row, &change))?;
                assert_eq!(found.is_some(), after.contains_key(&id));
                if let Some(row) = after.get_mut(&id) {
                    *row = Row { text: hash_text(&text), ..change.of(*row) };
                }
            }
            Delete(id) => {
                let found = worker.delete(t.id_of(0), &t.key(id))?;
                assert_eq!(found, after.remove(&id).is_some());
            }
            Back => {
                worker.rollback_to(savepoint.0)?;
                after = savepoint.1;
                savepoint = (worker.savepoint()?, after.clone());
            }
        }
    }
    worker.commit()?;
    *rows = after;
    Ok(())
}

/// The rows as an index shows them.
fn rows_by<W: Worker>(worker: &mut W, t: &HistoryTable, index: u8, kind: TxnKind) -> Result<Rows> {
    worker.begin(kind)?;
    let mut rows = Rows::new();
    let projection = t.projection_with_id(Columns::ALL);
    worker.scan(t.id_of(index), Range::ALL, Order::Forward, projection, |_, key, row| {
        let (_, seen) = t.see_in(index, key, row, Columns::ALL);
        assert_eq!(rows.insert(t.id_of_row(row), seen), None, "twice in index {index}");
        ControlFlow::Continue(())
    })?;
    worker.commit()?;
    Ok(rows)
}

/// One run, in which `fails` allocations fail after `after` others. Returns whether one has.
fn run<E: Engine>(engine: &E, memory: &Domain, kind: Kind, after: u64, fails: u64) -> bool {
    let name = format!("{} {kind:?}, {fails} after {after}", engine.name());
    let t = HistoryTable::create(engine, "t", kind).unwrap();
    let mut rows = Rows::new();
    memory.fail_allocations(after, fails);
    let mut workers = [engine.worker().unwrap(), engine.worker().unwrap()];
    for (number, steps) in HISTORY.iter().enumerate() {
        let worker = &mut workers[number % 2];
        match transact(worker, &t, steps, number as u64, &mut rows) {
            Ok(()) => {}
            Err(Error::OutOfMemory { .. }) => worker.rollback(),
            Err(error) => panic!("{name}: transaction {number}: {error}"),
        }
    }
    // what sessions leave unmerged, they leave to others
    drop(workers);
    let failed = memory.stop_failing();
    let mut worker = engine.worker().unwrap();
    let check = |rows: &Rows, worker: &mut E::Worker| {
        for index in 0..3 {
            for kind in [TxnKind::ReadOnly, TxnKind::Deferrable] {
                assert_eq!(
                    rows_by(worker, &t, index, kind).unwrap(),
                    *rows,
                    "{name}: index {index}, {kind:?}"
                );
            }
        }
    };
    check(&rows, &mut worker);
    let (present, version) = (rows.keys().copied().collect::<Vec<_>>(), 100);
    let all: Vec<_> = present.iter().flat_map(|&id| [Update(id), Delete(id)]).collect();
    transact(&mut worker, &t, &all, version, &mut rows).unwrap();
    let all: Vec<_> = (1..12).map(Insert).collect();
    transact(&mut worker, &t, &all, version + 1, &mut rows).unwrap();
    check(&rows, &mut worker);
    failed
}

/// Runs with every allocation of the history, until there are no more. Returns how many there are.
fn fail_each(fails: u64, run: impl Fn(u64, u64) -> bool) -> u64 {
    (0..10_000).find(|&after| !run(after, fails)).expect("a history has fewer allocations")
}

const KINDS: [(Access, Option<u32>); 3] =
    [(Access::Hashed, Some(3)), (Access::Ordered, Some(3)), (Access::Ordered, Some(0))];

#[test]
fn acc_stands_every_allocation_that_fails() {
    for (access, batch) in KINDS {
        for fails in [1, u64::MAX] {
            let n = fail_each(fails, |after, fails| {
                let (phantomlet_cells, indexlet_slots) = (4, 64);
                let index_updates = IndexUpdates::Collected;
                let config = scaledb_acc::Config {
                    background: false,
                    phantomlet_cells,
                    indexlet_slots,
                    index_updates,
                    ..scaledb_acc::Config::default()
                };
                let db = Acc::open(config).unwrap();
                run(&db, db.memory(), Kind::new(access, batch), after, fails)
            });
            assert!(n > 20, "{n} allocations");
        }
    }
}

#[test]
fn cicada_stands_every_allocation_that_fails() {
    for access in [Access::Hashed, Access::Ordered] {
        for (fails, inline_words) in [(1, 0), (u64::MAX, 8)] {
            let n = fail_each(fails, |after, fails| {
                let config = scaledb_cicada::Config {
                    background: false,
                    inline_words,
                    guards: 64,
                    ..scaledb_cicada::Config::default()
                };
                let db = Cicada::open(config).unwrap();
                run(&db, db.memory(), Kind::new(access, None), after, fails)
            });
            assert!(n > 20, "{n} allocations");
        }
    }
}
