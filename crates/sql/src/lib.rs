//! SQL: sessions that parse, plan and run statements on an engine.
//!
//! ```text
//!   Database ── what sessions share: engine, catalog, plans, workers
//!      └─ Session ── simple │ parse, bind, execute, sync │ copy_data
//!            parse/    text ─► syntax tree              normalize: literals become parameters
//!            bind/     syntax tree ─► plan              names, types, operators
//!            plan/     operators, expressions, which index serves
//!            exec/     operators push rows upward, into a RowSink
//!            system/   catalogs that drivers read
//!            counts/   how often, how long, with what end: for views and metrics
//! ```
//!
//! Every transaction is strictly serializable. A conflict is 40001 with what it was about; a statement outside of a
//! transaction block is run again by the session.

mod activity;
mod adopted;
mod api;
mod bind;
mod cancel;
mod counts;
mod database;
mod error;
mod exec;
mod explain;
mod functions;
mod gate;
mod library;
mod memory;
mod optimize;
mod parse;
mod pins;
mod plan;
mod presets;
mod reclamation;
mod sequence;
mod session;
mod shared;
mod statistics;
mod supervisor;
mod system;
mod temporary;
mod trace;
mod workers;

pub use api::{Column, CopyInfo, Description, Executed, Notice, RowSink, Severity, Status, Step, Tag};
pub use cancel::Cancel;
pub use counts::{IndexNumbers, Latency, LatencyBucket, TableNumbers};
pub use database::Database;
pub use error::of_engine;
pub use memory::default_query_memory;
pub use parse::lex;
pub use pins::Pin;
pub use reclamation::{Held, Reclamation};
pub use session::{Rows, Session};
pub use supervisor::Supervisor;
