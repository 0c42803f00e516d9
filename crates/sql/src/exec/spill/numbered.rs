//! Rows that are read by their numbers.
//!
//! In a file the offset of each [`STRIDE`]th row is known; a row between is found by reading on from there. Rows are
//! read forward at several offsets by turns, so several readers are kept, each at the offset where it last read.

use super::{BUFFER, CHECK, Reader, Writer};
use crate::exec::context::Context;
use crate::exec::row_weight;
use crate::memory::Memory;
use scaledb_types::{Result, SqlError, Value};
use std::rc::Rc;

/// Rows from one place that is known to the next.
const STRIDE: usize = 64;
/// Readers that are kept: of the current row, its peers, both ends of a frame, and what moves with these.
const READERS: usize = 6;

/// Rows that are being found. From when they do not fit their memory on they go to a file.
pub(crate) struct Numbering<'a> {
    rows: Vec<Box<[Value]>>,
    /// Bytes that were taken for them.
    weight: usize,
    file: Option<(Writer<'a>, Vec<u64>)>,
    /// Values of a row.
    width: usize,
    len: usize,
}

impl<'a> Numbering<'a> {
    /// Of rows with so many values.
    pub(crate) fn new(width: usize) -> Self {
        Self { rows: Vec::new(), weight: 0, file: None, width, len: 0 }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 53200, those of the file.
    pub(crate) fn push(
        &mut self,
        context: &'a Context<'a>,
        memory: &mut Memory<'_>,
        row: Box<[Value]>,
    ) -> Result<()> {
        if self.file.is_none() {
            let bytes = row_weight(&row);
            if memory.take_or_spill(bytes, self.weight)? {
                self.weight += bytes;
                self.len += 1;
                self.rows.push(row);
                return Ok(());
            }
            self.len = 0;
            self.file = Some((Writer::new(context.temporary.file()?), Vec::new()));
            for row in std::mem::take(&mut self.rows) {
                if self.len.is_multiple_of(CHECK) {
                    context.check_cancel()?;
                }
                self.write(&row)?;
            }
            memory.give_rows(std::mem::take(&mut self.weight));
        }
        self.write(&row)
    }

    fn write(&mut self, row: &[Value]) -> Result<()> {
        let Some((writer, places)) = &mut self.file else { return Ok(()) };
        if self.len.is_multiple_of(STRIDE) {
            places.push(writer.position());
        }
        self.len += 1;
        writer.push(row.iter())
    }

    /// All rows.
    ///
    /// # Errors
    /// Those of the file, 53200.
    pub(crate) fn finish(self, memory: &mut Memory<'_>) -> Result<Numbered<'a>> {
        let Self { rows, mut weight, file, width, len } = self;
        let Some((mut writer, places)) = file else {
            return Ok(Numbered { place: Medium::Memory(rows), weight, len });
        };
        let end = writer.end_run()?.end;
        weight = READERS * BUFFER + places.len() * size_of::<u64>();
        memory.take_share(weight)?;
        let first = Reader::new(Rc::new(writer.into_file()), 0..end, width);
        Ok(Numbered {
            place: Medium::File(File { first, end, places, readers: Vec::new(), reads: 0 }),
            weight,
            len,
        })
    }
}

/// Rows that were found.
pub(crate) struct Numbered<'a> {
    place: Medium<'a>,
    /// Bytes that were taken for them.
    pub(crate) weight: usize,
    len: usize,
}

/// Where the rows are.
enum Medium<'a> {
    Memory(Vec<Box<[Value]>>),
    File(File<'a>),
}

struct File<'a> {
    /// At the first row.
    first: Reader<'a>,
    end: u64,
    places: Vec<u64>,
    readers: Vec<Kept<'a>>,
    reads: u64,
}

/// A reader, and the row that it has read last.
struct Kept<'a> {
    reader: Reader<'a>,
    number: usize,
    row: Box<[Value]>,
    /// When it was used.
    used: u64,
}

impl Numbered<'_> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The row of a number.
    ///
    /// # Errors
    /// 58030, XX001.
    pub(crate) fn get(&mut self, number: usize) -> Result<&[Value]> {
        match &mut self.place {
            Medium::Memory(rows) => Ok(&rows[number]),
            Medium::File(file) => file.get(number),
        }
    }
}

impl File<'_> {
    fn get(&mut self, number: usize) -> Result<&[Value]> {
        self.reads += 1;
        // the nearest one before it, if it is not quicker to begin at a place that is known
        let near = |kept: &Kept<'_>| kept.number <= number && number - kept.number < STRIDE;
        let nearest = (0..self.readers.len()).filter(|&at| near(&self.readers[at]));
        let at = match nearest.max_by_key(|&at| self.readers[at].number) {
            Some(at) => at,
            None => self.begin(number)?,
        };
        let kept = &mut self.readers[at];
        kept.used = self.reads;
        while kept.number < number {
            kept.row = kept.reader.next()?.ok_or_else(missing)?;
            kept.number += 1;
        }
        Ok(&kept.row)
    }

    /// A reader at the last known place before a row, instead of that which was used least recently.
    fn begin(&mut self, number: usize) -> Result<usize> {
        let from = *self.places.get(number / STRIDE).ok_or_else(missing)?;
        let mut reader = self.first.again();
        reader.go_to(from..self.end);
        let row = reader.next()?.ok_or_else(missing)?;
        let kept = Kept { reader, number: number / STRIDE * STRIDE, row, used: self.reads };
        if self.readers.len() < READERS {
            self.readers.push(kept);
            return Ok(self.readers.len() - 1);
        }
        let oldest = (0..READERS).min_by_key(|&at| self.readers[at].used).unwrap_or(0);
        self.readers[oldest] = kept;
        Ok(oldest)
    }
}

#[cold]
fn missing() -> SqlError {
    SqlError::internal("a row that was not written")
}
