//! `information_schema.views`: views.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Relation;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "views", oid: 13005, rows,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("view_definition", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (_, database) = facts.names();
    let views = facts.catalog().relations().filter_map(|relation| match relation {
        Relation::View(view) => Some(view),
        _ => None,
    });
    let rows = views.map(|view| {
        Row::of(&TABLE)
            .text("table_catalog", database)
            .text("table_schema", &view.schema)
            .text("table_name", &view.name)
            .text("view_definition", &view.query)
    });
    Ok(rows.collect())
}
