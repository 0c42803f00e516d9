//! Whether a row breaks an EXCLUDE constraint.
//!
//! The index has the columns that are compared by `=` first, and the range last, which sorts by its lower bound. Let R
//! be the ranges of the rows that agree in the other columns. Where no two of R overlap, a range meets another one of R
//! only if it meets one of its two neighbours in the index. So each new row looks at its neighbours, to both sides
//! until one does not overlap:
//!
//! ```text
//!  if X and Y overlap, and Z stands between them:  X.lower <= Z.lower <= Y.lower <= X.upper,  so X and Z overlap
//! ```
//!
//! Hence, if any two rows overlap, two neighbours do; one of them is new, as the rows before did not, and it is looked
//! at. So all new rows are looked at before anything else is written, or all of the transaction at its end. The scans
//! are part of what the transaction has read: of two transactions that insert ranges which overlap, one is tried
//! again, and finds the row of the other.

use super::{Exec, codec};
use scaledb_engine::{Order, Range, Worker};
use scaledb_keys::KeyBuf;
use scaledb_planner::plan::{BoundTable, IndexColumn, IndexRef};
use scaledb_row::Projection;
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::ops::ControlFlow;

/// What a row beside another one is to it.
enum Beside {
    /// The row itself.
    Own,
    /// It breaks the constraint.
    Excluded,
    /// Neither it nor those behind it do.
    Apart,
}

impl<W: Worker> Exec<'_, W> {
    /// The key of a row that a row with this key excludes, if there is one. The row is in the index itself if it is its
    /// `own`; then there is none once it has gone. A key with a NULL, and an empty range, exclude nothing.
    pub(crate) fn excluded_by(
        &mut self,
        table: &BoundTable,
        index: usize,
        key: &[Value],
        own: bool,
    ) -> Result<Option<Vec<Value>>> {
        let columns = &table.secondary[index];
        let overlaps = table.desc.indexes[index].exclusion.as_ref().is_some_and(|desc| desc.overlaps);
        let equal = columns.len() - usize::from(overlaps);
        debug_assert_eq!(columns.len(), key.len());
        let is_empty = matches!(key.last(), Some(Value::Range(range)) if overlaps && range.is_empty());
        if is_empty || key.iter().any(Value::is_null) {
            return Ok(None);
        }
        let mut prefix = KeyBuf::new();
        for (column, value) in columns[..equal].iter().zip(key) {
            codec::push_key(&mut prefix, table, column, value)?;
        }
        let mut at = prefix.clone();
        for (column, value) in columns[equal..].iter().zip(&key[equal..]) {
            codec::push_key(&mut at, table, column, value)?;
        }
        let mut end = prefix.clone();
        let end = if end.next_prefix() { Some(end) } else { None };
        let mut is_there = !own;
        let behind = Range { start: &at, end: end.as_deref() };
        let found = self.first_excluded(table, index, behind, Order::Forward, |other| {
            if !is_there && other == key {
                is_there = true;
                return Beside::Own;
            }
            beside(key, other, overlaps)
        })?;
        if found.is_some() || !is_there || !overlaps {
            return Ok(found.filter(|_| is_there));
        }
        let before = Range { start: &prefix, end: Some(&at) };
        self.first_excluded(table, index, before, Order::Backward, |other| beside(key, other, overlaps))
    }

    /// The key of the first row of a range that is excluded, before one that is apart.
    fn first_excluded(
        &mut self,
        table: &BoundTable,
        index: usize,
        range: Range<'_>,
        order: Order,
        mut judge: impl FnMut(&[Value]) -> Beside,
    ) -> Result<Option<Vec<Value>>> {
        let columns = &table.secondary[index];
        let read = columns.iter().filter_map(|column| table.engine_column(column.position));
        let projection = Projection::new(&table.info.schema, read);
        let mut found = Ok(None);
        let id = table.index_id(IndexRef::Secondary(index));
        let scanned = self.worker()?.scan(id, range, order, &projection, |_, _, row| {
            let load = |column: &IndexColumn| codec::column(row, table, column.position);
            let other = match columns.iter().map(load).collect::<Result<Vec<_>>>() {
                Ok(other) => other,
                Err(error) => {
                    found = Err(error);
                    return ControlFlow::Break(());
                }
            };
            match judge(&other) {
                Beside::Own => ControlFlow::Continue(()),
                Beside::Apart => ControlFlow::Break(()),
                Beside::Excluded => {
                    found = Ok(Some(other));
                    ControlFlow::Break(())
                }
            }
        });
        scanned.map_err(|error| self.context.engine_error(error))?;
        found
    }

    /// The error 23P01 for a key that excludes another one.
    pub(crate) fn excluded(
        &self,
        table: &BoundTable,
        index: usize,
        new: &[Value],
        existing: &[Value],
    ) -> SqlError {
        let keys = excluded_keys(table, index, new, existing, |value, column| self.printed(value, column.ty));
        let name = table.index_name(IndexRef::Secondary(index));
        let what = format!("conflicting key value violates exclusion constraint \"{name}\"");
        let [names, new, existing] = keys;
        let error = SqlError::new(SqlState::EXCLUSION_VIOLATION, what)
            .table(table.desc.schema.as_str(), table.desc.name.as_str())
            .constraint(name);
        let columns = table.shown_columns(IndexRef::Secondary(index));
        if !self.shows_key(table, columns.iter().map(|column| column.position)) {
            return error.detail("Key conflicts with existing key.");
        }
        error.detail(format!("Key ({names})=({new}) conflicts with existing key ({names})=({existing})."))
    }
}

/// What a key is to another one with the same values in the columns that are compared by `=`.
fn beside(key: &[Value], other: &[Value], overlaps: bool) -> Beside {
    match (key.last(), other.last()) {
        _ if !overlaps => Beside::Excluded,
        (Some(Value::Range(range)), Some(Value::Range(other))) if range.overlaps(other) => Beside::Excluded,
        _ => Beside::Apart,
    }
}

/// The names of the columns that statements see, and the values of two keys in them.
pub(crate) fn excluded_keys(
    table: &BoundTable,
    index: usize,
    new: &[Value],
    existing: &[Value],
    print: impl Fn(&Value, &IndexColumn) -> String,
) -> [String; 3] {
    let index = IndexRef::Secondary(index);
    let columns = table.shown_columns(index);
    let names: Vec<_> = columns.iter().map(|column| table.key_name(column)).collect();
    let values = |key: &[Value]| {
        let shown = columns.iter().zip(&key[table.hidden_columns(index)..]);
        shown.map(|(column, value)| print(value, column)).collect::<Vec<_>>().join(", ")
    };
    [names.join(", "), values(new), values(existing)]
}
