//! `pg_attribute`: the columns of relations and indexes.

use crate::exec::tail::decode;
use crate::system::Facts;
use crate::system::all;
use crate::system::oids::collation;
use crate::system::privileges::of_column;
use crate::system::seen::is_array;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::{Identity, Relation};
use scaledb_planner::plan::column_type;
use scaledb_types::{Array, Env, Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_attribute", oid: 1249, rows,
    columns: &[
        ("attrelid", Type::OID), ("attname", Type::NAME), ("atttypid", Type::OID), ("attstattarget", Type::INT4),
        ("attlen", Type::INT2), ("attnum", Type::INT2), ("attndims", Type::INT4), ("attcacheoff", Type::INT4),
        ("atttypmod", Type::INT4), ("attbyval", Type::BOOL), ("attalign", Type::CHAR), ("attstorage", Type::CHAR),
        ("attcompression", Type::CHAR), ("attnotnull", Type::BOOL), ("atthasdef", Type::BOOL),
        ("atthasmissing", Type::BOOL), ("attidentity", Type::CHAR), ("attgenerated", Type::CHAR),
        ("attisdropped", Type::BOOL), ("attislocal", Type::BOOL), ("attinhcount", Type::INT4),
        ("attcollation", Type::OID), ("attacl", TEXTS), ("attoptions", TEXTS), ("attfdwoptions", TEXTS),
        ("attmissingval", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        match relation {
            Relation::Table(table) => {
                for column in table.visible() {
                    let row = attribute(
                        table.oid,
                        &column.name,
                        column.attnum as usize,
                        column_type(catalog, column)?,
                    );
                    let identity = match column.identity {
                        None => 0,
                        Some(Identity::Always) => b'a',
                        Some(Identity::ByDefault) => b'd',
                    };
                    let default = column.default.is_some() && column.identity.is_none();
                    let generated = column.generated.is_some();
                    let added = table.placement.iter().flat_map(|placement| &placement.added);
                    let missing = added.filter(|added| added.attnum == column.attnum);
                    let missing = missing.filter_map(|added| added.missing.as_deref()).next();
                    let row = row.set("attacl", of_column(facts, table.oid, column.attnum));
                    rows.push(
                        row.flag("attnotnull", column.not_null)
                            .flag("atthasdef", default || generated)
                            .flag("atthasmissing", missing.is_some())
                            .set("attmissingval", missing_value(missing, column_type(catalog, column)?)?)
                            .letter("attidentity", identity)
                            .letter("attgenerated", if generated { b's' } else { 0 }),
                    );
                }
                let visible = |number: i16| table.visible().any(|column| column.attnum == number);
                for number in (1..table.next_attnum).filter(|&number| !visible(number)) {
                    let name = format!("........pg.dropped.{number}........");
                    let row = attribute(table.oid, &name, number as usize, Type::TEXT);
                    rows.push(row.oid("atttypid", 0).flag("attisdropped", true));
                }
                let primary = table.primary_key.iter().map(|key| (key.oid, &key.columns));
                let indexes = table.indexes.iter().map(|index| (index.oid, &index.columns));
                for (oid, columns) in primary.chain(indexes) {
                    let names = table.key_names(columns);
                    for (number, (key, name)) in columns.iter().zip(&names).enumerate() {
                        let Some(at) = table.position(key.attnum) else { continue };
                        rows.push(attribute(
                            oid,
                            name,
                            number + 1,
                            column_type(catalog, &table.columns[at])?,
                        ));
                    }
                }
            }
            Relation::View(view) => {
                for (number, (name, oid, typmod)) in view.columns.iter().enumerate() {
                    let ty = catalog.type_of_oid(*oid).unwrap_or(Type::TEXT).with_typmod(*typmod);
                    let row = attribute(view.oid, name, number + 1, ty);
                    let attnum = i16::try_from(number + 1).unwrap_or(0);
                    let row = row.flag("atthasdef", view.default(number).is_some());
                    rows.push(row.set("attacl", of_column(facts, view.oid, attnum)));
                }
            }
            Relation::Sequence(sequence) => {
                let columns =
                    [("last_value", Type::INT8), ("log_cnt", Type::INT8), ("is_called", Type::BOOL)];
                for (number, (name, ty)) in columns.into_iter().enumerate() {
                    rows.push(attribute(sequence.oid, name, number + 1, ty));
                }
            }
        }
    }
    for (_, _, oid, columns) in all() {
        for (number, (name, ty)) in columns.iter().enumerate() {
            rows.push(attribute(oid, name, number + 1, *ty));
        }
    }
    Ok(rows)
}

/// What a column has in rows that are older than it, as an array of one value.
fn missing_value(bytes: Option<&[u8]>, ty: Type) -> Result<Value> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    let text = decode(bytes, ty)?.to_text(ty, &Env::default());
    let value = text.map_or(Value::Null, |text| Value::text(&*text));
    Ok(Value::Array(Arc::new(Array::new(Type::TEXT, vec![value]))))
}

fn attribute(table: u32, name: &str, number: usize, ty: Type) -> Row {
    Row::of(&TABLE)
        .oid("attrelid", table)
        .text("attname", name)
        .oid("atttypid", ty.oid())
        .int4("attstattarget", -1)
        .set("attlen", Value::Int2(ty.len()))
        .int2("attnum", number)
        .int4("attndims", i32::from(is_array(ty)))
        .int4("attcacheoff", -1)
        .int4("atttypmod", ty.modifier())
        .flag("attbyval", (1..=8).contains(&ty.len()))
        .letter("attalign", b'i')
        .letter("attstorage", if ty.len() < 0 { b'x' } else { b'p' })
        .flag("attislocal", true)
        .oid("attcollation", collation(ty))
}
