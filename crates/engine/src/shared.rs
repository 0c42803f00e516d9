//! An engine that several parts of a program share.

use crate::def::{IndexDef, TableDef, TableInfo};
use crate::metric::{Labelled, Metric};
use crate::options::OptionSpec;
use crate::reach::{Keys, Reach};
use crate::stats::{Memory, Reclamation, Stats, TableStats};
use crate::worker::{Closure, Ear, Engine, SerializationPoint, Statements};
use scaledb_base::{Conflict, Result, TableId, Timestamp};
use scaledb_locks::SharedLocks;
use std::sync::Arc;

impl<E: Engine> Engine for Arc<E> {
    type Worker = E::Worker;

    fn create_table(&self, def: TableDef) -> Result<Arc<TableInfo>> {
        (**self).create_table(def)
    }

    fn table(&self, name: &str) -> Option<Arc<TableInfo>> {
        (**self).table(name)
    }

    fn tables(&self) -> Vec<Arc<TableInfo>> {
        (**self).tables()
    }

    fn add_index(&self, table: TableId, def: IndexDef) -> Result<Arc<TableInfo>> {
        (**self).add_index(table, def)
    }

    fn add_index_while(
        &self,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Arc<TableInfo>> {
        (**self).add_index_while(table, def, go_on)
    }

    fn close_tables(&self, tables: &[TableId], go_on: &dyn Fn() -> bool) -> Result<Option<Closure>> {
        (**self).close_tables(tables, go_on)
    }

    fn open_tables(&self, closure: Closure) {
        (**self).open_tables(closure);
    }

    fn is_closed(&self, table: TableId) -> bool {
        (**self).is_closed(table)
    }

    fn drop_index(&self, index: TableId) -> Result<Arc<TableInfo>> {
        (**self).drop_index(index)
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        (**self).drop_table(table)
    }

    fn clear_table(&self, table: TableId) -> Result<bool> {
        (**self).clear_table(table)
    }

    fn is_clearing(&self, table: TableId) -> bool {
        (**self).is_clearing(table)
    }

    fn worker(&self) -> Result<Self::Worker> {
        (**self).worker()
    }

    fn stats(&self) -> Stats {
        (**self).stats()
    }

    fn table_stats(&self, id: TableId) -> Option<TableStats> {
        (**self).table_stats(id)
    }

    fn memory(&self) -> Memory {
        (**self).memory()
    }

    fn loosen(&self) {
        (**self).loosen();
    }

    fn reclamation(&self) -> Reclamation {
        (**self).reclamation()
    }

    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn serialization_point(&self) -> SerializationPoint {
        (**self).serialization_point()
    }

    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }

    fn process(&self) -> u8 {
        (**self).process()
    }

    fn hear(&self, ear: Arc<dyn Ear>) {
        (**self).hear(ear);
    }

    fn name_statements(&self, statements: Arc<dyn Statements>) {
        (**self).name_statements(statements);
    }

    fn other_statements(&self, conflict: &Conflict) -> Vec<String> {
        (**self).other_statements(conflict)
    }

    fn shared_locks(&self) -> Option<Arc<dyn SharedLocks>> {
        (**self).shared_locks()
    }

    fn reach(&self, id: TableId, keys: Keys<'_>) -> Option<Reach> {
        (**self).reach(id, keys)
    }

    fn table_options(&self) -> &'static [OptionSpec] {
        (**self).table_options()
    }

    fn table_metrics(&self) -> &'static [Metric] {
        (**self).table_metrics()
    }

    fn metrics(&self) -> Vec<Labelled> {
        (**self).metrics()
    }

    fn durable(&self) -> Timestamp {
        (**self).durable()
    }

    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        (**self).wait_durable(ts)
    }

    fn close(&self) -> Result<()> {
        (**self).close()
    }

    fn checkpoint(&self) -> Result<()> {
        (**self).checkpoint()
    }

    fn log_failure(&self) -> Option<String> {
        (**self).log_failure()
    }
}
