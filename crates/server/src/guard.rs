//! A session as the server runs it: the same session, with its times and counts kept.

use crate::control::{Cancel, Control, Counts};
use scaledb_base::timeouts::{Timeouts, millis};
use scaledb_pgwire::{Backend, Bind, Oids, Reply, Report, Result, SqlState, Status, Step};
use scaledb_sql::Bell;
use scaledb_sync::Arc;
use std::time::Duration;

/// A session whose times are limited.
pub trait Limited: Backend {
    /// Its time limits, if they have changed since the last call.
    fn new_timeouts(&mut self) -> Option<Timeouts>;
    /// The text of the statement that ran last, its constants left out, if it is known.
    fn last_statement(&self) -> Option<Arc<str>>;
    /// A batch of statements begins: what ran before cannot be cancelled any more.
    fn begin(&mut self);
    /// What rings when the session has something to say by itself.
    fn set_bell(&mut self, bell: Arc<dyn Bell>) {
        let _ = bell;
    }
}

pub(crate) struct Guarded<B> {
    session: B,
    control: Arc<Control>,
    /// Whether the control knows that a batch runs.
    busy: bool,
    /// Batches that take so many milliseconds are logged; 0: none.
    slow: u64,
}

impl<B: Limited> Guarded<B> {
    pub(crate) fn new(mut session: B, control: Arc<Control>, slow: Duration) -> Self {
        let slow = millis(slow);
        session.set_bell(control.socket.clone());
        Self { session, control, busy: false, slow }
    }

    /// Logs a batch that took long.
    #[cold]
    fn log_slow(&self, millis: u64) {
        let statement = self.session.last_statement();
        let statement = statement.as_deref().unwrap_or("");
        tracing::warn!(peer = %self.control.peer, millis, statement, "slow statement");
    }

    #[inline]
    fn begin(&mut self) {
        if !self.busy {
            self.busy = true;
            self.session.begin();
            self.control.begin();
        }
    }

    /// Counts what failed, and says why it was cancelled.
    #[cold]
    fn failed(&self, mut report: Box<Report>) -> Box<Report> {
        let counts = &self.control.counts;
        Counts::add(&counts.errors);
        match report.code {
            code if code == SqlState::SERIALIZATION_FAILURE => Counts::add(&counts.conflicts),
            SqlState::QUERY_CANCELED => match self.control.cancelled() {
                Some(Cancel::Timeout) => {
                    report.message = "canceling statement due to statement timeout".into();
                }
                Some(Cancel::Shutdown) => {
                    return self.control.ending().unwrap_or(report);
                }
                _ => {}
            },
            _ => {}
        }
        report
    }

    /// Notes that the client is to send data.
    fn step(&self, done: Result<Step>) -> Result<Step> {
        if let Ok(Step::CopyIn { .. }) = done {
            self.control.copying();
        }
        self.told(done)
    }

    #[inline]
    fn told<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|report| self.failed(report))
    }
}

impl<B: Limited> Backend for Guarded<B> {
    fn status(&self) -> Status {
        self.session.status()
    }

    fn query(&mut self, sql: &str, reply: &mut Reply<'_>) -> Result<Step> {
        self.begin();
        Counts::add(&self.control.counts.statements);
        let done = self.session.query(sql, reply);
        self.step(done)
    }

    fn parse(&mut self, name: &str, sql: &str, types: Oids<'_>) -> Result<()> {
        self.begin();
        let done = self.session.parse(name, sql, types);
        self.told(done)
    }

    fn describe_statement(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()> {
        self.begin();
        let done = self.session.describe_statement(name, reply);
        self.told(done)
    }

    fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        self.begin();
        let done = self.session.bind(bind);
        self.told(done)
    }

    fn looks_ahead(&self) -> bool {
        self.session.looks_ahead()
    }

    fn look_ahead<'a>(&mut self, binds: impl Iterator<Item = Bind<'a>>) {
        self.session.look_ahead(binds);
    }

    fn describe_portal(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()> {
        self.begin();
        let done = self.session.describe_portal(name, reply);
        self.told(done)
    }

    fn execute(&mut self, portal: &str, rows: u64, last: bool, reply: &mut Reply<'_>) -> Result<Step> {
        self.begin();
        Counts::add(&self.control.counts.statements);
        let done = self.session.execute(portal, rows, last, reply);
        self.step(done)
    }

    fn close_statement(&mut self, name: &str) {
        self.session.close_statement(name);
    }

    fn close_portal(&mut self, name: &str) {
        self.session.close_portal(name);
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        let done = self.session.copy_data(data);
        self.control.copying();
        self.told(done)
    }

    fn copy_done(&mut self, reply: &mut Reply<'_>) -> Result<Step> {
        self.control.copied();
        let done = self.session.copy_done(reply);
        self.step(done)
    }

    fn copy_fail(&mut self) {
        self.session.copy_fail();
    }

    fn sync(&mut self, reply: &mut Reply<'_>) -> Result<()> {
        let done = self.session.sync(reply);
        let done = self.told(done);
        if let Some(timeouts) = self.session.new_timeouts() {
            self.control.set_timeouts(timeouts);
        }
        self.busy = false;
        if self.slow > 0 {
            let millis = self.control.busy_millis();
            if millis >= self.slow {
                self.log_slow(millis);
            }
        }
        self.control.done(self.session.status());
        done
    }

    fn fail(&mut self) {
        Counts::add(&self.control.counts.errors);
        self.session.fail();
    }

    fn hold_message(&mut self, bytes: usize) -> Result<()> {
        let done = self.session.hold_message(bytes);
        self.told(done)
    }

    fn woken(&mut self, reply: &mut Reply<'_>) {
        if !self.busy {
            self.session.woken(reply);
        }
    }

    #[inline]
    fn interrupted(&mut self) -> Option<Box<Report>> {
        self.control.ending().or_else(|| self.session.interrupted())
    }
}
