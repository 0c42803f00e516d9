//! A session as the server runs it: the same session, with its times and counts kept.

use crate::control::{Cancel, Control, Counts, Timeouts};
use scaledb_pgwire::{Backend, Bind, Deallocated, Oids, Reply, Report, Result, SqlState, Status, Step};
use scaledb_sync::Arc;

/// A session whose times are limited.
pub trait Limited: Backend {
    /// Its time limits, if they have changed since the last call.
    fn new_timeouts(&mut self) -> Option<Timeouts>;
}

pub(crate) struct Guarded<B> {
    session: B,
    control: Arc<Control>,
    /// Whether the control knows that a batch runs.
    busy: bool,
}

impl<B: Limited> Guarded<B> {
    pub(crate) fn new(session: B, control: Arc<Control>) -> Self {
        Self { session, control, busy: false }
    }

    #[inline]
    fn begin(&mut self) {
        if !self.busy {
            self.busy = true;
            self.control.begin();
        }
    }

    /// Counts what failed, and says why it was cancelled.
    #[cold]
    fn failed(&self, mut report: Box<Report>) -> Box<Report> {
        let counts = &self.control.counts;
        Counts::add(&counts.errors);
        match report.code {
            code if code == SqlState(*b"40001") => Counts::add(&counts.conflicts),
            SqlState::QUERY_CANCELED => match self.control.cancelled() {
                Some(Cancel::Timeout) => {
                    report.message = "canceling statement due to statement timeout".to_owned();
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

    #[inline]
    fn told<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|report| self.failed(report))
    }
}

impl<B: Limited> Backend for Guarded<B> {
    type Statement = B::Statement;
    type Portal = B::Portal;

    fn status(&self) -> Status {
        self.session.status()
    }

    fn query(&mut self, sql: &str, reply: &mut Reply<'_>) -> Result<Step> {
        self.begin();
        Counts::add(&self.control.counts.statements);
        let done = self.session.query(sql, reply);
        self.told(done)
    }

    fn parse(&mut self, sql: &str, types: Oids<'_>) -> Result<Self::Statement> {
        self.begin();
        let done = self.session.parse(sql, types);
        self.told(done)
    }

    fn shape(&self, statement: &Self::Statement) -> (usize, usize) {
        self.session.shape(statement)
    }

    fn describe_statement(&mut self, statement: &Self::Statement, reply: &mut Reply<'_>) -> Result<()> {
        self.begin();
        let done = self.session.describe_statement(statement, reply);
        self.told(done)
    }

    fn bind(
        &mut self,
        statement: &Self::Statement,
        bind: &Bind<'_>,
        recycled: Option<Self::Portal>,
    ) -> Result<Self::Portal> {
        self.begin();
        let done = self.session.bind(statement, bind, recycled);
        self.told(done)
    }

    fn describe_portal(&mut self, portal: &Self::Portal, reply: &mut Reply<'_>) -> Result<()> {
        self.begin();
        let done = self.session.describe_portal(portal, reply);
        self.told(done)
    }

    fn execute(&mut self, portal: &mut Self::Portal, rows: u64, reply: &mut Reply<'_>) -> Result<Step> {
        self.begin();
        Counts::add(&self.control.counts.statements);
        let done = self.session.execute(portal, rows, reply);
        self.told(done)
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        let done = self.session.copy_data(data);
        self.told(done)
    }

    fn copy_done(&mut self, reply: &mut Reply<'_>) -> Result<Step> {
        let done = self.session.copy_done(reply);
        self.told(done)
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
        self.control.done(self.session.status());
        done
    }

    fn fail(&mut self) {
        Counts::add(&self.control.counts.errors);
        self.session.fail();
    }

    fn epoch(&self) -> u64 {
        self.session.epoch()
    }

    fn deallocated(&mut self) -> Option<Deallocated> {
        self.session.deallocated()
    }

    #[inline]
    fn interrupted(&mut self) -> Option<Box<Report>> {
        self.control.ending().or_else(|| self.session.interrupted())
    }
}
