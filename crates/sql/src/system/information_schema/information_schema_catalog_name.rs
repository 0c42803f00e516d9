//! `information_schema.information_schema_catalog_name`: the database.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "information_schema_catalog_name", oid: 13034, rows,
    columns: &[
        ("catalog_name", Type::NAME),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    Ok(vec![Row::empty(&TABLE).text("catalog_name", facts.names().1)])
}
