//! The state in which every worker has finished must be what the serial execution leaves, with nothing left behind.

use super::rules::{Config, PointIndex};
use super::state::{Cell, Db, ROWS, TableId};
use crate::model::history::Row;
use crate::model::program::{KEYS, Key};

/// Checks a final state.
pub(super) fn final_check(config: &Config, db: &Db) -> Result<(), String> {
    let rows = db.history.final_rows();
    for (table, key) in Db::all_keys(config) {
        let expected = match table {
            ROWS => rows[key as usize],
            _ => rows[(key % KEYS) as usize].filter(|row| row.sec == key / KEYS),
        };
        check_key(config, db, table, key, expected)?;
    }
    check_leftovers(config, db)
}

/// A key has at most one record that is not obsolete; it is reachable where it should be and holds the expected row.
fn check_key(
    config: &Config,
    db: &Db,
    table: TableId,
    key: Key,
    expected: Option<Row>,
) -> Result<(), String> {
    let name = if table == ROWS { "row" } else { "entry" };
    let mut alive = (0..db.records.len() as u8).filter(|&rec| {
        let record = db.record(rec);
        (record.table, record.key, record.word.obsolete) == (table, key, false)
    });
    let (rec, second) = (alive.next(), alive.next());
    if second.is_some() {
        return Err(format!("{name} {key} has two records"));
    }
    let live = rec.map(|rec| db.record(rec)).filter(|record| !record.word.absent).map(|record| record.row);
    let same = match (live, expected) {
        (Some(now), Some(want)) => table != ROWS || now == want,
        (now, want) => now.is_none() && want.is_none(),
    };
    if !same {
        return Err(format!("{name} {key} is {live:?}, the serial execution leaves {expected:?}"));
    }
    let in_tree = db.tables[table].tree.get(key);
    let in_point = db.tables[table].probe(key);
    let pending =
        db.lanes.iter().flat_map(|lane| &lane.pending).find(|item| (item.table, item.key) == (table, key));
    if [in_tree, in_point, pending.map(|item| item.rec)].iter().flatten().any(|found| Some(*found) != rec) {
        return Err(format!("an index leads {name} {key} to a record that is not its own"));
    }
    let reachable = match config.point_index {
        PointIndex::Bounded(_) => in_tree.is_some() != (pending.is_some() && in_point.is_some()),
        PointIndex::Resident { .. } => in_point.is_some() && in_tree.is_some() != pending.is_some(),
        PointIndex::TreeOnly => in_tree.is_some(),
    };
    if rec.is_some() && !reachable {
        return Err(format!("{name} {key} is not where it should be: {in_tree:?} {in_point:?} {pending:?}"));
    }
    Ok(())
}

/// No locks, no pins of idle empty lanes, cells that add up.
fn check_leftovers(config: &Config, db: &Db) -> Result<(), String> {
    if let Some(record) = db.records.iter().find(|record| record.word.locker.is_some()) {
        return Err(format!("record of key {} is left locked", record.key));
    }
    for lane in &db.lanes {
        if lane.locked
            || lane.in_flight
            || lane.flight.is_some()
            || lane.active.is_some()
            || lane.pin.is_some() == lane.pending.is_empty()
        {
            return Err("a lane is left locked, in flight, active, or wrongly pinned".into());
        }
    }
    let mut cells = vec![Cell::default(); config.cells as usize];
    for (number, lane) in db.lanes.iter().enumerate() {
        for item in &lane.pending {
            cells[item.cell as usize].count += 1;
            cells[item.cell as usize].owners |= 1 << number;
        }
    }
    for (want, have) in cells.iter().zip(db.cells.iter()) {
        if (want.count, want.owners) != (have.count, have.owners) {
            return Err(format!("a cell says {have:?}, its items add up to {want:?}"));
        }
    }
    if db.lanes.iter().all(|lane| lane.pending.is_empty())
        && matches!(config.point_index, PointIndex::Bounded(_))
        && db.tables.iter().any(|table| !table.point.is_empty())
    {
        return Err("every lane is merged but an indexlet is not empty".into());
    }
    Ok(())
}
