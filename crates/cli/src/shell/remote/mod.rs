//! A session of a server, over PostgreSQL's protocol.
//!
//! The messages are `postgres-protocol`'s. The drivers above it hide what a shell shows: the state of the
//! transaction, the types of a simple query's columns, notices in their place.

mod password;
mod socket;
mod startup;
mod tls;

use super::connection::{Canceller, Column, Connection, CopyData, Failure, Receiver, Report, Transaction};
use crate::Result;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;
use scaledb_sync::Arc;
use socket::Socket;
use std::io;
use std::path::Path;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

/// Bytes of COPY that may wait to be sent.
const MAX_WAITING: usize = 64 << 10;

/// A session of a server.
pub(crate) struct Remote {
    socket: Socket,
    place: startup::ServerAddress,
    encryption: tls::Encryption,
    database: String,
    user: String,
    transaction: Transaction,
    cancel: Option<(i32, i32)>,
}

impl Remote {
    /// Connects as `conninfo` says: a URL, or `host=... user=...`. Encrypted in any case if `tls` says so; with a
    /// file of certificates, the server must be one that they vouch for.
    pub(crate) fn open(conninfo: &str, tls: bool, authorities: Option<&Path>) -> Result<Self> {
        let config: Config = conninfo.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
            format!("--connect: {error}{cause}")
        })?;
        let mode = if tls { SslMode::Require } else { config.get_ssl_mode() };
        startup::open(&config, tls::Encryption::new(mode, authorities)?)
    }

    /// Handles what may come at any time. The message, if it is something else.
    fn aside(message: Message, receiver: &mut dyn Receiver) -> io::Result<Option<Message>> {
        match message {
            Message::NoticeResponse(body) => {
                receiver.notice(&report(body.fields())?);
                Ok(None)
            }
            Message::ParameterStatus(_) | Message::NotificationResponse(_) => Ok(None),
            other => Ok(Some(other)),
        }
    }

    /// Sends what COPY FROM STDIN asks for.
    fn copy_in(&mut self, receiver: &mut dyn Receiver) -> io::Result<()> {
        let mut data = Vec::new();
        loop {
            data.clear();
            let more = receiver.copy_in(&mut data);
            if !data.is_empty() {
                frontend::CopyData::new(data.as_slice())?.write(&mut self.socket.outgoing);
            }
            match more {
                CopyData::More if self.socket.outgoing.len() < MAX_WAITING => {}
                CopyData::More => self.socket.flush()?,
                CopyData::End => {
                    frontend::copy_done(&mut self.socket.outgoing);
                    return self.socket.flush();
                }
                CopyData::GiveUp(why) => {
                    frontend::copy_fail(&why.replace('\0', ""), &mut self.socket.outgoing)?;
                    return self.socket.flush();
                }
            }
        }
    }

    /// Reads the answers to a query. What the receiver could not take is kept: the rest is read all the same.
    fn answers(&mut self, receiver: &mut dyn Receiver) -> io::Result<std::result::Result<(), Failure>> {
        let mut result = Ok(());
        let keep = |done: io::Result<()>, result: &mut std::result::Result<(), Failure>| {
            if let (Err(error), true) = (done, result.is_ok()) {
                *result = Err(Failure::Output(error));
            }
        };
        loop {
            let Some(message) = Self::aside(self.socket.message()?, receiver)? else { continue };
            match message {
                Message::RowDescription(body) => {
                    let column = |field: postgres_protocol::message::backend::Field<'_>| {
                        Ok(Column { name: field.name().to_owned(), ty: field.type_oid() })
                    };
                    let columns = body.fields().map(column).collect()?;
                    keep(receiver.columns(columns), &mut result);
                }
                // the rows of a result that cannot be written are skipped
                Message::DataRow(_) if result.is_err() => {}
                Message::DataRow(body) => {
                    let mut ranges = body.ranges();
                    while let Some(range) = ranges.next()? {
                        receiver.value(range.and_then(|range| body.buffer().get(range)));
                    }
                    keep(receiver.end_row(), &mut result);
                }
                Message::CommandComplete(body) => {
                    if result.is_ok() {
                        keep(receiver.complete(body.tag()?), &mut result);
                    }
                }
                Message::ErrorResponse(body) => {
                    result = Err(Failure::Report(Box::new(report(body.fields())?)));
                }
                Message::CopyInResponse(_) => self.copy_in(receiver)?,
                Message::CopyData(body) if result.is_ok() => {
                    keep(receiver.copy_out(body.data()), &mut result)
                }
                Message::CopyOutResponse(_)
                | Message::CopyData(_)
                | Message::CopyDone
                | Message::EmptyQueryResponse => {}
                Message::ReadyForQuery(body) => {
                    self.transaction = match body.status() {
                        b'T' => Transaction::Open,
                        b'E' => Transaction::Failed,
                        _ => Transaction::Idle,
                    };
                    return Ok(result);
                }
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an unexpected message came")),
            }
        }
    }

    fn ask(
        &mut self,
        sql: &str,
        receiver: &mut dyn Receiver,
    ) -> io::Result<std::result::Result<(), Failure>> {
        if sql.contains('\0') {
            return Ok(Err(Failure::Output(io::Error::other("a statement cannot hold a zero byte"))));
        }
        frontend::query(sql, &mut self.socket.outgoing)?;
        self.socket.flush()?;
        self.answers(receiver)
    }
}

impl Connection for Remote {
    fn run(&mut self, sql: &str, receiver: &mut dyn Receiver) -> std::result::Result<(), Failure> {
        self.ask(sql, receiver).unwrap_or_else(|error| Err(Failure::Lost(error.to_string())))
    }

    fn transaction(&self) -> Transaction {
        self.transaction
    }

    fn canceller(&mut self) -> Canceller {
        let (place, encryption, cancel) = (self.place.clone(), self.encryption.clone(), self.cancel);
        Arc::new(move || {
            // a server that cannot be reached now does not get the request; the user may ask again
            if let Some((process, key)) = cancel {
                let _ = startup::cancel(&place, &encryption, process, key);
            }
        })
    }

    fn database(&self) -> &str {
        &self.database
    }

    fn info(&self) -> String {
        let Self { database, user, place, .. } = self;
        format!("You are connected to database \"{database}\" as user \"{user}\" at {place}.")
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        frontend::terminate(&mut self.socket.outgoing);
        // the server notices the end without it, too
        let _ = self.socket.flush();
    }
}

/// The fields of an error or notice.
fn report(mut fields: ErrorFields<'_>) -> io::Result<Report> {
    let mut report = Report::default();
    while let Some(field) = fields.next()? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'S' => report.severity = value,
            b'C' => report.code = value,
            b'M' => report.message = value,
            b'D' => report.detail = Some(value),
            b'H' => report.hint = Some(value),
            b'P' => report.position = value.parse().ok(),
            _ => {}
        }
    }
    Ok(report)
}
