//! The messages of a session: which may come when, and what is answered.
//!
//! ```text
//!              ┌────────── error in an extended query ──────────┐
//!              │                                                ▼
//!          ┌───────┐   CopyIn    ┌──────┐   error (extended)  ┌──────────┐
//!  Sync ──►│ ready │────────────►│ copy │────────────────────►│ skipping │──► until Sync
//!          └───────┘◄────────────└──────┘                     └──────────┘
//!              CopyDone | error (simple)
//! ```

use crate::backend::{Backend, Deallocated, Step};
use crate::decode::{Bind, Oids, Request, Target, request};
use crate::limits::Limits;
use crate::reply::Reply;
use crate::report::{Report, Result, Severity, SqlState};
use crate::startup::Stop;
use std::collections::HashMap;

type Names<T> = HashMap<Box<str>, T, rapidhash::fast::RandomState>;

/// What the connection does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read on; what is written can wait.
    Read,
    /// Send what is written first.
    Flush,
}

/// Who waits for the data of a `COPY FROM STDIN`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copy {
    /// A simple query.
    Query,
    /// An Execute.
    Portal,
}

pub(crate) struct Session<B: Backend> {
    pub(crate) backend: B,
    limits: Limits,
    statements: Names<B::Statement>,
    unnamed: Option<B::Statement>,
    portals: Names<B::Portal>,
    /// The unnamed portal; its memory is used again for the next one.
    portal: Option<B::Portal>,
    /// Whether the unnamed portal may be executed.
    portal_lives: bool,
    /// The transaction that the portals belong to.
    epoch: u64,
    /// After an error in an extended query: nothing is done until Sync.
    skipping: bool,
    copy: Option<Copy>,
}

impl<B: Backend> Session<B> {
    pub(crate) fn new(backend: B, limits: Limits) -> Self {
        let epoch = backend.epoch();
        Self {
            backend,
            limits,
            statements: Names::default(),
            unnamed: None,
            portals: Names::default(),
            portal: None,
            portal_lives: false,
            epoch,
            skipping: false,
            copy: None,
        }
    }

    /// Answers a message.
    ///
    /// # Errors
    ///
    /// The connection ends.
    pub(crate) fn message(&mut self, tag: u8, body: &[u8], reply: &mut Reply<'_>) -> Result<Next, Stop> {
        if self.skipping {
            match tag {
                b'S' => self.skipping = false,
                b'X' => return Err(Stop::Done),
                _ => return Ok(Next::Read),
            }
        }
        if let Some(copy) = self.copy {
            return self.copy_message(copy, tag, body, reply);
        }
        let done = match request(tag, body) {
            Ok(request) => self.request(request, reply),
            Err(report) => {
                self.backend.fail();
                Err(report.into())
            }
        };
        match done {
            Err(Stop::Fatal(report)) if !report.is_fatal() => {
                reply.out().report(&report);
                if matches!(tag, b'Q' | b'F') {
                    return self.sync(reply);
                }
                self.skipping = true;
                // clients that send Flush instead of Sync wait for it, and Flush is skipped now
                Ok(Next::Flush)
            }
            done => done,
        }
    }

    fn request(&mut self, request: Request<'_>, reply: &mut Reply<'_>) -> Result<Next, Stop> {
        match request {
            Request::Bind(bind) => self.bind(&bind, reply)?,
            Request::Execute { portal, limit } => return self.execute(portal, limit, reply),
            Request::Sync => return self.sync(reply),
            Request::Parse { name, sql, types } => self.parse(name, sql, types, reply)?,
            Request::Describe { what, name } => self.describe(what, name, reply)?,
            Request::Query(sql) => {
                // as in PostgreSQL, a simple query drops the unnamed statement and portal
                self.unnamed = None;
                self.portal_lives = false;
                let step = self.backend.query(sql, reply)?;
                self.deallocate();
                return self.step(step, Copy::Query, reply);
            }
            Request::Close { what, name } => self.close(what, name, reply),
            Request::Flush => return Ok(Next::Flush),
            Request::Terminate => return Err(Stop::Done),
            // what is left of a COPY that failed
            Request::CopyData | Request::CopyDone | Request::CopyFail(_) => {}
            Request::FunctionCall => {
                let what = "function calls by the protocol are not supported";
                return Err(self.refuse(Report::error(SqlState::NOT_SUPPORTED, what)).into());
            }
        }
        Ok(Next::Read)
    }

    /// What comes after a statement that ran so far.
    fn step(&mut self, step: Step, of: Copy, reply: &mut Reply<'_>) -> Result<Next, Stop> {
        match step {
            Step::CopyIn { format, columns } => {
                reply.out().copy_response(b'G', format, columns);
                self.copy = Some(of);
                return Ok(Next::Flush);
            }
            Step::Suspended => reply.out().portal_suspended(),
            Step::Done => {}
        }
        if of == Copy::Query { self.sync(reply) } else { Ok(Next::Read) }
    }

    fn parse(&mut self, name: &str, sql: &str, types: Oids<'_>, reply: &mut Reply<'_>) -> Result<()> {
        if name.is_empty() {
            // gone, even if the new one fails
            self.unnamed = None;
            self.unnamed = Some(self.backend.parse(sql, types)?);
        } else {
            if self.statements.contains_key(name) {
                let what = format!("prepared statement \"{name}\" already exists");
                return Err(self.refuse(Report::error(SqlState::DUPLICATE_STATEMENT, what)));
            }
            if self.statements.len() >= self.limits.statements {
                let what = format!("more than {} prepared statements", self.limits.statements);
                let report = Report::error(SqlState::LIMIT_EXCEEDED, what);
                return Err(self.refuse(report.with_hint("Deallocate those that are not needed any more.")));
            }
            let statement = self.backend.parse(sql, types)?;
            self.statements.insert(name.into(), statement);
        }
        reply.out().parse_complete();
        Ok(())
    }

    fn bind(&mut self, bind: &Bind<'_>, reply: &mut Reply<'_>) -> Result<()> {
        let unnamed = bind.portal.is_empty();
        let known = if bind.statement.is_empty() {
            self.unnamed.as_ref()
        } else {
            self.statements.get(bind.statement)
        };
        let Some(statement) = known else {
            return Err(self.refuse(no_statement(bind.statement)));
        };
        let (parameters, columns) = self.backend.shape(statement);
        let wrong = if bind.values.len() != parameters {
            let given = bind.values.len();
            let name = bind.statement;
            Some(Report::protocol(format!(
                "bind message supplies {given} parameters, but prepared statement \"{name}\" requires {parameters}"
            )))
        } else if !bind.results.fit(columns) {
            let given = bind.results.len();
            Some(Report::protocol(format!(
                "bind message has {given} result formats but query has {columns} columns"
            )))
        } else if !unnamed && self.portals.contains_key(bind.portal) {
            let what = format!("cursor \"{}\" already exists", bind.portal);
            Some(Report::error(SqlState::DUPLICATE_PORTAL, what))
        } else if !unnamed && self.portals.len() >= self.limits.portals {
            let what = format!("more than {} portals", self.limits.portals);
            Some(Report::error(SqlState::LIMIT_EXCEEDED, what))
        } else {
            None
        };
        if let Some(report) = wrong {
            return Err(self.refuse(report));
        }
        if unnamed {
            let recycled = self.portal.take();
            self.portal_lives = false;
            self.portal = Some(self.backend.bind(statement, bind, recycled)?);
            self.portal_lives = true;
        } else {
            let portal = self.backend.bind(statement, bind, None)?;
            self.portals.insert(bind.portal.into(), portal);
        }
        reply.out().bind_complete();
        Ok(())
    }

    fn describe(&mut self, what: Target, name: &str, reply: &mut Reply<'_>) -> Result<()> {
        match what {
            Target::Statement => {
                let known = if name.is_empty() { self.unnamed.as_ref() } else { self.statements.get(name) };
                match known {
                    Some(statement) => self.backend.describe_statement(statement, reply),
                    None => Err(self.refuse(no_statement(name))),
                }
            }
            Target::Portal => {
                let known = if name.is_empty() {
                    self.portal.as_ref().filter(|_| self.portal_lives)
                } else {
                    self.portals.get(name)
                };
                match known {
                    Some(portal) => self.backend.describe_portal(portal, reply),
                    None => Err(self.refuse(no_portal(name))),
                }
            }
        }
    }

    fn execute(&mut self, name: &str, limit: u32, reply: &mut Reply<'_>) -> Result<Next, Stop> {
        let portal = if name.is_empty() {
            self.portal.as_mut().filter(|_| self.portal_lives)
        } else {
            self.portals.get_mut(name)
        };
        let Some(portal) = portal else {
            return Err(self.refuse(no_portal(name)).into());
        };
        let rows = if limit == 0 { u64::MAX } else { u64::from(limit) };
        let step = self.backend.execute(portal, rows, reply)?;
        self.deallocate();
        self.end_portals();
        self.step(step, Copy::Portal, reply)
    }

    fn close(&mut self, what: Target, name: &str, reply: &mut Reply<'_>) {
        match (what, name.is_empty()) {
            (Target::Statement, true) => self.unnamed = None,
            (Target::Statement, false) => {
                self.statements.remove(name);
            }
            (Target::Portal, true) => {
                self.portal = None;
                self.portal_lives = false;
            }
            (Target::Portal, false) => {
                self.portals.remove(name);
            }
        }
        reply.out().close_complete();
    }

    /// A message while a COPY waits for data.
    fn copy_message(
        &mut self,
        copy: Copy,
        tag: u8,
        body: &[u8],
        reply: &mut Reply<'_>,
    ) -> Result<Next, Stop> {
        let failed = match tag {
            b'd' => match self.backend.copy_data(body) {
                Ok(()) => return Ok(Next::Read),
                Err(report) => report,
            },
            // clients that send a whole extended query at once have these behind it
            b'H' | b'S' => return Ok(Next::Read),
            b'c' => match self.backend.copy_done(reply) {
                Ok(step) => {
                    self.copy = None;
                    self.deallocate();
                    return self.step(step, copy, reply);
                }
                Err(report) => report,
            },
            b'f' => {
                self.backend.copy_fail();
                let reason = match request(tag, body) {
                    Ok(Request::CopyFail(reason)) => reason,
                    _ => "",
                };
                Report::error(SqlState::QUERY_CANCELED, format!("COPY from stdin failed: {reason}"))
            }
            b'X' => return Err(Stop::Done),
            other => {
                self.backend.copy_fail();
                Report::protocol(format!("unexpected message type 0x{other:02X} during COPY from stdin"))
            }
        };
        self.copy = None;
        if failed.is_fatal() {
            return Err(failed.into());
        }
        reply.out().report(&failed);
        match copy {
            Copy::Query => self.sync(reply),
            Copy::Portal => {
                self.skipping = true;
                Ok(Next::Flush)
            }
        }
    }

    /// Ends a batch.
    fn sync(&mut self, reply: &mut Reply<'_>) -> Result<Next, Stop> {
        if let Err(report) = self.backend.sync(reply) {
            if report.is_fatal() {
                return Err(report.into());
            }
            // the last statement did not happen after all
            reply.out().take_back_complete();
            reply.out().report(&report);
        }
        self.end_portals();
        reply.out().ready(self.backend.status());
        Ok(Next::Flush)
    }

    /// Drops the portals of transactions that ended.
    fn end_portals(&mut self) {
        let epoch = self.backend.epoch();
        if self.epoch != epoch {
            self.epoch = epoch;
            self.portal_lives = false;
            if !self.portals.is_empty() {
                self.portals.clear();
            }
        }
    }

    fn deallocate(&mut self) {
        while let Some(gone) = self.backend.deallocated() {
            match gone {
                Deallocated::Statement(name) => {
                    self.statements.remove(name.as_str());
                }
                Deallocated::All => self.statements.clear(),
            }
        }
    }

    /// An error that the backend has not made: its transaction fails with it.
    fn refuse(&mut self, report: Box<Report>) -> Box<Report> {
        debug_assert_eq!(report.severity, Severity::Error);
        self.backend.fail();
        report
    }
}

fn no_statement(name: &str) -> Box<Report> {
    let what = if name.is_empty() {
        "unnamed prepared statement does not exist".to_owned()
    } else {
        format!("prepared statement \"{name}\" does not exist")
    };
    Report::error(SqlState::NO_STATEMENT, what)
}

fn no_portal(name: &str) -> Box<Report> {
    Report::error(SqlState::NO_PORTAL, format!("portal \"{name}\" does not exist"))
}
