//! Oids that do not come from the catalog: of schemas, roles, the types of rows.

use scaledb_catalog::{Catalog, PUBLIC, Relation};
pub(super) use scaledb_catalog::{DATABASE, OWNER, row_type};
use scaledb_planner::bind::names::{is_temporary, temporary_schema};
use scaledb_types::{Base, Type};
use std::collections::BTreeSet;

/// Oids of the schemas.
pub(super) const SCHEMAS: [(&str, u32); 3] =
    [("pg_catalog", 11), ("information_schema", 13_500), ("public", 2_200)];
/// A bit of the oids of schemas of temporary relations; the number of the session is in the others.
pub(super) const TEMPORARY_SCHEMA: u32 = 1 << 30;
/// The only tablespace, `pg_default`.
pub(super) const TABLESPACE: u32 = 1_663;
/// The catalog of relations, among the catalogs.
pub(super) const PG_CLASS: u32 = 1_259;
/// The oids of other catalogs whose objects depend on each other, or have comments.
pub(super) const PG_ATTRDEF: u32 = 2_604;
pub(super) const PG_CONSTRAINT: u32 = 2_606;
pub(super) const PG_AUTHID: u32 = 1_260;
pub(super) const PG_DATABASE: u32 = 1_262;
pub(super) const PG_EXTENSION: u32 = 3_079;
pub(super) const PG_NAMESPACE: u32 = 2_615;
pub(super) const PG_REWRITE: u32 = 2_618;
pub(super) const PG_TYPE: u32 = 1_247;
pub(super) const PG_PROC: u32 = 1_255;
pub(super) const PG_TRIGGER: u32 = 2_620;
pub(super) const PG_POLICY: u32 = 3_256;
pub(super) const HEAP: u32 = 2;
pub(super) const BTREE: u32 = 403;

/// The oid of the rule of a view.
pub(super) fn rule_of(view: u32) -> u32 {
    view | 5 << 29
}

/// The oid of the default that has this number among all of them, in the order of tables and their columns. Nothing
/// keeps one for it, so it holds as long as the catalog does.
pub(super) fn default_oid(number: usize) -> u32 {
    number as u32 | 3 << 30
}

/// The oid of a schema, 0 if there is none.
pub(super) fn schema_oid(catalog: &Catalog, name: &str) -> u32 {
    let is_there = name != PUBLIC || catalog.has_public();
    let known = SCHEMAS.iter().find(|(schema, _)| *schema == name && is_there).map(|(_, oid)| *oid);
    let temporary = || {
        let session = is_temporary(name).then(|| name.rsplit('_').next()?.parse::<u32>().ok());
        Some(session?? | TEMPORARY_SCHEMA)
    };
    let made = || catalog.schema_named(name).map(|desc| desc.oid);
    known.or_else(temporary).or_else(made).unwrap_or(0)
}

/// The schema of an oid.
pub(super) fn schema_of_oid(catalog: &Catalog, oid: u32) -> Option<String> {
    let known = SCHEMAS.iter().find(|(_, known)| *known == oid).map(|(name, _)| (*name).to_owned());
    let made = || catalog.schemas().find(|desc| desc.oid == oid).map(|desc| desc.name.clone());
    let session = oid & !TEMPORARY_SCHEMA;
    let temporary = || (oid & TEMPORARY_SCHEMA != 0 && oid >> 31 == 0).then(|| temporary_schema(session));
    known.or_else(made).or_else(temporary)
}

/// All schemas, with their oids.
pub(super) fn schemas(catalog: &Catalog) -> Vec<(String, u32)> {
    let temporary = catalog.relations().map(Relation::schema).filter(|schema| is_temporary(schema));
    let temporary: BTreeSet<&str> = temporary.collect();
    let is_there = |name: &&str| *name != PUBLIC || catalog.has_public();
    let known = SCHEMAS.iter().map(|(name, _)| *name).filter(is_there);
    let made = catalog.schemas().map(|desc| desc.name.as_str());
    let all = known.chain(made).chain(temporary);
    all.map(|name| (name.to_owned(), schema_oid(catalog, name))).collect()
}

/// The collation of a type.
pub(super) fn collation(ty: Type) -> u32 {
    match ty.base {
        Base::Text | Base::Varchar | Base::Bpchar => 100,
        Base::Name => 950,
        _ => 0,
    }
}
