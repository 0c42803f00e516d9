//! `pg_proc`: functions and procedures that somebody has written, and those of the system that clients look up.

use crate::system::Facts;
use crate::system::builtins::{Builtin, builtins};
use crate::system::oids::{OWNER, row_type, schema_oid};
use crate::system::privileges::changed;
use crate::system::routines::{TRIGGER, language_oid, library};
use crate::system::table::{OIDS, Row, SystemCatalog, vector};
use crate::system::type_functions::type_functions;
use scaledb_catalog::{Catalog, Language, ParameterMode, Returned, RoutineDesc, RoutineKind, Volatility};
use scaledb_types::{Array, Base, Param, Polymorphic, Result, Type, Value};
use std::sync::{Arc, LazyLock};

const TEXTS: Type = Type::array_of(Base::Text);

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_proc", oid: 1255, rows,
    columns: &[
        ("oid", Type::OID), ("proname", Type::NAME), ("pronamespace", Type::OID), ("proowner", Type::OID),
        ("prolang", Type::OID), ("procost", Type::FLOAT4), ("prorows", Type::FLOAT4), ("provariadic", Type::OID),
        ("prosupport", Type::REGPROC), ("prokind", Type::CHAR), ("prosecdef", Type::BOOL),
        ("proleakproof", Type::BOOL), ("proisstrict", Type::BOOL), ("proretset", Type::BOOL),
        ("provolatile", Type::CHAR), ("proparallel", Type::CHAR), ("pronargs", Type::INT2),
        ("pronargdefaults", Type::INT2), ("prorettype", Type::OID), ("proargtypes", Type::OIDVECTOR),
        ("proallargtypes", OIDS), ("proargmodes", Type::array_of(Base::Char)), ("proargnames", TEXTS),
        ("proargdefaults", Type::TEXT), ("protrftypes", OIDS), ("prosrc", Type::TEXT), ("probin", Type::TEXT), ("prosqlbody", Type::TEXT),
        ("proconfig", TEXTS), ("proacl", TEXTS),
    ],
};

/// Those of the system, which are the same for all: clients ask for them when they connect.
static OF_SYSTEM: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let of_types = type_functions().map(|(oid, function)| {
        let row = Row::of(&TABLE).oid("oid", oid).text("proname", function).oid("pronamespace", 11);
        row.oid("proowner", OWNER).letter("prokind", b'f').oid("prolang", 12)
    });
    // what reads and writes the values of a type may be called as well
    let known: Vec<u32> = type_functions().map(|(oid, _)| oid).collect();
    let others = builtins().iter().filter(|builtin| !known.contains(&builtin.oid));
    of_types.chain(others.map(of_builtin)).collect()
});

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let own = facts.catalog().routines().map(|desc| row(facts, desc));
    Ok(OF_SYSTEM.iter().cloned().chain(own).collect())
}

fn of_builtin(builtin: &Builtin) -> Row {
    let function = builtin.function;
    let volatility = match function.volatility {
        scaledb_types::Volatility::Immutable => b'i',
        scaledb_types::Volatility::Stable => b's',
        scaledb_types::Volatility::Volatile => b'v',
    };
    let given = builtin.args.iter().copied().map(Value::Oid).collect();
    let mut row = Row::of(&TABLE)
        .oid("oid", builtin.oid)
        .text("proname", function.name)
        .oid("pronamespace", 11)
        .oid("proowner", OWNER)
        .oid("prolang", 12)
        .set("procost", Value::Float4(1.0))
        .set("prorows", Value::Float4(0.0))
        .letter("prokind", if builtin.is_aggregate { b'a' } else { b'f' })
        .flag("prosecdef", false)
        .flag("proleakproof", false)
        .flag("proisstrict", function.strict && !builtin.is_aggregate)
        .flag("proretset", false)
        .letter("provolatile", volatility)
        .letter("proparallel", b's')
        .int2("pronargs", builtin.args.len())
        .oid("prorettype", builtin.result)
        .set("proargtypes", vector(Type::OID, given))
        .text("prosrc", function.name);
    if let Some(names) = builtin.names() {
        let texts = names.iter().map(|(name, _)| Value::text(*name)).collect();
        row = row.set("proargnames", array(Type::TEXT, texts));
        row = row.int2("pronargdefaults", names.iter().filter(|(_, default)| default.is_some()).count());
    }
    if function.variadic {
        let element = match function.params.last() {
            Some(Param::Type(ty)) => ty.oid(),
            _ => builtin.args.last().copied().unwrap_or(0),
        };
        row = row.oid("provariadic", element);
    }
    row
}

fn array(element: Type, values: Vec<Value>) -> Value {
    Value::Array(Arc::new(Array::new(element, values)))
}

fn row(facts: &dyn Facts, desc: &RoutineDesc) -> Row {
    let catalog = facts.catalog();
    let returned = match desc.returns {
        // a procedure that returns nothing is one that returns void
        Returned::Nothing => Type::VOID.oid(),
        Returned::Trigger => TRIGGER,
        Returned::Value(oid) => oid,
        Returned::Parameters | Returned::Record => Type::RECORD.oid(),
        Returned::Row(oid) => row_type(oid),
    };
    let volatility = match desc.volatility {
        Volatility::Immutable => b'i',
        Volatility::Stable => b's',
        Volatility::Volatile => b'v',
    };
    let given: Vec<Value> = desc.given().map(|parameter| Value::Oid(parameter.type_oid)).collect();
    let row = Row::of(&TABLE)
        .oid("oid", desc.oid)
        .text("proname", &desc.name)
        .oid("pronamespace", schema_oid(catalog, &desc.schema))
        .oid("proowner", catalog.owner_of(desc.oid))
        .set("proacl", changed(facts, desc.oid))
        .flag("prosecdef", desc.security_definer)
        .oid("prolang", language_oid(desc.language))
        .set("procost", Value::Float4(100.0))
        .set("prorows", Value::Float4(if desc.set { 1_000.0 } else { 0.0 }))
        .letter("prokind", if desc.kind == RoutineKind::Procedure { b'p' } else { b'f' })
        .flag("proisstrict", desc.strict)
        .flag("proretset", desc.set)
        .letter("provolatile", volatility)
        .letter("proparallel", b'u')
        .int2("pronargs", given.len())
        .int2("pronargdefaults", desc.given().filter(|parameter| parameter.default.is_some()).count())
        .oid("prorettype", returned)
        .set("proargtypes", vector(Type::OID, given))
        .text("prosrc", &desc.body);
    let mut row = match desc.language {
        Language::C => row.text("probin", &library(facts, desc)),
        Language::Sql | Language::PlPgSql => row,
    };
    if desc.returned().next().is_some() || desc.variadic().is_some() {
        let types = desc.parameters.iter().map(|parameter| Value::Oid(parameter.type_oid)).collect();
        let modes = desc.parameters.iter().map(|parameter| {
            Value::Char(match parameter.mode {
                ParameterMode::In => b'i',
                ParameterMode::Out => b'o',
                ParameterMode::InOut => b'b',
                ParameterMode::Table => b't',
                ParameterMode::Variadic => b'v',
            })
        });
        row = row.set("proallargtypes", array(Type::OID, types));
        row = row.set("proargmodes", array(Type::CHAR, modes.collect()));
    }
    if desc.parameters.iter().any(|parameter| !parameter.name.is_empty()) {
        let names = desc.parameters.iter().map(|parameter| Value::text(parameter.name.as_str())).collect();
        row = row.set("proargnames", array(Type::TEXT, names));
    }
    if let Some(parameter) = desc.variadic() {
        row = row.oid("provariadic", element_of(catalog, parameter.type_oid));
    }
    if !desc.settings.is_empty() {
        let each = desc.settings.iter().map(|(name, value)| Value::from(format!("{name}={value}")));
        row = row.set("proconfig", array(Type::TEXT, each.collect()));
    }
    row
}

/// The oid of the type of what an array of a VARIADIC parameter holds.
fn element_of(catalog: &Catalog, array: u32) -> u32 {
    let Some(ty) = catalog.type_of_oid(array) else { return 0 };
    match Polymorphic::of_type(ty).and_then(Polymorphic::element) {
        Some(element) => Type::of(Base::Polymorphic(element)).oid(),
        None => ty.element().map_or(0, Type::oid),
    }
}
