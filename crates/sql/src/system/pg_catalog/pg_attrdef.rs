//! `pg_attrdef`: defaults of columns, and what computes generated ones.

use crate::system::Facts;
use crate::system::printed::{printed_default, printed_expression};
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_attrdef", oid: 2604, rows,
    columns: &[
        ("oid", Type::OID), ("adrelid", Type::OID), ("adnum", Type::INT2), ("adbin", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(catalog
        .tables()
        .flat_map(|table| {
            table.visible().filter_map(|column| {
                let printed = match (&column.generated, &column.default) {
                    (Some(text), _) => printed_expression(text),
                    (None, Some(default)) => printed_default(catalog, column, default),
                    (None, None) => return None,
                };
                let row = Row::of(&TABLE).oid("oid", table.oid).oid("adrelid", table.oid);
                Some(row.int2("adnum", column.attnum as usize).text("adbin", &printed))
            })
        })
        .collect())
}
