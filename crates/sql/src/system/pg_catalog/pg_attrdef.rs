//! `pg_attrdef`: defaults of columns, and what computes generated ones.

use crate::system::Facts;
use crate::system::oids::default_oid;
use crate::system::printed::{printed_as, printed_expression};
use crate::system::seen::seen_expression;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Catalog, ColumnDesc, Relation, TableDesc, ViewDesc};
use scaledb_planner::plan::column_type;
use scaledb_types::{Result, Type};

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
    /// The table, or the view.
    pub(super) relation: u32,
    pub(super) number: i16,
    pub(super) ty: Type,
    /// The expression, as the catalog keeps it.
    pub(super) text: &'c str,
    pub(super) generated: bool,
}

/// All of them. What an identity column does is no default.
pub(super) fn defaults(catalog: &Catalog) -> impl Iterator<Item = Default<'_>> {
    let all = catalog.relations().flat_map(|relation| match relation {
        Relation::Table(table) => {
            table.visible().filter_map(|column| of_table(catalog, table, column)).collect()
        }
        Relation::View(view) => of_view(catalog, view),
        Relation::Sequence(_) => Vec::new(),
    });
    all.enumerate().map(|(number, default)| Default { oid: default_oid(number), ..default })
}

fn of_table<'c>(catalog: &Catalog, table: &TableDesc, column: &'c ColumnDesc) -> Option<Default<'c>> {
    let default = column.default.as_ref().filter(|_| column.identity.is_none());
    let text = column.generated.as_ref().or(default)?;
    Some(Default {
        oid: 0,
        relation: table.oid,
        number: column.attnum,
        ty: column_type(catalog, column).unwrap_or(Type::TEXT),
        text,
        generated: column.generated.is_some(),
    })
}

fn of_view<'c>(catalog: &Catalog, view: &'c ViewDesc) -> Vec<Default<'c>> {
    let default = |(number, text): &'c (i16, String)| {
        let at = usize::from(number.unsigned_abs()).checked_sub(1)?;
        let (_, oid, typmod) = view.columns.get(at)?;
        let ty = catalog.type_of_oid(*oid).unwrap_or(Type::TEXT).with_typmod(*typmod);
        Some(Default { oid: 0, relation: view.oid, number: *number, ty, text, generated: false })
    };
    view.defaults.iter().filter_map(default).collect()
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let rows = defaults(facts.catalog()).map(|default| {
        let printed = if default.generated {
            printed_expression(&seen_expression(facts, default.text))
        } else {
            printed_as(facts, default.ty, default.text)
        };
        let row = Row::of(&TABLE).oid("oid", default.oid).oid("adrelid", default.relation);
        row.int2("adnum", default.number as usize).text("adbin", &printed)
    });
    Ok(rows.collect())
}
