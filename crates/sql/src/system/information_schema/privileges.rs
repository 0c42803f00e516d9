//! Views about roles and privileges: `table_privileges`, `column_privileges` and their `role_*_grants`,
//! `applicable_roles`, `enabled_roles`.

use super::YES_OR_NO;
use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{EVERYBODY, Grant, ObjectKind, Privileges, Relation, default_grants};
use scaledb_types::{Result, Type};

type Columns = &'static [(&'static str, Type)];

const OF_TABLES: Columns = &[
    ("grantor", Type::NAME),
    ("grantee", Type::NAME),
    ("table_catalog", Type::NAME),
    ("table_schema", Type::NAME),
    ("table_name", Type::NAME),
    ("privilege_type", Type::VARCHAR),
    ("is_grantable", YES_OR_NO),
    ("with_hierarchy", YES_OR_NO),
];

const OF_COLUMNS: Columns = &[
    ("grantor", Type::NAME),
    ("grantee", Type::NAME),
    ("table_catalog", Type::NAME),
    ("table_schema", Type::NAME),
    ("table_name", Type::NAME),
    ("column_name", Type::NAME),
    ("privilege_type", Type::VARCHAR),
    ("is_grantable", YES_OR_NO),
];

const fn view(
    name: &'static str,
    oid: u32,
    columns: Columns,
    rows: fn(&dyn Facts) -> Result<Vec<Row>>,
) -> SystemCatalog {
    SystemCatalog { schema: "information_schema", name, oid, rows, columns }
}

pub(super) const TABLE_PRIVILEGES: SystemCatalog =
    view("table_privileges", 13_012, OF_TABLES, |facts| Ok(tables(facts, &TABLE_PRIVILEGES, true)));

pub(super) const ROLE_TABLE_GRANTS: SystemCatalog =
    view("role_table_grants", 13_013, OF_TABLES, |facts| Ok(tables(facts, &ROLE_TABLE_GRANTS, false)));

pub(super) const COLUMN_PRIVILEGES: SystemCatalog =
    view("column_privileges", 13_014, OF_COLUMNS, |facts| Ok(columns(facts, &COLUMN_PRIVILEGES, true)));

pub(super) const ROLE_COLUMN_GRANTS: SystemCatalog =
    view("role_column_grants", 13_015, OF_COLUMNS, |facts| Ok(columns(facts, &ROLE_COLUMN_GRANTS, false)));

#[rustfmt::skip]
pub(super) const APPLICABLE_ROLES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "applicable_roles", oid: 13_016, rows: applicable,
    columns: &[("grantee", Type::NAME), ("role_name", Type::NAME), ("is_grantable", YES_OR_NO)],
};

#[rustfmt::skip]
pub(super) const ENABLED_ROLES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "enabled_roles", oid: 13_017, rows: enabled,
    columns: &[("role_name", Type::NAME)],
};

fn named(facts: &dyn Facts, role: u32) -> String {
    if role == EVERYBODY { "PUBLIC".to_owned() } else { role_name(facts, role).unwrap_or_default() }
}

/// The grants that the current role may see: those to it, and those by it; if `everybody`, those to all.
pub(super) fn seen(facts: &dyn Facts, grants: Vec<Grant>, everybody: bool) -> impl Iterator<Item = Grant> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    grants.into_iter().filter(move |grant| {
        if grant.to == EVERYBODY {
            return everybody;
        }
        catalog.has_rights_of(current, grant.to) || catalog.has_rights_of(current, grant.by)
    })
}

/// The rows of grants on something, whose columns are those of the row.
pub(super) fn each(
    facts: &dyn Facts,
    grant: &Grant,
    owner: u32,
    of: Privileges,
    row: &dyn Fn() -> Row,
) -> Vec<Row> {
    let rows = grant.privileges.common(of).each().map(|(one, name, _)| {
        let grantable = grant.options.has(one) || facts.catalog().has_rights_of(grant.to, owner);
        row()
            .text("grantor", &named(facts, grant.by))
            .text("grantee", &named(facts, grant.to))
            .text("privilege_type", name)
            .yes("is_grantable", grantable && grant.to != EVERYBODY)
    });
    rows.collect()
}

fn tables(facts: &dyn Facts, table: &'static SystemCatalog, everybody: bool) -> Vec<Row> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for relation in catalog.relations().filter(|relation| !matches!(relation, Relation::Sequence(_))) {
        let oid = relation.oid();
        let row = || {
            Row::of(table)
                .text("table_catalog", facts.names().1)
                .text("table_schema", relation.schema())
                .text("table_name", relation.name())
        };
        for grant in seen(facts, catalog.grants_of(ObjectKind::Table, oid), everybody) {
            for row in each(facts, &grant, catalog.owner_of(oid), ObjectKind::Table.all(), &row) {
                let reads = row.values.iter().any(|value| value.as_str() == Some("SELECT"));
                rows.push(row.yes("with_hierarchy", reads));
            }
        }
    }
    rows
}

fn columns(facts: &dyn Facts, table: &'static SystemCatalog, everybody: bool) -> Vec<Row> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        let named: Vec<(i16, &str)> = match relation {
            Relation::Table(desc) => {
                desc.visible().map(|column| (column.attnum, column.name.as_str())).collect()
            }
            Relation::View(view) => (1..).zip(view.columns.iter().map(|(name, ..)| name.as_str())).collect(),
            Relation::Sequence(_) => continue,
        };
        let (oid, owner) = (relation.oid(), catalog.owner_of(relation.oid()));
        let on_table = match catalog.access(oid).and_then(|access| access.grants.clone()) {
            Some(grants) => grants,
            None => default_grants(ObjectKind::Table, owner),
        };
        for (attnum, name) in named {
            let row = || {
                Row::of(table)
                    .text("table_catalog", facts.names().1)
                    .text("table_schema", relation.schema())
                    .text("table_name", relation.name())
                    .text("column_name", name)
            };
            let own = catalog.access(oid).map_or(&[][..], |access| access.of_column(attnum));
            // the same granted on both is one
            let mut all: Vec<Grant> = on_table.clone();
            for grant in own {
                match all.iter_mut().find(|known| known.to == grant.to && known.by == grant.by) {
                    Some(known) => {
                        known.privileges = known.privileges.and(grant.privileges);
                        known.options = known.options.and(grant.options);
                    }
                    None => all.push(*grant),
                }
            }
            for grant in seen(facts, all, everybody) {
                rows.extend(each(facts, &grant, owner, ObjectKind::Column.all(), &row));
            }
        }
    }
    rows
}

fn applicable(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let mut rows = Vec::new();
    for desc in catalog.roles().filter(|desc| catalog.has_rights_of(current, desc.oid)) {
        for membership in &desc.member_of {
            rows.push(
                Row::of(&APPLICABLE_ROLES)
                    .text("grantee", &desc.name)
                    .text("role_name", &named(facts, membership.role))
                    .yes("is_grantable", membership.admin),
            );
        }
    }
    Ok(rows)
}

#[rustfmt::skip]
pub(super) const ADMINISTRABLE_ROLES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "administrable_role_authorizations", oid: 13_018, rows: administrable,
    columns: &[("grantee", Type::NAME), ("role_name", Type::NAME), ("is_grantable", YES_OR_NO)],
};

fn administrable(facts: &dyn Facts) -> Result<Vec<Row>> {
    let granted = |row: &Row| row.values.last().and_then(scaledb_types::Value::as_str) == Some("YES");
    Ok(applicable(facts)?.into_iter().filter(granted).collect())
}

fn enabled(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let roles = catalog.all_roles().into_iter().filter(|role| catalog.has_rights_of(current, *role));
    Ok(roles.map(|role| Row::of(&ENABLED_ROLES).text("role_name", &named(facts, role))).collect())
}
