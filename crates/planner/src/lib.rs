//! From syntax trees to plans: what a statement means, and how it is run.
//!
//! ```text
//!   bind/        syntax tree ─► plan: names, types, operators
//!   optimize/    which index serves, in which order tables are joined
//!   plan/        operators and expressions: what is run
//!   functions/   functions as plans hold them
//! ```
//!
//! A plan is bound to the catalog of one moment; whoever runs it compares that this moment still holds. Nothing here
//! runs anything but functions of constants.

// fields and variants are named by the words of SQL; what else is public has its comment
#![allow(missing_docs)]

pub mod bind;
pub mod functions;
pub mod optimize;
pub mod plan;
