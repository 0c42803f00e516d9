//! Rows: column types, schemas, the byte layout of a row, and typed access to it.
//!
//! A row is a sequence of 8-byte words, so that it can be kept in atomic words and be read while it is
//! written (the reader then finds that the record's version moved).
//!
//! ```text
//! ┌── group 0 ────────────────────────────────┐┌── group 1 ──────┐ ... ┌── var area (group 0) ──┐
//! │ 8-byte columns and var slots (offset,len) ││ 8-byte columns  │     │ bytes of var column 0  │
//! │ 4-byte, 2-byte, 1-byte, fixed-byte columns││ 4, 2, 1, fixed  │     │ padded to a word       │
//! │ null bits                                 ││ null bits       │     │ bytes of var column 1  │
//! └───────────────── whole words ─────────────┘└─── whole words ─┘     └────────────────────────┘
//! ```
//!
//! A *conflict group* is a set of columns with a version word of its own in the record: transactions
//! that touch different groups of a row do not collide. Groups share no word, so that two of them can be
//! written at the same time. Variable-length columns belong to group 0.
//!
//! A table may have a *tail*: words at the end of the var area that no slot names. Rows in which it is empty are as
//! long as without it. SQL keeps the values of columns there that a table has got since it was made.

mod delta;
mod edit;
mod integer;
mod key_value;
mod layout;
mod projection;
mod schema;
mod types;
mod view;

pub use delta::Malformed;
pub use edit::{RowBuf, RowMut};
pub use integer::IntegerPlace;
pub use key_value::read_key;
pub use layout::{GroupSet, Layout};
pub use projection::{ColumnSet, Projection, Span};
pub use schema::{Column, KeyPart, KeySpec, Schema};
pub use types::{ColumnType, Datum};
pub use view::RowRef;
