//! SQL: sessions that parse, plan and run statements on an engine.

mod api;
mod parse;

pub use api::{Column, CopyInfo, Description, Executed, Notice, RowSink, Severity, Status, Step, Tag};
