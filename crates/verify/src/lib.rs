//! Histories, checkers, models and a faulty disk that verify ScaleDB.

pub mod appends;
pub mod disk;
pub mod history;
pub mod level;
pub mod model;
pub mod reference;
