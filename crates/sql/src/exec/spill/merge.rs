//! Sorting more rows than there is memory: sorted runs in a file, merged.
//!
//! Rows that are equal come in the order in which they were found: runs are kept in that order, and of equal heads that
//! of the earlier run goes first.

use super::{BUFFER, CHECK, Reader, Writer};
use crate::exec::context::Context;
use crate::exec::sort::order;
use crate::memory::Memory;
use crate::temporary::TemporaryFile;
use scaledb_planner::plan::SortKey;
use scaledb_types::row_weight;
use scaledb_types::{Result, Value};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;
use std::rc::Rc;

/// Runs that are merged at once, at most.
const MAX_RUNS: usize = 64;

/// The keys of a row, and what is carried.
pub(crate) type Sortable = (Box<[Value]>, Box<[Value]>);

/// Runs in a file.
pub(crate) struct Sorter<'k, 'a> {
    context: &'a Context<'a>,
    keys: &'k [SortKey],
    writer: Writer<'a>,
    runs: Vec<Range<u64>>,
    /// Values of a row: those of the keys come first.
    width: usize,
    /// What the heaviest row takes.
    heaviest: usize,
}

impl<'k, 'a> Sorter<'k, 'a> {
    /// Of rows with so many values, those of the keys included.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn new(context: &'a Context<'a>, keys: &'k [SortKey], width: usize) -> Result<Self> {
        let writer = Writer::new(context.temporary.file()?);
        Ok(Self { context, keys, writer, runs: Vec::new(), width, heaviest: 0 })
    }

    /// Writes sorted rows, each its keys and what is carried.
    ///
    /// # Errors
    /// Those of the file, 57014.
    pub(crate) fn add_run(&mut self, rows: &[Sortable]) -> Result<()> {
        for (number, (keys, carried)) in rows.iter().enumerate() {
            if number.is_multiple_of(CHECK) {
                self.context.check_cancel()?;
            }
            self.heaviest = self.heaviest.max(row_weight(keys) + row_weight(carried));
            self.writer.push(keys.iter().chain(carried))?;
        }
        self.runs.push(self.writer.end_run()?);
        Ok(())
    }

    /// Bytes that lie in the file.
    pub(crate) fn written(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// All rows in order. There are as many passes over the file as it takes until all runs can be read side by side.
    ///
    /// # Errors
    /// Those of the file, 57014, 53200.
    pub(crate) fn merge(self, memory: &mut Memory<'_>) -> Result<Merged<'k, 'a>> {
        let each = BUFFER + self.heaviest;
        let most = (memory.share() / each).clamp(2, MAX_RUNS);
        let taken = (self.runs.len().min(most) + 1) * each;
        memory.take_share(taken)?;
        let Self { context, keys, writer, mut runs, width, .. } = self;
        let mut file = Rc::new(writer.into_file());
        while runs.len() > most {
            let mut writer = Writer::new(context.temporary.file()?);
            let mut merged = Vec::with_capacity(runs.len().div_ceil(most));
            for runs in runs.chunks(most) {
                let mut rows = Merged::new(keys, &file, runs, width)?;
                let mut number = 0_usize;
                while let Some(row) = rows.next()? {
                    if number.is_multiple_of(CHECK) {
                        context.check_cancel()?;
                    }
                    number += 1;
                    writer.push(&row)?;
                }
                merged.push(writer.end_run()?);
            }
            runs = merged;
            file = Rc::new(writer.into_file());
        }
        Ok(Merged { taken, ..Merged::new(keys, &file, &runs, width)? })
    }
}

/// Runs that are read side by side.
pub(crate) struct Merged<'k, 'a> {
    readers: Vec<Reader<'a>>,
    heads: BinaryHeap<Head<'k>>,
    /// Bytes of memory that were taken for it.
    taken: usize,
}

impl<'k, 'a> Merged<'k, 'a> {
    fn new(
        keys: &'k [SortKey],
        file: &Rc<TemporaryFile<'a>>,
        runs: &[Range<u64>],
        width: usize,
    ) -> Result<Self> {
        let reader = |run: &Range<u64>| Reader::new(file.clone(), run.clone(), width);
        let mut readers: Vec<Reader<'a>> = runs.iter().map(reader).collect();
        let mut heads = BinaryHeap::with_capacity(readers.len());
        for (run, reader) in readers.iter_mut().enumerate() {
            if let Some(row) = reader.next()? {
                heads.push(Head { row, run, keys });
            }
        }
        Ok(Self { readers, heads, taken: 0 })
    }

    /// The next row: keys, then what is carried.
    ///
    /// # Errors
    /// 58030, XX001.
    pub(crate) fn next(&mut self) -> Result<Option<Box<[Value]>>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        Ok(Some(match self.readers[head.run].next()? {
            Some(row) => std::mem::replace(&mut head.row, row),
            None => PeekMut::pop(head).row,
        }))
    }

    /// Bytes of memory that it takes.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }
}

/// The first row of a run that was not handed out.
struct Head<'k> {
    row: Box<[Value]>,
    run: usize,
    keys: &'k [SortKey],
}

impl Ord for Head<'_> {
    /// The one that goes first is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        order(self.keys, &other.row, &self.row).then_with(|| other.run.cmp(&self.run))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}
