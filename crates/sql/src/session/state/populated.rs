//! Plans that read materialized views.

use super::SessionState;
use scaledb_engine::Engine;
use scaledb_planner::plan::Plan;
use scaledb_types::{Result, SqlError, SqlState};

impl<E: Engine> SessionState<E> {
    /// Whether the materialized views that a plan reads have the rows of their queries.
    ///
    /// # Errors
    /// 55000.
    #[inline]
    pub(in crate::session) fn check_populated(&self, plan: &Plan) -> Result<()> {
        if plan.unpopulated { Err(self.unpopulated(plan)) } else { Ok(()) }
    }

    #[cold]
    fn unpopulated(&self, plan: &Plan) -> SqlError {
        let mut tables = plan.tables.iter().filter_map(|(oid, _)| self.catalog.table(*oid));
        let name = tables.find(|table| table.is_unpopulated()).map_or("?", |table| table.name.as_str());
        let what = format!("materialized view \"{name}\" has not been populated");
        SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
            .hint("Use the REFRESH MATERIALIZED VIEW command.")
    }
}
