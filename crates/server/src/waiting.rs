//! A server before its database is open: a client that authenticates is told why it has to wait.

use crate::door::{NewSession, Sessions};
use crate::guard::Limited;
use scaledb_base::timeouts::Timeouts;
use scaledb_pgwire::{Report, Result, SqlState, Startup};
use std::marker::PhantomData;

/// Opens no session: clients are told 57P03, and why.
pub struct Waiting<S> {
    why: Box<dyn Fn() -> String + Send + Sync>,
    sessions: PhantomData<fn() -> S>,
}

impl<S> Waiting<S> {
    /// `why` is asked for each client.
    pub fn new(why: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self { why: Box::new(why), sessions: PhantomData }
    }
}

impl<S: Limited + 'static> Sessions for Waiting<S> {
    type Session = S;

    fn open(&self, _: &Startup, _: Timeouts) -> Result<NewSession<S>> {
        let mut report =
            Report::fatal(SqlState::CANNOT_CONNECT_NOW, "the database system is starting up".to_owned());
        report.detail = Some((self.why)());
        Err(report)
    }
}
