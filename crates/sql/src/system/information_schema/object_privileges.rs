//! Views about privileges on what is no table: `routine_privileges`, `usage_privileges`, and their `role_*_grants`.

use super::YES_OR_NO;
use super::privileges::{each, seen};
use super::routines::specific_name;
use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::pg_catalog::COLLATIONS;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{OWNER, ObjectKind, Relation};
use scaledb_types::Type;

#[rustfmt::skip]
pub(super) const ROUTINE_PRIVILEGES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "routine_privileges", oid: 13035, rows: |facts| Ok(routines(facts, &ROUTINE_PRIVILEGES, true)),
    columns: &[
        ("grantor", Type::NAME), ("grantee", Type::NAME), ("specific_catalog", Type::NAME),
        ("specific_schema", Type::NAME), ("specific_name", Type::NAME), ("routine_catalog", Type::NAME),
        ("routine_schema", Type::NAME), ("routine_name", Type::NAME), ("privilege_type", Type::VARCHAR),
        ("is_grantable", YES_OR_NO),
    ],
};

#[rustfmt::skip]
pub(super) const ROLE_ROUTINE_GRANTS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "role_routine_grants", oid: 13036, rows: |facts| Ok(routines(facts, &ROLE_ROUTINE_GRANTS, false)),
    columns: &[
        ("grantor", Type::NAME), ("grantee", Type::NAME), ("specific_catalog", Type::NAME),
        ("specific_schema", Type::NAME), ("specific_name", Type::NAME), ("routine_catalog", Type::NAME),
        ("routine_schema", Type::NAME), ("routine_name", Type::NAME), ("privilege_type", Type::VARCHAR),
        ("is_grantable", YES_OR_NO),
    ],
};

#[rustfmt::skip]
pub(super) const USAGE_PRIVILEGES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "usage_privileges", oid: 13037, rows: |facts| Ok(usage(facts, &USAGE_PRIVILEGES, true)),
    columns: &[
        ("grantor", Type::NAME), ("grantee", Type::NAME), ("object_catalog", Type::NAME),
        ("object_schema", Type::NAME), ("object_name", Type::NAME), ("object_type", Type::VARCHAR),
        ("privilege_type", Type::VARCHAR), ("is_grantable", YES_OR_NO),
    ],
};

#[rustfmt::skip]
pub(super) const ROLE_USAGE_GRANTS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "role_usage_grants", oid: 13038, rows: |facts| Ok(usage(facts, &ROLE_USAGE_GRANTS, false)),
    columns: &[
        ("grantor", Type::NAME), ("grantee", Type::NAME), ("object_catalog", Type::NAME),
        ("object_schema", Type::NAME), ("object_name", Type::NAME), ("object_type", Type::VARCHAR),
        ("privilege_type", Type::VARCHAR), ("is_grantable", YES_OR_NO),
    ],
};

fn routines(facts: &dyn Facts, view: &'static SystemCatalog, everybody: bool) -> Vec<Row> {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let mut rows = Vec::new();
    for desc in catalog.routines() {
        let row = || {
            Row::empty(view)
                .text("specific_catalog", database)
                .text("specific_schema", &desc.schema)
                .text("specific_name", &specific_name(desc))
                .text("routine_catalog", database)
                .text("routine_schema", &desc.schema)
                .text("routine_name", &desc.name)
        };
        let (kind, owner) = (ObjectKind::Routine, catalog.owner_of(desc.oid));
        for grant in seen(facts, catalog.grants_of(kind, desc.oid), everybody) {
            rows.extend(each(facts, &grant, owner, kind.all(), &row));
        }
    }
    rows
}

fn usage(facts: &dyn Facts, view: &'static SystemCatalog, everybody: bool) -> Vec<Row> {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let mut rows = Vec::new();
    let row = |schema: &str, name: &str, kind: &str| {
        Row::empty(view)
            .text("object_catalog", database)
            .text("object_schema", schema)
            .text("object_name", name)
            .text("object_type", kind)
    };
    // everybody may use the collations
    let owner = role_name(facts, OWNER).unwrap_or_default();
    for (_, name, _) in COLLATIONS.into_iter().filter(|_| everybody) {
        rows.push(
            row("pg_catalog", name, "COLLATION")
                .text("grantor", &owner)
                .text("grantee", "PUBLIC")
                .text("privilege_type", "USAGE")
                .yes("is_grantable", false),
        );
    }
    for relation in catalog.relations().filter(|relation| matches!(relation, Relation::Sequence(_))) {
        let row = || row(relation.schema(), relation.name(), "SEQUENCE");
        let (oid, usage) = (relation.oid(), scaledb_catalog::Privileges::USAGE);
        for grant in seen(facts, catalog.grants_of(ObjectKind::Sequence, oid), everybody) {
            rows.extend(each(facts, &grant, catalog.owner_of(oid), usage, &row));
        }
    }
    rows
}
