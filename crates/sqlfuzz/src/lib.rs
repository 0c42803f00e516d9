//! Random SQL, run on several servers that must answer the same: on ScaleDB with each engine, with and without its
//! indexes, prepared and not, and on PostgreSQL.
//!
//! ```text
//!   generate/ ── seed ─► Script: statements as trees
//!                           │ print
//!   servers/  ── PostgreSQL │ ACC │ Cicada │ without indexes │ prepared
//!                           ▼
//!   compare   ── answers ─► a difference, or none
//!                           │
//!   shrink    ── the smallest script that still shows it
//! ```
//!
//! The generator knows nothing of the servers, and the servers nothing of how a statement came about. `partition` needs
//! no second server: it asks one in two ways that must agree.

pub mod answer;
pub mod compare;
pub mod generate;
pub mod partition;
pub mod servers;
pub mod shrink;
pub mod tree;
