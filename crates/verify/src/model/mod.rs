//! The protocol model.

pub mod cached;
pub mod cases;
pub mod explorer;
pub mod history;
pub mod program;
pub mod protocol;
pub mod published;
pub mod random;
pub mod tree;
