//! `pg_type`: types that are always there, enum types, and those of the rows of relations.

use crate::system::Facts;
use crate::system::oids::{
    ARRAY_FUNCTIONS, ENUM_FUNCTIONS, RANGE_FUNCTIONS, collation, row_type, schema_oid,
};
use crate::system::privileges::changed;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::{Catalog, Relation};
use scaledb_types::{Base, Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_type", oid: 1247, rows,
    columns: &[
        ("oid", Type::OID), ("typname", Type::NAME), ("typnamespace", Type::OID), ("typowner", Type::OID),
        ("typlen", Type::INT2), ("typbyval", Type::BOOL), ("typtype", Type::CHAR), ("typcategory", Type::CHAR),
        ("typispreferred", Type::BOOL), ("typisdefined", Type::BOOL), ("typdelim", Type::CHAR),
        ("typrelid", Type::OID), ("typsubscript", Type::REGPROC), ("typelem", Type::OID), ("typarray", Type::OID),
        ("typinput", Type::REGPROC), ("typoutput", Type::REGPROC), ("typreceive", Type::REGPROC),
        ("typsend", Type::REGPROC), ("typmodin", Type::REGPROC), ("typmodout", Type::REGPROC),
        ("typanalyze", Type::REGPROC), ("typalign", Type::CHAR), ("typstorage", Type::CHAR),
        ("typnotnull", Type::BOOL), ("typbasetype", Type::OID), ("typtypmod", Type::INT4), ("typndims", Type::INT4),
        ("typcollation", Type::OID), ("typdefaultbin", Type::TEXT), ("typdefault", Type::TEXT), ("typacl", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    let built_in = Base::all().map(|base| (Type::of(base), 11));
    let enums = catalog
        .enums()
        .filter_map(|desc| Some((catalog.type_of_oid(desc.oid)?, schema_oid(catalog, &desc.schema))));
    for (ty, schema) in built_in.chain(enums) {
        let base = ty.base;
        let array = ty.to_array();
        for ty in std::iter::once(ty).chain(array) {
            let name = ty.name();
            let element =
                ty.element().filter(|_| ty.array || base == Base::Int2vector || base == Base::Oidvector);
            let functions = match base {
                _ if ty.array => Some(ARRAY_FUNCTIONS),
                Base::Enum(_) => Some(ENUM_FUNCTIONS),
                Base::Range(_) => Some(RANGE_FUNCTIONS),
                _ => None,
            };
            let kind = match base {
                Base::Unknown | Base::Void | Base::Record => b'p',
                Base::Enum(_) if !ty.array => b'e',
                Base::Range(_) if !ty.array => b'r',
                _ => b'b',
            };
            rows.push(
                Row::of(&TABLE)
                    .oid("oid", ty.oid())
                    .text("typname", &name)
                    .oid("typnamespace", schema)
                    .oid("typowner", owner_of(catalog, ty))
                    .set("typacl", if ty.array { Value::Null } else { changed(facts, ty.oid()) })
                    .set("typlen", Value::Int2(ty.len()))
                    .flag("typbyval", (1..=8).contains(&ty.len()))
                    .letter("typtype", kind)
                    .letter("typcategory", ty.category() as u8)
                    .flag("typispreferred", ty.is_preferred())
                    .flag("typisdefined", true)
                    .letter("typdelim", b',')
                    .oid("typelem", element.map_or(0, Type::oid))
                    .oid("typinput", functions.map_or(0, |all| all[0].0))
                    .oid("typoutput", functions.map_or(0, |all| all[1].0))
                    .oid("typreceive", functions.map_or(0, |all| all[2].0))
                    .oid("typsend", functions.map_or(0, |all| all[3].0))
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
            Row::of(&TABLE)
                .oid("oid", row_type(relation.oid()))
                .text("typname", relation.name())
                .oid("typnamespace", schema_oid(catalog, relation.schema()))
                .oid("typowner", catalog.owner_of(relation.oid()))
                .set("typlen", Value::Int2(-1))
                .letter("typtype", b'c')
                .letter("typcategory", b'C')
                .flag("typisdefined", true)
                .letter("typdelim", b',')
                .oid("typrelid", relation.oid())
                .int4("typtypmod", -1),
        );
    }
    Ok(rows)
}

/// The owner of a type; arrays are those of the owner of their elements.
fn owner_of(catalog: &Catalog, ty: Type) -> u32 {
    catalog.owner_of(ty.element().filter(|_| ty.array).unwrap_or(ty).oid())
}
