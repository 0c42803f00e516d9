//! The prepared statements and cursors of a session, for the catalogs that show them.

use super::Session;
use crate::told::{Listed, OpenCursor, PreparedStatement};
use scaledb_engine::Engine;

impl<E: Engine> Session<E> {
    /// Notes what prepared statements and cursors there are: for a statement that reads catalogs.
    #[cold]
    pub(super) fn list_own(&self) {
        let prepared = self.statements.iter().filter(|(name, _)| !name.is_empty());
        let prepared = prepared.map(|(name, statement)| PreparedStatement {
            name: name.clone(),
            text: statement.shown().to_owned(),
            time: statement.time,
            types: statement.compiled.params.clone(),
            by_sql: statement.by_sql,
        });
        let mut listed = Listed { prepared: prepared.collect(), cursors: Vec::new() };
        self.state.portals.each(|name, portal| {
            listed.cursors.push(OpenCursor {
                name: name.to_owned(),
                text: portal.shown().to_owned(),
                time: portal.time,
                hold: portal.hold,
                scroll: !portal.forward,
            });
        });
        listed.prepared.sort_by(|a, b| a.name.cmp(&b.name));
        listed.cursors.sort_by(|a, b| a.name.cmp(&b.name));
        *self.state.listed.borrow_mut() = listed;
    }
}
