//! Where a backend writes its answer: rows go straight into the output buffer.

use crate::limits::{FLUSH_BYTES, MAX_REPLY_BYTES};
use crate::outbox::{Column, Format, Outbox, Tag, patch};
use crate::report::{Report, Result, SqlState};
use std::io::{self, Write};

/// The answer to the statement that runs. What exceeds [`FLUSH_BYTES`] is sent while it runs.
pub struct Reply<'a> {
    out: &'a mut Outbox,
    channel: &'a mut dyn Write,
    copying: bool,
    /// Values of the row that is being written.
    columns: u16,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(out: &'a mut Outbox, channel: &'a mut dyn Write) -> Self {
        Self { out, channel, copying: false, columns: 0 }
    }

    pub(crate) fn out(&mut self) -> &mut Outbox {
        self.out
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush(self.channel)
    }

    /// The columns of the rows that follow, or that a statement would return.
    pub fn columns<'c>(&mut self, columns: impl IntoIterator<Item = Column<'c>>) {
        self.out.row_description(columns.into_iter());
    }

    /// A statement returns no rows.
    pub fn no_data(&mut self) {
        self.out.no_data();
    }

    /// The types of a statement's parameters.
    pub fn parameters(&mut self, types: impl IntoIterator<Item = u32>) {
        self.out.parameter_description(types.into_iter());
    }

    /// A row: `write` writes each of its values.
    ///
    /// # Errors
    ///
    /// That of `write`, and then there is no row; the row is too large; or the client is gone.
    #[inline]
    pub fn row(&mut self, write: impl FnOnce(&mut Row<'_>) -> Result<()>) -> Result<()> {
        self.begin_row();
        let mut row = Row { bytes: &mut self.out.bytes, columns: 0 };
        match write(&mut row) {
            Ok(()) => {
                self.columns = row.columns;
                self.end_row()
            }
            Err(report) => {
                if let Some(start) = self.out.row.take() {
                    self.out.bytes.truncate(start);
                }
                Err(report)
            }
        }
    }

    /// A row begins, for callers that cannot give it whole: [`values`](Self::values), [`end_row`](Self::end_row). If an
    /// error is reported instead of its end, nothing of it is sent.
    #[inline]
    pub fn begin_row(&mut self) {
        self.out.row = Some(self.out.bytes.len());
        self.columns = 0;
        self.out.bytes.extend_from_slice(&[b'D', 0, 0, 0, 0, 0, 0]);
    }

    /// Writes values of the row that was begun.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    #[inline]
    pub fn values<E>(&mut self, write: impl FnOnce(&mut Row<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut row = Row { bytes: &mut self.out.bytes, columns: self.columns };
        let written = write(&mut row);
        self.columns = row.columns;
        written
    }

    /// The row that was begun is complete.
    ///
    /// # Errors
    ///
    /// The row is too large, or the client is gone.
    #[inline]
    pub fn end_row(&mut self) -> Result<()> {
        let Some(start) = self.out.row.take() else { return Ok(()) };
        let columns = self.columns;
        self.end(start, Ok(()), |bytes| bytes[start + 5..start + 7].copy_from_slice(&columns.to_be_bytes()))
    }

    /// Begins to send rows as `COPY TO STDOUT` does.
    pub fn copy_out(&mut self, format: Format, columns: u16) {
        self.copying = true;
        self.out.copy_response(b'H', format, columns);
    }

    /// Data of a `COPY TO STDOUT`, which `write` appends.
    ///
    /// # Errors
    ///
    /// As with [`row`](Self::row).
    pub fn copy_data(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.out.bytes.len();
        self.out.bytes.extend_from_slice(&[b'd', 0, 0, 0, 0]);
        let written = write(&mut self.out.bytes);
        self.end(start, written, |_| {})
    }

    /// Ends the message that begins at `start`.
    #[inline]
    fn end(&mut self, start: usize, written: Result<()>, head: impl FnOnce(&mut [u8])) -> Result<()> {
        let bytes = &mut self.out.bytes;
        let size = bytes.len() - start;
        if written.is_err() || size > MAX_REPLY_BYTES {
            bytes.truncate(start);
            written?;
            let what = format!("a row of {size} bytes is too large for the protocol");
            return Err(Report::error(SqlState::PROGRAM_LIMIT_EXCEEDED, what));
        }
        head(bytes);
        patch(bytes, start + 1);
        if bytes.len() >= FLUSH_BYTES && !self.out.holds { self.send() } else { Ok(()) }
    }

    #[cold]
    fn send(&mut self) -> Result<()> {
        self.flush().map_err(|error| {
            let what = format!("connection to client lost: {error}");
            Report::fatal(SqlState::CONNECTION_FAILURE, what)
        })
    }

    /// The statement is done: a `SELECT 3`, an `INSERT 0 1`.
    pub fn complete(&mut self, tag: Tag) {
        if std::mem::take(&mut self.copying) {
            self.out.copy_done();
        }
        self.out.command_complete(tag);
    }

    /// There was no statement.
    pub fn empty(&mut self) {
        self.out.empty_query();
    }

    /// Notes a place to come back to: the statement that begins may be run again.
    pub fn mark(&mut self) {
        self.out.mark();
    }

    /// Holds back what is written from here on, so that it can be rewound, or lets it go. Whoever asks for that asks
    /// [`is_full`](Self::is_full) behind each row.
    pub fn hold(&mut self, on: bool) {
        self.out.holds = on;
    }

    /// Whether what was written since the mark is as much as may be held back.
    pub fn is_full(&self) -> bool {
        self.out.is_full()
    }

    /// Forgets what was written since the mark. False if it cannot: some of it was sent.
    #[must_use = "a statement whose rows were sent must not be run again"]
    pub fn rewind(&mut self) -> bool {
        self.copying = false;
        self.out.rewind()
    }

    /// A notice or a warning.
    pub fn notice(&mut self, report: &Report) {
        self.out.report(report);
    }

    /// A setting that clients follow has a new value.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.out.parameter_status(name, value);
    }

    /// What another session has told those who listen at a channel.
    pub fn notification(&mut self, sender: i32, channel: &str, payload: &str) {
        self.out.notification(sender, channel, payload);
    }
}

/// A row that is being written. Its values come in order of the columns.
pub struct Row<'r> {
    bytes: &'r mut Vec<u8>,
    columns: u16,
}

impl Row<'_> {
    /// A NULL.
    #[inline]
    pub fn null(&mut self) {
        self.columns += 1;
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    /// A value, which `write` appends.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    #[inline]
    pub fn value<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        self.columns += 1;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        write(self.bytes)?;
        let length = self.bytes.len() - start - 4;
        // a longer one is refused with its row
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// A value that is there already.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        self.columns += 1;
        // a longer one is refused with its row
        let length = i32::try_from(value.len()).unwrap_or(i32::MAX);
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::HOLD_BYTES;

    #[test]
    fn a_row_that_fails_leaves_nothing_behind() {
        let (mut out, mut sink) = (Outbox::default(), Vec::new());
        let mut reply = Reply::new(&mut out, &mut sink);
        reply
            .row(|row| {
                row.null();
                row.bytes(b"ab");
                row.value(|out| {
                    out.push(b'c');
                    Ok(())
                })
            })
            .unwrap();
        let failed = reply.row(|row| {
            row.bytes(b"lost");
            Err(Report::protocol("no"))
        });
        assert!(failed.is_err());
        assert_eq!(out.bytes, b"D\0\0\0\x15\0\x03\xff\xff\xff\xff\0\0\0\x02ab\0\0\0\x01c");
    }

    #[test]
    fn a_row_that_is_not_ended_is_not_sent() {
        let (mut out, mut sink) = (Outbox::default(), Vec::new());
        let mut reply = Reply::new(&mut out, &mut sink);
        let value = |row: &mut Row<'_>| {
            row.bytes(b"a");
            Ok::<_, ()>(())
        };
        reply.begin_row();
        reply.values(value).unwrap();
        reply.values(value).unwrap();
        reply.end_row().unwrap();
        reply.begin_row();
        reply.values(value).unwrap();
        out.report(&Report::protocol("no"));
        assert_eq!(&out.bytes[..18], b"D\0\0\0\x10\0\x02\0\0\0\x01a\0\0\0\x01aE");
    }

    #[test]
    fn what_is_held_back_can_be_rewound_until_it_is_let_go() {
        let (mut out, mut sink) = (Outbox::default(), Vec::new());
        let mut reply = Reply::new(&mut out, &mut sink);
        let fill = |reply: &mut Reply<'_>, bytes: usize| {
            for _ in 0..bytes.div_ceil(1_000) {
                let row = reply.row(|row| {
                    row.bytes(&[7; 1_000]);
                    Ok(())
                });
                row.unwrap();
            }
        };
        reply.mark();
        reply.hold(true);
        fill(&mut reply, 3 * FLUSH_BYTES);
        assert!(!reply.is_full());
        fill(&mut reply, HOLD_BYTES - 3 * FLUSH_BYTES);
        assert!(reply.is_full() && reply.rewind());
        assert!(!reply.is_full());
        reply.hold(false);
        fill(&mut reply, 3 * FLUSH_BYTES);
        // some of it is on its way
        assert!(!reply.rewind());
        assert!(sink.len() >= 2 * FLUSH_BYTES);
    }

    #[test]
    fn long_results_are_sent_in_pieces() {
        let (mut out, mut sink) = (Outbox::default(), Vec::new());
        let mut reply = Reply::new(&mut out, &mut sink);
        for _ in 0..1_000 {
            reply
                .row(|row| {
                    row.bytes(&[7; 1_000]);
                    Ok(())
                })
                .unwrap();
        }
        assert!(out.bytes.capacity() <= 4 * FLUSH_BYTES);
        assert_eq!(sink.len() + out.bytes.len(), 1_000 * 1_011);
    }
}
