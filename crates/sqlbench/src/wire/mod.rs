//! A connection to a server.
//!
//! A driver of our own, of a few hundred lines: those of others allocate for each statement and row, or hand each
//! message from thread to thread, and then a benchmark on one machine measures them. A batch is one write, and its
//! answers are read as they come, most of them at once.

mod socket;
mod startup;

use crate::client::{Client, Failure};
use crate::rows::Rows;
use crate::values::Param;
use socket::{Socket, lost};

/// A connection to ScaleDB's server, to PostgreSQL, or to any other that speaks its protocol.
pub struct Wire {
    socket: Socket,
    prepared: Vec<Prepared>,
}

struct Prepared {
    /// The begin of its Bind: the portal without a name, the statement's name, the binary format for all parameters.
    head: Vec<u8>,
    parameters: Vec<u32>,
}

/// All parameters, or all columns, are in the binary format.
const BINARY: [u8; 4] = [0, 1, 0, 1];
/// An Execute of the portal without a name, of all rows.
const EXECUTE: [u8; 10] = [b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];
const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];

impl Wire {
    /// Connects. `parameters` are those of libpq: `host=localhost port=5432 user=postgres`.
    ///
    /// # Errors
    /// [`Failure::Connection`].
    pub fn connect(parameters: &str) -> Result<Self, Failure> {
        Ok(Self { socket: startup::open(parameters)?, prepared: Vec::new() })
    }

    /// Sends what is written, and reads answers up to the end of the batch.
    fn batch(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        rows.clear();
        self.socket.send()?;
        let mut refused = None;
        loop {
            let (tag, body) = self.socket.message()?;
            match tag {
                b'D' => row(body, rows)?,
                b'C' => rows.complete(affected(body)),
                b'I' => rows.complete(0),
                b'E' => refused = refused.or(Some(refusal(body))),
                b'Z' => return refused.map_or(Ok(()), Err),
                // whatever else is said beside
                _ => {}
            }
        }
    }
}

impl Client for Wire {
    fn prepare(&mut self, statements: &[&str]) -> Result<(), Failure> {
        let out = &mut self.socket.out;
        for (sql, number) in statements.iter().zip(self.prepared.len()..) {
            let name = format!("s{number}\0");
            message(out, b'P', |out| {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(sql.as_bytes());
                // no types are given
                out.extend_from_slice(&[0; 3]);
            });
            message(out, b'D', |out| {
                out.push(b'S');
                out.extend_from_slice(name.as_bytes());
            });
        }
        out.extend_from_slice(&SYNC);
        self.socket.send()?;
        let mut refused = None;
        loop {
            let (tag, body) = self.socket.message()?;
            match tag {
                b't' => {
                    let oids = body.get(2..).unwrap_or_default().chunks_exact(4);
                    let parameters = oids.map(|oid| u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]));
                    let head = [format!("\0s{}\0", self.prepared.len()).as_bytes(), &BINARY].concat();
                    self.prepared.push(Prepared { head, parameters: parameters.collect() });
                }
                b'E' => refused = refused.or(Some(refusal(body))),
                b'Z' => return refused.map_or(Ok(()), Err),
                _ => {}
            }
        }
    }

    fn ask(&mut self, statement: usize, params: &[Param<'_>]) -> Result<(), Failure> {
        let Prepared { head, parameters } = &self.prepared[statement];
        let out = &mut self.socket.out;
        let written = message(out, b'B', |out| {
            out.extend_from_slice(head);
            out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
            params.iter().zip(parameters).try_for_each(|(param, &oid)| {
                let start = out.len();
                out.extend_from_slice(&[0xFF; 4]);
                if param.write(oid, out)? {
                    let length = (out.len() - start - 4) as u32;
                    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
                }
                Ok(())
            })?;
            out.extend_from_slice(&BINARY);
            Ok(())
        });
        out.extend_from_slice(&EXECUTE);
        written.inspect_err(|_| self.socket.out.clear())
    }

    fn answers(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.socket.out.extend_from_slice(&SYNC);
        self.batch(rows)
    }

    fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure> {
        let out = &mut self.socket.out;
        message(out, b'P', |out| {
            out.push(0);
            out.extend_from_slice(sql.as_bytes());
            out.extend_from_slice(&[0; 3]);
        });
        message(out, b'B', |out| {
            out.extend_from_slice(&[0; 6]);
            out.extend_from_slice(&BINARY);
        });
        out.extend_from_slice(&EXECUTE);
        self.answers(rows)?;
        Ok(rows.answer(0).affected())
    }

    fn script(&mut self, sql: &str) -> Result<(), Failure> {
        self.simple(sql);
        self.batch(&mut Rows::default())
    }

    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<(), Failure> {
        self.simple(sql);
        self.socket.send()?;
        // the server says that it waits for data, or why it does not
        let mut refused = None;
        loop {
            let (tag, body) = self.socket.message()?;
            match tag {
                b'G' => break,
                b'E' => refused = Some(refusal(body)),
                b'Z' => return Err(refused.unwrap_or_else(|| lost("the statement is no COPY FROM STDIN"))),
                _ => {}
            }
        }
        let out = &mut self.socket.out;
        message(out, b'd', |out| out.extend_from_slice(data));
        message(out, b'c', |_| ());
        self.batch(&mut Rows::default())
    }
}

impl Wire {
    fn simple(&mut self, sql: &str) {
        message(&mut self.socket.out, b'Q', |out| {
            out.extend_from_slice(sql.as_bytes());
            out.push(0);
        });
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // out of courtesy: a connection that ends says so
        self.socket.out.clear();
        message(&mut self.socket.out, b'X', |_| ());
        let _ = self.socket.send();
    }
}

/// Appends a message; its length counts itself, not the tag.
fn message<R>(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    result
}

/// A DataRow: a count, then each value behind its length, -1 for NULL.
fn row(body: &[u8], rows: &mut Rows) -> Result<(), Failure> {
    let cut = || lost("a row is cut off");
    let (count, mut rest) = body.split_first_chunk().ok_or_else(cut)?;
    let count = usize::from(u16::from_be_bytes(*count));
    rows.begin(count);
    for _ in 0..count {
        let (length, values) = rest.split_first_chunk().ok_or_else(cut)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (value, values) = values.split_at_checked(length.unwrap_or(0)).ok_or_else(cut)?;
        rows.push(length.map(|_| |out: &mut Vec<u8>| out.extend_from_slice(value)));
        rest = values;
    }
    Ok(())
}

/// The number at the end of a CommandComplete's tag: `INSERT 0 1`, `SELECT 12`, `BEGIN`.
fn affected(body: &[u8]) -> u64 {
    let digits = body.iter().rev().skip(1).take_while(|byte| byte.is_ascii_digit());
    digits.fold((0, 1), |(sum, place), digit| (sum + u64::from(digit - b'0') * place, place * 10)).0
}

/// What an ErrorResponse says.
fn refusal(body: &[u8]) -> Failure {
    let field = |name: u8| {
        let mut fields = body.split(|&byte| byte == 0);
        let found = fields.find_map(|field| field.strip_prefix(&[name]))?;
        Some(String::from_utf8_lossy(found).into_owned())
    };
    Failure::Refused {
        code: field(b'C').unwrap_or_default(),
        message: field(b'M').unwrap_or_default(),
        detail: field(b'D'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_end_in_the_number_of_rows() {
        for (tag, rows) in
            [("INSERT 0 1\0", 1), ("SELECT 120\0", 120), ("BEGIN\0", 0), ("UPDATE 0\0", 0), ("", 0)]
        {
            assert_eq!(affected(tag.as_bytes()), rows, "{tag}");
        }
    }

    #[test]
    fn a_row_that_is_cut_off_is_an_error() {
        let body = [&[0, 2][..], &[0, 0, 0, 1, 7], &[0xFF; 4]].concat();
        let mut rows = Rows::default();
        row(&body, &mut rows).unwrap();
        rows.complete(1);
        assert_eq!((rows.answer(0).bytes(0, 0), rows.answer(0).bytes(0, 1)), (Some(&[7][..]), None));
        for length in 0..body.len() {
            assert!(row(&body[..length], &mut Rows::default()).is_err(), "{length}");
        }
    }

    #[test]
    fn errors_are_told_by_their_fields() {
        let refused = refusal(b"SERROR\0C40001\0Mcould not serialize\0DIn table \"t\"\0\0");
        assert_eq!(refused.to_string(), "could not serialize (40001); In table \"t\"");
    }
}
