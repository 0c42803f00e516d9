//! From text to statements.

pub(crate) mod lex;
pub(crate) mod utility;
