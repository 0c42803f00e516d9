//! `pg_enum`: the labels of enum types.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::EnumDesc;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_enum", oid: 3501, rows,
    columns: &[
        ("oid", Type::OID), ("enumtypid", Type::OID), ("enumsortorder", Type::FLOAT4), ("enumlabel", Type::NAME),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for desc in facts.catalog().enums() {
        for label in &desc.labels {
            rows.push(
                Row::of(&TABLE)
                    .oid("oid", label.oid)
                    .oid("enumtypid", desc.oid)
                    .set("enumsortorder", Value::Float4(label.order as f32 / EnumDesc::STEP as f32))
                    .text("enumlabel", &label.text),
            );
        }
    }
    Ok(rows)
}
