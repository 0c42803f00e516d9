//! The rows that an UPDATE or DELETE has found, until it changes them.
//!
//! Rows are named by the engine, and their names stay in memory; their values go to a file when they find no room.

use super::Flow;
use super::context::Context;
use super::spill::{Stash, Stashed};
use crate::memory::Memory;
use scaledb_engine::RowId;
use scaledb_types::{Result, SqlError, Value};
use std::collections::HashSet;
use std::rc::Rc;

/// Rows that are being found.
pub(super) struct Finding<'a> {
    names: Vec<RowId>,
    /// `None` if no row is found twice.
    met: Option<HashSet<RowId>>,
    values: Stash<'a>,
    old: usize,
    new: usize,
    width: usize,
}

impl<'a> Finding<'a> {
    /// With so many old values, new ones, and values that are returned; `repeats` if a row may be found several times.
    pub(super) fn new(old: usize, new: usize, returned: usize, repeats: bool) -> Self {
        let width = old + new + returned;
        let met = repeats.then(HashSet::new);
        Self { names: Vec::new(), met, values: Stash::new(width), old, new, width }
    }

    /// Values of a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Whether a row is met for the first time.
    ///
    /// # Errors
    /// 53200.
    #[inline]
    pub(super) fn meets(&mut self, memory: &mut Memory<'_>, row: RowId) -> Result<bool> {
        let Some(met) = &mut self.met else {
            // its name in the list
            memory.take_rows(size_of::<RowId>())?;
            return Ok(true);
        };
        if !met.insert(row) {
            return Ok(false);
        }
        // its name in the set and in the list
        memory.take_rows(3 * size_of::<RowId>())?;
        Ok(true)
    }

    /// Adds a row with its values.
    ///
    /// # Errors
    /// 53200, those of the file.
    #[inline]
    pub(super) fn push(
        &mut self,
        context: &'a Context<'a>,
        memory: &mut Memory<'_>,
        row: RowId,
        values: Vec<Value>,
    ) -> Result<()> {
        self.names.push(row);
        if values.is_empty() {
            return Ok(());
        }
        self.values.push(context, memory, values.into())
    }

    /// All of them.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn finish(self) -> Result<Changes<'a>> {
        let Self { names, values, old, new, .. } = self;
        Ok(Changes { names, values: values.finish()?, old, new })
    }
}

/// Rows that were found.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    names: Vec<RowId>,
    /// None at all if a row has no values.
    values: Stashed<'a>,
    /// How many of them are old ones, and how many new ones behind these; the rest is returned.
    old: usize,
    new: usize,
}

/// A row that is to be changed.
pub(super) struct Change<'v> {
    pub(super) row: RowId,
    pub(super) old: &'v [Value],
    pub(super) new: &'v [Value],
    pub(super) returned: &'v [Value],
}

impl Changes<'_> {
    /// A row to be updated.
    pub(super) fn one(row: RowId, old: &[Value], new: &[Value]) -> Self {
        let values = old.iter().chain(new).cloned().collect();
        let (old, new) = (old.len(), new.len());
        let values = Stashed::of(Rc::new(vec![values]), 0);
        Self { names: vec![row], values, old, new }
    }

    /// The rows.
    pub(super) fn names(&self) -> &[RowId] {
        &self.names
    }

    /// Calls `change` with each row until it breaks.
    ///
    /// # Errors
    /// Those of `change`; those of the file.
    pub(super) fn each(&self, mut change: impl FnMut(Change<'_>) -> Result<Flow>) -> Result<Flow> {
        let mut call = |row: RowId, values: &[Value]| {
            let (old, rest) = values.split_at(self.old.min(values.len()));
            let (new, returned) = rest.split_at(self.new.min(rest.len()));
            change(Change { row, old, new, returned })
        };
        let kept = self.values.in_memory();
        let mut reader = self.values.reader();
        for (number, &row) in self.names.iter().enumerate() {
            let read: Box<[Value]>;
            let values = match (kept, &mut reader) {
                (_, Some(reader)) => {
                    read = reader.next()?.ok_or_else(|| SqlError::internal("a row that was not kept"))?;
                    &*read
                }
                (Some(rows), None) => rows.get(number).map_or(&[][..], |row| row),
                (None, None) => &[],
            };
            if call(row, values)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }
}
