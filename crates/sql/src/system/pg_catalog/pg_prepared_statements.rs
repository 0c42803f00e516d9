//! `pg_prepared_statements`: the statements that the session has prepared.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Array, Base, Result, Type, Value};
use std::sync::Arc;

const REGTYPES: Type = Type::array_of(Base::Regtype);

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_prepared_statements", oid: 12040, rows,
    columns: &[
        ("name", Type::TEXT), ("statement", Type::TEXT), ("prepare_time", Type::TIMESTAMPTZ),
        ("parameter_types", REGTYPES), ("from_sql", Type::BOOL), ("generic_plans", Type::INT8),
        ("custom_plans", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let rows = facts.prepared().into_iter().map(|statement| {
        let types = statement.types.iter().map(|ty| Value::Oid(ty.oid())).collect();
        Row::of(&TABLE)
            .text("name", &statement.name)
            .text("statement", &statement.text)
            .set("prepare_time", Value::Timestamptz(statement.time))
            .set("parameter_types", Value::Array(Arc::new(Array::new(Type::REGTYPE, types))))
            .flag("from_sql", statement.by_sql)
    });
    Ok(rows.collect())
}
