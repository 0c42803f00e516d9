//! `pg_constraint`: constraints of tables and domains.

use crate::system::Facts;
use crate::system::oids::schema_oid;
use crate::system::table::{INT2S, OIDS, Row, SystemCatalog, int2s};
use scaledb_catalog::{Action, Catalog, ForeignKeyDesc, Initially, KeyColumn, TableDesc};
use scaledb_planner::bind::mentioned::mentioned;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_constraint", oid: 2606, rows,
    columns: &[
        ("oid", Type::OID), ("conname", Type::NAME), ("connamespace", Type::OID), ("contype", Type::CHAR),
        ("condeferrable", Type::BOOL), ("condeferred", Type::BOOL), ("convalidated", Type::BOOL),
        ("conrelid", Type::OID), ("contypid", Type::OID), ("conindid", Type::OID), ("conparentid", Type::OID),
        ("confrelid", Type::OID), ("confupdtype", Type::CHAR), ("confdeltype", Type::CHAR),
        ("confmatchtype", Type::CHAR), ("conislocal", Type::BOOL), ("coninhcount", Type::INT4),
        ("connoinherit", Type::BOOL), ("conkey", INT2S), ("confkey", INT2S), ("conpfeqop", OIDS),
        ("conppeqop", OIDS), ("conffeqop", OIDS), ("confdelsetcols", INT2S), ("conexclop", OIDS),
        ("conbin", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for table in catalog.tables() {
        if let Some(key) = &table.primary_key {
            let row = constraint(catalog, table, key.oid, &key.name, b'p').oid("conindid", key.oid);
            rows.push(row.set("conkey", int2s(key.columns.iter().map(|column| column.attnum))));
        }
        for index in table.indexes.iter().filter(|index| index.constraint) {
            let kind = match () {
                () if index.exclusion.is_some() => b'x',
                () if index.primary => b'p',
                () => b'u',
            };
            let row = constraint(catalog, table, index.oid, &index.name, kind)
                .oid("conindid", index.oid)
                .flag("condeferrable", index.deferrable.is_some())
                .flag("condeferred", index.deferrable == Some(Initially::Deferred));
            // an expression has no number
            let number = |column: &KeyColumn| match table.key_expression(column.attnum) {
                Some(_) => 0,
                None => column.attnum,
            };
            rows.push(row.set("conkey", int2s(index.columns.iter().map(number))));
        }
        for check in &table.checks {
            let row = constraint(catalog, table, check.oid, &check.name, b'c');
            let columns = mentioned(table, &check.expression);
            let row = if columns.is_empty() { row } else { row.set("conkey", int2s(columns.into_iter())) };
            rows.push(row.text("conbin", &check.expression).flag("convalidated", check.validated));
        }
        for trigger in &table.triggers {
            let Some(desc) = &trigger.constraint else { continue };
            rows.push(
                constraint(catalog, table, desc.oid, &desc.name, b't')
                    .flag("condeferrable", desc.deferrable.is_some())
                    .flag("condeferred", desc.deferrable == Some(Initially::Deferred)),
            );
        }
        for key in &table.foreign_keys {
            let index = index_of(catalog, key);
            let sets = &key.on_delete_sets;
            let sets = if sets.is_empty() { Value::Null } else { int2s(sets.iter().copied()) };
            rows.push(
                constraint(catalog, table, key.oid, &key.name, b'f')
                    .set("confdelsetcols", sets)
                    .oid("conindid", index.unwrap_or(0))
                    .flag("condeferrable", key.deferrable)
                    .flag("condeferred", key.deferred)
                    .flag("convalidated", key.validated)
                    .oid("confrelid", key.table)
                    .letter("confupdtype", action(key.on_update))
                    .letter("confdeltype", action(key.on_delete))
                    .letter("confmatchtype", if key.full { b'f' } else { b's' })
                    .set("conkey", int2s(key.columns.iter().copied()))
                    .set("confkey", int2s(key.referred.iter().copied())),
            );
        }
    }
    for desc in catalog.domains() {
        for check in &desc.checks {
            rows.push(
                Row::of(&TABLE)
                    .oid("oid", check.oid)
                    .text("conname", &check.name)
                    .oid("connamespace", schema_oid(catalog, &desc.schema))
                    .letter("contype", b'c')
                    .flag("convalidated", check.validated)
                    .oid("contypid", desc.oid)
                    .letter("confupdtype", b' ')
                    .letter("confdeltype", b' ')
                    .letter("confmatchtype", b' ')
                    .flag("conislocal", true)
                    .text("conbin", &check.expression),
            );
        }
    }
    Ok(rows)
}

/// The index of the keys that a foreign key refers to.
pub(crate) fn index_of(catalog: &Catalog, key: &ForeignKeyDesc) -> Option<u32> {
    let to = catalog.table(key.table)?;
    let same = |columns: &[KeyColumn]| {
        columns.len() == key.referred.len() && columns.iter().all(|c| key.referred.contains(&c.attnum))
    };
    let primary = to.primary_key.as_ref().filter(|k| same(&k.columns)).map(|k| k.oid);
    primary.or_else(|| to.indexes.iter().find(|i| i.is_key() && same(&i.columns)).map(|i| i.oid))
}

fn constraint(catalog: &Catalog, table: &TableDesc, oid: u32, name: &str, kind: u8) -> Row {
    Row::of(&TABLE)
        .oid("oid", oid)
        .text("conname", name)
        .oid("connamespace", schema_oid(catalog, &table.schema))
        .letter("contype", kind)
        .flag("convalidated", true)
        .oid("conrelid", table.oid)
        .letter("confupdtype", b' ')
        .letter("confdeltype", b' ')
        .letter("confmatchtype", b' ')
        .flag("conislocal", true)
        .flag("connoinherit", kind != b'c')
}

/// The letter of an action.
fn action(action: Action) -> u8 {
    match action {
        Action::NoAction => b'a',
        Action::Restrict => b'r',
        Action::Cascade => b'c',
        Action::SetNull => b'n',
        Action::SetDefault => b'd',
    }
}
