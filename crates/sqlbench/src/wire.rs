//! A connection to a server.
//!
//! A batch is one write, and its answers are read as they come, most of them at once.

use crate::client::{Client, Failure};
use crate::rows::Rows;
use crate::values::Param;
use scaledb_client::message::{self, affected};
use scaledb_client::{Encryption, Error, Login, Socket};

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
        let config = scaledb_client::parse(parameters).map_err(failed)?;
        let encryption = Encryption::new(config.get_ssl_mode(), None).map_err(failed)?;
        let login = Login {
            user: None,
            database: None,
            password: &mut |_| None,
            cleartext: true,
            application: "scaledb bench",
        };
        let session = scaledb_client::connect(&config, encryption, login).map_err(failed)?;
        Ok(Self { socket: session.socket, prepared: Vec::new() })
    }

    /// Sends what is written, and reads answers up to the end of the batch.
    fn batch(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        rows.clear();
        self.socket.send().map_err(lost)?;
        let mut refused = None;
        loop {
            let (tag, body) = self.socket.message().map_err(lost)?;
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
            message::write(out, b'P', |out| {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(sql.as_bytes());
                // no types are given
                out.extend_from_slice(&[0; 3]);
            });
            message::write(out, b'D', |out| {
                out.push(b'S');
                out.extend_from_slice(name.as_bytes());
            });
        }
        out.extend_from_slice(&SYNC);
        self.socket.send().map_err(lost)?;
        let mut refused = None;
        loop {
            let (tag, body) = self.socket.message().map_err(lost)?;
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
        let written = message::write(out, b'B', |out| {
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
        message::write(out, b'P', |out| {
            out.push(0);
            out.extend_from_slice(sql.as_bytes());
            out.extend_from_slice(&[0; 3]);
        });
        message::write(out, b'B', |out| {
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
        self.socket.send().map_err(lost)?;
        // the server says that it waits for data, or why it does not
        let mut refused = None;
        loop {
            let (tag, body) = self.socket.message().map_err(lost)?;
            match tag {
                b'G' => break,
                b'E' => refused = Some(refusal(body)),
                b'Z' => return Err(refused.unwrap_or_else(|| lost("the statement is no COPY FROM STDIN"))),
                _ => {}
            }
        }
        let out = &mut self.socket.out;
        message::write(out, b'd', |out| out.extend_from_slice(data));
        message::write(out, b'c', |_| ());
        self.batch(&mut Rows::default())
    }
}

impl Wire {
    fn simple(&mut self, sql: &str) {
        message::query(&mut self.socket.out, sql);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // out of courtesy: a connection that ends says so
        self.socket.out.clear();
        message::write(&mut self.socket.out, b'X', |_| ());
        let _ = self.socket.send();
    }
}

/// The connection does not work.
#[cold]
fn lost(why: impl ToString) -> Failure {
    Failure::Connection(why.to_string())
}

/// There is no connection.
#[cold]
fn failed(error: Error) -> Failure {
    match error {
        Error::Refused(report) => Failure::Refused {
            code: report.code.as_str().to_owned(),
            message: report.fields.message.into_owned(),
            detail: report.fields.detail,
        },
        other => lost(other),
    }
}

/// A DataRow.
fn row(body: &[u8], rows: &mut Rows) -> Result<(), Failure> {
    // both closures write to the rows, one after the other
    let rows = std::cell::RefCell::new(rows);
    message::row(
        body,
        |count| rows.borrow_mut().begin(count),
        |value| rows.borrow_mut().push(value.map(|value| |out: &mut Vec<u8>| out.extend_from_slice(value))),
    )
    .map_err(lost)
}

/// What an ErrorResponse says.
#[cold]
fn refusal(body: &[u8]) -> Failure {
    failed(Error::Refused(message::report(body)))
}
