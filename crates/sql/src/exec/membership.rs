//! `IN` and `= ANY` over rows that are kept.
//!
//! The rows are hashed when they are first asked: those without NULL, where equal is equal. Rows with a NULL in them
//! can leave the answer open only; there are few of them, and they are compared one by one.

use super::eval::compare;
use super::{Exec, Rows};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rapidhash::fast::RandomState;
use scaledb_engine::Worker;
use scaledb_planner::plan::expr::Compare;
use scaledb_types::{Result, Value};
use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::rc::Rc;

/// Rows, hashed.
#[derive(Debug)]
pub(crate) struct Members {
    /// Whose numbers stand below.
    rows: Rows,
    whole: HashTable<usize>,
    /// Those with a NULL, each once.
    partial: Vec<usize>,
    hasher: RandomState,
    /// Bytes taken for the tables.
    pub(super) weight: usize,
}

/// Rows that are not worth hashing.
const FEW: usize = 8;

impl Members {
    fn new(rows: Rows, weight: usize) -> Self {
        let hasher = RandomState::default();
        let mut whole = HashTable::with_capacity(rows.len());
        let mut open = HashTable::new();
        let mut partial = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let same = |other: &usize| rows[*other] == *row;
            let hash = |other: &usize| hasher.hash_one(&rows[*other][..]);
            let has_null = row.iter().any(Value::is_null);
            let table = if has_null { &mut open } else { &mut whole };
            let entry = table.entry(hasher.hash_one(&row[..]), same, hash);
            if let (Entry::Vacant(_), true) = (&entry, has_null) {
                partial.push(number);
            }
            entry.or_insert(number);
        }
        Self { rows, whole, partial, hasher, weight }
    }

    fn has(&self, left: &[Value]) -> bool {
        let same = |number: &usize| *self.rows[*number] == *left;
        self.whole.find(self.hasher.hash_one(left), same).is_some()
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Whether values are one of the rows; NULL if that is not known.
    pub(super) fn is_member(&mut self, number: usize, rows: &Rows, left: &[Value]) -> Result<Value> {
        // a row of NULLs alone may equal any of them
        if !rows.is_empty() && left.iter().all(Value::is_null) {
            return Ok(Value::Null);
        }
        if rows.len() <= FEW || left.iter().any(Value::is_null) {
            return self.any_of(Compare::Eq, rows.iter(), left);
        }
        let all = &mut self.aside().members;
        if all.len() <= number {
            all.resize_with(number + 1, || None);
        }
        // rows that were read again may be others than before
        let known = all[number].clone().filter(|members| Rc::ptr_eq(&members.rows, rows));
        let members = match known {
            Some(members) => members,
            None => {
                if let Some(old) = self.aside().members[number].take() {
                    self.memory.give(old.weight);
                }
                let weight = rows.len() * 2 * size_of::<usize>();
                self.memory.take_rows(weight)?;
                let members = Rc::new(Members::new(rows.clone(), weight));
                self.aside().members[number] = Some(members.clone());
                members
            }
        };
        if members.has(left) {
            return Ok(Value::Bool(true));
        }
        self.any_of(Compare::Eq, members.partial.iter().map(|&number| &members.rows[number]), left)
    }

    /// Whether the values compare so with one of the rows; NULL if that is not known.
    pub(super) fn any_of<'r>(
        &mut self,
        op: Compare,
        rows: impl Iterator<Item = &'r Box<[Value]>>,
        left: &[Value],
    ) -> Result<Value> {
        let mut unknown = false;
        for row in rows {
            self.tick()?;
            match compare_rows(op, left, row) {
                Value::Bool(true) => return Ok(Value::Bool(true)),
                Value::Null => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { Value::Null } else { Value::Bool(false) })
    }
}

/// Whether two rows compare so: the first fields that differ decide; NULL if fields that are needed are not known.
fn compare_rows(op: Compare, left: &[Value], right: &[Value]) -> Value {
    let mut pairs = left.iter().zip(right);
    match op {
        // one pair that differs decides, behind those that are not known, too
        Compare::Eq | Compare::Ne => {
            let differs = op == Compare::Ne;
            let mut answer = Value::Bool(!differs);
            for (left, right) in pairs {
                match compare(op, left, right) {
                    Value::Bool(holds) if holds == differs => return Value::Bool(differs),
                    Value::Null => answer = Value::Null,
                    _ => {}
                }
            }
            answer
        }
        _ => {
            let Some(mut pair) = pairs.next() else { return Value::Bool(op.holds(Ordering::Equal)) };
            for next in pairs {
                match compare(Compare::Eq, pair.0, pair.1) {
                    Value::Bool(true) => pair = next,
                    Value::Null => return Value::Null,
                    _ => break,
                }
            }
            compare(op, pair.0, pair.1)
        }
    }
}
