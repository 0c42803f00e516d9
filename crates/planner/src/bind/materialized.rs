//! Reading materialized views.

use super::Binder;
use scaledb_catalog::TableDesc;
use scaledb_types::{Result, SqlError, SqlState};

impl Binder<'_> {
    /// Notes that a table is read, which may be a materialized view: one without rows is not to be read, but may be
    /// named.
    ///
    /// # Errors
    /// 42809 if its rows were to be locked.
    pub(super) fn read_materialized(&mut self, desc: &TableDesc, alias: &str) -> Result<()> {
        if !desc.is_materialized() {
            return Ok(());
        }
        if self.locking.locks(alias) {
            let what = format!("cannot lock rows in materialized view \"{}\"", desc.name);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        self.unpopulated |= desc.is_unpopulated();
        Ok(())
    }
}
