//! From what a query asks for to operators: access paths, the order of joins, MIN and MAX by an index, subqueries
//! without what ties them to their surroundings.
//!
//! The binder hands over one SELECT after another, tables and joins as they are written, and the conditions on them;
//! what comes back is operators. Nothing here looks at syntax.

pub(crate) mod access;
pub(crate) mod decorrelate;
mod estimate;
pub(crate) mod extreme;
mod order;
pub(crate) mod prepare;

use crate::plan::statistics::TableStatistics;
use crate::plan::{Slot, Table};
use std::sync::Arc;

/// The statement whose parts are planned.
pub(crate) trait Statement {
    /// Whether the query at hand stands in another one.
    fn is_in_another(&self) -> bool;
    /// A new slot.
    fn slot(&mut self) -> Slot;
    /// A new place for kept rows.
    fn keep(&mut self) -> usize;
    /// Notes that the plan reads a slot.
    fn note_read(&mut self, slot: Slot);
    /// What is known of the rows of a table; the plan depends on it.
    fn statistics(&mut self, table: &Arc<Table>) -> Option<Arc<TableStatistics>>;
}
