//! Writing rows to a temporary file, and reading them again.

use super::BUFFER;
use crate::temporary::TemporaryFile;
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::ops::Range;
use std::rc::Rc;

/// Bytes of the length of a row.
const LENGTH: usize = 4;

/// Appends a row.
///
/// # Errors
/// 54000 and 54001 for a value that cannot be written.
pub(crate) fn put_row<'v>(values: impl IntoIterator<Item = &'v Value>, to: &mut Vec<u8>) -> Result<()> {
    let at = to.len();
    to.extend_from_slice(&[0; LENGTH]);
    for value in values {
        value.write_tagged(to)?;
    }
    let len = u32::try_from(to.len() - at - LENGTH).map_err(|_| {
        SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a row is too long for a temporary file")
    })?;
    to[at..at + LENGTH].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

/// The row at the front of bytes, and how many it takes; `None` if it is not whole there.
///
/// # Errors
/// XX001.
pub(crate) fn take_row(bytes: &[u8], width: usize) -> Result<Option<(Box<[Value]>, usize)>> {
    let Some((len, rest)) = bytes.split_first_chunk::<LENGTH>() else { return Ok(None) };
    let len = u32::from_le_bytes(*len) as usize;
    let Some(mut values) = rest.get(..len) else { return Ok(None) };
    let mut row = Vec::with_capacity(width);
    for _ in 0..width {
        let (value, rest) = Value::read_tagged(values).ok_or_else(damaged)?;
        row.push(value);
        values = rest;
    }
    if values.is_empty() { Ok(Some((row.into(), LENGTH + len))) } else { Err(damaged()) }
}

/// A file that rows are written to.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    file: TemporaryFile<'a>,
    /// What is not in the file yet.
    buffer: Vec<u8>,
    /// Where the current run began.
    start: u64,
}

impl<'a> Writer<'a> {
    /// An empty one.
    pub(crate) fn new(file: TemporaryFile<'a>) -> Self {
        Self { file, buffer: Vec::with_capacity(BUFFER), start: 0 }
    }

    /// Writes a row.
    ///
    /// # Errors
    /// Those of the file; 54000 and 54001 for a value that cannot be written.
    pub(crate) fn push<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) -> Result<()> {
        put_row(values, &mut self.buffer)?;
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Where the next row begins.
    pub(crate) fn position(&self) -> u64 {
        self.file.len() + self.buffer.len() as u64
    }

    fn flush(&mut self) -> Result<()> {
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        // a long row may have made the buffer large
        self.buffer.shrink_to(2 * BUFFER);
        Ok(())
    }

    /// Ends a run: where it lies.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn end_run(&mut self) -> Result<Range<u64>> {
        self.flush()?;
        let run = self.start..self.file.len();
        self.start = run.end;
        Ok(run)
    }

    /// The file, with the rows of all runs that have ended.
    pub(crate) fn into_file(self) -> TemporaryFile<'a> {
        self.file
    }
}

/// Reads the rows of a run.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    file: Rc<TemporaryFile<'a>>,
    /// What of the run is still in the file only.
    rest: Range<u64>,
    buffer: Vec<u8>,
    /// What of the buffer was read.
    at: usize,
    /// Values of a row.
    width: usize,
}

impl<'a> Reader<'a> {
    /// Of a run whose rows have so many values.
    pub(crate) fn new(file: Rc<TemporaryFile<'a>>, run: Range<u64>, width: usize) -> Self {
        Self { file, rest: run, buffer: Vec::new(), at: 0, width }
    }

    /// The same run, before anything of it is read.
    pub(crate) fn again(&self) -> Self {
        Self::new(self.file.clone(), self.rest.clone(), self.width)
    }

    /// Goes on with another run. This one was read.
    pub(crate) fn go_to(&mut self, run: Range<u64>) {
        self.rest = run;
    }

    /// The next row.
    ///
    /// # Errors
    /// 58030, XX001.
    pub(crate) fn next(&mut self) -> Result<Option<Box<[Value]>>> {
        if self.at == self.buffer.len() && self.rest.is_empty() {
            return Ok(None);
        }
        self.fill(LENGTH)?;
        let len = &self.buffer[self.at..self.at + LENGTH];
        let len = u32::from_le_bytes(len.try_into().map_err(|_| damaged())?) as usize;
        self.at += LENGTH;
        self.fill(len)?;
        let mut bytes = &self.buffer[self.at..self.at + len];
        self.at += len;
        let mut row = Vec::with_capacity(self.width);
        for _ in 0..self.width {
            let (value, rest) = Value::read_tagged(bytes).ok_or_else(damaged)?;
            row.push(value);
            bytes = rest;
        }
        if bytes.is_empty() { Ok(Some(row.into())) } else { Err(damaged()) }
    }

    /// Sees to it that so many bytes are in the buffer. The run must have them: a length that is wrong takes no more
    /// memory than the run has bytes.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        let there = self.buffer.len() - self.at;
        if there >= wanted {
            return Ok(());
        }
        let missing = (wanted - there) as u64;
        let rest = self.rest.end - self.rest.start;
        if missing > rest {
            return Err(damaged());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let more = missing.max(rest.min((BUFFER - there.min(BUFFER)) as u64));
        self.buffer.resize(there + more as usize, 0);
        self.file.read(&mut self.buffer[there..], self.rest.start)?;
        self.rest.start += more;
        Ok(())
    }
}

#[cold]
fn damaged() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "a temporary file is not what was written to it")
}
