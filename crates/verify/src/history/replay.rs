//! The plain map that a history is replayed on.

use crate::history::event::{Bounds, Event, Pair, Row};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct TableModel {
    rows: BTreeMap<i32, Row>,
    by_a: BTreeSet<(i32, i32)>,
    by_u: BTreeMap<i32, i32>,
    null_u: BTreeSet<i32>,
    unique: bool,
}

impl TableModel {
    fn set(&mut self, id: i32, row: Option<Row>) -> Option<Row> {
        let old = match row {
            Some(row) => self.rows.insert(id, row),
            None => self.rows.remove(&id),
        };
        if let Some(old) = old {
            self.by_a.remove(&(old.a, id));
            match old.u {
                Some(u) if self.by_u.get(&u) == Some(&id) => drop(self.by_u.remove(&u)),
                Some(_) => {}
                None => drop(self.null_u.remove(&id)),
            }
        }
        if let Some(row) = row {
            self.by_a.insert((row.a, id));
            match row.u {
                Some(u) => drop(self.by_u.insert(u, id)),
                None => drop(self.null_u.insert(id)),
            }
        }
        old
    }

    fn is_taken(&self, u: Option<i32>, by_other_than: i32) -> bool {
        self.unique && u.is_some_and(|u| self.by_u.get(&u).is_some_and(|&id| id != by_other_than))
    }
}

/// Tables as maps.
pub struct Model {
    tables: Vec<TableModel>,
    undo: Vec<(u8, i32, Option<Row>)>,
    savepoints: Vec<usize>,
}

impl Model {
    /// Empty tables; for each, whether it has a unique index.
    pub fn new(unique: impl IntoIterator<Item = bool>) -> Self {
        let tables =
            unique.into_iter().map(|unique| TableModel { unique, ..TableModel::default() }).collect();
        Self { tables, undo: Vec::new(), savepoints: Vec::new() }
    }

    fn set(&mut self, table: u8, id: i32, row: Option<Row>) {
        let old = self.tables[usize::from(table)].set(id, row);
        self.undo.push((table, id, old));
    }

    /// The rows of a table.
    pub fn rows(&self, table: u8) -> impl Iterator<Item = Pair> {
        self.tables[usize::from(table)].rows.iter().map(|(&id, &row)| (id, row))
    }

    /// A row.
    pub fn get(&self, table: u8, id: i32) -> Option<Row> {
        self.tables[usize::from(table)].rows.get(&id).copied()
    }

    /// The row with a unique key.
    pub fn get_unique(&self, table: u8, u: i32) -> Option<Pair> {
        let t = &self.tables[usize::from(table)];
        t.by_u.get(&u).map(|&id| (id, t.rows[&id]))
    }

    /// What a scan finds.
    pub fn scan(&self, table: u8, index: u8, bounds: Bounds, backward: bool, limit: usize) -> Vec<Pair> {
        let t = &self.tables[usize::from(table)];
        let low = bounds.low.map_or(i32::MIN, |b| b.0);
        let high = bounds.high.map(|b| b.0);
        let pair = |id: i32| (id, t.rows[&id]);
        match index {
            0 => {
                let inside = t
                    .rows
                    .range(low..)
                    .take_while(|r| high.is_none_or(|h| *r.0 < h))
                    .map(|(&id, &r)| (id, r));
                take(
                    inside,
                    || {
                        let end = high.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                        t.rows.range((std::ops::Bound::Included(low), end)).rev().map(|(&id, &r)| (id, r))
                    },
                    backward,
                    limit,
                    high.is_some_and(|h| h <= low),
                )
            }
            1 => {
                let key = |b: (i32, Option<i32>)| (b.0, b.1.unwrap_or(i32::MIN));
                let low = bounds.low.map_or((i32::MIN, i32::MIN), key);
                let high = bounds.high.map(key);
                let end = high.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                if high.is_some_and(|h| h <= low) {
                    return Vec::new();
                }
                let range = t.by_a.range((std::ops::Bound::Included(low), end));
                if backward {
                    range.rev().take(limit).map(|k| pair(k.1)).collect()
                } else {
                    range.take(limit).map(|k| pair(k.1)).collect()
                }
            }
            _ => {
                if high.is_some_and(|h| h <= low) {
                    return Vec::new();
                }
                let end = high.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                let keys = t.by_u.range((std::ops::Bound::Included(low), end)).map(|k| *k.1);
                let nulls = t.null_u.iter().copied().filter(|_| high.is_none());
                let mut ids: Vec<i32> = keys.chain(nulls).collect();
                if backward {
                    ids.reverse();
                }
                ids.truncate(limit);
                ids.into_iter().map(pair).collect()
            }
        }
    }

    /// Applies a transaction. Says what differs, if an answer does.
    ///
    /// # Errors
    /// The event's number and the answer that this state gives.
    pub fn apply(&mut self, events: &[Event]) -> Result<(), (usize, String)> {
        self.undo.clear();
        self.savepoints.clear();
        for (number, event) in events.iter().enumerate() {
            self.apply_event(event).map_err(|expected| (number, expected))?;
        }
        Ok(())
    }

    /// The keys that the last transaction touched.
    pub fn touched(&self) -> impl Iterator<Item = (u8, i32)> {
        self.undo.iter().map(|u| (u.0, u.1))
    }

    fn apply_event(&mut self, event: &Event) -> Result<(), String> {
        match *event {
            Event::Get { table, id, columns, found } => {
                let expected = self.get(table, id).map(|r| r.only(columns));
                differs(expected, found)
            }
            Event::GetUnique { table, u, columns, found } => {
                let expected = self.get_unique(table, u).map(|(id, r)| (id, r.only(columns)));
                differs(expected, found)
            }
            Event::Scan { table, index, bounds, backward, limit, columns, ref found } => {
                let rows = self.scan(table, index, bounds, backward, limit as usize);
                let same = rows.len() == found.len()
                    && rows.iter().zip(found.iter()).all(|(&(id, r), f)| (id, r.only(columns)) == *f);
                if same {
                    return Ok(());
                }
                let rows: Vec<Pair> = rows.into_iter().map(|(id, r)| (id, r.only(columns))).collect();
                Err(format!("{rows:?}"))
            }
            Event::Insert { table, id, row, done } => {
                let t = &self.tables[usize::from(table)];
                let expected = !t.rows.contains_key(&id) && !t.is_taken(row.u, id);
                differs(expected, done)?;
                if done {
                    self.set(table, id, Some(row));
                }
                Ok(())
            }
            Event::Update { table, id, columns, before, ref change, done } => {
                let row = self.get(table, id);
                differs(row.map(|r| r.only(columns)), before)?;
                let Some(row) = row else { return Ok(()) };
                let next = change.of(row);
                let expected = !self.tables[usize::from(table)].is_taken(next.u, id);
                differs(expected, done)?;
                if done {
                    self.set(table, id, Some(next));
                }
                Ok(())
            }
            Event::Delete { table, id, done } => {
                differs(self.get(table, id).is_some(), done)?;
                if done {
                    self.set(table, id, None);
                }
                Ok(())
            }
            Event::Savepoint => {
                self.savepoints.push(self.undo.len());
                Ok(())
            }
            Event::RollbackTo(number) => {
                let mark = self.savepoints[number];
                self.savepoints.truncate(number + 1);
                while self.undo.len() > mark {
                    let (table, id, row) = self.undo.pop().expect("longer than the mark");
                    self.tables[usize::from(table)].set(id, row);
                }
                Ok(())
            }
        }
    }
}

fn take<I: Iterator<Item = Pair>, J: Iterator<Item = Pair>>(
    forward: I,
    reversed: impl FnOnce() -> J,
    backward: bool,
    limit: usize,
    empty: bool,
) -> Vec<Pair> {
    if empty {
        Vec::new()
    } else if backward {
        reversed().take(limit).collect()
    } else {
        forward.take(limit).collect()
    }
}

fn differs<T: PartialEq + std::fmt::Debug>(expected: T, found: T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{expected:?}")) }
}
