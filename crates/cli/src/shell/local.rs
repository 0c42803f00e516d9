//! A database of this process: in memory, or in a directory.

use super::connection::{Canceller, Column, Connection, CopyData, Failure, Receiver, Report, Transaction};
use crate::Result;
use scaledb_engines::{Acc, Durability, Open, Settings};
use scaledb_log::disk::{RealDisk, Submission};
use scaledb_pgwire as pgwire;
use scaledb_sql::{CopyInfo, Database, RowSink, Session, Severity, Status, Step, Tag};
use scaledb_sync::Arc;
use scaledb_types::{Env, SqlError, SqlState, Type, Value};
use std::io;
use std::path::{Path, PathBuf};

const DATABASE: &str = "scaledb";

/// A session of a database that this process holds.
pub(crate) struct Local {
    session: Session<Acc>,
    directory: Option<PathBuf>,
    user: String,
    // last: the session ends before its database
    _database: Database<Acc>,
}

impl Local {
    /// Opens the database of a directory, or a new one in memory.
    pub(crate) fn open(directory: Option<&Path>, mebibytes: Option<u64>) -> Result<Self> {
        let mut engine = Settings::default();
        if let Some(mebibytes) = mebibytes {
            engine.memory_budget = Some(mebibytes.saturating_mul(1 << 20));
        }
        if let Some(directory) = directory {
            let disk =
                RealDisk::open(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
            engine.durability = Some(Durability::new(Arc::new(disk)));
        }
        let database = Database::open(Acc::open_with(engine)?)?;
        // rows that do not fit the memory of a statement lie where the server would put them
        if let Some(directory) = directory.map(|directory| directory.join("temporary")) {
            let wrong = |error| format!("{}: {error}", directory.display());
            let disk = RealDisk::open_with(&directory, Submission::Cached).map_err(wrong)?;
            database.set_temporary_files(Arc::new(disk), u64::MAX).map_err(wrong)?;
        }
        let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
        let user = user.unwrap_or_else(|| DATABASE.to_owned());
        let mut session = database.session(&user, DATABASE);
        session.set_initial("application_name", "scaledb shell")?;
        Ok(Self { session, directory: directory.map(Path::to_owned), user, _database: database })
    }

    /// Feeds a COPY FROM STDIN.
    fn copy(&mut self, sink: &mut Sink<'_>) -> std::result::Result<Step, SqlError> {
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let more = sink.receiver.copy_in(&mut buffer);
            if let CopyData::GiveUp(why) = &more {
                return Err(self.session.copy_fail(why));
            }
            self.session.copy_data(&buffer)?;
            if matches!(more, CopyData::End) {
                return self.session.copy_done(sink);
            }
        }
    }

    fn notices(&mut self, receiver: &mut dyn Receiver) {
        for notice in self.session.take_notices() {
            let severity = match notice.severity {
                Severity::Warning => pgwire::Severity::Warning,
                Severity::Notice => pgwire::Severity::Notice,
                Severity::Info => pgwire::Severity::Info,
                Severity::Log => pgwire::Severity::Log,
                Severity::Debug => pgwire::Severity::Debug,
            };
            receiver.notice(&report(severity, notice.fields));
        }
    }
}

impl Connection for Local {
    fn run(&mut self, sql: &str, receiver: &mut dyn Receiver) -> std::result::Result<(), Failure> {
        let mut sink = Sink { receiver, text: Vec::new(), waiting: None, failed: None };
        let mut step = self.session.simple(sql, &mut sink);
        while let Ok(Step::CopyIn(_)) = step {
            step = self.copy(&mut sink);
        }
        let Sink { receiver, waiting, failed, .. } = sink;
        self.notices(receiver);
        if let Some(error) = failed {
            return Err(Failure::Output(error));
        }
        // before the error of a statement behind it, if there is one: so does a server
        if let Some(tag) = waiting {
            receiver.complete(&tag.to_string())?;
        }
        step.map(|_| ()).map_err(|error| Failure::Report(Box::new(report(pgwire::Severity::Error, error))))
    }

    fn transaction(&self) -> Transaction {
        match self.session.status() {
            Status::Idle => Transaction::Idle,
            Status::InTransaction => Transaction::Open,
            Status::Failed => Transaction::Failed,
        }
    }

    fn canceller(&mut self) -> Canceller {
        // an interrupt may come before the statement runs
        self.session.begin_batch();
        let cancel = self.session.cancel_handle();
        Arc::new(move || cancel.cancel())
    }

    fn database(&self) -> &str {
        DATABASE
    }

    fn info(&self) -> String {
        let place = match &self.directory {
            Some(directory) => format!("in directory \"{}\"", directory.display()),
            None => "in the memory of this process".to_owned(),
        };
        format!("You are connected to database \"{DATABASE}\" as user \"{}\" {place}.", self.user)
    }
}

fn report(severity: pgwire::Severity, error: SqlError) -> Report {
    Report { severity, fields: error.into_fields() }
}

/// Hands what a session says to a receiver, as text.
struct Sink<'a> {
    receiver: &'a mut dyn Receiver,
    text: Vec<u8>,
    /// The tag of a statement that may still be run again.
    waiting: Option<Tag>,
    /// What went wrong at the receiver's side.
    failed: Option<io::Error>,
}

impl Sink<'_> {
    /// The session's error for one of the receiver's, which is kept.
    fn check(&mut self, result: io::Result<()>) -> scaledb_types::Result<()> {
        result.map_err(|error| {
            let what = SqlError::new(SqlState::IO_ERROR, error.to_string());
            self.failed.get_or_insert(error);
            what
        })
    }

    fn next_statement(&mut self) {
        if let Some(tag) = self.waiting.take() {
            let done = self.receiver.complete(&tag.to_string());
            // the statement is done; the next one that writes tells the session
            let _ = self.check(done);
        }
    }
}

impl RowSink for Sink<'_> {
    fn describe(&mut self, columns: &[scaledb_sql::Column]) -> scaledb_types::Result<()> {
        self.next_statement();
        let columns =
            columns.iter().map(|column| Column { name: column.name.clone(), ty: column.ty.oid() }).collect();
        let done = self.receiver.columns(columns);
        self.check(done)
    }

    fn begin_row(&mut self, _: usize) {}

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> scaledb_types::Result<()> {
        if value.is_null() {
            self.receiver.value(None);
        } else {
            self.text.clear();
            value.write_text(ty, env, &mut self.text);
            self.receiver.value(Some(&self.text));
        }
        Ok(())
    }

    fn text(&mut self, _: &Env, _: Type, text: &str) -> scaledb_types::Result<()> {
        self.receiver.value(Some(text.as_bytes()));
        Ok(())
    }

    fn end_row(&mut self) -> scaledb_types::Result<()> {
        let done = self.receiver.end_row();
        self.check(done)
    }

    fn complete(&mut self, tag: &Tag) {
        self.next_statement();
        self.waiting = Some(tag.clone());
    }

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> scaledb_types::Result<()> {
        self.next_statement();
        Ok(())
    }

    fn copy_data(&mut self, data: &[u8]) -> scaledb_types::Result<()> {
        let done = self.receiver.copy_out(data);
        self.check(done)
    }

    fn mark(&mut self) {
        self.next_statement();
    }

    fn rewind(&mut self) -> bool {
        self.waiting = None;
        self.receiver.rewind()
    }
}
