//! Histories, checkers and models that verify ScaleDB.

pub mod model;
pub mod reference;
