//! What CREATE EXTENSION adds: functions that are there once a database has asked for them.
//!
//! ```text
//!  CREATE EXTENSION pgcrypto    for each function of it a descriptor in the catalog: LANGUAGE C, AS 'digest(text,text)'
//!  SELECT digest(a, 'sha256')   found as any function is; its code by its symbol: native("digest(text,text)")
//! ```
//!
//! As they are functions of the catalog, search paths, privileges, overloading and DROP are those of any function.
//! Names, versions, parameters and answers are those of the extensions that PostgreSQL 15 brings along.

mod pgcrypto;
mod uuid_ossp;

use scaledb_types::func::Code;
use scaledb_types::{Function, Value, Volatility};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a database may ask for by name. Who may CREATE in the database may add it there.
#[derive(Debug)]
pub struct Extension {
    /// Its name.
    pub name: &'static str,
    /// Its version: there is one of each.
    pub version: &'static str,
    /// What it is for.
    pub comment: &'static str,
    functions: &'static [Definition],
}

/// All extensions that there are, by name, but for PL/pgSQL, which is always there.
pub const ALL: &[Extension] = &[
    Extension {
        name: "btree_gist",
        version: "1.7",
        comment: "support for indexing common datatypes in GiST",
        // EXCLUDE compares all types without it
        functions: &[],
    },
    Extension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        functions: pgcrypto::FUNCTIONS,
    },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        functions: uuid_ossp::FUNCTIONS,
    },
];

/// The extension of a name.
pub fn extension(name: &str) -> Option<&'static Extension> {
    ALL.iter().find(|extension| extension.name == name)
}

/// A function of an extension.
struct Definition {
    /// As [`Function::native`] reads it.
    signature: &'static str,
    /// The names of its parameters, if they have any.
    names: &'static [&'static str],
    strict: bool,
    volatility: Volatility,
    code: Code,
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.signature)
    }
}

impl Definition {
    /// A function that is strict and immutable, of parameters without names.
    const fn pure(signature: &'static str, code: Code) -> Self {
        Self { signature, names: &[], strict: true, volatility: Volatility::Immutable, code }
    }

    /// The same, whose calls differ.
    const fn volatile(signature: &'static str, code: Code) -> Self {
        Self { volatility: Volatility::Volatile, ..Self::pure(signature, code) }
    }
}

/// A function of an extension with its code.
#[derive(Debug)]
pub struct Native {
    /// The function: each of its parameters, and its result, is of a certain type.
    pub function: Function,
    /// The names of its parameters, if they have any.
    pub names: &'static [&'static str],
    /// What names it in the body of its descriptor, in all versions.
    pub symbol: &'static str,
}

static NATIVES: LazyLock<BTreeMap<&'static str, Native>> = LazyLock::new(|| {
    let all = ALL.iter().flat_map(|extension| extension.functions);
    all.filter_map(|definition| {
        let native = native_of(definition)?;
        Some((native.symbol, native))
    })
    .collect()
});

fn native_of(definition: &Definition) -> Option<Native> {
    let Definition { signature, names, strict, volatility, code } = definition;
    let function = Function::native(signature, *strict, *volatility, *code)?;
    Some(Native { function, names, symbol: symbol(signature) })
}

/// A signature without its result.
fn symbol(signature: &'static str) -> &'static str {
    signature.rfind(')').map_or(signature, |end| &signature[..=end])
}

/// The function of a symbol.
pub fn native(symbol: &str) -> Option<&'static Native> {
    NATIVES.get(symbol)
}

impl Extension {
    /// Its functions.
    pub fn functions(&self) -> impl Iterator<Item = &'static Native> {
        self.functions.iter().filter_map(|definition| native(symbol(definition.signature)))
    }
}

/// The bytes of an argument that is text or bytea.
fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytea(bytes) => bytes,
        _ => &[],
    }
}

/// An argument that is text.
fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_code_and_a_symbol_of_its_own() {
        let mut count = 0;
        for extension in ALL {
            assert_eq!(extension.functions().count(), extension.functions.len(), "{}", extension.name);
            count += extension.functions.len();
        }
        assert_eq!(count, NATIVES.len());
    }

    #[test]
    fn names_of_parameters_are_as_many_as_parameters() {
        for native in NATIVES.values().filter(|native| !native.names.is_empty()) {
            assert_eq!(native.names.len(), native.function.params.len(), "{}", native.symbol);
        }
    }
}
