//! `IN` and `= ANY` over rows that are kept.
//!
//! The rows are hashed when they are first asked: those without NULL, where equal is equal. Rows with a NULL in them
//! can leave the answer open only; there are few of them, and they are compared one by one.

use super::eval::compare;
use super::{Exec, Rows};
use crate::plan::expr::Compare;
use hashbrown::HashTable;
use rapidhash::fast::RandomState;
use scaledb_engine::Worker;
use scaledb_types::{Result, Value};
use std::hash::BuildHasher;
use std::rc::Rc;

/// Rows, hashed.
#[derive(Debug)]
pub(crate) struct Members {
    /// Whose numbers stand below.
    rows: Rows,
    whole: HashTable<usize>,
    /// Those with a NULL.
    partial: Vec<usize>,
    hasher: RandomState,
}

/// Rows that are not worth hashing.
const FEW: usize = 8;

impl Members {
    fn new(rows: Rows) -> Self {
        let hasher = RandomState::default();
        let mut whole = HashTable::with_capacity(rows.len());
        let mut partial = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            if row.iter().any(Value::is_null) {
                partial.push(number);
                continue;
            }
            let same = |other: &usize| rows[*other] == *row;
            let hash = |other: &usize| hasher.hash_one(&rows[*other][..]);
            whole.entry(hasher.hash_one(&row[..]), same, hash).or_insert(number);
        }
        Self { rows, whole, partial, hasher }
    }

    fn has(&self, left: &[Value]) -> bool {
        let same = |number: &usize| *self.rows[*number] == *left;
        self.whole.find(self.hasher.hash_one(left), same).is_some()
    }
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Whether values are one of the rows; NULL if that is not known.
    pub(super) fn is_member(&mut self, number: usize, rows: &Rows, left: &[Value]) -> Result<Value> {
        if rows.len() <= FEW || left.iter().any(Value::is_null) {
            return Ok(any_of(rows.iter().map(|row| &**row), left));
        }
        if self.members.len() <= number {
            self.members.resize_with(number + 1, || None);
        }
        // rows that were read again are others
        let known = self.members[number].as_ref().is_some_and(|members| Rc::ptr_eq(&members.rows, rows));
        if !known {
            self.memory.take(rows.len() * 2 * size_of::<usize>())?;
            self.members[number] = Some(Members::new(rows.clone()));
        }
        let Some(members) = &self.members[number] else { return Ok(Value::Null) };
        if members.has(left) {
            return Ok(Value::Bool(true));
        }
        Ok(any_of(members.partial.iter().map(|&number| &*members.rows[number]), left))
    }
}

/// Whether one of the rows equals the values, compared one by one.
fn any_of<'r>(rows: impl Iterator<Item = &'r [Value]>, left: &[Value]) -> Value {
    let mut unknown = false;
    for row in rows {
        let mut all = Value::Bool(true);
        for (left, right) in left.iter().zip(row) {
            match compare(Compare::Eq, left, right) {
                Value::Bool(true) => {}
                Value::Null => all = Value::Null,
                no => {
                    all = no;
                    break;
                }
            }
        }
        match all {
            Value::Bool(true) => return all,
            Value::Null => unknown = true,
            _ => {}
        }
    }
    if unknown { Value::Null } else { Value::Bool(false) }
}
