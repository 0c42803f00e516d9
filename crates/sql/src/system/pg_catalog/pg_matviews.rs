//! `pg_matviews`: materialized views.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::seen::seen_query;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_matviews", oid: 12005, rows,
    columns: &[
        ("schemaname", Type::NAME), ("matviewname", Type::NAME), ("matviewowner", Type::NAME),
        ("tablespace", Type::NAME), ("hasindexes", Type::BOOL), ("ispopulated", Type::BOOL),
        ("definition", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in facts.catalog().tables() {
        let Some(view) = table.definition() else { continue };
        let row = Row::of(&TABLE)
            .text("schemaname", &table.schema)
            .text("matviewname", &table.name)
            .text("matviewowner", &role_name(facts, facts.catalog().owner_of(table.oid)).unwrap_or_default())
            .flag("hasindexes", !table.indexes.is_empty())
            .flag("ispopulated", !table.is_unpopulated())
            .text("definition", &format!("{};", seen_query(facts, &view)?));
        rows.push(row);
    }
    Ok(rows)
}
