//! Types, values, functions and errors of SQL, with PostgreSQL 15's semantics.
//!
//! ```text
//!   text, binary            Value::parse, write_text, from_binary, write_binary
//!        │
//!   ┌────▼────┐  operators, functions, casts, aggregates
//!   │  Value  │◄──────────────────────────────────────── found by name and argument types
//!   └────┬────┘
//!        │
//!   rows, index keys        Value::store, load, write_key
//! ```
//!
//! A [`Value`] does not know its [`Type`]: the binder does, once per statement. Text compares by bytes, which is the
//! "C" collation. Nothing here does I/O or knows of tables; what a session sets is in [`Env`].

mod abbreviations;
pub mod aggregate;
pub mod array;
mod array_text;
mod binary;
pub mod bits;
pub mod calendar;
pub mod cast;
mod compare;
mod datetime;
pub mod domains;
pub mod enums;
pub mod env;
pub mod error;
mod float;
pub mod func;
pub mod interval;
mod interval_parse;
mod interval_text;
pub mod json;
pub mod jsonpath;
mod macaddr;
mod money;
pub mod network;
pub mod numeric;
pub mod ordered_set;
pub mod polymorphic;
pub mod range;
mod record;
pub mod storage;
mod tagged;
mod text;
mod timetz;
pub mod ty;
mod typename;
pub mod value;
mod weight;
pub mod zone;

pub use aggregate::{
    Accumulator, Aggregate, ResolvedAggregate, hypothetical_aggregate, is_aggregate, resolve_aggregate,
};
pub use array::{Array, Dimension};
pub use bits::Bits;
pub use cast::{Cast, Context, apply_typmod, find_cast, no_cast};
pub use domains::DomainType;
pub use enums::{EnumType, EnumValue, Label};
pub use env::{ByteaOutput, DateOrder, DateStyle, Env, IntervalStyle};
pub use error::{Result, SqlError, SqlState};
pub use func::{
    Call, Comparison, Fast, Function, Like, LikeParts, Param, Regex, Resolved, Volatility, all_functions,
    common_type, functions_named, resolve_call, resolve_function, resolve_operator,
};
pub use interval::Interval;
pub use json::Json;
pub use jsonpath::JsonPath;
pub use network::Inet;
pub use numeric::Numeric;
pub use polymorphic::Polymorphic;
pub use range::{Bound, Range, RangeType};
pub use record::{Fields, MAX_RECORD_DEPTH, Record, row_to_json, row_to_jsonb};
pub use storage::{KeyForm, Storage, Stored};
pub use text::{NAME_LENGTH, utf8};
pub use timetz::Timetz;
pub use ty::{Base, Category, Type};
pub use value::{Text, Value};
pub use weight::{row_weight, weight};
pub use zone::Zone;
