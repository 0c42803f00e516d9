//! A session of a server, over PostgreSQL's protocol.

mod password;

use super::connection::{Canceller, Column, Connection, CopyData, Failure, Receiver, Transaction};
use crate::Result;
use scaledb_client::message::{self, report};
use scaledb_client::{Encryption, Error, Login, Session, SslMode};
use scaledb_sync::Arc;
use std::io;
use std::path::Path;

/// Bytes of COPY that may wait to be sent.
const MAX_WAITING: usize = 64 << 10;

/// A session of a server.
pub(crate) struct Remote {
    session: Session,
    transaction: Transaction,
}

impl Remote {
    /// Connects as `conninfo` says: a URL, or `host=... user=...`. Encrypted in any case if `tls` says so; with a
    /// file of certificates, the server must be one that they vouch for.
    pub(crate) fn open(conninfo: &str, tls: bool, authorities: Option<&Path>) -> Result<Self> {
        let config = scaledb_client::parse(conninfo).map_err(|error| format!("--connect: {error}"))?;
        let mode = if tls { SslMode::Require } else { config.get_ssl_mode() };
        let environment = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut password =
            |user: &str| environment("PGPASSWORD").map(String::into_bytes).or_else(|| password::ask(user));
        let login = Login {
            user: environment("PGUSER").or_else(|| environment("USER")),
            database: environment("PGDATABASE"),
            password: &mut password,
            cleartext: false,
            application: "scaledb shell",
        };
        let encryption = Encryption::new(mode, authorities)?;
        let session = scaledb_client::connect(&config, encryption, login).map_err(|error| match error {
            Error::Parameters(what) => format!("--connect: {what}"),
            Error::PasswordWanted => {
                "the server asks for a password: set PGPASSWORD, or give one in --connect".to_owned()
            }
            other => other.to_string(),
        })?;
        Ok(Self { session, transaction: Transaction::Idle })
    }

    /// Sends what COPY FROM STDIN asks for.
    fn copy_in(&mut self, receiver: &mut dyn Receiver) -> io::Result<()> {
        let mut data = Vec::new();
        loop {
            data.clear();
            let more = receiver.copy_in(&mut data);
            let socket = &mut self.session.socket;
            if !data.is_empty() {
                message::write(&mut socket.out, b'd', |out| out.extend_from_slice(&data));
            }
            match more {
                CopyData::More if socket.out.len() < MAX_WAITING => {}
                CopyData::More => socket.send()?,
                CopyData::End => {
                    message::write(&mut socket.out, b'c', |_| ());
                    return socket.send();
                }
                CopyData::GiveUp(why) => {
                    message::write(&mut socket.out, b'f', |out| message::text(out, &why.replace('\0', "")));
                    return socket.send();
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
            let (tag, body) = self.session.socket.message()?;
            match tag {
                b'T' => {
                    let columns = message::columns(body)?;
                    let columns = columns.into_iter().map(|(name, ty)| Column { name, ty }).collect();
                    keep(receiver.columns(columns), &mut result);
                }
                // the rows of a result that cannot be written are skipped
                b'D' if result.is_err() => {}
                b'D' => {
                    message::row(body, |_| (), |value| receiver.value(value))?;
                    keep(receiver.end_row(), &mut result);
                }
                b'C' if result.is_ok() => {
                    let tag = String::from_utf8_lossy(body.strip_suffix(&[0]).unwrap_or(body));
                    keep(receiver.complete(&tag), &mut result);
                }
                b'E' => result = Err(Failure::Report(report(body))),
                b'N' => receiver.notice(&report(body)),
                b'G' => self.copy_in(receiver)?,
                b'd' if result.is_ok() => keep(receiver.copy_out(body), &mut result),
                // COPY that begins or ends, a query without a statement, settings and notifications
                b'C' | b'd' | b'H' | b'c' | b'I' | b'S' | b'A' => {}
                b'Z' => {
                    self.transaction = match body {
                        [b'T'] => Transaction::Open,
                        [b'E'] => Transaction::Failed,
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
        message::query(&mut self.session.socket.out, sql);
        self.session.socket.send()?;
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
        let canceller = self.session.canceller.clone();
        Arc::new(move || {
            // a server that cannot be reached now does not get the request; the user may ask again
            if let Some(canceller) = &canceller {
                let _ = canceller.cancel();
            }
        })
    }

    fn database(&self) -> &str {
        &self.session.database
    }

    fn info(&self) -> String {
        let Session { database, user, address, .. } = &self.session;
        format!("You are connected to database \"{database}\" as user \"{user}\" at {address}.")
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let socket = &mut self.session.socket;
        message::write(&mut socket.out, b'X', |_| ());
        // the server notices the end without it, too
        let _ = socket.send();
    }
}
