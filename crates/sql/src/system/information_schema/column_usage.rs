//! What columns use: `column_column_usage` for generated columns, `column_udt_usage` for their types.

use super::data_type::schema_of;
use crate::system::Facts;
use crate::system::seen::own_oid;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{OWNER, Relation};
use scaledb_planner::bind::mentioned::mentioned;
use scaledb_planner::plan::column_type;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const COLUMN_COLUMN_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "column_column_usage", oid: 13027, rows: columns,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("dependent_column", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const COLUMN_UDT_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "column_udt_usage", oid: 13028, rows: types,
    columns: &[
        ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME), ("udt_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME),
    ],
};

fn columns(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let owned = catalog.tables().filter(|table| catalog.has_rights_of(current, catalog.owner_of(table.oid)));
    let mut rows = Vec::new();
    for table in owned {
        for column in table.visible() {
            let Some(text) = &column.generated else { continue };
            let used = mentioned(table, text).into_iter().map(|other| {
                Row::empty(&COLUMN_COLUMN_USAGE)
                    .text("table_catalog", facts.names().1)
                    .text("table_schema", &table.schema)
                    .text("table_name", &table.name)
                    .text("column_name", table.column_name(other))
                    .text("dependent_column", &column.name)
            });
            rows.extend(used);
        }
    }
    Ok(rows)
}

fn types(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        let columns: Vec<(&str, Type)> = match relation {
            Relation::Table(table) if !table.is_materialized() => {
                let each = table.visible().map(|column| Ok((&*column.name, column_type(catalog, column)?)));
                each.collect::<Result<_>>()?
            }
            Relation::View(view) => {
                let each = view.columns.iter();
                each.map(|(name, oid, _)| (&**name, catalog.type_of_oid(*oid).unwrap_or(Type::TEXT)))
                    .collect()
            }
            Relation::Table(_) | Relation::Sequence(_) => continue,
        };
        for (name, ty) in columns {
            let ty = ty.without_domain();
            let owner = own_oid(ty).map_or(OWNER, |oid| catalog.owner_of(oid));
            if !catalog.has_rights_of(current, owner) {
                continue;
            }
            let database = facts.names().1;
            rows.push(
                Row::empty(&COLUMN_UDT_USAGE)
                    .text("udt_catalog", database)
                    .text("udt_schema", schema_of(facts, ty))
                    .text("udt_name", &ty.name())
                    .text("table_catalog", database)
                    .text("table_schema", relation.schema())
                    .text("table_name", relation.name())
                    .text("column_name", name),
            );
        }
    }
    Ok(rows)
}
