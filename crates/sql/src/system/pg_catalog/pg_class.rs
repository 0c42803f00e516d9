//! `pg_class`: relations: tables, indexes, views, sequences, and the catalogs themselves.

use crate::system::Facts;
use crate::system::all;
use crate::system::oids::{BTREE, HEAP, OWNER, row_type, schema_oid};
use crate::system::privileges::changed;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::{Catalog, Relation, Spread, TableDesc, ViewDesc};
use scaledb_planner::bind::names::is_temporary;
use scaledb_types::{Array, Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_class", oid: 1259, rows,
    columns: &[
        ("oid", Type::OID), ("relname", Type::NAME), ("relnamespace", Type::OID), ("reltype", Type::OID),
        ("reloftype", Type::OID), ("relowner", Type::OID), ("relam", Type::OID), ("relfilenode", Type::OID),
        ("reltablespace", Type::OID), ("relpages", Type::INT4), ("reltuples", Type::FLOAT4),
        ("relallvisible", Type::INT4), ("reltoastrelid", Type::OID), ("relhasindex", Type::BOOL),
        ("relisshared", Type::BOOL), ("relpersistence", Type::CHAR), ("relkind", Type::CHAR),
        ("relnatts", Type::INT2), ("relchecks", Type::INT2), ("relhasrules", Type::BOOL),
        ("relhastriggers", Type::BOOL), ("relhassubclass", Type::BOOL), ("relrowsecurity", Type::BOOL),
        ("relforcerowsecurity", Type::BOOL), ("relispopulated", Type::BOOL), ("relreplident", Type::CHAR),
        ("relispartition", Type::BOOL), ("relrewrite", Type::OID), ("relfrozenxid", Type::XID),
        ("relminmxid", Type::XID), ("relacl", TEXTS), ("reloptions", TEXTS), ("relpartbound", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        match relation {
            Relation::Table(table) => {
                let indexed = table.primary_key.is_some() || !table.indexes.is_empty();
                let referred = !catalog.references_to(table.oid).is_empty();
                let triggers = referred || !table.foreign_keys.is_empty() || !table.triggers.is_empty();
                let owner = catalog.owner_of(table.oid);
                let kind = if table.is_materialized() { b'm' } else { b'r' };
                rows.push(
                    owned(facts, table.oid, class(catalog, table.oid, &table.name, &table.schema, kind))
                        .flag("relhasrules", table.is_materialized())
                        .flag("relispopulated", !table.is_unpopulated())
                        .oid("relam", HEAP)
                        .oid("reltype", row_type(table.oid))
                        .flag("relhasindex", indexed)
                        .flag("relhastriggers", triggers)
                        .flag("relrowsecurity", table.is_secured())
                        .flag("relforcerowsecurity", table.is_forced())
                        .int2("relnatts", table.next_attnum as usize - 1)
                        .int2("relchecks", table.checks.len())
                        .set("reloptions", options(table)),
                );
                let primary = table.primary_key.iter().map(|key| (key.oid, &key.name, key.columns.len()));
                let indexes = table.indexes.iter().map(|index| (index.oid, &index.name, index.columns.len()));
                for (oid, name, columns) in primary.chain(indexes) {
                    let row = class(catalog, oid, name, &table.schema, b'i').oid("relam", BTREE);
                    let row = row.int2("relnatts", columns).letter("relreplident", b'n');
                    rows.push(row.oid("relowner", owner));
                }
            }
            Relation::Sequence(sequence) => {
                rows.push(
                    owned(
                        facts,
                        sequence.oid,
                        class(catalog, sequence.oid, &sequence.name, &sequence.schema, b'S'),
                    )
                    .int2("relnatts", 3),
                );
            }
            Relation::View(view) => rows.push(
                owned(facts, view.oid, class(catalog, view.oid, &view.name, &view.schema, b'v'))
                    .oid("reltype", row_type(view.oid))
                    .int2("relnatts", view.columns.len())
                    .flag("relhasrules", true)
                    .flag("relhastriggers", !view.triggers.is_empty())
                    .set("reloptions", view_options(view)),
            ),
        }
    }
    for (schema, name, oid, columns) in all() {
        let kind = if schema == "pg_catalog" && oid < 12_000 { b'r' } else { b'v' };
        rows.push(
            class(catalog, oid, name, schema, kind).int2("relnatts", columns.len()).oid("relowner", OWNER),
        );
    }
    Ok(rows)
}

/// With the owner, and what others may do.
fn owned(facts: &dyn Facts, oid: u32, row: Row) -> Row {
    row.oid("relowner", facts.catalog().owner_of(oid)).set("relacl", changed(facts, oid))
}

/// The options of a view.
fn view_options(view: &ViewDesc) -> Value {
    let invoker = view.security_invoker.map(|on| format!("security_invoker={on}"));
    let check = view.check_option.map(|check| format!("check_option={}", check.word()));
    let barrier = view.security_barrier.map(|on| format!("security_barrier={on}"));
    let all: Vec<Value> = barrier.iter().chain(&invoker).chain(&check).map(Value::text).collect();
    if all.is_empty() { Value::Null } else { Value::Array(Arc::new(Array::new(Type::TEXT, all))) }
}

/// What WITH would have to say: tools that write a table down write this, too.
fn options(table: &TableDesc) -> Value {
    let own = match &table.spread {
        Spread::ByKey => None,
        Spread::Everywhere => Some(format!("{}={}", Spread::REPLICATE, Spread::EVERYWHERE)),
        Spread::ByColumns(columns) => {
            let names: Vec<&str> = columns.iter().map(|&column| table.column_name(column)).collect();
            Some(format!("{}={}", Spread::PARTITION_BY, names.join(",")))
        }
    };
    let all: Vec<Value> = own.iter().chain(&table.parameters).map(Value::text).collect();
    if all.is_empty() { Value::Null } else { Value::Array(Arc::new(Array::new(Type::TEXT, all))) }
}

fn class(catalog: &Catalog, oid: u32, name: &str, schema: &str, kind: u8) -> Row {
    Row::of(&TABLE)
        .oid("oid", oid)
        .text("relname", name)
        .oid("relnamespace", schema_oid(catalog, schema))
        .oid("relfilenode", oid)
        .letter("relpersistence", if is_temporary(schema) { b't' } else { b'p' })
        .letter("relkind", kind)
        .flag("relispopulated", true)
        .letter("relreplident", b'd')
        .set("reltuples", Value::Float4(-1.0))
}
