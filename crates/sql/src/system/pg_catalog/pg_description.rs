//! `pg_description`: what COMMENT ON has said.

use crate::system::Facts;
use crate::system::oids::{PG_CLASS, PG_CONSTRAINT};
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{About, Catalog, Relation};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_description", oid: 2609, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("objsubid", Type::INT4), ("description", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(comments(catalog)
        .map(|comment| {
            Row::of(&TABLE)
                .oid("objoid", comment.oid)
                .oid("classoid", if comment.of_constraint { PG_CONSTRAINT } else { PG_CLASS })
                .int4("objsubid", comment.column)
                .text("description", comment.text)
        })
        .collect())
}

/// What COMMENT ON has said.
pub(in crate::system) struct Comment<'c> {
    pub(in crate::system) oid: u32,
    /// Of a constraint: an index may have the same oid.
    pub(in crate::system) of_constraint: bool,
    /// The number of a column; 0 for the whole.
    pub(in crate::system) column: i32,
    pub(in crate::system) text: &'c str,
}

/// The comments on all objects.
pub(in crate::system) fn comments(catalog: &Catalog) -> impl Iterator<Item = Comment<'_>> {
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
