//! Histories, checkers and models that verify ScaleDB.

pub mod history;
pub mod model;
pub mod reference;
