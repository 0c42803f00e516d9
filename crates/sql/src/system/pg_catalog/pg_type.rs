//! `pg_type`: types that are always there, enum types, domains, and those of the rows of relations.

use crate::system::Facts;
use crate::system::oids::{collation, row_type, schema_oid};
use crate::system::printed::printed_as;
use crate::system::privileges::changed;
use crate::system::seen::is_array;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use crate::system::type_functions::{ARRAY, DOMAIN, functions_of};
use scaledb_catalog::{Catalog, DomainDesc, Relation};
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
    let all = Base::all().chain(scaledb_types::Polymorphic::ALL.map(Base::Polymorphic));
    let built_in = all.map(|base| (Type::of(base), 11));
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
            let [input, output, receive, send] = functions_of(ty).map(|(oid, _)| oid);
            let kind = match base {
                Base::Unknown | Base::Void | Base::Record | Base::Polymorphic(_) => b'p',
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
                    .oid("typinput", input)
                    .oid("typoutput", output)
                    .oid("typreceive", receive)
                    .oid("typsend", send)
                    .oid("typarray", if ty.array { 0 } else { array.map_or(0, Type::oid) })
                    .letter("typalign", b'i')
                    .letter("typstorage", if ty.len() < 0 { b'x' } else { b'p' })
                    .int4("typtypmod", -1)
                    .oid("typcollation", collation(ty)),
            );
        }
    }
    for desc in catalog.domains() {
        rows.extend(of_domain(facts, desc));
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

/// A domain, and the type of arrays of it.
fn of_domain(facts: &dyn Facts, desc: &DomainDesc) -> Vec<Row> {
    let catalog = facts.catalog();
    let Some(ty) = catalog.type_of_oid(desc.oid) else { return Vec::new() };
    let base = ty.value_type();
    let row = |oid: u32, name: &str| {
        Row::of(&TABLE)
            .oid("oid", oid)
            .text("typname", name)
            .oid("typnamespace", schema_oid(catalog, &desc.schema))
            .oid("typowner", catalog.owner_of(desc.oid))
            .flag("typisdefined", true)
            .letter("typdelim", b',')
            .letter("typalign", b'i')
    };
    let own_base = catalog.type_of_oid(desc.type_oid);
    let default = desc
        .default
        .as_ref()
        .map(|text| printed_as(facts, own_base.unwrap_or(base).with_typmod(desc.typmod), text));
    let [_, output, _, send] = functions_of(base).map(|(oid, _)| oid);
    let own = row(desc.oid, &desc.name)
        .set("typacl", changed(facts, desc.oid))
        .set("typlen", Value::Int2(base.len()))
        .flag("typbyval", (1..=8).contains(&base.len()))
        .letter("typtype", b'd')
        .letter("typcategory", base.category() as u8)
        .oid("typinput", DOMAIN[0].0)
        .oid("typreceive", DOMAIN[1].0)
        .oid("typoutput", output)
        .oid("typsend", send)
        .oid("typarray", desc.array_oid)
        .letter("typstorage", if base.len() < 0 { b'x' } else { b'p' })
        .flag("typnotnull", desc.not_null)
        .oid("typbasetype", desc.type_oid)
        .int4("typtypmod", desc.typmod)
        .int4("typndims", i32::from(own_base.is_some_and(is_array)))
        .oid("typcollation", collation(base))
        .set("typdefaultbin", default.clone().map_or(Value::Null, Value::from))
        .set("typdefault", default.map_or(Value::Null, Value::from));
    let arrays = row(desc.array_oid, &format!("_{}", desc.name))
        .set("typlen", Value::Int2(-1))
        .letter("typtype", b'b')
        .letter("typcategory", b'A')
        .oid("typelem", desc.oid)
        .oid("typinput", ARRAY[0].0)
        .oid("typoutput", ARRAY[1].0)
        .oid("typreceive", ARRAY[2].0)
        .oid("typsend", ARRAY[3].0)
        .letter("typstorage", b'x')
        .int4("typtypmod", -1)
        .oid("typcollation", collation(base));
    vec![own, arrays]
}

/// The owner of a type; arrays are those of the owner of their elements.
fn owner_of(catalog: &Catalog, ty: Type) -> u32 {
    catalog.owner_of(ty.element().filter(|_| ty.array).unwrap_or(ty).oid())
}
