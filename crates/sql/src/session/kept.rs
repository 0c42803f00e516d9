//! Rows that outlive the run that has computed them: of a cursor, and of a portal that is read in parts.
//!
//! From when they do not fit the memory of their statement on they go to a temporary file. The offset of each
//! [`STRIDE`]th row is known; a row between is found by reading on from there.

use crate::exec::context::Context;
use crate::exec::spill::{put_row, take_row};
use crate::memory::{Budget, Memory, Reservation};
use crate::temporary::KeptFile;
use scaledb_types::{Result, SqlError, Value, row_weight};
use std::ops::Range;
use std::sync::Arc;

/// Rows from one place that is known to the next.
const STRIDE: usize = 64;
/// Bytes that are written or read at once.
const BUFFER: usize = 32 << 10;
/// Rows that are written without a look at whether the statement was cancelled.
const CHECK: usize = 256;

/// Rows, by their numbers from 0 on.
#[derive(Default)]
pub(super) struct Kept {
    rows: Vec<Box<[Value]>>,
    /// Bytes that were taken for them, until the run ends.
    weight: usize,
    spilled: Option<Spilled>,
    len: usize,
    /// The memory that they have from then on.
    _reserved: Option<Reservation>,
}

/// Rows in a file, each behind its length.
struct Spilled {
    file: KeptFile,
    /// What is not in the file yet.
    buffer: Vec<u8>,
    /// Where each [`STRIDE`]th row begins.
    places: Vec<u64>,
    /// Values of a row.
    width: usize,
}

impl Kept {
    /// These rows, in memory.
    ///
    /// # Errors
    /// 53200.
    pub(super) fn of_rows(rows: Vec<Box<[Value]>>, budget: &Arc<Budget>) -> Result<Self> {
        let bytes = rows.iter().map(|row| row_weight(row)).sum();
        let reserved = Some(Reservation::new(budget, bytes)?);
        Ok(Self { len: rows.len(), rows, _reserved: reserved, ..Self::default() })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 53200, 57014, and those of the file.
    pub(super) fn push(
        &mut self,
        context: &Context<'_>,
        memory: &mut Memory<'_>,
        row: Box<[Value]>,
    ) -> Result<()> {
        if self.spilled.is_none() {
            let bytes = row_weight(&row);
            if memory.take_or_spill(bytes, self.weight)? {
                self.weight += bytes;
                self.len += 1;
                self.rows.push(row);
                return Ok(());
            }
            let file = context.temporary.kept_file()?;
            let mut spilled = Spilled { file, buffer: Vec::new(), places: Vec::new(), width: row.len() };
            for (number, row) in std::mem::take(&mut self.rows).iter().enumerate() {
                if number.is_multiple_of(CHECK) {
                    context.check_cancel()?;
                }
                spilled.push(number, row)?;
            }
            self.spilled = Some(spilled);
            memory.give_rows(std::mem::take(&mut self.weight));
        }
        if let Some(spilled) = &mut self.spilled {
            spilled.push(self.len, &row)?;
        }
        self.len += 1;
        Ok(())
    }

    /// The run that has added the rows ends: they have memory of their own from now on.
    ///
    /// # Errors
    /// 53200, and those of the file.
    pub(super) fn finish(&mut self, context: &Context<'_>, memory: &mut Memory<'_>) -> Result<()> {
        memory.give_rows(std::mem::take(&mut self.weight));
        let bytes = match &mut self.spilled {
            Some(spilled) => {
                spilled.flush()?;
                spilled.places.len() * size_of::<u64>()
            }
            None => self.rows.iter().map(|row| row_weight(row)).sum(),
        };
        self._reserved = Some(Reservation::new(context.budget, bytes)?);
        Ok(())
    }

    /// Calls `f` with the rows of these numbers, as far as they are there.
    ///
    /// # Errors
    /// Those of `f`; 58030, XX001.
    pub(super) fn each(
        &self,
        numbers: Range<usize>,
        f: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<()> {
        let numbers = numbers.start.min(self.len)..numbers.end.min(self.len);
        match &self.spilled {
            None => self.rows[numbers].iter().try_for_each(|row| f(row)),
            Some(spilled) => spilled.each(numbers, f),
        }
    }

    /// The first row.
    pub(super) fn into_first(self) -> Option<Box<[Value]>> {
        self.rows.into_iter().next()
    }
}

impl Spilled {
    /// Writes the row of a number.
    fn push(&mut self, number: usize, row: &[Value]) -> Result<()> {
        if number.is_multiple_of(STRIDE) {
            self.places.push(self.file.len() + self.buffer.len() as u64);
        }
        put_row(row, &mut self.buffer)?;
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        self.buffer.shrink_to(2 * BUFFER);
        Ok(())
    }

    /// Reads rows that were flushed.
    fn each(&self, numbers: Range<usize>, f: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        let from = self.places.get(numbers.start / STRIDE).ok_or_else(missing)?;
        let mut rest = *from..self.file.len();
        let mut buffer: Vec<u8> = Vec::new();
        let mut at = 0;
        for number in numbers.start / STRIDE * STRIDE..numbers.end {
            let row = loop {
                if let Some((row, read)) = take_row(&buffer[at..], self.width)? {
                    at += read;
                    break row;
                }
                // the row is not whole in the buffer
                let more = (rest.end - rest.start).min(BUFFER.max(buffer.len() - at) as u64) as usize;
                if more == 0 {
                    return Err(missing());
                }
                buffer.drain(..at);
                at = 0;
                let there = buffer.len();
                buffer.resize(there + more, 0);
                self.file.read(&mut buffer[there..], rest.start)?;
                rest.start += more as u64;
            };
            if number >= numbers.start {
                f(&row)?;
            }
        }
        Ok(())
    }
}

#[cold]
fn missing() -> SqlError {
    SqlError::internal("a row that was not written")
}
