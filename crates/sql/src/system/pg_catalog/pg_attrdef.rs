//! `pg_attrdef`: defaults of columns, and what computes generated ones.

use crate::system::Facts;
use crate::system::oids::default_oid;
use crate::system::printed::{printed_default, printed_expression};
use crate::system::seen::seen_expression;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Catalog, ColumnDesc, TableDesc};
use scaledb_types::{Result, Type};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_attrdef", oid: 2604, rows,
    columns: &[
        ("oid", Type::OID), ("adrelid", Type::OID), ("adnum", Type::INT2), ("adbin", Type::TEXT),
    ],
};

/// A column that has a default or is computed.
pub(super) struct Default<'c> {
    pub(super) oid: u32,
    pub(super) table: &'c Arc<TableDesc>,
    pub(super) column: &'c ColumnDesc,
    /// The expression, as the catalog keeps it.
    pub(super) text: &'c str,
    pub(super) generated: bool,
}

/// All of them. What an identity column does is no default.
pub(super) fn defaults(catalog: &Catalog) -> impl Iterator<Item = Default<'_>> {
    let columns = catalog.tables().flat_map(|table| table.visible().map(move |column| (table, column)));
    let with_text = columns.filter_map(|(table, column)| {
        let default = column.default.as_ref().filter(|_| column.identity.is_none());
        let text = column.generated.as_ref().or(default)?;
        Some((table, column, text.as_str()))
    });
    with_text.enumerate().map(|(number, (table, column, text))| Default {
        oid: default_oid(number),
        table,
        column,
        text,
        generated: column.generated.is_some(),
    })
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let rows = defaults(facts.catalog()).map(|default| {
        let printed = if default.generated {
            printed_expression(&seen_expression(facts, default.text))
        } else {
            printed_default(facts, default.column, default.text)
        };
        let row = Row::of(&TABLE).oid("oid", default.oid).oid("adrelid", default.table.oid);
        row.int2("adnum", default.column.attnum as usize).text("adbin", &printed)
    });
    Ok(rows.collect())
}
