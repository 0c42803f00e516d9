//! Digests of the rows of a query, by which two runs of it are compared.

use super::direct::Rows;
use super::kept::Kept;
use crate::api::{Column, CopyInfo, RowSink, Tag};
use scaledb_types::{Env, Result, Type, Value};
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::ops::ControlFlow;

/// A digest of rows in their order: keyed, so that no client can make two results with the same one, and of the values
/// as they are, so that 1.0 is another one than 1.00.
pub(super) struct Digest {
    key: RandomState,
    hasher: DefaultHasher,
    row: Vec<u8>,
    rows: u64,
    /// Of more rows there is none.
    most: u64,
    /// The number of rows behind which no more are wanted.
    pub(super) enough: Option<u64>,
}

impl Digest {
    pub(super) fn new(key: &RandomState, enough: Option<u64>, most: u64) -> Self {
        Self { key: key.clone(), hasher: key.build_hasher(), row: Vec::new(), rows: 0, most, enough }
    }

    fn add(&mut self, row: &[Value]) -> Result<()> {
        self.begin_row();
        row.iter().try_for_each(|value| self.value(value))?;
        self.end_row();
        Ok(())
    }

    fn begin_row(&mut self) {
        self.row.clear();
    }

    #[inline]
    fn value(&mut self, value: &Value) -> Result<()> {
        if self.rows < self.most { value.write_tagged(&mut self.row) } else { Ok(()) }
    }

    fn end_row(&mut self) {
        if self.rows < self.most {
            self.hasher.write(&self.row);
            // no row is the begin of another one
            self.hasher.write_usize(self.row.len());
        }
        self.rows += 1;
    }

    /// The rows come again.
    fn begin_again(&mut self) {
        self.hasher = self.key.build_hasher();
        self.rows = 0;
    }

    /// Adds all rows that were kept.
    pub(super) fn add_kept(&mut self, kept: &Kept) -> Result<()> {
        kept.each(0..kept.len(), &mut |row| self.add(row))
    }

    /// None if there were too many rows.
    pub(super) fn finish(&self) -> Option<u64> {
        (self.rows <= self.most).then(|| self.hasher.finish())
    }
}

/// Rows on their way to a client, and into a digest.
pub(super) struct Digested<'s, S: ?Sized> {
    pub(super) to: &'s mut S,
    pub(super) digest: &'s mut Digest,
}

impl RowSink for Digested<'_, dyn RowSink + '_> {
    fn describe(&mut self, columns: &[Column]) -> Result<()> {
        self.to.describe(columns)
    }

    fn begin_row(&mut self, columns: usize) {
        self.digest.begin_row();
        self.to.begin_row(columns);
    }

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        self.digest.value(value)?;
        self.to.value(env, ty, value)
    }

    fn named(&mut self, env: &Env, ty: Type, oid: &Value, name: &Value) -> Result<()> {
        self.digest.value(name)?;
        self.to.named(env, ty, oid, name)
    }

    fn end_row(&mut self) -> Result<()> {
        self.digest.end_row();
        self.to.end_row()
    }

    fn complete(&mut self, tag: &Tag) {
        self.to.complete(tag);
    }

    fn empty(&mut self) {
        self.to.empty();
    }

    fn copy_out(&mut self, info: CopyInfo) -> Result<()> {
        self.to.copy_out(info)
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.to.copy_data(data)
    }

    fn mark(&mut self) {
        self.to.mark();
    }

    fn hold(&mut self, on: bool) -> bool {
        self.to.hold(on)
    }

    fn is_full(&self) -> bool {
        self.to.is_full()
    }

    fn rewind(&mut self) -> bool {
        self.to.rewind()
    }
}

impl Rows for Digested<'_, dyn Rows + '_> {
    fn row(&mut self, env: &Env, columns: &[Column], values: &[Value]) -> Result<ControlFlow<()>> {
        self.digest.add(values)?;
        let wanted = self.to.row(env, columns, values)?;
        if wanted.is_break() {
            self.digest.enough = Some(self.digest.rows);
        }
        Ok(wanted)
    }

    fn rewind(&mut self) -> bool {
        self.to.rewind()
    }

    fn keeps(&self) -> bool {
        self.to.keeps()
    }
}

/// The rows of a query that is run again.
impl Rows for Digest {
    fn row(&mut self, _: &Env, _: &[Column], values: &[Value]) -> Result<ControlFlow<()>> {
        self.add(values)?;
        Ok(if self.enough == Some(self.rows) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn rewind(&mut self) -> bool {
        self.begin_again();
        true
    }
}
