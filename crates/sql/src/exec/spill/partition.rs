//! Rows by the hash of a key, for operators that can work at one part of them after another.
//!
//! ```text
//! file      piece of part 2 | piece of part 0 | piece of part 2 | ...      each a run of its own
//! ```
//!
//! All parts are in one file: each has a buffer of its own, and a list of its pieces. A part that is too large itself
//! is divided again by another hash.

use super::{BUFFER, Reader, put_row};
use crate::exec::context::Context;
use crate::memory::Memory;
use crate::temporary::TemporaryFile;
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::ops::Range;
use std::rc::Rc;

/// Parts at most.
const MAX_PARTS: usize = 32;
/// How often a part is divided again: rows that are still too many then have the same key, or were chosen to collide.
const MAX_DEPTH: u32 = 8;

/// Rows on their way to a file.
pub(crate) struct Partitions<'a> {
    file: TemporaryFile<'a>,
    parts: Vec<Part>,
    division: Division,
    width: usize,
    /// Bytes of memory that were taken for it.
    taken: usize,
}

#[derive(Default)]
struct Part {
    buffer: Vec<u8>,
    pieces: Vec<Range<u64>>,
}

/// How rows are divided.
#[derive(Clone)]
pub(crate) struct Division {
    state: RandomState,
    depth: u32,
}

impl Default for Division {
    fn default() -> Self {
        Self { state: RandomState::new(), depth: 0 }
    }
}

impl Division {
    /// How the rows of a part are divided again.
    fn deeper(&self) -> Self {
        Self { state: self.state.clone(), depth: self.depth + 1 }
    }

    /// Whether rows were divided as often as may be.
    pub(crate) fn is_last(&self) -> bool {
        self.depth == MAX_DEPTH
    }

    fn part(&self, key: &[Value], of: usize) -> usize {
        let mut hasher = self.state.build_hasher();
        self.depth.hash(&mut hasher);
        key.hash(&mut hasher);
        (hasher.finish() % of as u64) as usize
    }
}

impl<'a> Partitions<'a> {
    /// Of rows with so many values.
    ///
    /// # Errors
    /// Those of the file; 53200: there is no memory for the buffers, or dividing the rows has not helped.
    pub(crate) fn new(
        context: &'a Context<'a>,
        memory: &mut Memory<'_>,
        division: &Division,
        width: usize,
    ) -> Result<Self> {
        if division.is_last() {
            let what = "too many rows with equal keys do not fit the memory of the statement";
            return Err(SqlError::new(SqlState::OUT_OF_MEMORY, what).hint("Raise max_query_memory."));
        }
        let count = (memory.share() / BUFFER).clamp(4, MAX_PARTS);
        Self::with_parts(context, memory, division, width, count)
    }

    /// Of rows with so many values, in as many parts as others have: rows with equal keys are then in parts of the same
    /// number.
    ///
    /// # Errors
    /// As of `new`, but for the depth.
    pub(crate) fn with_parts(
        context: &'a Context<'a>,
        memory: &mut Memory<'_>,
        division: &Division,
        width: usize,
        count: usize,
    ) -> Result<Self> {
        let taken = count * BUFFER;
        memory.take_share(taken)?;
        let file = context.temporary.file()?;
        let parts = (0..count).map(|_| Part::default()).collect();
        Ok(Self { file, parts, division: division.clone(), width, taken })
    }

    /// For rows of as many values, in parts that are those of the same rows here.
    ///
    /// # Errors
    /// As of `new`, but for the depth.
    pub(crate) fn beside(&self, context: &'a Context<'a>, memory: &mut Memory<'_>) -> Result<Self> {
        Self::with_parts(context, memory, &self.division, self.width, self.parts.len())
    }

    /// Writes a row to the part of its key.
    ///
    /// # Errors
    /// Those of the file; 54000 and 54001 for a value that cannot be written.
    pub(crate) fn push<'v>(
        &mut self,
        key: &[Value],
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<()> {
        let number = self.part(key);
        self.push_to(number, values)
    }

    /// How its rows are divided.
    pub(crate) fn division(&self) -> &Division {
        &self.division
    }

    /// The number of the part that a key belongs to.
    pub(crate) fn part(&self, key: &[Value]) -> usize {
        self.division.part(key, self.parts.len())
    }

    /// Writes a row to a part.
    ///
    /// # Errors
    /// As of `push`.
    pub(crate) fn push_to<'v>(
        &mut self,
        number: usize,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<()> {
        let part = &mut self.parts[number];
        put_row(values, &mut part.buffer)?;
        if part.buffer.len() >= BUFFER { part.flush(&mut self.file) } else { Ok(()) }
    }

    /// Bytes that were written, and are to be.
    pub(crate) fn written(&self) -> u64 {
        self.file.len() + self.parts.iter().map(|part| part.buffer.len() as u64).sum::<u64>()
    }

    /// All parts that have rows.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn finish(self, memory: &mut Memory<'_>) -> Result<Vec<Rows<'a>>> {
        Ok(self.finish_all(memory)?.into_iter().flatten().collect())
    }

    /// The rows are not wanted.
    pub(crate) fn abandon(self, memory: &mut Memory<'_>) {
        memory.give(self.taken);
    }

    /// All parts, those without rows included.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn finish_all(mut self, memory: &mut Memory<'_>) -> Result<Vec<Option<Rows<'a>>>> {
        for part in &mut self.parts {
            if !part.buffer.is_empty() {
                part.flush(&mut self.file)?;
            }
        }
        memory.give(self.taken);
        let Self { file, parts, division, width, .. } = self;
        let (file, division) = (Rc::new(file), division.deeper());
        let rows = |part: Part| Rows {
            reader: Reader::new(file.clone(), 0..0, width),
            pieces: part.pieces.into_iter(),
            division: division.clone(),
        };
        let rows = parts.into_iter().map(|part| (!part.pieces.is_empty()).then(|| rows(part)));
        Ok(rows.collect())
    }
}

impl Part {
    fn flush(&mut self, file: &mut TemporaryFile<'_>) -> Result<()> {
        let from = file.len();
        file.append(&self.buffer)?;
        self.pieces.push(from..file.len());
        self.buffer.clear();
        self.buffer.shrink_to(2 * BUFFER);
        Ok(())
    }
}

/// The rows of a part.
pub(crate) struct Rows<'a> {
    reader: Reader<'a>,
    pieces: std::vec::IntoIter<Range<u64>>,
    /// How to divide them, if they are still too many.
    pub(crate) division: Division,
}

impl Rows<'_> {
    /// The same rows, to be read several times: before any of them is read.
    pub(crate) fn again(&self) -> Self {
        Self { reader: self.reader.again(), pieces: self.pieces.clone(), division: self.division.clone() }
    }

    /// The next row.
    ///
    /// # Errors
    /// 58030, XX001.
    pub(crate) fn next(&mut self) -> Result<Option<Box<[Value]>>> {
        loop {
            if let Some(row) = self.reader.next()? {
                return Ok(Some(row));
            }
            let Some(piece) = self.pieces.next() else { return Ok(None) };
            self.reader.go_to(piece);
        }
    }
}
