//! What `information_schema` says of domains: themselves, their constraints, what they are over, and their columns.

use super::YES_OR_NO;
use super::data_type::{located, of_values};
use crate::system::Facts;
use crate::system::printed::printed_as;
use crate::system::privileges::may_use_type;
use crate::system::seen::own_oid;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{DomainDesc, OWNER, Relation};
use scaledb_planner::plan::column_type;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const DOMAINS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "domains", oid: 13046, rows: domains,
    columns: &[
        ("domain_catalog", Type::NAME), ("domain_schema", Type::NAME), ("domain_name", Type::NAME),
        ("data_type", Type::VARCHAR), ("character_maximum_length", Type::INT4),
        ("character_octet_length", Type::INT4), ("character_set_catalog", Type::NAME),
        ("character_set_schema", Type::NAME), ("character_set_name", Type::NAME),
        ("collation_catalog", Type::NAME), ("collation_schema", Type::NAME), ("collation_name", Type::NAME),
        ("numeric_precision", Type::INT4), ("numeric_precision_radix", Type::INT4),
        ("numeric_scale", Type::INT4), ("datetime_precision", Type::INT4), ("interval_type", Type::VARCHAR),
        ("interval_precision", Type::INT4), ("domain_default", Type::VARCHAR), ("udt_catalog", Type::NAME),
        ("udt_schema", Type::NAME), ("udt_name", Type::NAME), ("scope_catalog", Type::NAME),
        ("scope_schema", Type::NAME), ("scope_name", Type::NAME), ("maximum_cardinality", Type::INT4),
        ("dtd_identifier", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const DOMAIN_CONSTRAINTS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "domain_constraints", oid: 13044, rows: constraints,
    columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME), ("domain_catalog", Type::NAME), ("domain_schema", Type::NAME),
        ("domain_name", Type::NAME), ("is_deferrable", YES_OR_NO), ("initially_deferred", YES_OR_NO),
    ],
};

#[rustfmt::skip]
pub(super) const DOMAIN_UDT_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "domain_udt_usage", oid: 13045, rows: bases,
    columns: &[
        ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME), ("udt_name", Type::NAME),
        ("domain_catalog", Type::NAME), ("domain_schema", Type::NAME), ("domain_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const COLUMN_DOMAIN_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "column_domain_usage", oid: 13042, rows: columns,
    columns: &[
        ("domain_catalog", Type::NAME), ("domain_schema", Type::NAME), ("domain_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME),
    ],
};

/// The type that a domain is over, with its modifier.
fn base_of(facts: &dyn Facts, desc: &DomainDesc) -> Type {
    facts.catalog().type_of_oid(desc.type_oid).unwrap_or(Type::TEXT).with_typmod(desc.typmod)
}

fn named(facts: &dyn Facts, row: Row, desc: &DomainDesc) -> Row {
    row.text("domain_catalog", facts.names().1)
        .text("domain_schema", &desc.schema)
        .text("domain_name", &desc.name)
}

fn domains(facts: &dyn Facts) -> Result<Vec<Row>> {
    let seen = facts.catalog().domains().filter(|desc| may_use_type(facts, desc.oid));
    Ok(seen
        .map(|desc| {
            let base = base_of(facts, desc);
            let default = desc.default.as_ref().map(|text| printed_as(facts, base, text));
            let row = named(facts, Row::empty(&DOMAINS), desc)
                .set("domain_default", default.map_or(Value::Null, Value::from))
                .text("dtd_identifier", "1");
            let row = of_values(facts, row, base);
            // arrays have their names here
            match own_oid(base) {
                None => row.text("data_type", &base.plain().sql_name()),
                Some(_) => row.text("data_type", "USER-DEFINED"),
            }
        })
        .collect())
}

/// The domains that the current role owns.
fn owned(facts: &dyn Facts) -> impl Iterator<Item = &DomainDesc> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let owned =
        catalog.domains().filter(move |desc| catalog.has_rights_of(current, catalog.owner_of(desc.oid)));
    owned.map(|desc| &**desc)
}

fn constraints(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for desc in owned(facts) {
        for check in &desc.checks {
            let row = Row::empty(&DOMAIN_CONSTRAINTS)
                .text("constraint_catalog", facts.names().1)
                .text("constraint_schema", &desc.schema)
                .text("constraint_name", &check.name);
            rows.push(named(facts, row, desc).yes("is_deferrable", false).yes("initially_deferred", false));
        }
    }
    Ok(rows)
}

fn bases(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let all = catalog.domains().map(|desc| (desc, base_of(facts, desc)));
    let seen = all.filter(|(_, base)| {
        let owner = own_oid(*base).map_or(OWNER, |oid| catalog.owner_of(oid));
        catalog.has_rights_of(current, owner)
    });
    Ok(seen
        .map(|(desc, base)| located(facts, named(facts, Row::empty(&DOMAIN_UDT_USAGE), desc), "", base))
        .collect())
}

fn columns(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        let columns: Vec<(&str, Type)> = match relation {
            Relation::Table(table) => {
                let each = table.visible().map(|column| Ok((&*column.name, column_type(catalog, column)?)));
                each.collect::<Result<_>>()?
            }
            Relation::View(view) => {
                let each = view.columns.iter();
                each.map(|(name, oid, _)| (&**name, catalog.type_of_oid(*oid).unwrap_or(Type::TEXT)))
                    .collect()
            }
            Relation::Sequence(_) => continue,
        };
        for (name, ty) in columns {
            let desc = ty.as_domain().and_then(|domain| catalog.domain_of(domain.oid()));
            let current = facts.identity().current();
            let owned = |desc: &&std::sync::Arc<DomainDesc>| {
                catalog.has_rights_of(current, catalog.owner_of(desc.oid))
            };
            let Some(desc) = desc.filter(owned) else { continue };
            let row = named(facts, Row::empty(&COLUMN_DOMAIN_USAGE), desc)
                .text("table_catalog", facts.names().1)
                .text("table_schema", relation.schema())
                .text("table_name", relation.name())
                .text("column_name", name);
            rows.push(row);
        }
    }
    Ok(rows)
}
