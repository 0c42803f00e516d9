//! What the system catalogs show of a session and its database.

use super::super::settings::number_and_unit;
use super::SessionState;
use crate::activity::Known;
use crate::counts::{Collected, RelationSize, TableNumbers};
use crate::identity::Identity;
use crate::reclamation::Reclamation;
use crate::system::Facts;
use crate::told::{DescribedSetting, OpenCursor, PreparedStatement};
use crate::trace::Number;
use scaledb_base::ConflictKind;
use scaledb_catalog::Catalog;
use scaledb_engine::Engine;
use scaledb_locks::Locks;
use scaledb_planner::bind::Lookup;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, Value};
use std::sync::Arc;

impl<E: Engine> Facts for SessionState<E> {
    fn lookup(&self) -> &dyn Lookup {
        self
    }

    fn path(&self) -> &[String] {
        &self.path
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let stats = self.shared.engine.stats();
        let count = |name: &str, value: u64| (name.to_owned(), value);
        let mut counters = vec![
            count("transactions committed", stats.commits),
            count("transactions rolled back", stats.rollbacks),
            count("statements run again", self.shared.retries.load(Ordering::Relaxed)), // a statistic
        ];
        if let Some(temporary) = self.shared.temporary.get() {
            let (files, bytes, now) = temporary.counts();
            counters.extend([
                count("temporary files", files),
                count("bytes written to temporary files", bytes),
                count("bytes in temporary files now", now),
            ]);
        }
        let kinds = ConflictKind::ALL.iter().zip(stats.conflicts);
        counters.extend(kinds.map(|(kind, value)| count(&format!("conflicts: {}", kind.name()), value)));
        counters
    }

    fn collected(&self) -> &Collected {
        &self.shared.collected
    }

    fn size(&self, oid: u32) -> Option<RelationSize> {
        self.shared.size(&self.catalog, oid)
    }

    fn memory(&self) -> u64 {
        self.shared.engine.memory().bytes
    }

    fn size_of_database(&self, oid: u32) -> u64 {
        self.shared.size_of_database(oid)
    }

    fn reclamation(&self) -> (Reclamation, Vec<(u32, Known)>) {
        self.shared.reclamation()
    }

    fn table_numbers(&self) -> Vec<TableNumbers> {
        self.shared.table_numbers(&self.catalog)
    }

    fn status(&self) -> Vec<(String, String)> {
        self.status_lines()
    }

    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn settings(&self) -> Vec<(String, String)> {
        let mut all = self.settings.borrow().all();
        for (name, value) in &mut all {
            if let Some(mode) = self.modes.get().shown(name) {
                mode.clone_into(value);
            }
        }
        all
    }

    fn number_of_setting(&self, name: &str, value: &str) -> Option<(String, &'static str)> {
        number_and_unit(name, value)
    }

    fn described_setting(&self, name: &str) -> Option<DescribedSetting> {
        self.settings.borrow().described(name)
    }

    fn running(&self) -> Option<Arc<str>> {
        self.shared.trace.text(self.running.get())
    }

    fn prepared(&self) -> Vec<PreparedStatement> {
        self.listed.borrow().prepared.clone()
    }

    fn cursors(&self) -> Vec<OpenCursor> {
        self.listed.borrow().cursors.clone()
    }

    fn statement(&self, number: Number) -> Option<Arc<str>> {
        self.shared.trace.text(number)
    }

    fn sessions(&self) -> Vec<(u32, Known)> {
        self.shared.sessions.all()
    }

    fn names(&self) -> (&str, &str) {
        (self.identity.login_name(), &self.database_name)
    }

    fn first_database(&self) -> &str {
        self.shared.first_name()
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn sequence(&self, oid: u32) -> Result<(i64, bool)> {
        match self.sequence_desc(&Value::Oid(oid))? {
            Some(desc) => self.shared.last_value(&desc),
            None => Ok((0, false)),
        }
    }

    fn locks(&self) -> &Locks {
        &self.database.locks
    }
}
