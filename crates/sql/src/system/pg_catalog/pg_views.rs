//! `pg_views`: views.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Relation;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_views", oid: 12004, rows,
    columns: &[
        ("schemaname", Type::NAME), ("viewname", Type::NAME), ("viewowner", Type::NAME), ("definition", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let views = facts.catalog().relations().filter_map(|relation| match relation {
        Relation::View(view) => Some(view),
        _ => None,
    });
    let rows = views.map(|view| {
        Row::of(&TABLE)
            .text("schemaname", &view.schema)
            .text("viewname", &view.name)
            .text("viewowner", &role_name(facts, facts.catalog().owner_of(view.oid)).unwrap_or_default())
            .text("definition", &view.query)
    });
    Ok(rows.collect())
}
