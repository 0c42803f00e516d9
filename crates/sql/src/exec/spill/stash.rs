//! Rows that are kept in the order in which they came, to be read once or often.

use super::{CHECK, Reader, Writer};
use crate::exec::context::Context;
use crate::exec::{Rows, row_weight};
use crate::memory::Memory;
use crate::temporary::TemporaryFile;
use scaledb_types::{Result, Value};
use std::ops::Range;
use std::rc::Rc;

/// Rows that are being found. From when they do not fit their memory on they go to a file.
pub(crate) struct Stash<'a> {
    rows: Vec<Box<[Value]>>,
    /// Bytes that were taken for them.
    weight: usize,
    writer: Option<Writer<'a>>,
    /// Values of a row.
    width: usize,
    len: usize,
}

impl<'a> Stash<'a> {
    /// Of rows with so many values.
    pub(crate) fn new(width: usize) -> Self {
        Self { rows: Vec::new(), weight: 0, writer: None, width, len: 0 }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 53200, those of the file.
    #[inline]
    pub(crate) fn push(
        &mut self,
        context: &'a Context<'a>,
        memory: &mut Memory<'_>,
        row: Box<[Value]>,
    ) -> Result<()> {
        self.len += 1;
        if self.writer.is_none() {
            let bytes = row_weight(&row);
            if memory.take_or_spill(bytes, self.weight)? {
                self.weight += bytes;
                self.rows.push(row);
                return Ok(());
            }
        }
        self.write(context, memory, &row)
    }

    #[cold]
    fn write(&mut self, context: &'a Context<'a>, memory: &mut Memory<'_>, row: &[Value]) -> Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(Writer::new(context.temporary.file()?)),
        };
        for (number, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            if number.is_multiple_of(CHECK) {
                context.check_cancel()?;
            }
            writer.push(row.iter())?;
        }
        memory.give_rows(std::mem::take(&mut self.weight));
        writer.push(row.iter())
    }

    /// All rows.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn finish(self) -> Result<Stashed<'a>> {
        let Self { rows, weight, writer, width, len } = self;
        let place = match writer {
            None => StoredRows::Memory(Rc::new(rows)),
            Some(mut writer) => {
                let run = writer.end_run()?;
                StoredRows::File(Rc::new(writer.into_file()), run)
            }
        };
        Ok(Stashed { place, weight, width, len })
    }
}

/// Rows that were found.
#[derive(Clone, Debug)]
pub(crate) struct Stashed<'a> {
    place: StoredRows<'a>,
    /// Bytes that were taken for them.
    pub(crate) weight: usize,
    width: usize,
    len: usize,
}

#[derive(Clone, Debug)]
enum StoredRows<'a> {
    Memory(Rows),
    File(Rc<TemporaryFile<'a>>, Range<u64>),
}

impl<'a> Stashed<'a> {
    /// Rows in memory, for which so many bytes were taken.
    pub(crate) fn of(rows: Rows, weight: usize) -> Self {
        let (width, len) = (rows.first().map_or(0, |row| row.len()), rows.len());
        Self { place: StoredRows::Memory(rows), weight, width, len }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The rows, if they are in memory.
    pub(crate) fn in_memory(&self) -> Option<&Rows> {
        match &self.place {
            StoredRows::Memory(rows) => Some(rows),
            StoredRows::File(..) => None,
        }
    }

    /// Reads the rows in a file.
    pub(crate) fn reader(&self) -> Option<Reader<'a>> {
        match &self.place {
            StoredRows::Memory(_) => None,
            StoredRows::File(file, run) => Some(Reader::new(file.clone(), run.clone(), self.width)),
        }
    }

    /// The rows one by one, for their only reader.
    pub(crate) fn drain(self) -> Drain<'a> {
        match self.place {
            StoredRows::Memory(rows) => {
                let rows = Rc::try_unwrap(rows).unwrap_or_else(|rows| (*rows).clone());
                Drain::Memory(rows.into_iter())
            }
            StoredRows::File(file, run) => Drain::File(Reader::new(file, run, self.width)),
        }
    }
}

/// Rows that are handed out.
pub(crate) enum Drain<'a> {
    Memory(std::vec::IntoIter<Box<[Value]>>),
    File(Reader<'a>),
}

impl Drain<'_> {
    /// The next row.
    ///
    /// # Errors
    /// 58030, XX001.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Box<[Value]>>> {
        match self {
            Self::Memory(rows) => Ok(rows.next()),
            Self::File(reader) => reader.next(),
        }
    }
}
