//! Histories: random transactions on a real engine, replayed one after the other on a plain map.
//!
//! ```text
//!  table.rs    the tables of a history: every way to keep a table, two indexes, two conflict groups
//!  event.rs    what a transaction did and what it saw
//!  client.rs   random transactions; records them
//!  replay.rs   the map; compares each answer with what it says
//!  check.rs    order by timestamp, order by real time, replay, final state
//!  run.rs      one history: database, threads, check
//!  soak.rs     many of them
//!  hunt.rs     many of them, on an engine that lacks a rule
//!  stage.rs    no history: a table for anomalies that are played step by step
//! ```
//!
//! The claim that is checked: there is one serial order, that of the commit timestamps, in which every
//! committed transaction gets the answers that it got; the order agrees with real time; and what is in
//! the tables and in every index at the end is what that order leaves there.

mod check;
mod client;
mod event;
#[cfg(not(any(loom, shuttle)))]
pub mod hunt;
mod replay;
mod run;
#[cfg(not(any(loom, shuttle)))]
mod soak;
mod stage;
mod table;

pub use check::{Violation, check};
pub use client::{Client, Keys, Mix};
pub use event::{Bounds, Change, Event, Pair, Row, Transaction};
pub use replay::Model;
pub use run::{Plan, Report, run};
#[cfg(not(any(loom, shuttle)))]
pub use soak::histories;
pub use stage::{Stage, assert_conflict};
pub use table::{Columns, HistoryTable, Kind, hash_text, text_of};
