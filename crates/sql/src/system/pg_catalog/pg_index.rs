//! `pg_index`: indexes.

use crate::system::Facts;
use crate::system::printed::printed_expression;
use crate::system::seen::seen_expression;
use crate::system::table::{Row, SystemCatalog, vector};
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_index", oid: 2610, rows,
    columns: &[
        ("indexrelid", Type::OID), ("indrelid", Type::OID), ("indnatts", Type::INT2), ("indnkeyatts", Type::INT2),
        ("indisunique", Type::BOOL), ("indnullsnotdistinct", Type::BOOL), ("indisprimary", Type::BOOL),
        ("indisexclusion", Type::BOOL), ("indimmediate", Type::BOOL), ("indisclustered", Type::BOOL),
        ("indisvalid", Type::BOOL), ("indcheckxmin", Type::BOOL), ("indisready", Type::BOOL),
        ("indislive", Type::BOOL), ("indisreplident", Type::BOOL), ("indkey", Type::INT2VECTOR),
        ("indcollation", Type::OIDVECTOR), ("indclass", Type::OIDVECTOR), ("indoption", Type::INT2VECTOR),
        ("indexprs", Type::TEXT), ("indpred", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for table in catalog.tables() {
        let primary = table
            .primary_key
            .iter()
            .map(|key| (key.oid, &key.columns, true, true, (true, false), (None, None)));
        let one_null: Vec<u32> =
            table.indexes.iter().filter(|index| index.nulls_not_distinct).map(|index| index.oid).collect();
        let indexes = table.indexes.iter();
        let indexes = indexes.map(|index| {
            let predicate = index
                .predicate
                .as_ref()
                .map(|predicate| printed_expression(&seen_expression(facts, &predicate.text)));
            let own = index.columns.iter().filter_map(|column| table.key_expression(column.attnum));
            let own: Vec<String> =
                own.map(|text| printed_expression(&seen_expression(facts, text))).collect();
            let computed = (predicate, (!own.is_empty()).then(|| own.join(", ")));
            let checked = (index.deferrable.is_none(), index.exclusion.is_some());
            (index.oid, &index.columns, index.unique, index.primary, checked, computed)
        });
        for (oid, columns, unique, primary, (immediate, exclusion), (predicate, expressions)) in
            primary.chain(indexes)
        {
            let number = |attnum: i16| if table.key_expression(attnum).is_some() { 0 } else { attnum };
            let included = table.included_by(oid);
            let keys = columns.iter().map(|column| number(column.attnum));
            let numbers = keys.chain(included.iter().copied()).map(Value::Int2).collect();
            let options = columns
                .iter()
                .map(|column| Value::Int2(i16::from(column.descending) | i16::from(column.nulls_first) << 1));
            let zeros = vec![Value::Oid(0); columns.len()];
            rows.push(
                Row::of(&TABLE)
                    .oid("indexrelid", oid)
                    .oid("indrelid", table.oid)
                    .int2("indnatts", columns.len() + included.len())
                    .int2("indnkeyatts", columns.len())
                    .flag("indisunique", unique)
                    .flag("indnullsnotdistinct", one_null.contains(&oid))
                    .flag("indisprimary", primary)
                    .flag("indisexclusion", exclusion)
                    .flag("indimmediate", immediate)
                    .flag("indisvalid", true)
                    .flag("indisready", true)
                    .flag("indislive", true)
                    .set("indkey", vector(Type::INT2, numbers))
                    .set("indcollation", vector(Type::OID, zeros.clone()))
                    .set("indclass", vector(Type::OID, zeros))
                    .set("indoption", vector(Type::INT2, options.collect()))
                    .set("indexprs", expressions.map_or(Value::Null, Value::from))
                    .set("indpred", predicate.map_or(Value::Null, Value::from)),
            );
        }
    }
    Ok(rows)
}
