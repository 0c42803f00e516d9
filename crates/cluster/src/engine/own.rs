//! What a transaction has written, and how a savepoint takes it back. Nobody else sees it before the commit. And what
//! it has found: a row that is written under its name was read when it got the name, and is not asked for again.

use crate::rows::{Key, Value};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Order, RowId, Savepoint};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// Bytes of found rows that a transaction keeps. Further ones are read again before they are written.
const KEPT: usize = 16 << 20;

/// A transaction's writes, and the names of the rows that it has met.
#[derive(Default)]
pub(super) struct Own {
    writes: BTreeMap<Key, Option<Value>>,
    undo: Vec<Undo>,
    /// The keys of rows that it has inserted, by ascending number; numbers do not come again.
    inserted: Vec<(u64, Key)>,
    next: u64,
    /// The rows that it has found.
    found: HashMap<u64, Found>,
    /// Bytes of the values among them.
    kept: usize,
    /// It writes no row, so that none needs to be kept.
    is_read_only: bool,
    /// Counts how often it has forgotten what it has read: what it had found before it does not depend on.
    forgotten: u64,
}

/// A row that was found.
struct Found {
    key: Key,
    /// What was read of it, unless it was an own write, and when, by `forgotten`.
    value: Option<(u64, Value)>,
}

enum Undo {
    /// The key had this write, or none.
    Write(Key, Option<Option<Value>>),
    /// A row got a name.
    Inserted,
}

impl Own {
    pub(super) fn new(is_read_only: bool) -> Self {
        Self { is_read_only, ..Self::default() }
    }

    /// The write of a key; none if there is none, none inside if it deletes.
    pub(super) fn get(&self, key: &Key) -> Option<&Option<Value>> {
        self.writes.get(key)
    }

    pub(super) fn put(&mut self, key: Key, value: Option<Value>) {
        let before = self.writes.insert(key.clone(), value);
        self.undo.push(Undo::Write(key, before));
    }

    pub(super) fn len(&self) -> usize {
        self.writes.len()
    }

    /// All writes.
    pub(super) fn take(&mut self) -> BTreeMap<Key, Option<Value>> {
        std::mem::take(&mut self.writes)
    }

    /// The first or last write between two bounds of one partition.
    pub(super) fn next(
        &self,
        low: &Bound<Key>,
        high: &Bound<Key>,
        order: Order,
    ) -> Option<(&Key, &Option<Value>)> {
        if is_empty(low, high) {
            return None;
        }
        let mut range = self.writes.range((low.as_ref(), high.as_ref()));
        match order {
            Order::Forward => range.next(),
            Order::Backward => range.next_back(),
        }
    }

    pub(super) fn savepoint(&self) -> Savepoint {
        Savepoint(self.undo.len() as u64)
    }

    pub(super) fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        if savepoint.0 > self.undo.len() as u64 {
            return Err(Error::NoSuchSavepoint);
        }
        for undo in self.undo.drain(savepoint.0 as usize..).rev() {
            match undo {
                Undo::Write(key, Some(before)) => drop(self.writes.insert(key, before)),
                Undo::Write(key, None) => drop(self.writes.remove(&key)),
                Undo::Inserted => drop(self.inserted.pop()),
            }
        }
        Ok(())
    }

    /// A name for a row that this transaction has inserted.
    pub(super) fn name_inserted(&mut self, serial: u64, table: TableId, key: Key) -> RowId {
        let number = self.next;
        self.next += 1;
        self.inserted.push((number, key));
        self.undo.push(Undo::Inserted);
        name(number | RowId::OWN, serial, table)
    }

    /// A name for a row that was found: a number that its key has in every transaction.
    pub(super) fn name_found(&mut self, serial: u64, table: TableId, key: &Key, value: &Value) -> RowId {
        let mut number = number_of(key);
        // the number of another key: take the next
        while self.found.get(&number).is_some_and(|other| other.key != *key) {
            number = (number + 1) & !RowId::OWN;
        }
        let found = self.found.entry(number).or_insert_with(|| Found { key: key.clone(), value: None });
        let is_known = found.value.as_ref().is_some_and(|(when, _)| *when == self.forgotten);
        if !is_known
            && !self.is_read_only
            && self.kept + value.0.len() <= KEPT
            && !self.writes.contains_key(key)
        {
            let before = found.value.replace((self.forgotten, value.clone()));
            self.kept = self.kept + value.0.len() - before.map_or(0, |(_, value)| value.0.len());
        }
        name(number, serial, table)
    }

    /// What is under the key of a row, own writes included, if that was read when the row was found; the transaction
    /// depends on it.
    pub(super) fn value(&self, row: RowId, key: &Key) -> Option<Value> {
        if let Some(own) = self.writes.get(key) {
            return own.clone();
        }
        let found = row.record().and_then(|raw| self.found.get(&raw))?;
        debug_assert_eq!(found.key, *key, "a name is of one key");
        let (when, value) = found.value.as_ref()?;
        (*when == self.forgotten).then(|| value.clone())
    }

    /// The transaction depends no more on what it has read, or on some of it.
    pub(super) fn forget_found(&mut self) {
        self.forgotten += 1;
    }

    /// The key of the row with this name.
    pub(super) fn key(&self, row: RowId, serial: u64, table: TableId) -> Result<Key> {
        let raw = row.check(serial, table)?;
        let found = match raw & RowId::OWN {
            0 => self.found.get(&raw).map(|found| &found.key),
            _ => {
                let number = raw & !RowId::OWN;
                let at = self.inserted.binary_search_by_key(&number, |&(number, _)| number);
                at.ok().map(|at| &self.inserted[at].1)
            }
        };
        found.cloned().ok_or(Error::StaleRow)
    }
}

/// Whether nothing is between two bounds: a map panics if they are the wrong way round.
pub(super) fn is_empty(low: &Bound<Key>, high: &Bound<Key>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low >= high
        }
        _ => false,
    }
}

fn name(raw: u64, serial: u64, table: TableId) -> RowId {
    // SAFETY: the number is looked up in maps, and nothing relies on what it says.
    unsafe { RowId::new(raw, serial, table) }
}

fn number_of(key: &Key) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ u64::from(key.space);
    let hash =
        key.bytes.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ hash >> 29) & !RowId::OWN
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_scar::PartitionId;

    fn key(number: u8) -> Key {
        Key::new(PartitionId(0), 1, &[number])
    }

    fn value(number: u8) -> Option<Value> {
        Some(Value([number].as_slice().into()))
    }

    #[test]
    fn a_savepoint_takes_back_writes_and_names_and_leaves_what_was_before() {
        let table = TableId(0);
        let mut own = Own::default();
        own.put(key(1), value(1));
        let kept = own.name_inserted(9, table, key(1));
        let here = own.savepoint();
        own.put(key(1), value(2));
        own.put(key(2), None);
        let gone = own.name_inserted(9, table, key(2));
        own.rollback_to(here).unwrap();
        assert_eq!((own.get(&key(1)), own.get(&key(2)), own.len()), (Some(&value(1)), None, 1));
        let next = own.name_inserted(9, table, key(3));
        assert!(matches!(own.key(gone, 9, table), Err(Error::StaleRow)));
        assert_eq!((own.key(kept, 9, table).unwrap(), own.key(next, 9, table).unwrap()), (key(1), key(3)));
        assert!(matches!(own.key(kept, 8, table), Err(Error::StaleRow)));
        own.rollback_to(Savepoint(0)).unwrap();
        assert!(matches!(own.rollback_to(here), Err(Error::NoSuchSavepoint)));
        assert_eq!(own.len(), 0);
    }

    #[test]
    fn two_keys_with_one_number_have_two_names() {
        let table = TableId(0);
        let mut own = Own::default();
        // as if the number of another key were the same
        own.found.insert(number_of(&key(1)), Found { key: key(2), value: None });
        let one = value(1).unwrap();
        let name = own.name_found(9, table, &key(1), &one);
        assert_eq!(own.key(name, 9, table).unwrap(), key(1));
        assert_eq!(own.name_found(9, table, &key(1), &one), name);
        assert!(name.record().is_some());
    }

    #[test]
    fn what_was_found_is_known_until_it_is_written_or_forgotten() {
        let table = TableId(0);
        let mut own = Own::default();
        let [one, two, three] = [1, 2, 3].map(|number| value(number).unwrap());
        let row = own.name_found(9, table, &key(1), &one);
        assert_eq!(own.value(row, &key(1)), Some(one.clone()));
        let here = own.savepoint();
        own.put(key(1), Some(two.clone()));
        // the scan that finds it again has the own write
        assert_eq!(own.name_found(9, table, &key(1), &two), row);
        assert_eq!(own.value(row, &key(1)), Some(two));
        own.put(key(1), None);
        assert_eq!(own.value(row, &key(1)), None);
        own.rollback_to(here).unwrap();
        assert_eq!(own.value(row, &key(1)), Some(one), "as it was read");
        own.forget_found();
        assert_eq!(own.value(row, &key(1)), None);
        own.name_found(9, table, &key(1), &three);
        assert_eq!(own.value(row, &key(1)), Some(three), "as it was read again");
        assert_eq!(own.kept, 1);
        // one that was inserted is an own write, or is gone
        let inserted = own.name_inserted(9, table, key(4));
        assert_eq!(own.value(inserted, &key(4)), None);
    }

    #[test]
    fn only_so_much_of_what_was_found_is_kept() {
        let table = TableId(0);
        let mut own = Own::default();
        let large = Value(vec![0; KEPT / 2].into());
        let rows = [1, 2, 3].map(|number| own.name_found(9, table, &key(number), &large));
        let known: Vec<bool> =
            (1..).zip(rows).map(|(number, row)| own.value(row, &key(number)).is_some()).collect();
        assert_eq!(known, [true, true, false]);
    }
}
