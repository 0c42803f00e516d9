//! What pooled sessions, sessions of one's own and transactions share.

use super::error::{Error, Result};
use super::session::Transaction;
use super::value::{FromRow, Row};
use super::{Prepared, SharedEngine};
use scaledb_engine::Engine;
use scaledb_sql::{Bell, Column, Notification, Rows, Status};
use scaledb_types::{Env, Value};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A session of SQL.
pub(crate) struct Core<E: Engine> {
    session: scaledb_sql::Session<SharedEngine<E>>,
    /// Its settings' generation when it was new.
    settings: u64,
    /// The error that has failed the transaction at hand was a conflict.
    conflict: bool,
}

impl<E: Engine> Core<E> {
    pub(super) fn new(session: scaledb_sql::Session<SharedEngine<E>>) -> Self {
        Self { settings: session.settings_generation(), session, conflict: false }
    }

    /// Whether another one may use it without a difference.
    pub(super) fn is_as_new(&self) -> bool {
        self.session.is_idle() && self.session.settings_generation() == self.settings
    }

    pub(super) fn set_bell(&mut self, bell: Arc<dyn Bell>) {
        self.session.set_bell(bell);
    }

    pub(super) fn take_notifications(&mut self) -> Vec<Notification> {
        self.session.take_notifications()
    }

    fn run_statement(&mut self, sql: &str, params: &[Value], rows: &mut dyn Rows) -> Result<u64> {
        let done = self.session.run(sql, params, rows);
        let _ = self.session.take_notices();
        let done = done.map(|tag| tag.rows.unwrap_or(0)).map_err(Error::from);
        if let Err(error) = &done {
            self.conflict = error.is_conflict();
        }
        done
    }

    pub(super) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64> {
        self.run_statement(sql, params, &mut Nobody)
    }

    pub(super) fn query<R: FromRow>(&mut self, sql: &str, params: &[Value]) -> Result<Vec<R>> {
        let mut all = All { rows: Vec::new(), limit: usize::MAX };
        self.run_statement(sql, params, &mut all)?;
        Ok(all.rows)
    }

    pub(super) fn query_opt<R: FromRow>(&mut self, sql: &str, params: &[Value]) -> Result<Option<R>> {
        let mut all = All { rows: Vec::new(), limit: 1 };
        self.run_statement(sql, params, &mut all)?;
        Ok(all.rows.pop())
    }

    pub(super) fn query_each<R: FromRow>(
        &mut self,
        sql: &str,
        params: &[Value],
        f: impl FnMut(R) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut each = Each { f, begun: false, _row: std::marker::PhantomData };
        self.run_statement(sql, params, &mut each).map(|_| ())
    }

    pub(super) fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        let description = self.session.describe(sql)?;
        Ok(Prepared(Arc::new((sql.into(), description))))
    }

    pub(super) fn batch(&mut self, sql: &str) -> Result<()> {
        let done = self.session.batch(sql);
        let _ = self.session.take_notices();
        Ok(done?)
    }

    pub(super) fn status(&self) -> Status {
        self.session.status()
    }

    pub(super) fn begin(&mut self, begin: &str) -> Result<()> {
        self.roll_back();
        self.execute(begin, &[])?;
        self.conflict = false;
        Ok(())
    }

    /// Commits.
    ///
    /// # Errors
    /// [`Kind::TransactionFailed`](super::Kind::TransactionFailed): a statement has failed before.
    pub(super) fn commit(&mut self) -> Result<()> {
        if self.status() != Status::InTransaction {
            self.roll_back();
            return Err(Error::failed());
        }
        self.execute("commit", &[]).map(|_| ())
    }

    pub(super) fn roll_back(&mut self) {
        if self.status() != Status::Idle {
            // nothing of it can fail
            let _ = self.execute("rollback", &[]);
        }
    }

    /// Runs `f` in transactions that begin so, until one commits.
    pub(super) fn run<R, F: From<Error>>(
        &mut self,
        begin: &str,
        mut f: impl FnMut(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<R, F> {
        let mut attempt = 0;
        loop {
            if let Some(value) = self.attempt(begin, &mut f)? {
                return Ok(value);
            }
            attempt += 1;
            self.session.pause(attempt);
        }
    }

    /// Runs `f` and commits; `None` if there was a conflict.
    fn attempt<R, F: From<Error>>(
        &mut self,
        begin: &str,
        f: impl FnOnce(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<Option<R>, F> {
        self.begin(begin)?;
        let mut txn = Transaction::new(self);
        let value = f(&mut txn);
        if txn.has_conflict() {
            // it has ended the transaction, whatever `f` made of it
            return Ok(None);
        }
        let value = value?;
        match txn.commit() {
            Ok(()) => Ok(Some(value)),
            Err(error) if error.is_conflict() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a conflict has failed the transaction at hand.
    pub(super) fn has_conflict(&self) -> bool {
        self.conflict && self.status() == Status::Failed
    }
}

/// Rows that nobody wants.
struct Nobody;

impl Rows for Nobody {
    fn row(&mut self, _: &Env, _: &[Column], _: &[Value]) -> scaledb_types::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn rewind(&mut self) -> bool {
        true
    }

    fn keeps(&self) -> bool {
        true
    }
}

/// All rows.
struct All<R> {
    rows: Vec<R>,
    /// How many there may be.
    limit: usize,
}

impl<R: FromRow> Rows for All<R> {
    fn row(
        &mut self,
        env: &Env,
        columns: &[Column],
        values: &[Value],
    ) -> scaledb_types::Result<ControlFlow<()>> {
        if self.rows.len() == self.limit {
            return Err(Error::too_many_rows().into_inner());
        }
        self.rows.push(R::from_row(&Row { columns, values, env }).map_err(Error::into_inner)?);
        Ok(ControlFlow::Continue(()))
    }

    fn rewind(&mut self) -> bool {
        self.rows.clear();
        true
    }

    fn keeps(&self) -> bool {
        true
    }
}

/// One row at a time.
struct Each<R, F> {
    f: F,
    begun: bool,
    _row: std::marker::PhantomData<fn() -> R>,
}

impl<R: FromRow, F: FnMut(R) -> ControlFlow<()>> Rows for Each<R, F> {
    fn row(
        &mut self,
        env: &Env,
        columns: &[Column],
        values: &[Value],
    ) -> scaledb_types::Result<ControlFlow<()>> {
        let row = R::from_row(&Row { columns, values, env }).map_err(Error::into_inner)?;
        self.begun = true;
        Ok((self.f)(row))
    }

    fn rewind(&mut self) -> bool {
        !self.begun
    }
}
