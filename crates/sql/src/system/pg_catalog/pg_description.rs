//! `pg_description`: what COMMENT ON has said.

use super::pg_extension::{PLPGSQL, extensions};
use crate::system::Facts;
use crate::system::oids::{
    PG_CLASS, PG_CONSTRAINT, PG_EXTENSION, PG_NAMESPACE, PG_POLICY, PG_PROC, PG_TRIGGER, PG_TYPE, schema_oid,
};
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{About, Catalog, ExtensionDesc, PUBLIC, Relation};
use scaledb_types::{Result, Type};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_description", oid: 2609, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("objsubid", Type::INT4), ("description", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let row = |oid: u32, class: u32, column: i32, text: &str| {
        Row::of(&TABLE)
            .oid("objoid", oid)
            .oid("classoid", class)
            .int4("objsubid", column)
            .text("description", text)
    };
    let mut rows: Vec<Row> = comments(catalog)
        .map(|comment| row(comment.oid, comment.class, comment.column, comment.text))
        .collect();
    rows.push(row(PLPGSQL, PG_EXTENSION, 0, "PL/pgSQL procedural language"));
    let unasked = |desc: &&Arc<ExtensionDesc>| catalog.extension(&desc.name).is_none();
    rows.extend(
        extensions(catalog)
            .iter()
            .filter(unasked)
            .filter_map(|desc| Some(row(desc.oid, PG_EXTENSION, 0, desc.comment.as_deref()?))),
    );
    Ok(rows)
}

/// What COMMENT ON has said.
pub(in crate::system) struct Comment<'c> {
    pub(in crate::system) oid: u32,
    /// The catalog that the object is in: an index may have the oid of a constraint.
    pub(in crate::system) class: u32,
    /// The number of a column; 0 for the whole.
    pub(in crate::system) column: i32,
    pub(in crate::system) text: &'c str,
}

/// The comments on all objects.
pub(in crate::system) fn comments(catalog: &Catalog) -> impl Iterator<Item = Comment<'_>> {
    let of_routines = catalog.routines().filter_map(|desc| {
        let text = desc.comment.as_deref()?;
        Some(Comment { oid: desc.oid, class: PG_PROC, column: 0, text })
    });
    let triggers = catalog.relations().flat_map(|relation| match relation {
        Relation::Table(table) => &table.triggers[..],
        Relation::View(view) => &view.triggers,
        Relation::Sequence(_) => &[],
    });
    let of_triggers = triggers.filter_map(|trigger| {
        let text = trigger.comment.as_deref()?;
        Some(Comment { oid: trigger.oid, class: PG_TRIGGER, column: 0, text })
    });
    let policies = catalog.tables().flat_map(|table| table.policies());
    let of_policies = policies.filter_map(|policy| {
        let text = policy.comment.as_deref()?;
        Some(Comment { oid: policy.oid, class: PG_POLICY, column: 0, text })
    });
    let of_relations = catalog.relations().flat_map(|relation| {
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
            let (oid, class, column) = match comment.about {
                About::Relation => (relation.oid(), PG_CLASS, 0),
                About::Column(number) => (relation.oid(), PG_CLASS, i32::from(number)),
                About::Index(oid) => (oid, PG_CLASS, 0),
                About::Constraint(oid) => (oid, PG_CONSTRAINT, 0),
            };
            Comment { oid, class, column, text: &comment.text }
        })
    });
    let of_domains = catalog.domains().flat_map(|desc| {
        desc.comments.iter().filter_map(|comment| {
            let (oid, class) = match comment.about {
                About::Constraint(oid) if desc.checks.iter().any(|check| check.oid == oid) => {
                    (oid, PG_CONSTRAINT)
                }
                About::Relation => (desc.oid, PG_TYPE),
                _ => return None,
            };
            Some(Comment { oid, class, column: 0, text: &comment.text })
        })
    });
    // tools that write a database down leave this one out, and take another one, or none, for a change
    let public = catalog.has_public().then_some(Comment {
        oid: schema_oid(catalog, PUBLIC),
        class: PG_NAMESPACE,
        column: 0,
        text: "standard public schema",
    });
    let of_extensions = catalog.extensions().filter_map(|desc| {
        let text = desc.comment.as_deref()?;
        Some(Comment { oid: desc.oid, class: PG_EXTENSION, column: 0, text })
    });
    let of_tables = of_relations.chain(of_triggers).chain(of_policies);
    of_tables.chain(of_routines).chain(of_domains).chain(public).chain(of_extensions)
}
