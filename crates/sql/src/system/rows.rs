//! The rows of the system catalogs.

use super::Facts;
use super::functions::index_definition;
use super::printed::printed_default;
use super::{information, statistics};
use crate::bind::names::{is_temporary, temporary_schema};
use crate::plan::column_type;
use scaledb_catalog::{About, Action, Catalog, Identity, Initially, Relation, TableDesc};
use scaledb_locks::{Known, Tag};
use scaledb_types::{Array, Base, Result, Type, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Oids of the schemas.
pub(super) const SCHEMAS: [(&str, u32); 3] =
    [("pg_catalog", 11), ("information_schema", 13_500), ("public", 2_200)];
/// A bit of the oids of schemas of temporary relations; the number of the session is in the others.
pub(super) const TEMPORARY_SCHEMA: u32 = 1 << 30;
/// The only role that logs in.
pub(super) const OWNER: u32 = 10;
/// The role whose member is the owner of the database; it owns the schema `public`.
pub(super) const DATABASE_OWNER: u32 = 6_171;
/// The functions that read and write arrays: clients recognize the types of arrays by them.
pub(super) const ARRAY_FUNCTIONS: [(u32, &str); 4] =
    [(750, "array_in"), (751, "array_out"), (2_400, "array_recv"), (2_401, "array_send")];
pub(super) const DATABASE: u32 = 5;
/// The catalog of relations, among the catalogs.
const PG_CLASS: u32 = 1_259;
/// That of constraints.
const PG_CONSTRAINT: u32 = 2_606;
const HEAP: u32 = 2;
const BTREE: u32 = 403;

/// A row under construction: columns that are not named take what their type has for nothing.
pub(super) struct Row {
    columns: &'static [(&'static str, Type)],
    values: Vec<Value>,
}

impl Row {
    pub(super) fn new(table: &str) -> Self {
        let columns = super::find(None, table).or_else(|| super::find(Some("information_schema"), table));
        let columns = columns.map_or(&[][..], |(_, columns)| columns);
        let values = columns
            .iter()
            .map(|(_, ty)| match ty.base {
                _ if ty.array => Value::Null,
                Base::Bool => Value::Bool(false),
                Base::Int2 => Value::Int2(0),
                Base::Int4 => Value::Int4(0),
                Base::Int8 => Value::Int8(0),
                Base::Float4 => Value::Float4(0.0),
                Base::Oid | Base::Xid | Base::Regproc => Value::Oid(0),
                Base::Char => Value::Char(0),
                _ => Value::Null,
            })
            .collect();
        Self { columns, values }
    }

    pub(super) fn set(mut self, name: &str, value: Value) -> Self {
        if let Some(at) = self.columns.iter().position(|(column, _)| *column == name) {
            self.values[at] = value;
        }
        self
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.set(name, Value::text(value))
    }

    pub(super) fn oid(self, name: &str, value: u32) -> Self {
        self.set(name, Value::Oid(value))
    }

    pub(super) fn int8(self, name: &str, value: u64) -> Self {
        self.set(name, Value::Int8(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    pub(super) fn float8(self, name: &str, value: f64) -> Self {
        self.set(name, Value::Float8(value))
    }

    pub(super) fn int2(self, name: &str, value: usize) -> Self {
        self.set(name, Value::Int2(value as i16))
    }

    pub(super) fn int4(self, name: &str, value: i32) -> Self {
        self.set(name, Value::Int4(value))
    }

    pub(super) fn letter(self, name: &str, value: u8) -> Self {
        self.set(name, Value::Char(value))
    }

    pub(super) fn flag(self, name: &str, value: bool) -> Self {
        self.set(name, Value::Bool(value))
    }

    pub(super) fn yes(self, name: &str, value: bool) -> Self {
        self.text(name, if value { "YES" } else { "NO" })
    }
}

/// The oid of a schema, 0 if there is none.
pub(super) fn schema_oid(name: &str) -> u32 {
    let known = SCHEMAS.iter().find(|(schema, _)| *schema == name).map(|(_, oid)| *oid);
    let temporary = || {
        let session = is_temporary(name).then(|| name.rsplit('_').next()?.parse::<u32>().ok());
        Some(session?? | TEMPORARY_SCHEMA)
    };
    known.or_else(temporary).unwrap_or(0)
}

/// The schema of temporary relations with this oid.
pub(super) fn temporary_of(oid: u32) -> Option<String> {
    let session = oid & !TEMPORARY_SCHEMA;
    (oid & TEMPORARY_SCHEMA != 0 && oid >> 31 == 0).then(|| temporary_schema(session))
}

/// All schemas, with their oids.
fn schemas(catalog: &Catalog) -> Vec<(String, u32)> {
    let temporary = catalog.relations().map(Relation::schema).filter(|schema| is_temporary(schema));
    let temporary: BTreeSet<&str> = temporary.collect();
    let known = SCHEMAS.iter().map(|(name, oid)| ((*name).to_owned(), *oid));
    known.chain(temporary.into_iter().map(|name| (name.to_owned(), schema_oid(name)))).collect()
}

fn int2s(values: impl Iterator<Item = i16>) -> Value {
    Value::Array(Arc::new(Array::new(Type::INT2, values.map(Value::Int2).collect())))
}

/// An `int2vector` or `oidvector`, which count from 0.
fn vector(element: Type, values: Vec<Value>) -> Value {
    let dims = vec![scaledb_types::Dimension { len: values.len() as i32, lower: 0 }];
    Array::with_dimensions(element, dims, values).map_or(Value::Null, |array| Value::Array(Arc::new(array)))
}

/// The oid of the type of a table's rows.
fn row_type(oid: u32) -> u32 {
    oid | 1 << 31
}

/// The rows of a catalog.
pub(super) fn rows(facts: &dyn Facts, name: &'static str) -> Result<Vec<Vec<Value>>> {
    let catalog = facts.catalog();
    let (user, database) = facts.names();
    let rows = match name {
        "pg_locks" => facts.locks().all().into_iter().map(|known| lock_row(name, known)).collect(),
        "scaledb_counters" => {
            let counters = facts.counters().into_iter();
            counters
                .map(|(counter, value)| Row::new(name).text("name", &counter).int8("value", value))
                .collect()
        }
        "scaledb_stat_statements" => statistics::statements(facts),
        "scaledb_stat_statements_info" => statistics::statements_info(facts),
        "scaledb_stat_latency" => statistics::latency(facts),
        "scaledb_stat_tables" => statistics::tables(facts),
        "scaledb_stat_indexes" => statistics::indexes(facts),
        "scaledb_stat_transactions" => statistics::transactions(facts),
        "scaledb_stat_hot_keys" => statistics::hot_keys(facts),
        "scaledb_status" => {
            let lines = facts.status().into_iter();
            lines.map(|(line, value)| Row::new(name).text("name", &line).text("value", &value)).collect()
        }
        "pg_class" => classes(catalog)?,
        "pg_namespace" => schemas(catalog)
            .into_iter()
            .map(|(schema, oid)| {
                let owner = if schema == "public" { DATABASE_OWNER } else { OWNER };
                Row::new(name).oid("oid", oid).text("nspname", &schema).oid("nspowner", owner)
            })
            .collect(),
        "pg_attribute" => attributes(catalog)?,
        "pg_type" => types(catalog),
        "pg_index" => indexes(catalog),
        "pg_constraint" => constraints(catalog),
        "pg_attrdef" => catalog
            .tables()
            .flat_map(|table| {
                table.columns.iter().filter_map(|column| {
                    let default = column.default.as_ref()?;
                    let row = Row::new(name).oid("oid", table.oid).oid("adrelid", table.oid);
                    let printed = printed_default(catalog, column, default);
                    Some(row.int2("adnum", column.attnum as usize).text("adbin", &printed))
                })
            })
            .collect(),
        "pg_description" => comments(catalog)
            .map(|comment| {
                Row::new(name)
                    .oid("objoid", comment.oid)
                    .oid("classoid", if comment.of_constraint { PG_CONSTRAINT } else { PG_CLASS })
                    .int4("objsubid", comment.column)
                    .text("description", comment.text)
            })
            .collect(),
        "pg_am" => [(HEAP, "heap", b't'), (BTREE, "btree", b'i')]
            .iter()
            .map(|(oid, am, kind)| Row::new(name).oid("oid", *oid).text("amname", am).letter("amtype", *kind))
            .collect(),
        "pg_database" => vec![
            Row::new(name)
                .oid("oid", DATABASE)
                .text("datname", database)
                .oid("datdba", OWNER)
                .int4("encoding", 6)
                .letter("datlocprovider", b'c')
                .flag("datallowconn", true)
                .int4("datconnlimit", -1)
                .oid("dattablespace", 1_663)
                .text("datcollate", "C")
                .text("datctype", "C"),
        ],
        "pg_roles" => vec![
            ["rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin"]
                .iter()
                .fold(Row::new(name), |row, column| row.flag(column, true))
                .oid("oid", OWNER)
                .text("rolname", user)
                .int4("rolconnlimit", -1),
            Row::new(name)
                .flag("rolinherit", true)
                .oid("oid", DATABASE_OWNER)
                .text("rolname", "pg_database_owner")
                .int4("rolconnlimit", -1),
        ],
        "pg_user" => vec![
            Row::new(name)
                .text("usename", user)
                .oid("usesysid", OWNER)
                .flag("usecreatedb", true)
                .flag("usesuper", true),
        ],
        "pg_statio_all_tables" => catalog
            .tables()
            .map(|table| {
                let row = Row::new(name).oid("relid", table.oid);
                row.text("schemaname", &table.schema).text("relname", &table.name)
            })
            .collect(),
        "pg_depend" => catalog
            .relations()
            .filter_map(|relation| {
                let Relation::Sequence(sequence) = relation else { return None };
                let (table, attnum) = sequence.owned_by?;
                let column = catalog.table(table).and_then(|t| t.position(attnum).map(|at| &t.columns[at]));
                let identity = column.is_some_and(|column| column.identity.is_some());
                Some(
                    Row::new(name)
                        .oid("classid", PG_CLASS)
                        .oid("objid", sequence.oid)
                        .oid("refclassid", PG_CLASS)
                        .oid("refobjid", table)
                        .int4("refobjsubid", i32::from(attnum))
                        .letter("deptype", if identity { b'i' } else { b'a' }),
                )
            })
            .collect(),
        "pg_proc" => ARRAY_FUNCTIONS
            .iter()
            .map(|(oid, function)| {
                let row = Row::new(name).oid("oid", *oid).text("proname", function).oid("pronamespace", 11);
                row.oid("proowner", OWNER).letter("prokind", b'f')
            })
            .collect(),
        "pg_stat_activity" => facts
            .sessions()
            .into_iter()
            .map(|(id, session)| {
                let seen = session.activity.look();
                let mut row = Row::new(name)
                    .oid("datid", DATABASE)
                    .text("datname", &session.database)
                    .int4("pid", id as i32)
                    .oid("usesysid", OWNER)
                    .text("usename", &session.user)
                    .text("application_name", &session.application)
                    .set("backend_start", Value::Timestamptz(session.begun))
                    .text("state", seen.state)
                    .text("backend_type", "client backend");
                let times = [
                    ("query_start", seen.statement_start),
                    ("xact_start", seen.transaction_start),
                    ("state_change", seen.statement_start.filter(|_| seen.state == "active")),
                ];
                for (column, time) in times {
                    row = time.into_iter().fold(row, |row, time| row.set(column, Value::Timestamptz(time)));
                }
                let text = facts.statement(seen.statement);
                text.iter().fold(row, |row, text| row.text("query", text))
            })
            .collect(),
        "pg_settings" => facts
            .settings()
            .iter()
            .map(|(setting, value)| {
                Row::new(name)
                    .text("name", setting)
                    .text("setting", value)
                    .text("context", "user")
                    .text("vartype", "string")
                    .text("source", "default")
            })
            .collect(),
        "pg_collation" => vec![
            Row::new(name).oid("oid", 100).text("collname", "default").oid("collnamespace", 11),
            Row::new(name).oid("oid", 950).text("collname", "C").oid("collnamespace", 11),
        ],
        "pg_tablespace" => {
            vec![Row::new(name).oid("oid", 1_663).text("spcname", "pg_default").oid("spcowner", OWNER)]
        }
        "pg_tables" => catalog
            .tables()
            .map(|table| {
                Row::new(name)
                    .text("schemaname", &table.schema)
                    .text("tablename", &table.name)
                    .text("tableowner", user)
                    .flag("hasindexes", table.primary_key.is_some() || !table.indexes.is_empty())
            })
            .collect(),
        "pg_indexes" => catalog
            .tables()
            .flat_map(|table| {
                let primary = table.primary_key.iter().map(|key| (key.oid, key.name.as_str()));
                let indexes = table.indexes.iter().map(|index| (index.oid, index.name.as_str()));
                primary.chain(indexes).map(|(oid, index)| {
                    Row::new(name)
                        .text("schemaname", &table.schema)
                        .text("tablename", &table.name)
                        .text("indexname", index)
                        .text("indexdef", &index_definition(table, oid, true).unwrap_or_default())
                })
            })
            .collect(),
        "pg_views" | "views" => catalog
            .relations()
            .filter_map(|relation| match relation {
                Relation::View(view) => Some(
                    Row::new(name)
                        .text("schemaname", &view.schema)
                        .text("viewname", &view.name)
                        .text("viewowner", user)
                        .text("definition", &view.query)
                        .text("table_catalog", database)
                        .text("table_schema", &view.schema)
                        .text("table_name", &view.name)
                        .text("view_definition", &view.query),
                ),
                _ => None,
            })
            .collect(),
        "pg_sequence" | "pg_sequences" | "sequences" => sequences(facts, name, database, user),
        "tables" => catalog
            .relations()
            .filter(|relation| !matches!(relation, Relation::Sequence(_)))
            .map(|relation| {
                let table = matches!(relation, Relation::Table(_));
                Row::new(name)
                    .text("table_catalog", database)
                    .text("table_schema", relation.schema())
                    .text("table_name", relation.name())
                    .text(
                        "table_type",
                        match table {
                            true if is_temporary(relation.schema()) => "LOCAL TEMPORARY",
                            true => "BASE TABLE",
                            false => "VIEW",
                        },
                    )
                    .yes("is_insertable_into", table)
                    .yes("is_typed", false)
            })
            .collect(),
        "columns" => information::columns(catalog, database)?,
        "schemata" => schemas(catalog)
            .into_iter()
            .map(|(schema, _)| {
                let row = Row::new(name).text("catalog_name", database);
                row.text("schema_name", &schema).text("schema_owner", user)
            })
            .collect(),
        "table_constraints" => information::table_constraints(catalog, database),
        "key_column_usage" => information::key_columns(catalog, database),
        "constraint_column_usage" => information::constraint_columns(catalog, database),
        "referential_constraints" => information::referential(catalog, database),
        _ => Vec::new(),
    };
    Ok(rows.into_iter().map(|row| row.values).collect())
}

fn class(oid: u32, name: &str, schema: &str, kind: u8) -> Row {
    Row::new("pg_class")
        .oid("oid", oid)
        .text("relname", name)
        .oid("relnamespace", schema_oid(schema))
        .oid("relowner", OWNER)
        .oid("relfilenode", oid)
        .letter("relpersistence", if is_temporary(schema) { b't' } else { b'p' })
        .letter("relkind", kind)
        .flag("relispopulated", true)
        .letter("relreplident", b'd')
        .set("reltuples", Value::Float4(-1.0))
}

fn classes(catalog: &Catalog) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        match relation {
            Relation::Table(table) => {
                let indexed = table.primary_key.is_some() || !table.indexes.is_empty();
                let referred = !catalog.references_to(table.oid).is_empty();
                rows.push(
                    class(table.oid, &table.name, &table.schema, b'r')
                        .oid("relam", HEAP)
                        .oid("reltype", row_type(table.oid))
                        .flag("relhasindex", indexed)
                        .flag("relhastriggers", referred || !table.foreign_keys.is_empty())
                        .int2("relnatts", table.next_attnum as usize - 1)
                        .int2("relchecks", table.checks.len()),
                );
                let primary = table.primary_key.iter().map(|key| (key.oid, &key.name, key.columns.len()));
                let indexes = table.indexes.iter().map(|index| (index.oid, &index.name, index.columns.len()));
                for (oid, name, columns) in primary.chain(indexes) {
                    let row = class(oid, name, &table.schema, b'i').oid("relam", BTREE);
                    rows.push(row.int2("relnatts", columns).letter("relreplident", b'n'));
                }
            }
            Relation::Sequence(sequence) => {
                rows.push(class(sequence.oid, &sequence.name, &sequence.schema, b'S').int2("relnatts", 3));
            }
            Relation::View(view) => rows.push(
                class(view.oid, &view.name, &view.schema, b'v')
                    .oid("reltype", row_type(view.oid))
                    .int2("relnatts", view.columns.len())
                    .flag("relhasrules", true),
            ),
        }
    }
    for (schema, name, oid, columns) in super::all() {
        let kind = if schema == "pg_catalog" && oid < 12_000 { b'r' } else { b'v' };
        rows.push(class(oid, name, schema, kind).int2("relnatts", columns.len()));
    }
    Ok(rows)
}

fn attribute(table: u32, name: &str, number: usize, ty: Type) -> Row {
    Row::new("pg_attribute")
        .oid("attrelid", table)
        .text("attname", name)
        .oid("atttypid", ty.oid())
        .int4("attstattarget", -1)
        .set("attlen", Value::Int2(ty.len()))
        .int2("attnum", number)
        .int4("attndims", i32::from(ty.array))
        .int4("attcacheoff", -1)
        .int4("atttypmod", ty.typmod)
        .flag("attbyval", (1..=8).contains(&ty.len()))
        .letter("attalign", b'i')
        .letter("attstorage", if ty.len() < 0 { b'x' } else { b'p' })
        .flag("attislocal", true)
        .oid("attcollation", collation(ty))
}

fn collation(ty: Type) -> u32 {
    match ty.base {
        Base::Text | Base::Varchar | Base::Bpchar => 100,
        Base::Name => 950,
        _ => 0,
    }
}

fn attributes(catalog: &Catalog) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        match relation {
            Relation::Table(table) => {
                for column in &table.columns {
                    let row =
                        attribute(table.oid, &column.name, column.attnum as usize, column_type(column)?);
                    let identity = match column.identity {
                        None => 0,
                        Some(Identity::Always) => b'a',
                        Some(Identity::ByDefault) => b'd',
                    };
                    let default = column.default.is_some() && column.identity.is_none();
                    let added = table.placement.iter().flat_map(|placement| &placement.added);
                    let mut missing = added.filter(|added| added.missing.is_some());
                    rows.push(
                        row.flag("attnotnull", column.not_null)
                            .flag("atthasdef", default)
                            .flag("atthasmissing", missing.any(|added| added.attnum == column.attnum))
                            .letter("attidentity", identity),
                    );
                }
                for number in (1..table.next_attnum).filter(|&number| table.position(number).is_none()) {
                    let name = format!("........pg.dropped.{number}........");
                    let row = attribute(table.oid, &name, number as usize, Type::TEXT);
                    rows.push(row.oid("atttypid", 0).flag("attisdropped", true));
                }
                let primary = table.primary_key.iter().map(|key| (key.oid, &key.columns));
                let indexes = table.indexes.iter().map(|index| (index.oid, &index.columns));
                for (oid, columns) in primary.chain(indexes) {
                    for (number, key) in columns.iter().enumerate() {
                        let Some(at) = table.position(key.attnum) else { continue };
                        let column = &table.columns[at];
                        rows.push(attribute(oid, &column.name, number + 1, column_type(column)?));
                    }
                }
            }
            Relation::View(view) => {
                for (number, (name, oid, typmod)) in view.columns.iter().enumerate() {
                    let ty = Type::from_oid(*oid).unwrap_or(Type::TEXT).with_typmod(*typmod);
                    rows.push(attribute(view.oid, name, number + 1, ty));
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
    for (_, _, oid, columns) in super::all() {
        for (number, (name, ty)) in columns.iter().enumerate() {
            rows.push(attribute(oid, name, number + 1, *ty));
        }
    }
    Ok(rows)
}

fn types(catalog: &Catalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for base in Base::all() {
        let ty = Type::of(base);
        let array = ty.to_array();
        for ty in std::iter::once(ty).chain(array) {
            let name = ty.name();
            let element =
                ty.element().filter(|_| ty.array || base == Base::Int2vector || base == Base::Oidvector);
            let pseudo = matches!(base, Base::Unknown | Base::Void | Base::Record);
            rows.push(
                Row::new("pg_type")
                    .oid("oid", ty.oid())
                    .text("typname", &name)
                    .oid("typnamespace", 11)
                    .oid("typowner", OWNER)
                    .set("typlen", Value::Int2(ty.len()))
                    .flag("typbyval", (1..=8).contains(&ty.len()))
                    .letter("typtype", if pseudo { b'p' } else { b'b' })
                    .letter("typcategory", ty.category() as u8)
                    .flag("typispreferred", ty.is_preferred())
                    .flag("typisdefined", true)
                    .letter("typdelim", b',')
                    .oid("typelem", element.map_or(0, Type::oid))
                    .oid("typinput", if ty.array { ARRAY_FUNCTIONS[0].0 } else { 0 })
                    .oid("typoutput", if ty.array { ARRAY_FUNCTIONS[1].0 } else { 0 })
                    .oid("typreceive", if ty.array { ARRAY_FUNCTIONS[2].0 } else { 0 })
                    .oid("typsend", if ty.array { ARRAY_FUNCTIONS[3].0 } else { 0 })
                    .oid("typarray", if ty.array { 0 } else { array.map_or(0, Type::oid) })
                    .letter("typalign", b'i')
                    .letter("typstorage", if ty.len() < 0 { b'x' } else { b'p' })
                    .int4("typtypmod", -1)
                    .oid("typcollation", collation(ty)),
            );
        }
    }
    for relation in catalog.relations().filter(|relation| !matches!(relation, Relation::Sequence(_))) {
        rows.push(
            Row::new("pg_type")
                .oid("oid", row_type(relation.oid()))
                .text("typname", relation.name())
                .oid("typnamespace", schema_oid(relation.schema()))
                .oid("typowner", OWNER)
                .set("typlen", Value::Int2(-1))
                .letter("typtype", b'c')
                .letter("typcategory", b'C')
                .flag("typisdefined", true)
                .letter("typdelim", b',')
                .oid("typrelid", relation.oid())
                .int4("typtypmod", -1),
        );
    }
    rows
}

fn indexes(catalog: &Catalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        let primary = table.primary_key.iter().map(|key| (key.oid, &key.columns, true, true, true));
        let indexes = table.indexes.iter();
        let indexes = indexes.map(|index| {
            (index.oid, &index.columns, index.unique, index.primary, index.deferrable.is_none())
        });
        for (oid, columns, unique, primary, immediate) in primary.chain(indexes) {
            let numbers = columns.iter().map(|column| Value::Int2(column.attnum)).collect();
            let options = columns
                .iter()
                .map(|column| Value::Int2(i16::from(column.descending) | i16::from(column.nulls_first) << 1));
            let zeros = vec![Value::Oid(0); columns.len()];
            rows.push(
                Row::new("pg_index")
                    .oid("indexrelid", oid)
                    .oid("indrelid", table.oid)
                    .int2("indnatts", columns.len())
                    .int2("indnkeyatts", columns.len())
                    .flag("indisunique", unique)
                    .flag("indisprimary", primary)
                    .flag("indimmediate", immediate)
                    .flag("indisvalid", true)
                    .flag("indisready", true)
                    .flag("indislive", true)
                    .set("indkey", vector(Type::INT2, numbers))
                    .set("indcollation", vector(Type::OID, zeros.clone()))
                    .set("indclass", vector(Type::OID, zeros))
                    .set("indoption", vector(Type::INT2, options.collect())),
            );
        }
    }
    rows
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

fn constraint(table: &TableDesc, oid: u32, name: &str, kind: u8) -> Row {
    Row::new("pg_constraint")
        .oid("oid", oid)
        .text("conname", name)
        .oid("connamespace", schema_oid(&table.schema))
        .letter("contype", kind)
        .flag("convalidated", true)
        .oid("conrelid", table.oid)
        .letter("confupdtype", b' ')
        .letter("confdeltype", b' ')
        .letter("confmatchtype", b' ')
        .flag("conislocal", true)
        .flag("connoinherit", kind != b'c')
}

/// What COMMENT ON has said.
pub(super) struct Comment<'c> {
    pub(super) oid: u32,
    /// Of a constraint: an index may have the same oid.
    pub(super) of_constraint: bool,
    /// The number of a column; 0 for the whole.
    pub(super) column: i32,
    pub(super) text: &'c str,
}

/// All comments on what there is.
pub(super) fn comments(catalog: &Catalog) -> impl Iterator<Item = Comment<'_>> {
    catalog.relations().flat_map(|relation| {
        let comments = match relation {
            Relation::Table(table) => &table.comments,
            Relation::View(view) => &view.comments,
            Relation::Sequence(sequence) => &sequence.comments,
        };
        let there = comments.iter().filter(|comment| match relation {
            Relation::Table(table) => table.has(comment.about),
            _ => true,
        });
        there.map(|comment| {
            let (oid, of_constraint, column) = match comment.about {
                About::Relation => (relation.oid(), false, 0),
                About::Column(number) => (relation.oid(), false, i32::from(number)),
                About::Index(oid) => (oid, false, 0),
                About::Constraint(oid) => (oid, true, 0),
            };
            Comment { oid, of_constraint, column, text: &comment.text }
        })
    })
}

fn constraints(catalog: &Catalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        if let Some(key) = &table.primary_key {
            let row = constraint(table, key.oid, &key.name, b'p').oid("conindid", key.oid);
            rows.push(row.set("conkey", int2s(key.columns.iter().map(|column| column.attnum))));
        }
        for index in table.indexes.iter().filter(|index| index.constraint) {
            let kind = if index.primary { b'p' } else { b'u' };
            let row = constraint(table, index.oid, &index.name, kind)
                .oid("conindid", index.oid)
                .flag("condeferrable", index.deferrable.is_some())
                .flag("condeferred", index.deferrable == Some(Initially::Deferred));
            rows.push(row.set("conkey", int2s(index.columns.iter().map(|column| column.attnum))));
        }
        for check in &table.checks {
            rows.push(constraint(table, check.oid, &check.name, b'c').text("conbin", &check.expression));
        }
        for key in &table.foreign_keys {
            let index = catalog.table(key.table).and_then(|to| {
                let same = |columns: &[scaledb_catalog::KeyColumn]| {
                    columns.len() == key.referred.len()
                        && columns.iter().all(|c| key.referred.contains(&c.attnum))
                };
                let primary = to.primary_key.as_ref().filter(|k| same(&k.columns)).map(|k| k.oid);
                primary.or_else(|| {
                    to.indexes.iter().find(|i| i.is_unique_at_once() && same(&i.columns)).map(|i| i.oid)
                })
            });
            rows.push(
                constraint(table, key.oid, &key.name, b'f')
                    .oid("conindid", index.unwrap_or(0))
                    .flag("condeferrable", key.deferrable)
                    .flag("condeferred", key.deferred)
                    .oid("confrelid", key.table)
                    .letter("confupdtype", action(key.on_update))
                    .letter("confdeltype", action(key.on_delete))
                    .letter("confmatchtype", if key.full { b'f' } else { b's' })
                    .set("conkey", int2s(key.columns.iter().copied()))
                    .set("confkey", int2s(key.referred.iter().copied())),
            );
        }
    }
    rows
}

fn sequences(facts: &dyn Facts, name: &'static str, database: &str, user: &str) -> Vec<Row> {
    let sequences = facts.catalog().relations().filter_map(|relation| match relation {
        Relation::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    sequences
        .map(|sequence| {
            let last = facts.sequence(sequence.oid).ok().filter(|(_, called)| *called);
            let number = |value: i64| {
                if name == "sequences" { Value::text(value.to_string()) } else { Value::Int8(value) }
            };
            let ty = Type::from_oid(sequence.type_oid).unwrap_or(Type::INT8);
            Row::new(name)
                .oid("seqrelid", sequence.oid)
                .oid("seqtypid", sequence.type_oid)
                .set("seqstart", number(sequence.start))
                .set("seqincrement", number(sequence.increment))
                .set("seqmax", number(sequence.max))
                .set("seqmin", number(sequence.min))
                .set("seqcache", number(1))
                .flag("seqcycle", sequence.cycle)
                .text("schemaname", &sequence.schema)
                .text("sequencename", &sequence.name)
                .text("sequenceowner", user)
                .set("start_value", number(sequence.start))
                .set("min_value", number(sequence.min))
                .set("max_value", number(sequence.max))
                .set("increment_by", number(sequence.increment))
                .flag("cycle", sequence.cycle)
                .set("cache_size", number(1))
                .set("last_value", last.map_or(Value::Null, |(last, _)| Value::Int8(last)))
                .text("sequence_catalog", database)
                .text("sequence_schema", &sequence.schema)
                .text("sequence_name", &sequence.name)
                .text("data_type", &ty.sql_name())
                .set("minimum_value", number(sequence.min))
                .set("maximum_value", number(sequence.max))
                .set("increment", number(sequence.increment))
                .yes("cycle_option", sequence.cycle)
        })
        .collect()
}

/// A row of pg_locks. A row of a table has a record instead of a page and a place in it: they are NULL.
fn lock_row(name: &str, known: Known) -> Row {
    let row = Row::new(name).oid("database", DATABASE);
    let row = match known.tag {
        Tag::Row { table, .. } => row.text("locktype", "tuple").oid("relation", table),
        Tag::Table(table) => row.text("locktype", "relation").oid("relation", table),
        Tag::Advisory { key, pair } => {
            let row = row.text("locktype", "advisory").oid("classid", (key >> 32) as u32);
            row.oid("objid", key as u32).int2("objsubid", if pair { 2 } else { 1 })
        }
    };
    row.int4("pid", known.owner as i32)
        .text("mode", known.mode.name())
        .flag("granted", known.granted)
        .flag("fastpath", false)
}
