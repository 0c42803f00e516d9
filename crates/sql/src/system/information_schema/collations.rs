//! `information_schema.collations`, `character_sets`, and which of them go together.

use crate::system::Facts;
use crate::system::pg_catalog::COLLATIONS;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const COLLATIONS_VIEW: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "collations", oid: 13031, rows: collations,
    columns: &[
        ("collation_catalog", Type::NAME), ("collation_schema", Type::NAME), ("collation_name", Type::NAME),
        ("pad_attribute", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const CHARACTER_SETS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "character_sets", oid: 13032, rows: sets,
    columns: &[
        ("character_set_catalog", Type::NAME), ("character_set_schema", Type::NAME),
        ("character_set_name", Type::NAME), ("character_repertoire", Type::NAME),
        ("form_of_use", Type::NAME), ("default_collate_catalog", Type::NAME),
        ("default_collate_schema", Type::NAME), ("default_collate_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const APPLICABILITY: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "collation_character_set_applicability", oid: 13033, rows: applicable,
    columns: &[
        ("collation_catalog", Type::NAME), ("collation_schema", Type::NAME), ("collation_name", Type::NAME),
        ("character_set_catalog", Type::NAME), ("character_set_schema", Type::NAME),
        ("character_set_name", Type::NAME),
    ],
};

const ENCODING: &str = "UTF8";

fn each(facts: &dyn Facts, view: &'static SystemCatalog) -> impl Iterator<Item = Row> {
    COLLATIONS.into_iter().map(|(_, name, _)| {
        Row::empty(view)
            .text("collation_catalog", facts.names().1)
            .text("collation_schema", "pg_catalog")
            .text("collation_name", name)
    })
}

fn collations(facts: &dyn Facts) -> Result<Vec<Row>> {
    Ok(each(facts, &COLLATIONS_VIEW).map(|row| row.text("pad_attribute", "NO PAD")).collect())
}

fn applicable(facts: &dyn Facts) -> Result<Vec<Row>> {
    Ok(each(facts, &APPLICABILITY).map(|row| row.text("character_set_name", ENCODING)).collect())
}

fn sets(facts: &dyn Facts) -> Result<Vec<Row>> {
    let row = Row::empty(&CHARACTER_SETS)
        .text("character_set_name", ENCODING)
        .text("character_repertoire", "UCS")
        .text("form_of_use", ENCODING)
        .text("default_collate_catalog", facts.names().1)
        .text("default_collate_schema", "pg_catalog")
        .text("default_collate_name", "C");
    Ok(vec![row])
}
