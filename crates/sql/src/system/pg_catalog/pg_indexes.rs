//! `pg_indexes`: indexes, with the statements that make them.

use crate::system::Facts;
use crate::system::definitions::index_definition;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_indexes", oid: 12006, rows,
    columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("indexname", Type::NAME),
        ("tablespace", Type::NAME), ("indexdef", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(catalog
        .tables()
        .flat_map(|table| {
            let primary = table.primary_key.iter().map(|key| (key.oid, key.name.as_str()));
            let indexes = table.indexes.iter().map(|index| (index.oid, index.name.as_str()));
            primary.chain(indexes).map(|(oid, index)| {
                Row::of(&TABLE)
                    .text("schemaname", &table.schema)
                    .text("tablename", &table.name)
                    .text("indexname", index)
                    .text("indexdef", &index_definition(facts, table, oid, true).unwrap_or_default())
            })
        })
        .collect())
}
