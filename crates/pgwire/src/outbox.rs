//! The output buffer: messages are written straight into it, their lengths patched when they end.
//!
//! ```text
//!  ┌─────┬──────────────┬───────────────┐
//!  │ tag │ length, i32  │ body          │   the length counts itself, not the tag
//!  └─────┴──────────────┴───────────────┘
//! ```
//!
//! Nothing is allocated per message or row once the buffer has grown to its working size.

use crate::limits::{FLUSH_BYTES, HOLD_BYTES, KEEP_BYTES};
use crate::report::{Report, Severity};
use std::io::{self, Write};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As text.
    Text,
    /// In the type's binary format.
    Binary,
}

impl Format {
    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// A column of a result.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// The table that it comes from, or 0.
    pub table: u32,
    /// Its number in that table, or 0.
    pub attribute: i16,
    /// Its type.
    pub type_oid: u32,
    /// The size of its type (`pg_type.typlen`).
    pub size: i16,
    /// The modifier of its type, or -1.
    pub modifier: i32,
    /// How its values are written.
    pub format: Format,
}

/// What a statement did: `SELECT 3`, `INSERT 0 1`, `BEGIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The words; for inserts with the historical `0`.
    pub words: &'static str,
    /// The number of rows, where the tag has one.
    pub rows: Option<u64>,
}

impl Tag {
    /// A tag.
    pub fn new(words: &'static str, rows: Option<u64>) -> Self {
        Self { words, rows }
    }
}

/// Whether a transaction is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// None.
    Idle,
    /// One.
    Transaction,
    /// One that failed: only its end is accepted.
    Failed,
}

/// Messages on their way to the client.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) bytes: Vec<u8>,
    /// Where the latest CommandComplete is, while nothing stands behind it.
    complete: Option<(usize, usize)>,
    /// Where the statement began that may be run again, while nothing of it is sent.
    mark: Option<usize>,
    /// Whether nothing is sent before the end of the statement, or before it is full.
    pub(crate) holds: bool,
    /// Where the row began that is being written.
    pub(crate) row: Option<usize>,
}

impl Outbox {
    /// A message whose body `body` writes.
    pub(crate) fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(tag);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        body(&mut self.bytes);
        patch(&mut self.bytes, start);
    }

    fn empty(&mut self, tag: u8) {
        self.bytes.extend_from_slice(&[tag, 0, 0, 0, 4]);
    }

    pub(crate) fn parse_complete(&mut self) {
        self.empty(b'1');
    }

    pub(crate) fn bind_complete(&mut self) {
        self.empty(b'2');
    }

    pub(crate) fn close_complete(&mut self) {
        self.empty(b'3');
    }

    pub(crate) fn no_data(&mut self) {
        self.empty(b'n');
    }

    pub(crate) fn empty_query(&mut self) {
        self.empty(b'I');
    }

    pub(crate) fn portal_suspended(&mut self) {
        self.empty(b's');
    }

    pub(crate) fn copy_done(&mut self) {
        self.empty(b'c');
    }

    pub(crate) fn ready(&mut self, status: Status) {
        let status = match status {
            Status::Idle => b'I',
            Status::Transaction => b'T',
            Status::Failed => b'E',
        };
        self.bytes.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
    }

    pub(crate) fn command_complete(&mut self, tag: Tag) {
        let start = self.bytes.len();
        self.message(b'C', |out| {
            out.extend_from_slice(tag.words.as_bytes());
            if let Some(rows) = tag.rows {
                out.push(b' ');
                put_decimal(out, rows);
            }
            out.push(0);
        });
        self.complete = Some((start, self.bytes.len()));
    }

    /// Takes the CommandComplete back that stands last, if it does: its statement failed after all.
    pub(crate) fn take_back_complete(&mut self) {
        if let Some((start, end)) = self.complete.take()
            && end == self.bytes.len()
        {
            self.bytes.truncate(start);
        }
    }

    /// Notes where a statement begins.
    pub(crate) fn mark(&mut self) {
        self.mark = Some(self.bytes.len());
    }

    /// Whether what stands behind the mark is as much as may be held back.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() - self.mark.unwrap_or(0).min(self.bytes.len()) >= HOLD_BYTES
    }

    /// Forgets what stands behind the mark; false if some of it is sent.
    pub(crate) fn rewind(&mut self) -> bool {
        if let Some(mark) = self.mark {
            self.bytes.truncate(mark);
            self.row = None;
        }
        self.mark.is_some()
    }

    pub(crate) fn row_description<'a>(&mut self, columns: impl Iterator<Item = Column<'a>>) {
        self.message(b'T', |out| {
            let count = out.len();
            out.extend_from_slice(&[0; 2]);
            let mut n = 0_u16;
            for column in columns {
                put_text(out, column.name);
                out.extend_from_slice(&column.table.to_be_bytes());
                out.extend_from_slice(&column.attribute.to_be_bytes());
                out.extend_from_slice(&column.type_oid.to_be_bytes());
                out.extend_from_slice(&column.size.to_be_bytes());
                out.extend_from_slice(&column.modifier.to_be_bytes());
                out.extend_from_slice(&column.format.code().to_be_bytes());
                n += 1;
            }
            out[count..count + 2].copy_from_slice(&n.to_be_bytes());
        });
    }

    pub(crate) fn parameter_description(&mut self, types: impl Iterator<Item = u32>) {
        self.message(b't', |out| {
            let count = out.len();
            out.extend_from_slice(&[0; 2]);
            let mut n = 0_u16;
            for oid in types {
                out.extend_from_slice(&oid.to_be_bytes());
                n += 1;
            }
            out[count..count + 2].copy_from_slice(&n.to_be_bytes());
        });
    }

    pub(crate) fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            put_text(out, name);
            put_text(out, value);
        });
    }

    pub(crate) fn notification(&mut self, sender: i32, channel: &str, payload: &str) {
        self.message(b'A', |out| {
            out.extend_from_slice(&sender.to_be_bytes());
            put_text(out, channel);
            put_text(out, payload);
        });
    }

    pub(crate) fn backend_key(&mut self, pid: i32, key: &[u8]) {
        self.message(b'K', |out| {
            out.extend_from_slice(&pid.to_be_bytes());
            out.extend_from_slice(key);
        });
    }

    /// A CopyInResponse (`G`) or CopyOutResponse (`H`).
    pub(crate) fn copy_response(&mut self, tag: u8, format: Format, columns: u16) {
        self.message(tag, |out| {
            out.push(u8::from(format == Format::Binary));
            out.extend_from_slice(&columns.to_be_bytes());
            for _ in 0..columns {
                out.extend_from_slice(&format.code().to_be_bytes());
            }
        });
    }

    /// An Authentication message of a kind.
    pub(crate) fn authentication(&mut self, kind: i32, body: &[u8]) {
        self.message(b'R', |out| {
            out.extend_from_slice(&kind.to_be_bytes());
            out.extend_from_slice(body);
        });
    }

    pub(crate) fn negotiate(&mut self, version: i32, unknown: &[String]) {
        self.message(b'v', |out| {
            out.extend_from_slice(&version.to_be_bytes());
            out.extend_from_slice(&(unknown.len() as i32).to_be_bytes());
            for name in unknown {
                put_text(out, name);
            }
        });
    }

    /// An ErrorResponse or NoticeResponse, as the severity says.
    pub(crate) fn report(&mut self, report: &Report) {
        // a row that was begun is not sent
        if let Some(start) = self.row.take() {
            self.bytes.truncate(start);
        }
        let error = matches!(report.severity, Severity::Error | Severity::Fatal | Severity::Panic);
        let position = report.position.map(|position| position.to_string());
        let internal = report.internal.as_ref().map(|(position, _)| position.to_string());
        let line = report.origin.line().to_string();
        let module = report.origin.module();
        self.message(if error { b'E' } else { b'N' }, |out| {
            let mut field = |name: u8, text: Option<&str>| {
                if let Some(text) = text {
                    out.push(name);
                    put_text(out, text);
                }
            };
            field(b'S', Some(report.severity.as_str()));
            field(b'V', Some(report.severity.as_str()));
            field(b'C', Some(report.code.as_str()));
            field(b'M', Some(&report.message));
            field(b'D', report.detail.as_deref());
            field(b'H', report.hint.as_deref());
            field(b'P', position.as_deref());
            field(b'p', internal.as_deref());
            field(b'q', report.internal.as_ref().map(|(_, text)| &**text));
            field(b'W', report.context.as_deref());
            field(b's', report.schema.as_deref());
            field(b't', report.table.as_deref());
            field(b'c', report.column.as_deref());
            field(b'd', report.data_type.as_deref());
            field(b'n', report.constraint.as_deref());
            field(b'F', Some(report.origin.file()));
            field(b'L', Some(&line));
            field(b'R', Some(report.routine.unwrap_or(&module)));
            out.push(0);
        });
    }

    /// Sends what there is, in one write.
    ///
    /// # Errors
    ///
    /// The connection is gone, or did not take the bytes in time.
    pub(crate) fn flush(&mut self, channel: &mut dyn Write) -> io::Result<()> {
        if !self.bytes.is_empty() {
            channel.write_all(&self.bytes)?;
            channel.flush()?;
            self.bytes.clear();
            self.complete = None;
            self.mark = None;
            if self.bytes.capacity() > KEEP_BYTES {
                self.bytes.shrink_to(FLUSH_BYTES);
            }
        }
        Ok(())
    }
}

/// Writes the length of the message whose length field is at `start`.
pub(crate) fn patch(bytes: &mut [u8], start: usize) {
    // every caller bounds what it writes by MAX_REPLY_BYTES, or writes names and numbers only
    let length = i32::try_from(bytes.len() - start).unwrap_or(i32::MAX);
    bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A string of the protocol ends with a NUL; one within would end it early, so it is cut there.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let text = text.split('\0').next().unwrap_or_default();
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn put_decimal(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::SqlState;

    #[test]
    fn lengths_count_themselves_and_not_the_tag() {
        let mut out = Outbox::default();
        out.command_complete(Tag::new("INSERT 0", Some(1_234)));
        assert_eq!(out.bytes, b"C\0\0\0\x12INSERT 0 1234\0");
        out.bytes.clear();
        out.command_complete(Tag::new("SELECT", Some(0)));
        assert_eq!(out.bytes, b"C\0\0\0\x0dSELECT 0\0");
    }

    #[test]
    fn only_the_last_message_is_taken_back() {
        let mut out = Outbox::default();
        out.command_complete(Tag::new("BEGIN", None));
        out.parse_complete();
        let before = out.bytes.clone();
        out.take_back_complete();
        assert_eq!(out.bytes, before);
        out.command_complete(Tag::new("COMMIT", None));
        out.take_back_complete();
        assert_eq!(out.bytes, before);
        out.take_back_complete();
        assert_eq!(out.bytes, before);
    }

    #[test]
    fn what_is_sent_is_not_taken_back() {
        let mut out = Outbox::default();
        out.parse_complete();
        out.mark();
        out.bind_complete();
        assert!(out.rewind());
        assert_eq!(out.bytes, b"1\0\0\0\x04");
        out.bind_complete();
        out.flush(&mut Vec::new()).unwrap();
        out.command_complete(Tag::new("BEGIN", None));
        assert!(!out.rewind());
        assert!(!out.bytes.is_empty());
    }

    #[test]
    fn a_nul_in_a_report_does_not_forge_fields() {
        let mut out = Outbox::default();
        out.report(&Report::error(SqlState::SUCCESSFUL_COMPLETION, "a\0Cbad"));
        let body = &out.bytes[5..];
        assert!(body.starts_with(b"SERROR\0VERROR\0C00000\0Ma\0F"), "where it was made follows");
        assert!(!body.windows(3).any(|part| part == b"bad"));
    }
}
