//! The functions of the system that `pg_proc` lists, with the oids that they have in PostgreSQL: all that are called
//! with values alone. Clients look up which functions there are for a type, and a migration which ones it may call.

use scaledb_types::aggregate::aggregate_signatures;
use scaledb_types::func::{Parameter, named_parameters};
use scaledb_types::{Base, Function, Param, Polymorphic, Type, all_functions};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A name a line, and of each of its functions the oids of its parameters' types with its own.
const OIDS: &str = include_str!("builtins.txt");

/// The oid of the type `"any"`, which no value has.
pub(super) const ANY: u32 = 2_276;

/// A function of the system.
pub(super) struct Builtin {
    pub oid: u32,
    pub function: &'static Function,
    pub is_aggregate: bool,
    /// The oids of its parameters' types; one that repeats is an array.
    pub args: Vec<u32>,
    pub result: u32,
}

impl Builtin {
    /// The names of its parameters and the texts of their defaults, if they have names.
    pub(super) fn names(&self) -> Option<&'static [Parameter]> {
        named_parameters(self.function.name).filter(|parameters| parameters.len() == self.args.len())
    }
}

/// All of them, by their oids.
static BUILTINS: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
    let oids = oids();
    let functions =
        all_functions().filter(|function| !function.is_operator()).map(|function| (function, false));
    let aggregates = aggregate_signatures().map(|function| (function, true));
    let of = |(function, is_aggregate): (&'static Function, bool)| {
        let args = parameters_of(function)?;
        let oid = *oids.get(&(function.name, args.clone()))?;
        Some(Builtin { oid, function, is_aggregate, args, result: oid_of(function.result)? })
    };
    let mut all: Vec<Builtin> = functions.chain(aggregates).filter_map(of).collect();
    all.sort_unstable_by_key(|builtin| builtin.oid);
    all
});

/// What [`OIDS`] says: of a name and its parameters.
fn oids() -> HashMap<(&'static str, Vec<u32>), u32> {
    let of_line = |line: &'static str| {
        let (name, each) = line.split_once(' ')?;
        Some(each.split(' ').filter_map(move |one| {
            let (args, oid) = one.split_once('=')?;
            let args =
                args.split(',').filter(|arg| !arg.is_empty()).map(str::parse).collect::<Result<_, _>>();
            Some(((name, args.ok()?), oid.parse().ok()?))
        }))
    };
    OIDS.lines().filter_map(of_line).flatten().collect()
}

/// The oids of the types of a function's parameters.
fn parameters_of(function: &Function) -> Option<Vec<u32>> {
    let last = function.params.len().checked_sub(1);
    let each = function.params.iter().enumerate().map(|(at, param)| match param {
        Param::Type(ty) if function.variadic && Some(at) == last => ty.to_array().map(Type::oid),
        param => oid_of(*param),
    });
    each.collect()
}

fn oid_of(param: Param) -> Option<u32> {
    let polymorphic = match param {
        Param::Type(ty) => return Some(ty.oid()),
        Param::Any => return Some(ANY),
        Param::AnyElement => Polymorphic::Element,
        Param::AnyNonArray => Polymorphic::NonArray,
        Param::AnyArray => Polymorphic::Array,
        Param::AnyEnum => Polymorphic::Enum,
        Param::AnyRange => Polymorphic::Range,
        Param::AnyCompatible => Polymorphic::Compatible,
        Param::AnyCompatibleNonArray => Polymorphic::CompatibleNonArray,
        Param::AnyCompatibleArray => Polymorphic::CompatibleArray,
    };
    Some(Type::of(Base::Polymorphic(polymorphic)).oid())
}

/// All of them.
pub(super) fn builtins() -> &'static [Builtin] {
    &BUILTINS
}

/// The one of an oid.
pub(super) fn builtin(oid: u32) -> Option<&'static Builtin> {
    let at = BUILTINS.binary_search_by_key(&oid, |builtin| builtin.oid).ok()?;
    BUILTINS.get(at)
}

/// Those of a name.
pub(super) fn builtins_named(name: &str) -> impl Iterator<Item = &'static Builtin> {
    BUILTINS.iter().filter(move |builtin| builtin.function.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_oid_is_of_a_function_that_there_is_not() {
        let listed: Vec<u32> = builtins().iter().map(|builtin| builtin.oid).collect();
        let mut left: Vec<_> = oids().into_iter().filter(|(_, oid)| !listed.contains(oid)).collect();
        left.sort_unstable();
        assert!(left.is_empty(), "{left:?}");
        let mut once = listed.clone();
        once.dedup();
        assert_eq!(once, listed);
    }
}
