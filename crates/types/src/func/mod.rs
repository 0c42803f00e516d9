//! Functions and operators: a registry by name, filled by one file per family.
//!
//! ```text
//! binder    resolve_function("substr", [text, unknown]) ──► Resolved { function, args: [text, int4], result: text }
//!                                                            │ casts its arguments to `args`
//! executor  function.call(&Call { env, args, result }, &values) ──► Value
//! ```
//!
//! A signature is written as in PostgreSQL's documentation: `lower(text) text`, `+(int4, int4) int4`,
//! `concat(variadic any) text`. Operators are functions whose name is not a word.

mod args;
mod array;
pub mod assign;
mod bits;
mod bytes;
mod comparison;
mod date_part;
mod datetime;
mod degrees;
mod enums;
mod float;
mod hash;
mod ident;
mod int;
mod json;
mod json_edit;
mod json_make;
mod json_records;
mod json_rows;
mod jsonpath;
mod like;
mod macaddr;
mod misc;
mod money;
mod named;
mod network;
mod numeric;
mod overlaps;
mod path_flags;
mod range;
mod regexp;
mod resolve;
mod sizes;
mod spans;
mod system;
mod text;
mod text_format;
mod timetz;
mod tochar;
mod todate;
mod tonumber;

pub use comparison::Comparison;
pub use float::random;
pub use json_records::{Form, JsonRecords};
pub use json_rows::JsonRows;
pub use jsonpath::path_rows;
pub use like::{Like, Parts as LikeParts};
pub use named::{Parameter, named_parameters};
pub use regexp::{Regex, regexp_matches};
pub use resolve::{
    Resolved, ambiguous_function, common_type, has_exactly, missing_function, quote_types, resolve_call,
    resolve_function, resolve_operator,
};

pub(crate) use json_make::{key_text, to_json, to_jsonb};
pub(crate) use path_flags::PathFlags;
pub(crate) use resolve::choose_aggregate;
pub use text_format::quote_ident;

use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::numeric::Exact;
use crate::ty::{Base, Type};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a function's result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// The arguments only.
    Immutable,
    /// The session and the transaction too: the same within a statement.
    Stable,
    /// Every call may differ.
    Volatile,
}

/// The type of a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// A certain type.
    Type(Type),
    /// `anyelement`: any type, the same for all.
    AnyElement,
    /// `anynonarray`: as `anyelement`, and no array.
    AnyNonArray,
    /// `anyarray`: arrays of what `anyelement` is.
    AnyArray,
    /// `anyenum`: as `anyelement`, and of an enum type.
    AnyEnum,
    /// `anyrange`: ranges of what `anyelement` is.
    AnyRange,
    /// `anycompatible`: the common type of all.
    AnyCompatible,
    /// `anycompatiblenonarray`: as `anycompatible`, and no array.
    AnyCompatibleNonArray,
    /// `anycompatiblearray`: arrays of what `anycompatible` is.
    AnyCompatibleArray,
    /// `"any"`: any types.
    Any,
}

impl Param {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "any" => Self::Any,
            "anyelement" => Self::AnyElement,
            "anynonarray" => Self::AnyNonArray,
            "anyarray" => Self::AnyArray,
            "anyenum" => Self::AnyEnum,
            "anyrange" => Self::AnyRange,
            "anycompatible" => Self::AnyCompatible,
            "anycompatiblenonarray" => Self::AnyCompatibleNonArray,
            "anycompatiblearray" => Self::AnyCompatibleArray,
            _ => {
                let (name, array) = text.strip_suffix("[]").map_or((text, false), |name| (name, true));
                let ty = Type::by_typname(name)?;
                Self::Type(if array { ty.to_array()? } else { ty })
            }
        })
    }
}

/// What a call is made with, besides the values.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The session.
    pub env: &'a Env,
    /// The types of the arguments, as they are passed.
    pub args: &'a [Type],
    /// The type of the result, as it was resolved.
    pub result: Type,
    /// Asked now and then by what may take long.
    pub interrupt: Interrupt<'a>,
}

/// Whether a long computation is still wanted, and how large its value may become.
#[derive(Clone, Copy)]
pub struct Interrupt<'a> {
    check: &'a dyn Fn() -> Result<()>,
    room: usize,
}

impl<'a> Interrupt<'a> {
    /// One that asks `check`, whose error ends the computation, as more than `room` bytes do.
    pub fn new(check: &'a dyn Fn() -> Result<()>, room: usize) -> Self {
        Self { check, room }
    }

    /// Never interrupts.
    pub fn never() -> Self {
        Self { check: &|| Ok(()), room: usize::MAX }
    }

    /// Asks whether it is still wanted.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(self) -> Result<()> {
        (self.check)()
    }

    /// Whether a value of so many bytes is not too large.
    pub(crate) fn admit(self, bytes: usize) -> Result<()> {
        if bytes <= self.room {
            return Ok(());
        }
        let what = format!("the statement needs more than {} kB for values", self.room >> 10);
        Err(SqlError::new(SqlState::OUT_OF_MEMORY, what).hint("Raise work_mem, or restrict the rows."))
    }
}

impl std::fmt::Debug for Interrupt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupt")
    }
}

/// The code of a function.
pub type Code = fn(&Call<'_>, &[Value]) -> Result<Value>;

/// Code for the most common argument types, without values in between.
#[derive(Clone, Copy, Debug)]
pub enum Fast {
    /// There is no such code.
    None,
    /// Of two int4.
    Int4(fn(i32, i32) -> Result<i32>),
    /// Of two int8.
    Int8(fn(i64, i64) -> Result<i64>),
    /// Of two float8.
    Float8(fn(f64, f64) -> Result<f64>),
    /// Of two numerics.
    Numeric(Exact),
    /// A comparison: of integers of any width, of floats of any, or of two values of one type by their order.
    Comparison(Comparison),
}

/// A function or an operator.
#[derive(Debug)]
pub struct Function {
    /// Its name, in lower case.
    pub name: &'static str,
    /// The types of its parameters; of a variadic one the last repeats.
    pub params: Vec<Param>,
    /// Whether the last parameter repeats.
    pub variadic: bool,
    /// The type of its result.
    pub result: Param,
    /// Whether NULL for an argument gives NULL without a call.
    pub strict: bool,
    /// What the result depends on.
    pub volatility: Volatility,
    /// Faster code, for some.
    pub fast: Fast,
    code: Code,
}

impl Function {
    /// Calls it. NULLs are taken care of if it is strict.
    ///
    /// # Errors
    ///
    /// What the function answers.
    #[inline]
    pub fn call(&self, call: &Call<'_>, args: &[Value]) -> Result<Value> {
        if self.strict && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (self.code)(call, args)
    }

    /// A function that is not of this crate, and not in its registry; `None` if that is no signature.
    pub fn native(signature: &'static str, strict: bool, volatility: Volatility, code: Code) -> Option<Self> {
        Some(Self { strict, volatility, ..parse_signature(signature, code)? })
    }

    /// Whether it is an operator.
    pub fn is_operator(&self) -> bool {
        !self.name.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// Collects the functions of the families.
struct Registry {
    by_name: HashMap<&'static str, Vec<Function>>,
}

/// What most functions are.
#[derive(Clone, Copy)]
struct Traits {
    strict: bool,
    volatility: Volatility,
    fast: Fast,
}

const PURE: Traits = Traits { strict: true, volatility: Volatility::Immutable, fast: Fast::None };

impl Registry {
    /// Adds a function that is strict and immutable.
    fn add(&mut self, signature: &'static str, code: Code) {
        self.with(PURE, signature, code);
    }

    /// Adds a function that depends on the session.
    fn stable(&mut self, signature: &'static str, code: Code) {
        self.with(Traits { volatility: Volatility::Stable, ..PURE }, signature, code);
    }

    /// Adds a function that takes NULLs.
    fn nullable(&mut self, signature: &'static str, code: Code) {
        self.with(Traits { strict: false, ..PURE }, signature, code);
    }

    /// Adds a function that takes NULLs and depends on the session.
    fn stable_nullable(&mut self, signature: &'static str, code: Code) {
        self.with(Traits { strict: false, volatility: Volatility::Stable, ..PURE }, signature, code);
    }

    /// Adds a function whose calls differ.
    fn volatile(&mut self, signature: &'static str, code: Code) {
        self.with(Traits { volatility: Volatility::Volatile, ..PURE }, signature, code);
    }

    /// Adds an operator that has fast code.
    fn fast(&mut self, fast: Fast, signature: &'static str, code: Code) {
        self.with(Traits { fast, ..PURE }, signature, code);
    }

    fn with(&mut self, traits: Traits, signature: &'static str, code: Code) {
        let Some(mut function) = parse_signature(signature, code) else {
            unreachable!("the signature `{signature}` is one of ours, and a test reads them all")
        };
        function.strict = traits.strict;
        function.volatility = traits.volatility;
        function.fast = traits.fast;
        self.by_name.entry(function.name).or_default().push(function);
    }
}

fn parse_signature(signature: &'static str, code: Code) -> Option<Function> {
    let (name, rest) = signature.split_once('(')?;
    let (params, result) = rest.rsplit_once(')')?;
    let mut variadic = false;
    let mut found = Vec::new();
    for param in params.split(',').map(str::trim).filter(|param| !param.is_empty()) {
        let (last, param) = param.strip_prefix("variadic ").map_or((false, param), |param| (true, param));
        variadic |= last;
        found.push(Param::parse(param)?);
    }
    Some(Function {
        name: name.trim(),
        params: found,
        variadic,
        result: Param::parse(result.trim())?,
        strict: true,
        volatility: Volatility::Immutable,
        fast: Fast::None,
        code,
    })
}

/// The signature of an aggregate, as a function that is never called.
pub(crate) fn aggregate_signature(signature: &'static str) -> Option<Function> {
    parse_signature(signature, |_, _| Err(SqlError::internal("an aggregate was called as a function")))
}

static REGISTRY: LazyLock<HashMap<&'static str, Vec<Function>>> = LazyLock::new(|| {
    let mut registry = Registry { by_name: HashMap::new() };
    for register in [
        comparison::register,
        int::register,
        enums::register,
        float::register,
        hash::register,
        sizes::register,
        degrees::register,
        numeric::register,
        text::register,
        text_format::register,
        ident::register,
        like::register,
        regexp::register,
        bits::register,
        bytes::register,
        json::register,
        json_edit::register,
        json_make::register,
        jsonpath::register,
        array::register,
        datetime::register,
        overlaps::register,
        range::register,
        timetz::register,
        tochar::register,
        todate::register,
        tonumber::register,
        macaddr::register,
        misc::register,
        money::register,
        network::register,
        system::register,
    ] {
        register(&mut registry);
    }
    registry.by_name
});

/// All functions of a name.
pub fn functions_named(name: &str) -> &'static [Function] {
    REGISTRY.get(name).map_or(&[], Vec::as_slice)
}

/// All functions and operators: what `pg_proc` and `pg_operator` show.
pub fn all_functions() -> impl Iterator<Item = &'static Function> {
    REGISTRY.values().flatten()
}

/// The type of the elements of an array argument.
fn element_of(ty: Type) -> Type {
    ty.element().unwrap_or(Type::of(Base::Text))
}
