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

use crate::backend::{Backend, Step};
use crate::decode::{Request, Target, request};
use crate::reply::Reply;
use crate::report::{Report, Result, SqlState};
use crate::startup::Stop;

/// What the connection does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read on; what is written can wait.
    Read,
    /// Send what is written first.
    Flush,
}

/// How the statement came that waits for the data of a `COPY FROM STDIN`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copy {
    /// A simple query.
    Query,
    /// An Execute.
    Portal,
}

pub(crate) struct Session<B: Backend> {
    pub(crate) backend: B,
    /// After an error in an extended query: nothing is done until Sync.
    skipping: bool,
    copy: Option<Copy>,
}

impl<B: Backend> Session<B> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, skipping: false, copy: None }
    }

    /// Answers a message; `last` says that Sync stands behind it.
    ///
    /// # Errors
    ///
    /// The connection ends.
    pub(crate) fn message(
        &mut self,
        tag: u8,
        body: &[u8],
        last: bool,
        reply: &mut Reply<'_>,
    ) -> Result<Next, Stop> {
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
            Ok(request) => self.request(request, last, reply),
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

    /// Lets the backend say what it has to say by itself.
    pub(crate) fn woken(&mut self, reply: &mut Reply<'_>) {
        if !self.skipping && self.copy.is_none() {
            self.backend.woken(reply);
        }
    }

    /// Shows messages that will come.
    pub(crate) fn look_ahead<'a>(&mut self, messages: impl Iterator<Item = (u8, &'a [u8])>) {
        if self.skipping || self.copy.is_some() {
            return;
        }
        let binds = messages.filter_map(|(tag, body)| match tag {
            b'B' => match request(tag, body) {
                Ok(Request::Bind(bind)) => Some(bind),
                _ => None,
            },
            _ => None,
        });
        self.backend.look_ahead(binds);
    }

    fn request(&mut self, request: Request<'_>, last: bool, reply: &mut Reply<'_>) -> Result<Next, Stop> {
        match request {
            Request::Bind(bind) => {
                self.backend.bind(&bind)?;
                reply.out().bind_complete();
            }
            Request::Execute { portal, limit } => {
                let rows = if limit == 0 { u64::MAX } else { u64::from(limit) };
                let step = self.backend.execute(portal, rows, last, reply)?;
                return self.step(step, Copy::Portal, reply);
            }
            Request::Sync => return self.sync(reply),
            Request::Parse { name, sql, types } => {
                self.backend.parse(name, sql, types)?;
                reply.out().parse_complete();
            }
            Request::Describe { what: Target::Statement, name } => {
                self.backend.describe_statement(name, reply)?;
            }
            Request::Describe { what: Target::Portal, name } => self.backend.describe_portal(name, reply)?,
            Request::Query(sql) => {
                let step = self.backend.query(sql, reply)?;
                return self.step(step, Copy::Query, reply);
            }
            Request::Close { what, name } => {
                match what {
                    Target::Statement => self.backend.close_statement(name),
                    Target::Portal => self.backend.close_portal(name),
                }
                reply.out().close_complete();
            }
            Request::Flush => return Ok(Next::Flush),
            Request::Terminate => return Err(Stop::Done),
            // what is left of a COPY that failed
            Request::CopyData | Request::CopyDone | Request::CopyFail(_) => {}
            Request::FunctionCall => {
                self.backend.fail();
                let what = "function calls by the protocol are not supported";
                return Err(Report::error(SqlState::FEATURE_NOT_SUPPORTED, what).into());
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
        self.backend.woken(reply);
        reply.out().ready(self.backend.status());
        Ok(Next::Flush)
    }
}
