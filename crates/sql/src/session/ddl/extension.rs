//! CREATE EXTENSION: none can be added, but what some are asked for is there without them.

use super::super::Session;
use super::new_name;
use crate::api::Tag;
use scaledb_engine::Engine;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::CreateExtension;

/// Extensions of PostgreSQL that add nothing here: EXCLUDE compares all types by `=`, and PL/pgSQL is built in.
const BUILT_IN: [&str; 2] = ["btree_gist", "plpgsql"];

/// Whether what an extension has is there.
pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
}

impl<E: Engine> Session<E> {
    /// # Errors
    /// 0A000 for all but the few whose content is built in.
    pub(super) fn create_extension(&mut self, create: &CreateExtension) -> Result<Tag> {
        let name = new_name(&create.name);
        if !is_built_in(&name) {
            return Err(SqlError::unsupported(format!("extension \"{name}\" is not supported")));
        }
        self.skip(&format!("what extension \"{name}\" is for is built in"), SqlState::SUCCESSFUL_COMPLETION);
        Ok(Tag::plain("CREATE EXTENSION"))
    }
}
