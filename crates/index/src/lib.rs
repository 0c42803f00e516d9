//!
pub mod btree;
pub mod hash;
pub mod indexlet;
pub mod phantomlet;
