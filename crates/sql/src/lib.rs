//! SQL: sessions that run statements on an engine. `scaledb-parse` makes syntax trees of their texts, `scaledb-planner`
//! plans of these.
//!
//! The modules stand in floors, and none names one above it: `xtask/src/tidy/floors.rs` has the table that `cargo xtask
//! tidy` holds them to. What a lower floor needs of a higher one is a trait of its own.
//!
//! ```text
//!   database, library    Database: opens it, makes sessions; tables of the program that it is embedded in
//!   session/             Session: simple │ parse, bind, execute, sync │ copy_data; transactions, DDL, settings
//!   shared/              what sessions share: engine, catalog, plans, workers
//!   explain/             plans as text            system/     catalogs that drivers read, one file each
//!   exec/                operators push rows      statistics  samples of tables
//!                        upward, into a RowSink
//!   routine/             functions, procedures    counts/     how often, how long, with what end
//!                        and blocks: statements
//!                        over variables
//!   compiled/            plans by the text of their statement
//!   memory, temporary, workers, gate, trace, error ..
//! ```
//!
//! Every transaction is strictly serializable. A conflict is 40001 with what it was about; a statement outside of a
//! transaction block is run again by the session.

mod activity;
mod adopted;
mod api;
mod cancel;
mod compiled;
mod counts;
mod database;
mod error;
mod exec;
mod explain;
mod gate;
mod identity;
mod library;
mod memory;
mod patience;
mod pins;
mod presets;
mod reclamation;
mod routine;
mod sequence;
mod session;
mod shared;
mod statistics;
mod stored;
mod supervisor;
mod system;
mod temporary;
mod told;
mod trace;
mod workers;

pub use api::{Column, CopyInfo, Description, Executed, Notice, RowSink, Severity, Status, Step, Tag};
pub use cancel::Cancel;
pub use counts::{IndexNumbers, Latency, LatencyBucket, TableNumbers};
pub use database::{Database, Login};
pub use error::of_engine;
pub use memory::default_query_memory;
pub use pins::Pin;
pub use reclamation::{Held, Reclamation};
pub use scaledb_notify::{Bell, Notification};
pub use scaledb_parse::lex;
pub use session::{Rows, Session};
pub use supervisor::Supervisor;
